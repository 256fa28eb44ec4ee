"""Audits determinism: one scenario in twenty runs twice, and both runs must have the same outcomes.

If they have not, failures of the implementation can be neither reduced nor replayed. This is therefore a finding of its
own, which names the first step and the field in which the runs differ.
"""

from __future__ import annotations

from zlib import crc32

from conformance.driver import ANSWERS, FailureClass, Program, Run, run_scenario
from conformance.engines.compare import first_difference
from conformance.engines.tally import Failure, Signature
from conformance.scenarios import Scenario

ONE_IN = 20
OPERATION = "replay"
"""The operation in the signature of such a finding. Differences at different operations count as one finding."""
OWED = "the same steps must have the same outcomes every time"


def is_audited(text: str) -> bool:
    """Returns whether the scenario with this seed runs twice. This depends only on the text of the seed."""
    return crc32(text.encode()) % ONE_IN == 0


def audit(program: Program, scenario: Scenario, run: Run) -> tuple[Signature, Failure] | None:
    """Run a scenario again. Returns None if both runs are the same, if they need not be, or if the first run crashed or
    hung.

    A crash or a hang is not repeated. A scenario that was run without a record is run two more times.
    """
    if not program.repeats:
        return None
    if run.violation is not None and run.violation.broken.failure_class in (FailureClass.CRASHED, FailureClass.HUNG):
        return None
    if not run.entries:
        run = run_scenario(program, scenario.config, scenario.steps, record=True)
    observed = unlike(run, run_scenario(program, scenario.config, scenario.steps, record=True))
    if observed is None:
        return None
    return (ANSWERS, FailureClass.PROTOCOL.value, OPERATION), Failure(scenario, OWED, observed)


def unlike(run: Run, again: Run) -> str | None:
    """Returns how two recorded runs of one scenario differ; None if they do not."""
    difference = first_difference(run, again)
    if difference is not None:
        index, operation, field = difference
        return f"they had different outcomes: step {index + 1} ({operation}) differs in {field}"
    if (run.violation and run.violation.signature) == (again.violation and again.violation.signature):
        return None
    told = [None if one.violation is None else one.violation.property.slug for one in (run, again)]
    return (
        f"they had different outcomes: in one run {told[0] or 'no property'} failed, in the other "
        f"{told[1] or 'no property'}"
    )
