"""What it costs in CPU time to have Spark run blocks: against one process, and beyond what the blocks take.

Summed is the time of the whole tree of processes: driver, JVM, Python workers. Blocks are of the size that large
campaigns have. Nothing is asserted about a time: machines are shared.
"""

from __future__ import annotations

from time import perf_counter, process_time

import pytest
from msgspec.structs import replace

from conformance.campaigns import Inline, Processes, Spark, make_plan, spark_tasks
from conformance.campaigns.apart import attempt_elsewhere
from conformance.campaigns.rows import blocks_of, rows_of
from conformance.campaigns.runners import cores
from conformance.campaigns.seconds import Seconds, Watch
from conformance.campaigns.spark_setup import spark_problem
from conformance.campaigns.tables import batch_of, read_table
from conformance.system.garbage import spare_once
from tests.benchmarks.processes import STAT, cpu_seconds_of_the_tree

pytestmark = [
    pytest.mark.benchmark,
    pytest.mark.skipif(spark_problem() is not None, reason=spark_problem() or ""),
    pytest.mark.skipif(not STAT.exists(), reason="needs /proc, to sum up the time of processes"),
]
BLOCKS = 8
SIZE = 30_000
PER_CORE = 12
"""How many tasks of one block each core has in a wave that is full."""


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


def running_by_cpu_time(plan, names, tasks):
    """As `running`, but the seconds of a block are the CPU time that its process took for it."""

    def run(numbers):
        for batch in numbers:
            for number in batch.column(0).to_pylist():
                for block in tasks[number]:
                    began = process_time()
                    result = attempt_elsewhere(plan, names, block, Watch())
                    yield batch_of(rows_of(result, Seconds(process_time() - began)))
                    spare_once()

    return run


@pytest.mark.parametrize("size", [600, SIZE])
def test_what_a_full_wave_of_spark_takes_beyond_its_blocks(size, capsys, monkeypatch, tmp_path):
    """This compares nothing with another run, so that it can be measured on a machine that others use."""
    monkeypatch.setattr(spark_tasks, "running", running_by_cpu_time)
    count = PER_CORE * cores()
    plan = make_plan("efficiency", ["reference"], ["subpartition"], scenarios=(2 * count) * size, block=size)
    every = list(plan.blocks())
    before = cpu_seconds_of_the_tree()
    with Spark().opened(plan) as running:
        wave(running, [replace(one, count=10) for one in every[:count]], tmp_path / "first")
        ready = cpu_seconds_of_the_tree()
        wave(running, every[count:], tmp_path / "blocks")
        spent = cpu_seconds_of_the_tree() - ready
    rows = (row for path in tmp_path.glob("blocks/rows/*.parquet") for row in read_table(path.read_bytes()))
    own = sum(row.seconds or 0.0 for row in rows if row.kind == "block")
    each = 1000 * (spent - own) / count
    with capsys.disabled():
        print(
            f"\nSpark, {cores()} cores: {count} tasks of {own / count:.1f} s CPU, and {each:.0f} ms each"
            f" beyond it, with the sum of the wave; efficiency {own / spent:.1%}; {ready - before:.1f} s CPU before"
        )
