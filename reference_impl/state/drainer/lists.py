"""A drainer that is driven channel by channel. Specification: chain.md.

Lists of records take the place of Flink's spill files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from conformance.ports import CheckpointReason, ErrorKind, PortError, Recovery

from ...network.channel_info import ChannelInfo
from ...network.gate import Gate
from .critical import CriticalSections

Slices = dict[ChannelInfo, tuple[int, ...]]
"""By channel, record ids."""


class ListDrainer:
    """Its owner says which channel is next."""

    def __init__(
        self, gates: Sequence[Gate], recovery: Recovery, to_recover: Mapping[ChannelInfo, Sequence[int]]
    ) -> None:
        self.critical = CriticalSections(gates)
        self.pushes = recovery is Recovery.PUSHED
        """Whether records are pushed after conversion (C12), or given to the gate before it (C11)."""
        self.left = {channel: list(ids) for channel, ids in to_recover.items()}
        """Left: by channel, recovered input records that are not in the gate yet."""

    async def recover(self, channel: ChannelInfo) -> None:
        """C11, C12, C32. Raises: PortError."""
        left = self.left[channel]

        def commit() -> None:
            """C12. All is given up if the owner was released meanwhile."""
            del left[:1]

        await self.critical.push(channel, (left[0],), commit)

    async def finish(self, channel: ChannelInfo) -> None:
        """C13. Push the end of recovered data into the channel."""
        await self.critical.gates[channel.gate].finish_recovery(channel.channel)

    async def snapshot(self, checkpoint: int) -> Slices:
        """C14. Returns the undrained records, by channel.

        Raises: PortError CHECKPOINT DECLINED_TASK_NOT_READY with `pushed`, before conversion.
        """
        if not self.pushes:
            return {}
        if not all(gate.converted for gate in self.critical.gates):
            raise PortError(
                ErrorKind.CHECKPOINT,
                f"checkpoint {checkpoint} comes before the recovered state is fetched",
                CheckpointReason.DECLINED_TASK_NOT_READY,
            )
        return await self.critical.mark(checkpoint, self.undrained)

    def undrained(self) -> Slices:
        """C14. By channel, the records that were not pushed yet."""
        return {channel: tuple(ids) for channel, ids in self.left.items()}

    def release(self) -> None:
        """C29. The task is over: nothing is pushed any more."""
        for ids in self.left.values():
            ids.clear()
