"""A worker process: its tasks, and their channel state writer. Specification: pipeline.md."""

from __future__ import annotations

from functools import partial

from conformance.ports import ChannelStateCompleted, ChannelStateFailed

from ..faults import Faults
from .agenda import Agenda
from .states import WorkerWriter
from .task import JobTask


class Worker:
    """Its executors are threads, as many as it has tasks at most."""

    def __init__(self, number: int, subtasks: list[int], sharing: int, faults: Faults, agenda: Agenda) -> None:
        """J12. `subtasks`: the numbers of its tasks in the job."""
        self.number = number
        self.subtasks = subtasks
        self.sharing = sharing
        self.faults = faults
        self.agenda = agenda
        self.threads = [f"writer {number}/{index}" for index in range(-(-len(subtasks) // 1))]
        self.tasks: dict[int, JobTask] = {}
        """By number on the worker, the task that is deployed."""
        self.start()
        for index, thread in enumerate(self.threads):
            agenda.add(thread, partial(self.execute, index), partial(self.has_more, index))

    def start(self) -> None:
        """J12. The process starts."""
        self.writer = WorkerWriter(len(self.subtasks), self.sharing, self.faults, self.wake)

    def wake(self) -> None:
        """I-22. An executor has something to do."""
        for executor, thread in zip(self.writer.running, self.threads, strict=False):
            if executor.ready:
                self.agenda.wake(thread)

    def index(self, task: int) -> int:
        """J12. Returns the number on the worker of a task of the job."""
        return self.subtasks.index(task)

    async def execute(self, index: int) -> bool:
        """writer.md W11. An executor executes its next request, and passes results on."""
        if index >= len(self.writer.running):
            return False
        executor = self.writer.running[index]
        request = await executor.take()
        if request is None:
            return False
        executor.execute(request)
        await self.pass_on()
        return True

    def has_more(self, index: int) -> bool:
        """I-22. Whether an executor has a request that is ready."""
        return index < len(self.writer.running) and bool(self.writer.running[index].ready)

    async def pass_on(self) -> None:
        """writer.md W19, W20. Tasks learn of their results."""
        told, self.writer.signals = self.writer.signals, []
        for one in told:
            if isinstance(one, ChannelStateCompleted | ChannelStateFailed):
                task = self.tasks.get(one.subtask)
                if task is not None and not task.is_over():
                    await task.channel_state(one.checkpoint, getattr(one, "reason", None))

    def die(self) -> None:
        """J12. The process ends, and another one starts."""
        self.writer.release()
        self.tasks = {}
        self.start()
