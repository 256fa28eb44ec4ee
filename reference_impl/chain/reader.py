"""The network reader of a remote channel, on the producer's side. Specification: chain.md.

(Flink: `CreditBasedSequenceNumberingViewReader` and `PartitionRequestQueue`.)
"""

from __future__ import annotations

from conformance.ports import Buffer, BufferAndBacklog, Next

from ..subpartition import Subpartition


class Reader:
    """Sends what its credit allows. It looks into the subpartition only when it is told something."""

    def __init__(self, subpartition: Subpartition, credit: int) -> None:
        """C6."""
        self.subpartition = subpartition
        self.credit = credit
        """Credit: data buffers that the reader may send."""
        self.in_line = False
        """In line: whether the reader believes that something can leave."""
        subpartition.attach_view()
        self.join()

    def join(self) -> None:
        """C6 to C9. The reader is in line if something is available with its credit."""
        if not self.in_line:
            self.in_line = self.subpartition.available(self.credit > 0).available

    def hear(self) -> None:
        """C7."""
        signals = self.subpartition.signals
        if signals:
            signals.clear()
            self.join()

    def add_credit(self, credit: int) -> None:
        """C8."""
        self.credit += credit
        self.join()

    def resume(self) -> None:
        """C9."""
        self.subpartition.resume()
        self.join()

    def next(self) -> BufferAndBacklog | None:
        """C10. The element that leaves the subpartition; None if nothing does."""
        if not self.in_line:
            return None
        self.in_line = False
        taken = self.subpartition.poll()
        if taken is not None:
            if type(taken.element) is Buffer:
                self.credit -= 1
            self.in_line = taken.next is not Next.NONE and (self.credit > 0 or taken.next is not Next.DATA)
        return taken
