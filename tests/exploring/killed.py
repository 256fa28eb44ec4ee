"""An exploration whose process kills itself in the middle of a level: python killed.py FOLDER LEVEL."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from conformance.exploring import Machine, explore_into
from tests.exploring.scopes import DRAINS, explored


def main() -> None:
    folder, at = sys.argv[1:]

    def progress(level: int, states: int, transitions: int) -> None:
        if level == int(at):
            os.kill(os.getpid(), signal.SIGKILL)

    explore_into(Path(folder), explored(*DRAINS), Machine(2), progress=progress)


if __name__ == "__main__":
    main()
