"""Situations that a campaign must have seen in channel state writers."""

from __future__ import annotations

from conformance.components.writer import steps
from conformance.components.writer.ledger import Ledger
from conformance.driver import Rules, Seen
from conformance.models.designs import FAULTS, PUSHED
from conformance.ports import (
    SPILL_FILE_READ,
    SPILL_FILE_READ_ON,
    STATE_FILE_CLOSE,
    STATE_FILE_FLUSH,
    STATE_FILE_OPEN,
    STATE_FILE_WRITE,
    ChannelState,
    FaultKind,
    FaultStruck,
    Request,
    RequestKind,
)

START, ABORT, CLOSE, SPILLED_INPUT, FINISH_INPUT, FINISH_OUTPUT = (
    RequestKind.START,
    RequestKind.ABORT,
    RequestKind.CLOSE,
    RequestKind.SPILLED_INPUT,
    RequestKind.FINISH_INPUT,
    RequestKind.FINISH_OUTPUT,
)
"""Module variables, because looking up a member of an enumeration is slow in Python 3.11."""

RULES = Rules[Ledger]("writer")
goal = RULES.goal
Executed = Seen[Request | None, int]


def _strikes(seen: Executed, place: str, *kinds: RequestKind) -> bool:
    return seen.value is not None and seen.value.kind in kinds and FaultStruck(place, FaultKind.THROWS) in seen.signals


@goal(steps.execute, needs=FAULTS)
def a_file_could_not_be_made(ledger: Ledger, seen: Executed) -> bool:
    """The file of a checkpoint could not be made."""
    return _strikes(seen, STATE_FILE_OPEN, START)


@goal(steps.execute, needs=FAULTS)
def a_write_failed_that_another_subtask_shares(ledger: Ledger, seen: Executed) -> bool:
    """A write failed when several subtasks had started the checkpoint."""
    executor = ledger.at_work
    return len(executor.parts) > 1 and _strikes(seen, STATE_FILE_WRITE, RequestKind.INPUT, RequestKind.OUTPUT)


@goal(steps.execute, needs=FAULTS)
def a_complete_file_could_not_be_flushed(ledger: Ledger, seen: Executed) -> bool:
    """A file was complete, and could not be flushed."""
    return _strikes(seen, STATE_FILE_FLUSH, FINISH_INPUT, FINISH_OUTPUT)


@goal(steps.execute, needs=FAULTS)
def a_complete_file_could_not_be_closed(ledger: Ledger, seen: Executed) -> bool:
    """A file was complete, and could not be closed."""
    return _strikes(seen, STATE_FILE_CLOSE, FINISH_INPUT, FINISH_OUTPUT)


@goal(steps.execute, needs=FAULTS)
def an_aborted_file_could_not_be_closed(ledger: Ledger, seen: Executed) -> bool:
    """The file of an aborted checkpoint could not be closed."""
    return _strikes(seen, STATE_FILE_CLOSE, ABORT)


@goal(steps.execute)
def a_subtask_aborted_a_file_that_others_share(ledger: Ledger, seen: Executed) -> bool:
    """A subtask aborted a checkpoint that another subtask had started, too."""
    executor, request = ledger.at_work, seen.value
    if request is None or request.kind is not ABORT or request.checkpoint != executor.ongoing:
        return False
    return executor.is_open and any(part != request.subtask for part in executor.parts)


@goal(steps.execute)
def a_checkpoint_was_aborted_before_it_was_started(ledger: Ledger, seen: Executed) -> bool:
    """A start was executed of a checkpoint that the subtask itself had aborted before."""
    executor, request = ledger.at_work, seen.value
    if request is None or request.kind is not START:
        return False
    return request.checkpoint == executor.aborted and request.subtask == executor.aborted_by


@goal(steps.execute)
def a_newer_checkpoint_was_aborted_while_an_older_one_was_written(ledger: Ledger, seen: Executed) -> bool:
    """A checkpoint was aborted while an older one was written."""
    executor, request = ledger.at_work, seen.value
    if request is None or request.kind is not ABORT:
        return False
    return executor.is_open and bool(executor.parts) and request.checkpoint > executor.ongoing


@goal(steps.execute)
def a_request_was_executed_while_another_subtask_waited_for_buffers(ledger: Ledger, seen: Executed) -> bool:
    """A request was executed while promised buffers held up another subtask of the same executor."""
    executor, request = ledger.at_work, seen.value
    if request is None:
        return False
    return any(of is executor and subtask != request.subtask for of, subtask, _ in ledger.futures.open.values())


@goal(steps.execute)
def a_file_of_several_subtasks_was_completed(ledger: Ledger, seen: Executed) -> bool:
    """The last part was executed of a file in which several subtasks have written."""
    executor, request = ledger.at_work, seen.value
    if request is None or request.kind not in (FINISH_INPUT, FINISH_OUTPUT):
        return False
    finals = [final for part in executor.parts.values() for final in part]
    return executor.is_open and not executor.awaited and len(finals) > 2 and finals.count(False) == 1


@goal(steps.execute)
def the_last_subtask_that_was_awaited_closed(ledger: Ledger, seen: Executed) -> bool:
    """A file was complete but for a subtask that had not started the checkpoint, and that closed."""
    executor, request = ledger.at_work, seen.value
    if request is None or request.kind is not CLOSE or executor.awaited != [request.subtask]:
        return False
    return executor.is_open and bool(executor.parts) and all(all(part) for part in executor.parts.values())


@goal(steps.close)
def an_executor_stopped_with_requests_in_its_queue(ledger: Ledger, seen: Seen[None, int]) -> bool:
    """The last subtask of an executor closed when buffers were waiting to be written."""
    executor = next((one for one in ledger.executors if one.users == list(seen.operands)), None)
    return executor is not None and any(one.records for line in executor.input_lines.values() for one in line)


@goal(steps.add_input)
def input_came_after_its_subtask_had_closed(ledger: Ledger, seen: Seen[None, int, int, int]) -> bool:
    """A thread handed in input of a subtask that had closed."""
    return ledger.subtasks[seen.operands[0]].executor is None and seen.operands[2] > 0


@goal(steps.execute, needs=PUSHED)
def spilled_input_of_two_channels_was_written(ledger: Ledger, seen: Executed) -> bool:
    """Spilled input of two channels was written, after input of one of them that was in memory."""
    executor, request = ledger.at_work, seen.value
    if request is None or request.kind is not SPILLED_INPUT or not executor.is_open:
        return False
    queued, _ = executor.find(request.subtask, request.kind, request.checkpoint)
    channels = {channel for channel, _ in queued.pieces} if queued is not None else set()
    written = ledger.files.written.get((request.subtask, request.checkpoint), {})
    return len(channels) > 1 and any((False, channel) in written for channel in sorted(channels))


@goal(steps.execute, needs=PUSHED)
def spilled_input_of_a_checkpoint_that_is_over_was_not_written(ledger: Ledger, seen: Executed) -> bool:
    """The request to write spilled input was executed when its checkpoint was over."""
    executor, request = ledger.at_work, seen.value
    if request is None or request.kind is not SPILLED_INPUT:
        return False
    return executor.is_over(request.checkpoint)


@goal(steps.execute, needs=FAULTS | PUSHED)
def spilled_input_could_not_be_read(ledger: Ledger, seen: Executed) -> bool:
    """Spilled input could not be read."""
    return _strikes(seen, SPILL_FILE_READ, SPILLED_INPUT)


@goal(steps.execute, needs=FAULTS | PUSHED)
def spilled_input_could_not_be_read_to_its_end(ledger: Ledger, seen: Executed) -> bool:
    """A piece of spilled input could not be read behind one that was read."""
    return _strikes(seen, SPILL_FILE_READ_ON, SPILLED_INPUT)


@goal(steps.execute, needs=PUSHED)
def spilled_input_of_a_subtask_that_had_closed_was_written(ledger: Ledger, seen: Executed) -> bool:
    """Spilled input was written of a subtask that had closed before."""
    executor, request = ledger.at_work, seen.value
    if request is None or request.kind is not SPILLED_INPUT or not executor.is_open:
        return False
    return request.subtask not in executor.users and request.checkpoint == executor.ongoing


@goal(steps.close, needs=PUSHED)
def an_executor_stopped_with_spilled_input_in_its_queue(ledger: Ledger, seen: Seen[None, int]) -> bool:
    """The last subtask of an executor closed when spilled input was waiting to be written."""
    executor = next((one for one in ledger.executors if one.users == list(seen.operands)), None)
    return executor is not None and any(one.pieces for line in executor.task_lines.values() for one in line)


@goal(steps.read_back)
def output_and_input_were_read_back(ledger: Ledger, seen: Seen[tuple[ChannelState, ...] | None, int, int]) -> bool:
    """Input and output of one subtask were read back that had the same number of a channel."""
    found = seen.value or ()
    inputs = [one.channel for one in found if not one.output]
    return any(one.output and one.channel in inputs for one in found)
