"""Runs one scenario again, and gives its history and a verdict."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from conformance.components import COMPONENTS
from conformance.driver import (
    Broken,
    Component,
    Components,
    FailureClass,
    Program,
    Run,
    Violation,
    run_scenario,
)
from conformance.engines.apart import Apart, violation, violation_of
from conformance.engines.audit import OPERATION, OWED, unlike
from conformance.engines.batch import recording
from conformance.engines.worker import Ended
from conformance.ports import Capability, Implementation, offered_components
from conformance.scenarios import MOST_SCENARIO_BYTES, Entry, History, Scenario, decode_scenario, read_text


class ReplayVerdict(StrEnum):
    """The verdict of a replay on an implementation."""

    FAILED = "FAILED"
    FIXED = "FIXED"
    NOT_APPLICABLE = "NOT APPLICABLE"


def read_scenario(path: Path, components: Components = COMPONENTS) -> Scenario:
    """Returns the scenario in a file. Raises: SchemaError, OSError."""
    return decode_scenario(read_text(path, MOST_SCENARIO_BYTES), components, str(path))


@dataclass(frozen=True, slots=True)
class Replay:
    """A verdict, the reason for it, and the history of the run."""

    verdict: ReplayVerdict
    reason: str
    history: History
    component: Component
    violation: Violation | None = None


def replay(
    scenario: Scenario, implementation: Implementation, assume: Iterable[Capability] = (),
    components: Mapping[str, Component] = COMPONENTS, follow: Callable[[Program], None] | None = None,
) -> Replay:  # fmt: skip
    """Run a scenario and judge it. `follow` is called with the program before the run.

    FAILED: a property does not hold. NOT APPLICABLE: the implementation does not offer the component, the property in
    the finding of the scenario does not apply, or no step was enabled. FIXED: every property that applies held.

    If the finding may be that the same steps had different outcomes, the scenario is run twice.
    """
    component = components[scenario.component]
    if scenario.component not in offered_components(implementation):
        reason = f"{implementation.name} does not offer the component {scenario.component}"
        return Replay(ReplayVerdict.NOT_APPLICABLE, reason, History(scenario, ()), component)
    program = Program(component, implementation, assume)
    if not program.understands(scenario.config):
        missing = ", ".join(sorted(component.needs(scenario.config) - program.capabilities))
        reason = f"the configuration needs {missing}, which {implementation.name} does not claim"
        return Replay(ReplayVerdict.NOT_APPLICABLE, reason, History(scenario, ()), component)
    if isinstance(implementation, Apart):
        return _replay_apart(scenario, implementation, program)
    if follow is not None:
        follow(program)
    run = run_scenario(program, scenario.config, scenario.steps, record=True)
    history = History(scenario, run.entries)
    meant = scenario.finding.property if scenario.finding is not None else None
    judged = component.meant(meant) if meant is not None else ()
    failed = run.violation
    if failed is None and program.repeats and program.answers in judged and _is_of_the_protocol(scenario):
        failed = _in_another_run(program, scenario, run)
    if failed is not None:
        return Replay(ReplayVerdict.FAILED, str(failed), history, component, failed)
    if meant is not None and not any(one.slug in program.places for one in judged):
        if not judged:
            reason = f"this suite has no property {meant!r}"
        else:
            missing = ", ".join(sorted(judged[0].needs - program.capabilities))
            reason = f"{meant} does not apply: {implementation.name} does not claim {missing}"
        return Replay(ReplayVerdict.NOT_APPLICABLE, reason, history, component)
    if scenario.steps and not run.performed:
        return Replay(ReplayVerdict.NOT_APPLICABLE, "no step of the scenario was enabled", history, component)
    return Replay(ReplayVerdict.FIXED, "every property that applies held", history, component)


def _is_of_the_protocol(scenario: Scenario) -> bool:
    return scenario.finding is not None and scenario.finding.failure_class == FailureClass.PROTOCOL.value


def _in_another_run(program: Program, scenario: Scenario, run: Run) -> Violation | None:
    """Run a scenario again, in one message if the implementation takes whole scenarios. Returns what is wrong if that
    differs from the first run, in which nothing was wrong."""
    if scenario.config.interleaving == "whole":
        again = recording(program)(scenario)
    else:
        again = run_scenario(program, scenario.config, scenario.steps, record=True)
    if again.violation is not None and again.violation.signature[2] == OPERATION:
        return again.violation
    observed = unlike(run, again)
    if observed is None:
        return None
    return Violation(program.answers, Broken(FailureClass.PROTOCOL, OWED, observed), (OPERATION,))


def _replay_apart(scenario: Scenario, implementation: Apart, program: Program) -> Replay:
    """Let a worker run the scenario. If its process ends, the history has the steps that have an outcome."""
    entries: list[Entry] = []
    try:
        seen = implementation.ask("replay", scenario, program.capabilities, heard=entries.append)
    except Ended as ended:
        found = violation_of(program, ended)
        history = History(scenario, tuple(entries))
        return Replay(ReplayVerdict.FAILED, str(found), history, program.component, found)
    history = History(scenario, tuple(entries))
    found_there = violation(program, seen.failed)
    return Replay(ReplayVerdict(seen.verdict), seen.reason, history, program.component, found_there)
