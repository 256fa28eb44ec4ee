"""A gate of a task that recovers. Specification: drainer.md."""

from __future__ import annotations

from collections.abc import Iterable

from conformance.ports import BufferOrEvent, GateConfig, Signal, StateConsumed

from ...design import Design
from ...faults import Faults
from ...network.gate import Gate
from .buffers import RecoveryBuffers


class RecoveringGate(Gate):
    """Its owner asks it; what it tells its reader is of no concern."""

    def __init__(
        self, config: GateConfig, design: Design, index: int, faults: Faults, recovered: Iterable[int],
        buffers: RecoveryBuffers,
    ) -> None:  # fmt: skip
        """`recovered`: by channel, how many records are recovered."""
        self.buffers = buffers
        self.untaken = list(recovered)
        """Not taken: by channel, how many recovered records were not taken."""
        self.consumed = 0
        """Consumed: out of how many channels the end of recovered data was taken."""
        super().__init__(config, design, index=index, faults=faults)

    def emit(self, signal: Signal) -> None:
        """N6."""
        if type(signal) is StateConsumed:
            self.consumed += 1

    async def poll(self) -> BufferOrEvent | None:
        """N6. The buffer of a recovered record is given back."""
        taken = await super().poll()
        if taken is not None and self.untaken[taken.channel]:
            self.untaken[taken.channel] -= 1
            self.buffers.recycle()
        return taken

    def is_consumed(self) -> bool:
        """N6. Whether all recovered data was taken, and its end."""
        return self.consumed == len(self.channels)
