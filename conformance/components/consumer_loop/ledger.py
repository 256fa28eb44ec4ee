"""The ledger of a consumer loop: what has arrived in its channels, what the task has taken, and what came of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

from conformance.components.consumer_loop.lane import Lane
from conformance.driver import BROKEN, FAILING, PortLedger, Seen
from conformance.models.alignment import BarrierAlignment
from conformance.models.barriers import UNALIGNED, Upstream
from conformance.models.kept import task_fails
from conformance.models.lookers import Lookers
from conformance.ports import (
    CONNECTION,
    Announcement,
    Barrier,
    BarrierHandlerConfig,
    Buffer,
    CancelMarker,
    CheckpointDeclined,
    CheckpointReason,
    CheckpointTriggered,
    ConsumptionResumed,
    Element,
    ElementTaken,
    EndOfPartition,
    FaultStruck,
    InputsCheckpointStarted,
    InputsCheckpointStopped,
    InputStatus,
    Places,
    Signal,
)

END_OF_INPUT, NOTHING_AVAILABLE = InputStatus.END_OF_INPUT, InputStatus.NOTHING_AVAILABLE
"""Module variables, because looking up a member of an enumeration is slow in Python 3.11."""

Looker: TypeAlias = Literal["mailbox", "default action"]
"""Where the task looks for something to do."""


class Act:
    """One operation of the task: what there was to take when it began, and what it has done that it must not."""

    __slots__ = (
        "behind",
        "groundless",
        "hastened",
        "must_decline",
        "out_of_turn",
        "overtook",
        "resumed_unblocked",
        "something",
        "subsumed",
        "took_announced",
        "triggered_early",
        "urgent",
    )

    def __init__(self, lanes: Sequence[Lane]) -> None:
        self.something = False
        self.urgent: list[int] = []
        """What the task could take for certain: anything; the channels with priority events."""
        for number, lane in enumerate(lanes):
            if lane.urgent or lane.live:
                self.something = self.something or lane.next(hidden=False) is not None
                if lane.priority_waits():
                    self.urgent.append(number)
        self.out_of_turn: tuple[int, Element] | None = None
        """An element that it took and whose turn it was not, with the channel."""
        self.behind: tuple[int, int] | None = None
        """A channel and a checkpoint, if it took a record from behind the barrier."""
        self.resumed_unblocked = 0
        """A channel, counted from 1, that it has resumed although no barrier blocked it."""
        self.triggered_early = 0
        """A checkpoint that was triggered aligned, with a barrier to come."""
        self.subsumed: list[int] = []
        """The checkpoints that were in progress when it took something of a newer one."""
        self.must_decline: list[int] = []
        """The checkpoints that it must decline: something of a newer one was taken that is no cancel marker, or the end
        of a channel that does not count."""
        self.groundless: tuple[int, CheckpointReason] | None = None
        """A checkpoint that it has declined with a reason that is not there."""
        self.hastened = 0
        """A checkpoint that was triggered unaligned, although no unaligned barrier of it was sent, and in time."""
        self.took_announced = False
        """Whether it has taken a barrier that was announced."""
        self.overtook = 0
        """A checkpoint of which a barrier has overtaken something, although it is aligned and in time."""


class Ledger(PortLedger):
    """The signals of an operation of the task are noted in their order."""

    __slots__ = (
        "act", "alignment", "aligns_at_receiver", "arriving", "cancelled", "config", "lanes", "lookers",
        "next_record", "passing", "senders", "sending", "started", "subsumed", "unaligned", "upstream",
    )  # fmt: skip

    def __init__(self, config: BarrierHandlerConfig, can_fail: Places, aligns_at_receiver: bool = False) -> None:
        """`aligns_at_receiver`: whether producers send behind an aligned barrier, too."""
        super().__init__(can_fail)
        self.config = config
        self.aligns_at_receiver = aligns_at_receiver
        self.restore()

    def restore(self) -> None:
        """Begins with a fresh loop, whose clock shows 0."""
        self.begin_life("live")
        channels = self.config.channels
        self.next_record = 0
        self.lanes = [Lane() for _ in range(channels)]
        self.upstream = Upstream(self.config)
        self.alignment = BarrierAlignment(channels)
        self.arriving: Element = Buffer(())
        """The element that arrives."""
        self.sending = False
        """Whether an arrival is in flight."""
        self.cancelled: list[int] = []
        """The checkpoints of which a cancel marker was taken."""
        self.unaligned: list[int] = []
        """Those of which an unaligned barrier was sent."""
        self.passing = 0
        """How much time is passing: the task may see it before the operation in which it passes has ended."""
        self.subsumed: list[int] = []
        """The checkpoints in progress when the task took something of a newer one from a channel, while the barriers of
        other channels were awaited: their in-flight data need not be complete."""
        self.started: dict[int, tuple[int, ...]] = {}
        """By checkpoint that the inputs have started, how many records of each channel were processed then."""
        self.lookers: Lookers[Looker] = Lookers("mailbox", "default action")
        """Where the task has found nothing."""
        self._open()
        self.act = Act(self.lanes)

    # ---- queries -----------------------------------------------------------------------------------------------------
    def awaits_barriers(self) -> bool:
        """Returns whether no barrier of the newest checkpoint has come, or some channels that have not ended have
        delivered neither its barrier nor its cancel marker. What has come was taken, if nothing is left."""
        met, upstream = self.alignment.current, self.upstream
        return met not in upstream.kinds or any(
            last < met and not ended for last, ended in zip(upstream.last, self.alignment.ended, strict=True)
        )

    def is_settled(self) -> bool:
        """Returns whether no operation is in flight, so that what an observer returns describes one state."""
        return not self.flying

    def left(self) -> list[int]:
        """Returns the channels in which something was not taken and does not wait behind a barrier that was."""
        return [number for number, lane in enumerate(self.lanes) if lane.urgent or (lane.live and not lane.blocked)]

    def _open(self) -> None:
        over = [lane.over for lane in self.lanes]
        self.upstream.leave_open(over, blocked=True)
        receives = self.aligns_at_receiver
        self.senders = [number for number, it in enumerate(over) if not it] if receives else self.upstream.inputs
        """The channels out of which records and ends may come."""

    # ---- the network and the timer -----------------------------------------------------------------------------------
    def begin_arrival(self, channel: int, element: Element) -> None:
        """Notes that an element begins to arrive."""
        self.begin()
        self.lookers.wake()
        self.sending = True
        self.arriving = element
        self.lanes[channel].arrive(element, self.upstream.next_seq(channel))
        if isinstance(element, Barrier | CancelMarker):
            self.upstream.deliver(channel, element.checkpoint, element.data_type.blocks_upstream)
        if isinstance(element, Barrier):
            self.upstream.begin(element.checkpoint, element.alignment)
            if element.alignment is UNALIGNED:
                self.unaligned.append(element.checkpoint)
        elif isinstance(element, Buffer):
            self.next_record += 1
        self._open()

    def end_arrival(self, channel: int, *rest: object) -> None:
        """Notes that the element has arrived."""
        self.end()
        self.sending = False
        self.lanes[channel].end_send()

    def begin_passing(self, milliseconds: int) -> None:
        """Notes that time begins to pass."""
        self.passing = milliseconds

    def pass_time(self, milliseconds: int) -> None:
        """Notes that time has passed."""
        self.passing = 0
        self.lookers.wake()
        self.alone = False
        self.alignment.pass_time(self.upstream, milliseconds)

    def arrival_struck(self, seen: Seen[None], *operands: Any) -> None:
        """Notes that an arrival is over in which something has failed. If the task acts meanwhile, that may get the
        error, and the ledger will not know."""
        task_fails(self, keeps=True)
        self.end()
        self.sending = False
        self.faults.struck(seen.signals)

    # ---- the task ----------------------------------------------------------------------------------------------------
    def begin_act(self) -> None:
        """Notes that the task runs a mail, or the default action."""
        self.begin_alone()
        self.act = Act(self.lanes)
        self.alignment.repeated = 0
        self.upstream.resumed = ()

    def mail_run(self, seen: Seen[bool]) -> None:
        """Notes whether there was a mail."""
        self.lookers.look("mailbox", seen.value is False and self.alone)

    def processed(self, seen: Seen[InputStatus]) -> None:
        """Notes what the default action has returned."""
        nothing = seen.value in (NOTHING_AVAILABLE, END_OF_INPUT)
        self.lookers.look("default action", nothing and self.alone)

    def may_keep(self, place: str) -> bool:
        """Returns whether a channel may keep the error of a call at this place (remote-channel.md FR15)."""
        return place == CONNECTION

    def act_struck(self, seen: Seen[Any]) -> None:
        """Notes that what the task has called failed, and whether it has got the error."""
        if seen.error is not None:
            self.phase = BROKEN
        self.end()
        self.faults.struck(seen.signals)

    def got_error(self, seen: Seen[Any]) -> None:
        """Notes that the task may have got an error that its gate kept."""
        if seen.error is not None and self.phase == FAILING:
            self.phase = BROKEN

    def hear(self, signals: list[Signal]) -> None:
        """Notes what the task has taken, and what has come of it, in this order."""
        for signal in signals:
            if type(signal) is ElementTaken:
                self._take(signal.channel, signal.element)
            elif type(signal) is ConsumptionResumed:
                if not self.upstream.blocked[signal.channel]:
                    self.act.resumed_unblocked = signal.channel + 1
                self.upstream.resume(signal.channel)
                self.lanes[signal.channel].blocked = False
                self._open()
            elif type(signal) is InputsCheckpointStarted:
                self.alignment.started = signal.checkpoint
                self.started[signal.checkpoint] = tuple([lane.processed for lane in self.lanes])
            elif type(signal) is CheckpointTriggered:
                if not signal.unaligned and False in self.alignment.received:
                    self.act.triggered_early = signal.checkpoint
                if signal.unaligned and not self._may_be_unaligned(signal.checkpoint):
                    self.act.hastened = signal.checkpoint
                self.alignment.trigger(signal.checkpoint, signal.unaligned)
            elif type(signal) is InputsCheckpointStopped:
                self.alignment.stopped = signal.checkpoint
            elif type(signal) is CheckpointDeclined:
                if not self._may_decline(signal.checkpoint, signal.reason):
                    self.act.groundless = signal.checkpoint, signal.reason
                self.alignment.decline(signal.checkpoint)
            elif type(signal) is FaultStruck and not self.is_broken():
                task_fails(self, keeps=self.sending or self.may_keep(signal.place))

    def _may_decline(self, checkpoint: int, reason: CheckpointReason) -> bool:
        """Returns whether the task has what it says as a reason to decline a checkpoint that is not over."""
        alignment = self.alignment
        if checkpoint in alignment.declined:
            return False
        if reason is CheckpointReason.DECLINED_SUBSUMED:
            return checkpoint in self.act.subsumed
        if checkpoint != alignment.pending:
            return False
        if reason is CheckpointReason.DECLINED_ON_CANCELLATION_BARRIER:
            return checkpoint in self.cancelled
        if reason is CheckpointReason.DECLINED_INPUT_END_OF_STREAM:
            return not self.config.counts_ends and True in alignment.ended
        if reason is CheckpointReason.SUBSUMED:  # a channel refuses to start, because a newer barrier has arrived there
            return any(max(lane.cuts, default=0) > checkpoint for lane in self.lanes)
        return False

    def _may_be_unaligned(self, checkpoint: int) -> bool:
        return checkpoint in self.unaligned or self.upstream.is_overdue(checkpoint, self.passing)

    def _take(self, channel: int, element: Element) -> None:
        lane, alignment = self.lanes[channel], self.alignment
        if lane.blocked and not element.data_type.has_priority:
            before = self.upstream.blocked[channel]
            if before == alignment.pending and before not in alignment.triggered:
                self.act.behind = channel, before
        if isinstance(element, Buffer):
            begun = 0 if alignment.was_triggered_or_declined(alignment.current) else alignment.current
            if checkpoint := lane.behind(element.ids, begun):
                self.act.behind = channel, checkpoint
        if isinstance(element, Barrier) and element.data_type.needs_announcement:
            self.act.took_announced = True
            if not lane.is_next(element) and not self._may_be_unaligned(element.checkpoint):
                self.act.overtook = element.checkpoint
        if not lane.process(element):
            self.act.out_of_turn = channel, element
        if self.aligns_at_receiver and element.data_type.blocks_upstream:
            lane.blocked = True
        if isinstance(element, EndOfPartition):
            if alignment.pending and not self.config.counts_ends:
                self.act.must_decline.append(alignment.pending)
            alignment.end_of(channel, self.config.counts_ends)
        elif isinstance(element, Barrier | Announcement | CancelMarker):
            self._take_of_checkpoint(channel, element)

    def _take_of_checkpoint(self, channel: int, element: Barrier | Announcement | CancelMarker) -> None:
        checkpoint, alignment = element.checkpoint, self.alignment
        if checkpoint > alignment.current:
            if alignment.pending:
                self.act.subsumed.append(alignment.pending)
                if not isinstance(element, CancelMarker):
                    self.act.must_decline.append(alignment.pending)
                if alignment.missing() != [channel]:
                    self.subsumed.append(alignment.pending)
            alignment.begin(checkpoint)
        if isinstance(element, CancelMarker):
            self.cancelled.append(checkpoint)
        elif isinstance(element, Barrier) and not alignment.is_obsolete(checkpoint):
            alignment.barrier(channel, checkpoint, element.alignment)
