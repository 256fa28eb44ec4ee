"""What the ledger of a consumer loop knows of one channel: what has arrived there, and what the task has taken."""

from __future__ import annotations

from conformance.ports import Alignment, Announcement, Barrier, Buffer, Element, EndOfData, EndOfPartition


class Lane:
    """One channel. What overtakes stands apart from what is taken in its turn."""

    __slots__ = (
        "cuts", "data_ended", "ended", "landing", "out", "records", "taken", "urgent", "waiting",
    )  # fmt: skip

    def __init__(self) -> None:
        self.waiting: list[Element] = []
        """What has arrived and was not taken, in this order."""
        self.urgent: list[Element] = []
        """The unaligned barriers and announcements that have arrived and were not taken."""
        self.landing = 0
        """How many of these elements arrive at this moment, so that they may be in the channel or not."""
        self.records: list[int] = []
        """The records that have arrived."""
        self.taken = 0
        """How many of them were taken."""
        self.cuts: dict[int, int] = {}
        """By checkpoint, how many records are in front of its barrier."""
        self.data_ended = self.ended = False
        """Whether the end of data has arrived; the end of partition."""
        self.out = False
        """Whether the end of data was taken."""

    def arrive(self, element: Element, seq: int) -> None:
        """Notes that an element begins to arrive with this sequence number. A timeoutable barrier is announced."""
        self.landing = 1
        if isinstance(element, Barrier):
            self.cuts[element.checkpoint] = len(self.records)
            if element.alignment is Alignment.UNALIGNED:
                self.urgent.append(element)
                return
            if element.alignment is Alignment.TIMEOUTABLE:
                self.urgent.append(Announcement(element.checkpoint, seq))
                self.landing = 2
        elif isinstance(element, Buffer):
            self.records.extend(element.ids)
        elif isinstance(element, EndOfData):
            self.data_ended = True
        elif isinstance(element, EndOfPartition):
            self.ended = True
        self.waiting.append(element)

    def take(self, element: Element) -> bool:
        """Notes that the task has taken an element. Returns whether it was its turn."""
        if isinstance(element, EndOfData):
            self.out = True
        if element in self.urgent:
            self.urgent.remove(element)
            return True
        if self.waiting and self.waiting[0] == element:
            del self.waiting[0]
            if isinstance(element, Buffer):
                self.taken += len(element.ids)
            return True
        return self._overtook(element)

    def _overtook(self, element: Element) -> bool:
        """Returns whether the element is an announced barrier that the task has turned into a priority event."""
        if not isinstance(element, Barrier) or element not in self.waiting or not element.data_type.needs_announcement:
            return False
        self.waiting.remove(element)
        return True

    def is_there(self) -> bool:
        """Returns whether the task can take something for certain."""
        return len(self.waiting) + len(self.urgent) > self.landing

    def is_urgent(self) -> bool:
        """Returns whether a priority event is there for certain."""
        return bool(self.urgent) and not self.landing

    def behind(self, ids: tuple[int, ...], begun: int) -> int:
        """Returns the checkpoint in front of whose barrier these records must not be processed: its unaligned barrier
        has arrived in front of them and was not taken, or it is the one that is to begin; 0: there is none."""
        if not ids or ids[0] not in self.records:
            return 0
        first = self.records.index(ids[0])
        if begun and first >= self.cuts.get(begun, first + 1):
            return begun
        for one in self.urgent:
            if isinstance(one, Barrier) and first >= self.cuts[one.checkpoint]:
                return one.checkpoint
        return 0

    def in_flight(self, checkpoint: int, start: int) -> tuple[int, ...] | None:
        """Returns the records that belong to a checkpoint as in-flight data, if it started when so many were taken;
        nothing if its barrier has not arrived."""
        cut = self.cuts.get(checkpoint)
        return None if cut is None else tuple(self.records[start:cut])
