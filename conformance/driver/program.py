"""A component made ready for one implementation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from conformance.driver.component import Component
from conformance.driver.judgement import Kind
from conformance.driver.own_rules import ANSWERS
from conformance.driver.rule import Property
from conformance.driver.step import AnyStep, Operands
from conformance.ports import Capability, Implementation
from conformance.ports.implementation import Factory
from conformance.scheduling import LockOrder


class Move:
    """One kind of step, with the properties that apply to the implementation."""

    __slots__ = (
        "after", "before", "begin", "call", "crashes", "during", "end", "fails", "fresh_port", "goals", "kind", "learn",
        "quiet", "thread", "when",
    )  # fmt: skip

    def __init__(self, kind: AnyStep, threads: tuple[str, ...], properties: list[tuple[int, Property]]) -> None:
        self.kind = kind
        self.during = kind.during
        self.when: Callable[[Any], Sequence[Operands]] = kind.when
        self.begin = kind.begin
        self.call = kind.call
        self.end = kind.end
        self.learn = kind.learn
        self.fails = kind.fails
        self.fresh_port = kind.fresh_port
        self.crashes = kind.crashes
        self.thread = kind.by if kind.by in threads else ""
        """The thread on which it runs; empty if it never pauses."""
        mine = [(place, one) for place, one in properties if kind.name in one.on]
        always = [(place, one) for place, one in mine if one.kind is not Kind.SOMETIMES]
        # What is seen as a fresh port takes over is about the one that goes, and the ledger as it was.
        moving = [(place, one) for place, one in always if not one.quiet or kind.fresh_port]
        self.before = tuple((place, one.check, one) for place, one in moving if not one.after_learning)
        self.after = tuple((place, one.check, one) for place, one in moving if one.after_learning)
        self.quiet = tuple((place, one.check, one) for place, one in always if one.quiet and not kind.fresh_port)
        self.goals = tuple((place, one.check) for place, one in mine if one.kind is Kind.SOMETIMES)


class Program:
    """A component made ready for one implementation. Made once, used for many runs."""

    __slots__ = (
        "_orders", "answers", "blank_marks", "capabilities", "component", "configs", "factory", "implementation",
        "moves", "places", "properties", "threads",
    )  # fmt: skip

    def __init__(self, component: Component, implementation: Implementation, assume: Iterable[Capability] = ()) -> None:
        self.component = component
        self.implementation = implementation
        self.factory = implementation.components()[component.name]
        self.capabilities = implementation.capabilities | frozenset(assume)
        self.configs: tuple[Any, ...] = tuple(
            one for one in component.configs if self.understands(one) and self._shows(one)
        )
        """Those configurations of the component that mean something to the implementation, and show what it can do."""
        self.threads = component.threads
        self.properties = tuple(one for one in component.properties if one.applies(self.capabilities))
        self.places = {one.slug: index for index, one in enumerate(self.properties)}
        self.answers = next(one for one in self.properties if one.slug == ANSWERS)
        self.blank_marks = bytearray(len(self.properties))
        self.blank_marks[self.places[ANSWERS]] = 1
        numbered = list(enumerate(self.properties))
        self.moves = {kind.name: Move(kind, component.threads, numbered) for kind in component.steps}
        self._orders = LockOrder()

    def understands(self, config: Any) -> bool:
        """Whether the implementation has all that this configuration needs."""
        return self.component.needs(config) <= self.capabilities

    def _shows(self, config: Any) -> bool:
        """Whether it is worth a search. An operation that cannot be stepped inside runs whole in any interleaving: a
        fine scenario can be replayed on it, and is no more than a whole one."""
        return config.interleaving == "whole" or Capability.STEPPING in self.capabilities

    def made_by(self, factory: Factory) -> Program:
        """The same program on ports made by another factory."""
        twin = object.__new__(Program)
        for name in Program.__slots__:
            setattr(twin, name, getattr(self, name))
        twin.factory = factory
        return twin

    def without_judges(self) -> Program:
        """The same program, with nothing judged: to get again to where every step was judged before."""
        twin = self.made_by(self.factory)
        twin.moves = {kind.name: Move(kind, self.threads, []) for kind in self.component.steps}
        return twin

    def exercised(self, marks: bytes) -> list[str]:
        """The slugs of the properties that are marked in a run."""
        return [slug for slug, place in self.places.items() if marks and marks[place]]

    def has_order(self, order: LockOrder) -> bool:
        """Whether the locks taken in this run and in all runs before it have one order.

        Where they have, the run alone has one. Where they have not, the run must be looked at by itself: what other
        runs did saves time here, and decides nothing.
        """
        orders = self._orders
        orders.absorb(order)
        if orders.changed and orders.cycle():
            orders.changed = True
        return not orders.changed
