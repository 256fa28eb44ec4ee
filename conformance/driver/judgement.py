"""The results of judging: failure classes, judgements and verdicts, with the kinds and levels of properties."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias


class FailureClass(StrEnum):
    """The way in which a property is broken."""

    LOST = "lost"
    DUPLICATED = "duplicated"
    REORDERED = "reordered"
    CORRUPTED = "corrupted"
    STUCK = "stuck"
    """Something is owed, and no step that is still possible would deliver it."""
    LEAKED = "leaked"
    ORPHANED = "orphaned"
    """A result that was promised, such as that of a channel state future, will never be given."""
    PROTOCOL = "protocol"
    CRASHED = "crashed"
    HUNG = "hung"
    DEADLOCKED = "deadlocked"
    """Threads are in a deadlock, or the order in which they take locks, or wait with them, makes that
    possible."""


class Kind(StrEnum):
    """When a property must hold.

    Always: whenever it is judged. Sometimes: in at least one step of a campaign, as a goal.
    """

    ALWAYS = "always"
    SOMETIMES = "sometimes"

    @classmethod
    def _missing_(cls, value: object) -> Kind | None:
        """Reads the results of earlier versions, in which properties judged at the end were of a kind of their own."""
        return cls.ALWAYS if value == "eventually" else None


class Level(StrEnum):
    """Whether a property can be put to the test. An untestable one is listed in reports, but never as passed.

    What a legal engine may do otherwise is a freedom, and no property.
    """

    MUST = "must"
    UNTESTABLE = "untestable"

    @classmethod
    def _missing_(cls, value: object) -> Level | None:
        """Reads the results of earlier versions, in which some properties were of a lower level."""
        return cls.MUST if value == "should" else None


class Verdict(StrEnum):
    """The reported result for a property. A property that was not exercised has not passed."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_EXERCISED = "not exercised"
    NOT_APPLICABLE = "not applicable"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Broken:
    """A property does not hold: the failure class, what was owed and why, and what was observed instead."""

    failure_class: FailureClass
    owed: str
    observed: str

    def __str__(self) -> str:
        return f"{self.owed}; {self.observed}"


@dataclass(frozen=True, slots=True)
class Unsure:
    """There was something to judge, but more than one result may be right, as where operations have overlapped, and the
    ledger cannot know which of them is right here."""

    why: str
    """What keeps the ledger from knowing it, as the end of a sentence that begins with *because*."""


@dataclass(frozen=True, slots=True)
class Several:
    """The judgements of rules that are asked together, of those that had something to judge."""

    by_place: tuple[tuple[int, bool | Broken | Unsure], ...]
    """Each with the place of its property in the program."""


Judgement: TypeAlias = bool | Broken | Unsure
"""False: there was nothing to judge. True: the property was exercised and held. Broken: it does not hold."""
