"""Explores all runs in a small scope, breadth first.

The first violation of each signature is therefore a shortest one. A coroutine cannot be copied, so the explorer replays
the prefix, the steps that led to a state, to reach the state again. A digest recognises states that were seen before,
and the fair drain is judged once from each state. `complete` means that the scope has no other run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from conformance.driver import ONE_ORDER, Bound, Broken, FailureClass, Move, Program, Violation, World
from conformance.driver.step import FINISH, RUN
from conformance.engines.check import Found
from conformance.engines.digest import Recogniser, check_recognition
from conformance.engines.interruption import NEVER, Interruption
from conformance.engines.recognition import Recognition, WideHash
from conformance.engines.scope import Exchange, Scope, ScopeError
from conformance.engines.tally import Signature
from conformance.scenarios import Finding, Scenario, Step
from conformance.scheduling import Edge, LockOrder, describe

MOST_STATES = 1_000_000
MOST_AT_ONCE = 1_000
"""How many steps may happen at once before it is certain enough that they never end."""
_ROOT = -1

Counts = tuple[int, ...]
Progress = Callable[[int, int, int], None]
"""Called with the depth, the number of states and the number of transitions so far."""


@dataclass(frozen=True, slots=True)
class Exploration:
    """The result of exploring one scope."""

    program: Program
    scope: Scope
    states: int
    transitions: int
    depth: int
    """How many levels of the breadth-first search were explored completely: every run with at most so many steps was
    judged."""
    complete: bool
    found: tuple[Found, ...]
    recognition: Recognition
    """How states were recognised."""
    interrupted: bool = False
    """Whether an interruption ended it."""
    undrained: int = 0
    """From how many states the fair drain was not judged, since an interruption ended the exploration before that."""


class Explorer:
    """Explores one scope of one implementation."""

    def __init__(
        self, program: Program, scope: Scope, turns: tuple[str, ...] = (RUN,), drain: bool = True,
        recognition: Recognition = Recognition.EXACT,
    ) -> None:  # fmt: skip
        """With the turns `(RUN,)` the explorer reaches every state. With FINISH too, one step can let a thread go on to
        any later pause, as in scenarios that the reducer has shortened, so the numbers of steps can be compared.

        Raises: CannotRecognise if states cannot be recognised on this Python.
        """
        check_recognition()
        self.program = program
        self.scope = scope
        self.turns = turns if getattr(scope.config, "interleaving", "whole") == "fine" else (FINISH,)
        self.drain = drain
        self._silent = program.without_judges()
        self.recognition = recognition
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
        self._exchanges = scope.exchanges(program.component)
        self._judging: dict[str, Move] = program.moves_in(scope.config)
        self._orders = LockOrder()
        self._parents: list[int] = []
        self._steps: list[tuple[Step, ...]] = []
        """By state, the steps that lead to it from the state before it: one, and those that happened at once."""
        self._counts: list[tuple[Any, ...]] = []
        self._states: dict[Any, int] = {}
        self._found: dict[Signature, tuple[tuple[Step, ...], Broken]] = {}
        self._later: dict[int, Step] = {}
        """The states that were not drained, since the exploration does the first step of the drain too: that step."""
        self._next: dict[int, int] = {}
        """The states behind these steps, by the states before them."""
        self._drained: dict[int, Violation | None] = {}
        """What the drain of a state has violated."""
        self._reached = _ROOT
        """The state that was reached last."""
        self._stop: str | None = None
        self._limits: tuple[int, int | None] = (0, None)
        self._interruption = NEVER
        self.transitions = 0
        self.work = 0
        """How many values the digests had so far. A million of them takes about a second, whatever the component is."""

    def explore(
        self,
        depth: int | None = None,
        most_states: int = MOST_STATES,
        progress: Progress | None = None,
        until: str | None = None,
        most_work: int | None = None,
        interruption: Interruption = NEVER,
    ) -> Exploration:
        """Explore until no state is left, a limit is reached, the property `until` is violated, or it is interrupted.

        Raises: ScopeError if the scope makes steps happen at once without end, or exchanges what is not alike.
        """
        self._stop = until
        self._limits = most_states, most_work
        self._interruption = interruption
        frontier = self._begin()
        level = 0
        while frontier and (depth is None or level < depth) and not self._over():
            following: list[int] = []
            for at in frontier:
                self._expand(at, following)
                if self._over():
                    break
                if progress is not None and not at % 256:
                    progress(level, len(self._parents), self.transitions)
            else:
                frontier = following
                level += 1
        undrained = self._settle()
        complete = bool(self._parents) and not frontier and not undrained
        return Exploration(
            self.program, self.scope, len(self._parents), self.transitions, level, complete, tuple(self._findings()),
            self.recognition, interruption.requested, undrained,
        )  # fmt: skip

    def shortest(self, slug: str) -> int | None:
        """Returns how many steps the shortest run has in which the property failed; None if it did not fail."""
        return min((len(steps) for signature, (steps, _) in self._found.items() if signature[0] == slug), default=None)

    def _over(self) -> bool:
        """Return whether the exploration ends before the next state."""
        states, work = self._limits
        spent = len(self._parents) >= states or (work is not None and self.work >= work)
        return spent or self._interruption.requested or self._done()

    def _done(self) -> bool:
        return self._stop is not None and any(signature[0] == self._stop for signature in self._found)

    # ---- states ------------------------------------------------------------------------------------------------------
    def _begin(self) -> list[int]:
        try:
            world = World(self._silent, self.scope.config)
            world.moves = self._judging
            counts = self._go_on(world, (0,) * len(self._bounds))
        except Violation as violation:
            self._fail((), violation)
            return []
        following: list[int] = []
        self._arrive(world, _ROOT, tuple(world.performed), counts, following)
        return following

    def _path(self, at: int) -> list[Step]:
        parts = []
        while at != _ROOT:
            parts.append(self._steps[at])
            at = self._parents[at]
        return [step for part in reversed(parts) for step in part]

    def _reach(self, at: int) -> World:
        """Returns a world in this state. The steps on the way to it were judged before and are not judged again."""
        world = World(self._silent, self.scope.config)
        perform = world.perform
        for step in self._path(at):
            perform(step)
        world.moves = self._judging
        return world

    def _expand(self, at: int, following: list[int]) -> None:
        """Perform every step that is possible in a state."""
        world: World | None = self._reach(at)
        assert world is not None
        for step, after in list(self._possible(world, at)):
            if world is None:
                world = self._reach(at)
            before = len(world.performed)
            self.transitions += 1
            try:
                world.perform(step)
                counts = self._go_on(world, after)
            except Violation as violation:
                self._fail(tuple(world.performed), violation)
                if step == self._later.get(at):
                    self._drained[at] = violation.with_traceback(None)
                world.close()
                world = None
                if self._done():
                    return
                continue
            if world.kernel is not None and len(world.kernel.order.edges):
                self._orders.absorb(world.kernel.order)
            if not self._arrive(world, at, tuple(world.performed[before:]), counts, following):
                world = None
            if step == self._later.get(at):
                self._next[at] = self._reached
        if world is not None:
            world.close()

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

    def _arrive(
        self, world: World, parent: int, steps: tuple[Step, ...], counts: tuple[Any, ...], following: list[int]
    ) -> bool:
        """Add the state that steps have reached, if it is new, and judge the drain from it.

        Returns whether the steps did not change the state, so that the world can be used for the next step.
        """
        key = self._key(world, counts)
        known = self._states.get(key)
        if known is not None:
            self._reached = known
            if known == parent and not self._exchanges:
                del world.performed[-len(steps) :]
                return True
            world.close()
            return False
        number = self._reached = len(self._parents)
        self._states[key] = number
        for exchange in self._exchanges:
            self._states.setdefault(self._key_of(exchange, world.performed), number)
        self._parents.append(parent)
        self._steps.append(steps)
        self._counts.append(counts)
        following.append(number)
        later = self._drains_later(world, counts) if self.drain else None
        if later is not None:
            self._later[number] = later
        elif self.drain:
            self._drain(world, number)
        world.close()
        return False

    def _key(self, world: World, counts: tuple[Any, ...]) -> tuple[Any, ...] | bytes:
        """Returns what distinguishes a state from others."""
        digest = self._recogniser.digest(world)
        self.work += len(digest)
        orders = self._orders_that_count(world)
        return (counts, digest, orders) if self._hash is None else self._hash.of((counts, orders, *digest))

    def _key_of(self, exchange: Exchange, steps: list[Step]) -> tuple[Any, ...] | bytes:
        """Returns what distinguishes the state from others that is reached with the values exchanged. Raises:
        ScopeError."""
        world = World(self._silent, self.scope.config)
        counts: tuple[Any, ...] = (0,) * len(self._bounds)
        for step in exchange(steps):
            counted = self._count(step[0], step[1:], counts)
            if counted is None or not world.enabled(step):
                raise ScopeError(f"{self.scope.alike} is not alike: {list(step)} is not possible with values exchanged")
            world.perform(step)
            counts = counted
        key = self._key(world, counts)
        world.close()
        return key

    def _drain(self, world: World, number: int) -> None:
        """Judge the drain of a state."""
        world.moves = self._judging
        self._drained[number] = None
        try:
            world.drain()
        except Violation as violation:
            self._fail(tuple(self._path(number)), violation)
            self._drained[number] = violation.with_traceback(None)

    def _drains_later(self, world: World, counts: tuple[Any, ...]) -> Step | None:
        """Returns the first step of the drain of this state, if the exploration will do it from here too: the rest of
        the drain is then the drain of the state behind it.

        None if the exploration ends with the first violation, which is a shortest one only if each state is drained at
        once.
        """
        if self._stop is not None or (world.kernel is not None and world.kernel.in_flight):
            return None
        step = world.program.component.drain.first(world.ledger)
        possible = step is not None and world.enabled(step)
        if step is None or not possible:
            return None
        key = world.case(step).kind.key
        return step if self._count(key, step[1:], counts) is not None else None

    def _settle(self) -> int:
        """Find out what the drains have violated that were left to later states. A drain that leads to a state that was
        not expanded, or back to where it began, is done now.

        Returns from how many states the drain is not judged, because an interruption has come before that.
        """
        undrained = 0
        for at in self._later:
            way = [at]
            while way[-1] not in self._drained:
                following = self._next.get(way[-1])
                if following is None or following in way:
                    if self._interruption.requested:
                        break
                    world = self._reach(way[-1])
                    self._drain(world, way[-1])
                    world.close()
                else:
                    way.append(following)
            if way[-1] not in self._drained:
                undrained += 1
                continue
            violation = self._drained[way[-1]]
            for number in way:
                self._drained[number] = violation
            if violation is not None:
                self._fail(tuple(self._path(at)), violation)
        return undrained

    def _orders_that_count(self, world: World) -> frozenset[Edge]:
        """Returns the lock orders so far, which matter only if the exploration looks for a contradiction of them in one
        run. `_findings` compares the orders of all runs."""
        return (
            frozenset(world.kernel.order.edges) if self._stop == ONE_ORDER and world.kernel is not None else frozenset()
        )

    def _possible(self, world: World, at: int) -> Iterator[tuple[Step, tuple[Any, ...]]]:
        """Yields the steps that the ledger enables and the scope allows, each with the counts after it."""
        counts = self._counts[at]
        for case in self._cases:
            yield from self._enabled(world, case, counts)
        for thread in world.threads.values():
            if thread.runnable:
                for turn in self._turns(at, thread.name):
                    yield turn, counts

    def _enabled(self, world: World, case: Move, counts: tuple[Any, ...]) -> Iterator[tuple[Step, tuple[Any, ...]]]:
        """Yields the steps of one case that the ledger enables and the scope allows, each with the counts after it."""
        key = case.kind.key
        for operands in world.choices_of(case)[: self._variants.get(key)]:
            counted = self._count(key, operands, counts)
            if counted is not None:
                yield (case.kind.name, *operands), counted

    def _turns(self, at: int, name: str) -> Iterator[Step]:
        """Yields the turns of a paused thread in a state: to its next pause, to its end, to the pauses in between."""
        if RUN in self.turns:
            yield RUN, name, ""
        if FINISH in self.turns:
            yield FINISH, name
        if len(self.turns) > 1:
            for stop in self._pauses(at, name)[1:]:
                yield RUN, name, stop

    def _pauses(self, at: int, name: str) -> list[str]:
        """Returns the names of the places where a paused thread can pause until its operation ends or must wait."""
        world = self._reach(at)
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

    def _count(self, key: str, operands: tuple[Any, ...], counts: tuple[Any, ...]) -> tuple[Any, ...] | None:
        """Returns the counts after a step of this case; None if they are higher than the scope allows."""
        for place, most, bound in self._bounding.get(key, ()):
            counted = _one_more(counts[place], operands, bound)
            if (max(counted.values()) if isinstance(counted, _Each) else counted) > most:
                return None
            counts = (*counts[:place], counted, *counts[place + 1 :])
        return counts

    # ---- findings ----------------------------------------------------------------------------------------------------
    def _fail(self, steps: tuple[Step, ...], violation: Violation) -> None:
        known = self._found.get(violation.signature)
        if known is None or len(steps) < len(known[0]):
            self._found[violation.signature] = steps, violation.broken

    def _findings(self) -> Iterator[Found]:
        name = self.program.implementation.name
        for signature, (steps, broken) in sorted(self._found.items()):
            evidence = Finding(signature[0], signature[1], name)
            scenario = Scenario(self.program.component.name, self.scope.config, steps, evidence)
            yield Found(signature, broken.owed, broken.observed, scenario, 1)
        cycle = self._orders.cycle() if ONE_ORDER in self.program.places else ()
        if cycle and not any(signature[0] == ONE_ORDER for signature in self._found):
            # No single run has the contradiction, but several runs together have: each of the orders is possible.
            owed = "threads that can run at the same time must take locks in one order"
            signature = ONE_ORDER, FailureClass.DEADLOCKED.value, "across-runs"
            scenario = Scenario(self.program.component.name, self.scope.config, ())
            yield Found(signature, owed, f"in different runs: {describe(cycle)}", scenario, 1)


class _Each(dict[Any, int]):
    """Counts by first operand. It is hashable, because it is never changed: every count makes a new one."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(sorted(self.items())))


def _one_more(count: Any, operands: tuple[Any, ...], bound: Bound) -> Any:
    if not bound.each:
        return count + 1
    return _Each({**(count or {}), operands[0]: (count or {}).get(operands[0], 0) + 1})
