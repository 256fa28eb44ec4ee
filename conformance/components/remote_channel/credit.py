"""The part of the ledger of a remote channel that counts credit and buffers.

Specification: remote-channel.md.
"""

from __future__ import annotations

from conformance.driver import BROKEN, PortLedger
from conformance.parts.credit import Demand
from conformance.parts.lane import Lane
from conformance.ports import Buffer, Places


class Credit(Demand):
    """The credit of the producer, and the exclusive and floating buffers that cover it."""

    __slots__ = ("early", "floating", "held", "may_return", "most", "recovered", "returning")

    def __init__(self, exclusive: int, floating: int) -> None:
        super().__init__(exclusive)
        self.required = exclusive
        self.floating = floating
        """Number of floating buffers of the pool."""
        self.early = False
        """Whether credit was announced during recovery."""
        self.held = self.recovered = self.returning = 0
        """Number of data buffers that the task holds; number of those that were recovered, which it took first; number
        of data buffers that it is recycling."""
        self.most = exclusive
        """The highest number of buffers that may be set aside, provided that no operation is in flight."""
        self.may_return = False
        """Whether floating buffers may have returned to the pool although the element that led to it was refused."""

    def spend(self) -> None:
        """Notes that the producer sent a data buffer: its credit and its backlog are smaller by one."""
        super().spend()
        self.take_one()

    def take_one(self) -> None:
        """Notes that a live or recovered data buffer takes one of the buffers that are set aside, if there is one. What
        the task is recycling may be set aside only after that, and then fewer are required."""
        refilled = min(self.most, max(self.required, self.exclusive)) if self.returning else 0
        self.most = max(refilled, self.most - 1)

    def hear_backlog(self, backlog: int) -> None:
        """Notes the backlog that the producer sent: the channel sets aside as many buffers as are required then."""
        super().hear_backlog(backlog)
        self.borrow()

    def borrow(self) -> None:
        """Notes that the channel borrows as many floating buffers as are required, also at the end of recovery."""
        self.most = max(self.most, min(self.required, self.exclusive + self.floating))

    def recycle(self, count: int, own_recovered: bool) -> None:
        """Notes that the task begins to recycle data buffers. An exclusive one is set aside again; a floating one is if
        more are required. `own_recovered`: whether recovered data can be in buffers of the channel."""
        recovered = min(count, self.recovered)
        back = count if own_recovered else count - recovered
        self.held -= count
        self.returning = count
        self.recovered -= recovered
        self.most = min(self.most + back, max(self.most, self.required, self.exclusive))

    def refuse_a_block(self) -> None:
        """Notes that an element that blocks the producer is to be refused. A channel without exclusive buffers may give
        the floating ones back before."""
        self.may_return = not self.exclusive

    def lose(self) -> None:
        """Notes that the consumer resumed the producer: no floating buffer is set aside before it says a backlog."""
        super().lose()
        if not self.exclusive:
            self.most = 0


class Accounts(PortLedger):
    """The part of the ledger that says how many buffers the channel uses and has set aside."""

    __slots__ = ("buffers", "credit", "error_comes", "handed_over", "lane", "recovery")

    lane: Lane
    credit: Credit
    error_comes: bool
    """Whether an error has reached the channel, or is about to, and the task does not know. What is recycled from then
    on need not be announced."""

    def __init__(self, recovery: str, handed_over: int, buffers: tuple[int, int], can_fail: Places) -> None:
        super().__init__(can_fail)
        self.recovery = recovery
        self.handed_over = handed_over
        self.buffers = buffers
        """Number of exclusive buffers of the channel, and number of floating buffers of the pool."""

    def queued(self) -> int:
        """Returns the number of live data buffers that are queued."""
        return sum([type(sent.element) is Buffer for sent in self.lane.live])

    def covered(self) -> int:
        """Returns the number of buffers of the channel and the pool that are neither announced as credit nor in use for
        live data."""
        credit = self.credit
        return sum(self.buffers) - credit.granted - self.queued() - (credit.held - credit.recovered)

    def own_recovered(self) -> int:
        """Returns the highest number of buffers of the channel that recovered data is in. What was handed over keeps
        its memory."""
        return self.credit.recovered + len(self.lane.waiting) if self.recovery == "pushed" else 0

    def spare(self) -> int:
        """Returns the lowest number of buffers that are neither in use nor announced as credit."""
        return self.covered() - self.own_recovered()

    def in_use(self) -> int:
        """Returns the number of data buffers that wait in the channel or are with the task."""
        return len(self.lane.waiting) + self.queued() + self.credit.held

    def set_aside(self) -> tuple[int, int]:
        """Returns the lowest and the highest number of buffers that may be set aside for live data, provided that no
        operation is in flight. What an operation that has failed has set aside was not announced."""
        credit = self.credit
        if self.error_comes or self.phase == BROKEN:
            least, most = self._announced()
            return 0 if credit.may_return else least, max(most, credit.most)
        return self._announced()

    def _announced(self) -> tuple[int, int]:
        credit = self.credit
        if self.phase == "new":
            return 0, credit.exclusive
        if self.lane.blocked and not credit.exclusive:  # the producer loses its credit when it is resumed
            return 0, credit.floating
        if self.lane.consumed:
            return credit.granted, credit.granted
        return max(0, credit.exclusive - self.own_recovered()), credit.most

    def counted(self) -> tuple[int, int]:
        """Returns the number of queued buffers, and what 2.3.0 answers: it also counts events, the end of recovered
        data and the backlog of the producer."""
        lane, credit = self.lane, self.credit
        least = len(lane.waiting) + self.queued()
        elements = len(lane.waiting) + len(lane.live) + len(lane.urgent) + (lane.finishing and not lane.consumed)
        return least, elements + bool(self.handed_over) + credit.backlog()

    def keeps(self) -> int:
        """Returns the number of buffers that the task holds and that stay in use after release."""
        return self.credit.held
