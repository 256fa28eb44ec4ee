"""The rules about snapshots of spill files, which a writer is handed in recovery. Specification: writer.md."""

from __future__ import annotations

from typing import Any

from conformance.components.writer import steps
from conformance.components.writer.ledger import Ledger
from conformance.driver import Broken, FailureClass, Judgement, Rules, Seen
from conformance.models.designs import PUSHED
from conformance.ports import SnapshotClosed

RULES = Rules[Ledger]("writer")
rule = RULES.rule


@rule(
    *steps.CLOSES, invariant="I-69", tickets=("FLINK-38544",), after_learning=True, signals=(SnapshotClosed,),
    needs=PUSHED,
)  # fmt: skip
def a_snapshot_is_closed_once(ledger: Ledger, seen: Seen[Any, *tuple[Any, ...]]) -> Judgement:
    """Each snapshot of spill files that was handed in is closed once."""
    if ledger.snapshots.given_back_twice < 0:
        return SnapshotClosed in map(type, seen.signals)
    what = f"snapshot {ledger.snapshots.given_back_twice} was closed again"
    return Broken(FailureClass.DUPLICATED, "each snapshot must be closed once", what)


@rule(*steps.CLOSES, invariant="I-69", tickets=("FLINK-38544", "FLINK-40520"), after_learning=True, needs=PUSHED)
def a_snapshot_is_closed_when_it_is_not_needed(ledger: Ledger, seen: Seen[Any, *tuple[Any, ...]]) -> Judgement:
    """A snapshot of spill files is closed as soon as its request was executed, or will never be executed because the
    executor has stopped; at once if it is empty."""
    if ledger.results.in_flight or ledger.flying or not ledger.snapshots.owed:
        return SnapshotClosed in map(type, seen.signals)
    owed = f"snapshot {ledger.snapshots.owed[0]} is not needed any more, so it must be closed"
    return Broken(FailureClass.LEAKED, owed, "it was not closed")


@rule(steps.fail, invariant="I-69", tickets=("FLINK-40520",), after_learning=True, needs=PUSHED)
def no_snapshot_is_open_after_the_release(ledger: Ledger, seen: Seen[None]) -> Judgement:
    """When the writer is released, it closes all snapshots of spill files that it has."""
    if ledger.released_in_operation:
        return False
    if not ledger.snapshots.held:
        return ledger.snapshots.total > 0
    return Broken(
        FailureClass.LEAKED,
        "the writer was released, so no snapshot may be open",
        f"snapshot {ledger.snapshots.held[0]} is open",
    )
