"""What a job says, and the words for it: records as runs, kinds of checkpoints, transactions, what fails."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct

from conformance.ports.checkpoint_reason import CheckpointReason
from conformance.ports.restore_signals import TaskState
from conformance.ports.word import Word


class Run(Struct, frozen=True, omit_defaults=True):
    """The records `first`, `first + step`, … up to `last`, in this order."""

    first: int
    last: int
    step: int = 1

    def __iter__(self) -> Iterator[int]:
        return iter(range(self.first, self.last + 1, self.step))

    def __len__(self) -> int:
        return (self.last - self.first) // self.step + 1


Runs = tuple[Run, ...]
"""Records in an order. A record that is in two runs is there twice."""


def runs_of(records: Iterable[int], step: int = 1) -> Runs:
    """Returns records as runs with this step, in the same order."""
    made: list[Run] = []
    first = last = None
    for record in records:
        if last is not None and record == last + step:
            last = record
            continue
        if first is not None and last is not None:
            made.append(Run(first, last, step if last > first else 1))
        first = last = record
    if first is not None and last is not None:
        made.append(Run(first, last, step if last > first else 1))
    return tuple(made)


def records_of(runs: Runs) -> Iterator[int]:
    """Returns the records of runs, in their order."""
    return (record for run in runs for record in run)


class CheckpointKind(Word):
    """What is triggered."""

    ALIGNED = "aligned"
    """Its barriers stay behind the records in front of them."""
    TIMEOUTABLE = "timeoutable"
    """Aligned, until its alignment takes longer than the timeout; then it goes on as an unaligned one."""
    UNALIGNED = "unaligned"
    """Its barriers overtake records, which become channel state."""
    SAVEPOINT = "savepoint"
    """Aligned, whatever the settings say, and the user's: nobody is notified when it is complete, it subsumes nothing,
    and no failover restores it."""


class Transaction(Struct, frozen=True, order=True):
    """What a subtask of a sink has written up to its snapshot of a checkpoint and after the one before.

    The name survives failures: a transaction that is committed a second time under its name has no second effect.
    """

    subtask: int
    checkpoint: int


class FailureTarget(Word):
    """What a scenario lets fail."""

    TASK = "task"
    """The number of a task: subtasks are numbered through all vertices (`JobConfig.task`)."""
    WORKER = "worker"
    """A worker process: all tasks on it fail, and what it had in memory and in its own files is lost."""
    MASTER = "master"
    """The job master. What it has stored, that is, completed checkpoints, survives. All tasks are cancelled. A new one
    restores the newest completed checkpoint. The number is 0."""
    JOB = "job"
    """Nothing fails, but the job master restarts all tasks (Flink: `handleGlobalFailure`). The number is 0."""


class FailurePoint(Word):
    """When it fails."""

    NOW = "now"
    """Between two turns; of an engine that cannot be stepped, at any moment."""
    BETWEEN_CUTS = "between-cuts"
    """As soon as a task has taken its snapshot of a checkpoint, and another one that takes part has not."""
    IN_SNAPSHOT = "in-snapshot"
    """As soon as a task of the target takes a snapshot, of which nothing is stored then. Each task is of the master and
    of the job."""
    IN_RESTORE = "in-restore"
    """As soon as a task of the target initializes in order to restore a checkpoint; now, if one does."""
    COMPLETED = "completed"
    """As soon as a checkpoint that is no savepoint is complete and stored, and before any task is notified."""


class JobStatus(Word):
    """How a job is over."""

    FINISHED = "finished"
    """All tasks have finished: all sources were read to their ends, or the job was stopped with a savepoint."""
    CANCELED = "canceled"
    FAILED = "failed"
    """It is not restarted: its restored checkpoint cannot be restored, or something was not committed although the
    savepoint was complete with which it was stopped (FLINK-26783)."""


class CheckpointBegun(Struct, frozen=True, tag="checkpoint-begun"):
    """The engine has triggered a checkpoint by itself. It ends as one that was asked for."""

    checkpoint: int
    """Its id, larger than all before."""
    kind: CheckpointKind


class CheckpointCompleted(Struct, frozen=True, tag="checkpoint-completed"):
    """A checkpoint is complete and stored; `snapshot` returns its contents."""

    checkpoint: int
    kind: CheckpointKind
    """As it was triggered, also if a timeoutable one has become unaligned."""


class CheckpointFailed(Struct, frozen=True, tag="checkpoint-failed"):
    """A checkpoint that was triggered has failed.

    The reason is the one that the first task gave that has declined it; EXPIRED, SUBSUMED or FINALIZE_FAILURE if the
    checkpoint coordinator has ended it; DECLINED if an operator coordinator has failed its part; TASK_CLOSING if a task
    has failed, or the job is restarted or over (Flink: `JOB_FAILOVER_REGION`, `CHECKPOINT_COORDINATOR_SHUTDOWN`).
    """

    checkpoint: int
    reason: CheckpointReason


class Committed(Struct, frozen=True, tag="committed"):
    """A transaction of a sink has its effect now. A second commit under the same name is no signal."""

    sink: int
    """The number of the vertex."""
    transaction: Transaction
    records: Runs


class JobRestarted(Struct, frozen=True, tag="job-restarted"):
    """The job master restores a checkpoint after a failure, and deploys tasks again."""

    checkpoint: int
    """The newest completed one that is no savepoint, or the one with which the job began; 0: the beginning."""
    tasks: Runs
    """The numbers of the tasks that are deployed again."""


class JobTaskChanged(Struct, frozen=True, tag="job-task-changed"):
    """A task has another state. INITIALIZING: it was deployed, and restores. RUNNING: all recovered channel state was
    taken by its operators, if the engine waits for that."""

    task: int
    state: TaskState
    cause: str = ""
    """If it has failed: the text begins with what was made to fail, a target of `fail`, a place of `fault`, or `lose`,
    or `stop` if the savepoint was aborted with which the job was to be stopped, or it says what has failed on its own.
    Empty otherwise."""


class TaskReady(Struct, frozen=True, tag="task-ready"):
    """From now on the task takes its part in checkpoints: its gates are converted. Once for each attempt; before that,
    it declines as DECLINED_TASK_NOT_READY."""

    task: int


class FailureStruck(Struct, frozen=True, tag="failure-struck"):
    """What `fail` was asked for happens now."""

    target: FailureTarget
    number: int
    point: FailurePoint


class JobOver(Struct, frozen=True, tag="job-over"):
    """The job is over. Nothing happens any more."""

    status: JobStatus
    cause: str = ""


class ThreadWoken(Struct, frozen=True, tag="thread-woken"):
    """There is something to do for a thread. It is named at most once between two of its turns, and may be named during
    one. Only with the capability `job-steps`."""

    thread: str
