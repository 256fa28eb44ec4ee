"""The ledger of a drainer: what was fetched, what was pushed, what the task took, and which checkpoints came when."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

from conformance.driver import BROKEN, PortLedger, Seen
from conformance.models.lookers import Lookers
from conformance.models.recovered_state import FetchedState, RecoveredState
from conformance.ports import Buffer, Drained, Piece, Places, RecoveryTrigger

Looker: TypeAlias = Literal["drainer", "writer"] | int
"""Who looks for something to do: the drainer, the writer, or the task in the gate with this number."""


class Written:
    """The input state of the checkpoints that have started: which must be written, and which was seen to be."""

    __slots__ = ("aborted", "complete", "failed", "failures", "recovered", "unsure")

    def __init__(self, recovered: RecoveredState) -> None:
        self.recovered = recovered
        self.aborted: list[int] = []
        self.complete: list[int] = []
        """The checkpoints whose input state was seen to be complete."""
        self.failures = 0
        """How many writes have failed. Each fails one checkpoint, and the ledger cannot know which."""
        self.unsure: list[int] = []
        """The checkpoints of which one or another has failed with them."""
        self.failed: list[int] = []
        """Those of them whose input state was not there when all was written."""

    def pending(self) -> list[int]:
        """Returns the checkpoints that started and whose input state must be written completely. An abort may abort
        older ones, too."""
        over = max(self.aborted, default=0)
        return [one for one in self.recovered.started if one > over and one not in self.failed]

    def is_kept(self, checkpoint: int) -> bool:
        """Returns whether a checkpoint was complete, and neither it nor a newer one was aborted."""
        return checkpoint in self.complete and checkpoint > max(self.aborted, default=0)

    def is_unsure(self, checkpoint: int) -> bool:
        """Returns whether a write that has failed may have been that of this checkpoint."""
        return checkpoint in self.unsure and len(self.failed) < self.failures

    def fail_one(self) -> None:
        """Notes that a write has failed."""
        self.failures += 1
        self.unsure = self.pending()

    def look_back(self, checkpoint: int, is_there: bool, all_written: bool) -> None:
        """Notes whether the input state of a checkpoint is there. `all_written`: whether nothing is left to write, so
        that the write of a checkpoint that is not there has failed."""
        if is_there and checkpoint not in self.complete:
            self.complete.append(checkpoint)
        if not is_there and all_written and checkpoint in self.pending() and self.is_unsure(checkpoint):
            self.failed.append(checkpoint)


class Ledger(PortLedger):
    """Phases: *fetched*, *installed*, then `broken`, or the end."""

    __slots__ = ("cancelled", "drained", "fetched", "lookers", "recovered", "trigger", "written")

    def __init__(
        self, gates: tuple[int, ...], recovered: tuple[tuple[int, ...], ...], fetched: tuple[Piece, ...], buffers: int,
        can_fail: Places,
    ) -> None:  # fmt: skip
        super().__init__(can_fail)
        self.fetched = FetchedState(fetched)
        self.recovered = RecoveredState(gates, recovered, buffers)
        self.restart()

    def restart(self) -> None:
        """Begins with a fresh task, whose state is fetched."""
        self.begin_life("fetched")
        self.fetched.restart()
        self.recovered.restart()
        self.drained = False
        """Whether the drainer has said that everything was handed on."""
        self.written = Written(self.recovered)
        self.cancelled = False
        self.trigger = RecoveryTrigger.NOT_READY
        """What the trigger said last."""
        self.lookers: Lookers[Looker] = Lookers("drainer", "writer", *range(len(self.recovered.gates)))

    # ---- queries -----------------------------------------------------------------------------------------------------
    def must_start(self) -> bool | None:
        """Returns whether a checkpoint must start now; None: the task is over."""
        return {"fetched": False, "installed": True}.get(self.phase)

    def in_use(self) -> int:
        """Returns how many buffers recovered data is in: it was pushed and not taken."""
        return self.recovered.left() - self.fetched.left()

    def first_gate_in_use(self) -> int:
        """Returns the first gate into which a record was pushed that was not taken."""
        left = [lane.taken for lane in self.recovered.lanes]
        for piece in self.fetched.pieces[: self.fetched.committed]:
            channel = self.recovered.number(piece.gate, piece.channel)
            if not left[channel]:
                return piece.gate
            left[channel] -= 1
        return 0

    def is_waiting(self) -> bool:
        """Returns whether the drainer may wait for a buffer, or be about to. It may ask for one before it knows that
        there is no further record."""
        more = self.phase == "installed" and self.recovered.handing_on and not self.drained
        return more and self.in_use() >= self.recovered.buffers

    def nothing_found(self) -> Sequence[int]:
        """Returns the gates in which the task found nothing since the drainer has nothing to do."""
        nothing = self.lookers.nothing
        return [gate for gate in range(len(self.recovered.gates)) if nothing[gate]] if nothing["drainer"] else ()

    # ---- updates -----------------------------------------------------------------------------------------------------
    def begin_alone(self, *operands: object) -> None:
        """Notes that an operation begins. A drainer that waits for a buffer does not overlap it."""
        waits = self.flying == 1 and self.is_waiting()
        self.alone = waits or not self.flying
        self.flying += 1

    def wake(self) -> None:
        """Notes that something happens, so that there may be something to do."""
        self.lookers.wake()
        self.alone = False

    def begin_waking(self, *operands: object) -> None:
        """Notes that an operation begins after which there may be something to do."""
        self.begin()
        self.wake()

    def install(self, seen: Seen[None]) -> None:
        """Notes that the drainer begins."""
        self.phase = "installed"

    def begin_drain(self) -> None:
        """Notes that the drainer goes on."""
        self.begin_alone()
        self.recovered.handing_on = True

    def end_drain(self) -> None:
        """Notes that the drainer pauses."""
        self.end()
        self.recovered.handing_on = False

    def drain(self, seen: Seen[Piece | None]) -> None:
        """Notes what was pushed."""
        if seen.value is not None:
            self.fetched.committed += 1
            self.wake()
            return
        if not self.drained:
            self.drained = True
            self.wake()
        self.lookers.look("drainer", self.alone)

    def take(self, seen: Seen[Drained | None], gate: int) -> None:
        """Notes what the task got."""
        if seen.value is None:
            self.lookers.look(gate, self.alone)
        else:
            self.wake()
            self.recovered.lanes[self.recovered.number(gate, seen.value.channel)].take_next(has_priority=False)

    def arrive(self, gate: int, channel: int, record: int) -> None:
        """Notes that a producer begins to send a record."""
        self.begin_waking()
        self.recovered.lanes[self.recovered.number(gate, channel)].send(Buffer((record,)))

    def tried(self, seen: Seen[None], checkpoint: int) -> None:
        """Notes whether a checkpoint started."""
        self.recovered.try_checkpoint(checkpoint, seen.error is None)
        if seen.error is None:
            self.fetched.make_snapshot(checkpoint)

    def abort(self, checkpoint: int) -> None:
        """Notes that a checkpoint was aborted."""
        self.wake()
        self.written.aborted.append(checkpoint)

    def write(self, seen: Seen[bool]) -> None:
        """Notes whether the writer had anything to do."""
        self.lookers.look("writer", not seen.value and self.alone)

    def write_struck(self, seen: Seen[Any]) -> None:
        """Notes that a checkpoint cannot be written. Which one, `look_back` learns."""
        self.end()
        self.faults.struck(seen.signals)
        self.written.fail_one()

    def look_back(self, seen: Seen[Any], checkpoint: int) -> None:
        """Notes that a checkpoint is complete, or that its writing has failed if it is not there when all is
        written."""
        all_written = self.lookers.found_nothing("writer") and not self.flying and not self.is_broken()
        self.written.look_back(checkpoint, seen.value is not None, all_written)

    def drain_struck(self, seen: Seen[Any]) -> None:
        """Notes that the task fails."""
        self.end_drain()
        self.break_down(seen)

    def look(self, seen: Seen[RecoveryTrigger]) -> None:
        """Notes what the trigger says."""
        self.trigger = seen.value

    def begin_cancel(self) -> None:
        """Notes that the task is cancelled."""
        self.begin()
        self.phase = BROKEN

    def cancel(self) -> None:
        """Notes that the task was cancelled."""
        self.end()
        self.cancelled = True
