"""What a component of the reference calls can fail, if a scenario says so."""

from __future__ import annotations

from conformance.ports import ErrorKind, FaultKind, FaultStruck, Port, PortError
from conformance.scheduling import Pause


class Faults:
    """The faults that are armed in a component and in its parts."""

    __slots__ = ("armed", "before", "port", "short", "slow")

    def __init__(self, port: Port) -> None:
        self.port = port
        """The component, or the job, which signals what has struck."""
        self.armed: dict[str, FaultKind] = {}
        """By place, the fault that is to strike a call there."""
        self.before: dict[str, int] = {}
        """By place, how many calls come before that one."""
        self.slow: dict[str, Pause] = {}
        """By place, where the thread pauses that makes the next call there, since the call is slow."""
        self.short: list[str] = []
        """The places at which the next call does a part of what it is asked for."""

    def reach(self, place: str) -> None:
        """What is called at this place is called now. Raises: PortError IO if it fails."""
        if place in self.armed and self.is_due(place):  # hardly ever, and this is called for each record
            self.strike(place)
            raise PortError(ErrorKind.IO, f"{place} failed")

    def refuses(self, place: str) -> bool:
        """What is called at this place is called now. Returns whether it refuses. Raises: PortError IO if it fails."""
        if not self.is_due(place):
            return False
        if self.strike(place) is FaultKind.REFUSES:
            return True
        raise PortError(ErrorKind.IO, f"{place} failed")

    def is_due(self, place: str) -> bool:
        """What is called at this place is called now. Returns whether a fault is to strike this call."""
        if place not in self.armed:
            return False
        if self.before[place]:
            self.before[place] -= 1
            return False
        return True

    def is_short(self, place: str) -> bool:
        """What is called at this place is called now. Returns whether it does only a part of what is asked for."""
        if place not in self.short:
            return False
        self.short.remove(place)
        return True

    def strike(self, place: str) -> FaultKind:
        """The armed fault strikes. It is armed no more, unless it ends for good what is called there."""
        kind = self.armed[place]
        if kind is not FaultKind.ENDS:
            del self.armed[place]
        self.port.emit(FaultStruck(place, kind))
        return kind

    async def wait(self, place: str) -> None:
        """The call at this place takes its time, if a scenario says so."""
        if place in self.slow:
            await self.slow.pop(place)


class Faulty(Port):
    """A component that calls what can fail."""

    faults: Faults

    def fault(self, place: str, kind: FaultKind, nth: int = 1) -> bool:
        """A call at this place fails, or the next one is slow or short. The reference can let all of them fail."""
        if kind is FaultKind.SLOW:
            self.faults.slow[place] = Pause(f"{place} is slow")
        elif kind is FaultKind.SHORT:
            self.faults.short.append(place)
        else:
            self.faults.armed[place] = kind
            self.faults.before[place] = nth - 1
        return True
