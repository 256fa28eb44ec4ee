"""The ledger of a drainer: what was fetched, what was pushed, what the task took, and which checkpoints came when."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from msgspec import Struct

from conformance.driver import BROKEN, PortLedger, Seen
from conformance.models.lookers import Lookers
from conformance.ports import Buffer, Drained, Element, Piece, Places, RecoveryTrigger

Looker: TypeAlias = Literal["drainer", "writer"] | int
"""Who looks for something to do: the drainer, the writer, or the task in the gate with this number."""


class Cut(Struct, frozen=True):
    """A checkpoint that started: how many records of each channel the task had taken, and how many were pushed."""

    taken: tuple[int, ...]
    pushed: int


class Ledger(PortLedger):
    """Phases: *fetched*, *installed*, then `broken`, or the end. Channels are numbered through all gates."""

    __slots__ = (
        "aborted", "buffers", "cancelled", "channels", "complete", "cuts", "declined", "drained", "draining",
        "failed_cuts", "fetched", "first", "gates", "lookers", "pieces", "pushed", "records", "strikes", "taken",
        "told", "unsure",
    )  # fmt: skip

    def __init__(self, gates: tuple[int, ...], pieces: tuple[Piece, ...], buffers: int, can_fail: Places) -> None:
        super().__init__(can_fail)
        self.gates = gates
        self.buffers = buffers
        """How many buffers there are for recovered data."""
        self.channels = tuple((gate, channel) for gate, size in enumerate(gates) for channel in range(size))
        self.first = tuple(self.channels.index((gate, 0)) for gate in range(len(gates)))
        self.pieces = pieces
        """What was fetched, one record each, in this order."""
        self.fetched = tuple(
            tuple(piece.records[0] for piece in pieces if (piece.gate, piece.channel) == of) for of in self.channels
        )
        """By channel, the recovered records."""
        self.restart()

    def restart(self) -> None:
        """Begins with a fresh task, whose state is fetched."""
        self.begin_life("fetched")
        self.pushed = 0
        """How many records were pushed."""
        self.drained = False
        """Whether the drainer has said that everything was handed on."""
        self.records = [list(ids) for ids in self.fetched]
        """By channel, the records that the task must get: those that are recovered, then those that arrive."""
        self.taken = [0] * len(self.channels)
        """By channel, how many of them it got."""
        self.cuts: dict[int, Cut] = {}
        """By checkpoint that started. Those that were declined, that were aborted, and whose writing has failed, are
        listed as well."""
        self.declined: list[int] = []
        self.aborted: list[int] = []
        self.failed_cuts: list[int] = []
        self.complete: list[int] = []
        """The checkpoints whose input state was seen to be complete."""
        self.strikes = 0
        self.unsure: list[int] = []
        """How many writes have failed, and the checkpoints of which one or another has failed with them."""
        self.draining = self.cancelled = False
        """Whether the drainer is in the middle of an operation; whether the task was cancelled."""
        self.told = RecoveryTrigger.NOT_READY
        """What the trigger said last."""
        self.lookers: Lookers[Looker] = Lookers("drainer", "writer", *range(len(self.gates)))

    # ---- queries -----------------------------------------------------------------------------------------------------
    def newest(self) -> int:
        """Returns the newest checkpoint."""
        return len(self.cuts) + len(self.declined)

    def in_use(self) -> int:
        """Returns how many buffers recovered data is in: it was pushed and not taken."""
        taken = [min(taken, len(ids)) for taken, ids in zip(self.taken, self.fetched, strict=True)]
        return self.pushed - sum(taken)

    def first_gate_in_use(self) -> int:
        """Returns the first gate into which a record was pushed that was not taken."""
        left = list(self.taken)
        for piece in self.pieces[: self.pushed]:
            channel = self.first[piece.gate] + piece.channel
            if not left[channel]:
                return piece.gate
            left[channel] -= 1
        return 0

    def is_waiting(self) -> bool:
        """Returns whether the drainer may wait for a buffer, or be about to. It may ask for one before it knows that
        there is no further record."""
        more = self.phase == "installed" and self.draining and not self.drained
        return more and self.in_use() >= self.buffers

    def is_all_handed_on(self) -> bool:
        """Returns whether the drainer has nothing to do, and the task found nothing in any gate."""
        return self.lookers.found_nothing("drainer") and all(
            self.lookers.found_nothing(gate) for gate in range(len(self.gates))
        )

    def is_recovered(self) -> bool:
        """Returns whether the task got all recovered records."""
        return all(taken >= len(ids) for taken, ids in zip(self.taken, self.fetched, strict=True))

    def pending(self) -> list[int]:
        """Returns the checkpoints that started and whose input state must be written completely. An abort may give up
        older ones, too."""
        over = max(self.aborted, default=0)
        return [one for one in self.cuts if one > over and one not in self.failed_cuts]

    def is_kept(self, checkpoint: int) -> bool:
        """Returns whether a checkpoint was complete, and neither it nor a newer one was aborted."""
        return checkpoint in self.complete and checkpoint > max(self.aborted, default=0)

    def must_hold(self, checkpoint: int) -> tuple[tuple[int, ...], ...]:
        """Returns the input state of a checkpoint, by channel."""
        cut = self.cuts[checkpoint]
        return tuple(ids[taken:] for ids, taken in zip(self.fetched, cut.taken, strict=True))

    # ---- updates -----------------------------------------------------------------------------------------------------
    def begin_alone(self, *operands: object) -> None:
        """Notes that an operation begins. A drainer that waits for a buffer does not overlap it."""
        waits = self.flying == 1 and self.is_waiting()
        self.alone = waits or not self.flying
        self.flying += 1

    def stir(self) -> None:
        """Notes that something happens, so that there may be something to do."""
        self.lookers.stir()
        self.alone = False

    def begin_stir(self, *operands: object) -> None:
        """Notes that an operation begins after which there may be something to do."""
        self.begin()
        self.stir()

    def install(self, seen: Seen[None]) -> None:
        """Notes that the drainer begins."""
        self.phase = "installed"

    def begin_drain(self) -> None:
        """Notes that the drainer goes on."""
        self.begin_alone()
        self.draining = True

    def end_drain(self) -> None:
        """Notes that the drainer pauses."""
        self.end()
        self.draining = False

    def drain(self, seen: Seen[Piece | None]) -> None:
        """Notes what was pushed."""
        if seen.value is not None:
            self.pushed += 1
            self.stir()
            return
        if not self.drained:
            self.drained = True
            self.stir()
        self.lookers.look("drainer", self.alone)

    def take(self, seen: Seen[Drained | None], gate: int) -> None:
        """Notes what the task got."""
        if seen.value is None:
            self.lookers.look(gate, self.alone)
        else:
            self.stir()
            if isinstance(seen.value.element, Buffer):
                self.taken[self.first[gate] + seen.value.channel] += len(seen.value.element.ids)

    def owed(self, channel: int) -> Element | None:
        """Returns what must come out of a channel next; None: nothing has arrived there."""
        records, taken = self.records[channel], self.taken[channel]
        return Buffer((records[taken],)) if taken < len(records) else None

    def arrive(self, gate: int, channel: int, record: int) -> None:
        """Notes that a producer begins to send a record."""
        self.begin_stir()
        self.records[self.first[gate] + channel].append(record)

    def started(self, seen: Seen[None], checkpoint: int) -> None:
        """Notes whether a checkpoint started."""
        if seen.error is None:
            self.cuts[checkpoint] = Cut(tuple(self.taken), self.pushed)
        else:
            self.declined.append(checkpoint)

    def abort(self, checkpoint: int) -> None:
        """Notes that a checkpoint was aborted."""
        self.stir()
        self.aborted.append(checkpoint)

    def write(self, seen: Seen[bool]) -> None:
        """Notes whether the writer had anything to do."""
        self.lookers.look("writer", not seen.value and self.alone)

    def write_struck(self, seen: Seen[Any]) -> None:
        """Notes that a checkpoint cannot be written. Which one, `look_back` learns."""
        self.end()
        self.faults.struck(seen.signals)
        self.strikes += 1
        self.unsure = self.pending()

    def is_unsure(self, checkpoint: int) -> bool:
        """Returns whether a write that has failed may have been that of this checkpoint: each fails one only, and the
        ledger cannot know which."""
        return checkpoint in self.unsure and len(self.failed_cuts) < self.strikes

    def look_back(self, seen: Seen[Any], checkpoint: int) -> None:
        """Notes that a checkpoint is complete, or that its writing has failed if it is not there when all is
        written."""
        if seen.value is not None and checkpoint not in self.complete:
            self.complete.append(checkpoint)
        all_written = self.lookers.found_nothing("writer") and not self.flying and not self.is_broken()
        if seen.value is None and all_written and checkpoint in self.pending() and self.is_unsure(checkpoint):
            self.failed_cuts.append(checkpoint)

    def drain_struck(self, seen: Seen[Any]) -> None:
        """Notes that the task fails."""
        self.end_drain()
        self.break_down(seen)

    def look(self, seen: Seen[RecoveryTrigger]) -> None:
        """Notes what the trigger says."""
        self.told = seen.value

    def begin_cancel(self) -> None:
        """Notes that the task is cancelled."""
        self.begin()
        self.phase = BROKEN

    def is_cancelled(self) -> bool:
        """Returns whether the task was cancelled."""
        return self.cancelled

    def cancel(self) -> None:
        """Notes that the task was cancelled."""
        self.end()
        self.cancelled = True
