"""The producer's end of a connection: what a remote channel has credit for leaves the subpartition.

Specification: chain.md (Flink: `CreditBasedSequenceNumberingViewReader` and `PartitionRequestQueue`).
"""

from __future__ import annotations

from conformance.ports import Buffer, BufferAndBacklog, Next

from ..subpartition import Subpartition


class Reader:
    """Is in line to send if something may leave; it gets there by what it is told, never by looking."""

    def __init__(self, subpartition: Subpartition, credit: int) -> None:
        self.subpartition = subpartition
        self.credit = credit
        self.in_line = False
        subpartition.attach_view()
        self.join()

    def join(self) -> None:
        """Get in line, if something may leave."""
        if not self.in_line:
            self.in_line = self.subpartition.available(self.credit > 0).available

    def hear(self) -> None:
        """The subpartition was given something, and may have told so."""
        signals = self.subpartition.signals
        if signals:
            signals.clear()
            self.join()

    def add_credit(self, credit: int) -> None:
        """The consumer has room for so many buffers more."""
        self.credit += credit
        self.join()

    def resume(self) -> None:
        """The consumer lets the producer go on."""
        self.subpartition.resume()
        self.join()

    def next(self) -> BufferAndBacklog | None:
        """What is sent now."""
        if not self.in_line:
            return None
        self.in_line = False
        taken = self.subpartition.poll()
        if taken is not None:
            if type(taken.element) is Buffer:
                self.credit -= 1
            self.in_line = taken.next is not Next.NONE and (self.credit > 0 or taken.next is not Next.DATA)
        return taken
