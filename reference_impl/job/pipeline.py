"""A job: the port, with what outlives job master and workers. Specification: pipeline.md."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from random import Random

from conformance.ports import (
    COMMIT,
    CheckpointAcknowledged,
    CheckpointKind,
    CheckpointReason,
    Committed,
    FailurePoint,
    FailureStruck,
    FailureTarget,
    JobCheckpoint,
    JobConfig,
    JobOver,
    JobStatus,
    JobTaskChanged,
    OperatorState,
    PartTaken,
    PipelinePort,
    PortError,
    Refusal,
    Resources,
    Run,
    Runs,
    TaskReady,
    TaskState,
    Transaction,
    Triggered,
    Turn,
    Until,
    VertexKind,
)
from conformance.scheduling import FreeLock, Lock

from ..design import Design
from ..faults import Faults, Faulty
from ..held import together
from ..task.task import Mail
from .agenda import Agenda, Going
from .checkpoints import ALIGNMENTS, Part
from .deployment import Deployment
from .graph import graph_of
from .master import JobMaster
from .messages import Call, Message
from .restoring import Shares
from .task import JobTask, Options
from .worker import Worker

INITIALIZING = TaskState.INITIALIZING
RUNNING = (TaskState.RUNNING, TaskState.FINISHED)
REPORTED = (TaskState.RUNNING, TaskState.FINISHED, TaskState.FAILED)
"""The states of a task of which the job master learns."""
MOST_RESTARTS = 100
"""How often a job is restarted while it settles, until it is clear that it will not: more often than anything is made
to fail. Otherwise a job would settle for ever that fails anew whenever it is restored."""
STATE, TO_TRIGGER, EVENT = Call.STATE, Call.TRIGGER, Call.EVENT
IDLE, ALL_RUNNING, OVER = Until.IDLE, Until.RUNNING, Until.OVER
"""Module variables, because looking up a member of an enumeration is slow in Python 3.11."""


class Pipeline(Faulty, PipelinePort):
    """Job master, workers and tasks have states of their own."""

    def __init__(self, config: JobConfig, design: Design, lock_type: type[Lock] = FreeLock) -> None:
        """`lock_type`: how the locks of tasks are made. They are free if a turn of a thread meets no other turn, since
        a thread that waits for anything else holds none."""
        self.lock_type = lock_type
        self.config = config
        self.design = design
        self.faults = Faults(self)
        self.graph = graph_of(config)
        self.agenda = Agenda(self)
        self.random = Random(config.settings.seed)
        self.now = 0
        """Now: the milliseconds since the job began."""
        self.status: JobStatus | None = None
        self.restarts = 0
        """Restarts: how often tasks were deployed."""
        self.orphaned = False
        """Orphaned: whether the tasks belong to a job master that has failed."""
        self.cancelling = self.released = False
        # ---- outside the job
        self.supplied = self.supplied_by(config)
        """Supplied: by split, how many records exist."""
        self.ended: set[int] = set()
        """Ended: the sources to which nothing more is supplied."""
        self.throttled: set[int] = set()
        """Throttled: the tasks whose operators stand still."""
        self.committed: dict[int, dict[Transaction, Runs]] = {
            number: {} for number, one in enumerate(config.vertices) if one.kind is VertexKind.SINK
        }
        """Committed: by sink and transaction."""
        # ---- what job masters have stored
        self.stored: dict[int, JobCheckpoint] = {}
        self.restored = config.restored
        self.latest = 0 if config.restored is None else config.restored.checkpoint
        """Latest: the number of the newest checkpoint that was triggered."""
        self.options: dict[int, Options] = {}
        """Options: by checkpoint, what its barriers say."""
        # ---- what is to fail
        self.waiting: dict[FailurePoint, tuple[FailureTarget, int]] = {}
        # ---- threads and processes
        self.down: list[list[Message]] = [[] for _ in self.graph.tasks]
        self.up: list[list[Message]] = [[] for _ in self.graph.tasks]
        """By task, the messages of the job master to it, and its messages to the job master."""
        for task, threads in enumerate(self.graph.threads):
            self.agenda.add(threads.task)
            self.agenda.add(threads.restore)
            self.agenda.add(threads.to, partial(self.deliver, task), partial(bool, self.down[task]))
            self.agenda.add(threads.from_, partial(self.bring, task), partial(bool, self.up[task]))
        for link in self.graph.links:
            self.agenda.add(link)
        self.workers = [
            Worker(number, self.tasks_on(number), config.settings.sharing, self.faults, self.agenda)
            for number in range(config.settings.workers)
        ]
        self.agenda.add("master", self.work_as_master, lambda: bool(self.master.main))
        for vertex in self.graph.sources:
            self.agenda.add(f"enumerator {vertex}", partial(self.assign, vertex), partial(self.is_due, vertex))
        self.tasks: list[JobTask] = []
        """By number, the attempt that was deployed last."""
        self.master = JobMaster(self, config.restored)
        self.deploy(range(len(self.graph.tasks)), config.restored)

    def supplied_by(self, config: JobConfig) -> list[int]:
        """J14. Returns how many records of each split exist at the beginning."""
        supplied = [0] * sum(one.splits for one in config.vertices)
        if config.restored is not None:
            for of_vertex in config.restored.states:
                for state in of_vertex:
                    for split in state.splits:
                        supplied[split.split] = split.offset
        return supplied

    def tasks_on(self, worker: int) -> list[int]:
        """J12. Returns the tasks that run on a worker."""
        return [task for task, (_, subtask) in enumerate(self.graph.tasks) if self.graph.worker(subtask) == worker]

    def worker_of(self, task: int) -> Worker:
        """J12. Returns the worker on which a task runs."""
        return self.workers[self.graph.worker(self.graph.tasks[task][1])]

    # ---- tasks come and go -------------------------------------------------------------------------------------------
    def deploy(self, tasks: Iterable[int], checkpoint: JobCheckpoint | None) -> None:
        """J14. Tasks are deployed, with what they restore."""
        numbers = list(tasks)
        self.orphaned = False
        shares = Shares(self.graph, checkpoint, self.config.settings.output_on_downstream)
        deployment = Deployment(self, numbers, shares)
        made = {number: deployment.make(number) for number in numbers}
        self.tasks = [made.get(task, old) for task, old in enumerate(self.tasks or made.values())]
        self.restarts += 1

    async def read(self, task: JobTask) -> bool:
        """J14. The executor of recovered channel state goes on. A drainer that is not installed has nothing to push."""
        if task.is_over() or task.state is None:
            return False
        return await task.read()

    def network_failed(self, task: int, error: PortError) -> None:
        """J11. The network has failed on the side of a task, which fails."""
        self.master.later(self.tasks[task].fail, error.reason)

    def is_current(self, task: JobTask) -> bool:
        """J13. Whether no other attempt has taken the place of this one, and the job master knows it. A thread that has
        not noticed it says nothing."""
        return self.tasks[task.number] is task and not self.orphaned

    def changed(self, task: JobTask, state: TaskState, cause: str) -> None:
        """J11. A task has another state, of which the job master learns, unless it has caused it."""
        if self.tasks[task.number] is not task:
            return
        self.emit(JobTaskChanged(task.number, state, cause))
        if state is INITIALIZING:
            self.can_read(task)
        if not self.orphaned and state in REPORTED:
            self.report(task.number, Message(STATE, state=state, cause=cause, is_kept=True))

    def can_read(self, task: JobTask) -> None:
        """I-22. The executor of recovered channel state has something to do."""
        if self.graph.wirings[task.number].sources:
            self.agenda.wake(self.graph.threads[task.number].restore)

    def ready(self, task: JobTask) -> None:
        """J6. A task takes its part in checkpoints from now on."""
        if self.is_current(task):
            self.emit(TaskReady(task.number))

    def acknowledge(self, task: JobTask, told: CheckpointAcknowledged) -> None:
        """J6. A task has stored its part, of which the job master gets a copy."""
        if self.is_current(task):
            snapshot, stored = task.operators.snapshots.pop(told.checkpoint), task.states.contents(told.checkpoint)
            part = Part(snapshot, *stored, told.taken or PartTaken())
            self.report(task.number, Message(Call.ACKNOWLEDGE, told.checkpoint, part))

    def decline(self, task: JobTask, checkpoint: int, reason: CheckpointReason) -> None:
        """J6. A task declines a checkpoint."""
        if self.is_current(task):
            self.report(task.number, Message(Call.DECLINE, checkpoint, reason=reason))

    def cut(self, task: JobTask, checkpoint: int) -> None:
        """J6. A source has taken its snapshot: the gate of its operator coordinator opens."""
        if not self.is_current(task):
            return
        vertex, subtask = self.graph.tasks[task.number]
        coordinator = self.master.coordinators[vertex]
        coordinator.barrier(subtask, coordinator.newest[subtask], checkpoint, True, ())
        self.master.hear()

    def heard_of_abort(self, task: JobTask, checkpoint: int) -> None:
        """J8. A source was notified that a checkpoint was aborted."""
        if not self.is_current(task):
            return
        vertex, subtask = self.graph.tasks[task.number]
        coordinator = self.master.coordinators[vertex]
        coordinator.notify_aborted(subtask, coordinator.newest[subtask], checkpoint)
        self.master.hear()

    def commit(self, sink: int, transaction: Transaction, records: Runs) -> None:
        """J9. A transaction is committed outside the job. Raises: PortError IO."""
        self.faults.reach(COMMIT)
        if transaction not in self.committed[sink]:
            self.committed[sink][transaction] = records
            self.emit(Committed(sink, transaction, records))

    # ---- messages ----------------------------------------------------------------------------------------------------
    def send(self, task: int, message: Message) -> None:
        """J15. The job master sends a message to a task."""
        self.down[task].append(message)
        self.agenda.wake(self.graph.threads[task].to)

    def report(self, task: int, message: Message) -> None:
        """J15. A task sends a message to the job master."""
        self.up[task].append(message)
        self.agenda.wake(self.graph.threads[task].from_)

    def forget_messages(self, task: int) -> None:
        """J11. The attempt is over, and so are its connections."""
        self.down[task].clear()
        self.up[task].clear()

    def deliver(self, number: int) -> bool:
        """J15. The oldest message to a task arrives."""
        if not self.down[number]:
            return False
        message, task = self.down[number].pop(0), self.tasks[number]
        if task.is_over():
            if message.call is TO_TRIGGER:
                self.decline(task, message.checkpoint, CheckpointReason.TASK_CLOSING)
        elif message.call is EVENT:
            event = self.master.event(number)
            self.report(number, Message(Call.REPLY))
            if event is not None:
                split = self.master.enumerators[self.graph.tasks[number][0]].sent[event]
                task.mails.put((Mail.NO_MORE_SPLITS, 0) if split < 0 else (Mail.SPLIT, split))
        else:
            task.mails.put((_MAILS[message.call], message.checkpoint))
        return True

    def bring(self, number: int) -> bool:
        """J15. The oldest message of a task arrives."""
        if not self.up[number]:
            return False
        self.master.arrive(number, self.up[number].pop(0))
        return True

    def work_as_master(self) -> bool | Going:
        """J5. The main thread of the job master goes on."""
        return self.master.work()

    def assign(self, vertex: int) -> bool:
        """J1. An operator coordinator goes on."""
        return self.master.assign(vertex)

    def is_due(self, vertex: int) -> bool:
        """I-22. Whether an operator coordinator has an event to send."""
        return self.master.enumerators[vertex].is_due()

    # ---- checkpoints that are stored ---------------------------------------------------------------------------------
    def store(self, checkpoint: JobCheckpoint) -> None:
        """J7. A checkpoint is complete."""
        self.stored[checkpoint.checkpoint] = checkpoint
        if checkpoint.kind is not CheckpointKind.SAVEPOINT:
            self.restored = checkpoint

    def newest(self) -> JobCheckpoint | None:
        """J11. Returns the checkpoint from which a failover restores."""
        return self.restored

    # ---- failures ----------------------------------------------------------------------------------------------------
    async def fail(self, target: FailureTarget, number: int, point: FailurePoint) -> bool:
        """J11. Something fails now, or when it comes to that point."""
        if self.status is not None or self.released:
            return False
        if point is FailurePoint.IN_RESTORE and any(one.state is INITIALIZING for one in self.targeted(target, number)):
            await self.strike(target, number, point)
            return True
        if point is not FailurePoint.NOW:
            self.waiting[point] = target, number
            return True
        if target in (FailureTarget.TASK, FailureTarget.WORKER) and all(
            one.is_over() for one in self.targeted(target, number)
        ):
            return False
        await self.strike(target, number, point)
        return True

    def targeted(self, target: FailureTarget, number: int) -> list[JobTask]:
        """J11. Returns the tasks that fail with a target, or because of it."""
        if target is FailureTarget.TASK:
            return self.tasks[number : number + 1]
        if target is FailureTarget.WORKER:
            return [self.tasks[one] for one in self.tasks_on(number)]
        return self.tasks

    async def strike(self, target: FailureTarget, number: int, point: FailurePoint) -> None:
        """J11. It fails. Threads that waited for something of it go on."""
        await self.strike_at(target, number, point)
        self.agenda.look()

    async def strike_at(self, target: FailureTarget, number: int, point: FailurePoint) -> None:
        """J11 to J13. It fails."""
        self.emit(FailureStruck(target, number, point))
        if target is FailureTarget.TASK:
            await self.tasks[number].fail(str(target))
        elif target is FailureTarget.WORKER:
            await self.fail_worker(number)
        elif target is FailureTarget.JOB:
            self.master.later(self.master.restart, range(len(self.tasks)))
        elif self.master.is_stopped:
            await self.master.over(JobStatus.FAILED, "the job master has failed after the savepoint was complete")
        else:
            self.master.die()
            self.orphaned = True
            for number in range(len(self.tasks)):
                self.forget_messages(number)
            self.master = JobMaster(self, self.newest())
            self.master.later(self.master.cancel if self.cancelling else self.master.take_over)

    async def fail_worker(self, number: int) -> None:
        """J12. All tasks of a worker fail, and what they have sent that has not arrived is lost."""
        tasks = [one for one in self.targeted(FailureTarget.WORKER, number) if not one.is_over()]
        for task in tasks:
            task.change(TaskState.FAILED, str(FailureTarget.WORKER))
            task.states.close()
            self.forget_messages(task.number)
        self.workers[number].die()
        self.master.later(self.master.restart_if_failed, [task.number for task in tasks])
        for task in tasks:
            await task.clean_up()

    async def reach(self, point: FailurePoint, task: JobTask | None, checkpoint: int) -> None:
        """J11. Something may be made to fail here."""
        if point not in self.waiting:
            return
        target, number = self.waiting[point]
        if point in (FailurePoint.IN_SNAPSHOT, FailurePoint.IN_RESTORE):
            if task not in self.targeted(target, number):
                return
        elif point is FailurePoint.BETWEEN_CUTS:
            pending = self.master.pending.get(checkpoint)
            if pending is None or not self.somebody_is_missing(checkpoint):
                return
        del self.waiting[point]
        await self.strike(target, number, point)

    def somebody_is_missing(self, checkpoint: int) -> bool:
        """J6. Whether a task has not taken its snapshot of a checkpoint."""
        return any(one.checkpoints.subtask.last < checkpoint for one in self.tasks if not one.is_over())

    def end_job(self, status: JobStatus, cause: str) -> None:
        """J17. The job is over."""
        self.status = status
        for number, worker in enumerate(self.workers):
            worker.writer.release()
            for task in self.tasks_on(number):
                self.forget_messages(task)
        self.emit(JobOver(status, cause))
        for thread in self.agenda.work:
            self.agenda.wake(thread)

    # ---- level job ---------------------------------------------------------------------------------------------------
    def supply(self, split: int, count: int) -> None:
        """J1. Further records exist."""
        for vertex in self.graph.sources:
            if split in self.config.splits_of(vertex) and vertex not in self.ended and self.is_open():
                self.supplied[split] += count
                self.wake_readers(vertex)

    def wake_readers(self, vertex: int) -> None:
        """J1. The readers of a source may have something to emit."""
        for task, (of, _) in enumerate(self.graph.tasks):
            if of == vertex and self.tasks[task].has_more():
                self.tasks[task].wake()

    def end(self, source: int) -> None:
        """J16. Nothing more is supplied."""
        if source not in self.ended and self.is_open():
            self.ended.add(source)
            self.master.end(source)

    def throttle(self, task: int, on: bool) -> None:
        """J3. An operator stands still, or goes on."""
        if self.is_open():
            (self.throttled.add if on else self.throttled.discard)(task)
            if not self.tasks[task].is_over():
                self.tasks[task].throttle(on)

    def is_open(self) -> bool:
        """J17. Whether operations still change something."""
        return self.status is None and not self.released

    def trigger(self, kind: CheckpointKind) -> Triggered:
        """J5. A checkpoint is triggered."""
        return self.trigger_or_refuse(kind, stops=False)

    def stop_with_savepoint(self) -> Triggered:
        """J10. A savepoint is triggered, with which the job stops."""
        return self.trigger_or_refuse(CheckpointKind.SAVEPOINT, stops=True)

    def trigger_or_refuse(self, kind: CheckpointKind, stops: bool) -> Triggered:
        """J5. (Flink: `CheckpointRequestDecider`, `DefaultCheckpointPlanCalculator`.)"""
        refused = self.refusal(kind)
        if refused is not None:
            return Triggered(refused=refused)
        self.latest += 1
        self.options[self.latest] = Options(ALIGNMENTS[kind], self.now, stops)
        self.master.trigger(self.latest, kind, stops)
        return Triggered(self.latest)

    def refusal(self, kind: CheckpointKind) -> Refusal | None:
        """J5. Returns why a checkpoint is not triggered now."""
        master = self.master
        if not self.is_open() or self.cancelling:
            return Refusal.OVER
        if master.stopping is not None:
            return Refusal.STOPPING
        if not self.config.settings.unaligned and kind in (CheckpointKind.TIMEOUTABLE, CheckpointKind.UNALIGNED):
            return Refusal.DISABLED
        if self.orphaned:
            return Refusal.NOT_RUNNING
        for number, task in enumerate(self.tasks):
            if (task.state is None or task.is_over()) and number not in master.finished:
                return Refusal.NOT_RUNNING
        triggering = any(one.awaited is None for one in master.pending.values())
        pending = sum(not one.is_savepoint for one in master.pending.values())
        if triggering or (kind is not CheckpointKind.SAVEPOINT and pending >= self.config.settings.concurrent):
            return Refusal.TOO_MANY
        return None

    def cancel(self) -> None:
        """J17. The job is cancelled."""
        if self.is_open() and not self.cancelling:
            self.cancelling = True
            self.master.later(self.master.cancel)

    def snapshot(self, checkpoint: int) -> JobCheckpoint | None:
        """J7. A completed checkpoint."""
        return self.stored.get(checkpoint)

    def state(self, vertex: int) -> tuple[OperatorState, ...]:
        """J3. What the operators of a vertex have."""
        return tuple(
            self.tasks[task].operators.state_now() for task, (of, _) in enumerate(self.graph.tasks) if of == vertex
        )

    def output(self, sink: int) -> Runs:
        """J9. What a sink has committed."""
        return merged(self.committed[sink].values())

    # ---- level steps -------------------------------------------------------------------------------------------------
    def threads(self) -> tuple[str, ...]:
        """I-22. The names of all threads."""
        return tuple(self.agenda.work)

    def work(self, thread: str) -> Turn:
        """I-22. A thread does its next piece of work."""
        agenda = self.agenda
        if not self.is_open() and thread in agenda.work:
            return Turn.OVER
        turn = agenda.turn(thread)
        if agenda.waiting:
            agenda.look()
        return turn

    async def work_finely(self, thread: str) -> Turn:
        """I-22. As `work`, but other threads can work meanwhile."""
        if not self.is_open() and thread in self.agenda.work:
            return Turn.OVER
        turn = await self.agenda.turn_finely(thread)
        self.agenda.look()
        return turn

    def settle(self, until: Until) -> bool:
        """I-22. The threads work in a drawn order until it has come to that."""
        agenda, draw = self.agenda, self.random.choice
        most = self.restarts + MOST_RESTARTS
        while not self.has_settled(until):
            able = list(agenda.able)
            if not able or not self.is_open():
                return until is IDLE
            if self.restarts > most:
                return False
            self.work(draw(able))
        return True

    def has_settled(self, until: Until) -> bool:
        """I-22. Whether it has come to that."""
        if until is IDLE:
            return not self.is_open()
        if until is OVER:
            return self.status is not None
        if until is ALL_RUNNING:
            return self.status is not None or False not in [one.state in RUNNING for one in self.tasks]
        return not self.master.pending

    def lose(self, thread: str) -> bool:
        """J15. A message is lost."""
        kind, _, name = thread.partition(" ")
        if kind not in ("to", "from") or thread not in self.agenda.work or not self.is_open():
            return False
        vertex, subtask = map(int, name.split("/"))
        task = self.graph.task(vertex, subtask)
        messages = self.down[task] if kind == "to" else self.up[task]
        if not messages or messages[0].is_kept:
            return False
        self.master.lose(task, messages.pop(0))
        return True

    def advance(self, milliseconds: int) -> None:
        """J8. Time passes."""
        self.now += milliseconds
        if self.is_open():
            for task in self.tasks:
                if not task.is_over():
                    task.advance(milliseconds)
            self.master.advance()

    # ---- the end -----------------------------------------------------------------------------------------------------
    def resources(self) -> Resources:
        """J17. What all tasks, the network, the writers and the operator coordinators hold."""
        held = [one for task in self.tasks for one in task.held()]
        held += [worker.writer.resources() for worker in self.workers]
        held += [coordinator.resources() for coordinator in self.master.coordinators.values()]
        return together(held)

    async def release(self) -> None:
        """J17. Everything is given back."""
        if self.released:
            return
        self.released = True
        self.agenda.close()
        for task in self.tasks:
            await task.release()
        for coordinator in self.master.coordinators.values():
            coordinator.release()
        for worker in self.workers:
            worker.writer.release()


_MAILS = {Call.TRIGGER: Mail.TRIGGER, Call.COMPLETE: Mail.COMPLETE, Call.ABORT: Mail.ABORT}


def merged(committed: Iterable[Runs]) -> Runs:
    """J9. Returns the records of all transactions, ascending, with those twice that are in two."""
    first: list[Run] = []
    again: list[Run] = []
    for one in sorted(record for runs in committed for run in runs for record in run):
        runs = again if first and first[-1].last == one else first
        if runs and runs[-1].last + 1 == one:
            runs[-1] = Run(runs[-1].first, one)
        else:
            runs.append(Run(one, one))
    return tuple(sorted([*first, *again], key=lambda one: one.first))
