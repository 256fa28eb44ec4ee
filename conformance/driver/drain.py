"""The fair drain as a list: what is done while something is due, what is done once, what is looked at one by one.

Every run ends in it: nothing new is fed, everything that can happen does, and nothing owed may be left. It advances as
its steps are issued, never by what a step learns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

L = TypeVar("L")
Step: TypeAlias = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class While(Generic[L]):
    """The first step that is due is done, and the list looked at again, until none is."""

    table: tuple[Callable[[L], Step | None], ...]


@dataclass(frozen=True, slots=True)
class Once(Generic[L]):
    """These steps one after the other, unless the condition holds when it is their turn."""

    steps: tuple[Step, ...]
    unless: Callable[[L], bool] | None = None


@dataclass(frozen=True, slots=True)
class Each(Generic[L]):
    """The steps that the ledger names when it is their turn, one by one."""

    steps: Callable[[L], Sequence[Step]]


@dataclass(frozen=True, slots=True)
class End(Generic[L]):
    """The drain is over here if the condition holds."""

    when: Callable[[L], bool]


class Drain(Generic[L]):
    """The fair drain of a component, as a list."""

    __slots__ = ("entries",)

    def __init__(self, *entries: While[L] | Once[L] | Each[L] | End[L]) -> None:
        self.entries = entries

    def begin(self) -> Draining[L]:
        """One run of it."""
        return Draining(self.entries)


class Draining(Generic[L]):
    """How far the drain of one run is."""

    __slots__ = ("_at", "_entries", "_todo")

    def __init__(self, entries: tuple[While[L] | Once[L] | Each[L] | End[L], ...]) -> None:
        self._entries = entries
        self._at = 0
        self._todo: list[Step] = []
        """What is left of the entry before `_at`, last first."""

    def next(self, ledger: L) -> Step | None:
        """The next step; None when the run is over."""
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
