"""Known bugs: what the suite must find. A known bug is a test of the suite; one that is not found is a hole in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.resources.abc import Traversable
from types import ModuleType

import msgspec
from msgspec import Struct

from conformance.ports.changed import changed
from conformance.ports.implementation import Implementation

Make = Callable[[ModuleType, str], Implementation]
"""Makes an implementation of this name out of a changed copy of a package."""


@dataclass(frozen=True, slots=True)
class KnownBug:
    """A small, named defect of an implementation, and the property that must notice it."""

    id: str
    """A stable name; sub-mutants carry a letter: B-01a."""
    ticket: str
    """Where it was reported, as FLINK-39018; "own" for a defect that was made up for a property without one."""
    component: str
    property: str
    """The slug of the property that must fail."""
    summary: str
    """What is wrong, in one sentence."""
    build: Callable[[], Implementation]
    change: str = ""
    """The lines that were and the lines that are, as a diff; empty if it was made in another way."""


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


def read_known_bugs(file: Traversable, package: str, make: Make) -> tuple[KnownBug, ...]:
    """The known bugs in a file, each a change of the text of a package.

    They are not tried here: a change that does not fit is noticed when its bug is built.

    Raises: ValueError, which names the file and the field.
    """
    try:
        found = msgspec.toml.decode(file.read_text(encoding="utf-8"), type=BugFile)
    except msgspec.DecodeError as error:
        raise ValueError(f"{file.name}: {error}") from error
    return tuple(
        KnownBug(
            one.id, one.ticket, found.component, one.property, one.summary,
            partial(_build, package, one.change, make, one.id), one.change.strip("\n"),
        )
        for one in found.bug
    )  # fmt: skip


def _build(package: str, change: str, make: Make, identity: str) -> Implementation:
    return make(changed(package, change, leave_out=("known_bugs",)), f"known-bug:{identity}")
