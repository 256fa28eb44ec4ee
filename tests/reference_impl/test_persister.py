"""The channel state persister, rule by rule of persister.md."""

from __future__ import annotations

import pytest

from conformance.ports import (
    CHANNEL_STATE_WRITER,
    Alignment,
    Announcement,
    Barrier,
    Buffer,
    CheckpointReason,
    ErrorKind,
    Event,
    FaultKind,
    FaultStruck,
    PortError,
)
from reference_impl.state.persister import Persister


def barrier(checkpoint: int, alignment=Alignment.UNALIGNED) -> Barrier:
    return Barrier(checkpoint, alignment)


def meet(one: Persister, *elements) -> None:
    """Elements arrive, as a channel would let its persister know."""
    for element in elements:
        one.barrier(element)
        one.maybe_persist(element)


def test_what_is_known_is_written_and_what_comes_before_the_barrier():
    """persister.md P2, P6 to P8, P13."""
    one = Persister()
    one.start(1, (10, 11))
    meet(one, Buffer((12,)), Event(0), barrier(1), Buffer((13,)))
    assert one.persisted(1) == (10, 11, 12)


def test_a_barrier_that_came_first_leaves_nothing_to_wait_for():
    """persister.md P3, P7, P8, P12."""
    one = Persister()
    meet(one, barrier(1), Buffer((1,)))
    one.start(1, (0,))
    meet(one, Buffer((2,)))
    assert one.persisted(1) == (0,)
    assert one.barrier_received()


def test_a_newer_barrier_subsumes_an_older_checkpoint():
    """persister.md P1."""
    one = Persister()
    meet(one, barrier(2))
    with pytest.raises(PortError) as refused:
        one.start(1, (0,))
    assert refused.value.checkpoint_reason is CheckpointReason.SUBSUMED
    assert one.persisted(1) == ()


def test_a_newer_barrier_ends_an_older_checkpoint():
    """persister.md P7, P8."""
    one = Persister()
    one.start(1, ())
    meet(one, Buffer((1,)), barrier(2), Buffer((2,)))
    assert one.persisted(1) == (1,)


def test_a_late_stop_changes_nothing():
    """persister.md P2, P5."""
    one = Persister()
    one.start(1, ())
    one.start(2, ())
    one.stop(1)
    meet(one, Buffer((1,)))
    assert one.persisted(2) == (1,)


def test_a_stop_ends_what_is_pending_and_may_come_twice():
    """persister.md P4, P7."""
    one = Persister()
    one.start(1, ())
    one.stop(1)
    one.stop(1)
    meet(one, Buffer((1,)))
    assert one.persisted(1) == ()


@pytest.mark.parametrize("stopped", [1, 2])
def test_a_barrier_of_a_checkpoint_that_is_over_is_obsolete(stopped):
    """persister.md P4, P8, P9, P12."""
    one = Persister()
    one.stop(stopped)
    assert one.barrier(barrier(1)) is None
    assert not one.barrier_received()
    assert one.barrier(barrier(stopped + 1)) == stopped + 1


def test_a_converted_channel_remembers_what_was_stopped_before():
    """persister.md P4, P9."""
    one = Persister(last_stopped=3)
    assert one.barrier(barrier(3)) is None
    assert one.barrier(barrier(4)) == 4


def test_a_timeoutable_barrier_is_a_barrier_and_its_announcement_is_none():
    """persister.md P8, P10."""
    one = Persister()
    one.start(1, ())
    assert one.barrier(Announcement(1, 7)) == 1
    meet(one, Buffer((1,)))
    meet(one, barrier(1, Alignment.TIMEOUTABLE), Buffer((2,)))
    assert one.persisted(1) == (1,)


def test_data_and_other_events_are_no_barriers():
    """persister.md P11."""
    one = Persister()
    one.start(1, ())
    assert one.barrier(Buffer((1,))) is one.barrier(Event(1)) is None
    assert not one.barrier_received()
    meet(one, Buffer((2,)))
    assert one.persisted(1) == (2,)


def test_only_data_is_written():
    """persister.md P6, P7, P13."""
    one = Persister()
    one.start(1, ())
    meet(one, Event(0), Buffer(()), Buffer((1, 2)))
    assert one.persisted(1) == (1, 2)
    assert one.persisted(2) == ()


def test_a_released_persister_writes_no_more():
    """persister.md P14."""
    one = Persister()
    one.start(1, (0,))
    one.release()
    meet(one, Buffer((1,)))
    assert one.persisted(1) == (0,)


def test_a_writer_that_fails_makes_the_operation_fail_and_nothing_is_written():
    """persister.md P15."""
    one = Persister()
    one.start(1, (0,))
    one.fault(CHANNEL_STATE_WRITER, FaultKind.THROWS)
    with pytest.raises(PortError) as failed:
        meet(one, Buffer((1,)))
    assert failed.value.kind is ErrorKind.IO
    assert one.signals == [FaultStruck(CHANNEL_STATE_WRITER, FaultKind.THROWS)]
    assert one.persisted(1) == (0,)


def test_a_checkpoint_without_known_buffers_does_not_reach_the_writer():
    """persister.md P2, P15."""
    one = Persister()
    one.fault(CHANNEL_STATE_WRITER, FaultKind.THROWS)
    one.start(1, ())
    assert not one.signals
    with pytest.raises(PortError):
        one.start(2, (0,))
