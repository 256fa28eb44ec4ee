"""What a job of the reference has left undone once, in scenarios that the search rarely draws."""

from __future__ import annotations

import pytest

import reference_impl
from conformance.components import COMPONENTS
from conformance.components.pipeline.config import make
from conformance.components.pipeline.prefixes import FINISHING
from conformance.driver import Program, run_scenario
from conformance.ports.changed import changed
from conformance.ports.changes import CATALOGUES

NOT_WOKEN = """
--- job/states.py
@@ def close
         super().close()
-        self.of_worker.wake()
"""
"""When the writer of a task has ended, others move up, and nobody wakes the threads that now execute their requests."""
CONFIGS = [make(graph, many) for graph in ("separate", "union", "keyed with broadcast") for many in (1, 2)]


@pytest.mark.parametrize(("change", "broken"), [("", set()), (NOT_WOKEN, {"every-checkpoint-ends"})])
def test_channel_state_is_written_although_another_task_of_the_worker_has_finished(change, broken):
    package = changed("reference_impl", change, CATALOGUES) if change else reference_impl
    program = Program(COMPONENTS["pipeline"], package.Reference("job", package.PUSHED))
    runs = [run_scenario(program, config, FINISHING) for config in CONFIGS]
    assert {run.violation.property.slug for run in runs if run.violation is not None} == broken
