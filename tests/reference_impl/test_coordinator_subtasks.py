"""The gates for reports, the attempts, the valve and the life of a coordinator, rule by rule of coordinator.md."""

from __future__ import annotations

import pytest

from conformance.ports import (
    NO_CHECKPOINT,
    CheckpointAbortNotified,
    CheckpointRequested,
    CoordinatorCheckpointed,
    CoordinatorConfig,
    CoordinatorReset,
    EventTransmitted,
    GlobalFailoverTriggered,
    ReportReceived,
    ReportTransmitted,
    RestoredEvents,
    SubtaskFailed,
    SubtaskReady,
    SubtaskReset,
    TaskFailoverTriggered,
    TicketEnded,
)
from reference_impl.coordinator.coordinator import Coordinator
from reference_impl.coordinator.protocol import V0, V1, V2
from tests.reference_impl.coordinators import BEGINNING, asked, cut, fresh, injected, message, sent, settled, told

OWN = EventTransmitted(0, 0)
"""The holder has sent the gate of subtask 0 something."""
ANSWER = ReportTransmitted(0, 0)
"""The gate of subtask 0 has acknowledged."""


def out(number: int, subtask: int = 0, attempt: int = 0) -> ReportTransmitted:
    """The signal that a report has left."""
    return ReportTransmitted(subtask, attempt, message(number, subtask, attempt))


# ---- gates for reports -----------------------------------------------------------------------------------------------
def test_the_coordinator_is_asked_once_every_running_attempt_has_acknowledged():
    """coordinator.md O19, O21, O29, O30, O32."""
    one = Coordinator(CoordinatorConfig(3), V2)
    for subtask in (0, 1):
        one.run(subtask, 0)
    settled(one)
    one.trigger(1)
    assert settled(one) == [OWN, EventTransmitted(1, 0)]
    for subtask in (0, 1):
        assert one.deliver(subtask, 0) is None
        one.arrive(subtask, 0)
        answered = [ReportTransmitted(subtask, 0)]
        assert settled(one) == (answered if subtask == 0 else [*answered, CheckpointRequested(1)])


def test_the_request_to_close_bypasses_the_gates_for_events():
    """coordinator.md O29."""
    one = fresh(V2)
    injected(one, 1)
    assert sent(one, message(0)) == []
    one.trigger(2)
    assert settled(one) == [OWN]


def test_an_attempt_that_has_finished_need_not_acknowledge():
    """coordinator.md O30, O41."""
    one = fresh(V2, 2)
    one.trigger(1)
    settled(one)
    one.finish(1, 0)
    assert settled(one) == []
    one.finish(0, 0)
    assert settled(one) == [CheckpointRequested(1)]


def test_an_acknowledgement_of_an_older_request_does_not_count():
    """coordinator.md O30."""
    one = fresh(V2)
    for checkpoint in (1, 2):
        one.trigger(checkpoint)
    settled(one)
    one.deliver(0, 0)
    one.arrive(0, 0)
    assert settled(one) == [ANSWER, CheckpointRequested(1)]
    one.deliver(0, 0)
    one.arrive(0, 0)
    assert settled(one) == [ANSWER, CheckpointRequested(2)]


def test_a_checkpoint_fails_if_an_attempt_fails_for_which_it_waits():
    """coordinator.md O31, O40."""
    one = fresh(V2, 2)
    one.trigger(1)
    settled(one)
    one.fail_attempt(1, 0, ())
    assert settled(one) == [CoordinatorCheckpointed(1, False), SubtaskFailed(1, 0)]
    one.deliver(0, 0)
    one.arrive(0, 0)
    assert settled(one) == [ANSWER]


@pytest.mark.parametrize("arrives", [False, True])
def test_a_checkpoint_fails_if_the_request_to_close_is_lost(arrives):
    """coordinator.md O6, O31."""
    one = fresh(V2)
    one.trigger(1)
    settled(one)
    if arrives:
        one.deliver(0, 0)
        one.lose_reply(0, 0)
    else:
        one.lose_event(0, 0)
    told(one)
    assert settled(one) == [TaskFailoverTriggered(0, 0), CoordinatorCheckpointed(1, False)]


def test_a_gate_acknowledges_also_while_reports_are_held_back():
    """coordinator.md O32, O33."""
    one = fresh(V2)
    asked(one, 1)
    told(one)
    one.report(message(0))
    one.trigger(2)
    assert settled(one) == [OWN]
    one.deliver(0, 0)
    assert told(one) == [ANSWER]


def test_a_request_to_close_after_the_snapshot_holds_nothing():
    """coordinator.md O32."""
    one = fresh(V2)
    one.trigger(1)
    settled(one)
    one.barrier(0, 0, 1, True, ())
    one.deliver(0, 0)
    one.report(message(0))
    assert told(one) == [ANSWER, ANSWER, out(0)]


def test_nothing_leaves_while_any_checkpoint_holds_the_gate():
    """coordinator.md O33, O34."""
    one = fresh(V2)
    asked(one, 1)
    told(one)
    one.report(message(0))
    asked(one, 2)
    told(one)
    one.barrier(0, 0, 1, True, ())
    assert told(one) == [ANSWER]
    one.report(message(1))
    assert told(one) == []
    one.barrier(0, 0, 2, True, ())
    assert told(one) == [ANSWER, out(0), out(1)]
    one.report(message(2))
    assert told(one) == [out(2)]


def test_a_snapshot_lets_go_for_older_checkpoints_too():
    """coordinator.md O34."""
    one = fresh(V2)
    asked(one, 1)
    asked(one, 2)
    told(one)
    one.report(message(0))
    one.barrier(0, 0, 2, True, ())
    assert told(one) == [ANSWER, out(0)]
    one.barrier(0, 0, 1, True, ())
    assert told(one) == []


def test_what_the_hooks_report_is_stored_behind_what_was_held_back():
    """coordinator.md O34, O35."""
    one = fresh(V2, 2)
    injected(one, 1)
    told(one)
    one.report(message(0))
    one.barrier(0, 0, 1, True, (message(1),))
    assert told(one) == [ANSWER, out(0), out(1)]
    one.barrier(1, 0, 1, True, ())
    assert one.complete(1, (), True) == ((message(0), message(1)), ())


def test_a_snapshot_that_fails_is_not_acknowledged_and_holds_the_gate():
    """coordinator.md O34."""
    one = fresh(V2)
    injected(one, 1)
    told(one)
    one.barrier(0, 0, 1, False, (message(0),))
    assert told(one) == []
    assert one.complete(1, (), True) == ((),)


@pytest.mark.parametrize("protocol", [V0, V1])
def test_without_gates_for_reports_a_snapshot_is_acknowledged_and_stores_nothing(protocol):
    """coordinator.md O33 to O35."""
    one = fresh(protocol)
    injected(one, 1)
    told(one)
    one.report(message(0))
    one.barrier(0, 0, 1, True, (message(1),))
    assert told(one) == [out(0), out(1), ANSWER]
    one.barrier(0, 0, 2, False, (message(2),))
    assert told(one) == [out(2)]
    assert one.complete(1, (), True) == ((),)


def test_an_abort_reaches_a_subtask_behind_the_events_on_their_way():
    """coordinator.md O36."""
    one = fresh(V2)
    asked(one, 1)
    one.report(message(0))
    sent(one, message(0))
    one.abort(1, True)
    assert settled(one) == [CoordinatorCheckpointed(1, False), OWN, OWN, CheckpointAbortNotified(1)]
    assert one.deliver(0, 0) == message(0)
    assert told(one) == []
    assert one.deliver(0, 0) is None
    assert told(one) == [out(0)]


def test_an_abort_of_one_of_two_checkpoints_lets_nothing_leave():
    """coordinator.md O33, O36."""
    one = fresh(V2)
    asked(one, 1)
    asked(one, 2)
    one.report(message(0))
    told(one)
    one.notify_aborted(0, 0, 2)
    assert told(one) == []
    one.notify_aborted(0, 0, 1)
    assert told(one) == [out(0)]


def test_an_abort_that_overtakes_the_request_to_close_keeps_the_gate_open():
    """coordinator.md O32, O34, O36."""
    one = fresh(V2)
    one.trigger(1)
    one.abort(1, True)
    settled(one)
    one.notify_aborted(0, 0, 1)
    assert one.deliver(0, 0) is None
    one.report(message(0))
    assert told(one) == [ANSWER, out(0)]
    one.barrier(0, 0, 1, True, ())
    assert told(one) == []


STORED = RestoredEvents(4, ((message(0), message(1)), (message(5, 1),), (message(7, 2, 3),)))


@pytest.mark.parametrize(
    ("parallelism", "replayed"),
    [
        (3, [[message(0), message(1)], [message(5, 1)], [message(7, 2, 3)]]),
        (2, [[message(0), message(1), message(7, 2, 3)], [message(5, 1)]]),
    ],
)
def test_stored_reports_are_replayed_before_any_other(parallelism, replayed):
    """coordinator.md O37, O38."""
    one = Coordinator(CoordinatorConfig(parallelism, restored=STORED), V2)
    one.report(message(2))
    wanted = [ReportTransmitted(subtask, 0, each) for subtask, every in enumerate(replayed) for each in every]
    assert told(one) == [*wanted, out(2)]


# ---- attempts --------------------------------------------------------------------------------------------------------
def test_an_attempt_reports_before_it_runs():
    """coordinator.md O16, O38."""
    one = fresh()
    one.fail_attempt(0, 0, ())
    one.restart((0,), BEGINNING, ())
    told(one)
    one.report(message(0, 0, 1))
    one.arrive(0, 1)
    assert settled(one) == [out(0, 0, 1), ReportReceived(0, 1, message(0, 0, 1))]


@pytest.mark.parametrize("fails", [False, True])
def test_the_coordinator_is_notified_of_an_attempt_that_still_runs_in_the_turn(fails):
    """coordinator.md O39."""
    one = Coordinator(CoordinatorConfig(1), V1)
    one.run(0, 0)
    if fails:
        one.fail_attempt(0, 0, ())
    assert settled(one) == [SubtaskFailed(0, 0) if fails else SubtaskReady(0, 0)]


def test_a_failure_ends_what_was_under_way_and_aborts():
    """coordinator.md O14, O40."""
    one = fresh(V1, 2)
    sent(one, message(0), message(1))
    one.deliver(0, 0)
    asked(one, 3)
    one.cut(3, True)
    assert sent(one, message(2), message(0, 1)) == []
    one.report(message(0))
    told(one)
    one.fail_attempt(0, 0, (3,))
    tickets = [TicketEnded(message(number), False) for number in range(3)]
    assert told(one) == [tickets[0], CoordinatorCheckpointed(3, False), *tickets[1:], SubtaskFailed(0, 0)]
    assert settled(one) == [EventTransmitted(1, 0, message(0, 1)), CheckpointAbortNotified(3)]
    assert one.attempts[0, 0].reports == []


def test_an_attempt_that_finishes_ends_its_tickets_and_nobody_is_notified():
    """coordinator.md O14, O41."""
    one = fresh()
    sent(one, message(0))
    cut(one, 1)
    sent(one, message(1))
    one.finish(0, 0)
    assert settled(one) == [
        TicketEnded(message(0), False), CoordinatorCheckpointed(1, False), TicketEnded(message(1), False),
    ]  # fmt: skip


def test_a_restart_resets_the_failed_subtasks_and_aborts_what_is_in_progress():
    """coordinator.md O42."""
    one = fresh(V1, 3)
    injected(one, 4)
    for subtask in (0, 2):
        one.fail_attempt(subtask, 0, ())
    told(one)
    one.restart((0, 2), RestoredEvents(2, ((), (), ())), (4,))
    assert told(one) == [SubtaskReset(0, 2), SubtaskReset(2, 2)]
    assert settled(one) == [CheckpointAbortNotified(4)]
    assert one.newest == [1, 0, 1]


def test_a_restart_of_the_job_cancels_what_is_alive():
    """coordinator.md O43."""
    one = fresh(V1, 3)
    injected(one, 4)
    one.finish(0, 0)
    one.fail_attempt(1, 0, ())
    told(one)
    one.restart_all(BEGINNING, (4,))
    assert told(one) == [SubtaskFailed(2, 0), CoordinatorReset(NO_CHECKPOINT)]
    assert settled(one) == [CheckpointAbortNotified(4)]
    assert one.newest == [1, 1, 1]


def test_a_restart_replays_what_the_checkpoint_stores():
    """coordinator.md O37, O42, O43."""
    one = fresh(V2)
    stored = RestoredEvents(1, ((message(0),),))
    one.fail_attempt(0, 0, ())
    told(one)
    one.restart((0,), stored, ())
    assert told(one) == [SubtaskReset(0, 1), ReportTransmitted(0, 1, message(0))]
    one.restart_all(stored, ())
    assert told(one) == [SubtaskFailed(0, 1), CoordinatorReset(1), ReportTransmitted(0, 2, message(0))]


def test_without_checkpoints_several_attempts_run_and_nothing_is_held_back():
    """coordinator.md O44."""
    one = fresh(V2, checkpointing=False)
    one.speculate(0)
    one.run(0, 1)
    assert settled(one) == [SubtaskReady(0, 1)]
    cut(one, NO_CHECKPOINT)
    told(one)
    events = [message(0), message(0, 0, 1)]
    assert sent(one, *events) == [EventTransmitted(0, each.attempt, each) for each in events]
    one.report(message(0))
    assert told(one) == [out(0)]


def test_a_failure_of_the_coordinator_restarts_the_job_once():
    """coordinator.md O43, O45."""
    one = fresh()
    one.fail_job()
    assert told(one) == [GlobalFailoverTriggered()]
    one.fail_job()
    assert told(one) == []
    one.restart_all(BEGINNING, ())
    told(one)
    one.fail_job()
    assert told(one) == [GlobalFailoverTriggered()]


# ---- V0 --------------------------------------------------------------------------------------------------------------
def test_the_valve_is_shut_from_the_cut_until_the_barriers_leave():
    """coordinator.md O46, O25."""
    one = fresh(V0, 2)
    asked(one, 1)
    assert sent(one, message(0)) == [EventTransmitted(0, 0, message(0))]
    one.deliver(0, 0)
    one.reply(0, 0)
    one.cut(1, True)
    settled(one)
    assert sent(one, message(1), message(0, 1)) == []
    one.acknowledge_again(0, 0, 1)
    assert settled(one) == []
    one.inject(1)
    assert settled(one) == [EventTransmitted(0, 0, message(1)), EventTransmitted(1, 0, message(0, 1))]


def test_the_valve_opens_when_its_checkpoint_is_undone_and_no_other():
    """coordinator.md O46, O26."""
    one = fresh(V0)
    cut(one, 2)
    sent(one, message(0))
    one.abort(1, False)
    assert settled(one) == [CheckpointAbortNotified(1)]
    one.abort(2, True)
    assert settled(one) == [EventTransmitted(0, 0, message(0)), CheckpointAbortNotified(2)]


def test_the_valve_drops_what_waits_for_an_attempt_that_is_over():
    """coordinator.md O46, O14."""
    one = fresh(V0, 2)
    cut(one, 1)
    sent(one, message(0), message(0, 1))
    one.fail_attempt(0, 0, (1,))
    assert told(one) == [TicketEnded(message(0), False), SubtaskFailed(0, 0)]
    assert settled(one) == [EventTransmitted(1, 0, message(0, 1)), CheckpointAbortNotified(1)]


# ---- life ------------------------------------------------------------------------------------------------------------
def test_open_tickets_and_unknown_results_are_futures_until_the_release():
    """coordinator.md O47, O48."""
    one = fresh()
    assert one.resources().futures == 0
    sent(one, message(0))
    one.trigger(1)
    settled(one)
    assert one.resources().futures == 2
    one.release()
    assert one.resources().futures == 0
    assert one.queue == []
