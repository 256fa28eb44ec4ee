"""The reference, rule by rule of subpartition.md: written down by hand, without ledger or steps."""

from __future__ import annotations

import pytest

from conformance.ports import (
    AVAILABILITY_LISTENER,
    CHANNEL_STATE_WRITER,
    PRODUCER,
    Alignment,
    Availability,
    Barrier,
    Buffer,
    BufferAndBacklog,
    CheckpointReason,
    DataAvailable,
    EndOfPartition,
    ErrorKind,
    Event,
    FaultKind,
    FaultStruck,
    Next,
    OutputState,
    PortError,
    PriorityAvailable,
    RecoveryCompletion,
    RecoveryMetadata,
    StateStatus,
    SubpartitionConfig,
)
from reference_impl import PUSHED, RECOVER_FIRST
from reference_impl.network.subpartition import Subpartition


def fresh(design=PUSHED, exclusive_buffers: int = 2, view: bool = True) -> Subpartition:
    made = Subpartition(SubpartitionConfig(exclusive_buffers), design)
    if view:
        made.attach_view()
    return made


def aligned(checkpoint: int) -> Barrier:
    return Barrier(checkpoint, Alignment.ALIGNED)


def timeoutable(checkpoint: int) -> Barrier:
    return Barrier(checkpoint, Alignment.TIMEOUTABLE)


def unaligned(checkpoint: int) -> Barrier:
    return Barrier(checkpoint, Alignment.UNALIGNED)


def signals(one: Subpartition) -> list[object]:
    told: list[object] = list(one.signals)
    one.signals.clear()
    return told


def written(*ids: int) -> OutputState:
    return OutputState(StateStatus.WRITTEN, ids)


def test_only_the_first_finished_element_is_announced():
    """subpartition.md S2, S5, S18 to S21."""
    one = fresh()
    one.add(Buffer((0,)))
    assert signals(one) == [DataAvailable()]
    one.add(Buffer((1,)))
    one.add(Buffer((2,)))
    assert signals(one) == [DataAvailable()]  # two elements count as one finished, three as two
    assert one.poll() == BufferAndBacklog(Buffer((0,)), 0, Next.DATA, 1)


def test_nothing_is_announced_before_a_view_is_attached():
    """subpartition.md S5, S6, S16."""
    one = fresh(view=False)
    one.add(unaligned(1))
    one.add(Buffer((0,)))
    one.attach_view()
    assert signals(one) == []


def test_a_second_view_is_refused():
    """subpartition.md S16."""
    one = fresh()
    with pytest.raises(PortError) as refused:
        one.attach_view()
    assert refused.value.kind is ErrorKind.STATE


def test_an_unfinished_head_is_read_in_parts_and_stays():
    """subpartition.md S7, S18, S19."""
    one = fresh()
    one.add(Buffer((0,), finished=False))
    assert signals(one) == []
    assert one.poll() == BufferAndBacklog(Buffer((0,)), 0, Next.NONE, 0)
    one.append((1, 2))
    assert one.poll() == BufferAndBacklog(Buffer((1, 2)), 1, Next.NONE, 0)
    assert one.poll() is None


def test_a_buffer_finished_later_is_known_to_be_finished_at_the_next_poll():
    """subpartition.md S8, S9, S22. A flush makes it available before that poll."""
    one = fresh()
    one.add(Buffer((0,), finished=False))
    one.finish_buffer()
    assert one.available(True) == Availability(False, 0)
    one.flush()
    assert signals(one) == [DataAvailable()]
    assert one.available(True) == Availability(True, 1)


@pytest.mark.parametrize(("exclusive_buffers", "first"), [(2, Buffer((0,))), (0, Buffer(()))])
def test_an_empty_finished_head_is_skipped_unless_it_carries_a_credit(exclusive_buffers, first):
    """subpartition.md S18."""
    one = fresh(exclusive_buffers=exclusive_buffers)
    one.add(Buffer(()))
    one.add(Buffer((0,)))
    taken = one.poll()
    assert taken is not None
    assert taken.element == first


def test_a_polled_barrier_blocks_until_resumed():
    """subpartition.md S17, S19, S21 to S23."""
    one = fresh()
    one.add(aligned(1))
    one.add(Buffer((0,)))
    assert one.poll() == BufferAndBacklog(aligned(1), 0, Next.NONE, 0)
    assert one.poll() is None
    assert one.available(True) == Availability(False, 0)
    one.resume()
    assert one.available(True) == Availability(True, 0)
    with pytest.raises(PortError) as refused:
        one.resume()
    assert refused.value.kind is ErrorKind.STATE


def test_a_priority_event_passes_a_blocked_subpartition():
    """subpartition.md S3, S6, S15, S17, S22, I-13, I-14."""
    one = fresh()
    one.finish_recovery(True)
    assert one.poll() == BufferAndBacklog(RecoveryCompletion(), 0, Next.NONE, 0)
    one.add(Buffer((0,)))
    signals(one)
    one.add(unaligned(1))
    assert signals(one) == [PriorityAvailable(1)]
    assert one.available(True).available
    assert one.available(False).available
    assert one.poll() == BufferAndBacklog(unaligned(1), 1, Next.NONE, 0)
    assert one.poll() is None
    assert one.persisted(1) == written(0)


def test_before_flink_39018_it_did_not():
    """subpartition.md S6, S17."""
    one = fresh(RECOVER_FIRST)
    one.finish_recovery(True)
    one.poll()
    signals(one)
    one.add(unaligned(1))
    assert signals(one) == []
    assert one.poll() is None
    one.resume()
    assert one.poll() == BufferAndBacklog(unaligned(1), 1, Next.NONE, 0)


def test_the_end_of_recovered_state_is_sent_without_state_and_only_if_asked_for():
    """subpartition.md S15."""
    one = fresh()
    one.finish_recovery(False)
    assert one.poll() is None


def test_recovered_output_state_comes_before_live_data_and_its_end_blocks():
    """subpartition.md S14, S15, S19."""
    one = fresh()
    one.recover(RecoveryMetadata(0, 0))
    one.recover(Buffer((0,)))
    one.finish_recovery(True)
    one.add(Buffer((1,)))
    polled = [one.poll() for _ in range(4)]
    assert [taken and taken.element for taken in polled] == [
        RecoveryMetadata(0, 0), Buffer((0,)), RecoveryCompletion(), None,
    ]  # fmt: skip
    one.resume()
    assert one.poll() == BufferAndBacklog(Buffer((1,)), 3, Next.NONE, 0)


def test_an_alignment_timeout_steps_over_an_older_aborted_barrier():
    """subpartition.md S4, S11 to S13, S24."""
    one = fresh()
    one.add(Buffer((0,)))
    one.add(timeoutable(1))
    one.add(Buffer((1,)))
    one.abort(1, CheckpointReason.DECLINED)
    one.add(timeoutable(2))
    one.add(Buffer((2,)))
    assert one.persisted(1).status is StateStatus.FAILED
    assert one.persisted(2).status is StateStatus.PENDING
    one.aligned_timeout(1)
    assert one.persisted(1).status is StateStatus.FAILED
    one.aligned_timeout(2)
    assert one.persisted(2) == written(0, 1)
    polled = [one.poll() for _ in range(3)]
    assert [taken.element for taken in polled if taken] == [unaligned(2), Buffer((0,)), timeoutable(1)]


def test_a_timeoutable_barrier_that_is_polled_stays_aligned():
    """subpartition.md S4, S18."""
    one = fresh()
    one.add(timeoutable(1))
    assert one.poll() == BufferAndBacklog(timeoutable(1), 0, Next.NONE, 0)
    assert one.persisted(1) == written()


def test_a_newer_timeoutable_barrier_fails_the_older_channel_state_future():
    """subpartition.md S4, S24."""
    one = fresh()
    one.add(timeoutable(1))
    one.add(timeoutable(2))
    assert one.persisted(1).status is StateStatus.FAILED
    assert one.persisted(2).status is StateStatus.PENDING


def test_the_end_is_always_announced_and_nothing_is_accepted_after_it():
    """subpartition.md S1, S10."""
    one = fresh()
    one.add(aligned(1))
    one.poll()
    signals(one)
    one.finish()
    assert signals(one) == [DataAvailable()]
    assert one.add(Event(0)) is False
    one.resume()
    assert one.poll() == BufferAndBacklog(EndOfPartition(), 1, Next.NONE, 0)
    one.finish()
    assert one.poll() is None


def test_queued_buffers_the_view_and_an_open_future_are_held():
    """subpartition.md S18, S25."""
    one = fresh()
    one.add(Buffer((0,)))
    one.add(timeoutable(1))
    one.add(Buffer((1,), finished=False))
    held = one.resources()
    assert (held.segments, held.listeners, held.futures) == (2, 1, 1)
    one.poll()
    one.poll()
    held = one.resources()
    assert (held.segments, held.listeners, held.futures) == (1, 1, 0)


def test_release_fails_the_channel_state_future_gives_all_back_and_may_be_repeated():
    """subpartition.md S1, S16, S24 to S27."""
    one = fresh()
    one.add(Buffer((0,)))
    one.add(timeoutable(1))
    for _ in range(2):
        one.release()
        held = one.resources()
        assert (held.segments, held.listeners, held.futures) == (0, 0, 0)
        assert one.persisted(1).status is StateStatus.FAILED
    assert one.add(Buffer((1,))) is False
    with pytest.raises(PortError):
        one.attach_view()


THROWS, ENDS = FaultKind.THROWS, FaultKind.ENDS


def fails(operation, *operands) -> None:
    with pytest.raises(PortError) as raised:
        operation(*operands)
    assert raised.value.kind is ErrorKind.IO


def test_what_was_added_is_kept_until_release_if_the_listener_fails():
    """subpartition.md S26, S28."""
    one = fresh()
    one.fault(AVAILABILITY_LISTENER, THROWS)
    fails(one.add, Buffer((0,)))
    assert signals(one) == [FaultStruck(AVAILABILITY_LISTENER, THROWS)]
    assert one.resources().segments == 1
    one.release()
    one.release()
    assert (one.resources().segments, one.resources().listeners) == (0, 0)


@pytest.mark.parametrize(
    ("operation", "operands"),
    [("flush", ()), ("finish", ()), ("recover", (Event(0),)), ("finish_recovery", (True,)), ("add", (unaligned(1),))],
)
def test_every_operation_that_notifies_fails_with_the_listener(operation, operands):
    """subpartition.md S28."""
    one = fresh(view=False)
    if operation == "flush":
        one.add(Buffer((0,), finished=False))
    one.attach_view()
    one.fault(AVAILABILITY_LISTENER, THROWS)
    fails(getattr(one, operation), *operands)
    assert one.queue.elements


def test_no_data_is_announced_if_the_notification_of_a_priority_event_fails():
    """subpartition.md S3, S28."""
    one = fresh(view=False)
    one.add(Buffer((0,)))
    one.attach_view()
    one.fault(AVAILABILITY_LISTENER, THROWS)
    fails(one.add, unaligned(1))
    assert signals(one) == [FaultStruck(AVAILABILITY_LISTENER, THROWS)]
    assert one.persisted(1) == written(0)


def test_a_channel_state_future_stays_completed_if_the_notification_fails():
    """subpartition.md S12, S28."""
    one = fresh()
    one.add(Buffer((0,)))
    one.add(timeoutable(1))
    one.fault(AVAILABILITY_LISTENER, THROWS)
    fails(one.aligned_timeout, 1)
    assert (one.persisted(1), one.resources().futures) == (written(0), 0)
    one.release()
    assert one.persisted(1) == written(0)


def test_a_channel_state_future_that_was_opened_fails_at_release_if_the_notification_fails():
    """subpartition.md S26, S28."""
    one = fresh()
    one.fault(AVAILABILITY_LISTENER, THROWS)
    fails(one.add, timeoutable(1))
    assert one.persisted(1).status is StateStatus.PENDING
    one.release()
    assert one.persisted(1).status is StateStatus.FAILED


def test_what_the_writer_does_not_take_is_no_output_state():
    """subpartition.md S29."""
    one = fresh()
    one.add(Buffer((0,)))
    signals(one)
    one.fault(CHANNEL_STATE_WRITER, THROWS)
    fails(one.add, unaligned(1))
    assert signals(one) == [FaultStruck(CHANNEL_STATE_WRITER, THROWS)]
    assert (one.persisted(1).status, one.resources().segments) == (StateStatus.ABSENT, 1)
    one.release()
    assert (one.persisted(1).status, one.resources().segments) == (StateStatus.ABSENT, 0)


def test_a_barrier_that_overtakes_no_data_does_not_meet_the_writer():
    """subpartition.md S3, S29."""
    one = fresh()
    one.fault(CHANNEL_STATE_WRITER, THROWS)
    assert one.add(unaligned(1))
    assert one.add(aligned(2))


def test_neither_future_stays_open_if_the_writer_does_not_take_the_newer_one():
    """subpartition.md S4, S29."""
    one = fresh()
    one.add(timeoutable(1))
    one.fault(CHANNEL_STATE_WRITER, THROWS)
    fails(one.add, timeoutable(2))
    assert [one.persisted(c).status for c in (1, 2)] == [StateStatus.FAILED, StateStatus.ABSENT]
    assert (one.resources().futures, len(one.queue)) == (0, 1)


@pytest.mark.parametrize("blocks", [False, True])
def test_a_poll_returns_what_came_before_the_producer_failed_and_then_the_error(blocks):
    """subpartition.md S30."""
    one = fresh()
    one.add(Buffer((0,)))
    if blocks:
        one.add(aligned(1))
        one.add(Buffer((1,)))
    signals(one)
    one.fault(PRODUCER, ENDS)
    came = [one.poll() for _ in range(2 if blocks else 1)]
    assert [None if taken is None else taken.element for taken in came] == [Buffer((0,)), *([aligned(1)] * blocks)]
    fails(one.poll)
    fails(one.poll)
    assert signals(one) == [FaultStruck(PRODUCER, ENDS)] * 2
    one.release()
    assert (one.resources().segments, one.resources().listeners) == (0, 0)
