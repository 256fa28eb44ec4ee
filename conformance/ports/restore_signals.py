"""Signals of a task that is restored."""

from __future__ import annotations

from msgspec import Struct

from conformance.ports.word import Word


class TaskState(Word):
    """How far a task is (Flink: `ExecutionState`)."""

    INITIALIZING = "initializing"
    """It restores: state is read, gates are converted."""
    RUNNING = "running"
    FINISHED = "finished"
    FAILED = "failed"
    CANCELED = "canceled"


class TaskStateChanged(Struct, frozen=True, tag="task-state-changed"):
    """The task has another state now (Flink: `TaskManagerActions.updateTaskExecutionState`)."""

    state: TaskState
    cause: str = ""
    """If it has failed, the message of the error with which what it called has failed."""


class OutputStateRestored(Struct, frozen=True, tag="output-state-restored"):
    """The recovered output state was added to the result partitions of the task, in this order."""

    records: tuple[int, ...]


class OperatorsOpened(Struct, frozen=True, tag="operators-opened"):
    """The operators were initialized and opened: from here on they may emit."""


class GateConverted(Struct, frozen=True, tag="gate-converted"):
    """The recovered channels of a gate were replaced by physical ones, and its subpartitions were requested."""

    gate: int
