"""A little job of a test's own: sources, one edge, sinks. It tries the judge of jobs without an engine.

It is honest, and as simple as it can be: an unaligned checkpoint stops the world, an aligned one sends barriers. Each
`bug` makes it dishonest in one way.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from functools import partial

from conformance.ports import (
    Capability,
    CheckpointCompleted,
    CheckpointFailed,
    CheckpointKind,
    CheckpointReason,
    Committed,
    FailurePoint,
    FailureStruck,
    FailureTarget,
    Implementation,
    InFlight,
    JobCheckpoint,
    JobConfig,
    JobOver,
    JobRestarted,
    JobStatus,
    JobTaskChanged,
    OperatorState,
    PipelinePort,
    Prepared,
    Refusal,
    Resources,
    Run,
    Runs,
    Side,
    SplitState,
    TaskReady,
    TaskState,
    ThreadWoken,
    Transaction,
    Triggered,
    Turn,
    Until,
    record,
    records_of,
    runs_of,
)
from conformance.ports.implementation import Factory

BUGS: Mapping[str, str] = {
    "forgets what is in flight": "no-record-is-missing-in-a-checkpoint",
    "stores what is in flight twice": "a-record-is-in-a-checkpoint-once",
    "stores what comes later": "nothing-in-a-checkpoint-is-from-behind-the-cut",
    "restores without what is in flight": "no-record-is-missing-in-a-checkpoint",
    "commits at a savepoint": "only-a-completed-checkpoint-is-committed",
    "commits when it prepares": "only-a-completed-checkpoint-is-committed",
    "commits twice": "nothing-is-committed-twice-or-made-up",
    "commits never after a restore": "no-record-is-missing-in-a-checkpoint",
    "completes without a task": "a-checkpoint-completes-when-every-task-has-acknowledged-it",
    "completes twice": "a-checkpoint-ends-once",
    "restores the beginning": "a-failover-restores-the-newest-checkpoint",
    "wakes no task": "every-checkpoint-ends",
    "never expires": "every-checkpoint-ends",
    "expires at once": "a-checkpoint-fails-for-the-reason-it-gives",
    "restarts for fun": "a-job-is-restarted-only-after-failures",
    "restarts one task": "connected-tasks-are-restarted-together",
    "fails everybody": "a-task-fails-of-what-was-made-to-fail",
    "reverses what is in flight": "what-is-in-flight-is-stored-in-order",
    "restores into other channels": "what-is-in-flight-stays-in-its-channel",
    "reads a split twice": "each-split-is-in-one-place",
    "keeps a file": "a-job-that-is-over-holds-nothing",
    "ignores a cancellation": "a-cancelled-job-is-over",
    "finishes early": "a-job-finishes-when-all-is-committed",
    "outputs too little": "the-output-is-what-was-committed",
    "counts backwards": "ids-of-checkpoints-increase",
    "leaves a checkpoint pending": "a-job-that-is-over-has-no-checkpoint-pending",
}
"""By bug, a property that notices it."""
Action = Callable[[], None]


class Pending:
    """A checkpoint that is not complete."""

    def __init__(self, number: int, kind: CheckpointKind, waits: set[int], now: int) -> None:
        self.number, self.kind, self.waits, self.at = number, kind, waits, now
        self.states: dict[int, OperatorState] = {}
        self.flights: tuple[InFlight, ...] = ()


class LittleJob(PipelinePort):
    """Sources and sinks with one edge between them, in which records go in turn."""

    def __init__(self, config: JobConfig, bug: str = "") -> None:
        self.config, self.bug = config, bug
        self.tasks = config.tasks()
        self.sources = [number for number, (vertex, _) in enumerate(self.tasks) if vertex == 0]
        self.sinks = [number for number, (vertex, _) in enumerate(self.tasks) if vertex == 1]
        splits = config.vertices[0].splits
        self.mails: dict[str, deque[Action]] = {name: deque() for name in self.threads()}
        self.named: set[str] = set()
        self.there = [0] * splits
        self.done: dict[int, JobCheckpoint] = {}
        self.throttled: set[int] = set()
        self.out: dict[Transaction, Runs] = {}
        self.pending: dict[int, Pending] = {}
        self.point = config.restored
        self.newest = 0 if config.restored is None else config.restored.checkpoint
        if config.restored is not None:
            for one in config.restored.states[0]:
                for split in one.splits:
                    self.there[split.split] = split.offset
        self.over = self.ended = False
        self.now = 0
        self.attempt = 0
        self.clear()
        self.post("master", self.deploy)

    # ---- threads
    def threads(self) -> tuple[str, ...]:
        names = [f"{vertex}/{subtask}" for vertex, subtask in self.config.tasks()]
        links = [
            f"link 0/{producer}/{consumer}"
            for producer in range(self.config.vertices[0].parallelism)
            for consumer in range(self.config.vertices[1].parallelism)
        ]
        each = [f"{what} {name}" for what in ("task", "restore", "to", "from") for name in names]
        writers = [f"writer {number}/0" for number in range(self.config.settings.workers)]
        return ("master", "enumerator 0", *each, *links, *writers)

    def post(self, thread: str, action: Action) -> None:
        self.mails[thread].append(action)
        self.wake(thread)

    def wake(self, thread: str) -> None:
        if thread not in self.named:
            self.named.add(thread)
            self.emit(ThreadWoken(thread))

    def task(self, number: int) -> str:
        vertex, subtask = self.tasks[number]
        return f"task {vertex}/{subtask}"

    def of_attempt(self, action: Action) -> Action:
        mine = self.attempt
        return lambda: action() if mine == self.attempt else None

    def send(self, number: int, action: Action) -> None:
        """The master sends something to a task."""
        name = self.task(number)
        there = self.of_attempt(action)
        self.post(name.replace("task", "to"), lambda: self.post(name, there))

    def answer(self, number: int, action: Action) -> None:
        """A task sends something to the master."""
        self.post(self.task(number).replace("task", "from"), partial(self.post, "master", self.of_attempt(action)))

    def work(self, thread: str) -> Turn:
        if self.over:
            return Turn.OVER
        self.named.discard(thread)
        if self.mails[thread]:
            self.mails[thread].popleft()()
            self.wake(thread)
            return Turn.ACTED
        if thread.startswith("task ") and self.take(thread):
            self.wake(thread)
            return Turn.ACTED
        return Turn.WAITS

    def lose(self, thread: str) -> bool:
        return False

    # ---- deployment
    def clear(self) -> None:
        self.queues: dict[tuple[int, int], deque[int | Pending]] = {
            (producer, consumer): deque() for producer in self.sources for consumer in self.sinks
        }
        self.offsets: dict[int, list[SplitState]] = {number: [] for number in self.sources}
        self.written: dict[int, list[int]] = {number: [] for number in self.sinks}
        self.prepared: dict[int, dict[Transaction, Runs]] = {number: {} for number in self.sinks}
        self.blocked: dict[int, set[int]] = {number: set() for number in self.sinks}
        self.aligning: dict[int, int] = {}
        self.turn = 0
        self.ready: set[int] = set()

    def deploy(self) -> None:
        self.clear()
        self.restored = () if self.point is None else self.point.in_flight
        point = self.point
        known: dict[int, int] = {}
        if point is not None:
            known = {one.split: one.offset for state in point.states[0] for one in state.splits}
            prepared = [one for state in point.states[1] for one in state.prepared]
            if self.bug != "commits never after a restore":
                for one in prepared:
                    self.commit(one.transaction, one.records)
        for split in range(len(self.there)):
            number = self.sources[split % len(self.sources)]
            self.offsets[number].append(SplitState(split, known.get(split, 0)))
        for number in range(len(self.tasks)):
            self.send(number, partial(self.start, number))
        if self.bug != "restores without what is in flight":
            for flight in self.restored:
                self.queues[self.channel(flight)].extend(records_of(flight.records))

    def channel(self, flight: InFlight) -> tuple[int, int]:
        """Records stay in their channel, unless it is not there any more."""
        own = self.point is not None and self.point.parallelism == tuple(
            one.parallelism for one in self.config.vertices
        )
        producer = -1 - flight.producer if self.bug == "restores into other channels" else flight.producer
        return self.sources[producer if own else 0], self.sinks[flight.consumer if own else 0]

    def start(self, number: int) -> None:
        """A task runs as soon as it is deployed."""
        self.ready.add(number)
        self.emit(JobTaskChanged(number, TaskState.INITIALIZING))
        self.emit(JobTaskChanged(number, TaskState.RUNNING))
        self.emit(TaskReady(number))

    def restart(self, cause: str, failed: Iterable[int]) -> None:
        for number in failed:
            self.emit(JobTaskChanged(number, TaskState.FAILED, cause))
        for number in self.ready - set(failed):
            self.emit(JobTaskChanged(number, TaskState.CANCELED))
        self.attempt += 1
        self.ready = set()
        for mails in self.mails.values():
            mails.clear()
        for one in list(self.pending.values()):
            self.end_pending(one, CheckpointReason.TASK_CLOSING)
        if self.bug == "restores the beginning" and self.done:
            self.point = self.config.restored
        self.post("master", self.redeploy)

    def redeploy(self) -> None:
        number = 0 if self.point is None else self.point.checkpoint
        last = len(self.tasks) - 1 - (self.bug == "restarts one task")
        self.emit(JobRestarted(number, (Run(0, last),)))
        self.deploy()

    # ---- records
    def take(self, thread: str) -> bool:
        number = next(one for one in range(len(self.tasks)) if self.task(one) == thread)
        if number not in self.ready or number in self.throttled:
            return False
        return self.read(number) if number in self.offsets else self.write(number)

    def read(self, number: int) -> bool:
        if any(len(queue) > 3 for (producer, _), queue in self.queues.items() if producer == number):
            return False
        for at, one in enumerate(self.offsets[number]):
            if one.offset < self.there[one.split]:
                self.offsets[number][at] = SplitState(one.split, one.offset + 1)
                consumer = self.sinks[self.turn % len(self.sinks)]
                self.turn += 1
                self.queues[number, consumer].append(record(one.split, one.offset))
                if self.bug != "wakes no task" or one.offset % 3:
                    self.wake(self.task(consumer))
                return True
        return False

    def write(self, number: int) -> bool:
        for (producer, consumer), queue in self.queues.items():
            if consumer != number or not queue or producer in self.blocked[number]:
                continue
            one = queue.popleft()
            self.wake(self.task(producer))
            if isinstance(one, Pending):
                self.align(number, producer, one)
            else:
                self.written[number].append(one)
            return True
        return False

    # ---- checkpoints
    def trigger(self, kind: CheckpointKind) -> Triggered:
        if self.over:
            return Triggered(refused=Refusal.OVER)
        if len(self.ready) < len(self.tasks):
            return Triggered(refused=Refusal.NOT_RUNNING)
        if kind is not CheckpointKind.SAVEPOINT and any(
            one.kind is not CheckpointKind.SAVEPOINT for one in self.pending.values()
        ):
            return Triggered(refused=Refusal.TOO_MANY)
        self.newest += -1 if self.bug == "counts backwards" and self.newest > 1 else 1
        one = self.pending[self.newest] = Pending(self.newest, kind, set(range(len(self.tasks))), self.now)
        if kind in (CheckpointKind.ALIGNED, CheckpointKind.SAVEPOINT) or len(self.pending) > 1:
            for number in self.sources:
                self.send(number, partial(self.barrier, number, one))
        else:
            self.stop_the_world(one)
        return Triggered(self.newest)

    def stop_the_world(self, one: Pending) -> None:
        flights = []
        for (producer, consumer), queue in self.queues.items():
            records = [record for record in queue if isinstance(record, int)]
            if self.bug == "forgets what is in flight":
                records = records[1:]
            if self.bug == "stores what is in flight twice":
                records = [*records, *records[-1:]]
            if self.bug == "reverses what is in flight":
                records.reverse()
            if records:
                ends = self.tasks[producer][1], self.tasks[consumer][1]
                flights.append(InFlight(0, *ends, Side.INPUT, runs_of(records)))
        one.flights = tuple(flights)
        for number in self.sources:
            one.states[number] = OperatorState(tuple(self.offsets[number]))
        for number in self.sinks:
            one.states[number] = self.prepare(number, one)
        for number in range(len(self.tasks)):
            if number or self.bug != "completes without a task":
                self.send(number, partial(self.acknowledge, number, one))
            else:
                one.waits.discard(number)

    def prepare(self, number: int, one: Pending) -> OperatorState:
        name = Transaction(self.tasks[number][1], one.number)
        if self.written[number]:
            self.prepared[number][name] = runs_of(self.written[number])
            self.written[number] = []
            if self.bug == "commits when it prepares":
                self.commit(name, self.prepared[number].pop(name))
        return OperatorState(prepared=tuple(Prepared(*each) for each in self.prepared[number].items()))

    def barrier(self, number: int, one: Pending) -> None:
        if one.number in self.pending:
            late = self.bug == "stores what comes later"
            splits = [SplitState(each.split, max(0, each.offset - late)) for each in self.offsets[number]]
            if self.bug == "reads a split twice":
                splits *= 2
            one.states[number] = OperatorState(tuple(splits))
            for consumer in self.sinks:
                self.queues[number, consumer].append(one)
                if self.bug != "wakes no task":
                    self.wake(self.task(consumer))
            self.answer(number, partial(self.acknowledged, number, one))

    def align(self, number: int, producer: int, one: Pending) -> None:
        if one.number not in self.pending:
            return
        self.aligning[number] = one.number
        self.blocked[number].add(producer)
        if len(self.blocked[number]) == len(self.sources):
            self.blocked[number] = set()
            one.states[number] = self.prepare(number, one)
            self.answer(number, partial(self.acknowledged, number, one))

    def acknowledge(self, number: int, one: Pending) -> None:
        self.answer(number, partial(self.acknowledged, number, one))

    def acknowledged(self, number: int, one: Pending) -> None:
        one.waits.discard(number)
        if one.waits or self.pending.pop(one.number, None) is None:
            return
        states = tuple(tuple(one.states[number] for number in numbers) for numbers in (self.sources, self.sinks))
        many = tuple(vertex.parallelism for vertex in self.config.vertices)
        self.done[one.number] = JobCheckpoint(one.number, one.kind, many, (), states, one.flights)
        self.emit(CheckpointCompleted(one.number, one.kind))
        if self.bug == "completes twice":
            self.emit(CheckpointCompleted(one.number, one.kind))
        if one.kind is not CheckpointKind.SAVEPOINT:
            self.point = self.done[one.number]
        if one.kind is not CheckpointKind.SAVEPOINT or self.bug == "commits at a savepoint":
            for sink in self.sinks:
                self.send(sink, partial(self.notified, sink, one.number))
        if self.bug == "restarts for fun" and one.number == 3:
            self.restart("", ())
        if self.ended and one.kind is not CheckpointKind.SAVEPOINT and all(
            each.offset == self.there[each.split] for some in self.offsets.values() for each in some
        ):  # fmt: skip
            if self.bug == "finishes early":
                self.finish(JobStatus.FINISHED)
            elif not any(
                [*self.written.values(), *self.queues.values()]
                + [[name for name in some if name.checkpoint > one.number] for some in self.prepared.values()]
            ):  # fmt: skip
                for sink in self.sinks:
                    self.notified(sink, one.number)
                self.finish(JobStatus.FINISHED)

    def notified(self, sink: int, number: int) -> None:
        for name in [one for one in self.prepared[sink] if one.checkpoint <= number]:
            self.commit(name, self.prepared[sink].pop(name))

    def commit(self, name: Transaction, records: Runs) -> None:
        if name not in self.out:
            self.out[name] = records
            self.emit(Committed(1, name, records))
        elif self.bug == "commits twice":
            self.emit(Committed(1, name, records))

    def end_pending(self, one: Pending, reason: CheckpointReason) -> None:
        del self.pending[one.number]
        for number in self.sinks:
            if self.aligning.get(number) == one.number:
                self.blocked[number].clear()
            self.wake(self.task(number))
        self.emit(CheckpointFailed(one.number, reason))

    # ---- the world around
    def supply(self, split: int, count: int) -> None:
        if not self.over and not self.ended:
            self.there[split] += count
            for number in self.sources:
                self.wake(self.task(number))

    def end(self, source: int) -> None:
        self.ended = True

    def throttle(self, task: int, on: bool) -> None:
        (self.throttled.add if on else self.throttled.discard)(task)
        self.wake(self.task(task))

    def advance(self, milliseconds: int) -> None:
        self.now += milliseconds
        for one in list(self.pending.values()):
            late = self.now - one.at >= self.config.settings.checkpoint_timeout
            if (late or self.bug == "expires at once") and self.bug != "never expires":
                self.end_pending(one, CheckpointReason.EXPIRED)

    def fail(self, target: FailureTarget, number: int, point: FailurePoint) -> bool:
        if self.over or point is not FailurePoint.NOW:
            return False
        if not self.ready and target in (FailureTarget.TASK, FailureTarget.WORKER):
            return False
        self.emit(FailureStruck(target, number, point))
        failed = {
            FailureTarget.TASK: [number],
            FailureTarget.WORKER: [
                one for one, (_, sub) in enumerate(self.tasks) if sub % self.config.settings.workers == number
            ],
        }.get(target, [])  # fmt: skip
        everybody = self.bug == "fails everybody" and target is FailureTarget.TASK
        self.restart(target.value, range(len(self.tasks)) if everybody else failed)
        return True

    def cancel(self) -> None:
        if not self.over and self.bug != "ignores a cancellation":
            self.finish(JobStatus.CANCELED)

    def finish(self, status: JobStatus) -> None:
        for one in list(self.pending.values()) if self.bug != "leaves a checkpoint pending" else ():
            self.end_pending(one, CheckpointReason.TASK_CLOSING)
        self.over = True
        self.emit(JobOver(status))

    def stop_with_savepoint(self) -> Triggered:
        return Triggered(refused=Refusal.DISABLED)

    def settle(self, until: Until) -> bool:
        while not self.over and (able := next((one for one in self.threads() if one in self.named), None)):
            self.work(able)
            if self.reached(until):
                return True
        return self.reached(until) or (until is Until.IDLE and not self.over)

    def reached(self, until: Until) -> bool:
        if until is Until.NO_CHECKPOINT:
            return not self.pending
        if until is Until.RUNNING:
            return self.over or len(self.ready) == len(self.tasks)
        return until is Until.OVER and self.over

    # ---- observations
    def snapshot(self, checkpoint: int) -> JobCheckpoint | None:
        return self.done.get(checkpoint)

    def state(self, vertex: int) -> tuple[OperatorState, ...]:
        if vertex:
            return tuple(OperatorState() for _ in self.sinks)
        return tuple(OperatorState(tuple(self.offsets[number])) for number in self.sources)

    def output(self, sink: int) -> Runs:
        found = sorted(one for records in self.out.values() for one in records_of(records))
        return runs_of(found[1:] if self.bug == "outputs too little" else found)

    def resources(self) -> Resources:
        return Resources(segments=0, files=int(self.bug == "keeps a file" and self.over and not self.released))

    released = False

    def release(self) -> None:
        self.over = self.released = True


class Little(Implementation):
    """The little job as an implementation."""

    name, version = "little-job", "1"
    capabilities = frozenset({
        Capability.JOB_STEPS, Capability.CHECKPOINT_READBACK, Capability.RESOURCES, Capability.RECOVERS_FIRST,
    })  # fmt: skip

    def __init__(self, bug: str = "") -> None:
        self.bug = bug

    def components(self) -> Mapping[str, Factory]:
        return {"pipeline": lambda config: LittleJob(config, self.bug)}
