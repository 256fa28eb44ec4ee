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
    ChannelStateFailed,
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

from ..network.gate import Gate
from ..state.drainer.lists import ListDrainer, Slices
from .barrier_handler import BarrierHandler
from .channel_state import ChannelStates
from .subtask_checkpoint import SubtaskCheckpoint


class TaskHandler(BarrierHandler):
    """The barrier handler of the task. Its inputs are the gate and what is left to drain."""

    def __init__(self, task: Task, channels: int) -> None:
        super().__init__(BarrierHandlerConfig(channels, timeout=0))
        self.task = task

    async def start_inputs(self, checkpoint: int) -> CheckpointReason | None:
        """C21."""
        return await self.task.start_inputs(checkpoint)


class Task:
    """Does what the barrier handler and the subtask checkpoint coordinator tell, and knows what became of it."""

    def __init__(
        self, port: Port, gate: Gate, drainer: ListDrainer, states: ChannelStates, records: list[list[int]]
    ) -> None:
        self.port = port
        self.gate = gate
        self.drainer = drainer
        self.states = states
        self.records = records
        """Counted: by channel, the records counted, in order."""
        self.handler = TaskHandler(self, len(records))
        self.subtask = SubtaskCheckpoint(SubtaskCheckpointConfig(timeout=0))
        self.counted: dict[int, Slices] = {}
        """Snapshots: by checkpoint of which the task has taken its part, what was counted then."""
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
        """C19."""
        await self.handler.end_of_partition(channel)
        await self.hear()

    async def trigger(self, checkpoint: int) -> None:
        """C20, C26. It comes by a call, so no channel waits for it."""
        self.meet(checkpoint)
        await self.handler.rpc_barrier(0, Barrier(checkpoint, Alignment.UNALIGNED), 0)
        await self.hear()

    def meet(self, checkpoint: int) -> None:
        """C20. The task hears of a checkpoint, which is pending from now on unless it is obsolete or over."""
        if not self.handler.is_obsolete(checkpoint):
            self.statuses.setdefault(checkpoint, CheckpointStatus.PENDING)

    # ---- what the barrier handler tells ----------------------------------------------------------------------------
    async def hear(self) -> None:
        """C19, C20, C24. Do what the barrier handler has told. Then asynchronous parts go on."""
        if not self.handler.signals:
            return
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
        """C23, C24, C31. Every barrier was taken, so what the producers have written is final as well."""
        await self.gate.checkpoint_stopped(checkpoint)
        if declined:
            self.subtask.inputs_failed(checkpoint)
        else:
            self.subtask.inputs_done(checkpoint)
            if checkpoint in self.unwritten:
                self.subtask.fail_part(checkpoint, StatePart.OUTPUTS, CheckpointReason.IO_EXCEPTION)
            else:
                self.subtask.finish_part(checkpoint, StatePart.OUTPUTS)
        await self.obey()

    # ---- what the subtask checkpoint coordinator calls -------------------------------------------------------------
    async def obey(self) -> None:
        """C21 to C24. Do what the coordinator has called, and pass on what it tells the job master."""
        called, self.subtask.signals = self.subtask.signals, []
        for one in called:
            if type(one) is SubtaskCalled:
                if one.call is SubtaskCall.INPUTS_PREPARE:
                    await self.prepare_inputs(one.checkpoint)
                elif one.call is SubtaskCall.OPERATORS_SNAPSHOT:
                    self.counted[one.checkpoint] = self.take_counted()
                else:
                    self.states.call(one.checkpoint, one.call)
            else:
                if type(one) is CheckpointAcknowledged:
                    self.statuses[one.checkpoint] = CheckpointStatus.COMPLETED
                elif type(one) is CheckpointDeclined:
                    self.statuses[one.checkpoint] = CheckpointStatus.DECLINED
                self.port.emit(one)
        for result in self.states.results():
            if type(result) is ChannelStateFailed:
                self.subtask.fail_part(result.checkpoint, StatePart.INPUTS, result.reason)
            else:
                self.subtask.finish_part(result.checkpoint, StatePart.INPUTS)

    async def prepare_inputs(self, checkpoint: int) -> None:
        """C21, C31. The order of the steps matters."""
        slices = await self.drainer.snapshot(checkpoint)
        await self.gate.checkpoint_started(Barrier(checkpoint, Alignment.UNALIGNED))
        for channel, ids in enumerate(slices):
            if ids:
                self.gate.faults.reach(CHANNEL_STATE_WRITER)
                self.states.add_input(channel, checkpoint, ids)

    def take_counted(self) -> Slices:
        """C22. A copy of the records counted so far."""
        return tuple(map(tuple, self.records))

    # ---- whoever looks, and release --------------------------------------------------------------------------------
    def status(self, checkpoint: int) -> CheckpointStatus:
        """C27. How far a checkpoint is."""
        return self.statuses.get(checkpoint, CheckpointStatus.ABSENT)

    def release(self) -> None:
        """C29."""
        self.handler.release()
        self.subtask.release()
