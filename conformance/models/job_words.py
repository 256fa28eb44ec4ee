"""Describes what a job says and returns: signals, checkpoints, states, and records as runs. Rules and reports use the
same words.

Tasks have their numbers here: a report that knows the job says which vertex is meant.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from conformance import ports
from conformance.models.answers import listed

TARGETS: Mapping[ports.FailureTarget, str] = {
    ports.FailureTarget.TASK: "task {}",
    ports.FailureTarget.WORKER: "worker {}",
    ports.FailureTarget.MASTER: "job master {}",
    ports.FailureTarget.JOB: "job {}",
}
"""What is made to fail, with a place for its number."""

POINTS: Mapping[ports.FailurePoint, str] = {
    ports.FailurePoint.NOW: "",
    ports.FailurePoint.BETWEEN_CUTS: " between two snapshots of a checkpoint",
    ports.FailurePoint.IN_SNAPSHOT: " during a snapshot",
    ports.FailurePoint.IN_RESTORE: " during a restore",
    ports.FailurePoint.COMPLETED: " when a checkpoint is complete, before anybody is notified",
}
"""When it fails."""

STATES: Mapping[ports.TaskState, str] = {
    ports.TaskState.INITIALIZING: "is initializing",
    ports.TaskState.RUNNING: "is running",
    ports.TaskState.FINISHED: "has finished",
    ports.TaskState.FAILED: "has failed",
    ports.TaskState.CANCELED: "is canceled",
}
"""What a task is, as the predicate of a sentence."""


def run_in_words(run: ports.Run) -> str:
    """Describes a run of records: `3`, `3 to 7`, or `3 to 36 in steps of 11`."""
    if run.first == run.last:
        return str(run.first)
    if run.step == 1:
        return f"{run.first} to {run.last}"
    return f"{run.first} to {run.last} in steps of {run.step}"


def runs_in_words(runs: ports.Runs) -> str:
    """Describes records in an order: `records 3 to 7, 12`."""
    return f"records {', '.join(map(run_in_words, runs))}" if runs else "no records"


def triggered_in_words(one: ports.Triggered) -> str:
    """Describes the answer to a trigger: `checkpoint 3 begins`, also with its kind, or `refused: too-many`."""
    kind = "" if one.kind is None else f"{one.kind.value} "
    parts = [f"{kind}checkpoint {one.checkpoint} begins"] if one.checkpoint or one.refused is None else []
    return ", ".join([*parts, *([] if one.refused is None else [f"refused: {one.refused.value}"])])


def state_in_words(one: ports.OperatorState) -> str:
    """Describes the state of a subtask: `split 0 at 3`, or `no state`."""
    parts = [f"split {at.split} at {at.offset}" for at in one.splits]
    parts += [runs_in_words(one.records)] if one.records else []
    parts += [
        f"prepared by subtask {each.transaction.subtask} for checkpoint {each.transaction.checkpoint}: "
        + runs_in_words(each.records)
        for each in one.prepared
    ]
    parts += [f"watermark {one.watermark}"] if one.watermark else []
    return ", ".join(parts) or "no state"


def states_in_words(states: Sequence[ports.OperatorState]) -> str:
    """Describes the states of the subtasks of a vertex: `split 0 at 3 | no state`."""
    return " | ".join(map(state_in_words, states)) or "no subtask"


def taken_in_words(one: ports.PartTaken) -> str:
    """Describes how a task has taken its part: `unaligned, 3 in flight, alignment of 10`, or `nothing said`."""
    parts = [] if one.unaligned is None else ["unaligned" if one.unaligned else "aligned"]
    parts += [] if one.persisted is None else [f"{one.persisted} in flight"]
    parts += [] if one.alignment is None else [f"alignment of {one.alignment}"]
    return ", ".join(parts) or "nothing said"


_SPLITS = listed("split")


def checkpoint_in_words(one: ports.JobCheckpoint) -> str:
    """Describes a checkpoint: `unaligned checkpoint 1; parallelism 2, 1; vertex 0: split 0 at 3 | no state; …`."""
    kind = one.kind.value if one.kind is ports.CheckpointKind.SAVEPOINT else f"{one.kind.value} checkpoint"
    parts = [f"{kind} {one.checkpoint}", f"parallelism {', '.join(map(str, one.parallelism)) or 'none'}"]
    parts += [f"{_SPLITS(one.unassigned)} not assigned"] if one.unassigned else []
    parts += [f"vertex {vertex}: {states_in_words(states)}" for vertex, states in enumerate(one.states)]
    parts += [
        f"{at.side.value} of edge {at.edge} from {at.producer} to {at.consumer}: {runs_in_words(at.records)}"
        for at in one.in_flight
    ]
    parts += [
        f"taken by vertex {vertex}: {' | '.join(map(taken_in_words, said)) or 'no subtask'}"
        for vertex, said in enumerate(one.taken)
    ]
    parts += [f"kept at {one.location}"] if one.location else []
    return "; ".join(parts)


def _restarted(one: ports.JobRestarted) -> str:
    of = f"checkpoint {one.checkpoint}" if one.checkpoint else "the beginning"
    return f"tasks {', '.join(map(run_in_words, one.tasks))} are restarted from {of}"


JOB_SIGNALS: Mapping[type, Callable[[Any], str]] = {
    ports.CheckpointBegun: lambda one: (
        f"the engine has triggered checkpoint {one.checkpoint} ({one.kind.value}) by itself"
    ),
    ports.CheckpointCompleted: lambda one: f"checkpoint {one.checkpoint} ({one.kind.value}) is complete",
    ports.CheckpointFailed: lambda one: f"checkpoint {one.checkpoint} has failed, reason {one.reason.value}",
    ports.Committed: lambda one: (
        f"sink {one.sink} commits what its subtask {one.transaction.subtask} has prepared for checkpoint "
        f"{one.transaction.checkpoint}: {runs_in_words(one.records)}"
    ),
    ports.JobRestarted: _restarted,
    ports.JobTaskChanged: lambda one: f"task {one.task} {STATES[one.state]}" + (f": {one.cause}" if one.cause else ""),
    ports.TaskReady: lambda one: f"task {one.task} takes part in checkpoints from now on",
    ports.FailureStruck: lambda one: f"{TARGETS[one.target].format(one.number)} is made to fail{POINTS[one.point]}",
    ports.JobOver: lambda one: f"the job is {one.status.value}" + (f": {one.cause}" if one.cause else ""),
    ports.ThreadWoken: lambda one: f"thread {one.thread} has something to do",
}
"""By type of signal."""
