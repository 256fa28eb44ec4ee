"""What must be true of a prioritised deque. recovery.md, section 2.1 and I-20.

The ledger is the sequence that must be in the deque, by handle: for a queue, what is owed *is* its content.
"""

from __future__ import annotations

from conformance.properties.base import Broken, FailureClass, Judgement, Kind, Level, Property, Seen, answers_property


class DequeLedger:
    """The handles that are owed, head first, the first `priority` of them being priority elements."""

    __slots__ = ("closing", "failed", "handles", "inspected", "labels", "next_handle", "prioritized", "priority")

    def __init__(self) -> None:
        self.handles: list[int] = []
        self.labels: dict[int, int] = {}
        self.priority = 0
        self.next_handle = 0
        self.prioritized = -1
        """The item that was prioritised since the content was last looked at, or -1."""
        self.inspected = False
        self.failed = False
        self.closing = 0

    @property
    def phase(self) -> str:
        """Which steps can be meant at all."""
        return "failed" if self.failed else "live"

    def add(self, label: int, has_priority: bool) -> None:
        """A new item was put in."""
        self.labels[self.next_handle] = label
        if has_priority:
            self.handles.insert(self.priority, self.next_handle)
            self.priority += 1
        else:
            self.handles.append(self.next_handle)
        self.next_handle += 1

    def prioritize(self, handle: int) -> None:
        """An item became the last of the priority elements."""
        self.prioritized = handle
        index = self.handles.index(handle)
        if index >= self.priority:
            del self.handles[index]
            self.handles.insert(self.priority, handle)
            self.priority += 1

    def remove(self, handle: int) -> None:
        """An item was taken out."""
        index = self.handles.index(handle)
        if index < self.priority:
            self.priority -= 1
        del self.handles[index]

    def poll(self) -> None:
        """The head was taken out."""
        if self.handles:
            del self.handles[0]
            self.priority = max(self.priority - 1, 0)

    def hear(self, signals: list[object]) -> None:
        """A deque tells nobody anything."""

    def fail(self) -> None:
        """Everything was released."""
        self.handles = []
        self.priority = 0
        self.failed = True


def _polls_head(ledger: DequeLedger, seen: Seen) -> Judgement:
    owed = ledger.handles[0] if ledger.handles else None
    if seen.value == owed:
        return owed is not None
    if seen.value is None:
        return Broken(FailureClass.LOST, f"item {owed} is the head", "the poll answered nothing")
    if seen.value not in ledger.handles:
        return Broken(
            FailureClass.DUPLICATED, f"item {seen.value} is not in the deque any more", "the poll answered it"
        )
    return Broken(FailureClass.REORDERED, f"item {owed} is the head", f"the poll answered {seen.value}")


def _prioritizes_by_identity(ledger: DequeLedger, seen: Seen) -> Judgement:
    handle = ledger.prioritized
    if handle < 0 or handle not in ledger.handles:
        return False
    twins = [one for one in ledger.handles if ledger.labels[one] == ledger.labels[handle]]
    if len(twins) < 2:
        return False
    got = [one for one in seen.value if one in twins]
    if got == twins:
        return True
    return Broken(
        FailureClass.CORRUPTED,
        f"item {handle} was prioritised, not its equals: their order must be {twins}",
        f"it is {got}",
    )


def _keeps_order(ledger: DequeLedger, seen: Seen) -> Judgement:
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


def _counts_priority(ledger: DequeLedger, seen: Seen) -> Judgement:
    if seen.value == ledger.priority:
        return True
    return Broken(FailureClass.PROTOCOL, f"there are {ledger.priority} priority elements", f"counted were {seen.value}")


def _knows_priority(ledger: DequeLedger, seen: Seen) -> Judgement:
    handle = seen.operands[0]
    owed = handle in ledger.handles[: ledger.priority]
    if seen.value is owed:
        return True
    return Broken(FailureClass.PROTOCOL, f"that item {handle} has priority is {owed}", f"answered was {seen.value}")


def _releases_all(ledger: DequeLedger, seen: Seen) -> Judgement:
    if not ledger.failed:
        return False
    if seen.value == ():
        return True
    return Broken(FailureClass.LEAKED, "a released deque must be empty", f"it holds {list(seen.value)}")


_DEQUE = "deque"
_TICKET = ("FLINK-19681",)

PROPERTIES: tuple[Property, ...] = (
    answers_property(_DEQUE),
    Property(
        "a-poll-takes-the-head", "A poll takes out the head: priority elements first, each part first in, first out.",
        _DEQUE, ("poll",), _polls_head, invariant="I-20", tickets=_TICKET,
    ),
    Property(
        "a-released-deque-is-empty", "After release nothing is held.",
        _DEQUE, ("items",), _releases_all, invariant="I-93",
    ),
    Property(
        "prioritising-means-that-very-item", "Prioritising an item does not touch another that is equal to it.",
        _DEQUE, ("items",), _prioritizes_by_identity, invariant="I-20", tickets=_TICKET,
    ),
    Property(
        "all-others-keep-their-order",
        "Adding, prioritising and removing one item leaves the order of the others alone.",
        _DEQUE, ("items",), _keeps_order, invariant="I-20", tickets=_TICKET,
    ),
    Property(
        "priority-elements-are-counted-right", "The number of priority elements is that of its priority elements.",
        _DEQUE, ("count_priority",), _counts_priority, invariant="I-20", tickets=_TICKET,
    ),
    Property(
        "priority-elements-are-told-from-others", "Asked of one item, the deque knows whether it has priority.",
        _DEQUE, ("contains_priority",), _knows_priority, invariant="I-20", tickets=_TICKET,
    ),
    Property(
        "an-ordinary-item-was-prioritised-past-others", "An item moved forward past another.",
        _DEQUE, ("prioritize",), lambda ledger, seen: ledger.handles.index(seen.operands[0]) > ledger.priority,
        kind=Kind.SOMETIMES, level=Level.SHOULD,
    ),
    Property(
        "an-item-with-priority-was-prioritised-again", "Prioritising had nothing to do.",
        _DEQUE, ("prioritize",), lambda ledger, seen: ledger.handles.index(seen.operands[0]) < ledger.priority,
        kind=Kind.SOMETIMES, level=Level.SHOULD,
    ),
    Property(
        "a-priority-element-was-removed", "An item was taken out of the priority part.",
        _DEQUE, ("remove",), lambda ledger, seen: ledger.handles.index(seen.operands[0]) < ledger.priority,
        kind=Kind.SOMETIMES, level=Level.SHOULD,
    ),
)  # fmt: skip
