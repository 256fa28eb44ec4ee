"""Too many failed checkpoints restart all tasks, also those of another region: the search rarely draws such a job."""

from __future__ import annotations

import pytest

import reference_impl
from conformance.components import COMPONENTS
from conformance.components.pipeline import steps
from conformance.components.pipeline.config import make
from conformance.driver import Program, run_scenario
from conformance.ports import CheckpointKind, JobSettings, Recovery, Until
from conformance.ports.changed import changed
from conformance.ports.changes import CATALOGUES

ONE_REGION = """
--- job/master.py
@@ def abort
         if not pending.is_savepoint and self.failures.add(reason):
-            self.later(self.restart, range(len(self.graph.tasks)))
+            self.later(self.restart, range(1))
"""
"""If too many checkpoints have failed, only the region of the first task is restarted."""
CONFIG = make("separate", 1, JobSettings(recovery=Recovery.PUSHED, tolerable=1))
IDLE = steps.settle(Until.IDLE.value)
EXPIRES = (steps.trigger(CheckpointKind.ALIGNED.value), steps.advance(100), IDLE)


@pytest.mark.parametrize(
    ("change", "broken"), [("", None), (ONE_REGION, "too-many-failed-checkpoints-restart-the-job")]
)
def test_all_tasks_are_restarted_if_too_many_checkpoints_have_failed(change: str, broken: str | None):
    package = changed("reference_impl", change, CATALOGUES) if change else reference_impl
    program = Program(COMPONENTS["pipeline"], package.Reference("job", package.PUSHED))
    run = run_scenario(program, CONFIG, (IDLE, *EXPIRES, *EXPIRES, IDLE))
    assert (run.violation and run.violation.property.slug) == broken
