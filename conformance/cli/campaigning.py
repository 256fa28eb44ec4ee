"""`conformance campaign`: long searches on one machine or a cluster."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import click
import msgspec
from click.core import ParameterSource

from conformance import campaigns, reporting
from conformance.cli.destinations import TO_FOLDER
from conformance.cli.interrupting import interruptible
from conformance.cli.options import (
    RUNNERS,
    Command,
    Time,
    all_option,
    assume_option,
    capabilities_of,
    check_components,
    chosen_option,
    component_option,
    conf_option,
    ctrf_option,
    implementation_option,
    json_option,
    known_option,
    master_option,
    notes,
    out,
    say,
    seed_option,
    summary_option,
)
from conformance.engines import KnownFailure, load_known_failures
from conformance.engines.manners import MANNERS
from conformance.reporting.page import PAGE
from conformance.reporting.status import CONFORMS, INCONCLUSIVE
from conformance.system.text import is_neutral_line
from conformance.system.writing import NotWritten

since_option = click.option(
    "--since", "since_path", metavar="DIR", type=click.Path(path_type=Path),
    help="Show what has changed since another campaign: findings, and what was put to the test.",
)  # fmt: skip


def verdict_options(command: Command) -> Command:
    """Add the options of what is concluded of a campaign, and where it is written."""
    for option in (summary_option, ctrf_option, since_option, all_option, known_option):
        command = option(command)
    return command


def where_options(runner_help: str) -> Callable[[Command], Command]:
    """Returns what adds the options of where a campaign runs."""

    def add(command: Command) -> Command:
        runner = click.option("--runner", type=click.Choice(RUNNERS), default="auto", help=runner_help)
        for option in (conf_option, master_option, runner):
            command = option(command)
        return command

    return add


@click.group()
def campaign() -> None:
    """Run long searches on one machine or a cluster."""


@campaign.command(short_help="Run the same scenarios on all implementations.")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@implementation_option
@component_option
@click.option("--scenarios", type=click.IntRange(1), help="Scenarios per component.  [default: 20000]")
@click.option(
    "--adapter", "adapters", metavar="COMMAND", multiple=True,
    help="Run whole jobs of the engine behind this adapter instead (conformance docs episodes).",
)  # fmt: skip
@click.option("--episodes", type=click.IntRange(1), help="How many jobs, with --adapter.  [default: 100]")
@click.option("--steps", type=click.IntRange(1), help="Run until the first implementation has taken this many steps.")
@click.option("--minutes", type=Time(), help="Start no new block after this many minutes.")
@click.option(
    "--until-found", is_flag=True, help="Run each known bug in its component only, until a failure of it was found."
)
@click.option(
    "--manner",
    "manners",
    metavar="NAME",
    multiple=True,
    type=click.Choice(list(MANNERS)),
    help=f"A manner of searching: {', '.join(MANNERS)}. May be repeated: they take turns.  [default: a mixture]",
)
@click.option(
    "--aim",
    "aims",
    is_flag=True,
    help="Aim two of three scenarios at what the first implementation has not judged in the rounds before.",
)
@where_options("Where blocks run; auto: on Spark if there is a Java 17 or 21, else in processes.  [default: auto]")
@seed_option
@assume_option
@verdict_options
def start(
    folder: Path,
    implementations: tuple[str, ...],
    components: tuple[str, ...],
    scenarios: int | None,
    adapters: tuple[str, ...],
    episodes: int | None,
    steps: int | None,
    minutes: float | None,
    until_found: bool,
    manners: tuple[str, ...],
    aims: bool,
    runner: str,
    master: str | None,
    conf: tuple[str, ...],
    seed: str,
    assume: tuple[str, ...],
    known_path: Path | None,
    everything: bool,
    since_path: Path | None,
    ctrf_path: Path | None,
    summary_path: Path | None,
) -> int:
    """Run the same scenarios on all implementations, and compare the others with the first one.

    A known bug among them tests the campaign: not finding it is a violation, and finding it is none. The name
    known-bugs stands for all of the suite, known-bugs:COMPONENT for those of a component.

    With --adapter it is a campaign of episodes: each engine runs jobs of its own, which are killed and started again.
    """
    check_components(components)
    if episodes and not adapters:
        raise click.UsageError("--episodes goes with --adapter, which names the engine")
    if adapters:
        _check_goes_with_adapter()
        implementations = tuple(f"{campaigns.ADAPTER_SCHEME}{one}" for one in adapters)
        scenarios = episodes or (None if steps or minutes else 100)
    implementations = campaigns.named(implementations, components)
    entries = load_known_failures(known_path) if known_path is not None else ()
    if sum(goal is not None for goal in (scenarios, steps, minutes)) > 1:
        raise click.UsageError("--scenarios, --steps and --minutes exclude each other")
    if master is not None and runner not in ("auto", "spark"):
        raise click.UsageError(f"--master goes with --runner spark, not with {runner}")
    if conf and runner not in ("auto", "spark"):
        raise click.UsageError(f"--conf goes with --runner spark, not with {runner}")
    before = _earlier(since_path, folder, implementations)
    chosen, note = campaigns.choose(runner, master, conf=conf)
    if note is not None:
        notes.print(note)
    plan = campaigns.make_plan(
        seed,
        implementations,
        components,
        scenarios=scenarios if steps or minutes else scenarios or 20_000,
        steps=steps,
        minutes=minutes,
        assume=sorted(capabilities_of(assume)),
        until_found=until_found,
        manners=manners,
        aims=aims,
    )
    campaigns.check_adapters(plan)
    with _watching(plan.number_of_blocks) as watch:
        result = campaigns.start(folder, plan, chosen, watch)
    return _conclude(result, folder, entries, implementations, everything, ctrf_path, summary_path, before)


_NOT_OF_EPISODES = (
    "implementations", "components", "scenarios", "until_found", "manners", "aims", "assume", "known_path"
)  # fmt: skip


def _check_goes_with_adapter() -> None:
    """Raise a UsageError if something was asked for that campaigns of episodes do not have."""
    context = click.get_current_context()
    for one in context.command.params:
        if one.name in _NOT_OF_EPISODES and context.get_parameter_source(one.name) is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"--adapter does not go with {one.opts[0]}")


@campaign.command(short_help="Continue a campaign that was stopped.")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@chosen_option
@where_options("Where blocks run.  [default: where the campaign was started]")
@click.option(
    "--accept-changed-code", is_flag=True, help="Add up blocks that different code ran, and record the change."
)
@verdict_options
def resume(
    folder: Path, chosen: tuple[str, ...], runner: str, master: str | None, conf: tuple[str, ...],
    accept_changed_code: bool, known_path: Path | None, everything: bool, since_path: Path | None,
    ctrf_path: Path | None, summary_path: Path | None,
) -> int:  # fmt: skip
    """Continue a campaign that was stopped, with the runner of its start. Committed blocks are not run again."""
    entries = load_known_failures(known_path) if known_path is not None else ()
    before = _earlier(since_path, folder, chosen)
    now = campaigns.status(folder)
    if now.finished:
        notes.print(f"The campaign in {folder} already has a result.")
    elif runner == "auto" and master is None:
        runner = _runner_of(folder, chosen)
    runs, note = campaigns.choose(runner, master, conf=conf)
    if note is not None and not now.finished:
        notes.print(note)
    with _watching(now.planned) as watch:
        result = campaigns.resume(folder, runs, watch, accept_changed_code=accept_changed_code, chosen=chosen)
    return _conclude(result, folder, entries, chosen, everything, ctrf_path, summary_path, before)


@campaign.command(name="reduce", short_help="Reduce the failures of a campaign whose blocks are done.")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "--budget",
    metavar="N",
    type=click.IntRange(min=1),
    help="The maximum number of runs of each.  [default: as before]",
)
@chosen_option
@where_options("Where blocks run.  [default: where the campaign was started]")
@click.option(
    "--accept-changed-code", is_flag=True, help="Reduce with other code than ran the blocks, and record the change."
)
@verdict_options
def campaign_reduce(
    folder: Path, budget: int | None, chosen: tuple[str, ...], runner: str, master: str | None, conf: tuple[str, ...],
    accept_changed_code: bool, known_path: Path | None, everything: bool, since_path: Path | None,
    ctrf_path: Path | None, summary_path: Path | None,
) -> int:  # fmt: skip
    """Reduce the failures of a campaign whose blocks are done, and write its result anew.

    With a larger --budget, reductions that ended too early are made again. A goal in minutes counts as reached.
    """
    entries = load_known_failures(known_path) if known_path is not None else ()
    before = _earlier(since_path, folder, chosen)
    if runner == "auto" and master is None:
        runner = _runner_of(folder, chosen, "reduce")
    runs, note = campaigns.choose(runner, master, conf=conf)
    if note is not None:
        notes.print(note)
    result = campaigns.reduce(
        folder, runs, budget, lambda state: say(state.note), accept_changed_code=accept_changed_code, chosen=chosen
    )
    return _conclude(result, folder, entries, chosen, everything, ctrf_path, summary_path, before)


def _runner_of(folder: Path, chosen: tuple[str, ...], command: str = "resume") -> str:
    """Return the runner with which a campaign was started. Raises: click.UsageError if its master must be named."""
    before = campaigns.remembered(folder)
    if before is None or before.runner not in RUNNERS:
        return "auto"
    if before.master is None:
        return before.runner
    words = ["conformance", "campaign", command, str(folder)]
    words += [word for name in chosen for word in ("--implementation", name)]
    if not is_neutral_line(before.master):
        raise click.UsageError("the campaign was started on a Spark master whose name cannot be shown; pass --master")
    raise click.UsageError(
        f"the campaign was started on the Spark master {before.master}, and a file does not decide where code runs. To "
        f"continue there:\n{shlex.join([*words, '--master', before.master])}\n"
        "With --runner spark or --runner processes, it continues on this machine."
    )


@campaign.command(name="status", short_help="Show the progress, and what was found so far.")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--watch", is_flag=True, help="Show each change, as long as a process runs the campaign.")
@click.option("--store", is_flag=True, help="Also check all waves, and write tables of them.")
@json_option
def campaign_status(folder: Path, watch: bool, store: bool, json_path: Path | None) -> int:
    """Show the progress of a campaign, what it has found so far, and how to continue it."""
    if watch:
        now = reporting.watch_status(out, campaigns.watch(folder), folder)
    else:
        now = campaigns.status(folder)
        for line in reporting.status_lines(now, folder):
            out.print(line, soft_wrap=True)
    if json_path is not None:
        reporting.write_json(json_path, msgspec.to_builtins(now))
    if store:
        from conformance.campaigns.store import write_store  # pyarrow takes a while to load

        out.print(f"Tables: {write_store(folder)}", soft_wrap=True)
    return CONFORMS


Before = Callable[..., reporting.Since | None]
"""Compares a result with an earlier campaign. Behind the result: sentences about what is missing in it."""


def _earlier(path: Path | None, folder: Path, chosen: tuple[str, ...]) -> Before:
    """Read the earlier campaign, before anything is run. Raises: click.UsageError if it is the same one."""
    if path is None:
        return lambda result, unfinished=(): None
    if path.exists() and folder.exists() and path.samefile(folder):
        raise click.UsageError(f"--since names {path}, which is this campaign itself; name the folder of another one")
    earlier = campaigns.read_earlier(path, chosen)
    stopped = [] if earlier.ended else [f"The campaign in {path} has not ended: this is what it had found so far."]
    return lambda result, unfinished=(): reporting.since(result, earlier.result, str(path), [*stopped, *unfinished])


@contextmanager
def _watching(blocks: int | None) -> Iterator[Callable[[campaigns.Advance], None]]:
    """Show a progress bar of the blocks, and print each note on a line of its own."""
    with reporting.progress_bar(notes, "blocks", blocks) as advance:

        def watch(state: campaigns.Advance) -> None:
            advance(state.done, 0)
            if state.note:
                say(state.note)

        yield watch


def _conclude(
    result: campaigns.CampaignResult, folder: Path, entries: tuple[KnownFailure, ...], chosen: tuple[str, ...],
    everything: bool, ctrf: Path | None, summary: Path | None, before: Before,
) -> int:  # fmt: skip
    try:
        with interruptible() as interruption:  # the result is written: this is the report only
            status = reporting.conclude_campaign(
                out,
                result,
                _own_report(folder),
                entries,
                chosen=chosen,
                everything=everything,
                ctrf=ctrf,
                interruption=interruption,
                summary=summary,
                earlier=before(result),
                home=folder,
            )
    except NotWritten as error:
        words = ["conformance", "campaign", "report", str(folder)]
        words += [word for name in chosen for word in ("--implementation", name)]
        kept = f"The campaign has ended, and {folder / 'result.json'} is kept."
        raise error.going_on(shlex.join(words), kept) from error
    out.print(f"Result: {folder / 'result.json'}", soft_wrap=True)
    return status


def _own_report(folder: Path) -> Path:
    """Return where the report of a campaign is written in its folder. Raises: CampaignError if that is a link."""
    report = campaigns.own(folder, "report")
    campaigns.own(report, PAGE)
    return report


def _say_if_unchecked(folder: Path) -> None:
    if (why := campaigns.why_unchecked(folder)) is not None:
        say(why)


@campaign.command(name="report", short_help="Print the verdicts, and write the page and bug reports.")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("-o", "--output", metavar="FOLDER", type=TO_FOLDER, help="[default: DIR/report]")
@chosen_option
@verdict_options
def campaign_report(
    folder: Path,
    output: Path | None,
    chosen: tuple[str, ...],
    known_path: Path | None,
    everything: bool,
    since_path: Path | None,
    ctrf_path: Path | None,
    summary_path: Path | None,
) -> int:
    """Print the verdicts of a campaign, and write a bug report for each violation, and the page.

    If the campaign has not ended, what the committed blocks show, also while another process runs it.
    """
    entries = load_known_failures(known_path) if known_path else ()
    before = _earlier(since_path, folder, chosen)
    now = None if campaigns.has_ended(folder) else campaigns.so_far(folder, chosen)
    lines = [] if now is None else reporting.so_far_lines(now)
    if now is not None and now.result is None:
        for line in lines:
            out.print(line, soft_wrap=True)
        return INCONCLUSIVE
    with interruptible() as interruption:
        report = partial(
            reporting.conclude_campaign,
            out,
            folder=output or _own_report(folder),
            entries=entries,
            chosen=chosen,
            everything=everything,
            ctrf=ctrf_path,
            interruption=interruption,
            summary=summary_path,
            home=folder,
        )
        if now is not None and now.result is not None:
            status = report(now.result, unfinished=lines, earlier=before(now.result, lines[:1]))
            if not campaigns.has_ended(folder):
                return status
            # The driver may have written its report before this one, which would stay for good.
            say("The campaign has ended meanwhile, and this is its result:")
        result = campaigns.load(folder)
        _say_if_unchecked(folder)
        return report(result, earlier=before(result))
