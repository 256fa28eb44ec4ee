"""Recovered input state on its way into the gate. Specification: chain.md. Lists take the place of files."""

from __future__ import annotations

from conformance.ports import Buffer, CheckpointReason, ErrorKind, PortError, Recovery
from conformance.scheduling import Lock

from ..channels.local import LocalChannel
from ..channels.remote import RemoteChannel
from ..gate import Gate

Slices = tuple[tuple[int, ...], ...]
"""Record ids by channel."""


class Drainer:
    """Gives the gate one record after another. What is pushed, and what is not yet, changes under the drainer lock."""

    def __init__(self, gate: Gate, recovery: Recovery, to_recover: Slices) -> None:
        self.gate = gate
        self.pushes = recovery is Recovery.PUSHED
        self.left = [list(ids) for ids in to_recover]
        self.lock = Lock("drainer lock")

    async def recover(self, channel: int) -> None:
        """Push the next record, and note that it is pushed, in one critical section."""
        record = self.left[channel][0]
        if self.pushes:  # nobody waits with the lock in hand
            physical = self.gate.channels[channel]
            assert isinstance(physical, (LocalChannel, RemoteChannel))
            await physical.upstream_ready
        async with self.lock:
            await self.gate.recover(channel, Buffer((record,)))
            if self.left[channel]:  # all is given up if the chain was released meanwhile
                del self.left[channel][0]

    async def finish(self, channel: int) -> None:
        await self.gate.finish_recovery(channel)

    async def snapshot(self, checkpoint: int) -> Slices:
        """Mark in the channels where the checkpoint starts. Answers what was not pushed before.

        Raises: PortError CHECKPOINT DECLINED_TASK_NOT_READY before conversion.
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
        for ids in self.left:
            ids.clear()
