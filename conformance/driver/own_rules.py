"""The rules that the driver itself judges for every component: what operations return, and how threads wait."""

from __future__ import annotations

from collections.abc import Collection

from conformance.driver.judgement import Level
from conformance.driver.rule import NOTHING, Property
from conformance.ports import Capability

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


def answers_property(component: str) -> Property:
    """Returns the property that every operation of a component exercises; the driver judges it at each step."""
    return Property(
        ANSWERS,
        "Every operation returns a value of its type, or fails with an error where the interface provides for one.",
        component, (), _elsewhere, invariant="I-90", formerly=("operations-answer-as-the-interface-says",),
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
