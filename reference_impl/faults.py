"""What a component of the reference calls can fail, if a scenario says so."""

from __future__ import annotations

from conformance.ports import ErrorKind, FaultKind, FaultStruck, Port, PortError


class Faults:
    """The faults that are armed in a component and in its parts."""

    __slots__ = ("armed", "port")

    def __init__(self, port: Port) -> None:
        self.port = port
        """The component, which signals what has struck."""
        self.armed: dict[str, FaultKind] = {}
        """By place, the fault that strikes the next call there."""

    def reach(self, place: str) -> None:
        """What is called at this place is called now. Raises: PortError IO if it fails."""
        if place in self.armed:
            self.port.emit(FaultStruck(place, self.armed.pop(place)))
            raise PortError(ErrorKind.IO, f"{place} failed")


class Faulty(Port):
    """A component that calls what can fail."""

    faults: Faults

    def fault(self, place: str, kind: FaultKind) -> None:
        """The next call at this place fails."""
        self.faults.armed[place] = kind
