"""The channel state writers of the subtasks of one worker process. Specification: writer.md."""

from __future__ import annotations

from conformance.ports import (
    ChannelState,
    CheckpointReason,
    ErrorKind,
    PortError,
    Request,
    RequestKind,
    Resources,
    WriterConfig,
    WriterPort,
)
from conformance.scheduling import Lock, Pause
from conformance.state_files import read_header, read_state

from ...faults import Faults, Faulty
from .executor import Executor
from .requests import Asked, NumberedSnapshot, Promise, Result, Snapshot, recycle
from .storage import Storage


class ChannelStateWriter(Faulty, WriterPort):
    """It has the registry of the executors, and the results that the subtasks have not taken."""

    def __init__(self, config: WriterConfig, faults: Faults | None = None) -> None:
        """`faults`: those of the task; a writer that stands alone has its own."""
        self.config = config
        self.faults = faults or Faults(self)
        self.storage = Storage(config.files, self.faults)
        self.registry = Lock("registry lock")
        self.registering: Executor | None = None
        """Registering: the executor that further subtasks join; None: the next one gets a new executor."""
        self.running: list[Executor] = []
        """Running: the executors that have not stopped."""
        self.made = 0
        self.executor_of: dict[int, Executor] = {}
        """By subtask that is registered, its executor."""
        self.results: dict[int, dict[int, Result]] = {}
        """Results: by subtask that is registered, and by checkpoint, those that were neither taken nor aborted."""
        self.newest: dict[tuple[int, int], Result] = {}
        """By subtask and checkpoint, the last result that was opened, to be read back."""
        self.promises: dict[int, Promise] = {}
        self.promised_to: dict[int, Executor] = {}
        """By future, the executor that has its request."""

    # ---- subtasks come and go ----------------------------------------------------------------------------------------
    async def register(self, subtask: int) -> tuple[int, ...]:
        """W1, W2. A subtask joins the executor that is registering, or a new one (Flink:
        `ChannelStateWriteRequestExecutorFactory.getOrCreateExecutor`, `registerSubtask`)."""
        async with self.registry:
            executor = self.registering
            if executor is None:
                self.made += 1
                executor = self.registering = self.make_executor(self.made)
                self.running.append(executor)
            executor.join(subtask)
            self.executor_of[subtask] = executor
            self.results[subtask] = {}
            if len(executor.users) == self.config.sharing:
                self.registering = None
            return tuple(sorted(executor.users))

    def make_executor(self, number: int) -> Executor:
        """W1. A new executor, with a file of its own for each checkpoint (Flink:
        `ChannelStateWriteRequestExecutorImpl`)."""
        return Executor(self.storage, number)

    async def close(self, subtask: int) -> None:
        """W21, W23. A subtask leaves: its pending checkpoints are given up (Flink: `ChannelStateWriterImpl.close`,
        `releaseSubtask`)."""
        executor = self.executor_of.pop(subtask, None)
        if executor is None:
            return
        del self.results[subtask]
        await executor.submit(Asked(self, RequestKind.CLOSE, subtask, 0))
        async with self.registry:
            if self.registering is executor:
                self.registering = None
            last = await executor.leave(subtask)
        if last:
            await executor.stop()
            self.running.remove(executor)

    # ---- what a subtask asks for -------------------------------------------------------------------------------------
    async def start(self, subtask: int, checkpoint: int) -> None:
        """W3, W4. A checkpoint of a subtask starts, and gets a result (Flink: `ChannelStateWriterImpl.start`)."""
        results = self.results[subtask]
        if checkpoint in results:
            raise PortError(ErrorKind.ARGUMENT, f"subtask {subtask} has a result for checkpoint {checkpoint}")
        if len(results) >= self.config.max_results:
            raise PortError(ErrorKind.STATE, f"subtask {subtask} has {len(results)} results")
        request = Asked(self, RequestKind.START, subtask, checkpoint)
        request.result = results[checkpoint] = self.newest[subtask, checkpoint] = Result(self, subtask, checkpoint)
        await self.executor_of[subtask].submit(request)

    async def add_input(self, subtask: int, checkpoint: int, channel: int, records: tuple[int, ...]) -> None:
        """W5, W6. Queue buffers of an input channel (Flink: `addInputData`)."""
        await self.add(RequestKind.INPUT, subtask, checkpoint, channel, records)

    async def add_input_from_spill(
        self, subtask: int, checkpoint: int, snapshot: int, pieces: tuple[tuple[int, int], ...]
    ) -> None:
        """W25. Queue a snapshot of spill files; an empty one is closed at once (Flink: `addInputDataFromSpill`,
        FLINK-38544)."""
        handed_in = NumberedSnapshot(self, self.faults, snapshot, pieces)
        if pieces:
            await self.add_snapshot(subtask, checkpoint, handed_in)
        else:
            handed_in.close()

    async def add_snapshot(self, subtask: int, checkpoint: int, snapshot: Snapshot) -> None:
        """W25. Queue the request to write what is in a snapshot."""
        request = Asked(self, RequestKind.SPILLED_INPUT, subtask, checkpoint)
        request.snapshot = snapshot
        await self.executor_of[subtask].submit(request)

    async def add_output(self, subtask: int, checkpoint: int, channel: int, records: tuple[int, ...]) -> None:
        """W5. Queue buffers of a result subpartition (Flink: `addOutputData`)."""
        await self.add(RequestKind.OUTPUT, subtask, checkpoint, channel, records)

    async def add(self, kind: RequestKind, subtask: int, checkpoint: int, channel: int, ids: tuple[int, ...]) -> None:
        """W5, W6. Queue a request with buffers, which are recycled if there is no executor for it."""
        request = Asked(self, kind, subtask, checkpoint)
        request.channel, request.records = channel, list(ids)
        executor = self.executor_of.get(subtask)
        if executor is None:
            recycle(self, request.records)
            raise PortError(ErrorKind.RELEASED, f"subtask {subtask} is not registered")
        await executor.submit(request)

    async def add_output_future(self, subtask: int, checkpoint: int, channel: int, future: int) -> None:
        """W7. Queue a promise of buffers of a result subpartition (Flink: `addOutputDataFuture`)."""
        request = Asked(self, RequestKind.OUTPUT, subtask, checkpoint)
        request.channel = channel
        request.promise = self.promises[future] = Promise(self, subtask)
        executor = self.promised_to[future] = self.executor_of[subtask]
        await executor.submit(request)

    async def complete_future(self, future: int, records: tuple[int, ...]) -> None:
        """W10. Keep the promise: its buffers are there."""
        promise = self.promises.pop(future)
        promise.keep(records)
        await self.promised_to.pop(future).wake(promise)

    async def fail_future(self, future: int, reason: CheckpointReason) -> None:
        """W10. Break the promise: there will be no buffers."""
        promise = self.promises.pop(future)
        promise.break_it(reason)
        await self.promised_to.pop(future).wake(promise)

    async def finish_input(self, subtask: int, checkpoint: int) -> None:
        """W8. All input data of a checkpoint was given (Flink: `finishInput`)."""
        await self.executor_of[subtask].submit(Asked(self, RequestKind.FINISH_INPUT, subtask, checkpoint))

    async def finish_output(self, subtask: int, checkpoint: int) -> None:
        """W8. All output data of a checkpoint was given or promised (Flink: `finishOutput`)."""
        await self.executor_of[subtask].submit(Asked(self, RequestKind.FINISH_OUTPUT, subtask, checkpoint))

    async def abort(self, subtask: int, checkpoint: int, reason: CheckpointReason) -> None:
        """W9. Queued in front, so that the checkpoint stops now, and behind all others, so that none of them is
        executed later."""
        executor = self.executor_of[subtask]
        for first in (True, False):
            request = Asked(self, RequestKind.ABORT, subtask, checkpoint)
            request.reason = reason
            await executor.submit(request, first)
            await Pause("between the two requests of an abort")
        self.results[subtask].pop(checkpoint, None)

    def take_result(self, subtask: int, checkpoint: int) -> None:
        """W4. The task takes the result out of the writer (Flink: `getAndRemoveWriteResult`)."""
        if self.results[subtask].pop(checkpoint, None) is None:
            raise PortError(ErrorKind.ARGUMENT, f"subtask {subtask} has no result for checkpoint {checkpoint}")

    # ---- the executors -----------------------------------------------------------------------------------------------
    async def execute(self, subtask: int) -> Request | None:
        """W2, W11. The executor of a subtask executes its next ready request (Flink:
        `ChannelStateWriteRequestDispatcherImpl.dispatch`)."""
        executor = self.executor_of[subtask]
        request = await executor.take()
        if request is None:
            return None
        if request.kind is RequestKind.START:
            async with self.registry:
                if self.registering is executor:
                    self.registering = None
        return executor.execute(request)

    # ---- observers ---------------------------------------------------------------------------------------------------
    def read_back(self, subtask: int, checkpoint: int) -> tuple[ChannelState, ...] | None:
        """W22. The channel state of a completed result; None if there is none."""
        result = self.newest.get((subtask, checkpoint))
        if result is None or result.handles is None:
            return None
        if not result.file:
            return ()
        data = self.storage.read(result.file)
        of = read_header(data)
        return tuple(
            ChannelState(handle.output, handle.channel, tuple(read_state(data, of, handle)))
            for handle in result.handles
        )

    def files(self) -> tuple[int, ...]:
        """W22. The checkpoints that have a file now."""
        return tuple(sorted(self.storage.checkpoints.values()))

    def executors(self) -> tuple[tuple[int, ...], ...]:
        """W22. By executor, its subtasks."""
        return tuple(sorted(tuple(sorted(executor.users)) for executor in self.running if executor.users))

    def resources(self) -> Resources:
        """W22. The buffers in requests, the files that are open, the results that are open."""
        waiting = [
            request
            for executor in self.running
            for queue in (executor.ready, *executor.unready.values())
            for request in queue
        ]
        buffers = sum(len(one.records) + len(one.promise.records if one.promise else ()) for one in waiting)
        unfinished = sum(result.is_open for results in self.results.values() for result in results.values())
        return Resources(buffers, 0, len(self.storage.checkpoints), 0, unfinished, self.storage.open)

    def release(self) -> None:
        """W24. The process ends; its threads are gone."""
        for promise in self.promises.values():
            promise.refused = True
        for executor in self.running:
            executor.stopped = True
            executor.cancel_all()
        self.running = []
        self.executor_of, self.results = {}, {}
        self.storage.clear()
