"""One channel of a gate as seen from both ends: what is on its way, and what must have been written of it."""

from __future__ import annotations

from conformance.ports import Element
from conformance.properties.persisting import Persisting

ALL = 0
"""Stands for every checkpoint."""


class Sent:
    """One element on its way to the consumer."""

    __slots__ = ("element", "number", "silent", "sure")

    def __init__(self, element: Element, number: int = 0) -> None:
        self.element = element
        self.number = number
        """Its place among the live elements of its channel."""
        self.silent = False
        """It came where nothing gets past the blocking element, so that nobody was told that it has priority."""
        self.sure = False


class Side(Persisting):
    """One channel as seen from both ends."""

    __slots__ = (
        "arrived",
        "barrier_on_its_way",
        "blocked",
        "completion_sent",
        "completion_taken",
        "consumed",
        "data_ended",
        "end_sent",
        "ended",
        "finished",
        "finishing",
        "held_back",
        "last_barrier",
        "local",
        "pushed",
        "queue",
        "recovered",
        "resumed",
        "tracked",
        "unsure",
        "urgent",
        "waited",
    )

    def __init__(self, local: bool) -> None:
        super().__init__()
        self.local = local
        self.pushed = 0
        """How many recovered buffers were pushed, or began to be."""
        self.recovered: list[Sent] = []
        self.queue: list[Sent] = []
        """Live elements without priority."""
        self.urgent: list[Sent] = []
        self.finishing = self.finished = self.consumed = False
        """The end of recovered data: its push began, is over; the consumer was told that it took it."""
        self.blocked = False
        """The consumer took an element that blocks the producer, and has not resumed it."""
        self.held_back = False
        """The producer of a remote channel sends nothing without priority: what it sent last blocks it."""
        self.completion_sent = self.completion_taken = self.tracked = False
        self.resumed = False
        """Whether the producer was told to go on, since its completion was taken."""
        self.data_ended = self.end_sent = self.ended = False
        self.arrived = 0
        """How many live elements came."""
        self.last_barrier = 0
        self.barrier_on_its_way = False
        self.waited = 0
        """Polls that served others while this channel was ready."""
        self.unsure: dict[int, None] = {}
        """Checkpoints of which it cannot be said what must have been written: something else was in flight."""

    def head(self) -> Sent | None:
        """The next element without priority."""
        if self.recovered:
            return self.recovered[0]
        return self.queue[0] if self.queue else None
