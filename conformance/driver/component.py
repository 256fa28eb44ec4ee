"""What a component is to engines, replay and reports: its steps, its rules, its drain, and how searches begin."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from msgspec import Struct

from conformance.driver.drain import Drain
from conformance.driver.rule import NOTHING, Property
from conformance.driver.step import FINISH, RUN, AnyStep, Ledger
from conformance.ports import Capability
from conformance.scenarios import Step

_TURNS: Mapping[str, tuple[str, ...]] = {RUN: ("thread", "stop"), FINISH: ("thread",)}


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
    return NOTHING


@dataclass(frozen=True, slots=True, eq=False)
class Component:
    """All that engines, replay and reports need to know of a component.

    Raises: ValueError if a bound, a bias or a prefix names a step that there is not.
    """

    name: str
    port: type[Any]
    """The ABC of the port."""
    config_type: type[Struct]
    """The configuration in a scenario."""
    configs: tuple[Struct, ...]
    """The configurations that a search draws from."""
    port_config: Callable[[Any], Struct]
    """What the implementation is given of it."""
    make_ledger: Callable[[Any, frozenset[Capability]], Ledger]
    steps: tuple[AnyStep, ...]
    properties: tuple[Property, ...]
    drain: Drain[Any]
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

    def __post_init__(self) -> None:
        named = (
            *(name for bound in self.bounds.values() for name in bound.steps),
            *(name for bias in self.biases for name in bias),
            *(step[0] for prefix in self.prefixes for step in prefix if step[0] not in _TURNS),
        )
        if unknown := [name for name in named if self.step(name) is None]:
            raise ValueError(f"{self.name}: a bound, a bias or a prefix names {unknown[0]!r}, which is no step of it")

    def step(self, name: str) -> AnyStep | None:
        """The kind of step of this name."""
        return next((one for one in self.steps if one.name == name), None)

    def meant(self, slug: str) -> tuple[Property, ...]:
        """The properties that a slug means, which may be one of an earlier version; none: there is no such slug."""
        found = tuple(one for one in self.properties if one.slug == slug)
        return found or tuple(one for one in self.properties if slug in one.formerly)

    def complaint(self, step: Step) -> str | None:
        """What is wrong with the form of a step, in words."""
        if not step or not isinstance(step[0], str):
            return 'a step is a list that begins with its name, as ["poll"]'
        kind = self.step(step[0])
        if kind is None:
            if self.threads and step[0] in _TURNS:
                return self._complaint_of_turn(step)
            names = ", ".join(sorted([*(one.name for one in self.steps), *(_TURNS if self.threads else ())]))
            return f"{self.name} has no step {step[0]!r}; it has {names}"
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
            return f"{self.name} has no thread {step[1]!r}; it has {', '.join(self.threads)}"
        return None


class Components(Mapping[str, Component]):
    """Components by name, in the order given: a value that is handed on, so that a test can make its own.

    It reads scenarios too (`conformance.scenarios.Vocabulary`).
    """

    def __init__(self, where: str, components: Sequence[Component]) -> None:
        self.where = where
        """Where this value stands, as `module:object`: only that goes to another process."""
        self._components = {one.name: one for one in components}

    def __getitem__(self, name: str) -> Component:
        """The component of this name. Raises: KeyError with a sentence that lists those there are."""
        if name not in self._components:
            raise KeyError(f"there is no component {name!r}; there are {', '.join(sorted(self._components))}")
        return self._components[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._components)

    def __len__(self) -> int:
        return len(self._components)

    def __reduce__(self) -> tuple[Callable[[str], Components], tuple[str]]:
        return find_components, (self.where,)

    def config_type(self, component: str) -> type[Struct]:
        """The configuration of a component. Raises: KeyError with a sentence if there is no such component."""
        return self[component].config_type

    def complaint(self, component: str, step: Step) -> str | None:
        """What is wrong with the form of a step, in words; None if it can be read."""
        return self[component].complaint(step)


def find_components(where: str) -> Components:
    """The components that stand there, as `module:object`."""
    module, _, name = where.partition(":")
    found = getattr(import_module(module), name)
    assert isinstance(found, Components)
    return found
