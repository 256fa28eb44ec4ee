"""The rules that the driver itself judges for every component: what operations return, and how threads wait."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from msgspec.structs import asdict, astuple

from conformance.driver.judgement import Broken, FailureClass, Judgement, Level
from conformance.driver.ledger import PortLedger
from conformance.driver.rule import NOTHING, Property
from conformance.driver.step import AnyStep, Seen
from conformance.ports import Capability, Resources

ANSWERS = "operations-return-what-the-interface-says"
NO_DEADLOCK = "threads-do-not-deadlock"
ONE_ORDER = "locks-are-taken-in-one-order"
NO_LOCK_MEANWHILE = "no-thread-waits-while-it-holds-a-lock"
COMES_TO_AN_END = "every-operation-ends"
OF_THREADS = (NO_DEADLOCK, ONE_ORDER, NO_LOCK_MEANWHILE, COMES_TO_AN_END)
"""The rules of waiting threads, which every component with threads has."""
ALWAYS_JUDGED = frozenset({ANSWERS, COMES_TO_AN_END})
"""What these rules judge leaves nothing to go on with: an operation that crashed, or that waits without an end."""


def _elsewhere(ledger: object, seen: object) -> bool:
    """Judges nothing, because the driver judges these rules itself."""
    return False


def looks_closely(kind: AnyStep) -> bool:
    """Returns whether a rule of the driver looks at the outcomes of this kind of step: how much is held, and what a
    release does that comes again."""
    return kind.answers is Resources or kind.crashes


def _as_the_interface_says(ledger: PortLedger, seen: Seen[Any]) -> Judgement:
    """Judges how much is held, and a release of what was released. The driver judges errors and types at each step."""
    value = seen.value
    if type(value) is Resources:
        if any(held is not None and held < 0 for held in astuple(value)):
            what, held = next((what, held) for what, held in asdict(value).items() if held is not None and held < 0)
            return Broken(FailureClass.PROTOCOL, f"no number of {what} is below zero", f"the number is {held}")
    elif ledger.phase == "failed" and seen.signals:
        owed = "a second release changes nothing, so it must notify nobody"
        return Broken(FailureClass.PROTOCOL, owed, "it notified somebody of something")
    return False  # every operation exercises the property, so that nobody counts how often


def judge_second_release(before: Resources, after: Resources) -> Broken | None:
    """Returns what is wrong if a release of what was released has changed how much is held, or None."""
    if after == before:
        return None
    was, now = asdict(before), asdict(after)
    what = next(one for one in was if was[one] != now[one])
    more = (now[what] or 0) > (was[what] or 0)
    owed = f"a second release changes nothing, and before it the number of {what} was {was[what]}"
    return Broken(FailureClass.LEAKED if more else FailureClass.DUPLICATED, owed, f"now it is {now[what]}")


def answers_property(component: str) -> Property:
    """Returns the property that every operation of a component exercises; the driver judges it at each step."""
    return Property(
        ANSWERS,
        "Every operation returns a value of its type, in which no number of what is held is below zero, or fails with"
        " an error where the interface provides for one. A second release changes nothing.",
        component, (), _as_the_interface_says, invariant="I-90", formerly=("operations-answer-as-the-interface-says",),
    )  # fmt: skip


def thread_properties(
    component: str, waits: frozenset[Capability] = NOTHING, other_waits: frozenset[Capability] = NOTHING,
    untestable: Collection[str] = (),
) -> tuple[Property, ...]:  # fmt: skip
    """Returns the properties of waiting threads, for a component whose operations can pause.

    `waits`: the capabilities without which no thread of the component ever waits for another one.
    `other_waits`: those without which none ever waits for anything but a lock.
    `untestable`: those of `OF_THREADS` that only a broken implementation could put to the test.
    """
    stepping = frozenset({Capability.STEPPING})
    levels = {slug: Level.UNTESTABLE if slug in untestable else Level.MUST for slug in OF_THREADS}
    for_a_circle = stepping if NO_DEADLOCK in untestable else stepping | waits  # a broken one may wait without them
    return (
        Property(
            NO_DEADLOCK, "No threads are deadlocked.", component, (), _elsewhere,
            level=levels[NO_DEADLOCK], invariant="I-25", tickets=("FLINK-39018", "FLINK-18595"), needs=for_a_circle,
            formerly=("threads-do-not-wait-in-a-circle",),
        ),
        Property(
            ONE_ORDER, "Threads that can run at the same time take locks in one order.", component, (), _elsewhere,
            level=levels[ONE_ORDER], invariant="I-25", tickets=("FLINK-39018",), needs=stepping,
        ),
        Property(
            NO_LOCK_MEANWHILE, "A thread that waits for anything but a lock holds no lock.", component, (), _elsewhere,
            level=levels[NO_LOCK_MEANWHILE], invariant="I-25", needs=stepping | waits | other_waits,
            formerly=("no-thread-waits-with-a-lock",),
        ),
        Property(
            COMES_TO_AN_END, "An operation that has begun ends once everything that it may wait for has happened.",
            component, (), _elsewhere, level=levels[COMES_TO_AN_END],
            invariant="I-92", tickets=("FLINK-40668", "FLINK-18595"), needs=waits,
            formerly=("what-was-begun-comes-to-an-end",),
        ),
    )  # fmt: skip
