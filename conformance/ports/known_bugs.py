"""Known bugs test the suite: if the suite does not find one of them, a property is missing or too weak."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources.abc import Traversable

from msgspec import Struct

from conformance.ports.changes import Make, changed_implementation, read_catalogue
from conformance.ports.implementation import Implementation


@dataclass(frozen=True, slots=True)
class KnownBug:
    """A small, named defect of an implementation, and the property that must notice it."""

    id: str
    """A stable name; variants of one bug differ in a letter: B-01a."""
    ticket: str
    """The ticket that reports it, as FLINK-39018; "own" for a defect that was invented to test a property."""
    component: str
    property: str
    """The slug of the property that must fail."""
    summary: str
    """What is wrong, in one sentence."""
    build: Callable[[], Implementation]
    change: str = ""
    """The change as a diff (`conformance.ports.changed`); empty if the bug is not a change of text."""
    shape: str = ""
    """The shape of the component in which it is searched for; empty: any."""


class BugEntry(Struct, frozen=True, forbid_unknown_fields=True):
    """One `[[bug]]` of a file."""

    id: str
    ticket: str
    property: str
    summary: str
    change: str


class BugFile(Struct, frozen=True, forbid_unknown_fields=True):
    """The known bugs of one component (TOML)."""

    component: str
    bug: tuple[BugEntry, ...]
    shape: str = ""
    """The shape of the component that has the bugs, as `several gates`; empty: any."""


def change_of_text(
    id: str, ticket: str, component: str, property: str, summary: str, *, package: str, change: str, make: Make,
    shape: str = "",
) -> KnownBug:  # fmt: skip
    """A known bug that is a change of the text of a package, written as a diff (`conformance.ports.changed`).

    The change is made only when the bug is built.
    """
    build = changed_implementation(package, change, make, f"known-bug:{id}")
    return KnownBug(id, ticket, component, property, summary, build, change.strip("\n"), shape)


def read_known_bugs(file: Traversable, package: str, make: Make) -> tuple[KnownBug, ...]:
    """The known bugs in a TOML file, each a change of the text of a package.

    Raises: ValueError, which names the file and the field.
    """
    found = read_catalogue(file, BugFile)
    return tuple(
        change_of_text(
            one.id, one.ticket, found.component, one.property, one.summary,
            package=package, change=one.change, make=make, shape=found.shape,
        )
        for one in found.bug
    )  # fmt: skip
