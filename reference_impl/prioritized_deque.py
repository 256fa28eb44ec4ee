"""The prioritised deque as a data structure. Specification: deque.md."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

T = TypeVar("T")


class PrioritizedDeque(Generic[T]):
    """A FIFO whose first `priority` elements are the priority elements. An element is meant by identity."""

    def __init__(self) -> None:
        self.elements: list[T] = []
        self.priority = 0

    def __len__(self) -> int:
        return len(self.elements)

    def __iter__(self) -> Iterator[T]:
        return iter(self.elements)

    def add(self, element: T) -> None:
        self.elements.append(element)

    def add_priority(self, element: T) -> None:
        self.elements.insert(self.priority, element)
        self.priority += 1

    def prioritize(self, element: T) -> None:
        """Move a contained element to the end of the priority part; nothing happens if it is there already."""
        index = self.index(element)
        if index >= self.priority:
            del self.elements[index]
            self.add_priority(element)

    def remove(self, matches: Callable[[T], bool]) -> T:
        """Take out the first element that matches."""
        index = next(index for index, element in enumerate(self.elements) if matches(element))
        if index < self.priority:
            self.priority -= 1
        return self.elements.pop(index)

    def poll(self) -> T | None:
        if not self.elements:
            return None
        self.priority = max(self.priority - 1, 0)
        return self.elements.pop(0)

    def contains_priority(self, element: T) -> bool:
        return any(one is element for one in self.elements[: self.priority])

    def index(self, element: T) -> int:
        return next(index for index, one in enumerate(self.elements) if one is element)

    def clear(self) -> None:
        self.elements.clear()
        self.priority = 0
