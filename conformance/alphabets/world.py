"""The driver: one run of a component, its ledger beside it.

Every engine, replay and the reducer perform steps here and nowhere else. An operation is called, its outcome is
judged against what the ledger owed before, the ledger learns, and what depends on both is judged then. An operation
that pauses is a logical thread: it goes on by turns, which are steps like any other, and is judged when it is over.
Every run ends in a fair drain: nothing new is fed, everything that can happen does, and nothing owed may be left.
"""

from __future__ import annotations

from collections.abc import Coroutine, Iterable, Sequence
from types import CoroutineType
from typing import Any

import msgspec

from conformance.alphabets.base import FINISH, RUN, Operands
from conformance.alphabets.program import Move, Program
from conformance.alphabets.violation import Violation, as_error, unexpected
from conformance.ports import Error, ErrorKind, Outcome, Port, PortError
from conformance.properties import (
    COMES_TO_AN_END,
    NO_CIRCLE,
    ONE_ORDER,
    Broken,
    FailureClass,
    Judgement,
    Property,
    Seen,
)
from conformance.scenarios import Entry, Step
from conformance.scheduling import PAUSED, Kernel, LockOrder, Thread, describe

LONGEST_DRAIN = 10_000
"""Steps after which a drain counts as endless. A real one has about as many steps as the scenario before it."""


class World:
    """One run: a fresh port, a fresh ledger, and what was put to the test so far."""

    __slots__ = (
        "config",
        "entries",
        "exercised",
        "kernel",
        "ledger",
        "moves",
        "performed",
        "port",
        "program",
        "seen",
        "threads",
    )

    def __init__(self, program: Program, config: Any, record: bool = False) -> None:
        self.program = program
        self.config = config
        self.moves = program.moves
        self.exercised = bytearray(program.blank_marks)
        self.entries: list[Entry] | None = [] if record else None
        self.performed: list[Step] = []
        """The steps done so far, turns with the place where they ended; the drain is not among them."""
        self.seen = Seen()
        self.kernel = Kernel(program.threads, config.interleaving == "fine") if program.threads else None
        self.threads: dict[str, Thread] = {} if self.kernel is None else self.kernel.threads
        self.ledger = program.alphabet.make_ledger(config, program.capabilities)
        self.port = self.fresh_port(("new",), program.alphabet.port_config(config))

    def choices(self, name: str) -> Sequence[Operands]:
        """The operands with which this kind of step is enabled now."""
        move = self.moves.get(name)
        if move is None:
            return [(thread.name,) for thread in self.threads.values() if thread.runnable] if name == FINISH else ()
        thread = self.threads.get(move.thread)
        if self.ledger.phase not in move.phases or (thread is not None and thread.coroutine is not None):
            return ()
        return move.choices(self.ledger)

    def enabled(self, step: Step) -> bool:
        """Whether the step means something now."""
        if step[0] in self.moves:
            return step[1:] in self.choices(step[0])
        return step[1] in self.threads and self.threads[step[1]].runnable

    def perform(self, step: Step) -> None:
        """Do an enabled step, judge it, and let the ledger learn. Raises Violation."""
        move = self.moves.get(step[0])
        if move is None:
            self._turn(step)
            return
        operands = step[1:]
        seen, ledger, port = self.seen, self.ledger, self.port
        self.performed.append(step)
        if move.crashes:
            self._abandon(step)
        seen.error = None
        thread = None
        try:
            if move.begin is not None:
                move.begin(ledger, *operands)
            value = move.call(port, ledger, *operands)
            if type(value) is CoroutineType:
                if move.thread:
                    assert self.kernel is not None
                    thread = self.threads[move.thread]
                    value = self.kernel.start(thread, step, value)
                    if value is PAUSED:
                        self._paused(thread, step)
                        return
                else:
                    value = whole(value)
            seen.value = value
        except Violation:
            raise
        except Exception as error:
            seen.value = None
            seen.error = as_error(error)
        seen.signals = port.signals
        if self.entries is not None:
            self._record(step)
        if thread is not None and thread.order.changed:
            self._check_order(step)
        self._judge(move, step, operands)

    def _judge(self, move: Move, step: Step, operands: Operands) -> None:
        """Hold an operation that is over against the properties, and let the ledger learn of it."""
        seen, ledger, signals = self.seen, self.ledger, self.port.signals
        seen.operands = operands
        if seen.error is not None and not (move.fails and seen.error.kind not in _FATAL):
            raise unexpected(self.program.answers, seen.error, step)
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
            if move.quiet and (self.kernel is None or not self.kernel.in_flight):
                for place, check, judged in move.quiet:
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
            self.port = self.fresh_port(step, self._restored_config())

    # ---- threads ---------------------------------------------------------------------------------------------------
    def _turn(self, step: Step) -> None:
        """Let a paused thread go on."""
        kernel, seen, port = self.kernel, self.seen, self.port
        assert kernel is not None
        thread = self.threads[step[1]]
        operation = thread.operation
        seen.error = None
        value: Any = None
        try:
            value = kernel.finish(thread) if step[0] == FINISH else kernel.run(thread, step[2])
        except Exception as error:
            seen.error = as_error(error)
        if value is PAUSED:
            assert thread.waits_for is not None
            step = (RUN, thread.name, thread.waits_for.name)
            self.performed.append(step)
            self._paused(thread, step)
            return
        step = (FINISH, thread.name)
        self.performed.append(step)
        seen.value = value
        seen.signals = port.signals
        if thread.emitted:  # properties see all that the operation emitted; the ledger heard this part before
            seen.signals = [*thread.emitted, *port.signals]
            thread.emitted.clear()
        if self.entries is not None:
            self._record(step)
        if thread.order.changed:
            self._check_order(operation)
        self._judge(self.moves[operation[0]], operation, operation[1:])

    def _paused(self, thread: Thread, step: Step) -> None:
        """An operation is not over. What it emitted so far is heard; deadlocks and lock orders are judged."""
        kernel, signals = self.kernel, self.port.signals
        assert kernel is not None
        at = thread.waits_for
        assert at is not None
        if self.entries is not None:
            self.entries.append(
                Entry(step, Outcome(signals=tuple(signals), paused_at=at.name), bool(self.ledger.closing))
            )
        if signals:
            self.ledger.hear(signals)
            thread.emitted.extend(signals)
            signals.clear()
        if thread.order.changed:
            self._check_order(thread.operation)
        if not at.ready():
            self._mark(COMES_TO_AN_END)
            if at.holders():
                self._mark(NO_CIRCLE)
                judged = self._driver_property(NO_CIRCLE)
                if judged is not None and (circle := kernel.deadlock()):
                    raise Violation(
                        judged, Broken(FailureClass.DEADLOCKED, "every thread must be able to go on", circle),
                        thread.operation,
                    )  # fmt: skip

    def _check_order(self, operation: Step) -> None:
        """Locks were taken one inside the other as never before in this run."""
        kernel = self.kernel
        assert kernel is not None
        kernel.order.changed = False
        self._mark(ONE_ORDER)
        judged = self._driver_property(ONE_ORDER)
        if judged is not None and not self.program.has_order(kernel.order) and (cycle := kernel.order.cycle()):
            owed = "locks must be taken in one order by all threads that can meet"
            raise Violation(judged, Broken(FailureClass.DEADLOCKED, owed, describe(cycle)), operation)

    def _abandon(self, step: Step) -> None:
        """Every operation in flight dies here and now."""
        if self.kernel is not None and self.kernel.in_flight:
            complaints = self.kernel.close()
            for thread in self.threads.values():
                thread.emitted.clear()
            self.port.signals.clear()
            if complaints:
                raise unexpected(self.program.answers, Error(ErrorKind.CRASHED, "; ".join(complaints)), step)

    def close(self) -> None:
        """The run is over, whatever is still in flight."""
        if self.kernel is not None and self.kernel.in_flight:
            self.kernel.close()

    def _mark(self, slug: str) -> None:
        place = self.program.places.get(slug)
        if place is not None:
            self.exercised[place] = 1

    def _driver_property(self, slug: str) -> Property | None:
        place = self.program.places.get(slug)
        return None if place is None else self.program.properties[place]

    # ---- the end -----------------------------------------------------------------------------------------------------
    def drain(self) -> int:
        """End the run fairly. Returns how many steps that took. Raises Violation."""
        self.ledger.closing = 1
        done, before = 0, len(self.performed)
        try:
            while (step := self._next_of_drain()) is not None:
                self.perform(step)
                done += 1
                if done > LONGEST_DRAIN:
                    broken = Broken(
                        FailureClass.STUCK, "a run must come to an end", f"it did not within {LONGEST_DRAIN} steps"
                    )
                    raise Violation(self.program.answers, broken, step)
        finally:
            del self.performed[before:]
        return done

    def _next_of_drain(self) -> Step | None:
        """First everybody who can goes on, then the ledger says what is still to be done."""
        kernel = self.kernel
        if kernel is None or not kernel.in_flight:
            return self.program.alphabet.closing(self.ledger)
        thread = kernel.runnable()
        if thread is not None:
            return FINISH, thread.name
        step = self.program.alphabet.closing(self.ledger)
        self._must_not_wait(step)
        return step

    def _must_not_wait(self, step: Step | None) -> None:
        """Nothing is left to do, or only for a thread that is busy, and somebody waits."""
        assert self.kernel is not None
        busy = self.threads.get(self.moves[step[0]].thread) if step is not None else None
        if step is not None and (busy is None or busy.coroutine is None):
            return
        stuck = busy or next(thread for thread in self.threads.values() if thread.coroutine is not None)
        judged = self._driver_property(COMES_TO_AN_END) or self.program.answers
        owed = "an operation must come to an end once all it may wait for has happened"
        raise Violation(judged, Broken(FailureClass.STUCK, owed, self.kernel.waiting()), stuck.operation)

    def _restored_config(self) -> Any:
        alphabet = self.program.alphabet
        if alphabet.restored_config is None:
            return alphabet.port_config(self.config)
        return alphabet.restored_config(self.config, self.ledger)

    def fresh_port(self, step: Step, config: Any) -> Port:
        """A new port of the implementation under test. Raises Violation if it cannot be made."""
        try:
            return self.program.factory(config)
        except Exception as error:
            raise unexpected(self.program.answers, as_error(error), step) from error

    def _record(self, step: Step) -> None:
        assert self.entries is not None
        seen = self.seen
        outcome = Outcome(seen.value, tuple(self.port.signals), seen.error)
        self.entries.append(Entry(step, outcome, bool(self.ledger.closing)))

    def _broken(self, judged: Property, broken: Broken, step: Step) -> Violation:
        return self._nonsense(step) or Violation(judged, broken, step)

    def _nonsense(self, step: Step) -> Violation | None:
        """Whether the last answer is of another type than the interface says, nested values included."""
        if self.seen.error is not None:
            return None
        try:
            msgspec.convert(msgspec.to_builtins(self.seen.value), self.moves[step[0]].kind.answers)
        except (TypeError, ValueError, msgspec.ValidationError):
            shown = repr(self.seen.value)
            shown = shown if len(shown) <= 80 else shown[:77] + "..."
            owed = f"{step[0]} must answer a value of its type"
            broken = Broken(FailureClass.CRASHED, owed, f"it answered nonsense: {shown}")
            return Violation(self.program.answers, broken, step)
        return None


def run_scenario(program: Program, config: Any, steps: Iterable[Step], record: bool = False) -> Run:
    """Perform what is enabled of `steps`, then drain. With `record`, skipped steps are entries too."""
    world = None
    try:
        world = World(program, config, record)
        for step in steps:
            if world.enabled(step):
                world.perform(step)
            elif world.entries is not None:
                world.entries.append(Entry(step, None))
        return Run(world, world.drain(), None)
    except Violation as violation:
        return Run(world, 0, violation)
    finally:
        if world is not None:
            world.close()


class Run:
    """What came of one scenario."""

    __slots__ = ("closing_steps", "entries", "exercised", "performed", "violation")

    def __init__(self, world: World | None, closing_steps: int, violation: Violation | None) -> None:
        self.exercised = b"" if world is None else bytes(world.exercised)
        self.entries = () if world is None or world.entries is None else tuple(world.entries)
        self.performed: list[Step] = [] if world is None else world.performed
        """What was enabled, turns with the place where they ended."""
        self.closing_steps = closing_steps
        self.violation = violation


def whole(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Run an asynchronous operation that never has to wait."""
    try:
        while (at := coroutine.send(None)) is not None and at.ready():
            at.grant(_NOBODY)
    except StopIteration as end:
        return end.value
    coroutine.close()
    raise PortError(ErrorKind.PROTOCOL, "the operation paused, but here operations run whole")


_NOBODY = Thread("nobody", LockOrder())
"""Runs operations of components without threads, and observations."""
_FATAL = frozenset({ErrorKind.CRASHED, ErrorKind.HUNG})
