"""Who has looked for something to do and found nothing since something else last happened."""

from __future__ import annotations

from typing import Generic, TypeVar

L = TypeVar("L", bound="str | int")


class Lookers(Generic[L]):
    """Several threads, or several places where one thread looks.

    When all have found nothing, and nothing has happened since the first of them looked, nothing more can happen by
    itself: then rules may ask what is left, and a drain need not go on.
    """

    __slots__ = ("nothing",)

    def __init__(self, *lookers: L) -> None:
        """Nobody has looked yet."""
        self.nothing: dict[L, bool] = dict.fromkeys(lookers, False)
        """By looker, in the given order: whether it has found nothing."""

    def wake(self) -> None:
        """Notes that something happens, so that there may be something to do."""
        if True in self.nothing.values():
            self.nothing = dict.fromkeys(self.nothing, False)

    def look(self, looker: L, nothing: bool) -> None:
        """Notes that a looker found nothing, for certain; if not, it may have done something."""
        if nothing:
            self.nothing[looker] = True
        else:
            self.wake()

    def found_nothing(self, looker: L) -> bool:
        """Returns whether this looker has found nothing."""
        return self.nothing[looker]

    def all_found_nothing(self) -> bool:
        """Returns whether all have found nothing."""
        return all(self.nothing.values())
