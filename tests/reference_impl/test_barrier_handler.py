"""The barrier handler, rule by rule of barrier-handler.md."""

from __future__ import annotations

from inspect import iscoroutinefunction
from typing import Any

import pytest

from conformance.driver.turns import whole
from conformance.ports import (
    CHECKPOINT_START,
    Alignment,
    AlignmentTimes,
    Barrier,
    BarrierHandlerConfig,
    BarrierPrioritized,
    CheckpointDeclined,
    CheckpointReason,
    CheckpointTriggered,
    ConsumptionResumed,
    ErrorKind,
    FaultKind,
    FaultStruck,
    InputsCheckpointStarted,
    InputsCheckpointStopped,
    PortError,
)
from reference_impl.task.barrier_handler import BarrierHandler

ALIGNED, TIMEOUTABLE, UNALIGNED = Alignment.ALIGNED, Alignment.TIMEOUTABLE, Alignment.UNALIGNED


class WholeHandler:
    """A handler whose operations run whole."""

    def __init__(self, config: BarrierHandlerConfig) -> None:
        self.port = BarrierHandler(config)

    def __getattr__(self, name: str) -> Any:
        value = getattr(self.port, name)
        return (lambda *operands: whole(value(*operands))) if iscoroutinefunction(value) else value


def handler(channels=2, counts_ends=True) -> WholeHandler:
    return WholeHandler(BarrierHandlerConfig(channels, 10, counts_ends=counts_ends))


def told(one: WholeHandler) -> list[object]:
    """What the handler has signalled since the last question."""
    signals: list[object] = list(one.signals)
    one.signals.clear()
    return signals


def bring(one: WholeHandler, checkpoint: int, alignment: Alignment, *channels: int) -> list[object]:
    """The barriers of these channels come; returns what the handler signals."""
    for channel in channels:
        one.barrier(channel, Barrier(checkpoint, alignment), 0)
    return told(one)


def started(checkpoint: int) -> list[object]:
    return [InputsCheckpointStarted(checkpoint), CheckpointTriggered(checkpoint, unaligned=True)]


def test_an_aligned_checkpoint_begins_with_its_last_barrier_and_resumes_every_channel():
    """barrier-handler.md H2, H4, H6, H7, H20."""
    one = handler()
    assert one.pending() is None
    assert bring(one, 1, ALIGNED, 0) == []
    assert one.pending() == 1
    assert bring(one, 1, ALIGNED, 1) == [
        CheckpointTriggered(1, unaligned=False), ConsumptionResumed(0), ConsumptionResumed(1)
    ]  # fmt: skip
    assert one.pending() is None


def test_an_unaligned_checkpoint_begins_with_its_first_barrier():
    """barrier-handler.md H5, H6, H7."""
    one = handler()
    assert bring(one, 1, UNALIGNED, 0) == started(1)
    assert bring(one, 1, UNALIGNED, 1) == [InputsCheckpointStopped(1)]


def test_an_aligned_barrier_of_an_unaligned_checkpoint_blocks_until_the_end():
    """barrier-handler.md H4, H7."""
    one = handler(3)
    assert bring(one, 1, UNALIGNED, 0) == started(1)
    assert bring(one, 1, TIMEOUTABLE, 1) == []
    assert bring(one, 1, UNALIGNED, 2) == [InputsCheckpointStopped(1), ConsumptionResumed(1)]


def test_an_obsolete_barrier_resumes_its_channel_and_nothing_else():
    """barrier-handler.md H1."""
    one = handler(1)
    bring(one, 2, ALIGNED, 0)
    assert bring(one, 2, ALIGNED, 0) == [ConsumptionResumed(0)]
    assert bring(one, 1, ALIGNED, 0) == [ConsumptionResumed(0)]
    assert bring(one, 1, UNALIGNED, 0) == []


def test_a_newer_checkpoint_declines_the_one_in_progress():
    """barrier-handler.md H2, H3, H7."""
    one = handler()
    bring(one, 1, ALIGNED, 0)
    assert bring(one, 2, UNALIGNED, 1) == [
        ConsumptionResumed(0), CheckpointDeclined(1, CheckpointReason.DECLINED_SUBSUMED), *started(2)
    ]  # fmt: skip


def test_the_last_barrier_keeps_an_overdue_checkpoint_aligned_and_another_does_not():
    """barrier-handler.md H6, H8."""
    one = handler(3)
    one.port.clock.now = 11  # the checkpoint was triggered at 0, and its barriers have been on their way for too long
    assert bring(one, 1, TIMEOUTABLE, 0) == started(1)
    one = handler(1)
    one.port.clock.now = 11
    assert bring(one, 1, TIMEOUTABLE, 0) == [CheckpointTriggered(1, unaligned=False), ConsumptionResumed(0)]


def test_a_source_that_is_asked_by_a_call_is_not_blocked():
    """barrier-handler.md H9."""
    one = handler()
    one.rpc_barrier(1, Barrier(1, ALIGNED), 0)
    assert bring(one, 1, ALIGNED, 0) == [CheckpointTriggered(1, unaligned=False), ConsumptionResumed(0)]
    one.rpc_barrier(1, Barrier(1, ALIGNED), 0)
    assert told(one) == []


def test_when_the_time_is_over_announced_barriers_overtake_and_the_checkpoint_starts():
    """barrier-handler.md H10, H11, H16."""
    one = handler(3)
    one.announcement(0, 1, 7, 0)
    one.announcement(1, 1, 3, 0)
    assert bring(one, 1, TIMEOUTABLE, 0) == []
    one.advance(9)
    assert told(one) == []
    one.advance(1)
    assert told(one) == [BarrierPrioritized(1, 3), *started(1)]
    one.announcement(2, 1, 5, 0)
    assert told(one) == [BarrierPrioritized(2, 5)]


def test_when_no_barrier_came_in_time_the_first_one_starts_the_checkpoint():
    """barrier-handler.md H5, H11, H17."""
    one = handler(3)
    one.announcement(0, 1, 7, 0)
    one.advance(10)
    assert told(one) == [BarrierPrioritized(0, 7)]
    one.announcement(1, 1, 8, 0)
    assert told(one) == [BarrierPrioritized(1, 8)]
    assert bring(one, 1, TIMEOUTABLE, 2) == started(1)


def test_an_obsolete_announcement_leads_to_nothing():
    """barrier-handler.md H10."""
    one = handler(1)
    bring(one, 2, ALIGNED, 0)
    one.announcement(0, 1, 4, 0)
    assert told(one) == []
    assert one.pending() is None


def test_a_cancel_marker_declines_its_checkpoint_before_any_barrier_of_it_came():
    """barrier-handler.md H1, H12."""
    one = handler()
    bring(one, 1, ALIGNED, 0)
    one.cancel_marker(1, 2)
    declined = CheckpointDeclined(2, CheckpointReason.DECLINED_ON_CANCELLATION_BARRIER)
    assert told(one) == [ConsumptionResumed(0), declined]
    assert bring(one, 2, ALIGNED, 0) == [ConsumptionResumed(0)]


def test_a_cancel_marker_declines_a_checkpoint_that_was_only_announced():
    """barrier-handler.md H1, H12. The barrier that was announced blocks nothing when it comes."""
    one = handler()
    one.announcement(0, 1, 0, 0)
    one.cancel_marker(1, 1)
    assert told(one) == [CheckpointDeclined(1, CheckpointReason.DECLINED_ON_CANCELLATION_BARRIER)]
    assert bring(one, 1, TIMEOUTABLE, 0) == [ConsumptionResumed(0)]


def test_a_cancel_marker_of_a_checkpoint_that_is_over_is_ignored():
    """barrier-handler.md H13."""
    one = handler()
    bring(one, 1, TIMEOUTABLE, 0)
    one.cancel_marker(1, 1)
    assert told(one)[-1] == CheckpointDeclined(1, CheckpointReason.DECLINED_ON_CANCELLATION_BARRIER)
    one.cancel_marker(0, 1)
    assert told(one) == []


def test_the_end_of_a_channel_counts_as_its_barrier_now_and_later():
    """barrier-handler.md H2, H14."""
    one = handler()
    bring(one, 1, ALIGNED, 0)
    one.end_of_partition(1)
    assert told(one) == [CheckpointTriggered(1, unaligned=False), ConsumptionResumed(0)]
    assert bring(one, 2, UNALIGNED, 0) == [*started(2), InputsCheckpointStopped(2)]


def test_the_end_of_a_channel_declines_the_checkpoint_if_ends_do_not_count():
    """barrier-handler.md H15."""
    one = handler(counts_ends=False)
    bring(one, 1, ALIGNED, 0)
    one.end_of_partition(1)
    declined = CheckpointDeclined(1, CheckpointReason.DECLINED_INPUT_END_OF_STREAM)
    assert told(one) == [ConsumptionResumed(0), declined]


def test_a_checkpoint_that_the_inputs_refuse_is_declined_alone():
    """barrier-handler.md H18."""
    one = handler()
    assert one.fault(CHECKPOINT_START, FaultKind.REFUSES)
    struck = FaultStruck(CHECKPOINT_START, FaultKind.REFUSES)
    assert bring(one, 1, UNALIGNED, 0) == [struck, CheckpointDeclined(1, CheckpointReason.DECLINED)]
    assert bring(one, 1, UNALIGNED, 1) == []
    assert bring(one, 2, UNALIGNED, 0) == started(2)


def test_what_else_fails_in_the_inputs_fails_the_task():
    """barrier-handler.md H19."""
    one = handler()
    assert one.fault(CHECKPOINT_START, FaultKind.THROWS)
    with pytest.raises(PortError) as failed:
        one.barrier(0, Barrier(1, UNALIGNED), 0)
    assert failed.value.kind is ErrorKind.IO


def test_the_timer_is_held_until_the_checkpoint_is_over_or_the_handler_released():
    """barrier-handler.md H7, H20, H21."""
    one = handler()
    bring(one, 1, TIMEOUTABLE, 0)
    assert one.resources().listeners == 1
    bring(one, 1, TIMEOUTABLE, 1)
    assert one.resources().listeners == 0
    bring(one, 2, TIMEOUTABLE, 0)
    one.release()
    one.release()
    assert one.resources().listeners == 0


def test_an_alignment_starts_with_its_first_barrier_and_ends_with_its_last():
    """barrier-handler.md H22, H23, H24."""
    one = handler()
    one.advance(3)
    one.announcement(0, 1, 0, 1)
    one.advance(2)
    assert one.alignment_times() == AlignmentTimes(0, 0)
    one.barrier(0, Barrier(1, TIMEOUTABLE), 1)
    one.advance(3)
    assert one.alignment_times() == AlignmentTimes(3, 4)
    one.barrier(1, Barrier(1, TIMEOUTABLE), 1)
    one.advance(1)
    assert one.alignment_times() == AlignmentTimes(3, 4)


def test_nothing_of_an_alignment_that_was_given_up_is_counted_for_the_next():
    """barrier-handler.md H23."""
    one = handler()
    one.barrier(0, Barrier(1, ALIGNED), 0)
    one.advance(5)
    one.cancel_marker(1, 1)
    assert one.alignment_times().duration == 0
    one.barrier(0, Barrier(2, ALIGNED), 5)
    one.advance(1)
    assert one.alignment_times() == AlignmentTimes(1, 0)
