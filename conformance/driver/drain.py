"""The fair drain as a list of entries: steps that it repeats while they are due, steps that it does once, and so on.

Every run ends with the drain. It feeds nothing new and completes everything that can be completed; then nothing may be
owed any more. It leaves an entry once it has issued the steps of the entry, whatever the outcomes of these steps are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

L = TypeVar("L")
Step: TypeAlias = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class While(Generic[L]):
    """Does the first step of the table that is due, and begins again with the first, until no step is due."""

    table: tuple[Callable[[L], Step | None], ...]


@dataclass(frozen=True, slots=True)
class Once(Generic[L]):
    """Does these steps in order, unless the condition holds when the drain reaches the entry."""

    steps: tuple[Step, ...]
    unless: Callable[[L], bool] | None = None


@dataclass(frozen=True, slots=True)
class Each(Generic[L]):
    """Does, in order, the steps that the ledger names when the drain reaches the entry."""

    steps: Callable[[L], Sequence[Step]]


@dataclass(frozen=True, slots=True)
class End(Generic[L]):
    """Ends the drain here if the condition holds."""

    when: Callable[[L], bool]


class Drain(Generic[L]):
    """The fair drain of a component, as a list of entries."""

    __slots__ = ("entries",)

    def __init__(self, *entries: While[L] | Once[L] | Each[L] | End[L]) -> None:
        self.entries = entries

    def first(self, ledger: L) -> Step | None:
        """Returns the first step of a drain of which the rest is the drain of the state behind that step.

        None: the drain does not begin by repeating steps while they are due, or none is due.
        """
        entry = self.entries[0]
        if type(entry) is While:
            for due in entry.table:
                if (step := due(ledger)) is not None:
                    return step
        return None

    def begin(self) -> Draining[L]:
        """Begins the drain of one run."""
        return Draining(self.entries)


class Draining(Generic[L]):
    """The drain of one run, with its position in the list of entries."""

    __slots__ = ("_at", "_entries", "_todo")

    def __init__(self, entries: tuple[While[L] | Once[L] | Each[L] | End[L], ...]) -> None:
        self._entries = entries
        self._at = 0
        self._todo: list[Step] = []
        """The steps of the entry before `_at` that are not issued yet, the last one first."""

    def next(self, ledger: L) -> Step | None:
        """Returns the next step, or None if the drain is over."""
        entries, todo = self._entries, self._todo
        while not todo:
            if self._at == len(entries):
                return None
            entry = entries[self._at]
            if type(entry) is While:
                for due in entry.table:
                    if (step := due(ledger)) is not None:
                        return step
            elif type(entry) is Once:
                if entry.unless is None or not entry.unless(ledger):
                    todo.extend(reversed(entry.steps))
            elif type(entry) is Each:
                todo.extend(reversed(entry.steps(ledger)))
            elif type(entry) is End and entry.when(ledger):
                self._at = len(entries)
                return None
            self._at += 1
        return todo.pop()
