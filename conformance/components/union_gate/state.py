"""The state of a union of gates: what was sent, what the consumer polled, and what follows from both."""

from __future__ import annotations

from collections.abc import Sequence

from conformance.components.union_gate.lines import Gate, Line
from conformance.driver import BROKEN, FAILING, PortLedger
from conformance.parts.notice import Notice
from conformance.ports import (
    NETWORK_BUFFER_POOL,
    BufferOrEvent,
    ChannelKind,
    GateConfig,
    Places,
    Recovery,
)
from conformance.ports.elements import Element, Event

EXCLUSIVE, FLOATING = GateConfig((), Recovery.NONE).exclusive_buffers, GateConfig((), Recovery.NONE).floating_buffers
"""How many exclusive buffers a remote channel has, and how many floating buffers a gate has."""


class UnionState(PortLedger):
    """What the rules, and the functions that enable steps, read. `Ledger` says how steps change it.

    The phase `failed` begins when a release begins.
    """

    __slots__ = (
        "after_end", "due_urgent", "error_kept", "events", "gates", "idle", "in_hand", "in_poll", "in_poll_of_released",
        "interrupted", "kept", "kinds", "lines", "mixed", "notice", "owed_refusal", "passes_blocked", "probe", "raced",
        "recovery", "recovery_busy", "refusing", "released_from", "released_in_poll", "released_under_push",
        "sending", "sent", "starved", "urged", "urged_again",
    )  # fmt: skip

    def __init__(
        self, kinds: Sequence[Sequence[ChannelKind]], recovery: Recovery, passes_blocked: bool, can_fail: Places
    ) -> None:  # fmt: skip
        super().__init__(can_fail)
        self.kinds = kinds
        self.recovery = recovery
        self.passes_blocked = passes_blocked
        """Whether a priority event passes a local channel that is blocked."""
        self.sent = 0
        """The next record id. Restores do not reset it."""
        self.events = 0
        self.sending: Element = Event(0)
        """The element that the network delivers, from the moment the operation begins."""
        self.restore()

    def restore(self) -> None:
        """Begins with a fresh union."""
        self.begin_life("recovering")
        self.owed_refusal = False
        """Whether the operation that failed was to be refused as well: the port may keep either error."""
        self.gates: list[Gate] = []
        self.lines: list[Line] = []
        for kinds in self.kinds:
            gate = Gate(len(self.gates), self.recovery)
            for kind in kinds:
                line = Line(gate, len(self.lines), kind is ChannelKind.LOCAL, self.passes_blocked)
                gate.lines.append(line)
                self.lines.append(line)
            self.gates.append(gate)
        self.mixed = self.raced = False
        """Whether operations overlapped since the last moment at which none was in flight; whether they overlapped
        since the consumer last found the union empty, or the end of recovered data was taken since. A notification may
        then come late, when what it tells of was polled, and leave a gate in the queue that has nothing."""
        self.recovery_busy = self.refusing = self.in_poll = False
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
        self.kept = ""
        """The name of the step whose error a gate keeps for its reader; empty: it keeps none."""
        self.notice = Notice()
        self.urged = self.urged_again = False
        """Whether the consumer was notified of a priority event; whether that happened during the current or last
        poll."""
        self.probe = True
        """Whether the consumer will ask next whether the union is available."""
        self.idle = self.starved = self.after_end = 0
        """Number of empty polls in a row; number of those in a row in which an element had to be found; number of polls
        since all gates have ended."""
        self.due_urgent = False
        """Whether the last poll had to find a priority event when it began."""
        self.error_kept = False
        """Whether a gate keeps an error, or has kept one."""
        self.interrupted: Gate | None = None
        """The gate into which an element came during the current or last poll; None: there was none."""

    # ---- queries ---------------------------------------------------------------------------------------------------
    def due(self) -> Line | None:
        """Returns a channel in which the next poll must find an element; None: there is none.

        The end of recovered data does not count; the-end-of-recovered-data-is-told-for-every-gate judges it.
        """
        for line in self.lines:
            if not (line.ended or self.failed) and line.readable():
                return line
        return None

    def something_waits(self) -> bool:
        """Returns whether an element can certainly be polled and the consumer will not ask whether there is one."""
        if not (self.notice.awake or not self.probe) or self.phase == BROKEN:
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
        return self.idle > len(self.gates) + 1 + self.turns_of_ends()

    def task_has_called(self) -> bool:
        """Returns True: only conversions and requests fail, which are the task's."""
        return True

    def polls_again(self) -> bool:
        """Returns whether the consumer will poll, or ask whether something can be polled."""
        return self.notice.awake or self.urged or self.probe

    def may_find_nothing(self) -> bool:
        """Returns whether other gates, which have nothing, may still be polled first."""
        return not self.is_empty()

    def strikable(self) -> Sequence[tuple[str, str]]:
        """Returns the faults that can strike in this phase or a later one, as operands of a step."""
        pools = any(not (line.local or line.gate.converted) for line in self.lines)
        return [one for one in self.faults.possible() if one[0] != NETWORK_BUFFER_POOL or pools]

    def priority_events(self) -> int:
        """Returns the number of priority events that were sent and not taken."""
        return sum([len(line.urgent) for line in self.lines])
