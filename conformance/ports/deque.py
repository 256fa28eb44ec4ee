"""The prioritised deque: the queue inside subpartitions, channels and gates (Flink: `PrioritizedDeque`)."""

from __future__ import annotations

from abc import abstractmethod

from msgspec import Struct

from conformance.ports.port import Answer, Port


class DequeConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """A deque needs no configuration."""


class Item(Struct, frozen=True):
    """An object put into a deque. `handle` is its identity; two items with one `label` are equal but not the same."""

    handle: int
    label: int


class DequePort(Port):
    """A FIFO whose first elements are the priority elements. Specification: deque.md.

    The handle in an operation names one object, never another one that is equal to it. The driver never names an item
    that is not contained. After `release`, only `count_priority`, `items`, `resources` and `release` are called.
    """

    @abstractmethod
    def add(self, item: Item) -> Answer[None]:
        """Append an item behind all others."""

    @abstractmethod
    def add_priority(self, item: Item) -> Answer[None]:
        """Insert an item behind the last priority element and in front of all others."""

    @abstractmethod
    def prioritize(self, handle: int) -> Answer[None]:
        """Make a contained item the last of the priority elements; nothing happens if it is one already.

        All others keep their order.
        """

    @abstractmethod
    def remove(self, handle: int) -> Answer[None]:
        """Take one contained item out, wherever it is (Flink: `getAndRemove`)."""

    @abstractmethod
    def poll(self) -> Answer[int | None]:
        """Remove the head and return its handle; `None` if there is nothing."""

    @abstractmethod
    def contains_priority(self, handle: int) -> Answer[bool]:
        """Whether the item is a priority element."""

    @abstractmethod
    def count_priority(self) -> Answer[int]:
        """How many priority elements there are."""

    @abstractmethod
    def items(self) -> Answer[tuple[int, ...]]:
        """The handles of all elements, head first."""
