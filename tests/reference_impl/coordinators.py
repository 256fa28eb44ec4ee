"""Coordinators for the tests of coordinator.md, and what all these tests do with them."""

from __future__ import annotations

from conformance.ports import NO_CHECKPOINT, CoordinatorConfig, Message, RestoredEvents, Signal, TurnQueued
from reference_impl.coordinator.coordinator import Coordinator
from reference_impl.coordinator.protocol import V1, Protocol

BEGINNING = RestoredEvents(NO_CHECKPOINT, ())


def message(number: int, subtask: int = 0, attempt: int = 0) -> Message:
    """An event or a report."""
    return Message(subtask, attempt, number)


def fresh(protocol: Protocol = V1, parallelism: int = 1, checkpointing: bool = True) -> Coordinator:
    """A coordinator whose subtasks all run, with nothing under way."""
    one = Coordinator(CoordinatorConfig(parallelism, checkpointing=checkpointing), protocol)
    for subtask in range(parallelism):
        one.run(subtask, 0)
    settled(one)
    return one


def told(one: Coordinator) -> list[Signal]:
    """The signals since the last call, without those that turns were queued."""
    signals = [signal for signal in one.signals if type(signal) is not TurnQueued]
    one.signals.clear()
    return signals


def settled(one: Coordinator) -> list[Signal]:
    """Runs all turns, and returns the signals since the last call."""
    while one.queue:
        one.turn()
    return told(one)


def asked(one: Coordinator, checkpoint: int) -> None:
    """Triggers a checkpoint and lets every attempt acknowledge, until the coordinator is asked for its state."""
    one.trigger(checkpoint)
    settled(one)
    for (subtask, attempt), each in one.attempts.items():
        for body in list(each.events):
            one.deliver(subtask, attempt)
            if type(body) is not Message:
                each.replies.remove(body)
        for _ in list(each.reports):
            one.arrive(subtask, attempt)
    settled(one)


def cut(one: Coordinator, checkpoint: int) -> None:
    """Triggers a checkpoint, and the coordinator cuts."""
    asked(one, checkpoint)
    one.cut(checkpoint, True)
    settled(one)


def injected(one: Coordinator, checkpoint: int) -> None:
    """Triggers a checkpoint, and its barriers leave."""
    cut(one, checkpoint)
    one.inject(checkpoint)
    settled(one)


def sent(one: Coordinator, *messages: Message) -> list[Signal]:
    """Sends events, and returns the signals."""
    for each in messages:
        one.send(each)
    return settled(one)
