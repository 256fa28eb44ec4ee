"""The barrier handler: what the barriers in the channels of a task lead to. Specification: barrier-handler.md."""

from __future__ import annotations

from enum import Enum

from conformance.ports import (
    CHECKPOINT_START,
    Alignment,
    AlignmentTimes,
    Barrier,
    BarrierHandlerConfig,
    BarrierHandlerPort,
    BarrierPrioritized,
    CheckpointDeclined,
    CheckpointReason,
    CheckpointTriggered,
    ConsumptionResumed,
    InputsCheckpointStarted,
    InputsCheckpointStopped,
    Resources,
)
from conformance.scheduling import Clock

from ..faults import Faults, Faulty


class State(Enum):
    """How far the current checkpoint is."""

    OVER = "over"
    """It is completed or aborted, or there is none."""
    ALIGNING = "aligning"
    """Something of it was received, and the task was not asked for its part."""
    OVERDUE = "overdue"
    """As ALIGNING, but it will be unaligned: it was overdue before its first barrier came."""
    UNALIGNED = "unaligned"
    """The inputs and the task have started it, and barriers are still to come."""


ALIGNING, UNALIGNED_STATE, OVERDUE, OVER = State.ALIGNING, State.UNALIGNED, State.OVERDUE, State.OVER
UNALIGNED, TIMEOUTABLE = Alignment.UNALIGNED, Alignment.TIMEOUTABLE
"""Module variables, because looking up a member of an enumeration is slow in Python 3.11."""


class BarrierHandler(Faulty, BarrierHandlerPort):
    """At most one checkpoint is in progress at a time: the current one."""

    def __init__(self, config: BarrierHandlerConfig, clock: Clock | None = None, faults: Faults | None = None) -> None:
        """`clock`, `faults`: those of the task; a handler that stands alone has its own."""
        self.config = config
        self.faults = faults or Faults(self)
        self.clock = clock or Clock()
        self.state = OVER
        self.current = 0
        """Current: the newest checkpoint of which the task has heard; 0: none."""
        self.ended = [False] * config.channels
        """Ended: by channel, whether its end of partition was taken."""
        self.received = [False] * config.channels
        """Received: by channel, whether its barrier of the current checkpoint was taken, or the end meanwhile."""
        self.blocked: list[int] = []
        """Blocked: the channels that wait behind an aligned barrier of the current checkpoint."""
        self.announced: dict[int, int] = {}
        """Announced: by channel, the sequence number of a barrier that was announced and not taken."""
        self.came = False
        """Came: whether a barrier of the current checkpoint was taken."""
        self.due: int | None = None
        """Timer: when the alignment of the current checkpoint is overdue; None: there is none."""
        self.start: int | None = None
        """Start: when the alignment of the current checkpoint started; None: none is in progress."""
        self.duration = 0
        """Duration: how long the last alignment took that is over."""
        self.start_delay = 0
        """Start delay: how long after its timestamp the last checkpoint started to align."""

    # ---- what the task takes from its channels -----------------------------------------------------------------------
    async def barrier(self, channel: int, barrier: Barrier, timestamp: int) -> None:
        """H1 to H8. A barrier was taken from a channel (Flink: `SingleCheckpointBarrierHandler.processBarrier`)."""
        if self.is_obsolete(barrier.checkpoint):
            if barrier.alignment is not UNALIGNED:
                self.emit(ConsumptionResumed(channel))
            return
        self.meet(barrier.checkpoint, barrier.alignment, timestamp)
        if barrier.alignment is not UNALIGNED:
            self.blocked.append(channel)
        await self.receive(channel, barrier.alignment, timestamp)

    async def rpc_barrier(self, channel: int, barrier: Barrier, timestamp: int) -> None:
        """H9. As a barrier, but nothing is blocked, so that nothing is resumed."""
        if self.is_obsolete(barrier.checkpoint):
            return
        self.meet(barrier.checkpoint, barrier.alignment, timestamp)
        await self.receive(channel, barrier.alignment, timestamp)

    def announcement(self, channel: int, checkpoint: int, seq: int, timestamp: int) -> None:
        """H10, H11. The announcement of a barrier was taken from a channel (Flink: `processBarrierAnnouncement`)."""
        if self.is_obsolete(checkpoint):
            return
        self.meet(checkpoint, TIMEOUTABLE, timestamp)
        if self.state is ALIGNING:
            self.announced[channel] = seq
        else:
            self.emit(BarrierPrioritized(channel, seq))

    def cancel_marker(self, channel: int, checkpoint: int) -> None:
        """H12, H13. A cancel marker was taken from a channel (Flink: `processCancellationBarrier`)."""
        pending = self.state is not OVER
        if checkpoint > self.current or (checkpoint == self.current and pending):
            self.abort(checkpoint, CheckpointReason.DECLINED_ON_CANCELLATION_BARRIER)

    async def end_of_partition(self, channel: int) -> None:
        """H14, H15. The end of a channel was taken (Flink: `processEndOfPartition`)."""
        self.ended[channel] = True
        self.announced.pop(channel, None)
        if self.state is OVER:
            return
        if self.config.counts_ends:
            self.received[channel] = True
            await self.go_on(unaligned=False)
        else:
            self.abort(self.current, CheckpointReason.DECLINED_INPUT_END_OF_STREAM)

    # ---- time --------------------------------------------------------------------------------------------------------
    async def advance(self, milliseconds: int) -> None:
        """H16, H17. Time passes, and the alignment may time out (Flink: `BarrierAlignmentUtil`,
        `registerAlignmentTimer`)."""
        self.clock.advance(milliseconds)
        if self.due is None or self.clock.now < self.due:
            return
        self.due = None
        if self.state is not ALIGNING:
            return
        if self.came:
            await self.start_unaligned()
        else:
            self.prioritize_all()
            self.state = OVERDUE

    # ---- what comes of it --------------------------------------------------------------------------------------------
    def is_obsolete(self, checkpoint: int) -> bool:
        """H1. Whether the checkpoint is over, or a newer one is known."""
        return checkpoint < self.current or (checkpoint == self.current and self.state is OVER)

    def meet(self, checkpoint: int, alignment: Alignment, timestamp: int) -> None:
        """H2, H3. The task hears of a checkpoint. A newer one becomes the current one (Flink: `checkNewCheckpoint`)."""
        if checkpoint <= self.current:
            return
        if self.state is not OVER:
            self.abort(self.current, CheckpointReason.DECLINED_SUBSUMED)
        self.current = checkpoint
        self.state = ALIGNING
        self.received = list(self.ended)
        if alignment is TIMEOUTABLE:
            self.due = max(self.clock.now, timestamp + self.config.timeout)

    async def receive(self, channel: int, alignment: Alignment, timestamp: int) -> None:
        """H4 to H8, H22. A barrier of the current checkpoint is here. The first one starts the alignment (Flink:
        `markCheckpointAlignedAndTransformState`)."""
        if not self.came:
            self.start = self.clock.now
            self.start_delay = max(0, self.clock.now - timestamp)
        self.received[channel] = self.came = True
        self.announced.pop(channel, None)
        late = alignment is TIMEOUTABLE and self.clock.now - timestamp > self.config.timeout
        await self.go_on(alignment is UNALIGNED or (late and not all(self.received)))

    async def go_on(self, unaligned: bool) -> None:
        """H4 to H7. The task takes its part as soon as it can; when every barrier is here, the checkpoint is over."""
        begins = self.state is OVERDUE or (unaligned and self.state is ALIGNING)
        if begins and self.came and not await self.start_unaligned():
            return
        if not all(self.received):
            return
        if self.state is ALIGNING:
            self.emit(CheckpointTriggered(self.current, unaligned=False))
        self.end()

    async def start_unaligned(self) -> bool:
        """H5, H16, H18, H19. The inputs start first, then the task. Returns no if the start was refused (Flink:
        `initInputsCheckpoint`, `triggerCheckpoint`)."""
        self.prioritize_all()
        refused = await self.start_inputs(self.current)
        if refused is not None:
            self.abort(self.current, refused)
            return False
        self.emit(InputsCheckpointStarted(self.current))
        self.emit(CheckpointTriggered(self.current, unaligned=True))
        self.state = UNALIGNED_STATE
        return True

    async def start_inputs(self, checkpoint: int) -> CheckpointReason | None:
        """H5, H18, H19. The inputs start a checkpoint. Returns why they refuse it; None: they have started it.

        A task overrides this. The handler alone has no inputs, only what a scenario lets fail. Raises: PortError IO.
        """
        return CheckpointReason.DECLINED if self.faults.refuses(CHECKPOINT_START) else None

    def prioritize_all(self) -> None:
        """H5, H17. Every announced barrier becomes a priority event."""
        announced, self.announced = self.announced, {}
        for channel, seq in announced.items():
            self.emit(BarrierPrioritized(channel, seq))

    def abort(self, checkpoint: int, reason: CheckpointReason) -> None:
        """H3, H12, H15, H18, H23. The checkpoint is declined, and is over (Flink: `abortInternal`, `notifyAbort`)."""
        self.end()
        self.current = checkpoint
        self.emit(CheckpointDeclined(checkpoint, reason))
        self.duration = 0

    def end(self) -> None:
        """H7, H23. The current checkpoint is over: the inputs stop it, the channels that it has blocked are resumed."""
        if self.state is UNALIGNED_STATE:
            self.emit(InputsCheckpointStopped(self.current))
        self.state = OVER
        if self.start is not None:
            self.duration = self.clock.now - self.start
        self.start = None
        self.received = [False] * self.config.channels
        self.came = False
        self.announced = {}
        self.due = None
        blocked, self.blocked = self.blocked, []
        for channel in blocked:
            self.emit(ConsumptionResumed(channel))

    # ---- observers ---------------------------------------------------------------------------------------------------
    def pending(self) -> int | None:
        """H20. The checkpoint in progress; None if there is none (Flink: `isCheckpointPending`,
        `getLatestCheckpointId`)."""
        return None if self.state is OVER else self.current

    def alignment_times(self) -> AlignmentTimes:
        """H24. How long the last alignment took, and how late it started (Flink: `getAlignmentDurationNanos`,
        `getCheckpointStartDelayNanos`)."""
        duration = self.duration if self.start is None else self.clock.now - self.start
        return AlignmentTimes(duration, self.start_delay)

    def resources(self) -> Resources:
        """H20. A timer is something that listens."""
        return Resources(0, 0, 0, int(self.due is not None), 0)

    def release(self) -> None:
        """H21. The timer is cancelled (Flink: `close`)."""
        self.due = None
