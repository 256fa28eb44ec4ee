"""Sets of records, as the borders of what is there without a gap, and the order in which records were stored."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice

from conformance.driver import FailureClass
from conformance.models.records import in_words
from conformance.ports import KEYS, Run, key_of, record, split_of

_FEW = 6
"""How many records a message names."""


def named(records: Iterable[int], name: Callable[[int], str] = str) -> str:
    """Names a few records. `name`: returns the name of one."""
    return in_words(map(name, islice(records, _FEW)))


def _pieces(run: Run) -> Iterator[tuple[int, int, int]]:
    """Yields a run by key: its lane, the first record, and the one that would come next with this key."""
    first, last, step = run.first, run.last, run.step
    if step == 1:
        firsts = range(first, min(first + KEYS, last + 1))
    else:
        firsts = range(first, min(first, last) + 1) if step == KEYS else range(first, last + 1, step)
    for one in firsts:
        many = 1 + (last - one) // KEYS if step in (1, KEYS) else 1
        yield split_of(one) * KEYS + key_of(one), one, one + many * KEYS


class Records:
    """A set of records. What it takes depends on the gaps in it, by split and key, and not on how many there are."""

    __slots__ = ("lanes",)

    def __init__(self) -> None:
        self.lanes: dict[int, list[int]] = {}
        """By split and key: from where on there are records, up to where, from where on again, and so on."""

    @classmethod
    def up_to(cls, counts: Mapping[int, int], splits: Iterable[int]) -> Records:
        """Returns the first records of splits, so many of each as counts say."""
        made = cls()
        made.add(Run(record(split, 0), record(split, counts[split]) - 1) for split in splits)
        return made

    def copy(self) -> Records:
        """Returns another set of these records."""
        made = Records()
        made.lanes = {lane: borders.copy() for lane, borders in self.lanes.items()}
        return made

    def add(self, runs: Iterable[Run]) -> list[int]:
        """Adds records. Returns a few of those that were there already."""
        twice: list[int] = []
        for run in runs:
            for lane, first, end in _pieces(run):
                borders = self.lanes.setdefault(lane, [])
                if borders and first < borders[-1]:
                    at = bisect_right(borders, first) // 2 * 2
                    while at < len(borders) and borders[at] < end:
                        twice += range(max(first, borders[at]), min(end, borders[at + 1]), KEYS)[:_FEW]
                        at += 2
                _set(borders, first, end, True)
        return twice

    def remove(self, runs: Iterable[Run]) -> None:
        """Removes records, as far as they are there."""
        for run in runs:
            for lane, first, end in _pieces(run):
                _set(self.lanes.get(lane, []), first, end, False)

    def without(self, others: Records) -> list[int]:
        """Returns a few of those that are not among others."""
        left: list[int] = []
        for lane, borders in self.lanes.items():
            there = others.lanes.get(lane, [])
            if there != borders:
                mine = borders.copy()
                for begin, stop in zip(there[::2], there[1::2], strict=True):
                    _set(mine, begin, stop, False)
                for begin, stop in zip(mine[::2], mine[1::2], strict=True):
                    left += range(begin, stop, KEYS)[:_FEW]
        return sorted(left)


def differences(there: Records, twice: Iterable[int], owed: Records) -> Iterator[tuple[FailureClass, str]]:
    """Yields what is wrong where certain records must be, each once, and no others."""
    if left := owed.without(there):
        yield FailureClass.LOST, f"{named(left)}: missing"
    if twice:
        yield FailureClass.DUPLICATED, f"{named(twice)}: twice"
    if more := there.without(owed):
        yield FailureClass.CORRUPTED, f"{named(more)}: there, too"


def _set(borders: list[int], first: int, end: int, there: bool) -> None:
    """Lets records of a lane be there, or not."""
    at, to = bisect_left(borders, first), bisect_right(borders, end)
    outside = 0 if there else 1
    borders[at:to] = [first] * (at % 2 == outside) + [end] * (to % 2 == outside)


def unordered(runs: Iterable[Run], by_key: bool) -> Iterator[tuple[int, int]]:
    """Yields each record that is behind a later one of its split, or of its split and key, with that one."""
    ends: dict[int, int] = {}
    for run in runs:
        for lane, first, end in _pieces(run) if by_key else ((split_of(run.first), run.first, run.last + 1),):
            if first < ends.get(lane, 0):
                yield first, ends[lane] - (KEYS if by_key else 1)
            ends[lane] = end
