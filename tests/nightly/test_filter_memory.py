"""A fetch takes as much memory for 1 GiB of state as for 64 MiB, with records of up to 8 MiB."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from conformance.ports import Recovery

pytestmark = pytest.mark.slow  # a gibibyte of bytes that are checked, for each design
ROOT = Path(__file__).resolve().parents[2]
MOST_MORE = 32 << 10
"""In KiB: what the allocator may keep of records that were taken. The state has more by 30 times that."""


def peak(recovery: Recovery, mebibytes: int, capsys: pytest.CaptureFixture[str]) -> int:
    """The peak in KiB of a process that recovers so much."""
    command = [sys.executable, "-m", "tests.nightly.filter_memory", recovery, str(mebibytes)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    with capsys.disabled():
        print(done.stdout, end="")
    found = re.search(r"(\d+) KiB at most", done.stdout)
    assert found is not None
    return int(found[1])


@pytest.mark.parametrize("recovery", [Recovery.IN_MEMORY, Recovery.PUSHED, Recovery.RECOVER_FIRST])
def test_memory_does_not_grow_with_the_state(recovery, capsys):
    assert peak(recovery, 1024, capsys) <= peak(recovery, 64, capsys) + MOST_MORE
