"""A component as engines, replay and reports see it: its steps, its rules, its drain, and how searches of it begin."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from conformance.driver.drain import Drain
from conformance.driver.ledger import PortLedger
from conformance.driver.levels import Levels
from conformance.driver.own_rules import OF_THREADS
from conformance.driver.rule import NOTHING, Property
from conformance.driver.setting import NO_SETTINGS, Settings
from conformance.driver.step import FINISH, RUN, AnyStep, Operands
from conformance.ports import Capability
from conformance.ports.implementation import NEW
from conformance.scenarios import Entry, Step

_TURNS: Mapping[str, tuple[str, ...]] = {FINISH: ("thread",), RUN: ("thread", "stop")}
PREFIXED = 0.25
"""The share of scenarios that begin with a prefix, unless a component says otherwise."""
_NO_TURNS: Mapping[str, tuple[str, ...]] = {}
_OWN = __name__.partition(".")[0]
"""The package of the suite."""


def _many(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


@dataclass(frozen=True, slots=True)
class Bound:
    """Limits how often these steps, counted together, may occur in one run of an exploration.

    Each case of a step is given by its key. With `each`, the limit holds separately for each value of their first
    operand, for example for each channel.
    """

    steps: tuple[str, ...]
    most: int
    """The default limit. The scope of an exploration may set another one."""
    each: bool = False
    variants: bool = False
    """If true, the bound limits something else: how many of the operands that are possible in a state the explorer
    tries. It tries the first ones."""


class Outcomes(NamedTuple):
    """What a run comes to, however its implementation works."""

    entries: Sequence[Entry]
    """Those on which two runs must agree; empty: on nothing."""
    given: Hashable = ()
    """What an implementation was free to choose before. Two runs in which it differs need not agree on anything."""


@dataclass(frozen=True, slots=True)
class Turned:
    """A component that has threads of its own, of which a step says which one works next.

    A search lets a few of them work by priorities for a while, as PCT does (Burckhardt and others, ASPLOS 2010)."""

    step: AnyStep
    awake: Callable[[Any], Mapping[Operands, Any]]
    """`awake(ledger)`: those that may have something to do, as operands of the step, in the order in which they were
    woken."""
    few: Callable[[Any, Callable[[], float]], Iterable[Operands]]
    """`few(ledger, draw)`: those among which a bug of interleaving may lie, as the threads of a task and of its
    neighbours."""
    needs: frozenset[Capability] = frozenset()
    """What an implementation must claim so that a scenario can say who works next."""
    wakes: type[Struct] | None = None
    """The signal that says that a thread has something to do. It says nothing else of the component, and there are as
    many as turns, so no report shows it."""


@dataclass(frozen=True, slots=True)
class Shape:
    """Configurations of a component that are searched by themselves, because what happens in them differs.

    A gate that stands alone and a union of gates are two shapes of one component. A search draws scenarios of each
    shape equally often."""

    name: str
    configs: tuple[Struct, ...]
    """The configurations that a search draws from."""
    weights: Mapping[str, int] = field(default_factory=dict)
    """Weights by step name that replace the declared ones in all scenarios of the shape."""
    biases: tuple[Mapping[str, int], ...] = ()
    """Weights by step name that replace those. A search may use one bias for a whole scenario."""
    prefixes: tuple[tuple[Step, ...], ...] = ()
    """Short lists of steps that lead to rare states. A search begins some scenarios with one of them, and skips the
    steps that are not enabled."""
    prefixed: float = PREFIXED
    """The share of scenarios that begin with a prefix, of those whose kinds of steps are not all equally frequent."""


def _nothing(config: Any) -> frozenset[Capability]:
    return NOTHING


def _none_alike(config: Any) -> Mapping[str, int]:
    return {}


@dataclass(frozen=True, slots=True, eq=False)
class Component:
    """All that engines, replay and reports need to know about a component.

    Raises: ValueError if a bound, a bias, a prefix or a level names a step that the component does not have, if two
    steps have one name, or a step that of a turn or of the making of a port, or if the component has threads and lacks
    a rule of waiting threads.
    """

    name: str
    port: type[Any]
    """The ABC of the port."""
    config_type: type[Struct]
    """The type of the configuration in a scenario."""
    configs: tuple[Struct, ...]
    """The configurations that a search draws from."""
    port_config: Callable[[Any], Struct]
    """Returns, for the configuration of a scenario, the configuration that the factory of the port receives."""
    make_ledger: Callable[[Any, frozenset[Capability]], PortLedger]
    steps: tuple[AnyStep, ...]
    """Each case of each step."""
    properties: tuple[Property, ...]
    """Those of all its modules, in their order. If an outcome breaks several, the first is reported."""
    drain: Drain[Any]
    final_phase: str
    """The phase of the ledger in which little can happen any more. After a few steps in it a search ends the
    scenario."""
    threads: tuple[str, ...] = ()
    """The logical threads on which operations run; empty if operations never pause."""
    needs: Callable[[Any], frozenset[Capability]] = _nothing
    """Returns the capabilities that an implementation must claim before a scenario can use the configuration."""
    restored_config: Callable[[Any, Any], Struct] | None = None
    """`restored_config(config, ledger)` returns the configuration of a fresh port in the middle of a run, when the
    ledger knows which state the port takes over. None: the fresh port gets the configuration of the first port."""
    explored: Struct | None = None
    """The default configuration of an exploration; None stands for the first of `configs`."""
    bounds: Mapping[str, Bound] = field(default_factory=dict)
    """The bounds by their key in the scope of an exploration, in which the fields of the configuration are keys too. A
    kind of step that is in no bound may occur as often as the ledger enables it."""
    alike: Callable[[Any], Mapping[str, int]] = _none_alike
    """Returns, for a configuration, the operands whose values an implementation is expected to treat alike, each with
    how many values it has: 0, 1 and so on."""
    biases: tuple[Mapping[str, int], ...] = ()
    """Weights by the `key` of a step, or of one of its cases, that replace the declared ones. A search may use one bias
    for a whole scenario."""
    prefixes: tuple[tuple[Step, ...], ...] = ()
    """Short lists of steps that lead to rare states. A search begins some scenarios with one of them, and skips the
    steps that are not enabled."""
    prefixed: float = PREFIXED
    """The share of scenarios that begin with a prefix, of those whose kinds of steps are not all equally frequent."""
    shapes: tuple[Shape, ...] = ()
    """The shapes of the component, each with its part of the configurations and with biases and prefixes of its own, by
    the names that the settings give them. A component without says nothing here, and then all is one shape."""

    settings: Settings = NO_SETTINGS
    """How the settings are distinguished in which steps are performed and properties are judged."""

    outcome: Callable[[Sequence[Entry]], Outcomes] | None = None
    """What two runs of the same steps must agree on, of all entries, if implementations may differ in the order in
    which they work. None: on every entry."""
    turned: Turned | None = None
    contains: tuple[str, ...] = ()
    """The names of the components that it is made of. What is wrong in one of them may show in this one, too."""
    levels: Levels | None = None
    """How a reduction begins; None: a run takes so little time that a reduction tries all configurations and steps."""

    def __post_init__(self) -> None:
        if not any(self.final_phase in one.during for one in self.steps):
            raise ValueError(
                f"{self.name}: none of its steps is enabled in the final phase {self.final_phase!r}, so nobody would"
                " see what a release leaves behind: enable one that observes, as the one of `resources_step`"
            )
        begun = [step for shape in self.searched for prefix in shape.prefixes for step in prefix]
        named = [step[0] for step in begun if not self.is_turn(step)]
        self._check_names()
        self._check_shapes()
        keys = {one.key for one in self.steps}
        unknown = [name for name in named if self.step(name) is None]
        weights = [one for shape in self.searched for one in (shape.weights, *shape.biases)]
        unknown += [key for one in weights for key in one if key not in keys]
        unknown += [one for bound in self.bounds.values() for one in bound.steps if one not in keys]
        unknown += [one for one in (self.levels.names if self.levels else ()) if self.step(one) is None]
        if unknown:
            raise ValueError(
                f"{self.name}: a bound, a bias, a prefix or a level names {unknown[0]!r}, which is not one of its steps"
            )
        slugs = [one.slug for one in self.properties]
        if self.threads and (missing := [slug for slug in OF_THREADS if slug not in slugs]):
            raise ValueError(
                f"{self.name}: it has threads, so its rules must include those of `thread_properties`; it lacks"
                f" {missing[0]!r}"
            )

    def _check_names(self) -> None:
        keys = [one.key for one in self.steps]
        for name in [one.name for one in self.steps]:
            if name in self.turns:
                raise ValueError(
                    f"{self.name}: a step cannot be called {name!r}, because a turn has this name and the component has"
                    " threads; declare the step with another `name`"
                )
            if name == NEW:
                raise ValueError(f"{self.name}: a step cannot be called {name!r}: so is the call that makes a port")
        if twice := [key for key in keys if keys.count(key) > 1]:
            raise ValueError(f"{self.name}: two of its steps are called {twice[0]!r}")

    def _check_shapes(self) -> None:
        of = self.settings.shape
        if self.shapes:
            if self.biases or self.prefixes:
                raise ValueError(f"{self.name}: it has shapes, so biases and prefixes belong to one of them")
            if self.configs != tuple(config for shape in self.shapes for config in shape.configs):
                raise ValueError(f"{self.name}: its configurations must be those of its shapes, in their order")
        for shape in self.searched:
            if wrong := [config for config in shape.configs if of(config) != shape.name]:
                raise ValueError(
                    f"{self.name}: the settings say that {wrong[0]} has the shape {of(wrong[0])!r}, and it is declared"
                    f" with the shape {shape.name!r}"
                )

    def is_own(self) -> bool:
        """Returns whether the component is one of the suite, whose rules the type checker has read."""
        return all(kind.call.__module__.partition(".")[0] == _OWN for kind in self.steps)

    @property
    def searched(self) -> tuple[Shape, ...]:
        """What a search draws from: the shapes, or all as one."""
        return self.shapes or (Shape("", self.configs, {}, self.biases, self.prefixes, self.prefixed),)

    @property
    def turns(self) -> Mapping[str, tuple[str, ...]]:
        """The turns of its threads by name, each with the names of its operands. Without threads there are none, and
        a step may have the name of a turn."""
        return _TURNS if self.threads else _NO_TURNS

    def is_turn(self, step: Step) -> bool:
        """Returns whether a step lets a paused thread go on, and begins no operation."""
        return step[0] in self.turns

    def shown(self, signals: Iterable[Any]) -> tuple[Any, ...]:
        """Returns the signals that reports show, in their order: all but those that say who may work next."""
        wakes = None if self.turned is None else self.turned.wakes
        return tuple(one for one in signals if type(one) is not wakes)

    @property
    def kinds(self) -> tuple[AnyStep, ...]:
        """The kinds of steps, one for each name: of several cases, the first."""
        found: dict[str, AnyStep] = {}
        for one in self.steps:
            found.setdefault(one.name, one)
        return tuple(found.values())

    def step(self, name: str) -> AnyStep | None:
        """Returns the kind of step with this name, or None if there is none. Of several cases, it is the first."""
        return next((one for one in self.steps if one.name == name), None)

    def operands_of(self, name: str) -> tuple[str, ...]:
        """Returns the names of the operands of a step, or of a turn; empty if the component has no such step."""
        kind = self.step(name)
        return self.turns.get(name, ()) if kind is None else tuple(kind.operands)

    def meant(self, slug: str) -> tuple[Property, ...]:
        """Returns the properties that have this slug, or else those that had it in an earlier version."""
        found = tuple(one for one in self.properties if one.slug == slug)
        return found or tuple(one for one in self.properties if slug in one.formerly)

    def complaint(self, step: Step) -> str | None:
        """Returns a text that says what is wrong with the form of a step, or None if the form is right."""
        if not step or not isinstance(step[0], str):
            return 'a step is a list that begins with its name, as ["poll"]'
        kind = self.step(step[0])
        if kind is None:
            if self.is_turn(step):
                return self._complaint_of_turn(step)
            names = ", ".join(sorted([*(one.name for one in self.kinds), *self.turns]))
            return f"{self.name} has no step {step[0]!r}; it has {names}"
        if len(step) - 1 != len(kind.operands):
            wanted = ", ".join(kind.operands) or "none"
            most = _many(len(kind.operands), "operand")
            return f"step {step[0]!r} takes {most} ({wanted}), found {len(step) - 1}"
        for (name, wants), value in zip(kind.operands.items(), step[1:], strict=True):
            if type(value) is not wants:
                found = msgspec.json.encode(value).decode()
                return f"operand {name} of step {step[0]!r} must be of type {wants.__name__}, found {found}"
        return None

    def _complaint_of_turn(self, step: Step) -> str | None:
        wants = self.turns[step[0]]
        if len(step) - 1 != len(wants) or not all(isinstance(operand, str) for operand in step):
            most, found = _many(len(wants), "string"), msgspec.json.encode(step[1:]).decode()
            return f"step {step[0]!r} takes {most} ({', '.join(wants)}), found {found}"
        if step[1] not in self.threads:
            return f"{self.name} has no thread {step[1]!r}; it has {', '.join(self.threads)}"
        return None


@dataclass(frozen=True, slots=True)
class Defined:
    """The name of a component, and the package that defines it as `COMPONENT`. Nothing is imported yet."""

    name: str
    package: str

    def imported(self) -> Component:
        """Import the component and return it."""
        found = import_module(self.package).COMPONENT
        assert isinstance(found, Component)
        assert found.name == self.name, f"{self.package} does not define {self.name}"
        return found

    def has(self, module: str) -> bool:
        """Returns whether a module is part of the package."""
        return module == self.package or module.startswith(f"{self.package}.")


class Components(Mapping[str, Component]):
    """Components by name, in the order given. Callers pass this object on, so that a test can pass its own components.

    A component of which only its place is given is imported when it is first asked for: to import all takes a third of
    the start of a worker, which often needs one.

    It is also the `conformance.scenarios.Vocabulary` with which scenarios are read.
    """

    def __init__(self, where: str, components: Sequence[Component | Defined]) -> None:
        self.where = where
        """Where this object is defined, as `module:object`. Only this text is sent to another process."""
        self._components = {one.name: one for one in components}

    def extended(self, where: str, *more: Component | Defined) -> Components:
        """Returns these components and more, which are defined at `where`. None is imported for that."""
        return Components(where, (*self._components.values(), *more))

    def __getitem__(self, name: str) -> Component:
        """Returns the component with this name. Raises: KeyError with a text that lists the known names."""
        if name not in self._components:
            raise KeyError(f"there is no component {name!r}; there are {', '.join(sorted(self._components))}")
        found = self._components[name]
        if isinstance(found, Defined):
            found = self._components[name] = found.imported()
        return found

    def __contains__(self, name: object) -> bool:
        return name in self._components

    def __iter__(self) -> Iterator[str]:
        return iter(self._components)

    def __len__(self) -> int:
        return len(self._components)

    def need(self, module: str) -> None:
        """Import the component to which a module belongs, if it is one of these that has not been imported."""
        for one in tuple(self._components.values()):
            if isinstance(one, Defined) and one.has(module):
                self[one.name]

    def __reduce__(self) -> tuple[Callable[[str], Components], tuple[str]]:
        return find_components, (self.where,)

    def config_type(self, component: str) -> type[Struct]:
        """Returns the type of the configuration of a component. Raises: KeyError as `__getitem__` does."""
        return self[component].config_type

    def complaint(self, component: str, step: Step) -> str | None:
        """Returns a text that says what is wrong with the form of a step, or None if the form is right."""
        return self[component].complaint(step)


def find_components(where: str) -> Components:
    """Returns the components that are defined at `where`, given as `module:object`."""
    module, _, name = where.partition(":")
    found = getattr(import_module(module), name)
    assert isinstance(found, Components)
    return found
