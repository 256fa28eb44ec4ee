"""What the ledger of a consumer loop knows of one channel besides its elements: which records are in front of what."""

from __future__ import annotations

from conformance.models import lane
from conformance.models.lane import Sent
from conformance.ports import Announcement, Barrier, Buffer, Element, EndOfData


class Lane(lane.Lane):
    """One channel of a gate that has recovered: what has arrived, and what the task has processed."""

    __slots__ = ("cuts", "data_ended", "data_taken", "processed", "records")

    def __init__(self) -> None:
        super().__init__(recovers=False)
        self.records: list[int] = []
        """The records that have arrived."""
        self.processed = 0
        """How many of them were processed."""
        self.cuts: dict[int, int] = {}
        """By checkpoint, how many records are in front of its barrier."""
        self.data_ended = self.data_taken = False
        """Whether the end of data has arrived; whether it was taken."""

    def arrive(self, element: Element, seq: int) -> None:
        """Notes that an element begins to arrive with this sequence number. A timeoutable barrier is announced."""
        sent = self.send(element)
        if isinstance(element, Barrier):
            self.cuts[element.checkpoint] = len(self.records)
            if element.data_type.needs_announcement:
                self.urgent.append(Sent(Announcement(element.checkpoint, seq), sent.number))
        elif isinstance(element, Buffer):
            self.records.extend(element.ids)
        elif isinstance(element, EndOfData):
            self.data_ended = True

    def is_next(self, element: Element) -> bool:
        """Returns whether an element overtakes nothing if the task takes it now."""
        return bool(self.live) and self.live[0].element == element

    def process(self, element: Element) -> bool:
        """Notes that the task has taken an element. Returns whether it was its turn: it is a priority event, or the
        next one, or an announced barrier that the task has turned into a priority event."""
        if isinstance(element, EndOfData):
            self.data_taken = True
        if self.is_next(element):
            del self.live[0]
            self.processed += len(element.ids) if isinstance(element, Buffer) else 0
            return True
        overtakes = isinstance(element, Barrier) and element.data_type.needs_announcement
        for line in (self.urgent, self.live)[: 1 + overtakes]:
            for sent in line:
                if sent.element == element:
                    line.remove(sent)
                    return True
        return False

    def behind(self, ids: tuple[int, ...], begun: int) -> int:
        """Returns the checkpoint in front of whose barrier these records must not be processed: its unaligned barrier
        has arrived in front of them and was not taken, or it is the one that is to begin; 0: there is none."""
        if not ids or ids[0] not in self.records:
            return 0
        first = self.records.index(ids[0])
        if begun and first >= self.cuts.get(begun, first + 1):
            return begun
        for sent in self.urgent:
            if isinstance(sent.element, Barrier) and first >= self.cuts[sent.element.checkpoint]:
                return sent.element.checkpoint
        return 0

    def in_flight(self, checkpoint: int, start: int) -> tuple[int, ...] | None:
        """Returns the records that belong to a checkpoint as in-flight data, if it started when so many were processed;
        nothing if its barrier has not arrived."""
        cut = self.cuts.get(checkpoint)
        return None if cut is None else tuple(self.records[start:cut])
