"""What the driver knows about a chain: what each producer sent, what the consumer counted, where the cuts are.

Records are numbered by channel in the order in which they are sent, across failures: after a restore the producers go
on behind the restored checkpoint, under the same numbers. The consumer must therefore count 0, 1, 2, … of each channel
for ever, and one integer by channel is the whole memory of what it has. The ledger never looks at an implementation.
"""

from __future__ import annotations

from typing import Any

from conformance.ports import (
    Barrier,
    ChainCheckpoint,
    CheckpointAcknowledged,
    CheckpointDeclined,
    Consumed,
    Data,
    DataAvailable,
    Element,
    EndOfPartition,
    PriorityAvailable,
    RecoveryCompletion,
    StateConsumed,
)
from conformance.properties.chain.side import Side

NONE = "none"
RECOVER_FIRST = "recover-first"
IN_MEMORY = "in-memory"
PUSHED = "pushed"


class ChainLedger:
    """Kept up to date by the steps of the alphabet; read by enabledness and by properties."""

    __slots__ = (
        "acknowledged",
        "alignments",
        "awake",
        "busy",
        "closing",
        "converted",
        "cuts",
        "declined",
        "depth",
        "depths",
        "failed",
        "generation",
        "inspected",
        "kinds",
        "known",
        "last_checkpoint",
        "newest",
        "origin",
        "output_on_downstream",
        "over",
        "passes_blocked",
        "recoveries",
        "recovery",
        "requested",
        "restored",
        "saved",
        "sides",
        "sights",
        "taken_during",
        "taken_in",
        "urgent",
        "urgent_while_blocked",
        "urgent_while_recovering",
    )

    def __init__(
        self,
        kinds: tuple[str, ...],
        recovery: str,
        recoveries: tuple[str, ...],
        restored: ChainCheckpoint | None,
        output_on_downstream: bool,
        passes_blocked: bool,
    ) -> None:
        self.kinds = kinds
        self.passes_blocked = passes_blocked
        """A priority event is announced at once also by a subpartition that is blocked."""
        self.recoveries = recoveries
        """The designs in which a restore can be."""
        self.output_on_downstream = output_on_downstream
        self.closing = 0
        self.last_checkpoint = 0
        """The newest checkpoint that anybody has heard of."""
        self.alignments: dict[int, str] = {}
        self.cuts: dict[int, list[int | None]] = {}
        """By checkpoint and channel: how many records were sent before its barrier, or before the end of partition."""
        self.saved: dict[int, ChainCheckpoint] = {}
        """Completed checkpoints that were read, as they were."""
        self.taken_in: dict[int, str] = {}
        """By completed checkpoint: the design in which the chain that took it had recovered."""
        self.taken_during: dict[int, bool] = {}
        """By completed checkpoint: whether recovered data had not been counted yet when it began."""
        self.depths: dict[int, int] = {}
        """By completed checkpoint: how many restores it rests on."""
        self.depth = 0
        self.sights: dict[str, bool] = {}
        """What was worth seeing, noted where it happened: goals are asked for at the end of a run only."""
        self.generation = 0
        """How many ports there were before this one."""
        self._begin(recovery, restored, 0)

    def _begin(self, recovery: str, restored: ChainCheckpoint | None, origin: int) -> None:
        """A fresh chain, which takes over from a checkpoint or from nothing."""
        self.recovery = recovery
        self.restored = restored
        self.origin = origin
        """The checkpoint that this chain began with; 0: none."""
        recovers = recovery != NONE
        self.converted = not recovers
        self.requested = self.failed = False
        self.sides = [
            Side(kind == "remote", *self._shares(restored, channel), recovers)
            for channel, kind in enumerate(self.kinds)
        ]
        self.busy = 0
        """How many transfers, recovered records and elements to be consumed are in the middle of it."""
        self.awake = False
        """The consumer has a reason to poll."""
        self.urgent = self.urgent_while_recovering = self.urgent_while_blocked = False
        """An unaligned barrier was due when the consumer began to poll; in a channel with recovered data, or with a
        producer in the same process that was blocked."""
        self.known: list[int] = []
        """Checkpoints of this chain, in the order in which they became known."""
        self.newest = 0
        """The newest checkpoint that the consumer has heard of."""
        self.over = True
        """It is acknowledged or declined."""
        self.acknowledged: list[int] = []
        self.declined: list[int] = []
        self.inspected = 0

    def _shares(self, restored: ChainCheckpoint | None, channel: int) -> tuple[int, int, int]:
        """Of one channel: what was counted, and up to where the consumer, and then the producer, recover."""
        if restored is None:
            return 0, 0, 0
        counted = len(restored.counted[channel])
        input_end = counted + len(restored.input_state[channel])
        end = input_end + len(restored.output_state[channel])
        return counted, end if self.output_on_downstream else input_end, end

    # ---- questions -------------------------------------------------------------------------------------------------
    @property
    def phase(self) -> str:
        """Which steps can be meant at all."""
        if self.failed:
            return "failed"
        if not self.requested:
            return "starting"
        for side in self.sides:
            if not (side.input_done and side.output_done):
                return "recovering"
        return "live"

    def convertible(self) -> bool:
        """Whether no recovered channel would lose anything."""
        if self.recovery == PUSHED:
            return True
        if self.recovery == IN_MEMORY:
            return all(side.input_done for side in self.sides)
        return all(side.state_consumed for side in self.sides)

    def completes(self, channel: int, element: Element) -> int:
        """The checkpoint that is complete once this element was consumed; 0: none."""
        if type(element) is Barrier:
            if self.obsolete(element.checkpoint):
                return 0
            checkpoint, goes_on = element.checkpoint, element.checkpoint == self.newest
        elif type(element) is EndOfPartition and not self.over:
            checkpoint, goes_on = self.newest, True
        else:
            return 0
        for number, side in enumerate(self.sides):
            if number != channel and not side.ended and not (goes_on and side.got):
                return 0
        return checkpoint

    def obsolete(self, checkpoint: int) -> bool:
        """Its barrier means nothing to the consumer any more."""
        return checkpoint < self.newest or (checkpoint == self.newest and self.over)

    def cut(self, checkpoint: int, channel: int) -> int | None:
        """How many records were sent before the barrier; None if it is not known."""
        places = self.cuts.get(checkpoint)
        return None if places is None else places[channel]

    def recovering(self) -> bool:
        """Whether recovered records are still to be counted."""
        return any(side.counted < side.recovered_end for side in self.sides)

    # ---- what is learned -------------------------------------------------------------------------------------------
    def hear(self, signals: list[Any]) -> None:
        """The consumer was told something."""
        for signal in signals:
            kind = type(signal)
            if kind is DataAvailable or kind is PriorityAvailable:
                self.awake = True
            elif kind is StateConsumed:
                self.sides[signal.channel].state_consumed = True

    def begin_barrier(self, channel: int, checkpoint: int, alignment: str) -> None:
        """A producer takes its part of a checkpoint: the cut of this channel is here."""
        side = self.sides[channel]
        self.note_checkpoint(checkpoint, alignment)
        self.cuts[checkpoint][channel] = side.sent
        side.newest = checkpoint
        if alignment == "unaligned":
            side.unconsumed.append(checkpoint)
        side.attached = self.requested

    def note_checkpoint(self, checkpoint: int, alignment: str) -> None:
        """Somebody heard of it first."""
        if checkpoint not in self.alignments:
            self.alignments[checkpoint] = alignment
            self.cuts[checkpoint] = [None] * len(self.sides)
            self.known.append(checkpoint)
            self.last_checkpoint = max(self.last_checkpoint, checkpoint)

    def barrier_sent(self, channel: int, alignment: str) -> None:
        """The barrier stands in the subpartition, and whoever must be told was told."""
        side = self.sides[channel]
        side.idle = False
        if alignment != "unaligned":
            return
        if side.remote:
            side.leaving += 1
        elif side.attached and len(side.unconsumed) == 1 and self.passes_blocked:
            side.due = True

    def begin_transfer(self, channel: int) -> None:
        """The network follows what it was told until now."""
        side = self.sides[channel]
        self.busy += 1
        side.idle = True
        side.must_leave = side.leaving == 1 and len(side.unconsumed) == 1

    def transferred(self, channel: int, element: Element | None) -> None:
        """An element of a remote channel arrived at the consumer, or nothing could leave."""
        side = self.sides[channel]
        self.busy -= 1
        if element is None:
            return
        side.idle = False
        data_type = element.data_type
        if data_type.blocks_upstream:
            side.blocked = True
        if data_type.has_priority:
            side.leaving -= 1
            side.due = side.unconsumed == [element.checkpoint]  # type: ignore[union-attr]

    def begin_consume(self) -> None:
        """The consumer follows all that it was told until now."""
        self.awake = False
        self.busy += 1
        self.urgent = self.urgent_while_recovering = self.urgent_while_blocked = False
        for side in self.sides:
            if side.due:
                if side.blocked and not side.remote:
                    self.urgent_while_blocked = True
                elif side.counted < side.input_end:
                    self.urgent_while_recovering = True
                else:
                    self.urgent = True

    def consumed(self, value: Consumed | None, signals: list[Any]) -> None:
        """The consumer took an element and dealt with it; the properties have compared it with what was owed."""
        self.busy -= 1
        if value is None:
            return
        self.awake = True
        side = self.sides[value.channel]
        element = value.element
        kind = type(element)
        if kind is Data:
            side.counted += len(element.ids)  # type: ignore[union-attr]
            if side.remote:
                side.idle = False
            return
        for one in self.sides:
            one.idle = False
        if kind is RecoveryCompletion:
            self._completion_taken(side)
        elif type(element) is Barrier:
            self._barrier_taken(side, element)
        elif kind is EndOfPartition:
            side.ended = side.got = True
        for signal in signals:
            if type(signal) is CheckpointAcknowledged:
                if kind is EndOfPartition:
                    self.sights["completed by an end"] = True
                self._acknowledged(signal.checkpoint)
            elif type(signal) is CheckpointDeclined:
                self.sights["declined"] = True
                self.decline(signal.checkpoint)

    def _completion_taken(self, side: Side) -> None:
        side.completion_taken = side.blocked = True
        if all(one.completion_taken for one in self.sides):
            for one in self.sides:
                one.blocked = False

    def _barrier_taken(self, side: Side, barrier: Barrier) -> None:
        checkpoint = barrier.checkpoint
        unaligned = barrier.alignment == "unaligned"
        if unaligned:
            if side.blocked:
                self.sights["passed a blocked producer"] = True
            side.due = False
            if checkpoint in side.unconsumed:
                side.unconsumed.remove(checkpoint)
        if self.obsolete(checkpoint):
            self.sights["obsolete barrier"] = True
            if not unaligned:
                side.blocked = False
            return
        if checkpoint > self.newest:
            self._resume_all()
            self.newest = checkpoint
            self.over = False
            self.taken_during[checkpoint] = self.recovering()
            for one in self.sides:
                one.got = one.ended
        side.got = True
        if not unaligned:
            side.waits = side.blocked = True

    def _acknowledged(self, checkpoint: int) -> None:
        sights = self.sights
        if self.declined:
            sights["completed after a decline"] = True
        if self.alignments.get(checkpoint) == "aligned":
            sights["completed aligned"] = True
        if self.recovering():
            sights["completed during recovery"] = True
            for side in self.sides:
                if side.counted == side.begun < side.input_end:
                    sights["completed before any recovered"] = True
                if side.input_next < side.input_end:
                    sights["completed with a slice"] = True
        self.acknowledged.append(checkpoint)
        self.taken_in[checkpoint] = self.recovery
        self.depths[checkpoint] = self.depth
        cuts = self.cuts.get(checkpoint)
        if cuts is not None:
            for channel, side in enumerate(self.sides):
                if cuts[channel] is None and side.finished:
                    cuts[channel] = side.sent
        self._end(checkpoint)

    def decline(self, checkpoint: int) -> None:
        """The consumer will not complete it."""
        self.declined.append(checkpoint)
        self._end(checkpoint)

    def _end(self, checkpoint: int) -> None:
        if checkpoint == self.newest:
            self.over = True
            self._resume_all()

    def _resume_all(self) -> None:
        for side in self.sides:
            if side.waits:
                side.waits = side.blocked = False

    def triggered(self, checkpoint: int) -> None:
        """The consumer was asked too early."""
        self.newest = checkpoint
        self.decline(checkpoint)

    def requested_now(self) -> None:
        """The producers were asked for data."""
        self.requested = True
        for side in self.sides:
            side.idle = False

    def fail(self) -> None:
        """Everything was released, at whatever moment."""
        self.failed = True
        self.awake = False

    def restorable(self) -> list[int]:
        """The checkpoints that a restore can start from; 0, a start from nothing, is among them now and then."""
        here = [one for one in self.acknowledged if one not in self.saved]
        there = [*list(self.saved)[-2:], *here[-3:]]
        return [0, *there] if not there or self.generation % 4 == 1 else there

    def restore(self, origin: int, restored: ChainCheckpoint | None, recovery: str) -> None:
        """A fresh chain takes over."""
        if restored is not None:
            self.saved.pop(origin, None)  # those restored last are those restored again
            self.saved[origin] = restored
        self.depth = self.depths.get(origin, -1) + 1
        self.generation += 1
        self._begin(recovery, restored, origin)
