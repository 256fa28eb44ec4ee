"""Makes the folder of a campaign that has run very many blocks, without running them, and measures what reads it.

python -m tests.campaigns.fabricated FOLDER [SCENARIOS]

makes one of all components, with the blocks that the plan of so many scenarios has, and 100 of the scenarios of each.
"""

from __future__ import annotations

import resource
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
from conformance.ports import find_implementation

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
    return fill(folder, plan_of(blocks, missing), blocks, SAMPLE)


def fill(folder: Path, plan: Plan, blocks: int, sample: int) -> Plan:
    """Make a folder with the first so many blocks of a plan, each with what was found in a sample of scenarios."""
    names = Names()
    samples = {name: _sample(run_block(plan, Block(name, 1, sample, sample), names)) for name in plan.components}
    files.make(folder)
    files.write(folder / files.PLAN, plan)
    files.write(folder / files.CODE, CodeLog((code_of(plan, names),)))

    def run_all(some: Iterator[Block], keep: Keep) -> None:
        for block in some:
            keep(_varied(samples[block.component], block), Seconds(1.0, EACH))

    with pytest.MonkeyPatch.context() as patch:
        course_of = Course(folder, plan, names.components, time.monotonic, ignore)
        while course_of.committed < blocks and course_of.has_work():
            patch.setattr(rounds, "wave_after", lambda plan, at, end, *more: min(at + WAVE_BLOCKS, end, blocks))
            course_of.run(Here(names, 1, run_all, doing_here(names)))
    return plan


def _varied(result: BlockResult, block: Block) -> BlockResult:
    """Return the result as one of this block, with counts of its own: equal texts would be in a file only once."""

    def less(count: int, at: int) -> int:
        return max(0, count - (7 * block.number + at) % 11)

    tallies = {
        name: replace(
            tally,
            steps=less(tally.steps, 3),
            exercised={slug: less(count, at) for at, (slug, count) in enumerate(tally.exercised.items())},
        )
        for name, tally in result.tallies.items()
    }
    return replace(result, block=block, tallies=tallies)


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
    folder, scenarios = Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 10_000_000
    every = sorted(find_implementation(NAMES[0]).components())
    plan = make_plan("fabricated", NAMES, every, scenarios=-(-scenarios // len(every)), budget=0)
    assert plan.number_of_blocks is not None
    fill(folder, plan, plan.number_of_blocks, min(plan.block, 100))
    some = list((folder / files.WAVES).rglob("*.*"))
    size = sum(path.stat().st_size for path in some)
    print(f"{scenarios:,} scenarios, {plan.number_of_blocks:,} blocks, {len(some):,} files, {size >> 20:,} MiB")
    print(f"the driver: {_used(resource.RUSAGE_SELF)}", flush=True)
    for command in (
        ["status", folder], ["status", folder, "--store"], ["resume", folder, "--runner", "inline"], ["report", folder],
    ):  # fmt: skip
        script = "import sys; from conformance.cli import main; main()"
        code = (
            f"import resource, subprocess, sys; subprocess.run([sys.executable, '-c', {script!r}, 'campaign', "
            "*sys.argv[1:]], stdout=subprocess.DEVNULL); from tests.campaigns.fabricated import _used; "
            "print(_used(resource.RUSAGE_CHILDREN))"
        )
        done = subprocess.run(
            [sys.executable, "-c", code, *map(str, command)], capture_output=True, text=True, check=True
        )
        said = " ".join(["campaign", command[0], *command[2:]])  # type: ignore[list-item]
        print(f"{said}: {done.stdout.strip()}", flush=True)


def _used(whose: int) -> str:
    """Return what a process, or those that it waited for, used at most."""
    used = resource.getrusage(whose)
    return f"{used.ru_maxrss >> 10:,} MiB at most, {used.ru_utime + used.ru_stime:.1f} s of CPU time"


if __name__ == "__main__":
    main()
