"""The rules of jobs: what is committed, what checkpoints hold, how they end, what fails. Specification: pipeline.md."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import Any

from conformance import ports
from conformance.components.pipeline import steps
from conformance.components.pipeline.checkpoints import Checkpoint
from conformance.components.pipeline.contents import ALIGNED, Contents, keepers
from conformance.components.pipeline.graph import STATELESS
from conformance.components.pipeline.ledger import MOST_TRIES, OVER, SAME, Ledger
from conformance.components.pipeline.records import Records, differences, named
from conformance.driver import AnyStep, Broken, FailureClass, Judgement, Rules, Seen, Unsure, answers_property
from conformance.models import lifetime
from conformance.models.designs import NOTHING, PASSES_LOCALLY, PASSES_REMOTELY, RESOURCES, TIMEOUTABLE
from conformance.models.words import are, counted, many
from conformance.ports import (
    Capability,
    CheckpointBegun,
    CheckpointCompleted,
    CheckpointFailed,
    CheckpointKind,
    Committed,
    FailureStruck,
    FaultStruck,
    JobOver,
    JobRestarted,
    JobStatus,
    JobTaskChanged,
    TaskState,
    Turn,
    Until,
)

READBACK = frozenset({Capability.CHECKPOINT_READBACK})
STEPS = frozenset({Capability.JOB_STEPS})
LOST, DUPLICATED, STUCK, PROTOCOL = (
    FailureClass.LOST, FailureClass.DUPLICATED, FailureClass.STUCK, FailureClass.PROTOCOL
)  # fmt: skip
RUNNING = (TaskState.RUNNING, TaskState.FINISHED)
IN_RECOVERED_CHECKPOINTS = ("FLINK-40016", "FLINK-39018", "FLINK-38544")

RULES = Rules[Ledger]("pipeline", answers_property("pipeline"))
rule, adopt = RULES.rule, RULES.adopt
Acted = Seen[Any, *tuple[Any, ...]]
Output = Seen[ports.Runs, int]
States = Seen[tuple[ports.OperatorState, ...], int]


def _said(slug: str, number: str, statement: str, *signals: type[Any], on: AnyStep | tuple[AnyStep, ...] = steps.HEARS,
          when: Callable[[Ledger, Acted], object] = lambda ledger, seen: True, tickets: tuple[str, ...] = (),
          needs: frozenset[Capability] = NOTHING) -> None:  # fmt: skip
    """Declares a rule of what the ledger has learned: it has noted what was wrong. `when`: when it is put to the
    test."""

    def check(ledger: Ledger, seen: Acted) -> Judgement:
        return ledger.found.get(slug) or bool(when(ledger, seen))

    RULES.stated(slug, statement, on, check, invariant=number, tickets=tickets, needs=needs, after_learning=True,
                 signals=signals)  # fmt: skip


def _holds(slug: str, number: str, statement: str, *tickets: str, when: Callable[[Contents], object] = bool,
           needs: frozenset[Capability] = READBACK) -> None:  # fmt: skip
    """Declares a rule of what a completed checkpoint holds, which is judged when that is read for the first time.
    `needs`: NOTHING for a rule of splits, since an engine may show these alone."""

    def read(ledger: Ledger, seen: Acted) -> object:
        one = ledger.checkpoints.known.get(seen.operands[0])
        held = None if one is None else one.contents
        return held is not None and held.checkpoint is seen.value and seen.value.states and when(held)

    _said(slug, number, statement, on=steps.snapshot, when=read, tickets=tickets, needs=needs)


# ---- what is committed -----------------------------------------------------------------------------------------------
_said("nothing-is-committed-twice-or-made-up", "I-100", "No sink commits a record twice, or a transaction twice, or"
      " what was not supplied.", Committed)  # fmt: skip
_said("only-a-completed-checkpoint-is-committed", "I-101", "A transaction is committed only once a checkpoint has"
      " completed in which, or in front of which, it was prepared.", Committed)  # fmt: skip
_said("a-savepoint-commits-nothing", "I-106", "Nothing is committed because a savepoint is complete, unless the job"
      " is stopped with it.", Committed, tickets=("FLINK-25191",))  # fmt: skip


def _all_committed(slug: str, number: str, statement: str, failed: bool) -> None:
    """Declares a rule of what is committed in the end, for jobs in which something has failed, or nothing has."""

    def check(ledger: Ledger, seen: Output) -> Judgement:
        if not ledger.is_settled() or bool(ledger.failures.count) is not failed or not ledger.is_covered():
            return False
        if left := ledger.not_committed(seen.operands[0]):
            if not ledger.is_due(seen.operands[0]):
                return False
            return Broken(LOST, f"sink {seen.operands[0]} must have committed all records that were supplied",
                          f"{named(left)}: not committed")  # fmt: skip
        return any(ledger.supplied.values())

    RULES.stated(slug, statement, steps.output, check, invariant=number, tickets=("FLINK-38544", "FLINK-39018"))


_all_committed("each-record-is-committed-once", "I-01", "Once a checkpoint has completed before which all records came"
               " out, and the next one, and nothing is left to do, each sink has committed all.",
               failed=False)  # fmt: skip
_all_committed("failures-do-not-change-what-is-committed", "I-104", "Also after failures, wherever they struck, each"
               " sink has committed all records in the end.", failed=True)  # fmt: skip


@rule(steps.output, invariant="I-101")
def what_is_prepared_is_committed_in_the_end(ledger: Ledger, seen: Output) -> Judgement:
    """When nothing is left to do, and no message was lost, each transaction is committed that a completed checkpoint
    has prepared: with the next one at the latest, or when it was restored."""
    (sink,) = seen.operands
    if not ledger.is_idle() or not ledger.runs():
        return False
    judged = False
    for since in (0, 1):
        one = ledger.checkpoints.completed(since)
        if one is None or one.contents is None or one.losses != ledger.failures.losses:
            continue
        for subtask, state in enumerate(one.contents.states(sink)):
            if since == 0 and ledger.restored.get(ledger.config.task(sink, subtask)) != one.number:
                continue
            for name in (prepared.transaction for prepared in state.prepared):
                judged = True
                if name not in ledger.sinks[sink].transactions:
                    owed = f"checkpoint {one.number} was restored or followed by the next one, so what it has prepared"
                    return Broken(LOST, f"{owed} is committed", f"transaction {name.checkpoint} of subtask"
                                  f" {name.subtask} of sink {sink} is not")  # fmt: skip
    return judged


@rule(steps.output, invariant="I-100")
def the_output_is_what_was_committed(ledger: Ledger, seen: Output) -> Judgement:
    """The output of a sink is what it has committed, ascending."""
    (sink,) = seen.operands
    mine = ledger.sinks[sink]
    there, committed = Records(), Records()
    twice = there.add(seen.value)
    committed.add(chain(*mine.transactions.values()))
    owed = f"the output of sink {sink} is what it has committed, each record once"
    for how, what in differences(there, twice, committed):
        return Broken(how, owed, what)
    if any(one.first > other.first for one, other in zip(seen.value, seen.value[1:], strict=False)):
        return Broken(FailureClass.REORDERED, f"the output of sink {sink} is ascending", "the output is not ascending")
    return bool(seen.value)


# ---- what is counted -------------------------------------------------------------------------------------------------
def _counted(ledger: Ledger, seen: States) -> Judgement:
    """Judges whether a vertex has counted, or has read, exactly what was supplied."""
    (vertex,) = seen.operands
    graph = ledger.graph
    if vertex in graph.sources:
        offsets = {one.split: one.offset for state in seen.value for one in state.splits}
        for split in ledger.config.splits_of(vertex):
            if offsets.get(split, 0) != ledger.supplied[split]:
                owed = f"split {split} has {many(ledger.supplied[split], 'record')}, and nothing holds up its reader"
                return Broken(STUCK, owed, f"{are(offsets.get(split, 0), 'record')} emitted")
        return True
    judged = False
    for one in keepers(graph, vertex, seen.value):
        there, judged = Records(), any(ledger.supplied.values())
        twice = there.add(one.state)
        for how, what in differences(there, twice, Records.up_to(ledger.supplied, one.paths)):
            return Broken(how, f"{one.name} gets each record that was supplied, once", what)
    return judged


@rule(steps.state, invariant="I-22", needs=READBACK)
def all_that_is_supplied_comes_out(ledger: Ledger, seen: States) -> Judgement:
    """When nothing is left to do and no operator stands still, each reader has emitted all records of its splits, and
    each count and broadcast state has each of them once."""
    if not ledger.is_settled() or not ledger.supplied_here or ledger.stopping:
        return False
    return _counted(ledger, seen)


@rule(steps.state, invariant="I-03", needs=READBACK, tickets=IN_RECOVERED_CHECKPOINTS)
def a_restored_job_holds_exactly_the_cut(ledger: Ledger, seen: States) -> Judgement:
    """A job that was restored, in any design and with any parallelism, and has nothing left to do before records are
    supplied, has counted exactly what was emitted in front of the cut."""
    if not ledger.is_settled() or ledger.supplied_here or not ledger.checkpoints.restored:
        return False
    return _counted(ledger, seen)


@rule(steps.state, invariant="I-109", needs=READBACK)
def watermarks_arrive_everywhere(ledger: Ledger, seen: States) -> Judgement:
    """When nothing is left to do in a job that was neither restored nor restarted, and whose sources have one subtask
    each and emit a watermark behind each record, no other subtask has one that is behind all splits."""
    (vertex,) = seen.operands
    sources, vertices = ledger.graph.sources, ledger.config.vertices
    begun_anew = ledger.attempt or ledger.checkpoints.restored
    if not ledger.is_settled() or begun_anew or ledger.ended or ledger.stopping or vertex in sources:
        return False
    if ledger.config.settings.watermarks != 1 or any(vertices[source].parallelism > 1 for source in sources):
        return False
    least = min(ledger.supplied.values())
    for subtask, state in enumerate(seen.value):
        if state.watermark < least:
            came = f"{many(least, 'record')} of each split came"
            return Broken(LOST, f"{came}, so the watermark of subtask {subtask} of vertex {vertex} is {least} at least",
                          f"it is {state.watermark}")  # fmt: skip
    return least > 0


# ---- everything comes to an end --------------------------------------------------------------------------------------
def _due(slug: str, number: str, statement: str, late: Callable[[Ledger], str | None], when: Callable[[Ledger], object],
         *tickets: str, needs: frozenset[Capability] = NOTHING) -> None:  # fmt: skip
    """Declares a rule of what must have happened when nothing is left to do. `late`: what has not; `when`: when it is
    due."""
    owed = f"nothing is left to do, so this holds: {statement[0].lower()}{statement[1:].rstrip('.')}"

    def check(ledger: Ledger, seen: Acted) -> Judgement:
        if not when(ledger):
            return False
        what = late(ledger)
        return what is None or Broken(STUCK, owed, what)

    RULES.stated(slug, statement, steps.ACTS, check, invariant=number, tickets=tickets, after_learning=True,
                 given=Ledger.is_idle, needs=needs)  # fmt: skip


def _pending(ledger: Ledger, when: Callable[[Checkpoint], bool]) -> str | None:
    found = [one.number for one in ledger.checkpoints.pending.values() if when(one)]
    return f"checkpoint {found[0]} is pending" if found else None


def _not_running(ledger: Ledger) -> str | None:
    states = zip(ledger.graph.names, ledger.states, strict=True)
    found = [f"task {name} is {state or 'not deployed'}" for name, state in states if state not in RUNNING]
    return found[0] if found else None


def _passing(ledger: Ledger, one: Checkpoint) -> bool:
    """Returns whether operators that stand still do not hold up a checkpoint."""
    passes = one.kind is CheckpointKind.UNALIGNED and one.all_ready and one.passes
    return passes and one.losses == ledger.failures.losses


def _overdue(ledger: Ledger, one: Checkpoint) -> bool:
    """Returns whether operators that stand still no longer hold up a checkpoint, since its alignment has timed out."""
    late = one.kind is CheckpointKind.TIMEOUTABLE and ledger.now - one.at >= ledger.config.settings.alignment_timeout
    return late and one.all_ready and one.passes and one.losses == ledger.failures.losses


_due("every-checkpoint-ends", "I-98", "When nothing is left to do, each checkpoint has ended that was triggered, unless"
     " an operator stands still or a message was lost; it expires all the same.",
     lambda ledger: _pending(ledger, ledger.holding), lambda ledger: ledger.checkpoints.known)  # fmt: skip
_due("every-restore-ends", "I-98", "When nothing is left to do and no operator stands still, every task runs or has"
     " finished.", _not_running, lambda ledger: ledger.tells_states and not ledger.throttled,
     "FLINK-38544")  # fmt: skip
_due("operators-that-stand-still-hold-up-no-checkpoint", "I-54", "Once all tasks are ready, an unaligned checkpoint"
     " completes although operators stand still, or data that was recovered is not taken.",
     lambda ledger: _pending(ledger, lambda one: _passing(ledger, one)),
     lambda ledger: ledger.throttled and any(_passing(ledger, one) for one in ledger.checkpoints.known.values()),
     "FLINK-39018", "FLINK-38544", needs=PASSES_LOCALLY | PASSES_REMOTELY)  # fmt: skip
_due("an-alignment-times-out-in-time", "I-54", "Once all tasks are ready, a timeoutable checkpoint completes"
     " although operators stand still, as soon as the alignment timeout has passed since its trigger.",
     lambda ledger: _pending(ledger, lambda one: _overdue(ledger, one)),
     lambda ledger: ledger.throttled and any(_overdue(ledger, one) for one in ledger.checkpoints.known.values()),
     "FLINK-27251", needs=PASSES_LOCALLY | PASSES_REMOTELY | TIMEOUTABLE)  # fmt: skip
_due("too-many-failed-checkpoints-restart-the-job", "I-57", "When more checkpoints in a row have failed than are"
     " tolerated, all tasks are restarted.",
     lambda ledger: "they were not all restarted" if ledger.failures.must_restart else None,
     lambda ledger: ledger.failures.certain or ledger.failures.must_restart)  # fmt: skip
_due("what-concerns-all-tasks-restarts-them-all", "I-103", "After the failure of the job master or of the job, all"
     " tasks are restarted.",
     lambda ledger: f"{ledger.failures.concerns_all}, and not all tasks were restarted"
     if ledger.failures.concerns_all else None,
     lambda ledger: ledger.attempt and (ledger.failures.concerns_all or ledger.failures.all_restarted),
     needs=STEPS)  # fmt: skip


@rule(steps.output, invariant="I-98", needs=STEPS)
def a_checkpoint_completes_in_the_end(ledger: Ledger, seen: Output) -> Judgement:
    """When nothing is made to fail any more and no operator stands still, a checkpoint completes, however many have
    failed before."""
    if not ledger.closing or not ledger.is_live() or ledger.stopped or ledger.cancelled:
        return False
    if ledger.tries >= MOST_TRIES and not ledger.fruitful:
        return Broken(STUCK, f"of {MOST_TRIES} checkpoints, one after the other, one completes", "none has")
    return ledger.fruitful


@rule(steps.settle, invariant="I-22", needs=STEPS)
def who_waits_has_nothing_to_do(ledger: Ledger, seen: Seen[bool, str]) -> Judgement:
    """A thread that waits has nothing to do until it is said to be woken: if all wait, nothing happens by itself."""
    if not ledger.threads.was_idle:
        return False
    if seen.signals:
        return Broken(
            STUCK, "every thread waits, so nothing happens", f"the answer came with {many(len(seen.signals), 'signal')}"
        )
    return True


@rule(steps.threads, invariant="I-107", needs=STEPS)
def who_acts_is_a_thread_of_the_job(ledger: Ledger, seen: Seen[tuple[str, ...]]) -> Judgement:
    """The names of the threads are different, and those that were named as woken are among them."""
    known = set(seen.value)
    if len(known) < len(seen.value):
        return Broken(DUPLICATED, "each thread has a name of its own", "two threads have one name")
    if strange := [name for (name,) in ledger.threads.awake if name not in known]:
        return Broken(PROTOCOL, "only threads of the job are woken", f"{strange[0]} is woken")
    return True


@rule(steps.settle, invariant="I-107", after_learning=True)
def what_was_waited_for_has_happened(ledger: Ledger, seen: Seen[bool, str]) -> Judgement:
    """If the engine says that something has happened that was waited for, it has."""
    has_not = {
        Until.NO_CHECKPOINT: ledger.checkpoints.pending,
        Until.RUNNING: ledger.tells_states and not (ledger.runs() or ledger.status),
        Until.OVER: ledger.status is None,
    }.get(Until(seen.operands[0]))
    if seen.value and has_not:
        return Broken(PROTOCOL, f"the engine says that it has come to this: {seen.operands[0]}", "it has not")
    return seen.value


# ---- failures --------------------------------------------------------------------------------------------------------
_said("a-task-fails-of-what-was-made-to-fail", "I-90", "A task fails only after something was made to fail, with that"
      " as its cause; the others are cancelled. What was asked for strikes, once.", JobTaskChanged,
      FailureStruck)  # fmt: skip
_said("task-states-follow-each-other", "I-89", "A task initializes, runs and finishes; in between it may fail or be"
      " cancelled, and begin anew.", JobTaskChanged)  # fmt: skip
_said("a-failover-restores-the-newest-checkpoint", "I-103", "A failover restores the newest completed checkpoint that"
      " is no savepoint, or the one with which the job began.", JobRestarted, tickets=("FLINK-25191",))  # fmt: skip
_said("no-failover-restores-a-savepoint", "I-106", "A savepoint that was taken in this job is restored by the user"
      " only.", JobRestarted, tickets=("FLINK-25191",))  # fmt: skip
_said("connected-tasks-are-restarted-together", "I-103", "With a task, all tasks are restarted that are connected"
      " with it; without regions, all.", JobRestarted)  # fmt: skip
_said("a-job-is-restarted-only-after-failures", "I-57", "Tasks are restarted after something has failed, or after"
      " more checkpoints in a row have failed than are tolerated, for reasons that count.", JobRestarted)  # fmt: skip


_said("a-job-that-was-stopped-is-not-restarted", "I-106", "Once the savepoint is complete with which a job is"
      " stopped, a failure lets the job fail.", JobRestarted, JobTaskChanged, JobOver, tickets=("FLINK-26783",),
      when=lambda ledger, seen: ledger.stopped and ledger.status is JobStatus.FAILED)  # fmt: skip


# ---- the end ---------------------------------------------------------------------------------------------------------
_said("a-job-finishes-when-all-is-committed", "I-88", "A job whose sources have ended finishes only once its sinks"
      " have committed all records.", JobOver,
      when=lambda ledger, seen: ledger.status is JobStatus.FINISHED and not ledger.stopped)  # fmt: skip
_said(OVER, "I-92", "A job finishes when its sources have ended or it was stopped,"
      " is canceled if the user cancels it, and fails if it cannot be restarted.", JobOver)  # fmt: skip


@rule(steps.output, invariant="I-33")
def a_job_whose_sources_have_ended_finishes(ledger: Ledger, seen: Output) -> Judgement:
    """In the end a job is over whose sources have all ended, or that was stopped with a savepoint that has
    completed."""
    if not (ledger.closing and (ledger.has_all_ended() or ledger.stopped)):
        return False
    if ledger.is_settled():
        return Broken(STUCK, "all sources have ended, and one checkpoint after the other, so the job must be over",
                      "the job is not over")  # fmt: skip
    if ledger.status is None:
        return Unsure("the job was not over, and may have been slow, or held up by a message that was lost")
    return True


@rule(steps.output, invariant="I-106")
def a_job_is_stopped_when_its_savepoint_is_committed(ledger: Ledger, seen: Output) -> Judgement:
    """A job that was stopped with a savepoint and has finished has committed exactly what was emitted before that."""
    (sink,) = seen.operands
    one = ledger.checkpoints.known.get(ledger.stopped)
    if one is None or one.contents is None or ledger.status is not JobStatus.FINISHED:
        return False
    if not one.contents.checkpoint.states:  # nobody knows how far its splits were read
        return False
    owed = f"the job was stopped with savepoint {one.number}: what is in front of it is committed, and nothing else"
    emitted = Records.up_to(one.contents.offsets, ledger.graph.paths[sink])
    for how, what in differences(ledger.sinks[sink].records, (), emitted):
        return Broken(how, owed, what)
    return True


@rule(steps.work_after_the_end, invariant="I-92")
def a_job_that_is_over_does_nothing(ledger: Ledger, seen: Seen[Turn, str]) -> Judgement:
    """Once the job is over, every thread says so, and does nothing."""
    if seen.value is Turn.OVER and not seen.signals:
        return True
    return Broken(PROTOCOL, "the job is over, so nothing happens any more", f"a thread answered {seen.value}")


@rule(*steps.ACTS, invariant="I-92", after_learning=True)
def a_cancelled_job_is_over(ledger: Ledger, seen: Acted) -> Judgement:
    """When a job was cancelled, whatever it did, and nothing is left to do, it is over."""
    if not ledger.cancelled:
        return False
    if ledger.is_idle():
        return Broken(STUCK, "the job was cancelled, and nothing is left to do, so it must be over",
                      "the job is not over")  # fmt: skip
    return ledger.status is not None


@rule(steps.resources, invariant="I-93", needs=RESOURCES)
def a_job_that_is_over_holds_nothing(ledger: Ledger, seen: Seen[ports.Resources]) -> Judgement:
    """Once a job is over, no worker holds a segment, a file, a listener or a future of it."""
    if ledger.phase != "over":
        return False
    for what in ports.Resources.__struct_fields__:
        if held := getattr(seen.value, what):
            return Broken(FailureClass.LEAKED, "the job is over, so nothing is held", f"{counted(held, what)} left")
    return True


@rule(steps.resources, invariant="I-45")
def a_job_that_is_over_has_no_checkpoint_pending(ledger: Ledger, seen: Seen[ports.Resources]) -> Judgement:
    """Once a job is over, each checkpoint that was triggered has completed or failed."""
    if ledger.phase != "over":
        return False
    if (what := _pending(ledger, lambda one: True)) is not None:
        return Broken(LOST, "the job is over, so each checkpoint has completed or failed", what)
    return bool(ledger.checkpoints.known)


adopt(lifetime.after_release_nothing_is_held, steps.resources, needs=RESOURCES)


# ---- what a checkpoint holds -----------------------------------------------------------------------------------------
_holds("offsets-never-go-back", "I-105", "From one completed checkpoint to the next, and after a restore, no split"
       " goes back.", needs=NOTHING)  # fmt: skip
_holds("no-record-is-missing-in-a-checkpoint", "I-04", "In a completed checkpoint, each record that a source counts"
       " as emitted is in flight on its way, or in the state of each vertex behind.", "FLINK-40016",
       "FLINK-39018")  # fmt: skip
_holds("a-record-is-in-a-checkpoint-once", "I-34", "In a completed checkpoint, no record is in flight twice, in"
       " flight and in the state behind, or in a state twice.", "FLINK-40016", "FLINK-39523")  # fmt: skip
_holds("nothing-in-a-checkpoint-is-from-behind-the-cut", "I-36", "In a completed checkpoint, there is no record that"
       " its source does not count as emitted.", "FLINK-20654")  # fmt: skip
_holds("each-split-is-in-one-place", "I-102", "In a completed checkpoint, each split is not assigned, or is with one"
       " reader, at one position.", needs=NOTHING)  # fmt: skip
_holds("records-of-a-key-are-counted-in-order", "I-02", "Records of one split and key are counted in their order,"
       " over failures and restores, where each record with that key takes the same way.", "FLINK-17564",
       when=lambda one: one.graph.counts)  # fmt: skip
_holds("each-key-is-counted-in-one-subtask", "I-110", "In a completed checkpoint, all records of a key that a vertex"
       " has counted are in the state of one subtask.", when=lambda one: one.graph.counts)  # fmt: skip
_holds("what-is-in-flight-is-stored-in-order", "I-05", "Of each channel, the input state and then the output state"
       " are the records in the order in which they were sent.", "FLINK-39523",
       when=lambda one: one.flying)  # fmt: skip
_holds("what-is-in-flight-stays-in-its-channel", "I-05", "What was in flight when a job was restored, and still is on"
       " the same edge, is in the same channel, if neither end of the edge has another parallelism.", "FLINK-38544",
       when=lambda one: one.restored)  # fmt: skip
_holds("an-aligned-checkpoint-has-no-channel-state", "I-10", "An aligned checkpoint and a savepoint have no channel"
       " state.", "FLINK-18136", when=lambda one: one.checkpoint.kind in ALIGNED)  # fmt: skip
_holds("pointwise-and-broadcast-edges-have-no-channel-state", "I-12", "Forward, rescale and broadcast edges have no"
       " channel state.", when=lambda one: any(edge.kind in STATELESS for edge in one.graph.edges))  # fmt: skip
_holds("broadcast-reaches-each-subtask-once", "I-83", "In a completed checkpoint, each subtask with broadcast state"
       " has each record of it once.", when=lambda one: one.graph.joins)  # fmt: skip
_holds("watermarks-are-minima-that-never-go-back", "I-81", "In a completed checkpoint, the watermark of a subtask is"
       " ahead neither of a split that reaches it nor of a record in flight to it, and it never goes back between two"
       " restarts.", when=lambda one: any(each.watermark for at in one.checkpoint.states for each in at))  # fmt: skip
_holds("a-checkpoint-has-the-state-of-every-subtask", "I-52", "A completed checkpoint has the state of each subtask"
       " of each vertex.")  # fmt: skip


_holds("an-acknowledgement-says-how-a-checkpoint-was-taken", "I-108", "If a task says how it has taken its part of a"
       " completed checkpoint, that is so: unaligned if records in flight are stored of it, also if that was so only"
       " since something timed out, and aligned if nothing could overtake; with as many records in flight as the"
       " checkpoint holds of it; and with an alignment that took no longer than the checkpoint.", "FLINK-31588",
       when=lambda one: one.checkpoint.taken)  # fmt: skip


_said(SAME, "I-45", "What a completed checkpoint holds is always the same.", on=steps.snapshot,
      when=lambda ledger, seen: seen.value, needs=READBACK)  # fmt: skip


@rule(steps.snapshot, invariant="I-45")
def only_a_completed_checkpoint_can_be_read(ledger: Ledger, seen: Seen[ports.JobCheckpoint | None, int]) -> Judgement:
    """What a completed checkpoint holds can be read as long as the job exists, with its number and kind, and nothing of
    any other checkpoint."""
    one = ledger.checkpoints.known.get(seen.operands[0])
    if one is None:
        return False
    found = None if seen.value is None else (seen.value.checkpoint, seen.value.kind)
    if found == ((one.number, one.kind) if one.is_completed else None):
        return True
    how = "is complete, and can be read" if one.is_completed else "is not complete, so it cannot be read"
    return Broken(LOST if found is None else PROTOCOL, f"{one.kind} checkpoint {one.number} {how}",
                  "it is not there" if found is None else f"there is the {found[1]} checkpoint {found[0]}")  # fmt: skip


# ---- how checkpoints end ---------------------------------------------------------------------------------------------
_said("a-checkpoint-completes-when-every-task-has-acknowledged-it", "I-58", "A checkpoint completes only once every"
      " task that has not finished had a turn, and a message of it has arrived, since the checkpoint was triggered.",
      CheckpointCompleted)  # fmt: skip
_said("a-checkpoint-ends-once", "I-45", "A checkpoint that was triggered completes or fails, once.",
      CheckpointCompleted, CheckpointFailed)  # fmt: skip
_said("no-older-checkpoint-completes-later", "I-45", "When a checkpoint has completed that is no savepoint, no older"
      " one completes that is none.", CheckpointCompleted)  # fmt: skip
_said("a-checkpoint-fails-for-the-reason-it-gives", "I-57", "A checkpoint expires after the timeout, is subsumed by a"
      " newer one, is declined by a task that is not ready, or fails of what was made to fail. A savepoint is not"
      " subsumed.", CheckpointFailed)  # fmt: skip


_said("ids-of-checkpoints-increase", "I-45", "A checkpoint has a larger id than all before it, also over restarts and"
      " restores.", on=(steps.trigger, steps.stop_with_savepoint),
      when=lambda ledger, seen: seen.value.checkpoint)  # fmt: skip


@rule(steps.trigger, steps.trigger_after_the_end, steps.stop_with_savepoint, invariant="I-45")
def a_checkpoint_is_refused_for_a_reason(ledger: Ledger, seen: Seen[ports.Triggered, *tuple[str, ...]]) -> Judgement:
    """A checkpoint is triggered if all tasks run and nothing stands against it, and refused when the job is over."""
    if seen.value.refused is None:
        return ledger.status is None or Broken(PROTOCOL, "the job is over, so no checkpoint is triggered", "one was")
    changes = (JobOver, JobRestarted, JobTaskChanged, FailureStruck, FaultStruck, CheckpointBegun)
    if not ledger.threads.steps and any(type(one) in changes for one in seen.signals):
        return False  # the engine went on while it was asked: what it says of that comes with its answer
    if seen.value.refused not in ledger.refusal(*seen.operands):
        return Broken(PROTOCOL, f"a checkpoint is refused as {seen.value.refused} only where that is so",
                      "one is refused, and it is not so")  # fmt: skip
    return seen.value.refused is not ports.Refusal.NOT_RUNNING
