"""What the driver knows about a chain: what each producer sent, what the consumer counted, where the cuts are.

Records are numbered by channel in the order in which they are sent, across failures: after a restore the producers go
on behind the restored checkpoint, under the same numbers. The consumer must therefore count 0, 1, 2, … of each channel
for ever, and one integer by channel is the whole memory of what it has. The ledger never looks at an implementation.
"""

from __future__ import annotations

from dataclasses import dataclass

from msgspec.structs import replace

from conformance.components.chain.side import Side
from conformance.driver import Seen
from conformance.parts.lifetime import Lifetime
from conformance.ports import (
    Barrier,
    Buffer,
    ChainCheckpoint,
    ChainConfig,
    CheckpointAcknowledged,
    CheckpointDeclined,
    Consumed,
    DataAvailable,
    Element,
    EndOfPartition,
    PriorityAvailable,
    Recovery,
    RecoveryCompletion,
    Signal,
    StateConsumed,
)


@dataclass(slots=True)
class Cut:
    """Where the barriers of a checkpoint stand."""

    alignment: str
    sent: list[int | None]
    """By channel: how many records were sent before its barrier, or before the end of partition; None: not known."""


@dataclass(frozen=True, slots=True)
class Completed:
    """A checkpoint that was acknowledged."""

    design: str
    """How the chain that took it had recovered."""
    during_recovery: bool
    """Recovered data had not been counted yet when it began."""
    depth: int
    """How many restores it rests on."""


_NOTHING = Completed("", during_recovery=False, depth=-1)
"""A chain can also start without any checkpoint."""


class Ledger(Lifetime):
    """Kept up to date by the steps; read by enabledness and by rules."""

    __slots__ = (
        "acknowledged", "asked_for", "awake", "began_in_recovery", "completed", "config", "converted", "cuts",
        "declined", "generation", "known", "newest", "origin", "over", "passes_blocked", "reading", "recoveries",
        "saved", "sides", "urgent",
    )  # fmt: skip

    def __init__(self, config: ChainConfig, recoveries: tuple[str, ...], passes_blocked: bool) -> None:
        super().__init__()
        self.recoveries = recoveries
        """The designs in which a restore can be."""
        self.passes_blocked = passes_blocked
        """A priority event is announced at once also by a subpartition that is blocked."""
        self.cuts: dict[int, Cut] = {}
        """By checkpoint. They are numbered 1, 2, 3, … over all restores, in the order in which they became known."""
        self.completed = {0: _NOTHING}
        self.saved: dict[int, ChainCheckpoint] = {}
        """Completed checkpoints that were read for a restore, as they were."""
        self.reading = 0
        """The checkpoint that is being read back..."""
        self.asked_for = ""
        """... and the design in which it is to be restored."""
        self.generation = 0
        """How many chains there were before this one."""
        self._begin_chain(config, 0)

    def _begin_chain(self, config: ChainConfig, origin: int) -> None:
        """A fresh chain, which takes over from a checkpoint or from nothing."""
        self.begin_life("starting")
        self.config = config
        """What the port was made of."""
        self.origin = origin
        """The checkpoint of this run that the chain began with; 0: none."""
        self.converted = config.recovery is Recovery.NONE
        self.sides = [Side(config, channel) for channel in range(len(config.channels))]
        self.awake = False
        """The consumer was told something that it has not followed."""
        self.urgent: dict[str, int] = {}
        """Channels in which an unaligned barrier was due when the consumer began to poll, by what it must pass."""
        self.known: list[int] = []
        """Checkpoints of this chain, in the order in which they became known."""
        self.newest = 0
        """The newest checkpoint that the consumer has heard of..."""
        self.began_in_recovery = False
        """... whether recovered data had not been counted yet when it began..."""
        self.over = True
        """... and whether it is acknowledged or declined."""
        self.acknowledged: list[int] = []
        self.declined: list[int] = []

    # ---- questions -------------------------------------------------------------------------------------------------
    def is_connected(self) -> bool:
        """Whether the producers were asked for data; before a failure."""
        return self.phase != "starting"

    def convertible(self) -> bool:
        """Whether no recovered channel would lose anything."""
        if self.config.recovery is Recovery.PUSHED:
            return True
        if self.config.recovery is Recovery.IN_MEMORY:
            return all(side.input_done for side in self.sides)
        return all(side.state_consumed for side in self.sides)

    def completes(self, channel: int, element: Element) -> int:
        """The checkpoint that is complete once this element was consumed; 0: none."""
        if type(element) is Barrier and not self.obsolete(element.checkpoint):
            checkpoint, goes_on = element.checkpoint, element.checkpoint == self.newest
        elif type(element) is EndOfPartition and not self.over:
            checkpoint, goes_on = self.newest, True
        else:
            return 0
        for side in self.sides:
            if side.channel != channel and not side.ended and not (goes_on and side.got):
                return 0
        return checkpoint

    def obsolete(self, checkpoint: int) -> bool:
        """Whether its barrier means nothing to the consumer any more."""
        return checkpoint < self.newest or (checkpoint == self.newest and self.over)

    def has_ended(self, checkpoint: int) -> bool:
        """Whether it is known what became of a checkpoint of this chain."""
        return checkpoint in self.acknowledged or checkpoint in self.declined

    def recovering(self) -> bool:
        """Whether recovered records are still to be counted."""
        return any(side.counted < side.recovered_end for side in self.sides)

    def restorable(self) -> list[int]:
        """The checkpoints that a restore can start from; 0, a start from nothing, is among them now and then."""
        here = [one for one in self.acknowledged if one not in self.saved]
        there = [*list(self.saved)[-2:], *here[-3:]]
        return [0, *there] if not there or self.generation % 4 == 1 else there

    # ---- what producers and the recovery do ------------------------------------------------------------------------
    def hear(self, signals: list[Signal]) -> None:
        """The consumer was told something."""
        for signal in signals:
            if type(signal) is DataAvailable or type(signal) is PriorityAvailable:
                self.awake = True
            elif type(signal) is StateConsumed:
                self.sides[signal.channel].state_consumed = True

    def begin_send(self, channel: int, count: int) -> None:
        """Records are on their way: the next ones of this channel."""
        self.sides[channel].sent += count

    def begin_finish(self, channel: int) -> None:
        """The end of partition is on its way."""
        side = self.sides[channel]
        side.producing, side.finished = False, True

    def sent(self, channel: int, *rest: object) -> None:
        """Something may be able to leave its producer."""
        self.sides[channel].idle = False

    def begin_barrier(self, channel: int, checkpoint: int, alignment: str) -> None:
        """A producer takes its part of a checkpoint: the cut of this channel is here."""
        side = self.sides[channel]
        self._note_checkpoint(checkpoint, alignment)
        self.cuts[checkpoint].sent[channel] = side.sent
        side.newest = checkpoint
        if alignment == "unaligned":
            side.unconsumed.append(checkpoint)
        side.attached = self.is_connected()

    def _note_checkpoint(self, checkpoint: int, alignment: str) -> None:
        if checkpoint not in self.cuts:
            self.cuts[checkpoint] = Cut(alignment, [None] * len(self.sides))
            self.known.append(checkpoint)

    def barrier_sent(self, channel: int, checkpoint: int, alignment: str) -> None:
        """The barrier stands in the subpartition, and whoever must be told was told."""
        side = self.sides[channel]
        side.idle = False
        if alignment != "unaligned":
            return
        if side.remote:
            side.leaving += 1
        elif side.attached and len(side.unconsumed) == 1 and self.passes_blocked:
            side.due = True

    def output_recovered(self, channel: int) -> None:
        """A record of the output state is in the subpartition."""
        self.sides[channel].output_next += 1
        self.sent(channel)

    def output_finished(self, channel: int) -> None:
        """All of it is."""
        self.sides[channel].producing = True
        self.sent(channel)
        self._advance()

    def recovered(self, channel: int) -> None:
        """A record of the input state is in the gate."""
        self.end()
        self.sides[channel].input_next += 1

    def recovery_finished(self, channel: int) -> None:
        """All of it is."""
        self.sides[channel].input_done = True
        self._advance()

    def convert(self) -> None:
        """The channels of the gate are physical."""
        self.converted = True

    def request(self) -> None:
        """The producers were asked for data."""
        self.phase = "recovering"
        for side in self.sides:
            side.idle = False
        self._advance()

    def _advance(self) -> None:
        done = [side.input_done and (side.producing or side.finished) for side in self.sides]
        if self.phase == "recovering" and all(done):
            self.phase = "live"

    # ---- what the network and the consumer do ----------------------------------------------------------------------
    def begin_transfer(self, channel: int) -> None:
        """The network follows what it was told until now."""
        self.flying += 1
        side = self.sides[channel]
        side.idle = True
        side.must_leave = side.leaving == 1 and len(side.unconsumed) == 1

    def transferred(self, seen: Seen[Element | None], channel: int) -> None:
        """An element of a remote channel arrived at the consumer, or nothing could leave."""
        self.flying -= 1
        side, element = self.sides[channel], seen.value
        if element is None:
            return
        side.idle = False
        side.blocked |= element.data_type.blocks_upstream
        if type(element) is Barrier and element.data_type.has_priority:
            side.leaving -= 1
            side.due = side.unconsumed == [element.checkpoint]

    def begin_consume(self) -> None:
        """The consumer follows all that it was told until now."""
        self.flying += 1
        self.awake = False
        self.urgent = {side.must_pass(): side.channel for side in self.sides if side.due}

    def consumed(self, seen: Seen[Consumed | None]) -> None:
        """The consumer took an element and dealt with it; the rules have compared it with what was owed."""
        self.flying -= 1
        if seen.value is None:
            return
        self.awake = True
        side, element = self.sides[seen.value.channel], seen.value.element
        if type(element) is Buffer:
            side.counted += len(element.ids)
            side.idle &= not side.remote
            return
        for one in self.sides:
            one.idle = False
        if type(element) is RecoveryCompletion:
            self._completion_taken(side)
        elif type(element) is Barrier:
            self._barrier_taken(side, element)
        elif type(element) is EndOfPartition:
            side.ended = side.got = True
        for signal in seen.signals:
            if type(signal) is CheckpointAcknowledged:
                self._acknowledged(signal.checkpoint)
            elif type(signal) is CheckpointDeclined:
                self._declined(signal.checkpoint)

    def _completion_taken(self, side: Side) -> None:
        side.completion_taken = side.blocked = True
        if all(one.completion_taken for one in self.sides):
            for one in self.sides:
                one.blocked = False

    def _barrier_taken(self, side: Side, barrier: Barrier) -> None:
        checkpoint = barrier.checkpoint
        unaligned = barrier.alignment == "unaligned"
        if unaligned:
            side.due = False
            if checkpoint in side.unconsumed:
                side.unconsumed.remove(checkpoint)
        if self.obsolete(checkpoint):
            side.blocked &= unaligned
            return
        if checkpoint > self.newest:
            self._resume_all()
            self.newest = checkpoint
            self.over = False
            self.began_in_recovery = self.recovering()
            for one in self.sides:
                one.got = one.ended
        side.got = True
        if not unaligned:
            side.waits = side.blocked = True

    def _acknowledged(self, checkpoint: int) -> None:
        self.acknowledged.append(checkpoint)
        depth = self.completed[self.origin].depth + 1
        self.completed[checkpoint] = Completed(self.config.recovery, self.began_in_recovery, depth)
        sent = self.cuts[checkpoint].sent
        for side in self.sides:
            if sent[side.channel] is None and side.finished:
                sent[side.channel] = side.sent
        self._end_of(checkpoint)

    def _declined(self, checkpoint: int) -> None:
        self.declined.append(checkpoint)
        self._end_of(checkpoint)

    def _end_of(self, checkpoint: int) -> None:
        if checkpoint == self.newest:
            self.over = True
            self._resume_all()

    def _resume_all(self) -> None:
        for side in self.sides:
            if side.waits:
                side.waits = side.blocked = False

    def begin_trigger(self, checkpoint: int) -> None:
        """The consumer is asked for a checkpoint that nobody has heard of."""
        self._note_checkpoint(checkpoint, "unaligned")

    def triggered(self, checkpoint: int) -> None:
        """The consumer was asked too early, and declined."""
        self.newest = checkpoint
        self._declined(checkpoint)

    # ---- failures --------------------------------------------------------------------------------------------------
    def begin_read(self, checkpoint: int) -> None:
        """A checkpoint is read back."""
        self.reading = checkpoint

    def end_read(self, *operands: object) -> None:
        """It was, and nobody looks at it any more."""
        self.reading, self.asked_for = 0, ""

    def begin_restore(self, checkpoint: int, recovery: str) -> None:
        """It is read back for a restore in this design."""
        self.reading = checkpoint
        self.asked_for = recovery

    def restore(self, seen: Seen[ChainCheckpoint | None], checkpoint: int, recovery: str) -> None:
        """A fresh chain takes over."""
        restored = seen.value
        if restored is not None:
            self.saved.pop(checkpoint, None)  # those restored last are those restored again
            self.saved[checkpoint] = restored
        self.generation += 1
        self.end_read()
        self._begin_chain(replace(self.config, recovery=Recovery(recovery), restored=restored), checkpoint)
