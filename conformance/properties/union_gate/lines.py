"""What the driver knows about each channel, and about each gate, of a union."""

from __future__ import annotations

from conformance.ports import Element

MOST_RECOVERED = 3
"""Recovered buffers of a channel at most."""


class Sent:
    """One element on its way through a channel."""

    __slots__ = ("element", "muted", "told")

    def __init__(self, element: Element, muted: bool = False) -> None:
        self.element = element
        self.muted = muted
        """A priority event that could not be announced as one when it was sent; its turn comes as that of data."""
        self.told = False
        """The operation that sent it is over."""


class Line:
    """One channel, and what is on its way through it."""

    __slots__ = (
        "barriers",
        "blocked",
        "consumed",
        "ended",
        "expects_end",
        "finished",
        "finishing",
        "gate",
        "halted",
        "live",
        "local",
        "recovered",
        "remaining",
        "sent_end",
        "spoke",
        "stopping",
        "urgent",
    )

    def __init__(self, gate: Gate, local: bool, recovers: bool) -> None:
        self.gate = gate
        self.local = local
        self.remaining = MOST_RECOVERED if recovers else 0
        """Buffers that may still be recovered."""
        self.finishing = self.finished = not recovers
        """`finish_recovery` began, and is over."""
        self.consumed = not recovers
        """The consumer took the end of recovered data: said by `StateConsumed`, or implied by the conversion."""
        self.expects_end = recovers
        """The end of recovered data is to be taken, and told."""
        self.recovered: list[Sent] = []
        self.live: list[Sent] = []
        self.urgent: list[Sent] = []
        """Unaligned barriers: they pass everything else."""
        self.spoke = False
        """Something came from upstream."""
        self.halted = False
        """The producer, elsewhere, sent what blocks it, and has not been resumed."""
        self.blocked = False
        """The consumer took what blocks the producer, and has not resumed it."""
        self.stopping = self.sent_end = self.ended = False
        """No data is sent any more; the end of the partition was sent; it was taken."""
        self.barriers = 0


class Gate:
    """One gate."""

    __slots__ = ("busy", "converted", "due", "ended", "lines", "requested", "waited")

    def __init__(self, converted: bool) -> None:
        self.lines: list[Line] = []
        self.converted = converted
        self.requested = self.ended = False
        self.busy = 0
        """Operations in flight that bring something: until they are over the consumer need not find anything here,
        since one of them may be about to tell it of all that came meanwhile."""
        self.due = False
        """When the last poll began, something here had to be found."""
        self.waited = 0
        """Elements without priority that such polls took elsewhere."""
