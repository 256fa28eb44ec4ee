"""The buffers of a remote channel, and the credit that its producer gets for them. Specification: remote-channel.md."""

from __future__ import annotations

from typing import Any

from conformance.ports import CONNECTION, PortError
from conformance.scheduling import Lock


class FloatingPool:
    """The floating pool: a number of free buffers, and a line of buffer managers that wait for one.

    A buffer manager is offered a buffer while the buffer pool lock is not held, because it takes its channel lock,
    which comes before the buffer pool lock in the order of locks.
    """

    def __init__(self, size: int, lock_type: type[Lock]) -> None:
        self.lock = lock_type("buffer pool lock")
        self.free = size
        """The number of free buffers."""
        self.waiting: list[BufferManager] = []
        """The line: the buffer managers that wait for a buffer, in their order."""

    async def request(self, manager: BufferManager) -> bool:
        """R14. Returns whether a buffer was lent. If none is free, the buffer manager stands in line, once (Flink:
        `BufferPool.requestBuffer`, `addBufferListener`)."""
        async with self.lock:
            if self.free:
                self.free -= 1
                return True
            if manager not in self.waiting:
                self.waiting.append(manager)
            return False

    async def leave(self, manager: BufferManager) -> None:
        """R34. A released buffer manager waits for no buffer any more."""
        async with self.lock:
            if manager in self.waiting:
                self.waiting.remove(manager)

    async def give_back(self) -> None:
        """R15, R16. A buffer returns: it is offered to the buffer managers in line, or becomes free (Flink:
        `LocalBufferPool.recycle`, `fireBufferAvailableNotification`)."""
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
    """The exclusive buffers of a channel, and the floating buffers that it borrows while its producer has a backlog.

    The caller holds the channel lock, unless a method says otherwise. While announcing is open, the credit announced
    less the data received is the number of buffers set aside (I-96).
    """

    def __init__(self, channel: Any, initial_credit: int, pool: FloatingPool, handed_over: int = 0) -> None:
        self.channel = channel
        self.initial_credit = initial_credit
        self.pool = pool
        self.announcing = True
        """Announcing: buffers that become free are announced to the producer as credit."""
        self.exclusive = self.floating = 0
        """Set aside: free buffers for live data, some exclusive, some floating."""
        self.borrowed = 0
        """The number of floating buffers that came from the pool and have not returned to it, wherever they are."""
        self.required = initial_credit
        """Required: how many buffers set aside the last backlog asks for."""
        self.queued = ["handed over"] * handed_over
        """In use: of each data buffer that waits in the channel: exclusive, floating, or own memory (`heap`).

        Buffers that were handed over stand in front of all others (R1).
        """
        self.taken: list[str] = []
        """In use: the same for the data buffers that are with the consumer."""
        self.copied = 0
        """How many of the buffers that are with the consumer were copied by the gate, so that they are recycled at once
        (R18), or by a release that comes first (R34)."""

    def assign_exclusive(self) -> None:
        """R21. Set the exclusive buffers aside (Flink: `requestExclusiveBuffers`)."""
        self.exclusive += self.initial_credit

    def available(self) -> int:
        """R33. The number of buffers that are set aside (Flink: `AvailableBufferQueue.getAvailableBufferSize`)."""
        return self.exclusive + self.floating

    def held(self) -> int:
        """I-93. All buffers that are set aside or in use, except memory of its own, which belongs to no pool.

        Floating buffers count until they return to the pool, also on their way to it.
        """
        used = self.queued + self.taken
        return self.exclusive + self.borrowed + used.count("exclusive") + used.count("handed over")

    def own(self) -> int:
        """I-93. The number of data buffers in memory of its own that wait in the channel or are with the consumer."""
        return (self.queued + self.taken).count("heap")

    def take_for_live(self) -> None:
        """R13. A data buffer has arrived, and takes one that is set aside (Flink: `requestBuffer`, called by the
        network thread)."""
        self.required -= 1
        self.queued.append(self.take_one())

    def take_for_recovered(self) -> None:
        """R19. A recovered buffer takes one that is set aside, since it waits in the same channel (Flink:
        `RecoveredInputChannel` asks `BufferManager.requestBufferBlocking`)."""
        self.queued.append(self.take_one())

    def take_one(self) -> str:
        """R13. A floating buffer before an exclusive one; memory of its own if no buffer is set aside (Flink:
        `AvailableBufferQueue.takeBuffer`)."""
        if self.floating:
            self.floating -= 1
            return "floating"
        if self.exclusive:
            self.exclusive -= 1
            return "exclusive"
        return "heap"

    def hand_out(self) -> None:
        """R22. The data buffer in front is with the consumer now."""
        self.taken.append(self.queued.pop(0))

    async def request_floating(self, backlog: int) -> int:
        """R14. Returns how many buffers were borrowed (Flink: `requestFloatingBuffers`)."""
        self.required = backlog + self.initial_credit
        return await self.fill()

    async def fill(self) -> int:
        """R14, R16. Borrow as many as are required, or stand in line. Returns how many buffers were borrowed (Flink:
        `tryRequestBuffers`)."""
        got = 0
        while self.available() < self.required and await self.pool.request(self):
            self.add_floating()
            got += 1
        return got

    def add_floating(self) -> None:
        """R14, R16. Set a floating buffer aside that the pool lent."""
        self.floating += 1
        self.borrowed += 1

    async def stand_in_line(self) -> None:
        """R16. Borrow more after an offered buffer was set aside. The caller holds no lock."""
        async with self.channel.lock:
            credit = 0 if self.channel.released else await self.fill()
        await self.announce_offered(credit)

    async def floating_available(self) -> bool:
        """R16. Returns whether the offered buffer is wanted. The caller holds no lock (Flink: `notifyBufferAvailable`,
        a `BufferListener`)."""
        async with self.channel.lock:
            wanted = not self.channel.released and self.available() < self.required
            if wanted:
                self.add_floating()
        if wanted:
            await self.announce_offered(1)
        return wanted

    async def announce_offered(self, credit: int) -> None:
        """R16, R17, R38. The caller that gave the buffer back does not get an error of this channel."""
        try:
            self.announce(credit)
        except PortError:
            await self.channel.keep_error()

    def recycle(self, released: bool) -> tuple[int, int]:
        """R18. Returns how many floating buffers return to the pool, and how much credit is announced (Flink:
        `BufferManager.recycle`, `AvailableBufferQueue.addExclusiveBuffer`)."""
        kind = self.taken.pop(0)
        self.copied = max(self.copied - 1, 0)
        if kind == "floating":
            return 1, 0
        if kind != "exclusive" or released:
            return 0, 0
        self.exclusive += 1
        if self.floating and self.available() > self.required:  # the exclusive buffer takes its place
            self.floating -= 1
            return 1, 0
        return 0, 1

    def release_floating(self) -> int:
        """R12. Returns how many floating buffers return to the pool. A further one is not wanted (R16) (Flink:
        `releaseFloatingBuffers`)."""
        self.required = 0
        freed, self.floating = self.floating, 0
        return freed

    async def open(self) -> int:
        """R25. Returns the number of buffers set aside, which is the credit to announce.

        Recovered data took buffers that the backlog requires; floating ones take their place (R14).
        """
        if not self.channel.released:
            await self.fill()
        self.announcing = True
        return self.available()

    def announce(self, credit: int) -> None:
        """R17, R38. Announce credit to the producer, unless nothing is announced yet. The caller does not hold the
        channel lock (Flink: `notifyBufferAvailable`, `notifyCreditAvailable`)."""
        if credit and self.announcing:
            self.channel.faults.reach(CONNECTION)
            self.channel.listener.credit_announced(self.channel, credit)

    async def give_back(self, count: int) -> None:
        """R15. Return floating buffers to the pool. The caller holds no channel lock."""
        self.borrowed -= count
        for _ in range(count):
            await self.pool.give_back()

    def release(self) -> int:
        """R34. Returns how many floating buffers return to the pool; the consumer keeps those that it did not copy
        (Flink: `releaseAllBuffers`)."""
        copied, self.taken[: self.copied] = self.taken[: self.copied], ["recycled"] * self.copied
        freed = self.floating + sum(kind == "floating" for kind in [*self.queued, *copied])
        self.exclusive = self.floating = 0
        self.queued = []
        return freed
