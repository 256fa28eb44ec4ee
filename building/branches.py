"""The table of branch coverage, by room, from what coverage.py has measured.

`make coverage` measures the tests, with the processes that they start, and writes the table. A process that a test
kills leaves nothing behind, so code that runs only there counts as not run. A known bug runs as a private copy of the
reference in which changed files have names of their own: what runs in these is not counted for the reference.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import msgspec

from conformance.system.writing import write_text


class Summary(msgspec.Struct):
    """What `coverage json` counts in one file."""

    num_statements: int
    covered_lines: int
    num_branches: int
    covered_branches: int


class File(msgspec.Struct):
    """One measured file."""

    summary: Summary


class Measured(msgspec.Struct):
    """The parts of the output of `coverage json` that are used."""

    files: dict[str, File]


class Covered(NamedTuple):
    """The counts of a room."""

    statements: int = 0
    run: int = 0
    branches: int = 0
    taken: int = 0

    def plus(self, one: Summary) -> Covered:
        """These counts and those of a file."""
        return Covered(
            self.statements + one.num_statements, self.run + one.covered_lines,
            self.branches + one.num_branches, self.taken + one.covered_branches,
        )  # fmt: skip


def room_of(file: str) -> str:
    """The room of a file: a package in `conformance`, or one of the other packages."""
    parts = PurePosixPath(file).parts
    return "/".join(parts[:2]) if parts[0] == "conformance" and len(parts) > 2 else parts[0]


def by_room(files: Mapping[str, Summary]) -> dict[str, Covered]:
    """The counts of each room, in the order of the names."""
    found: dict[str, Covered] = {}
    for file, summary in sorted(files.items()):
        room = room_of(file)
        found[room] = found.get(room, Covered()).plus(summary)
    return dict(sorted(found.items()))


def page(rooms: Mapping[str, Covered]) -> str:
    """The table as a page."""
    total = Covered(*map(sum, zip(*rooms.values(), strict=True))) if rooms else Covered()
    rows = [*rooms.items(), ("all", total)]
    return "\n".join((
        "# Branch coverage", "",
        "What the tests run of the suite itself: `make coverage`. Included are the processes that tests start, except",
        "those that they kill. The files that a known bug changes in its private copy are not counted.", "",
        "| room | statements | run | branches | taken |", "| --- | ---: | ---: | ---: | ---: |",
        *(f"| {room} | {one.statements:,} | {_share(one.run, one.statements)} | {one.branches:,} | "
          f"{_share(one.taken, one.branches)} |" for room, one in rows), "",
    ))  # fmt: skip


def _share(part: int, whole: int) -> str:
    """A share in percent, rounded down, so that 100 means all."""
    return "" if not whole else f"{1000 * part // whole / 10:.1f} %"


def main(measured: str, written: str) -> None:
    """Read the output of `coverage json`, and write the page."""
    found = msgspec.json.decode(Path(measured).read_bytes(), type=Measured)
    rooms = by_room({name.replace("\\", "/"): one.summary for name, one in found.files.items()})
    write_text(Path(written), page(rooms))


if __name__ == "__main__":
    main(*sys.argv[1:])
