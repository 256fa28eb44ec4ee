"""The prioritised deque behind its port. Specification: deque.md."""

from __future__ import annotations

from conformance.ports import DequePort, Item, Resources

from .prioritized_deque import PrioritizedDeque


class _Object:
    """Stands for one `Item`: its handle is its identity, and objects with the same label are equal."""

    def __init__(self, item: Item) -> None:
        self.handle, self.label = item.handle, item.label

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Object) and other.label == self.label

    def __hash__(self) -> int:
        return self.label


class Deque(DequePort):
    """The operations of the port name an element by its handle. They are passed on to the data structure."""

    def __init__(self) -> None:
        self.deque: PrioritizedDeque[_Object] = PrioritizedDeque()
        self.objects: dict[int, _Object] = {}
        """By handle, the object that was added."""

    def add(self, item: Item) -> None:
        """D1. Add an ordinary element at the end (Flink: `PrioritizedDeque.add`)."""
        self.deque.add(self._object(item))

    def add_priority(self, item: Item) -> None:
        """D2. Add a priority element behind the others of its kind (Flink: `addPriorityElement`)."""
        self.deque.add_priority(self._object(item))

    def prioritize(self, handle: int) -> None:
        """D3. Make an element a priority element (Flink: `prioritize`)."""
        self.deque.prioritize(self.objects[handle])

    def remove(self, handle: int) -> None:
        """D4. Remove an element from the middle (Flink: `getAndRemove`)."""
        meant = self.objects[handle]
        self.deque.remove(lambda one: one is meant)

    def poll(self) -> int | None:
        """D5. Remove the head and return its handle, or nothing (Flink: `poll`)."""
        head = self.deque.poll()
        return None if head is None else head.handle

    def contains_priority(self, handle: int) -> bool:
        """D6. Whether this element is a priority element (Flink: `containsPriorityElement`)."""
        return self.deque.contains_priority(self.objects[handle])

    def count_priority(self) -> int:
        """D7. The number of priority elements (Flink: `getNumPriorityElements`)."""
        return self.deque.priority

    def items(self) -> tuple[int, ...]:
        """D8. All handles in their order (Flink: `iterator`)."""
        return tuple(one.handle for one in self.deque)

    def resources(self) -> Resources:
        """D9. The elements are not buffers here, so a deque never holds anything that counts."""
        return Resources(0, 0, 0, 0, 0)

    def release(self) -> None:
        """D9. Drop all elements (Flink: `clear`)."""
        self.deque.clear()

    def _object(self, item: Item) -> _Object:
        """The new object of an item, which later operations name by its handle."""
        self.objects[item.handle] = made = _Object(item)
        return made
