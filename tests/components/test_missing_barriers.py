"""What a missing recovery barrier is called is a capability (B-63)."""

from __future__ import annotations

import pytest

from conformance.components import COMPONENTS
from conformance.driver import Program
from conformance.engines import check
from conformance.models.starts import reason_without_barrier
from conformance.ports import Capability, CheckpointReason, find_implementation

SLUG = "a-missing-recovery-barrier-declines-the-checkpoint"
FIRST_DESIGN = (Capability.NOT_READY_WITHOUT_BARRIER,)
CHANNELS = ("gate", "local-channel", "remote-channel")
QUICK = [pytest.param("gate", marks=pytest.mark.slow), *CHANNELS[1:]]
"""A gate takes as long as three channels."""


def failed(component, implementation, assume):
    """The properties that fail in 400 scenarios."""
    program = Program(COMPONENTS[component], implementation, assume=assume)
    return [found.slug for found in check(program, 400, "missing barriers").found]


def test_without_the_capability_the_checkpoint_counts_as_failed():
    assert reason_without_barrier(()) is CheckpointReason.DECLINED
    assert reason_without_barrier(FIRST_DESIGN) is CheckpointReason.DECLINED_TASK_NOT_READY


@pytest.mark.parametrize("component", CHANNELS)
def test_an_engine_of_the_first_design_is_judged_by_it(component):
    assert failed(component, find_implementation("known-bug:B-63b"), FIRST_DESIGN) == []


@pytest.mark.parametrize("component", QUICK)
def test_an_engine_that_claims_the_first_design_and_has_the_final_one_is_accused(component):
    assert SLUG in failed(component, find_implementation("reference"), FIRST_DESIGN)


@pytest.mark.parametrize("component", QUICK)
def test_without_the_claim_the_first_design_is_accused(component):
    assert SLUG in failed(component, find_implementation("known-bug:B-63b"), ())
