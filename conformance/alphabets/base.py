"""What an alphabet is: the declared steps of one component."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from msgspec import Struct

from conformance.ports import Capability
from conformance.properties import Property, Seen
from conformance.scenarios import Step

Operands = tuple[Any, ...]
NO_OPERANDS: tuple[Operands, ...] = ((),)
DISABLED: tuple[Operands, ...] = ()


class Ledger(Protocol):
    """What the driver needs of every ledger; the rest is between an alphabet and its properties."""

    closing: int
    """0 while the scenario runs; the stage of the fair drain after it."""

    @property
    def phase(self) -> str:
        """Which steps can be meant at all: the coarsest part of the state."""

    def hear(self, signals: list[Any]) -> None:
        """Learn of the signals that an operation emitted."""


@dataclass(frozen=True, slots=True)
class StepKind:
    """One kind of step.

    It is enabled when the ledger is in one of its `phases` and `choices(ledger)` is not empty: the operands that are
    possible now, `((),)` for a step without operands. Both depend on the ledger alone, so they say the same for every
    implementation. `call` does the operation on the port and answers its value; `learn` tells the ledger what came of
    it.
    """

    name: str
    actor: str
    """Who acts: "producer", "consumer", "checkpointing", "recovery" or "observer"."""
    phases: tuple[str, ...]
    operands: Mapping[str, type]
    choices: Callable[[Any], Sequence[Operands]]
    call: Callable[..., Any]
    learn: Callable[..., None]
    weight: int = 8
    fails: bool = False
    """An error is a possible answer, and some property judges it."""
    fresh_port: bool = False
    """Once the call has answered, a fresh port takes the place of this one."""
    answers: Any = None
    """The type of a proper answer."""


@dataclass(frozen=True, slots=True)
class Alphabet:
    """All that engines, replay and reports need to know of a component."""

    component: str
    port: type[Any]
    """The ABC of the port."""
    config_type: type[Struct]
    """The configuration in a scenario."""
    configs: tuple[Struct, ...]
    """The configurations that a search draws from."""
    port_config: Callable[[Any], Struct]
    """What the implementation is given of it."""
    make_ledger: Callable[[Any, frozenset[Capability]], Ledger]
    steps: tuple[StepKind, ...]
    closing: Callable[[Any], Step | None]
    """The next step of the fair drain, by the ledger alone; None when the run is over."""
    properties: tuple[Property, ...]
    final_phase: str
    """Where little can happen any more, unless a step leads out of it soon: a search does not stay there."""
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
