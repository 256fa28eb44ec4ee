"""What an alphabet is: the declared steps of one component."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from msgspec import Struct

from conformance.ports import Capability, Port
from conformance.properties import Property, Seen
from conformance.scenarios import Step

Operands = tuple[Any, ...]
NO_OPERANDS: tuple[Operands, ...] = ((),)
DISABLED: tuple[Operands, ...] = ()


@dataclass(frozen=True, slots=True)
class StepKind:
    """One kind of step.

    `choices(ledger)` lists the operands for which the step is enabled now, `((),)` for one without operands. It depends
    on the ledger alone, so it says the same for every implementation. `call` does the operation on the port and answers
    its value; `learn` tells the ledger what came of it.
    """

    name: str
    actor: str
    """Who acts: "producer", "consumer", "checkpointing", "recovery" or "observer"."""
    operands: Mapping[str, type]
    choices: Callable[[Any], Sequence[Operands]]
    call: Callable[..., Any]
    learn: Callable[..., None]
    weight: int = 4
    fails: bool = False
    """An error is a possible answer, and some property judges it."""
    fresh_port: bool = False
    """Once the call has answered, a fresh port takes the place of this one."""
    answers: Any = type(None)
    """The type of a proper answer."""


@dataclass(frozen=True, slots=True)
class Alphabet:
    """All that engines, replay and reports need to know of a component."""

    component: str
    port: type[Port]
    config_type: type[Struct]
    """The configuration in a scenario."""
    configs: tuple[Struct, ...]
    """The configurations that a search draws from."""
    port_config: Callable[[Any], Struct]
    """What the implementation is given of it."""
    make_ledger: Callable[[Any, frozenset[Capability]], Any]
    steps: tuple[StepKind, ...]
    closing: Callable[[Any], Step | None]
    """The next step of the fair drain, by the ledger alone; None when the run is over."""
    properties: tuple[Property, ...]
    biases: tuple[Mapping[str, int], ...] = ()
    """Other weights by step name: a search may prefer some steps for a whole scenario (swarm testing)."""

    def kind(self, name: str) -> StepKind | None:
        """The kind of step of this name."""
        return next((kind for kind in self.steps if kind.name == name), None)

    def complaint(self, step: Step) -> str | None:
        """What is wrong with the form of a step, in words."""
        if not step or not isinstance(step[0], str):
            return 'a step is a list that begins with its name, as ["poll"]'
        kind = self.kind(step[0])
        if kind is None:
            names = ", ".join(sorted(kind.name for kind in self.steps))
            return f"{self.component} has no step {step[0]!r}; it has {names}"
        if len(step) - 1 != len(kind.operands):
            wanted = ", ".join(kind.operands) or "none"
            return f"step {step[0]!r} takes {len(kind.operands)} operands ({wanted}), found {len(step) - 1}"
        for (name, wants), value in zip(kind.operands.items(), step[1:], strict=True):
            if type(value) is not wants:
                return f"operand {name} of step {step[0]!r} must be of type {wants.__name__}, found {value!r}"
        return None


def ignore(ledger: Any, seen: Seen, *operands: Any) -> None:
    """Learns nothing."""
