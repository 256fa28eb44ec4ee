"""How an exploration recognises states: by their whole digests, or, where these do not fit into memory, by a hash."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from enum import StrEnum
from hashlib import blake2b
from typing import Any


class Recognition(StrEnum):
    """What an exploration remembers of a state."""

    EXACT = "exact"
    """The whole digest: different states are never taken for the same."""
    HASH = "hash"
    """A hash of the digest: different states can be taken for the same, with the odds of `collision_odds`."""


HASH_BITS = 128
"""How wide the hash is."""


class _Numbers(dict[Any, int]):
    """By value, its number. A value that was not met before gets the next one."""

    def __missing__(self, value: Any) -> int:
        number = self[value] = len(self)
        return number


class WideHash:
    """Replaces each digest by a hash of it.

    A digest is a sequence of values. Each value is replaced by its number, in the order in which the exploration met
    the values, and what is hashed is the sequence of these numbers, 64 bits each. Two digests have the same sequence if
    and only if they are equal. So only the hash itself can take different states for the same.
    """

    __slots__ = ("_numbers",)

    def __init__(self) -> None:
        self._numbers = _Numbers()

    def of(self, digest: Iterable[Any]) -> bytes:
        """Returns the hash of a digest."""
        return blake2b(array("Q", map(self._numbers.__getitem__, digest)), digest_size=HASH_BITS // 8).digest()


def collision_odds(recognition: Recognition, states: int) -> float:
    """Returns the probability, at most, that among so many states any two different ones were taken for the same, if
    every hash is equally likely."""
    return 0.0 if recognition is Recognition.EXACT else states * (states - 1) / 2 / 2**HASH_BITS
