"""The ledger of a deque: the items that it must contain, by handle."""

from __future__ import annotations

from conformance.driver import PortLedger, Seen


class Ledger(PortLedger):
    """The handles of the items, head first; the first `priority` of them are priority elements."""

    __slots__ = ("handles", "labels", "prioritized", "priority")

    def __init__(self) -> None:
        super().__init__()
        self.begin_life("live")
        self.handles: list[int] = []
        self.labels: dict[int, int] = {}
        self.priority = 0
        self.prioritized = -1
        """The item that was prioritised since the step `items` was last run, or -1."""

    def next_handle(self) -> int:
        """Returns the handle of the next item. Handles are not used again."""
        return len(self.labels)

    def add(self, label: int) -> None:
        """Notes that a new item was added behind all others."""
        self.handles.append(self._new(label))

    def add_priority(self, label: int) -> None:
        """Notes that a new item was added behind the last priority element."""
        self.handles.insert(self.priority, self._new(label))
        self.priority += 1

    def _new(self, label: int) -> int:
        handle = self.next_handle()
        self.labels[handle] = label
        return handle

    def prioritize(self, handle: int) -> None:
        """Notes that an item became the last priority element; one that has priority already does not move."""
        self.prioritized = handle
        index = self.handles.index(handle)
        if index >= self.priority:
            del self.handles[index]
            self.handles.insert(self.priority, handle)
            self.priority += 1

    def remove(self, handle: int) -> None:
        """Notes that an item was removed."""
        index = self.handles.index(handle)
        if index < self.priority:
            self.priority -= 1
        del self.handles[index]

    def poll(self, seen: Seen[int | None]) -> None:
        """Notes that the head was polled."""
        if self.handles:
            del self.handles[0]
            self.priority = max(self.priority - 1, 0)

    def look(self) -> None:
        """Notes that an observer read the content."""
        self.prioritized = -1

    def fail(self) -> None:
        """Notes that the deque was released."""
        super().fail()
        self.handles = []
        self.priority = 0
