"""What tasks of released Flink fail of: episodes in which things are made to fail, of each kind and in each phase.

A task may fail only after something was made to fail, with that as its cause (pipeline.md, I-90). An episode is a short
job that is restored once, with another parallelism, and in which three failures are asked for. In which phase of the
job one has struck, its history says, not what the episode meant. Writes reports/flink-causes.md.

What an episode has come to is a line of a file in the folder of the run. The same command again runs what is missing.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from random import Random
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from building.flink_pipeline import counting, keep
from building.kept_lines import add_line, read_lines
from conformance.components import COMPONENTS
from conformance.components.pipeline import steps
from conformance.components.pipeline.config import PipelineScenarioConfig, make
from conformance.components.pipeline.ledger import Ledger
from conformance.driver import Program, Violation, World
from conformance.ports import (
    COMMIT,
    OPERATOR_COORDINATOR,
    OPERATOR_SNAPSHOT,
    OPERATORS_OPEN,
    CheckpointBegun,
    CheckpointCompleted,
    CheckpointFailed,
    CheckpointKind,
    FailurePoint,
    FailureStruck,
    FailureTarget,
    FaultKind,
    FaultStruck,
    Implementation,
    JobRestarted,
    JobSettings,
    JobTaskChanged,
    Recovery,
    TaskState,
    Triggered,
    UnusableImplementation,
)
from conformance.ports import find_implementation as find
from conformance.scenarios import Entry, Step

RELEASES = {"2.3.0": (Recovery.RECOVER_FIRST, Recovery.IN_MEMORY), "2.2.1": (Recovery.RECOVER_FIRST,)}
"""Which releases are run, and how their jobs recover, in turn."""
GRAPHS = ("keyed", "one edge", "separate", "union", "two inputs", "keyed with broadcast")
PORTION = 5
"""So many records of each split are supplied at a time."""
TRIES = 40
"""How often something is asked for that is possible only once tasks restore. Then the job may run already."""
MOST_KEPT = 2
"""Folders of episodes that have failed, for each release and rule."""
EPISODES = "causes.jsonl"
RULE = "a-task-fails-of-what-was-made-to-fail"

NO_CHECKPOINT, RUNNING, IDLE = (steps.settle(one) for one in ("no-checkpoint", "running", "idle"))
SETTLED = (NO_CHECKPOINT, IDLE, RUNNING)
"""What has just failed is still said to run: only when nothing is left to do it has been restarted."""
ALIGNED, SAVEPOINT = (steps.trigger(one.value) for one in (CheckpointKind.ALIGNED, CheckpointKind.SAVEPOINT))


class Phase(StrEnum):
    """What a job is doing when something fails. Of several, the first one counts."""

    RESTARTING = "while restarting"
    """Something has failed before, and not all tasks run again."""
    RESTORING = "while restoring"
    """It was restored from a checkpoint, and not all tasks run yet."""
    END = "at the end"
    """All sources have ended."""
    SAVEPOINT = "during a savepoint"
    """A savepoint is pending, or the job is being stopped with one."""
    CHECKPOINT = "during a checkpoint"
    RUNNING = "while running"


class Kind(NamedTuple):
    """What is made to fail: a target at a point, or, without a target, the call of user code at a place."""

    target: str
    point: str

    def __str__(self) -> str:
        return f"{self.target}, {self.point}" if self.target else f"a throw at {self.point}"


POINTS, TARGETS = [one.value for one in FailurePoint], [one.value for one in FailureTarget]
PLACES = (OPERATORS_OPEN, OPERATOR_SNAPSHOT, OPERATOR_COORDINATOR, COMMIT)
KINDS = (*(Kind(target, point) for target in TARGETS for point in POINTS), *(Kind("", place) for place in PLACES))
OPENS = (FailurePoint.IN_RESTORE.value, OPERATORS_OPEN)
CUTS = (FailurePoint.IN_SNAPSHOT.value, FailurePoint.BETWEEN_CUTS.value, OPERATOR_SNAPSHOT, OPERATOR_COORDINATOR)
COMPLETE = (FailurePoint.COMPLETED.value, COMMIT)


def impossible(kind: Kind, phase: Phase) -> str:
    """Returns why a kind cannot strike in a phase; an empty text: it can."""
    if kind.point in OPENS and phase not in (Phase.RESTARTING, Phase.RESTORING):
        return "tasks are opened, and restore, only then"
    if kind.point in (*CUTS, *COMPLETE) and phase is Phase.RUNNING:
        return "without a checkpoint there is no cut and no notice"
    if kind.point == FailurePoint.COMPLETED.value and phase is Phase.RESTORING:
        return "a notice comes to tasks that have taken their parts"
    return ""


def cells(*phases: Phase) -> list[tuple[Kind, Phase]]:
    """Returns each kind with each of these phases in which it can strike."""
    return [(kind, phase) for phase in phases for kind in KINDS if not impossible(kind, phase)]


IN_LIFE = cells(Phase.RUNNING, Phase.CHECKPOINT, Phase.SAVEPOINT, Phase.RESTARTING)
AT_RESTORE = cells(Phase.RESTORING)
IN_THE_END = [*IN_LIFE, *cells(Phase.END) * 2]


class Strike(msgspec.Struct):
    """A failure that has struck, and how many tasks failed until the next one did."""

    target: str
    point: str
    phase: Phase
    failed: int = 0


class Episode(msgspec.Struct):
    """What an episode has come to."""

    release: str
    number: int
    strikes: list[Strike] = []
    restores: int = 0
    """From a checkpoint."""
    seconds: float = 0.0
    violation: str = ""
    """The slug of the property; empty: none."""
    meant: list[tuple[Kind, Phase]] | None = None
    """What was drawn to strike, and in which phase; None: an earlier version ran it, which did not note that."""


# ---- what has struck, and when ---------------------------------------------------------------------------------------
class History:
    """A job, as its history tells it, up to a moment."""

    def __init__(self) -> None:
        self.strikes: list[Strike] = []
        self.ended = 0
        self._begin(False)

    def _begin(self, restored: bool) -> None:
        self.restored = restored
        self.ended = self.stopping = 0
        self.awaits_restart = self.restarted = False
        self.states: dict[int, TaskState | None] = {}
        self.pending: dict[int, bool] = {}
        """By checkpoint, whether it is a savepoint."""

    def runs(self) -> bool:
        """Returns whether all tasks run or have finished."""
        there = self.states.values()
        return bool(there) and all(one in (TaskState.RUNNING, TaskState.FINISHED) for one in there)

    def phase(self, point: str) -> Phase:
        """Returns what the job is doing when something strikes at this point. What has happened the engine says later:
        a task is opened only when it restores, and a cut and a notice belong to a checkpoint."""
        if self.restored and not self.awaits_restart and not self.restarted and not self.runs():
            return Phase.RESTORING
        if self.awaits_restart or (self.restarted and not self.runs()) or point in OPENS:
            return Phase.RESTARTING
        if self.ended:
            return Phase.END
        if self.stopping or any(self.pending.values()):
            return Phase.SAVEPOINT
        return Phase.CHECKPOINT if self.pending or point in (*CUTS, *COMPLETE) else Phase.RUNNING

    def add(self, entry: Entry) -> None:
        """Goes on by one step, and what was heard with its answer."""
        if entry.outcome is None:
            return
        name, value = entry.step[0], entry.outcome.value
        for signal in entry.outcome.signals:
            self._hear(signal)
        if name == steps.restore.name:
            self._begin(bool(entry.step[1]))
        elif name == steps.end.name:
            self.ended += 1
        elif name in (steps.trigger.name, steps.stop_with_savepoint.name) and isinstance(value, Triggered):
            stops = name == steps.stop_with_savepoint.name
            if value.checkpoint:
                self.pending[value.checkpoint] = stops or entry.step == SAVEPOINT
            if stops:
                self.stopping = value.checkpoint

    def _hear(self, signal: object) -> None:
        if isinstance(signal, FailureStruck):
            self.strikes.append(Strike(signal.target.value, signal.point.value, self.phase(signal.point.value)))
            self.awaits_restart = True
        elif isinstance(signal, FaultStruck):
            self.strikes.append(Strike("", signal.place, self.phase(signal.place)))
            self.awaits_restart = True
        elif isinstance(signal, JobTaskChanged):
            self.states[signal.task] = signal.state
            if signal.state is TaskState.FAILED and self.strikes:
                self.strikes[-1].failed += 1
        elif isinstance(signal, JobRestarted):
            self.awaits_restart, self.restarted = False, True
            for run in signal.tasks:
                self.states.update(dict.fromkeys(run))
        elif isinstance(signal, CheckpointBegun):
            self.pending[signal.checkpoint] = False
        elif isinstance(signal, (CheckpointCompleted, CheckpointFailed)):
            self.pending.pop(signal.checkpoint, None)
            if isinstance(signal, CheckpointFailed) and signal.checkpoint == self.stopping:
                self.stopping = 0


def strikes(entries: Iterable[Entry]) -> list[Strike]:
    """Returns what has struck in a history."""
    history = History()
    for entry in entries:
        history.add(entry)
    return history.strikes


# ---- an episode ------------------------------------------------------------------------------------------------------
def job(random: Random, recovery: Recovery) -> PipelineScenarioConfig:
    """Returns the job with which an episode begins. Few settings need a cluster of their own."""
    during = recovery is not Recovery.RECOVER_FIRST
    settings = JobSettings(
        workers=random.choice((1, 2, 2)), recovery=recovery, during_recovery=during, output_on_downstream=during,
        alignment_timeout=random.choice((0, 10)), regions=True, checkpoint_timeout=200,
    )  # fmt: skip
    return replace(make(random.choice(GRAPHS), random.choice((1, 2)), settings, faults=True), portions=(PORTION,))


def episode_steps(ledger: Ledger, random: Random, meant: list[tuple[Kind, Phase]]) -> Iterator[Step]:
    """Yields the steps of an episode. Adds to `meant` what is to strike, and in which phase."""

    def strike(among: Sequence[tuple[Kind, Phase]]) -> Iterator[Step]:
        kind, phase = random.choice(among)
        meant.append((kind, phase))
        return _cell(kind, phase, ledger, random)

    yield RUNNING
    yield from _supplied(ledger)
    yield IDLE
    yield ALIGNED
    yield NO_CHECKPOINT
    yield from strike(IN_LIFE)
    yield from SETTLED
    point = ledger.checkpoints.point
    if not point or not ledger.is_live():
        return
    yield steps.snapshot(point)
    yield steps.kill()
    how = random.choice(("same", "up", "down"))
    settings = ledger.config.settings
    yield steps.restore(point, how, settings.recovery.value, settings.output_on_downstream)
    yield from strike(AT_RESTORE)
    yield from SETTLED
    yield from strike(IN_THE_END)
    yield from SETTLED


def _cell(kind: Kind, phase: Phase, ledger: Ledger, random: Random) -> Iterator[Step]:
    """Yields steps that may let this kind strike in this phase: what waits for a point is asked for in front."""
    asked = _ask(kind, ledger, random)
    waits = kind.point != FailurePoint.NOW.value
    if phase is Phase.RUNNING:
        yield from _supplied(ledger)
        yield asked
        return
    if phase is Phase.RESTARTING and not waits:
        yield _other(ledger, random)
    if phase in (Phase.RESTARTING, Phase.RESTORING):
        yield asked
        if phase is Phase.RESTARTING and waits:
            yield _other(ledger, random)
        yield from _supplied(ledger)
        before, newest = ledger.failures.count, ledger.checkpoints.newest
        for _ in range(TRIES if kind.point in CUTS or not waits else 0):  # at first there is nothing that can fail
            if ledger.failures.count > before or ledger.checkpoints.newest > newest:
                return
            yield ALIGNED if waits else asked
        return
    still = [] if waits else counting(ledger)  # their barriers stay behind records
    if waits:
        yield asked
    for task in still:
        yield steps.throttle(task, True)
    yield from _supplied(ledger)
    if still:
        yield IDLE
    if phase is Phase.END:
        for source in ledger.graph.sources:
            yield steps.end(source)
    if phase is Phase.SAVEPOINT:
        stops = kind.point in COMPLETE or random.random() < 0.3  # of no other savepoint anybody is notified
        yield steps.stop_with_savepoint() if stops else SAVEPOINT
    else:
        yield ALIGNED
    if not waits:
        yield asked
    for task in still:
        yield steps.throttle(task, False)
    if phase is Phase.END:
        yield NO_CHECKPOINT
        yield ALIGNED


def _ask(kind: Kind, ledger: Ledger, random: Random) -> Step:
    if not kind.target:
        return ("fault", kind.point, FaultKind.THROWS.value, 1)
    many = {FailureTarget.TASK.value: len(ledger.graph.tasks), FailureTarget.WORKER.value: _workers(ledger)}
    return steps.fail(kind.target, random.randrange(many.get(kind.target, 1)), kind.point)


def _workers(ledger: Ledger) -> int:
    return ledger.config.settings.workers


def _other(ledger: Ledger, random: Random) -> Step:
    return _ask(Kind(random.choice((FailureTarget.TASK, FailureTarget.JOB)).value, POINTS[0]), ledger, random)


def _supplied(ledger: Ledger) -> Iterator[Step]:
    return (
        steps.supply(split, PORTION) for vertex in ledger.graph.sources for split in ledger.config.splits_of(vertex)
    )


def episode(program: Program, release: str, number: int) -> tuple[Episode, World | None, Violation | None]:
    """Runs one episode. A program that ends is a violation, too, and is started again for the next one."""
    meant: list[tuple[Kind, Phase]] = []
    one, world, violation = Episode(release, number, meant=meant), None, None
    random, recoveries = Random(number), RELEASES[release]
    began = time.monotonic()
    try:
        world = World(program, job(random, recoveries[number % len(recoveries)]), True)
        ledger = world.ledger
        assert isinstance(ledger, Ledger)
        for step in episode_steps(ledger, random, meant):
            if world.enabled(step):
                world.perform(step)
            one.restores += step[0] == steps.restore.name and bool(ledger.checkpoints.restored)
        world.drain()
    except Violation as found:
        violation, one.violation = found, found.property.slug
    finally:
        if world is not None:
            world.close()
    one.strikes = strikes((world and world.entries) or ())
    one.seconds = round(time.monotonic() - began, 2)
    return one, world, violation


# ---- a run of many ---------------------------------------------------------------------------------------------------
def read(folder: Path) -> list[Episode]:
    """Returns the episodes that were run."""
    return read_lines(folder / EPISODES, Episode)


def run(release: str, numbers: Sequence[int], folder: Path) -> None:
    """Runs episodes on a release, and notes what each has come to."""
    implementation: Implementation = find(f"flink-pipeline@{release}")
    program = Program(COMPONENTS["pipeline"], implementation)
    try:
        for number in numbers:
            one, world, violation = episode(program, release, number)
            if violation is not None:
                print(f"{release}, episode {number}: {violation}"[:600], flush=True)
                broken = f"{release}-{one.violation}"
                if len(list(folder.glob(f"{broken}@*"))) < MOST_KEPT:
                    keep(world, violation, folder / f"{broken}@{number}")
            add_line(folder / EPISODES, one)
    finally:
        implementation.close()


HEADER = """# What tasks of released Flink fail of

In {episodes} episodes, {strikes} failures have struck; {failed} tasks failed of them, and the cause of each was judged
by `{rule}`: **{violations}**. `make flink-causes` writes this page. What was investigated by hand,
and run again for it, is among the [findings in whole jobs](flink-findings.md#findings-in-whole-jobs).

A cell says how often a kind has struck in a phase, and how many tasks failed of it until the next one struck. It is
empty where a kind cannot strike. {restores} restores were from a checkpoint.

{releases}
"""
REST = """
## What the phases are

The history of an episode says in which phase a failure has struck, and not what the episode meant; of several phases,
the first one in the table counts. A task, a worker, the job master or the job fails now, or at a point at which it was
asked to; a throw comes from the call of user code at a place. When all tasks are restarted, or a job master is lost, no
task fails: all are cancelled.
"""


def report(episodes: Sequence[Episode]) -> str:
    """Returns the page."""
    counts = Counter((Kind(one.target, one.point), one.phase) for each in episodes for one in each.strikes)
    failed: Counter[tuple[Kind, Phase]] = Counter()
    for one in (strike for each in episodes for strike in each.strikes):
        failed[Kind(one.target, one.point), one.phase] += one.failed
    mine = sum(one.violation == RULE for one in episodes)
    text = HEADER.format(
        episodes=len(episodes), strikes=counts.total(), failed=failed.total(), rule=RULE,
        violations=f"{mine or 'no'} violation{'s' * (mine != 1)}", restores=sum(one.restores for one in episodes),
        releases=_by_release(episodes),
    )  # fmt: skip
    text += "\n| what was made to fail | " + " | ".join(phase.value for phase in Phase) + " |\n"
    text += "| --- |" + " ---: |" * len(Phase) + "\n"
    for kind in KINDS:
        row = [_cell_text(kind, phase, counts, failed) for phase in Phase]
        text += f"| {kind} | " + " | ".join(row) + " |\n"
    return text + _others(episodes) + REST + _never(episodes, counts)


def _cell_text(
    kind: Kind, phase: Phase, counts: Counter[tuple[Kind, Phase]], failed: Counter[tuple[Kind, Phase]]
) -> str:
    here = counts[kind, phase]
    return f"{here} / {failed[kind, phase]}" if here else "" if impossible(kind, phase) else "never"


def _by_release(episodes: Sequence[Episode]) -> str:
    lines = ["| release | episodes | struck | seconds per episode | violations |", "| --- | ---: | ---: | ---: | --- |"]
    for release in RELEASES:
        here = [one for one in episodes if one.release == release]
        if not here:
            continue
        violations = Counter(one.violation for one in here if one.violation)
        found = ", ".join(f"{many} `{slug}`" for slug, many in sorted(violations.items())) or "none"
        struck = sum(len(one.strikes) for one in here)
        seconds = sum(one.seconds for one in here) / len(here)
        lines.append(f"| {release} | {len(here)} | {struck} | {seconds:.1f} | {found} |")
    return "\n".join(lines)


def _others(episodes: Sequence[Episode]) -> str:
    """Returns which other rules were broken, and what had struck last."""
    found: dict[tuple[str, str], Counter[str]] = {}
    for one in episodes:
        if one.violation:
            last = one.strikes[-1] if one.strikes else None
            what = f"{Kind(last.target, last.point)}, {last.phase.value}" if last else "nothing"
            found.setdefault((one.release, one.violation), Counter())[what] += 1
    text = "\n## What else was broken\n\n| release | rule | what had struck last |\n| --- | --- | --- |\n"
    for (release, slug), last_struck in sorted(found.items()):
        kinds = "; ".join(f"{what}: {many}" for what, many in sorted(last_struck.items()))
        text += f"| {release} | `{slug}` | {kinds} |\n"
    return text if found else ""


def _never(episodes: Sequence[Episode], counts: Counter[tuple[Kind, Phase]]) -> str:
    meant = {drawn for one in episodes for drawn in one.meant or ()}
    not_asked = "no episode has asked for it"
    if any(one.meant is None for one in episodes):
        not_asked = "it has not struck; the results do not say whether it was asked for"
    why: dict[str, list[str]] = {}
    for phase in Phase:
        for kind in KINDS:
            if not counts[kind, phase]:
                asked = "it was asked for, but tasks ran before it could strike"
                reason = impossible(kind, phase) or (asked if (kind, phase) in meant else not_asked)
                why.setdefault(reason, []).append(f"{kind} ({phase.value})")
    text = "\n## Kinds that have never struck in a phase\n"
    for reason, which in why.items():
        text += f"\n- {reason[0].upper()}{reason[1:]}: {'; '.join(which)}.\n"
    return text


def main(arguments: list[str] | None = None) -> int:
    """Returns the exit status: 0; 1 if that rule was broken; 2 if a release cannot be run."""
    parser = argparse.ArgumentParser(prog="python -m building.flink_causes", description=__doc__)
    parser.add_argument("--episodes", type=int, default=1000, help="on the first release; default: 1000")
    parser.add_argument("--others", type=int, default=200, help="on each other release; default: 200")
    parser.add_argument(
        "--keep", type=Path, default=Path("build/flink-causes"), help="for results, and for what has failed"
    )
    parser.add_argument("--report", type=Path, metavar="FILE", help="the Markdown document")
    options = parser.parse_args(arguments)
    folder: Path = options.keep
    folder.mkdir(parents=True, exist_ok=True)
    try:
        for at, release in enumerate(RELEASES):
            done = {one.number for one in read(folder) if one.release == release}
            wanted = range(options.others if at else options.episodes)
            if missing := [number for number in wanted if number not in done]:
                run(release, missing, folder)
    except UnusableImplementation as error:
        print(error, file=sys.stderr)
        return 2
    episodes = read(folder)
    text = report(episodes)
    print(text)
    if options.report:
        options.report.write_text(text, encoding="utf-8")
    return int(any(one.violation == RULE for one in episodes))


if __name__ == "__main__":
    sys.exit(main())
