"""A drainer that is driven channel by channel. Specification: chain.md.

Lists of records take the place of Flink's spill files.
"""

from __future__ import annotations

from collections.abc import Sequence

from conformance.ports import CheckpointReason, ErrorKind, PortError, Recovery

from ...network.gate import Gate
from .critical import CriticalSections

Slices = tuple[tuple[int, ...], ...]
"""Record ids by channel."""


class ListDrainer:
    """Whoever owns it says which channel is next. Channels are numbered through all gates."""

    def __init__(self, gates: Sequence[Gate], recovery: Recovery, to_recover: Slices) -> None:
        self.critical = CriticalSections(gates)
        self.channels = [(gate, number) for gate in gates for number in range(len(gate.channels))]
        self.pushes = recovery is Recovery.PUSHED
        """Whether records are pushed after conversion (C12), or given to the gate before it (C11)."""
        self.left = [list(ids) for ids in to_recover]
        """Left: by channel, recovered input records that are not in the gate yet."""

    async def recover(self, channel: int) -> None:
        """C11, C12, C32. Raises: PortError."""
        gate, number = self.channels[channel]
        left = self.left[channel]

        def commit() -> None:
            """C12. All is given up if the owner was released meanwhile."""
            del left[:1]

        await self.critical.push(gate, number, (left[0],), commit)

    async def finish(self, channel: int) -> None:
        """C13."""
        gate, number = self.channels[channel]
        await gate.finish_recovery(number)

    async def snapshot(self, checkpoint: int) -> Slices:
        """C14. Answers the undrained records, by channel.

        Raises: PortError CHECKPOINT DECLINED_TASK_NOT_READY with `pushed`, before conversion.
        """
        if not self.pushes:
            return tuple(() for _ in self.left)
        if not all(gate.converted for gate in self.critical.gates):
            raise PortError(
                ErrorKind.CHECKPOINT,
                f"checkpoint {checkpoint} comes before the recovered state is fetched",
                CheckpointReason.DECLINED_TASK_NOT_READY,
            )
        return await self.critical.mark(checkpoint, self.undrained)

    def undrained(self) -> Slices:
        """C14."""
        return tuple(map(tuple, self.left))

    def release(self) -> None:
        """C29."""
        for ids in self.left:
            ids.clear()
