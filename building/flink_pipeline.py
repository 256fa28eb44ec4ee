"""Restore chains on released Flink: jobs that are restored, with another parallelism each, from checkpoints that were
taken while data was in flight, the later ones while the job itself restores. Writes reports/flink-pipeline.md.

An episode is a scenario of the component pipeline. Which steps it has depends on what the engine answers: a checkpoint
that was refused is triggered again. It is judged like every other scenario.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from urllib.parse import urlparse

import msgspec
from msgspec.structs import replace

from conformance.components import COMPONENTS
from conformance.components.pipeline import steps
from conformance.components.pipeline.config import PipelineScenarioConfig, make
from conformance.components.pipeline.ledger import Ledger
from conformance.driver import Program, Violation, World
from conformance.ports import CheckpointKind, Implementation, JobSettings, Recovery, UnusableImplementation, VertexKind
from conformance.ports import find_implementation as find
from conformance.scenarios import Step

SPLITS, PORTION = 8, 500
"""So many splits, and records of each: 4000 of about 600 bytes."""
PARALLELISM = (7, 2, 3)
TRIES = 4
"""How often a checkpoint is triggered as early as possible."""
UNALIGNED = steps.trigger(CheckpointKind.UNALIGNED.value)
NO_CHECKPOINT, RUNNING, IDLE = (steps.settle(one) for one in ("no-checkpoint", "running", "idle"))


@dataclass(frozen=True)
class Setting:
    """A release, and how its jobs recover."""

    name: str
    release: str
    recovery: Recovery
    workers: int = 1
    fixed: bool = False
    """Whether the change of FLINK-40016 is laid over the release."""

    @property
    def implementation(self) -> str:
        """Returns the name under which the implementation is found."""
        return f"flink-pipeline@{self.release}"

    @property
    def slug(self) -> str:
        """Returns a name for folders."""
        return "-".join([self.release, self.recovery.value, str(self.workers), *["fixed"] * self.fixed])

    def config(self) -> PipelineScenarioConfig:
        """Returns the job with which an episode begins."""
        during = self.recovery is not Recovery.RECOVER_FIRST
        settings = JobSettings(
            workers=self.workers, recovery=self.recovery, during_recovery=during, output_on_downstream=during,
            alignment_timeout=0, checkpoint_timeout=200, floating_buffers=8,
        )  # fmt: skip
        return replace(make("keyed", PARALLELISM[0], settings, SPLITS), portions=(PORTION,))


SETTINGS = (
    Setting("during recovery", "2.3.0", Recovery.IN_MEMORY),
    Setting("during recovery, two workers", "2.3.0", Recovery.IN_MEMORY, workers=2),
    Setting("after recovery", "2.3.0", Recovery.RECOVER_FIRST),
    Setting("after recovery", "2.2.1", Recovery.RECOVER_FIRST),
)


@dataclass
class Result:
    """What the episodes with a setting have come to."""

    setting: Setting
    episodes: int = 0
    restores: int = 0
    """From a checkpoint."""
    in_recovery: int = 0
    """Checkpoints that completed and were triggered while a task restored, or before it had taken what it recovered."""
    seconds: float = 0.0
    unsettled: int = 0
    """Episodes in which the engine did not come to rest, so that what was committed in the end was not judged."""
    violations: Counter[str] = field(default_factory=Counter)
    kept: list[str] = field(default_factory=list)


def counting(ledger: Ledger) -> list[int]:
    """Returns the tasks that count."""
    tasks, vertices = enumerate(ledger.graph.tasks), ledger.config.vertices
    return [number for number, (vertex, _) in tasks if vertices[vertex].kind is VertexKind.COUNT]


def chain(ledger: Ledger, random: Random) -> Iterator[Step]:
    """Yields the steps of an episode."""
    recovery = ledger.config.settings.recovery.value
    downstream = ledger.config.settings.output_on_downstream
    yield RUNNING
    yield from _still(ledger, True)
    yield from (steps.supply(split, PORTION) for split in range(SPLITS))
    yield IDLE
    yield from _overtaking(ledger)
    for parallelism in PARALLELISM[1:]:
        point = ledger.checkpoints.point
        if not point:
            return
        yield steps.snapshot(point)
        yield steps.kill()
        yield steps.restore(point, str(parallelism), recovery, downstream)
        if parallelism == PARALLELISM[-1]:
            return
        yield from _early(ledger, random)
        if ledger.checkpoints.point == point:  # it waits until the job has recovered, and new data is in flight
            yield from _still(ledger, False)
            yield RUNNING
            yield from _still(ledger, True)
            yield from (steps.supply(split, 1) for split in range(SPLITS))
            yield IDLE
            yield from _overtaking(ledger)


def _still(ledger: Ledger, on: bool) -> Iterator[Step]:
    return (steps.throttle(task, on) for task in counting(ledger))


def _overtaking(ledger: Ledger) -> Iterator[Step]:
    for _ in range(TRIES):
        before = ledger.checkpoints.point
        yield UNALIGNED
        yield NO_CHECKPOINT
        if ledger.checkpoints.point > before:
            return


def _early(ledger: Ledger, random: Random) -> Iterator[Step]:
    """Operators go on in front of the trigger or behind it, so that they take what was recovered meanwhile."""
    before = random.random() < 0.5
    yield from _still(ledger, True)
    yield RUNNING
    if before:
        yield from _still(ledger, False)
    yield UNALIGNED
    if not before:
        yield from _still(ledger, False)
    yield NO_CHECKPOINT


def episode(program: Program, setting: Setting, number: int, result: Result) -> tuple[World, Violation | None]:
    """Runs one episode, and notes what it has come to."""
    world = World(program, setting.config(), True)
    ledger = world.ledger
    assert isinstance(ledger, Ledger)
    violation, began, early = None, time.monotonic(), False
    try:
        for step in chain(ledger, Random(number)):
            if world.enabled(step):
                world.perform(step)
            result.restores += step[0] == steps.restore.name and bool(ledger.checkpoints.restored)
            result.in_recovery += _completed_early(ledger, step, early)
            early = step[0] == steps.restore.name or (early and step != NO_CHECKPOINT)
        world.drain()
    except Violation as found:
        violation = found
        result.violations[found.property.slug] += 1
    finally:
        world.close()
        result.seconds += time.monotonic() - began
        result.episodes += 1
        result.unsettled += violation is None and not any(
            one.closing and one.step == IDLE and one.outcome is not None and one.outcome.value
            for one in world.entries or ()
        )
    return world, violation


def _completed_early(ledger: Ledger, step: Step, early: bool) -> bool:
    """Returns whether the first checkpoint of a restored job has completed, and was triggered while it restored."""
    point = ledger.checkpoints.point
    if not early or step != NO_CHECKPOINT or point == ledger.checkpoints.restored:
        return False
    return ledger.in_effect() is not Recovery.RECOVER_FIRST or ledger.checkpoints.known[point].during_recovery


def keep(world: World, violation: Violation, folder: Path) -> None:
    """Keeps what an episode leaves behind that has failed: its history, and its checkpoints."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = [str(violation)]
    places = set()
    for one in world.entries or ():
        lines.append(msgspec.json.encode(one).decode())
        location = getattr(one.outcome and one.outcome.value, "location", "")
        if location:
            places.add(Path(urlparse(location).path).parents[1])
    (folder / "history.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    for place in places:
        if place.is_dir():
            shutil.copytree(place, folder / "checkpoints", dirs_exist_ok=True)


def run(setting: Setting, episodes: int, folder: Path, first: int = 0) -> Result:
    """Runs episodes with a setting. A program that ends costs one episode, which is a finding."""
    result = Result(setting)
    implementation: Implementation = find(setting.implementation)
    program = Program(COMPONENTS["pipeline"], implementation)
    try:
        for number in range(first, first + episodes):
            world, violation = episode(program, setting, number, result)
            if violation is not None:
                place = folder / f"{setting.slug}-{number}"
                keep(world, violation, place)
                result.kept.append(place.name)
                print(f"{setting.slug}, episode {number}: {violation}"[:300], flush=True)
    finally:
        implementation.close()
    return result


HEADER = """# Restore chains on released Flink

An episode is a job of {records} records of about 600 bytes that is restored twice, with the parallelisms {chain}: from
a checkpoint with data in flight, and from one that was triggered as early as the restored job allowed. Then it drains,
and every record must have been committed once. `make flink-pipeline` writes this page.

| release | checkpoints | workers | episodes | restores from a checkpoint | completed while tasks restored | not judged in the end | seconds per episode | violations |
| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |
"""  # noqa: E501


def report(results: Sequence[Result]) -> str:
    """Returns the page."""
    text = HEADER.format(records=SPLITS * PORTION, chain=" → ".join(map(str, PARALLELISM)))
    for one in results:
        found = ", ".join(f"{many} `{slug}`" for slug, many in sorted(one.violations.items())) or "none"
        restores = str(one.restores) if one.restores else "not exercised"
        name = one.setting.name + (", with the change of FLINK-40016" if one.setting.fixed else "")
        text += (
            f"| {one.setting.release} | {name} | {one.setting.workers} | {one.episodes} | {restores} |"
            f" {one.in_recovery} | {one.unsettled} | {one.seconds / max(1, one.episodes):.1f} | {found} |\n"
        )
    kept = [name for one in results for name in one.kept]
    if kept:
        names = ", ".join(f"`{name}`" for name in kept)
        text += f"\nKept in the folder of the run, with history and checkpoints: {names}.\n"
    return text


def main(arguments: list[str] | None = None) -> int:
    """Returns the exit status: 0; 2 if a release cannot be run."""
    parser = argparse.ArgumentParser(prog="python -m building.flink_pipeline", description=__doc__)
    parser.add_argument("--episodes", type=int, default=200, help="with each setting; default: 200")
    parser.add_argument("--first", type=int, default=0, help="the number of the first one; default: 0")
    parser.add_argument("--only", type=int, action="append", metavar="NUMBER", help="a setting, counted from 0")
    parser.add_argument("--keep", type=Path, default=Path("build/flink-pipeline"), help="for what has failed")
    parser.add_argument("--report", type=Path, metavar="FILE", help="the Markdown document")
    options = parser.parse_args(arguments)
    chosen = [SETTINGS[number] for number in options.only] if options.only else SETTINGS
    try:
        results = [run(setting, options.episodes, options.keep, options.first) for setting in chosen]
    except UnusableImplementation as error:
        print(error, file=sys.stderr)
        return 2
    text = report(results)
    print(text)
    if options.report:
        options.report.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
