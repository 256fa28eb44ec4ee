"""The network reader of a remote channel, on the producer's side. Specification: chain.md.

(Flink: `CreditBasedSequenceNumberingViewReader` and `PartitionRequestQueue`.)
"""

from __future__ import annotations

from msgspec.structs import replace

from conformance.ports import Buffer, BufferAndBacklog, Next

from .subpartition import Subpartition


class Reader:
    """Sends what its credit allows. It looks into the subpartition only when it is notified."""

    def __init__(self, subpartition: Subpartition, credit: int, exclusive_buffers: int) -> None:
        """C6. The reader attaches its view to the subpartition (Flink:
        `CreditBasedSequenceNumberingViewReader.requestSubpartitionView`)."""
        self.subpartition = subpartition
        self.credit = credit
        """Credit: data buffers that the reader may send."""
        self.announces = exclusive_buffers == 0
        """Whether the consumer has no exclusive buffers, so that the reader must announce its backlog (C30)."""
        self.backlog = 0
        """Announced backlog: the backlog that the network is to bring to the consumer's channel; 0 stands for none."""
        self.in_line = False
        """In line: whether the reader believes that something can leave."""
        subpartition.attach_view()
        self.join()

    def join(self) -> None:
        """C6 to C9. The reader is in line if something is available with its credit (Flink:
        `PartitionRequestQueue.enqueueAvailableReader`)."""
        if not self.in_line:
            self.in_line = self.subpartition.available(self.credit > 0).available
            self.announce()

    def announce(self) -> None:
        """C30. What could leave with credit asks for it (Flink: `announceBacklog`)."""
        if self.announces and not self.in_line and self.credit == 0:
            waiting = self.subpartition.available(True)
            if waiting.available:
                self.backlog = max(waiting.backlog, 1)

    def hear(self) -> None:
        """C7. The subpartition has notified the reader of data or of a priority event (Flink: `notifyDataAvailable`,
        `notifyPriorityEvent`)."""
        signals = self.subpartition.signals
        if signals:
            signals.clear()
            self.join()

    def add_credit(self, credit: int) -> None:
        """C8. The consumer has announced credit (Flink: `addCredit`)."""
        self.credit += credit
        self.join()

    def resume(self) -> None:
        """C9. The consumer resumes the blocked subpartition (Flink: `resumeConsumption`)."""
        self.subpartition.resume()
        if self.announces:
            self.credit = 0
        self.join()

    def take_backlog(self) -> int:
        """C10. The backlog that leaves as a message of its own; 0 if there is none (Flink:
        `NettyMessage.BacklogAnnouncement`)."""
        backlog, self.backlog = self.backlog, 0
        return backlog

    def next(self) -> BufferAndBacklog | None:
        """C10. The element that leaves the subpartition; None if nothing does (Flink:
        `CreditBasedSequenceNumberingViewReader.getNextBuffer`)."""
        if not self.in_line:
            return None
        self.in_line = False
        taken = self.subpartition.poll()
        if taken is None:
            return None
        if type(taken.element) is Buffer:
            self.credit -= 1
        self.in_line = taken.next is not Next.NONE and (self.credit > 0 or taken.next is not Next.DATA)
        if self.subpartition.blocked:
            return replace(taken, backlog=0)
        if taken.backlog == 0:
            self.announce()
        return taken
