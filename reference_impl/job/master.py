"""The job master: checkpoint coordinator, operator coordinators, failover. Specification: pipeline.md.

Everything happens in its main thread, in the order in which it was queued, but that a checkpoint gets its number when
it is triggered.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVarTuple

from conformance.ports import (
    CHECKPOINT_STORE,
    CheckpointCompleted,
    CheckpointFailed,
    CheckpointKind,
    CheckpointReason,
    CheckpointRequested,
    CoordinatorCheckpointed,
    CoordinatorConfig,
    CoordinatorReset,
    EventTransmitted,
    FailurePoint,
    GlobalFailoverTriggered,
    JobCheckpoint,
    JobRestarted,
    JobStatus,
    OperatorState,
    PortError,
    ReportTransmitted,
    RestoredEvents,
    Run,
    Signal,
    SubtaskFailed,
    SubtaskReady,
    SubtaskReset,
    TaskFailoverTriggered,
    TaskState,
    runs_of,
)
from conformance.ports import Message as Event

from ..coordinator.coordinator import Coordinator, MainThread
from .agenda import Going
from .checkpoints import Failures, Part, Pending
from .messages import Call, Message
from .sources import Enumerator
from .task import JobTask

if TYPE_CHECKING:
    from .pipeline import Pipeline

Operands = TypeVarTuple("Operands")
EVENT, REPORT, REPLY = Call.EVENT, Call.REPORT, Call.REPLY
ACKNOWLEDGE, DECLINE = Call.ACKNOWLEDGE, Call.DECLINE
RUNNING, FINISHED, FAILED = TaskState.RUNNING, TaskState.FINISHED, TaskState.FAILED
"""Module variables, because looking up a member of an enumeration is slow in Python 3.11."""


class JobMaster:
    """Another one takes its place when it fails."""

    def __init__(self, job: Pipeline, start: JobCheckpoint | None) -> None:
        """J13. `start`: what the job starts from now."""
        self.job = job
        self.graph = job.graph
        self.main: MainThread = []
        """Main thread: its queue of actions."""
        self.pending: dict[int, Pending] = {}
        """Pending: by number, the checkpoints that are not over."""
        self.failures = Failures(job.config.settings.tolerable)
        self.finished: dict[int, OperatorState] = {}
        """Finished: by task that has finished, its last state."""
        self.stopping: int | None = None
        """Stopping: the savepoint with which the job stops."""
        self.is_stopped = False
        """Whether that savepoint is complete."""
        self.replaced = False
        """Whether another job master has taken its place."""
        self.enumerators: dict[int, Enumerator] = {}
        self.coordinators: dict[int, Coordinator] = {}
        """By source."""
        for vertex in self.graph.sources:
            parallelism = self.graph.vertices[vertex].parallelism
            self.enumerators[vertex] = Enumerator(
                job.config.splits_of(vertex), parallelism, self.unassigned(vertex, start), vertex in job.ended
            )
            config = CoordinatorConfig(parallelism, sources=True)
            self.coordinators[vertex] = Coordinator(config, job.design.protocol, self.main, job.faults)
        job.agenda.wake("master")

    def unassigned(self, vertex: int, checkpoint: JobCheckpoint | None) -> list[int]:
        """J14. Returns the splits of a source that are unassigned in a checkpoint, or at the beginning."""
        splits = self.job.config.splits_of(vertex)
        return list(splits) if checkpoint is None else [one for one in checkpoint.unassigned if one in splits]

    # ---- main thread -------------------------------------------------------------------------------------------------
    def later(self, action: Callable[[*Operands], Coroutine[Any, Any, None] | None], *operands: *Operands) -> None:
        """I-22. Queue an action."""
        self.main.append((self, partial(action, *operands)))
        self.job.agenda.wake("master")

    def work(self) -> bool | Going:
        """J5. Run the oldest action."""
        if not self.main:
            return False
        _, action = self.main.pop(0)
        going_on = action()
        if going_on is not None:
            return self.go_on(going_on)
        self.hear()
        return True

    async def go_on(self, action: Coroutine[Any, Any, None]) -> bool:
        """J5. Run an action in which the thread may wait."""
        await action
        self.hear()
        return True

    def hear(self) -> None:
        """J1, J5, J11. What the operator coordinators tell."""
        for vertex, coordinator in self.coordinators.items():
            while coordinator.signals:
                told, coordinator.signals = coordinator.signals, []
                for one in told:
                    self.hear_one(vertex, coordinator, one)
        if self.main:
            self.job.agenda.wake("master")

    def hear_one(self, vertex: int, coordinator: Coordinator, told: Signal) -> None:
        """J1, J5, J11. One signal of an operator coordinator."""
        job, enumerator = self.job, self.enumerators[vertex]
        if type(told) is EventTransmitted:
            job.send(self.graph.task(vertex, told.subtask), Message(EVENT))
        elif type(told) is ReportTransmitted:
            job.report(self.graph.task(vertex, told.subtask), Message(REPORT))
        elif type(told) is SubtaskReady:
            enumerator.is_ready(told.subtask, told.attempt)
            job.agenda.wake(f"enumerator {vertex}")
        elif type(told) is SubtaskFailed:
            enumerator.has_failed(told.subtask)
        elif type(told) is SubtaskReset:
            enumerator.reset(told.subtask, self.unassigned(vertex, self.job.newest()))
            job.agenda.wake(f"enumerator {vertex}")
        elif type(told) is CoordinatorReset:
            enumerator.reset_all(self.unassigned(vertex, self.job.newest()))
            job.agenda.wake(f"enumerator {vertex}")
        elif type(told) is CheckpointRequested:
            enumerator.cut(told.checkpoint)
            coordinator.cut(told.checkpoint, True)
        elif type(told) is CoordinatorCheckpointed:
            self.later(self.coordinator_done, vertex, told.checkpoint, told.succeeded)
        elif type(told) is TaskFailoverTriggered:
            task = job.tasks[self.graph.task(vertex, told.subtask)]
            self.later(task.fail, "lose")
        elif type(told) is GlobalFailoverTriggered:
            self.later(self.restart, range(len(self.graph.tasks)))

    def assign(self, vertex: int) -> bool:
        """J1. An operator coordinator sends an event."""
        acted = self.enumerators[vertex].act(self.coordinators[vertex].send)
        self.hear()
        return acted

    def end(self, vertex: int) -> None:
        """J16. Nothing more is supplied to a source."""
        self.enumerators[vertex].ended = True
        self.job.agenda.wake(f"enumerator {vertex}")

    # ---- messages of tasks -------------------------------------------------------------------------------------------
    def event(self, task: int) -> Event | None:
        """J1. An event arrives at a task. Returns it, unless it is for the gate of the task."""
        vertex, subtask = self.graph.tasks[task]
        coordinator = self.coordinators[vertex]
        event = coordinator.deliver(subtask, coordinator.newest[subtask])
        self.hear()
        return event

    def arrive(self, task: int, message: Message) -> None:
        """J15. A message of a task arrives."""
        vertex, subtask = self.graph.tasks[task]
        if message.call is REPORT:
            self.coordinators[vertex].arrive(subtask, self.coordinators[vertex].newest[subtask])
            self.hear()
        elif message.call is REPLY:
            self.coordinators[vertex].reply(subtask, self.coordinators[vertex].newest[subtask])
            self.hear()
        elif message.call is ACKNOWLEDGE:
            assert message.part is not None
            self.later(self.acknowledged, task, message.checkpoint, message.part)
        elif message.call is DECLINE:
            assert message.reason is not None
            self.later(self.declined, message.checkpoint, message.reason)
        else:
            assert message.state is not None
            self.later(self.task_changed, self.job.tasks[task], message.state)

    def lose(self, task: int, message: Message) -> None:
        """J15. A message to a task, or of it, is lost."""
        vertex, subtask = self.graph.tasks[task]
        if message.call in (EVENT, REPORT, REPLY):
            coordinator = self.coordinators[vertex]
            lose = {
                EVENT: coordinator.lose_event,
                REPORT: coordinator.lose_report,
                REPLY: coordinator.lose_reply,
            }[message.call]
            lose(subtask, coordinator.newest[subtask])
            self.hear()

    async def task_changed(self, task: JobTask, state: TaskState) -> None:
        """J11. A task runs, has failed or finished."""
        number = task.number
        if self.job.tasks[number] is not task or self.job.status is not None:
            return
        vertex, subtask = self.graph.tasks[number]
        coordinator = self.coordinators.get(vertex)
        if state is FAILED:
            await self.restart([number])
        elif state is RUNNING and coordinator is not None:
            coordinator.run(subtask, coordinator.newest[subtask])
        elif state is FINISHED:
            if coordinator is not None:
                coordinator.finish(subtask, coordinator.newest[subtask])
                self.enumerators[vertex].has_failed(subtask)
            self.finished[number] = task.operators.state_now()
            if len(self.finished) == len(self.graph.tasks):
                await self.over(JobStatus.FINISHED)

    # ---- checkpoints -------------------------------------------------------------------------------------------------
    def trigger(self, number: int, kind: CheckpointKind, stops: bool) -> None:
        """J5. A checkpoint is triggered."""
        self.pending[number] = Pending(number, kind, self.job.now, stops, self.coordinators)
        if stops:
            self.stopping = number
        self.later(self.start, number)

    def start(self, number: int) -> None:
        """J5. The operator coordinators take their parts first."""
        if number in self.pending:
            for coordinator in self.coordinators.values():
                coordinator.trigger(number)

    def coordinator_done(self, vertex: int, number: int, succeeded: bool) -> None:
        """J5. An operator coordinator has taken its part, or failed."""
        pending = self.pending.get(number)
        if pending is None:
            return
        if not succeeded:
            self.abort(number, CheckpointReason.DECLINED)
            return
        pending.coordinators.discard(vertex)
        pending.unassigned[vertex] = self.enumerators[vertex].cuts[number]
        if not pending.coordinators and pending.awaited is None:
            self.inject(pending)

    def inject(self, pending: Pending) -> None:
        """J5. The barriers leave, for all tasks that have no producer any more."""
        pending.awaited = {task for task in range(len(self.graph.tasks)) if task not in self.finished}
        for coordinator in self.coordinators.values():
            coordinator.inject(pending.number)
        for task in sorted(pending.awaited):
            if not any(one in pending.awaited for one in self.graph.upstream(task)):
                self.job.send(task, Message(Call.TRIGGER, pending.number))

    def acknowledged(self, task: int, number: int, part: Part) -> Coroutine[Any, Any, None] | None:
        """J7. A task has stored its part."""
        pending = self.pending.get(number)
        if pending is None or pending.awaited is None:
            return None
        pending.parts[task] = part
        pending.awaited.discard(task)
        return None if pending.awaited else self.complete(pending)

    async def complete(self, pending: Pending) -> None:
        """J7. All parts are there (Flink: `CheckpointCoordinator.completePendingCheckpoint`)."""
        job, number = self.job, pending.number
        try:
            job.faults.reach(CHECKPOINT_STORE)
        except PortError:
            self.abort(number, CheckpointReason.FINALIZE_FAILURE)
            return
        del self.pending[number]
        job.store(pending.contents(self.graph, self.finished))
        job.emit(CheckpointCompleted(number, pending.kind))
        notifies = not pending.is_savepoint or pending.stops
        older: tuple[int, ...] = ()
        if not pending.is_savepoint:
            self.failures.completed()
            older = tuple(one for one in sorted(self.pending) if one < number and not self.pending[one].is_savepoint)
        for coordinator in self.coordinators.values():
            coordinator.complete(number, (), notifies)
        for one in older:
            self.abort(one, CheckpointReason.SUBSUMED)
        self.is_stopped = self.is_stopped or pending.stops
        if not pending.is_savepoint:
            await job.reach(FailurePoint.COMPLETED, None, number)
        if notifies and not self.replaced:
            self.tell(Message(Call.COMPLETE, number, is_kept=pending.stops))

    def declined(self, number: int, reason: CheckpointReason) -> None:
        """J8. A task declines a checkpoint."""
        if number in self.pending:
            self.abort(number, reason)

    def abort(self, number: int, reason: CheckpointReason) -> None:
        """J8. A checkpoint has failed (Flink: `CheckpointCoordinator.abortPendingCheckpoint`)."""
        pending = self.pending.pop(number)
        for coordinator in self.coordinators.values():
            coordinator.abort(number, pending.awaited is None)
        self.tell(Message(Call.ABORT, number, is_kept=pending.stops))
        self.job.emit(CheckpointFailed(number, reason))
        if pending.stops:
            self.stopping = None
        if not pending.is_savepoint and self.failures.add(reason):
            self.later(self.restart, range(len(self.graph.tasks)))

    def tell(self, message: Message) -> None:
        """J7. All tasks that have not finished are notified."""
        for task in range(len(self.graph.tasks)):
            if task not in self.finished:
                self.job.send(task, message)

    def advance(self) -> None:
        """J8. Checkpoints may expire."""
        timeout = self.job.config.settings.checkpoint_timeout
        for number, pending in self.pending.items():
            if self.job.now >= pending.timestamp + timeout:
                self.later(self.expire, number)

    def expire(self, number: int) -> None:
        """J8. A checkpoint did not complete in time."""
        if number in self.pending:
            self.abort(number, CheckpointReason.EXPIRED)

    # ---- failover ----------------------------------------------------------------------------------------------------
    async def restart(self, failed: Iterable[int]) -> None:
        """J11. Tasks are restarted, with everything that is connected with them, from the newest checkpoint (Flink:
        `DefaultScheduler.restartTasksWithDelay`, `restoreState`)."""
        job, graph = self.job, self.graph
        if job.status is not None or self.replaced:
            return
        if self.is_stopped:
            await self.over(JobStatus.FAILED, "a task has failed after the savepoint was complete")
            return
        if job.config.settings.regions:
            tasks = sorted({one for task in failed for one in graph.regions[task]})
        else:
            tasks = list(range(len(graph.tasks)))
        for number in tasks:
            await job.tasks[number].cancel()
        if self.replaced or job.status is not None:
            return
        for number in sorted(self.pending):
            self.abort(number, CheckpointReason.TASK_CLOSING)
        checkpoint = job.newest()
        for number in tasks:
            self.finished.pop(number, None)
            job.forget_messages(number)
        self.reset_coordinators(tasks, 0 if checkpoint is None else checkpoint.checkpoint)
        job.emit(JobRestarted(0 if checkpoint is None else checkpoint.checkpoint, runs_of(tasks)))
        job.deploy(tasks, checkpoint)

    async def restart_if_failed(self, tasks: Iterable[int]) -> None:
        """J12. The tasks of a worker have failed, and may have been restarted since, because others have."""
        failed = [one for one in tasks if self.job.tasks[one].is_over()]
        if failed:
            await self.restart(failed)

    def reset_coordinators(self, tasks: list[int], checkpoint: int) -> None:
        """coordinator.md O42, O43. The operator coordinators learn which subtasks are reset."""
        everything = len(tasks) == len(self.graph.tasks)
        for vertex, coordinator in self.coordinators.items():
            subtasks = tuple(self.graph.tasks[one][1] for one in tasks if self.graph.tasks[one][0] == vertex)
            restored = RestoredEvents(checkpoint or -1, ((),) * coordinator.parallelism)
            for subtask in subtasks:
                attempt = coordinator.newest[subtask]
                if not everything and coordinator.attempts[subtask, attempt].is_alive():
                    coordinator.fail_attempt(subtask, attempt, ())
            if everything:
                coordinator.restart_all(restored, ())
            elif subtasks:
                coordinator.restart(subtasks, restored, ())
        self.hear()

    def die(self) -> None:
        """J13. The job master fails, and what it had in memory is lost."""
        self.replaced = True
        self.end_checkpoints()
        for coordinator in self.coordinators.values():
            coordinator.release()
        self.main.clear()

    def end_checkpoints(self) -> None:
        """J8. No checkpoint goes on."""
        for number in sorted(self.pending):
            self.job.emit(CheckpointFailed(number, CheckpointReason.TASK_CLOSING))
        self.pending.clear()

    async def take_over(self) -> None:
        """J13. Another job master cancels all tasks, and restores the job."""
        job = self.job
        for task in job.tasks:
            await task.cancel()
        if self.replaced or job.status is not None:
            return
        checkpoint = job.newest()
        tasks = list(range(len(self.graph.tasks)))
        for number in tasks:
            job.forget_messages(number)
        job.emit(JobRestarted(0 if checkpoint is None else checkpoint.checkpoint, (Run(0, len(tasks) - 1),)))
        job.deploy(tasks, checkpoint)

    async def cancel(self) -> None:
        """J17. The job is cancelled."""
        await self.over(JobStatus.CANCELED)

    async def over(self, status: JobStatus, cause: str = "") -> None:
        """J17. The job is over."""
        for task in self.job.tasks:
            await task.cancel()
        if self.replaced or self.job.status is not None:
            return
        self.end_checkpoints()
        for coordinator in self.coordinators.values():
            coordinator.release()
        self.main.clear()
        self.job.end_job(status, cause)
