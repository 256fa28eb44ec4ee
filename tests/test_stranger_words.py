"""Words of a stranger act nowhere, whatever door they come in by: no command prints or writes them as they are."""

from __future__ import annotations

from operator import attrgetter

import pytest

from conformance.system.text import neutral_line
from tests.by_default import one_of
from tests.meeting import FORGED, FOUND, INCONCLUSIVE, acts, met
from tests.stranger_words import SAID, WORDS

NAME = attrgetter("what")
LONG = [one for one in WORDS if one.status in (FOUND, INCONCLUSIVE) and "--ctrf" in one.arguments]
"""Reports are written, with the reduction of each failure and a fresh process: a few seconds each."""
OTHERS = [one for one in WORDS if one not in LONG]


@pytest.mark.parametrize("case", [*one_of(2, OTHERS, NAME), *one_of(0, LONG, NAME)])
def test_words_stay_words(case, tmp_path):
    found = met(case, tmp_path)
    assert (found.status, found.left) == (case.status, 0), found.said
    assert not found.escaped, found.said


@pytest.mark.parametrize("part", [SAID, f"ours\n{FORGED}", "a\x1b[2Jb", "a\u202eb"])
def test_words_that_act_would_be_noticed(part):
    assert acts(part.encode())
    assert not acts(neutral_line(part).encode())
