"""What the driver knows about a union of gates: what was sent into each channel, what came out, what is owed now.

What is sent counts as sent from the moment the operation begins, since another thread may take it at once; the consumer
must have been told of it when the operation is over (`told`). The consumer polls for a reason only: it was told of data
or of a priority event, the last poll said that there is more, or it asked and was told yes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from conformance.ports import (
    Alignment,
    Barrier,
    ChannelKind,
    Data,
    DataAvailable,
    Element,
    EndOfData,
    EndOfPartition,
    Event,
    GateTaken,
    PriorityAvailable,
    Recovery,
    StateConsumed,
)
from conformance.properties.union_gate.lines import Gate, Line, Sent


class UnionGateLedger:
    """Kept up to date by the steps of the alphabet; read by enabledness and by properties."""

    __slots__ = (
        "after_end",
        "awake",
        "closing",
        "due_anything",
        "due_urgent",
        "ended",
        "events",
        "gates",
        "idle",
        "in_hand",
        "in_poll",
        "in_poll_of_released",
        "interrupted",
        "kinds",
        "lines",
        "passes_blocked",
        "phase",
        "probe",
        "recovering",
        "recovery",
        "recovery_busy",
        "refusing",
        "released",
        "released_from",
        "released_in_poll",
        "released_under_push",
        "sending",
        "sent",
        "starved",
        "urged",
        "urged_again",
    )

    def __init__(self, kinds: Sequence[Sequence[ChannelKind]], recovery: Recovery, passes_blocked: bool) -> None:
        self.kinds = kinds
        self.recovery = recovery
        self.passes_blocked = passes_blocked
        """A priority event passes a local channel that is blocked."""
        self.closing = 0
        self.sent = 0
        """Record ids handed out; they go on after a restore."""
        self.events = 0
        self.recovering = Data(())
        self.sending: Element = self.recovering
        """What the operation that began last recovers, or sends."""
        self.begin()

    def begin(self) -> None:
        """A fresh union."""
        recovers = self.recovery is not Recovery.NONE
        self.gates: list[Gate] = []
        self.lines: list[Line] = []
        for kinds in self.kinds:
            gate = Gate(not recovers)
            for kind in kinds:
                gate.lines.append(Line(gate, kind is ChannelKind.LOCAL, recovers))
            self.gates.append(gate)
            self.lines += gate.lines
        self.phase = "recovering"
        self.released = self.ended = False
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
        self.awake = self.urged = False
        """The consumer has a reason to poll; it was told of a priority event."""
        self.probe = True
        """The consumer is about to ask whether something is available."""
        self.idle = self.starved = self.after_end = 0
        """Empty polls in a row; those of them while something was due; polls since the last end was taken."""
        self.due_urgent = self.due_anything = False
        """A priority event, anything, had to be found when the last poll began."""
        self.interrupted: Gate | None = None
        """The gate into which something came during the poll in flight, or the last one."""
        self.urged_again = False
        """The consumer was told of a priority event during that poll."""

    # ---- questions -------------------------------------------------------------------------------------------------
    def readable(self, line: Line) -> bool:
        """Whether an element of this channel must be found by a poll that begins now."""
        return self.passes(line) or self.ordinary(line)

    def ordinary(self, line: Line) -> bool:
        """Whether that is so of an element without priority."""
        if line.recovered:
            return line.recovered[0].told
        return (
            line.consumed
            and bool(line.live)
            and line.live[0].told
            and not (line.blocked and line.local)
            and line.gate.requested
        )

    def passes(self, line: Line) -> bool:
        """Whether that is so of a priority event."""
        return (
            bool(line.urgent)
            and line.urgent[0].told
            and line.gate.requested
            and (self.passes_blocked or not (line.blocked and line.local))
        )

    def urgent(self, line: Line) -> bool:
        """Whether it comes before everything else, too."""
        return self.passes(line) and not line.urgent[0].muted

    def is_mute(self, line: Line) -> bool:
        """Whether a priority event that is sent now may find nobody to tell: no view, or one that does not listen."""
        if not line.gate.requested:
            return True
        if self.passes_blocked or not line.local:
            return False
        return line.blocked or any(sent.element.data_type.blocks_upstream for sent in line.live)

    def due(self) -> Line | None:
        """A channel for whose sake the consumer must not sleep.

        That it takes the end of recovered data, too, is another property's business.
        """
        return next((line for line in self.lines if not line.ended and self.readable(line)), None)

    def must_refuse(self, gate: Gate) -> bool:
        """Whether the gate has state that a conversion would lose."""
        if gate.converted or self.recovery is Recovery.PUSHED:
            return False
        if self.recovery is Recovery.RECOVER_FIRST:
            return any(not line.consumed for line in gate.lines)
        return any(not line.finishing for line in gate.lines)

    def may_convert(self, gate: Gate) -> bool:
        """Whether the gate, whatever the others do, has nothing that a conversion would lose."""
        if self.recovery is Recovery.IN_MEMORY:
            return all(line.finished for line in gate.lines)
        return self.recovery is Recovery.PUSHED or all(line.consumed for line in gate.lines)

    def unread(self, gate: Gate) -> bool:
        """Whether a gate is not converted, and has state that was not read."""
        return not gate.converted and any(line.recovered or not line.finished for line in gate.lines)

    # ---- what is learned -------------------------------------------------------------------------------------------
    def hear(self, signals: list[Any]) -> None:
        """The consumer was told something."""
        for signal in signals:
            kind = type(signal)
            if kind is DataAvailable:
                self.awake = True
            elif kind is PriorityAvailable:
                self.awake = self.urged = self.urged_again = True
            elif kind is StateConsumed:
                self.lines[signal.channel].consumed = True

    def recover(self, channel: int) -> None:
        """A recovered record is given to the channel."""
        line = self.lines[channel]
        line.gate.busy += 1
        line.remaining -= 1
        self.recovering = Data((self.sent,))
        line.recovered.append(Sent(self.recovering))
        self.sent += 1
        self.recovery_busy = True

    def finish_recovery(self, channel: int) -> None:
        """The channel is told that this was all."""
        line = self.lines[channel]
        line.gate.busy += 1
        line.finishing = self.recovery_busy = True

    def recovered(self, channel: int) -> None:
        """The operation of the recovery thread is over."""
        line = self.lines[channel]
        for sent in line.recovered:
            sent.told = True
        if line.finishing:
            line.finished = True
        self.recovery_busy = False
        self.came_into(line.gate)

    def send(self, channel: int, element: Element) -> None:
        """The producer of the channel sends an element."""
        self.sending = element
        line = self.lines[channel]
        line.gate.busy += 1
        line.spoke = True
        kind = element.data_type
        if kind.has_priority:
            line.urgent.append(Sent(element, self.is_mute(line)))
            return
        line.live.append(Sent(element))
        if kind.blocks_upstream:
            line.halted = not line.local
        if type(element) is EndOfData:
            line.stopping = True
        elif type(element) is EndOfPartition:
            line.sent_end = True

    def data(self, channel: int) -> None:
        """The producer of the channel sends the next record."""
        self.send(channel, Data((self.sent,)))
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
        if line.live:
            line.live[-1].told = True
        if line.urgent:
            line.urgent[-1].told = True
        self.came_into(line.gate)

    def came_into(self, gate: Gate) -> None:
        """Another thread did something to a gate that the consumer may hear of."""
        gate.busy -= 1
        self.idle = 0
        if self.in_poll:
            self.interrupted = gate

    def begin_poll(self) -> None:
        """The consumer polls: what must it find?"""
        self.in_poll = True
        self.in_poll_of_released = self.released
        self.interrupted = None
        self.urged_again = self.due_urgent = self.due_anything = False
        for gate in self.gates:
            due = False
            if not (gate.ended or gate.busy):
                for line in gate.lines:
                    if self.readable(line):
                        due = self.due_anything = True
                        if line.urgent and self.urgent(line):
                            self.due_urgent = True
            gate.due = due
            if not due:
                gate.waited = 0

    def turns_of_ends(self, gate: Gate) -> int:
        """Turns in which the consumer may be given the end of recovered data, which it does not show: where it moves
        into the physical channel with the data (2.3.0), it takes a turn like any other element."""
        return sum(line.finishing for line in gate.lines) if self.recovery == "in-memory" else 0

    def polled(self, taken: GateTaken | None) -> None:
        """What came of it; the properties have compared it with what was owed."""
        self.in_poll = False
        if self.phase == "failed":
            return
        if self.ended:
            self.after_end += 1
        if taken is None:
            self.awake = False
            self.probe = True
            self.urged = self.urged_again or (self.urged and self.due_urgent)
            self.idle += 1
            self.starved = self.starved + 1 if self.due_anything else 0
            return
        self.idle = self.starved = 0
        self.awake = taken.more
        self.probe = not taken.more
        self.urged = taken.more_priority or self.urged_again
        line = self.lines[taken.channel]
        element = taken.element
        if element.data_type.has_priority:
            line.urgent.pop(0)
            line.gate.waited = 0
            return
        for gate in self.gates:
            if gate.due:
                gate.waited += 1
        line.gate.waited = 0
        (line.recovered or line.live).pop(0)
        if element.data_type.blocks_upstream:
            line.blocked = True
        if type(element) is EndOfPartition:
            self.take_end(line)

    def take_end(self, line: Line) -> None:
        """A channel has ended for the consumer."""
        line.ended = True
        line.gate.ended = all(one.ended for one in line.gate.lines)
        self.ended = all(gate.ended for gate in self.gates)
        if self.ended:
            self.phase = "ended"

    def asked(self, available: bool) -> None:
        """The consumer asked whether something is available."""
        self.probe = False
        if available:
            self.awake = True

    def converted(self, index: int) -> None:
        """The channels of a gate are physical now. Recovered data in memory went with them."""
        gate = self.gates[index]
        gate.converted = True
        if self.recovery is Recovery.IN_MEMORY:
            for line in gate.lines:
                line.expects_end = line.expects_end and line.consumed
                line.consumed = True

    def requested(self, index: int) -> None:
        """The producers of a gate were asked for data."""
        self.gates[index].requested = True
        if self.phase == "recovering" and all(gate.requested for gate in self.gates):
            self.phase = "live"

    def resumed(self, channel: int) -> None:
        """The producer of a channel may go on."""
        line = self.lines[channel]
        line.blocked = line.halted = False

    def release(self) -> None:
        """Everything begins to be released, at whatever moment."""
        self.released_from = self.phase
        self.released_under_push = self.recovery_busy
        self.released_in_poll = self.in_poll
        self.phase = "failed"
        self.awake = self.probe = self.urged = False
        for line in self.lines:
            line.recovered.clear()
            line.live.clear()
            line.urgent.clear()

    def crash(self) -> None:
        """The task died: nothing is in flight any more, and everything is released."""
        self.in_hand += self.in_poll
        self.release()
        self.recovery_busy = self.refusing = self.in_poll = False
