"""One channel of a gate as seen from both ends: what is on its way, and what must have been written of it."""

from __future__ import annotations

from conformance.ports import Barrier, Data, Element

ALL = 0
"""Stands for every checkpoint."""


class Sent:
    """One element on its way to the consumer."""

    __slots__ = ("element", "number", "sure")

    def __init__(self, element: Element, number: int = 0) -> None:
        self.element = element
        self.number = number
        """Its place among the live elements of its channel."""
        self.sure = False


class Side:
    """One channel as seen from both ends."""

    __slots__ = (
        "arrived",
        "barrier_at",
        "barrier_on_its_way",
        "blocked",
        "completion_sent",
        "completion_taken",
        "consumed",
        "data_ended",
        "end_sent",
        "ended",
        "expected",
        "finished",
        "finishing",
        "held_back",
        "last_barrier",
        "last_seen",
        "local",
        "pending",
        "pushed",
        "queue",
        "received",
        "recovered",
        "resumed",
        "tracked",
        "unsure",
        "urgent",
        "waited",
    )

    def __init__(self, local: bool) -> None:
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
        self.barrier_at: dict[int, int] = {}
        """By checkpoint, the place of its barrier among them."""
        self.last_barrier = 0
        self.barrier_on_its_way = False
        self.waited = 0
        """Polls that served others while this channel was ready."""
        self.pending = self.last_seen = 0
        self.received = False
        """The persister by its rules: which checkpoint is pending, which was seen last, and whether by its barrier."""
        self.expected: dict[int, list[int]] = {}
        """By checkpoint, the record ids that must have been written."""
        self.unsure: dict[int, None] = {}
        """Checkpoints of which it cannot be said what must have been written: something else was in flight."""

    def head(self) -> Sent | None:
        """The next element without priority."""
        if self.recovered:
            return self.recovered[0]
        return self.queue[0] if self.queue else None

    # ---- the persister, by its rules (recovery.md, section 2.4) ------------------------------------------------------
    def started(self, checkpoint: int, known: list[int]) -> None:
        """A checkpoint started with what was known to be in front of its barrier."""
        if self.last_seen < checkpoint:
            self.pending = self.last_seen = checkpoint
            self.received = False
        self.expected.setdefault(checkpoint, []).extend(known)

    def stopped(self, checkpoint: int) -> None:
        """A checkpoint is over; an older one changes nothing."""
        if checkpoint >= self.last_seen:
            self.last_seen = checkpoint
            self.pending = 0
            self.received = False

    def noticed(self, element: Element, number: int = 0) -> None:
        """An element arrived or, in a local channel, was taken."""
        if type(element) is Data:
            if self.pending:
                self.expected.setdefault(self.pending, []).extend(element.ids)
        elif type(element) is Barrier:
            checkpoint = element.checkpoint
            open = self.pending or self.received
            if checkpoint >= (self.last_seen if open else self.last_seen + 1):
                self.last_seen = checkpoint
                self.pending = 0
                self.received = True
                self.barrier_at[checkpoint] = number
