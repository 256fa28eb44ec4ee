"""The judges of a union of gates: what they must put up with, and what they must not."""

from __future__ import annotations

from typing import cast

import pytest

from conformance.components import COMPONENTS
from conformance.components.gate import GateScenarioConfig
from conformance.components.gate.ledger import Ledger
from conformance.components.gate.rules import SEVERAL_GATES
from conformance.driver import FailureClass, Program, World, run_scenario
from conformance.engines import Search
from conformance.engines.corpus import replay_corpus
from conformance.ports import BufferOrEvent, Capability, ChannelKind, Recovery, find_implementation
from reference_impl.network.union_gate import UnionGate
from tests.implementations import changed_reference, with_parts

LOCAL, REMOTE = ChannelKind.LOCAL, ChannelKind.REMOTE
TWO = ((LOCAL,), (REMOTE,))


class PollsUntilItFindsSomething(UnionGate):
    """An empty gate is no empty poll: the next one has its turn at once."""

    async def poll(self) -> BufferOrEvent | None:
        while True:
            taken = await super().poll()
            if taken is not None or not self.with_data.elements:
                return taken


STAYS_AVAILABLE = """
--- network/union_gate.py
@@ async def gate_available
             available = (changed and len(self.with_data) == 1) or self.finished()
-            if available:
-                self.is_available = True
+            available, self.is_available = available and not self.is_available, available or self.is_available
@@ async def poll
             more, more_priority = len(self.with_data) > 0, self.with_data.priority > 0
-            if not more:
-                self.is_available = self.finished()
         if taken is None:
             return None
+        more = more and not self.finished()
"""
"""As in Flink's `UnionInputGate`, the union stays available until a poll finds the queue empty."""


def program(part=UnionGate) -> Program:
    """Of a class, of a known bug by its id, or of a changed text."""
    if isinstance(part, str):
        made = changed_reference(part) if "\n" in part else find_implementation(f"known-bug:{part}")
        return Program(COMPONENTS["gate"], made)
    return Program(COMPONENTS["gate"], with_parts("hand-made", gate=part))


def violation(part, steps, recovery=Recovery.NONE, gates=TWO):
    run = run_scenario(program(part), GateScenarioConfig(gates, recovery), steps)
    return None if run.violation is None else (run.violation.property.slug, run.violation.broken.failure_class)


LONG = pytest.mark.slow(reason="it needs many scenarios")


@pytest.mark.parametrize(
    ("part", "scenarios"),
    [
        pytest.param(PollsUntilItFindsSomething, 1500, id="goes on", marks=LONG),
        pytest.param(STAYS_AVAILABLE, 600, id="stays available"),
        pytest.param(STAYS_AVAILABLE, 1500, id="stays available for long", marks=LONG),
    ],
)
def test_other_ways_to_be_right_are_accepted(part, scenarios):
    search = Search(program(part).pinned(SEVERAL_GATES))
    assert [
        run.violation for run in (search.run(f"right/{number}")[1] for number in range(scenarios)) if run.violation
    ] == []


LIVE = [("request_partitions", 0), ("request_partitions", 1)]


def test_a_record_of_another_channel_is_distinguished_from_a_lost_one():
    found = violation("B-U20", [("recover", 0), ("available",), ("poll",)], Recovery.RECOVER_FIRST)
    assert found == ("elements-arrive-once-and-in-order-across-conversion", FailureClass.CORRUPTED)


def test_conversion_of_one_gate_needs_nothing_of_another():
    steps = [("recover", 1), ("finish_recovery", 0), ("convert", 0)]
    found = violation("B-15", steps, Recovery.IN_MEMORY)
    assert found == ("channels-convert-once-nothing-can-be-lost", FailureClass.STUCK)
    assert violation(UnionGate, steps, Recovery.IN_MEMORY) is None


def test_a_lost_priority_notification_is_noticed_without_a_poll():
    steps = [*LIVE, ("buffer", 0), ("buffer", 1), ("unaligned_barrier", 1, 1)]
    found = violation("B-56a", steps)
    assert found == ("the-consumer-is-notified-of-priority-events", FailureClass.STUCK)


def test_a_barrier_of_which_nobody_could_be_notified_comes_in_its_turn():
    """It was there before the channel was requested: attaching notifies of data, not of priority."""
    assert violation(UnionGate, [("unaligned_barrier", 0, 1), ("buffer", 0), *LIVE]) is None


def test_a_gate_queued_twice_takes_the_turn_of_others():
    sent = [("buffer", 0)] * 4 + [("buffer", 1)] * 2 + [("unaligned_barrier", 0, 1)]
    steps = [*LIVE, *sent, *[("poll",)] * 5]
    assert violation("B-56b", steps) == ("gates-are-served-in-turn", FailureClass.STUCK)
    assert violation(UnionGate, steps) is None


LATE = GateScenarioConfig(TWO, Recovery.NONE, 3, "fine")
TOLD_LATE = [
    *(turn for step in LIVE for turn in (step, ("finish", "task"))),
    ("buffer", 0), ("finish", "network"), ("poll",), ("run", "task", "union lock"),
    ("buffer", 0), ("run", "network", "outside the gate lock"), ("finish", "task"), ("poll",), ("finish", "task"),
    ("finish", "network"), ("buffer", 1), ("finish", "network"),
]  # fmt: skip
"""Gate 0 is notified of a buffer that was polled already, and stands in the queue before gate 1 for nothing."""


def test_a_consumer_that_is_notified_again_and_again_of_nothing_is_noticed():
    slug, kind = violation("B-U12", [*LIVE, ("buffer", 0)])
    assert (slug, kind) == ("an-empty-gate-is-not-available", FailureClass.PROTOCOL)


def test_a_notification_that_comes_late_is_no_lie():
    """The poll returns nothing or the buffer of gate 1; that more follows is not held against the union."""
    run = run_scenario(program(), LATE, [*TOLD_LATE, ("poll",), ("finish", "task")], record=True)
    assert run.violation is None


def test_a_poll_may_be_unsure_only_until_the_union_was_found_empty():
    """`raced` ends with empty polls of all gates, so that the flags of later polls are judged again."""
    world = World(program(), LATE)
    for step in TOLD_LATE:
        world.perform(step)
    ledger = cast(Ledger, world.ledger)
    assert ledger.consumer.raced
    for _ in range(5):
        world.perform(("available",))
        if world.choices("poll"):
            world.perform(("poll",))
            world.perform(("finish", "task"))
    assert not ledger.consumer.raced


def test_the_end_of_recovered_data_that_was_not_read_uses_up_a_turn_until_live_data_was():
    world = World(program(), GateScenarioConfig(TWO, Recovery.IN_MEMORY))
    for step in [("recover", 0), ("finish_recovery", 0), ("convert", 0), ("request_partitions", 0), ("buffer", 0)]:
        world.perform(step)
    union = cast(Ledger, world.ledger).union
    assert union is not None
    assert union.turns_of_ends() == 1
    for _ in range(2):
        world.perform(("poll",))
    assert union.turns_of_ends() == 0


def test_a_configuration_needs_the_capability_of_its_recovery():
    component = COMPONENTS["gate"]
    configs = [cast(GateScenarioConfig, config) for config in component.configs]
    needs = {config.recovery: component.needs(config) for config in configs if not config.faults}
    assert needs[Recovery.NONE] == {Capability.UNIONS}
    assert len({*needs.values()}) == len(Recovery)


def test_the_corpus_is_replayed_in_the_shape_in_which_a_program_is_searched():
    """A poll that takes the end of recovered data may find nothing in a union (gate.md FU7), and not in a gate."""
    found = Program(COMPONENTS["gate"], find_implementation("legal-variant:V-U10"))
    assert replay_corpus(found)
    assert replay_corpus(found.pinned(SEVERAL_GATES)) == {}
