"""The credit of the producers of remote channels, and the buffers that it is backed by. Specification: gate.md.

The ledger counts credit only if the producers keep to it. Then every data buffer that waits in a remote channel is one
of the exclusive buffers of the channel or one of the floating buffers of the gate, and so is every buffer that is set
aside for credit.
"""

from __future__ import annotations

from conformance.models.credit import Demand
from conformance.ports.elements import Buffer, Element


class Credit(Demand):
    """The credit of one producer, as far as the gate has announced it."""

    __slots__ = ()

    def request(self, initial: bool) -> None:
        """Notes that the partition was requested. `initial`: the exclusive buffers are the initial credit."""
        self.required = self.exclusive
        if initial:
            self.open()

    def send(self, element: Element, backlog: int) -> None:
        """Notes that the producer sends an element, and says how much waits behind it; below 0: it does not say."""
        if type(element) is Buffer:
            self.spend()
        if backlog >= 0:
            self.hear_backlog(backlog)
        if element.data_type.blocks_upstream:  # a blocked producer asks for nothing until it sends a backlog again
            self.required = 0
            self.lose()
