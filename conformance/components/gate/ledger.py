"""What the driver knows about one gate: what was sent into each channel, what the consumer took, what is owed now.

What is *sent* is known when an operation begins, what was *taken* when it is over. While operations are in flight an
element may or may not have got through; it is `sure` once the operation that sent it is over. Rules that need to be
sure are judged when nothing is in flight, or for a poll that nothing else happened during.

Three threads act: recovery pushes, the network delivers, the task does all else. So only one conversion, poll, start of
a checkpoint, or release is in flight at a time, and none of them finds that another has changed the phase meanwhile.
"""

from __future__ import annotations

from collections.abc import Sequence

from conformance.components.gate.side import Side
from conformance.driver import Seen
from conformance.parts.lifetime import Lifetime
from conformance.parts.notice import Notice
from conformance.parts.starts import UNOPPOSED, Refusal
from conformance.ports import BufferOrEvent, ChannelKind, Recovery
from conformance.ports.elements import Announcement, Barrier, Element, EndOfPartition
from conformance.ports.outcomes import CheckpointReason, ConsumptionResumed, Signal, StateConsumed

_NOTHING = EndOfPartition()
"""Stands for no element."""
_UNREAD = ("converted", "released", "failed")
"""Phases in which nobody polls, or nothing is answered."""
_NOT_PHYSICAL = Refusal((CheckpointReason.DECLINED_TASK_NOT_READY,))


class Ledger(Lifetime):
    """Kept up to date by the steps; read by enabledness and by rules."""

    __slots__ = (
        "announced", "arriving", "checkpoint", "converted", "doubtful", "marked", "most_recovered", "moving", "newest",
        "notice", "overlapped", "pushing", "recovery", "sending", "sides", "started", "starting", "stopped", "stopping",
    )  # fmt: skip

    def __init__(self, kinds: Sequence[ChannelKind], recovery: Recovery, recovered: int, passes_blocked: bool) -> None:
        super().__init__()
        self.recovery = recovery
        self.most_recovered = recovered
        self.newest = 0
        """The newest checkpoint of all."""
        local = [kind is ChannelKind.LOCAL for kind in kinds]
        self.sides = [Side(one, passes_blocked, recovery, at * 1_000_000) for at, one in enumerate(local)]
        self.restore()

    def restore(self) -> None:
        """A fresh gate; records are numbered through."""
        self.sides = [side.fresh() for side in self.sides]
        self.converted = self.recovery is Recovery.NONE
        self.begin_life("converted" if self.converted else "recovering")
        self.notice = Notice()
        self.pushing = False
        """A recovered buffer, or the end of them, is being pushed."""
        self.overlapped = False
        """One was when the conversion began that is in progress."""
        self.sending: Side | None = None
        """The channel into which the network delivers something."""
        self.arriving: Element = _NOTHING
        """What it delivers."""
        self.moving: Side | None = None
        """The channel in which an announced barrier is being made a priority event."""
        self.announced: dict[tuple[int, int], int] = {}
        """The checkpoints of announcements that were taken, their barriers not yet: by channel and sequence number."""
        self.marked = 0
        """The checkpoint whose recovery barriers were inserted, and which starts next; 0: none."""
        self.starting = 0
        """The checkpoint that is being started; 0: none."""
        self.stopping = False
        self.doubtful = False
        """A barrier is on its way while a checkpoint starts: nobody can say which was first."""
        self.checkpoint = 0
        """The unaligned checkpoint in progress; 0: none."""
        self.started: list[int] = []
        self.stopped: list[int] = []

    def hear(self, signals: list[Signal]) -> None:
        """The consumer, or a producer, was told something."""
        self.notice.hear(signals)
        for signal in signals:
            if type(signal) is StateConsumed:
                self.sides[signal.channel].consumed = True
            elif type(signal) is ConsumptionResumed:
                self.sides[signal.channel].resumed = True

    # ---- questions ---------------------------------------------------------------------------------------------------
    def ready(self, side: Side, end: bool = True) -> bool:
        """Whether the consumer can take something from a channel, nothing being in flight. The end of recovered data,
        which a poll does not show, counts if `end` says so."""
        if side.ended or self.phase in _UNREAD:
            return False
        if side.urgent and side.urgent_ready():
            return True
        if side.waiting:
            return side.waiting[0].sure
        if not side.consumed:
            return end and side.finished and not (self.converted and self.recovery is Recovery.IN_MEMORY)
        return bool(side.live) and side.live[0].sure and not side.blocked

    def something_waits(self) -> int:
        """The first channel, counted from 1, from which something can be polled for certain, nothing being in flight;
        0: there is none."""
        for number, side in enumerate(self.sides, 1):
            if self.ready(side):
                return number
        return 0

    def first(self) -> str:
        """What can be polled, in words."""
        return f"something of channel {self.something_waits() - 1}"

    def any_slow(self) -> bool:
        """Whether any channel is held up: blocked, or still recovering."""
        pushed = self.recovery is Recovery.PUSHED
        return True in [side.blocked or (pushed and not side.consumed) for side in self.sides]

    def all_tracked(self) -> bool:
        """Whether recovered output has ended in all channels."""
        return False not in [side.tracked for side in self.sides]

    def all_ended(self) -> bool:
        """Whether the consumer took the end of every channel."""
        return False not in [side.ended for side in self.sides]

    def conversion_loses(self) -> bool | None:
        """Whether a channel has state that its physical channel would not get; None: a race decides."""
        if self.recovery is Recovery.RECOVER_FIRST:
            return not all(side.consumed for side in self.sides)
        if self.recovery is Recovery.PUSHED or all(side.finished for side in self.sides):
            return False
        return None if all(side.finishing for side in self.sides) else True

    def refuses(self, checkpoint: int) -> Refusal | None:
        """What speaks against starting a checkpoint; None: a barrier that is on its way may speak against it."""
        if not self.converted:
            return _NOT_PHYSICAL
        if self.doubtful:
            return None
        for number, side in enumerate(self.sides):
            if reasons := side.refuses(checkpoint):
                return Refusal(reasons, f" by channel {number}")
        return UNOPPOSED

    def came_too_late(self) -> bool:
        """Whether the gate had been released when the push began."""
        return self.released

    def is_over(self) -> bool:
        """Whether everything must have been given back: after release, and after the end of all channels."""
        return self.released or self.all_ended()

    # ---- recovered data ----------------------------------------------------------------------------------------------
    def begin_push(self, channel: int) -> None:
        """A recovered buffer is on its way."""
        self.begin()
        self.pushing = True
        side = self.sides[channel]
        side.begin_push((side.next_id,))
        side.next_id += 1

    def begin_finish(self, channel: int) -> None:
        """The end of recovered data is on its way."""
        self.begin()
        self.pushing = self.sides[channel].finishing = True

    def end_push(self, channel: int) -> None:
        """The buffer, or the end, is there, or was recycled."""
        self.end()
        self.pushing = False
        side = self.sides[channel]
        side.end_push()
        side.finished = side.finishing

    def begin_conversion(self) -> None:
        """The recovered channels are being replaced."""
        self.begin()
        self.overlapped = self.pushing

    def convert(self, seen: Seen[None]) -> None:
        """They are physical, or conversion was refused."""
        self.end()
        if seen.error is None:
            self.converted = True
            self.phase = "converted"
        self.overlapped = False
        self._forget_turns()

    def request(self) -> None:
        """The producers were asked for data."""
        self.end()
        self.phase = "live"

    # ---- live data ---------------------------------------------------------------------------------------------------
    def begin_arrival(self, channel: int, element: Element) -> None:
        """A live element is on its way."""
        self.begin()
        side = self.sending = self.sides[channel]
        self.arriving = element
        if self.releasing:
            side.input.doubt()
        if self.stopping:
            side.input.doubt_pending()
        if self.starting:
            self._overlap(side)
        side.begin_arrival(element)
        if type(element) is Barrier:
            self.newest = max(self.newest, element.checkpoint)

    def end_arrival(self, channel: int, *checkpoint: int) -> None:
        """It is there."""
        self.end()
        self.sides[channel].end_arrival()
        self.sending, self.arriving = None, _NOTHING

    # ---- the consumer ------------------------------------------------------------------------------------------------
    def begin_poll(self) -> None:
        """The consumer polls."""
        self.begin_alone()
        self.notice.awake = False

    def poll(self, seen: Seen[BufferOrEvent | None]) -> None:
        """The consumer got something, or nothing."""
        self.end()
        alone, self.alone = self.alone, False
        taken = seen.value
        if taken is None:
            self._forget_turns()
            return
        self.notice.awake |= taken.more or taken.more_priority
        side, element = self.sides[taken.channel], taken.element
        if not element.data_type.has_priority:
            for other in self.sides:
                waited = alone and other is not side and self.ready(other, end=False)
                other.waited = other.waited + 1 if waited else 0
        side.waited = 0
        side.take(element)
        if type(element) is Announcement:
            self.announced[taken.channel, element.seq] = element.checkpoint
        elif type(element) is Barrier:
            gone = taken.channel, element.checkpoint
            self.announced = {one: of for one, of in self.announced.items() if (one[0], of) != gone}

    def _forget_turns(self) -> None:
        """Who waited for how long counts from now on."""
        for side in self.sides:
            side.waited = 0

    def resume(self, channel: int) -> None:
        """A producer was let go on."""
        self.end()
        self.sides[channel].resume()

    def track(self, seen: Seen[None], channel: int) -> None:
        """The end of output state of a channel was noted; the last one lets all producers go on."""
        self.end()
        if seen.error is None:
            self.sides[channel].tracked = True
            if self.all_tracked():
                for side in self.sides:
                    side.resume()

    def begin_move(self, channel: int, seq: int) -> None:
        """An announced barrier is being made a priority event."""
        self.begin()
        self.moving = self.sides[channel]

    def move(self, seen: Seen[None], channel: int, seq: int) -> None:
        """It is one now, and its producer goes on, or this was refused."""
        self.end()
        self.moving = None
        checkpoint = self.announced.pop((channel, seq))
        if seen.error is None and self.sides[channel].to_front(checkpoint):
            self.sides[channel].held_back = False

    # ---- checkpoints -------------------------------------------------------------------------------------------------
    def begin_mark(self, checkpoint: int) -> None:
        """The recovered data of every channel in recovery is being marked."""
        self.begin()
        self.marked = checkpoint
        self.phase = "starting"
        for side in self.sides:
            if not side.consumed:
                side.begin_mark(checkpoint)

    def end_mark(self, checkpoint: int) -> None:
        """Every channel in recovery is marked."""
        self.end()
        for side in self.sides:
            side.end_mark(checkpoint)

    def begin_start(self, checkpoint: int) -> None:
        """A checkpoint is being started, in one channel after the other."""
        self.begin()
        self.starting = checkpoint
        if self.sending is not None:
            self._overlap(self.sending)

    def _overlap(self, side: Side) -> None:
        """While a checkpoint starts, something is on its way in this channel."""
        side.input.doubt_pending()
        if type(self.arriving) is Barrier:
            self.doubtful = True
            if self.arriving.checkpoint != self.starting:
                side.input.doubt()

    def start(self, seen: Seen[None], checkpoint: int) -> None:
        """A checkpoint started in every channel, or was refused by one, and started in the channels before that one."""
        self.end()
        self.newest = max(self.newest, checkpoint)
        self.starting = self.marked = 0
        if not self.converted:
            return
        self.phase = "live"
        self.started.append(checkpoint)
        self.checkpoint = checkpoint
        refusing = None
        if seen.error is not None:
            refusing = next((side for side in self.sides if side.refuses(checkpoint)), None)
            if refusing is None or self.doubtful:
                for side in self.sides:
                    side.input.doubt()  # what was on its way made a channel refuse, and nobody can say which
        self.doubtful = False
        for side in self.sides:
            if side is refusing:
                break
            side.start(checkpoint)

    def begin_stop(self, checkpoint: int) -> None:
        """A checkpoint is being stopped, in one channel after the other."""
        self.begin()
        self.stopping = True
        if self.sending is not None:
            self.sending.input.doubt_pending()

    def stop(self, checkpoint: int) -> None:
        """A checkpoint is over."""
        self.end()
        self.stopping = False
        self.newest = max(self.newest, checkpoint)
        self.stopped.append(checkpoint)
        if self.checkpoint == checkpoint:
            self.checkpoint = 0
        for side in self.sides:
            side.input.stopped(checkpoint)

    # ---- the end -----------------------------------------------------------------------------------------------------
    def begin_release(self) -> None:
        """Everything is being given back; what is on its way may come too late."""
        self.begin()
        super().begin_release()
        if self.sending is not None:
            self.sending.input.doubt()

    def release(self) -> None:
        """Everything was given back."""
        self.end()
        super().release()

    def fail(self) -> None:
        """Everything was given back, whatever was in flight."""
        super().fail()
        for side in self.sides:
            if self.starting or side is self.sending:
                side.input.doubt()
