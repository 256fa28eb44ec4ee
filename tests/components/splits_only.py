"""What an engine shows of a checkpoint that keeps it itself, and that can only say where its splits are."""

from __future__ import annotations

from conformance.ports import JobCheckpoint, OperatorState


def splits_only(whole: JobCheckpoint) -> JobCheckpoint:
    """Returns a checkpoint without all that is not about splits."""
    states = tuple(
        tuple(OperatorState(one.splits) for one in some) if any(one.splits for one in some) else ()
        for some in whole.states
    )
    return JobCheckpoint(
        whole.checkpoint, whole.kind, whole.parallelism, whole.unassigned, states, location="kept by the engine"
    )
