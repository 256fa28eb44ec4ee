"""What an alphabet is: the declared steps of one component."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from msgspec import Struct

from conformance.ports import Capability, Recovery
from conformance.properties import Property, Seen
from conformance.scenarios import Step

Operands = tuple[Any, ...]
NO_OPERANDS: tuple[Operands, ...] = ((),)
DISABLED: tuple[Operands, ...] = ()

RUN = "run"
"""A turn: `("run", thread, stop)` lets a paused thread go on until it pauses at `stop`, is over or must wait."""
FINISH = "finish"
"""A turn: `("finish", thread)` lets it go on until its operation is over or it really must wait."""
_TURNS: Mapping[str, tuple[str, ...]] = {RUN: ("thread", "stop"), FINISH: ("thread",)}


_RECOVERS = {
    Recovery.NONE: frozenset[Capability](),
    Recovery.RECOVER_FIRST: frozenset({Capability.RECOVERS_FIRST}),
    Recovery.IN_MEMORY: frozenset({Capability.RECOVERS_IN_MEMORY}),
    Recovery.PUSHED: frozenset({Capability.RECOVERS_BY_PUSHING}),
}


def recovers(recovery: Recovery | str) -> frozenset[Capability]:
    """What an implementation must be able to do for a configuration with this recovery."""
    return _RECOVERS[Recovery(recovery)]


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
    implementation. `call` does the operation on the port and answers its value, or a coroutine; `learn` tells the
    ledger what came of it, when the operation is over.
    """

    name: str
    actor: str
    """Who acts: "producer", "consumer", "checkpointing", "recovery" or "observer". If it is a thread of the alphabet,
    the operation runs on that thread, may pause there, and cannot begin while the thread is busy."""
    phases: tuple[str, ...]
    operands: Mapping[str, type]
    choices: Callable[[Any], Sequence[Operands]]
    call: Callable[..., Any]
    learn: Callable[..., None]
    weight: int = 8
    fails: bool = False
    """An error is a possible answer, and some property judges it."""
    fresh_port: bool = False
    """Once the call has answered, a fresh port takes the place of this one, made of the `restored_config`."""
    answers: Any = None
    """The type of a proper answer."""
    begin: Callable[..., None] | None = None
    """`begin(ledger, *operands)`, before the call: what is known as soon as the operation begins."""
    crashes: bool = False
    """Every operation in flight is abandoned first."""


@dataclass(frozen=True, slots=True)
class Bound:
    """How often steps of these kinds may occur in one run of an exploration, all together.

    With `each`, as often for every value of their first operand: elements per channel, say.
    """

    steps: tuple[str, ...]
    most: int
    """Unless the scope says otherwise."""
    each: bool = False
    variants: bool = False
    """It bounds instead how many of the operands that are possible at a time are tried, first ones first."""


def _nothing(config: Any) -> frozenset[Capability]:
    return frozenset()


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
    threads: tuple[str, ...] = ()
    """The logical threads on which operations run. Empty: operations never pause."""
    needs: Callable[[Any], frozenset[Capability]] = _nothing
    """The capabilities without which a configuration means nothing to an implementation."""
    restored_config: Callable[[Any, Any], Struct] | None = None
    """`restored_config(config, ledger)`: what a fresh port is given in the middle of a run, when the ledger knows what
    it takes over. Without it, the same as in the beginning."""
    explored: Struct | None = None
    """The configuration of an exploration, unless its scope says otherwise; None: the first of `configs`."""
    bounds: Mapping[str, Bound] = field(default_factory=dict)
    """The keys of an exploration's scope, besides the fields of the configuration. A kind of step that is in no bound
    may occur as often as the ledger enables it."""
    biases: tuple[Mapping[str, int], ...] = ()
    """Other weights by step name: a search may prefer some steps for a whole scenario (swarm testing)."""
    prefixes: tuple[tuple[Step, ...], ...] = ()
    """Short ways to states that are rare: a search begins some scenarios with one. What is not enabled is skipped."""

    def kind(self, name: str) -> StepKind | None:
        """The kind of step of this name."""
        return next((kind for kind in self.steps if kind.name == name), None)

    def complaint(self, step: Step) -> str | None:
        """What is wrong with the form of a step, in words."""
        if not step or not isinstance(step[0], str):
            return 'a step is a list that begins with its name, as ["poll"]'
        kind = self.kind(step[0])
        if kind is None:
            if self.threads and step[0] in _TURNS:
                return self._complaint_of_turn(step)
            names = ", ".join(sorted([*(kind.name for kind in self.steps), *(_TURNS if self.threads else ())]))
            return f"{self.component} has no step {step[0]!r}; it has {names}"
        if len(step) - 1 != len(kind.operands):
            wanted = ", ".join(kind.operands) or "none"
            return f"step {step[0]!r} takes {len(kind.operands)} operands ({wanted}), found {len(step) - 1}"
        for (name, wants), value in zip(kind.operands.items(), step[1:], strict=True):
            if type(value) is not wants:
                return f"operand {name} of step {step[0]!r} must be of type {wants.__name__}, found {value!r}"
        return None

    def _complaint_of_turn(self, step: Step) -> str | None:
        wants = _TURNS[step[0]]
        if len(step) - 1 != len(wants) or not all(isinstance(operand, str) for operand in step):
            return f"step {step[0]!r} takes {len(wants)} texts ({', '.join(wants)}), found {list(step[1:])!r}"
        if step[1] not in self.threads:
            return f"{self.component} has no thread {step[1]!r}; it has {', '.join(self.threads)}"
        return None


def ignore(ledger: Any, seen: Seen, *operands: Any) -> None:
    """Learns nothing."""
