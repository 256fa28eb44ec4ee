"""The coordinator of the reference, by hand: the user's coordinator throws when it is called."""

from __future__ import annotations

import pytest

from conformance.ports import (
    OPERATOR_COORDINATOR,
    CheckpointAbortNotified,
    CheckpointCompleteNotified,
    CheckpointRequested,
    CoordinatorCheckpointed,
    EventTransmitted,
    FaultKind,
    FaultStruck,
    GlobalFailoverTriggered,
    ReportReceived,
)
from tests.reference_impl.coordinators import asked, cut, fresh, message, sent, settled

STRUCK = FaultStruck(OPERATOR_COORDINATOR, FaultKind.THROWS)


def throwing(one):
    one.fault(OPERATOR_COORDINATOR, FaultKind.THROWS)
    return one


def test_a_coordinator_that_throws_when_it_is_asked_fails_its_checkpoint_and_the_job():
    """coordinator.md O21, O49, CP36."""
    one = throwing(fresh())
    one.trigger(1)
    assert settled(one) == [
        CheckpointRequested(1), STRUCK, CoordinatorCheckpointed(1, False), GlobalFailoverTriggered(),
    ]  # fmt: skip
    assert one.results == {}


def test_a_coordinator_that_throws_at_a_report_fails_the_job_once():
    """coordinator.md O45, O50, CP28, CP36."""
    one = throwing(fresh())
    one.report(message(0))
    one.report(message(1))
    one.arrive(0, 0)
    told = settled(one)
    assert [type(signal) for signal in told if type(signal) is not FaultStruck][-2:] == [
        ReportReceived, GlobalFailoverTriggered,
    ]  # fmt: skip
    throwing(one).arrive(0, 0)
    assert settled(one) == [ReportReceived(0, 0, message(1)), STRUCK]


@pytest.mark.parametrize("completes", [False, True])
def test_what_is_held_back_leaves_although_the_coordinator_throws_at_the_end_of_a_checkpoint(completes):
    """coordinator.md O27, O28, O51, CP12, CP25."""
    one = fresh()
    cut(one, 1)
    one.inject(1)
    assert not any(type(signal) is EventTransmitted for signal in sent(one, message(0)))
    throwing(one)
    if completes:
        one.complete(1, (), True)
    else:
        one.abort(1, False)
    word = CheckpointCompleteNotified(1) if completes else CheckpointAbortNotified(1)
    told = settled(one)
    assert EventTransmitted(0, 0, message(0)) in told
    assert told[-2:] == [word, STRUCK]
    asked(one, 2)
    assert 2 in one.results
