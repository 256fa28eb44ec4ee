"""The scope of an exploration: one configuration, and which runs of it are explored."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import permutations
from typing import Any

import msgspec

from conformance.driver import Component
from conformance.scenarios import Step
from conformance.scenarios.reading import MOST_DIGITS, decode_json, shortened

AT_ONCE, ALIKE = "at_once", "alike"
"""The keys of a scope that are not those of a configuration or of a bound."""


class ScopeError(ValueError):
    """A scope has a key or a value that its component does not allow. The text says what is allowed."""


@dataclass(frozen=True, slots=True)
class Scope:
    """What is explored: one configuration, how often bounded steps may occur, and which runs stand for others."""

    config: Any
    most: Mapping[str, int]
    """The limits of the bounds of the component, by their keys. A bound that is missing here has no limit."""
    at_once: tuple[str, ...] = ()
    """Steps that happen as soon as they are enabled, the first one first. What could happen before them is left out."""
    alike: str = ""
    """An operand. Of runs that differ only in which of its values stands where, one is explored: the implementation is
    expected to treat the values alike. Empty: every run is explored."""

    def as_text(self) -> dict[str, Any]:
        """Returns the scope by key, as it was given, with the defaults."""
        config: dict[str, Any] = msgspec.to_builtins(self.config)
        given = {AT_ONCE: list(self.at_once), ALIKE: self.alike}
        return {**config, **self.most, **{key: value for key, value in given.items() if value}}

    def exchanges(self, component: Component) -> tuple[Exchange, ...]:
        """Returns the ways to exchange the values that are alike, besides leaving them as they are."""
        if not self.alike:
            return ()
        places = {kind.name: place for kind in component.kinds if (place := _place(kind.operands, self.alike))}
        values = range(component.alike(self.config)[self.alike])
        return tuple(Exchange(places, one) for one in permutations(values) if one != tuple(values))


@dataclass(frozen=True, slots=True)
class Exchange:
    """One way to exchange the values of an operand."""

    places: Mapping[str, int]
    """By kind of step, where the operand is."""
    values: tuple[int, ...]
    """By value, the value that replaces it."""

    def __call__(self, steps: list[Step]) -> Iterator[Step]:
        """Yields the steps with the values exchanged."""
        for step in steps:
            place = self.places.get(step[0])
            yield step if place is None else (*step[:place], self.values[step[place]], *step[place + 1 :])


def _place(operands: Mapping[str, type], name: str) -> int | None:
    return 1 + list(operands).index(name) if name in operands else None


def scope_of(component: Component, given: Mapping[str, str]) -> Scope:
    """Returns the scope that is given as texts by key, with the defaults for the other keys.

    Raises: ScopeError.
    """
    fields = {field.name: field for field in msgspec.structs.fields(component.config_type)}
    keys = {*component.bounds, *fields, AT_ONCE, ALIKE}
    if unknown := sorted(given.keys() - keys):
        raise ScopeError(f"{component.name} has no scope key {', '.join(unknown)}; it has {', '.join(sorted(keys))}")
    config: dict[str, Any] = {}
    most = {key: bound.most for key, bound in component.bounds.items()}
    for key, text in given.items():
        if key in most:
            if not text.isdecimal() or len(text) > MOST_DIGITS:
                raise ScopeError(f"{key} bounds how often steps may occur: {shortened(text, 40)!r} is not a number")
            most[key] = int(text)
        elif key in fields:
            config[key] = _value(text)
    base: dict[str, Any] = msgspec.to_builtins(component.explored or component.configs[0])
    try:
        made = msgspec.convert({**base, **config}, component.config_type, strict=False)
    except msgspec.ValidationError as error:
        raise ScopeError(f"{component.name} does not allow this configuration: {error}") from error
    return Scope(made, most, _at_once(component, given.get(AT_ONCE, "")), _alike(component, made, given.get(ALIKE, "")))


def _at_once(component: Component, text: str) -> tuple[str, ...]:
    """Returns the steps that happen at once. Raises: ScopeError."""
    names = tuple(text.split(",")) if text else ()
    if unknown := [name for name in names if component.step(name) is None]:
        raise ScopeError(f"{AT_ONCE} names steps of {component.name}: it has no step {shortened(unknown[0], 40)!r}")
    return names


def _alike(component: Component, config: Any, name: str) -> str:
    """Returns the operand whose values are alike. Raises: ScopeError."""
    known = component.alike(config)
    if name and name not in known:
        names = ", ".join(known) or "none"
        raise ScopeError(f"{ALIKE} names an operand whose values {component.name} treats alike, which are: {names}")
    return name


def _value(text: str) -> Any:
    """Returns the value of a JSON text. Of any other text, returns the parts between commas, or else the text."""
    try:
        return decode_json(text.encode(), object)
    except ValueError:
        return text.split(",") if "," in text else text
