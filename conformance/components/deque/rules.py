"""What must be true of a prioritised deque, and what a campaign must have seen. Specification: deque.md."""

from __future__ import annotations

from conformance.components.deque import steps
from conformance.components.deque.ledger import Ledger
from conformance.driver import Broken, FailureClass, Judgement, Rules, Seen, answers_property

RULES = Rules[Ledger]("deque", answers_property("deque"))
rule, goal = RULES.rule, RULES.goal
Content = Seen[tuple[int, ...]]
_TICKET = ("FLINK-19681",)


@rule(steps.poll, invariant="I-20", tickets=_TICKET)
def a_poll_takes_the_head(ledger: Ledger, seen: Seen[int | None]) -> Judgement:
    """A poll takes out the head: priority elements first, each part first in, first out."""
    owed = ledger.handles[0] if ledger.handles else None
    if seen.value == owed:
        return owed is not None
    if seen.value is None:
        return Broken(FailureClass.LOST, f"item {owed} is the head", "the poll answered nothing")
    if seen.value not in ledger.handles:
        gone = f"item {seen.value} is not in the deque any more"
        return Broken(FailureClass.DUPLICATED, gone, "the poll answered it")
    return Broken(FailureClass.REORDERED, f"item {owed} is the head", f"the poll answered {seen.value}")


@rule(steps.items, invariant="I-93")
def a_released_deque_is_empty(ledger: Ledger, seen: Content) -> Judgement:
    """After release nothing is held."""
    if not ledger.failed:
        return False
    if seen.value == ():
        return True
    return Broken(FailureClass.LEAKED, "a released deque must be empty", f"it holds {list(seen.value)}")


@rule(steps.items, invariant="I-20", tickets=_TICKET)
def prioritising_means_that_very_item(ledger: Ledger, seen: Content) -> Judgement:
    """Prioritising an item does not touch another that is equal to it."""
    handle = ledger.prioritized
    if handle < 0 or handle not in ledger.handles:
        return False
    twins = [one for one in ledger.handles if ledger.labels[one] == ledger.labels[handle]]
    if len(twins) < 2:
        return False
    got = [one for one in seen.value if one in twins]
    if got == twins:
        return True
    owed = f"item {handle} was prioritised, not its equals: their order must be {twins}"
    return Broken(FailureClass.CORRUPTED, owed, f"it is {got}")


@rule(steps.items, invariant="I-20", tickets=_TICKET)
def all_others_keep_their_order(ledger: Ledger, seen: Content) -> Judgement:
    """Adding, prioritising and removing one item leaves the order of the others alone."""
    owed, got = ledger.handles, list(seen.value)
    if got == owed:
        return len(owed) > 1
    if len(set(got)) < len(got) or set(got) > set(owed):
        kind = FailureClass.DUPLICATED
    elif sorted(got) == sorted(owed):
        kind = FailureClass.REORDERED
    else:
        kind = FailureClass.LOST
    return Broken(kind, f"the deque must hold {owed}", f"it holds {got}")


@rule(steps.count_priority, invariant="I-20", tickets=_TICKET)
def priority_elements_are_counted_right(ledger: Ledger, seen: Seen[int]) -> Judgement:
    """The number of priority elements is that of its priority elements."""
    if seen.value == ledger.priority:
        return True
    return Broken(FailureClass.PROTOCOL, f"there are {ledger.priority} priority elements", f"counted were {seen.value}")


@rule(steps.contains_priority, invariant="I-20", tickets=_TICKET)
def priority_elements_are_told_from_others(ledger: Ledger, seen: Seen[bool, int]) -> Judgement:
    """Asked of one item, the deque knows whether it has priority."""
    (handle,) = seen.operands
    owed = handle in ledger.handles[: ledger.priority]
    if seen.value is owed:
        return True
    return Broken(FailureClass.PROTOCOL, f"that item {handle} has priority is {owed}", f"answered was {seen.value}")


# ---- what a campaign must have seen ----------------------------------------------------------------------------------
@goal(steps.prioritize)
def an_ordinary_item_was_prioritised_past_others(ledger: Ledger, seen: Seen[None, int]) -> bool:
    """An item moved forward past another."""
    return ledger.handles.index(seen.operands[0]) > ledger.priority


@goal(steps.prioritize)
def an_item_with_priority_was_prioritised_again(ledger: Ledger, seen: Seen[None, int]) -> bool:
    """Prioritising had nothing to do."""
    return ledger.handles.index(seen.operands[0]) < ledger.priority


@goal(steps.remove)
def a_priority_element_was_removed(ledger: Ledger, seen: Seen[None, int]) -> bool:
    """An item was taken out of the priority part."""
    return ledger.handles.index(seen.operands[0]) < ledger.priority
