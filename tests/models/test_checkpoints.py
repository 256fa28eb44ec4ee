"""The checkpoints that a channel has heard of, and what a lane says when elements are taken."""

from __future__ import annotations

from conformance.models.checkpoints import Checkpoints
from conformance.models.lane import Lane
from conformance.ports import Alignment, Barrier, Buffer, CheckpointReason, EndOfPartition, Event


def test_the_newest_checkpoint_is_the_newest_that_was_named():
    checkpoints = Checkpoints()
    checkpoints.name(3)
    checkpoints.name(2)
    assert checkpoints.newest == 3
    checkpoints.barrier(4)
    assert (checkpoints.newest, checkpoints.last_barrier) == (4, 4)
    checkpoints.barrier(1)
    assert (checkpoints.newest, checkpoints.last_barrier) == (4, 1)


def test_a_start_or_stop_of_an_older_checkpoint_does_not_replace_a_newer_one():
    checkpoints = Checkpoints(CheckpointReason.DECLINED_TASK_NOT_READY, newest=2)
    assert (checkpoints.started, checkpoints.stopped) == (2, 2)
    checkpoints.start(5)
    checkpoints.stop(4)
    checkpoints.start(3)
    checkpoints.stop(3)
    assert (checkpoints.started, checkpoints.stopped) == (5, 4)


def test_recovered_buffers_are_taken_before_live_elements_and_priority_events_on_demand():
    lane = Lane((0, 1))
    assert lane.is_untouched()
    lane.send(Event(7))
    lane.send(Barrier(1, Alignment.UNALIGNED))
    urgent = lane.take_next(has_priority=True)
    assert urgent is not None
    assert urgent.element == Barrier(1, Alignment.UNALIGNED)
    taken = []
    while (sent := lane.take_next(has_priority=False)) is not None:
        taken.append(sent.element)
    assert taken == [Buffer((0,)), Buffer((1,)), Event(7)]
    assert lane.taken == 2
    assert lane.take_next(has_priority=True) is None
    assert not lane.is_untouched()


def test_a_lane_is_over_once_the_end_of_partition_was_sent():
    lane = Lane()
    lane.send(Event(0))
    assert not lane.over
    lane.send(EndOfPartition())
    lane.send(Event(1))
    assert lane.over


def test_the_end_of_recovered_data_is_taken_once():
    lane = Lane()
    lane.consume_end()
    assert (lane.consumed, lane.consumed_again) == (True, False)
    lane.consume_end()
    assert lane.consumed_again


def test_what_follows_is_recovered_data_then_its_end_then_live_elements():
    lane = Lane((0, 1))
    lane.send(Event(7))
    assert [lane.following(), lane.following(recovered=1), lane.following(recovered=2)] == ["data", "data", "none"]
    lane.finishing = lane.finished = True
    assert lane.following(recovered=2) == "event"
    assert not lane.end_waits()
    lane.take_next(has_priority=False)
    lane.take_next(has_priority=False)
    assert lane.end_waits()
    assert lane.is_hiding()
    lane.consume_end()
    assert not lane.is_hiding()
    assert [lane.following(), lane.following(live=1), lane.following(shut=True)] == ["event", "none", "none"]
