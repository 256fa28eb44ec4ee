"""The ledger of a consumer loop: what has arrived in its channels, what the task has taken, and what came of it."""

from __future__ import annotations

from typing import Literal, TypeAlias

from conformance.components.consumer_loop.lane import Lane
from conformance.driver import PortLedger, Seen
from conformance.models.barriers import timestamp
from conformance.models.lookers import Lookers
from conformance.ports import (
    Alignment,
    Barrier,
    Buffer,
    CancelMarker,
    CheckpointDeclined,
    CheckpointTriggered,
    ConsumptionResumed,
    Element,
    ElementTaken,
    InputsCheckpointStarted,
    InputStatus,
    Signal,
)

Looker: TypeAlias = Literal["mailbox", "default action"]
"""Where the task looks for something to do."""


class Ledger(PortLedger):
    """The current checkpoint is the newest that was sent. What an operation of the task tells is noted in its order."""

    __slots__ = (
        "alternating", "announced", "arriving", "behind", "blocked", "came", "cancelled", "channels", "counts_ends",
        "current", "declined", "early", "given_up", "inputs", "kinds", "lanes", "last", "lookers", "met", "misplaced",
        "next_id", "now", "over", "overdue", "resumed", "seqs", "started", "there", "timeout", "timestamps",
        "triggered", "twice", "urgent",
    )  # fmt: skip

    def __init__(self, channels: int, alternating: bool, timeout: int, counts_ends: bool) -> None:
        """`alternating`: whether checkpoints may be timeoutable or unaligned."""
        super().__init__()
        self.channels = channels
        self.alternating = alternating
        self.timeout = timeout
        self.counts_ends = counts_ends
        self.announced: dict[int, tuple[int, int]] = {}
        """Nothing is announced by a step of its own."""
        self.restore()

    def restore(self) -> None:
        """Begins with a fresh loop, whose clock shows 0."""
        self.begin_life("live")
        self.now = self.next_id = 0
        self.lanes = [Lane() for _ in range(self.channels)]
        self.arriving: Element = Buffer(())
        """The element that arrives."""
        self.current = self.met = 0
        """The newest checkpoint that was sent; the newest of which the task has taken something."""
        self.last = [0] * self.channels
        """By channel, the newest checkpoint whose barrier or cancel marker was sent."""
        self.seqs = [0] * self.channels
        """By channel, the sequence number of its next element."""
        self.blocked = [0] * self.channels
        """By channel, the checkpoint behind whose barrier its producer waits; 0: it is not blocked."""
        self.kinds: dict[int, Alignment] = {}
        self.timestamps: dict[int, int] = {}
        """By checkpoint, how its barriers began upstream, and when it was triggered."""
        self.cancelled: list[int] = []
        """The checkpoints of which a cancel marker was taken."""
        self.triggered: dict[int, bool] = {}
        """By checkpoint that was triggered, whether unaligned."""
        self.declined: list[int] = []
        self.given_up: list[int] = []
        """The checkpoints that were in progress when the task took something of a newer one."""
        self.started: dict[int, tuple[int, ...]] = {}
        """By checkpoint that the inputs have started, how many records of each channel were taken then."""
        self.came = self.overdue = False
        """Whether a barrier of checkpoint `met` was taken; whether time has passed since its alignment is overdue."""
        self.over = False
        """Whether the default action has answered the end of the input."""
        self.lookers: Lookers[Looker] = Lookers("mailbox", "default action")
        """Where the task has found nothing."""
        self._open()
        self._act()

    def _act(self) -> None:
        """Notes that the task acts. What is noted here is known until it acts again."""
        self.there = any(lane.is_there() for lane in self.lanes)
        self.urgent = [number for number, lane in enumerate(self.lanes) if lane.is_urgent()]
        """What the task could take for certain when it began: anything; the channels with priority events."""
        self.misplaced: tuple[int, Element] | None = None
        """An element that it took and whose turn it was not, with the channel."""
        self.behind: tuple[int, int] | None = None
        """A channel and a checkpoint, if it took a record from behind the barrier."""
        self.resumed: tuple[tuple[int, int], ...] = ()
        """The channels that it has resumed, each with the checkpoint behind whose barrier the channel waited."""
        self.twice = self.early = 0
        """A checkpoint that was triggered although it or a newer one was over; aligned, with a barrier to come."""

    def _open(self) -> None:
        """Notes in which channels something can arrive: those that are not blocked and have not ended."""
        self.inputs = tuple(
            number for number, lane in enumerate(self.lanes) if not lane.ended and not self.blocked[number]
        )

    # ---- queries -----------------------------------------------------------------------------------------------------
    def missing(self) -> list[int]:
        """Returns the channels of which no barrier, cancel marker or end was taken for the newest checkpoint."""
        met = self.met
        return [number for number, lane in enumerate(self.lanes) if lane.got < met and not lane.finished]

    def is_in_progress(self, checkpoint: int) -> bool:
        """Returns whether barriers of this checkpoint, which was not declined, are still to be taken."""
        if checkpoint != self.met or checkpoint in self.declined:
            return False
        return checkpoint not in self.triggered or bool(self.missing())

    def is_settled(self) -> bool:
        """Returns whether no operation is in flight, so that an answer describes a state."""
        return not self.flying

    def left(self) -> list[int]:
        """Returns the channels in which something was not taken."""
        return [number for number, lane in enumerate(self.lanes) if lane.waiting or lane.urgent]

    def has_ended(self) -> bool:
        """Returns whether the end of partition of every channel was taken."""
        return all(lane.finished for lane in self.lanes)

    # ---- the network and the timer -----------------------------------------------------------------------------------
    def begin_arrival(self, channel: int, element: Element) -> None:
        """Notes that an element begins to arrive."""
        self.begin()
        self.lookers.stir()
        self.arriving = element
        self.lanes[channel].arrive(element, self.seqs[channel])
        self.seqs[channel] += 1
        if isinstance(element, Barrier | CancelMarker):
            self._send(channel, element)
        elif isinstance(element, Buffer):
            self.next_id += 1
        self._open()

    def _send(self, channel: int, element: Barrier | CancelMarker) -> None:
        checkpoint = element.checkpoint
        self.last[channel] = checkpoint
        if isinstance(element, Barrier):
            self.timestamps[checkpoint] = timestamp(self, checkpoint)
            self.kinds.setdefault(checkpoint, element.alignment)
            if element.alignment is not Alignment.UNALIGNED:
                self.blocked[channel] = checkpoint
        self.current = max(self.current, checkpoint)

    def end_arrival(self, channel: int, *rest: object) -> None:
        """Notes that the element has arrived."""
        self.end()
        self.lanes[channel].landing = 0

    def pass_time(self, milliseconds: int) -> None:
        """Notes that time has passed."""
        self.lookers.stir()
        self.alone = False
        self.now += milliseconds
        met = self.met
        if self.kinds.get(met) is Alignment.TIMEOUTABLE and self.is_in_progress(met):
            self.overdue = self.overdue or self.now >= self.timestamps[met] + self.timeout

    # ---- the task ----------------------------------------------------------------------------------------------------
    def begin_act(self) -> None:
        """Notes that the task runs a mail, or the default action."""
        self.begin_alone()
        self._act()

    def mail_run(self, seen: Seen[bool]) -> None:
        """Notes whether there was a mail."""
        self.lookers.look("mailbox", seen.value is False and self.alone)

    def processed(self, seen: Seen[InputStatus]) -> None:
        """Notes what the default action has answered."""
        self.over = self.over or seen.value is InputStatus.END_OF_INPUT
        nothing = seen.value in (InputStatus.NOTHING_AVAILABLE, InputStatus.END_OF_INPUT)
        self.lookers.look("default action", nothing and self.alone)

    def hear(self, signals: list[Signal]) -> None:
        """Notes what the task has taken, and what has come of it, in this order."""
        for signal in signals:
            if type(signal) is ElementTaken:
                self._take(signal.channel, signal.element)
            elif type(signal) is ConsumptionResumed:
                channel = signal.channel
                self.resumed = (*self.resumed, (channel, self.blocked[channel]))
                self.blocked[channel] = 0
                self._open()
            elif type(signal) is InputsCheckpointStarted:
                self.started[signal.checkpoint] = tuple([lane.taken for lane in self.lanes])
            elif type(signal) is CheckpointTriggered:
                self._trigger(signal.checkpoint, signal.unaligned)
            elif type(signal) is CheckpointDeclined:
                self.declined.append(signal.checkpoint)

    def _take(self, channel: int, element: Element) -> None:
        lane = self.lanes[channel]
        if isinstance(element, Buffer):
            over = self.met in self.triggered or self.met in self.declined
            checkpoint = lane.behind(element.ids, 0 if over else self.met)
            if checkpoint:
                self.behind = channel, checkpoint
        if not lane.take(element):
            self.misplaced = channel, element
        checkpoint = getattr(element, "checkpoint", 0)
        if checkpoint > self.met:
            if self.is_in_progress(self.met):
                self.given_up.append(self.met)
            self.met = checkpoint
            self.came = self.overdue = False
        if isinstance(element, CancelMarker):
            self.cancelled.append(checkpoint)
        self.came = self.came or (isinstance(element, Barrier) and checkpoint == self.met)

    def _trigger(self, checkpoint: int, unaligned: bool) -> None:
        if checkpoint <= max([*self.triggered, *self.declined], default=0):
            self.twice = checkpoint
        if not unaligned and self.missing():
            self.early = checkpoint
        self.triggered[checkpoint] = unaligned
