"""The judges of recovered and local channels: what they leave open, and what they see."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.components import COMPONENTS
from conformance.components.local_channel import LocalChannelScenarioConfig
from conformance.driver import Program, run_scenario
from conformance.engines.check import search_range
from conformance.ports import (
    Barrier,
    Buffer,
    BufferAndBacklog,
    CheckpointReason,
    Element,
    ErrorKind,
    Next,
    PortError,
    Recovery,
    Resources,
    find_implementation,
)
from reference_impl.network.local_channel import LocalChannel
from reference_impl.network.recovered_channel import RecoveredChannel
from reference_impl.state.persister import Mode
from tests.implementations import with_parts


# ---- other ways to be right ------------------------------------------------------------------------------------------
class CountsEvents(LocalChannel):
    """Buffers in use include events, upstream as well as here, as in 2.3.0."""

    def in_use(self) -> int:
        return len(self.recovered.queued) + (len(self.subpartition.queue) if self.view else 0)


class SubsumedFirst(LocalChannel):
    """Of two reasons for a checkpoint to fail, this one names the other."""

    async def checkpoint_started(self, barrier: Barrier) -> None:
        if self.persister.mode is Mode.RECEIVED and self.persister.last_seen > barrier.checkpoint:
            raise PortError(ErrorKind.CHECKPOINT, "subsumed", CheckpointReason.SUBSUMED)
        await super().checkpoint_started(barrier)


class Talkative(LocalChannel):
    """Notifies of data whether or not there is some."""

    async def add(self, element: Element) -> bool:
        accepted = await super().add(element)
        if self.view:
            await self.listener.data_available(self)
        return accepted

    async def end_of_recovered_state(self) -> None:
        await super().end_of_recovered_state()
        await self.listener.data_available(self)


class LooksItself(LocalChannel):
    """Knows of priority events because it looks, not because it was notified."""

    async def next_element(self) -> BufferAndBacklog | None:
        if self.recovered and not self.recovered.in_recovery:
            self.priority_waits = await self.next_live() is Next.PRIORITY
        return await super().next_element()


class CannotCount(LocalChannel):
    def resources(self) -> Resources:
        return Resources()


class CountsTheEnd(RecoveredChannel):
    def in_use(self) -> int:
        return len(self.queue)

    def resources(self) -> Resources:
        return Resources(segments=super().in_use())


@pytest.mark.parametrize("part", [CountsEvents, SubsumedFirst, Talkative, LooksItself, CannotCount, CountsTheEnd])
def test_other_ways_to_be_right_are_not_blamed(part):
    local = issubclass(part, LocalChannel)
    component = "local-channel" if local else "recovered-channel"
    implementation = with_parts(part.__name__, **{component.replace("-", "_"): part})
    tally = search_range(Program(COMPONENTS[component], implementation), "right", range(1500))
    assert tally.failures == {}


# ---- what is seen, and where -----------------------------------------------------------------------------------------
def judge(implementation: Any, recovery: Recovery, steps: list[tuple[Any, ...]], **config: Any) -> str | None:
    """The slug of the property that breaks."""
    ready = Program(COMPONENTS["local-channel"], implementation)
    run = run_scenario(ready, LocalChannelScenarioConfig(recovery, **config), steps)
    if run.violation is not None:
        return run.violation.property.slug
    assert len(run.performed) == len(steps), "a step was passed over"
    return None


PUSH_WHILE_MARKED = [
    ("request_subpartition",),
    ("finish", "task"),
    ("push_recovered",),
    ("finish", "recovery"),
    ("push_recovered",),
    ("run", "recovery", "local channel 0 lock"),
    ("insert_recovery_barrier", 1),
]


@pytest.mark.parametrize("first", ["task", "recovery"])
def test_a_push_while_the_recovery_barrier_is_inserted_may_belong_to_either_side(first):
    second = "recovery" if first == "task" else "task"
    steps = [*PUSH_WHILE_MARKED, ("finish", first), ("finish", second), ("checkpoint_started", 1), ("finish", "task")]
    implementation = find_implementation("reference")
    assert judge(implementation, Recovery.PUSHED, [*steps, ("persisted", 1)], interleaving="fine") is None


def test_a_take_in_flight_leaves_open_what_is_written():
    steps = [
        *[("request_subpartition",), ("finish", "task"), ("add_buffer",), ("finish", "producer")],
        *[("checkpoint_started", 1), ("finish", "task")],
        *[("take",), ("run", "task", ""), ("persisted", 1), ("finish", "task"), ("persisted", 1)],
    ]
    implementation = find_implementation("reference")
    assert judge(implementation, Recovery.NONE, steps, interleaving="fine") is None


def test_a_task_may_fail_with_a_take_in_flight_and_a_checkpoint_pending():
    steps = [
        *[("request_subpartition",), ("finish", "task"), ("add_buffer",), ("finish", "producer")],
        *[("checkpoint_started", 1), ("finish", "task"), ("take",), ("run", "task", ""), ("fail",)],
    ]
    implementation = find_implementation("reference")
    assert judge(implementation, Recovery.NONE, steps, interleaving="fine") is None


def test_a_second_priority_event_that_nobody_mentions_is_missed():
    steps = [("request_subpartition",), ("unaligned_barrier", 1), ("unaligned_barrier", 2), ("take",)]
    implementation = find_implementation("known-bug:B-62")
    assert judge(implementation, Recovery.PUSHED, steps) == "the-next-type-names-what-can-be-taken"


def test_the_state_of_a_restored_checkpoint_is_what_the_fresh_channel_recovers():
    implementation = find_implementation("reference")
    steps = [
        *[
            ("request_subpartition",),
            ("checkpoint_started", 1),
            ("unaligned_barrier", 1),
            ("take",),
            ("fail",),
            ("restore", 1),
        ],
        *[("take",), ("take",), ("request_subpartition",), ("checkpoint_started", 2), ("persisted", 2)],
    ]
    ready = Program(COMPONENTS["local-channel"], implementation)
    config = LocalChannelScenarioConfig(Recovery.IN_MEMORY, 2)
    run = run_scenario(ready, config, steps, record=True)
    assert run.violation is None
    taken = [entry.outcome.value for entry in run.entries if entry.step == ("take",) and entry.outcome is not None]
    assert [one.element for one in taken[1:3]] == [Buffer((0,)), Buffer((1,))]
