"""Situations that a campaign must have seen in jobs. None follows from another, or from a rule that was judged."""

from __future__ import annotations

from functools import partial
from typing import Any

from conformance.components.pipeline import steps
from conformance.components.pipeline.config import GRAPHS, PipelineScenarioConfig, make
from conformance.components.pipeline.graph import STATELESS
from conformance.components.pipeline.ledger import Ledger
from conformance.driver import Rules, Seen
from conformance.models.designs import FAULTS, NOTHING, PUSHED, recovers
from conformance.ports import (
    Capability,
    CheckpointFailed,
    CheckpointReason,
    EdgeKind,
    FailurePoint,
    FailureStruck,
    FailureTarget,
    FaultStruck,
    JobCheckpoint,
    PipelinePort,
    Recovery,
    Side,
)

RULES = Rules[Ledger]("pipeline")
Acted = Seen[Any, *tuple[Any, ...]]


def _heard(slug: str, statement: str, kind: type[Any], needs: frozenset[Capability] = NOTHING,
           **wanted: object) -> None:  # fmt: skip
    """Declares the goal that a job has said something of the kind with these values."""

    def check(ledger: Ledger, seen: Acted) -> bool:
        for one in seen.signals:
            if type(one) is kind and all(getattr(one, name) == value for name, value in wanted.items()):
                return True
        return False

    RULES.sight(slug, statement, steps.HEARS, check, needs, signals=(kind,))


# ---- what the ledger has seen happen, in the order of the signals ----------------------------------------------------
def _happened(slug: str, statement: str, needs: frozenset[Capability] = NOTHING) -> None:
    RULES.sight(slug, statement, steps.resources, lambda ledger, seen: slug in ledger.sights, needs)


_happened("a-recovery-of-a-recovery-with-another-parallelism-failed", "A checkpoint with records in flight that was"
          " taken while tasks restored one was restored with another parallelism, and something failed before that was"
          " done.", PUSHED)  # fmt: skip
_happened("a-checkpoint-completed-during-recovery", "A checkpoint completed that was triggered while tasks were"
          " restoring, and they still were.", PUSHED)  # fmt: skip
_happened("too-many-checkpoints-failed", "A job was restarted because more checkpoints failed than it tolerates.")
_happened("a-transaction-was-committed-after-its-notice-was-lost", "A transaction was committed with a later"
          " checkpoint, after its own had completed, and a message to its subtask was lost.")  # fmt: skip


# ---- restores --------------------------------------------------------------------------------------------------------
def _recovers_as(design: Recovery, ledger: Ledger, seen: Seen[Any]) -> bool:
    return ledger.restores_in_flight() and ledger.in_effect() is design


for _design in (Recovery.RECOVER_FIRST, Recovery.IN_MEMORY, Recovery.PUSHED):
    RULES.sight(f"a-job-with-records-in-flight-recovers-{_design.value}", "A job was restored from a checkpoint with"
                f" records in flight, with the recovery design {_design.value}.", steps.output,
                partial(_recovers_as, _design), recovers(_design))  # fmt: skip


def _is_like(one: PipelineScenarioConfig, ledger: Ledger, seen: Seen[Any]) -> bool:
    shapes = [[vertex.kind for vertex in vertices] for vertices in (one.vertices, ledger.config.vertices)]
    return ledger.restores_in_flight() and ledger.graph.edges == one.edges and shapes[0] == shapes[1]


for _graph in GRAPHS:
    RULES.sight(f"a-job-with-the-graph-{_graph.replace(' ', '-')}-recovers-records-in-flight",
                f"A job was restored from a checkpoint with records in flight, with this graph: {_graph}.",
                steps.output, partial(_is_like, make(_graph)))  # fmt: skip


def _holds(kind: EdgeKind, side: Side, ledger: Ledger, seen: Seen[JobCheckpoint | None]) -> bool:
    flights = () if seen.value is None else seen.value.in_flight
    return any(one.side is side and ledger.graph.edges[one.edge].kind is kind for one in flights)


for _kind in [one for one in EdgeKind if one not in STATELESS and one is not EdgeKind.SHUFFLE]:
    for _side in Side:
        RULES.sight(f"a-checkpoint-has-{_side.value}-state-of-a-{_kind.value}-edge", f"A checkpoint had {_side.value}"
                    f" state of an edge of the kind {_kind.value}.", steps.snapshot,
                    partial(_holds, _kind, _side))  # fmt: skip


# ---- failures --------------------------------------------------------------------------------------------------------
for _target in FailureTarget:
    for _when in FailurePoint:
        _heard(f"the-failure-of-a-{_target.value}-strikes-{_when.value}", "A failure of the kind"
               f" {_target.value} struck at the point {_when.value}.", FailureStruck, target=_target,
               point=_when)  # fmt: skip
for _reason in (CheckpointReason.EXPIRED, CheckpointReason.DECLINED_SUBSUMED, CheckpointReason.SUBSUMED):
    _heard(f"a-checkpoint-fails-as-{_reason.value}", f"A checkpoint failed for the reason {_reason.value}.",
           CheckpointFailed, reason=_reason)  # fmt: skip
for _place in PipelinePort.can_fail:
    _heard(f"at-the-{_place}-a-call-failed", f"A call failed at the place {_place}.", FaultStruck, FAULTS,
           place=_place)  # fmt: skip
