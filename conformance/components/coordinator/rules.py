"""Rules of the coordinator that any design must keep: what both sides have received, and what a checkpoint contains."""

from __future__ import annotations

from collections.abc import Callable

from conformance.components.coordinator import steps
from conformance.components.coordinator.ledger import Ledger
from conformance.components.coordinator.sides import Attempt, Checkpoint
from conformance.components.coordinator.words import attempt, event, report
from conformance.driver import Broken, FailureClass, Judgement, Rules, Seen, answers_property
from conformance.models.words import are, many
from conformance.ports import Capability, EventTransmitted, Message, ReportReceived, ReportTransmitted

RULES = Rules[Ledger]("coordinator", answers_property("coordinator"))
rule = RULES.rule
UP = frozenset({Capability.UP_GATE})
ANY = tuple(one for one in steps.STEPS.all if one.name not in ("resources", "fail", "restore"))
"""The steps in which an implementation may emit any signal."""
SETTLING = (
    steps.turn, steps.deliver, *steps.BARRIERS, steps.complete, steps.notify_aborted, *steps.FAILURES, steps.finish,
    steps.restart, steps.restart_all,
)  # fmt: skip
"""The steps after which the main thread may have nothing to do, and something may be owed."""
Delivered = Seen[Message | None, int, int]
Stored = Seen[tuple[tuple[Message, ...], ...], int]


def stored_reports(seen: Stored, subtask: int) -> list[int]:
    """Returns the numbers of the reports of a subtask that a checkpoint stores; -1 for a report of another subtask."""
    stored = seen.value[subtask] if subtask < len(seen.value) else ()
    return [one.number if one.subtask == subtask else -1 for one in stored]


# ---- what a completed checkpoint contains ----------------------------------------------------------------------------
@rule(steps.complete, invariant="CP30", tickets=("FLINK-28639",), needs=UP)
def what_a_snapshot_hook_reports_is_in_the_checkpoint(ledger: Ledger, seen: Stored) -> Judgement:
    """A report that an operator sends while it takes its snapshot is stored for replay, since the state of the operator
    says that it was sent."""
    checkpoint = ledger.checkpoints[seen.operands[0]]
    for subtask in checkpoint.reported_in_snapshot:
        part = checkpoint.parts[subtask]
        assert part is not None
        last = part[1] - 1
        if last not in stored_reports(seen, subtask) and last >= checkpoint.counted[subtask]:
            owed = f"subtask {subtask} sent report {last} during its snapshot of checkpoint {checkpoint.number}"
            return Broken(FailureClass.LOST, f"{owed}, so it must be stored", "it is not stored")
    return bool(checkpoint.reported_in_snapshot)


@rule(steps.complete, invariant="CP1", tickets=("FLINK-26029", "FLINK-18071"))
def a_checkpoint_has_the_same_events_on_both_sides(ledger: Ledger, seen: Stored) -> Judgement:
    """When a checkpoint completes, the events that its coordinator state says were sent to a subtask are those that the
    state of the subtask says were received."""
    checkpoint = ledger.checkpoints[seen.operands[0]]
    assert checkpoint.sent is not None
    judged = False
    for subtask, part in checkpoint.parts.items():
        if part is None:
            continue
        judged = True
        sent, received = checkpoint.sent[subtask], part[0]
        if sent != received:
            kind = FailureClass.LOST if received < sent else FailureClass.DUPLICATED
            owed = (
                f"the coordinator had sent {many(sent, 'event')} to subtask {subtask} when it cut checkpoint "
                f"{seen.operands[0]}"
            )
            return Broken(kind, owed, f"the subtask had received {many(received, 'event')} when it took its snapshot")
    return judged


@rule(steps.complete, invariant="CP2", tickets=("FLINK-26029", "FLINK-28639"), needs=UP)
def a_checkpoint_has_the_same_reports_on_both_sides(ledger: Ledger, seen: Stored) -> Judgement:
    """When a checkpoint completes, the reports that its coordinator state says were received, followed by those that it
    stores for replay, are those that the state of the subtask says were sent."""
    checkpoint = ledger.checkpoints[seen.operands[0]]
    judged = False
    for subtask, line in enumerate(ledger.lines):
        part = checkpoint.parts.get(subtask % ledger.config.parallelism)
        if part is None:
            continue
        judged = True
        counted = checkpoint.counted[subtask]
        reported = part[1] if subtask < ledger.config.parallelism else line.reported
        stored = stored_reports(seen, subtask)
        if [*range(counted), *stored] != [*range(reported)]:
            number = f"checkpoint {checkpoint.number}"
            owed = f"subtask {subtask} had sent {many(reported, 'report')} when it took its snapshot of {number}"
            kept = (
                f"{are(len(stored), 'report')} stored ({', '.join(map(str, stored))})" if stored else "none is stored"
            )
            known = f"the coordinator had received {many(counted, 'report')} at its cut, and {kept}"
            return Broken(
                FailureClass.LOST if counted + len(stored) < reported else FailureClass.DUPLICATED, owed, known
            )
    return judged


# ---- events ----------------------------------------------------------------------------------------------------------
@rule(*ANY, invariant="CP18", tickets=("FLINK-18071",), signals=(EventTransmitted,))
def an_event_leaves_for_no_other_attempt(ledger: Ledger, seen: Seen[object]) -> Judgement:
    """An event leaves for the attempt to which the coordinator sent it, and for no later one."""
    judged = False
    for signal in seen.signals:
        if type(signal) is not EventTransmitted or signal.message is None:
            continue
        judged, message = True, signal.message
        if (message.subtask, message.attempt) != (signal.subtask, signal.attempt):
            owed = f"{event(message)} must go to no other attempt"
            return Broken(FailureClass.DUPLICATED, owed, f"it left for {attempt(signal.subtask, signal.attempt)}")
    return judged


def cut_off(ledger: Ledger, one: Attempt, message: Message) -> Checkpoint | None:
    """Returns a checkpoint in progress that must not contain this event, and of which the attempt has still to take its
    snapshot."""
    for checkpoint in ledger.checkpoints.values():
        if not checkpoint.is_over() and checkpoint.number > one.opened and not checkpoint.contains(message):
            return checkpoint
    return None


def too_early(checkpoint: Checkpoint, message: Message) -> Broken:
    """Says that an event overtook the barrier of a checkpoint."""
    owed = (
        f"{event(message)} was sent after the cut of checkpoint {checkpoint.number}, so it must wait for the snapshot"
    )
    return Broken(FailureClass.DUPLICATED, owed, "the subtask received it before its snapshot")


def _mine(ledger: Ledger, seen: Delivered) -> Attempt | None:
    """Returns the attempt that received an event, if the event was sent to it."""
    value, (subtask, number) = seen.value, seen.operands
    if value is None or (value.subtask, value.attempt) != (subtask, number):
        return None
    return ledger.attempt(subtask, number)


def overtaking(
    ledger: Ledger, seen: Delivered, blames: Callable[[Checkpoint, Attempt], bool],
    tests: Callable[[Checkpoint, Attempt, Message], bool],
) -> Judgement:  # fmt: skip
    """Judges whether an event has overtaken a barrier that it must follow, if the rule `blames` that on what happened.
    If it has not, the rule was exercised if it `tests` one of the checkpoints."""
    one, value = _mine(ledger, seen), seen.value
    if one is None or value is None:
        return False
    found = cut_off(ledger, one, value)
    if found is not None:
        return too_early(found, value) if blames(found, one) else False
    return any(tests(other, one, value) for other in ledger.checkpoints.values())


@rule(steps.deliver, invariant="CP19")
def a_repeated_acknowledgement_opens_no_gate(ledger: Ledger, seen: Delivered) -> Judgement:
    """An acknowledgement that arrives twice, late, from a dead attempt, or for a checkpoint that nobody knows lets no
    event overtake the barrier of a checkpoint in progress. If another checkpoint has ended too, the early event is
    reported as an effect of that end."""
    return overtaking(
        ledger, seen, lambda found, one: one.subtask in found.repeated and not found.others_ended,
        lambda other, one, value: one.subtask in other.repeated and other.number == one.cut,
    )  # fmt: skip


@rule(steps.deliver, invariant="CP14")
def the_end_of_a_checkpoint_opens_no_gate_of_another(ledger: Ledger, seen: Delivered) -> Judgement:
    """If a checkpoint is aborted, or fails before it has begun, no event overtakes the barrier of another one."""
    return overtaking(
        ledger, seen, lambda found, one: found.others_ended,
        lambda other, one, value: other.others_ended and other.number == one.cut,
    )  # fmt: skip


@rule(steps.deliver, invariant="CP16")
def the_snapshot_of_a_subtask_opens_no_other_gate(ledger: Ledger, seen: Delivered) -> Judgement:
    """When one subtask has taken its snapshot, no event to another one overtakes the barrier there."""
    return overtaking(
        ledger, seen, lambda found, one: any(found.parts.values()),
        lambda other, one, value: other.number == one.cut and len(other.parts) > 1,
    )  # fmt: skip


@rule(steps.deliver, invariant="CP6", tickets=("FLINK-26029",))
def an_event_sent_after_the_cut_arrives_after_the_snapshot(ledger: Ledger, seen: Delivered) -> Judgement:
    """An event that the coordinator sends after its cut reaches a subtask only after the snapshot of the subtask,
    unless the checkpoint was aborted."""
    return overtaking(
        ledger, seen, lambda found, one: True, lambda other, one, value: not other.contains(value)
    )  # fmt: skip


@rule(*steps.BARRIERS, invariant="CP7", tickets=("FLINK-21996",))
def an_event_sent_before_the_cut_arrives_before_the_snapshot(
    ledger: Ledger, seen: Seen[None, int, int, int]
) -> Judgement:
    """When a subtask takes its snapshot, it has received every event that the coordinator sent to it before its cut."""
    subtask, number, checkpoint_id = seen.operands
    checkpoint, one = ledger.checkpoints.get(checkpoint_id), ledger.the(subtask, number)
    if (
        checkpoint is None
        or checkpoint.sent is None
        or checkpoint.is_over()
        or one.lost_an_event
        or subtask not in checkpoint.parts
    ):
        return False
    sent, received = checkpoint.sent[subtask], ledger.lines[subtask].received
    if received >= sent:
        return sent > 0
    owed = (
        f"the coordinator sent event {received} to {attempt(subtask, number)} before it cut checkpoint {checkpoint_id}"
    )
    return Broken(FailureClass.LOST, owed, "the subtask takes its snapshot and has not received it")


@rule(steps.deliver, invariant="CP3", tickets=("FLINK-20396", "FLINK-20397"))
def a_subtask_receives_each_event_once_and_in_order(ledger: Ledger, seen: Delivered) -> Judgement:
    """A subtask receives each event once and in the order in which the coordinator sent them, also across restarts, and
    behind one that was lost."""
    one = _mine(ledger, seen)
    if one is None and seen.value is not None:
        return Broken(
            FailureClass.DUPLICATED,
            f"{event(seen.value)} is for that attempt alone",
            f"{attempt(*seen.operands)} received it",
        )
    if one is None or seen.value is None:
        return False
    expected, number = ledger.lines[one.subtask].received, seen.value.number
    if one.lost_an_event or not ledger.config.checkpointing:  # some never come to this attempt; the others in order
        if number > one.last_event:
            return False
        owed = f"{attempt(one.subtask, one.number)} has received event {one.last_event}, so a later one must come next"
        return Broken(FailureClass.DUPLICATED, owed, f"it received event {number}")
    if number == expected:
        return True
    owed = f"{attempt(one.subtask, one.number)} must receive event {expected} next"
    return Broken(
        FailureClass.LOST if number > expected else FailureClass.DUPLICATED, owed, f"it received event {number}"
    )


@rule(*ANY, invariant="CP5", tickets=("FLINK-26029",), signals=(EventTransmitted,))
def events_leave_in_the_order_sent(ledger: Ledger, seen: Seen[object]) -> Judgement:
    """Events to an attempt leave in the order in which the coordinator sent them, those that were held back first."""
    judged = False
    for at, signal in enumerate(seen.signals):
        if type(signal) is not EventTransmitted or signal.message is None:
            continue
        one = ledger.attempt(signal.subtask, signal.attempt)
        if one is None or not one.is_alive():
            continue
        left = [each.message for each in seen.signals[:at] if type(each) is EventTransmitted]
        waiting = [each for each in one.unsent if each not in left]
        if signal.message not in waiting:
            owed = f"{event(signal.message)} was not sent, or has left before"
            return Broken(FailureClass.DUPLICATED, owed, "it left")
        if signal.message != waiting[0]:
            return Broken(
                FailureClass.REORDERED,
                f"{event(waiting[0])} was sent first, so it must leave first",
                f"{event(signal.message)} left",
            )
        judged = True
    return judged


# ---- reports ---------------------------------------------------------------------------------------------------------
@rule(*ANY, invariant="CP29", tickets=("FLINK-28639",), needs=UP, signals=(ReportTransmitted,))
def stored_reports_are_replayed_first(ledger: Ledger, seen: Seen[object]) -> Judgement:
    """An attempt that starts from a checkpoint sends the reports that the checkpoint stores for it, once, in order, and
    before any other."""
    judged = False
    for at, signal in enumerate(seen.signals):
        if type(signal) is not ReportTransmitted or signal.message is None:
            continue
        one = ledger.attempt(signal.subtask, signal.attempt)
        if one is None or not one.is_alive():
            continue
        left = [each.message for each in seen.signals[:at] if type(each) is ReportTransmitted]
        replay = [each for each in one.replay if each not in left]
        if replay:
            judged = True
            if signal.message != replay[0]:
                owed = f"{attempt(one.subtask, one.number)} must replay {report(replay[0])} first"
                return Broken(FailureClass.REORDERED, owed, f"it sent {report(signal.message)}")
        elif signal.message not in one.unreported:
            owed = f"{attempt(one.subtask, one.number)} has nothing to replay, and its operator sent no such report"
            return Broken(FailureClass.DUPLICATED, owed, f"it sent {report(signal.message)}")
    return judged


@rule(*ANY, invariant="CP3", tickets=("FLINK-28639",), needs=UP, signals=(ReportReceived,))
def the_coordinator_receives_each_report_once_and_in_order(ledger: Ledger, seen: Seen[object]) -> Judgement:
    """The coordinator receives each report once and in the order in which its subtask sent them, across restarts."""
    judged = False
    if not ledger.config.checkpointing:
        return False
    for at, signal in enumerate(seen.signals):
        if type(signal) is not ReportReceived:
            continue
        message = signal.message
        if not ledger.knows(message.subtask):
            return Broken(
                FailureClass.CORRUPTED,
                "a report must name a subtask of the job",
                f"the coordinator received {report(message)}",
            )
        expected = ledger.lines[message.subtask].counted + sum(
            type(each) is ReportReceived and each.message.subtask == message.subtask for each in seen.signals[:at]
        )
        if message.number != expected:
            kind = FailureClass.LOST if message.number > expected else FailureClass.DUPLICATED
            owed = f"the next report of subtask {message.subtask} is number {expected}"
            return Broken(kind, owed, f"the coordinator received {report(message)}")
        judged = True
    return judged


@rule(*ANY, invariant="CP4", signals=(ReportReceived,))
def reports_arrive_in_the_order_sent(ledger: Ledger, seen: Seen[object]) -> Judgement:
    """The coordinator is given the reports of an attempt in the order in which they arrived, and none of an attempt
    that is over."""
    judged = False
    for at, signal in enumerate(seen.signals):
        if type(signal) is not ReportReceived:
            continue
        one = ledger.attempt(signal.subtask, signal.attempt)
        given = [each.message for each in seen.signals[:at] if type(each) is ReportReceived]
        landed = [] if one is None else [each for each in one.arrived if each not in given]
        if not landed or signal.message != landed[0]:
            owed = f"the next report to be received is {report(landed[0])}" if landed else ""
            nothing = f"no report of {attempt(signal.subtask, signal.attempt)} has arrived that was not handled"
            kind = FailureClass.REORDERED if signal.message in landed else FailureClass.DUPLICATED
            return Broken(kind, owed or nothing, f"the coordinator received {report(signal.message)}")
        judged = True
    return judged
