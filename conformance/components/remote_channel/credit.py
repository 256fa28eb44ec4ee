"""The part of the ledger of a remote channel that counts credit and buffers.

Specification: remote-channel.md.
"""

from __future__ import annotations


class Credit:
    """The credit of the producer, and the exclusive and floating buffers that cover it."""

    __slots__ = ("asked", "exclusive", "granted", "held", "in_line", "required", "returning")

    def __init__(self, exclusive: int) -> None:
        self.exclusive = exclusive
        self.granted = 0
        """The credit of the producer: the announced credit less the data buffers that it sent."""
        self.held = self.returning = 0
        """Number of data buffers that the task holds, and number of those that it is recycling."""
        self.required = 0
        """Number of buffers that the last backlog requires: the backlog plus the exclusive buffers."""
        self.asked = self.in_line = False
        """Whether the producer has just sent its backlog; whether too few buffers were free, so that the channel waits
        in line for floating buffers that are recycled."""

    def waits(self) -> bool:
        """Returns whether the channel waits for floating buffers, provided that no operation is in flight."""
        return self.in_line or (self.asked and self.granted < self.required)

    def look_at_the_line(self, quiet: bool) -> None:
        """Notes whether the channel waits for floating buffers.

        `quiet`: whether no operation is in flight. Otherwise the ledger cannot know.
        """
        self.in_line = (self.in_line or (quiet and self.asked)) and self.granted < self.required
        self.asked = self.asked and not quiet

    def spend(self) -> None:
        """Notes that the producer sent a data buffer: its credit and its backlog are smaller by one, and the ledger no
        longer knows whether the channel got too few buffers for the last backlog."""
        self.granted -= 1
        self.required -= 1
        self.asked = False

    def hear_backlog(self, backlog: int, consumed: bool) -> None:
        """Notes the backlog that the producer sent. During recovery (not `consumed`) the channel announces no credit,
        so that the ledger cannot see which buffers the channel got."""
        self.required = backlog + self.exclusive
        self.asked, self.in_line = consumed, False

    def resume(self) -> None:
        """Notes that the consumer resumed the producer. Without exclusive buffers its credit is 0 until it sends a
        backlog."""
        if not self.exclusive:
            self.granted = self.required = 0
            self.asked = self.in_line = False
