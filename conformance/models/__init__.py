"""State that the ledgers of several components share, with the steps and the rules that use it.

A ledger combines a few of these models with what only its component needs. A rule of a model is declared with
`@shared`: it is written against a Protocol that names what it reads from a ledger, and each component adopts it for its
own steps. Models import no component.
"""
