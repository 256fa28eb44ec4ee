"""The rules that every queue with a consumer shares: what a take answers, how elements are numbered and counted."""

from __future__ import annotations

from typing import Protocol

from conformance.driver import Broken, FailureClass, Judgement, Seen, shared
from conformance.parts.recovery import ends
from conformance.ports import BufferAndBacklog


class Answering(Protocol):
    """A ledger that knows when a take must answer something."""

    def must_answer(self) -> bool:
        """Whether something could be handed out for certain as the take began."""

    def first(self) -> str:
        """What comes next, in words."""


class Numbered(Protocol):
    """A ledger that knows the number of the next element."""

    def next_number(self, has_priority: bool) -> int | None:
        """The number that the next element must carry, one with or without priority; None: any."""


class Counting(Protocol):
    """A ledger that knows how many buffers wait."""

    def counted(self) -> tuple[int, int] | None:
        """How many buffers wait, and how many an implementation may count that counts events and the end of recovered
        data too; None: nobody can say."""


class Ended(Protocol):
    """A ledger of a queue whose producer can come to an end."""

    released: bool


@shared("I-16")
def a_take_answers_what_is_there(ledger: Answering, seen: Seen[BufferAndBacklog | None]) -> Judgement:
    """A take answers what can be handed out for certain as it begins: an element, or the end of recovered data."""
    if not ledger.must_answer():
        return False
    if seen.value is not None or ends(seen.signals):
        return True
    return Broken(FailureClass.STUCK, f"{ledger.first()} could be taken", "the take answered nothing")


@shared("I-19")
def sequence_numbers_have_no_gaps(ledger: Numbered, seen: Seen[BufferAndBacklog | None]) -> Judgement:
    """Elements are numbered 0, 1, 2, and so on, priority elements included; recovered buffers of a channel are numbered
    apart."""
    if seen.value is None:
        return False
    owed = ledger.next_number(seen.value.element.data_type.has_priority)
    if owed is None or seen.value.seq == owed:
        return owed is not None
    what = f"the next element has number {owed}"
    return Broken(FailureClass.PROTOCOL, what, f"the element carries {seen.value.seq}")


def judge_count(counted: tuple[int, int] | None, got: int) -> Judgement:
    """The number of buffers in use must be one of those that it may be."""
    if counted is None:
        return False
    least, most = counted
    if least <= got <= most:
        return least > 0
    return Broken(FailureClass.PROTOCOL, f"{least} buffers wait", f"it counts {got}")


@shared("I-21", ("FLINK-39018",), quiet=True)
def buffers_in_use_count_what_waits(ledger: Counting, seen: Seen[int]) -> Judgement:
    """The buffers in use are those that wait, recovered ones included; events may be counted too."""
    return judge_count(ledger.counted(), seen.value)


@shared("I-33")
def nothing_is_accepted_after_the_end(ledger: Ended, seen: Seen[bool]) -> Judgement:
    """What is added after the end of the partition, or after release, is rejected."""
    if seen.value is False:
        return True
    why = "released" if ledger.released else "finished by its producer"
    return Broken(FailureClass.LEAKED, f"it was {why}: the element is rejected", "it was accepted")
