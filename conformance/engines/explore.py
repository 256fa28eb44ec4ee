"""Explores all runs in a small scope, breadth first.

The first violation of each signature is therefore a shortest one. A coroutine cannot be copied, so the explorer replays
the prefix, the steps that led to a state, to reach the state again. A digest recognises states that were seen before,
and the fair drain is judged once from each state. `complete` means that the scope has no other run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from conformance.driver import ONE_ORDER, Broken, FailureClass, Program, Violation
from conformance.driver.step import RUN
from conformance.engines.check import Found
from conformance.engines.expanding import Arrival, Counts, Expander, Failed, Key, Reached
from conformance.engines.interruption import NEVER, Interruption
from conformance.engines.recognition import Recognition
from conformance.engines.scope import Scope
from conformance.engines.tally import Signature
from conformance.scenarios import Finding, Scenario, Step
from conformance.scheduling import LockOrder, describe

MOST_STATES = 1_000_000
_ROOT = -1

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
        self.program = program
        self.scope = scope
        self.expander = Expander(program, scope, turns, recognition)
        self.drain = drain
        self._parents: list[int] = []
        self._steps: list[tuple[Step, ...]] = []
        """By state, the steps that lead to it from the state before it: one, and those that happened at once."""
        self._counts: list[Counts] = []
        self._keys: list[Key] = []
        self._states: dict[Key, int] = {}
        self._found: dict[Signature, Shortest] = {}
        self._later: dict[int, Step] = {}
        """The states that were not drained, since the exploration does the first step of the drain too: that step."""
        self._next: dict[int, int] = {}
        """The states behind these steps, by the states before them."""
        self._drained: dict[int, Violation | None] = {}
        """What the drain of a state has violated."""
        self._stop: str | None = None
        self._limits: tuple[int, int | None] = (0, None)
        self._interruption = NEVER

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
        self.expander.orders_matter = until == ONE_ORDER
        self._limits = most_states, most_work
        self._interruption = interruption
        frontier: list[int] = []
        for event in self.expander.begin():
            self._take(event, _ROOT, frontier)
        level = 0
        while frontier and (depth is None or level < depth) and not self._over():
            following: list[int] = []
            for at in frontier:
                self._expand(at, following)
                if self._over():
                    break
                if progress is not None and not at % 256:
                    progress(level, len(self._parents), self.expander.transitions)
            else:
                frontier = following
                level += 1
        undrained = self._settle()
        complete = bool(self._parents) and not frontier and not undrained
        found = findings(self.program, self.scope, self._found, self.expander.orders)
        return Exploration(
            self.program, self.scope, len(self._parents), self.expander.transitions, level, complete, found,
            self.expander.recognition, interruption.requested, undrained,
        )  # fmt: skip

    def shortest(self, slug: str) -> int | None:
        """Returns how many steps the shortest run has in which the property failed; None if it did not fail."""
        return min((len(one.steps) for signature, one in self._found.items() if signature[0] == slug), default=None)

    def _over(self) -> bool:
        """Return whether the exploration ends before the next state."""
        states, work = self._limits
        spent = len(self._parents) >= states or (work is not None and self.expander.work >= work)
        return spent or self._interruption.requested or self._done()

    def _done(self) -> bool:
        return self._stop is not None and any(signature[0] == self._stop for signature in self._found)

    # ---- states ------------------------------------------------------------------------------------------------------
    def _path(self, at: int) -> tuple[Step, ...]:
        parts = []
        while at != _ROOT:
            parts.append(self._steps[at])
            at = self._parents[at]
        return tuple(step for part in reversed(parts) for step in part)

    def _expand(self, at: int, following: list[int]) -> None:
        """Perform every step that is possible in a state."""
        for event in self.expander.expand(Reached(self._path(at), self._counts[at], self._keys[at])):
            self._take(event, at, following)
            if type(event) is Failed and self._done():
                return

    def _take(self, event: Arrival | Failed, at: int, following: list[int]) -> None:
        """Take note of what a step from a state has led to."""
        later = self._later.get(at)
        if isinstance(event, Failed):
            self._fail(event.steps, event.violation, 2 * len(self._parents) - 1)
            if event.step == later:
                self._drained[at] = event.violation.with_traceback(None)
            return
        number = self._arrive(event, at, following)
        if event.step == later:
            self._next[at] = number

    def _arrive(self, event: Arrival, parent: int, following: list[int]) -> int:
        """Returns the number of the state that a step has reached. If it is new, add it and judge the drain from it."""
        known = self._states.get(event.key)
        if known is not None:
            return known
        world = event.world
        assert world is not None
        number = len(self._parents)
        self._states[event.key] = number
        for key in self.expander.exchanged(tuple(world.performed)):
            self._states.setdefault(key, number)
        self._parents.append(parent)
        self._steps.append(event.steps)
        self._counts.append(event.counts)
        self._keys.append(event.key)
        following.append(number)
        # A violation with which the exploration ends is a shortest one only if each state is drained at once.
        later = self.expander.drains_later(world, event.counts) if self.drain and self._stop is None else None
        if later is not None:
            self._later[number] = later
        elif self.drain:
            self._note(number, self.expander.drain(world))
        return number

    def _note(self, number: int, violation: Violation | None) -> None:
        """Take note of what the drain of a state has violated, if anything."""
        self._drained[number] = violation
        if violation is not None:
            self._fail(self._path(number), violation, 2 * number)

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
                    self._note(way[-1], self.expander.drain_from(self._path(way[-1])))
                else:
                    way.append(following)
            if way[-1] not in self._drained:
                undrained += 1
                continue
            violation = self._drained[way[-1]]
            for number in way:
                self._drained[number] = violation
            self._note(at, violation)
        return undrained

    # ---- findings ----------------------------------------------------------------------------------------------------
    def _fail(self, steps: tuple[Step, ...], violation: Violation, position: int) -> None:
        """Keep the shortest violation of each signature, and of several the one that was met first.

        `position`: twice the number of the state from which a drain is judged; that of a step stands between two
        states. So it does not matter when a drain is judged."""
        keep(self._found, violation.signature, Shortest((len(steps), position), steps, violation.broken))


@dataclass(frozen=True, slots=True)
class Shortest:
    """The shortest run so far that has violated a property."""

    rank: tuple[Any, ...]
    """How many steps it has, and where the exploration has met it."""
    steps: tuple[Step, ...]
    broken: Broken


def keep(found: dict[Signature, Shortest], signature: Signature, one: Shortest) -> None:
    """Keep a run, if no shorter one that was violated in the same way is known."""
    known = found.get(signature)
    if known is None or one.rank < known.rank:
        found[signature] = one


def findings(
    program: Program, scope: Scope, found: Mapping[Signature, Shortest], orders: LockOrder
) -> tuple[Found, ...]:
    """Returns the findings of an exploration. `orders`: those in which the threads of all runs have taken locks."""
    result = []
    for signature, one in sorted(found.items()):
        evidence = Finding(signature[0], signature[1], program.implementation.name)
        scenario = Scenario(program.component.name, scope.config, one.steps, evidence)
        result.append(Found(signature, one.broken.owed, one.broken.observed, scenario, 1))
    cycle = orders.cycle() if ONE_ORDER in program.places else ()
    if cycle and not any(signature[0] == ONE_ORDER for signature in found):
        # No single run has the contradiction, but several runs together have: each of the orders is possible.
        owed = "threads that can run at the same time must take locks in one order"
        signature = ONE_ORDER, FailureClass.DEADLOCKED.value, "across-runs"
        scenario = Scenario(program.component.name, scope.config, ())
        result.append(Found(signature, owed, f"in different runs: {describe(cycle)}", scenario, 1))
    return tuple(result)
