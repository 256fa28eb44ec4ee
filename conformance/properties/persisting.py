"""Which records must have been written for which checkpoint, by the rules of recovery.md, section 2.4."""

from __future__ import annotations

from conformance.ports import Barrier, Data, Element
from conformance.properties.base import FailureClass


class Persisting:
    """What is expected of the persister of one channel. Ids of checkpoints are >= 1; 0 stands for none."""

    __slots__ = ("barrier_at", "expected", "last_seen", "pending", "received")

    def __init__(self) -> None:
        self.pending = self.last_seen = 0
        self.received = False
        """Which checkpoint is pending, which was seen last, and whether by its barrier."""
        self.barrier_at: dict[int, int] = {}
        """By checkpoint, the place of its barrier among the elements that arrived."""
        self.expected: dict[int, list[int]] = {}
        """By checkpoint, the record ids that must have been written."""

    def subsumes(self, checkpoint: int) -> bool:
        """Whether the barrier of a newer checkpoint is here."""
        return self.received and self.last_seen > checkpoint

    def obsolete(self, checkpoint: int) -> bool:
        """Whether a barrier comes too late to count."""
        return checkpoint < (self.last_seen if self.pending or self.received else self.last_seen + 1)

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
        elif type(element) is Barrier and not self.obsolete(element.checkpoint):
            self.last_seen = element.checkpoint
            self.pending = 0
            self.received = True
            self.barrier_at[element.checkpoint] = number


def written_class(expected: tuple[int, ...], got: tuple[int, ...]) -> FailureClass:
    """In which way the records written differ from those expected."""
    if len(set(got)) < len(got) or not set(got) <= set(expected):
        return FailureClass.DUPLICATED
    return FailureClass.LOST if len(got) < len(expected) else FailureClass.REORDERED
