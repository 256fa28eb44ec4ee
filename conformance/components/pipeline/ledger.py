"""The ledger of a job: what was supplied, triggered, made to fail and committed, and which threads may act.

What a record is follows from its split and its position, so that a number by split says what was supplied. What is
committed is a set of records by sink; nothing is known of any queue.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from conformance.components.pipeline.checkpoints import Checkpoint, Checkpoints
from conformance.components.pipeline.config import PipelineScenarioConfig
from conformance.components.pipeline.contents import BEGINNING, Contents, named
from conformance.components.pipeline.failures import Failures
from conformance.components.pipeline.graph import Graph
from conformance.components.pipeline.records import RecordSet
from conformance.components.pipeline.threads import Threads
from conformance.driver import Broken, FailureClass, PortLedger, Seen
from conformance.ports import (
    Capability,
    CheckpointCompleted,
    CheckpointFailed,
    CheckpointKind,
    Committed,
    FailurePoint,
    FailureStruck,
    FailureTarget,
    FaultStruck,
    JobCheckpoint,
    JobConfig,
    JobOver,
    JobRestarted,
    JobStatus,
    JobTaskChanged,
    Places,
    Recovery,
    Refusal,
    Runs,
    Signal,
    TaskReady,
    TaskState,
    ThreadWoken,
    Transaction,
    Triggered,
    Turn,
    Until,
    records_of,
)

WAITS, ACTED = Turn.WAITS, Turn.ACTED
"""Module variables, because looking up a member of an enumeration is slow in Python 3.11."""
RUNNING, FINISHED, FAILED, INITIALIZING, CANCELED = (
    TaskState.RUNNING, TaskState.FINISHED, TaskState.FAILED, TaskState.INITIALIZING, TaskState.CANCELED
)  # fmt: skip
UNKNOWN = -1
LOST, DUPLICATED, PROTOCOL, CORRUPTED = (
    FailureClass.LOST, FailureClass.DUPLICATED, FailureClass.PROTOCOL, FailureClass.CORRUPTED
)  # fmt: skip
_NEXT: Mapping[TaskState | None, tuple[TaskState, ...]] = {
    None: (INITIALIZING, FAILED, CANCELED),
    INITIALIZING: (RUNNING, FINISHED, FAILED, CANCELED),
    RUNNING: (FINISHED, FAILED, CANCELED),
    FINISHED: (),
    FAILED: (CANCELED,),
    CANCELED: (),
}


class Sink:
    """What a sink has committed."""

    __slots__ = ("here", "records", "transactions")

    def __init__(self) -> None:
        self.records = RecordSet()
        """All, those too that were committed before the checkpoint with which the job began."""
        self.here = 0
        """How many in this job."""
        self.transactions: dict[Transaction, Runs] = {}
        """Those of this job."""


class Ledger(PortLedger):
    """Phases: *live*, *over*, or the end."""

    __slots__ = (
        "attempt", "cancelled", "capabilities", "checkpoints", "config", "ended", "failures",
        "found", "generation", "graph", "now", "origin", "ready", "scenario", "sinks", "states",
        "status", "stopped", "stopping", "supplied", "supplied_here", "tells_ready", "tells_states", "threads",
        "throttled", "total", "tries",
    )  # fmt: skip

    def __init__(
        self, scenario: PipelineScenarioConfig, capabilities: frozenset[Capability], can_fail: Places
    ) -> None:  # fmt: skip
        super().__init__(can_fail)
        self.scenario = scenario
        self.capabilities = capabilities
        self.checkpoints = Checkpoints()
        self.generation = -1
        """How many jobs were restored from a checkpoint of another one."""
        self.tells_states = self.tells_ready = False
        """Whether the engine says how far tasks are, and when they are ready."""
        self.begin_job(scenario.job(), None)

    def begin_job(self, config: JobConfig, contents: Contents | None) -> None:
        """Begins with a fresh job. `contents`: of the checkpoint from which it was restored."""
        self.begin_life("live")
        self.config = config
        self.graph = graph = Graph(config)
        self.generation += 1
        restored = config.restored
        self.checkpoints.begin(0 if restored is None else restored.checkpoint)
        self.origin = self.checkpoints.restored
        """The checkpoint from which the tasks were restored."""
        self.supplied = [0 if contents is None else contents.offset(split) for split in graph.splits]
        """By split, how many records there are."""
        self.total = sum(self.supplied)
        self.supplied_here = 0
        """How many were supplied to this job."""
        self.ended: set[int] = set()
        """The sources that know that no more records come."""
        self.throttled: set[int] = set()
        """The tasks whose operators stand still."""
        self.states: list[TaskState | None] = [None] * len(graph.tasks)
        self.ready: set[int] = set()
        """The tasks that take part in checkpoints."""
        self.failures = Failures(config)
        self.now = 0
        self.attempt = self.tries = 0
        """How often tasks were restarted; how many checkpoints the drain has triggered."""
        self.status: JobStatus | None = None
        self.cancelled = False
        self.stopping = self.stopped = 0
        """The savepoint with which the job is being stopped; that with which it was."""
        self.sinks = {sink: Sink() for sink in graph.sinks}
        if contents is not None:
            self._begin_sinks(contents)
        self.threads = Threads(graph, Capability.JOB_STEPS in self.capabilities)
        self.found: dict[str, Broken] = {}
        """By what it is about, what was found wrong in signals."""

    def _begin_sinks(self, contents: Contents) -> None:
        """Before the cut, a sink has committed what is neither in flight nor prepared; what is prepared is committed
        again when it is restored."""
        for sink, one in self.sinks.items():
            without = {record for runs in contents.prepared[sink].values() for record in records_of(runs)}
            paths = self.graph.paths[sink]
            for path in paths.values():
                without.update(contents.in_flight(path))
            one.records = RecordSet.up_to([(split, contents.offset(split)) for split in paths], without)

    # ---- queries -----------------------------------------------------------------------------------------------------
    def is_live(self) -> bool:
        """Returns whether the job is not over."""
        return self.phase == "live"

    def is_idle(self) -> bool:
        """Returns whether nothing is left to do, as long as nothing is supplied or fails and no time passes."""
        return not self.threads.awake and self.threads.known

    def is_settled(self) -> bool:
        """Returns whether nothing is left to do and no operator stands still."""
        return not self.throttled and not self.threads.awake and self.threads.known

    def is_recovering(self) -> bool:
        """Returns whether a task restores."""
        return INITIALIZING in self.states

    def runs(self) -> bool:
        """Returns whether all tasks run or have finished."""
        return all(one is RUNNING or one is FINISHED for one in self.states)

    def has_all_ended(self) -> bool:
        """Returns whether no more records come."""
        return len(self.ended) == len(self.graph.sources)

    def covering(self) -> Checkpoint | None:
        """Returns a completed checkpoint that all records had been counted for when it was triggered, if no message was
        lost since it completed."""
        number = self.checkpoints.point
        one = self.checkpoints.known.get(number)
        if one is None or one.supplied != self.total or one.losses != self.failures.losses:
            return None
        return one

    def in_effect(self) -> Recovery:
        """Returns the recovery design that is in effect."""
        one = self.config.settings
        enabled = one.unaligned and one.output_on_downstream and one.during_recovery
        return one.recovery if enabled else Recovery.RECOVER_FIRST

    def say(self, about: str, how: FailureClass, owed: str, observed: str) -> None:
        """Notes what is wrong in a signal."""
        self.found.setdefault(about, Broken(how, owed, observed))

    # ---- the world outside -------------------------------------------------------------------------------------------
    def act(self, *operands: object) -> None:
        """Notes that an operation may change something."""
        self.threads.begin()

    def supply(self, split: int, count: int) -> None:
        """Notes that there are further records."""
        self.threads.begin()
        self.supplied[split] += count
        self.total += count
        self.supplied_here += count

    def end_source(self, source: int) -> None:
        """Notes that no further records come."""
        self.threads.begin()
        self.ended.add(source)

    def throttle(self, task: int, on: bool) -> None:
        """Notes that an operator stands still, or no longer does."""
        self.threads.begin()
        if on:
            self.throttled.add(task)
            for one in self.checkpoints.pending.values():
                one.passes = one.passes and self.graph.lets_barriers_pass(self.throttled)
        else:
            self.throttled.discard(task)

    def advance(self, milliseconds: int) -> None:
        """Notes that time passes."""
        self.threads.begin()
        self.now += milliseconds

    def cancel(self) -> None:
        """Notes that the job is cancelled."""
        self.threads.begin()
        self.cancelled = True

    # ---- checkpoints -------------------------------------------------------------------------------------------------
    def triggered(self, seen: Seen[Triggered], kind: str) -> None:
        """Notes a checkpoint that was triggered, or was not."""
        self.tries += self.closing
        if seen.value.checkpoint:
            self._trigger(seen.value.checkpoint, CheckpointKind(kind), False)

    def stop_triggered(self, seen: Seen[Triggered]) -> None:
        """Notes the savepoint with which the job is to be stopped."""
        if seen.value.checkpoint:
            self._trigger(seen.value.checkpoint, CheckpointKind.SAVEPOINT, True)
            self.stopping = seen.value.checkpoint

    def _trigger(self, number: int, kind: CheckpointKind, stops: bool) -> None:
        if number <= self.checkpoints.newest:
            self.say("id", PROTOCOL, f"an id is larger than {self.checkpoints.newest}, the largest so far",
                     f"checkpoint {number} was triggered")  # fmt: skip
        one = Checkpoint(number, kind, self.origin)
        one.at, one.clock = self.now, self.threads.clock
        one.losses, one.disturbances = self.failures.losses, self.failures.count
        one.all_ready = all(state is FINISHED or task in self.ready for task, state in enumerate(self.states))
        one.passes = not self.checkpoints.pending and self.graph.lets_barriers_pass(self.throttled)
        one.during_recovery = self.is_recovering()
        one.stops, one.ended = stops, bool(self.ended)
        if self.threads.was_idle and not self.throttled and not self.stopping:
            one.supplied = self.total
        one.hindered = any(other.losses != one.losses for other in self.checkpoints.pending.values())
        if kind not in (CheckpointKind.ALIGNED, CheckpointKind.SAVEPOINT):
            for other in self.checkpoints.pending.values():
                other.hindered = True
        self.checkpoints.trigger(one)

    def snapped(self, seen: Seen[JobCheckpoint | None], checkpoint: int) -> None:
        """Notes what a completed checkpoint holds, and what is wrong with it."""
        one = self.checkpoints.known.get(checkpoint)
        value = seen.value
        if one is None or value is None or one.contents is not None:
            return
        contents = one.contents = Contents(value, self.graph, self.checkpoints.lineage(one.origin))
        self.checkpoints.saved[checkpoint] = value, contents.lineage
        if not value.states:
            return
        newer: dict[int, set[int]] = {}
        for sink in self.graph.sinks:
            newer[sink] = self._newer_than(sink, checkpoint)
        contents.check({sink: mine.records for sink, mine in self.sinks.items()}, newer)
        older = [other for other in self.checkpoints.completed if other < checkpoint]
        floor = max(older, default=self.checkpoints.restored)
        lineage = self.checkpoints.lineage(floor)
        if lineage is not None:
            contents.never_back(lineage.offsets, f"checkpoint {floor}" if floor else "the beginning")

    def _newer_than(self, sink: int, checkpoint: int) -> set[int]:
        mine = self.sinks[sink]
        return {
            record
            for transaction, runs in mine.transactions.items()
            if transaction.checkpoint > checkpoint
            for record in records_of(runs)
        }

    # ---- failures ----------------------------------------------------------------------------------------------------
    def failed_now(self, seen: Seen[bool], target: str, number: int, point: str) -> None:
        """Notes whether there was anything that can fail."""
        if not seen.value:
            self.failures.refused(FailurePoint(point))

    def begin_fail(self, target: str, number: int, point: str) -> None:
        """Notes that something is made to fail, now or later."""
        self.threads.begin()
        self.failures.await_one(FailureTarget(target), number, FailurePoint(point))

    def begin_loss(self, thread: str) -> None:
        """Notes that a message may be lost."""
        self.threads.begin()

    def begin_afterwards_of_job(self) -> None:
        """Notes that an operation begins that is possible when the job is over, too."""
        self.afterlife += self.phase == "over"

    def lost(self, seen: Seen[bool], thread: str) -> None:
        """Notes that a message was lost."""
        if seen.value:
            self.failures.lose()

    def worked(self, seen: Seen[Turn], thread: str) -> None:
        """Notes what a turn of a thread has come to."""
        self.threads.worked(thread, seen.value)

    def settled(self, seen: Seen[bool], until: str) -> None:
        """Notes that the engine has let its threads work."""
        self.threads.settled(seen.value and until == Until.IDLE.value, bool(seen.signals))
        for one in self.checkpoints.pending.values():
            one.seen_whole = False

    def kill(self) -> None:
        """Notes that the job and all its processes are gone."""
        self.fail()

    def restore(self, seen: Seen[JobCheckpoint | None], checkpoint: int, parallelism: str, recovery: str,
                output_on_downstream: bool) -> None:  # fmt: skip
        """Notes that a fresh job is restored from a checkpoint, or starts without one."""
        if seen.value is not None and checkpoint not in self.checkpoints.saved:
            self.snapped(seen, checkpoint)
        vertices = tuple(
            replace(one, parallelism=many)
            for one, many in zip(self.config.vertices, self.graph.rescaled(parallelism), strict=True)
        )
        settings = replace(self.config.settings, recovery=Recovery(recovery), output_on_downstream=output_on_downstream)
        config = replace(self.config, vertices=vertices, settings=settings, restored=seen.value)
        contents = None
        if seen.value is not None:
            contents = Contents(seen.value, Graph(config), BEGINNING)
        self.begin_job(config, contents)

    # ---- signals -----------------------------------------------------------------------------------------------------
    def hear(self, signals: list[Signal]) -> None:
        """Notes what the job says, in this order."""
        for signal in signals:
            if type(signal) is ThreadWoken:
                self.threads.wake(signal.thread)
            else:
                _HEARS[type(signal)](self, signal)
        self.threads.deaf = False

    def _completed(self, signal: CheckpointCompleted) -> None:
        one = self._one_end(signal.checkpoint, "completed")
        if one is None:
            return
        if signal.kind is not one.kind:
            self.say("end", PROTOCOL, f"checkpoint {one.number} was triggered as {one.kind}", f"it is {signal.kind}")
        if not one.is_savepoint and one.number < self.checkpoints.point:
            self.say("older", PROTOCOL, f"checkpoint {self.checkpoints.point} has completed, so no older one does",
                     f"checkpoint {one.number} has completed")  # fmt: skip
        self._acknowledged(one)
        self.checkpoints.complete(one)
        one.losses = self.failures.losses
        if not one.is_savepoint:
            self.failures.checkpoint_completed()
        if one.stops:
            self.stopping, self.stopped = 0, one.number

    def _acknowledged(self, one: Checkpoint) -> None:
        """Every task takes its snapshot in a turn of its own, and its acknowledgement arrives in another one."""
        if not (one.seen_whole and self.threads.steps and self.tells_states):
            return
        for task, name in enumerate(self.graph.names):
            if self.states[task] is FINISHED:
                continue
            for thread in (f"task {name}", f"from {name}"):
                if self.threads.acted.get(thread, 0) <= one.clock:
                    owed = f"task {name} has not finished, so checkpoint {one.number} needs its acknowledgement"
                    self.say("acknowledged", LOST, owed, f"it is complete, and {thread} did not act meanwhile")

    def _one_end(self, number: int, how: str) -> Checkpoint | None:
        one = self.checkpoints.known.get(number)
        if one is None:
            self.say("end", PROTOCOL, f"checkpoint {number} was not triggered", f"it has {how}")
            return None
        if number not in self.checkpoints.pending:
            self.say("end", DUPLICATED, f"checkpoint {number} has {one.state}", f"then it has {how}")
            return None
        return one

    def _checkpoint_failed(self, signal: CheckpointFailed) -> None:
        one = self._one_end(signal.checkpoint, "failed")
        if one is None:
            return
        self.checkpoints.fail(one, signal.reason)
        if one.stops:
            self.stopping = 0
        why_not = self.failures.why_not(one, signal.reason, self)
        if why_not:
            self.say("reason", PROTOCOL, f"checkpoint {one.number} fails for a reason: {why_not}",
                     f"its reason is {signal.reason}")  # fmt: skip
        self.failures.checkpoint_failed(one, signal.reason)

    def _committed(self, signal: Committed) -> None:
        mine = self.sinks.get(signal.sink)
        name = signal.transaction
        said = f"transaction {name.checkpoint} of subtask {name.subtask}"
        if mine is None or name in mine.transactions:
            self.say("twice", DUPLICATED, f"{said} is committed once, by a sink", "it is committed again, or by none")
            return
        newest = max(self.checkpoints.point, self.checkpoints.restored, self.stopped)
        if name.checkpoint > newest:
            one = self.checkpoints.known.get(name.checkpoint)
            is_savepoint = one is not None and one.is_completed and one.is_savepoint
            self.say("savepoint" if is_savepoint else "uncommitted", PROTOCOL,
                     f"{said} is committed when a checkpoint has completed that is not older and no savepoint",
                     f"the newest is {newest}, and it is committed")  # fmt: skip
        added, count = mine.records.add, 0
        twice = []
        for record in records_of(signal.records):
            count += 1
            if not added(record):
                twice.append(record)
        mine.transactions[name] = signal.records
        mine.here += count
        if twice:
            self.say("twice", DUPLICATED, f"sink {signal.sink} commits a record once", f"it committed {named(twice)}")
        self._exist(signal)

    def _exist(self, signal: Committed) -> None:
        paths = self.graph.paths[signal.sink]
        for run in signal.records:
            split, position = divmod(run.last, 1_000_000)
            if split not in paths or position >= self.supplied[split]:
                self.say("unknown", CORRUPTED, f"sink {signal.sink} commits what was supplied",
                         f"it committed {named((run.last,))}")  # fmt: skip

    def _restarted(self, signal: JobRestarted) -> None:
        tasks = tuple(records_of(signal.tasks))
        point = self.checkpoints.point
        if signal.checkpoint != point:
            one = self.checkpoints.known.get(signal.checkpoint)
            about = "savepoint restored" if one is not None and one.is_savepoint else "point"
            self.say(about, LOST, f"a failover restores checkpoint {point}, the newest that is no savepoint",
                     f"it restores {signal.checkpoint}")  # fmt: skip
        if self.stopped:
            self.say("stopped", PROTOCOL, f"the job was stopped with savepoint {self.stopped}: it is not restarted",
                     "it is restarted")  # fmt: skip
        self.failures.restarted(tasks, self)
        self.attempt += 1
        self.origin = point
        self.threads.new_attempt(self.attempt + self.total + self.checkpoints.newest)
        for task in tasks:
            self.states[task] = None
            self.ready.discard(task)

    def _task_changed(self, signal: JobTaskChanged) -> None:
        self.tells_states = True
        before, state = self.states[signal.task], signal.state
        if state is INITIALIZING and before is not None and before in (FAILED, CANCELED):
            before = None
        if state not in _NEXT[before]:
            self.say("state", PROTOCOL, f"task {self.graph.names[signal.task]} was {before}", f"then it was {state}")
        self.states[signal.task] = state
        if state is FAILED:
            self.failures.task_failed(signal.task, signal.cause, self)
        if state is not RUNNING and state is not FINISHED and state is not INITIALIZING:
            self.ready.discard(signal.task)

    def _task_ready(self, signal: TaskReady) -> None:
        self.tells_ready = True
        self.ready.add(signal.task)

    def _struck(self, signal: FailureStruck) -> None:
        self.failures.strike(signal, self)

    def _fault_struck(self, signal: FaultStruck) -> None:
        self.faults.struck((signal,))
        self.failures.strike_fault(signal)

    def _over(self, signal: JobOver) -> None:
        if self.status is not None:
            self.say("over", DUPLICATED, f"the job is over: {self.status}", f"it is over again: {signal.status}")
        self.status = signal.status
        self.failures.job_over(signal, self)
        if self.phase == "live":
            self.phase = "over"

    def refusal(self, kind: str) -> tuple[Refusal, ...]:
        """Returns why a checkpoint of this kind may be refused now."""
        if self.phase != "live" or self.cancelled:
            return tuple(Refusal)
        settings = self.config.settings
        reasons = []
        if self.stopping or self.stopped:
            reasons.append(Refusal.STOPPING)
        finishing = FINISHED in self.states and not self.is_idle()
        if not self.tells_states or not self.runs() or finishing or self.failures.may_restart():
            reasons.append(Refusal.NOT_RUNNING)
        most = 1 if settings.unaligned else settings.concurrent
        busy = sum(not one.is_savepoint for one in self.checkpoints.pending.values())
        if (busy >= most and kind != CheckpointKind.SAVEPOINT) or (self.checkpoints.pending and not self.is_idle()):
            reasons.append(Refusal.TOO_MANY)
        if not settings.unaligned and kind in (CheckpointKind.UNALIGNED, CheckpointKind.TIMEOUTABLE):
            reasons.append(Refusal.DISABLED)
        return tuple(reasons)

    def holding(self) -> Sequence[int]:
        """Returns the checkpoints that must have ended by now, since nothing is left to do."""
        late = self.config.settings.checkpoint_timeout
        return [
            one.number
            for one in self.checkpoints.pending.values()
            if self.now - one.at >= late or not (self.throttled or one.hindered or one.losses != self.failures.losses)
        ]


_HEARS: Mapping[Any, Any] = {
    CheckpointCompleted: Ledger._completed,
    CheckpointFailed: Ledger._checkpoint_failed,
    Committed: Ledger._committed,
    JobRestarted: Ledger._restarted,
    JobTaskChanged: Ledger._task_changed,
    TaskReady: Ledger._task_ready,
    FailureStruck: Ledger._struck,
    FaultStruck: Ledger._fault_struck,
    JobOver: Ledger._over,
}
