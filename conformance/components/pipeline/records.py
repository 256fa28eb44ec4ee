"""Sets of records that grow roughly in the order of their positions, as those that a sink has committed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from conformance.ports import RECORDS_OF_A_SPLIT, record, split_of


class RecordSet:
    """For each split, all records in front of a position, and some behind it.

    Records come in nearly the order of their positions, so that few lie behind: to add one, and to name those that are
    missing, takes as long as those few need, however many there are."""

    __slots__ = ("behind", "front", "size")

    def __init__(self) -> None:
        """There is none yet."""
        self.front: dict[int, int] = {}
        """By split, the first record that is not in the set."""
        self.behind: set[int] = set()
        """Those behind the first one that is missing."""
        self.size = 0

    def __contains__(self, record: int) -> bool:
        split = record // RECORDS_OF_A_SPLIT
        return record < self.front.get(split, split * RECORDS_OF_A_SPLIT) or record in self.behind

    def add(self, record: int) -> bool:
        """Adds a record. Returns False if it was there already."""
        split = record // RECORDS_OF_A_SPLIT
        first = self.front.get(split, split * RECORDS_OF_A_SPLIT)
        if record != first:
            if record < first or record in self.behind:
                return False
            self.behind.add(record)
        else:
            first += 1
            behind = self.behind
            while first in behind:
                behind.remove(first)
                first += 1
            self.front[split] = first
        self.size += 1
        return True

    def missing(self, split: int, position: int, without: Iterable[int] = ()) -> Iterator[int]:
        """Yields the records of a split in front of a position that are not in the set, as if those in `without` were
        not, either."""
        end, taken = record(split, position), sorted(one for one in without if split_of(one) == split)
        first = self.front.get(split, record(split, 0))
        for one in taken:
            if one < min(first, end):
                yield one
        gone = set(taken)
        for one in range(first, end):
            if one not in self.behind or one in gone:
                yield one

    @classmethod
    def up_to(cls, positions: Iterable[tuple[int, int]], without: set[int]) -> RecordSet:
        """Returns a set of the records of splits in front of positions, but for those in `without`."""
        made = cls()
        first: dict[int, int] = {}
        for one in without:
            split = split_of(one)
            first[split] = min(one, first.get(split, one))
        for split, position in positions:
            end = record(split, position)
            begin = made.front[split] = min(first.get(split, end), end)
            made.size += begin - record(split, 0)
            for one in range(begin, end):
                if one not in without:
                    made.add(one)
        return made
