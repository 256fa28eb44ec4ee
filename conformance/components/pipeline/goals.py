"""Situations that a campaign must have seen in jobs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from conformance.components.pipeline import steps
from conformance.components.pipeline.ledger import Ledger
from conformance.driver import Rules, Seen
from conformance.models.designs import FAULTS, IN_MEMORY, PUSHED, RECOVER_FIRST
from conformance.ports import (
    CheckpointCompleted,
    CheckpointFailed,
    CheckpointReason,
    Committed,
    EdgeKind,
    FailurePoint,
    FailureStruck,
    FailureTarget,
    FaultKind,
    FaultStruck,
    JobCheckpoint,
    JobOver,
    JobRestarted,
    JobStatus,
    PipelinePort,
    Recovery,
    Side,
    TaskReady,
    VertexKind,
)

RULES = Rules[Ledger]("pipeline")
goal = RULES.goal
Acted = Seen[Any, *tuple[Any, ...]]
Restored = Seen[JobCheckpoint | None, int, str, str, bool]
Check = Callable[[Ledger, Seen[Any]], bool]


# ---- restores --------------------------------------------------------------------------------------------------------
@goal(steps.restore, needs=PUSHED)
def a_checkpoint_of_a_recovery_was_restored_with_another_parallelism(ledger: Ledger, seen: Restored) -> bool:
    """A checkpoint was restored, with another parallelism, that was triggered while tasks were restoring."""
    one = ledger.checkpoints.known.get(seen.operands[0])
    return one is not None and one.during_recovery and seen.operands[1] != "same"


@goal(*steps.HEARS, signals=(FailureStruck,))
def a_job_failed_while_it_restored(ledger: Ledger, seen: Acted) -> bool:
    """Something failed while tasks restored a checkpoint with records in flight."""
    known = ledger.checkpoints.lineage(ledger.origin)
    return ledger.is_recovering() and known is not None and bool(known.travelling)


@goal(*steps.HEARS, signals=(CheckpointCompleted,), needs=PUSHED)
def a_checkpoint_completed_during_recovery(ledger: Ledger, seen: Acted) -> bool:
    """A checkpoint completed that was triggered while tasks were restoring, and they still are."""
    return ledger.is_recovering() and any(one.during_recovery for one in ledger.checkpoints.pending.values())


def _restores(design: Recovery) -> Check:
    def check(ledger: Ledger, seen: Acted) -> bool:
        known = ledger.checkpoints.lineage(ledger.checkpoints.restored)
        mine = ledger.in_effect() is design and bool(ledger.checkpoints.restored)
        return mine and known is not None and bool(known.travelling)

    return check


for _design, _needs in ((Recovery.RECOVER_FIRST, RECOVER_FIRST), (Recovery.IN_MEMORY, IN_MEMORY),
                        (Recovery.PUSHED, PUSHED)):  # fmt: skip
    RULES.sight(
        f"a-job-with-records-in-flight-recovers-{_design.value}",
        f"A job was restored from a checkpoint with records in flight, with the recovery design {_design.value}.",
        steps.ACTS, _restores(_design), _needs, signals=(TaskReady,),
    )  # fmt: skip


def _holds(kind: EdgeKind, side: Side) -> Check:
    def check(ledger: Ledger, seen: Seen[Any]) -> bool:
        value = seen.value
        return value is not None and any(
            one.side is side and ledger.graph.edges[one.edge].kind is kind for one in value.in_flight
        )

    return check


for _kind in (EdgeKind.HASH, EdgeKind.REBALANCE, EdgeKind.CUSTOM, EdgeKind.GLOBAL):
    for _side in Side:
        RULES.sight(
            f"a-checkpoint-has-{_side.value}-state-of-a-{_kind.value}-edge",
            f"A checkpoint had {_side.value} state of an edge of the kind {_kind.value}.", steps.snapshot,
            _holds(_kind, _side),
        )  # fmt: skip


def _restarts(kind: VertexKind) -> Check:
    def check(ledger: Ledger, seen: Seen[Any]) -> bool:
        there = any(one.kind is kind for one in ledger.config.vertices)
        return there and ledger.attempt > 0 and bool(ledger.checkpoints.point)

    return check


for _vertex in VertexKind:
    RULES.sight(
        f"a-job-with-a-{_vertex.value}-vertex-is-restarted",
        f"In a job with a vertex of the kind {_vertex.value}, tasks were restarted and a checkpoint completed.",
        steps.snapshot, _restarts(_vertex),
    )  # fmt: skip


# ---- failures --------------------------------------------------------------------------------------------------------
def _strikes(target: FailureTarget, point: FailurePoint) -> Check:
    def check(ledger: Ledger, seen: Seen[Any]) -> bool:
        return any(type(one) is FailureStruck and (one.target, one.point) == (target, point) for one in seen.signals)

    return check


for _target in FailureTarget:
    for _point in FailurePoint:
        RULES.sight(
            f"the-failure-of-a-{_target.value}-strikes-{_point.value}",
            f"A failure of the kind {_target.value} struck at the point {_point.value}.", steps.HEARS,
            _strikes(_target, _point), signals=(FailureStruck,),
        )  # fmt: skip


def _fails(reason: CheckpointReason) -> Check:
    def check(ledger: Ledger, seen: Seen[Any]) -> bool:
        return any(type(one) is CheckpointFailed and one.reason is reason for one in seen.signals)

    return check


for _reason in (CheckpointReason.EXPIRED, CheckpointReason.DECLINED_TASK_NOT_READY, CheckpointReason.TASK_CLOSING,
                CheckpointReason.SUBSUMED):  # fmt: skip
    RULES.sight(
        f"a-checkpoint-fails-as-{_reason.value}", f"A checkpoint failed for the reason {_reason.value}.",
        steps.HEARS, _fails(_reason), signals=(CheckpointFailed,),
    )  # fmt: skip


def _faults(place: str) -> Check:
    def check(ledger: Ledger, seen: Seen[Any]) -> bool:
        return FaultStruck(place, FaultKind.THROWS) in seen.signals

    return check


for _place in PipelinePort.can_fail:
    RULES.sight(
        f"at-the-{_place}-a-call-failed", f"A call failed at the place {_place}.", steps.HEARS, _faults(_place), FAULTS,
        signals=(FaultStruck,),
    )  # fmt: skip


@goal(*steps.HEARS, signals=(JobRestarted,))
def too_many_checkpoints_failed(ledger: Ledger, seen: Acted) -> bool:
    """A job was restarted because more checkpoints failed than it tolerates."""
    return ledger.failures.must_restart


@goal(*steps.HEARS, signals=(Committed,))
def a_transaction_was_committed_after_its_notice_was_lost(ledger: Ledger, seen: Acted) -> bool:
    """A transaction was committed with a later checkpoint, after a message was lost."""
    return ledger.failures.losses > 0 and any(
        type(one) is Committed and one.transaction.checkpoint < ledger.checkpoints.point for one in seen.signals
    )


@goal(*steps.HEARS, signals=(CheckpointCompleted,))
def a_checkpoint_completed_while_operators_stood_still(ledger: Ledger, seen: Acted) -> bool:
    """A checkpoint completed while the operator of a task stood still."""
    return bool(ledger.throttled)


def _ends(status: JobStatus, stopped: bool) -> Check:
    def check(ledger: Ledger, seen: Seen[Any]) -> bool:
        over = any(type(one) is JobOver and one.status is status for one in seen.signals)
        return over and stopped == bool(ledger.stopped or ledger.stopping)

    return check


for _slug, _words, _status, _stopped in (
    ("a-job-finishes-as-its-sources-end", "A job finished because its sources had ended.", JobStatus.FINISHED, False),
    ("a-job-finishes-as-it-is-stopped", "A job finished because it was stopped.", JobStatus.FINISHED, True),
    ("a-job-is-over-as-it-is-cancelled", "A job was cancelled.", JobStatus.CANCELED, False),
):
    RULES.sight(_slug, _words, steps.HEARS, _ends(_status, _stopped), signals=(JobOver,))
