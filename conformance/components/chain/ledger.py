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
    OBSOLETE,
    PENDING,
    UNFINISHED,
    Checkpoints,
    Completed,
    Cut,
    History,
)
from conformance.components.chain.lane import Lane
from conformance.driver import BROKEN, PortLedger, Seen
from conformance.models.alignment import BarrierAlignment
from conformance.models.consumer import Consumer
from conformance.ports import (
    Alignment,
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
        "alignment", "checkpoints", "config", "consumer", "consuming", "converted", "history", "lanes",
        "passes_blocked", "recoveries", "urgent",
    )  # fmt: skip

    def __init__(
        self, config: ChainConfig, recoveries: tuple[str, ...], passes_blocked: bool, can_fail: Places
    ) -> None:
        super().__init__(can_fail)
        self.recoveries = recoveries
        """The recovery designs with which a restore can be done."""
        self.passes_blocked = passes_blocked
        """Whether a blocked subpartition, too, notifies the consumer of a priority event at once."""
        self.history = History()
        self.begin_chain(config, 0)

    def begin_chain(self, config: ChainConfig, origin: int) -> None:
        """Begins with a fresh chain, which was restored from checkpoint `origin` or started without one."""
        self.begin_life("starting")
        self.history.begin_chain(origin)
        self.config = config
        """The configuration of the port."""
        self.converted = config.recovery is Recovery.NONE
        self.lanes = [Lane(config, channel, self.passes_blocked) for channel in range(len(config.channels))]
        self.consumer = Consumer(most_empty_takes=3)
        self.consuming = False
        """Whether the consumer is in the middle of something: a poll, or a checkpoint that it was asked for."""
        self.urgent: dict[str, int] = {}
        """By what an unaligned barrier must pass, a channel whose barrier was due when the last poll began."""
        self.checkpoints = Checkpoints()
        self.alignment = BarrierAlignment(len(config.channels))
        """The consumer acknowledges a checkpoint as soon as it is triggered, and triggers it with the last barrier."""

    # ---- queries -----------------------------------------------------------------------------------------------------
    def is_connected(self) -> bool:
        """Returns whether partitions were requested, provided that the chain has not failed."""
        return self.phase != "starting"

    def convertible(self) -> bool:
        """Returns whether a conversion loses no state of any channel."""
        if self.config.recovery is Recovery.PUSHED:
            return True
        if self.config.recovery is Recovery.IN_MEMORY:
            return False not in [lane.input_done for lane in self.lanes]
        return False not in [lane.state_consumed for lane in self.lanes]

    def overtakes(self, alignment: str) -> bool:
        """Returns whether a barrier of a checkpoint that began so has priority on the edge."""
        return self.config.unaligned and alignment == "unaligned"

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
        if self.history.broke:
            return UNFINISHED
        if checkpoint > alignment.current:
            return ABSENT
        return OBSOLETE if alignment.is_obsolete(checkpoint) else PENDING

    def recovering(self) -> bool:
        """Returns whether recovered records were not counted yet."""
        return any(lane.counted < lane.recovered_end for lane in self.lanes)

    def restorable(self) -> list[int]:
        """Returns the checkpoints that can be restored; 0, a start without a checkpoint, is among them now and then."""
        here = [one for one in self.alignment.triggered if one not in self.history.saved]
        there = [*list(self.history.saved)[-2:], *here[-3:]]
        return [0, *there] if not there or self.history.generation % 4 == 1 else there

    def least_and_most(self) -> dict[str, tuple[int, int]]:
        """Returns, for each field of `Resources` that the ledger knows, the least and the most that the chain holds."""
        config, connected = self.config, self.is_connected()
        own = config.exclusive_buffers + config.floating_buffers
        least = most = 0
        recovering = not self.converted
        for lane in self.lanes:
            pushed = lane.is_pushed(config.recovery)
            recovering |= pushed
            there = lane.at_consumer + lane.credit.granted
            least += there + (lane.at_producer if lane.producing or lane.over else 0)  # output may come later
            most += there + lane.at_producer + max(lane.input_end - lane.counted, 0)
            if lane.remote and (pushed or not connected):  # what is set aside is not announced yet
                most += own
        attached = self.alignment.ended.count(False) if connected else 0
        lining_up = sum(lane.remote for lane in self.lanes)  # channels that may wait for a floating buffer
        listeners = attached, len(self.lanes) + lining_up if connected else 0
        futures = 0, 2 * len(self.lanes) if recovering else 0
        return {"segments": (least, most), "listeners": listeners, "futures": futures}

    # ---- producers and recovery --------------------------------------------------------------------------------------
    def hear(self, signals: list[Signal]) -> None:
        """Notes the notifications of the consumer, and the credit that is announced to the producers."""
        for signal in signals:
            if type(signal) is DataAvailable or type(signal) is PriorityAvailable:
                self.consumer.awake = True
            elif type(signal) is CreditAnnounced:
                self._credit_announced(self.lanes[signal.channel], signal.credit)
            elif type(signal) is StateConsumed:
                self.lanes[signal.channel].state_consumed = True
            elif self.phase == BROKEN:
                self._ended_anyway(signal)

    def _credit_announced(self, lane: Lane, credit: int) -> None:
        lane.credit.granted += credit
        lane.idle = False
        lane.early |= lane.is_pushed(self.config.recovery)

    def begin_send(self, channel: int, count: int) -> None:
        """Notes that the producer of a channel begins to send its next records."""
        self.lanes[channel].sent += count

    def begin_finish(self, channel: int) -> None:
        """Notes that the producer of a channel begins to send the end of partition."""
        lane = self.lanes[channel]
        lane.producing, lane.over = False, True

    def sent(self, channel: int, *rest: object) -> None:
        """Notes that the producer of a channel has sent something, so that an element may be able to leave it."""
        self.consumer.empty_takes = 0
        self.lanes[channel].idle = False

    def data_sent(self, channel: int, *rest: object) -> None:
        """Notes that the producer of a channel has sent a data buffer."""
        self.lanes[channel].at_producer += 1
        self.sent(channel)

    def begin_barrier(self, channel: int, checkpoint: int, alignment: str) -> None:
        """Notes that a producer begins to send a barrier: the cut of this channel is here."""
        lane = self.lanes[channel]
        self._note_checkpoint(checkpoint, alignment)
        self.history.cuts[checkpoint].sent[channel] = lane.sent
        lane.newest = checkpoint
        if self.overtakes(alignment):
            lane.send(Barrier(checkpoint, Alignment.UNALIGNED))
        lane.attached = self.is_connected()

    def _note_checkpoint(self, checkpoint: int, alignment: str) -> None:
        if checkpoint not in self.history.cuts:
            crossing = "unaligned" if self.overtakes(alignment) else "aligned"
            self.history.cuts[checkpoint] = Cut(alignment, crossing, [None] * len(self.lanes))
            self.checkpoints.known.append(checkpoint)

    def barrier_sent(self, channel: int, checkpoint: int, alignment: str) -> None:
        """Notes that the barrier is in the subpartition, and that the subpartition has notified its reader."""
        lane = self.lanes[channel]
        self.sent(channel)
        if not self.overtakes(alignment):
            return
        if lane.remote:
            lane.leaving += 1
        elif lane.attached and self.passes_blocked and lane.arrives_next():
            lane.arrive(checkpoint)

    def output_recovered(self, channel: int) -> None:
        """Notes that a record of the output state was pushed into the subpartition."""
        self.lanes[channel].output_next += 1
        self.data_sent(channel)

    def output_finished(self, channel: int) -> None:
        """Notes that the output state of a channel was pushed completely: the producer starts."""
        self.lanes[channel].producing = True
        self.sent(channel)
        self._advance()

    def recovered(self, channel: int) -> None:
        """Notes that a record of the input state was pushed into the gate."""
        self.end()
        self.consumer.empty_takes = 0
        self.lanes[channel].input_next += 1

    def recovery_finished(self, channel: int) -> None:
        """Notes that the input state of a channel was pushed completely."""
        self.consumer.empty_takes = 0
        self.lanes[channel].input_done = True
        self._advance()

    def convert(self) -> None:
        """Notes that the channels of the gate were converted."""
        self.converted = True

    def request(self) -> None:
        """Notes that partitions were requested."""
        if self.history.broke:
            return  # the task failed meanwhile
        self.phase = "recovering"
        for lane in self.lanes:
            lane.idle = False
            if lane.remote and not lane.is_pushed(self.config.recovery):
                lane.credit.open()
        self._advance()

    def _advance(self) -> None:
        done = [lane.input_done and (lane.producing or lane.over) for lane in self.lanes]
        if self.phase == "recovering" and all(done):
            self.phase = "live"

    # ---- network and consumer ----------------------------------------------------------------------------------------
    def begin_transfer(self, channel: int) -> None:
        """Notes that a transfer begins, which acts on all notifications until now."""
        self.flying += 1
        self.consumer.empty_takes = 0
        lane = self.lanes[channel]
        lane.idle = True
        lane.had = lane.credit.granted
        lane.must_leave = lane.leaving > 0

    def transferred(self, seen: Seen[Element | None], channel: int) -> None:
        """Notes that an element of a remote channel arrived at the consumer, or that no element could leave."""
        self.flying -= 1
        lane, element = self.lanes[channel], seen.value
        if element is None:
            return
        lane.idle = False
        if type(element) is Buffer:
            lane.credit.spend()
            lane.at_producer -= 1
            lane.at_consumer += 1
            return
        if element.data_type.blocks_upstream:
            self._blocked(lane)
        if type(element) is Barrier and element.data_type.has_priority:
            lane.leaving -= 1
            lane.arrive(element.checkpoint)

    def _blocked(self, lane: Lane) -> None:
        lane.blocked = True
        lane.credit.lose()
        if not self.config.exclusive_buffers:  # its floating buffers return to the pool, from which others may get them
            for one in self.lanes:
                one.idle = False

    def begin_consume(self) -> None:
        """Notes that a poll of the consumer begins, which acts on all notifications until now."""
        self.flying += 1
        self.consuming = True
        self.consumer.awake = False
        self.urgent = {lane.must_pass(): lane.channel for lane in self.lanes if lane.priority_waits()}

    def consumed(self, seen: Seen[Consumed | None]) -> None:
        """Notes that the consumer took an element and dealt with it. The rules have already judged the element."""
        self.flying -= 1
        self.consuming = False
        if seen.value is None:
            self.consumer.empty_takes += 1
            return
        self.consumer.empty_takes = 0
        self.consumer.awake |= seen.value.more
        lane, element = self.lanes[seen.value.channel], seen.value.element
        if type(element) is Buffer:
            self._counted(lane, element.ids)
            return
        for one in self.lanes:
            one.idle = False
        if type(element) is RecoveryCompletion:
            self._completion_taken(lane)
        elif type(element) is Barrier:
            self._barrier_taken(lane, element)
        elif type(element) is EndOfPartition:
            self.alignment.end_of(lane.channel)
            lane.credit.end()
        for signal in seen.signals:
            if type(signal) is CheckpointAcknowledged:
                self._acknowledged(signal)
            elif type(signal) is CheckpointDeclined:
                self._declined(signal.checkpoint)

    def _counted(self, lane: Lane, ids: tuple[int, ...]) -> None:
        if ids and ids[0] >= lane.input_end:  # it came from the producer
            if lane.remote:
                lane.at_consumer -= 1
            else:
                lane.at_producer -= 1
        lane.counted += len(ids)
        for one in self.lanes:
            one.idle &= not one.remote

    def _completion_taken(self, lane: Lane) -> None:
        lane.completion_taken = lane.blocked = True
        if all(one.completion_taken for one in self.lanes):
            for one in self.lanes:
                one.blocked = False

    def _barrier_taken(self, lane: Lane, barrier: Barrier) -> None:
        checkpoint = barrier.checkpoint
        unaligned = barrier.alignment == "unaligned"
        if unaligned:
            lane.take_barrier(checkpoint)
        if self.alignment.is_obsolete(checkpoint):
            lane.blocked &= unaligned
            return
        if checkpoint > self.alignment.current:
            self._resume_all()
            self.checkpoints.began_in_recovery = self.recovering()
        self.alignment.barrier(lane.channel, checkpoint, barrier.alignment)
        if not unaligned:
            lane.waits = lane.blocked = True

    def _acknowledged(self, signal: CheckpointAcknowledged) -> None:
        checkpoint = signal.checkpoint
        if signal.taken is not None:
            self.history.said[checkpoint] = signal.taken
        depth = self.history.completed[self.history.origin].depth + 1
        self.history.completed[checkpoint] = Completed(self.config.recovery, self.checkpoints.began_in_recovery, depth)
        sent = self.history.cuts[checkpoint].sent
        for lane in self.lanes:
            if sent[lane.channel] is None and lane.over:
                sent[lane.channel] = lane.sent
        if self.alignment.trigger(checkpoint, self.history.cuts[checkpoint].alignment == "unaligned"):
            self._resume_all()

    def _declined(self, checkpoint: int) -> None:
        if self.alignment.decline(checkpoint):
            self._resume_all()

    def _resume_all(self) -> None:
        for lane in self.lanes:
            if lane.waits:
                lane.waits = lane.blocked = False

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
        self.history.broke = True

    def barrier_failed(self, seen: Seen[None], channel: int, checkpoint: int, alignment: str) -> None:
        """Notes that the output state of a channel could not be written for a checkpoint."""
        self.checkpoints.unwritten.append(checkpoint)
        self.break_down(seen)

    def recover_failed(self, seen: Seen[None], channel: int) -> None:
        """Notes that a record of the input state could not be pushed into the gate."""
        self.flying -= 1
        self.break_down(seen)

    def transfer_failed(self, seen: Seen[Any], *operands: int) -> None:
        """Notes that input state could not be written."""
        self.flying -= 1
        self._break_checkpoints(seen)

    def consume_failed(self, seen: Seen[Any]) -> None:
        """Notes that the consumer could not write input state, or not begin or end the writing of a checkpoint."""
        self.flying -= 1
        self._consumer_failed(seen)

    def trigger_failed(self, seen: Seen[Any], checkpoint: int) -> None:
        """Notes that the consumer could not begin the writing of a checkpoint."""
        self._consumer_failed(seen)

    def _break_checkpoints(self, seen: Seen[Any]) -> None:
        """Notes that no checkpoint that is not over can complete any more."""
        self.checkpoints.unwritten = [
            one for one in self.checkpoints.known if not self.alignment.was_triggered_or_declined(one)
        ]
        self.break_down(seen)

    def _consumer_failed(self, seen: Seen[Any]) -> None:
        """Notes that the consumer fails. Before, it may have declined an older checkpoint."""
        self.consuming = False
        self._break_checkpoints(seen)
        for signal in seen.signals:
            self._ended_anyway(signal)

    def _ended_anyway(self, signal: Signal) -> None:
        """Notes that a checkpoint ended while the task failed."""
        if type(signal) is CheckpointAcknowledged and not self.alignment.was_triggered_or_declined(signal.checkpoint):
            self._acknowledged(signal)
        elif type(signal) is CheckpointDeclined and not self.alignment.was_triggered_or_declined(signal.checkpoint):
            self._declined(signal.checkpoint)

    # ---- failures ----------------------------------------------------------------------------------------------------
    def begin_read(self, checkpoint: int) -> None:
        """Notes that a checkpoint is read back."""
        self.history.reading = checkpoint

    def end_read(self, *operands: object) -> None:
        """Notes that no checkpoint is read back any more."""
        self.history.reading, self.history.design = 0, ""

    def begin_restore(self, checkpoint: int, recovery: str) -> None:
        """Notes that a checkpoint is read back for a restore with this recovery design."""
        self.history.reading = checkpoint
        self.history.design = recovery

    def restore(self, seen: Seen[ChainCheckpoint | None], checkpoint: int, recovery: str) -> None:
        """Begins with a fresh chain that is restored from this checkpoint with this recovery design."""
        restored = seen.value
        if restored is not None:
            self.history.saved.pop(checkpoint, None)  # moves it to the end: `restorable` offers the last two again
            self.history.saved[checkpoint] = restored
        self.history.generation += 1
        self.end_read()
        self.begin_chain(replace(self.config, recovery=Recovery(recovery), restored=restored), checkpoint)
