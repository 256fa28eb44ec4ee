"""Searches an implementation behind a wire, with a whole scenario in one message.

The search draws and runs the scenario on the reference, and records the calls. It sends them in one message and gets
one outcome for each call. Then it runs the scenario again, with the same ledger and the same properties, on a port that
takes its results from the list of outcomes. Operations of threads are sent whole, one after the other. If the ledger,
which has learned from these outcomes, would make another call than the one that was sent, the search runs the scenario
again step by step. It does the same with every scenario that shows a violation, before it reports the violation. If
nothing is wrong step by step, the implementation has other outcomes in one message, which is a finding too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from conformance.driver import (
    Broken,
    FailureClass,
    Interrupt,
    Program,
    Run,
    Violation,
    as_error,
    run_scenario,
    unexpected,
)
from conformance.engines.audit import OPERATION, OWED
from conformance.engines.patience import PATIENCE
from conformance.engines.search import LENGTH, Search
from conformance.ports import (
    Batch,
    Capability,
    ErrorKind,
    Implementation,
    Outcome,
    PortError,
    Signal,
    find_implementation,
)
from conformance.ports.implementation import NEW, Call, Factory
from conformance.scenarios import Scenario

GENERATORS = ("reference", "reference-v1", "reference-v0")
"""The implementations that can draw scenarios, the usual one first. What a coordinator sends, and so which steps are
enabled, depends on its version."""


def generator_of(program: Program) -> Implementation:
    """Returns the implementation that draws the scenarios: a reference that can do what the implementation can, as far
    as the component asks for it, or else the usual one; the implementation itself if none has the component."""
    component = program.component
    every = [one.needs for one in component.properties] + [component.needs(one) for one in component.configs]
    asked = frozenset[Capability]().union(*every)
    drawing = [one for one in map(find_implementation, GENERATORS) if component.name in one.components()]
    able = [one for one in drawing if one.capabilities & asked == program.implementation.capabilities & asked]
    return (able or drawing or [program.implementation])[0]


def batch_of(program: Program) -> Batch | None:
    """Returns the function that runs a whole scenario in one message; None if there is none or nothing to draw with: of
    the references, none has threads that work on their own."""
    batch = program.implementation.batch
    if batch is None or not program.repeats:
        return None
    return batch if generator_of(program) is not program.implementation else None


CALLED_ONLY_WITH: Mapping[Capability, tuple[str, ...]] = {
    Capability.TIMEOUTABLE_BARRIERS: ("aligned_timeout", "convert_to_priority"),
    Capability.SAYS_HOW_TAKEN: ("aligned", "state_written"),
    Capability.ONE_BUFFER_BEFORE_THE_FILTER: ("request_before_filter", "before_filter"),
    Capability.BOUNDED_FILTER_MEMORY: ("partial",),
    Capability.CHECKPOINT_READBACK: ("pipeline.state",),
}
"""The capabilities without which these operations are never called, and everything else is as with them. A name with a
component means the operation of that component, a name without one that of all components that have it."""


class _Departed(Interrupt):
    """The next call is not the one that was sent."""


class Recording:
    """A port that records the calls that it passes on to another port."""

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
    """A port that takes its results from a list of outcomes, as long as the calls are those that were sent."""

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
    """The calls that were sent and their outcomes, which are read once from front to back."""

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
    """Runs whole scenarios on an implementation behind a wire, each in one message.

    A message has the calls that were made on the `local` program since `forget`.
    """

    def __init__(self, program: Program, batch: Batch) -> None:
        self.program = program
        self._batch: Batch | None = batch
        self._hung = 0
        self._calls: list[Call] = []
        local = Program(program.component, generator_of(program))
        whole = [config for config in program.configs if config.interleaving == "whole"]
        self.local = local.made_by(noting(local.factory, self._calls)).within(whole)
        # It draws no step that is not enabled over there.
        self.local.capabilities -= CALLED_ONLY_WITH.keys() - program.capabilities

    def forget(self) -> None:
        """Forget the recorded calls, because the next scenario begins."""
        self._calls.clear()

    def judge(self, scenario: Scenario, record: bool = False) -> Run:
        """Send the calls of the scenario, and judge it by the outcomes.

        What is wrong is a finding even if the second run, step by step, passes: a crash or a hang as such, a violation
        since both ways must have the same outcomes. After as many hangs as a search has patience for, no more scenarios
        are sent whole: the program may not know these messages.
        """
        if self._batch is None:
            return run_scenario(self.program, scenario.config, scenario.steps, record)
        component = self.program.component
        config = component.port_config(scenario.config)
        otherwise: Violation | None = None
        """What is wrong although the second run passes."""
        try:
            outcomes = self._batch(component.name, config, tuple(self._calls))
            script = _Script(self._calls, outcomes)
            run = run_scenario(self.program.made_by(script.port), scenario.config, scenario.steps, record)
            if run.violation is not None:
                otherwise = _unlike(self.program, run.violation)
        except _Departed:
            run = None
        except PortError as error:
            run = None
            if error.kind in (ErrorKind.CRASHED, ErrorKind.HUNG):
                otherwise = unexpected(self.program.answers, as_error(error), (NEW,))
            self._hung += error.kind is ErrorKind.HUNG
            if self._hung >= PATIENCE["hung"]:
                self._batch = None
        if run is None or run.violation is not None:
            run = run_scenario(self.program, scenario.config, scenario.steps, record)
            run.violation = run.violation or otherwise
        return run

    def run(self, scenario: Scenario) -> Run:
        """Run a scenario that was not drawn here, and record its entries."""
        self.forget()
        run_scenario(self.local, scenario.config, scenario.steps)
        return self.judge(scenario, record=True)


def _unlike(program: Program, violation: Violation) -> Violation:
    """Returns what is wrong if a violation shows in one message, and step by step none does."""
    observed = (
        f"in one message {violation.property.slug} failed ({violation.broken.observed}), step by step no property"
    )
    return Violation(program.answers, Broken(FailureClass.PROTOCOL, OWED, observed), (OPERATION,))


def noting(factory: Factory, calls: list[Call]) -> Callable[[Any], Any]:
    """Returns a factory whose ports record their calls in `calls`. The making of a port is recorded too."""

    def make(config: Any) -> Any:
        calls.append((NEW, config))
        return Recording(factory(config), calls)

    return make


class BatchSearch:
    """Draws scenarios on the reference and runs them on an implementation behind a wire. Replaces `Search`."""

    def __init__(self, program: Program, batch: Batch, length: int = LENGTH) -> None:
        self.program = program
        self._messenger = Messenger(program, batch)
        self._search = Search(self._messenger.local, length)

    def run(self, seed: str, record: bool = False) -> tuple[Scenario, Run]:
        """Draw one scenario on the reference, and judge it on the implementation."""
        self._messenger.forget()
        scenario, drawn = self._search.run(seed)
        if drawn.violation is not None:
            raise AssertionError(f"the reference violates a property in {scenario}: {drawn.violation}")
        return scenario, self._messenger.judge(scenario, record)


def recording(program: Program) -> Callable[[Scenario], Run]:
    """Returns the quickest function that runs a whole scenario and records its entries."""
    batch = batch_of(program)
    if batch is not None:
        return Messenger(program, batch).run
    return lambda scenario: run_scenario(program, scenario.config, scenario.steps, record=True)


def searching(program: Program) -> Search | BatchSearch:
    """Returns the quickest search for an implementation."""
    batch = batch_of(program)
    return Search(program) if batch is None else BatchSearch(program, batch)
