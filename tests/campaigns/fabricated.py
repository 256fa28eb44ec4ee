"""Makes the folder of a campaign that has run very many blocks, without running them, and measures what reads it.

python -m tests.campaigns.fabricated FOLDER [BLOCKS]
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from conformance.campaigns import Block, Names, Plan, files, make_plan, rounds
from conformance.campaigns.block import BlockResult, run_block
from conformance.campaigns.code import CodeLog, code_of
from conformance.campaigns.course import Course, ignore
from conformance.campaigns.runners import Here, Keep, doing_here
from conformance.campaigns.seconds import Seconds

NAMES = ("reference", "known-bug:B-01")
COMPONENTS = ("deque", "subpartition")
WAVE_BLOCKS = 100
"""How many blocks a wave has at most, as if each took some seconds."""
EACH = {"reference": 0.25, "known-bug:B-01": 0.5}
SAMPLE = 20
"""How many scenarios of each component are run. All blocks have what they found."""


def plan_of(blocks: int, missing: int = 0) -> Plan:
    """Return a plan with so many blocks."""
    each = -(-(blocks + missing) // len(COMPONENTS))
    return make_plan("fabricated", NAMES, COMPONENTS, scenarios=each * SAMPLE, block=SAMPLE, budget=0)


def fabricate(folder: Path, blocks: int, missing: int = 0) -> Plan:
    """Make a folder with so many committed blocks, and a plan that has a few more."""
    plan, names = plan_of(blocks, missing), Names()
    samples = {name: _sample(run_block(plan, Block(name, 1, SAMPLE, SAMPLE), names)) for name in COMPONENTS}
    files.make(folder)
    files.write(folder / files.PLAN, plan)
    files.write(folder / files.CODE, CodeLog((code_of(plan, names),)))

    def run_all(some: Iterator[Block], keep: Keep) -> None:
        for block in some:
            keep(replace(samples[block.component], block=block), Seconds(1.0, EACH))

    with pytest.MonkeyPatch.context() as patch:
        course_of = Course(folder, plan, names.components, time.monotonic, ignore)
        while course_of.committed < blocks and course_of.has_work():
            patch.setattr(rounds, "wave_after", lambda plan, at, end, *more: min(at + WAVE_BLOCKS, end, blocks))
            course_of.run(Here(names, 1, run_all, doing_here(names)))
    return plan


def _sample(result: BlockResult) -> BlockResult:
    """Return the result without the numbers of scenarios, which each block has for itself."""
    return replace(
        result,
        tallies={
            name: replace(tally, failures=tuple(replace(one, first=None) for one in tally.failures))
            for name, tally in result.tallies.items()
        },
    )


def main() -> None:
    folder, blocks = Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 300_000
    began = time.monotonic()
    fabricate(folder, blocks, missing=4)
    size = sum(path.stat().st_size for path in (folder / files.WAVES).rglob("*.*"))
    print(f"{blocks:,} blocks, {size >> 20:,} MiB, made in {time.monotonic() - began:.0f} s", flush=True)
    for command in (
        ["status", folder], ["status", folder, "--store"], ["resume", folder, "--runner", "inline"], ["report", folder],
    ):  # fmt: skip
        began = time.monotonic()
        script = "import sys; from conformance.cli import main; main()"
        code = (
            f"import resource, subprocess, sys; subprocess.run([sys.executable, '-c', {script!r}, 'campaign', "
            "*sys.argv[1:]], stdout=subprocess.DEVNULL); print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
        )
        done = subprocess.run(
            [sys.executable, "-c", code, *map(str, command)], capture_output=True, text=True, check=True
        )
        said = " ".join(["campaign", command[0], *command[2:]])  # type: ignore[list-item]
        print(f"{said}: {int(done.stdout) >> 10:,} MiB at most, {time.monotonic() - began:.0f} s", flush=True)


if __name__ == "__main__":
    main()
