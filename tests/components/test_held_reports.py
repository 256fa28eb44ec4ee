"""A report that is held back for ever is noticed, by which rule it may be.

After a change of what jobs draw, the kept scenarios are stale: `python -m tests.components.holding` keeps others.
"""

from __future__ import annotations

import pytest

from tests.components import holding
from tests.components.holding import ALL, ALLOWED

KEPT = holding.kept()
NOTICED = [held for held in ALL if held.name in KEPT]
OF_ALL = [held for held in NOTICED if held.whose == "every task"]
OF_ONE = [held for held in NOTICED if held not in OF_ALL]


@pytest.mark.parametrize("held", OF_ALL, ids=[held.name for held in OF_ALL])
def test_a_report_that_is_held_back_is_noticed(held):
    assert holding.noticed(holding.searching(held), KEPT[held.name]) is not None


@pytest.mark.slow  # a scenario of a whole job for each of a hundred
@pytest.mark.parametrize("held", OF_ONE, ids=[held.name for held in OF_ONE])
def test_a_report_of_one_task_that_is_held_back_is_noticed(held):
    assert holding.noticed(holding.searching(held), KEPT[held.name]) is not None


def test_each_kind_of_report_is_noticed_or_has_a_reason():
    kinds, seen = {held.kind for held in ALL}, {held.kind for held in NOTICED}
    assert kinds == seen | set(ALLOWED)
    assert not seen & set(ALLOWED), "it is noticed, so that it needs no reason"
    assert set(KEPT) <= {held.name for held in ALL}
    assert len(OF_ALL) > 40


def test_a_job_that_holds_nothing_back_conforms():
    search = holding.searching(holding.Held("nothing", "", "every task", False))
    assert [holding.noticed(search, f"0/pipeline/{number}") for number in range(3)] == [None] * 3
