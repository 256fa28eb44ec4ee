"""What the ledger of a writer knows of things that belong to the writer once they are handed in: it gives back each."""

from __future__ import annotations

_NOT_BUFFERS = 1_000_000
"""The records of snapshots are numbered from here on, so that none is mistaken for that of a buffer."""


def spilled_pieces(snapshot: int, channels: str) -> tuple[tuple[int, int], ...]:
    """Returns what a snapshot has, piece by piece: the channel and the record."""
    first = _NOT_BUFFERS + 10 * snapshot
    return tuple((int(channel), first + number) for number, channel in enumerate(channels))


class HandedIn:
    """Buffers, by the number of their record, or snapshots of spill files, by their number."""

    __slots__ = ("given_back_early", "given_back_twice", "held", "owed", "total")

    def __init__(self) -> None:
        self.total = 0
        """How many were handed in. They are numbered from 0."""
        self.held: list[int] = []
        """Those that were not given back."""
        self.owed: list[int] = []
        """Those of them that must be given back when no operation is in flight."""
        self.given_back_twice = -1
        """One that was given back twice, or was never handed in; -1: none was."""
        self.given_back_early = -1
        """One that was given back before it was written; -1: none was."""

    def hand_in(self, count: int = 1) -> tuple[int, ...]:
        """Notes that the next ones are handed in. Returns them."""
        self.total += count
        new = self.newest(count)
        self.held += new
        return new

    def newest(self, count: int) -> tuple[int, ...]:
        """Returns those that were handed in last."""
        return tuple(range(self.total - count, self.total))

    def owe(self, handed_in: tuple[int, ...]) -> None:
        """Notes that the writer needs these no more."""
        self.owed += [one for one in handed_in if one in self.held and one not in self.owed]

    def give_back(self, one: int) -> bool:
        """Notes that the writer has given one back. Returns whether that came before it had to."""
        if one not in self.held:
            self.given_back_twice = one
            return False
        self.held.remove(one)
        if one in self.owed:
            self.owed.remove(one)
            return False
        return True
