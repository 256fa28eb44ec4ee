"""The ledger of a chain: what each producer sent, what the consumer counted, and where the barriers stand.

Records are numbered by channel in the order in which they are sent, across failures: after a restore the producers go
on behind the restored checkpoint, under the same numbers. The consumer must therefore count 0, 1, 2, … of each channel
for ever, and one integer by channel says which records it has. The ledger never looks at an implementation.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from conformance.components.chain.checkpoints import (
    ABSENT,
    COMPLETED,
    DECLINED,
    NOTHING,
    OBSOLETE,
    PENDING,
    UNFINISHED,
    Completed,
    Cut,
)
from conformance.components.chain.side import Side
from conformance.driver import BROKEN, PortLedger, Seen
from conformance.models.alignment import BarrierAlignment
from conformance.models.consumer import Consumer
from conformance.ports import (
    Barrier,
    Buffer,
    ChainCheckpoint,
    ChainConfig,
    CheckpointAcknowledged,
    CheckpointDeclined,
    CheckpointStatus,
    Consumed,
    CreditAnnounced,
    DataAvailable,
    Element,
    EndOfPartition,
    Places,
    PriorityAvailable,
    Recovery,
    RecoveryCompletion,
    Signal,
    StateConsumed,
)


class Ledger(PortLedger):
    """What the rules and the steps read, and how the steps change it."""

    __slots__ = (
        "alignment", "asked_for", "began_in_recovery", "broke", "completed", "config", "consumer", "consuming",
        "converted", "cuts", "fell_back", "generation", "known", "origin", "passes_blocked", "reading", "recoveries",
        "saved", "sides", "unwritten", "urgent",
    )  # fmt: skip

    def __init__(
        self, config: ChainConfig, recoveries: tuple[str, ...], passes_blocked: bool, can_fail: Places
    ) -> None:
        super().__init__(can_fail)
        self.recoveries = recoveries
        """The recovery designs with which a restore can be done."""
        self.passes_blocked = passes_blocked
        """Whether a blocked subpartition, too, notifies the consumer of a priority event at once."""
        self.cuts: dict[int, Cut] = {}
        """The cuts by checkpoint. Checkpoints are numbered 1, 2, 3, … across restores, in the order of their first
        step."""
        self.completed = {0: NOTHING}
        self.saved: dict[int, ChainCheckpoint] = {}
        """Completed checkpoints that were restored, as they were read back."""
        self.reading = 0
        """The checkpoint that the current step reads back; 0: none."""
        self.asked_for = ""
        """The recovery design with which it is restored; empty: it is only read."""
        self.generation = 0
        """Number of chains before this one."""
        self.broke = False
        """Whether something failed that this chain has called, so that its task failed."""
        self.begin_chain(config, 0)

    def begin_chain(self, config: ChainConfig, origin: int) -> None:
        """Begins with a fresh chain, which was restored from checkpoint `origin` or started without one."""
        self.begin_life("starting")
        self.config = config
        """The configuration of the port."""
        self.origin = origin
        """The checkpoint of this run from which the chain was restored; 0: none."""
        self.converted = config.recovery is Recovery.NONE
        self.sides = [Side(config, channel) for channel in range(len(config.channels))]
        self.consumer = Consumer(most_empty_takes=3)
        self.consuming = False
        """Whether the consumer is in the middle of something: a poll, or a checkpoint that it was asked for."""
        self.urgent: dict[str, int] = {}
        """By what the barrier must pass, a channel in which an unaligned barrier was due when the last poll began."""
        self.known: list[int] = []
        """The checkpoints of this chain, in the order of their first step."""
        self.alignment = BarrierAlignment(len(config.channels))
        """The consumer acknowledges a checkpoint as soon as it is triggered, and triggers it with the last barrier."""
        self.began_in_recovery = False
        """Whether recovered records were not counted yet when the current checkpoint started."""
        self.fell_back, self.broke = self.broke, False
        """Whether the task of the chain before this one failed because something failed that it had called."""
        self.unwritten: list[int] = []
        """The checkpoints that cannot complete any more, because some of their state could not be written."""

    # ---- queries -----------------------------------------------------------------------------------------------------
    def is_connected(self) -> bool:
        """Returns whether partitions were requested, provided that the chain has not failed."""
        return self.phase != "starting"

    def convertible(self) -> bool:
        """Returns whether a conversion loses no state of any channel."""
        if self.config.recovery is Recovery.PUSHED:
            return True
        if self.config.recovery is Recovery.IN_MEMORY:
            return all(side.input_done for side in self.sides)
        return all(side.state_consumed for side in self.sides)

    def completes(self, channel: int, element: Element) -> int:
        """Returns the checkpoint that is complete when the consumer has taken this element; 0: none."""
        alignment = self.alignment
        if type(element) is Barrier and not alignment.is_obsolete(element.checkpoint):
            checkpoint = element.checkpoint
        elif type(element) is EndOfPartition:
            checkpoint = alignment.pending
        else:
            return 0
        return checkpoint if alignment.missing(checkpoint) in ([], [channel]) else 0

    def how_far(self, checkpoint: int) -> tuple[CheckpointStatus, ...]:
        """Returns the statuses with which this checkpoint may be read back."""
        alignment = self.alignment
        if checkpoint in alignment.triggered:
            return COMPLETED
        if checkpoint in alignment.declined:
            return DECLINED
        if self.broke:
            return UNFINISHED
        if checkpoint > alignment.current:
            return ABSENT
        return OBSOLETE if alignment.is_obsolete(checkpoint) else PENDING

    def recovering(self) -> bool:
        """Returns whether recovered records were not counted yet."""
        return any(side.counted < side.recovered_end for side in self.sides)

    def restorable(self) -> list[int]:
        """Returns the checkpoints that can be restored; 0, a start without a checkpoint, is among them now and then."""
        here = [one for one in self.alignment.triggered if one not in self.saved]
        there = [*list(self.saved)[-2:], *here[-3:]]
        return [0, *there] if not there or self.generation % 4 == 1 else there

    def holds(self) -> dict[str, tuple[int, int]]:
        """Returns, for each field of `Resources` that the ledger knows, the least and the most that the chain holds."""
        config, connected = self.config, self.is_connected()
        own = config.exclusive_buffers + config.floating_buffers
        least = most = 0
        recovering = not self.converted
        for side in self.sides:
            pushed = side.in_recovery(config.recovery)
            recovering |= pushed
            there = side.arrived + side.credit.granted
            least += there + (side.buffers if side.producing or side.end_sent else 0)  # output may come later
            most += there + side.buffers + max(side.input_end - side.counted, 0)
            if side.remote and (pushed or not connected):  # what is set aside is not announced yet
                most += own
        attached = self.alignment.ended.count(False) if connected else 0
        lining_up = sum(side.remote for side in self.sides)  # channels that may wait for a floating buffer
        listeners = attached, len(self.sides) + lining_up if connected else 0
        futures = 0, 2 * len(self.sides) if recovering else 0
        return {"segments": (least, most), "listeners": listeners, "futures": futures}

    # ---- producers and recovery --------------------------------------------------------------------------------------
    def hear(self, signals: list[Signal]) -> None:
        """Notes the notifications of the consumer, and the credit that is announced to the producers."""
        for signal in signals:
            if type(signal) is DataAvailable or type(signal) is PriorityAvailable:
                self.consumer.awake = True
            elif type(signal) is CreditAnnounced:
                self._credit_announced(self.sides[signal.channel], signal.credit)
            elif type(signal) is StateConsumed:
                self.sides[signal.channel].state_consumed = True
            elif self.phase == BROKEN:
                self._ended_anyway(signal)

    def _credit_announced(self, side: Side, credit: int) -> None:
        side.credit.granted += credit
        side.idle = False
        side.early |= side.in_recovery(self.config.recovery)

    def begin_send(self, channel: int, count: int) -> None:
        """Notes that the producer of a channel begins to send its next records."""
        self.sides[channel].sent += count

    def begin_finish(self, channel: int) -> None:
        """Notes that the producer of a channel begins to send the end of partition."""
        side = self.sides[channel]
        side.producing, side.end_sent = False, True

    def sent(self, channel: int, *rest: object) -> None:
        """Notes that the producer of a channel has sent something, so that an element may be able to leave it."""
        self.consumer.empty_takes = 0
        self.sides[channel].idle = False

    def data_sent(self, channel: int, *rest: object) -> None:
        """Notes that the producer of a channel has sent a data buffer."""
        self.sides[channel].buffers += 1
        self.sent(channel)

    def begin_barrier(self, channel: int, checkpoint: int, alignment: str) -> None:
        """Notes that a producer begins to send a barrier: the cut of this channel is here."""
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
        """Notes that the barrier is in the subpartition, and that the subpartition has notified its reader."""
        side = self.sides[channel]
        self.sent(channel)
        if alignment != "unaligned":
            return
        if side.remote:
            side.leaving += 1
        elif side.attached and self.passes_blocked and len(side.unconsumed) <= len(side.due) + 1:
            side.arrive(checkpoint)

    def output_recovered(self, channel: int) -> None:
        """Notes that a record of the output state was pushed into the subpartition."""
        self.sides[channel].output_next += 1
        self.data_sent(channel)

    def output_finished(self, channel: int) -> None:
        """Notes that the output state of a channel was pushed completely: the producer starts."""
        self.sides[channel].producing = True
        self.sent(channel)
        self._advance()

    def recovered(self, channel: int) -> None:
        """Notes that a record of the input state was pushed into the gate."""
        self.end()
        self.consumer.empty_takes = 0
        self.sides[channel].input_next += 1

    def recovery_finished(self, channel: int) -> None:
        """Notes that the input state of a channel was pushed completely."""
        self.consumer.empty_takes = 0
        self.sides[channel].input_done = True
        self._advance()

    def convert(self) -> None:
        """Notes that the channels of the gate were converted."""
        self.converted = True

    def request(self) -> None:
        """Notes that partitions were requested."""
        if self.broke:
            return  # the task failed meanwhile
        self.phase = "recovering"
        for side in self.sides:
            side.idle = False
            if side.remote and not side.in_recovery(self.config.recovery):
                side.credit.open()
        self._advance()

    def _advance(self) -> None:
        done = [side.input_done and (side.producing or side.end_sent) for side in self.sides]
        if self.phase == "recovering" and all(done):
            self.phase = "live"

    # ---- network and consumer ----------------------------------------------------------------------------------------
    def begin_transfer(self, channel: int) -> None:
        """Notes that a transfer begins, which acts on all notifications until now."""
        self.flying += 1
        self.consumer.empty_takes = 0
        side = self.sides[channel]
        side.idle = True
        side.had = side.credit.granted
        side.must_leave = side.leaving > 0

    def transferred(self, seen: Seen[Element | None], channel: int) -> None:
        """Notes that an element of a remote channel arrived at the consumer, or that no element could leave."""
        self.flying -= 1
        side, element = self.sides[channel], seen.value
        if element is None:
            return
        side.idle = False
        if type(element) is Buffer:
            side.credit.spend()
            side.buffers -= 1
            side.arrived += 1
            return
        if element.data_type.blocks_upstream:
            self._blocked(side)
        if type(element) is Barrier and element.data_type.has_priority:
            side.leaving -= 1
            side.arrive(element.checkpoint)

    def _blocked(self, side: Side) -> None:
        side.blocked = True
        side.credit.lose()
        if not self.config.exclusive_buffers:  # its floating buffers return to the pool, from which others may get them
            for one in self.sides:
                one.idle = False

    def begin_consume(self) -> None:
        """Notes that a poll of the consumer begins, which acts on all notifications until now."""
        self.flying += 1
        self.consuming = True
        self.consumer.awake = False
        self.urgent = {side.must_pass(): side.channel for side in self.sides if side.due}

    def consumed(self, seen: Seen[Consumed | None]) -> None:
        """Notes that the consumer took an element and dealt with it. The rules have already judged the element."""
        self.flying -= 1
        self.consuming = False
        if seen.value is None:
            self.consumer.empty_takes += 1
            return
        self.consumer.empty_takes = 0
        self.consumer.awake |= seen.value.more
        side, element = self.sides[seen.value.channel], seen.value.element
        if type(element) is Buffer:
            self._counted(side, element.ids)
            return
        for one in self.sides:
            one.idle = False
        if type(element) is RecoveryCompletion:
            self._completion_taken(side)
        elif type(element) is Barrier:
            self._barrier_taken(side, element)
        elif type(element) is EndOfPartition:
            self.alignment.end_of(side.channel)
            side.credit.end()
        for signal in seen.signals:
            if type(signal) is CheckpointAcknowledged:
                self._acknowledged(signal.checkpoint)
            elif type(signal) is CheckpointDeclined:
                self._declined(signal.checkpoint)

    def _counted(self, side: Side, ids: tuple[int, ...]) -> None:
        if ids and ids[0] >= side.input_end:  # it came from the producer
            if side.remote:
                side.arrived -= 1
            else:
                side.buffers -= 1
        side.counted += len(ids)
        for one in self.sides:
            one.idle &= not one.remote

    def _completion_taken(self, side: Side) -> None:
        side.completion_taken = side.blocked = True
        if all(one.completion_taken for one in self.sides):
            for one in self.sides:
                one.blocked = False

    def _barrier_taken(self, side: Side, barrier: Barrier) -> None:
        checkpoint = barrier.checkpoint
        unaligned = barrier.alignment == "unaligned"
        if unaligned:
            side.take_barrier(checkpoint)
        if self.alignment.is_obsolete(checkpoint):
            side.blocked &= unaligned
            return
        if checkpoint > self.alignment.current:
            self._resume_all()
            self.began_in_recovery = self.recovering()
        self.alignment.barrier(side.channel, checkpoint, barrier.alignment)
        if not unaligned:
            side.waits = side.blocked = True

    def _acknowledged(self, checkpoint: int) -> None:
        depth = self.completed[self.origin].depth + 1
        self.completed[checkpoint] = Completed(self.config.recovery, self.began_in_recovery, depth)
        sent = self.cuts[checkpoint].sent
        for side in self.sides:
            if sent[side.channel] is None and side.end_sent:
                sent[side.channel] = side.sent
        if self.alignment.trigger(checkpoint, self.cuts[checkpoint].alignment == "unaligned"):
            self._resume_all()

    def _declined(self, checkpoint: int) -> None:
        if self.alignment.decline(checkpoint):
            self._resume_all()

    def _resume_all(self) -> None:
        for side in self.sides:
            if side.waits:
                side.waits = side.blocked = False

    def begin_trigger(self, checkpoint: int) -> None:
        """Notes that the consumer is asked for a new checkpoint."""
        self.consuming = True
        self._note_checkpoint(checkpoint, "unaligned")

    def triggered(self, checkpoint: int) -> None:
        """Notes that the consumer declined the checkpoint, because it was asked before the conversion."""
        self.consuming = False
        self.alignment.begin(checkpoint)
        self._declined(checkpoint)

    # ---- faults ------------------------------------------------------------------------------------------------------
    def break_down(self, seen: Seen[Any], *operands: Any) -> None:
        """Notes that an operation failed with what it has called, so that the task fails."""
        super().break_down(seen, *operands)
        self.broke = True

    def barrier_failed(self, seen: Seen[None], channel: int, checkpoint: int, alignment: str) -> None:
        """Notes that the output state of a channel could not be written for a checkpoint."""
        self.unwritten.append(checkpoint)
        self.break_down(seen)

    def recover_failed(self, seen: Seen[None], channel: int) -> None:
        """Notes that a record of the input state could not be pushed into the gate."""
        self.flying -= 1
        self.break_down(seen)

    def transfer_failed(self, seen: Seen[Any], *operands: int) -> None:
        """Notes that input state could not be written: no checkpoint that is not over can complete any more."""
        self.flying -= 1
        self.unwritten = [one for one in self.known if not self.alignment.was_triggered_or_declined(one)]
        self.break_down(seen)

    def consume_failed(self, seen: Seen[Any]) -> None:
        """Notes that the consumer could not write input state. Before, it may have declined an older checkpoint."""
        self.consuming = False
        self.transfer_failed(seen)
        for signal in seen.signals:
            self._ended_anyway(signal)

    def _ended_anyway(self, signal: Signal) -> None:
        """Notes that a checkpoint ended while the task failed."""
        if type(signal) is CheckpointAcknowledged and not self.alignment.was_triggered_or_declined(signal.checkpoint):
            self._acknowledged(signal.checkpoint)
        elif type(signal) is CheckpointDeclined and not self.alignment.was_triggered_or_declined(signal.checkpoint):
            self._declined(signal.checkpoint)

    # ---- failures ----------------------------------------------------------------------------------------------------
    def begin_read(self, checkpoint: int) -> None:
        """Notes that a checkpoint is read back."""
        self.reading = checkpoint

    def end_read(self, *operands: object) -> None:
        """Notes that no checkpoint is read back any more."""
        self.reading, self.asked_for = 0, ""

    def begin_restore(self, checkpoint: int, recovery: str) -> None:
        """Notes that a checkpoint is read back for a restore with this recovery design."""
        self.reading = checkpoint
        self.asked_for = recovery

    def restore(self, seen: Seen[ChainCheckpoint | None], checkpoint: int, recovery: str) -> None:
        """Begins with a fresh chain that is restored from this checkpoint with this recovery design."""
        restored = seen.value
        if restored is not None:
            self.saved.pop(checkpoint, None)  # moves it to the end: `restorable` offers the last two again
            self.saved[checkpoint] = restored
        self.generation += 1
        self.end_read()
        self.begin_chain(replace(self.config, recovery=Recovery(recovery), restored=restored), checkpoint)
