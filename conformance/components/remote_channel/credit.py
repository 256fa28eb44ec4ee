"""The credit of a remote channel: what its producer may send, and the buffers behind that.

Specification: remote-channel.md.
"""

from __future__ import annotations


class Credit:
    """What the producer may send, and the buffers behind that: the channel's own, and floating ones of a pool."""

    __slots__ = ("asked", "exclusive", "granted", "held", "in_line", "required", "returning")

    def __init__(self, exclusive: int) -> None:
        self.exclusive = exclusive
        self.granted = 0
        """The credit of the producer: what was announced, less the data that it sent."""
        self.held = self.returning = 0
        """Data buffers in the hands of the task, and on their way back."""
        self.required = 0
        """Buffers that the last backlog asks for."""
        self.asked = self.in_line = False
        """That was said just now; there were too few, so that the channel stands in line for floating buffers that come
        back."""

    def waits(self) -> bool:
        """While nothing is in flight: whether the channel asked for buffers and did not get enough."""
        return self.in_line or (self.asked and self.granted < self.required)

    def look_at_the_line(self, quiet: bool) -> None:
        """Note whether the channel waits for buffers, as far as that can be said: while nothing is in flight."""
        self.in_line = (self.in_line or (quiet and self.asked)) and self.granted < self.required
        self.asked = self.asked and not quiet

    def spend(self) -> None:
        """The producer sent data. Its backlog is shorter by that, and nobody can say any more what was missing."""
        self.granted -= 1
        self.required -= 1
        self.asked = False

    def hear_backlog(self, backlog: int, consumed: bool) -> None:
        """The producer said how much it has; during recovery no credit shows what the channel got for it."""
        self.required = backlog + self.exclusive
        self.asked, self.in_line = consumed, False

    def resume(self) -> None:
        """The producer goes on. Without initial credit it begins with none: it tells its backlog first."""
        if not self.exclusive:
            self.granted = self.required = 0
            self.asked = self.in_line = False
