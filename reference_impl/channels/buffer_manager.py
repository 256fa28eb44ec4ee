"""The buffers of a remote channel, and what the producer is told of them. Specification: remote-channel.md."""

from __future__ import annotations

from typing import Any

from conformance.scheduling import Lock


class FloatingPool:
    """Buffers that the channels of a gate share. A channel that found none is told of one that comes back.

    It is told after the lock of the pool was let go: its own lock comes before that of the pool.
    """

    def __init__(self, size: int) -> None:
        self.lock = Lock("buffer pool lock")
        self.free = size
        self.waiting: list[BufferManager] = []

    async def request(self, manager: BufferManager) -> bool:
        """Take one buffer, or wait in line for it."""
        async with self.lock:
            if self.free:
                self.free -= 1
                return True
            if manager not in self.waiting:
                self.waiting.append(manager)
            return False

    async def give_back(self) -> None:
        """One buffer is free again: for whoever waits longest and still wants it."""
        while True:
            async with self.lock:
                if not self.waiting:
                    self.free += 1
                    return
                manager = self.waiting.pop(0)
            if await manager.floating_available():
                break
        await manager.stand_in_line()


class BufferManager:
    """Exclusive buffers, which the channel keeps, and floating ones, which it borrows while the producer has a backlog.

    The caller holds the lock of the channel, unless said otherwise. While `announcing` is open, credits announced less
    data received are the buffers set aside.
    """

    def __init__(self, channel: Any, initial_credit: int, pool: FloatingPool) -> None:
        self.channel = channel
        self.initial_credit = initial_credit
        self.pool = pool
        self.announcing = True
        self.exclusive = self.floating = 0
        """Set aside for live data."""
        self.required = initial_credit
        self.queued: list[str] = []
        """The kinds of the buffers in the queues of the channel, in the order in which they are handed out."""
        self.taken: list[str] = []
        """Those in the hands of the consumer."""

    def assign_exclusive(self) -> None:
        """The connection is made: its request carries the initial credit, unless in recovery."""
        self.exclusive += self.initial_credit

    def available(self) -> int:
        """Buffers set aside for live data."""
        return self.exclusive + self.floating

    def held(self) -> int:
        """All that this channel has taken from pools."""
        return self.available() + sum(kind != "heap" for kind in [*self.queued, *self.taken])

    def take_for_live(self) -> None:
        """Data arrived, into a floating buffer if there is one. The producer's backlog is shorter by it."""
        self.required -= 1
        self.queued.append(self.take_one())

    def take_for_recovered(self) -> None:
        """A recovered buffer was pushed; where none is left it has memory of its own."""
        self.queued.append(self.take_one())

    def take_one(self) -> str:
        if self.floating:
            self.floating -= 1
            return "floating"
        if self.exclusive:
            self.exclusive -= 1
            return "exclusive"
        return "heap"

    def hand_out(self) -> None:
        """The consumer took a data buffer; one that was handed over by a recovered channel is not of this manager."""
        if self.queued:
            self.taken.append(self.queued.pop(0))

    async def request_floating(self, backlog: int) -> int:
        """Borrow what the backlog asks for. Answers how many more buffers there are now."""
        self.required = backlog + self.initial_credit
        return await self.fill()

    async def fill(self) -> int:
        """Borrow as far as there are any, then wait in line for the rest. Answers how many came."""
        got = 0
        while self.available() < self.required and await self.pool.request(self):
            self.floating += 1
            got += 1
        return got

    async def stand_in_line(self) -> None:
        """A buffer was got, and more may be wanted still. No lock is held."""
        async with self.channel.lock:
            credit = 0 if self.channel.released else await self.fill()
        self.announce(credit)

    async def floating_available(self) -> bool:
        """A buffer came back for which this channel waited. Whether it is wanted still. No lock is held."""
        async with self.channel.lock:
            wanted = not self.channel.released and self.available() < self.required
            if wanted:
                self.floating += 1
        if wanted:
            self.announce(1)
        return wanted

    def recycle(self, released: bool) -> tuple[int, int]:
        """The consumer is done with a buffer: how many floating ones to give back, and how many to announce."""
        kind = self.taken.pop(0) if self.taken else "heap"
        if kind == "floating":
            return 1, 0
        if kind == "heap" or released:
            return 0, 0
        self.exclusive += 1
        if self.floating and self.available() > self.required:  # it replaces a borrowed one
            self.floating -= 1
            return 1, 0
        return 0, 1

    def release_floating(self) -> int:
        """Give up what is borrowed and not in use, and stand in no line for more."""
        self.required = 0
        freed, self.floating = self.floating, 0
        return freed

    def open(self) -> int:
        """Recovery is over: the producer may know what is really free."""
        self.announcing = True
        return self.available()

    def announce(self, credit: int) -> None:
        """Tell the producer; no lock is held."""
        if credit and self.announcing:
            self.channel.listener.credit_announced(self.channel, credit)

    async def give_back(self, count: int) -> None:
        """Return floating buffers; no lock is held."""
        for _ in range(count):
            await self.pool.give_back()

    def release(self) -> int:
        """The channel is gone: what is not in the hands of the consumer is free. Answers the floating ones."""
        freed = self.floating + sum(kind == "floating" for kind in self.queued)
        self.exclusive = self.floating = 0
        self.queued = []
        return freed
