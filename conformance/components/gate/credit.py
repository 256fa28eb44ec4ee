"""The credit of the producers of remote channels, and the buffers that it is backed by. Specification: gate.md.

The ledger counts credit only if the producers keep to it. Then every data buffer that waits in a remote channel is one
of the exclusive buffers of the channel or one of the floating buffers of the gate, and so is every buffer that is set
aside for credit.
"""

from __future__ import annotations

from conformance.ports.elements import Buffer, Element


class Credit:
    """The credit of one producer, as far as the gate has announced it."""

    __slots__ = ("exclusive", "granted", "required")

    def __init__(self, exclusive: int) -> None:
        self.exclusive = exclusive
        self.granted = 0
        """The credit that was announced less the data that was sent. So many buffers must be set aside."""
        self.required = 0
        """How many buffers must be set aside if the floating pool has enough of them."""

    def request(self, initial: bool) -> None:
        """Notes that the partition was requested. `initial`: the exclusive buffers are the initial credit."""
        self.required = self.exclusive
        if initial:
            self.granted += self.exclusive

    def send(self, element: Element, backlog: int) -> None:
        """Notes that the producer sends an element, and says how much waits behind it; below 0: it does not say."""
        if type(element) is Buffer:
            self.granted -= 1
            self.required -= 1
        if backlog >= 0:
            self.required = backlog + self.exclusive
        if element.data_type.blocks_upstream:  # a blocked producer asks for nothing until it says a backlog again
            self.required = 0
            if not self.exclusive:  # it has floating buffers only, and loses them
                self.granted = 0

    def end(self) -> None:
        """Notes that the channel is over."""
        self.granted = self.required = 0
