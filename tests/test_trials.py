"""The trials that write reports, in small: each hostile thing once, and a few killed processes."""

from __future__ import annotations

import pytest

from tests.campaigns import kills
from tests.meeting import Case, met
from tests.stranger_words import WORDS
from tests.strangers import CASES, report

pytestmark = pytest.mark.slow  # each is a command in a process of its own, which may hang or fill its memory


@pytest.mark.parametrize("case", [one for one in CASES if one not in WORDS], ids=lambda case: case.what)
def test_what_is_hostile_is_reported_and_leaves_nothing_behind(case: Case, tmp_path):
    one = met(case, tmp_path)
    assert one.is_well, report([one])


def test_campaigns_whose_processes_are_killed_lose_nothing(tmp_path):
    found = list(kills.trials(1, "test", tmp_path, ["processes"]))
    assert all(map(kills.is_well, found)), kills.report(found, "test")
    assert sum(len(one.kills) for one in found) == 7
