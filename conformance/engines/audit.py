"""Determinism: one scenario in twenty runs twice, and both runs must be answered alike.

An implementation that is not a function of its scenario can be neither reduced nor replayed, so this is a finding of
its own, which names the first step and the field in which the runs differ.
"""

from __future__ import annotations

from zlib import crc32

from conformance.driver import ANSWERS, FailureClass, Program, Run, run_scenario
from conformance.engines.compare import first_difference
from conformance.engines.tally import Failure, Signature
from conformance.scenarios import Scenario

ONE_IN = 20
OPERATION = "replay"
"""Stands for the operation at which a run is not deterministic: whichever it is, it is the same finding."""


def is_audited(text: str) -> bool:
    """Whether the scenario with this seed is one of those that run twice: a function of the text alone."""
    return crc32(text.encode()) % ONE_IN == 0


def audit(program: Program, scenario: Scenario, run: Run) -> tuple[Signature, Failure] | None:
    """Run a scenario again. None if both runs are alike, or if it crashed or hung: that is not asked for twice.

    One that was run without a record is run twice.
    """
    if run.violation is not None and run.violation.broken.failure_class in (FailureClass.CRASHED, FailureClass.HUNG):
        return None
    if not run.entries:
        run = run_scenario(program, scenario.config, scenario.steps, record=True)
    again = run_scenario(program, scenario.config, scenario.steps, record=True)
    difference = first_difference(run, again)
    if difference is not None:
        index, operation, field = difference
        where = f"step {index + 1} ({operation}) differs in {field}"
    elif (run.violation and run.violation.signature) != (again.violation and again.violation.signature):
        told = [None if one.violation is None else one.violation.property.slug for one in (run, again)]
        where = f"once {told[0] or 'nothing'} failed, and once {told[1] or 'nothing'}"
    else:
        return None
    owed = "the same steps must be answered alike every time"
    signature = ANSWERS, FailureClass.PROTOCOL.value, OPERATION
    return signature, Failure(scenario, owed, f"they were not: {where}")
