"""The ledger of a union of gates: what was sent into each channel, what the consumer polled, and what must come next.

The consumer polls only for a reason: it was notified of data or of a priority event, the last poll said that more
follows, or it asked whether the union is available and was answered yes. When the operation that sends an element is
over, the union must have notified the consumer of the element.
"""

from __future__ import annotations

from collections.abc import Sequence

from conformance.components.union_gate.lines import Gate, Line
from conformance.driver import BROKEN, FAILING, PortLedger, Seen
from conformance.models.consumer import Consumer
from conformance.models.kept import keep, read, task_fails
from conformance.ports import (
    NETWORK_BUFFER_POOL,
    BufferOrEvent,
    ChannelKind,
    FaultStruck,
    GateConfig,
    Places,
    PriorityAvailable,
    Recovery,
    Signal,
    StateConsumed,
)
from conformance.ports.elements import Alignment, Barrier, Buffer, Element, Event
from conformance.ports.outcomes import CreditAnnounced

EXCLUSIVE, FLOATING = GateConfig((), Recovery.NONE).exclusive_buffers, GateConfig((), Recovery.NONE).floating_buffers
"""How many exclusive buffers a remote channel has, and how many floating buffers a gate has."""


def credit_of(signals: list[Signal]) -> int:
    """Returns how much credit these signals announce, except by channels that recovered until then: such a channel
    announces all its free buffers for the first time."""
    opened = [signal.channel for signal in signals if type(signal) is StateConsumed]
    return sum(
        [signal.credit for signal in signals if type(signal) is CreditAnnounced and signal.channel not in opened]
    )


class Ledger(PortLedger):
    """What the rules and the steps read, and how the steps change it.

    The phase `failed` begins when a release begins.
    """

    __slots__ = (
        "after_end", "consumer", "converting", "error_kept", "events", "gates", "in_hand", "in_poll_of_released",
        "interrupted", "kinds", "lines", "mixed", "next_record", "passes_blocked", "polling", "pushing", "recovery",
        "released_from", "released_in_poll", "released_under_push", "sending", "starved", "urged_again",
    )  # fmt: skip

    def __init__(
        self, kinds: Sequence[Sequence[ChannelKind]], recovery: Recovery, passes_blocked: bool, can_fail: Places
    ) -> None:  # fmt: skip
        super().__init__(can_fail)
        self.kinds = kinds
        self.recovery = recovery
        self.passes_blocked = passes_blocked
        """Whether a priority event passes a local channel that is blocked."""
        self.next_record = 0
        """The next record id. Restores do not reset it."""
        self.events = 0
        self.sending: Element = Event(0)
        """The element that the network delivers, from the moment the operation begins."""
        self.restore()

    def restore(self) -> None:
        """Begins with a fresh union."""
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
        self.mixed = False
        """Whether operations overlapped since the last moment at which none was in flight."""
        self.pushing = self.converting = self.polling = False
        """Whether an operation of the recovery thread is in flight; whether a conversion that must be refused is;
        whether a poll is."""
        self.in_poll_of_released = False
        """Whether the union was released before the last poll began."""
        self.in_hand = 0
        """Number of buffers that the consumer held when it failed during a poll."""
        self.released_from = ""
        """The phase in which the last release began; empty: there was no release."""
        self.released_under_push = self.released_in_poll = False
        """Whether the release began while an operation of the recovery thread was in flight; whether it began during a
        poll."""
        self.consumer = Consumer()
        self.urged_again = False
        """Whether the consumer was notified of a priority event during the current or last poll."""
        self.consumer.probe = True
        self.starved = self.after_end = 0
        """Number of empty polls in a row in which an element had to be found; number of polls since all gates have
        ended."""
        self.error_kept = False
        """Whether a gate keeps an error, or has kept one."""
        self.interrupted: Gate | None = None
        """The gate into which an element came during the current or last poll; None: there was none."""

    # ---- queries ---------------------------------------------------------------------------------------------------
    def due(self) -> Line | None:
        """Returns a channel in which the next poll must find an element; None: there is none.

        The end of recovered data does not count; the-end-of-recovered-data-is-notified-for-every-gate judges it.
        """
        for line in self.lines:
            if not (line.ended or self.failed) and line.readable():
                return line
        return None

    def something_waits(self) -> bool:
        """Returns whether an element can certainly be polled and the consumer will not ask whether there is one."""
        if not (self.consumer.awake or not self.consumer.probe) or self.phase == BROKEN:
            return False
        return self.phase == FAILING or self.due() is not None

    def first(self) -> str:
        """Describes what the next poll must find."""
        if self.phase == FAILING:
            return "an error, or an element that was sent before,"
        line = self.due()
        return "nothing" if line is None else line.first()

    def urgent_waits(self) -> int:
        """Returns the first channel, counted from 1, in which a poll certainly finds a priority event of which the
        consumer was notified; 0: there is none."""
        if not self.failed:
            for line in self.lines:
                if line.urgent and line.comes_first():
                    return line.number + 1
        return 0

    def first_urgent(self) -> str:
        """Describes the priority event that the next poll must find."""
        return self.lines[self.urgent_waits() - 1].first()

    def line_of(self, taken: BufferOrEvent | None) -> Line | None:
        """Returns the channel that a poll answered; None: there is no such channel, or nothing was polled."""
        return self.lines[taken.channel] if taken is not None and 0 <= taken.channel < len(self.lines) else None

    def is_unread_elsewhere(self, mine: Gate) -> bool:
        """Returns whether another gate is not converted and has state that was not read."""
        return True in [gate.unread() for gate in self.gates if gate is not mine]

    def keeps(self) -> int:
        """Returns the number of buffers that the consumer held when it failed."""
        return self.in_hand

    def bounds(self) -> tuple[tuple[str, int, int], ...]:
        """Returns the fields of `Resources` with the least and the highest value that each may have now, while no
        operation is in flight."""
        lines = [line for line in self.lines if not line.ended]
        least = sum([line.held() for line in lines])
        most = sum([line.sent() + (0 if line.local else EXCLUSIVE) for line in lines])
        most += FLOATING * [gate.ended() for gate in self.gates].count(False)
        views = [line.local and line.gate.requested for line in lines].count(True)
        futures = 2 * [line.consumed for line in self.lines].count(False)
        return ("segments", least, most), ("files", 0, 0), ("listeners", views, views), ("futures", 0, futures)

    def end_waits(self, line: Line) -> bool:
        """Returns whether the end of recovered data was pushed into the channel and was perhaps not taken."""
        return line.end_left or (line.finishing and not line.consumed)

    def turns_of_ends(self) -> int:
        """Returns how many empty polls the ends of recovered data may cause."""
        return sum([gate.turns_of_ends() for gate in self.gates])

    def is_empty(self) -> bool:
        """Returns whether there were so many empty polls in a row that the union has nothing."""
        return self.consumer.empty_takes > len(self.gates) + 1 + self.turns_of_ends()

    def polls_again(self) -> bool:
        """Returns whether the consumer will poll, or ask whether something can be polled."""
        return self.consumer.awake or self.consumer.expects_priority or self.consumer.probe

    def strikable(self) -> Sequence[tuple[str, str]]:
        """Returns the faults that can strike in this phase or a later one, as operands of a step."""
        pools = any(not (line.local or line.gate.converted) for line in self.lines)
        return [one for one in self.faults.possible() if one[0] != NETWORK_BUFFER_POOL or pools]

    def priority_events(self) -> int:
        """Returns the number of priority events that were sent and not taken."""
        return sum([len(line.urgent) for line in self.lines])

    # ---- operations in flight ----------------------------------------------------------------------------------------
    def begin(self, *operands: object) -> None:
        """Notes that an operation begins that can pause."""
        if self.flying:
            self.mixed = self.consumer.raced = True
        else:
            self.mixed = False
        self.flying += 1

    # ---- recovery ----------------------------------------------------------------------------------------------------
    def recover(self, channel: int) -> None:
        """Notes that the push of the next recovered record begins."""
        self.begin()
        line = self.lines[channel]
        line.gate.busy += 1
        line.begin_push((self.next_record,))
        self.next_record += 1
        self.pushing = True

    def finish_recovery(self, channel: int) -> None:
        """Notes that the push of the end of recovered data begins."""
        self.begin()
        line = self.lines[channel]
        line.gate.busy += 1
        line.finishing = self.pushing = True
        line.end_left = self.recovery is Recovery.PUSHED

    def end_recovery(self, channel: int) -> None:
        """Notes that the operation of the recovery thread is over."""
        line = self.lines[channel]
        line.end_push()
        line.finished = line.finishing
        self.pushing = False
        self.came_into(line.gate)

    def convert(self, seen: Seen[None], gate: int) -> None:
        """Notes that the conversion of a gate is over; it fails only if the release has begun."""
        self.flying -= 1
        if seen.error is None:
            self.gates[gate].convert()

    def begin_refusal(self, gate: int) -> None:
        """Notes that a conversion begins that must be refused; until it is over, no push of an end begins."""
        self.begin()
        self.converting = True

    def end_refusal(self, seen: Seen[None], gate: int) -> None:
        """Notes that this conversion is over: it was refused, at once or by an error that is kept."""
        self.flying -= 1
        self.converting = False
        if seen.error is None and self.phase == "recovering":
            keep(self, self.consumer, "convert_early")
            self.consumer.empty_takes = 0

    def read(self, seen: Seen[BufferOrEvent | None]) -> None:
        """Notes that a poll is over before which a gate kept an error."""
        self.consumer.empty_takes += 1
        read(self, seen)

    def begin_request(self, gate: int) -> None:
        """Notes that the request of the partitions of a gate begins, after which live elements may be polled."""
        self.begin()
        self.gates[gate].requesting = True

    def request(self, seen: Seen[None], gate: int) -> None:
        """Notes that the request of the partitions of a gate is over; it fails only if the release has begun."""
        self.flying -= 1
        self.gates[gate].requested |= seen.error is None
        self.consumer.raced |= seen.error is None  # the gate may have queued a channel that has nothing yet
        if self.phase == "recovering" and all(one.requested for one in self.gates):
            self.phase = "live"

    # ---- what the gates call fails -----------------------------------------------------------------------------------
    def setup_failed(self, seen: Seen[None], gate: int) -> None:
        """Notes that a channel could not be converted, or its subpartition could not be requested."""
        self.error_kept = True
        self.consumer.either_error, self.converting = self.converting, False
        task_fails(self, keeps=seen.error is None)
        self.faults.struck(seen.signals)
        self.flying -= 1

    def last_poll(self, seen: Seen[BufferOrEvent | None]) -> None:
        """Notes that a poll is over that began while a gate kept an error, and whether it answered the error."""
        if seen.error is None:
            self.poll(seen)
            return
        self.flying -= 1
        self.polling = self.consumer.awake = self.consumer.expects_priority = False
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
        self.send(channel, Buffer((self.next_record,)))
        self.next_record += 1

    def event(self, channel: int) -> None:
        """Notes that the producer of a channel begins to send an event without a meaning of its own."""
        self.send(channel, Event(self.events))
        self.events += 1

    def barrier(self, channel: int, alignment: Alignment) -> None:
        """Notes that the producer of a channel begins to send its next barrier."""
        line = self.lines[channel]
        line.last_barrier += 1
        self.send(channel, Barrier(line.last_barrier, alignment))

    def arrived(self, channel: int) -> None:
        """Notes that the arrival of an element is over."""
        line = self.lines[channel]
        line.end_send()
        self.came_into(line.gate)

    def came_into(self, gate: Gate) -> None:
        """Notes that an operation is over after which the gate may have notified the consumer."""
        self.flying -= 1
        gate.busy -= 1
        self.consumer.empty_takes = 0
        if self.polling:
            self.interrupted = gate

    # ---- the consumer ------------------------------------------------------------------------------------------------
    def hear(self, signals: list[Signal]) -> None:
        """Notes the signals to the consumer."""
        self.consumer.hear(signals)
        for signal in signals:
            if type(signal) is PriorityAvailable:
                self.urged_again = True
            elif type(signal) is StateConsumed:
                line = self.lines[signal.channel]
                line.consumed = self.consumer.raced = True
                line.told += 1
            elif type(signal) is CreditAnnounced:
                gate = self.lines[signal.channel].gate
                if not self.polling or gate.busy:
                    gate.early += signal.credit
            elif type(signal) is FaultStruck and not self.is_broken():
                self.error_kept = True
                task_fails(self, keeps=True)

    def begin_poll(self) -> None:
        """Notes that a poll begins, and which gates and channels must have an element for it."""
        self.begin()
        self.polling = True
        self.in_poll_of_released = self.released
        self.interrupted = None
        self.urged_again = self.consumer.due_priority = False
        for gate in self.gates:
            gate.due = False
            certain = not gate.busy
            for line in gate.lines:
                line.due = certain and line.ordinary()
                if line.due:
                    gate.due = True
                else:
                    line.waited = 0
                if certain and line.urgent and line.priority_passes():
                    gate.due = True
                    self.consumer.due_priority |= line.comes_first()
            if not gate.due:
                gate.waited = 0

    def poll(self, seen: Seen[BufferOrEvent | None]) -> None:
        """Notes that the poll is over. The rules have already judged what it answered."""
        self.flying -= 1
        self.polling = False
        if self.failed:
            return
        taken = seen.value
        self.after_end += self.phase == "ended"
        self.consumer.awake = taken is not None and taken.more
        self.consumer.probe = not self.consumer.awake
        if taken is None:
            consumer = self.consumer
            consumer.expects_priority = self.urged_again or (consumer.expects_priority and consumer.due_priority)
            consumer.empty_takes += 1
            if consumer.empty_takes >= len(self.gates) and not self.mixed:
                consumer.raced = False
            self.starved = self.starved + 1 if True in [gate.due for gate in self.gates] else 0
            return
        self.consumer.empty_takes = self.starved = 0
        self.consumer.expects_priority = taken.more_priority or self.urged_again
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
        self.consumer.probe = False
        if seen.value:
            self.consumer.awake = True
        elif not self.flying:
            self.consumer.raced = False
            for line in self.lines:
                line.end_left = False

    def resume(self, seen: Seen[None], channel: int) -> None:
        """Notes that the consumer resumed the producer of a channel."""
        self.flying -= 1
        if seen.error is None:
            line = self.lines[channel]
            line.blocked = line.held_back = False

    # ---- release -----------------------------------------------------------------------------------------------------
    def begin_release(self) -> None:
        """Notes that a release begins, at an arbitrary moment. From now on the consumer need not get any element."""
        super().begin_release()
        self.begin()
        self.released_from = self.phase
        self.released_under_push = self.pushing
        self.released_in_poll = self.polling
        self.failed = True
        self.phase = "failed"
        self.consumer.awake = self.consumer.probe = self.consumer.expects_priority = False
        for line in self.lines:
            line.drop()

    def release(self) -> None:
        """Notes that the release is over."""
        self.flying -= 1
        super().release()

    def fail(self) -> None:
        """Notes that the task failed: the union is released, and operations in flight are abandoned."""
        self.in_hand += self.polling
        self.begin_release()
        super().fail()
        self.pushing = self.converting = self.polling = False
