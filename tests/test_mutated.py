"""Files of every kind that are damaged at random: no command takes one for an error of the suite."""

from __future__ import annotations

import pytest

from conformance.reporting.status import INTERNAL, USAGE
from tests.mutated import KINDS, Kind, statuses, table


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.what)
def test_a_damaged_file_is_no_error_of_the_suite(kind: Kind, tmp_path):
    found = statuses(kind, 5, tmp_path)
    assert INTERNAL not in found
    assert found[USAGE] or found[1], "some of them are refused, or said to be damaged"


@pytest.mark.slow  # a few of them are tried by default
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.what)
def test_a_thousand_damaged_files(kind: Kind, tmp_path):
    found = statuses(kind, 1_000, tmp_path)
    assert INTERNAL not in found, table([(kind, found)])
