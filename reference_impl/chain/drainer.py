"""Recovered input state on its way into the gate. Specification: chain.md.

Lists of records take the place of Flink's spill files.
"""

from __future__ import annotations

from conformance.ports import BUFFER_POOL, Buffer, CheckpointReason, ErrorKind, PortError, Recovery
from conformance.scheduling import Lock

from ..channels.local import LocalChannel
from ..channels.remote import RemoteChannel
from ..gate import Gate

Slices = tuple[tuple[int, ...], ...]
"""Record ids by channel."""


class Drainer:
    """The drainer lock guards what is left to drain, together with what was pushed."""

    def __init__(self, gate: Gate, recovery: Recovery, to_recover: Slices) -> None:
        self.gate = gate
        self.pushes = recovery is Recovery.PUSHED
        """Whether records are pushed after conversion (C12), or given to the gate before it (C11)."""
        self.left = [list(ids) for ids in to_recover]
        """Left: by channel, recovered input records that are not in the gate yet."""
        self.lock = Lock("drainer lock")

    async def recover(self, channel: int) -> None:
        """C11, C12, C32."""
        record = self.left[channel][0]
        self.gate.faults.reach(BUFFER_POOL)
        if self.pushes:  # a thread that waits holds no lock
            physical = self.gate.channels[channel]
            assert isinstance(physical, (LocalChannel, RemoteChannel))
            await physical.upstream_ready
        async with self.lock:
            await self.gate.recover(channel, Buffer((record,)))
            if self.left[channel]:  # all is given up if the chain was released meanwhile
                del self.left[channel][0]

    async def finish(self, channel: int) -> None:
        """C13."""
        await self.gate.finish_recovery(channel)

    async def snapshot(self, checkpoint: int) -> Slices:
        """C14. Answers the undrained records, by channel.

        Raises: PortError CHECKPOINT DECLINED_TASK_NOT_READY with `pushed`, before conversion.
        """
        if not self.pushes:
            return tuple(() for _ in self.left)
        if not self.gate.converted:
            raise PortError(
                ErrorKind.CHECKPOINT,
                f"checkpoint {checkpoint} comes before the recovered state is fetched",
                CheckpointReason.DECLINED_TASK_NOT_READY,
            )
        async with self.lock:
            await self.gate.insert_recovery_barriers(checkpoint)
            return tuple(map(tuple, self.left))

    def release(self) -> None:
        """C29."""
        for ids in self.left:
            ids.clear()
