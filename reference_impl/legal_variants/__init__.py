"""Legal variants of the reference, one file for each component: each is a change that the specification allows.

`CATALOGUE` is registered as an entry point. A variant is built when it is asked for by name, and not before.
"""

from importlib.resources import files
from types import ModuleType

from conformance.ports import Implementation, LegalVariant, read_legal_variants


def _make(package: ModuleType, name: str) -> Implementation:
    made: Implementation = package.Reference(name, package.PUSHED)
    return made


CATALOGUE: tuple[LegalVariant, ...] = tuple(
    variant
    for file in sorted(files(__name__).iterdir(), key=lambda file: file.name)
    if file.name.endswith(".toml")
    for variant in read_legal_variants(file, "reference_impl", _make)
)

__all__ = ["CATALOGUE"]
