"""What a property is, and what can come of judging it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeAlias

from conformance.ports import Capability, Error, Signal


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


class Seen:
    """What one operation led to, as properties and ledgers read it. The same object serves a whole run."""

    __slots__ = ("error", "operands", "signals", "value")

    def __init__(self) -> None:
        self.value: Any = None
        self.error: Error | None = None
        self.signals: list[Signal] = []
        self.operands: tuple[Any, ...] = ()


Judgement: TypeAlias = bool | Broken
"""False: there was nothing to judge. True: it was put to the test and held."""


@dataclass(frozen=True, slots=True)
class Property:
    """A named sentence about a component, and the check that decides it.

    `check(ledger, seen)` reads the ledger as it was before the operation, or with `after_learning` as it is now.
    """

    slug: str
    statement: str
    component: str
    on: tuple[str, ...]
    """The names of the steps after which it is judged."""
    check: Callable[[Any, Seen], Judgement]
    kind: Kind = Kind.ALWAYS
    level: Level = Level.MUST
    invariant: str = ""
    """The number in the specification, as I-13."""
    tickets: tuple[str, ...] = ()
    needs: frozenset[Capability] = frozenset()
    after_learning: bool = False
    quiet: bool = False
    """It is judged only when no operation is in flight, and then after learning."""

    def applies(self, capabilities: Iterable[Capability]) -> bool:
        """Whether an implementation that claims `capabilities` can be held to it."""
        return self.needs <= frozenset(capabilities)


def compare_ids(expected: tuple[int, ...], got: tuple[int, ...], past: int) -> FailureClass:
    """In which way `got` differs from the `expected` record ids; ids below `past` were delivered before."""
    if any(one < past for one in got) or len(set(got)) < len(got):
        return FailureClass.DUPLICATED
    if any(one < 0 for one in got):
        return FailureClass.CORRUPTED
    if sorted(got) == sorted(expected):
        return FailureClass.REORDERED
    if set(got) <= set(expected) or (got and got[0] > past):
        return FailureClass.LOST
    return FailureClass.CORRUPTED


ANSWERS = "operations-answer-as-the-interface-says"


def answers_property(component: str) -> Property:
    """The property behind every operation of a component; the driver judges it at each step."""
    return Property(
        ANSWERS,
        "Every operation answers with a value of its type, or with an error where the interface provides for one.",
        component, (), lambda ledger, seen: False, invariant="I-90",
    )  # fmt: skip


NO_CIRCLE = "threads-do-not-wait-in-a-circle"
ONE_ORDER = "locks-are-taken-in-one-order"
COMES_TO_AN_END = "what-was-begun-comes-to-an-end"


def thread_properties(component: str) -> tuple[Property, ...]:
    """What must be true of every component whose operations can pause; the driver judges it, not the ledger."""
    stepping = frozenset({Capability.STEPPING})
    return (
        Property(
            NO_CIRCLE,
            "No threads wait for each other in a circle.",
            component, (), lambda ledger, seen: False, invariant="I-25", tickets=("FLINK-39018", "FLINK-18595"),
            needs=stepping,
        ),
        Property(
            ONE_ORDER,
            "Threads that can meet take locks in one order.",
            component, (), lambda ledger, seen: False, invariant="I-25", tickets=("FLINK-39018",), needs=stepping,
        ),
        Property(
            COMES_TO_AN_END,
            "An operation that has begun comes to an end once all it may wait for has happened.",
            component, (), lambda ledger, seen: False, kind=Kind.EVENTUALLY, invariant="I-92",
            tickets=("FLINK-40668", "FLINK-18595"),
        ),
    )  # fmt: skip
