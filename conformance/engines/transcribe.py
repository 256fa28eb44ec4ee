"""Records what a scenario sends to a program, and what the program writes."""

from __future__ import annotations

from conformance.driver import Program, run_scenario
from conformance.engines.apart import Apart
from conformance.engines.worker import Ended
from conformance.ports import Transcript
from conformance.scenarios import Scenario


def transcribe(program: Program, scenario: Scenario) -> Transcript | None:
    """Run a scenario step by step and return the transcript; None if the implementation sends nothing to a program."""
    implementation = program.implementation
    try:
        if isinstance(implementation, Apart):
            found = implementation.ask("transcribe", scenario, program.capabilities)
        else:
            found = _from(program, scenario)
    except Ended:
        return None
    return found if isinstance(found, Transcript) else None


def _from(program: Program, scenario: Scenario) -> object:
    try:
        return program.implementation.transcript(lambda: run_scenario(program, scenario.config, scenario.steps))
    except Exception:  # an implementation may raise anything; a report is worth as much without it
        return None
