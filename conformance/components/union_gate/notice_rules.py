"""The rules of what a union notifies and says: flags, reasons to poll, credit. Specification: union-gate.md."""

from __future__ import annotations

from conformance.components.union_gate import steps
from conformance.components.union_gate.ledger import Ledger, credit_of
from conformance.components.union_gate.rules import (
    AFTER_RELEASE,
    JUDGED_AT_THE_END,
    LOCAL_PRODUCER,
    NOTHING_LEFT,
    TASK_FAILS,
    Polled,
)
from conformance.driver import Broken, FailureClass, Judgement, Never, Rules, Seen, Setting, Unsure
from conformance.models.words import many
from conformance.ports import Resources
from conformance.ports.outcomes import PriorityAvailable

RULES = Rules[Ledger]("union-gate")
MIXED = Unsure("operations overlapped, so that a notification may have come early or late")
rule = RULES.rule


# ---- flags of an answer ----------------------------------------------------------------------------------------------
@rule(
    steps.poll,
    invariant="I-22",
    tickets=("FLINK-20145",),
    quiet=True,
    never=(AFTER_RELEASE,),
    formerly=("an-answer-says-that-more-follows",),
)
def a_poll_returns_whether_more_is_available(ledger: Ledger, seen: Polled) -> Judgement:
    """If an element can be polled when a poll has answered one and no other operation has overlapped it, the answer
    says that more follows, or the poll notifies the consumer."""
    if seen.value is None or ledger.failed or ledger.phase == "ended" or (line := ledger.due()) is None:
        return False
    if ledger.consumer.awake:
        return True
    if ledger.mixed:
        return MIXED
    owed = f"{line.first()} can be polled next, so the poll must say that more follows"
    return Broken(FailureClass.STUCK, owed, "it said that nothing follows, and the consumer was not notified")


@rule(
    steps.poll,
    invariant="I-32",
    tickets=("FLINK-21104",),
    quiet=True,
    never=(AFTER_RELEASE,),
    formerly=("more-is-said-only-if-something-is-left",),
)
def more_available_is_returned_only_if_something_is_left(ledger: Ledger, seen: Polled) -> Judgement:
    """If everything that was sent was polled, an answer does not say that more follows, unless a notification of
    something that was polled came late, or a gate has queued an empty channel at the request of its partitions."""
    if (taken := seen.value) is None or not taken.more or ledger.failed:
        return False
    for line in ledger.lines:
        if line.waiting or line.live or line.urgent or ledger.end_waits(line):
            return True
    if ledger.consumer.raced:
        return Unsure("another operation overlapped the poll")
    owed = "everything that was sent was polled, so the poll must say that nothing follows"
    return Broken(FailureClass.PROTOCOL, owed, "it said that more follows")


@rule(
    steps.poll,
    invariant="I-32",
    tickets=("FLINK-20145", "FLINK-21104"),
    never=(AFTER_RELEASE,),
    formerly=("more-priority-is-said-only-if-a-priority-event-is-left",),
)
def more_priority_events_are_returned_only_if_one_is_left(ledger: Ledger, seen: Polled) -> Judgement:
    """An answer says that a priority event follows only if one was sent and not polled."""
    if (taken := seen.value) is None or not taken.more_priority or ledger.failed:
        return False
    if ledger.priority_events() > taken.element.data_type.has_priority:
        return True
    owed = "every priority event that was sent was polled, so the poll must say that none follows"
    return Broken(FailureClass.PROTOCOL, owed, "it said that a priority event follows")


# ---- notifications ---------------------------------------------------------------------------------------------------
@rule(
    *steps.FEEDS,
    steps.poll,
    invariant="I-32",
    tickets=("FLINK-20145",),
    never=(AFTER_RELEASE,),
    formerly=("only-priority-events-are-told-as-such",),
)
def priority_notifications_are_for_priority_events_only(ledger: Ledger, seen: Seen[object]) -> Judgement:
    """The union notifies the consumer of a priority event only if one was sent and not polled, unless the notification
    came late because operations overlapped."""
    if not seen.signals or ledger.failed or True not in [type(signal) is PriorityAvailable for signal in seen.signals]:
        return False
    if ledger.priority_events():
        return True
    if ledger.mixed:
        return MIXED
    owed = "every priority event that was sent was polled, so the consumer must not be notified of one"
    return Broken(FailureClass.PROTOCOL, owed, "it was notified of a priority event")


@rule(
    steps.poll,
    invariant="I-32",
    tickets=("FLINK-20145", "FLINK-21104"),
    quiet=True,
    never=(NOTHING_LEFT, AFTER_RELEASE),
)
def empty_polls_do_not_go_on_for_ever(ledger: Ledger, seen: Polled) -> Judgement:
    """After more empty polls in a row than there are gates plus one, with no other operation in between, a poll does
    not notify the consumer (after correspondingly more, if ends of recovered data take turns of their own)."""
    if not ledger.consumer.empty_takes or ledger.failed or ledger.phase == "ended":
        return False
    if not ledger.consumer.awake or not ledger.is_empty():
        return not ledger.consumer.awake
    if ledger.due() is not None:
        return False
    empty = ledger.consumer.empty_takes
    owed = f"{empty} polls in a row found nothing, and no other operation has run: nobody must be notified"
    return Broken(FailureClass.PROTOCOL, owed, "the last poll notified the consumer")


# ---- credit ----------------------------------------------------------------------------------------------------------
@rule(steps.poll, invariant="I-96", never=(LOCAL_PRODUCER, AFTER_RELEASE))
def credit_is_announced_for_recycled_buffers_only(ledger: Ledger, seen: Polled) -> Judgement:
    """The credit that polls announce is not more than the number of data buffers that were polled from remote channels
    of that gate, apart from what a channel announces when its recovery ends."""
    if (taken := seen.value) is None or not seen.signals or ledger.failed or not (credit := credit_of(seen.signals)):
        return False
    free = ledger.lines[taken.channel].gate.free + 1
    owed = f"credit may be announced only for data buffers that were recycled since, that is, for {free}"
    return credit <= free or Broken(FailureClass.PROTOCOL, owed, f"credit for {many(credit, 'buffer')} was announced")


@rule(
    steps.resources,
    invariant="I-96",
    quiet=True,
    never=(
        TASK_FAILS,
        JUDGED_AT_THE_END,
        Never(Setting(channel="local channels"), "The producer of a local channel gets no credit."),
        AFTER_RELEASE,
    ),
)
def credit_comes_back(ledger: Ledger, seen: Seen[Resources]) -> Judgement:
    """For each live buffer that came into an empty remote channel and was polled, the gate announces credit to one of
    its producers, at the latest when nothing more is polled."""
    if not ledger.closing or ledger.failed or ledger.is_broken():
        return False
    for gate in ledger.gates:
        if gate.owed > gate.early and not any(line.data_ended for line in gate.lines):
            missing = gate.owed - gate.early
            owed = f"credit for {missing} more buffers that were polled must be announced in gate {gate.number}"
            return Broken(FailureClass.LOST, owed, "it was not announced, and nothing more is polled")
    return True in [gate.sold for gate in ledger.gates]
