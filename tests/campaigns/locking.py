"""What another process does to the lock of a folder: python locking.py FOLDER hold | ask | TIMES."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from conformance.campaigns import CampaignError
from conformance.campaigns.lock import held, holder


def in_turn(folder: Path, times: int) -> int:
    """Take the lock so often, and return how often another process held it at the same time."""
    twice = done = 0
    inside = folder / "inside"
    while done < times:
        try:
            with held(folder):
                try:
                    os.close(os.open(inside, os.O_CREAT | os.O_EXCL))
                    os.unlink(inside)
                except (FileExistsError, FileNotFoundError):
                    twice += 1
                done += 1
        except CampaignError:
            pass
    return twice


def main() -> None:
    folder, what = Path(sys.argv[1]), sys.argv[2]
    if what == "hold":
        with held(folder):
            print("held", flush=True)
            sys.stdin.readline()
    elif what == "ask":
        print("asks", flush=True)
        while not (folder / "enough").exists():
            holder(folder)
    else:
        print(in_turn(folder, int(what)))


if __name__ == "__main__":
    main()
