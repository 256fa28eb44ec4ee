"""The channel state of the checkpoints of a task, written and read back. Specification: chain.md, writer.md."""

from __future__ import annotations

from conformance.ports import ChannelStateCompleted, ChannelStateFailed, CheckpointReason, SubpartitionConfig

from ..design import Design
from ..faults import Faults
from ..network.channel_info import ChannelInfo, Numbering
from ..network.subpartition import Subpartition
from ..state.writer.at_once import at_once
from ..state.writer.writer import ChannelStateWriter


class TaskStates:
    """The task as a subtask of the channel state writer of its process (Flink: `ChannelStateWriterImpl`)."""

    def __init__(self, writer: ChannelStateWriter, subtask: int, numbers: Numbering) -> None:
        """C25. `numbers`: those of the channels, as the writer's port numbers them."""
        self.writer = writer
        self.subtask = subtask
        self.numbers = numbers
        self.closed = False
        """Closed: whether the task was released. What an operation still writes that was under way is dropped."""

    # ---- writing: what the subtask checkpoint coordinator calls, one method for each call ----------------------------
    def start(self, checkpoint: int) -> None:
        """C21, writer.md W3. The writer starts a checkpoint (Flink: `ChannelStateWriter.start`)."""
        if not self.closed:
            at_once(self.writer.start(self.subtask, checkpoint))

    def finish_input(self, checkpoint: int) -> None:
        """C23, writer.md W8. All input state of a checkpoint was given (Flink: `finishInput`)."""
        if not self.closed:
            at_once(self.writer.finish_input(self.subtask, checkpoint))

    def finish_output(self, checkpoint: int) -> None:
        """C22, writer.md W8. All output state of a checkpoint was given (Flink: `finishOutput`)."""
        if not self.closed:
            at_once(self.writer.finish_output(self.subtask, checkpoint))

    def take_result(self, checkpoint: int) -> None:
        """C22, writer.md W4 (Flink: `getAndRemoveWriteResult`)."""
        if not self.closed:
            self.writer.take_result(self.subtask, checkpoint)

    def abort(self, checkpoint: int) -> None:
        """C24, writer.md W16. A subtask that never began a checkpoint has nothing to give up."""
        if not self.closed and self.subtask in self.writer.executor_of:
            at_once(self.writer.abort(self.subtask, checkpoint, CheckpointReason.DECLINED))

    # ---- writing: data -----------------------------------------------------------------------------------------------
    def add_input(self, channel: ChannelInfo, checkpoint: int, ids: tuple[int, ...]) -> None:
        """C21, C25. Input state of a channel (Flink: `addInputData`)."""
        if not self.closed:
            at_once(self.writer.add_input(self.subtask, checkpoint, self.numbers.number(channel), ids))

    def add_output(self, channel: ChannelInfo, checkpoint: int, ids: tuple[int, ...]) -> None:
        """C2, C25. Output state of a channel (Flink: `addOutputData`)."""
        if not self.closed:
            at_once(self.writer.add_output(self.subtask, checkpoint, self.numbers.number(channel), ids))

    def write_output(self, channel: ChannelInfo, checkpoint: int, ids: tuple[int, ...]) -> None:
        """C2, C25. All that the task writes for a checkpoint, if that is output state of one channel."""
        self.start(checkpoint)
        self.add_output(channel, checkpoint, ids)
        self.finish_input(checkpoint)
        self.finish_output(checkpoint)
        self.take_result(checkpoint)

    def results(self) -> list[ChannelStateCompleted | ChannelStateFailed]:
        """C23. Which results of the task have ended since the last question."""
        if not self.writer.signals:
            return []
        told, self.writer.signals = self.writer.signals, []
        ended = [one for one in told if isinstance(one, ChannelStateCompleted | ChannelStateFailed)]
        return [one for one in ended if one.subtask == self.subtask]

    # ---- reading back, and the end -----------------------------------------------------------------------------------
    def read_back(self, checkpoint: int) -> tuple[tuple[int, ...], ...]:
        """C27. By channel, the state of a completed checkpoint."""
        states = {one.channel: one.records for one in self.writer.read_back(self.subtask, checkpoint) or ()}
        return tuple(states.get(channel, ()) for channel in range(len(self.numbers.infos)))

    def close(self) -> None:
        """C29. The file of a checkpoint that is pending is given up. Complete files stay."""
        self.closed = True
        at_once(self.writer.close(self.subtask))


class WritingSubpartition(Subpartition):
    """A subpartition whose output state is written at once, as all that its task writes for the checkpoint."""

    def __init__(
        self, config: SubpartitionConfig, design: Design, faults: Faults, states: TaskStates, info: ChannelInfo
    ) -> None:
        super().__init__(config, design, faults)
        self.states = states
        self.info = info

    def write(self, checkpoint: int, ids: tuple[int, ...]) -> None:
        """C2, C25. The output state is written to the files of the task, too."""
        super().write(checkpoint, ids)
        self.states.write_output(self.info, checkpoint, ids)
