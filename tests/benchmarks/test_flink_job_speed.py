"""What whole jobs of released Flink take, in one JVM that runs already: CPU time of JVM and suite, and wall time.

Nothing is asserted about a time: machines are shared.
"""

from __future__ import annotations

from contextlib import closing
from os import getloadavg
from statistics import median
from time import perf_counter

import pytest

from building.flink_pipeline import SETTINGS, episode
from conformance.bridges.flink import implementation as flink
from conformance.components import COMPONENTS
from conformance.components.pipeline import steps
from conformance.components.pipeline.config import make
from conformance.driver import Program, World
from conformance.ports import CheckpointKind, JobRestarted, JobSettings, Limits, Recovery, UnusableImplementation
from tests.benchmarks.processes import STAT, cpu_seconds_of_the_tree
from tests.bridges.conftest import skip_without

pytestmark = [
    pytest.mark.benchmark,
    pytest.mark.flink,
    pytest.mark.skipif(not STAT.exists(), reason="needs /proc, to sum up the time of processes"),
]
EPISODES, FAILOVERS = 12, 20
WARM_UP = 3
"""So many episodes, or failovers, come before those that are measured."""
STEP_SECONDS = 120.0
"""Beside much other work, a cluster takes more than half a minute to start."""
NO_CHECKPOINT, RUNNING, IDLE = (steps.settle(one) for one in ("no-checkpoint", "running", "idle"))


class Meter:
    """Lists what each of several turns takes."""

    def __init__(self) -> None:
        self.cpu: list[float] = []
        self.wall: list[float] = []

    def __enter__(self) -> None:
        self.began = cpu_seconds_of_the_tree(), perf_counter()

    def __exit__(self, *error: object) -> None:
        self.cpu.append(cpu_seconds_of_the_tree() - self.began[0])
        self.wall.append(perf_counter() - self.began[1])

    def __str__(self) -> str:
        cpu, wall = (
            f"{sum(one):.1f} s {word}, each {min(one):.2f} to {max(one):.2f}, median {median(one):.2f}"
            for one, word in ((self.cpu[WARM_UP:], "CPU"), (self.wall[WARM_UP:], "wall"))
        )
        first = f"{self.cpu[0]:.1f} s CPU, {self.wall[0]:.1f} s wall"
        load = f"load {getloadavg()[0]:.0f}"
        return f"{len(self.cpu) - WARM_UP}: {cpu}; {wall}; the first: {first}; {load}"


def program_of(name: str) -> Program:
    skip_without(name.partition("@")[2])
    try:
        implementation = flink.flink_pipeline(name.partition("@")[2])
    except UnusableImplementation as error:
        pytest.skip(str(error))
    implementation.limit(Limits(step_seconds=STEP_SECONDS))
    return Program(COMPONENTS["pipeline"], implementation)


@pytest.mark.parametrize("is_slowed", [True, False], ids=["as in make flink-pipeline", "as fast as they go"])
@pytest.mark.parametrize("setting", [SETTINGS[0], SETTINGS[4]], ids=lambda one: one.name)
def test_a_job_that_is_restored_twice(setting, is_slowed, monkeypatch, capsys):
    if not is_slowed:  # a draw below 0 is impossible
        monkeypatch.setattr(flink, "OPENING_MICROSECONDS", 1)
        monkeypatch.setattr(flink, "COUNTING_NANOSECONDS", 1)
    meter, program = Meter(), program_of(setting.implementation)
    with closing(program.implementation):
        for number in range(WARM_UP + EPISODES):
            with meter:
                restores = episode(program, setting, number)[0].restores
            assert restores > 0 or number < WARM_UP, "so slow that the job was given up"
    with capsys.disabled():
        print(f"\n{setting.release}, {setting.name}{', slowed' * is_slowed}: episodes, {meter}")


def test_failovers_by_a_throw(capsys):
    meter, program, restarts = Meter(), program_of("flink-pipeline@2.3.0"), 0
    config = make("keyed", 2, JobSettings(recovery=Recovery.RECOVER_FIRST), 4)
    with closing(program.implementation):
        world = World(program, config, True)
        for number in range(WARM_UP + FAILOVERS):
            with meter:
                supplied = [steps.supply(split, 5) for split in range(4)]
                checkpoint = steps.trigger(CheckpointKind.ALIGNED.value)
                failing = steps.fail("task", number % 2, "now")
                for step in (RUNNING, *supplied, IDLE, checkpoint, NO_CHECKPOINT, failing, IDLE, RUNNING):
                    world.perform(step)
        world.drain()
        for entry in world.entries or ():
            restarts += sum(isinstance(one, JobRestarted) for one in (entry.outcome and entry.outcome.signals) or ())
        world.close()
    assert restarts == WARM_UP + FAILOVERS
    with capsys.disabled():
        print(f"\n2.3.0, a task throws behind a checkpoint: failovers, {meter}")
