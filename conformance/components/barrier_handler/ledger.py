"""The ledger of one barrier handler: what came out of each channel, and what the handler has made of it."""

from __future__ import annotations

from typing import Any, TypeAlias

from conformance.driver import PortLedger, Seen
from conformance.models.alignment import BarrierAlignment
from conformance.models.barriers import Upstream
from conformance.ports import (
    Alignment,
    BarrierHandlerConfig,
    BarrierPrioritized,
    CheckpointDeclined,
    CheckpointReason,
    CheckpointTriggered,
    ConsumptionResumed,
    InputsCheckpointStarted,
    InputsCheckpointStopped,
    Places,
    Signal,
)

UNALIGNED, TIMEOUTABLE = Alignment.UNALIGNED, Alignment.TIMEOUTABLE
DECLINED_SUBSUMED = CheckpointReason.DECLINED_SUBSUMED
"""Module variables, because looking up a member of an enumeration is slow in Python 3.11."""

Times: TypeAlias = tuple[int, int]
"""The duration and the start delay of an alignment."""
Ended: TypeAlias = tuple[tuple[int, ...], int, int, bool]
"""When an alignment may have started, when it ended, when its checkpoint was triggered, and whether it was declined."""


class Act:
    """One operation of the handler: what it must do, what it may do, and what it has done wrongly."""

    __slots__ = ("may_decline", "may_resume", "must_decline", "ongoing", "prioritized_unannounced", "resumed_unblocked")

    def __init__(self, ongoing: int) -> None:
        self.ongoing = ongoing
        """The checkpoint that was in progress before."""
        self.must_decline: tuple[int, CheckpointReason] | None = None
        """The checkpoint that it must decline, and for which reason."""
        self.may_decline: tuple[int, ...] = ()
        """The checkpoints that it may decline besides."""
        self.may_resume = 0
        """A source, counted from 1, that it may resume although nothing blocks it."""
        self.resumed_unblocked = self.prioritized_unannounced = 0
        """A channel, counted from 1, that it has resumed although it was not blocked; one whose barrier it has turned
        into a priority event although this barrier was not announced, or was taken."""


class Clock:
    """When the alignments of the current checkpoint and of older ones may have started, and when they have ended."""

    __slots__ = ("past", "starts")

    def __init__(self) -> None:
        self.starts: tuple[int, ...] = ()
        """When the alignment of the current checkpoint may have started: with the first event of it, with the end of a
        channel before its first barrier, or with that barrier."""
        self.past: tuple[Ended, ...] = (((0,), 0, 0, False),)
        """The older alignments whose times the handler may return, if the current one need not have started."""

    def start(self, now: int) -> None:
        """Notes that the alignment of the current checkpoint may start now."""
        if now not in self.starts:
            self.starts = (*self.starts, now)

    def stop(self, now: int, triggered: int, declined: bool) -> None:
        """Notes that no alignment is in progress any more."""
        if self.starts or declined:
            self.past = (*self.past, (self.starts, now, triggered, declined))
            self.starts = ()

    def times(self, now: int, triggered: int) -> set[Times]:
        """Returns the times of alignments that the handler may return now. Those of a declined one may be
        forgotten."""
        known: set[Times] = set()
        for starts, end, when, declined in (*self.past, (self.starts, now, triggered, False)):
            known.update([(end - start, max(0, start - when)) for start in starts])
            if declined:
                known.update([(0, delay) for _, delay in known], ((0, 0),))
        return known


class Ledger(PortLedger):
    """The handler gets each event as soon as a channel delivers it: the newest checkpoint upstream is that of the
    alignment."""

    __slots__ = ("act", "alignment", "clock", "config", "prioritized", "sources", "upstream")

    def __init__(self, config: BarrierHandlerConfig, sources: int, can_fail: Places) -> None:
        """`sources`: how many of the channels, the last ones, are sources."""
        super().__init__(can_fail)
        self.config = config
        self.sources = sources
        self.restore()

    def restore(self) -> None:
        """Begins with a fresh handler, whose clock shows 0."""
        self.begin_life("live")
        self.upstream = Upstream(self.config, self.sources)
        self.alignment = BarrierAlignment(self.config.channels)
        self.clock = Clock()
        self.prioritized: list[int] = []
        """The channels whose announced barrier the handler has turned into a priority event."""
        self._act()

    def _act(self) -> None:
        """Notes that the handler acts."""
        self.act = Act(self.alignment.pending)
        self.alignment.repeated = 0
        self.upstream.resumed = ()

    # ---- queries -----------------------------------------------------------------------------------------------------
    def times(self) -> set[Times]:
        """Returns the times of alignments that the handler may return now."""
        return self.clock.times(self.upstream.now, self._triggered())

    def _triggered(self) -> int:
        return self.upstream.timestamps.get(self.alignment.current, 0)

    def left_behind(self) -> list[int]:
        """Returns the channels whose barrier of the current checkpoint was announced, and not prioritized or taken."""
        return [
            channel
            for channel, (checkpoint, _) in self.upstream.announced.items()
            if checkpoint == self.alignment.current and channel not in self.prioritized
        ]

    # ---- updates -----------------------------------------------------------------------------------------------------
    def _stop_clock(self, declined: bool) -> None:
        self.clock.stop(self.upstream.now, self._triggered(), declined)

    def _meet(self, checkpoint: int, kind: Alignment) -> None:
        """Notes that the handler was given something of a checkpoint that is not over."""
        self.upstream.begin(checkpoint, kind)
        if checkpoint > self.alignment.current:
            if self.act.ongoing:
                self.act.must_decline = self.act.ongoing, DECLINED_SUBSUMED
            self._begin(checkpoint)
            self.clock.start(self.upstream.now)

    def _begin(self, checkpoint: int) -> None:
        self._stop_clock(self.alignment.pending > 0)
        self.alignment.begin(checkpoint)

    def barrier(self, channel: int, checkpoint: int, kind: Alignment, blocks: bool = True) -> None:
        """Notes that the handler was given a barrier. An aligned one blocks its channel."""
        self._act()
        upstream, alignment = self.upstream, self.alignment
        upstream.deliver(channel, checkpoint, blocks and kind is not UNALIGNED)
        if channel in upstream.announced and upstream.announced[channel][0] <= checkpoint:
            del upstream.announced[channel]
            if channel in self.prioritized:
                self.prioritized.remove(channel)
        if not alignment.is_obsolete(checkpoint):
            self._meet(checkpoint, kind)
            if not alignment.begun:
                self.clock.start(self.upstream.now)
                self.clock.past = ()
            if alignment.barrier(channel, checkpoint, kind):
                self._stop_clock(declined=False)
        elif not blocks:
            self.act.may_resume = channel + 1

    def announce(self, channel: int, checkpoint: int) -> None:
        """Notes that the handler was given an announcement."""
        self._act()
        upstream = self.upstream
        upstream.announced[channel] = checkpoint, upstream.next_seq(channel)
        if not self.alignment.is_obsolete(checkpoint):
            upstream.newest = checkpoint
            self._meet(checkpoint, TIMEOUTABLE)

    def cancel(self, channel: int, checkpoint: int) -> None:
        """Notes that the handler was given a cancel marker."""
        self._act()
        self.upstream.deliver(channel, checkpoint)
        reason = CheckpointReason.DECLINED_ON_CANCELLATION_BARRIER
        if checkpoint > self.alignment.current:
            self.act.must_decline = checkpoint, reason
            self.act.may_decline = (self.act.ongoing,)
            self._begin(checkpoint)
        elif checkpoint == self.act.ongoing:
            self.act.must_decline = checkpoint, reason

    def end_of(self, channel: int) -> None:
        """Notes that the handler was notified of the end of a channel."""
        self._act()
        alignment = self.alignment
        is_over = alignment.end_of(channel, self.config.counts_ends)
        self.upstream.leave_open(alignment.ended)
        if self.act.ongoing and not self.config.counts_ends:
            self.act.must_decline = self.act.ongoing, CheckpointReason.DECLINED_INPUT_END_OF_STREAM
        elif self.act.ongoing and not alignment.begun:
            self.clock.start(self.upstream.now)
        if is_over:
            self._stop_clock(declined=False)

    def pass_time(self, milliseconds: int) -> None:
        """Notes that time has passed."""
        self._act()
        self.alignment.pass_time(self.upstream, milliseconds)

    def hear(self, signals: list[Signal]) -> None:
        """Notes what the handler has asked of the inputs, the task and the checkpoint coordinator."""
        upstream, alignment = self.upstream, self.alignment
        for signal in signals:
            if type(signal) is CheckpointTriggered:
                if alignment.trigger(signal.checkpoint, signal.unaligned):
                    self._stop_clock(declined=False)
            elif type(signal) is CheckpointDeclined:
                if alignment.decline(signal.checkpoint):
                    self._stop_clock(declined=True)
            elif type(signal) is InputsCheckpointStarted:
                alignment.started = signal.checkpoint
            elif type(signal) is InputsCheckpointStopped:
                alignment.stopped = signal.checkpoint
            elif type(signal) is ConsumptionResumed:
                channel = signal.channel
                if not upstream.blocked[channel] and channel + 1 != self.act.may_resume:
                    self.act.resumed_unblocked = channel + 1
                upstream.resume(channel)
            elif type(signal) is BarrierPrioritized:
                channel = signal.channel
                if channel in self.prioritized or upstream.announced.get(channel, (0, -1))[1] != signal.seq:
                    self.act.prioritized_unannounced = channel + 1
                else:
                    self.prioritized.append(channel)
                    if upstream.is_overdue(alignment.current):
                        alignment.overdue = True

    def start_struck(self, seen: Seen[Any]) -> None:
        """Notes that the inputs have refused to start a checkpoint, or failed to."""
        if seen.error is None:
            self.faults.struck(seen.signals)
        else:
            self.break_down(seen)
