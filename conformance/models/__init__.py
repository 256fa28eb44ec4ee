"""State that the ledgers of several components share, with the steps and the rules that use it.

A ledger has a few of these models besides what only its component needs. A rule of a model is declared with `@shared`:
it is written against the model, or against what a question returns, and each component adopts it for its own steps and
says where its ledger has the model or the question: `adopt(rule, step, of=lambda ledger: ledger.consumer)`. Models
import no component.
"""
