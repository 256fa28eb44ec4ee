"""Rules of the coordinator about what is held back: nothing without a reason, and everything is let go in the end."""

from __future__ import annotations

from conformance.components.coordinator import steps
from conformance.components.coordinator.ledger import Ledger
from conformance.components.coordinator.rules import ANY, SETTLING
from conformance.components.coordinator.sides import Attempt, Checkpoint
from conformance.components.coordinator.words import attempt, event, report
from conformance.driver import Broken, FailureClass, Judgement, Rules, Seen
from conformance.models.words import are, many
from conformance.ports import Capability, Message, ReportReceived, Resources

RULES = Rules[Ledger]("coordinator")
rule = RULES.rule
BLOCKED = frozenset({Capability.UP_GATE, Capability.UP_BLOCKED})


# ---- events ----------------------------------------------------------------------------------------------------------
def _held(ledger: Ledger) -> list[tuple[Attempt, Message, Checkpoint | None]]:
    """Returns the events that are held back without need, the first one for each attempt, and the checkpoint for which
    it was. The main thread has nothing to do."""
    found = []
    for line in ledger.lines:
        for one in line.attempts:
            if not one.unsent or not one.is_alive() or one.must_fail:
                continue
            message = one.unsent[0]
            later = [each for each in ledger.checkpoints.values() if not each.contains(message)]
            if not any(_may_hold(each, one) for each in later):
                aborted = [each for each in later if each.state == "aborted"]
                found.append((one, message, aborted[0] if aborted else later[-1] if later else None))
    return found


def _may_hold(checkpoint: Checkpoint, one: Attempt) -> bool:
    """Whether a checkpoint may hold back what was sent to an attempt after the cut: until the attempt has taken its
    snapshot and the acknowledgement has arrived. A completed checkpoint holds nothing: its turn has opened all gates.
    That of a savepoint has not, since nobody is notified of it."""
    if checkpoint.state == "aborted" or (checkpoint.state == "completed" and not checkpoint.is_savepoint):
        return False
    took = checkpoint.parts.get(one.subtask) is not None
    waits = not took and checkpoint.state != "completed"
    return waits or (took and one.awaits_acknowledgement(checkpoint.number))


def _let_go(one: Attempt, message: Message, why: str) -> Broken:
    return Broken(FailureClass.STUCK, f"{why}, so {event(message)} must leave", "it is held back")


@rule(*SETTLING, invariant="CP12", tickets=("FLINK-29217",), after_learning=True)
def an_abort_lets_events_go(ledger: Ledger, seen: Seen[object]) -> Judgement:
    """When a checkpoint is aborted, in whatever phase, the events that were held back for it leave."""
    if ledger.turns.queue:
        return False
    for one, message, checkpoint in _held(ledger):
        if checkpoint is not None and checkpoint.state == "aborted":
            return _let_go(one, message, f"checkpoint {checkpoint.number} was aborted")
    return any(one.state == "aborted" and one.sent is not None for one in ledger.checkpoints.values())


@rule(*SETTLING, invariant="CP25", after_learning=True)
def a_completed_checkpoint_lets_events_go(ledger: Ledger, seen: Seen[object]) -> Judgement:
    """When a checkpoint or a savepoint is complete, the events that were held back for it leave, also those to subtasks
    that did not take part."""
    if ledger.turns.queue:
        return False
    for one, message, checkpoint in _held(ledger):
        if checkpoint is not None and checkpoint.state == "completed":
            return _let_go(one, message, f"checkpoint {checkpoint.number} is complete")
    return any(one.state == "completed" for one in ledger.checkpoints.values())


@rule(*SETTLING, invariant="CP15", tickets=("FLINK-26029",), after_learning=True)
def the_snapshot_of_a_subtask_lets_its_events_go(ledger: Ledger, seen: Seen[object]) -> Judgement:
    """When a subtask has taken its snapshot, the events to it that were held back leave in the same turn, although
    other subtasks have not taken theirs."""
    if ledger.turns.queue:
        return False
    for one, message, checkpoint in _held(ledger):
        if checkpoint is not None and not checkpoint.is_over():
            return _let_go(one, message, f"{attempt(one.subtask, one.number)} has taken its snapshot")
    for checkpoint in ledger.checkpoints.values():
        if not checkpoint.is_over() and any(checkpoint.parts.values()):
            return True
    return False


@rule(*SETTLING, invariant="CP9", tickets=("FLINK-18071",), after_learning=True)
def only_a_checkpoint_holds_events_back(ledger: Ledger, seen: Seen[object]) -> Judgement:
    """An event that was sent before the cut of every checkpoint in progress is not held back."""
    if ledger.turns.queue:
        return False
    for one, message, checkpoint in _held(ledger):
        if checkpoint is None:
            return _let_go(one, message, "no checkpoint holds it back")
    return any(one.sent is not None for one in ledger.checkpoints.values())


# ---- reports ---------------------------------------------------------------------------------------------------------
@rule(*ANY, invariant="CP8", tickets=("FLINK-28639",), needs=BLOCKED, signals=(ReportReceived,))
def no_report_arrives_between_the_cut_and_the_snapshot(ledger: Ledger, seen: Seen[object]) -> Judgement:
    """From the cut of the coordinator until a subtask has taken its snapshot, the coordinator is given no report of the
    subtask, unless the checkpoint was aborted."""
    judged = False
    for signal in seen.signals:
        if type(signal) is not ReportReceived:
            continue
        one = ledger.attempt(signal.subtask, signal.attempt)
        for checkpoint in ledger.checkpoints.values():
            if checkpoint.sent is None or checkpoint.is_over() or one is None:
                continue
            judged = True
            if checkpoint.awaits(signal.subtask) and one.opened < checkpoint.number:
                owed = f"{attempt(signal.subtask, signal.attempt)} has not taken its snapshot of {checkpoint.number}"
                return Broken(
                    FailureClass.PROTOCOL,
                    owed,
                    f"the coordinator, which has taken its own, received {report(signal.message)}",
                )
    return judged


EARLY, LATE, NEVER = "early", "late", "never"
"""What became of the checkpoints for which reports are held back: one was aborted, and the task was notified of that by
a request of its own, which may have overtaken the beginning; one was aborted otherwise; none was."""


def _silent(ledger: Ledger) -> list[tuple[Attempt, str]]:
    """Returns the attempts that hold reports back without need, and what may be the cause. The main thread has nothing
    to do, and no message of the implementation is on its way to them: what the user's coordinator has sent opens no
    gate."""
    found = []
    for one in ledger.alive:
        if not one.unreported or one.must_fail or None in one.events:
            continue
        newer = [each for each in ledger.checkpoints.values() if one.cut < each.number]
        if all(each.is_over() for each in newer):
            aborted = [each.number for each in newer if each.state == "aborted"]
            early = any(number in one.notified_aborts for number in aborted)
            found.append((one, EARLY if early else LATE if aborted else NEVER))
    return found


def _report_go(one: Attempt, why: str) -> Broken:
    return Broken(FailureClass.STUCK, f"{why}, so {report(one.unreported[0])} must leave", "it is held back")


@rule(*SETTLING, invariant="CP32", tickets=("FLINK-28639",), needs=BLOCKED, after_learning=True)
def an_abort_that_overtakes_the_beginning_lets_reports_go(ledger: Ledger, seen: Seen[object]) -> Judgement:
    """When the task of a subtask is notified that a checkpoint was aborted, its reports leave, also if it is notified
    of the beginning of the checkpoint later."""
    if ledger.turns.queue:
        return False
    for one, cause in _silent(ledger):
        if cause == EARLY:
            return _report_go(one, "the checkpoint was aborted and the task was notified")
    return any(one.notified_aborts for one in ledger.alive)


@rule(*SETTLING, invariant="CP35", tickets=("FLINK-28639",), needs=BLOCKED, after_learning=True)
def an_abort_lets_reports_go(ledger: Ledger, seen: Seen[object]) -> Judgement:
    """When a checkpoint is aborted, for example by a timeout while the coordinator waits for a report, the reports that
    were held back for it leave, although no request of their own has notified the tasks."""
    if ledger.turns.queue:
        return False
    for one, cause in _silent(ledger):
        if cause == LATE:
            return _report_go(one, "the checkpoint was aborted")
    return any(one.state == "aborted" for one in ledger.checkpoints.values())


@rule(*SETTLING, invariant="CP34", tickets=("FLINK-28639",), needs=BLOCKED, after_learning=True)
def a_snapshot_lets_reports_go(ledger: Ledger, seen: Seen[object]) -> Judgement:
    """When a subtask has taken its snapshot and no newer checkpoint has begun, its reports leave."""
    if ledger.turns.queue:
        return False
    for one, cause in _silent(ledger):
        if cause == NEVER:
            return _report_go(one, f"no checkpoint is in progress at {attempt(one.subtask, one.number)}")
    return any(one.cut for one in ledger.alive)


# ---- the end ---------------------------------------------------------------------------------------------------------
@rule(steps.resources, invariant="CP24")
def everything_comes_to_an_end(ledger: Ledger, seen: Seen[Resources]) -> Judgement:
    """In the end every ticket has ended, every event and report has left and arrived, and every checkpoint is over."""
    if not ledger.closing or ledger.failed:
        return False
    for line in ledger.lines:
        for one in line.attempts:
            if one.tickets:
                return Broken(
                    FailureClass.STUCK,
                    "the future of every event must end",
                    f"the future of {event(one.tickets[0])} is open",
                )
            if one.unsent or one.unreported or one.replay:
                rest = event(one.unsent[0]) if one.unsent else report([*one.unreported, *one.replay][0])
                return Broken(FailureClass.STUCK, "every event and every report must leave", f"{rest} is held back")
    return True


@rule(steps.resources, invariant="CP3")
def in_the_end_nothing_is_missing(ledger: Ledger, seen: Seen[Resources]) -> Judgement:
    """In the end every subtask that runs has received every event, and the coordinator every report."""
    if not ledger.closing or ledger.failed or not ledger.config.checkpointing:
        return False
    for subtask, line in enumerate(ledger.lines[: ledger.config.parallelism]):
        last = line.attempts[-1]
        if last.state != "running":
            continue
        if line.received != line.sent:
            owed = (
                f"the coordinator has sent {many(line.sent, 'event')} to subtask {subtask}, which must receive it all"
            )
            return Broken(FailureClass.LOST, owed, f"the subtask has received {many(line.received, 'event')}")
    return True


@rule(steps.resources, invariant="CP24", needs=frozenset({Capability.RESOURCES}), formerly=("in-the-end-nobody-waits",))
def in_the_end_no_result_is_open(ledger: Ledger, seen: Seen[Resources]) -> Judgement:
    """In the end no ticket and no result of a checkpoint is open."""
    if not ledger.closing or ledger.failed or seen.value.futures is None:
        return False
    if seen.value.futures == 0:
        return True
    return Broken(
        FailureClass.ORPHANED, "no future must be open in the end", f"{are(seen.value.futures, 'future')} open"
    )
