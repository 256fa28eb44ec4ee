"""What a task does with what it reads: its operators and its outputs. Specification: chain.md, subtask-checkpoint.md.

A task that has none of a kind has these, which do nothing.
"""

from __future__ import annotations

from conformance.ports import (
    OPERATORS_PROCESS,
    Alignment,
    Buffer,
    CheckpointReason,
    Element,
    ElementTaken,
    Port,
)

from ..faults import Faults
from ..network.channel_info import ChannelInfo, Numbering


class Operators:
    """The operators of a task (Flink: `OperatorChain`)."""

    def process(self, info: ChannelInfo, element: Element) -> None:
        """C17, consumer-loop.md M8, task-restore.md E13. The task has taken an element (Flink: `processElement`)."""

    def prepare(self, checkpoint: int) -> None:
        """subtask-checkpoint.md T7 (Flink: `prepareSnapshotPreBarrier`)."""

    def snapshot(self, checkpoint: int) -> None:
        """C22, subtask-checkpoint.md T8 (Flink: `snapshotState`)."""

    def complete(self, checkpoint: int) -> None:
        """subtask-checkpoint.md T11 (Flink: `notifyCheckpointComplete`)."""

    def abort(self, checkpoint: int) -> None:
        """subtask-checkpoint.md T12 (Flink: `notifyCheckpointAborted`)."""


class Counting(Operators):
    """Operators that count the records of a gate. In a pipeline, counted records are the state."""

    def __init__(self, counted: tuple[tuple[int, ...], ...]) -> None:
        """C28. Begin with what a restored checkpoint has counted."""
        self.records = [list(ids) for ids in counted]
        """Counted: by channel, the records counted, in order."""
        self.counted: dict[int, tuple[tuple[int, ...], ...]] = {}
        """Snapshots: by checkpoint of which the task has taken its part, what was counted then."""

    def process(self, info: ChannelInfo, element: Element) -> None:
        """C17. Count the records of a buffer."""
        if type(element) is Buffer:
            self.records[info.channel].extend(element.ids)

    def snapshot(self, checkpoint: int) -> None:
        """C22. Of this checkpoint is what was counted so far."""
        self.counted[checkpoint] = self.take_counted()

    def take_counted(self) -> tuple[tuple[int, ...], ...]:
        """C22. A copy of the records counted so far."""
        return tuple(map(tuple, self.records))


class Telling(Operators):
    """Operators of which nothing is known but what they get: that an element was taken is a signal."""

    def __init__(self, port: Port, numbers: Numbering, faults: Faults) -> None:
        self.port = port
        self.numbers = numbers
        self.faults = faults

    def process(self, info: ChannelInfo, element: Element) -> None:
        """consumer-loop.md M8, M16, task-restore.md E13, E18. Emit that an element was taken. Raises: PortError IO if
        the operators fail with its records."""
        self.port.emit(ElementTaken(self.numbers.number(info), element))
        if type(element) is Buffer:
            self.faults.reach(OPERATORS_PROCESS)


class Outputs:
    """The outputs of a task (Flink: `RecordWriterOutput`, `ResultPartitionWriter`)."""

    async def barrier(self, checkpoint: int, alignment: Alignment) -> None:
        """subtask-checkpoint.md T7 (Flink: `broadcastEvent`). An unaligned one overtakes what is queued."""

    async def cancel_marker(self, checkpoint: int) -> None:
        """subtask-checkpoint.md T6, T10 (Flink: `CancelCheckpointMarker`)."""

    async def time_out(self, checkpoint: int) -> None:
        """subtask-checkpoint.md T13 (Flink: `alignedBarrierTimeout`)."""

    def why_unwritten(self, checkpoint: int) -> CheckpointReason | None:
        """C23. Every barrier was taken, so the output state is final. Returns why it could not be written, or none."""
        return None
