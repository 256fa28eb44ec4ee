"""Implementations for tests: well-behaved ones in other shapes, and ones that misbehave."""

from __future__ import annotations

from inspect import signature
from typing import Any

from conformance.ports import (
    Buffer,
    BufferAndBacklog,
    Capability,
    Element,
    ErrorKind,
    Implementation,
    PortError,
    find_implementation,
)
from conformance.ports.changed import changed
from conformance.ports.changes import CATALOGUES
from reference_impl.design import PUSHED
from reference_impl.implementation import Reference
from reference_impl.network.subpartition import Subpartition


def with_parts(name: str, **parts: Any) -> Reference:
    """The newest reference with other classes for some components: `with_parts("mine", local_channel=MyChannel)`."""
    usual = Reference(name, PUSHED)
    unknown = {component.replace("_", "-") for component in parts} - set(usual.components())
    assert not unknown, f"the reference has no {unknown}"

    def made_by(part: Any, design: Any) -> Any:
        takes = signature(part.__init__).parameters
        if "design" in takes:
            return lambda config: part(config, design)
        return part if "config" in takes else lambda config: part()

    def components(self: Reference) -> dict[str, Any]:
        others = {component.replace("_", "-"): made_by(part, self.design) for component, part in parts.items()}
        return {**Reference.components(self), **others}

    mutant: type[Reference] = type("Mutant", (Reference,), {"components": components})
    return mutant(name, PUSHED)


def changed_reference(diff: str) -> Reference:
    """The newest reference with a change of its text."""
    made = changed("reference_impl", diff, CATALOGUES).reference()
    assert isinstance(made, Implementation)
    return made  # type: ignore[return-value]


class With(Implementation):
    """An implementation with one subpartition of our own."""

    def __init__(self, part: Any = Subpartition, name: str = "mine") -> None:
        self.name = name
        self.part = part

    @property
    def capabilities(self) -> frozenset[Capability]:
        return frozenset(Capability) - {Capability.NOT_READY_WITHOUT_BARRIER}

    def components(self):
        return {"subpartition": lambda config: self.part(config, PUSHED)}


class Asynchronous(Subpartition):
    """Some operations are coroutines; they never wait."""

    async def add(self, element: Element) -> bool:  # type: ignore[override]
        return super().add(element)

    async def poll(self) -> BufferAndBacklog | None:  # type: ignore[override]
        return super().poll()

    async def resume(self) -> None:  # type: ignore[override]
        super().resume()


class Pausing(Subpartition):
    async def flush(self) -> None:  # type: ignore[override]
        await _Never()


class _Never:
    def __await__(self):
        yield


class Raising(Subpartition):
    def finish_buffer(self) -> None:
        raise ZeroDivisionError("one over nothing")


class Refusing(Subpartition):
    def finish_buffer(self) -> None:
        raise PortError(ErrorKind.STATE, "not now")


class Nonsense(Subpartition):
    def poll(self) -> Any:
        return "a buffer"


class NestedNonsense(Subpartition):
    def poll(self) -> Any:
        taken = super().poll()
        return None if taken is None else BufferAndBacklog("element", taken.seq, taken.next, taken.backlog)  # type: ignore[arg-type]


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


def records(*ids: int) -> Buffer:
    return Buffer(ids)


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
