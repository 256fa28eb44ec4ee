"""The ledger of one barrier handler: what came out of each channel, and what the handler has made of it."""

from __future__ import annotations

from typing import Any, TypeAlias

from conformance.driver import PortLedger, Seen
from conformance.models.barriers import timestamp
from conformance.ports import (
    Alignment,
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

Times: TypeAlias = tuple[int, int]
"""The duration and the start delay of an alignment."""


class Ledger(PortLedger):
    """The current checkpoint is the newest of which the handler has heard. It is over once it was declined, or once it
    was triggered and every barrier is here."""

    __slots__ = (
        "alternating", "announced", "before", "blocked", "came", "channels", "counts_ends", "current", "declined",
        "due", "elapsed", "ended", "hurried", "inputs", "kinds", "last", "may_decline", "may_resume", "now",
        "open_sources", "prioritised", "progress", "received", "resumed", "seqs", "sources", "started", "starts",
        "stopped", "timeout", "times", "timestamps", "triggered", "unannounced", "unblocked",
    )  # fmt: skip

    def __init__(
        self, channels: int, sources: int, alternating: bool, timeout: int, counts_ends: bool, can_fail: Places
    ) -> None:
        """`sources`: how many of the channels, the last ones, are sources. `alternating`: whether checkpoints may be
        timeoutable or unaligned."""
        super().__init__(can_fail)
        self.channels = channels
        self.sources = sources
        self.alternating = alternating
        self.timeout = timeout
        self.counts_ends = counts_ends
        self.restore()

    def restore(self) -> None:
        """Begins with a fresh handler, whose clock shows 0."""
        self.begin_life("live")
        self.now = 0
        self.current = self.progress = 0
        """The newest checkpoint of which the handler has heard; the same if it is in progress, otherwise 0."""
        self.came = self.hurried = self.elapsed = False
        """Whether a barrier of the current checkpoint was taken; whether an unaligned one was; whether time has passed
        since it is overdue, or the handler has acted on that."""
        self.received = [False] * self.channels
        """By channel, whether its barrier of the current checkpoint was taken, or it has ended."""
        self.ended = [False] * self.channels
        self._open()
        self.last = [0] * self.channels
        """By channel, the newest checkpoint of which it has delivered the barrier or the cancel marker."""
        self.seqs = [0] * self.channels
        """By channel, the sequence number of its next barrier."""
        self.blocked = [0] * self.channels
        """By channel, the checkpoint behind whose aligned barrier it waits; 0: it is not blocked."""
        self.announced: dict[int, tuple[int, int]] = {}
        """By channel, the checkpoint and the sequence number of a barrier that was announced and not taken."""
        self.prioritised: list[int] = []
        """The channels whose announced barrier the handler has turned into a priority event."""
        self.kinds: dict[int, Alignment] = {}
        """By checkpoint, how it began upstream. The barriers of a timeoutable one may come unaligned."""
        self.timestamps: dict[int, int] = {}
        """By checkpoint, when it was triggered."""
        self.triggered: dict[int, bool] = {}
        """By checkpoint that was triggered, whether unaligned."""
        self.declined: list[int] = []
        self.started = self.stopped = 0
        """The newest checkpoint that the inputs have started; the newest that they have stopped."""
        self.starts: tuple[int, ...] = ()
        """When the alignment of the current checkpoint may have started: with the first of it that came, with the end
        of a channel before its first barrier, or with that barrier."""
        self.times: tuple[Times, ...] = ((0, 0),)
        """What the handler may answer about older alignments, if the current one need not have started."""
        self._act()

    def _act(self) -> None:
        """Notes that the handler acts. What is noted here is known until it acts again."""
        self.before = self.progress
        """The checkpoint that was in progress before."""
        self.due: tuple[int, CheckpointReason] | None = None
        """The checkpoint that it must decline, and for which reason."""
        self.may_decline: tuple[int, ...] = ()
        """The checkpoints that it may decline besides."""
        self.may_resume = 0
        """A source, counted from 1, that it may resume although nothing blocks it."""
        self.resumed: tuple[tuple[int, int], ...] = ()
        """The channels that it has resumed, each with the checkpoint that had blocked it."""
        self.unblocked = self.unannounced = 0
        """A channel, counted from 1, that it has resumed although it was not blocked; one of which it has turned a
        barrier into a priority event that was not announced, or was taken."""

    # ---- queries -----------------------------------------------------------------------------------------------------
    def is_obsolete(self, checkpoint: int) -> bool:
        """Returns whether the checkpoint is over, or a newer one is known."""
        return checkpoint < self.current or (checkpoint == self.current and not self.progress)

    def is_unaligned(self) -> bool:
        """Returns whether the current checkpoint was triggered unaligned."""
        return self.triggered.get(self.current, False)

    def is_overdue(self, checkpoint: int) -> bool:
        """Returns whether the alignment of a timeoutable checkpoint has taken as long as it may, or longer."""
        return (
            self.kinds.get(checkpoint) is Alignment.TIMEOUTABLE
            and self.now >= self.timestamps[checkpoint] + self.timeout
        )

    def timestamp(self, checkpoint: int) -> int:
        """Returns when a checkpoint was triggered."""
        return timestamp(self, checkpoint)

    def missing(self) -> list[int]:
        """Returns the channels whose barrier of the current checkpoint is still to come."""
        return [number for number, received in enumerate(self.received) if not received]

    def alignments(self) -> tuple[Times, ...]:
        """Returns what the handler may answer about its alignments now."""
        if not self.starts:
            return self.times
        triggered = self.timestamps[self.current]
        return *self.times, *[(self.now - start, max(0, start - triggered)) for start in self.starts]

    def left_behind(self) -> list[int]:
        """Returns the channels whose barrier of the current checkpoint was announced, and not prioritised or taken."""
        return [
            channel
            for channel, (checkpoint, _) in self.announced.items()
            if checkpoint == self.current and channel not in self.prioritised
        ]

    # ---- updates -----------------------------------------------------------------------------------------------------
    def _open(self) -> None:
        """Notes which channels have not ended: the sources, and the others."""
        still = [number for number, ended in enumerate(self.ended) if not ended]
        first = self.channels - self.sources
        self.inputs = tuple(number for number in still if number < first)
        self.open_sources = tuple(number for number in still if number >= first)

    def _settle(self) -> None:
        """Notes whether the current checkpoint is in progress."""
        current = self.current
        over = current in self.declined or (current in self.triggered and False not in self.received)
        if over and self.progress:
            self._stop_clock(current in self.declined)
        self.progress = 0 if over else current

    def _stop_clock(self, declined: bool) -> None:
        """Notes that no alignment is in progress any more. What one took that was declined may be forgotten."""
        if not (self.starts or declined):
            return
        known = self.alignments()
        if declined:
            known = *known, *[(0, delay) for _, delay in known], (0, 0)
        self.times = tuple(dict.fromkeys(known))
        self.starts = ()

    def _start_clock(self) -> None:
        """Notes that the alignment of the current checkpoint may start now."""
        if self.now not in self.starts:
            self.starts = (*self.starts, self.now)

    def _meet(self, checkpoint: int, kind: Alignment) -> None:
        """Notes that the handler was given something of a checkpoint that is not over."""
        if checkpoint not in self.kinds:
            self.timestamps[checkpoint] = self.timestamp(checkpoint)
            self.kinds[checkpoint] = kind
        if checkpoint > self.current:
            if self.before:
                self.due = self.before, CheckpointReason.DECLINED_SUBSUMED
            self._begin(checkpoint)
            self._start_clock()

    def _begin(self, checkpoint: int) -> None:
        self._stop_clock(self.progress > 0)
        self.current = self.progress = checkpoint
        self.came = self.hurried = self.elapsed = False
        self.received = list(self.ended)

    def barrier(self, channel: int, checkpoint: int, kind: Alignment, blocks: bool = True) -> None:
        """Notes that the handler was given a barrier. An aligned one blocks its channel."""
        self._act()
        if blocks and kind is not Alignment.UNALIGNED:
            self.blocked[channel] = checkpoint
        self.last[channel] = checkpoint
        if channel in self.announced and self.announced[channel][0] <= checkpoint:
            self._forget_announcement(channel)
        if not self.is_obsolete(checkpoint):
            self._meet(checkpoint, kind)
            if not self.came:
                self._start_clock()
                self.times = ()
            self.received[channel] = self.came = True
            self.hurried = self.hurried or kind is Alignment.UNALIGNED
            if False not in self.received:
                self._settle()
        elif not blocks:
            self.may_resume = channel + 1

    def _forget_announcement(self, channel: int) -> None:
        del self.announced[channel]
        if channel in self.prioritised:
            self.prioritised.remove(channel)

    def announce(self, channel: int, checkpoint: int) -> None:
        """Notes that the handler was given an announcement."""
        self._act()
        self.announced[channel] = checkpoint, self.seqs[channel]
        self.seqs[channel] += 1
        if not self.is_obsolete(checkpoint):
            self._meet(checkpoint, Alignment.TIMEOUTABLE)

    def cancel(self, channel: int, checkpoint: int) -> None:
        """Notes that the handler was given a cancel marker."""
        self._act()
        self.last[channel] = checkpoint
        reason = CheckpointReason.DECLINED_ON_CANCELLATION_BARRIER
        if checkpoint > self.current:
            self.due = checkpoint, reason
            self.may_decline = (self.before,)
            self._begin(checkpoint)
        elif checkpoint == self.before:
            self.due = checkpoint, reason

    def end_of(self, channel: int) -> None:
        """Notes that the handler was told of the end of a channel."""
        self._act()
        self.ended[channel] = True
        self._open()
        if not self.counts_ends:
            if self.before:
                self.due = self.before, CheckpointReason.DECLINED_INPUT_END_OF_STREAM
            return
        self.received[channel] = True
        if self.progress and not self.came:
            self._start_clock()
        self._settle()

    def pass_time(self, milliseconds: int) -> None:
        """Notes that time has passed."""
        self._act()
        self.now += milliseconds
        self.elapsed = self.elapsed or (self.before > 0 and self.is_overdue(self.current))

    def hear(self, signals: list[Signal]) -> None:
        """Notes what the handler has told the inputs, the task and the checkpoint coordinator."""
        for signal in signals:
            if type(signal) is ConsumptionResumed:
                channel = signal.channel
                if not self.blocked[channel] and channel + 1 != self.may_resume:
                    self.unblocked = channel + 1
                self.resumed = (*self.resumed, (channel, self.blocked[channel]))
                self.blocked[channel] = 0
            elif type(signal) is BarrierPrioritized:
                channel = signal.channel
                if channel in self.prioritised or self.announced.get(channel, (0, -1))[1] != signal.seq:
                    self.unannounced = channel + 1
                else:
                    self.prioritised.append(channel)
                    self.elapsed = self.elapsed or self.is_overdue(self.current)
            elif type(signal) is CheckpointTriggered:
                self.triggered[signal.checkpoint] = signal.unaligned
                self._settle()
            elif type(signal) is CheckpointDeclined:
                self.declined.append(signal.checkpoint)
                self._settle()
            elif type(signal) is InputsCheckpointStarted:
                self.started = signal.checkpoint
            elif type(signal) is InputsCheckpointStopped:
                self.stopped = signal.checkpoint

    def start_struck(self, seen: Seen[Any]) -> None:
        """Notes that the inputs have refused to start a checkpoint, or failed to."""
        if seen.error is None:
            self.faults.struck(seen.signals)
        else:
            self.break_down(seen)
