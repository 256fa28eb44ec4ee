"""One logical thread."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from conformance.scheduling.lock_order import LockOrder
    from conformance.scheduling.waitables import Lock, Waitable


class Thread:
    """Idle, or in the middle of one operation, paused at a waitable."""

    __slots__ = ("coroutine", "emitted", "held", "name", "operation", "order", "waits_for")

    def __init__(self, name: str, order: LockOrder) -> None:
        self.name = name
        self.order = order
        """Where the locks that it takes are noted."""
        self.held: list[Lock] = []
        """The locks it owns, in the order taken."""
        self.operation: tuple[Any, ...] = ()
        """What it does, or did last; the kernel does not look inside."""
        self.emitted: list[Any] = []
        """What the operation emitted before its last pause; kept for the driver."""
        self.coroutine: Coroutine[Any, Any, Any] | None = None
        self.waits_for: Waitable | None = None

    @property
    def runnable(self) -> bool:
        """Whether it is paused and may go on."""
        return self.waits_for is not None and self.waits_for.ready()
