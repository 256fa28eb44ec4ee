"""Performs every step that is possible in one state of a scope: what all explorations do, however they go on.

An expansion is a function of the steps that led to the state. It knows nothing of the states that were reached before,
so one process can do it, or many on many machines; who asks for it finds out which of the states behind the steps are
new. A coroutine cannot be copied, so the steps that led to the state are performed again for each step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from conformance.driver import Bound, Move, Program, Violation, World
from conformance.driver.step import FINISH, RUN
from conformance.engines.digest import CannotRecognise, Recogniser, check_recognition
from conformance.engines.recognition import Recognition, WideHash
from conformance.engines.scope import Exchange, Scope, ScopeError
from conformance.scenarios import Step
from conformance.scheduling import Edge, LockOrder

MOST_AT_ONCE = 1_000
"""How many steps may happen at once before it is certain enough that they never end."""
MOST_KNOWN_AGAIN = 500
"""How many states must be the same when they are reached again. An implementation with a clock, a random number or a
count of all its ports in its state shows it in the first ones."""

Counts = tuple[Any, ...]
"""How often bounded steps have occurred, by bound."""
Key = tuple[Any, ...] | bytes
"""What distinguishes a state from others."""


@dataclass(frozen=True, slots=True)
class Reached:
    """A state that was reached, and how."""

    steps: tuple[Step, ...]
    """The steps from the beginning of the run to this state."""
    counts: Counts
    key: Key


class Arrival(NamedTuple):
    """A step has led to a state."""

    place: int
    """Which of the steps that are possible in the state before it was."""
    step: Step
    steps: tuple[Step, ...]
    """The step, and those that happened at once."""
    counts: Counts
    key: Key
    world: World | None
    """The run, which the receiver may go on with until it asks for what comes next; None if nothing has changed."""


class Failed(NamedTuple):
    """A step has broken a property."""

    place: int
    step: Step
    steps: tuple[Step, ...]
    """The steps from the beginning of the run."""
    violation: Violation


def _nothing(world: World) -> None:
    """Nobody looks."""


class Expander:
    """Expands the states of one scope of one implementation."""

    def __init__(
        self, program: Program, scope: Scope, turns: tuple[str, ...] = (RUN,),
        recognition: Recognition = Recognition.EXACT,
    ) -> None:  # fmt: skip
        """`turns`: see `Explorer`. Raises: CannotRecognise if states cannot be recognised on this Python."""
        check_recognition()
        self.program = program
        self.scope = scope
        self.turns = turns if getattr(scope.config, "interleaving", "whole") == "fine" else (FINISH,)
        self.recognition = recognition
        self.orders_matter = False
        """Whether the lock orders of a run are part of its state, which matters only if the exploration looks for a
        contradiction of them in one run. `orders` has the orders of all runs."""
        self.orders = LockOrder()
        self.transitions = 0
        self.work = 0
        """How many values the digests had so far. A million of them takes about a second, whatever the component is."""
        self._known_again = 0
        self.exchanges = scope.exchanges(program.component)
        self._silent = program.without_judges()
        self._recogniser = Recogniser()
        self._hash = WideHash() if recognition is Recognition.HASH else None
        self._bounds = tuple((key, bound) for key, bound in program.component.bounds.items() if key in scope.most)
        self._bounding = {
            kind.key: tuple(
                (place, scope.most[key], bound)
                for place, (key, bound) in enumerate(self._bounds)
                if kind.key in bound.steps and not bound.variants
            )
            for kind in program.component.steps
        }
        self._cases = tuple(program.all_cases())
        self._at_once = tuple(case for name in scope.at_once for case in self._cases if case.kind.name == name)
        self._variants = {
            name: scope.most[key] for key, bound in self._bounds if bound.variants for name in bound.steps
        }
        self._judging: dict[str, Move] = program.moves_in(scope.config)

    def begin(self) -> Iterator[Arrival | Failed]:
        """Yields how each run begins: with its first state, or with a violation. Raises: ScopeError."""
        world: World | None = None
        try:
            world = World(self._silent, self.scope.config)
            world.moves = self._judging
            counts = self._go_on(world, (0,) * len(self._bounds))
        except Violation as violation:
            yield Failed(0, violation.step, tuple(world.performed) if world is not None else (), violation)
        else:
            yield Arrival(0, (), tuple(world.performed), counts, self._key(world, counts), world)
        if world is not None:
            world.close()

    def expand(self, at: Reached, look: Callable[[World], None] = _nothing) -> Iterator[Arrival | Failed]:
        """Perform every step that is possible in a state, in order. Raises: ScopeError; CannotRecognise.

        `look` sees a run that has come to the state, and must not change it.
        """
        world: World | None = self.reach(at.steps)
        assert world is not None
        if self._known_again < MOST_KNOWN_AGAIN:
            self._known_again += 1
            self._know_again(world, at)
        look(world)
        try:
            for place, (step, after) in enumerate(list(self._possible(world, at))):
                if world is None:
                    world = self.reach(at.steps)
                before = len(world.performed)
                self.transitions += 1
                try:
                    world.perform(step)
                    counts = self._go_on(world, after)
                except Violation as violation:
                    yield Failed(place, step, tuple(world.performed), violation)
                    world.close()
                    world = None
                    continue
                if world.kernel is not None and len(world.kernel.order.edges):
                    self.orders.absorb(world.kernel.order)
                steps = tuple(world.performed[before:])
                key = self._key(world, counts)
                if key == at.key and not self.exchanges:
                    del world.performed[before:]
                    yield Arrival(place, step, steps, counts, key, None)
                    continue
                yield Arrival(place, step, steps, counts, key, world)
                world.close()
                world = None
        finally:
            if world is not None:
                world.close()

    def _know_again(self, world: World, at: Reached) -> None:
        """Check that the same steps have led to the same state. Raises: CannotRecognise."""
        work = self.work
        if self._key(world, at.counts) != at.key:
            raise CannotRecognise(
                f"the same steps must lead to the same state every time, and do not: {[list(one) for one in at.steps]}"
            )
        self.work = work

    def reach(self, steps: tuple[Step, ...]) -> World:
        """Returns a run that has come to a state. The steps on the way were judged before and are not judged again.

        Raises: CannotRecognise if the implementation does something else than before.
        """
        try:
            world = World(self._silent, self.scope.config)
            perform = world.perform
            for step in steps:
                perform(step)
        except Violation as violation:
            told = f"{violation.broken.observed}, which it had not done before in the same run"
            raise CannotRecognise(f"the same steps must have the same outcomes every time: {told}") from None
        world.moves = self._judging
        return world

    def drain(self, world: World) -> Violation | None:
        """Judge the drain of a state, in a run that is not needed any more. Returns what it has violated."""
        world.moves = self._judging
        try:
            world.drain()
        except Violation as violation:
            return violation.with_traceback(None)
        return None

    def drain_from(self, steps: tuple[Step, ...]) -> Violation | None:
        """Judge the drain of the state to which these steps lead."""
        world = self.reach(steps)
        violation = self.drain(world)
        world.close()
        return violation

    def drains_later(self, world: World, counts: Counts) -> Step | None:
        """Returns the first step of the drain of this state, if the expansion does it from here too: the rest of the
        drain is then the drain of the state behind it."""
        if world.kernel is not None and world.kernel.in_flight:
            return None
        step = world.program.component.drain.first(world.ledger)
        possible = step is not None and world.enabled(step)
        if step is None or not possible:
            return None
        key = world.case(step).kind.key
        return step if self._count(key, step[1:], counts) is not None else None

    def exchanged(self, steps: tuple[Step, ...]) -> Iterator[Key]:
        """Yields the keys of the states that are reached with values exchanged. Raises: ScopeError."""
        for exchange in self.exchanges:
            yield self._key_of(exchange, steps)

    def pauses(self, steps: tuple[Step, ...], name: str) -> list[str]:
        """Returns the names of the places where a paused thread can pause until its operation ends or must wait."""
        world = self.reach(steps)
        thread, found = world.threads[name], dict[str, None]()
        try:
            while thread.runnable:
                world.perform((RUN, name, ""))
                if thread.runnable and thread.waits_for is not None:
                    found[thread.waits_for.name] = None
        except Violation:
            pass  # the turn to the end breaks the same property
        world.close()
        return list(found)

    def _go_on(self, world: World, counts: tuple[Any, ...]) -> tuple[Any, ...]:
        """Perform the steps that happen at once. Returns the counts after them. Raises: Violation, ScopeError."""
        for _ in range(MOST_AT_ONCE):
            following = next((one for case in self._at_once for one in self._enabled(world, case, counts)), None)
            if following is None:
                return counts
            self.transitions += 1
            step, counts = following
            world.perform(step)
        last = ", ".join(sorted({step[0] for step in world.performed[-MOST_AT_ONCE // 2 :]}))
        raise ScopeError(f"if these steps happen at once, nothing else ever happens: {last}")

    def _key(self, world: World, counts: Counts) -> Key:
        digest = self._recogniser.digest(world)
        self.work += len(digest)
        counted = self.orders_matter and world.kernel is not None
        orders: frozenset[Edge] = frozenset(world.kernel.order.edges) if counted and world.kernel else frozenset()
        return (counts, digest, orders) if self._hash is None else self._hash.of((counts, orders, *digest))

    def _key_of(self, exchange: Exchange, steps: tuple[Step, ...]) -> Key:
        world = World(self._silent, self.scope.config)
        counts: Counts = (0,) * len(self._bounds)
        for step in exchange(list(steps)):
            counted = None
            if world.enabled(step):
                key = world.case(step).kind.key if step[0] in world.moves else step[0]
                counted = self._count(key, step[1:], counts)
            if counted is None:
                raise ScopeError(f"{self.scope.alike} is not alike: {list(step)} is not possible with values exchanged")
            try:
                world.perform(step)
            except Violation as violation:
                told = f"{list(step)} breaks {violation.signature[0]} with values exchanged"
                raise ScopeError(f"{self.scope.alike} is not alike: {told}: {violation.broken.observed}") from None
            counts = counted
        key = self._key(world, counts)
        world.close()
        return key

    def _possible(self, world: World, at: Reached) -> Iterator[tuple[Step, tuple[Any, ...]]]:
        """Yields the steps that the ledger enables and the scope allows, each with the counts after it."""
        counts = at.counts
        for case in self._cases:
            yield from self._enabled(world, case, counts)
        for thread in world.threads.values():
            if thread.runnable:
                for turn in self._turns(at.steps, thread.name):
                    yield turn, counts

    def _enabled(self, world: World, case: Move, counts: tuple[Any, ...]) -> Iterator[tuple[Step, tuple[Any, ...]]]:
        """Yields the steps of one case that the ledger enables and the scope allows, each with the counts after it."""
        key = case.kind.key
        for operands in world.choices_of(case)[: self._variants.get(key)]:
            counted = self._count(key, operands, counts)
            if counted is not None:
                yield (case.kind.name, *operands), counted

    def _turns(self, steps: tuple[Step, ...], name: str) -> Iterator[Step]:
        """Yields the turns of a paused thread in a state: to its next pause, to its end, to the pauses in between."""
        if RUN in self.turns:
            yield RUN, name, ""
        if FINISH in self.turns:
            yield FINISH, name
        if len(self.turns) > 1:
            for stop in self.pauses(steps, name)[1:]:
                yield RUN, name, stop

    def _count(self, key: str, operands: tuple[Any, ...], counts: tuple[Any, ...]) -> tuple[Any, ...] | None:
        """Returns the counts after a step of this case; None if they are higher than the scope allows."""
        for place, most, bound in self._bounding.get(key, ()):
            counted = _one_more(counts[place], operands, bound)
            if (max(counted.values()) if isinstance(counted, Each) else counted) > most:
                return None
            counts = (*counts[:place], counted, *counts[place + 1 :])
        return counts


class Each(dict[Any, int]):
    """Counts by first operand. It is hashable, because it is never changed: every count makes a new one."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(sorted(self.items())))


def _one_more(count: Any, operands: tuple[Any, ...], bound: Bound) -> Any:
    if not bound.each:
        return count + 1
    return Each({**(count or {}), operands[0]: (count or {}).get(operands[0], 0) + 1})
