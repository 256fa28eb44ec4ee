"""Kills the processes of campaigns and explorations at random, goes on, and compares with what ran undisturbed.

    python -m tests.campaigns.kills reports/kills.md [TIMES [ENVIRONMENT...]]

Each kind of process that an environment has is killed TIMES times in each phase in which it has work.
"""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from conformance.campaigns import CampaignError, Inline, Spark, choose, make_plan, resume, rounds, start
from conformance.campaigns.files import FINDINGS, RESULT
from conformance.campaigns.files import PLAN as PLAN_FILE
from conformance.campaigns.waves import BLOCKS, all_blocks, newest, tables_of, uncounted
from conformance.components import COMPONENTS as EVERY
from conformance.driver import Program
from conformance.engines.explore import Exploration, Explorer
from conformance.engines.recognition import Recognition
from conformance.engines.scope import scope_of
from conformance.exploring import ExplorationError, Explored, Machine, explore_into
from conformance.exploring.folder import Folder
from conformance.exploring.spark_levels import Cluster as ExploringCluster
from conformance.ports import find_implementation
from conformance.reporting import exploration_document
from conformance.scenarios import SchemaError
from tests.campaigns.cluster import LOCAL, Cluster, cluster, connect_server
from tests.campaigns.victims import DRIVER, EXECUTOR, JVM, TASK, Processes, bearing, kill_if

ROOT = Path(__file__).parents[2]
NAMES = ("reference", "reference-recover-first", "known-bug:B-01", "known-bug:B-D10", "known-bug:B-45")
COMPONENTS = ("deque", "subpartition", "recovered-channel", "barrier-handler")
PLAN = make_plan("kills", NAMES, COMPONENTS, scenarios=60, block=10, budget=4_000)
SCOPE = ("consumer-loop", "reference", {"alike": "channel", "barriers": 1, "markers": 1, "time": 0})
DEPTH = 5

SEARCH, MERGE, REDUCTION, EXPLORATION = "search", "merge", "reduction", "exploration"
PHASES = (SEARCH, MERGE, REDUCTION, EXPLORATION)
IN_A_CAMPAIGN = PHASES[:3]
KINDS = (TASK, EXECUTOR, DRIVER, JVM)
SPREAD = {SEARCH: 1.5, MERGE: 0.4, REDUCTION: 1.0, EXPLORATION: 2.0}
"""In how many seconds after a phase was observed a process is killed."""
SHORT = {MERGE: 0.02, EXPLORATION: 0.5}
"""The same, where there is no Spark."""
KILLS_OF_AN_EXPLORATION = 2
MARK = "CONFORMANCE_KILLS"
WAVE = 8
"""How many blocks a wave has: there are three waves, however long a block takes."""
LOOK_SECONDS = 0.002
QUIET = 1_800
"""A driver that runs longer than this hangs."""
GRACE = 30
"""How many seconds the processes of a driver that was killed may take to end."""
DISTURBED = 75
"""The status of a driver that cannot go on, because its JVM or a process has ended."""


class Kill(NamedTuple):
    """A kill that is to come."""

    kind: str
    phase: str
    after: int
    """When so much is committed: blocks, findings or levels."""


@dataclass
class Trial:
    """What became of one campaign or exploration."""

    environment: str
    kills: list[Kill] = field(default_factory=list)
    missed: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Moments that were drawn, when nothing was killed: the phase was over, or no such process was at work."""
    lost: int = 0
    doubled: int = 0
    left: int = 0
    """Files of what was in flight, and processes of drivers that had ended."""
    equal: bool = False
    resumed: int = 0


# ---- environments ----------------------------------------------------------------------------------------------------
class Environment:
    """Where campaigns run: on this machine, with processes."""

    name = "processes"
    kinds: tuple[str, ...] = (TASK, DRIVER)
    runner = "processes"
    master = ""

    def variables(self) -> Mapping[str, str]:
        """What a driver gets."""
        return {}

    def roots(self) -> Sequence[int]:
        """The processes of a cluster or a server."""
        return ()

    def ready(self) -> None:
        """Called before a driver starts."""

    def can(self, kind: str, phase: str) -> bool:
        """Whether processes of a kind have work in a phase."""
        return self.runner == "spark" or (kind, phase) != (TASK, MERGE)  # the driver alone merges


class LocalSpark(Environment):
    """Spark on the cores of this machine. Its JVM is that of the driver, and runs the tasks, too."""

    name, runner = "local Spark", "spark"
    kinds: tuple[str, ...] = (TASK, DRIVER, JVM)


class Standalone(LocalSpark):
    """A master and two workers, each with an executor of one core, which does not have the project."""

    name = "standalone Spark"
    kinds = KINDS

    def __init__(self, there: Cluster) -> None:
        self._there = there
        self.master = there.url
        self._workers = [there.add_worker() for _ in range(2)]

    def variables(self) -> Mapping[str, str]:
        return {**LOCAL, "PYSPARK_PYTHON": str(self._there.python)}

    def roots(self) -> Sequence[int]:
        return [one.pid for one in self._workers]


class Connect(LocalSpark):
    """A Spark Connect server, which is the JVM that is killed, and started again."""

    name = "Spark Connect"

    def __init__(self, folder: Path, closing: ExitStack) -> None:
        self._folder, self._closing = folder, closing
        self._number = 0
        self._begin()

    def _begin(self) -> None:
        place = self._folder / str(self._number)
        place.mkdir()
        self._number += 1
        self._server = self._closing.enter_context(connect_server(place))
        self.master = self._server.address

    def roots(self) -> Sequence[int]:
        return [self._server.process.pid]

    def ready(self) -> None:
        if self._server.process.has_ended():
            self._begin()


@contextmanager
def _processes(folder: Path) -> Iterator[Environment]:
    yield Environment()


@contextmanager
def _local(folder: Path) -> Iterator[Environment]:
    yield LocalSpark()


@contextmanager
def _standalone(folder: Path) -> Iterator[Environment]:
    with cluster(folder) as there:
        yield Standalone(there)


@contextmanager
def _connect(folder: Path) -> Iterator[Environment]:
    with ExitStack() as closing:
        yield Connect(folder, closing)


ENVIRONMENTS = {
    Environment.name: _processes,
    LocalSpark.name: _local,
    Standalone.name: _standalone,
    Connect.name: _connect,
}


# ---- what is disturbed -----------------------------------------------------------------------------------------------
class Disturbed:
    """A campaign in a folder. Its phase is observed there."""

    phases: tuple[str, ...] = IN_A_CAMPAIGN
    what = "campaign"

    def __init__(self, folder: Path, undisturbed: Path) -> None:
        self.folder, self.undisturbed = folder, undisturbed

    def observed(self) -> tuple[str, int]:
        """Return the phase, or an empty string, and how much of the phase is committed."""
        if self.is_done():
            return "", 0
        last = newest(self.folder, PLAN) if (self.folder / PLAN_FILE).exists() else None
        until = 0 if last is None else last.until
        for home in uncounted(self.folder):
            try:
                return (MERGE if tables_of(home, BLOCKS) else SEARCH), until
            except OSError:
                return "", until
        return (REDUCTION, len(findings(self.folder))) if until == PLAN.number_of_blocks else ("", until)

    def begins(self) -> None:
        """Called before a driver starts."""

    def is_done(self) -> bool:
        """Whether it has ended."""
        return (self.folder / RESULT).exists()

    def most(self, phase: str) -> int:
        """Return how much of a phase is committed at most while it goes on."""
        if phase == REDUCTION:  # Spark keeps the findings of a job at once
            return len(findings(self.undisturbed)) // 2
        return (PLAN.number_of_blocks or 0) - WAVE

    def compare(self, trial: Trial) -> None:
        """Count what is missing, what is there twice, and what is left of what was in flight."""
        found, expected = ((one / RESULT).read_bytes() for one in (self.folder, self.undisturbed))
        trial.equal = found == expected
        try:
            blocks = Counter(one.block.name for one, _ in all_blocks(self.folder, PLAN, EVERY))
        except SchemaError as error:
            print(error, flush=True)
            blocks = Counter()
        for block in PLAN.blocks():
            trial.lost += blocks[block.name] < 1
            trial.doubled += blocks[block.name] > 1
        for mine, theirs in zip(_counts(found), _counts(expected), strict=True):
            trial.lost += max(0, theirs - mine)
            trial.doubled += max(0, mine - theirs)
        trial.left += len(_left(self.folder, OF_A_CAMPAIGN))


class DisturbedExploration(Disturbed):
    """An exploration in a folder."""

    phases = (EXPLORATION,)
    what = "exploration"

    def __init__(self, folder: Path, undisturbed: Path, makes_early: bool) -> None:
        """`makes_early`: whether the folder of a level is there as long as the level is explored."""
        super().__init__(folder, undisturbed)
        self._makes_early = makes_early
        self._had = 0

    def begins(self) -> None:
        self._had = self.observed()[1]

    def observed(self) -> tuple[str, int]:
        places = sorted((self.folder / "levels").glob("*")) if self.folder.exists() else []
        committed = sum(one.name.isdecimal() for one in places)
        explores = len(places) > committed if self._makes_early else committed > max(self._had, 1)
        return (EXPLORATION if explores and not self.is_done() else ""), committed

    def is_done(self) -> bool:
        return document_of(self.folder).exists()

    def most(self, phase: str) -> int:
        return DEPTH - 1

    def compare(self, trial: Trial) -> None:
        trial.equal = document_of(self.folder).read_bytes() == document_of(self.undisturbed).read_bytes()
        mine, theirs = map(_states, (self.folder, self.undisturbed))
        for state in mine | theirs:
            trial.lost += max(0, theirs[state] - mine[state])
            trial.doubled += max(0, mine[state] - theirs[state])
        trial.left += len(_left(self.folder, OF_AN_EXPLORATION))


OF_A_CAMPAIGN = re.compile(
    r"(plan|code|runner|result)\.json|driver\.lock|waves/\d+/(wave\.json|(blocks|sum)/[^._][^/]*\.parquet)"
    r"|findings/\d+/[^./][^/]*\.json"
)
OF_AN_EXPLORATION = re.compile(
    r"exploration\.json|driver\.lock|levels/\d+/(level\.json|(states|left|drains|broken)/[._]?(part-|_SUCCESS|part-).*)"
)


def _left(folder: Path, known: re.Pattern[str]) -> list[str]:
    names = [path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()]
    found = [name for name in names if not known.fullmatch(name)]
    for name in found:
        print(f"left: {name}", flush=True)
    return found


def _states(folder: Path) -> Counter[bytes]:
    there = Folder(folder)
    levels = len(list((folder / "levels").glob("*/level.json")))
    return Counter(
        key for number in range(levels) for batch in there.read(number, "states") for key in batch["key"].to_pylist()
    )


def findings(folder: Path) -> list[Path]:
    """Return the findings that are kept."""
    return [one for one in folder.glob(f"{FINDINGS}/*/*.json") if one.name[0] != "." and one.stem != "implementation"]


def document_of(folder: Path) -> Path:
    """Where a driver writes what an exploration came to."""
    return folder.with_suffix(".json")


def _counts(result: bytes) -> list[int]:
    document = json.loads(result)
    return [part["scenarios"] for one in document["implementations"] for part in one["components"]]


# ---- drivers ---------------------------------------------------------------------------------------------------------
def drive(what: str, folder: Path, runner: str, master: str) -> int:
    """Start a campaign or an exploration, or go on with it."""
    rounds.wave_after = lambda plan, position, end, *more: min(position + WAVE, end)
    try:
        if what == Disturbed.what:
            chosen = choose(runner, master or None, workers=None if master else 2)[0]
            if (folder / PLAN_FILE).exists():
                resume(folder, chosen, chosen=NAMES)
            else:
                start(folder, PLAN, chosen)
        else:
            spark = Spark(master or None, workers=None if master else 2)
            exploring = Machine(2) if runner == "processes" else ExploringCluster(spark.session, few=20)
            write_document(folder, explore_into(folder, _explored(), exploring, DEPTH))
    except (CampaignError, ExplorationError) as error:
        print(error, flush=True)
        return DISTURBED
    return 0


def _explored() -> Explored:
    component, name, scope = SCOPE
    return Explored(component, name, tuple(sorted(f"{key}={value}" for key, value in scope.items())))


def write_document(folder: Path, result: Exploration) -> None:
    """Write what an exploration came to."""
    beside = document_of(folder).with_suffix(".part")
    beside.write_text(json.dumps(exploration_document(result)), encoding="utf-8")
    beside.rename(document_of(folder))


def by_one_process(folder: Path) -> Path:
    """Explore undisturbed, and compare with the explorer that remembers everything. Return the folder."""
    component, name, scope = SCOPE
    write_document(folder, explore_into(folder, _explored(), Machine(1), DEPTH))
    program = Program(EVERY[component], find_implementation(name))
    within = scope_of(program.component, {key: str(value) for key, value in scope.items()})
    alone = exploration_document(Explorer(program, within, recognition=Recognition.HASH).explore(DEPTH))
    assert json.loads(document_of(folder).read_text(encoding="utf-8")) == json.loads(json.dumps(alone))
    return folder


# ---- trials ----------------------------------------------------------------------------------------------------------
class Killing:
    """The kills of one trial."""

    def __init__(self, there: Environment, one: Disturbed, kills: Sequence[Kill], chance: random.Random) -> None:
        self.trial = Trial(there.name)
        self.pending = list(kills)
        self._there, self._one, self._chance = there, one, chance

    def run(self) -> Trial:
        """Let drivers run, one after the other, until the campaign has ended."""
        one, there = self._one, self._there
        mark = f"{os.getpid()}-{one.folder.name}"
        while not one.is_done():
            there.ready()
            one.begins()
            environment = {**os.environ, **there.variables(), MARK: mark, "PYTHONPATH": str(ROOT)}
            command = [sys.executable, "-m", "tests.campaigns.kills", "--drive", one.what, str(one.folder)]
            with (one.folder.parent / f"{one.folder.name}.log").open("ab") as log:
                driver = subprocess.Popen(
                    [*command, there.runner, there.master], env=environment, cwd=ROOT, stdout=log, stderr=log
                )
            before = len(self.trial.kills)
            try:
                self._watch(driver)
            finally:
                driver.kill()
                driver.wait()
            expected = (0, -signal.SIGKILL, DISTURBED) if len(self.trial.kills) > before else (0,)
            if driver.returncode not in expected:
                said = one.folder.with_suffix(".log").read_text(encoding="utf-8", errors="replace")
                raise AssertionError(f"the driver of {one.folder} ended with {driver.returncode}: {said[-2_000:]}")
            self.trial.resumed += not one.is_done()
        self._see_them_end(f"{MARK}={mark}")
        one.compare(self.trial)
        return self.trial

    def _watch(self, driver: subprocess.Popen[bytes]) -> None:
        until = time.monotonic() + QUIET
        while driver.poll() is None:
            if time.monotonic() > until:
                raise AssertionError(f"the driver of {self._one.folder} hangs")
            phase, done = self._one.observed()
            due = [kill for kill in self.pending if kill.phase == phase and done >= kill.after]
            if not due:
                time.sleep(LOOK_SECONDS)
                continue
            spread = {**SPREAD, **SHORT} if self._there.runner == "processes" else SPREAD
            time.sleep(self._chance.uniform(0, spread[phase]))
            self._strike(due[0], driver.pid)

    def _strike(self, kill: Kill, driver: int) -> None:
        def holds() -> bool:
            phase, done = self._one.observed()
            return phase == kill.phase and done >= kill.after

        found = Processes().victims(kill.kind, driver, self._there.roots()) if holds() else []
        if found and kill_if(self._chance.choice(found), holds):
            self.pending.remove(kill)
            self.trial.kills.append(kill)
        else:
            self.trial.missed[kill.phase, kill.kind] += 1

    def _see_them_end(self, mark: str) -> None:
        left: Sequence[int] = ()
        for _ in range(GRACE * 10):
            left = [*bearing(mark), *Processes().executors(self._there.roots())]
            if not left:
                return
            time.sleep(0.1)
        self.trial.left += len(left)
        print(f"left: {left}", flush=True)


def trials(times: int, seed: str, folder: Path, environments: Iterable[str] = ENVIRONMENTS) -> Iterator[Trial]:
    """Kill each kind of process so many times in each phase, in as many campaigns and explorations as that takes."""
    undisturbed = folder / "undisturbed"
    start(undisturbed, PLAN, Inline())
    explored = by_one_process(folder / "explored")
    for name in environments:
        chance = random.Random(f"{seed}/{name}")
        place = folder / name.split()[-1]
        place.mkdir()
        with ENVIRONMENTS[name](place) as there:
            left = Counter({(kind, phase): times for phase in PHASES for kind in there.kinds if there.can(kind, phase)})
            number = 0
            while left.total():
                is_campaign = any(left[cell] for cell in left if cell[1] != EXPLORATION)
                where = place / f"trial-{number}"
                one = (
                    Disturbed(where, undisturbed)
                    if is_campaign
                    else DisturbedExploration(where, explored, there.runner == "spark")
                )
                kills = _chosen(left, one, chance)
                trial = Killing(there, one, kills, chance).run()
                for kill in trial.kills:
                    left[kill.kind, kill.phase] -= 1
                print(name, number, trial, flush=True)
                yield trial
                number += 1


def _chosen(left: Mapping[tuple[str, str], int], one: Disturbed, chance: random.Random) -> list[Kill]:
    """Draw a kill for each phase, of the kinds of which most are left."""
    chosen = []
    for phase in one.phases:
        due = sorted((-number, chance.random(), kind) for (kind, its), number in left.items() if its == phase)
        due = [entry for entry in due if entry[0] < 0]
        for _, _, kind in due[: KILLS_OF_AN_EXPLORATION if phase == EXPLORATION else 1]:
            chosen.append(Kill(kind, phase, chance.randint(0, one.most(phase))))
    return chosen


# ---- the page --------------------------------------------------------------------------------------------------------
def report(found: Sequence[Trial], seed: str, stopped: bool = False) -> str:
    """Return the page. `stopped`: whether there were to be more trials."""
    lines = [
        "# Killed at random",
        "",
        f"Written by `python -m tests.campaigns.kills`, seed `{seed}`. A campaign has {len(list(PLAN.blocks()))} "
        f"blocks of {PLAN.block} scenarios on {len(NAMES)} implementations, in waves of {WAVE}; an exploration has "
        f"{DEPTH} levels of {SCOPE[0]}. The executors of the standalone cluster (a master and two workers of one core) "
        "and the server of Spark Connect do not have the project.",
        "",
        "When a process is killed is drawn: after how much is committed (blocks, findings, levels), and a time after "
        "the phase is then seen in the folder. *Search*: a wave is there whose table of blocks is not; *merge*: its "
        "table of blocks is there, and the wave does not count yet; *reduction*: all blocks are committed, and there "
        "is no result; *exploration*: a level is there that does not count yet, or without Spark, more levels are "
        "there than before. The process is stopped first, and killed with SIGKILL only if the phase is still what it "
        "was to be. *Task*: a Python process that runs a task, and *executor*: its JVM; both only while they are at "
        "work. *Driver*: the Python process of the command; *JVM*: that of the driver, or the server of Spark Connect. "
        "*Missed*: moments that were drawn at which the phase had passed, or no such process was at work. Nothing was "
        "killed then, and they do not count.",
        "",
        "After a kill that ends the command, the same command goes on. *Equal*: `result.json` has the bytes of a "
        "campaign that ran inline and undisturbed, or the document of the exploration those of one process. *Lost* and "
        "*doubled*: blocks that are not committed once, scenarios that the result counts too rarely or too often, and "
        "states that are not in one level. *Left*: files of waves and levels that do not count, and processes that "
        f"were still there {GRACE} seconds after the end. A trial with kills in several phases is in the row of each "
        "of them.",
        "",
        "| environment | phase | " + " | ".join(KINDS) + " | kills | missed | trials | equal | lost | doubled | left |",
        "|---|---|" + "---:|" * (len(KINDS) + 7),
    ]
    for name in dict.fromkeys(one.environment for one in found):
        for phase in PHASES:
            some = [one for one in found if one.environment == name and any(kill.phase == phase for kill in one.kills)]
            lines.append(_row(name, phase, some))
    lines += [_row("**all**", "", found), ""]
    resumed = sum(one.resumed for one in found)
    lines += [f"{resumed} times a command ended before its campaign or exploration did, and was given again.", ""]
    if stopped:
        lines += ["The trials were stopped before each kind of process was killed as often as asked.", ""]
    if missing := [name for name in ENVIRONMENTS if not any(one.environment == name for one in found)]:
        lines += [f"Not tried this time: {', '.join(missing)}.", ""]
    return "\n".join(lines)


def _row(name: str, phase: str, some: Sequence[Trial]) -> str:
    """Return a row of the table. `phase`: empty for all of them."""
    kills = Counter(kill.kind for one in some for kill in one.kills if phase in ("", kill.phase))
    missed = sum(number for one in some for (its, _), number in one.missed.items() if phase in ("", its))
    sums = (sum(getattr(one, name) for one in some) for name in ("equal", "lost", "doubled", "left"))
    numbers = (kills.total(), missed, len(some), *sums)
    return (
        f"| {name} | {phase} | " + " | ".join([*(str(kills[kind] or "") for kind in KINDS), *map(str, numbers)]) + " |"
    )


def is_well(one: Trial) -> bool:
    """Whether nothing is lost, doubled, left or different."""
    return one.equal and not (one.lost or one.doubled or one.left)


def main() -> None:
    if sys.argv[1] == "--drive":
        sys.exit(drive(sys.argv[2], Path(sys.argv[3]), *sys.argv[4:6]))
    seed, times = "kills", int(sys.argv[2]) if len(sys.argv) > 2 else 3
    found, stopped = list[Trial](), False
    with tempfile.TemporaryDirectory(prefix="conformance-kills-") as folder:
        try:
            for trial in trials(times, seed, Path(folder), sys.argv[3:] or ENVIRONMENTS):
                found.append(trial)
        except KeyboardInterrupt:
            stopped = True
    Path(sys.argv[1]).write_text(report(found, seed, stopped), encoding="utf-8")
    sys.exit(stopped or not all(map(is_well, found)))


if __name__ == "__main__":
    main()
