"""What the driver does if the processes of tasks die, or if there is no room. Spark itself is not started."""

from __future__ import annotations

import gc
import socket
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pytest
from msgspec.structs import replace

from conformance.campaigns import Block, CampaignError, Names, RunnerUnavailable, Spark, choose, make_plan, spark_tasks
from conformance.campaigns.block import DIED, lost_block
from conformance.campaigns.rows import blocks_of, rows_of
from conformance.campaigns.spark_runner import JOBS, Jobs, Session, answers
from conformance.campaigns.spark_setup import Java
from conformance.campaigns.tables import TableWriter, read_table
from conformance.system.writing import NotWritten

PLAN = make_plan("jobs", ["reference"], ["deque", "subpartition"], scenarios=40, block=1)
BLOCKS = [PLAN.block_at(position) for position in range(20)]
TASKS = [BLOCKS[at : at + 3] for at in range(0, 20, 3)]
POISON = BLOCKS[7]


def test_a_worker_that_is_used_again_does_not_look_at_what_is_loaded_after_each_task():
    some = replace(PLAN, seed="garbage")
    run = spark_tasks.running(some, Names(), [[some.block_at(0)], [some.block_at(1)]])
    counts = []
    gc.unfreeze()
    try:
        for number in (0, 1):
            list(run(iter([pa.RecordBatch.from_pydict({"id": [number]})])))
            counts.append(gc.get_freeze_count())
    finally:
        gc.unfreeze()
    assert counts[0] > 10_000
    assert counts[1] <= counts[0], "only once, so that nothing of later tasks stays"


class Dying(Jobs):
    """Jobs without Spark, of which each one fails that has a block of `poison`, so many times at most."""

    def __init__(self, poison: dict[Block, int], error: str = "Python worker exited unexpectedly (crashed)") -> None:
        self.alive = True
        super().__init__(Session(None, self._end, lambda: self.alive, lambda: 2), PLAN, Names(), 4)
        self.poison, self.error = poison, error
        self.jobs: list[list[Block]] = []

    def _end(self) -> None:
        """End the JVM, as the session of a driver does that has started one."""
        self.alive = False

    def _write(self, tasks: Sequence[Sequence[Block]], table: Path) -> None:
        if not self.alive:
            raise RuntimeError(f"{self.error}, and the JVM has ended")
        blocks = [block for task in tasks for block in task]
        self.jobs.append(blocks)
        for block in blocks:
            if self.poison.get(block, 0) > 0:
                self.poison[block] -= 1
                raise RuntimeError(self.error)
        with TableWriter(table, f"part-{len(self.jobs)}") as writer:
            for block in blocks:
                writer.add(rows_of(lost_block(PLAN, block, "it was not run")))


def ran(jobs: Jobs, folder: Path) -> dict[str, str | None]:
    """Why each block is lost that was written."""
    jobs.run(TASKS, folder, lambda result: None, lambda note: None)
    rows = (row for path in sorted(folder.iterdir()) for row in read_table(path.read_bytes()))
    found = list(blocks_of(rows, PLAN.digest))
    assert sorted(one.block.name for one in found) == sorted(block.name for block in BLOCKS)
    return {one.block.name: one.lost for one in found}


def test_a_block_that_ends_its_process_each_time_is_lost_alone(tmp_path):
    jobs = Dying({POISON: 1_000})
    found = ran(jobs, tmp_path)
    assert [name for name, why in found.items() if why == DIED] == [POISON.name]
    assert jobs.jobs.count([POISON]) == JOBS
    assert sum(map(len, jobs.jobs)) < 4 * len(BLOCKS), "most blocks are run again a few times"


def test_a_process_that_dies_a_few_times_loses_nothing(tmp_path):
    assert DIED not in ran(Dying({POISON: 2}), tmp_path).values()


def test_two_of_them_are_found_both(tmp_path):
    found = ran(Dying({POISON: 1_000, BLOCKS[8]: 1_000}), tmp_path)
    assert [name for name, why in found.items() if why == DIED] == sorted(one.name for one in (POISON, BLOCKS[8]))


def test_the_user_is_told(tmp_path):
    said: list[str] = []
    Dying({POISON: 1_000}).run(TASKS, tmp_path, lambda result: None, said.append)
    again = f"the worker of block {POISON.name} died 4 times; trying again"
    assert said == [again, again, f"block {POISON.name} is lost: {DIED}"]


def test_a_jvm_that_has_ended_ends_the_campaign(tmp_path):
    jobs = Dying({POISON: 1})
    jobs.alive = False
    with pytest.raises(CampaignError, match="Spark stopped working on the campaign: Python worker exited"):
        ran(jobs, tmp_path)


def test_a_spark_connect_server_that_has_ended_does_not_answer():
    """Else its end was taken for that of a task, whose blocks are run again one by one."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"sc://127.0.0.1:{server.getsockname()[1]}/;user_id=me"
        assert answers(address)
    assert not answers(address)


def test_a_disk_that_is_full_on_an_executor_is_named(tmp_path):
    with pytest.raises(NotWritten, match="could not be written: No space left on device"):
        ran(Dying({POISON: 1}, "java.io.IOException: No space left on device\n\tat x.y"), tmp_path)


# ---- settings --------------------------------------------------------------------------------------------------------
def java() -> Java:
    return Java("java", 17)


def test_settings_are_passed_on():
    conf = ["spark.executor.memory=2g", "spark.x=a=b"]
    runner, _ = choose("spark", "spark://there:7077", java=java, has=lambda name: True, conf=conf)
    assert isinstance(runner, Spark)
    assert runner.conf == {"spark.executor.memory": "2g", "spark.x": "a=b"}


@pytest.mark.parametrize("setting", ["spark.executor.memory", "executor.memory=2g", "=", ""])
def test_what_is_no_setting_is_refused(setting):
    with pytest.raises(CampaignError, match=r"It has the form spark.some.key=value"):
        choose("spark", java=java, has=lambda name: True, conf=[setting])


def test_settings_are_for_spark_only():
    with pytest.raises(CampaignError, match="which the runner inline does not use"):
        choose("inline", conf=["spark.x=1"])
    with pytest.raises(RunnerUnavailable):
        choose("auto", java=java, has=lambda name: False, conf=["spark.x=1"])
