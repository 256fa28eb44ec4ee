"""What the consumer does with barriers. Specification: chain.md.

Alignment timeouts are no part of a chain.
"""

from __future__ import annotations

from conformance.ports import (
    CHANNEL_STATE_WRITER,
    Alignment,
    Barrier,
    CheckpointAcknowledged,
    CheckpointDeclined,
    CheckpointReason,
    CheckpointStatus,
    ErrorKind,
    Port,
    PortError,
)

from ..gate import Gate
from .drainer import Drainer, Slices


class Written:
    """Written, of one checkpoint: its status, what was counted, and its undrained records by channel."""

    __slots__ = ("counted", "places", "slices", "status", "unaligned")

    def __init__(self, unaligned: bool, channels: int) -> None:
        """C20. Pending, and nothing is written yet."""
        self.status = CheckpointStatus.PENDING
        self.unaligned = unaligned
        self.counted: Slices = ()
        self.slices: Slices = ((),) * channels
        """The undrained records, by channel."""
        self.places = (0,) * channels
        """By channel, how many records of the input state stand in front of the undrained records."""

    def complete_input(self, persisted: Slices) -> Slices:
        """C27. By channel: what was written until the start was over, the undrained records, what was written later."""
        return tuple(
            ids[:place] + part + ids[place:]
            for ids, part, place in zip(persisted, self.slices, self.places, strict=True)
        )


class Handler:
    """The handler of barriers. At most one checkpoint is pending at a time."""

    def __init__(self, port: Port, gate: Gate, drainer: Drainer, counted: list[list[int]]) -> None:
        self.port = port
        self.gate = gate
        self.drainer = drainer
        self.counted = counted
        """Counted: by channel, the records counted, in order."""
        self.current = 0
        """Current: the newest checkpoint that the consumer has heard of; 0 stands for none."""
        self.over = True
        """The opposite of pending: the current checkpoint is acknowledged or declined, or there is none."""
        self.ended = [False] * len(counted)
        """Ended: by channel, whether its end of partition was consumed."""
        self.got = [False] * len(counted)
        """Received: by channel, whether the barrier of the current checkpoint, or the end, was consumed."""
        self.stopped: list[int] = []
        """Held: channels that wait behind an aligned barrier."""
        self.written: dict[int, Written] = {}
        """Written: by checkpoint, its status, what was counted, and its undrained records by channel."""
        self.unwritten: list[int] = []
        """Unwritten: the checkpoints for which output state of a channel could not be written."""

    # ---- what comes in ---------------------------------------------------------------------------------------------
    async def barrier(self, channel: int, barrier: Barrier) -> None:
        """C19, C20, C22."""
        if barrier.checkpoint < self.current or (barrier.checkpoint == self.current and self.over):
            if barrier.alignment is not Alignment.UNALIGNED:  # an obsolete barrier may still hold its channel
                await self.gate.resume(channel)
            return
        if barrier.checkpoint > self.current and not await self.begin(barrier.checkpoint, barrier.alignment):
            return
        self.got[channel] = True
        if barrier.alignment is not Alignment.UNALIGNED:
            self.stopped.append(channel)
        if all(self.got):
            await self.complete()

    async def end_of_partition(self, channel: int) -> None:
        """C25."""
        self.ended[channel] = self.got[channel] = True
        if not self.over and all(self.got):
            await self.complete()

    async def trigger(self, checkpoint: int) -> None:
        """C26."""
        await self.begin(checkpoint, Alignment.UNALIGNED)

    # ---- what comes of it ------------------------------------------------------------------------------------------
    async def begin(self, checkpoint: int, alignment: Alignment) -> bool:
        """C20, C21. A newer checkpoint becomes the current one. Answers no if it is declined at once (C24)."""
        if not self.over:
            await self.decline(CheckpointReason.DECLINED_SUBSUMED)
        self.current = checkpoint
        self.over = False
        self.got = list(self.ended)
        self.written[checkpoint] = Written(alignment is Alignment.UNALIGNED, len(self.counted))
        if alignment is Alignment.UNALIGNED:
            try:
                await self.start_unaligned(checkpoint)
            except PortError as refused:
                if refused.kind is not ErrorKind.CHECKPOINT:
                    raise
                await self.decline(refused.checkpoint_reason or CheckpointReason.DECLINED)
                return False
        return True

    async def start_unaligned(self, checkpoint: int) -> None:
        """C21, C31. The order of the steps matters."""
        written = self.written[checkpoint]
        written.counted = self.take_counted()
        written.slices = await self.drainer.snapshot(checkpoint)
        await self.gate.checkpoint_started(Barrier(checkpoint, Alignment.UNALIGNED))
        written.places = tuple(len(ids) for ids in self.gate.persisted(checkpoint))
        if any(written.slices):
            self.gate.faults.reach(CHANNEL_STATE_WRITER)

    def take_counted(self) -> Slices:
        """C21, C23. A copy of the records counted so far."""
        return tuple(map(tuple, self.counted))

    async def complete(self) -> None:
        """C23, C31."""
        checkpoint = self.current
        if checkpoint in self.unwritten:
            raise PortError(ErrorKind.IO, f"output state of checkpoint {checkpoint} could not be written")
        written = self.written[checkpoint]
        if not written.unaligned:  # an aligned checkpoint holds what was counted until now
            written.counted = self.take_counted()
        else:
            await self.gate.checkpoint_stopped(checkpoint)
        written.status = CheckpointStatus.COMPLETED
        self.over = True
        await self.resume_stopped()
        self.port.emit(CheckpointAcknowledged(checkpoint))

    async def decline(self, reason: CheckpointReason) -> None:
        """C24."""
        checkpoint = self.current
        self.written[checkpoint].status = CheckpointStatus.DECLINED
        await self.gate.checkpoint_stopped(checkpoint)
        self.over = True
        await self.resume_stopped()
        self.port.emit(CheckpointDeclined(checkpoint, reason))

    async def resume_stopped(self) -> None:
        """C23, C24. Every held channel is resumed."""
        stopped, self.stopped = self.stopped, []
        for channel in stopped:
            await self.gate.resume(channel)
