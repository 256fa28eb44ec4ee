"""What the driver knows about a union of gates: what was sent into each channel, what came out, what is owed now.

The consumer polls for a reason only: it was told of data or of a priority event, the last poll said that there is more,
or it asked and was told yes. It must have been told of what was sent when the operation that sent it is over.
"""

from __future__ import annotations

from collections.abc import Sequence

from conformance.components.union_gate.lines import Gate, Line
from conformance.driver import Seen
from conformance.parts.lifetime import Lifetime
from conformance.parts.notice import Notice
from conformance.ports import BufferOrEvent, ChannelKind, PriorityAvailable, Recovery, Signal, StateConsumed
from conformance.ports.elements import Alignment, Barrier, Buffer, Element, Event


class Ledger(Lifetime):
    """Kept up to date by the steps; read by enabledness and by rules. The phase `failed` begins with a release."""

    __slots__ = (
        "after_end", "due_urgent", "events", "gates", "idle", "in_hand", "in_poll", "in_poll_of_released",
        "interrupted", "kinds", "lines", "notice", "passes_blocked", "probe", "recovery", "recovery_busy", "refusing",
        "released_from", "released_in_poll", "released_under_push", "sending", "sent", "starved", "urged",
        "urged_again",
    )  # fmt: skip

    def __init__(self, kinds: Sequence[Sequence[ChannelKind]], recovery: Recovery, passes_blocked: bool) -> None:
        super().__init__()
        self.kinds = kinds
        self.recovery = recovery
        self.passes_blocked = passes_blocked
        """A priority event passes a local channel that is blocked."""
        self.sent = 0
        """Record ids handed out; they go on after a restore."""
        self.events = 0
        self.sending: Element = Event(0)
        """What the network brings, from the moment the operation begins."""
        self.restore()

    def restore(self) -> None:
        """A fresh union."""
        self.begin_life("recovering")
        self.gates: list[Gate] = []
        self.lines: list[Line] = []
        for kinds in self.kinds:
            gate = Gate(len(self.gates), self.recovery)
            for kind in kinds:
                line = Line(gate, len(self.lines), kind is ChannelKind.LOCAL, self.passes_blocked)
                gate.lines.append(line)
                self.lines.append(line)
            self.gates.append(gate)
        self.recovery_busy = self.refusing = self.in_poll = False
        """An operation of the recovery thread, a conversion that comes too early, a poll, is in flight."""
        self.in_poll_of_released = False
        """Everything had been released when the last poll began."""
        self.in_hand = 0
        """Buffers that died with the consumer, in the middle of a poll."""
        self.released_from = ""
        """The phase in which the last release began."""
        self.released_under_push = self.released_in_poll = False
        """The release began while an operation of the recovery thread, a poll, was in flight."""
        self.notice = Notice()
        self.urged = self.urged_again = False
        """The consumer was told of a priority event; during the poll in flight, or the last one."""
        self.probe = True
        """The consumer is about to ask whether something is available."""
        self.idle = self.starved = self.after_end = 0
        """Empty polls in a row; those of them while something was due; polls since the last end was taken."""
        self.due_urgent = False
        """A priority event had to be found when the last poll began."""
        self.interrupted: Gate | None = None
        """The gate into which something came during the poll in flight, or the last one."""

    # ---- questions -------------------------------------------------------------------------------------------------
    def due(self) -> Line | None:
        """A channel for whose sake the consumer must not sleep.

        That it takes the end of recovered data, too, is another rule's business.
        """
        for line in self.lines:
            if not (line.ended or self.failed) and line.readable():
                return line
        return None

    def something_waits(self) -> bool:
        """Whether something can be polled for certain, and the consumer is not about to ask."""
        return (self.notice.awake or not self.probe) and self.due() is not None

    def first(self) -> str:
        """What can be polled, in words."""
        line = self.due()
        return "nothing" if line is None else line.first()

    def line_of(self, taken: BufferOrEvent | None) -> Line | None:
        """The channel that a poll names; None: there is no such channel, or nothing was polled."""
        return self.lines[taken.channel] if taken is not None and 0 <= taken.channel < len(self.lines) else None

    def is_unread_elsewhere(self, mine: Gate) -> bool:
        """Whether another gate has state that was not read, and is not converted."""
        return True in [gate.unread() for gate in self.gates if gate is not mine]

    def keeps(self) -> int:
        """After release: what died in the hands of the consumer."""
        return self.in_hand

    # ---- recovery ----------------------------------------------------------------------------------------------------
    def recover(self, channel: int) -> None:
        """A recovered record is given to the channel."""
        line = self.lines[channel]
        line.gate.busy += 1
        line.begin_push((self.sent,))
        self.sent += 1
        self.recovery_busy = True

    def finish_recovery(self, channel: int) -> None:
        """The channel is told that this was all."""
        line = self.lines[channel]
        line.gate.busy += 1
        line.finishing = self.recovery_busy = True

    def end_recovery(self, channel: int) -> None:
        """The operation of the recovery thread is over."""
        line = self.lines[channel]
        line.end_push()
        line.finished = line.finishing
        self.recovery_busy = False
        self.came_into(line.gate)

    def convert(self, seen: Seen[None], gate: int) -> None:
        """The channels of a gate are physical now, or something is being released."""
        if seen.error is None:
            self.gates[gate].convert()

    def begin_refusal(self, gate: int) -> None:
        """A conversion begins that must be refused: nothing is recovered meanwhile."""
        self.refusing = True

    def end_refusal(self, gate: int) -> None:
        """It is over."""
        self.refusing = False

    def request(self, seen: Seen[None], gate: int) -> None:
        """The producers of a gate were asked for data, or something is being released."""
        self.gates[gate].requested |= seen.error is None
        if self.phase == "recovering" and all(one.requested for one in self.gates):
            self.phase = "live"

    # ---- the network -------------------------------------------------------------------------------------------------
    def send(self, channel: int, element: Element) -> None:
        """The producer of the channel sends an element."""
        self.sending = element
        self.lines[channel].send(element)

    def data(self, channel: int) -> None:
        """The producer of the channel sends the next record."""
        self.send(channel, Buffer((self.sent,)))
        self.sent += 1

    def event(self, channel: int) -> None:
        """The producer of the channel sends an event without a meaning."""
        self.send(channel, Event(self.events))
        self.events += 1

    def barrier(self, channel: int, alignment: Alignment) -> None:
        """The producer of the channel sends its next barrier."""
        line = self.lines[channel]
        line.barriers += 1
        self.send(channel, Barrier(line.barriers, alignment))

    def arrived(self, channel: int) -> None:
        """The operation that brought the last element is over."""
        line = self.lines[channel]
        line.end_send()
        self.came_into(line.gate)

    def came_into(self, gate: Gate) -> None:
        """Another thread did something to a gate that the consumer may hear of."""
        gate.busy -= 1
        self.idle = 0
        if self.in_poll:
            self.interrupted = gate

    # ---- the consumer ------------------------------------------------------------------------------------------------
    def hear(self, signals: list[Signal]) -> None:
        """The consumer was told something."""
        self.notice.hear(signals)
        for signal in signals:
            if type(signal) is PriorityAvailable:
                self.urged = self.urged_again = True
            elif type(signal) is StateConsumed:
                self.lines[signal.channel].consumed = True

    def begin_poll(self) -> None:
        """The consumer polls: what must it find?"""
        self.in_poll = True
        self.in_poll_of_released = self.released
        self.interrupted = None
        self.urged_again = self.due_urgent = False
        for gate in self.gates:
            gate.due = False
            if not (gate.busy or gate.ended()):
                for line in gate.lines:
                    if line.readable():
                        gate.due = True
                        self.due_urgent |= line.comes_first()
            if not gate.due:
                gate.waited = 0

    def poll(self, seen: Seen[BufferOrEvent | None]) -> None:
        """What came of it; the rules have compared it with what was owed."""
        self.in_poll = False
        if self.failed:
            return
        taken = seen.value
        self.after_end += self.phase == "ended"
        self.notice.awake = taken is not None and taken.more
        self.probe = not self.notice.awake
        if taken is None:
            self.urged = self.urged_again or (self.urged and self.due_urgent)
            self.idle += 1
            self.starved = self.starved + 1 if True in [gate.due for gate in self.gates] else 0
            return
        self.idle = self.starved = 0
        self.urged = taken.more_priority or self.urged_again
        if not taken.element.data_type.has_priority:
            for gate in self.gates:
                gate.waited += gate.due
        line = self.lines[taken.channel]
        line.gate.waited = 0
        line.take(taken.element)
        if line.ended and all(gate.ended() for gate in self.gates):
            self.phase = "ended"

    def asked(self, seen: Seen[bool]) -> None:
        """The consumer asked whether something is available."""
        self.probe = False
        if seen.value:
            self.notice.awake = True

    def resume(self, seen: Seen[None], channel: int) -> None:
        """The producer of a channel may go on."""
        if seen.error is None:
            line = self.lines[channel]
            line.blocked = line.halted = False

    # ---- release -----------------------------------------------------------------------------------------------------
    def begin_release(self) -> None:
        """Everything begins to be released, at whatever moment: from now on nothing is owed."""
        super().begin_release()
        self.released_from = self.phase
        self.released_under_push = self.recovery_busy
        self.released_in_poll = self.in_poll
        self.failed = True
        self.phase = "failed"
        self.notice.awake = self.probe = self.urged = False
        for line in self.lines:
            line.drop()

    def fail(self) -> None:
        """The task died: nothing is in flight any more, and everything is released."""
        self.in_hand += self.in_poll
        self.begin_release()
        super().fail()
        self.recovery_busy = self.refusing = self.in_poll = False
