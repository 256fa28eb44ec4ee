"""The rules of what a job commits, counts and says in the end. Specification: pipeline.md."""

from __future__ import annotations

from typing import Any

from conformance.components.pipeline import steps
from conformance.components.pipeline.contents import Arrived, named
from conformance.components.pipeline.ledger import Ledger
from conformance.driver import Broken, FailureClass, Judgement, Rules, Seen, answers_property
from conformance.models import lifetime
from conformance.models.designs import RESOURCES
from conformance.models.words import counted
from conformance.ports import (
    Capability,
    Committed,
    FailureStruck,
    JobOver,
    JobRestarted,
    JobStatus,
    JobTaskChanged,
    OperatorState,
    Refusal,
    Resources,
    Runs,
    TaskState,
    Triggered,
    Turn,
    Until,
    record,
    records_of,
    split_of,
)

READBACK = frozenset({Capability.CHECKPOINT_READBACK})
STEPS = frozenset({Capability.JOB_STEPS})
LOST, DUPLICATED, STUCK, PROTOCOL = (
    FailureClass.LOST, FailureClass.DUPLICATED, FailureClass.STUCK, FailureClass.PROTOCOL
)  # fmt: skip
OVER = Turn.OVER

RULES = Rules[Ledger]("pipeline", answers_property("pipeline"))
rule, adopt = RULES.rule, RULES.adopt
Acted = Seen[Any, *tuple[Any, ...]]


def found(ledger: Ledger, *about: str) -> Judgement:
    """Judges whether something of the kind was found wrong."""
    for one in about:
        if one in ledger.found:
            return ledger.found[one]
    return True


# ---- what is committed -----------------------------------------------------------------------------------------------
@rule(*steps.HEARS, invariant="I-100", after_learning=True, signals=(Committed,))
def nothing_is_committed_twice_or_made_up(ledger: Ledger, seen: Acted) -> Judgement:
    """No sink commits a record twice, or a transaction twice, or what was not supplied."""
    return found(ledger, "twice", "unknown")


@rule(*steps.HEARS, invariant="I-101", after_learning=True, signals=(Committed,))
def only_a_completed_checkpoint_is_committed(ledger: Ledger, seen: Acted) -> Judgement:
    """A transaction is committed only once a checkpoint has completed in which, or in front of which, it was
    prepared."""
    return found(ledger, "uncommitted")


@rule(*steps.HEARS, invariant="I-106", after_learning=True, signals=(Committed,), tickets=("FLINK-25191",))
def a_savepoint_commits_nothing(ledger: Ledger, seen: Acted) -> Judgement:
    """Nothing is committed because a savepoint is complete, unless the job is stopped with it."""
    return found(ledger, "savepoint")


def _missing(ledger: Ledger, sink: int) -> list[int]:
    mine = ledger.sinks[sink]
    return [
        one
        for split in ledger.graph.paths[sink]
        for one in mine.records.missing(split, ledger.supplied[split])
    ]  # fmt: skip


@rule(steps.output, invariant="I-01", tickets=("FLINK-38544", "FLINK-39018"))
def each_record_is_committed_once(ledger: Ledger, seen: Seen[Runs, int]) -> Judgement:
    """Once a checkpoint has completed before which all records came out, and nothing is left to do, each sink has
    committed all."""
    if not ledger.is_live() or not ledger.is_settled() or ledger.failures.count or ledger.covering() is None:
        return False
    return _all_committed(ledger, seen.operands[0])


@rule(steps.output, invariant="I-104", tickets=("FLINK-38544", "FLINK-39018"))
def failures_do_not_change_what_is_committed(ledger: Ledger, seen: Seen[Runs, int]) -> Judgement:
    """Also after failures, wherever they struck, each sink has committed all records in the end."""
    if not ledger.is_live() or not ledger.is_settled() or not ledger.failures.count or ledger.covering() is None:
        return False
    return _all_committed(ledger, seen.operands[0])


def _all_committed(ledger: Ledger, sink: int) -> Judgement:
    if left := _missing(ledger, sink):
        owed = f"sink {sink} must have committed all records that were supplied"
        return Broken(LOST, owed, f"{named(left)}: not committed")
    return ledger.total > 0


@rule(steps.output, invariant="I-101")
def what_is_prepared_is_committed_in_the_end(ledger: Ledger, seen: Seen[Runs, int]) -> Judgement:
    """When nothing is left to do, and no message was lost, each transaction is committed that the newest completed
    checkpoint has prepared."""
    (sink,) = seen.operands
    checkpoints = ledger.checkpoints
    newest = checkpoints.known.get(checkpoints.point)
    if newest is None or newest.contents is None or newest.losses != ledger.failures.losses:
        return False
    if not ledger.is_live() or not ledger.is_idle() or not ledger.runs():
        return False
    for transaction in newest.contents.prepared[sink]:
        if transaction not in ledger.sinks[sink].transactions:
            owed = f"checkpoint {newest.number} has completed, and its transactions are committed"
            return Broken(LOST, owed, f"sink {sink} has not committed transaction {transaction.checkpoint} of subtask"
                          f" {transaction.subtask}")  # fmt: skip
    return bool(newest.contents.prepared[sink])


@rule(steps.output, invariant="I-100")
def the_output_is_what_was_committed(ledger: Ledger, seen: Seen[Runs, int]) -> Judgement:
    """The output of a sink is what it has committed, ascending."""
    (sink,) = seen.operands
    last, size = -1, 0
    mine = ledger.sinks[sink]
    for one in records_of(seen.value):
        if one <= last or one not in mine.records:
            how = DUPLICATED if one == last else FailureClass.CORRUPTED
            return Broken(how, f"the output of sink {sink} is what it has committed, each record once, ascending",
                          f"there is {named((one,))} behind {named((last,))}")  # fmt: skip
        last, size = one, size + 1
    if size != mine.here:
        owed = f"sink {sink} has committed {mine.here} records, which are its output"
        return Broken(LOST if size < mine.here else DUPLICATED, owed, f"its output has {size}")
    return size > 0


# ---- what is counted -------------------------------------------------------------------------------------------------
def _counted(ledger: Ledger, seen: Seen[tuple[OperatorState, ...], int]) -> Judgement:
    """Judges whether a vertex has counted, or has read, exactly what was supplied."""
    (vertex,) = seen.operands
    graph = ledger.graph
    if vertex in graph.sources:
        places = {one.split: one.offset for state in seen.value for one in state.splits}
        for split in ledger.config.splits_of(vertex):
            offset = places.get(split, 0)
            if offset != ledger.supplied[split]:
                owed = f"split {split} has {ledger.supplied[split]} records, and nothing holds up its reader"
                return Broken(STUCK, owed, f"{offset} of them were emitted")
        return True
    kept = vertex in graph.joins
    if vertex not in graph.counts and not kept:
        return False
    paths = (graph.kept if kept else graph.paths)[vertex]
    for states in [[one] for one in seen.value] if kept else [seen.value]:
        arrived = Arrived(one.records for one in states)
        if arrived.twice:
            return Broken(DUPLICATED, f"vertex {vertex} gets each record once", f"{named(arrived.twice)} came twice")
        left = [one for split in paths for one in arrived.records.missing(split, ledger.supplied[split])]
        if left:
            return Broken(LOST, f"vertex {vertex} gets each record that was supplied", f"{named(left)} did not come")
        if arrived.records.size > sum(ledger.supplied[split] for split in paths):
            return Broken(DUPLICATED, f"vertex {vertex} gets what was supplied", "it has more")
    return ledger.total > 0


@rule(steps.state, invariant="I-22", needs=READBACK)
def all_that_is_supplied_comes_out(ledger: Ledger, seen: Seen[tuple[OperatorState, ...], int]) -> Judgement:
    """When nothing is left to do and no operator stands still, each reader has emitted all records of its splits, and
    each count and broadcast state has each of them once."""
    if not ledger.is_live() or not ledger.is_settled() or not ledger.supplied_here or ledger.stopping:
        return False
    return _counted(ledger, seen)


@rule(steps.state, invariant="I-03", needs=READBACK, tickets=("FLINK-40016", "FLINK-39018", "FLINK-38544"))
def a_restored_job_holds_exactly_the_cut(ledger: Ledger, seen: Seen[tuple[OperatorState, ...], int]) -> Judgement:
    """A job that was restored, in any design and with any parallelism, and has nothing left to do before records are
    supplied, has counted exactly what was emitted in front of the cut."""
    if not ledger.is_live() or not ledger.is_settled() or ledger.supplied_here or not ledger.checkpoints.restored:
        return False
    return _counted(ledger, seen)


@rule(*steps.ACTS, invariant="I-98", after_learning=True)
def every_checkpoint_ends(ledger: Ledger, seen: Acted) -> Judgement:
    """When nothing is left to do, each checkpoint has ended that was triggered, unless an operator stands still or a
    message was lost; it expires all the same."""
    if not ledger.is_idle() or not ledger.is_live() or not ledger.checkpoints.known:
        return False
    if held := ledger.holding():
        return Broken(STUCK, f"nothing is left to do, so checkpoint {held[0]} must have ended", "it is pending")
    return True


@rule(*steps.ACTS, invariant="I-98", after_learning=True, tickets=("FLINK-38544",))
def every_restore_ends(ledger: Ledger, seen: Acted) -> Judgement:
    """When nothing is left to do and no operator stands still, every task runs or has finished."""
    if not (ledger.is_settled() and ledger.is_live() and ledger.tells_states) or ledger.failures.losses:
        return False
    for task, state in enumerate(ledger.states):
        if state is not TaskState.RUNNING and state is not TaskState.FINISHED:
            owed = f"nothing is left to do, so task {ledger.graph.names[task]} must run"
            return Broken(STUCK, owed, f"it is {state or 'not deployed'}")
    return True


@rule(steps.settle, invariant="I-22", needs=STEPS)
def who_waits_has_nothing_to_do(ledger: Ledger, seen: Seen[bool, str]) -> Judgement:
    """A thread that waits has nothing to do until it is said to be woken: if all wait, nothing happens by itself."""
    if not ledger.threads.was_idle or not ledger.is_live():
        return False
    if seen.signals:
        return Broken(STUCK, "every thread waits, so nothing happens", f"{len(seen.signals)} things were signalled")
    return True


@rule(steps.threads, invariant="I-107", needs=STEPS)
def who_acts_is_a_thread_of_the_job(ledger: Ledger, seen: Seen[tuple[str, ...]]) -> Judgement:
    """The names of the threads are different, and those that were named as woken are among them."""
    known = set(seen.value)
    if len(known) < len(seen.value):
        return Broken(DUPLICATED, "each thread has a name of its own", "two threads have one name")
    if strange := [name for (name,) in ledger.threads.awake if name not in known]:
        return Broken(PROTOCOL, "only threads of the job are woken", f"{strange[0]} is none")
    return True


@rule(steps.settle, invariant="I-107", after_learning=True)
def what_was_waited_for_has_happened(ledger: Ledger, seen: Seen[bool, str]) -> Judgement:
    """If the engine says that something has happened that was waited for, it has."""
    if not seen.value:
        return False
    until = Until(seen.operands[0])
    if until is Until.NO_CHECKPOINT and ledger.checkpoints.pending:
        return Broken(PROTOCOL, "no checkpoint is pending", f"{next(iter(ledger.checkpoints.pending))} is")
    if until is Until.RUNNING and ledger.tells_states and not (ledger.runs() or ledger.status):
        return Broken(PROTOCOL, "every task runs or has finished, or the job is over", "not every task does")
    if until is Until.OVER and ledger.status is None:
        return Broken(PROTOCOL, "the job is over", "it has not said so")
    return True


# ---- failures --------------------------------------------------------------------------------------------------------
@rule(*steps.HEARS, invariant="I-90", after_learning=True, signals=(JobTaskChanged, FailureStruck))
def a_task_fails_of_what_was_made_to_fail(ledger: Ledger, seen: Acted) -> Judgement:
    """A task fails only after something was made to fail, with that as its cause; the others are cancelled. What was
    asked for strikes, once."""
    return found(ledger, "failed", "struck")


@rule(*steps.HEARS, invariant="I-89", after_learning=True, signals=(JobTaskChanged,))
def task_states_follow_each_other(ledger: Ledger, seen: Acted) -> Judgement:
    """A task initializes, runs and finishes; in between it may fail or be cancelled, and begin anew."""
    return found(ledger, "state")


@rule(*steps.HEARS, invariant="I-103", after_learning=True, signals=(JobRestarted,), tickets=("FLINK-25191",))
def a_failover_restores_the_newest_checkpoint(ledger: Ledger, seen: Acted) -> Judgement:
    """A failover restores the newest completed checkpoint that is no savepoint, or the one with which the job began."""
    return found(ledger, "point")


@rule(*steps.HEARS, invariant="I-106", after_learning=True, signals=(JobRestarted,), tickets=("FLINK-25191",))
def no_failover_restores_a_savepoint(ledger: Ledger, seen: Acted) -> Judgement:
    """A savepoint that was taken in this job is restored by the user only."""
    return found(ledger, "savepoint restored")


@rule(*steps.HEARS, invariant="I-103", after_learning=True, signals=(JobRestarted,))
def connected_tasks_are_restarted_together(ledger: Ledger, seen: Acted) -> Judgement:
    """With a task, all tasks are restarted that are connected with it; without regions, all."""
    return found(ledger, "region")


@rule(*steps.HEARS, invariant="I-57", after_learning=True, signals=(JobRestarted,))
def a_job_is_restarted_only_after_failures(ledger: Ledger, seen: Acted) -> Judgement:
    """Tasks are restarted after something has failed, or after more checkpoints in a row have failed than are
    tolerated, for reasons that count."""
    return found(ledger, "tolerated")


@rule(*steps.ACTS, invariant="I-57", after_learning=True)
def too_many_failed_checkpoints_restart_the_job(ledger: Ledger, seen: Acted) -> Judgement:
    """When more checkpoints in a row have failed than are tolerated, all tasks are restarted."""
    if not ledger.is_idle() or not ledger.is_live() or not ledger.failures.counted_for_certain:
        return False
    if ledger.failures.must_restart:
        most = ledger.config.settings.tolerable
        owed = f"more than {most} checkpoints in a row have failed, so all tasks must be restarted"
        return Broken(PROTOCOL, owed, "nothing is left to do, and they were not")
    return True


@rule(*steps.HEARS, invariant="I-106", after_learning=True, signals=(JobRestarted,), tickets=("FLINK-26783",))
def a_job_that_was_stopped_is_not_restarted(ledger: Ledger, seen: Acted) -> Judgement:
    """Once the savepoint is complete with which a job is stopped, a failure lets the job fail."""
    return found(ledger, "stopped") if ledger.stopped else False


# ---- the end ---------------------------------------------------------------------------------------------------------
@rule(*steps.HEARS, invariant="I-88", after_learning=True, signals=(JobOver,))
def a_job_finishes_when_all_is_committed(ledger: Ledger, seen: Acted) -> Judgement:
    """A job whose sources have ended finishes only once its sinks have committed all records."""
    if ledger.status is not JobStatus.FINISHED or ledger.stopped:
        return False
    return found(ledger, "finished")


@rule(*steps.HEARS, invariant="I-92", after_learning=True, signals=(JobOver,))
def a_job_is_over_once_and_for_a_reason(ledger: Ledger, seen: Acted) -> Judgement:
    """A job finishes when its sources have ended or it was stopped, is canceled if the user cancels it, and fails if it
    cannot be restarted."""
    return found(ledger, "over")


@rule(steps.output, invariant="I-33")
def a_job_whose_sources_have_ended_finishes(ledger: Ledger, seen: Seen[Runs, int]) -> Judgement:
    """In the end a job is over whose sources have all ended, or that was stopped with a savepoint that has
    completed."""
    if not (ledger.closing and (ledger.has_all_ended() or ledger.stopped)):
        return False
    if ledger.is_live() and ledger.is_settled():
        return Broken(STUCK, "all sources have ended, and one checkpoint after the other, so the job must be over",
                      "it is not")  # fmt: skip
    return True


@rule(steps.output, invariant="I-106")
def a_job_is_stopped_when_its_savepoint_is_committed(ledger: Ledger, seen: Seen[Runs, int]) -> Judgement:
    """A job that was stopped with a savepoint and has finished has committed exactly what was emitted before that."""
    (sink,) = seen.operands
    one = ledger.checkpoints.known.get(ledger.stopped)
    if one is None or one.contents is None or ledger.status is not JobStatus.FINISHED:
        return False
    for split in ledger.graph.paths[sink]:
        offset = one.contents.offset(split)
        if left := list(ledger.sinks[sink].records.missing(split, offset)):
            return Broken(LOST, f"the job was stopped with savepoint {one.number}, whose records are committed",
                          f"{named(left)}: not committed")  # fmt: skip
        end = record(split, offset)
        if more := [other for other in records_of(seen.value) if split_of(other) == split and other >= end]:
            return Broken(
                DUPLICATED, f"sources emit nothing behind savepoint {one.number}", f"{named(more)}: committed"
            )
    return True


@rule(steps.work_after_the_end, invariant="I-92")
def a_job_that_is_over_does_nothing(ledger: Ledger, seen: Seen[Turn, str]) -> Judgement:
    """Once the job is over, every thread says so, and does nothing."""
    if seen.value is OVER and not seen.signals:
        return True
    return Broken(PROTOCOL, "the job is over, so nothing happens any more", f"a thread answered {seen.value}")


@rule(*steps.ACTS, invariant="I-92", after_learning=True)
def a_cancelled_job_is_over(ledger: Ledger, seen: Acted) -> Judgement:
    """When a job was cancelled, whatever it did, and nothing is left to do, it is over."""
    if not ledger.cancelled:
        return False
    if ledger.is_live() and ledger.is_idle():
        return Broken(STUCK, "the job was cancelled, and nothing is left to do, so it must be over", "it is not")
    return ledger.status is not None


@rule(steps.trigger, steps.trigger_after_the_end, invariant="I-45")
def a_checkpoint_is_refused_for_a_reason(ledger: Ledger, seen: Seen[Triggered, str]) -> Judgement:
    """A checkpoint is triggered if all tasks run and nothing stands against it, and refused when the job is over."""
    reasons = ledger.refusal(seen.operands[0])
    if seen.value.refused is None:
        if ledger.status is not None:
            return Broken(PROTOCOL, "the job is over, so no checkpoint is triggered", "one was")
        return True
    if seen.value.refused not in reasons:
        return Broken(PROTOCOL, "no such thing stands against a checkpoint", f"it was refused: {seen.value.refused}")
    return seen.value.refused is not Refusal.NOT_RUNNING


# ---- resources -------------------------------------------------------------------------------------------------------
@rule(steps.resources, invariant="I-93", needs=RESOURCES)
def a_job_that_is_over_holds_nothing(ledger: Ledger, seen: Seen[Resources]) -> Judgement:
    """Once a job is over, no worker holds a segment, a file, a listener or a future of it."""
    if ledger.phase != "over":
        return False
    for what in Resources.__struct_fields__:
        if held := getattr(seen.value, what):
            return Broken(FailureClass.LEAKED, "the job is over, so nothing is held", f"{counted(held, what)} left")
    return True


adopt(lifetime.after_release_nothing_is_held, steps.resources, needs=RESOURCES)
