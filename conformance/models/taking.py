"""Rules for every queue with a consumer: what a take returns, and how elements are numbered and counted."""

from __future__ import annotations

from collections.abc import Callable

from conformance.driver import Broken, FailureClass, Judgement, PortLedger, Seen, shared
from conformance.models.recovery import ends
from conformance.models.words import Description, are
from conformance.ports import BufferAndBacklog, Next

Found = Description | None
"""Describes what could certainly be taken when a take began; None: there was nothing."""
Numbers = Callable[[bool], int | None]
"""Returns the sequence number that the next element with or without priority must carry; None: any."""
Counted = tuple[int, int]
"""The number of queued buffers; the highest number that an implementation may return, since it counts other things,
too."""
Follows = Callable[[BufferAndBacklog], tuple[Next, ...]]
"""Returns the next types that a take may return with this element. If there are several, the first one names what
certainly follows, or what may follow."""


@shared("I-16", formerly=("a-take-answers-what-is-there",))
def a_take_returns_what_is_available(found: Found, seen: Seen[BufferAndBacklog | None]) -> Judgement:
    """If an element or the end of recovered data can be taken when a take begins, the take returns an element or the
    end of recovered data."""
    if found is None:
        return False
    if seen.value is not None or ends(seen.signals):
        return True
    return Broken(FailureClass.STUCK, f"{found()} could be taken when the take began", "the take returned nothing")


_NONE = Next.NONE


def judge_next(owed: tuple[Next, ...], told: Next) -> Judgement:
    """Judges whether the next type is one of those that a take may return."""
    if told in owed:
        return True
    kind = FailureClass.STUCK if told is _NONE else FailureClass.PROTOCOL
    return Broken(
        kind, f"the next type must be {' or '.join(dict.fromkeys(owed))}", f"the take returned the next type {told}"
    )


@shared("I-16")
def the_next_type_names_what_can_be_taken(follows: Follows, seen: Seen[BufferAndBacklog | None]) -> Judgement:
    """A take that returns an element also returns the type of what can be taken next, and the type none if nothing
    can."""
    if seen.value is None:
        return False
    return judge_next(follows(seen.value), seen.value.next)


@shared("I-19")
def sequence_numbers_have_no_gaps(next_number: Numbers, seen: Seen[BufferAndBacklog | None]) -> Judgement:
    """Elements carry the sequence numbers 0, 1, 2 and so on in the order in which they are taken, priority events
    included; the recovered buffers of a channel have a sequence of their own."""
    if seen.value is None:
        return False
    owed = next_number(seen.value.element.data_type.has_priority)
    if owed is None or seen.value.seq == owed:
        return owed is not None
    what = f"the element must carry sequence number {owed}"
    return Broken(FailureClass.PROTOCOL, what, f"it carries {seen.value.seq}")


def judge_count(counted: Counted, got: int) -> Judgement:
    """Judges whether the number of buffers in use lies between the two numbers of `Counted`."""
    least, most = counted
    if least <= got <= most:
        return least > 0
    due = str(least) if least == most else f"{least} to {most}"
    owed = f"{are(least, 'buffer')} queued, so the number of buffers in use must be {due}"
    return Broken(FailureClass.PROTOCOL, owed, f"the number is {got}")


@shared("I-21", ("FLINK-39018",), quiet=True)
def buffers_in_use_count_what_waits(counted: Counted, seen: Seen[int]) -> Judgement:
    """The number of buffers in use counts all queued buffers, recovered ones included; it may also count queued events,
    recovery barriers, the end of recovered data and the backlog of a remote producer."""
    return judge_count(counted, seen.value)


@shared("I-33")
def nothing_is_accepted_after_the_end(ledger: PortLedger, seen: Seen[bool]) -> Judgement:
    """If the producer adds an element after the end of partition or after release, the element is rejected: the result
    is false."""
    if seen.value is False:
        return True
    why = "released" if ledger.released else "finished by its producer"
    return Broken(
        FailureClass.LEAKED, f"the subpartition was {why}: it must reject the element", "it accepted the element"
    )
