"""A checkpoint that is triggered in a task of a job which has finished is declined, and does not stay pending."""

from __future__ import annotations

import pytest

import reference_impl
from conformance.components import COMPONENTS
from conformance.components.pipeline.config import make
from conformance.driver import Program, run_scenario
from conformance.ports import CheckpointFailed, CheckpointReason
from conformance.ports.changed import changed
from conformance.ports.changes import CATALOGUES

SILENT = """
--- job/pipeline.py
@@ def deliver
             if message.call is TO_TRIGGER:
-                self.decline(task, message.checkpoint, CheckpointReason.TASK_CLOSING)
+                pass
"""
CONFIG = make("separate")
"""Two sources, each with a sink of its own, so that the job goes on when one of them has ended."""
STEPS = (
    ("settle", "running"), ("supply", 0, 1), ("end", 0), ("settle", "idle"),
    ("trigger", "aligned"), ("settle", "no-checkpoint"),  # the source may finish once it is notified of this one
    ("trigger", "aligned"), *[("work", "master")] * 5,
    *[("work", thread) for thread in ("to 0/0", "to 0/0", "to 1/0", "to 1/0", "from 0/0", "from 1/0")],
    *[("work", "master")] * 4,  # the trigger is on its way
    ("work", "task 0/0"), ("work", "task 0/0"),  # the source is notified, and finishes
    ("settle", "idle"),
)  # fmt: skip


@pytest.mark.parametrize(("change", "broken"), [("", None), (SILENT, "every-checkpoint-ends")])
def test_a_trigger_that_reaches_a_finished_task_is_declined(change, broken):
    package = changed("reference_impl", change, CATALOGUES) if change else reference_impl
    program = Program(COMPONENTS["pipeline"], package.Reference("job", package.PUSHED))
    run = run_scenario(program, CONFIG, STEPS, record=True)
    assert (run.violation and run.violation.property.slug) == broken
    signals = [signal for entry in run.entries if entry.outcome is not None for signal in entry.outcome.signals]
    declined = CheckpointFailed(2, CheckpointReason.TASK_CLOSING) in signals
    assert declined is (broken is None)
