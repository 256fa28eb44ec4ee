"""Records what a scenario sends to a program, and what the program writes."""

from __future__ import annotations

from conformance.driver import Program, run_scenario
from conformance.engines.apart import Apart
from conformance.engines.worker import Ended
from conformance.ports import MOST_TRANSCRIPT, OversizedTranscript, Transcript
from conformance.scenarios import Scenario


def transcribe(program: Program, scenario: Scenario) -> Transcript | OversizedTranscript | None:
    """Run a scenario step by step and return the transcript, or its size if it is too long.

    Returns: None if the implementation sends nothing to a program.
    """
    implementation = program.implementation
    try:
        if isinstance(implementation, Apart):
            found = implementation.ask("transcribe", scenario, program.capabilities)
        else:
            found = _from(program, scenario)
    except Ended:
        return None
    if isinstance(found, Transcript) and len(found.calls) + len(found.answers) > MOST_TRANSCRIPT:
        return OversizedTranscript(len(found.calls), len(found.answers))  # an implementation may pay no heed to it
    return found if isinstance(found, Transcript | OversizedTranscript) else None


def _from(program: Program, scenario: Scenario) -> object:
    try:
        return program.implementation.transcript(lambda: run_scenario(program, scenario.config, scenario.steps))
    except Exception:  # an implementation may raise anything; a report is worth as much without it
        return None
