"""The campaign that has ended in the fixtures `whole` and `folder`."""

from __future__ import annotations

import pytest

from conformance import cli
from conformance.campaigns import make_plan, rounds

NAMES = ("reference", "known-bug:B-01", "reference-recover-first")
PLAN = make_plan("h", NAMES, ["subpartition"], scenarios=60, block=30, budget=0)
BUG = "known-bug:B-01"
CHECKSUM = "the checksum is not that of the file"


def in_waves_of_one(patch: pytest.MonkeyPatch) -> None:
    """Let each block be a wave, as if it took very long."""
    patch.setattr(rounds, "wave_after", lambda plan, position, *more: position + 1)


def run(*arguments: str) -> int:
    """Run a command, and return its exit status."""
    with pytest.raises(SystemExit) as ended:
        cli.main(list(arguments))
    assert isinstance(ended.value.code, int)
    return ended.value.code
