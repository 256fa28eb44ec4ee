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

from conformance.alphabets import Run, run_scenario
from conformance.alphabets.program import Program
from conformance.engines.search import LENGTH, Search
from conformance.ports import Batch, Outcome, PortError, Signal, find_implementation
from conformance.ports.implementation import NEW, Call, Factory
from conformance.scenarios import Scenario

GENERATOR = "reference"
"""The implementation that draws the scenarios."""


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


class BatchSearch:
    """Draws on the reference, runs elsewhere. Answers as `Search` does."""

    def __init__(self, program: Program, batch: Batch, length: int = LENGTH) -> None:
        self.program = program
        self._batch = batch
        self._calls: list[Call] = []
        generator = find_implementation(GENERATOR)
        drawing = Program(program.alphabet, generator)
        self._drawing = drawing.made_by(recording(drawing.factory, self._calls))
        self._drawing.configs = tuple(config for config in program.configs if config.interleaving == "whole")
        self._search = Search(self._drawing, length)

    def run(self, seed: str) -> tuple[Scenario, Run]:
        """One scenario, drawn on the reference and judged on the implementation."""
        self._calls.clear()
        scenario, drawn = self._search.run(seed)
        if drawn.violation is not None:
            raise AssertionError(f"the reference violates a property in {scenario}: {drawn.violation}")
        return scenario, self._judge(scenario)

    def _judge(self, scenario: Scenario) -> Run:
        alphabet = self.program.alphabet
        config = alphabet.port_config(scenario.config)
        try:
            outcomes = self._batch(alphabet.component, config, tuple(self._calls))
            script = _Script(self._calls, outcomes)
            run = run_scenario(self.program.made_by(script.port), scenario.config, scenario.steps)
        except (PortError, _Departed):
            run = None
        if run is None or run.violation is not None:
            return run_scenario(self.program, scenario.config, scenario.steps)
        return run


def recording(factory: Factory, calls: list[Call]) -> Callable[[Any], Any]:
    """Makes ports that write down what is called, their making included."""

    def make(config: Any) -> Any:
        calls.append((NEW, config))
        return Recording(factory(config), calls)

    return make


def searching(program: Program) -> Search | BatchSearch:
    """The quickest way to search an implementation."""
    batch = program.implementation.batch
    return Search(program) if batch is None else BatchSearch(program, batch)
