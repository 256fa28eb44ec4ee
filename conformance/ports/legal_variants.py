"""Legal variants test the suite for false alarms: they differ from an implementation only in what every engine may do
in its own way, so no property may accuse them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources.abc import Traversable

from msgspec import Struct

from conformance.ports.changes import Make, changed_implementation, original_implementation, read_catalogue
from conformance.ports.implementation import Implementation


@dataclass(frozen=True, slots=True)
class LegalVariant:
    """A small, named change of an implementation that the specification allows."""

    id: str
    """A stable name, as V-G1."""
    component: str
    freedom: str
    """The number of the sentence in the component's chapter of the specification that allows the change, as FG1."""
    summary: str
    """What the variant does in its own way, in one sentence."""
    build: Callable[[], Implementation]
    original: Callable[[], Implementation]
    """Makes the implementation without the change, from which the variant must differ in some scenario."""
    change: str = ""
    """The change as a diff (`conformance.ports.changed`); empty if the variant is not a change of text."""
    shape: str = ""
    """The shape of the component in which it is tried; empty: any."""


class VariantEntry(Struct, frozen=True, forbid_unknown_fields=True):
    """One `[[variant]]` of a file."""

    id: str
    freedom: str
    summary: str
    change: str


class VariantFile(Struct, frozen=True, forbid_unknown_fields=True):
    """The legal variants of one component (TOML)."""

    component: str
    variant: tuple[VariantEntry, ...]
    shape: str = ""
    """The shape of the component in which the variants are tried, as `several gates`; empty: any."""


def read_legal_variants(file: Traversable, package: str, make: Make) -> tuple[LegalVariant, ...]:
    """The legal variants in a TOML file, each a change of the text of a package, made only when the variant is built.

    Raises: ValueError, which names the file and the field.
    """
    found = read_catalogue(file, VariantFile)
    return tuple(
        LegalVariant(
            one.id, found.component, one.freedom, one.summary,
            changed_implementation(package, one.change, make, f"legal-variant:{one.id}"),
            original_implementation(package, make, f"original-of:{one.id}"),
            one.change.strip("\n"),
            found.shape,
        )
        for one in found.variant
    )  # fmt: skip
