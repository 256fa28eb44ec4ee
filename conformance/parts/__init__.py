"""State that the ledgers of several components share, with the steps and the rules that use it.

A ledger combines a few of these parts with what only its component needs. A rule of a part is declared with `@shared`:
it is written against a Protocol that names what it reads from a ledger, and each component adopts it for its own steps.
Parts import no component.
"""
