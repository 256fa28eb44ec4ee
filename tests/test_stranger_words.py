"""Words of a stranger act nowhere, whatever door they come in by: no command prints or writes them as they are."""

from __future__ import annotations

import pytest

from conformance.system.text import neutral_line
from tests.meeting import FORGED, FOUND, INCONCLUSIVE, acts, met
from tests.stranger_words import SAID, WORDS

CASES = [
    # Reports are written, with the reduction of each failure and a fresh process: a few seconds each.
    pytest.param(one, marks=pytest.mark.slow)
    if one.status in (FOUND, INCONCLUSIVE) and "--ctrf" in one.arguments
    else one
    for one in WORDS
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.what)
def test_words_stay_words(case, tmp_path):
    found = met(case, tmp_path)
    assert (found.status, found.left) == (case.status, 0), found.said
    assert not found.escaped, found.said


@pytest.mark.parametrize("part", [SAID, f"ours\n{FORGED}", "a\x1b[2Jb", "a\u202eb"])
def test_words_that_act_would_be_noticed(part):
    assert acts(part.encode())
    assert not acts(neutral_line(part).encode())
