"""Explains why a minimal scenario needs each of its steps."""

from __future__ import annotations

from conformance.driver import Program, run_scenario
from conformance.engines.apart import Apart
from conformance.engines.reduce import Signature
from conformance.engines.worker import Ended
from conformance.scenarios import Scenario


def explain(program: Program, scenario: Scenario) -> tuple[str, ...]:
    """Returns one phrase for each step: what happens without it. Returns nothing if the scenario does not fail."""
    if isinstance(program.implementation, Apart):
        try:
            told: tuple[str, ...] = program.implementation.ask("explain", scenario, program.capabilities)
        except Ended:
            return ()
        return told
    violation = run_scenario(program, scenario.config, scenario.steps).violation
    if violation is None:
        return ()
    return tuple(_without(program, scenario, index, violation.signature) for index in range(len(scenario.steps)))


def _without(program: Program, scenario: Scenario, index: int, signature: Signature) -> str:
    steps = scenario.steps[:index] + scenario.steps[index + 1 :]
    run = run_scenario(program, scenario.config, steps, record=True)
    skipped = [number for number, entry in enumerate(run.entries) if entry.outcome is None]
    meaningless = [number + 1 if number < index else number + 2 for number in skipped if number < len(steps)]
    phrase = _phrase(None if run.violation is None else run.violation.signature, signature)
    if not meaningless:
        return f"without it, {phrase}"
    which = ", ".join(map(str, meaningless))
    return f"without it, step{'s' * (len(meaningless) > 1)} {which} would be skipped, and {phrase}"


def _phrase(found: Signature | None, signature: Signature) -> str:
    if found is None:
        return "nothing fails"
    if found == signature:
        return "the scenario fails in the same way"
    if found[0] == signature[0]:
        return f"the same property fails in another way ({found[1]}, at {found[2]})"
    return f"{found[0]} fails instead"
