"""The channel state of the checkpoints of a chain, written and read back. Specification: chain.md."""

from __future__ import annotations

from conformance.ports import ChannelStateCompleted, ChannelStateFailed, CheckpointReason, SubtaskCall, WriterConfig

from ..state.drainer.lists import Slices
from ..state.writer.at_once import at_once
from ..state.writer.executor import Executor
from ..state.writer.requests import Asked
from ..state.writer.writer import ChannelStateWriter

_ABORTS = (SubtaskCall.WRITER_ABORT, SubtaskCall.WRITER_ABORT_AND_FORGET)

CONSUMER = 0
"""The consumer as a subtask of the writer. The producer of channel 0 is subtask 1, and so on."""


class ChainExecutor(Executor):
    """A chain has no thread for an executor: a request is executed in the operation that makes it."""

    async def submit(self, request: Asked, first: bool = False) -> None:
        """C25, writer.md W9, W11. The queue is always empty."""
        self.perform(request)


class ChainWriter(ChannelStateWriter):
    """The writer of all subtasks. Most of them never need it, so a subtask registers with its first checkpoint."""

    def make_executor(self, number: int) -> Executor:
        """C25, writer.md W1."""
        return ChainExecutor(self.storage, number)

    async def start(self, subtask: int, checkpoint: int) -> None:
        """C25, writer.md W1, W3."""
        if subtask not in self.executor_of:
            await self.register(subtask)
        await super().start(subtask, checkpoint)


class ChannelStates:
    """The channel state writer of the consumer and of the producers. It keeps its files in memory.

    A producer may be ahead of the others by several checkpoints, so that each has an executor and files of its own.
    """

    def __init__(self, channels: int) -> None:
        """C25. A result is taken at the latest when the task takes its part, so that nobody has two."""
        self.channels = channels
        self.closed = False
        """Closed: whether the chain was released. What an operation still writes that was under way is dropped."""
        self.writer = ChainWriter(WriterConfig(subtasks=channels + 1, sharing=1, max_results=1))

    # ---- writing ---------------------------------------------------------------------------------------------------
    def add_input(self, channel: int, checkpoint: int, ids: tuple[int, ...]) -> None:
        """C21, C25. Input state of a channel."""
        if not self.closed:
            at_once(self.writer.add_input(CONSUMER, checkpoint, channel, ids))

    def write_output(self, channel: int, checkpoint: int, ids: tuple[int, ...]) -> None:
        """C2, C25. All output state of a channel."""
        if self.closed:
            return
        producer = channel + 1
        at_once(self.writer.start(producer, checkpoint))
        at_once(self.writer.add_output(producer, checkpoint, channel, ids))
        at_once(self.writer.finish_input(producer, checkpoint))
        at_once(self.writer.finish_output(producer, checkpoint))
        self.writer.take_result(producer, checkpoint)

    def call(self, checkpoint: int, call: SubtaskCall) -> None:
        """C21 to C25. The subtask checkpoint coordinator calls the writer of the consumer."""
        if self.closed:
            return
        if call is SubtaskCall.WRITER_START:
            at_once(self.writer.start(CONSUMER, checkpoint))
        elif call is SubtaskCall.WRITER_FINISH_INPUT:
            at_once(self.writer.finish_input(CONSUMER, checkpoint))
        elif call is SubtaskCall.WRITER_FINISH_OUTPUT:
            at_once(self.writer.finish_output(CONSUMER, checkpoint))
        elif call is SubtaskCall.WRITER_TAKE_RESULT:
            self.writer.take_result(CONSUMER, checkpoint)
        elif call in _ABORTS and CONSUMER in self.writer.executor_of:
            at_once(self.writer.abort(CONSUMER, checkpoint, CheckpointReason.DECLINED))

    def results(self) -> list[ChannelStateCompleted | ChannelStateFailed]:
        """C23. Which results of the consumer have ended since the last question."""
        if not self.writer.signals:
            return []
        told, self.writer.signals = self.writer.signals, []
        ended = [one for one in told if isinstance(one, ChannelStateCompleted | ChannelStateFailed)]
        return [one for one in ended if one.subtask == CONSUMER]

    # ---- reading back, and the end ---------------------------------------------------------------------------------
    def input_state(self, checkpoint: int) -> Slices:
        """C27. By channel, the input state of a completed checkpoint."""
        states = {one.channel: one.records for one in self.writer.read_back(CONSUMER, checkpoint) or ()}
        return tuple(states.get(channel, ()) for channel in range(self.channels))

    def output_state(self, checkpoint: int) -> Slices:
        """C27. By channel, the output state of a completed checkpoint."""
        states = [self.writer.read_back(channel + 1, checkpoint) for channel in range(self.channels)]
        return tuple(of_channel[0].records if of_channel else () for of_channel in states)

    def close(self) -> None:
        """C29. The file of a checkpoint that is pending is given up. Complete files stay."""
        self.closed = True
        for subtask in list(self.writer.executor_of):
            at_once(self.writer.close(subtask))
