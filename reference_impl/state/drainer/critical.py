"""The critical sections of every drainer. Specification: drainer.md."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from conformance.ports import BUFFER_POOL, Buffer
from conformance.scheduling import FreeLock

from ...network.channel_info import ChannelInfo
from ...network.gate import Gate
from ...network.local_channel import LocalChannel
from ...network.remote_channel import RemoteChannel

T = TypeVar("T")


class CriticalSections:
    """The drainer lock guards what was pushed together with what is left to push."""

    __slots__ = ("gates", "lock")

    def __init__(self, gates: Sequence[Gate]) -> None:
        """N4, N7. The drainer lock: a push and its mark, and the start of a checkpoint, exclude each other."""
        self.gates = gates
        lock_type = gates[0].lock_type if gates else FreeLock
        self.lock = lock_type("drainer lock")

    async def push(self, info: ChannelInfo, records: tuple[int, ...], commit: Callable[[], None]) -> None:
        """N3, N4. Push and commit are one critical section. Raises: PortError IO, or what the gate refuses with."""
        gate, channel = self.gates[info.gate], info.channel
        gate.faults.reach(BUFFER_POOL)
        physical = gate.channels[channel]
        if isinstance(physical, (LocalChannel, RemoteChannel)):  # a thread that waits holds no lock
            await physical.upstream_ready
        async with self.lock:
            await gate.recover(channel, Buffer(records))
            commit()

    async def mark(self, checkpoint: int, snapshot: Callable[[], T]) -> T:
        """N7. Recovery barriers and snapshot are one critical section. Raises: what the snapshot raises."""
        async with self.lock:
            for gate in self.gates:
                await gate.insert_recovery_barriers(checkpoint)
            return snapshot()
