"""The record ids in elements, and the comparison of record ids that came with those that had to come."""

from __future__ import annotations

from collections.abc import Iterable

from conformance.driver import FailureClass
from conformance.ports import Buffer, Element


def records(elements: Iterable[Element]) -> tuple[int, ...]:
    """Returns the ids of the records in these elements, in order."""
    return tuple([one for element in elements if type(element) is Buffer for one in element.ids])


def in_words(ids: Iterable[int | str]) -> str:
    """Describes records by their ids: `record 1` or `records 1, 2`; without an id, `no record`."""
    numbers = [str(one) for one in ids]
    if not numbers:
        return "no record"
    return f"record{'s' if len(numbers) > 1 else ''} {', '.join(numbers)}"


def were(ids: Iterable[int]) -> str:
    """Describes records as the subject of a sentence in the passive voice: `record 1 was` or `records 1, 2 were`."""
    found = tuple(ids)
    return f"{in_words(found)} {'were' if len(found) > 1 else 'was'}"


def compare_ids(expected: tuple[int, ...], got: tuple[int, ...], past: int) -> FailureClass:
    """Returns in which way `got` differs from the `expected` record ids; ids below `past` were delivered before."""
    if any(one < past for one in got) or len(set(got)) < len(got):
        return FailureClass.DUPLICATED
    if any(one < 0 for one in got):
        return FailureClass.CORRUPTED
    if sorted(got) == sorted(expected):
        return FailureClass.REORDERED
    if set(got) <= set(expected) or (got and got[0] > past):
        return FailureClass.LOST
    return FailureClass.CORRUPTED
