"""Runs episodes, one after the other, and says what they have come to. Two runs of one episode need not be alike."""

from __future__ import annotations

import itertools
import json
import os
import resource
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import mkdtemp

from msgspec import to_builtins

from conformance.components.pipeline.ledger import OVER
from conformance.driver import Components, FailureClass, Program
from conformance.driver.own_rules import ANSWERS
from conformance.driver.run import Run, run_scenario
from conformance.episodes import COMPONENT, steps
from conformance.episodes.drawing import MEANWHILE, Episode, draw, plain
from conformance.episodes.reducing import MOST_RUNS, Reduction, reduce_episode
from conformance.ports import FaultStruck, JobOver, Outcome, Until, UnusableImplementation
from conformance.ports.episodes import EpisodesImplementation
from conformance.scenarios import Entry, Finding, Scenario, decode_scenario, encode_scenario, read_text
from conformance.system.copying import copy_file
from conformance.system.writing import write_text

AGAIN = 5
"""How often an episode that has failed is run again."""
KEPT = "episode.json"
"""The episode, in the folder with its evidence."""
MINIMAL = "minimal.json"
"""The smallest episode known that fails in the same way, beside that."""
LIVES, RESTORED, IMAGES = "lives", "restores from recovery data", "lives that began from an image"
SLOW = "made no progress once, but did when run again"
KILLED = "killed from outside"
STOPPED, ASKED = "stopped with a savepoint", "stopped when asked"
IN_VAIN = "waits that ended without progress"
Kind = tuple[str, str]
"""How a run has failed: the property and the class."""
STUCK: Kind = (OVER, FailureClass.STUCK.value)
"""There was no progress any more, which is no verdict before it has happened again."""
GOES_ON, STANDS = "a job whose sources have ended goes on until it has finished", "there was no progress any more"
PASSED: Kind = ("", "")
RUNS = ".runs-"
"""Begins the name of the folder in which episodes are run, beside those that are kept."""
PLAIN = "plain-run-"
"""Begins the name of the folder of a run without any failure that has not passed."""
_UNTIL_OVER = steps.settle(Until.OVER.value)


@dataclass(slots=True)
class Result:
    """What one run of an episode has come to."""

    slug: str = ""
    """The property that is broken; empty: none."""
    failure_class: str = ""
    owed: str = ""
    observed: str = ""
    when: str = ""
    """In which life and at which step that was noticed, in words; empty: nothing is broken."""
    stuck: bool = False
    """Whether there was no progress any more, which is no verdict."""
    lives: int = 0
    restores: int = 0
    """How many lives were restored from recovery data, as user code says."""
    images: int = 0
    """How many lives began from an image."""
    deaths: Counter[str] = field(default_factory=Counter)
    """By place in user code, or `KILLED`, as words: how often a life ended so."""
    exercised: frozenset[str] = frozenset()
    waits: int = 0
    """How often it was waited in the middle of the episode, for records to come out or for a checkpoint."""
    in_vain: int = 0
    """How many of these waits ended since there was no progress for `start_seconds`."""
    cpu: float = 0.0
    """CPU seconds of the engine and the adapter."""
    run: Run | None = None
    """What was performed, and how it was judged."""

    @property
    def said(self) -> str:
        """Returns what was owed, and what was observed; empty if nothing is broken."""
        return f"{self.owed}; {self.observed}" if self.owed else ""

    @property
    def happened(self) -> dict[str, int]:
        """Returns how often what happened, in words."""
        return {LIVES: self.lives, RESTORED: self.restores, IMAGES: self.images, **self.deaths}

    @property
    def kind(self) -> Kind:
        """Returns what must be equal so that two runs have failed in the same way."""
        return (self.slug, self.failure_class) if self.slug else STUCK if self.stuck else PASSED


@dataclass(slots=True)
class Failure:
    """An episode that has failed, and what became of it when it was run again."""

    number: int
    episode: Episode
    first: Result
    folder: Path
    """The evidence: the folder of the job, its recovery data, output and logs, and the episode."""
    again: int = 0
    """In how many of the further runs it failed in the same way."""
    runs: int = 0
    """How many further runs there were, so far."""
    reduction: Reduction | None = None

    @property
    def verdict(self) -> str:
        """Says how sure it is."""
        return verdict(self.again, self.runs)


def verdict(again: int, runs: int) -> str:
    """Says how sure a failure is that was seen again in so many of so many further runs."""
    if not runs:
        return "seen once, and not run again"
    return f"again in {again} of {runs} runs" if again else f"seen once, in none of {runs} further runs"


@dataclass(slots=True)
class Tally:
    """All episodes so far."""

    episodes: int = 0
    interrupted: bool = False
    """Whether the user has ended the run before all episodes were run."""
    lives: int = 0
    restores: int = 0
    restored_episodes: int = 0
    """In how many episodes a life was restored from recovery data."""
    images: int = 0
    waits: int = 0
    in_vain: int = 0
    slow: int = 0
    """How many made no progress any more, but did when they were run again."""
    cpu: float = 0.0
    deaths: Counter[str] = field(default_factory=Counter)
    violations: Counter[str] = field(default_factory=Counter)
    exercised: Counter[str] = field(default_factory=Counter)
    failures: list[Failure] = field(default_factory=list)

    def add(self, one: Result) -> None:
        """Adds the first run of an episode."""
        self.episodes += 1
        self.lives += one.lives
        self.restores += one.restores
        self.images += one.images
        self.waits += one.waits
        self.in_vain += one.in_vain
        self.restored_episodes += bool(one.restores)
        self.cpu += one.cpu
        self.deaths += one.deaths
        self.exercised.update(one.exercised)

    def fail(self, one: Failure) -> None:
        """Adds a failure of an episode that was added. What is broken was put to the test, also if never before."""
        slug = one.first.kind[0]
        self.failures.append(one)
        self.violations[slug] += 1
        self.exercised[slug] += slug not in one.first.exercised


class Episodes:
    """Runs episodes of one engine."""

    def __init__(
        self, implementation: EpisodesImplementation, folder: Path | None = None, reduces: bool = True
    ) -> None:
        """`folder`: where `search` keeps the evidence of failures, and episodes are run; None: `search` is not called,
        and a temporary folder will do. Raises: UnusableImplementation if the adapter does not say what it is."""
        self.implementation, self.folder, self.reduces = implementation, folder, reduces
        self.description = implementation.describe()
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            implementation.root = Path(mkdtemp(prefix=RUNS, dir=folder))  # whatever is there stays
        self.program = Program(COMPONENT, implementation)

    def check(self) -> Result:
        """Runs an episode without any failure. If it does not pass, its folder is kept as that of other episodes.

        Raises: UnusableImplementation if it does not pass: then the adapter or its job is wrong, and not the engine.
        """
        place = None if self.folder is None else _unused(self.folder, PLAIN)
        found = self.run(plain(self.description), place)
        if found.kind != PASSED:
            raise UnusableImplementation(
                "A run without any failure does not pass, so the adapter or its job is wrong:"
                f" {found.kind[0]}: {found.said}."
                + (f" Logs, the folder of the job and the episode are kept in {place}." if place is not None else
                   " `conformance episodes` with the same adapter keeps its logs.")
            )  # fmt: skip
        return found

    def run(self, episode: Episode, keep: Path | None = None) -> Result:
        """Runs an episode once. `keep`: where its folder is moved if it fails."""
        before = self._cpu()
        done = run_scenario(self.program, episode.config, episode.steps, record=True)
        folder = self.implementation.end_run()
        found = self._result(done, folder)
        found.cpu = self._cpu() - before
        if keep is not None and found.kind != PASSED:
            keep.parent.mkdir(parents=True, exist_ok=True)
            shutil.rmtree(keep, ignore_errors=True)
            shutil.move(folder, keep, copy_function=copy_file)
            self._write(keep, episode, found)
        else:
            shutil.rmtree(folder, ignore_errors=True)
        return found

    def _result(self, done: Run, folder: Path) -> Result:
        found = Result(lives=len(list(folder.glob("life-*.log"))), run=done)
        found.restores = sum("restored\n" in one.read_text("utf-8") for one in folder.glob("life-*.notes"))
        found.exercised = frozenset(self.program.exercised(done.exercised))
        last = len(done.entries) - 1
        for at, one in enumerate(done.entries):
            if not isinstance(one.outcome, Outcome):
                continue
            struck = [signal for signal in one.outcome.signals if type(signal) is FaultStruck]
            found.deaths.update(f"died at {signal.place}" for signal in struck)
            if one.step == steps.savepoint() and one.outcome.value.completed:
                found.deaths[STOPPED] += 1
            if one.step == steps.stop() and one.outcome.value:
                found.deaths[ASKED] += 1
            if one.step == steps.kill() and not one.closing:
                found.deaths[KILLED] += 1
            if one.step[0] == steps.start_again.name and one.step[2]:
                found.images += 1
            if one.step in MEANWHILE and not any(type(signal) is JobOver for signal in one.outcome.signals):
                found.waits += 1
                found.in_vain += one.outcome.value is False
            if one.closing and one.step == _UNTIL_OVER and one.outcome.value is False:
                found.stuck = True
                last = last if done.violation is not None else at
        if (broken := done.violation) is not None:
            if broken.property.slug == ANSWERS:
                raise UnusableImplementation(broken.broken.observed)
            found.slug, found.failure_class = broken.property.slug, broken.broken.failure_class.value
            found.owed, found.observed = broken.broken.owed, broken.broken.observed
        found.stuck &= not found.slug
        if found.stuck:
            found.owed, found.observed = GOES_ON, STANDS
        if found.owed and last >= 0:
            found.when = _when(found.lives, last + 1, done.entries[last])
        return found

    def again(self, episode: Episode) -> list[Result]:
        """Runs an episode several times."""
        return [self.run(episode) for _ in range(AGAIN)]

    def episode(self, seed: str, number: int) -> Episode:
        """Returns the episode with this number."""
        return draw(self.description, f"{seed}/{number}")

    def search(self, seed: str, count: int, tally: Tally) -> Iterator[Result]:
        """Runs so many episodes, and yields what the first run of each has come to. Adds it to the tally first."""
        assert self.folder is not None
        for number in range(count):
            episode, place = self.episode(seed, number), self.folder / f"episode-{number:04}"
            first = self.run(episode, place)
            tally.add(first)
            if first.kind != PASSED:
                self._failed(tally, number, episode, first, place)
            yield first

    def often(self, episode: Episode, kind: Kind) -> tuple[int, int]:
        """Runs an episode again that has failed. Returns in how many runs it failed in the same way, and of how many.
        One without progress is run twice, since each of these runs takes long."""
        found = [*self._repeats(episode, kind)]
        return sum(found), len(found)

    def _repeats(self, episode: Episode, kind: Kind) -> Iterator[bool]:
        """Runs an episode again that has failed. Yields of each run whether it failed in the same way."""
        for _ in range(2 if kind == STUCK else AGAIN):
            yield self.run(episode).kind == kind

    def reduced(
        self, episode: Episode, kind: Kind, most: int = MOST_RUNS, keep: Callable[[Episode], None] | None = None
    ) -> Reduction:
        """Returns a smaller episode that fails in the same way, with what was owed and observed in the last run of it
        that did. `most`: how many runs it may take. `keep` is called with each smaller one."""
        last: list[Result] = []

        def fails(one: Episode) -> bool:
            found = self.run(one)
            if found.kind == kind:
                last[:] = [found]
            return found.kind == kind

        smaller = reduce_episode(episode, self.description, fails, most, keep)
        if last:  # only of the smallest: a candidate is taken as soon as it fails
            smaller.owed, smaller.observed = last[0].owed, last[0].observed
        return smaller

    def _failed(self, tally: Tally, number: int, episode: Episode, first: Result, place: Path) -> None:
        """Runs an episode again that has failed. Without progress, it counts only if it happens again twice. Any other
        failure counts at once, since the further runs may be interrupted."""
        failure = Failure(number, episode, first, place)
        if first.stuck:
            failure.again, failure.runs = self.often(episode, first.kind)
            if failure.again < failure.runs:
                tally.slow += 1
                shutil.rmtree(place, ignore_errors=True)
                return
        tally.fail(failure)
        if first.stuck:
            return
        for same in self._repeats(episode, first.kind):
            failure.again += same
            failure.runs += 1
        if failure.again and self.reduces:

            def keep(smaller: Episode) -> None:
                write_text(place / MINIMAL, self._text(smaller, first))

            failure.reduction = self.reduced(episode, first.kind, keep=keep)
            keep(failure.reduction.episode)

    def _cpu(self) -> float:
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime + self.implementation.seconds()

    def _text(self, episode: Episode, found: Result) -> str:
        finding = Finding(*found.kind, self.implementation.name)
        return encode_scenario(Scenario(COMPONENT.name, episode.config, episode.steps, finding))

    def _write(self, folder: Path, episode: Episode, found: Result) -> None:
        write_text(folder / KEPT, self._text(episode, found))
        write_text(folder / "finding.txt", f"{found.kind[0]}: {found.said}\nNoticed {found.when}.\n")


def _when(lives: int, number: int, last: Entry) -> str:
    """Says in which life and at which step a run has failed. `number`: that of the step, from 1."""
    where = "after the last step" if last.closing else f"at step {number}"
    life = f"in life {lives - 1} (life-{lives - 1}.log), " if lives else ""
    return f"{life}{where} of {KEPT}: {json.dumps(to_builtins(last.step))}"


def _unused(folder: Path, prefix: str) -> Path:
    """Returns a path in a folder at which nothing is, so that nothing of an earlier run is replaced."""
    return next(one for number in itertools.count() if not os.path.lexists(one := folder / f"{prefix}{number}"))


def read_episode(path: Path) -> tuple[Episode, Kind]:
    """Returns an episode that was kept, and how it has failed: `PASSED` if the file does not say that.

    Raises: SchemaError; OSError if the file cannot be read.
    """
    found = decode_scenario(read_text(path), VOCABULARY, str(path))
    kind = PASSED if found.finding is None else (found.finding.property, found.finding.failure_class)
    return Episode(found.config, found.steps), kind


VOCABULARY = Components("conformance.episodes.running:VOCABULARY", (COMPONENT,))
"""Episodes and nothing else."""
