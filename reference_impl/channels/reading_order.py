"""In which order a local channel hands out recovered and live elements: one class for each generation of the design.

recovery.md, section 2.7. The caller holds the lock of the channel, except where something else is said.
"""

from __future__ import annotations

from typing import Protocol

from conformance.ports import Next, Recovery, Taken
from reference_impl.channels.recovered_store import RecoveredStore


class View(Protocol):
    """The view of the subpartition, as the channel offers it."""

    async def take_live(self) -> Taken | None:
        """The next element of the view."""

    async def take_priority(self) -> Taken | None:
        """The next element of the view if it has priority."""

    async def next_live(self) -> Next:
        """What the view could hand out now."""


class LiveOnly:
    """Nothing recovered is kept in the channel."""

    def __init__(self, store: RecoveredStore, view: View) -> None:
        self.store = store
        self.view = view

    async def take(self) -> Taken | None:
        """The next element, the end of recovered state included."""
        return await self.view.take_live()

    def priority_announced(self) -> None:
        """A priority event waits in the view. Said without the lock of the channel."""


class HandedOverFirst(LiveOnly):
    """What the recovered channel left behind comes first; only priority events overtake it."""

    def __init__(self, store: RecoveredStore, view: View) -> None:
        super().__init__(store, view)
        self.has_pending_priority = False
        """A priority event was announced; set by whoever announces it."""

    async def take(self) -> Taken | None:
        if not self.store:
            return await self.view.take_live()
        if self.has_pending_priority:
            taken = await self.take_pending()
            if taken is not None:
                return taken
        data, seq = self.store.take()
        return Taken(data, seq, self.store.next_type() if self.store else await self.view.next_live(), 0)

    async def take_pending(self) -> Taken | None:
        """The flag is lowered first: an announcement that comes meanwhile raises it again."""
        self.has_pending_priority = False
        taken = await self.view.take_priority()
        if taken is None:
            return None
        if taken.next is not Next.PRIORITY:
            return Taken(taken.element, taken.seq, self.store.next_type(), taken.backlog)
        self.has_pending_priority = True
        return taken

    def priority_announced(self) -> None:
        self.has_pending_priority = True


class PushedFirst(LiveOnly):
    """In recovery, live elements are hidden; only priority events are not."""

    async def take(self) -> Taken | None:
        if not self.store.in_recovery:
            return await self.view.take_live()
        taken = await self.view.take_priority()
        if taken is not None:
            return self.priority_taken(taken)
        if not self.store:
            return None
        element, seq = self.store.take()
        return Taken(element, seq, self.store.next_type(), 0)

    def priority_taken(self, taken: Taken) -> Taken:
        """Behind it comes another priority event, or what was recovered; nothing that is hidden."""
        following = Next.PRIORITY if taken.next is Next.PRIORITY else self.store.next_type()
        return Taken(taken.element, taken.seq, following, taken.backlog)


READING_ORDER: dict[Recovery, type[LiveOnly]] = {
    Recovery.NONE: LiveOnly,
    Recovery.RECOVER_FIRST: LiveOnly,
    Recovery.IN_MEMORY: HandedOverFirst,
    Recovery.PUSHED: PushedFirst,
}
