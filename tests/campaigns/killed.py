"""A campaign whose driver is killed after so many committed blocks: python killed.py FOLDER RUNNER BLOCKS."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from conformance.campaigns import Advance, choose, make_plan, start

PLAN = make_plan(
    "killed", ["reference", "known-bug:B-01"], ["deque", "subpartition"], scenarios=60, block=15, budget=200
)


def main() -> None:
    folder, runner, blocks = sys.argv[1:]

    def watch(state: Advance) -> None:
        if state.done == int(blocks):
            os.kill(os.getpid(), signal.SIGKILL)

    start(Path(folder), PLAN, choose(runner, workers=2)[0], watch)


if __name__ == "__main__":
    main()
