"""Starts and resumes campaigns: claims a folder, runs wave after wave, and reduces the failures."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from contextlib import ExitStack, suppress
from functools import cache, partial
from pathlib import Path

from msgspec import Struct

from conformance.campaigns import files, waves
from conformance.campaigns.code import Code, CodeLog, code_of
from conformance.campaigns.concluding import cases_left, conclude
from conformance.campaigns.confirming import confirming
from conformance.campaigns.course import Course, Progress, ignore
from conformance.campaigns.errors import CampaignError, CampaignInterrupted, RunnerUnavailable
from conformance.campaigns.kept_outcomes import Kept
from conformance.campaigns.loading import load
from conformance.campaigns.lock import held
from conformance.campaigns.names import SUITE, Names
from conformance.campaigns.plan import Plan, check_components
from conformance.campaigns.reductions import Reduction
from conformance.campaigns.result import CampaignResult
from conformance.campaigns.runners import Inline, Processes, Runner, Running, Say
from conformance.campaigns.so_far import resume_command
from conformance.campaigns.spark_runner import Spark, is_connect
from conformance.campaigns.spark_setup import FindJava, HasModule, find_java, has_module, spark_problem
from conformance.ports import UnusableImplementation, check_chosen
from conformance.system.writing import NotWritten, make_folder

Opened = Callable[[], Running]
"""Returns what runs, and starts it if it was not started before."""


def choose(
    name: str = "auto",
    master: str | None = None,
    workers: int | None = None,
    java: FindJava = find_java,
    has: HasModule = has_module,
    names: Names = SUITE,
    conf: Sequence[str] = (),
) -> tuple[Runner, str | None]:
    """Return the runner of this name. If `auto` cannot use Spark, also return a paragraph for the user that says why.

    `conf`: settings of Spark, each as `key=value`.

    Raises: RunnerUnavailable if Spark was asked for and cannot be used; CampaignError if there is no such runner, or if
    a setting has another form.
    """
    settings = _settings(conf)
    if settings and name not in ("auto", "spark"):
        raise CampaignError(f"--conf is a setting of Spark, which the runner {name} does not use.")
    if master is not None and name not in ("auto", "spark"):
        raise CampaignError(f"--master names a Spark cluster, which the runner {name} does not use.")
    if name == "inline":
        return Inline(names), None
    if name == "processes":
        return Processes(workers, names), None
    if name not in ("auto", "spark"):
        raise CampaignError(f"There is no runner {name!r}; there are auto, inline, processes and spark.")
    problem = spark_problem(java, has, connects=is_connect(master))
    if problem is None:
        return Spark(master, workers, java=java, has=has, names=names, conf=settings), None
    if name == "spark" or master is not None or settings:
        raise RunnerUnavailable(problem)
    return Processes(workers, names), problem


def _settings(conf: Sequence[str]) -> dict[str, str]:
    """Return settings by their names. Raises: CampaignError if one has another form."""
    pairs = [one.partition("=") for one in conf]
    for one, (key, sign, _) in zip(conf, pairs, strict=True):
        if not key.startswith("spark.") or not sign:
            raise CampaignError(f"--conf {one}: this is no setting of Spark. It has the form spark.some.key=value.")
    return {key: value for key, _, value in pairs}


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
            # The small file first, so that a campaign without room for the other one goes on with this runner.
            files.write(folder / files.RUNNER, Remembered(runner.name, _master_of(runner)))
            files.write(folder / files.CODE, CodeLog((code_of(plan, runner.names),)))
            make_folder(folder / files.WAVES)
            return _run(folder, plan, runner, progress, clock)
        except RunnerUnavailable:
            files.give_up(folder)
            raise
        except KeyboardInterrupt:
            if not (folder / files.PLAN).exists():
                raise  # there is nothing to go on with
            raise CampaignInterrupted(_before("ran a block", folder, plan)) from None
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

    The result is the same as without the stop, byte for byte. If the campaign already has a result, it is returned, and
    nothing needs to be chosen, since nothing is run. A goal in minutes starts again from zero. Raises: the errors of
    `start`; CampaignError if the code has changed and `accept_changed_code` is False; NotChosen if an implementation is
    neither built in nor chosen.
    """
    folder = Path(folder)
    plan = files.read_plan(folder, runner.names.components)
    with held(folder):
        result = load(folder, runner.names.components) if (folder / files.RESULT).exists() else None
        # A result names what its plan does, unless one of the two files was changed.
        if result is None or result.plan.implementations != plan.implementations:
            check_chosen(plan.implementations, chosen, str(folder / files.PLAN))
        if result is not None:
            return result
        try:
            files.tidy(folder)
            _check_code(folder, code_of(plan, runner.names), accept_changed_code)
            make_folder(files.own(folder, files.WAVES))
            waves.tidy(folder)
            return _run(folder, plan, runner, progress, clock)
        except KeyboardInterrupt:
            raise CampaignInterrupted(_before("went on", folder, plan)) from None


def reduce(
    folder: Path,
    runner: Runner,
    budget: int | None = None,
    progress: Progress = ignore,
    accept_changed_code: bool = False,
    chosen: Collection[str] = (),
) -> CampaignResult:
    """Reduce the failures of a campaign whose blocks are done, and write the result anew. No block is run.

    With a `budget` that is larger than before, those failures are reduced again whose reduction ended too early, and
    the findings are those of a campaign whose plan has this budget. A goal in minutes counts as reached.

    Raises: the errors of `resume`; CampaignError if blocks are missing.
    """
    folder = Path(folder)
    plan = files.read_plan(folder, runner.names.components)
    check_chosen(plan.implementations, chosen, str(folder / files.PLAN))
    with held(folder):
        files.own(folder, files.WAVES)
        files.tidy(folder)
        waves.tidy(folder)
        course = Course(folder, plan, runner.names.components, time.monotonic, progress)
        if not course.is_whole():
            raise CampaignError(
                f"The campaign in {folder} has not run all its blocks. Continue with: {resume_command(folder, plan)}"
            )
        _check_code(folder, code_of(plan, runner.names), accept_changed_code)
        kept = Kept(folder, plan, runner.names.components)
        if budget is not None:
            kept.want(budget)
        total = waves.sum_of(folder, plan, waves.newest(folder, plan), runner.names.components)
        if (folder / files.RESULT).exists():
            if not cases_left(total, kept, kept.budget()):
                return load(folder, runner.names.components)
            files.own(folder, files.RESULT).unlink()  # what it was made of changes
        return _concluded(folder, plan, runner, course, lambda opened: None, "reduce")


def check_adapters(plan: Plan, names: Names = SUITE) -> None:
    """Run a job without any failure on each engine of a plan of episodes; other plans need no such thing.

    Raises: UnusableImplementation if one does not pass: then the adapter or its job is wrong, and not the engine.
    """
    if plan.of_episodes:
        from conformance.campaigns.episodes import check_adapter  # only such a campaign loads what judges them

        for name in plan.implementations:
            check_adapter(name, names)


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
    """Run the waves that are not committed yet, and write the result."""
    course = Course(folder, plan, runner.names.components, clock, progress)

    def run(opened: Opened) -> None:
        if course.has_work():
            opened()  # which may take a while
            while course.has_work():
                course.run(opened())

    return _concluded(folder, plan, runner, course, run)


def _concluded(
    folder: Path, plan: Plan, runner: Runner, course: Course, run: Callable[[Opened], None], goes_on: str = "resume"
) -> CampaignResult:
    """Run something, reduce the failures that are not reduced yet, and write the result.

    `goes_on`: the command that goes on from here.
    """
    try:
        with ExitStack() as closing:
            opened = cache(lambda: closing.enter_context(runner.opened(plan)))
            run(opened)
            if plan.minutes is not None:
                goes_on = "reduce"  # to resume would begin the minutes again
            return finish(folder, plan, runner.names, opened, course.say)
    except KeyboardInterrupt:
        raise CampaignInterrupted(f"The campaign was interrupted. {_kept(folder, plan, course, goes_on)}") from None
    except NotWritten as error:
        raise error.going_on(resume_command(folder, plan, goes_on), _committed(folder, course)) from error
    except RunnerUnavailable:
        raise
    except (CampaignError, UnusableImplementation) as error:
        raise CampaignError(f"{error} {_kept(folder, plan, course, goes_on)}") from error
    finally:
        with suppress(OSError):
            waves.tidy(folder)  # a wave that was not committed takes room, and nobody needs it


def finish(
    folder: Path, plan: Plan, names: Names, opened: Opened | None = None, say: Say = lambda note: None
) -> CampaignResult:
    """Reduce the failures in the newest sum, and write the result. Each finding is kept as soon as it is there.

    `opened` returns what reduces, if anything is to be reduced; None: this process does it.
    """
    newest = waves.newest(folder, plan)
    total = waves.sum_of(folder, plan, newest, names.components)
    kept = Kept(folder, plan, names.components)
    budget = kept.budget()
    with ExitStack() as closing:
        do = None
        if cases := cases_left(total, kept, budget):
            running = closing.enter_context(Inline(names).opened(plan)) if opened is None else opened()
            with confirming(plan, names) as confirm:
                running.do(
                    Reduction(plan, budget), cases, lambda case, found: kept.keep_finding(confirm(case, found)), say
                )
            do = partial(running.do, say=say)
        result = conclude(plan, total, names, kept, do)
    files.write_result(folder, result)
    return result


def _before(what: str, folder: Path, plan: Plan) -> str:
    return f"The campaign was interrupted before it {what}. Continue with: {resume_command(folder, plan)}"


def _kept(folder: Path, plan: Plan, course: Course, goes_on: str) -> str:
    return f"{_committed(folder, course)} Continue with: {resume_command(folder, plan, goes_on)}"


def _committed(folder: Path, course: Course) -> str:
    done = course.committed
    if not done:
        return "No block was committed, and there is no result yet."
    blocks = "1 block was" if done == 1 else f"{done} blocks were"
    return f"{blocks} committed, and {'is' if done == 1 else 'are'} in {folder / files.WAVES}; there is no result yet."
