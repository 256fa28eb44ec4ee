"""Running one scenario again, with its history and a verdict on it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from conformance.alphabets import Violation, alphabet_of, run_scenario
from conformance.alphabets.program import Program
from conformance.ports import Capability, Implementation, offered_components
from conformance.scenarios import History, Scenario


class ReplayVerdict(StrEnum):
    """What a replay says of an implementation."""

    FAILED = "FAILED"
    FIXED = "FIXED"
    NOT_APPLICABLE = "NOT APPLICABLE"


@dataclass(frozen=True, slots=True)
class Replay:
    """A verdict, why, and the history it rests on."""

    verdict: ReplayVerdict
    reason: str
    history: History
    violation: Violation | None = None


def replay(scenario: Scenario, implementation: Implementation, assume: Iterable[Capability] = ()) -> Replay:
    """Run a scenario and judge it.

    FAILED: a property broke. NOT APPLICABLE: the implementation does not offer the component, the property that the
    scenario is evidence of does not apply to it, or nothing of the scenario was enabled. FIXED: everything held.
    """
    alphabet = alphabet_of(scenario.component)
    if scenario.component not in offered_components(implementation):
        reason = f"{implementation.name} does not offer the component {scenario.component}"
        return Replay(ReplayVerdict.NOT_APPLICABLE, reason, History(scenario, ()))
    program = Program(alphabet, implementation, assume)
    if not program.understands(scenario.config):
        missing = ", ".join(sorted(alphabet.needs(scenario.config) - program.capabilities))
        reason = f"the configuration needs {missing}, which {implementation.name} does not claim"
        return Replay(ReplayVerdict.NOT_APPLICABLE, reason, History(scenario, ()))
    run = run_scenario(program, scenario.config, scenario.steps, record=True)
    history = History(scenario, run.entries)
    if run.violation is not None:
        return Replay(ReplayVerdict.FAILED, str(run.violation), history, run.violation)
    meant = scenario.finding.property if scenario.finding is not None else None
    if meant is not None and meant not in program.places:
        judged = next((one for one in alphabet.properties if one.slug == meant), None)
        if judged is None:
            reason = f"this suite has no property {meant!r}"
        else:
            missing = ", ".join(sorted(judged.needs - program.capabilities))
            reason = f"{meant} does not apply: {implementation.name} does not claim {missing}"
        return Replay(ReplayVerdict.NOT_APPLICABLE, reason, history)
    if scenario.steps and not run.performed:
        return Replay(ReplayVerdict.NOT_APPLICABLE, "no step of the scenario was enabled", history)
    return Replay(ReplayVerdict.FIXED, "every property that applies held", history)
