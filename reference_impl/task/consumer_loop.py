"""The loop of a task in front of its barrier handler. Specification: consumer-loop.md.

The task is cut behind its handler: the signals of the handler are those of the port, and nobody takes part in the
checkpoint.
"""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from conformance.ports import (
    MOST_QUEUED,
    Alignment,
    Announcement,
    Barrier,
    BarrierHandlerConfig,
    ChannelKind,
    CheckpointDeclined,
    CheckpointTriggered,
    ConsumerLoopPort,
    ConsumptionResumed,
    Element,
    GateConfig,
    InputsCheckpointStarted,
    InputsCheckpointStopped,
    InputStatus,
    Port,
    Recovery,
    Resources,
)

from ..design import Design
from ..faults import Faults, Faulty
from ..held import together
from ..network.channel_info import ChannelInfo, numbering
from ..network.producers import Upstream
from ..state.writer.at_once import at_once
from .checkpointed_inputs import CheckpointedInputs
from .inputs import Inputs
from .operators import Telling
from .task import Task, TaskListener


class Elsewhere(Upstream):
    """All producers are in other processes. There are buffers enough, so their credit is of no concern."""

    def __init__(self, port: Port) -> None:
        self.port = port

    def resume(self, info: ChannelInfo) -> None:
        """M11. Emit that the producer of a channel may go on."""
        self.port.emit(ConsumptionResumed(info.channel))


class ToldCheckpoints(CheckpointedInputs):
    """M11. The signals of the handler are passed on."""

    def __init__(self, port: Port, inputs: Inputs, config: BarrierHandlerConfig) -> None:
        super().__init__(inputs, config)
        self.port = port

    async def begin(self, checkpoint: int) -> None:
        """M10. The gate starts the checkpoint in all channels."""
        await self.inputs.checkpoint_started(Barrier(checkpoint, Alignment.UNALIGNED))

    async def inputs_started(self, told: InputsCheckpointStarted) -> None:
        """M11. Emit that the inputs have started."""
        self.port.emit(told)

    async def take_part(self, told: CheckpointTriggered) -> None:
        """M11. Emit that the task is to take its part."""
        self.port.emit(told)

    async def inputs_stopped(self, told: InputsCheckpointStopped, declined: bool) -> None:
        """M11. The gate stops the checkpoint, and this is signalled."""
        await self.inputs.checkpoint_stopped(told.checkpoint)
        self.port.emit(told)

    async def decline(self, told: CheckpointDeclined) -> None:
        """M11. Emit that the checkpoint is declined."""
        self.port.emit(told)


class LoopTask(Task):
    """A task whose barriers come with what a scenario says of them: their kind when they were sent, and a time."""

    def __init__(self, inputs: Inputs, listener: TaskListener, told: ToldCheckpoints, operators: Telling) -> None:
        super().__init__(inputs, listener, told, operators)
        self.sent: dict[tuple[int, int], tuple[Barrier, int]] = {}
        """Sent: by channel and checkpoint, the barrier as it was sent, and when its checkpoint was triggered."""

    def as_sent(self, info: ChannelInfo, element: Element) -> tuple[Element, int]:
        """M8, M9. A barrier that was turned into a priority event is still of the kind that was sent."""
        if isinstance(element, Barrier):
            return self.sent[info.channel, element.checkpoint]
        if isinstance(element, Announcement):
            return element, self.sent[info.channel, element.checkpoint][1]
        return element, 0


class ConsumerLoop(Faulty, ConsumerLoopPort):
    """The task has states of its own."""

    def __init__(self, config: BarrierHandlerConfig, design: Design) -> None:
        """M1. The subpartitions were requested before the loop began."""
        self.faults = Faults(self)
        upstream = Elsewhere(self)
        listener = TaskListener(upstream, [config.channels])
        gates = [GateConfig(((ChannelKind.REMOTE,) * config.channels,), Recovery.NONE, MOST_QUEUED, 0)]
        inputs = Inputs(numbering([config.channels]), gates, design, listener, self.faults, upstream)
        (self.gate,) = inputs.gates
        at_once(self.gate.request_partitions())
        operators = Telling(self, inputs.numbers, self.faults)
        self.task = LoopTask(inputs, listener, ToldCheckpoints(self, inputs, config), operators)

    async def arrive(self, channel: int, element: Element, timestamp: int) -> None:
        """M2, M18. An element arrives from the producer of a channel."""
        if isinstance(element, Barrier):
            self.task.sent[channel, element.checkpoint] = element, timestamp
        await self.gate.arrive(channel, element)

    def advance(self, milliseconds: int) -> None:
        """M4. Time passes (Flink: `ProcessingTimeService`)."""
        self.task.advance(milliseconds)

    def run_mail(self) -> Coroutine[Any, Any, bool]:
        """M5, M6. Run the oldest mail (Flink: `MailboxProcessor.runMailboxStep`)."""
        return self.task.run_mail()

    def process(self) -> Coroutine[Any, Any, InputStatus]:
        """M7, M12, M13. Run the default action once (Flink: `StreamTask.processInput`,
        `StreamOneInputProcessor.processInput`)."""
        return self.task.process_input()

    def idle(self) -> bool:
        """M14. Whether the task has neither a mail nor input."""
        return self.task.idle()

    def persisted(self, checkpoint: int) -> tuple[tuple[int, ...], ...]:
        """M14. By channel, the records that were written for a checkpoint."""
        return self.gate.persisted(checkpoint)

    def release(self) -> Coroutine[Any, Any, None]:
        """M15. The task is over: mails, gate and handler are released."""
        return self.task.release()

    def resources(self) -> Resources:
        """M14. What gate and handler hold."""
        return together(self.task.resources())
