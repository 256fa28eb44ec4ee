"""One logical thread."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from conformance.scheduling.lock_order import LockOrder
    from conformance.scheduling.waitables import Lock, Waitable


class Thread:
    """A logical thread. It is idle, or it is in the middle of one operation and paused at a waitable."""

    __slots__ = ("case", "coroutine", "emitted", "held", "name", "open_ended", "operation", "order", "waits_for")

    def __init__(self, name: str, order: LockOrder) -> None:
        self.name = name
        self.order = order
        """Records the order in which the thread takes locks."""
        self.held: list[Lock] = []
        """The locks that the thread holds, in the order in which it took them."""
        self.operation: tuple[Any, ...] = ()
        """The step that the thread performs, or performed last. The kernel uses only its name, in texts."""
        self.case = 0
        """In which case of the step the operation began. The kernel keeps this for the driver."""
        self.emitted: list[Any] = []
        """The signals that the operation emitted before its last pause. The kernel keeps them for the driver."""
        self.open_ended = False
        """Whether the task failed while the operation was in flight, so that it may end in any way. The kernel keeps
        this for the driver, too."""
        self.coroutine: Coroutine[Any, Any, Any] | None = None
        self.waits_for: Waitable | None = None

    @property
    def runnable(self) -> bool:
        """Whether the thread is paused and can go on."""
        return self.waits_for is not None and self.waits_for.ready()
