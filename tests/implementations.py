"""Implementations for tests: well-behaved ones in other shapes, and ones that misbehave."""

from __future__ import annotations

from typing import Any

from conformance.ports import (
    Capability,
    Data,
    Element,
    ErrorKind,
    Implementation,
    PortError,
    Taken,
    find_implementation,
)
from reference_impl.design import PUSHED
from reference_impl.implementation import Reference
from reference_impl.subpartition import ReferenceSubpartition


class With(Implementation):
    """An implementation with one subpartition of our own."""

    def __init__(self, part: Any = ReferenceSubpartition, name: str = "mine") -> None:
        self.name = name
        self.part = part

    @property
    def capabilities(self) -> frozenset[Capability]:
        return frozenset(Capability)

    def components(self):
        return {"subpartition": lambda config: self.part(config, PUSHED)}


class Asynchronous(ReferenceSubpartition):
    """Some operations are coroutines; they never wait."""

    async def add(self, element: Element) -> bool:  # type: ignore[override]
        return super().add(element)

    async def poll(self) -> Taken | None:  # type: ignore[override]
        return super().poll()

    async def resume(self) -> None:  # type: ignore[override]
        super().resume()


class Pausing(ReferenceSubpartition):
    async def flush(self) -> None:  # type: ignore[override]
        await _Never()


class _Never:
    def __await__(self):
        yield


class Raising(ReferenceSubpartition):
    def finish_buffer(self) -> None:
        raise ZeroDivisionError("one over nothing")


class Refusing(ReferenceSubpartition):
    def finish_buffer(self) -> None:
        raise PortError(ErrorKind.STATE, "not now")


class Nonsense(ReferenceSubpartition):
    def poll(self) -> Any:
        return "a buffer"


class NestedNonsense(ReferenceSubpartition):
    def poll(self) -> Any:
        taken = super().poll()
        return None if taken is None else Taken("element", taken.seq, taken.next, taken.backlog)  # type: ignore[arg-type]


class NothingToMake(Implementation):
    name = "broken"

    @property
    def capabilities(self) -> frozenset[Capability]:
        return frozenset(Capability)

    def components(self):
        def make(config: Any) -> Any:
            raise RuntimeError("no parts today")

        return {"subpartition": make}


def reference() -> Reference:
    found = find_implementation("reference")
    assert isinstance(found, Reference)
    return found


def records(*ids: int) -> Data:
    return Data(ids)


class SaysNonsense(With):
    def components(self):
        return ["subpartition"]


class ClaimsNonsense(With):
    capabilities = ("everything",)  # type: ignore[assignment]


class CannotSay(With):
    def components(self):
        raise RuntimeError("ask me later")


class Incomplete(Implementation):
    """Lacks what is abstract."""
