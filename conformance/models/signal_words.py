"""Describes signals: what a component has sent to others while it performed an operation. Rules and reports use the
same words.

Each signal is a clause that can be read without the signals around it, and it names all that the signal carries.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from conformance import ports
from conformance.models.coordinator_words import COORDINATOR_SIGNALS
from conformance.models.fault_words import failure_at
from conformance.models.job_words import JOB_SIGNALS, taken_in_words
from conformance.models.records import in_words
from conformance.models.words import taken

Describe = Callable[[Any], str]

SUBTASK_CALLS: Mapping[ports.SubtaskCall, str] = {
    ports.SubtaskCall.WRITER_START: "the writer starts checkpoint {}",
    ports.SubtaskCall.WRITER_FINISH_INPUT: "the writer has all input data of checkpoint {}",
    ports.SubtaskCall.WRITER_FINISH_OUTPUT: "the writer has all output data of checkpoint {}",
    ports.SubtaskCall.WRITER_TAKE_RESULT: "the result of checkpoint {} is taken from the writer",
    ports.SubtaskCall.WRITER_ABORT: "the writer aborts checkpoint {} and keeps its result",
    ports.SubtaskCall.WRITER_ABORT_AND_FORGET: "the writer aborts checkpoint {} and removes its result",
    ports.SubtaskCall.INPUTS_PREPARE: "the inputs hand their in-flight data of checkpoint {} to the writer",
    ports.SubtaskCall.OPERATORS_PREPARE: "the operators prepare the snapshot of checkpoint {}",
    ports.SubtaskCall.OPERATORS_SNAPSHOT: "the operators take the snapshot of checkpoint {}",
    ports.SubtaskCall.OPERATORS_COMPLETE: "the operators are notified that checkpoint {} is complete",
    ports.SubtaskCall.OPERATORS_ABORT: "the operators are notified that checkpoint {} was aborted",
    ports.SubtaskCall.OUTPUTS_BARRIER: "barrier {} is sent to the outputs behind their data",
    ports.SubtaskCall.OUTPUTS_PRIORITY_BARRIER: "barrier {} is sent to the outputs as a priority event",
    ports.SubtaskCall.OUTPUTS_CANCEL_MARKER: "the cancel marker of checkpoint {} is sent to the outputs",
    ports.SubtaskCall.OUTPUTS_TIME_OUT: "barrier {} becomes unaligned in the outputs in which it is queued",
}
"""What the subtask checkpoint coordinator calls, with a place for the checkpoint."""

TASK_STATES: Mapping[ports.TaskState, str] = {
    ports.TaskState.INITIALIZING: "the task is initializing",
    ports.TaskState.RUNNING: "the task is running",
    ports.TaskState.FINISHED: "the task has finished",
    ports.TaskState.FAILED: "the task has failed",
    ports.TaskState.CANCELED: "the task is canceled",
}


def _state(signal: ports.TaskStateChanged) -> str:
    return TASK_STATES[signal.state] + (f": {signal.cause}" if signal.cause else "")


def _priority(signal: ports.PriorityAvailable) -> str:
    number = "" if signal.seq < 0 else f" with sequence number {signal.seq}"
    return f"a priority event{number} is available"


TASK_SIGNALS: Mapping[type, Describe] = {
    ports.DataAvailable: lambda one: "data is available",
    ports.PriorityAvailable: _priority,
    ports.CreditAnnounced: lambda one: f"credit {one.credit} is announced to the producer of channel {one.channel}",
    ports.ConsumptionResumed: lambda one: f"the producer of channel {one.channel} is resumed",
    ports.StateConsumed: lambda one: f"the recovered state of channel {one.channel} is consumed",
    ports.CheckpointAcknowledged: lambda one: (
        f"checkpoint {one.checkpoint} is acknowledged" + (f": {taken_in_words(one.taken)}" if one.taken else "")
    ),
    ports.CheckpointDeclined: lambda one: f"checkpoint {one.checkpoint} is declined, reason {one.reason.value}",
    ports.CheckpointTriggered: lambda one: (
        f"the {'unaligned' if one.unaligned else 'aligned'} checkpoint {one.checkpoint} is triggered"
    ),
    ports.InputsCheckpointStarted: lambda one: f"the inputs start checkpoint {one.checkpoint}",
    ports.InputsCheckpointStopped: lambda one: f"the inputs stop checkpoint {one.checkpoint}",
    ports.BarrierPrioritized: lambda one: (
        f"the barrier with sequence number {one.seq} in channel {one.channel} becomes a priority event"
    ),
    ports.ElementTaken: lambda one: f"the task takes {taken(one.element)} from channel {one.channel}",
    ports.BufferRecycled: lambda one: f"the buffer of record {one.record} is recycled",
    ports.SnapshotClosed: lambda one: f"snapshot {one.snapshot} of the spill files is closed",
    ports.ChannelStateCompleted: lambda one: (
        f"the channel state of subtask {one.subtask} for checkpoint {one.checkpoint} is complete"
    ),
    ports.ChannelStateFailed: lambda one: (
        f"the channel state of subtask {one.subtask} for checkpoint {one.checkpoint} fails, reason {one.reason.value}"
    ),
    ports.SubtaskCalled: lambda one: SUBTASK_CALLS[one.call].format(one.checkpoint),
    ports.TaskStateChanged: _state,
    ports.OutputStateRestored: lambda one: f"the output state is restored: {in_words(one.records)}",
    ports.OperatorsOpened: lambda one: "the operators are opened",
    ports.GateConverted: lambda one: f"gate {one.gate} is converted",
    ports.FaultStruck: lambda one: failure_at(one.place, one.kind),
}

SIGNALS: Mapping[type, Describe] = {**TASK_SIGNALS, **COORDINATOR_SIGNALS, **JOB_SIGNALS}
"""By type of signal."""


def signalled(signal: ports.Signal) -> str:
    """Describes a signal in a clause: `checkpoint 1 is acknowledged`."""
    return SIGNALS[type(signal)](signal)
