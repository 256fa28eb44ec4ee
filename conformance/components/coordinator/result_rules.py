"""Rules of the coordinator about the results of its checkpoints, the tickets of its events, and failovers."""

from __future__ import annotations

from conformance.components.coordinator import steps
from conformance.components.coordinator.ledger import Ledger, threw
from conformance.components.coordinator.rules import ANY, SETTLING
from conformance.components.coordinator.turns import OLD_ID, OUTDATED, REPEATED
from conformance.components.coordinator.words import attempt, event
from conformance.driver import Broken, FailureClass, Judgement, Rules, Seen
from conformance.ports import (
    NO_CHECKPOINT,
    CheckpointRequested,
    CoordinatorCheckpointed,
    EventTransmitted,
    GlobalFailoverTriggered,
    TaskFailoverTriggered,
    TicketEnded,
    TurnQueued,
)

RULES = Rules[Ledger]("coordinator")
rule = RULES.rule


_DONE = {
    CoordinatorCheckpointed: "the result of a checkpoint", TaskFailoverTriggered: "the failure of a task",
    GlobalFailoverTriggered: "a restart of the job", TicketEnded: "the end of a ticket",
}  # fmt: skip


# ---- turns of the main thread ----------------------------------------------------------------------------------------
@rule(steps.turn, invariant="CP13")
def no_turn_of_the_main_thread_fails(ledger: Ledger, seen: Seen[None]) -> Judgement:
    """No action in the main thread of the job master raises an error."""
    if seen.error is None:
        return True
    return Broken(
        FailureClass.PROTOCOL, "an action in the main thread must not fail", f"it raised: {seen.error.reason}"
    )


@rule(steps.turn, steps.acknowledge_again, steps.acknowledge_unknown, invariant="CP17")
def a_repeated_acknowledgement_changes_nothing(ledger: Ledger, seen: Seen[None, *tuple[int, ...]]) -> Judgement:
    """An acknowledgement that arrives twice, late, or for a checkpoint that nobody knows causes nothing but the release
    of events: no result, no failover, no notification of the coordinator; neither at once nor in the turn that it
    queues."""
    arrives = bool(seen.operands)  # a turn has none
    if not arrives and ledger.turns.current != REPEATED:
        return False
    for signal in seen.signals:
        if arrives and type(signal) is TurnQueued:
            continue
        if type(signal) is not EventTransmitted:
            caused = _DONE.get(type(signal), "a word to the coordinator")
            return Broken(FailureClass.PROTOCOL, "a repeated acknowledgement changes nothing", f"it caused {caused}")
    return True


# ---- requests --------------------------------------------------------------------------------------------------------
@rule(*ANY, invariant="CP22", tickets=("FLINK-33984",), signals=(CheckpointRequested,))
def the_coordinator_sees_increasing_ids(ledger: Ledger, seen: Seen[object]) -> Judgement:
    """The coordinator is asked for each checkpoint once, and the ids increase; in a batch job the same id is used again
    and again."""
    judged = False
    for signal in seen.signals:
        if type(signal) is not CheckpointRequested:
            continue
        checkpoint, judged = ledger.checkpoints.get(signal.checkpoint), True
        if signal.checkpoint == NO_CHECKPOINT and not ledger.config.checkpointing:
            continue
        if checkpoint is None or signal.checkpoint <= ledger.calls.newest_request:
            newest = ledger.calls.newest_request
            owed = f"the last checkpoint that the coordinator was asked for is {newest}, and ids must increase"
            return Broken(FailureClass.DUPLICATED, owed, f"it was asked for checkpoint {signal.checkpoint}")
    return judged


@rule(*ANY, invariant="CP37", tickets=("FLINK-27148",), signals=(CheckpointRequested,))
def an_aborted_checkpoint_is_not_asked_for(ledger: Ledger, seen: Seen[object]) -> Judgement:
    """The coordinator is not asked for a checkpoint of which the main thread knows that it was aborted, nor for one
    that was aborted before its trigger."""
    for signal in seen.signals:
        checkpoint = ledger.checkpoints.get(signal.checkpoint) if type(signal) is CheckpointRequested else None
        if checkpoint is not None and (checkpoint.known or not checkpoint.was_triggered):
            owed = f"checkpoint {checkpoint.number} was aborted, so the coordinator must not be asked for it"
            return Broken(FailureClass.PROTOCOL, owed, "it was asked for its state")
    return any(one.state == "aborted" and not one.requested for one in ledger.checkpoints.values())


@rule(*ANY, invariant="CP28", tickets=("FLINK-19535",), signals=(GlobalFailoverTriggered,))
def a_failure_of_the_coordinator_restarts_the_job_once(ledger: Ledger, seen: Seen[object]) -> Judgement:
    """If the coordinator reports failures, the job is restarted once, however many it reports before the restart."""
    count = sum(type(signal) is GlobalFailoverTriggered for signal in seen.signals)
    if ledger.turns.current in (OUTDATED, OLD_ID) or threw(seen.signals):
        return False
    if count + ledger.failures.answered > 1:
        return Broken(
            FailureClass.DUPLICATED, "the job is restarted once", "the failover of the job was triggered again"
        )
    return True


@rule(*SETTLING, invariant="CP28", tickets=("FLINK-19535",), after_learning=True)
def a_failure_of_the_coordinator_restarts_the_job(ledger: Ledger, seen: Seen[object]) -> Judgement:
    """If the coordinator reports a failure and the main thread has nothing to do, a restart of the job was asked for,
    also if the job was restarted before."""
    if ledger.turns.queue or not ledger.failures.reported:
        return False
    owed = "the coordinator has reported a failure, so the job must be restarted"
    return ledger.failures.failover or Broken(FailureClass.LOST, owed, "the failover of the job was not triggered")


@rule(
    *ANY,
    invariant="CP23",
    tickets=("FLINK-28941",),
    signals=(
        CheckpointRequested,
        GlobalFailoverTriggered,
    ),
)
def checkpoints_may_overlap(ledger: Ledger, seen: Seen[object]) -> Judgement:
    """A checkpoint that begins while another one is in progress fails neither the job nor itself."""
    overlaps = [one for one in ledger.checkpoints.values() if one.overlaps and not one.is_over()]
    if not overlaps:
        return False
    for signal in seen.signals:
        if type(signal) is GlobalFailoverTriggered and not ledger.may_fail(seen.signals):
            return Broken(
                FailureClass.PROTOCOL,
                "checkpoints may overlap, so the job must go on",
                "the failover of the job was triggered",
            )
    return any(type(signal) is CheckpointRequested for signal in seen.signals)


@rule(*ANY, invariant="CP33", tickets=("FLINK-26029",), signals=(GlobalFailoverTriggered,))
def only_the_coordinator_fails_the_job(ledger: Ledger, seen: Seen[object]) -> Judgement:
    """The whole job is restarted only if the coordinator reports a failure, or is asked for an old checkpoint."""
    for signal in seen.signals:
        if type(signal) is GlobalFailoverTriggered:
            if ledger.may_fail(seen.signals):
                return True
            return Broken(
                FailureClass.PROTOCOL,
                "the coordinator has reported no failure, so the job must go on",
                "the failover of the job was triggered",
            )
    return False


# ---- tickets ---------------------------------------------------------------------------------------------------------
@rule(*ANY, invariant="CP11", tickets=("FLINK-23233", "FLINK-21996"), signals=(TicketEnded,))
def a_lost_event_fails_its_task_first(ledger: Ledger, seen: Seen[object]) -> Judgement:
    """If it is not known whether an attempt that is alive has got an event, the attempt must fail, before the ticket
    ends."""
    judged, doomed = False, []
    for signal in seen.signals:
        if type(signal) is TaskFailoverTriggered:
            doomed.append((signal.subtask, signal.attempt))
        elif type(signal) is TicketEnded and not signal.delivered:
            message = signal.message
            one = ledger.attempt(message.subtask, message.attempt)
            if one is None or not one.is_alive() or message not in one.tickets:
                continue
            judged = True
            if not one.must_fail and (one.subtask, one.number) not in doomed:
                owed = f"{event(message)} may be lost, so the attempt must fail"
                return Broken(
                    FailureClass.LOST, owed, "its future has ended, and the failover of the attempt was not triggered"
                )
    return judged


@rule(*ANY, invariant="CP11", tickets=("FLINK-21996",), signals=(TaskFailoverTriggered,))
def no_task_fails_without_a_lost_event(ledger: Ledger, seen: Seen[object]) -> Judgement:
    """The job master lets an attempt fail only while it is alive, and only if an event to it or a reply was lost, or a
    report of it."""
    judged = False
    for signal in seen.signals:
        if type(signal) is TaskFailoverTriggered:
            one = ledger.attempt(signal.subtask, signal.attempt)
            name = attempt(signal.subtask, signal.attempt)
            if one is None or not one.is_alive():
                owed = f"{name} is over, so nothing must let it fail"
            elif not one.missed:
                owed = f"nothing was lost between the job master and {name}"
            else:
                judged = True
                continue
            return Broken(FailureClass.PROTOCOL, owed, "the failover of the attempt was triggered")
    return judged


@rule(steps.lose_report, invariant="CP11")
def a_lost_report_fails_its_task(ledger: Ledger, seen: Seen[None, int, int]) -> Judgement:
    """If anything that an attempt sends to the job master is lost, the attempt must fail."""
    if TaskFailoverTriggered(*seen.operands) in seen.signals:
        return True
    owed = f"a report of {attempt(*seen.operands)} was lost, so the attempt must fail"
    return Broken(FailureClass.LOST, owed, "the failover of the attempt was not triggered")


@rule(*ANY, invariant="CP18", tickets=("FLINK-18071",), signals=(TicketEnded,))
def a_ticket_ends_once(ledger: Ledger, seen: Seen[object]) -> Judgement:
    """The ticket of an event ends once, and successfully only if the attempt has got the event."""
    judged = False
    for at, signal in enumerate(seen.signals):
        if type(signal) is not TicketEnded:
            continue
        message = signal.message
        one, judged = ledger.attempt(message.subtask, message.attempt), True
        if one is None or message not in one.tickets or signal in seen.signals[:at]:
            return Broken(FailureClass.DUPLICATED, f"the future of {event(message)} has ended before", "it ended again")
        if signal.delivered and (message in one.unsent or message in one.events or message in one.lost):
            return Broken(FailureClass.PROTOCOL, f"{event(message)} has not arrived", "its future was completed")
    return judged


@rule(*SETTLING, invariant="CP18", tickets=("FLINK-18071",), after_learning=True)
def a_ticket_ends_with_its_attempt(ledger: Ledger, seen: Seen[object]) -> Judgement:
    """When an attempt is over and the main thread has nothing to do, no ticket of an event to it is open."""
    if ledger.turns.queue:
        return False
    judged = False
    for line in ledger.lines:
        for one in line.attempts:
            if one.state == "failed" or one.state == "finished":
                if one.tickets:
                    owed = (
                        f"{attempt(one.subtask, one.number)} has {one.state}, so the futures of events to it must end"
                    )
                    return Broken(FailureClass.ORPHANED, owed, f"the future of {event(one.tickets[0])} is open")
                judged = True
    return judged


# ---- results ---------------------------------------------------------------------------------------------------------
@rule(*ANY, invariant="CP21", signals=(CoordinatorCheckpointed,))
def an_aborted_checkpoint_stays_failed(ledger: Ledger, seen: Seen[object]) -> Judgement:
    """The result of a checkpoint is a success only if the coordinator has cut, and not after the checkpoint was
    aborted."""
    judged = False
    for signal in seen.signals:
        if type(signal) is not CoordinatorCheckpointed or not signal.succeeded:
            continue
        checkpoint = ledger.checkpoints.get(signal.checkpoint)
        if checkpoint is None:
            continue
        if checkpoint.state == "aborted" and checkpoint.sent is not None and not checkpoint.late:
            continue  # the cut came first, and nobody asks for the result any more
        if checkpoint.is_over() or checkpoint.result is not None or checkpoint.sent is None:
            owed = f"checkpoint {signal.checkpoint} is not waiting for its result"
            return Broken(FailureClass.PROTOCOL, owed, "its result is a success")
        judged = True
    return judged


@rule(*ANY, invariant="CP21", signals=(CoordinatorCheckpointed,))
def a_result_is_given_once(ledger: Ledger, seen: Seen[object]) -> Judgement:
    """The result of a checkpoint is given once, whatever becomes of the checkpoint afterwards. A request with an old
    id, and a batch job, may have further results under the same id."""
    judged = False
    for at, signal in enumerate(seen.signals):
        if type(signal) is not CoordinatorCheckpointed or signal.checkpoint == NO_CHECKPOINT:
            continue
        checkpoint = ledger.checkpoints.get(signal.checkpoint)
        if checkpoint is None or ledger.calls.with_old_id:
            continue
        given = [type(each) is CoordinatorCheckpointed and each.checkpoint for each in seen.signals[:at]]
        if checkpoint.result is not None or signal.checkpoint in given:
            owed = f"the result of checkpoint {checkpoint.number} was given before"
            return Broken(FailureClass.DUPLICATED, owed, "it was given again")
        judged = True
    return judged


@rule(*ANY, invariant="CP31", tickets=("FLINK-33984",), signals=(CoordinatorCheckpointed,))
def a_checkpoint_fails_for_a_reason(ledger: Ledger, seen: Seen[object]) -> Judgement:
    """The result of a checkpoint is a failure only if the coordinator failed to cut, the checkpoint was aborted, or
    since its trigger an attempt was over or something was lost."""
    judged = False
    for signal in seen.signals:
        if type(signal) is not CoordinatorCheckpointed or signal.succeeded:
            continue
        checkpoint = ledger.checkpoints.get(signal.checkpoint)
        if checkpoint is None or checkpoint.result is not None:
            continue
        judged = True
        if not checkpoint.may_fail and not threw(seen.signals):
            owed = f"nothing has happened since the trigger of checkpoint {checkpoint.number} that could make it fail"
            return Broken(FailureClass.PROTOCOL, owed, "its result is a failure")
    return judged


@rule(*ANY, invariant="CP10", tickets=("FLINK-21996",), signals=(CoordinatorCheckpointed,))
def a_result_waits_for_the_events_before_the_cut(ledger: Ledger, seen: Seen[object]) -> Judgement:
    """The result of a checkpoint is a success only once every event that was sent before the cut, to an attempt that is
    still alive, has arrived; not if one of them was lost."""
    judged = False
    for at, signal in enumerate(seen.signals):
        if type(signal) is not CoordinatorCheckpointed or not signal.succeeded:
            continue
        checkpoint = ledger.checkpoints.get(signal.checkpoint)
        if checkpoint is None or checkpoint.sent is None or checkpoint.is_over():
            continue
        judged = True
        ended = [each.message for each in seen.signals[:at] if type(each) is TicketEnded and each.delivered]
        for message in checkpoint.awaited:
            one = ledger.attempt(message.subtask, message.attempt)
            if message not in ended and one is not None and one.is_alive():
                owed = f"{event(message)} was sent before the cut of checkpoint {checkpoint.number}"
                return Broken(
                    FailureClass.PROTOCOL, owed, "the future of the event is open, and the result is a success"
                )
        if checkpoint.cut_failed:
            owed = f"an event before the cut of checkpoint {checkpoint.number} was lost, or its coordinator failed"
            return Broken(FailureClass.LOST, owed, "the result is a success")
    return judged


@rule(*SETTLING, invariant="CP20", after_learning=True)
def a_result_waits_for_nothing_else(ledger: Ledger, seen: Seen[object]) -> Judgement:
    """When the main thread has nothing to do, the result of a checkpoint that the coordinator has cut is known, unless
    an event before the cut has not been acknowledged."""
    if ledger.turns.queue:
        return False
    judged = False
    for one in ledger.checkpoints.values():
        if not one.done or one.is_over():
            continue
        if one.result is None and not one.awaited:
            owed = (
                f"the futures of all events before the cut of checkpoint {one.number} have ended: it must have a result"
            )
            return Broken(FailureClass.ORPHANED, owed, "it has none")
        judged |= one.result is not None
    return judged


@rule(*SETTLING, invariant="CP31", tickets=("FLINK-28639",), after_learning=True)
def a_triggered_checkpoint_is_asked_for(ledger: Ledger, seen: Seen[object]) -> Judgement:
    """When nothing is on its way any more, the coordinator has been asked for every checkpoint that was triggered, or
    the result is a failure; and requests with an old id have failed."""
    pending = [one for one in ledger.checkpoints.values() if not one.is_over()]
    if not (pending or ledger.calls.with_old_id) or not ledger.is_idle() or any(one.must_fail for one in ledger.alive):
        return False
    for one in pending:
        if not one.requested and one.result is None:
            owed = f"checkpoint {one.number} was triggered, and nothing is on its way"
            return Broken(FailureClass.STUCK, owed, "the coordinator was not asked for it, and it has not failed")
    if ledger.calls.with_old_id:
        return Broken(
            FailureClass.STUCK, "a checkpoint was triggered with an old id, so it must fail", "there is no result"
        )
    return True
