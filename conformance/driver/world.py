"""One run of a component with its ledger. This is the only place where steps are performed.

All engines, replay and the reducer perform their steps here. The world calls the operation and judges its outcome
against what the ledger owed before. Then the ledger learns, and the rules that depend on both are judged. This is the
hot path, so it uses no reflection and no logging, and it reuses one `Seen`.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import CoroutineType
from typing import Any

from conformance.driver import turns
from conformance.driver.exactly import signals_of
from conformance.driver.judge import FATAL, Judge
from conformance.driver.judgement import Broken, FailureClass
from conformance.driver.own_rules import judge_second_release
from conformance.driver.program import Move, Program
from conformance.driver.step import FINISH, Operands
from conformance.driver.violation import Violation, as_error, unexpected
from conformance.ports import Capability, FaultStruck, Outcome, Port, Signal
from conformance.scenarios import Entry, Step
from conformance.scheduling import PAUSED, Kernel, Thread

LONGEST_DRAIN = 10_000
"""A drain with more steps counts as endless. A normal drain has about as many steps as the scenario before it."""


class World:
    """One run: a fresh port, a fresh ledger, and the steps performed so far."""

    __slots__ = ("config", "entries", "judge", "kernel", "ledger", "moves", "performed", "port", "program", "threads")

    def __init__(self, program: Program, config: Any, record: bool = False) -> None:
        self.program = program
        self.config = config
        self.moves = program.moves_in(config)
        log = program.log
        self.entries: list[Entry] | None = None if not record else [] if log is None else log.entries()
        self.performed: list[Step] = [] if log is None else log.begin(config)
        """The steps performed so far, without those of the drain. Each turn has the place where it ended."""
        self.kernel = Kernel(program.threads, config.interleaving == "fine") if program.threads else None
        self.threads: dict[str, Thread] = {} if self.kernel is None else self.kernel.threads
        self.ledger = program.component.make_ledger(config, program.capabilities)
        self.judge = Judge(program, self.ledger, self.kernel)
        self.judge.evidence.enter(config, self.ledger)
        self.port = self._fresh_port(("new",), program.component.port_config(config))

    def choices(self, name: str) -> Sequence[Operands]:
        """Returns the operands with which this kind of step is enabled now."""
        move = self.moves.get(name)
        if move is None:
            return [(thread.name,) for thread in self.threads.values() if thread.runnable] if name == FINISH else ()
        thread = self.threads.get(move.thread)
        return () if thread is not None and thread.coroutine is not None else move.choices(self.ledger)

    def choices_of(self, case: Move) -> Sequence[Operands]:
        """Returns the operands with which this case of a kind of step is enabled now."""
        thread = self.threads.get(case.thread)
        busy = thread is not None and thread.coroutine is not None
        return () if busy or self.ledger.phase not in case.during else case.when(self.ledger)

    def case(self, step: Step) -> Move:
        """Returns the case in which a step begins an operation now."""
        move = self.moves[step[0]]
        return move.cases[move.case(self.ledger, step[1:])] if move.cases else move

    def enabled(self, step: Step) -> bool:
        """Returns whether the step is enabled now."""
        if step[0] in self.moves:
            return step[1:] in self.choices(step[0])
        return step[1] in self.threads and self.threads[step[1]].runnable

    def perform(self, step: Step) -> None:
        """Perform an enabled step, judge it, and let the ledger learn from it. Raises: Violation."""
        move = self.moves.get(step[0])
        if move is None:
            self._turn(step)
            return
        operands = step[1:]
        judge, ledger, port = self.judge, self.ledger, self.port
        case = 0
        if move.cases:
            case = move.case(ledger, operands)
            move = move.cases[case]
        seen = judge.seen
        self.performed.append(step)
        seen.error = None
        thread = None
        try:
            if move.interrupts and self.kernel is not None and self.kernel.in_flight:
                if move.crashes:
                    turns.abandon(self.kernel, judge, port.signals, step)
                else:
                    self.kernel.leave_open()
            if not operands:  # a call with a star takes three times as long
                if move.begin is not None:
                    move.begin(ledger)
                value = move.call(port, ledger)
            elif len(operands) == 1:
                operand = operands[0]
                if move.begin is not None:
                    move.begin(ledger, operand)
                value = move.call(port, ledger, operand)
            else:
                if move.begin is not None:
                    move.begin(ledger, *operands)
                value = move.call(port, ledger, *operands)
            if type(value) is CoroutineType:
                if move.thread:
                    assert self.kernel is not None
                    thread = self.threads[move.thread]
                    thread.case = case
                    value = self.kernel.start(thread, step, value)
                    if value is PAUSED:
                        self._paused(thread, step)
                        return
                else:
                    value = turns.whole(value)
            seen.value = value
            signals = port.signals
        except Violation:
            raise
        except BaseException as error:  # also SystemExit: an implementation that exits has crashed
            seen.value = None
            seen.error = as_error(error)
            signals = self._signals()
        seen.signals = signals
        if self.entries is not None:
            self._record(step, signals)
        if thread is not None and thread.order.changed:
            assert self.kernel is not None
            turns.check_order(self.kernel, judge, step)
        judge.hold(move, step, operands, signals)
        if signals:
            signals.clear()
        if move.fresh_port:
            self._replace_port(step)

    def _turn(self, step: Step) -> None:
        """Let a paused thread go on, and judge its operation if that has ended."""
        kernel, judge = self.kernel, self.judge
        assert kernel is not None
        thread = self.threads[step[1]]
        operation = thread.operation
        step = turns.go_on(kernel, judge, step)
        self.performed.append(step)
        if thread.coroutine is not None:
            self._paused(thread, step)
            return
        seen = judge.seen
        seen.signals = signals = self._signals()
        if thread.emitted:  # rules see all signals of the operation; the ledger has heard these already
            seen.signals = [*thread.emitted, *signals]
            thread.emitted.clear()
        if self.entries is not None:
            self._record(step, signals)
        if thread.order.changed:
            turns.check_order(kernel, judge, operation)
        move = self.moves[operation[0]]
        if move.cases:
            move = move.cases[thread.case]
        if thread.open_ended:
            thread.open_ended = False
            judge.let_end(move, operation, operation[1:], signals)
        else:
            judge.hold(move, operation, operation[1:], signals)
        signals.clear()
        if move.fresh_port:
            self._replace_port(operation)

    def _paused(self, thread: Thread, step: Step) -> None:
        """Record that an operation has paused, and let the ledger hear the signals that it emitted so far."""
        kernel, signals, at = self.kernel, self._signals(), thread.waits_for
        assert kernel is not None
        assert at is not None
        if self.entries is not None:
            outcome = Outcome(signals=tuple(signals), paused_at=at.name)
            self.entries.append(Entry(step, outcome, self.ledger.closing))
        if (error := self.judge.seen.error) is not None:
            raise unexpected(self.program.answers, error, thread.operation)
        if signals:
            self.ledger.hear(signals)
            thread.emitted.extend(signals)
            if FaultStruck in map(type, signals):
                self.judge.open_others(thread)
            signals.clear()
        if thread.order.changed:
            turns.check_order(kernel, self.judge, thread.operation)
        if not at.ready():
            turns.check_held(self.judge, thread, at)
            turns.check_wait(kernel, self.judge, thread, at)

    def drain(self) -> int:
        """End the run with the fair drain. Returns how many steps the drain took. Raises: Violation."""
        ledger, draining = self.ledger, self.program.component.drain.begin()
        ledger.closing = True
        if self.program.log is not None:
            self.program.log.closing()
        done, before = 0, len(self.performed)
        try:
            while True:
                kernel = self.kernel
                if kernel is None or not kernel.in_flight:
                    step = draining.next(ledger)
                elif (thread := kernel.runnable()) is not None:  # threads that can go on come first
                    step = FINISH, thread.name
                else:
                    step = draining.next(ledger)
                    move = None if step is None else self.moves[step[0]]
                    busy = None if move is None else self.threads.get(move.thread)
                    if move is None or self._must_have_ended(move, busy):
                        turns.check_end(kernel, self.judge, busy)
                if step is None:
                    return done + self._release_again()
                self.perform(step)
                done += 1
                if done > LONGEST_DRAIN:
                    owed, observed = "the drain must come to an end", f"it did not end within {LONGEST_DRAIN} steps"
                    raise Violation(self.program.answers, Broken(FailureClass.STUCK, owed, observed), step)
        finally:
            del self.performed[before:]

    def _release_again(self) -> int:
        """End a drain that has released the port: look, release it again, and look again, since a second release
        changes nothing. Returns how many steps that took. Raises: Violation."""
        ends = self.program.ends
        if ends is None or self.ledger.phase != "failed" or (self.kernel is not None and self.kernel.in_flight):
            return 0
        (look, release), seen = ends, self.judge.seen
        done = 2
        if self.performed[-1:] != [look]:
            self.perform(look)
            done = 3
        before = seen.value
        self.perform(release)
        self.perform(look)
        counts = Capability.RESOURCES in self.program.capabilities
        if counts and (wrong := judge_second_release(before, seen.value)) is not None:
            raise Violation(self.program.answers, wrong, release)
        return done

    def _must_have_ended(self, move: Move, busy: Thread | None) -> bool:
        """Returns whether the next step of the drain shows that an operation does not end which should have: the step
        needs its thread, or it ends the life of a port that is not broken."""
        if busy is not None and busy.coroutine is not None:
            return True
        return move.crashes and not self.ledger.is_broken()

    def close(self) -> None:
        """End the run, and abandon the operations that are still in flight."""
        if self.kernel is not None and self.kernel.in_flight:
            self.kernel.close()

    def _replace_port(self, step: Step) -> None:
        """Replace the port with a fresh one, which takes over the state that the ledger knows."""
        component = self.program.component
        if component.restored_config is None:
            config = component.port_config(self.config)
        else:
            config = component.restored_config(self.config, self.ledger)
        self.port = self._fresh_port(step, config)
        self.judge.evidence.enter(self.config, self.ledger)

    def _fresh_port(self, step: Step, config: Any) -> Port:
        """Returns a new port of the implementation under test. Raises: Violation if the factory fails."""
        try:
            return self.program.factory(config)
        except BaseException as error:
            raise unexpected(self.program.answers, as_error(error), step) from error

    def _signals(self) -> list[Signal]:
        """Returns what the port has emitted. If these are no signals of the interface, or the port does not say, there
        are none, and the operation has failed."""
        try:
            return signals_of(self.port) if self.program.is_checked else self.port.signals
        except BaseException as error:
            seen = self.judge.seen
            if seen.error is None or seen.error.kind not in FATAL:
                seen.value, seen.error = None, as_error(error)
            return []

    def _record(self, step: Step, signals: list[Signal]) -> None:
        assert self.entries is not None
        seen = self.judge.seen
        outcome = Outcome(seen.value, tuple(signals), seen.error)
        self.entries.append(Entry(step, outcome, self.ledger.closing))
