"""The subtask checkpoint coordinator: the part of one task in its checkpoints. Specification: subtask-checkpoint.md."""

from __future__ import annotations

from conformance.ports import (
    CHANNEL_STATE_WRITER,
    CHECKPOINT_START,
    OPERATOR_SNAPSHOT,
    Alignment,
    Barrier,
    CheckpointAcknowledged,
    CheckpointDeclined,
    CheckpointReason,
    ErrorKind,
    PartTaken,
    PortError,
    Resources,
    StatePart,
    SubtaskCall,
    SubtaskCalled,
    SubtaskCheckpointConfig,
    SubtaskCheckpointPort,
)
from conformance.scheduling import Clock

from ..faults import Faults, Faulty


class AsyncPart:
    """The asynchronous part of a checkpoint: what it still waits for, and what it got."""

    __slots__ = ("alignment", "failed", "missing", "persisted", "unaligned")

    def __init__(self, channel_state: bool) -> None:
        self.missing = list(StatePart) if channel_state else [StatePart.OPERATORS]
        """The parts of the state that are not final, in the order in which it waits for them."""
        self.failed: dict[StatePart, CheckpointReason] = {}
        """By part that has failed, the reason to decline the checkpoint."""
        self.unaligned = False
        """Whether the checkpoint was unaligned when the task took its part."""
        self.persisted = 0
        """How many records in flight are stored."""
        self.alignment: int | None = None
        """How many milliseconds its alignment took; None: nobody has said it."""

    def taken(self) -> PartTaken:
        """T15. How the checkpoint was taken (Flink: `CheckpointMetricsBuilder.build`)."""
        return PartTaken(self.unaligned or self.persisted > 0, self.persisted, self.alignment)


class SubtaskCheckpoint(Faulty, SubtaskCheckpointPort):
    """What the task's thread has begun goes on in asynchronous parts, several at a time."""

    def __init__(
        self, config: SubtaskCheckpointConfig, clock: Clock | None = None, faults: Faults | None = None
    ) -> None:
        """`clock`, `faults`: those of the task; a coordinator that stands alone has its own."""
        self.config = config
        self.faults = faults or Faults(self)
        self.clock = clock or Clock()
        self.running = True
        self.last = 0
        """Last: the newest checkpoint that was triggered or declined; 0: none."""
        self.aborted: list[int] = []
        """Aborted: the checkpoints that were aborted before the task has heard of them."""
        self.parts: dict[int, AsyncPart] = {}
        """Parts: by checkpoint, its asynchronous part, until it is over."""
        self.timer: tuple[int, int] | None = None
        """Timer: a checkpoint whose barrier may be queued, and when it becomes unaligned."""
        self.alignments: dict[int, int] = {}
        """Alignments: by checkpoint whose alignment was over before the task took its part, how long that took."""

    # ---- the task's thread -------------------------------------------------------------------------------------------
    def start_inputs(self, checkpoint: int, alignment: Alignment) -> None:
        """T1, T2, T3, T19, T20. The inputs start a checkpoint: the writer starts, and the in-flight data of the inputs
        is prepared (Flink: `SubtaskCheckpointCoordinatorImpl.initInputsCheckpoint`, `prepareInflightDataSnapshot`)."""
        if alignment is Alignment.ALIGNED:
            return
        self.faults.reach(CHANNEL_STATE_WRITER)
        self.call(checkpoint, SubtaskCall.WRITER_START)
        if alignment is Alignment.TIMEOUTABLE:
            self.call(checkpoint, SubtaskCall.WRITER_FINISH_INPUT)
            return
        if self.faults.refuses(CHECKPOINT_START):
            raise PortError(ErrorKind.CHECKPOINT, "not ready", CheckpointReason.DECLINED_TASK_NOT_READY)
        self.call(checkpoint, SubtaskCall.INPUTS_PREPARE)

    def inputs_done(self, checkpoint: int) -> None:
        """T4. All barriers were taken, so the input state is complete (Flink: `ChannelStateWriter.finishInput`)."""
        self.call(checkpoint, SubtaskCall.WRITER_FINISH_INPUT)

    def inputs_failed(self, checkpoint: int) -> None:
        """T4. The result is still needed when the task takes its part (Flink: `ChannelStateWriter.abort`)."""
        self.call(checkpoint, SubtaskCall.WRITER_ABORT)

    def trigger(self, barrier: Barrier, timestamp: int) -> None:
        """T5 to T8, T20, T21. The task takes its part: it sends the barrier on, and takes the snapshots of its
        operators (Flink: `checkpointState`)."""
        checkpoint = barrier.checkpoint
        if checkpoint <= self.last:
            self.call(checkpoint, SubtaskCall.WRITER_ABORT_AND_FORGET)
            return
        self.last = checkpoint
        if checkpoint in self.aborted:
            self.aborted.remove(checkpoint)
            self.call(checkpoint, SubtaskCall.OUTPUTS_CANCEL_MARKER)
            self.call(checkpoint, SubtaskCall.WRITER_ABORT_AND_FORGET)
            return
        self.send(barrier, timestamp)
        self.snapshot(checkpoint, channel_state=barrier.alignment is not Alignment.ALIGNED)
        if checkpoint in self.parts:
            part = self.parts[checkpoint]
            part.unaligned = barrier.alignment is Alignment.UNALIGNED
            part.alignment = self.alignments.get(checkpoint)
        self.alignments.clear()

    def send(self, barrier: Barrier, timestamp: int) -> None:
        """T7, T9. The operators prepare, the barrier is sent to the outputs, and its timer is set (Flink:
        `prepareSnapshotPreBarrier`, `broadcastEvent`, `registerAlignmentTimer`)."""
        checkpoint = barrier.checkpoint
        self.call(checkpoint, SubtaskCall.OPERATORS_PREPARE)
        if barrier.alignment is Alignment.UNALIGNED:
            self.call(checkpoint, SubtaskCall.OUTPUTS_PRIORITY_BARRIER)
        else:
            self.call(checkpoint, SubtaskCall.OUTPUTS_BARRIER)
        self.timer = None
        if barrier.alignment is Alignment.TIMEOUTABLE:
            self.timer = checkpoint, max(self.clock.now, timestamp + self.config.timeout)

    def snapshot(self, checkpoint: int, channel_state: bool) -> None:
        """T8, T18, T21. If it fails, nothing of the checkpoint is left (Flink: `takeSnapshotSync`)."""
        if channel_state:
            self.faults.reach(CHANNEL_STATE_WRITER)
            self.call(checkpoint, SubtaskCall.WRITER_FINISH_OUTPUT)
            self.call(checkpoint, SubtaskCall.WRITER_TAKE_RESULT)
        try:
            self.faults.reach(OPERATOR_SNAPSHOT)
        except PortError:
            self.call(checkpoint, SubtaskCall.WRITER_ABORT_AND_FORGET)
            raise
        self.call(checkpoint, SubtaskCall.OPERATORS_SNAPSHOT)
        if self.running:
            self.parts[checkpoint] = AsyncPart(channel_state)

    def aligned(self, checkpoint: int, milliseconds: int) -> None:
        """T24. The alignment of a checkpoint is over (Flink: `setAlignmentDurationNanos`)."""
        if checkpoint in self.parts:
            self.parts[checkpoint].alignment = milliseconds
        elif checkpoint > self.last:
            self.alignments[checkpoint] = milliseconds

    def decline(self, checkpoint: int, reason: CheckpointReason) -> None:
        """T10. The task declines a checkpoint (Flink: `abortCheckpointOnBarrier`, `Environment.declineCheckpoint`)."""
        self.last = max(self.last, checkpoint)
        self.aborted = [one for one in self.aborted if one > self.last]
        self.parts.pop(checkpoint, None)
        self.call(checkpoint, SubtaskCall.WRITER_ABORT_AND_FORGET)
        self.emit(CheckpointDeclined(checkpoint, reason))
        self.call(checkpoint, SubtaskCall.OUTPUTS_CANCEL_MARKER)

    def complete(self, checkpoint: int) -> None:
        """T11, T17. The checkpoint coordinator says that a checkpoint is complete (Flink:
        `notifyCheckpointComplete`)."""
        if self.running:
            self.call(checkpoint, SubtaskCall.OPERATORS_COMPLETE)

    def abort(self, checkpoint: int) -> None:
        """T12, T17. The checkpoint coordinator says that a checkpoint was aborted (Flink:
        `notifyCheckpointAborted`)."""
        if not self.running:
            return
        if self.parts.pop(checkpoint, None) is None and checkpoint > self.last:
            self.aborted.append(checkpoint)
        self.call(checkpoint, SubtaskCall.WRITER_ABORT)
        self.call(checkpoint, SubtaskCall.OPERATORS_ABORT)

    def advance(self, milliseconds: int) -> None:
        """T13. Time passes: a barrier in the outputs that is overdue becomes unaligned (Flink:
        `alignedBarrierTimeout`)."""
        self.clock.advance(milliseconds)
        if self.timer is not None and self.clock.now >= self.timer[1]:
            self.call(self.timer[0], SubtaskCall.OUTPUTS_TIME_OUT)
            self.timer = None

    # ---- other threads -----------------------------------------------------------------------------------------------
    def state_written(self, checkpoint: int, part: StatePart, records: int) -> None:
        """T24. Records in flight are stored (Flink: `bytesPersistedDuringAlignment`)."""
        if checkpoint in self.parts:
            self.parts[checkpoint].persisted += records

    def finish_part(self, checkpoint: int, part: StatePart) -> None:
        """T14. A part of the state is final (Flink: `OperatorSnapshotFinalizer`, the futures of
        `OperatorSnapshotFutures`)."""
        if checkpoint in self.parts:
            self.parts[checkpoint].missing.remove(part)

    def fail_part(self, checkpoint: int, part: StatePart, reason: CheckpointReason | None) -> None:
        """T14. A part of the state could not be written."""
        if checkpoint in self.parts:
            self.parts[checkpoint].missing.remove(part)
            self.parts[checkpoint].failed[part] = reason or CheckpointReason.ASYNC_EXCEPTION

    def run_async(self, checkpoint: int) -> None:
        """T15, T16. It waits for one part after the other, and ends with the first that has failed (Flink:
        `AsyncCheckpointRunnable.run`)."""
        part = self.parts.get(checkpoint)
        if part is None:
            return
        for one in StatePart:
            if one in part.missing:
                return
            if one in part.failed:
                del self.parts[checkpoint]
                self.emit(CheckpointDeclined(checkpoint, part.failed[one]))
                return
        del self.parts[checkpoint]
        self.emit(CheckpointAcknowledged(checkpoint, part.taken()))

    def cancel(self) -> None:
        """T17. The task is cancelled: asynchronous parts end without a result (Flink: `cancel`, `closeQuietly`)."""
        self.running = False
        self.parts.clear()

    # ---- observers, and release --------------------------------------------------------------------------------------
    def call(self, checkpoint: int, call: SubtaskCall) -> None:
        """T22. What is called in other parts of the task is a signal."""
        self.emit(SubtaskCalled(checkpoint, call))

    def resources(self) -> Resources:
        """T22. A timer is something that listens; an asynchronous part that is not over is a future."""
        return Resources(0, 0, 0, int(self.timer is not None), len(self.parts))

    def release(self) -> None:
        """T23. The timer is cancelled, and all asynchronous parts end (Flink:
        `SubtaskCheckpointCoordinatorImpl.close`)."""
        self.timer = None
        self.cancel()
