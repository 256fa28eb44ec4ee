"""Recovered input state on its way into the gate. recovery.md, section 2.14, with lists in place of files."""

from __future__ import annotations

from conformance.ports import CheckpointReason, Data, ErrorKind, PortError, Recovery
from conformance.scheduling import Lock
from reference_impl.channels.local import ReferenceLocalChannel
from reference_impl.channels.remote import ReferenceRemoteChannel
from reference_impl.gate import ReferenceGate

Slices = tuple[tuple[int, ...], ...]
"""Record ids by channel."""


class Drainer:
    """Gives the gate one record after another. What is pushed, and what is not yet, changes under the drainer lock."""

    def __init__(self, gate: ReferenceGate, recovery: Recovery, to_recover: Slices) -> None:
        self.gate = gate
        self.pushes = recovery is Recovery.PUSHED
        self.left = [list(ids) for ids in to_recover]
        self.lock = Lock("drainer lock")

    async def recover(self, channel: int) -> None:
        await self.wait_for_upstream(channel)
        await self.deliver(channel, self.left[channel][0])

    async def wait_for_upstream(self, channel: int) -> None:
        """Nobody waits with the lock in hand."""
        if self.pushes:
            physical = self.gate.channels[channel]
            assert isinstance(physical, (ReferenceLocalChannel, ReferenceRemoteChannel))
            await physical.upstream_ready

    async def deliver(self, channel: int, record: int) -> None:
        async with self.lock:
            await self.push(channel, record)
            self.commit(channel)

    async def push(self, channel: int, record: int) -> None:
        await self.gate.recover(channel, Data((record,)))

    def commit(self, channel: int) -> None:
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
