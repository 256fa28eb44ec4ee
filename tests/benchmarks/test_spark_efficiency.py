"""What it costs in CPU time to have Spark run blocks, against one process that does nothing else.

Summed is the time of the whole tree of processes: driver, JVM, Python workers. Blocks are of the size that large
campaigns have. Nothing is asserted about a time: machines are shared.
"""

from __future__ import annotations

import os
from itertools import chain
from pathlib import Path
from time import perf_counter

import pytest

from conformance.campaigns import Inline, Processes, Spark, make_plan
from conformance.campaigns.spark_setup import spark_problem

pytestmark = [
    pytest.mark.benchmark,
    pytest.mark.skipif(spark_problem() is not None, reason=spark_problem() or ""),
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc, to sum up the time of processes"),
]
BLOCKS = 8


def cpu_seconds_of_the_tree() -> float:
    """The CPU time of this process, of all its living descendants, and of those that they waited for."""
    stats = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
            except OSError:  # it ended meanwhile
                continue
            stats[int(folder.name)] = int(fields[1]), sum(map(int, fields[11:15]))
    tree = {os.getpid()}
    while more := {pid for pid, (parent, _) in stats.items() if parent in tree} - tree:
        tree |= more
    return sum(stats[pid][1] for pid in tree) / os.sysconf("SC_CLK_TCK")


def measure(runner, plan):
    """CPU seconds until the first block could start, CPU seconds of the blocks, wall seconds of the blocks."""
    marks = [cpu_seconds_of_the_tree()]
    walls = []
    last = []

    def first():
        marks.append(cpu_seconds_of_the_tree())
        walls.append(perf_counter())
        yield from ()

    def commit(result):
        assert result.lost is None
        last.append(result)
        if len(last) == BLOCKS:  # now: afterwards, workers are gone, and what they spent with them
            marks.append(cpu_seconds_of_the_tree())
            walls.append(perf_counter())

    runner.run(plan, chain(first(), plan.blocks()), commit, print)
    before, ready, done = marks
    return ready - before, done - ready, walls[1] - walls[0], sorted(last, key=lambda one: one.block.number)


def test_spark_costs_little_more_than_the_work_itself(capsys):
    plan = make_plan("efficiency", ["reference"], ["subpartition"], scenarios=BLOCKS * 30_000, block=30_000)
    _, alone, wall, expected = measure(Inline(), plan)
    lines = [f"inline: {alone / BLOCKS:.1f} s a block, {alone:.1f} s CPU, {wall:.1f} s wall"]
    for runner in (Processes(), Spark()):
        starting, spent, wall, results = measure(runner, plan)
        assert results == expected
        lines.append(
            f"{runner.name}: {spent:.1f} s CPU, {wall:.1f} s wall, {starting:.1f} s CPU to start; "
            f"efficiency {alone / spent:.1%}, with the start {alone / (spent + starting):.1%}"
        )
    with capsys.disabled():
        print("", *lines, sep="\n")
