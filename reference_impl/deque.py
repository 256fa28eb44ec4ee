"""The prioritised deque behind its port."""

from __future__ import annotations

from conformance.ports import DequePort, Item, Resources

from .prioritized_deque import PrioritizedDeque


class _Object:
    """An object as a user of the deque has it: equal to others with its label, and yet itself."""

    def __init__(self, item: Item) -> None:
        self.handle, self.label = item.handle, item.label

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Object) and other.label == self.label

    def __hash__(self) -> int:
        return self.label


class Deque(DequePort):
    """Objects by handle, around the data structure that the subpartition uses too."""

    def __init__(self) -> None:
        self.deque: PrioritizedDeque[_Object] = PrioritizedDeque()
        self.objects: dict[int, _Object] = {}

    def add(self, item: Item) -> None:
        self.deque.add(self._object(item))

    def add_priority(self, item: Item) -> None:
        self.deque.add_priority(self._object(item))

    def prioritize(self, handle: int) -> None:
        self.deque.prioritize(self.objects[handle])

    def remove(self, handle: int) -> None:
        meant = self.objects[handle]
        self.deque.remove(lambda one: one is meant)

    def poll(self) -> int | None:
        head = self.deque.poll()
        return None if head is None else head.handle

    def contains_priority(self, handle: int) -> bool:
        return self.deque.contains_priority(self.objects[handle])

    def count_priority(self) -> int:
        return self.deque.priority

    def items(self) -> tuple[int, ...]:
        return tuple(one.handle for one in self.deque)

    def resources(self) -> Resources:
        return Resources()

    def release(self) -> None:
        self.deque.clear()

    def _object(self, item: Item) -> _Object:
        self.objects[item.handle] = made = _Object(item)
        return made
