"""What the driver knows about one gate: what was sent into each channel, what the consumer took, what is owed now.

What is *sent* is known when an operation begins, what was *taken* when it is over. While operations are in flight an
element may or may not have got through; it is `sure` once the operation that sent it is over. Properties that need to
be sure are judged when nothing is in flight, or for a poll that nothing else happened during.
"""

from __future__ import annotations

from typing import Any

from conformance.ports import (
    Alignment,
    Announcement,
    Barrier,
    ChannelKind,
    ConsumptionResumed,
    Data,
    DataAvailable,
    Element,
    EndOfData,
    EndOfPartition,
    GateTaken,
    PriorityAvailable,
    RecoveryCompletion,
    StateConsumed,
)
from conformance.properties.gate.checkpoints import CheckpointRules
from conformance.properties.gate.side import ALL, Sent, Side


class GateLedger(CheckpointRules):
    """Kept up to date by the steps of the alphabet; read by enabledness and by properties."""

    __slots__ = (
        "alone",
        "announced",
        "awake",
        "checkpoint",
        "closing",
        "converted",
        "doubtful",
        "failed",
        "flying",
        "in_memory",
        "inspected",
        "marked",
        "most_recovered",
        "moving",
        "newest",
        "numbers",
        "overlapped",
        "passes_blocked",
        "polling",
        "pushed_design",
        "pushing",
        "recovery",
        "released",
        "releasing",
        "requested",
        "sending",
        "sides",
        "started",
        "starting",
        "stopped",
        "stopping",
        "told",
    )

    def __init__(
        self, kinds: tuple[ChannelKind, ...], recovery: str, most_recovered: int, passes_blocked: bool
    ) -> None:
        self.recovery = recovery
        self.pushed_design = recovery == "pushed"
        self.in_memory = recovery == "in-memory"
        self.most_recovered = most_recovered
        self.passes_blocked = passes_blocked
        self.numbers = [channel * 1_000_000 for channel in range(len(kinds))]
        """The next record id, or label of an event, of each channel; numbered through across restores."""
        self.newest = 0
        """The newest checkpoint of all."""
        self.closing = 0
        self._begin([kind is ChannelKind.LOCAL for kind in kinds])

    def _begin(self, local: list[bool]) -> None:
        self.sides = [Side(one) for one in local]
        self.converted = self.recovery == "none"
        self.requested = self.released = self.failed = False
        self.flying = 0
        """Operations in flight."""
        self.polling = self.alone = False
        """A poll is in flight; nothing else happened during it."""
        self.pushing = self.sending = -1
        """The channel into which a push, or an arrival, is in flight."""
        self.awake = self.told = False
        """The consumer has a reason to poll; it was told so since its last poll began."""
        self.checkpoint = 0
        """The unaligned checkpoint in progress; 0: none."""
        self.started: list[int] = []
        self.stopped: list[int] = []
        self.marked: dict[int, list[tuple[int, int]]] = {}
        """By checkpoint and channel: how many recovered buffers stand before its mark, at least and at most."""
        self.announced: list[tuple[int, int, int]] = []
        """Channel, sequence number and checkpoint of announcements that were taken, their barriers not yet."""
        self.overlapped = False
        """A push was in flight when the conversion began that is in progress."""
        self.starting = 0
        """The checkpoint that is being started; 0: none."""
        self.doubtful = False
        """A barrier is on its way while a checkpoint starts: nobody can say which was first."""
        self.releasing = self.stopping = False
        self.moving: Side | None = None
        """The channel in which an announced barrier is being made a priority event."""
        self.inspected = 0

    @property
    def phase(self) -> str:
        """Which steps can be meant at all."""
        if self.failed:
            return "failed"
        if self.released:
            return "released"
        if not self.converted:
            return "recovering"
        if not self.requested:
            return "converted"
        return "starting" if self.marked else "live"

    # ---- operations in flight ----------------------------------------------------------------------------------------
    def begin(self) -> None:
        """An operation begins."""
        self.flying += 1
        self.alone = False

    def end(self) -> None:
        """An operation is over."""
        self.flying -= 1

    def hear(self, signals: list[Any]) -> None:
        """The consumer, or a producer, was told something."""
        for signal in signals:
            kind = type(signal)
            if kind is DataAvailable or kind is PriorityAvailable:
                self.awake = True
                self.told = self.polling
            elif kind is StateConsumed:
                self.sides[signal.channel].consumed = True
            elif kind is ConsumptionResumed:
                self.sides[signal.channel].resumed = True

    # ---- questions ---------------------------------------------------------------------------------------------------
    def ready(self, side: Side) -> bool:
        """Whether the consumer can take something from a channel, nothing being in flight."""
        if side.ended or self.released or (self.converted and not self.requested):
            return False
        if self.urgent_ready(side):
            return True
        if side.recovered:
            return side.recovered[0].sure
        if self.recovery != "none" and side.finished and not side.consumed:
            return not (self.in_memory and self.converted)  # the end of recovered data is there to be taken
        return self.converted and self.live_ready(side)

    def hands_out(self, side: Side) -> bool:
        """Whether it is ready with an element; the end of recovered data is none."""
        return self.ready(side) and bool(side.recovered or self.urgent_ready(side) or self.live_ready(side))

    def rounds(self, side: Side) -> int:
        """Rounds in which a channel is given something. The end of recovered data, which a poll does not show, takes a
        turn of its own where it moved into the physical channel with the data (2.3.0)."""
        return 1 + (self.recovery == "in-memory" and side.finishing)

    def urgent_ready(self, side: Side) -> bool:
        """Whether a priority event can be taken."""
        if not (side.urgent and side.urgent[0].sure and self.requested) or side.ended:
            return False
        return not (side.local and side.blocked) or self.passes_blocked

    def live_ready(self, side: Side) -> bool:
        """Whether the first live element without priority can be taken."""
        if not side.queue or not side.queue[0].sure or side.blocked or side.ended:
            return False
        return not self.pushed_design or side.consumed

    def any_slow(self) -> bool:
        """Whether any channel is held up: blocked, or still recovering."""
        recovering = self.converted and self.pushed_design
        return any(side.blocked or (recovering and not side.consumed) for side in self.sides)

    def producers_go_on(self) -> bool:
        """Whether recovered output state, if there is any, has ended in all channels."""
        return self.recovery == "none" or all(side.tracked for side in self.sides)

    def all_ended(self) -> bool:
        """Whether the consumer took the end of every channel."""
        return all(side.ended for side in self.sides)

    def convertible(self) -> bool:
        """Whether conversion loses nothing."""
        if self.recovery == "recover-first":
            return all(side.consumed for side in self.sides)
        if self.in_memory:
            return all(side.finished for side in self.sides)
        return True

    def surely_not_convertible(self) -> bool:
        """Whether conversion would lose something, whatever is in flight."""
        if self.recovery == "recover-first":
            return any(not side.consumed for side in self.sides)
        return self.in_memory and any(not side.finishing for side in self.sides)

    # ---- recovered data ----------------------------------------------------------------------------------------------
    def begin_push(self, channel: int) -> None:
        """A recovered buffer is on its way."""
        self.begin()
        side = self.sides[channel]
        side.recovered.append(Sent(Data((self.numbers[channel],))))
        side.pushed += 1
        self.numbers[channel] += 1
        self.pushing = channel

    def end_push(self, channel: int) -> None:
        """It is there, or was recycled."""
        self.end()
        self.pushing = -1
        for sent in self.sides[channel].recovered:
            sent.sure = True

    def begin_finish(self, channel: int) -> None:
        """The end of recovered data is on its way."""
        self.begin()
        self.sides[channel].finishing = True
        self.pushing = channel

    def end_finish(self, channel: int) -> None:
        """It is there."""
        self.end()
        self.pushing = -1
        self.sides[channel].finished = True

    def begin_conversion(self) -> None:
        """The recovered channels are being replaced."""
        self.begin()
        self.overlapped = self.pushing >= 0

    def end_conversion(self, done: bool) -> None:
        """They are physical, or conversion was refused."""
        self.end()
        self.converted = self.converted or done
        self.overlapped = False
        for side in self.sides:
            side.waited = 0

    # ---- live data ---------------------------------------------------------------------------------------------------
    def begin_arrival(self, channel: int, element: Element) -> None:
        """A live element is on its way."""
        self.begin()
        self.sending = channel
        side = self.sides[channel]
        if self.releasing:
            side.unsure[ALL] = None
        if self.stopping and side.pending:
            side.unsure[side.pending] = None
        if self.starting:
            if side.pending:
                side.unsure[side.pending] = None
            if type(element) is Barrier:
                self.overlap(side, element.checkpoint)
        sent = Sent(element, side.arrived)
        sent.silent = side.local and side.blocked and not self.passes_blocked
        side.arrived += 1
        if element.data_type.has_priority:
            side.urgent.append(sent)
        else:
            side.queue.append(sent)
        if type(element) is Barrier:
            side.last_barrier = element.checkpoint
            side.barrier_on_its_way = True
            self.newest = max(self.newest, element.checkpoint)
        if not side.local:
            side.noticed(element, sent.number)
            if element.data_type.blocks_upstream:
                side.held_back = True
            if element.data_type.needs_announcement and type(element) is Barrier:
                side.urgent.append(Sent(Announcement(element.checkpoint, -1)))
        if type(element) is RecoveryCompletion:
            side.completion_sent = True
        side.data_ended = side.data_ended or type(element) is EndOfData
        side.end_sent = side.end_sent or type(element) is EndOfPartition
        self.numbers[channel] += 1

    def end_arrival(self, channel: int) -> None:
        """It is there."""
        self.end()
        self.sending = -1
        side = self.sides[channel]
        side.barrier_on_its_way = False
        silent = side.local and side.blocked and not self.passes_blocked
        for sent in side.urgent:
            sent.silent = sent.silent or (silent and not sent.sure)
            sent.sure = True
        if side.queue:
            side.queue[-1].sure = True

    # ---- the consumer ------------------------------------------------------------------------------------------------
    def begin_poll(self) -> None:
        """The consumer polls."""
        self.alone = self.flying == 0
        self.polling = True
        self.flying += 1

    def end_poll(self, taken: GateTaken | None) -> None:
        """The consumer got something, or nothing."""
        self.end()
        self.awake = self.told or (taken is not None and (taken.more or taken.more_priority))
        alone, self.alone = self.alone, False
        self.told = self.polling = False
        if taken is None:
            for side in self.sides:
                side.waited = 0
            return
        side = self.sides[taken.channel]
        side.waited = 0
        element = taken.element
        if not element.data_type.has_priority:
            for other in self.sides:
                if other is not side:
                    other.waited = other.waited + 1 if alone and self.hands_out(other) else 0
        if type(element) is Announcement:
            side.urgent.pop(0)
            self.announced.append((taken.channel, element.seq, element.checkpoint))
            return
        if element.data_type.has_priority:
            side.urgent.pop(0)
        elif side.recovered:
            side.recovered.pop(0)
        else:
            side.queue.pop(0)
            if side.local:
                side.noticed(element)
        if type(element) is Barrier:
            if side.local and element.data_type.has_priority:
                side.noticed(element)
            self.announced = [one for one in self.announced if one[0] != taken.channel or one[2] != element.checkpoint]
        if element.data_type.blocks_upstream:
            side.blocked = True
            if type(element) is RecoveryCompletion:
                side.completion_taken = True
                side.resumed = False
        side.ended = side.ended or type(element) is EndOfPartition

    def resume(self, channel: int) -> None:
        """A producer was let go on."""
        self.end()
        self.sides[channel].blocked = self.sides[channel].held_back = False

    def track(self, channel: int) -> None:
        """The end of output state of a channel was noted; the last one lets all producers go on."""
        self.end()
        self.sides[channel].tracked = True
        if all(side.tracked for side in self.sides):
            for side in self.sides:
                side.blocked = side.held_back = False

    def begin_move(self, channel: int) -> None:
        """An announced barrier is being made a priority event."""
        self.begin()
        self.moving = self.sides[channel]

    def end_move(self) -> None:
        """It is one now, or was refused."""
        self.end()
        self.moving = None

    def to_front(self, channel: int, checkpoint: int) -> None:
        """An announced barrier became a priority event."""
        self.end_move()
        side = self.sides[channel]
        for index, sent in enumerate(side.queue):
            if type(sent.element) is Barrier and sent.element.checkpoint == checkpoint:
                del side.queue[index]
                moved = Sent(Barrier(checkpoint, Alignment.UNALIGNED))
                moved.sure = True
                side.urgent.append(moved)
                side.held_back = False
                return

    # ---- the end -----------------------------------------------------------------------------------------------------
    def begin_release(self) -> None:
        """Everything is being given back; what is on its way may come too late."""
        self.begin()
        self.releasing = True
        if self.sending >= 0:
            self.sides[self.sending].unsure[ALL] = None

    def release(self) -> None:
        """Everything was given back."""
        self.released = True
        self.awake = False

    def fail(self) -> None:
        """Everything was given back, whatever was in flight."""
        self.failed = self.released = True
        if self.sending >= 0:
            self.sides[self.sending].unsure[ALL] = None
        if self.starting:
            for side in self.sides:
                side.unsure[ALL] = None
        self.flying = 0
        self.polling = self.awake = False
        self.pushing = self.sending = -1

    def restore(self) -> None:
        """A fresh gate."""
        self._begin([side.local for side in self.sides])
