"""The gates of a task with their barrier handler. Specification: consumer-loop.md, chain.md.

The barrier handler decides when a checkpoint begins and ends. Its signals are acted on here, in their
order.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from conformance.ports import (
    Alignment,
    Announcement,
    Barrier,
    BarrierHandlerConfig,
    BarrierPrioritized,
    CancelMarker,
    CheckpointDeclined,
    CheckpointReason,
    CheckpointTriggered,
    ConsumptionResumed,
    Element,
    EndOfPartition,
    ErrorKind,
    InputsCheckpointStarted,
    InputsCheckpointStopped,
    PortError,
    RecoveryCompletion,
    Resources,
)
from conformance.scheduling import Clock

from ..network.channel_info import ChannelInfo
from .barrier_handler import BarrierHandler
from .inputs import Inputs


class TaskHandler(BarrierHandler):
    """The barrier handler of a task. Its inputs are those of the task."""

    def __init__(self, config: BarrierHandlerConfig, checkpointed: CheckpointedInputs) -> None:
        super().__init__(config, checkpointed.clock, checkpointed.inputs.faults)
        self.checkpointed = checkpointed

    async def start_inputs(self, checkpoint: int) -> CheckpointReason | None:
        """M10, chain.md C21. The inputs of the task start the checkpoint (Flink: `CheckpointableTask`,
        `initInputsCheckpoint`)."""
        return await self.checkpointed.start_inputs(checkpoint)


class CheckpointedInputs(ABC):
    """Gates and barrier handler of a task, with its clock and its faults (Flink: `CheckpointedInputGate`)."""

    def __init__(self, inputs: Inputs, config: BarrierHandlerConfig) -> None:
        self.inputs = inputs
        self.clock = Clock()
        self.handler = TaskHandler(config, self)

    # ---- what comes in -----------------------------------------------------------------------------------------------
    async def take(self, info: ChannelInfo, element: Element, timestamp: int) -> None:
        """M8, M9, chain.md C19. An element that the task has taken. Records are of no concern here.

        `timestamp`: of a barrier and of its announcement, when its checkpoint was triggered.
        (Flink: `CheckpointedInputGate.handleEvent`.)
        """
        channel = self.inputs.numbers.number(info)
        if isinstance(element, Barrier):
            self.meet(element.checkpoint)
            await self.handler.barrier(channel, element, timestamp)
        elif isinstance(element, Announcement):
            self.handler.announcement(channel, element.checkpoint, element.seq, timestamp)
        elif isinstance(element, CancelMarker):
            self.handler.cancel_marker(channel, element.checkpoint)
        elif isinstance(element, EndOfPartition):
            await self.handler.end_of_partition(channel)
        elif isinstance(element, RecoveryCompletion):
            await self.inputs.end_of_output_state(info)
        await self.hear()

    async def trigger(self, checkpoint: int) -> None:
        """chain.md C20, C26. It comes by a call, so no channel waits for it (Flink: `triggerCheckpointAsync`)."""
        self.meet(checkpoint)
        await self.handler.rpc_barrier(0, Barrier(checkpoint, Alignment.UNALIGNED), 0)
        await self.hear()

    async def act_on_timer(self) -> None:
        """M6, barrier-handler.md H16. An alignment may be overdue."""
        await self.handler.advance(0)
        await self.hear()

    def is_overdue(self) -> bool:
        """M4, barrier-handler.md H16. Whether the task is to act on a timer."""
        return self.handler.due is not None and self.clock.now >= self.handler.due

    def meet(self, checkpoint: int) -> None:
        """chain.md C20. The task hears of a checkpoint."""

    # ---- what the barrier handler asks for: one method for each signal -----------------------------------------------
    async def hear(self) -> None:
        """M11, chain.md C19, C20, C24. Act on the signals of the barrier handler, in their order."""
        if not self.handler.signals:
            return
        told, self.handler.signals = self.handler.signals, []
        declined = [one.checkpoint for one in told if type(one) is CheckpointDeclined]
        for one in told:
            if type(one) is ConsumptionResumed:
                await self.inputs.resume(self.inputs.numbers.infos[one.channel])
            elif type(one) is BarrierPrioritized:
                await self.inputs.convert_to_priority(self.inputs.numbers.infos[one.channel], one.seq)
            elif type(one) is InputsCheckpointStarted:
                await self.inputs_started(one)
            elif type(one) is CheckpointTriggered:
                await self.take_part(one)
            elif type(one) is InputsCheckpointStopped:
                await self.inputs_stopped(one, one.checkpoint in declined)
            elif type(one) is CheckpointDeclined:
                await self.decline(one)
        await self.handler_was_heard()

    async def start_inputs(self, checkpoint: int) -> CheckpointReason | None:
        """M10, chain.md C21, C31. Returns why the inputs refuse. Signals of the handler are acted on first. Raises:
        PortError."""
        await self.hear()
        try:
            await self.begin(checkpoint)
        except PortError as refused:
            if refused.kind is not ErrorKind.CHECKPOINT:
                raise
            await self.inputs.checkpoint_stopped(checkpoint)
            return refused.checkpoint_reason or CheckpointReason.DECLINED
        return None

    @abstractmethod
    async def begin(self, checkpoint: int) -> None:
        """M10, chain.md C21 (Flink: `initInputsCheckpoint`). Raises: PortError CHECKPOINT, IO."""

    async def inputs_started(self, told: InputsCheckpointStarted) -> None:
        """M11, chain.md C21. `begin` has done it."""

    @abstractmethod
    async def take_part(self, told: CheckpointTriggered) -> None:
        """M11, chain.md C22 (Flink: `CheckpointableTask.triggerCheckpointOnBarrier`)."""

    @abstractmethod
    async def inputs_stopped(self, told: InputsCheckpointStopped, declined: bool) -> None:
        """M11, chain.md C23, C24 (Flink: `CheckpointableInput.checkpointStopped`)."""

    @abstractmethod
    async def decline(self, told: CheckpointDeclined) -> None:
        """M11, chain.md C24 (Flink: `CheckpointableTask.abortCheckpointOnBarrier`)."""

    async def handler_was_heard(self) -> None:
        """chain.md C24. All signals of the handler were acted on."""

    # ---- observers and release ---------------------------------------------------------------------------------------
    def resources(self) -> list[Resources]:
        """M14. A timer is something that listens."""
        return [self.handler.resources()]

    def release(self) -> None:
        """M15, chain.md C29. The timer of the barrier handler is cancelled (Flink: `CheckpointedInputGate.close`)."""
        self.handler.release()
