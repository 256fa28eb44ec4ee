"""Rules for what a union adds to its gates: turns, notifications, numbers of channels. Specification: gate.md."""

from __future__ import annotations

from conformance.components.gate import steps
from conformance.components.gate.ledger import Ledger
from conformance.components.gate.rules import BESIDE_OTHERS, NOTHING_RECOVERED, Polled
from conformance.components.gate.side import Side
from conformance.components.gate.union import credit_of, takes_an_end
from conformance.driver import Broken, FailureClass, Judgement, Never, Rules, Seen, Setting, Unsure
from conformance.driver.setting import LOCAL
from conformance.models.designs import BEFORE, UNIONS
from conformance.models.words import channels, many, name
from conformance.ports import CreditAnnounced, PriorityAvailable, Recovery, Resources, StateConsumed

RULES = Rules[Ledger]("gate")
LOCAL_PRODUCER = Never(Setting(channel=LOCAL), "The producer of a local channel gets no credit and no signal.")
NO_REMOTE = Never(Setting(channel="local channels"), "The producer of a local channel gets no credit.")
AT_THE_END = Never(BEFORE, "They are judged at the end of a run, when all gates are converted.")
rule = RULES.rule


def _first(ledger: Ledger, side: Side) -> str:
    """Describes what the next poll must find in a channel."""
    queue = side.urgent if side.gate.requested and side.priority_waits() else side.waiting or side.live
    return f"{name(queue[0].element)} of channel {side.number}"


# ---- turns -----------------------------------------------------------------------------------------------------------
@rule(steps.poll, invariant="I-30", needs=UNIONS, never=(BESIDE_OTHERS,))
def gates_are_served_in_turn(ledger: Ledger, seen: Polled) -> Judgement:
    """While a gate has elements, the union delivers at most one element without priority of each other gate before the
    gate has its turn (correspondingly more if ends of recovered data take turns of their own)."""
    union = ledger.union
    if union is None or (taken := seen.value) is None or taken.element.data_type.has_priority:
        return False
    served = ledger.sides[taken.channel].gate
    waiting = [member for member in union.members if member.due and member.gate is not served]
    for member in waiting:
        ends = sum([side.end_waits() for side in member.gate.sides])
        most = (1 + ends) * (len(union.members) - 1)
        if member.waited >= most:
            who = f"gate {member.gate.number} had an element all the time"
            owed = f"{who}, and at most {most} of other gates may come before it"
            return Broken(FailureClass.STUCK, owed, f"{member.waited + 1} elements of other gates came")
    return bool(waiting)


@rule(steps.poll, invariant="I-97", tickets=("FLINK-39018",), needs=UNIONS, never=(BESIDE_OTHERS,))
def a_slow_gate_holds_up_no_other(ledger: Ledger, seen: Polled) -> Judgement:
    """While one gate is empty, recovering or blocked, the union still delivers the data and the barriers of the other
    gates."""
    if (union := ledger.union) is None:
        return False
    due = [member for member in union.members if member.due]
    if not due or not any(not (member.due or member.gate.ended()) for member in union.members):
        return False
    most = len(union.members) + union.turns_of_ends()
    if seen.value is not None or union.starved < most or takes_an_end(seen.signals):
        return seen.value is not None
    side = next(side for member in due for side in member.gate.sides if side.ready(end=False))
    owed = f"{_first(ledger, side)} can be polled, although other gates are empty, recovering or blocked"
    return Broken(FailureClass.STUCK, owed, f"{union.starved + 1} polls in a row found nothing")


# ---- flags of a result, and notifications ----------------------------------------------------------------------------
@rule(
    steps.poll, invariant="I-22", tickets=("FLINK-20145",), quiet=True, needs=UNIONS, never=(BESIDE_OTHERS,),
    formerly=("an-answer-says-that-more-follows",),
)  # fmt: skip
def a_poll_returns_whether_more_is_available(ledger: Ledger, seen: Polled) -> Judgement:
    """If an element can be polled when a poll has returned one and no other operation has overlapped it, the result
    says that more follows, or the poll notifies the consumer."""
    if (union := ledger.union) is None or seen.value is None or ledger.is_broken():
        return False
    if not (waits := ledger.something_waits()):
        return False
    if ledger.consumer.awake:
        return True
    if union.mixed:
        return Unsure("operations overlapped, so that a notification may have come early or late")
    owed = f"{_first(ledger, ledger.sides[waits - 1])} can be polled next, so the poll must say that more follows"
    return Broken(FailureClass.STUCK, owed, "it said that nothing follows, and the consumer was not notified")


@rule(
    *steps.MOVES, invariant="I-32", tickets=("FLINK-20145",), needs=UNIONS, never=(BESIDE_OTHERS,),
    formerly=("only-priority-events-are-told-as-such",),
)  # fmt: skip
def priority_notifications_are_for_priority_events_only(ledger: Ledger, seen: Seen[object]) -> Judgement:
    """The union notifies the consumer of a priority event only if one was sent and not polled, unless the notification
    came late because operations overlapped."""
    if (union := ledger.union) is None or PriorityAvailable not in [type(signal) for signal in seen.signals]:
        return False
    if True in [bool(side.urgent) for side in ledger.sides]:
        return True
    if union.mixed:
        return Unsure("operations overlapped, so that a notification may have come early or late")
    owed = "every priority event that was sent was polled, so the consumer must not be notified of one"
    return Broken(FailureClass.PROTOCOL, owed, "it was notified of a priority event")


# ---- each gate by itself ---------------------------------------------------------------------------------------------
@rule(steps.poll, invariant="I-26", needs=UNIONS, never=(BESIDE_OTHERS,))
def live_elements_wait_for_the_request_of_their_gate(ledger: Ledger, seen: Polled) -> Judgement:
    """The union delivers no live element of a gate before the partitions of this gate are requested, whatever was
    requested of other gates."""
    if (taken := seen.value) is None:
        return False
    side = ledger.sides[taken.channel]
    if side.waiting and not taken.element.data_type.has_priority:
        return False
    if side.gate.requested:
        return True
    owed = f"the partitions of gate {side.gate.number} were not requested: none of its live elements may come"
    return Broken(FailureClass.PROTOCOL, owed, f"the poll returned {name(taken.element)} of channel {taken.channel}")


@rule(
    steps.resources, invariant="I-26", tickets=("FLINK-38544",), needs=UNIONS,
    never=(BESIDE_OTHERS, NOTHING_RECOVERED, AT_THE_END),
    formerly=("the-end-of-recovered-data-is-told-for-every-gate",),
)  # fmt: skip
def the_end_of_recovered_data_is_notified_for_every_gate(ledger: Ledger, seen: Seen[Resources]) -> Judgement:
    """The consumer finally takes every end of recovered data that was pushed, unless a conversion handed it over, and
    the union emits StateConsumed with the number of that channel."""
    if not ledger.closing or ledger.is_gone() or ledger.recovery is Recovery.NONE:
        return False
    ended = [side for side in ledger.sides if side.finished and (side.told_end or not side.unseen_end())]
    for side in ended:
        if not side.told_end:
            owed = f"the union must signal that the recovered state of channel {side.number} is consumed"
            observed = "it did not signal that, and the consumer has no reason to poll again"
            return Broken(FailureClass.STUCK, owed, observed)
    return bool(ended)


# ---- credit ----------------------------------------------------------------------------------------------------------
@rule(steps.poll, invariant="I-96", needs=UNIONS, never=(BESIDE_OTHERS, LOCAL_PRODUCER))
def credit_goes_to_producers_of_the_same_gate(ledger: Ledger, seen: Polled) -> Judgement:
    """When a polled buffer is recycled, the union announces its credit only to producers of channels of the same
    gate."""
    if seen.value is None or not seen.signals:
        return False
    # Floating buffers belong to a gate: a buffer that one channel recycles may go to another channel of that gate.
    # A channel whose recovery ended during this poll announces all its free buffers for the first time.
    opened = {signal.channel for signal in seen.signals if type(signal) is StateConsumed}
    credited = {signal.channel for signal in seen.signals if type(signal) is CreditAnnounced} - opened
    remote = {side.number for side in ledger.sides[seen.value.channel].gate.sides if not side.local}
    if credited <= remote:
        return bool(credited)
    whose = f"a buffer of channel {seen.value.channel} was recycled"
    owed = f"{whose}: its credit may be announced only for remote channels of its gate, {channels(sorted(remote))}"
    return Broken(FailureClass.PROTOCOL, owed, f"credit was announced for {channels(sorted(credited))}")


@rule(steps.poll, invariant="I-96", needs=UNIONS, never=(BESIDE_OTHERS, LOCAL_PRODUCER))
def credit_is_announced_for_recycled_buffers_only(ledger: Ledger, seen: Polled) -> Judgement:
    """The credit that polls announce is not more than the number of data buffers that were polled from remote channels
    of that gate, apart from what a channel announces when its recovery ends."""
    if (union := ledger.union) is None or (taken := seen.value) is None or not (credit := credit_of(seen.signals)):
        return False
    free = union.members[ledger.sides[taken.channel].gate.number].free + 1
    owed = f"credit may be announced only for data buffers that were recycled since, that is, for {free}"
    return credit <= free or Broken(FailureClass.PROTOCOL, owed, f"credit for {many(credit, 'buffer')} was announced")


@rule(steps.resources, invariant="I-96", quiet=True, needs=UNIONS, never=(BESIDE_OTHERS, AT_THE_END, NO_REMOTE))
def credit_comes_back(ledger: Ledger, seen: Seen[Resources]) -> Judgement:
    """For each live buffer that came into an empty remote channel and was polled, the gate announces credit to one of
    its producers, at the latest when nothing more is polled."""
    if (union := ledger.union) is None or not ledger.closing or ledger.is_gone():
        return False
    for member in union.members:
        if member.owed > member.early and not any(side.data_ended for side in member.gate.sides):
            where = f"announced in gate {member.gate.number}"
            owed = f"credit for {member.owed - member.early} more buffers that were polled must be {where}"
            return Broken(FailureClass.LOST, owed, "it was not announced, and nothing more is polled")
    return True in [member.sold for member in union.members]
