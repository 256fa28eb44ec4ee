"""What the producers of a task may send of checkpoints, and when. Ledgers of components that read channels have it."""

from __future__ import annotations

from collections.abc import Sequence

from conformance.driver import DISABLED
from conformance.ports import Alignment, BarrierHandlerConfig

ALIGNED, UNALIGNED = Alignment.ALIGNED, Alignment.UNALIGNED
"""Module variables, because looking up a member of an enumeration is slow in Python 3.11."""

MOST_CHECKPOINTS = 30
"""The highest checkpoint that a scenario names."""
TIMEOUT = 10
"""Milliseconds that an alignment may take, and that a barrier may be queued. No scenario needs another number: only
relations of times matter."""
PASSING = ((1,), (TIMEOUT - 1,), (TIMEOUT,))
"""What may pass at once, in milliseconds: a moment, as long as an alignment may take, or a moment less."""
TIMEOUTABLE = Alignment.TIMEOUTABLE
KINDS = tuple(Alignment)


def triggered_at(checkpoint: int, now: int) -> int:
    """Returns when a checkpoint was triggered of which a task hears first now. Every fourth was triggered long before,
    and every fourth a moment later than now: those who trigger checkpoints have another clock, which may be ahead."""
    which = checkpoint % 4
    return max(0, now - 2 * TIMEOUT) if which == 0 else now + 1 if which == 2 else now


class Upstream:
    """The producers of a task: what each channel has delivered of checkpoints, and what it may deliver next."""

    __slots__ = (
        "alternating", "announced", "blocked", "first_source", "inputs", "kinds", "last", "newest", "now", "resumed",
        "seqs", "sources", "timestamps",
    )  # fmt: skip

    def __init__(self, config: BarrierHandlerConfig, sources: int = 0) -> None:
        """Begins with fresh producers, whose clock shows 0. `sources`: how many of the channels, the last ones, are
        sources."""
        channels = config.channels
        self.first_source = channels - sources
        self.alternating = config.alternating
        self.now = 0
        self.newest = 0
        """The newest checkpoint of which any channel has delivered anything."""
        self.inputs: Sequence[int] = ()
        self.sources: Sequence[int] = ()
        """The channels out of which something may come; the sources that have not ended."""
        self.leave_open([False] * channels)
        self.seqs = [0] * channels
        """By channel, the sequence number of the next element that has one."""
        self.last = [0] * channels
        """By channel, the newest checkpoint of which it has delivered the barrier or the cancel marker."""
        self.blocked = [0] * channels
        """By channel, the checkpoint behind whose aligned barrier it waits; 0: it is not blocked."""
        self.resumed: tuple[tuple[int, int], ...] = ()
        """The channels that were resumed since the task began to act, each with the checkpoint that had blocked it."""
        self.announced: dict[int, tuple[int, int]] = {}
        """By channel, the checkpoint and the sequence number of a barrier that was announced and has not come."""
        self.kinds: dict[int, Alignment] = {}
        """By checkpoint, how it began upstream. The barriers of a timeoutable one may come unaligned."""
        self.timestamps: dict[int, int] = {}
        """By checkpoint, when it was triggered."""

    # ---- queries -----------------------------------------------------------------------------------------------------
    def timestamp(self, checkpoint: int) -> int:
        """Returns when a checkpoint was triggered."""
        known = self.timestamps.get(checkpoint)
        return triggered_at(checkpoint, self.now) if known is None else known

    def is_overdue(self, checkpoint: int, later: int = 0) -> bool:
        """Returns whether the alignment of a timeoutable checkpoint has taken as long as it may, or longer, when
        `later` milliseconds will have passed."""
        return self.kinds.get(checkpoint) is TIMEOUTABLE and self.now + later - self.timestamps[checkpoint] >= TIMEOUT

    # ---- what may come next ------------------------------------------------------------------------------------------
    def next_of(self, channels: Sequence[int], suits: Sequence[Alignment], overtakes: bool) -> list[tuple[int, int]]:
        """Channels, and the checkpoints of which they may deliver something next: the newest, the next, and an older
        one.

        `suits`: how such a checkpoint may have begun upstream. `overtakes`: whether it comes out of blocked channels,
        too.
        """
        current, last, blocked, kinds = self.newest, self.last, self.blocked, self.kinds
        suited = suits[0]
        fits = kinds.get(current, suited) in suits
        found = []
        for channel in channels:
            if blocked[channel] and not overtakes:
                continue
            newest = last[channel]
            if newest < current:
                newest += 1
                if newest < current and kinds.get(newest, suited) in suits:
                    found.append((channel, newest))
                if fits:
                    found.append((channel, current))
                newest = current
            if newest < MOST_CHECKPOINTS:
                found.append((channel, newest + 1))
        return found

    def barriers(self, kind: Alignment, channels: Sequence[int]) -> Sequence[tuple[int, int]]:
        """Channels, and checkpoints whose barrier of this kind may come out of them.

        Aligned are those of savepoints, and all of a job without unaligned checkpoints. Unaligned barriers come out of
        blocked channels, too. A barrier that was announced stays timeoutable, also if it overtakes; a newer one
        overtakes it only if unaligned. No older one is in front of it: it would have blocked the producer, or have
        overtaken what was announced.
        """
        if kind is not ALIGNED and not self.alternating:
            return DISABLED
        overtakes = kind is UNALIGNED
        found = self.next_of(channels, (kind, TIMEOUTABLE) if overtakes else (kind,), overtakes)
        announced = self.announced
        if not announced:
            return found
        return [
            (channel, checkpoint)
            for channel, checkpoint in found
            if channel not in announced
            or (checkpoint == announced[channel][0] and not overtakes)
            or (checkpoint > announced[channel][0] and overtakes)
        ]

    def announceable(self) -> Sequence[tuple[int, int]]:
        """Announcements: of barriers that are queued in channels that are not blocked and have announced nothing
        else."""
        return self.next_of(self.silent(self.inputs), (TIMEOUTABLE,), False) if self.alternating else DISABLED

    def silent(self, channels: Sequence[int]) -> Sequence[int]:
        """Those of the channels that have announced nothing that is still to come."""
        announced = self.announced
        return [number for number in channels if number not in announced] if announced else channels

    def cancellable(self) -> Sequence[tuple[int, int]]:
        """Cancel markers, which come in the place of a barrier. Only that of an older checkpoint can stand in front of
        an announced barrier."""
        found = self.next_of(self.silent(self.inputs), KINDS, False)
        for channel, (checkpoint, _) in self.announced.items():
            older = self.last[channel] + 1
            if older < checkpoint and not self.blocked[channel] and channel in self.inputs:
                found.append((channel, older))
        return found

    # ---- updates -----------------------------------------------------------------------------------------------------
    def leave_open(self, ended: Sequence[bool], blocked: bool = False) -> None:
        """Notes which channels have ended. `blocked`: whether nothing comes out of blocked channels either."""
        still = [number for number, over in enumerate(ended) if not over and not (blocked and self.blocked[number])]
        if self.first_source < len(ended):
            self.sources = tuple([number for number in still if number >= self.first_source])
            still = [number for number in still if number < self.first_source]
        self.inputs = tuple(still)

    def next_seq(self, channel: int) -> int:
        """Notes that a channel sends an element that has a sequence number, and returns the number."""
        self.seqs[channel] += 1
        return self.seqs[channel] - 1

    def deliver(self, channel: int, checkpoint: int, blocks: bool = False) -> None:
        """Notes that a channel delivers the barrier or the cancel marker of a checkpoint. `blocks`: whether the channel
        waits then until it is resumed (Flink: `DataType.isBlockingUpstream`, `PipelinedSubpartition.isBlocked`)."""
        self.last[channel] = checkpoint
        if blocks:
            self.blocked[channel] = checkpoint
        if checkpoint > self.newest:
            self.newest = checkpoint

    def begin(self, checkpoint: int, kind: Alignment) -> None:
        """Notes how a checkpoint began upstream, and when it was triggered, unless that is known."""
        if checkpoint not in self.kinds:
            self.timestamps[checkpoint] = self.timestamp(checkpoint)
            self.kinds[checkpoint] = kind

    def resume(self, channel: int) -> None:
        """Notes that a channel is resumed (Flink: `CheckpointableInput.resumeConsumption`)."""
        self.resumed = (*self.resumed, (channel, self.blocked[channel]))
        self.blocked[channel] = 0
