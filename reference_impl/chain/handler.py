"""What the consumer does with barriers. Specification: chain.md. There are no alignment timeouts."""

from __future__ import annotations

from conformance.ports import (
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
    """What the consumer wrote of one checkpoint."""

    __slots__ = ("counted", "places", "slices", "status")

    def __init__(self, counted: Slices, slices: Slices) -> None:
        self.status = CheckpointStatus.PENDING
        self.counted = counted
        self.slices = slices
        """Recovered records that had not reached their channel."""
        self.places: tuple[int, ...] = ()
        """How much of the input state of each channel comes before its slice."""

    def complete_input(self, persisted: Slices) -> Slices:
        """The input state of all channels: queued, then not yet pushed, then live data."""
        return tuple(
            ids[:place] + part + ids[place:]
            for ids, part, place in zip(persisted, self.slices, self.places or [0] * len(persisted), strict=True)
        )


class Handler:
    """One checkpoint at a time: pending, then acknowledged or declined."""

    def __init__(self, port: Port, gate: Gate, drainer: Drainer, counted: list[list[int]]) -> None:
        self.port = port
        self.gate = gate
        self.drainer = drainer
        self.counted = counted
        """What the consumer has counted, by channel."""
        self.current = 0
        """The newest checkpoint heard of."""
        self.over = True
        self.ended = [False] * len(counted)
        self.got = [False] * len(counted)
        """By channel: the barrier of the current checkpoint came, or nothing can come any more."""
        self.stopped: list[int] = []
        """Channels that wait behind an aligned barrier."""
        self.written: dict[int, Written] = {}

    # ---- what comes in ---------------------------------------------------------------------------------------------
    async def barrier(self, channel: int, barrier: Barrier) -> None:
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
        self.ended[channel] = self.got[channel] = True
        if not self.over and all(self.got):
            await self.complete()

    async def trigger(self, checkpoint: int) -> None:
        """A checkpoint is asked for without a barrier."""
        await self.begin(checkpoint, Alignment.UNALIGNED)

    # ---- what comes of it ------------------------------------------------------------------------------------------
    async def begin(self, checkpoint: int, alignment: Alignment) -> bool:
        """A newer checkpoint than all before. False: it was declined at once."""
        if not self.over:
            await self.decline(CheckpointReason.DECLINED_SUBSUMED)
        self.current = checkpoint
        self.over = False
        self.got = list(self.ended)
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
        """The order of these steps matters: the state of the consumer, recovery barriers and slice, then the inputs."""
        counted = self.take_counted()
        slices = await self.drainer.snapshot(checkpoint)
        await self.gate.checkpoint_started(Barrier(checkpoint, Alignment.UNALIGNED))
        written = self.written[checkpoint] = Written(counted, slices)
        written.places = tuple(len(ids) for ids in self.gate.persisted(checkpoint))

    def take_counted(self) -> Slices:
        """The state of the consumer as it is."""
        return tuple(map(tuple, self.counted))

    async def complete(self) -> None:
        """Everything before the barriers is counted or written."""
        checkpoint = self.current
        written = self.written.get(checkpoint)
        if written is None:  # aligned: what comes before the barriers was counted, and nothing else
            written = self.written[checkpoint] = Written(self.take_counted(), tuple(() for _ in self.counted))
        else:
            await self.gate.checkpoint_stopped(checkpoint)
        written.status = CheckpointStatus.COMPLETED
        self.over = True
        await self.resume_stopped()
        self.port.emit(CheckpointAcknowledged(checkpoint))

    async def decline(self, reason: CheckpointReason) -> None:
        checkpoint = self.current
        written = self.written.setdefault(checkpoint, Written((), ()))
        written.status = CheckpointStatus.DECLINED
        await self.gate.checkpoint_stopped(checkpoint)
        self.over = True
        await self.resume_stopped()
        self.port.emit(CheckpointDeclined(checkpoint, reason))

    async def resume_stopped(self) -> None:
        """The channels that waited for this checkpoint go on."""
        stopped, self.stopped = self.stopped, []
        for channel in stopped:
            await self.gate.resume(channel)
