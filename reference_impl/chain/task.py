"""The consumer's task, as far as checkpoints are concerned. Specification: chain.md.

Its parts are components: the barrier handler decides when a checkpoint begins and ends, the subtask checkpoint
coordinator takes the part of the task in it. What they tell is done here, in the order in which they tell it.
"""

from __future__ import annotations

from conformance.ports import (
    CHANNEL_STATE_WRITER,
    Alignment,
    Barrier,
    BarrierHandlerConfig,
    CheckpointAcknowledged,
    CheckpointDeclined,
    CheckpointReason,
    CheckpointStatus,
    CheckpointTriggered,
    ConsumptionResumed,
    ErrorKind,
    InputsCheckpointStopped,
    Port,
    PortError,
    StatePart,
    SubtaskCall,
    SubtaskCalled,
    SubtaskCheckpointConfig,
)

from ..barrier_handler import BarrierHandler
from ..gate import Gate
from ..subtask_checkpoint import SubtaskCheckpoint
from .drainer import Drainer, Slices


class TaskHandler(BarrierHandler):
    """The barrier handler of the task. Its inputs are the gate and what is left to drain."""

    def __init__(self, task: Task, channels: int) -> None:
        super().__init__(BarrierHandlerConfig(channels, timeout=0))
        self.task = task

    async def start_inputs(self, checkpoint: int) -> CheckpointReason | None:
        """C21."""
        return await self.task.start_inputs(checkpoint)


class Undrained:
    """The undrained records of a checkpoint, and their place in its input state."""

    __slots__ = ("places", "slices")

    def __init__(self, slices: Slices, persisted: Slices) -> None:
        self.slices = slices
        """The undrained records, by channel."""
        self.places = tuple(len(ids) for ids in persisted)
        """By channel, how many records of the input state stand in front of the undrained records."""

    def complete_input(self, persisted: Slices) -> Slices:
        """C26. By channel: what was written until the start was over, the undrained records, what was written later."""
        return tuple(
            ids[:place] + part + ids[place:]
            for ids, part, place in zip(persisted, self.slices, self.places, strict=True)
        )


class Task:
    """Does what the barrier handler and the subtask checkpoint coordinator tell, and knows what became of it."""

    def __init__(self, port: Port, gate: Gate, drainer: Drainer, records: list[list[int]]) -> None:
        self.port = port
        self.gate = gate
        self.drainer = drainer
        self.records = records
        """Counted: by channel, the records counted, in order."""
        self.handler = TaskHandler(self, len(records))
        self.subtask = SubtaskCheckpoint(SubtaskCheckpointConfig(timeout=0))
        self.counted: dict[int, Slices] = {}
        """Snapshots: by checkpoint of which the task has taken its part, what was counted then."""
        self.undrained: dict[int, Undrained] = {}
        """Undrained: by checkpoint that was started in the inputs, the records that were not drained then."""
        self.unwritten: list[int] = []
        """Unwritten: the checkpoints for which output state of a channel could not be written."""
        self.statuses: dict[int, CheckpointStatus] = {}
        """Status: by checkpoint of which the task has heard."""

    # ---- what comes in ---------------------------------------------------------------------------------------------
    async def barrier(self, channel: int, barrier: Barrier) -> None:
        """C19, C20."""
        self.meet(barrier.checkpoint)
        await self.handler.barrier(channel, barrier, 0)
        await self.hear()

    async def end_of_partition(self, channel: int) -> None:
        """C19, C24."""
        await self.handler.end_of_partition(channel)
        await self.hear()

    async def trigger(self, checkpoint: int) -> None:
        """C19, C25. It comes by a call, so no channel waits for it."""
        self.meet(checkpoint)
        await self.handler.rpc_barrier(0, Barrier(checkpoint, Alignment.UNALIGNED), 0)
        await self.hear()

    def meet(self, checkpoint: int) -> None:
        """C20. The task hears of a checkpoint, which is pending from now on unless it is obsolete or over."""
        if not self.handler.is_obsolete(checkpoint):
            self.statuses.setdefault(checkpoint, CheckpointStatus.PENDING)

    # ---- what the barrier handler tells ----------------------------------------------------------------------------
    async def hear(self) -> None:
        """C19, C20, C22, C23. Do what the barrier handler has told. Then asynchronous parts go on."""
        told, self.handler.signals = self.handler.signals, []
        declined = [one.checkpoint for one in told if type(one) is CheckpointDeclined]
        for one in told:
            if type(one) is ConsumptionResumed:
                await self.gate.resume(one.channel)
            elif type(one) is CheckpointTriggered:
                await self.take_part(one.checkpoint, Alignment.UNALIGNED if one.unaligned else Alignment.ALIGNED)
            elif type(one) is InputsCheckpointStopped:
                await self.stop_inputs(one.checkpoint, one.checkpoint in declined)
            elif type(one) is CheckpointDeclined:
                self.subtask.decline(one.checkpoint, one.reason)
                await self.obey()
        for checkpoint in list(self.subtask.parts):
            self.subtask.run_async(checkpoint)
            await self.obey()

    async def start_inputs(self, checkpoint: int) -> CheckpointReason | None:
        """C21, C31. Returns why the inputs refuse. What was told before is done first. Raises: PortError IO."""
        await self.hear()
        try:
            self.subtask.start_inputs(checkpoint, Alignment.UNALIGNED)
            await self.obey()
        except PortError as refused:
            if refused.kind is not ErrorKind.CHECKPOINT:
                raise
            await self.gate.checkpoint_stopped(checkpoint)
            return refused.checkpoint_reason or CheckpointReason.DECLINED
        return None

    async def take_part(self, checkpoint: int, alignment: Alignment) -> None:
        """C22. The state of the consumer is final as soon as it is copied."""
        self.subtask.trigger(Barrier(checkpoint, alignment), 0)
        await self.obey()
        self.subtask.finish_part(checkpoint, StatePart.OPERATORS)

    async def stop_inputs(self, checkpoint: int, declined: bool) -> None:
        """C22, C23, C31. Every barrier was taken, so what the producers have written is final as well."""
        await self.gate.checkpoint_stopped(checkpoint)
        if declined:
            self.subtask.inputs_failed(checkpoint)
        else:
            self.subtask.inputs_done(checkpoint)
            self.subtask.finish_part(checkpoint, StatePart.INPUTS)
            if checkpoint in self.unwritten:
                self.subtask.fail_part(checkpoint, StatePart.OUTPUTS, CheckpointReason.IO_EXCEPTION)
            else:
                self.subtask.finish_part(checkpoint, StatePart.OUTPUTS)
        await self.obey()

    # ---- what the subtask checkpoint coordinator calls -------------------------------------------------------------
    async def obey(self) -> None:
        """C21 to C23. Do what the coordinator has called, and pass on what it tells the job master."""
        called, self.subtask.signals = self.subtask.signals, []
        for one in called:
            if type(one) is SubtaskCalled:
                if one.call is SubtaskCall.INPUTS_PREPARE:
                    await self.prepare_inputs(one.checkpoint)
                elif one.call is SubtaskCall.OPERATORS_SNAPSHOT:
                    self.counted[one.checkpoint] = self.take_counted()
            else:
                if type(one) is CheckpointAcknowledged:
                    self.statuses[one.checkpoint] = CheckpointStatus.COMPLETED
                elif type(one) is CheckpointDeclined:
                    self.statuses[one.checkpoint] = CheckpointStatus.DECLINED
                self.port.emit(one)

    async def prepare_inputs(self, checkpoint: int) -> None:
        """C21, C31. The order of the steps matters."""
        slices = await self.drainer.snapshot(checkpoint)
        await self.gate.checkpoint_started(Barrier(checkpoint, Alignment.UNALIGNED))
        self.undrained[checkpoint] = Undrained(slices, self.gate.persisted(checkpoint))
        if any(slices):
            self.gate.faults.reach(CHANNEL_STATE_WRITER)

    def take_counted(self) -> Slices:
        """C22. A copy of the records counted so far."""
        return tuple(map(tuple, self.records))

    # ---- whoever looks, and release --------------------------------------------------------------------------------
    def status(self, checkpoint: int) -> CheckpointStatus:
        """C26. How far a checkpoint is."""
        return self.statuses.get(checkpoint, CheckpointStatus.ABSENT)

    def input_state(self, checkpoint: int) -> Slices:
        """C26. The input state of a completed checkpoint."""
        persisted = self.gate.persisted(checkpoint)
        undrained = self.undrained.get(checkpoint)
        return persisted if undrained is None else undrained.complete_input(persisted)

    def release(self) -> None:
        """C28."""
        self.handler.release()
        self.subtask.release()
