"""The prioritised deque as a data structure. Specification: deque.md."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

T = TypeVar("T")


class PrioritizedDeque(Generic[T]):
    """Priority elements in front, ordinary elements behind them, and each part first in, first out.

    An element is meant by identity and never by equality.
    """

    def __init__(self) -> None:
        self.elements: list[T] = []
        """All elements in their order, head first."""
        self.priority = 0
        """Priority count: how many elements at the head are the priority elements."""

    def __len__(self) -> int:
        """D8. The number of all elements."""
        return len(self.elements)

    def __iter__(self) -> Iterator[T]:
        """D8. All elements in their order, head first (Flink: `PrioritizedDeque.iterator`)."""
        return iter(self.elements)

    def add(self, element: T) -> None:
        """D1. Add an ordinary element at the end (Flink: `add`)."""
        self.elements.append(element)

    def add_priority(self, element: T) -> None:
        """D2. Add a priority element behind the other priority elements (Flink: `addPriorityElement`)."""
        self.elements.insert(self.priority, element)
        self.priority += 1

    def prioritize(self, element: T) -> None:
        """D3. The caller names an element that the deque contains (Flink: `prioritize`)."""
        index = self.index(element)
        if index >= self.priority:
            del self.elements[index]
            self.add_priority(element)

    def remove(self, matches: Callable[[T], bool]) -> T:
        """D4. Remove and return the first element that matches (Flink: `getAndRemove`)."""
        index = next(index for index, element in enumerate(self.elements) if matches(element))
        if index < self.priority:
            self.priority -= 1
        return self.elements.pop(index)

    def poll(self) -> T | None:
        """D5. Remove the head; None if there is none (Flink: `poll`)."""
        if not self.elements:
            return None
        self.priority = max(self.priority - 1, 0)
        return self.elements.pop(0)

    def contains_priority(self, element: T) -> bool:
        """D6. Whether this very element is a priority element (Flink: `containsPriorityElement`)."""
        return any(one is element for one in self.elements[: self.priority])

    def index(self, element: T) -> int:
        """D3. The position of this very element, not of one that is equal to it."""
        return next(index for index, one in enumerate(self.elements) if one is element)

    def clear(self) -> None:
        """D9. Drop all elements (Flink: `clear`)."""
        self.elements.clear()
        self.priority = 0
