"""What can come of judging: in which way a property is broken, how binding it is, what is reported of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias


class FailureClass(StrEnum):
    """In which way something went wrong."""

    LOST = "lost"
    DUPLICATED = "duplicated"
    REORDERED = "reordered"
    CORRUPTED = "corrupted"
    STUCK = "stuck"
    """Something is owed, and nothing that could happen would deliver it."""
    LEAKED = "leaked"
    ORPHANED = "orphaned"
    """Somebody waits for a result that nobody will give."""
    PROTOCOL = "protocol"
    CRASHED = "crashed"
    HUNG = "hung"
    DEADLOCKED = "deadlocked"
    """Threads wait for each other in a circle, or would if they met."""


class Kind(StrEnum):
    """Always: may never break. Sometimes: a campaign must have seen it. Eventually: holds once the run was drained."""

    ALWAYS = "always"
    SOMETIMES = "sometimes"
    EVENTUALLY = "eventually"


class Level(StrEnum):
    """How binding. An untestable property stays visible, and is never reported as passed."""

    MUST = "must"
    SHOULD = "should"
    MAY = "may"
    UNTESTABLE = "untestable"


class Verdict(StrEnum):
    """What is reported of a property. One that was not exercised has not passed."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_EXERCISED = "not exercised"
    NOT_APPLICABLE = "not applicable"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Broken:
    """A property does not hold: in which way, what was owed and why, and what came instead."""

    failure_class: FailureClass
    owed: str
    observed: str

    def __str__(self) -> str:
        return f"{self.owed}; {self.observed}"


Judgement: TypeAlias = bool | Broken
"""False: there was nothing to judge. True: the property was put to the test and held."""
