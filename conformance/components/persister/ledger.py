"""The ledger of a persister: the input state that it must have written."""

from __future__ import annotations

from conformance.driver import PortLedger, Seen
from conformance.models.input_state import InputState
from conformance.models.starts import SUBSUMED, UNOPPOSED, Refusal
from conformance.ports import Places


class Ledger(PortLedger):
    """The input state by checkpoint, and which checkpoints were named in steps."""

    __slots__ = ("base", "behind", "input", "late_stop", "newest", "next_record")

    def __init__(self, base: int, can_fail: Places) -> None:
        super().__init__(can_fail)
        self.base = base
        """The id of a checkpoint is this and the number by which steps and rules name it."""
        self.next_record = 0
        """The next record id. Restores do not reset it."""
        self.restore()

    def restore(self) -> None:
        """Begins with a fresh persister."""
        self.begin_life("live")
        self.input = InputState()
        self.newest = 0
        """The newest checkpoint that a step has named."""
        self.late_stop = False
        """Whether an older checkpoint was stopped while a newer one waited for its barrier."""
        self.behind = 0
        """Number of records that arrived while no checkpoint waited for its barrier."""

    def refuses(self, checkpoint: int) -> Refusal:
        """Returns the reasons to refuse the start of a checkpoint now."""
        return SUBSUMED if self.input.subsumes(checkpoint) else UNOPPOSED

    def refused(self) -> list[int]:
        """Returns the checkpoints whose start was refused and that did not start since."""
        return self.input.failed

    def written(self) -> int:
        """Returns how many records must have been written for all checkpoints together."""
        return sum(len(self.input.expected(checkpoint)) for checkpoint in self.input.states)

    def known(self, count: int) -> tuple[int, ...]:
        """Returns the next records, to be handed in as the queued data when a checkpoint starts."""
        return tuple(range(self.next_record, self.next_record + count))

    def start(self, seen: Seen[None], checkpoint: int, known: int) -> None:
        """Notes that a checkpoint started, or that its start was refused."""
        if seen.error is None:
            self.input.started(checkpoint, self.known(known))
            if checkpoint in self.input.failed:
                self.input.failed.remove(checkpoint)
        elif checkpoint not in self.input.failed:
            self.input.failed.append(checkpoint)
        self.next_record += known
        if checkpoint > self.newest:
            self.newest = checkpoint

    def start_failed(self, seen: Seen[None], checkpoint: int, known: int) -> None:
        """Notes that the start of a checkpoint failed with the channel state writer: nothing is written for it."""
        self.next_record += known
        self.newest = max(self.newest, checkpoint)
        if checkpoint not in self.input.failed:
            self.input.failed.append(checkpoint)
        self.break_down(seen)

    def stop(self, checkpoint: int) -> None:
        """Notes that a checkpoint was stopped."""
        if checkpoint > self.newest:
            self.newest = checkpoint
        self.late_stop |= self.input.awaited() > checkpoint
        self.input.stopped(checkpoint)

    def came(self) -> None:
        """Notes that a record arrived."""
        self.behind += self.input.pending is None and self.input.last > 0
        self.input.came((self.next_record,))
        self.next_record += 1

    def barrier(self, checkpoint: int) -> None:
        """Notes that a barrier arrived."""
        if checkpoint > self.newest:
            self.newest = checkpoint
        self.input.barrier(checkpoint)
