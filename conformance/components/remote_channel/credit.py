"""The part of the ledger of a remote channel that counts credit and buffers.

Specification: remote-channel.md.
"""

from __future__ import annotations

from conformance.models.credit import Demand


class Credit(Demand):
    """The credit of the producer, and the exclusive and floating buffers that cover it."""

    __slots__ = ("early", "floating", "held", "may_return", "most", "perhaps_held", "recovered", "returning", "unsure")

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
        self.perhaps_held = 0
        """Number of buffers that the task may hold without knowing it: a take was in flight when it was cancelled."""
        self.unsure = 0
        """Number of buffers that an operation that has failed may have recycled, or not: that of an arrival, or the
        exclusive ones of a request."""
        self.most = exclusive
        """The highest number of buffers that may be set aside, provided that no operation is in flight."""
        self.may_return = False
        """Whether floating buffers may have returned to the pool although the element that led to it was refused."""

    def both(self) -> int:
        """Returns how many buffers the channel and the pool have together."""
        return self.exclusive + self.floating

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
        """Notes that the consumer resumed the producer: no floating buffer is set aside before it sends a backlog."""
        super().lose()
        if not self.exclusive:
            self.most = 0
