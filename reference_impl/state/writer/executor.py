"""An executor executes the requests of its subtasks, one after another. Specification: writer.md."""

from __future__ import annotations

from conformance.ports import CheckpointReason, ErrorKind, PortError, Request, RequestKind
from conformance.scheduling import Future, Lock

from .requests import Asked, Promise
from .state_file import StateFile
from .storage import Storage

START, INPUT, SPILLED_INPUT, OUTPUT, ABORT, CLOSE = (
    RequestKind.START,
    RequestKind.INPUT,
    RequestKind.SPILLED_INPUT,
    RequestKind.OUTPUT,
    RequestKind.ABORT,
    RequestKind.CLOSE,
)
"""Module variables, because looking up a member of an enumeration is slow in Python 3.11."""


class Executor:
    """Its queues are guarded by its lock. Its file belongs to its thread, which executes one request at a time."""

    def __init__(self, storage: Storage, number: int) -> None:
        self.storage = storage
        self.lock = Lock(f"lock of executor {number}", "executor lock", rank=number)
        self.users: list[int] = []
        """Users: the subtasks that have registered and not closed."""
        self.ready: list[Asked] = []
        """Ready: what is to be executed, in this order."""
        self.unready: dict[int, list[Asked]] = {}
        """Unready: by subtask, requests of which the first waits for promised buffers."""
        self.stopped = False
        self.executing: Future | None = None
        """Done when the request is over that the thread executes now; None: it executes none."""
        self.members: list[int] = []
        """Members: the subtasks of which requests may still come, as far as the requests were executed."""
        self.file: StateFile | None = None
        self.ongoing = 0
        """Ongoing: the newest checkpoint that a subtask has started; 0: none."""
        self.aborted = 0
        """Aborted: the newest checkpoint that was aborted; 0: none. Older ones count as aborted, too."""
        self.aborted_by = -1
        self.cause = CheckpointReason.SUBSUMED

    # ---- the threads of the subtasks ---------------------------------------------------------------------------------
    def join(self, subtask: int) -> None:
        """W1. A subtask uses the executor from now on."""
        self.users.append(subtask)
        self.members.append(subtask)
        self.unready[subtask] = []

    async def submit(self, request: Asked, first: bool = False) -> None:
        """W9. Queue a request, behind all others or in front of them. Raises: PortError RELEASED."""
        async with self.lock:
            if self.stopped:
                request.cancel(CheckpointReason.TASK_CLOSING)
                raise PortError(ErrorKind.RELEASED, "the executor has stopped")
            waiting = self.unready[request.subtask]
            if first:
                self.ready.insert(0, request)
            elif waiting or not request.is_ready():
                waiting.append(request)
            else:
                self.ready.append(request)

    async def wake(self, promise: Promise) -> None:
        """W10. A promise is kept or broken: what has waited for it is ready, up to the next that waits."""
        async with self.lock:
            waiting = self.unready.get(promise.subtask, [])
            while waiting and waiting[0].is_ready():
                self.ready.append(waiting.pop(0))

    async def leave(self, subtask: int) -> bool:
        """W21, W23. A subtask ends. Returns whether it was the last one, so that the executor is to stop."""
        async with self.lock:
            self.users.remove(subtask)
            self.stopped = not self.users
        return self.stopped

    async def stop(self) -> None:
        """W23. Once the thread has ended, what is queued is cancelled, and what is open fails."""
        if self.executing is not None:
            await self.executing
        async with self.lock:
            self.cancel_all()

    def cancel_all(self) -> None:
        """W23, W24. What is queued is cancelled, and what is open fails."""
        queued = [*self.ready, *(request for waiting in self.unready.values() for request in waiting)]
        self.ready, self.unready = [], {}
        for request in queued:
            request.cancel(CheckpointReason.TASK_CLOSING)
        if self.file is not None:
            self.file.give_up(CheckpointReason.TASK_CLOSING)
            self.file = None

    # ---- the thread of the executor ----------------------------------------------------------------------------------
    async def take(self) -> Asked | None:
        """W11. The thread takes the next request, and executes it until it says that it is over."""
        async with self.lock:
            if self.stopped or not self.ready:
                return None
            self.executing = Future("the request in execution")
            return self.ready.pop(0)

    def execute(self, request: Asked) -> Request:
        """W11. Execute the request that was taken."""
        assert self.executing is not None
        self.perform(request)
        self.executing.complete()
        self.executing = None
        return request.described()

    def perform(self, request: Asked) -> None:
        """W12 to W21. Do what a request asks for."""
        if request.kind is CLOSE:
            self.close(request.subtask)
        elif request.checkpoint < self.ongoing or request.checkpoint <= self.aborted:
            request.cancel(self.why_obsolete(request))
        elif request.kind is START:
            self.start(request)
        elif request.kind is ABORT:
            self.abort(request)
        else:
            self.go_on(request)

    def why_obsolete(self, request: Asked) -> CheckpointReason:
        """W12. Why a request of a checkpoint is not executed that is over."""
        if request.checkpoint != self.aborted:
            return CheckpointReason.DECLINED_SUBSUMED
        return self.cause if request.subtask == self.aborted_by else CheckpointReason.SHARED_STREAM

    def start(self, request: Asked) -> None:
        """W13 to W15. A subtask starts a checkpoint; the first one begins a new file."""
        if request.checkpoint > self.ongoing:
            if self.file is not None:
                self.file.give_up(CheckpointReason.DECLINED_SUBSUMED)
            self.ongoing = request.checkpoint
            self.file = StateFile(self.storage, request.checkpoint, self.members)
        assert self.file is not None
        self.file.start(request)

    def go_on(self, request: Asked) -> None:
        """W17 to W19. Data comes, will not come, or is complete."""
        assert self.file is not None
        promise = request.promise
        if request.kind is INPUT:
            self.file.write(request, False, request.records)
        elif request.kind is SPILLED_INPUT:
            self.file.write_snapshot(request)
        elif request.kind is not OUTPUT:
            self.file.finish_part(request)
        elif promise is None:
            self.file.write(request, True, request.records)
        elif promise.reason is None:
            self.file.write(request, True, promise.records)
        else:
            self.file.give_up(CheckpointReason.SHARED_STREAM, request.subtask, promise.reason)

    def abort(self, request: Asked) -> None:
        """W16. A subtask aborts a checkpoint."""
        assert request.reason is not None
        self.aborted, self.aborted_by, self.cause = request.checkpoint, request.subtask, request.reason
        if self.file is None:
            return
        if request.checkpoint == self.ongoing:
            self.file.give_up(CheckpointReason.SHARED_STREAM, request.subtask, request.reason)
        else:
            self.file.give_up(CheckpointReason.DECLINED_SUBSUMED)

    def close(self, subtask: int) -> None:
        """W21. A subtask has closed."""
        self.members.remove(subtask)
        if self.file is not None:
            self.file.leave(subtask)
