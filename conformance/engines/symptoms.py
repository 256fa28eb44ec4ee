"""Everything that a failing scenario shows, and not only its first failure.

A broken property ends a run, so that a scenario shows one failure. Here it is run again and again, each time without
the properties that failed before, until nothing else fails. What the ledger learns after a failure may be wrong; so a
symptom is a hint for a person, and never a violation.
"""

from __future__ import annotations

from conformance.driver import Program, run_scenario
from conformance.driver.own_rules import ALWAYS_JUDGED
from conformance.engines.apart import Apart
from conformance.engines.patience import PATIENCE
from conformance.engines.tally import Signature
from conformance.engines.worker import Ended
from conformance.scenarios import Scenario

MOST = 8
"""How many times a scenario is run at most. Nine of ten minimal scenarios show fewer failures."""


def symptoms(program: Program, scenario: Scenario) -> tuple[Signature, ...]:
    """Returns the failures of a scenario in the order in which they showed, each of another property."""
    if isinstance(program.implementation, Apart):
        try:
            told: tuple[Signature, ...] = program.implementation.ask("symptoms", scenario, program.capabilities)
        except Ended:
            return ()
        return told
    found: list[Signature] = []
    muted: set[str] = set()
    while len(found) < MOST:
        try:
            run = run_scenario(program.without(muted) if muted else program, scenario.config, scenario.steps)
        except Exception:  # the ledger cannot follow an implementation that it knows to be wrong
            break
        if run.violation is None:
            break
        signature = run.violation.signature
        found.append(signature)
        muted.add(signature[0])
        if signature[0] in ALWAYS_JUDGED or signature[1] in PATIENCE:
            break
    return tuple(found)
