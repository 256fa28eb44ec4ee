"""How the barriers of a checkpoint come together in a task. Ledgers of components that take barriers have it.

It is the state of Flink's `SingleCheckpointBarrierHandler`. Rules compare the actions of an implementation with it.
"""

from __future__ import annotations

from collections.abc import Sequence

from conformance.driver import Broken, FailureClass, Judgement, Seen, shared
from conformance.models.answers import checkpoints
from conformance.models.barriers import Upstream
from conformance.models.words import channels
from conformance.ports import Alignment, CheckpointTriggered, ConsumptionResumed, InputsCheckpointStarted

UNALIGNED = Alignment.UNALIGNED
"""Module variables, because looking up a member of an enumeration is slow in Python 3.11."""


class BarrierAlignment:
    """The alignment of the newest checkpoint of which a task has taken anything, and what became of the older ones.

    A checkpoint is over once it was declined, or once it was triggered and every barrier was received. Flink's names
    are those of `SingleCheckpointBarrierHandler`, unless a class is named.
    """

    __slots__ = (
        "begun", "current", "declined", "ended", "last", "overdue", "pending", "received", "repeated", "started",
        "stopped", "triggered", "unaligned",
    )  # fmt: skip

    def __init__(self, channels: int) -> None:
        self.current = self.pending = 0
        """The newest checkpoint of which anything was taken (`currentCheckpointId`); the same while it is pending
        (`isCheckpointPending`), otherwise 0."""
        self.received = [False] * channels
        """By channel, whether its barrier of the current checkpoint was received, or it has ended
        (`alignedChannels`)."""
        self.begun = self.unaligned = False
        """Whether a barrier of the current checkpoint was received; whether an unaligned one was."""
        self.overdue = False
        """Whether time has passed since the current alignment is overdue, or the task has acted on that."""
        self.ended = [False] * channels
        """By channel, whether its end of partition was taken."""
        self.triggered: dict[int, bool] = {}
        """By checkpoint for which the task was asked for its part, whether unaligned."""
        self.declined: list[int] = []
        self.last = 0
        """The newest checkpoint that was triggered or declined."""
        self.started = self.stopped = 0
        """The newest checkpoint that the inputs have started; the newest that they have stopped."""
        self.repeated = 0
        """A checkpoint that was triggered since the task began to act although it or a newer one was triggered or
        declined before; 0: there is none."""

    # ---- queries -----------------------------------------------------------------------------------------------------
    def is_obsolete(self, checkpoint: int) -> bool:
        """Returns whether the checkpoint is over, or a newer one is known: nothing of it is taken into account any more
        (`processBarrier`)."""
        return checkpoint <= self.current and checkpoint != self.pending

    def is_unaligned(self) -> bool:
        """Returns whether the current checkpoint was triggered unaligned."""
        return self.triggered.get(self.current, False)

    def was_triggered_or_declined(self, checkpoint: int) -> bool:
        """Returns whether a checkpoint was triggered or declined."""
        return checkpoint in self.triggered or checkpoint in self.declined

    def missing(self, checkpoint: int = 0) -> list[int]:
        """Returns the channels whose barrier of the current checkpoint, or of a newer one, is still to come."""
        there = self.ended if checkpoint > self.current else self.received
        return [channel for channel, received in enumerate(there) if not received]

    def left_blocked(self, blocked: Sequence[int]) -> list[int]:
        """Returns the channels that are blocked behind the barrier of a checkpoint that is over, so that they must be
        resumed (`ChannelState.unblockAllChannels`). `blocked`: by channel, as in `Upstream`."""
        pending = self.pending
        return [channel for channel, behind in enumerate(blocked) if behind and behind != pending]

    # ---- updates -----------------------------------------------------------------------------------------------------
    def begin(self, checkpoint: int) -> None:
        """Notes that something of a newer checkpoint was taken (`checkNewCheckpoint`)."""
        self.current = self.pending = checkpoint
        self.begun = self.unaligned = self.overdue = False
        self.received = list(self.ended)

    def barrier(self, channel: int, checkpoint: int, kind: Alignment) -> bool:
        """Notes that a barrier was taken that is not obsolete (`markCheckpointAlignedAndTransformState`,
        `AbstractAlignedBarrierHandlerState.barrierReceived`). Returns whether the current checkpoint is over now."""
        if checkpoint > self.current:
            self.begin(checkpoint)
        self.received[channel] = self.begun = True
        if kind is UNALIGNED:
            self.unaligned = True
        return False not in self.received and self._settle()

    def end_of(self, channel: int, counts: bool = True) -> bool:
        """Notes that an end of partition was taken (`processEndOfPartition`,
        `AbstractAlignedBarrierHandlerState.endOfPartitionReceived`). `counts`: whether it stands for a barrier. Returns
        whether the current checkpoint is over now."""
        self.ended[channel] = True
        self.received[channel] = counts or self.received[channel]
        return self._settle()

    def trigger(self, checkpoint: int, unaligned: bool) -> bool:
        """Notes that the task was asked for its part of a checkpoint (`triggerCheckpoint`,
        `CheckpointBarrierHandler.notifyCheckpoint`). Returns whether the current checkpoint is over now."""
        if checkpoint <= self.last:
            self.repeated = checkpoint
        self.last = max(self.last, checkpoint)
        self.triggered[checkpoint] = unaligned
        return self._settle()

    def decline(self, checkpoint: int) -> bool:
        """Notes that a checkpoint was declined (`abortInternal`, `CheckpointBarrierHandler.notifyAbort`). Returns
        whether the current one is over now."""
        self.declined.append(checkpoint)
        self.last = max(self.last, checkpoint)
        return self._settle()

    def pass_time(self, upstream: Upstream, milliseconds: int) -> None:
        """Notes that time has passed for the task and its producers (`registerAlignmentTimer`,
        `BarrierHandlerState.alignedCheckpointTimeout`)."""
        upstream.now += milliseconds
        if self.pending and upstream.is_overdue(self.pending):
            self.overdue = True

    def _settle(self) -> bool:
        if self.current in self.declined or (self.current in self.triggered and False not in self.received):
            was_pending, self.pending = self.pending > 0, 0
            return was_pending
        return False


@shared(invariant="I-45", after_learning=True, signals=(CheckpointTriggered,))
def a_checkpoint_is_triggered_once_and_in_order(repeated: int, seen: Seen[object]) -> Judgement:
    """The task is asked for its part of a checkpoint at most once, not after a newer one, and not after the checkpoint
    was declined."""
    if not repeated:
        return True
    owed = f"checkpoint {repeated} or a newer one was triggered or declined before"
    return Broken(FailureClass.DUPLICATED, owed, f"checkpoint {repeated} was triggered")


@shared(invariant="I-47", after_learning=True, signals=(ConsumptionResumed,))
def only_a_blocked_channel_is_resumed(unblocked: int, seen: Seen[object]) -> Judgement:
    """Only a channel that waits behind an aligned barrier is resumed, and only once. A source that was asked for a
    checkpoint by a call is not blocked, and may be resumed only by a call for a checkpoint that is over."""
    if not unblocked:  # a channel, counted from 1
        return True
    owed = f"{channels([unblocked - 1])} waits behind no barrier, so it must not be resumed"
    return Broken(FailureClass.PROTOCOL, owed, "it was resumed")


@shared(invariant="I-10", tickets=("FLINK-17315",), signals=(CheckpointTriggered, InputsCheckpointStarted))
def the_inputs_start_a_checkpoint_before_the_task(nothing: object, seen: Seen[object]) -> Judgement:
    """When a checkpoint is triggered unaligned, the inputs have started it before, in the same operation, once. They
    start no other checkpoint."""
    begun: list[int] = []
    for signal in seen.signals:
        if type(signal) is InputsCheckpointStarted:
            begun.append(signal.checkpoint)
        elif type(signal) is CheckpointTriggered:
            due = [signal.checkpoint] if signal.unaligned else []
            if begun != due:
                owed = "the inputs must start an unaligned checkpoint before the task, once, and no other one"
                what = f"checkpoint {signal.checkpoint} was triggered, and the inputs had started {checkpoints(begun)}"
                return Broken(FailureClass.PROTOCOL, owed, what)
            begun = []
    if begun:
        owed = f"the inputs have started checkpoint {begun[0]}, so the task must be asked for this checkpoint"
        return Broken(FailureClass.PROTOCOL, owed, "the task was not asked for it")
    return True


@shared(invariant="I-50", after_learning=True)
def the_inputs_stop_a_checkpoint_when_it_is_over(alignment: BarrierAlignment, seen: Seen[object]) -> Judgement:
    """When an unaligned checkpoint is over, and not before, the inputs are asked to stop it."""
    started = alignment.started
    if not started:
        return False
    over = started != alignment.current or not alignment.pending
    if over is (alignment.stopped >= started):
        return over
    if over:
        owed = f"checkpoint {started} is over, so the inputs must be asked to stop it"
        return Broken(FailureClass.STUCK, owed, "they were not asked to stop it")
    owed = f"checkpoint {started} is in progress, so the inputs must not be asked to stop it"
    return Broken(FailureClass.STUCK, owed, "they were asked to stop it")
