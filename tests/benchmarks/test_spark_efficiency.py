"""What it costs in CPU time to have Spark run blocks, against one process that does nothing else.

Summed is the time of the whole tree of processes: driver, JVM, Python workers. Blocks are of the size that large
campaigns have. Nothing is asserted about a time: machines are shared.
"""

from __future__ import annotations

import os
from pathlib import Path
from time import perf_counter

import pytest
from msgspec.structs import replace

from conformance.campaigns import Inline, Processes, Spark, make_plan
from conformance.campaigns.rows import blocks_of
from conformance.campaigns.spark_setup import spark_problem
from conformance.campaigns.tables import read_table

pytestmark = [
    pytest.mark.benchmark,
    pytest.mark.skipif(spark_problem() is not None, reason=spark_problem() or ""),
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc, to sum up the time of processes"),
]
BLOCKS = 8
SIZE = 30_000


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


def measure(runner, plan, folder):
    """CPU seconds until the blocks could start, CPU seconds of the blocks, wall seconds of the blocks.

    The first wave of Spark, in which its JVM loads what it needs, is part of the start.
    """
    first, *blocks = plan.blocks()
    before = cpu_seconds_of_the_tree()
    with runner.opened(plan) as running:
        wave(running, [replace(first, count=10)], folder / "first")
        ready, began = cpu_seconds_of_the_tree(), perf_counter()
        wave(running, blocks[:BLOCKS], folder / "blocks")
        # Now: afterwards, workers are gone, and what they spent with them.
        done, ended = cpu_seconds_of_the_tree(), perf_counter()
    rows = (row for path in folder.glob("blocks/rows/*.parquet") for row in read_table(path.read_bytes()))
    results = sorted(blocks_of(rows, plan.digest), key=lambda one: one.block.number)
    assert len(results) == BLOCKS
    assert all(one.lost is None for one in results)
    return ready - before, done - ready, ended - began, results


def wave(running, blocks, folder):
    """Run blocks, each as a task of its own, and add them up."""
    (folder / "rows").mkdir(parents=True)
    running.run([[block] for block in blocks], folder / "rows", lambda result: None, print)
    running.add(sorted((folder / "rows").glob("*.parquet")), folder / "sum")


def test_spark_costs_little_more_than_the_work_itself(capsys, tmp_path):
    plan = make_plan("efficiency", ["reference"], ["subpartition"], scenarios=(BLOCKS + 1) * SIZE, block=SIZE)
    _, alone, wall, expected = measure(Inline(), plan, tmp_path / "inline")
    lines = [f"inline: {alone / BLOCKS:.1f} s a block, {alone:.1f} s CPU, {wall:.1f} s wall"]
    for runner in (Processes(), Spark()):
        starting, spent, wall, results = measure(runner, plan, tmp_path / runner.name)
        assert results == expected
        lines.append(
            f"{runner.name}: {spent:.1f} s CPU, {wall:.1f} s wall, {starting:.1f} s CPU to start; "
            f"efficiency {alone / spent:.1%}, with the start {alone / (spent + starting):.1%}"
        )
    with capsys.disabled():
        print("", *lines, sep="\n")
