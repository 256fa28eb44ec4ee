"""A task that restores, alone. Specification: task-restore.md.

Its producers are in the same process, and its operators say what they get.
"""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from conformance.ports import Element, Resources, SubpartitionConfig, TaskRestoreConfig, TaskRestorePort, Turn

from ..design import Design
from ..faults import Faults, Faulty
from ..held import together
from ..network.channel_info import numbering
from ..network.producers import Producers
from ..network.subpartition import Subpartition
from .operators import Telling
from .restore import HandingOver


class TaskRestore(Faulty, TaskRestorePort):
    """The task and its producers have states of their own."""

    def __init__(self, config: TaskRestoreConfig, design: Design) -> None:
        self.faults = Faults(self)
        self.numbers = numbering(config.gates)
        self.producers = Producers({info: Subpartition(SubpartitionConfig(2), design) for info in self.numbers.infos})
        self.task = HandingOver(
            self,
            config,
            self.numbers,
            design,
            self.faults,
            self.producers,
            Telling(self, self.numbers, self.faults),
        )

    def restore(self) -> Coroutine[Any, Any, None]:
        """E1 to E4. The task begins to restore (Flink: `StreamTask.restore`)."""
        return self.task.restore()

    def read(self) -> Coroutine[Any, Any, bool]:
        """E5, E18. The executor of the channel state reads on (Flink:
        `SequentialChannelStateReaderImpl.readInputData`)."""
        return self.task.read()

    def turn(self) -> Coroutine[Any, Any, Turn]:
        """E11, E18. The task's thread takes a turn of its mailbox loop (Flink: `MailboxProcessor.runMailboxLoop`)."""
        return self.task.turn()

    def select(self, gate: int) -> None:
        """E12. The operator reads only this gate (Flink: `InputSelectable`)."""
        self.task.select(gate)

    def checkpoint(self, checkpoint: int) -> Coroutine[Any, Any, None]:
        """E15, E16. The task takes part in a checkpoint (Flink: `triggerCheckpointAsync`)."""
        return self.task.checkpoint(checkpoint)

    async def arrive(self, channel: int, element: Element) -> None:
        """E17. A producer adds an element to the subpartition of a channel."""
        if not self.task.is_over():
            await self.producers.send(self.numbers.infos[channel], element)

    def cancel(self) -> Coroutine[Any, Any, None]:
        """E19. The task is cancelled (Flink: `StreamTask.cancel`)."""
        return self.task.cancel()

    def persisted(self, checkpoint: int) -> tuple[tuple[int, ...], ...]:
        """E16. By channel, the records that a checkpoint holds."""
        return self.task.states.stored(checkpoint) or tuple(() for _ in self.numbers.infos)

    def release(self) -> Coroutine[Any, Any, None]:
        """E20. The task is over, and gives everything back."""
        return self.task.release()

    def resources(self) -> Resources:
        """E20. What the task holds, and the subpartitions that no local channel counts as its own."""
        grants = 0 if self.task.fetched is None else self.task.fetched.grants
        return together([*self.task.resources(), *self.producers.resources()], self.task.storage, grants)
