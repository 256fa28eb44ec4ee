"""What the subtask checkpoint coordinator calls in the other parts of its task."""

from __future__ import annotations

from msgspec import Struct

from conformance.ports.word import Word


class StatePart(Word):
    """The parts of the state of a task that a checkpoint may have, in the order in which Flink waits for them."""

    OPERATORS = "operators"
    """What the operators write in the background."""
    INPUTS = "inputs"
    """The in-flight data of the inputs (Flink: `getInputChannelStateFuture`)."""
    OUTPUTS = "outputs"
    """The in-flight data of the outputs (Flink: `getResultSubpartitionStateFuture`)."""


class SubtaskCall(Word):
    """What is called, with the method of Flink."""

    WRITER_START = "writer-start"
    """The channel state writer begins a checkpoint and holds a result for it (`ChannelStateWriter.start`)."""
    WRITER_FINISH_INPUT = "writer-finish-input"
    """It has got all in-flight data of the inputs (`finishInput`)."""
    WRITER_FINISH_OUTPUT = "writer-finish-output"
    """It has got all in-flight data of the outputs (`finishOutput`)."""
    WRITER_TAKE_RESULT = "writer-take-result"
    """It hands over the result, which it holds no longer (`getAndRemoveWriteResult`)."""
    WRITER_ABORT = "writer-abort"
    """It gives the checkpoint up, and still holds the result (`abort`, without `cleanup`)."""
    WRITER_ABORT_AND_FORGET = "writer-abort-and-forget"
    """It gives the checkpoint up, and holds no result (`abort`, with `cleanup`)."""
    INPUTS_PREPARE = "inputs-prepare"
    """The inputs hand their in-flight data to the writer (`prepareInputSnapshot`)."""
    OPERATORS_PREPARE = "operators-prepare"
    """The operators emit what they must before the barrier (`prepareSnapshotPreBarrier`)."""
    OPERATORS_SNAPSHOT = "operators-snapshot"
    """The operators take the synchronous part of their snapshots (`snapshotState`)."""
    OPERATORS_COMPLETE = "operators-complete"
    """The operators learn that the checkpoint is complete (`notifyCheckpointComplete`)."""
    OPERATORS_ABORT = "operators-abort"
    """The operators learn that the checkpoint was aborted (`notifyCheckpointAborted`)."""
    OUTPUTS_BARRIER = "outputs-barrier"
    """Every output gets the barrier, behind its data (`broadcastEvent`)."""
    OUTPUTS_PRIORITY_BARRIER = "outputs-priority-barrier"
    """Every output gets the barrier as a priority event (`broadcastEvent`)."""
    OUTPUTS_CANCEL_MARKER = "outputs-cancel-marker"
    """Every output gets the cancel marker (`broadcastEvent`)."""
    OUTPUTS_TIME_OUT = "outputs-time-out"
    """The barrier becomes unaligned in the outputs in which it is still queued (`alignedBarrierTimeout`)."""


class PartTaken(Struct, frozen=True, omit_defaults=True):
    """How a task has taken its part of a checkpoint, as it says when it acknowledges it (Flink: `CheckpointMetrics`).
    None: the engine does not say."""

    unaligned: bool | None = None
    """Whether its part is unaligned, from the beginning or since something timed out: its inputs, or the barriers that
    were queued in its outputs."""
    persisted: int | None = None
    """How many records in flight it has stored, in front of itself and behind (Flink: `bytesPersistedDuringAlignment`,
    in bytes)."""
    alignment: int | None = None
    """How many milliseconds passed from its first barrier to its last one; 0 if it has no inputs (Flink:
    `alignmentDurationNanos`)."""


class SubtaskCalled(Struct, frozen=True, tag="subtask-called"):
    """The subtask checkpoint coordinator calls this for a checkpoint."""

    checkpoint: int
    call: SubtaskCall
