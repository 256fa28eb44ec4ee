"""A gate of a task that recovers. Specification: drainer.md."""

from __future__ import annotations

from conformance.ports import GateConfig, Signal, StateConsumed

from ..design import Design
from ..faults import Faults
from ..gate import Gate


class RecoveringGate(Gate):
    """Its owner asks it; what it tells its reader is of no concern."""

    def __init__(self, config: GateConfig, design: Design, index: int, faults: Faults) -> None:
        self.consumed = 0
        """Consumed: out of how many channels the end of recovered data was taken."""
        super().__init__(config, design, index=index, faults=faults)

    def emit(self, signal: Signal) -> None:
        """N6."""
        if type(signal) is StateConsumed:
            self.consumed += 1

    def is_consumed(self) -> bool:
        """N6. Whether all recovered data was taken, and its end."""
        return self.consumed == len(self.channels)
