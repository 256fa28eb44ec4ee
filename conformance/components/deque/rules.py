"""The rules and goals of the prioritised deque. Specification: deque.md."""

from __future__ import annotations

from collections.abc import Iterable

from conformance.components.deque import steps
from conformance.components.deque.ledger import Ledger
from conformance.driver import Broken, FailureClass, Judgement, Rules, Seen, answers_property
from conformance.models import lifetime
from conformance.models.designs import RESOURCES
from conformance.models.words import many, truth

RULES = Rules[Ledger]("deque", answers_property("deque"))
rule, goal = RULES.rule, RULES.goal
Content = Seen[tuple[int, ...]]
_TICKET = ("FLINK-19681",)


def _listed(handles: Iterable[int]) -> str:
    return ", ".join(map(str, handles))


def _items(handles: Iterable[int]) -> str:
    found = tuple(handles)
    return f"item{'s' if len(found) > 1 else ''} {_listed(found)}" if found else "no item"


@rule(steps.poll, invariant="I-20", tickets=_TICKET)
def a_poll_takes_the_head(ledger: Ledger, seen: Seen[int | None]) -> Judgement:
    """A poll removes and returns the head: the oldest priority element or, if there is none, the oldest other
    element."""
    owed = ledger.handles[0] if ledger.handles else None
    if seen.value == owed:
        return owed is not None
    if seen.value is None:
        return Broken(FailureClass.LOST, f"the poll must return the head, item {owed}", "it returned nothing")
    if seen.value not in ledger.handles:
        gone = f"item {seen.value} is not in the deque any more"
        return Broken(FailureClass.DUPLICATED, gone, "the poll returned it")
    return Broken(
        FailureClass.REORDERED, f"the poll must return the head, item {owed}", f"it returned item {seen.value}"
    )


@rule(steps.items, invariant="I-93")
def a_released_deque_is_empty(ledger: Ledger, seen: Content) -> Judgement:
    """After release the deque contains no item."""
    if not ledger.failed:
        return False
    if seen.value == ():
        return True
    return Broken(FailureClass.LEAKED, "a released deque must be empty", f"it contains {_items(seen.value)}")


@rule(steps.items, invariant="I-20", tickets=_TICKET, formerly=("prioritising-means-that-very-item",))
def an_item_is_prioritised_by_identity(ledger: Ledger, seen: Content) -> Judgement:
    """Prioritising an item moves this item, and not another item that is equal to it."""
    handle = ledger.prioritized
    if handle < 0 or handle not in ledger.handles:
        return False
    twins = [one for one in ledger.handles if ledger.labels[one] == ledger.labels[handle]]
    if len(twins) < 2:
        return False
    got = [one for one in seen.value if one in twins]
    if got == twins:
        return True
    equal = " and ".join([", ".join(map(str, sorted(twins)[:-1])), str(max(twins))])
    owed = f"items {equal} are equal, and item {handle} was prioritised: their order must be {_listed(twins)}"
    return Broken(FailureClass.CORRUPTED, owed, f"their order is {_listed(got)}")


@rule(steps.items, invariant="I-20", tickets=_TICKET)
def all_others_keep_their_order(ledger: Ledger, seen: Content) -> Judgement:
    """Adding, prioritising or removing one item does not change the order of the others."""
    owed, got = ledger.handles, list(seen.value)
    if got == owed:
        return len(owed) > 1
    if len(set(got)) < len(got) or set(got) > set(owed):
        kind = FailureClass.DUPLICATED
    elif sorted(got) == sorted(owed):
        kind = FailureClass.REORDERED
    else:
        kind = FailureClass.LOST
    return Broken(kind, f"the deque must contain {_items(owed)}, in this order", f"it contains {_items(got)}")


@rule(steps.count_priority, invariant="I-20", tickets=_TICKET)
def priority_elements_are_counted_right(ledger: Ledger, seen: Seen[int]) -> Judgement:
    """The deque returns how many priority elements it contains."""
    if seen.value == ledger.priority:
        return True
    owed = f"the deque contains {many(ledger.priority, 'priority element')}, and must return this number"
    return Broken(FailureClass.PROTOCOL, owed, f"it returned {seen.value}")


@rule(steps.contains_priority, invariant="I-20", tickets=_TICKET, formerly=("priority-elements-are-told-from-others",))
def priority_elements_are_distinguished_from_others(ledger: Ledger, seen: Seen[bool, int]) -> Judgement:
    """The deque returns for each item whether the item is a priority element."""
    (handle,) = seen.operands
    owed = handle in ledger.handles[: ledger.priority]
    if seen.value is owed:
        return True
    no = "" if owed else "not "
    return Broken(
        FailureClass.PROTOCOL, f"item {handle} is {no}a priority element", f"the deque returned {truth(seen.value)}"
    )


RULES.adopt(lifetime.after_release_nothing_is_held, steps.resources, needs=RESOURCES)


# ---- goals -----------------------------------------------------------------------------------------------------------
@goal(steps.prioritize)
def an_ordinary_item_was_prioritised_past_others(ledger: Ledger, seen: Seen[None, int]) -> bool:
    """An item without priority was prioritised and moved past another one."""
    return ledger.handles.index(seen.operands[0]) > ledger.priority


@goal(steps.prioritize)
def an_item_with_priority_was_prioritised_again(ledger: Ledger, seen: Seen[None, int]) -> bool:
    """An item that had priority already was prioritised."""
    return ledger.handles.index(seen.operands[0]) < ledger.priority


@goal(steps.add)
def a_deque_grew_beyond_sixteen_items(ledger: Ledger, seen: Seen[None, int]) -> bool:
    """An item was added to a deque that contained sixteen items or more."""
    return len(ledger.handles) >= 16


@goal(steps.remove)
def a_priority_element_was_removed(ledger: Ledger, seen: Seen[None, int]) -> bool:
    """A priority element was removed."""
    return ledger.handles.index(seen.operands[0]) < ledger.priority
