"""Hostile implementations in the commands that run them in a child, such as `explore` and `bugs`."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.meeting import CONFORMS, FOUND, INCONCLUSIVE, LIMITS, NOT_WRITTEN, REFUSED, ROOT, Case

HOSTILE = "tests.engines.hostile:"
FEW = 256 << 10
"""How many bytes a command may print of an implementation that writes without end."""
FLOODS = "2 MiB to stdout and stderr with each flush"


def _scenario(folder: Path) -> None:
    shutil.copy(ROOT / "tests" / "corpus" / "B-01.json", folder / "scenario.json")


def _flood(status: int, *arguments: str) -> Case:
    return Case(f"Python: {FLOODS}, with `{arguments[0]}`", (*arguments, *LIMITS), status, _scenario, most=FEW)


_FLOODING = ("--implementation", f"{HOSTILE}floods_a_little")
GUARDED = (
    Case("Python: an operation without end, with `bugs`", ("bugs", f"{HOSTILE}HANGING_BUG", *LIMITS), INCONCLUSIVE),
    Case("Python: an operation without end, with `variants`", ("variants", f"{HOSTILE}HANGING_VARIANT", *LIMITS),
         INCONCLUSIVE),
    _flood(CONFORMS, "doctor", *_FLOODING),
    _flood(REFUSED, "shrink", "scenario.json", *_FLOODING),
    _flood(INCONCLUSIVE, "explore", "--component", "subpartition", "--depth", "2", *_FLOODING),
    _flood(FOUND, "bugs", f"{HOSTILE}FLOODING_BUG", "--scenarios", "20"),
    Case("no room for a file: a temporary one of a campaign's worker",
         ("campaign", "start", "c", "--component", "subpartition", "--scenarios", "20", "--runner", "inline",
          "--implementation", f"{HOSTILE}needs_a_temporary_folder"), NOT_WRITTEN),
)  # fmt: skip
