"""The driver: one run of a component, its ledger beside it.

Every engine, replay and the reducer perform steps here and nowhere else. An operation is called, its outcome is
judged against what the ledger owed before, the ledger learns, and what depends on both is judged then. Every run ends
in a fair drain: nothing new is fed, everything that can happen does, and nothing owed may be left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from types import CoroutineType
from typing import Any

import msgspec

from conformance.alphabets.base import Alphabet, Operands, StepKind
from conformance.ports import Capability, Error, ErrorKind, Implementation, Outcome, Port, PortError
from conformance.ports.implementation import Factory
from conformance.properties import ANSWERS, Broken, FailureClass, Judgement, Kind, Property, Seen
from conformance.scenarios import Entry, Step

LONGEST_DRAIN = 10_000
"""Steps after which a drain counts as endless. A real one has about as many steps as the scenario before it."""


class Violation(Exception):
    """A property does not hold."""

    def __init__(self, judged: Property, broken: Broken, step: Step) -> None:
        super().__init__(f"{judged.slug}: {broken}")
        self.property = judged
        self.broken = broken
        self.step = step

    @property
    def signature(self) -> tuple[str, str, str]:
        """What makes two failures the same one: property, class, and the operation at which it showed."""
        return self.property.slug, self.broken.failure_class.value, self.step[0]


class Move:
    """One kind of step, made ready for one implementation: with the properties that apply to it."""

    __slots__ = ("after", "before", "call", "choices", "fails", "fresh_port", "goals", "kind", "learn", "phases")

    def __init__(self, kind: StepKind, properties: list[tuple[int, Property]]) -> None:
        self.kind = kind
        self.phases = kind.phases
        self.choices: Callable[[Any], Sequence[Operands]] = kind.choices
        self.call = kind.call
        self.learn = kind.learn
        self.fails = kind.fails
        self.fresh_port = kind.fresh_port
        mine = [(place, one) for place, one in properties if kind.name in one.on]
        always = [(place, one) for place, one in mine if one.kind is not Kind.SOMETIMES]
        self.before = tuple((place, one.check, one) for place, one in always if not one.after_learning)
        self.after = tuple((place, one.check, one) for place, one in always if one.after_learning)
        self.goals = tuple((place, one.check) for place, one in mine if one.kind is Kind.SOMETIMES)


class Program:
    """An alphabet made ready for one implementation. Made once, used for many runs."""

    __slots__ = ("alphabet", "answers", "capabilities", "factory", "implementation", "moves", "places", "properties")

    def __init__(self, alphabet: Alphabet, implementation: Implementation, assume: Iterable[Capability] = ()) -> None:
        self.alphabet = alphabet
        self.implementation = implementation
        self.factory = implementation.components()[alphabet.component]
        self.capabilities = implementation.capabilities | frozenset(assume)
        self.properties = tuple(one for one in alphabet.properties if one.applies(self.capabilities))
        self.places = {one.slug: index for index, one in enumerate(self.properties)}
        self.answers = next(one for one in self.properties if one.slug == ANSWERS)
        numbered = list(enumerate(self.properties))
        self.moves = {kind.name: Move(kind, numbered) for kind in alphabet.steps}

    def made_by(self, factory: Factory) -> Program:
        """The same program on ports made by another factory."""
        twin = object.__new__(Program)
        for name in Program.__slots__:
            setattr(twin, name, getattr(self, name))
        twin.factory = factory
        return twin

    def exercised(self, marks: bytes) -> list[str]:
        """The slugs of the properties that are marked in a run."""
        return [slug for slug, place in self.places.items() if marks and marks[place]]


class World:
    """One run: a fresh port, a fresh ledger, and what was put to the test so far."""

    __slots__ = ("config", "entries", "exercised", "ledger", "moves", "port", "program", "seen")

    def __init__(self, program: Program, config: Any, record: bool = False) -> None:
        self.program = program
        self.config = config
        self.moves = program.moves
        self.exercised = bytearray(len(program.properties))
        self.exercised[program.places[ANSWERS]] = 1
        self.entries: list[Entry] | None = [] if record else None
        self.seen = Seen()
        self.ledger = program.alphabet.make_ledger(config, program.capabilities)
        self.port = self.fresh_port(("new",))

    def choices(self, name: str) -> Sequence[Operands]:
        """The operands with which this kind of step is enabled now."""
        move = self.moves[name]
        return move.choices(self.ledger) if self.ledger.phase in move.phases else ()

    def enabled(self, step: Step) -> bool:
        """Whether the step means something now."""
        move = self.moves[step[0]]
        return self.ledger.phase in move.phases and step[1:] in move.choices(self.ledger)

    def perform(self, step: Step) -> None:
        """Do an enabled step, judge it, and let the ledger learn. Raises Violation."""
        move = self.moves[step[0]]
        operands = step[1:]
        seen, ledger, port = self.seen, self.ledger, self.port
        seen.operands = operands
        try:
            value = move.call(port, ledger, *operands)
            seen.value = whole(value) if type(value) is CoroutineType else value
            seen.error = None
        except Exception as error:
            seen.value = None
            seen.error = as_error(error)
        signals = seen.signals = port.signals
        if self.entries is not None:
            self._record(step)
        if seen.error is not None and not (move.fails and seen.error.kind not in _FATAL):
            raise self._unexpected(seen.error, step)
        try:
            exercised = self.exercised
            for place, check in move.goals:
                if not exercised[place] and check(ledger, seen):
                    exercised[place] = 1
            for place, check, judged in move.before:
                judgement: Judgement = check(ledger, seen)
                if judgement is True:
                    exercised[place] = 1
                elif judgement is not False:
                    raise self._broken(judged, judgement, step)
            move.learn(ledger, seen, *operands)
            if signals:
                ledger.hear(signals)
            for place, check, judged in move.after:
                judgement = check(ledger, seen)
                if judgement is True:
                    exercised[place] = 1
                elif judgement is not False:
                    raise self._broken(judged, judgement, step)
        except Violation:
            raise
        except Exception as error:  # a judge stumbled: over nonsense, or over a mistake of its own
            nonsense = self._nonsense(step)
            if nonsense is None:
                raise
            raise nonsense from error
        if signals:
            signals.clear()
        if move.fresh_port:
            self.port = self.fresh_port(step)

    def drain(self) -> int:
        """End the run fairly. Returns how many steps that took. Raises Violation."""
        ledger, closing, perform = self.ledger, self.program.alphabet.closing, self.perform
        ledger.closing = 1
        done = 0
        while (step := closing(ledger)) is not None:
            perform(step)
            done += 1
            if done > LONGEST_DRAIN:
                broken = Broken(
                    FailureClass.STUCK, "a run must come to an end", f"it did not within {LONGEST_DRAIN} steps"
                )
                raise Violation(self.program.answers, broken, step)
        return done

    def fresh_port(self, step: Step) -> Port:
        """A new port of the implementation under test. Raises Violation if it cannot be made."""
        try:
            return self.program.factory(self.program.alphabet.port_config(self.config))
        except Exception as error:
            raise self._unexpected(as_error(error), step) from error

    def _record(self, step: Step) -> None:
        assert self.entries is not None
        seen = self.seen
        outcome = Outcome(seen.value, tuple(seen.signals), seen.error)
        self.entries.append(Entry(step, outcome, bool(self.ledger.closing)))

    def _unexpected(self, error: Error, step: Step) -> Violation:
        classes = {ErrorKind.CRASHED: FailureClass.CRASHED, ErrorKind.HUNG: FailureClass.HUNG}
        owed = f"{step[0]} must answer as the interface says"
        observed = f"it answered the error {error.kind}, which is not provided for here"
        if error.kind is ErrorKind.HUNG:
            observed = "it did not answer in time"
        elif error.kind is ErrorKind.CRASHED:
            observed = "it did not answer"
        observed += f": {error.reason}" if error.reason else ""
        failure_class = classes.get(error.kind, FailureClass.PROTOCOL)
        return Violation(self.program.answers, Broken(failure_class, owed, observed), step)

    def _broken(self, judged: Property, broken: Broken, step: Step) -> Violation:
        return self._nonsense(step) or Violation(judged, broken, step)

    def _nonsense(self, step: Step) -> Violation | None:
        """Whether the last answer is of another type than the interface says, nested values included."""
        try:
            msgspec.convert(msgspec.to_builtins(self.seen.value), self.moves[step[0]].kind.answers)
        except (TypeError, ValueError, msgspec.ValidationError):
            shown = repr(self.seen.value)
            shown = shown if len(shown) <= 80 else shown[:77] + "..."
            owed = f"{step[0]} must answer a value of its type"
            broken = Broken(FailureClass.CRASHED, owed, f"it answered nonsense: {shown}")
            return Violation(self.program.answers, broken, step)
        return None


class Run:
    """What came of one scenario."""

    __slots__ = ("closing_steps", "entries", "exercised", "performed", "violation")

    def __init__(
        self, world: World | None, performed: list[Step], closing_steps: int, violation: Violation | None
    ) -> None:
        self.exercised = b"" if world is None else bytes(world.exercised)
        self.entries = () if world is None or world.entries is None else tuple(world.entries)
        self.performed = performed
        self.closing_steps = closing_steps
        self.violation = violation


def run_scenario(program: Program, config: Any, steps: Iterable[Step], record: bool = False) -> Run:
    """Perform what is enabled of `steps`, then drain. With `record`, skipped steps are entries too."""
    performed: list[Step] = []
    world = None
    try:
        world = World(program, config, record)
        for step in steps:
            if world.enabled(step):
                performed.append(step)
                world.perform(step)
            elif world.entries is not None:
                world.entries.append(Entry(step, None))
        return Run(world, performed, world.drain(), None)
    except Violation as violation:
        return Run(world, performed, 0, violation)


def whole(coroutine: CoroutineType[Any, Any, Any]) -> Any:
    """Run an asynchronous operation that never has to wait."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    coroutine.close()
    raise PortError(ErrorKind.PROTOCOL, "the operation paused, but operations of this component run whole")


def as_error(error: Exception) -> Error:
    """An exception as an outcome. Whatever is not a PortError is a crash of the implementation."""
    if isinstance(error, PortError):
        return Error(error.kind, error.reason, error.checkpoint_reason)
    return Error(ErrorKind.CRASHED, f"{type(error).__name__}: {error}")


_FATAL = frozenset({ErrorKind.CRASHED, ErrorKind.HUNG})
