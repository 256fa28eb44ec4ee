"""Legal variants of the reference, one file for each component: each is a change that the specification allows.

`CATALOGUE` is registered as an entry point. A variant is built when it is asked for by name, and not before.
"""

from conformance.ports import LegalVariant, read_legal_variants
from conformance.ports.changes import tables

from .. import reference_of

CATALOGUE: tuple[LegalVariant, ...] = tuple(
    variant for file in tables(__name__) for variant in read_legal_variants(file, "reference_impl", reference_of)
)

__all__ = ["CATALOGUE"]
