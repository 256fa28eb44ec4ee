"""A task as a subtask of the channel state writer of its worker. Specification: pipeline.md, writer.md."""

from __future__ import annotations

from collections.abc import Callable

from conformance.ports import ChannelStateCompleted, ChannelStateFailed, CheckpointReason, WriterConfig

from ..faults import Faults
from ..network.channel_info import ChannelInfo, Numbering
from ..state.writer.at_once import at_once
from ..state.writer.executor import Executor
from ..state.writer.requests import Asked, Promise, Snapshot
from ..state.writer.storage import Storage
from ..state.writer.writer import ChannelStateWriter
from ..task.states import TaskStates

Stored = dict[ChannelInfo, tuple[int, ...]]
"""By channel or subpartition, what is stored of it."""
MOST_RESULTS = 1_000
"""How many results of a task may wait to be taken."""


class WorkingExecutor(Executor):
    """Its thread is woken when a request is ready."""

    def __init__(self, storage: Storage, number: int, thread: Callable[[], None]) -> None:
        """I-22. `thread`: wakes it."""
        super().__init__(storage, number)
        self.thread = thread

    async def submit(self, request: Asked, first: bool = False) -> None:
        """writer.md W9. Queue a request."""
        await super().submit(request, first)
        if self.ready:
            self.thread()

    async def wake(self, promise: Promise) -> None:
        """writer.md W10. A promise is kept or broken."""
        await super().wake(promise)
        if self.ready:
            self.thread()


class WorkerWriter(ChannelStateWriter):
    """The channel state writer of a worker, whose executors are threads."""

    def __init__(self, tasks: int, sharing: int, faults: Faults, wake: Callable[[], None]) -> None:
        """J6. `wake`: called when an executor has a request that is ready."""
        super().__init__(WriterConfig(max(tasks, 1), sharing, MOST_RESULTS), faults)
        self.wake = wake
        self.futures = 0
        """Futures: how many promises were made."""

    def make_executor(self, number: int) -> Executor:
        """writer.md W1. An executor that wakes its thread."""
        return WorkingExecutor(self.storage, number, self.wake)


class JobStates(TaskStates):
    """Its executor is another thread, which tells the worker of results."""

    def __init__(self, writer: WorkerWriter, subtask: int, inputs: Numbering, outputs: Numbering) -> None:
        """J6. `subtask`: its number on the worker. `outputs`: numbers its subpartitions through all partitions."""
        super().__init__(writer, subtask, inputs)
        self.of_worker = writer
        self.outputs = outputs
        self.promised: dict[tuple[ChannelInfo, int], int] = {}
        """Promised: by subpartition and checkpoint, the future of its output state."""
        at_once(writer.register(subtask))

    def results(self) -> list[ChannelStateCompleted | ChannelStateFailed]:
        """chain.md C23. The worker passes results on."""
        return []

    def close(self) -> None:
        """chain.md C29. The executors behind one that has ended move up, and other threads execute their requests."""
        super().close()
        self.of_worker.wake()

    def add_output(self, channel: ChannelInfo, checkpoint: int, ids: tuple[int, ...]) -> None:
        """writer.md W5. Output state of a subpartition."""
        if not self.closed:
            at_once(self.writer.add_output(self.subtask, checkpoint, self.outputs.number(channel), ids))

    def add_snapshot(self, checkpoint: int, snapshot: Snapshot) -> None:
        """writer.md W25. Input state that lies in spill files."""
        if self.closed:
            snapshot.close()
        else:
            at_once(self.writer.add_snapshot(self.subtask, checkpoint, snapshot))

    def promise_output(self, channel: ChannelInfo, checkpoint: int) -> None:
        """writer.md W7. Output state of a subpartition will follow, or none will."""
        if not self.closed:
            self.of_worker.futures += 1
            self.promised[channel, checkpoint] = future = self.of_worker.futures
            at_once(self.writer.add_output_future(self.subtask, checkpoint, self.outputs.number(channel), future))

    def keep_promise(self, channel: ChannelInfo, checkpoint: int, ids: tuple[int, ...]) -> None:
        """writer.md W10. The output state that was promised."""
        future = self.promised.pop((channel, checkpoint), None)
        if future is not None and not self.closed:
            at_once(self.writer.complete_future(future, ids))

    def break_promise(self, channel: ChannelInfo, checkpoint: int) -> None:
        """writer.md W10. The output state that was promised does not come, also because the task has ended: behind it
        waits that the subtask has closed, and for that the others of the executor."""
        future = self.promised.pop((channel, checkpoint), None)
        if future is not None:
            at_once(self.writer.fail_future(future, CheckpointReason.DECLINED))

    def contents(self, checkpoint: int) -> tuple[Stored, Stored]:
        """chain.md C27. What is stored for a completed checkpoint: by channel, and by subpartition."""
        inputs: Stored = {}
        outputs: Stored = {}
        for one in self.writer.read_back(self.subtask, checkpoint) or ():
            if one.output:
                outputs[self.outputs.infos[one.channel]] = one.records
            else:
                inputs[self.numbers.infos[one.channel]] = one.records
        return inputs, outputs
