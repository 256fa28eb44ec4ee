"""The ledger of a job: what was supplied, triggered, made to fail and committed, and which threads may act.

What a record is follows from its split and its position, so that a number by split says what was supplied. What is
committed is a set of records by sink; nothing is known of any queue. What signals say that cannot be is noted by the
property that it breaks.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from itertools import chain
from types import MappingProxyType
from typing import Any

from msgspec.structs import replace

from conformance import ports
from conformance.components.pipeline.checkpoints import Checkpoint, Checkpoints
from conformance.components.pipeline.config import DescribesJob
from conformance.components.pipeline.contents import Contents
from conformance.components.pipeline.failures import Failures
from conformance.components.pipeline.graph import graph_of
from conformance.components.pipeline.records import Records, named
from conformance.components.pipeline.threads import Threads
from conformance.driver import Broken, FailureClass, PortLedger, Seen
from conformance.ports import CheckpointKind, Recovery, Refusal, TaskState, ThreadWoken, Transaction

RUNNING, FINISHED, FAILED, INITIALIZING, CANCELED = (
    TaskState.RUNNING, TaskState.FINISHED, TaskState.FAILED, TaskState.INITIALIZING, TaskState.CANCELED
)  # fmt: skip
"""Module variables, because looking up a member of an enumeration is slow in Python 3.11."""
LOST, DUPLICATED, PROTOCOL, CORRUPTED, CRASHED = (
    FailureClass.LOST, FailureClass.DUPLICATED, FailureClass.PROTOCOL, FailureClass.CORRUPTED, FailureClass.CRASHED
)  # fmt: skip
_NEXT: Mapping[TaskState | None, tuple[TaskState, ...]] = {
    None: (INITIALIZING, FAILED, CANCELED),
    INITIALIZING: (RUNNING, FINISHED, FAILED, CANCELED),
    RUNNING: (FINISHED, FAILED, CANCELED),
    FINISHED: (),
    FAILED: (CANCELED, INITIALIZING),
    CANCELED: (INITIALIZING,),
}


OVER = "a-job-is-over-once-and-for-a-reason"
SAME = "a-completed-checkpoint-does-not-change"
MOST_TRIES = 24
"""How many checkpoints the drain triggers: a fault may let one fail, and a source that ends waits for one."""
_BEGINNING = ports.JobCheckpoint(0, CheckpointKind.ALIGNED, ())
"""What a job has restored that began without a checkpoint."""


class Sink:
    """What a sink has committed."""

    __slots__ = ("earlier", "records", "transactions")

    def __init__(self, records: Records, earlier: Mapping[Transaction, ports.Runs] = MappingProxyType({})) -> None:
        self.records = records
        """All, also what was committed before the checkpoint with which the job began."""
        self.transactions: dict[Transaction, ports.Runs] = {}
        """Those of this job."""
        self.earlier = earlier
        """Those of the jobs before, if they are in `records` and a restore may take them back."""

    def gone_back_to(self, checkpoint: int) -> Sink:
        """Returns what is left of it behind a restore of a checkpoint of which nothing is known but its number. It may
        be older than the one with which this job began."""
        left, kept = self.records.copy(), dict[Transaction, ports.Runs]()
        for name, runs in chain(self.earlier.items(), self.transactions.items()):
            if name.checkpoint > checkpoint:
                left.remove(runs)
            else:
                kept[name] = runs
        return Sink(left, kept)

    def in_front_of(self, one: Contents, sink: int) -> Records:
        """Returns what was committed in front of the cut of a checkpoint, without what it has prepared."""
        made = self.records.copy()
        for name, runs in self.transactions.items():
            if name.checkpoint > one.checkpoint.checkpoint or name in one.prepared[sink]:
                made.remove(runs)
        return made


class Ledger(PortLedger):
    """Phases: *live*, *over*, or the end."""

    __slots__ = (
        "attempt", "cancelled", "capabilities", "checkpoints", "config", "disabled", "ended", "failures", "found",
        "fruitful", "generation", "graph", "now", "origin", "ready", "restored", "scenario", "sights", "sinks",
        "states", "status", "stopped", "stopping", "supplied", "supplied_here", "tells_ready", "tells_states",
        "threads", "throttled", "tries",
    )  # fmt: skip

    def __init__(
        self, scenario: DescribesJob, capabilities: frozenset[ports.Capability], can_fail: ports.Places
    ) -> None:  # fmt: skip
        super().__init__(can_fail)
        self.scenario, self.capabilities = scenario, capabilities
        self.checkpoints = Checkpoints()
        self.generation = -1
        """How many jobs there were before this one."""
        self.disabled: set[str] = set()
        """The kinds of checkpoints that the engine has refused as disabled."""
        self.tells_states = self.tells_ready = False
        """Whether the engine says how far tasks are, and when they are ready."""
        self.sights: set[str] = set()
        """The goals that were reached in the middle of an operation."""
        self.begin_job(scenario.job())

    def begin_job(self, config: ports.JobConfig) -> None:
        """Begins with a fresh job."""
        self.begin_life("live")
        self.config, self.graph = config, graph_of(config)
        self.generation += 1
        cut = Contents(config.restored or _BEGINNING, self.graph)
        self.checkpoints.begin(cut)
        self.origin = self.checkpoints.restored
        """The checkpoint from which the tasks were restored."""
        self.restored: dict[int, int] = {}
        """By task that was restarted, the checkpoint from which it was."""
        self.supplied = cut.offsets.copy()
        """By split, how many records there are."""
        self.supplied_here = 0
        """How many were supplied to this job."""
        self.ended: set[int] = set()
        """The sources that know that no more records come."""
        self.throttled: set[int] = set()
        """The tasks whose operators stand still."""
        self.states: list[TaskState | None] = [None] * len(self.graph.tasks)
        self.ready: set[int] = set()
        """The tasks that take part in checkpoints."""
        self.failures = Failures(self)
        self.now = self.attempt = self.tries = 0
        """How much time has passed; how often tasks were restarted; how many checkpoints the drain has triggered."""
        self.fruitful = False
        """Whether one of these has completed."""
        self.status: ports.JobStatus | None = None
        self.cancelled = False
        self.stopping = self.stopped = 0
        """The savepoint with which the job is being stopped; that with which it was."""
        self.sinks = {sink: Sink(cut.written(sink)) for sink in self.graph.sinks}
        self.threads = Threads(ports.Capability.JOB_STEPS in self.capabilities)
        self.found: dict[str, Broken] = {}
        """By property, what was found wrong in signals and checkpoints."""

    # ---- queries -----------------------------------------------------------------------------------------------------
    def is_live(self) -> bool:
        """Returns whether the job is not over."""
        return self.phase == "live"

    def is_idle(self) -> bool:
        """Returns whether the job is live, and nothing is left to do as long as nothing is supplied or fails and no
        time passes."""
        return self.phase == "live" and not self.threads.awake

    def is_settled(self) -> bool:
        """Returns whether, besides, nothing holds records up: no operator stands still, and no channel can be blocked
        for a checkpoint whose trigger was lost."""
        return not self.throttled and self.is_idle() and not self.failures.lost_trigger

    def is_recovering(self) -> bool:
        """Returns whether a task restores."""
        return INITIALIZING in self.states

    def restores_in_flight(self) -> bool:
        """Returns whether records were in flight in the checkpoint from which the tasks were restored."""
        one = self.checkpoints.contents(self.origin)
        return one is not None and bool(one.travelling)

    def runs(self) -> bool:
        """Returns whether all tasks run or have finished."""
        return all(one is RUNNING or one is FINISHED for one in self.states)

    def has_all_ended(self) -> bool:
        """Returns whether no more records come."""
        return len(self.ended) == len(self.graph.sources)

    def is_covered(self, since: int = 0) -> bool:
        """Returns whether all records had come out when the newest completed checkpoint was triggered, or one with so
        many behind it, and no message was lost since it completed."""
        one = self.checkpoints.completed(since)
        return one is not None and one.covers == sum(self.supplied.values()) and one.losses == self.failures.losses

    def is_due(self, sink: int) -> bool:
        """Returns whether a sink must have committed all records: an engine may commit at the notice of the next
        checkpoint, but what was restored is committed."""
        if self.is_covered(since=1):
            return True
        one, many = self.checkpoints.completed(), self.config.vertices[sink].parallelism
        tasks = [self.config.task(sink, subtask) for subtask in range(many)]
        return self.is_covered() and one is not None and all(self.restored.get(task) == one.number for task in tasks)

    def not_committed(self, sink: int) -> list[int]:
        """Returns a few of the records that were supplied and that a sink has not committed."""
        return Records.up_to(self.supplied, self.graph.paths[sink]).without(self.sinks[sink].records)

    def named(self, records: Iterable[int]) -> str:
        """Names a few records."""
        return named(records)

    def in_effect(self) -> Recovery:
        """Returns the recovery design that is in effect."""
        one = self.config.settings
        enabled = one.unaligned and one.output_on_downstream and one.during_recovery
        return one.recovery if enabled else Recovery.RECOVER_FIRST

    def owed_after_a_failure(self) -> str:
        """Returns, in words, why a job does not end with FAILED."""
        return "a job is restarted after a failure, unless it was stopped with a savepoint"

    def owed_at_its_end(self, sink: int) -> str:
        """Returns, in words, what a sink has done when the job finishes."""
        return f"a job finishes when sink {sink} has committed all records"

    def say(self, slug: str, how: FailureClass, owed: str, observed: str) -> None:
        """Notes what is wrong, and which property that breaks, unless something is noted already."""
        self.found.setdefault(slug, Broken(how, owed, observed))

    # ---- the world outside -------------------------------------------------------------------------------------------
    def act(self, *operands: object) -> None:
        """Notes that an operation begins that may change something."""
        if self.threads.steps and self.tells_states and self.is_idle() and self.runs():
            self.failures.settle()
        self.threads.begin()
        self.checkpoints.earlier = self.checkpoints.newest

    def ask_to_stop(self, *operands: object) -> None:
        """Notes that the job is asked to stop with a savepoint."""
        self.act()
        self.failures.asked_to_stop()

    def act_afterwards(self, *operands: object) -> None:
        """Notes that an operation begins although the job is over."""
        self.afterlife += 1

    def supply(self, split: int, count: int) -> None:
        """Notes that there are further records."""
        self.act()
        self.supplied[split] += count
        self.supplied_here += count

    def end_source(self, source: int) -> None:
        """Notes that no further records come."""
        self.act()
        self.ended.add(source)

    def throttle(self, task: int, on: bool) -> None:
        """Notes that an operator stands still, or no longer does."""
        self.act()
        self.threads.waited = 0
        (self.throttled.add if on else self.throttled.discard)(task)
        for one in self.checkpoints.pending.values():
            one.passes = one.passes and self.graph.lets_barriers_pass(self.throttled)

    def advance(self, milliseconds: int) -> None:
        """Notes that time passes."""
        self.act()
        self.now += milliseconds

    def cancel(self) -> None:
        """Notes that the job is cancelled."""
        self.act()
        self.threads.waited = 0
        self.cancelled = True

    def made_to_fail(self, seen: Seen[bool], target: str, number: int, point: str) -> None:
        """Notes whether something fails, now or later."""
        one = ports.FailureStruck(ports.FailureTarget(target), number, ports.FailurePoint(point))
        self.failures.asked[one] += seen.value

    def lost(self, seen: Seen[bool], thread: str) -> None:
        """Notes that a message was lost."""
        if seen.value:
            self.failures.lose(thread)

    def worked(self, seen: Seen[ports.Turn], thread: str) -> None:
        """Notes what a turn of a thread has come to."""
        self.threads.worked(thread, seen.value)

    def settled(self, seen: Seen[bool], until: str) -> None:
        """Notes that the engine has let its threads work."""
        if until == ports.Until.IDLE.value or self.threads.steps:
            self.threads.settled(seen.value and until == ports.Until.IDLE.value)

    def restore(self, seen: Seen[ports.JobCheckpoint | None], checkpoint: int, parallelism: str, recovery: str,
                output_on_downstream: bool) -> None:  # fmt: skip
        """Notes that a fresh job is restored from a checkpoint, or starts without one."""
        self.snapped(seen, checkpoint)
        settings = replace(self.config.settings, recovery=Recovery(recovery), output_on_downstream=output_on_downstream)
        vertices = self.graph.rescaled(parallelism)
        supplied, sinks = self.supplied, self.sinks
        self.begin_job(replace(self.config, vertices=vertices, settings=settings, restored=seen.value))
        if seen.value is not None and not self._is_whole(seen.value):  # what is outside the job outlives it
            self.supplied = supplied
            self.sinks = {at: one.gone_back_to(checkpoint) for at, one in sinks.items()}

    # ---- checkpoints -------------------------------------------------------------------------------------------------
    def triggered(self, seen: Seen[ports.Triggered], kind: str) -> None:
        """Notes a checkpoint that was triggered, or was not."""
        self.tries += self.closing
        if seen.value.checkpoint:
            out = self.threads.was_idle and not self.throttled and not self.stopping and not self.failures.lost_trigger
            kind = seen.value.kind or kind
            self._begins(
                seen.value.checkpoint, CheckpointKind(kind), self.threads.clock, out, largest=self.checkpoints.newest
            )
        elif seen.value.refused is Refusal.DISABLED:
            self.disabled.add(kind)

    def _begins(self, number: int, kind: CheckpointKind, clock: int, out: bool, largest: int) -> None:
        """Notes that a checkpoint was triggered, behind so many turns. `out`: whether all records had come out;
        `largest`: the largest id until then."""
        checkpoints, pending = self.checkpoints, self.checkpoints.pending
        if number <= largest:
            self.say("ids-of-checkpoints-increase", PROTOCOL, f"an id is larger than {largest}, the largest"
                     " so far", f"checkpoint {number} was triggered")  # fmt: skip
        losses = self.failures.losses
        one = Checkpoint(
            number, kind, self.origin, self.now, clock, self.attempt,
            self.failures.count, losses,
            all_ready=all(state is FINISHED or task in self.ready for task, state in enumerate(self.states)),
            passes=not pending and FINISHED not in self.states and self.graph.lets_barriers_pass(self.throttled),
            during_recovery=self.is_recovering(), ended=bool(self.ended),
            hindered=any(other.losses != losses for other in pending.values()),
            covers=sum(self.supplied.values()) if out else -1,
        )  # fmt: skip
        for other in pending.values():
            other.hindered |= not {one.kind, other.kind} <= {CheckpointKind.ALIGNED, CheckpointKind.SAVEPOINT}
            other.passes = other.passes and other.kind is not CheckpointKind.TIMEOUTABLE  # its timers may be cancelled
        checkpoints.newest = max(checkpoints.newest, number)
        checkpoints.known[number] = pending[number] = one

    def stop_triggered(self, seen: Seen[ports.Triggered]) -> None:
        """Notes the savepoint with which the job is to be stopped."""
        self.triggered(seen, CheckpointKind.SAVEPOINT.value)
        self.stopping = seen.value.checkpoint or self.stopping

    def snapped(self, seen: Seen[ports.JobCheckpoint | None], checkpoint: int) -> None:
        """Notes what a completed checkpoint holds, and what is wrong with it."""
        checkpoints, value = self.checkpoints, seen.value
        one = checkpoints.known.get(checkpoint)
        if one is None or value is None:
            return
        if one.contents is not None:
            if replace(value, location="") != replace(one.contents.checkpoint, location=""):
                self.say(SAME, CORRUPTED, f"checkpoint {checkpoint} holds what it held when it was read before",
                         "it holds something else")  # fmt: skip
            return
        contents = one.contents = checkpoints.saved[checkpoint] = Contents(value, self.graph, one.during_recovery)
        contents.follow(checkpoints.contents(one.origin))
        if value.states:
            before = checkpoints.before(checkpoint)
            found = contents.wrong_splits(checkpoints.contents(before))
            if self._is_whole(value):
                other = checkpoints.known.get(before)
                earlier = {at: sink.in_front_of(contents, at) for at, sink in self.sinks.items()}
                runs = other is not None and other.attempt == one.attempt
                found = chain(found, contents.wrong(earlier, checkpoints.contents(before), runs))
            for slug, how, owed, observed in found:
                self.say(slug, how, f"checkpoint {checkpoint}: {owed}", observed)
            if value.taken:
                took = one.took if self.threads.steps else sys.maxsize  # else nobody knows when it was complete
                times_out = took >= self.config.settings.alignment_timeout
                for owed, observed in contents.wrongly_taken(took, times_out):
                    slug = "an-acknowledgement-says-how-a-checkpoint-was-taken"
                    self.say(slug, CORRUPTED, f"checkpoint {checkpoint}: {owed}", observed)

    def _is_whole(self, checkpoint: ports.JobCheckpoint) -> bool:
        """Returns whether all that a checkpoint holds can be read, and not only where its splits are, or nothing."""
        return bool(checkpoint.states) and ports.Capability.CHECKPOINT_READBACK in self.capabilities

    # ---- signals -----------------------------------------------------------------------------------------------------
    def hear(self, signals: list[ports.Signal]) -> None:
        """Notes what the job says, in this order."""
        wake = self.threads.wake
        for signal in signals:
            if type(signal) is ThreadWoken:  # most are, and this is quicker
                wake(signal.thread)
            elif (heard := _HEARS.get(type(signal))) is not None:  # one of another component says nothing here
                heard(self, signal)

    def _end(self, number: int, how: str) -> Checkpoint | None:
        """Returns a checkpoint that has ended now, and is no longer pending."""
        one = self.checkpoints.pending.pop(number, None)
        if one is None:
            known = number in self.checkpoints.known
            self.say("a-checkpoint-ends-once", DUPLICATED if known else PROTOCOL, f"checkpoint {number} "
                     + ("has ended" if known else "was not triggered"), f"it has {how} now")  # fmt: skip
        return one

    def _begun(self, signal: ports.CheckpointBegun) -> None:
        checkpoints = self.checkpoints
        largest = checkpoints.earlier  # it may have begun before the one that this answer is about
        if signal.checkpoint in checkpoints.known:
            largest = checkpoints.newest
        checkpoints.earlier = max(largest, signal.checkpoint)
        clock = self.threads.clock - 1  # it was in the last turn
        self._begins(signal.checkpoint, signal.kind, clock, out=False, largest=largest)

    def _completed(self, signal: ports.CheckpointCompleted) -> None:
        one, checkpoints = self._end(signal.checkpoint, "completed"), self.checkpoints
        if one is None:
            return
        if signal.kind is not one.kind:
            self.say("a-checkpoint-ends-once", PROTOCOL, f"checkpoint {one.number} was triggered as {one.kind}",
                     f"it is {signal.kind}")  # fmt: skip
        self._acknowledged(one)
        if one.during_recovery and self.is_recovering():
            self.sights.add("a-checkpoint-completed-during-recovery")
        self.failures.barriers_came(one.losses)
        one.is_completed, one.losses, one.took = True, self.failures.losses, self.now - one.at
        if one.number == self.stopping:
            self.stopping, self.stopped = 0, one.number
        if one.is_savepoint:
            return
        if one.number < checkpoints.point:
            owed = f"checkpoint {checkpoints.point} has completed, so no older one does"
            self.say("no-older-checkpoint-completes-later", PROTOCOL, owed, f"checkpoint {one.number} has completed")
        checkpoints.point = max(checkpoints.point, one.number)
        self.fruitful |= self.closing
        self.failures.checkpoint_completed(one.number)

    def _acknowledged(self, one: Checkpoint) -> None:
        """Every task takes its snapshot in a turn of its own, and its acknowledgement arrives in another one."""
        if not (self.threads.steps and self.tells_states) or one.clock < self.threads.blind:
            return
        for task, name in enumerate(self.graph.names):
            silent = [at for at in (f"task {name}", f"from {name}") if self.threads.acted.get(at, 0) <= one.clock]
            if silent and self.states[task] is not FINISHED:
                self.say("a-checkpoint-completes-when-every-task-has-acknowledged-it", LOST, f"task {name} has not"
                         f" finished, so checkpoint {one.number} needs its acknowledgement",
                         f"it is complete, and {silent[0]} did not act meanwhile")  # fmt: skip

    def _checkpoint_failed(self, signal: ports.CheckpointFailed) -> None:
        one = self._end(signal.checkpoint, "failed")
        if one is not None:
            if self.stopping == one.number:
                self.stopping = 0
                self.failures.stop_failed()
            self.failures.checkpoint_failed(one, signal.reason)

    def _committed(self, signal: ports.Committed) -> None:
        name, mine = signal.transaction, self.sinks.get(signal.sink)
        slug, said = "nothing-is-committed-twice-or-made-up", f"transaction {name.checkpoint} of subtask {name.subtask}"
        if mine is None or name in mine.transactions or name in mine.earlier:
            self.say(slug, DUPLICATED, f"{said} is committed once, by a sink", "it is committed again, or by none")
            return
        self.may_commit(name, said)
        own = self.checkpoints.known.get(name.checkpoint)
        late = own is not None and own.is_completed and not own.is_savepoint and own.number < self.checkpoints.point
        if own is not None and late and f"to {signal.sink}/{name.subtask}" in self.failures.lost[own.losses :]:
            self.sights.add("a-transaction-was-committed-after-its-notice-was-lost")
        mine.transactions[name] = signal.records
        if twice := mine.records.add(signal.records):
            self.say(slug, DUPLICATED, f"sink {signal.sink} commits a record once", f"{named(twice)}: twice")
        paths = self.graph.paths[signal.sink]
        for run in signal.records:
            split = ports.split_of(run.last)
            if split not in paths or run.last >= ports.record(split, self.supplied[split]):
                self.say(slug, CORRUPTED, f"sink {signal.sink} commits what was supplied", named([run.last]))

    def may_commit(self, name: Transaction, said: str) -> None:
        """Notes whether a transaction may be committed now. `said`: which one it is."""
        newest = max(self.checkpoints.point, self.checkpoints.restored, self.stopped)
        if name.checkpoint > newest:
            one = self.checkpoints.known.get(name.checkpoint)
            saved = one is not None and one.is_completed and one.is_savepoint
            self.say("a-savepoint-commits-nothing" if saved else "only-a-completed-checkpoint-is-committed", PROTOCOL,
                     f"{said} is committed when a checkpoint has completed that is not older and no savepoint",
                     f"the newest is {newest}, and it is committed")  # fmt: skip

    def _restarted(self, signal: ports.JobRestarted) -> None:
        everybody, point = range(len(self.states)), self.checkpoints.point
        runs = [range(run.first, run.last + 1, run.step or 1) for run in signal.tasks]
        tasks = {task for task in everybody if any(task in run for run in runs)}
        if signal.checkpoint != point:
            one = self.checkpoints.known.get(signal.checkpoint)
            saved = one is not None and one.is_savepoint
            self.say("no-failover-restores-a-savepoint" if saved else "a-failover-restores-the-newest-checkpoint", LOST,
                     f"a failover restores checkpoint {point}, the newest that is no savepoint",
                     f"it restores {signal.checkpoint}")  # fmt: skip
        if self.stopped and not self.tells_states:
            self._goes_on("it is restarted")
        self.failures.restarted(tasks)
        self.attempt += 1
        self.origin = point
        self.threads.new_attempt(self.attempt + self.supplied_here + self.checkpoints.newest, len(self.config.vertices))
        self.ready -= tasks
        for task in tasks:
            self.states[task], self.restored[task] = None, point

    def _goes_on(self, observed: str) -> None:
        self.say("a-job-that-was-stopped-is-not-restarted", PROTOCOL, f"the job was stopped with savepoint"
                 f" {self.stopped}: it is not restarted", observed)  # fmt: skip

    def _task_changed(self, signal: ports.JobTaskChanged) -> None:
        self.tells_states = True
        slug, task, state = "task-states-follow-each-other", signal.task, signal.state
        if task not in range(len(self.states)):
            self.say(slug, PROTOCOL, f"the job has tasks 0 to {len(self.states) - 1}", f"task {task} was {state}")
            return
        before = self.states[task]
        if state not in _NEXT[before]:
            self.say(slug, PROTOCOL, f"task {self.graph.names[task]} was {before}", f"then it was {state}")
        if before is None and state is INITIALIZING and self.stopped:  # until then, the restart may be given up (FJ16)
            self._goes_on(f"it is restarted, and task {self.graph.names[task]} is {state}")
        self.states[task] = state
        if state is FAILED:
            self.failures.task_failed(task, signal.cause)
        if state is FAILED or state is CANCELED:
            self.ready.discard(task)
        if state is FINISHED:  # its end has no priority, and its consumers may stand still
            for one in self.checkpoints.pending.values():
                one.passes = False

    def _task_ready(self, signal: ports.TaskReady) -> None:
        self.tells_ready = True
        self.ready.add(signal.task)

    def _struck(self, signal: ports.FailureStruck) -> None:
        one, now = self.checkpoints.contents(self.origin), tuple(each.parallelism for each in self.config.vertices)
        changed = one is not None and one.checkpoint.parallelism != now
        if changed and one is not None and one.in_recovery and one.travelling and self.is_recovering():
            self.sights.add("a-recovery-of-a-recovery-with-another-parallelism-failed")
        self.failures.strike(signal)

    def _fault_struck(self, signal: ports.FaultStruck) -> None:
        self.faults.struck((signal,))
        self.failures.strike_fault(signal)

    def _over(self, signal: ports.JobOver) -> None:
        slug, status = OVER, ports.JobStatus
        if self.status is not None:
            self.say(slug, DUPLICATED, f"the job is over: {self.status}", f"it is over again: {signal.status}")
        self.status = signal.status
        if self.phase == "live":
            self.phase = "over"
        if self.status is status.CANCELED and not self.cancelled:
            self.say(slug, PROTOCOL, "nobody has cancelled the job", "it is canceled")
        if self.status is status.FAILED and not (self.stopped and (self.failures.count or self.failures.losses)):
            self.say(slug, CRASHED, self.owed_after_a_failure(), f"it has failed: {signal.cause}")
        if self.status is status.FINISHED and not self.stopped:
            if not self.has_all_ended():
                self.say(slug, PROTOCOL, "a job finishes when all of its sources have ended", "it has finished")
            for sink in self.graph.sinks:
                if left := self.not_committed(sink):
                    self.say("a-job-finishes-when-all-is-committed", LOST, self.owed_at_its_end(sink),
                             f"it has finished without {self.named(left)}")  # fmt: skip

    def refusal(self, kind: str = "") -> tuple[Refusal, ...]:
        """Returns why a checkpoint of this kind may be refused now; without a kind, a stop with a savepoint."""
        if self.phase != "live" or self.cancelled:
            return tuple(Refusal)
        settings, pending = self.config.settings, self.checkpoints.pending.values()
        busy = len(pending) >= (1 if settings.unaligned else settings.concurrent)  # savepoints may count, too (FJ18)
        finishing = FINISHED in self.states and not self.is_idle()
        restarting = not (self.tells_states and self.runs()) or finishing or self.failures.credit > 0
        # the part of an operator coordinator may wait for events behind a message that was lost
        waits = pending and not (self.is_idle() and all(one.losses == self.failures.losses for one in pending))
        stands = {
            Refusal.STOPPING: self.stopping or self.stopped,
            Refusal.NOT_RUNNING: restarting,
            Refusal.TOO_MANY: (busy and kind not in ("", CheckpointKind.SAVEPOINT)) or waits,
            Refusal.DISABLED: not kind
            or (not settings.unaligned and kind in (CheckpointKind.UNALIGNED, CheckpointKind.TIMEOUTABLE)),
        }
        return tuple(one for one, there in stands.items() if there)

    def holding(self, one: Checkpoint) -> bool:
        """Returns whether a pending checkpoint must have ended by now, since nothing is left to do."""
        late = self.now - one.at >= self.config.settings.checkpoint_timeout
        return late or not (self.throttled or one.hindered or one.losses != self.failures.losses)


_HEARS: Mapping[type, Callable[[Ledger, Any], None]] = {
    ports.CheckpointBegun: Ledger._begun,
    ports.CheckpointCompleted: Ledger._completed,
    ports.CheckpointFailed: Ledger._checkpoint_failed,
    ports.Committed: Ledger._committed,
    ports.JobRestarted: Ledger._restarted,
    ports.JobTaskChanged: Ledger._task_changed,
    ports.TaskReady: Ledger._task_ready,
    ports.FailureStruck: Ledger._struck,
    ports.FaultStruck: Ledger._fault_struck,
    ports.JobOver: Ledger._over,
}
