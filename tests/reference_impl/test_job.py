"""Jobs of the reference, operation by operation. They settle on their own; nobody steps them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from conformance.ports import (
    CHECKPOINT_STORE,
    COMMIT,
    OPERATOR_COORDINATOR,
    OPERATOR_SNAPSHOT,
    OPERATORS_OPEN,
    STATE_FILE_WRITE,
    CheckpointCompleted,
    CheckpointFailed,
    CheckpointKind,
    CheckpointReason,
    Committed,
    EdgeKind,
    ErrorKind,
    FailurePoint,
    FailureStruck,
    FailureTarget,
    FaultKind,
    JobCheckpoint,
    JobConfig,
    JobOver,
    JobRestarted,
    JobSettings,
    JobStatus,
    JobTaskChanged,
    PortError,
    Recovery,
    Refusal,
    Run,
    Side,
    TaskReady,
    TaskState,
    ThreadWoken,
    Transaction,
    Triggered,
    Turn,
    Until,
    records_of,
    runs_of,
)
from reference_impl import PUSHED
from reference_impl.job.agenda import Agenda
from reference_impl.job.messages import Call
from reference_impl.job.pipeline import Pipeline
from reference_impl.state.writer.at_once import at_once
from tests.reference_impl.job_runs import RECOVERIES
from tests.reference_impl.job_topologies import TOPOLOGIES

ALIGNED, TIMEOUTABLE, UNALIGNED, SAVEPOINT = CheckpointKind
SINK = 2
NOW = FailurePoint.NOW


class Driven:
    """A job that settles after each operation, and what it has said."""

    def __init__(self, config: JobConfig, records: int = 0) -> None:
        self.port = Pipeline(config, PUSHED)
        for split in range(sum(one.splits for one in config.vertices)):
            self.port.supply(split, records)
        self.said: list[Any] = []
        self.settle()

    def settle(self, until: Until = Until.IDLE) -> bool:
        came = self.port.settle(until)
        self.said += [one for one in self.port.signals if type(one) is not ThreadWoken]
        self.port.signals.clear()
        return came

    def work_until(self, reached: Callable[[], Any]) -> None:
        while not reached():
            self.port.work(next(iter(self.port.agenda.able)))

    def trigger(self, kind: CheckpointKind = ALIGNED) -> Triggered:
        triggered = self.port.trigger(kind)
        self.settle()
        return triggered

    def fail(self, target: FailureTarget, number: int = 0, point: FailurePoint = NOW) -> bool:
        failed = at_once(self.port.fail(target, number, point))
        self.settle()
        return failed

    def stored(self, checkpoint: int) -> JobCheckpoint:
        found = self.port.snapshot(checkpoint)
        assert found is not None
        return found

    def heard(self, *kinds: type) -> list[Any]:
        """What it has said of these kinds since the last question."""
        said, self.said = self.said, []
        return [one for one in said if type(one) in kinds]

    def output(self) -> list[int]:
        return list(records_of(self.port.output(SINK)))


def count(parallelism: int | Sequence[int] = 2, **settings: Any) -> JobConfig:
    sizes = [parallelism] if isinstance(parallelism, int) else parallelism
    return TOPOLOGIES["count"](sizes, 2, JobSettings(**settings))


BOTH = [*range(5), *range(1_000_000, 1_000_005)]


@pytest.mark.parametrize("recovery", RECOVERIES)
def test_what_is_supplied_is_committed_with_a_checkpoint(recovery):
    """pipeline.md J1, J4, J7, J9. The transactions have the number of the checkpoint, and keyed state has runs."""
    job = Driven(count(recovery=recovery), 5)
    assert job.output() == []
    assert job.trigger() == Triggered(1)
    assert job.output() == BOTH
    assert {one.transaction for one in job.heard(Committed)} <= {Transaction(0, 1), Transaction(1, 1)}
    job.trigger()
    assert job.heard(Committed) == []  # nothing was written meanwhile
    states = [state.records for state in job.port.state(1)]
    assert sorted(record for state in states for record in records_of(state)) == BOTH
    assert all(run.step in (1, 11) for state in states for run in state)


def test_watermarks_are_minima_of_what_was_emitted():
    """pipeline.md J18. They pass each subtask behind the records, and a restart begins without."""
    job = Driven(count(watermarks=1), 5)
    assert [one.watermark for vertex in range(3) for one in job.port.state(vertex)] == [0, 0, 5, 5, 5, 5]
    job.port.supply(0, 2)
    job.settle()
    assert {one.watermark for one in job.port.state(SINK)} == {5}  # the other split has no further records
    job.trigger()
    assert [one.watermark for one in job.stored(1).states[SINK]] == [5, 5]
    job.fail(FailureTarget.TASK)
    assert {one.watermark for one in job.port.state(SINK)} == {0}


def test_tasks_say_what_they_do():
    """pipeline.md J6, J14. Each task initializes, is ready once, and runs."""
    job = Driven(count(1))
    said = job.heard(JobTaskChanged, TaskReady)
    for task in range(3):
        of_task = [getattr(one, "state", "ready") for one in said if one.task == task]
        assert of_task[0] is TaskState.INITIALIZING
        assert of_task.count("ready") == 1
        assert TaskState.RUNNING in of_task


def test_a_checkpoint_is_refused_while_it_cannot_be_taken():
    """pipeline.md J5, J10. Nothing happens then."""
    port = Pipeline(count(), PUSHED)
    assert port.trigger(ALIGNED).refused is Refusal.NOT_RUNNING
    job = Driven(count(unaligned=False, concurrent=2))
    assert job.port.trigger(UNALIGNED).refused is job.port.trigger(TIMEOUTABLE).refused is Refusal.DISABLED
    assert job.port.trigger(ALIGNED) == Triggered(1)
    assert job.port.trigger(SAVEPOINT).refused is Refusal.TOO_MANY  # the first is being triggered
    job.settle()
    assert job.port.stop_with_savepoint() == Triggered(2)
    assert job.port.trigger(ALIGNED).refused is Refusal.STOPPING
    job.settle()
    assert job.heard(JobOver) == [JobOver(JobStatus.FINISHED)]
    assert job.port.trigger(ALIGNED).refused is Refusal.OVER


@pytest.mark.parametrize("recovery", RECOVERIES)
@pytest.mark.parametrize("downstream", [True, False])
def test_operators_that_stand_still_hold_up_no_unaligned_checkpoint(recovery, downstream):
    """pipeline.md J3, J6, J14. What they have not taken is channel state."""
    job = Driven(count(recovery=recovery, output_on_downstream=downstream))
    for task in (2, 3):
        job.port.throttle(task, True)
    for split in (0, 1):
        job.port.supply(split, 5)
    job.settle()
    assert job.trigger(UNALIGNED) == Triggered(1)
    stored = job.stored(1)
    flying = sorted(record for one in stored.in_flight for record in records_of(one.records))
    emitted = [
        1_000_000 * one.split + n for states in stored.states for state in states for one in state.splits
        for n in range(one.offset)
    ]  # fmt: skip
    assert flying == sorted(emitted) != []
    assert {one.side for one in stored.in_flight} == {Side.INPUT, Side.OUTPUT}
    job.fail(FailureTarget.TASK, 2)
    assert job.heard(JobRestarted) == [JobRestarted(1, (Run(0, 5),))]
    for task in (2, 3):
        job.port.throttle(task, False)
    job.settle()
    job.trigger()
    assert job.output() == BOTH


def test_an_aligned_checkpoint_waits_for_operators_that_stand_still_until_it_expires():
    """pipeline.md J3, J8. The timeout is counted from when it was triggered."""
    job = Driven(count(1, room=1))
    job.port.throttle(1, True)
    job.port.supply(0, 5)
    job.settle()
    job.trigger()
    assert job.heard(CheckpointCompleted, CheckpointFailed) == []
    job.port.advance(99)
    job.settle()
    assert job.heard(CheckpointFailed) == []
    job.port.advance(1)
    job.settle()
    assert job.heard(CheckpointFailed) == [CheckpointFailed(1, CheckpointReason.EXPIRED)]


def test_a_timeoutable_checkpoint_becomes_unaligned():
    """pipeline.md J6. Unless it is aligned in time."""
    job = Driven(count(1, room=1))
    job.port.throttle(1, True)
    job.port.supply(0, 5)
    job.settle()
    job.trigger(TIMEOUTABLE)
    assert job.heard(CheckpointCompleted) == []
    job.port.advance(10)
    job.settle()
    assert job.heard(CheckpointCompleted) == [CheckpointCompleted(1, TIMEOUTABLE)]
    assert job.stored(1).in_flight != ()
    job.trigger(TIMEOUTABLE)
    job.port.throttle(1, False)
    job.settle()
    assert job.stored(2).in_flight == ()  # this one was aligned in time


def test_a_completed_checkpoint_ends_older_ones_but_no_savepoint():
    """pipeline.md J7. The triggers of the older ones are lost, so that they stay pending; the savepoint expires."""
    job = Driven(count(1, concurrent=3), 5)
    for kind in (ALIGNED, SAVEPOINT):
        job.port.trigger(kind)
        job.work_until(lambda: job.port.down[0] and job.port.down[0][0].call is Call.TRIGGER)
        assert job.port.lose("to 0/0")
        job.settle()
    job.trigger()
    assert job.heard(CheckpointCompleted, CheckpointFailed) == [
        CheckpointCompleted(3, ALIGNED), CheckpointFailed(1, CheckpointReason.SUBSUMED),
    ]  # fmt: skip
    job.port.advance(100)
    job.settle()
    assert job.heard(CheckpointFailed) == [CheckpointFailed(2, CheckpointReason.EXPIRED)]


def test_a_savepoint_is_not_restored_by_a_failover_and_commits_nothing():
    """pipeline.md J7, J11, J14. But another job can start from it."""
    job = Driven(count(), 5)
    job.trigger(SAVEPOINT)
    assert job.stored(1).kind is SAVEPOINT
    assert job.heard(Committed) == []
    job.fail(FailureTarget.JOB)
    assert job.heard(JobRestarted) == [JobRestarted(0, (Run(0, 5),))]
    job.trigger()
    assert job.output() == BOTH
    other = Driven(replace(count(), restored=job.stored(1)))
    assert other.output() == BOTH
    assert other.trigger() == Triggered(2)


@pytest.mark.parametrize(
    ("target", "number", "failed"),
    [
        (FailureTarget.TASK, 3, [3]),
        (FailureTarget.WORKER, 1, [1, 3, 5]),
        (FailureTarget.MASTER, 0, []),
        (FailureTarget.JOB, 0, []),
    ],
)
def test_what_fails_fails_with_its_cause_and_all_others_are_canceled(target, number, failed):
    """pipeline.md J11 to J13. The newest checkpoint is restored."""
    job = Driven(count(), 5)
    job.trigger()
    job.heard()
    assert job.fail(target, number)
    said = job.heard(JobTaskChanged, JobRestarted, FailureStruck)
    assert said[0] == FailureStruck(target, number, NOW)
    changed = [one for one in said if type(one) is JobTaskChanged]
    assert [(one.task, one.cause) for one in changed if one.state is TaskState.FAILED] == [
        (task, target.value) for task in failed
    ]
    assert {one.task for one in changed if one.state is TaskState.CANCELED} == set(range(6)) - set(failed)
    assert [one for one in said if type(one) is JobRestarted] == [JobRestarted(1, (Run(0, 5),))]
    assert all(one.state is TaskState.RUNNING for one in job.port.tasks)


@pytest.mark.parametrize("point", [one for one in FailurePoint if one is not NOW])
@pytest.mark.parametrize("target", FailureTarget)
def test_a_failure_waits_for_its_point(point, target):
    """pipeline.md J11 to J13. It strikes once."""
    job = Driven(count(), 5)
    job.trigger()
    job.heard()
    assert at_once(job.port.fail(target, 0, point))
    assert job.heard(FailureStruck) == []
    if point is FailurePoint.IN_RESTORE:
        job.fail(FailureTarget.JOB)
    else:
        job.trigger()
    assert FailureStruck(target, 0, point) in job.heard(FailureStruck)
    job.trigger()
    job.trigger()
    assert job.output() == BOTH


def test_only_a_region_is_restarted():
    """pipeline.md J11. A hash edge joins all; forward edges join subtasks with the same number."""
    job = Driven(TOPOLOGIES["rescale"]([2], 2, JobSettings()), 5)
    job.fail(FailureTarget.TASK, 0)
    assert job.heard(JobRestarted) == [JobRestarted(0, (Run(0, 7),))]  # the hash edge joins all
    alone = Driven(replace(count(), edges=tuple(replace(one, kind=EdgeKind.FORWARD) for one in count().edges)), 5)
    alone.fail(FailureTarget.TASK, 1)
    assert alone.heard(JobRestarted) == [JobRestarted(0, runs_of((1, 3, 5)))]
    alone.trigger()
    assert alone.output() == BOTH


@pytest.mark.parametrize(
    ("place", "reason"),
    [
        (STATE_FILE_WRITE, CheckpointReason.IO_EXCEPTION),
        (CHECKPOINT_STORE, CheckpointReason.FINALIZE_FAILURE),
    ],
)
def test_a_checkpoint_fails_and_no_task(place, reason):
    """pipeline.md J8. The next one completes."""
    job = Driven(count(1, room=1))
    job.port.throttle(1, True)
    job.port.supply(0, 5)
    job.settle()
    job.heard()
    job.port.fault(place, FaultKind.THROWS)
    job.trigger(UNALIGNED)
    said = job.heard(CheckpointFailed, JobTaskChanged, JobRestarted)
    assert said == [CheckpointFailed(1, reason)]
    job.trigger(UNALIGNED)
    assert job.heard(CheckpointCompleted) == [CheckpointCompleted(2, UNALIGNED)]


@pytest.mark.parametrize("place", [OPERATOR_SNAPSHOT, COMMIT, OPERATORS_OPEN])
def test_a_task_fails_with_what_it_calls(place):
    """pipeline.md J11, J9. The cause begins with the place."""
    job = Driven(count(), 5)
    job.port.fault(place, FaultKind.THROWS)
    job.trigger()
    if place is OPERATORS_OPEN:
        job.fail(FailureTarget.JOB)
    changed = [one for one in job.heard(JobTaskChanged) if one.state is TaskState.FAILED]
    assert len(changed) == 1
    assert changed[0].cause.startswith(place)
    job.trigger()
    job.trigger()
    assert job.output() == BOTH


def test_everything_is_restarted_if_an_operator_coordinator_fails():
    """pipeline.md J8, J11. Its checkpoint is declined."""
    job = Driven(count(), 5)
    job.port.fault(OPERATOR_COORDINATOR, FaultKind.THROWS)
    job.trigger()
    assert job.heard(CheckpointFailed, JobRestarted) == [
        CheckpointFailed(1, CheckpointReason.DECLINED), JobRestarted(0, (Run(0, 5),)),
    ]  # fmt: skip


def test_too_many_checkpoints_that_fail_restart_the_job():
    """pipeline.md J8. A checkpoint that completes lets counting begin anew."""
    job = Driven(count(tolerable=1), 5)
    for checkpoint in (1, 2):
        assert job.heard(JobRestarted) == []
        job.port.fault(CHECKPOINT_STORE, FaultKind.THROWS)
        assert job.trigger() == Triggered(checkpoint)
    assert job.heard(JobRestarted) == [JobRestarted(0, (Run(0, 5),))]
    job.port.fault(CHECKPOINT_STORE, FaultKind.THROWS)
    job.trigger()
    job.trigger()  # completes, so that counting begins anew
    job.port.fault(CHECKPOINT_STORE, FaultKind.THROWS)
    job.trigger()
    assert job.heard(JobRestarted) == []


def test_a_source_that_ends_leads_to_a_last_checkpoint():
    """pipeline.md J16, J17. A savepoint is not enough. Then nothing is held."""
    job = Driven(count(), 5)
    job.port.end(0)
    job.settle()
    assert job.heard(JobOver) == []
    job.trigger(SAVEPOINT)
    assert job.heard(JobOver) == []  # nobody is notified of a savepoint
    job.trigger()
    assert job.heard(JobOver) == [JobOver(JobStatus.FINISHED)]
    assert job.output() == BOTH
    held = job.port.resources()
    assert (held.segments, held.files, held.listeners, held.futures) == (0, 0, 0, 0)
    assert job.port.work("master") is Turn.OVER


def test_what_operator_coordinators_hold_is_held():
    """pipeline.md J17. From its cut on, the result of a checkpoint is a future, until the job is over."""
    job = Driven(count(), 5)
    assert job.port.resources().futures == 0
    assert job.port.trigger(ALIGNED).checkpoint == 1
    job.work_until(lambda: job.port.resources().futures)
    assert job.port.resources().futures == 1
    job.port.cancel()
    job.settle()
    assert job.port.resources().futures == 0


def test_one_source_may_end_before_the_other():
    """pipeline.md J16. Its last state belongs to all later checkpoints."""
    job = Driven(TOPOLOGIES["two-input"]([2], 1, JobSettings()), 5)
    job.port.end(0)
    job.settle()
    job.trigger()
    assert job.heard(JobOver) == []
    assert {one.task for one in job.said if type(one) is JobTaskChanged} == set()
    job.port.supply(1, 2)
    job.settle()
    job.trigger(UNALIGNED)
    assert job.heard(CheckpointCompleted)[-1] == CheckpointCompleted(2, UNALIGNED)
    job.fail(FailureTarget.TASK, 4)
    job.port.end(1)
    job.settle()
    job.trigger()
    assert job.heard(JobOver) == [JobOver(JobStatus.FINISHED)]
    assert list(records_of(job.port.output(4))) == [*range(5), *range(1_000_000, 1_000_007)]


def test_a_job_is_stopped_with_a_savepoint():
    """pipeline.md J10. All is committed."""
    job = Driven(count(), 5)
    assert job.port.stop_with_savepoint() == Triggered(1)
    job.settle()
    assert job.heard(CheckpointCompleted, JobOver) == [CheckpointCompleted(1, SAVEPOINT), JobOver(JobStatus.FINISHED)]
    assert job.output() == BOTH
    job.port.supply(0, 5)
    assert job.port.supplied == [5, 5]


def test_a_job_goes_on_if_the_savepoint_fails_with_which_it_stops():
    """pipeline.md J10. Sources emit again."""
    job = Driven(count(), 5)
    job.port.fault(CHECKPOINT_STORE, FaultKind.THROWS)
    job.port.stop_with_savepoint()
    job.settle()
    assert job.heard(CheckpointFailed, JobOver) == [CheckpointFailed(1, CheckpointReason.FINALIZE_FAILURE)]
    job.port.supply(0, 1)
    job.settle()
    job.trigger()
    assert len(job.output()) == 11


def test_a_job_fails_if_it_cannot_commit_what_the_savepoint_has_with_which_it_stops():
    """pipeline.md J10, J11. Whoever restores the savepoint commits it."""
    job = Driven(count(), 5)
    job.port.fault(COMMIT, FaultKind.THROWS)
    job.port.stop_with_savepoint()
    job.settle()
    (over,) = job.heard(JobOver)
    assert over.status is JobStatus.FAILED
    restored = Driven(replace(count(), restored=job.stored(1)))
    assert sorted({*job.output(), *restored.output()}) == BOTH


@pytest.mark.parametrize("master", ["works", "has failed", "fails later"])
def test_a_job_is_cancelled_whatever_it_does(master):
    """pipeline.md J13, J17. Pending checkpoints fail, and another job master cancels the job, too."""
    job = Driven(count(), 5)
    job.port.trigger(UNALIGNED)
    if master == "has failed":
        at_once(job.port.fail(FailureTarget.MASTER, 0, NOW))
    job.port.cancel()
    if master == "fails later":
        at_once(job.port.fail(FailureTarget.MASTER, 0, NOW))
    job.settle()
    said = job.heard(CheckpointFailed, JobOver)
    assert said == [CheckpointFailed(1, CheckpointReason.TASK_CLOSING), JobOver(JobStatus.CANCELED)]
    assert not job.fail(FailureTarget.JOB)


def test_an_event_of_an_operator_coordinator_cannot_be_lost_unnoticed():
    """pipeline.md J15. The task fails, and says so."""
    job = Pipeline(count(), PUSHED)
    while not job.down[0]:
        job.work(next(iter(job.agenda.able)))
    assert job.lose("to 0/0")
    job.settle(Until.IDLE)
    causes = [one.cause for one in job.signals if type(one) is JobTaskChanged and one.state is TaskState.FAILED]
    assert causes == ["lose"]
    assert not job.lose("master")
    assert not job.lose("to 0/0")


def test_a_checkpoint_whose_trigger_is_lost_expires():
    """pipeline.md J15, J8. Tasks that wait for its barriers wait no more."""
    job = Driven(count(), 5)
    job.port.trigger(ALIGNED)
    job.work_until(lambda: job.port.down[0] and job.port.down[0][0].call is Call.TRIGGER)
    assert job.port.lose("to 0/0")
    job.settle()
    assert job.heard(CheckpointCompleted) == []
    job.port.advance(100)
    job.settle()
    assert job.heard(CheckpointFailed) == [CheckpointFailed(1, CheckpointReason.EXPIRED)]
    job.trigger()
    assert job.output() == BOTH


def test_a_savepoint_waits_for_events_that_an_older_checkpoint_holds_back():
    """pipeline.md J5. Its coordinator counts the splits as assigned, so their readers must have them before."""
    port = Pipeline(count(1), PUSHED)
    triggered = False
    while not (port.down[0] and port.down[0][0].call is Call.TRIGGER):  # no split is assigned meanwhile
        port.work(next(one for one in port.agenda.able if one != "enumerator 0"))
        triggered = triggered or port.trigger(UNALIGNED) == Triggered(1)
    assert port.lose("to 0/0")
    while port.agenda.able:  # both splits are, and the gate of the reader is closed
        port.work(next(iter(port.agenda.able)))
    port.advance(1)
    assert port.stop_with_savepoint() == Triggered(2)
    port.settle(Until.IDLE)
    assert list(port.master.pending) == [1, 2]
    port.advance(99)
    port.settle(Until.IDLE)
    assert [one for one in port.signals if type(one) in (CheckpointFailed, CheckpointCompleted, JobOver)] == [
        CheckpointFailed(1, CheckpointReason.EXPIRED),
        CheckpointCompleted(2, SAVEPOINT),
        JobOver(JobStatus.FINISHED),
    ]


@pytest.mark.parametrize("lost", [False, True])
@pytest.mark.parametrize("taken", [False, True])
def test_barriers_of_an_expired_checkpoint_hold_up_no_later_one(taken, lost):
    """pipeline.md J6, J8. Also where unaligned barriers wait for those of an edge without channel state. `taken`: the
    task has taken one of the older barriers before; `lost`: it is not notified that the checkpoint has failed."""
    job = Driven(TOPOLOGIES["broadcast"]([1], 1, JobSettings()))
    job.port.throttle(2, not taken)
    job.port.supply(0, 5)
    job.settle()
    job.port.trigger(ALIGNED)
    if taken:  # the barrier of the keyed input does not leave
        job.work_until(lambda: job.port.down[0] and job.port.down[0][0].call is Call.TRIGGER)
        assert job.port.lose("to 0/0")
    job.settle()
    job.port.advance(100)
    if lost:
        job.work_until(lambda: job.port.down[2])
        assert job.port.lose("to 2/0")
    job.settle()
    assert job.heard(CheckpointFailed) == [CheckpointFailed(1, CheckpointReason.EXPIRED)]
    job.trigger(UNALIGNED)
    job.port.throttle(2, False)
    job.settle()
    assert job.heard(CheckpointCompleted) == [CheckpointCompleted(2, UNALIGNED)]


def test_no_output_state_waits_for_that_of_an_aborted_checkpoint():
    """pipeline.md J8. The barriers of checkpoint 1 are queued, and those of the savepoint end its alignment timer."""
    job = Driven(count(1))
    job.port.throttle(1, True)
    job.port.throttle(2, True)
    job.port.supply(0, 5)
    job.settle()
    job.trigger(TIMEOUTABLE)
    job.trigger(SAVEPOINT)
    job.port.advance(100)
    job.settle()
    job.trigger(UNALIGNED)
    assert job.heard(CheckpointFailed, CheckpointCompleted) == [
        CheckpointFailed(1, CheckpointReason.EXPIRED),
        CheckpointFailed(2, CheckpointReason.EXPIRED),
        CheckpointCompleted(3, UNALIGNED),
    ]


def test_there_are_no_other_threads_than_those_it_names():
    """pipeline.md I-22. Each name is there once."""
    port = Pipeline(count(), PUSHED)
    names = port.threads()
    assert len(set(names)) == len(names)
    with pytest.raises(PortError) as refused:
        port.work("nobody")
    assert refused.value.kind is ErrorKind.ARGUMENT


@pytest.mark.parametrize(("before", "after"), [(1, 3), (3, 1), (2, 4), (4, 2), (7, 2), (2, 2)])
@pytest.mark.parametrize("recovery", RECOVERIES)
@pytest.mark.parametrize("topology", ["count", "custom", "broadcast", "union", "rescale"])
def test_a_checkpoint_with_channel_state_is_restored_with_another_parallelism(topology, before, after, recovery):
    """pipeline.md J2, J14. Every record comes out once."""
    make = TOPOLOGIES[topology]
    config = make([before], 3, JobSettings(recovery=recovery, workers=3))
    job = Driven(config)
    still = {"count": (1, 2), "custom": (1, 2), "union": (2, 3), "broadcast": (), "rescale": ()}[topology]
    for task, (vertex, _) in enumerate(config.tasks()):
        job.port.throttle(task, vertex in still)  # on an edge without channel state, a checkpoint would wait for them
    for split in range(sum(one.splits for one in config.vertices)):
        job.port.supply(split, 8)
    job.settle()
    job.trigger(UNALIGNED)
    stored = job.stored(1)
    assert bool(stored.in_flight) == bool(still)
    other = Driven(replace(make([after], 3, config.settings), restored=stored))
    sink = len(config.vertices) - 1
    for split, _ in enumerate(other.port.supplied):
        other.port.supply(split, 8 - other.port.supplied[split])
    other.settle()
    other.trigger()
    due = [1_000_000 * split + n for split in range(len(other.port.supplied)) for n in range(8)]
    if topology == "broadcast":
        due = [one for one in due if one < 3_000_000]
    assert list(records_of(other.port.output(sink))) == due
    at_once(other.port.release())
    assert other.port.resources().segments == 0


def test_recoveries_are_the_designs_of_the_reference():
    """pipeline.md J14. Each design is tried."""
    assert set(RECOVERIES) == set(Recovery) - {Recovery.NONE}


def turns_of(monkeypatch: pytest.MonkeyPatch, parallelism: int, records: int, checkpoints: int) -> int:
    """How many turns a job takes for so many records of each split, in so many checkpoints."""
    turns: list[str] = []
    turn = Agenda.turn

    def counted(agenda: Agenda, thread: str) -> Turn:
        turns.append(thread)
        return turn(agenda, thread)

    monkeypatch.setattr(Agenda, "turn", counted)
    job = Driven(count(parallelism))
    for _ in range(checkpoints):
        for split in (0, 1):
            job.port.supply(split, records // checkpoints)
        job.trigger()
    monkeypatch.undo()
    return len(turns)


def test_turns_are_linear_in_records_and_checkpoints(monkeypatch):
    """pipeline.md I-22. A step counts the same, however long the job runs."""
    few, many = turns_of(monkeypatch, 2, 100, 1), turns_of(monkeypatch, 2, 1_000, 1)
    assert many < 11 * few
    few, many = turns_of(monkeypatch, 2, 10, 5), turns_of(monkeypatch, 2, 50, 25)
    assert many < 6 * few
