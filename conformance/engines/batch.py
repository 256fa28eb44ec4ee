"""Searching an implementation that is far away: a whole scenario in one message.

The reference draws and runs the scenario, and its calls are written down. They are sent at once; one outcome per call
comes back. Then the scenario is judged as always, by the same ledger and the same properties, against a port that
answers from that list. Operations of threads are sent whole, one after the other. If the ledger, having learned from
those outcomes, would call something else than what was sent, judging stops there and the scenario is run again step by
step; so is every scenario in which a violation was found, before it is believed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from conformance.driver import Program, Run, Violation, as_error, run_scenario, unexpected
from conformance.engines.search import LENGTH, Search
from conformance.ports import Batch, ErrorKind, Implementation, Outcome, PortError, Signal, find_implementation
from conformance.ports.implementation import NEW, Call, Factory
from conformance.scenarios import Scenario

GENERATOR = "reference"
"""The implementation that draws the scenarios."""


def generator_of(program: Program) -> Implementation:
    """What draws the scenarios of an implementation that is far away: the reference, unless it lacks the component."""
    reference = find_implementation(GENERATOR)
    return reference if program.component.name in reference.components() else program.implementation


def batch_of(program: Program) -> Batch | None:
    """How the implementation runs a whole scenario in one message, if somebody near can draw it."""
    batch = program.implementation.batch
    return batch if batch is not None and generator_of(program) is not program.implementation else None


class _Departed(BaseException):
    """The next call is not the one that was sent. Not an Exception: no driver may take it for an answer."""


class Recording:
    """A port that writes down what is called of another."""

    def __init__(self, port: Any, calls: list[Call]) -> None:
        self._port = port
        self._calls = calls
        self.signals: list[Signal] = port.signals

    def __getattr__(self, name: str) -> Callable[..., Any]:
        operation = getattr(self._port, name)

        def call(*arguments: Any) -> Any:
            self._calls.append((name, *arguments))
            return operation(*arguments)

        return call


class _Scripted:
    """A port that answers from a list of outcomes, as long as it is called as was foreseen."""

    def __init__(self, script: _Script) -> None:
        self._script = script
        self.signals: list[Signal] = []

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            outcome = self._script.next((name, *arguments))
            self.signals.extend(outcome.signals)
            if outcome.error is not None:
                raise PortError(outcome.error.kind, outcome.error.reason, outcome.error.checkpoint_reason)
            return outcome.value

        return call


class _Script:
    """Calls and their outcomes, read once from front to back."""

    def __init__(self, calls: Sequence[Call], outcomes: Sequence[Outcome]) -> None:
        self._pairs = iter(zip(calls, outcomes, strict=True))

    def next(self, call: Call) -> Outcome:
        expected, outcome = next(self._pairs, (None, None))
        if expected != call or outcome is None:
            raise _Departed
        return outcome

    def port(self, config: Any) -> Any:
        self.next((NEW, config))
        return _Scripted(self)


class Messenger:
    """Runs whole scenarios on an implementation that is far away, one message each.

    What is to be sent is what was called on the `local` program since `forget`.
    """

    def __init__(self, program: Program, batch: Batch) -> None:
        self.program = program
        self._batch = batch
        self._calls: list[Call] = []
        local = Program(program.component, generator_of(program))
        self.local = local.made_by(noting(local.factory, self._calls))
        self.local.configs = tuple(config for config in program.configs if config.interleaving == "whole")

    def forget(self) -> None:
        """The next scenario begins."""
        self._calls.clear()

    def judge(self, scenario: Scenario, record: bool = False) -> Run:
        """Send the calls of the scenario, and judge it by what was answered.

        An implementation that was lost on the way is a finding, also if the scenario goes well when it is run again.
        """
        component = self.program.component
        config = component.port_config(scenario.config)
        lost: Violation | None = None
        try:
            outcomes = self._batch(component.name, config, tuple(self._calls))
            script = _Script(self._calls, outcomes)
            run = run_scenario(self.program.made_by(script.port), scenario.config, scenario.steps, record)
        except _Departed:
            run = None
        except PortError as error:
            run = None
            if error.kind in (ErrorKind.CRASHED, ErrorKind.HUNG):
                lost = unexpected(self.program.answers, as_error(error), (NEW,))
        if run is None or run.violation is not None:
            run = run_scenario(self.program, scenario.config, scenario.steps, record)
            run.violation = run.violation or lost
        return run

    def run(self, scenario: Scenario) -> Run:
        """A scenario from anywhere, recorded."""
        self.forget()
        run_scenario(self.local, scenario.config, scenario.steps)
        return self.judge(scenario, record=True)


def noting(factory: Factory, calls: list[Call]) -> Callable[[Any], Any]:
    """Makes ports that write down what is called, their making included."""

    def make(config: Any) -> Any:
        calls.append((NEW, config))
        return Recording(factory(config), calls)

    return make


class BatchSearch:
    """Draws on the reference, runs elsewhere. Answers as `Search` does."""

    def __init__(self, program: Program, batch: Batch, length: int = LENGTH) -> None:
        self.program = program
        self._messenger = Messenger(program, batch)
        self._search = Search(self._messenger.local, length)

    def run(self, seed: str, record: bool = False) -> tuple[Scenario, Run]:
        """One scenario, drawn on the reference and judged on the implementation."""
        self._messenger.forget()
        scenario, drawn = self._search.run(seed)
        if drawn.violation is not None:
            raise AssertionError(f"the reference violates a property in {scenario}: {drawn.violation}")
        return scenario, self._messenger.judge(scenario, record)


def recording(program: Program) -> Callable[[Scenario], Run]:
    """The quickest way to run one whole scenario, and to have its entries."""
    batch = batch_of(program)
    if batch is not None:
        return Messenger(program, batch).run
    return lambda scenario: run_scenario(program, scenario.config, scenario.steps, record=True)


def searching(program: Program) -> Search | BatchSearch:
    """The quickest way to search an implementation."""
    batch = batch_of(program)
    return Search(program) if batch is None else BatchSearch(program, batch)
