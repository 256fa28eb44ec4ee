"""The part of a task in its checkpoints. Specification: chain.md.

The barrier handler decides when the task takes its part, and the subtask checkpoint coordinator decides what it does
then. Their signals are acted on here, in their order.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from conformance.ports import (
    CHANNEL_STATE_WRITER,
    Alignment,
    Barrier,
    BarrierHandlerConfig,
    ChannelStateFailed,
    CheckpointAcknowledged,
    CheckpointDeclined,
    CheckpointStatus,
    CheckpointTriggered,
    InputsCheckpointStopped,
    Resources,
    Signal,
    StatePart,
    SubtaskCall,
    SubtaskCalled,
    SubtaskCheckpointConfig,
)

from ..network.listener import Listens
from ..state.drainer.lists import ListDrainer
from .checkpointed_inputs import CheckpointedInputs
from .inputs import Inputs
from .operators import Operators, Outputs
from .states import TaskStates
from .subtask_checkpoint import SubtaskCheckpoint


class TaskCheckpoints(CheckpointedInputs):
    """With the subtask checkpoint coordinator and the channel state writer of the task."""

    def __init__(
        self,
        port: Listens,
        inputs: Inputs,
        drainer: ListDrainer,
        states: TaskStates,
        config: BarrierHandlerConfig,
        operators: Operators,
        outputs: Outputs | None = None,
    ) -> None:
        """`port`: has the signals for the job master. `outputs`: none if the task has none."""
        super().__init__(inputs, config)
        self.port = port
        self.drainer = drainer
        self.states = states
        self.operators = operators
        self.outputs = outputs or Outputs()
        self.subtask = SubtaskCheckpoint(SubtaskCheckpointConfig(config.timeout), self.clock, inputs.faults)
        self.statuses: dict[int, CheckpointStatus] = {}
        """Status: by checkpoint of which the task has heard."""

    # ---- what comes in -----------------------------------------------------------------------------------------------
    def meet(self, checkpoint: int) -> None:
        """C20. The checkpoint is pending from now on unless it is obsolete or over."""
        if not self.handler.is_obsolete(checkpoint):
            self.statuses.setdefault(checkpoint, CheckpointStatus.PENDING)

    async def act_on_timer(self) -> None:
        """consumer-loop.md M6, subtask-checkpoint.md T13. A barrier in the outputs may be overdue, too.

        (Flink: `registerAlignmentTimer`.)
        """
        await super().act_on_timer()
        self.subtask.advance(0)
        await self.obey()

    def is_overdue(self) -> bool:
        """consumer-loop.md M4, subtask-checkpoint.md T13. Whether a barrier in the inputs or in the outputs is
        overdue."""
        timer = self.subtask.timer
        return super().is_overdue() or (timer is not None and self.clock.now >= timer[1])

    # ---- what the barrier handler asks for: one method for each signal -----------------------------------------------
    async def begin(self, checkpoint: int) -> None:
        """C21 (Flink: `initInputsCheckpoint`). Raises: PortError CHECKPOINT, IO."""
        self.subtask.start_inputs(checkpoint, Alignment.UNALIGNED)
        await self.obey()

    async def take_part(self, told: CheckpointTriggered) -> None:
        """C22. The state of the operators is final as soon as it is copied (Flink: `checkpointState`)."""
        if not told.unaligned:
            self.subtask.aligned(told.checkpoint, self.handler.duration)
        self.subtask.trigger(Barrier(told.checkpoint, Alignment.UNALIGNED if told.unaligned else Alignment.ALIGNED), 0)
        await self.obey()
        self.subtask.finish_part(told.checkpoint, StatePart.OPERATORS)

    async def inputs_stopped(self, told: InputsCheckpointStopped, declined: bool) -> None:
        """C23, C24, C31 (Flink: `finishInput`)."""
        await self.inputs.checkpoint_stopped(told.checkpoint)
        self.subtask.aligned(told.checkpoint, self.handler.duration)
        if declined:
            self.subtask.inputs_failed(told.checkpoint)
        else:
            self.subtask.inputs_done(told.checkpoint)
            unwritten = self.outputs.why_unwritten(told.checkpoint)
            if unwritten is not None:
                self.subtask.fail_part(told.checkpoint, StatePart.OUTPUTS, unwritten)
            else:
                self.subtask.finish_part(told.checkpoint, StatePart.OUTPUTS)
        await self.obey()

    async def decline(self, told: CheckpointDeclined) -> None:
        """C24 (Flink: `abortCheckpointOnBarrier`)."""
        self.subtask.decline(told.checkpoint, told.reason)
        await self.obey()

    async def handler_was_heard(self) -> None:
        """C24. Asynchronous parts go on."""
        for checkpoint in list(self.subtask.parts):
            self.subtask.run_async(checkpoint)
            await self.obey()

    # ---- what the subtask checkpoint coordinator calls: one method for each call -------------------------------------
    async def obey(self) -> None:
        """C21 to C24. Do what the coordinator has called, and pass on its messages to the job master."""
        called, self.subtask.signals = self.subtask.signals, []
        for one in called:
            if type(one) is not SubtaskCalled:
                self.report(one)
            elif one.call in CALLS:
                CALLS[one.call](self, one.checkpoint)
            else:
                await PAUSING_CALLS[one.call](self, one.checkpoint)
        for result in self.states.results():
            if type(result) is ChannelStateFailed:
                self.subtask.fail_part(result.checkpoint, StatePart.INPUTS, result.reason)
            else:
                records = sum(map(len, self.states.read_back(result.checkpoint)))
                self.subtask.state_written(result.checkpoint, StatePart.INPUTS, records)
                self.subtask.finish_part(result.checkpoint, StatePart.INPUTS)

    async def prepare_inputs(self, checkpoint: int) -> None:
        """C21, C31. The order of the steps matters (Flink: `prepareInputSnapshot`)."""
        slices = await self.drainer.snapshot(checkpoint)
        await self.inputs.checkpoint_started(Barrier(checkpoint, Alignment.UNALIGNED))
        for info, ids in slices.items():
            if ids:
                self.inputs.faults.reach(CHANNEL_STATE_WRITER)
                self.states.add_input(info, checkpoint, ids)

    def report(self, told: Signal) -> None:
        """C22, C24. The job master learns how a checkpoint has ended for this task (Flink: `CheckpointResponder`)."""
        if type(told) is CheckpointAcknowledged:
            self.statuses[told.checkpoint] = CheckpointStatus.COMPLETED
        elif type(told) is CheckpointDeclined:
            self.statuses[told.checkpoint] = CheckpointStatus.DECLINED
        self.port.emit(told)

    # ---- observers and release ---------------------------------------------------------------------------------------
    def status(self, checkpoint: int) -> CheckpointStatus:
        """C27. How far a checkpoint is."""
        return self.statuses.get(checkpoint, CheckpointStatus.ABSENT)

    def resources(self) -> list[Resources]:
        """subtask-checkpoint.md T22. With the coordinator's timer and asynchronous parts."""
        return [*super().resources(), self.subtask.resources()]

    def release(self) -> None:
        """C29. Barrier handler and subtask checkpoint coordinator are released."""
        super().release()
        self.subtask.release()


CALLS: Mapping[SubtaskCall, Callable[[TaskCheckpoints, int], None]] = {
    SubtaskCall.WRITER_START: lambda task, checkpoint: task.states.start(checkpoint),
    SubtaskCall.WRITER_FINISH_INPUT: lambda task, checkpoint: task.states.finish_input(checkpoint),
    SubtaskCall.WRITER_FINISH_OUTPUT: lambda task, checkpoint: task.states.finish_output(checkpoint),
    SubtaskCall.WRITER_TAKE_RESULT: lambda task, checkpoint: task.states.take_result(checkpoint),
    SubtaskCall.WRITER_ABORT: lambda task, checkpoint: task.states.abort(checkpoint),
    SubtaskCall.WRITER_ABORT_AND_FORGET: lambda task, checkpoint: task.states.abort(checkpoint),
    SubtaskCall.OPERATORS_PREPARE: lambda task, checkpoint: task.operators.prepare(checkpoint),
    SubtaskCall.OPERATORS_SNAPSHOT: lambda task, checkpoint: task.operators.snapshot(checkpoint),
    SubtaskCall.OPERATORS_COMPLETE: lambda task, checkpoint: task.operators.complete(checkpoint),
    SubtaskCall.OPERATORS_ABORT: lambda task, checkpoint: task.operators.abort(checkpoint),
}
"""C21 to C24, subtask-checkpoint.md T22. What is called in the writer and in the operators, which happens at once."""

PAUSING_CALLS: Mapping[SubtaskCall, Callable[[TaskCheckpoints, int], Coroutine[Any, Any, None]]] = {
    SubtaskCall.INPUTS_PREPARE: lambda task, checkpoint: task.prepare_inputs(checkpoint),
    SubtaskCall.OUTPUTS_BARRIER: lambda task, checkpoint: task.outputs.barrier(checkpoint, Alignment.ALIGNED),
    SubtaskCall.OUTPUTS_PRIORITY_BARRIER: lambda task, checkpoint: task.outputs.barrier(
        checkpoint, Alignment.UNALIGNED
    ),
    SubtaskCall.OUTPUTS_CANCEL_MARKER: lambda task, checkpoint: task.outputs.cancel_marker(checkpoint),
    SubtaskCall.OUTPUTS_TIME_OUT: lambda task, checkpoint: task.outputs.time_out(checkpoint),
}
"""C21, subtask-checkpoint.md T22. What is called in the inputs and outputs, where the thread may pause."""
