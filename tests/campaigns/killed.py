"""A campaign whose driver is killed when so many blocks are committed: python killed.py FOLDER RUNNER BLOCKS

With one more number, it is killed when so many findings are kept.

A wave has three blocks, or two with Spark. The driver is killed in a wave, unless it is Spark that runs it.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from conformance.campaigns import Advance, choose, make_plan, rounds, start
from conformance.campaigns.kept_outcomes import Kept
from conformance.campaigns.outcomes import FindingRecord

PLAN = make_plan(
    "killed", ["reference", "known-bug:B-01"], ["deque", "subpartition"], scenarios=60, block=15, budget=200
)


def main() -> None:
    folder, runner, blocks, *findings = sys.argv[1:]
    kept: list[object] = []
    keep = Kept.keep_finding

    def watch(state: Advance) -> None:
        if state.done == int(blocks) and not findings:
            os.kill(os.getpid(), signal.SIGKILL)

    def keep_some(self: Kept, record: FindingRecord) -> None:
        keep(self, record)
        kept.append(record)
        if [str(len(kept))] == findings:
            os.kill(os.getpid(), signal.SIGKILL)

    size = 2 if runner == "spark" else 3
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rounds, "wave_after", lambda plan, position, *more: min(position + size, 8))
        patch.setattr(Kept, "keep_finding", keep_some)
        start(Path(folder), PLAN, choose(runner, workers=2)[0], watch)


if __name__ == "__main__":
    main()
