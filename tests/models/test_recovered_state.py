"""Where the recovered state of a task is: in files, in channels, with the task, in a checkpoint."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.driver import Broken, FailureClass, Judgement, Seen
from conformance.models.recovered_state import (
    FetchedState,
    RecoveredState,
    a_checkpoint_does_not_wait_for_recovered_data,
    a_checkpoint_that_comes_too_early_is_declined,
    channels_of,
    first_records,
    must_be_granted,
)
from conformance.ports import Buffer, CheckpointReason, EndOfPartition, Error, ErrorKind, Piece

STATE = (first_records(0, 2), first_records(1, 0), first_records(2, 1))
PIECES = tuple(
    Piece(*of, (one,)) for of, ids in zip(channels_of((2, 1)), STATE, strict=True) for one in ids
)  # fmt: skip


def recovered() -> RecoveredState:
    """Two gates, the first with a channel that has nothing to recover."""
    return RecoveredState((2, 1), STATE, 8)


def take(state: RecoveredState, *counts: int) -> None:
    """The task takes so many elements of each channel."""
    for lane, count in zip(state.lanes, counts, strict=False):
        for _ in range(count):
            lane.take_next(has_priority=False)


def failure(judgement: Judgement) -> FailureClass:
    """Returns the class of the failure that was found."""
    assert isinstance(judgement, Broken)
    return judgement.failure_class


def test_recovered_records_come_before_those_that_were_sent_and_the_end_comes_last():
    state = recovered()
    state.lanes[0].send(Buffer((state.next_record(0),)))
    state.lanes[0].send(EndOfPartition())
    came = []
    while (element := state.owed(0)) is not None:
        came.append(element)
        state.lanes[0].take_next(has_priority=False)
    assert came == [Buffer((0,)), Buffer((1,)), Buffer((2,)), EndOfPartition()]
    assert state.open_channels(4) == [1, 2]
    assert state.not_empty() == [2]


def test_only_recovered_records_count_as_left():
    state = recovered()
    state.lanes[1].send(Buffer((100,)))
    assert (state.left(), state.left_of(0), state.left_of(1)) == (3, 2, 1)
    take(state, 2, 1, 0)
    assert (state.left(), state.left_of(0), state.left_of(1)) == (1, 0, 1)
    assert [state.left_in(channel) for channel in range(3)] == [0, 0, 1]


def test_the_input_has_ended_when_the_end_of_every_channel_was_taken():
    state = recovered()
    for lane in state.lanes:
        lane.send(EndOfPartition())
    take(state, 3, 1, 1)
    assert not state.has_ended()
    take(state, 0, 0, 1)
    assert state.has_ended()


def test_a_checkpoint_holds_what_was_not_taken_when_it_started():
    state = recovered()
    take(state, 1)
    state.try_checkpoint(1, starts=True)
    state.try_checkpoint(2, starts=False)
    take(state, 1)
    assert state.newest == 2
    assert state.must_hold(1, ((1,), (), (200,))) is True
    assert failure(state.must_hold(1, ((), (), (200,)))) is FailureClass.LOST
    assert failure(state.must_hold(1, ((1,), (), (200, 200)))) is FailureClass.DUPLICATED
    assert state.must_hold(2, ((), (), ())) is False
    assert isinstance(state.must_hold(2, ((1,), (), ())), Broken)


def test_a_snapshot_holds_what_was_not_committed():
    state = FetchedState(PIECES)
    assert not state.is_in_the_middle()
    state.committed = 1
    assert state.is_in_the_middle()
    state.make_snapshot(1)
    state.committed = 2
    assert not state.is_in_the_middle()
    state.committed = 3
    state.make_snapshot(2)
    assert (state.left(), state.holds_records(1), state.holds_records(2)) == (0, True, False)
    state.restart()
    assert (state.left(), state.snapshots) == (3, {})


def test_each_reader_has_one_grant():
    assert must_be_granted(2, 1, 2) is True
    assert failure(must_be_granted(0, 1, 2)) is FailureClass.LOST
    assert failure(must_be_granted(3, 1, 2)) is FailureClass.LEAKED


def seen(error: Error | None) -> Seen[None, int]:
    """Returns the outcome of the start of a checkpoint."""
    outcome: Seen[None, int] = Seen()
    outcome.error = error
    return outcome


NOT_READY = Error(ErrorKind.CHECKPOINT, checkpoint_reason=CheckpointReason.DECLINED_TASK_NOT_READY)
OTHER = Error(ErrorKind.CHECKPOINT, checkpoint_reason=CheckpointReason.SUBSUMED)


@pytest.mark.parametrize(
    ("must_start", "error", "declined", "started"),
    [
        (False, NOT_READY, True, False),
        (False, OTHER, FailureClass.PROTOCOL, False),
        (False, None, FailureClass.PROTOCOL, False),
        (True, None, False, True),
        (True, NOT_READY, False, FailureClass.STUCK),
        (None, None, False, False),
        (None, NOT_READY, False, False),
    ],
)
def test_a_checkpoint_is_declined_or_starts(must_start: bool | None, error: Error | None, declined: Any, started: Any):
    rules = a_checkpoint_that_comes_too_early_is_declined, a_checkpoint_does_not_wait_for_recovered_data
    found = [rule.check(must_start, seen(error)) for rule in rules]
    assert [failure(one) if isinstance(one, Broken) else one for one in found] == [declined, started]
