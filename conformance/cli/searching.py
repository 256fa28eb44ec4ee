"""`conformance check` and `conformance explore`."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import click

from conformance import reporting
from conformance.campaigns import CampaignError
from conformance.cli.checks import Searching, Wanted
from conformance.cli.destinations import TO_FILE, TO_FOLDER
from conformance.cli.guarding import followed, guarded
from conformance.cli.interrupting import interruptible
from conformance.cli.options import (
    all_option,
    assume_option,
    capabilities_of,
    check_components,
    check_page,
    component_option,
    conf_option,
    ctrf_option,
    implementation_option,
    in_process_option,
    json_option,
    known_option,
    master_option,
    memory_option,
    notes,
    offered_of,
    out,
    seed_option,
    step_seconds_option,
    summary_option,
)
from conformance.cli.working import RunnerOptions, runner_options
from conformance.components import COMPONENTS
from conformance.driver import Program
from conformance.engines import load_known_failures
from conformance.engines.apart import find, is_ours
from conformance.engines.digest import CannotRecognise
from conformance.engines.explore import MOST_STATES, Explorer
from conformance.engines.recognition import Recognition
from conformance.engines.scope import ScopeError, scope_of
from conformance.ports import Limits, find_implementation
from conformance.reporting.status import CONFORMS, INCONCLUSIVE, INTERRUPTED, VIOLATION, status_in_words
from conformance.system.text import neutral_line
from conformance.system.writing import NotWritten


@click.command(short_help="Search for violations, and judge every property.")
@implementation_option
@component_option
@click.option(
    "--scenarios",
    type=click.IntRange(1),
    default=2000,
    show_default=True,
    help="Scenarios per implementation and component, and twice as many of a gate: single ones, and unions.",
)
@seed_option
@click.option(
    "--engine", type=click.Choice(["random", "hypothesis"]), default="random", show_default=True,
    help="What chooses the steps.",
)  # fmt: skip
@assume_option
@known_option
@click.option(
    "--bug-reports",
    "report_folder",
    type=TO_FOLDER,
    help="Write index.html into this folder, and a bug report for each violation.",
)
@click.option(
    "--report",
    "page",
    metavar="FILE",
    type=TO_FILE,
    help="Write a conformance report (Markdown), and scenario files into a folder beside it.",
)
@click.option(
    "--against",
    metavar="NAME",
    help="Also run the scenarios on this one, and show where outcomes differ. A difference is not a failure.",
)
@click.option(
    "--exercise",
    "exercise_page",
    metavar="FILE",
    type=TO_FILE,
    help="Write in which settings each property was judged (Markdown), and all counts beside it (JSON).",
)
@runner_options
@click.option("--processes", type=click.IntRange(1), help="With --into.  [default: one for each core]")
@all_option
@step_seconds_option
@memory_option
@in_process_option
@ctrf_option
@summary_option
@json_option
def check(
    implementations: tuple[str, ...], components: tuple[str, ...], scenarios: int, seed: str, engine: str,
    assume: tuple[str, ...], known_path: Path | None, report_folder: Path | None, page: Path | None,
    against: str | None, exercise_page: Path | None, everything: bool, step_seconds: float, memory: int,
    in_process: bool, ctrf_path: Path | None, summary_path: Path | None, json_path: Path | None,
    into_path: Path | None, runner_name: str | None, master: str | None, conf: tuple[str, ...], processes: int | None,
) -> int:  # fmt: skip
    """Search for violations, and print a verdict for every property."""
    implementations = tuple(dict.fromkeys(implementations))
    assumed = capabilities_of(assume)
    check_components(components)
    runner = RunnerOptions(into_path, runner_name, master, conf, processes)
    runner.check()
    if processes is not None and into_path is None:
        raise click.UsageError("--processes goes with --into")
    if into_path is not None and (engine != "random" or against is not None):
        raise click.UsageError("--into keeps parts of a search at random, without --against")
    if into_path is not None and (strangers := [one for one in implementations if not is_ours(one)]):
        raise click.UsageError(
            f"--into has no guard for {neutral_line(strangers[0])}, which is not the suite's own; a campaign has"
        )
    if page is not None:
        check_page(page)
    if report_folder is not None:
        reporting.check_index(report_folder)
    if exercise_page is not None and exercise_page.suffix in ("", ".json"):
        raise click.UsageError("--exercise: the page needs a suffix such as .md; the JSON file beside it has .json")
    if exercise_page is not None:
        TO_FILE(exercise_page.with_suffix(".json"))
    entries = load_known_failures(known_path) if known_path is not None else ()
    limits = Limits(step_seconds, memory)
    chosen = [(name, find(name, limits, against, in_process)) for name in implementations]
    offered = [offered_of(implementation, components) for _, implementation in chosen]
    wanted = [Wanted(name, one, tuple(mine)) for (name, one), mine in zip(chosen, offered, strict=True)]
    known = None if known_path is None else str(known_path)
    call = reporting.Call(implementations, components, scenarios, seed, engine, assume, known, against)
    everybody: list[reporting.Checked] = []
    reported: list[reporting.Tested] = []
    reports: list[reporting.Report] = []
    refused: NotWritten | None = None
    with interruptible() as interruption:
        for one in Searching(call, assumed, entries, limits, in_process, interruption, runner).results(wanted):
            everybody.append(one)
            name, implementation = one.name, one.implementation
            if report_folder is not None:
                for found in (found for checked in one.checks for found in checked.found):
                    try:
                        report = reporting.report_violation(
                            report_folder, name, found, implementation, assumed, interruption=interruption
                        )
                    except NotWritten as error:  # what was found is printed all the same
                        refused = refused or error
                    else:
                        reports.append(report)
            if page is not None:
                reported.append(reporting.evidence_of(name, implementation, one.checks, one.standing, assumed))
        written = report_folder if not refused and any(one.found for one in reporting.checks_of(everybody)) else None
        status = INTERRUPTED if interruption.requested else reporting.status_of_check(everybody)
        verdicts = reporting.verdicts_of_check(everybody, scenarios, written)
        reporting.print_verdicts(out, verdicts, everything)
        out.print(status_in_words(status))
        for remark in runner.remarks(any(one.interrupted for one in everybody)):
            out.print(remark, soft_wrap=True)
        if written is not None:
            reporting.print_reports(out, written)
        if exercise_page is not None:
            named = [(one.name, checked) for one in everybody for checked in one.checks]
            reporting.write_exercise(exercise_page, call, named)
            out.print(f"Exercise: {exercise_page}", soft_wrap=True)
        if page is not None:
            remarks = reporting.interruption_lines(everybody, scenarios)
            text = reporting.report_page(call, reported, page.name, remarks)
            reporting.write_page(page, text, reporting.scenario_files(reported))
            out.print(f"Report: {page}", soft_wrap=True)
        if json_path is not None:
            document = reporting.check_document(
                seed, scenarios, [(one.implementation, one.checks) for one in everybody]
            )
            if against is not None:
                document["divergences"] = reporting.divergences_document(against, reporting.checks_of(everybody))
            reporting.write_json(json_path, {**document, **reporting.interruption_document(everybody)})
        if ctrf_path is not None:
            reporting.write_ctrf(ctrf_path, verdicts)
        if summary_path is not None:
            unfinished = reporting.interruption_lines(everybody, scenarios)
            reporting.write_summary(summary_path, reporting.Summed(verdicts, status_in_words(status), unfinished))
        if refused is not None:
            raise refused
        if report_folder is not None:
            content = reporting.content_of_check(
                everybody, verdicts, status_in_words(status), reports, call,
                reporting.interruption_lines(everybody, scenarios),
            )  # fmt: skip
            reporting.print_page(out, reporting.conclude_folder(report_folder, content))
        return status


@click.command()
@click.option("--component", required=True, metavar="COMPONENT")
@click.option(
    "--scope",
    metavar="KEY=VALUE",
    multiple=True,
    help="A bound, at_once=STEPS, or alike=OPERAND; a wrong KEY is answered with the right ones.",
)
@click.option("--depth", type=click.IntRange(1), help="The maximum number of steps in a run.")
@click.option(
    "--max-states", type=click.IntRange(1), default=MOST_STATES, show_default=True,
    help="Stop when so many states are known.",
)  # fmt: skip
@click.option(
    "--recognition",
    type=click.Choice([one.value for one in Recognition]),
    help="How states are recognised: exactly, or by a wide hash, which needs less memory.  [default: exact, or hash "
    "with --into]",
)
@click.option(
    "--into",
    metavar="DIR",
    type=TO_FOLDER,
    help="Explore with many processes, into this folder, or go on with the exploration in it.",
)
@click.option("--runner", type=click.Choice(["processes", "spark"]), help="With --into.  [default: processes]")
@master_option
@conf_option
@click.option("--workers", type=click.IntRange(1), help="How many processes.  [default: one for each core]")
@click.option("--implementation", "name", metavar="NAME", default="reference", show_default=True)
@step_seconds_option
@memory_option
@in_process_option
@click.option(
    "--bug-reports",
    "report_folder",
    type=TO_FOLDER,
    help="Write a bug report for each violation into this folder.",
)
@json_option
def explore(
    component: str, scope: tuple[str, ...], depth: int | None, max_states: int, recognition: str | None,
    into: Path | None, runner: str | None, master: str | None, conf: tuple[str, ...], workers: int | None, name: str,
    step_seconds: float, memory: int, in_process: bool, report_folder: Path | None, json_path: Path | None,
) -> int:  # fmt: skip
    """Judge every run within a small scope, breadth first. The first violation of each kind is a shortest one.

    With --into, a limit ends the exploration after a level, and the same command goes on after Ctrl-C or a crash.
    """
    check_components((component,))
    if into is None and (runner, master, conf, workers) != (None, None, (), None):
        raise click.UsageError("--runner, --master, --conf and --workers go with --into, which many processes fill")
    if (master is not None or conf) and runner != "spark":
        raise click.UsageError("--master and --conf go with --runner spark")
    if into is not None and recognition == Recognition.EXACT:
        raise click.UsageError("--into recognises states by a wide hash: many processes have no common memory")
    if into is not None and not (in_process or is_ours(name)):
        raise click.UsageError(f"--into has no guard for {name}, which is not the suite's own; see --in-process")
    if bad := [one for one in scope if "=" not in one]:
        raise click.UsageError(f"--scope takes KEY=VALUE, found {bad[0]!r}")
    keys = [one.partition("=")[0] for one in scope]
    if twice := next((one for one in keys if keys.count(one) > 1), None):
        raise click.UsageError(f"--scope {twice} is given twice")
    limits = Limits(step_seconds, memory)
    if not in_process and (status := guarded(name, limits)) is not None:
        return status
    implementation = find_implementation(name)
    implementation.limit(limits)
    offered_of(implementation, (component,))
    with closing(implementation), interruptible() as interruption:
        program = followed(Program(COMPONENTS[component], implementation))
        try:
            within = scope_of(program.component, dict(one.split("=", 1) for one in scope))
            with reporting.progress_bar(notes, f"{component}, states", None) as advance:

                def progress(level: int, states: int, transitions: int) -> None:
                    advance(states, 0)

                if into is None:
                    explorer = Explorer(program, within, recognition=Recognition(recognition or Recognition.EXACT))
                    result = explorer.explore(depth, max_states, progress, interruption=interruption)
                else:
                    from conformance.exploring import Explored, explore_into, runner_of  # pyarrow takes a while to load

                    what = Explored(component, name, tuple(sorted(scope)))
                    chosen = runner_of(runner, master, workers, conf)
                    result = explore_into(into, what, chosen, depth, max_states, progress, interruption)
        except (ScopeError, CannotRecognise, CampaignError) as error:
            raise click.UsageError(str(error)) from None
        out.print(reporting.exploration_table(result))
        reporting.print_findings(out, result)
        for line in reporting.exploration_lines(result):
            out.print(line, soft_wrap=True)
        if into is not None and not result.complete:
            goes_on = "the same command, with other limits, goes on from there."
            out.print(f"What was explored is in {into}: {goes_on}", soft_wrap=True)
        if json_path is not None:
            reporting.write_json(json_path, reporting.exploration_document(result))
        if report_folder is not None and result.found:
            for found in result.found:
                reporting.report_violation(report_folder, name, found, implementation, (), interruption=interruption)
            reporting.print_reports(out, report_folder)
        if interruption.requested:
            return INTERRUPTED
        return VIOLATION if result.found else CONFORMS if result.complete else INCONCLUSIVE
