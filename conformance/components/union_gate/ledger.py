"""The ledger of a union of gates: what was sent into each channel, what the consumer polled, and what must come next.

The consumer polls only for a reason: it was notified of data or of a priority event, the last poll said that more
follows, or it asked whether the union is available and was answered yes. When the operation that sends an element is
over, the union must have notified the consumer of the element.
"""

from __future__ import annotations

from conformance.components.union_gate.lines import Gate
from conformance.components.union_gate.state import UnionState
from conformance.driver import BROKEN, Seen
from conformance.parts.kept import keep, read
from conformance.parts.kept_errors import task_fails
from conformance.ports import (
    BufferOrEvent,
    FaultStruck,
    PriorityAvailable,
    Recovery,
    Signal,
    StateConsumed,
)
from conformance.ports.elements import Alignment, Barrier, Buffer, Element, Event
from conformance.ports.outcomes import CreditAnnounced


def credit_of(signals: list[Signal]) -> int:
    """Returns how much credit these signals announce, except by channels that recovered until then: such a channel
    announces all its free buffers for the first time."""
    opened = [signal.channel for signal in signals if type(signal) is StateConsumed]
    return sum(
        [signal.credit for signal in signals if type(signal) is CreditAnnounced and signal.channel not in opened]
    )


class Ledger(UnionState):
    """How the steps change the state of the union."""

    __slots__ = ()

    # ---- operations in flight ----------------------------------------------------------------------------------------
    def begin(self, *operands: object) -> None:
        """Notes that an operation begins that can pause."""
        if self.flying:
            self.mixed = self.raced = True
        else:
            self.mixed = False
        self.flying += 1

    # ---- recovery ----------------------------------------------------------------------------------------------------
    def recover(self, channel: int) -> None:
        """Notes that the push of the next recovered record begins."""
        self.begin()
        line = self.lines[channel]
        line.gate.busy += 1
        line.begin_push((self.sent,))
        self.sent += 1
        self.recovery_busy = True

    def finish_recovery(self, channel: int) -> None:
        """Notes that the push of the end of recovered data begins."""
        self.begin()
        line = self.lines[channel]
        line.gate.busy += 1
        line.finishing = self.recovery_busy = True
        line.end_left = self.recovery is Recovery.PUSHED

    def end_recovery(self, channel: int) -> None:
        """Notes that the operation of the recovery thread is over."""
        line = self.lines[channel]
        line.end_push()
        line.finished = line.finishing
        self.recovery_busy = False
        self.came_into(line.gate)

    def convert(self, seen: Seen[None], gate: int) -> None:
        """Notes that the conversion of a gate is over; it fails only if the release has begun."""
        self.flying -= 1
        if seen.error is None:
            self.gates[gate].convert()

    def begin_refusal(self, gate: int) -> None:
        """Notes that a conversion begins that must be refused; until it is over, no push of an end begins."""
        self.begin()
        self.refusing = True

    def end_refusal(self, seen: Seen[None], gate: int) -> None:
        """Notes that this conversion is over: it was refused, at once or by an error that is kept."""
        self.flying -= 1
        self.refusing = False
        if seen.error is None and self.phase == "recovering":
            keep(self, "convert_early")
            self.idle = 0

    def read(self, seen: Seen[BufferOrEvent | None]) -> None:
        """Notes that a poll is over before which a gate kept an error."""
        self.idle += 1
        read(self, seen)

    def begin_request(self, gate: int) -> None:
        """Notes that the request of the partitions of a gate begins, after which live elements may be polled."""
        self.begin()
        self.gates[gate].requesting = True

    def request(self, seen: Seen[None], gate: int) -> None:
        """Notes that the request of the partitions of a gate is over; it fails only if the release has begun."""
        self.flying -= 1
        self.gates[gate].requested |= seen.error is None
        self.raced |= seen.error is None  # the gate may have queued a channel that has nothing yet
        if self.phase == "recovering" and all(one.requested for one in self.gates):
            self.phase = "live"

    # ---- what the gates call fails -----------------------------------------------------------------------------------
    def setup_failed(self, seen: Seen[None], gate: int) -> None:
        """Notes that a channel could not be converted, or its subpartition could not be requested."""
        self.error_kept = True
        self.owed_refusal, self.refusing = self.refusing, False
        task_fails(self, keeps=seen.error is None)
        self.faults.struck(seen.signals)
        self.flying -= 1

    def last_poll(self, seen: Seen[BufferOrEvent | None]) -> None:
        """Notes that a poll is over that began while a gate kept an error, and whether it answered the error."""
        if seen.error is None:
            self.poll(seen)
            return
        self.flying -= 1
        self.in_poll = self.notice.awake = self.urged = False
        if not self.failed:
            self.phase = BROKEN

    # ---- the network -------------------------------------------------------------------------------------------------
    def send(self, channel: int, element: Element) -> None:
        """Notes that the producer of a channel begins to send an element."""
        self.begin()
        self.sending = element
        self.lines[channel].send(element)

    def data(self, channel: int) -> None:
        """Notes that the producer of a channel begins to send the next record."""
        self.send(channel, Buffer((self.sent,)))
        self.sent += 1

    def event(self, channel: int) -> None:
        """Notes that the producer of a channel begins to send an event without a meaning of its own."""
        self.send(channel, Event(self.events))
        self.events += 1

    def barrier(self, channel: int, alignment: Alignment) -> None:
        """Notes that the producer of a channel begins to send its next barrier."""
        line = self.lines[channel]
        line.barriers += 1
        self.send(channel, Barrier(line.barriers, alignment))

    def arrived(self, channel: int) -> None:
        """Notes that the arrival of an element is over."""
        line = self.lines[channel]
        line.end_send()
        self.came_into(line.gate)

    def came_into(self, gate: Gate) -> None:
        """Notes that an operation is over after which the gate may have notified the consumer."""
        self.flying -= 1
        gate.busy -= 1
        self.idle = 0
        if self.in_poll:
            self.interrupted = gate

    # ---- the consumer ------------------------------------------------------------------------------------------------
    def hear(self, signals: list[Signal]) -> None:
        """Notes the signals to the consumer."""
        self.notice.hear(signals)
        for signal in signals:
            if type(signal) is PriorityAvailable:
                self.urged = self.urged_again = True
            elif type(signal) is StateConsumed:
                line = self.lines[signal.channel]
                line.consumed = self.raced = True
                line.told += 1
            elif type(signal) is CreditAnnounced:
                gate = self.lines[signal.channel].gate
                if not self.in_poll or gate.busy:
                    gate.early += signal.credit
            elif type(signal) is FaultStruck and not self.is_broken():
                self.error_kept = True
                task_fails(self, keeps=True)

    def begin_poll(self) -> None:
        """Notes that a poll begins, and which gates and channels must have an element for it."""
        self.begin()
        self.in_poll = True
        self.in_poll_of_released = self.released
        self.interrupted = None
        self.urged_again = self.due_urgent = False
        for gate in self.gates:
            gate.due = False
            certain = not gate.busy
            for line in gate.lines:
                line.due = certain and line.ordinary()
                if line.due:
                    gate.due = True
                else:
                    line.waited = 0
                if certain and line.urgent and line.passes():
                    gate.due = True
                    self.due_urgent |= line.comes_first()
            if not gate.due:
                gate.waited = 0

    def poll(self, seen: Seen[BufferOrEvent | None]) -> None:
        """Notes that the poll is over. The rules have already judged what it answered."""
        self.flying -= 1
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
            if self.idle >= len(self.gates) and not self.mixed:
                self.raced = False
            self.starved = self.starved + 1 if True in [gate.due for gate in self.gates] else 0
            return
        self.idle = self.starved = 0
        self.urged = taken.more_priority or self.urged_again
        line = self.lines[taken.channel]
        if not taken.element.data_type.has_priority:
            for gate in self.gates:
                gate.waited += gate.due
            for other in line.gate.lines:
                other.waited += other.due
        line.gate.waited = line.waited = 0
        line.take(taken.element)
        if seen.signals and (credit := credit_of(seen.signals)):
            line.gate.credit(credit)
        if line.ended and all(gate.ended() for gate in self.gates):
            self.phase = "ended"

    def asked(self, seen: Seen[bool]) -> None:
        """Notes that the consumer asked whether the union is available."""
        self.probe = False
        if seen.value:
            self.notice.awake = True
        elif not self.flying:
            self.raced = False
            for line in self.lines:
                line.end_left = False

    def resume(self, seen: Seen[None], channel: int) -> None:
        """Notes that the consumer resumed the producer of a channel."""
        self.flying -= 1
        if seen.error is None:
            line = self.lines[channel]
            line.blocked = line.halted = False

    # ---- release -----------------------------------------------------------------------------------------------------
    def begin_release(self) -> None:
        """Notes that a release begins, at an arbitrary moment. From now on the consumer need not get any element."""
        super().begin_release()
        self.begin()
        self.released_from = self.phase
        self.released_under_push = self.recovery_busy
        self.released_in_poll = self.in_poll
        self.failed = True
        self.phase = "failed"
        self.notice.awake = self.probe = self.urged = False
        for line in self.lines:
            line.drop()

    def release(self) -> None:
        """Notes that the release is over."""
        self.flying -= 1
        super().release()

    def fail(self) -> None:
        """Notes that the task failed: the union is released, and operations in flight are abandoned."""
        self.in_hand += self.in_poll
        self.begin_release()
        super().fail()
        self.recovery_busy = self.refusing = self.in_poll = False
