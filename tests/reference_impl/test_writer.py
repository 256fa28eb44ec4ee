"""The channel state writer, rule by rule of writer.md."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.ports import (
    SPILL_FILE_READ,
    STATE_FILE_CLOSE,
    STATE_FILE_FLUSH,
    STATE_FILE_OPEN,
    STATE_FILE_WRITE,
    BufferRecycled,
    ChannelState,
    ChannelStateCompleted,
    ChannelStateFailed,
    CheckpointReason,
    ErrorKind,
    FaultKind,
    FaultStruck,
    PortError,
    Request,
    RequestKind,
    Resources,
    SnapshotClosed,
)
from tests.writers import Writer, registered

EXPIRED, SUBSUMED = CheckpointReason.EXPIRED, CheckpointReason.DECLINED_SUBSUMED
SHARED, IO, CLOSING = CheckpointReason.SHARED_STREAM, CheckpointReason.IO_EXCEPTION, CheckpointReason.TASK_CLOSING


def refused(kind: ErrorKind) -> Any:
    return pytest.raises(PortError, match=f"^{kind}")


def test_subtasks_share_an_executor_until_one_starts_or_closes():
    """writer.md W1, W2, W22."""
    writer = Writer(subtasks=4, sharing=3)
    assert writer.register(0) == (0,)
    assert writer.register(1) == (0, 1)
    writer.start(0, 1)
    assert writer.register(2) == (0, 1, 2)
    assert writer.register(3) == (3,)
    assert writer.executors() == ((0, 1, 2), (3,))


def test_an_executed_start_ends_the_registration():
    """writer.md W2."""
    writer = registered(0)
    writer.start(0, 1)
    writer.execute(0)
    assert writer.register(1) == (1,)


def test_a_subtask_has_one_result_for_a_checkpoint_and_not_too_many():
    """writer.md W3, W4."""
    writer = registered(0)
    writer.start(0, 1)
    with refused(ErrorKind.ARGUMENT):
        writer.start(0, 1)
    writer.start(0, 2)
    with refused(ErrorKind.STATE):
        writer.start(0, 3)
    writer.take_result(0, 1)
    with refused(ErrorKind.ARGUMENT):
        writer.take_result(0, 1)
    writer.start(0, 3)


@pytest.mark.parametrize("files", [False, True])
def test_what_several_subtasks_write_to_one_file_is_read_back(files):
    """writer.md W5, W8, W11, W13 to W15, W17 to W19, W22."""
    writer = registered(0, 1, files=files)
    writer.start(0, 1)
    writer.add_output(0, 1, 0, (7,))
    writer.start(1, 1)
    writer.add_input(1, 1, 0, (1, 2))
    writer.add_input(0, 1, 0, (3,))
    writer.add_input(1, 1, 0, (4,))
    writer.add_input(1, 1, 1, ())
    for subtask in (0, 1):
        writer.finish_input(subtask, 1)
        writer.finish_output(subtask, 1)
    assert writer.resources() == Resources(5, 0, 0, 0, 2, 0)
    assert writer.execute(0) == Request(0, RequestKind.START, 1)
    signals = writer.execute_all()
    assert [one.record for one in signals if type(one) is BufferRecycled] == [7, 1, 2, 3, 4]
    assert signals[-2:] == [ChannelStateCompleted(0, 1), ChannelStateCompleted(1, 1)]
    assert writer.read_back(0, 1) == (ChannelState(False, 0, (3,)), ChannelState(True, 0, (7,)))
    assert writer.read_back(1, 1) == (ChannelState(False, 0, (1, 2, 4)),)
    assert writer.read_back(1, 2) is None
    assert writer.files() == (1,)
    assert writer.resources() == Resources(0, 0, 1, 0, 0, 0)
    writer.release()
    assert writer.files() == ()


def test_input_of_a_subtask_that_has_closed_is_refused_and_recycled():
    """writer.md W6, W21."""
    writer = registered(0, 1)
    writer.start(0, 1)
    writer.close(0)
    writer.signals()
    with refused(ErrorKind.RELEASED):
        writer.add_input(0, 1, 0, (5,))
    assert writer.signals() == [BufferRecycled(5)]


def test_promised_buffers_hold_up_their_own_subtask_only():
    """writer.md W7, W9, W10."""
    writer = registered(0, 1)
    writer.start(0, 1)
    writer.add_output_future(0, 1, 0, 0)
    writer.add_output(0, 1, 0, (9,))
    writer.start(1, 1)
    assert [writer.execute(0).subtask, writer.execute(0).subtask, writer.execute(0)] == [0, 1, None]
    writer.complete_future(0, (8,))
    writer.execute_all()
    for subtask in (0, 1):
        writer.finish_input(subtask, 1)
        writer.finish_output(subtask, 1)
    writer.execute_all()
    assert writer.read_back(0, 1) == (ChannelState(True, 0, (8, 9)),)


def test_a_broken_promise_fails_its_own_result_for_its_reason():
    """writer.md W10, W17, W20."""
    writer = registered(0, 1)
    writer.start(0, 1)
    writer.start(1, 1)
    writer.add_output_future(0, 1, 0, 0)
    writer.fail_future(0, EXPIRED)
    assert writer.execute_all() == [ChannelStateFailed(0, 1, EXPIRED), ChannelStateFailed(1, 1, SHARED)]
    assert writer.files() == ()


def test_an_abort_overtakes_and_others_get_the_reason_shared_stream():
    """writer.md W9, W12, W16, W20."""
    writer = registered(0, 1)
    writer.start(0, 1)
    writer.start(1, 1)
    writer.execute_all()
    writer.add_input(0, 1, 0, (3,))
    writer.abort(0, 1, EXPIRED)
    assert writer.execute(0) == Request(0, RequestKind.ABORT, 1)
    assert writer.signals() == [ChannelStateFailed(0, 1, EXPIRED), ChannelStateFailed(1, 1, SHARED)]
    assert writer.execute_all() == [BufferRecycled(3)]


def test_a_start_after_the_abort_of_its_checkpoint_fails():
    """writer.md W12, W16."""
    writer = registered(0, 1)
    writer.abort(0, 2, EXPIRED)
    for subtask, checkpoint in ((0, 1), (0, 2), (1, 2)):
        writer.start(subtask, checkpoint)
    assert writer.execute_all() == [
        ChannelStateFailed(0, 1, SUBSUMED),
        ChannelStateFailed(0, 2, EXPIRED),
        ChannelStateFailed(1, 2, SHARED),
    ]


@pytest.mark.parametrize("how", ["start", "abort"])
def test_a_newer_checkpoint_gives_up_the_file(how):
    """writer.md W13, W16, W20."""
    writer = registered(0, 1)
    writer.start(1, 1)
    writer.execute_all()
    if how == "start":
        writer.start(0, 2)
    else:
        writer.abort(0, 2, EXPIRED)
    assert writer.execute_all() == [ChannelStateFailed(1, 1, SUBSUMED)]


def test_a_file_that_cannot_be_made_fails_its_checkpoint_and_no_other():
    """writer.md W11, W14, W15."""
    writer = registered(0, 1)
    writer.fault(STATE_FILE_OPEN, FaultKind.THROWS)
    writer.start(0, 1)
    writer.start(1, 1)
    struck = FaultStruck(STATE_FILE_OPEN, FaultKind.THROWS)
    assert writer.execute_all() == [struck, ChannelStateFailed(0, 1, IO), ChannelStateFailed(1, 1, IO)]
    writer.start(0, 2)
    writer.start(1, 2)
    for subtask in (0, 1):
        writer.finish_input(subtask, 2)
        writer.finish_output(subtask, 2)
    assert writer.execute_all() == [ChannelStateCompleted(0, 2), ChannelStateCompleted(1, 2)]


@pytest.mark.parametrize("place", [STATE_FILE_WRITE, STATE_FILE_FLUSH, STATE_FILE_CLOSE])
def test_a_file_that_cannot_be_written_fails_its_checkpoint(place):
    """writer.md W17, W19, W20."""
    writer = registered(0)
    writer.fault(place, FaultKind.THROWS)
    writer.start(0, 1)
    writer.add_input(0, 1, 0, (1, 2))
    writer.finish_input(0, 1)
    writer.finish_output(0, 1)
    signals = writer.execute_all()
    assert ChannelStateFailed(0, 1, IO) in signals
    assert [one.record for one in signals if type(one) is BufferRecycled] == [1, 2]
    assert writer.files() == ()
    assert writer.resources() == Resources(0, 0, 0, 0, 0, 0)


def test_a_file_without_content_is_deleted():
    """writer.md W19."""
    writer = registered(0)
    writer.start(0, 1)
    writer.finish_output(0, 1)
    writer.finish_input(0, 1)
    assert writer.execute_all() == [ChannelStateCompleted(0, 1)]
    assert writer.files() == ()
    assert writer.read_back(0, 1) == ()


def test_a_file_that_cannot_be_closed_is_given_up_all_the_same():
    """writer.md W20."""
    writer = registered(0)
    writer.start(0, 1)
    writer.execute_all()
    writer.fault(STATE_FILE_CLOSE, FaultKind.THROWS)
    writer.abort(0, 1, EXPIRED)
    assert ChannelStateFailed(0, 1, EXPIRED) in writer.execute_all()
    assert writer.files() == ()


def test_a_file_does_not_wait_for_a_subtask_that_closes():
    """writer.md W21."""
    writer = registered(0, 1)
    writer.start(0, 1)
    writer.finish_input(0, 1)
    writer.finish_output(0, 1)
    assert writer.execute_all() == []
    writer.close(1)
    writer.close(1)
    assert writer.execute_all() == [ChannelStateCompleted(0, 1)]
    assert writer.executors() == ((0,),)


def test_an_executor_that_stops_cancels_what_is_queued():
    """writer.md W23."""
    writer = registered(0)
    writer.start(0, 1)
    writer.execute_all()
    writer.add_output_future(0, 1, 0, 0)
    writer.add_output(0, 1, 0, (4,))
    writer.close(0)
    assert writer.signals() == [BufferRecycled(4), ChannelStateFailed(0, 1, CLOSING)]
    writer.complete_future(0, (5,))
    assert writer.signals() == [BufferRecycled(5)]
    assert writer.executors() == ()


def test_the_release_stops_every_executor():
    """writer.md W24."""
    writer = registered(0, 1, sharing=1)
    writer.start(1, 1)
    writer.add_input(1, 1, 0, (6,))
    writer.add_output_future(1, 1, 0, 0)
    writer.release()
    assert writer.signals() == [ChannelStateFailed(1, 1, CLOSING), BufferRecycled(6)]
    writer.complete_future(0, (7,))
    assert writer.signals() == [BufferRecycled(7)]
    writer.release()
    assert writer.resources() == Resources(0, 0, 0, 0, 0, 0)


def test_spilled_input_is_written_for_its_channels_behind_what_was_in_memory():
    """writer.md W25."""
    writer = registered(0)
    writer.start(0, 1)
    writer.add_input(0, 1, 0, (1,))
    writer.add_input_from_spill(0, 1, 7, ((1, 4), (0, 2), (1, 5), (0, 3)))
    writer.finish_input(0, 1)
    writer.finish_output(0, 1)
    assert writer.execute_all() == [BufferRecycled(1), SnapshotClosed(7), ChannelStateCompleted(0, 1)]
    assert writer.read_back(0, 1) == (ChannelState(False, 0, (1, 2, 3)), ChannelState(False, 1, (4, 5)))


def test_an_empty_snapshot_is_closed_at_once():
    """writer.md W25."""
    writer = registered(0)
    writer.start(0, 1)
    writer.execute_all()
    writer.add_input_from_spill(0, 1, 7, ())
    assert writer.signals() == [SnapshotClosed(7)]
    assert writer.execute(0) is None


def test_spilled_input_that_cannot_be_read_fails_its_checkpoint_only():
    """writer.md W25."""
    writer = registered(0)
    writer.start(0, 1)
    writer.add_input_from_spill(0, 1, 7, ((0, 1), (0, 2)))
    writer.fault(SPILL_FILE_READ, FaultKind.THROWS)
    assert writer.execute_all() == [
        FaultStruck(SPILL_FILE_READ, FaultKind.THROWS),
        ChannelStateFailed(0, 1, IO),
        SnapshotClosed(7),
    ]
    writer.take_result(0, 1)
    writer.start(0, 2)
    writer.add_input_from_spill(0, 2, 8, ((0, 1),))
    writer.finish_input(0, 2)
    writer.finish_output(0, 2)
    assert writer.execute_all() == [SnapshotClosed(8), ChannelStateCompleted(0, 2)]


@pytest.mark.parametrize("end", ["abort", "close", "release"])
def test_a_snapshot_is_closed_once_however_its_checkpoint_ends(end):
    """writer.md W12, W23, W24, W25."""
    writer = registered(0)
    writer.start(0, 1)
    writer.add_input_from_spill(0, 1, 7, ((0, 1),))
    if end == "abort":
        writer.abort(0, 1, EXPIRED)
        signals = writer.execute_all()
    else:
        getattr(writer, end)(*((0,) if end == "close" else ()))
        signals = writer.signals()
    assert signals.count(SnapshotClosed(7)) == 1
    writer.release()
    assert writer.signals() == []
