"""A campaign in which nothing of an implementation was put to the test does not end as if all had gone well."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from conformance import reporting
from conformance.campaigns import CampaignResult, Inline, make_plan, start
from conformance.driver import ANSWERS
from conformance.reporting.console import CarefulConsole
from conformance.reporting.status import CONFORMS, INCONCLUSIVE


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    plan = make_plan("idle", ["reference", "reference-recover-first"], ["deque"], scenarios=2, block=2)
    return start(tmp_path_factory.mktemp("idle") / "campaign", plan, Inline())


def concluded(result: CampaignResult, folder: Path) -> tuple[int, str]:
    """The exit status, and what a pipe shows."""
    said = io.StringIO()
    status = reporting.conclude_campaign(CarefulConsole(file=said, width=80), result, folder / "report", ())
    return status, said.getvalue()


def with_second(result: CampaignResult, **changes: Any) -> CampaignResult:
    first, second = result.implementations
    return replace(result, implementations=(first, replace(second, **changes)))


def test_one_that_was_put_to_the_test_conforms(result, tmp_path):
    status, said = concluded(result, tmp_path)
    assert status == CONFORMS
    assert "Nothing was put to the test" not in said


def test_one_that_offers_no_component_is_inconclusive(result, tmp_path):
    status, said = concluded(with_second(result, components=()), tmp_path)
    assert status == INCONCLUSIVE
    assert "Nothing was put to the test. The campaign is inconclusive.\n  reference-recover-first, which offers" in said


def test_one_of_which_nothing_was_judged_but_that_operations_return_is_inconclusive(result, tmp_path):
    (part,) = result.implementations[1].components
    judged = tuple(replace(one, scenarios=one.scenarios if one.slug == ANSWERS else 0) for one in part.properties)
    status, said = concluded(with_second(result, components=(replace(part, properties=judged),)), tmp_path)
    assert status == INCONCLUSIVE
    assert "  reference-recover-first in deque\n" in said
