"""What must have been written by a persister, and what was done so far."""

from __future__ import annotations

from conformance.driver import Seen
from conformance.parts.input_state import InputState
from conformance.parts.lifetime import Lifetime
from conformance.parts.starts import SUBSUMED, UNOPPOSED, Refusal


class Ledger(Lifetime):
    """The input state, and the checkpoints that were named."""

    __slots__ = ("behind", "input", "newest", "records", "stopped_late")

    def __init__(self) -> None:
        super().__init__()
        self.records = 0
        """Record ids are numbered through, across restores."""
        self.restore()

    def restore(self) -> None:
        """A fresh persister."""
        self.begin_life("live")
        self.input = InputState()
        self.newest = 0
        """The newest checkpoint that was named."""
        self.stopped_late = False
        """An older checkpoint was stopped while a newer one was pending."""
        self.behind = 0
        """Records that arrived behind a barrier that had been received."""

    def refuses(self, checkpoint: int) -> Refusal:
        """What speaks against starting it now."""
        return SUBSUMED if self.input.subsumes(checkpoint) else UNOPPOSED

    def known(self, count: int) -> tuple[int, ...]:
        """The next records, which are known as a checkpoint starts."""
        return tuple(range(self.records, self.records + count))

    def start(self, seen: Seen[None], checkpoint: int, known: int) -> None:
        """A checkpoint started, or was refused."""
        if seen.error is None:
            self.input.started(checkpoint, self.known(known))
        self.records += known
        if checkpoint > self.newest:
            self.newest = checkpoint

    def stop(self, checkpoint: int) -> None:
        """A checkpoint is over."""
        if checkpoint > self.newest:
            self.newest = checkpoint
        self.stopped_late |= self.input.awaited() > checkpoint
        self.input.stopped(checkpoint)

    def came(self) -> None:
        """A record arrived."""
        self.behind += self.input.pending is None and self.input.last > 0
        self.input.came((self.records,))
        self.records += 1

    def barrier(self, checkpoint: int) -> None:
        """A barrier arrived."""
        if checkpoint > self.newest:
            self.newest = checkpoint
        self.input.barrier(checkpoint)
