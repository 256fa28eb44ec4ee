"""The main thread, events, their gates and checkpoints of a coordinator, rule by rule of coordinator.md."""

from __future__ import annotations

import pytest

from conformance.ports import (
    NO_CHECKPOINT,
    CheckpointAbortNotified,
    CheckpointCompleteNotified,
    CheckpointRequested,
    CoordinatorCheckpointed,
    CoordinatorConfig,
    EventTransmitted,
    ReportReceived,
    ReportTransmitted,
    SubtaskFailed,
    TaskFailoverTriggered,
    TicketEnded,
)
from reference_impl.coordinator.coordinator import Coordinator, MainThread
from reference_impl.coordinator.protocol import V1, V2
from tests.reference_impl.coordinators import BEGINNING, asked, cut, fresh, injected, message, sent, settled, told


def left(number: int, subtask: int = 0, attempt: int = 0) -> EventTransmitted:
    """The signal that an event has left."""
    return EventTransmitted(subtask, attempt, message(number, subtask, attempt))


# ---- the main thread and events --------------------------------------------------------------------------------------
def test_the_main_thread_runs_the_oldest_turn():
    """coordinator.md O1."""
    one = fresh()
    one.send(message(0))
    one.abort_triggering()
    one.send(message(1))
    assert (len(one.signals), told(one)) == (3, [])
    seen = []
    for _ in range(3):
        one.turn()
        seen.append(told(one))
    assert seen == [[left(0)], [], [left(1)]]


def test_an_event_leaves_arrives_and_is_acknowledged():
    """coordinator.md O2 to O5, O7, O47."""
    one = fresh()
    assert sent(one, message(0), message(1)) == [left(0), left(1)]
    assert one.resources().futures == 2
    assert one.deliver(0, 0) == message(0)
    one.reply(0, 0)
    assert told(one) == []
    assert settled(one) == [TicketEnded(message(0), True)]
    assert one.resources().futures == 1
    assert one.deliver(0, 0) == message(1)


def test_an_event_to_an_attempt_that_is_over_does_not_leave():
    """coordinator.md O2."""
    one = fresh()
    one.send(message(0))
    one.fail_attempt(0, 0, ())
    told(one)
    assert settled(one) == [TicketEnded(message(0), False)]


@pytest.mark.parametrize("arrives", [False, True])
def test_an_attempt_whose_event_may_be_lost_fails_before_the_ticket_ends(arrives):
    """coordinator.md O6."""
    one = fresh()
    sent(one, message(0))
    if arrives:
        one.deliver(0, 0)
        one.lose_reply(0, 0)
    else:
        one.lose_event(0, 0)
    assert told(one) == []
    assert settled(one) == [TaskFailoverTriggered(0, 0), TicketEnded(message(0), False)]


def test_a_loss_asks_no_attempt_to_fail_that_is_over():
    """coordinator.md O6."""
    one = fresh()
    sent(one, message(0))
    one.lose_event(0, 0)
    one.finish(0, 0)
    assert settled(one) == [TicketEnded(message(0), False)]


def test_a_ticket_ends_once():
    """coordinator.md O7."""
    one = fresh()
    sent(one, message(0))
    one.deliver(0, 0)
    one.reply(0, 0)
    one.fail_attempt(0, 0, ())
    assert settled(one) == [SubtaskFailed(0, 0), TicketEnded(message(0), True)]


def test_a_result_is_known_when_nothing_is_left_that_it_waits_for():
    """coordinator.md O7, O24."""
    one = fresh()
    sent(one, message(0), message(1))
    asked(one, 1)
    one.cut(1, True)
    assert settled(one) == []
    one.reply(0, 0)
    assert settled(one) == [TicketEnded(message(0), True)]
    one.reply(0, 0)
    assert settled(one) == [TicketEnded(message(1), True), CoordinatorCheckpointed(1, True)]


def test_a_result_is_a_failure_when_an_event_before_the_cut_is_lost():
    """coordinator.md O7."""
    one = fresh()
    sent(one, message(0), message(1))
    cut(one, 1)
    one.lose_reply(0, 0)
    assert CoordinatorCheckpointed(1, False) in settled(one)
    one.reply(0, 0)
    assert settled(one) == [TicketEnded(message(1), True)]


# ---- gates -----------------------------------------------------------------------------------------------------------
def test_a_gate_is_held_from_the_cut_until_the_snapshot():
    """coordinator.md O8 to O11, O21, O22, O34."""
    one = fresh()
    asked(one, 1)
    assert sent(one, message(0)) == [left(0)]
    one.deliver(0, 0)
    one.reply(0, 0)
    one.cut(1, True)
    one.send(message(1))
    assert settled(one) == [TicketEnded(message(0), True), CoordinatorCheckpointed(1, True)]
    one.inject(1)
    assert settled(one) == []
    one.barrier(0, 0, 1, True, ())
    assert told(one) == [ReportTransmitted(0, 0)]
    one.arrive(0, 0)
    assert settled(one) == [left(1)]
    assert sent(one, message(2)) == [left(2)]


def test_a_gate_that_is_not_marked_cannot_be_closed():
    """coordinator.md O8, O9, O13, O23, O27."""
    one = fresh(V1, 2)
    asked(one, 1)
    one.cut(1, True)
    one.fail_attempt(0, 0, ())
    one.restart((0,), BEGINNING, ())
    told(one)
    assert settled(one) == [CoordinatorCheckpointed(1, False)]
    assert sent(one, message(0, 1), message(0, 0, 1)) == [left(0, 0, 1)]
    one.abort(1, True)
    assert settled(one) == [left(0, 1), CheckpointAbortNotified(1)]


def test_an_acknowledgement_opens_one_gate_for_one_checkpoint():
    """coordinator.md O11."""
    one = fresh(V1, 2)
    injected(one, 1)
    sent(one, message(0), message(0, 1))
    one.acknowledge_again(0, 0, 7)
    assert settled(one) == []
    one.acknowledge_again(0, 0, 1)
    assert settled(one) == [left(0)]
    one.acknowledge_again(1, 0, 1)
    assert settled(one) == [left(0, 1)]


@pytest.mark.parametrize("is_replaced", [False, True])
def test_an_acknowledgement_of_an_attempt_that_was_replaced_opens_no_gate(is_replaced):
    """coordinator.md O11, O17."""
    one = fresh()
    if is_replaced:
        one.fail_attempt(0, 0, ())
        one.restart((0,), BEGINNING, ())
        one.run(0, 1)
    injected(one, 1)
    assert sent(one, message(0, 0, int(is_replaced))) == []
    one.acknowledge_again(0, 0, 1)
    assert settled(one) == ([] if is_replaced else [left(0)])


def held_twice() -> Coordinator:
    """Two checkpoints hold the gate. One event was sent between the cuts, one after them."""
    one = fresh()
    injected(one, 1)
    sent(one, message(0))
    cut(one, 2)
    assert sent(one, message(1)) == []
    return one


def test_events_that_a_newer_checkpoint_holds_stay_when_an_older_one_ends():
    """coordinator.md O10, O12."""
    one = held_twice()
    one.acknowledge_again(0, 0, 1)
    assert settled(one) == [left(0)]
    one.deliver(0, 0)
    one.reply(0, 0)
    one.inject(2)
    assert settled(one) == [TicketEnded(message(0), True), CoordinatorCheckpointed(2, True)]
    one.acknowledge_again(0, 0, 2)
    assert settled(one) == [left(1)]


def test_events_wait_for_the_older_checkpoint_when_a_newer_one_ends():
    """coordinator.md O12."""
    one = held_twice()
    one.abort(2, True)
    assert settled(one) == [CoordinatorCheckpointed(2, False), CheckpointAbortNotified(2)]
    one.acknowledge_again(0, 0, 1)
    assert settled(one) == [left(0), left(1)]


def test_a_new_attempt_has_a_gate_that_nothing_holds():
    """coordinator.md O13, O14."""
    one = fresh()
    injected(one, 1)
    sent(one, message(0))
    one.fail_attempt(0, 0, ())
    assert told(one)[0] == TicketEnded(message(0), False)
    one.restart((0,), BEGINNING, ())
    one.run(0, 1)
    settled(one)
    assert sent(one, message(0, 0, 1)) == [left(0, 0, 1)]


# ---- reports on their way --------------------------------------------------------------------------------------------
def test_reports_arrive_in_the_order_in_which_they_left():
    """coordinator.md O15, O16."""
    one = fresh()
    one.report(message(0))
    one.report(message(1))
    assert told(one) == [ReportTransmitted(0, 0, message(0)), ReportTransmitted(0, 0, message(1))]
    one.arrive(0, 0)
    one.arrive(0, 0)
    assert told(one) == []
    assert settled(one) == [ReportReceived(0, 0, message(0)), ReportReceived(0, 0, message(1))]


def test_the_coordinator_never_sees_acknowledgements():
    """coordinator.md O16."""
    one = fresh(V2)
    injected(one, 1)
    assert told(one) == []
    one.barrier(0, 0, 1, True, ())
    one.arrive(0, 0)
    assert settled(one) == [ReportTransmitted(0, 0)]


def test_a_report_of_an_attempt_that_is_over_is_dropped():
    """coordinator.md O17."""
    one = fresh()
    one.report(message(0))
    one.arrive(0, 0)
    one.fail_attempt(0, 0, ())
    told(one)
    assert settled(one) == []


def test_a_task_fails_when_its_report_is_lost():
    """coordinator.md O18."""
    one = fresh()
    one.report(message(0))
    one.report(message(1))
    told(one)
    one.lose_report(0, 0)
    assert told(one) == [TaskFailoverTriggered(0, 0)]
    one.arrive(0, 0)
    assert settled(one) == [ReportReceived(0, 0, message(1))]


# ---- checkpoints -----------------------------------------------------------------------------------------------------
def test_a_trigger_asks_the_coordinator_in_its_turn():
    """coordinator.md O19, O21, O47."""
    one = fresh()
    one.trigger(3)
    assert told(one) == []
    assert settled(one) == [CheckpointRequested(3)]
    assert one.resources().futures == 1


@pytest.mark.parametrize("old", [2, 3])
def test_an_old_id_fails_and_does_nothing_else(old):
    """coordinator.md O20."""
    one = fresh()
    asked(one, 3)
    one.trigger(old)
    assert settled(one) == [CoordinatorCheckpointed(old, False)]
    one.cut(3, True)
    assert settled(one) == [CoordinatorCheckpointed(3, True)]


def test_the_id_of_batch_jobs_is_never_old():
    """coordinator.md O20."""
    one = fresh(checkpointing=False)
    for _ in range(2):
        one.trigger(NO_CHECKPOINT)
        assert settled(one) == [CheckpointRequested(NO_CHECKPOINT)]
        one.cut(NO_CHECKPOINT, True)
        assert settled(one) == [CoordinatorCheckpointed(NO_CHECKPOINT, True)]


def test_a_cut_that_fails_closes_no_gate():
    """coordinator.md O22."""
    one = fresh()
    asked(one, 1)
    one.cut(1, False)
    one.send(message(0))
    assert settled(one) == [CoordinatorCheckpointed(1, False), left(0)]


def test_a_cut_after_the_abort_closes_no_gate():
    """coordinator.md O23."""
    one = fresh()
    asked(one, 1)
    one.abort(1, True)
    one.cut(1, True)
    one.send(message(0))
    assert settled(one) == [CoordinatorCheckpointed(1, False), CheckpointAbortNotified(1), left(0)]


def test_a_result_waits_for_events_that_an_older_checkpoint_holds_back():
    """coordinator.md O24."""
    one = fresh()
    injected(one, 1)
    sent(one, message(0))
    asked(one, 2)
    one.cut(2, True)
    assert settled(one) == []
    one.acknowledge_again(0, 0, 1)
    assert settled(one) == [left(0)]
    one.deliver(0, 0)
    one.reply(0, 0)
    assert settled(one) == [TicketEnded(message(0), True), CoordinatorCheckpointed(2, True)]


def test_a_trigger_that_fails_undoes_the_checkpoint_that_is_being_triggered():
    """coordinator.md O26."""
    one = fresh()
    cut(one, 1)
    sent(one, message(0))
    one.abort_triggering()
    assert settled(one) == [left(0)]
    asked(one, 2)
    one.abort_triggering()
    assert settled(one) == [CoordinatorCheckpointed(2, False)]


def test_a_trigger_that_fails_undoes_no_checkpoint_whose_barriers_have_left():
    """coordinator.md O25, O26."""
    one = fresh()
    injected(one, 1)
    sent(one, message(0))
    one.abort_triggering()
    assert settled(one) == []
    one.acknowledge_again(0, 0, 1)
    assert settled(one) == [left(0)]


def test_an_abort_undoes_first_and_notifies_then():
    """coordinator.md O26, O27."""
    one = fresh()
    asked(one, 1)
    one.abort(1, True)
    one.turn()
    assert told(one) == [CoordinatorCheckpointed(1, False)]
    one.turn()
    assert told(one) == [CheckpointAbortNotified(1)]
    assert one.queue == []


def test_an_abort_of_an_id_that_no_gate_knows_changes_nothing():
    """coordinator.md O27."""
    one = fresh()
    injected(one, 1)
    sent(one, message(0))
    one.abort(9, False)
    assert settled(one) == [CheckpointAbortNotified(9)]


def test_a_complete_checkpoint_aborts_what_it_subsumes_and_opens_all_gates():
    """coordinator.md O28, O35."""
    one = fresh()
    injected(one, 1)
    injected(one, 2)
    sent(one, message(0))
    assert one.complete(2, (1,), True) == ((),)
    assert told(one) == []
    assert settled(one) == [CheckpointAbortNotified(1), left(0), CheckpointCompleteNotified(2)]


def test_nobody_is_notified_of_a_savepoint():
    """coordinator.md O28."""
    one = fresh()
    injected(one, 1)
    sent(one, message(0))
    one.complete(1, (), False)
    assert (one.queue, settled(one)) == ([], [])


def test_the_coordinators_of_a_job_share_its_main_thread():
    """coordinator.md O1, O48. Turns run in the order in which they were queued; a release takes its own away."""
    main_thread: MainThread = []
    config = CoordinatorConfig(parallelism=1)
    first, second = (Coordinator(config, V1, main_thread) for _ in range(2))
    first.trigger(1)
    second.trigger(2)
    first.trigger(3)
    first.turn()
    first.turn()
    assert (first.triggering, second.triggering) == (1, 2), "the second turn is that of the second coordinator"
    second.trigger(4)
    first.release()
    assert [coordinator for coordinator, _ in main_thread] == [second]
    second.turn()
    assert second.triggering == 4
