"""The credit of one producer: how much data it may send, as far as the consumer has announced it."""

from __future__ import annotations


class Credit:
    """The credit that was announced to a producer and that it has not spent."""

    __slots__ = ("exclusive", "granted")

    def __init__(self, exclusive: int) -> None:
        self.exclusive = exclusive
        """Number of exclusive buffers of the channel."""
        self.granted = 0
        """The credit that was announced less the data that was sent. So many buffers must be set aside."""

    def open(self) -> None:
        """Notes that the partition was requested of the producer: the exclusive buffers are its initial credit."""
        self.granted += self.exclusive

    def spend(self) -> None:
        """Notes that the producer sent a data buffer."""
        self.granted -= 1

    def lose(self) -> None:
        """Notes that the channel gives its floating buffers back, because the producer is or was blocked: without
        exclusive buffers there is no credit left."""
        if not self.exclusive:
            self.granted = 0

    def end(self) -> None:
        """Notes that the channel is over."""
        self.granted = 0


class Demand(Credit):
    """The credit of a producer that sends its backlog, and how much credit that backlog requires."""

    __slots__ = ("required",)

    def __init__(self, exclusive: int) -> None:
        super().__init__(exclusive)
        self.required = 0
        """The credit that the last backlog requires: the backlog plus the exclusive buffers, less what was sent
        since."""

    def spend(self) -> None:
        """Notes that the producer sent a data buffer: its credit and its backlog are smaller by one."""
        self.granted -= 1
        self.required -= 1

    def hear_backlog(self, backlog: int) -> None:
        """Notes the backlog that the producer sent."""
        self.required = backlog + self.exclusive

    def backlog(self) -> int:
        """Returns what is left of the backlog, as far as the channel knows."""
        return max(0, self.required - self.exclusive)

    def lose(self) -> None:
        """Notes that the channel gives its floating buffers back: without exclusive buffers, nothing is left, and
        nothing is required before the producer sends a backlog again."""
        if not self.exclusive:
            self.granted = self.required = 0

    def end(self) -> None:
        """Notes that the channel is over."""
        self.granted = self.required = 0
