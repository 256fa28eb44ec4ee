"""Restore chains on released Flink: jobs that are restored, with another parallelism each, from checkpoints that were
taken while data was in flight, the later ones while the job itself restores. Writes reports/flink-pipeline.md.

An episode is a scenario of the component pipeline. Which steps it has depends on what the engine answers: a checkpoint
that was refused is triggered again. It is judged like every other scenario.

What an episode has come to is a line of a file in the folder of the run. The same command again runs what is missing.
The checkpoints of an episode that has failed are kept, and each of them is restored once more with sources held:
`probe.txt` says which of them is not its cut (building/flink_probe.py).
"""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from urllib.parse import urlparse

import msgspec
from msgspec.structs import replace

from building import flink_probe
from building.kept_lines import add_line, read_lines
from conformance.bridges.flink.implementation import CHANGE, COUNTING_NANOSECONDS, OPENING_MICROSECONDS
from conformance.components import COMPONENTS
from conformance.components.pipeline import steps
from conformance.components.pipeline.config import PipelineScenarioConfig, make
from conformance.components.pipeline.ledger import Ledger
from conformance.driver import Program, Violation, World
from conformance.ports import CheckpointKind, Implementation, JobSettings, Recovery, UnusableImplementation, VertexKind
from conformance.ports import find_implementation as find
from conformance.scenarios import Entry, Step

SPLITS, PORTION = 24, 40
"""So many splits, and records of each that are supplied at a time: 960 of about 600 bytes."""
PARALLELISM = (7, 2, 3)
ROOM = 100
"""Buffers for what a gate recovers, so that its channels are converted before operators have taken it."""
MOST_KEPT = 3
"""Folders of episodes that have failed, for each setting."""
EPISODES = "episodes.jsonl"
PROBE = "probe.txt"
"""What was seen when the kept checkpoints of an episode were restored with sources held."""
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
        return f"flink-pipeline@{self.release}" + f"+{CHANGE}" * self.fixed

    @property
    def slug(self) -> str:
        """Returns a name for folders."""
        return "-".join([self.release, self.recovery.value, str(self.workers), *["fixed"] * self.fixed])

    def config(self) -> PipelineScenarioConfig:
        """Returns the job with which an episode begins."""
        during = self.recovery is not Recovery.RECOVER_FIRST
        settings = JobSettings(
            workers=self.workers, recovery=self.recovery, during_recovery=during, output_on_downstream=during,
            alignment_timeout=0, checkpoint_timeout=200, floating_buffers=ROOM,
        )  # fmt: skip
        return replace(make("keyed", PARALLELISM[0], settings, SPLITS), portions=(PORTION,))


SETTINGS = (
    Setting("during recovery", "2.3.0", Recovery.IN_MEMORY),
    Setting("during recovery, two workers", "2.3.0", Recovery.IN_MEMORY, workers=2),
    Setting("during recovery", "2.3.0", Recovery.IN_MEMORY, fixed=True),
    Setting("during recovery, two workers", "2.3.0", Recovery.IN_MEMORY, workers=2, fixed=True),
    Setting("after recovery", "2.3.0", Recovery.RECOVER_FIRST),
    Setting("after recovery", "2.2.1", Recovery.RECOVER_FIRST),
)


class Episode(msgspec.Struct):
    """What an episode has come to."""

    setting: str
    """The slug of its setting."""
    number: int
    restores: int = 0
    """From a checkpoint."""
    in_recovery: int = 0
    """Checkpoints that completed and were triggered while a task restored, or before it had taken what it recovered."""
    seconds: float = 0.0
    settled: bool = False
    """Whether the engine came to rest in the end, so that what was committed by then was judged."""
    violation: str = ""
    """The slug of the property; empty: none."""


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
    yield from _supplied()
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
            yield from _supplied()
            yield IDLE
            yield from _overtaking(ledger)


def _supplied() -> Iterator[Step]:
    return (steps.supply(split, PORTION) for split in range(SPLITS))


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
    yield from _supplied()
    if before:
        yield from _still(ledger, False)
    yield UNALIGNED
    if not before:
        yield from _still(ledger, False)
    yield NO_CHECKPOINT


def episode(program: Program, setting: Setting, number: int) -> tuple[Episode, World | None, Violation | None]:
    """Runs one episode. A program that ends is a violation, too, and is started again for the next one."""
    one, world, violation = Episode(setting.slug, number), None, None
    began, early = time.monotonic(), False
    try:
        world = World(program, setting.config(), True)
        ledger = world.ledger
        assert isinstance(ledger, Ledger)
        for step in chain(ledger, Random(number)):
            if world.enabled(step):
                world.perform(step)
            one.restores += step[0] == steps.restore.name and bool(ledger.checkpoints.restored)
            one.in_recovery += _completed_early(ledger, step, early)
            early = step[0] == steps.restore.name or (early and step != NO_CHECKPOINT)
        world.drain()
        one.settled = any(each.closing and each.step == IDLE and _says_so(each) for each in world.entries or ())
    except Violation as found:
        violation, one.violation = found, found.property.slug
    finally:
        if world is not None:
            world.close()
    one.seconds = round(time.monotonic() - began, 2)
    return one, world, violation


def _says_so(entry: Entry) -> bool:
    return entry.outcome is not None and bool(entry.outcome.value)


def _completed_early(ledger: Ledger, step: Step, early: bool) -> bool:
    """Returns whether the first checkpoint of a restored job has completed, and was triggered while it restored."""
    point = ledger.checkpoints.point
    if not early or step != NO_CHECKPOINT or point == ledger.checkpoints.restored:
        return False
    return ledger.in_effect() is not Recovery.RECOVER_FIRST or ledger.checkpoints.known[point].during_recovery


def keep(world: World | None, violation: Violation, folder: Path) -> None:
    """Keeps what an episode leaves behind that has failed: its history, and its checkpoints."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = [str(violation)]
    places = set()
    for one in (world and world.entries) or ():
        lines.append(msgspec.json.encode(one).decode())
        location = getattr(one.outcome and one.outcome.value, "location", "")
        if location:
            places.add(Path(urlparse(location).path).parents[1])
    (folder / "history.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    for place in places:
        if place.is_dir():
            shutil.copytree(place, folder / "checkpoints", dirs_exist_ok=True)


def read(folder: Path) -> list[Episode]:
    """Returns the episodes that were run."""
    return read_lines(folder / EPISODES, Episode)


def run(setting: Setting, numbers: Sequence[int], folder: Path) -> None:
    """Runs episodes with a setting, and notes what each has come to."""
    implementation: Implementation = find(setting.implementation)
    program, job = Program(COMPONENTS["pipeline"], implementation), setting.config().job()
    kept = len(list(folder.glob(f"{setting.slug}@*")))
    try:
        for number in numbers:
            one, world, violation = episode(program, setting, number)
            if violation is not None:
                print(f"{setting.slug}, episode {number}: {violation}"[:300], flush=True)
                if kept < MOST_KEPT:
                    keep(world, violation, place := folder / f"{setting.slug}@{number}")
                    seen = "".join(
                        f"{line}\n" for line in flink_probe.lines(flink_probe.probe(setting.implementation, job, place))
                    )
                    (place / PROBE).write_text(seen, encoding="utf-8")
                    kept += 1
            add_line(folder / EPISODES, one)
    finally:
        implementation.close()


HEADER = """# Restore chains on released Flink

An episode is a job of {records} records of about 600 bytes that is restored twice, with the parallelisms {chain}: from
a checkpoint with data in flight, and from one that was triggered as soon as its tasks ran, before they had taken what
they recovered. Then it drains, and every record must have been committed once. `make flink-pipeline` writes this page.

All rows have the same speeds, which follow from what FLINK-40016 is about: a local channel stores a buffer twice that
its task takes between the first barrier of a checkpoint and the barrier of this channel. So barriers must come further
apart than a snapshot takes, which splits do that are opened slowly (up to {opening} ms each); and what was recovered must
still be there, for which there are {room} floating buffers for each gate, and operators that take {counting:g} ms for a record.

| release | checkpoints | workers | episodes | restores from a checkpoint | completed while tasks restored | not judged in the end | seconds per episode | violations |
| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |
"""  # noqa: E501


def report(episodes: Sequence[Episode], folder: Path) -> str:
    """Returns the page. `folder`: that of the run."""
    text = HEADER.format(
        records=2 * SPLITS * PORTION,
        chain=" → ".join(map(str, PARALLELISM)),
        opening=OPENING_MICROSECONDS // 1000,
        counting=COUNTING_NANOSECONDS / 1_000_000,
        room=ROOM,
    )
    kept: list[str] = []
    for setting in SETTINGS:
        mine = [one for one in episodes if one.setting == setting.slug]
        if not mine:
            continue
        violations = Counter(one.violation for one in mine if one.violation)
        found = ", ".join(f"{many} `{slug}`" for slug, many in sorted(violations.items())) or "none"
        restores = sum(one.restores for one in mine)
        name = setting.name + (f", with the change of {CHANGE}" if setting.fixed else "")
        unsettled = sum(not one.settled and not one.violation for one in mine)
        text += (
            f"| {setting.release} | {name} | {setting.workers} | {len(mine)} | {restores or 'not exercised'} |"
            f" {sum(one.in_recovery for one in mine)} | {unsettled} |"
            f" {sum(one.seconds for one in mine) / len(mine):.1f} | {found} |\n"
        )
        kept += sorted(place.name for place in folder.glob(f"{setting.slug}@*"))
    if kept:
        names = ", ".join(f"`{name}`" for name in kept)
        text += f"\nKept in the folder of the run, with history and checkpoints: {names}.\n"
    return text


def main(arguments: list[str] | None = None) -> int:
    """Returns the exit status: 0; 2 if a release cannot be run."""
    parser = argparse.ArgumentParser(prog="python -m building.flink_pipeline", description=__doc__)
    parser.add_argument("--episodes", type=int, default=200, help="with each setting; default: 200")
    parser.add_argument("--only", type=int, action="append", metavar="NUMBER", help="a setting, counted from 0")
    parser.add_argument(
        "--keep", type=Path, default=Path("build/flink-pipeline"), help="for results, and for what has failed"
    )
    parser.add_argument("--report", type=Path, metavar="FILE", help="the Markdown document")
    options = parser.parse_args(arguments)
    folder: Path = options.keep
    folder.mkdir(parents=True, exist_ok=True)
    chosen = [SETTINGS[number] for number in options.only] if options.only else SETTINGS
    try:
        for setting in chosen:
            done = {one.number for one in read(folder) if one.setting == setting.slug}
            if missing := [number for number in range(options.episodes) if number not in done]:
                run(setting, missing, folder)
    except UnusableImplementation as error:
        print(error, file=sys.stderr)
        return 2
    text = report(read(folder), folder)
    print(text)
    if options.report:
        options.report.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
