"""Starts and resumes campaigns: claims a folder, runs the blocks, adds up their results and reduces the failures."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from msgspec import Struct

from conformance.campaigns import files, shards
from conformance.campaigns.block import BlockResult
from conformance.campaigns.code import Code, CodeLog, code_of
from conformance.campaigns.concluding import conclude
from conformance.campaigns.errors import CampaignError, CampaignInterrupted, RunnerUnavailable
from conformance.campaigns.kept_outcomes import Kept
from conformance.campaigns.loading import load
from conformance.campaigns.lock import held
from conformance.campaigns.merge import baseline_steps, counting, merge
from conformance.campaigns.names import SUITE, Names
from conformance.campaigns.plan import Block, Plan, check_components
from conformance.campaigns.result import CampaignResult
from conformance.campaigns.runners import Inline, Processes, Runner, cores
from conformance.campaigns.so_far import resume_command
from conformance.campaigns.spark_runner import Spark
from conformance.campaigns.spark_setup import FindJava, HasModule, find_java, has_module, spark_problem
from conformance.ports import check_chosen
from conformance.system.writing import NotWritten, make_folder


@dataclass(frozen=True, slots=True)
class Advance:
    """The progress of a campaign.

    `blocks` is the largest number of blocks that may be run. It is None for a goal in minutes; a goal in steps may be
    reached with fewer blocks.
    """

    done: int
    """The number of committed blocks."""
    blocks: int | None
    scenarios: int
    """The sum over all implementations, as in `steps`."""
    steps: int
    note: str = ""
    """An event that the user should know of, in one sentence; empty if there is none."""


Progress = Callable[[Advance], None]


def ignore(advance: Advance) -> None:
    """Do nothing: the default of callers that do not watch the progress."""


def choose(
    name: str = "auto",
    master: str | None = None,
    workers: int | None = None,
    java: FindJava = find_java,
    has: HasModule = has_module,
    names: Names = SUITE,
) -> tuple[Runner, str | None]:
    """Return the runner of this name. If `auto` cannot use Spark, also return a paragraph for the user that says why.

    Raises: RunnerUnavailable if Spark was asked for and cannot be used; CampaignError if there is no such runner.
    """
    if master is not None and name not in ("auto", "spark"):
        raise CampaignError(f"--master names a Spark cluster, which the runner {name} does not use.")
    if name == "inline":
        return Inline(names), None
    if name == "processes":
        return Processes(workers, names), None
    if name not in ("auto", "spark"):
        raise CampaignError(f"There is no runner {name!r}; there are auto, inline, processes and spark.")
    problem = spark_problem(java, has)
    if problem is None:
        return Spark(master, workers, java=java, has=has, names=names), None
    if name == "spark" or master is not None:
        raise RunnerUnavailable(problem)
    return Processes(workers, names), problem


class Remembered(Struct, frozen=True):
    """How a campaign was run when it was started. No result depends on it."""

    runner: str
    master: str | None = None
    """The master of a Spark cluster. It is only shown: a file does not decide where code runs."""


def remembered(folder: Path) -> Remembered | None:
    """Return how a campaign was run when it was started; None if its folder does not say so.

    Raises: SchemaError if the file is damaged.
    """
    path = Path(folder) / files.RUNNER
    return files.read(path, Remembered) if path.exists() else None


def _master_of(runner: Runner) -> str | None:
    return runner.master if isinstance(runner, Spark) and not runner.local else None


def start(
    folder: Path,
    plan: Plan,
    runner: Runner,
    progress: Progress = ignore,
    clock: Callable[[], float] = time.monotonic,
) -> CampaignResult:
    """Run a new campaign in a folder that does not exist yet, or is empty.

    `runner.names` looks up the names in the plan. `clock` returns seconds; it is called only for a goal in minutes.
    Raises: CampaignError if the folder is in use, the plan names an unknown component, or no more blocks can be run;
    RunnerUnavailable; CampaignInterrupted on Ctrl-C; NotWritten if the disk is full. Blocks that were committed before
    the error stay in the folder.
    """
    folder = Path(folder)
    check_components(plan, runner.names.components)
    files.make(folder)
    with held(folder):
        files.check_empty(folder)  # again: another driver may have been faster
        try:
            files.write(folder / files.PLAN, plan)
            files.write(folder / files.CODE, CodeLog((code_of(plan, runner.names),)))
            files.write(folder / files.RUNNER, Remembered(runner.name, _master_of(runner)))
            make_folder(folder / shards.BLOCKS)
            return _run(folder, plan, runner, progress, clock)
        except RunnerUnavailable:
            files.give_up(folder)
            raise
        except NotWritten as error:
            if error.cure is not None or not (folder / files.PLAN).exists():
                raise
            raise error.going_on(resume_command(folder, plan)) from error


def resume(
    folder: Path,
    runner: Runner,
    progress: Progress = ignore,
    clock: Callable[[], float] = time.monotonic,
    accept_changed_code: bool = False,
    chosen: Collection[str] = (),
) -> CampaignResult:
    """Continue a campaign that was stopped for any reason. Committed blocks are not run again.

    `chosen`: those implementations of the plan that are not built in. The caller must name them, since
    the plan is a file, which does not decide what runs.

    The result is the same as without the stop, byte for byte. If the campaign already has a result, it is returned. A
    goal in minutes starts again from zero. Raises: the errors of `start`; CampaignError if the code has changed and
    `accept_changed_code` is False; NotChosen if an implementation is neither built in nor chosen.
    """
    folder = Path(folder)
    plan = files.read_plan(folder, runner.names.components)
    check_chosen(plan.implementations, chosen, str(folder / files.PLAN))
    with held(folder):
        if (folder / files.RESULT).exists():
            return load(folder, runner.names.components)
        files.tidy(folder)
        _check_code(folder, code_of(plan, runner.names), accept_changed_code)
        make_folder(files.own(folder, shards.BLOCKS))
        return _run(folder, plan, runner, progress, clock)


def _check_code(folder: Path, now: Code, accept: bool) -> None:
    """Record the code if it has changed. Raises: CampaignError if it has changed and `accept` is False."""
    try:
        log = files.read(folder / files.CODE, CodeLog)
    except CampaignError:  # the campaign was stopped before it wrote this file
        files.write(folder / files.CODE, CodeLog((now,)))
        return
    changes = log.codes[-1].changes(now)
    if not changes:
        return
    if not accept:
        more = f", and {len(changes) - 3} more" if len(changes) > 3 else ""
        raise CampaignError(
            f"The code has changed since the campaign in {folder} was run: {', '.join(changes[:3])}{more}. Blocks that "
            "different code ran cannot be added up. Go back to the earlier code, or start a new campaign. If you know "
            "that the change affects no result, pass --accept-changed-code, which records the change in the folder."
        )
    files.write(folder / files.CODE, CodeLog((*log.codes, now)))


def _run(folder: Path, plan: Plan, runner: Runner, progress: Progress, clock: Callable[[], float]) -> CampaignResult:
    """Run the blocks that are not committed yet, and write the result."""
    feed = Feed(plan, clock, partial(files.committed, folder, plan, runner.names.components))

    def commit(result: BlockResult) -> None:
        files.commit(folder, result)
        feed.committed(result)
        progress(feed.advance())

    try:
        runner.run(plan, iter(feed), commit, lambda note: progress(feed.advance(note)))
        return finish(folder, plan, runner.names, 1 if isinstance(runner, Inline) else cores())
    except KeyboardInterrupt:
        raise CampaignInterrupted(f"The campaign was interrupted. {_kept(folder, plan, feed)}") from None
    except NotWritten as error:
        raise error.going_on(resume_command(folder, plan), _committed(folder, feed)) from error
    except RunnerUnavailable:
        raise
    except CampaignError as error:
        raise CampaignError(f"{error} {_kept(folder, plan, feed)}") from error


def finish(folder: Path, plan: Plan, names: Names, processes: int = 1) -> CampaignResult:
    """Add up the committed blocks, reduce the failures in so many processes, and write the result."""
    total = merge(counting(folder, plan, names.components), names.components)
    result = conclude(plan, total, names, Kept(folder, plan, names.components), processes)
    files.write_result(folder, result)
    return result


class Feed:
    """Yields the blocks that are still to be run, until the goal is reached."""

    def __init__(self, plan: Plan, clock: Callable[[], float], done: Callable[[Block], BlockResult | None]) -> None:
        """`done` returns the result of a block that was committed earlier, or None."""
        self._plan = plan
        self._clock = clock
        self._done = done
        self._end = None if plan.minutes is None else clock() + 60 * plan.minutes
        self._open: deque[Block] = deque()
        """The blocks that were started, from the first one on that is not committed."""
        self._steps: dict[Block, int] = {}
        """The steps of those of them that are committed."""
        self._steps_in_a_row = 0
        self._blocks = self._scenarios = self._all_steps = 0

    def __iter__(self) -> Iterator[Block]:
        for block in self._plan.blocks():
            if self._plan.steps is not None and self._steps_in_a_row >= self._plan.steps:
                return
            if self._end is not None and self._clock() >= self._end:
                return
            self._open.append(block)
            before = self._done(block)
            if before is None:
                yield block
            else:
                self.committed(before)

    def committed(self, result: BlockResult) -> None:
        """Record a committed block. For a goal in steps, only blocks before the first uncommitted one count."""
        self._blocks += 1
        self._steps[result.block] = baseline_steps(self._plan, result)
        while self._open and self._open[0] in self._steps:
            self._steps_in_a_row += self._steps.pop(self._open.popleft())
        self._scenarios += sum(tally.scenarios for tally in result.tallies.values())
        self._all_steps += sum(tally.steps for tally in result.tallies.values())

    def advance(self, note: str = "") -> Advance:
        """Return the progress."""
        return Advance(self._blocks, self._plan.number_of_blocks, self._scenarios, self._all_steps, note)


def _kept(folder: Path, plan: Plan, feed: Feed) -> str:
    return f"{_committed(folder, feed)} Continue with: {resume_command(folder, plan)}"


def _committed(folder: Path, feed: Feed) -> str:
    done = feed.advance().done
    blocks = "1 block was" if done == 1 else f"{done} blocks were"
    return (
        f"{blocks} committed, and {'is' if done == 1 else 'are'} in {folder / shards.BLOCKS}; there is no result yet."
    )
