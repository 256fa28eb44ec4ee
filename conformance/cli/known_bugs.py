"""`conformance bugs`: tests the suite with known bugs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from conformance import reporting
from conformance.cli.destinations import TO_FILE, TO_FOLDER
from conformance.cli.earlier import check_earlier, row_digests
from conformance.cli.guarding import resting
from conformance.cli.interrupting import interruptible
from conformance.cli.options import (
    check_components,
    component_option,
    earlier_option,
    every_option,
    json_option,
    memory_option,
    notes,
    out,
    processes_option,
    seed_option,
    step_seconds_option,
)
from conformance.cli.working import RunnerOptions, runner_options
from conformance.components import COMPONENTS
from conformance.engines.fair_order import in_fair_order
from conformance.engines.first_hits import FILE as FIRST_HITS
from conformance.engines.first_hits import first_hits_text, read_first_hits
from conformance.engines.kill import MOST_SCENARIOS
from conformance.engines.matrix import Asked, Line, matrix
from conformance.engines.operators import OperatorMutant, Subject, try_operators
from conformance.engines.works import Over
from conformance.ports import KnownBug, Limits, find_known_bug, known_bugs
from conformance.ports.changes import CATALOGUES
from conformance.ports.registry import KNOWN_BUG_SCHEME, KNOWN_BUGS
from conformance.reporting.status import CONFORMS, INCONCLUSIVE, INTERRUPTED, VIOLATION
from conformance.scenarios import encode_scenario, read_toml
from conformance.scenarios.names import as_file_name
from conformance.system.text import indented, neutral_line
from conformance.system.writing import make_folder

OPERATOR_SCENARIOS = 1_000
"""The scenarios per component for one operator mutant. Most mutants are found in the first few."""


@click.command(short_help="Search for every known bug: the kill matrix.")
@click.argument("names", metavar="[BUG]...", nargs=-1)
@component_option
@seed_option
@click.option(
    "--seeds",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="Repeat with this many seeds, and show medians.",
)
@click.option(
    "--scenarios", type=click.IntRange(1), default=MOST_SCENARIOS, show_default=True,
    help="A bug that was not found in this many scenarios has survived.",
)  # fmt: skip
@click.option(
    "--reduced", type=click.IntRange(0), metavar="SEEDS",
    help="Reduce only what this many of the seeds find, which takes most of the time.  [default: all]",
)  # fmt: skip
@processes_option
@runner_options
@click.option(
    "--optimal", is_flag=True, help="Also explore whether a shorter scenario of the same configuration shows the bug."
)
@click.option("--confirm", is_flag=True, help="Replay each minimal scenario in a fresh process.")
@click.option("--operators", type=click.IntRange(1), help="Also try this many operator mutants of the reference.")
@click.option(
    "--reasons", "reasons_path", metavar="FILE", type=click.Path(path_type=Path),
    help="The reasons why operator mutants cannot be noticed (TOML, name = reason).",
)  # fmt: skip
@click.option(
    "--report",
    "report_path",
    metavar="FILE",
    type=TO_FILE,
    help="Write the kill matrix as a Markdown page.",
)
@click.option(
    "--corpus", "corpus_path", metavar="FOLDER", type=TO_FOLDER,
    help="Write the minimal scenario of each bug into this folder, and where the search first found it.",
)  # fmt: skip
@earlier_option
@every_option
@step_seconds_option
@memory_option
@json_option
def bugs(
    names: tuple[str, ...], components: tuple[str, ...], seed: str, seeds: int, scenarios: int, processes: int,
    reduced: int | None, optimal: bool, confirm: bool, operators: int | None, reasons_path: Path | None,
    report_path: Path | None, corpus_path: Path | None, everything: bool, step_seconds: float, memory: int,
    json_path: Path | None, into_path: Path | None, runner_name: str | None, master: str | None,
    conf: tuple[str, ...], earlier_path: Path | None,
) -> int:  # fmt: skip
    """Print the kill matrix: for each known bug, whether the property that must notice it did.

    Known bugs that are not the suite's own run in one process, which has limits.
    """
    check_components(components)
    check_earlier(earlier_path, names)
    runner = RunnerOptions(into_path, runner_name, master, conf, processes)
    runner.check()
    if (status := runner.guarded(names, KNOWN_BUG_SCHEME, KNOWN_BUGS, Limits(step_seconds, memory))) is not None:
        return status
    reasons = _reasons(reasons_path) if reasons_path is not None else {}
    chosen = [(name, find_known_bug(name)) for name in names] or [(bug.id, bug) for bug in known_bugs()]
    chosen = [(name, bug) for name, bug in chosen if not components or bug.component in components]
    if not chosen:
        raise click.UsageError("there is no known bug of these components")
    hits = {} if corpus_path is None else read_first_hits(corpus_path)
    texts = (seed,) if seeds == 1 else tuple(f"{seed}.{number}" for number in range(seeds))
    asked = Asked(texts, scenarios, optimal, confirm, reduced)
    shown = [bug for _, bug in chosen] if earlier_path is None else known_bugs()
    earlier = {} if earlier_path is None else reporting.earlier_bugs(earlier_path, shown)
    is_kept = earlier_path is not None or json_path is not None
    known = reporting.Rows(row_digests(shown, KNOWN_BUGS, asked, is_kept), earlier)
    wanted = [(name, bug) for name, bug in chosen if not known.still_true(bug.id)]
    ordered = [name for name, _ in wanted]
    searches, others = len(wanted) * seeds, len(wanted) * (optimal + confirm) + (operators or 0)
    with (
        interruptible() as interruption,
        reporting.progress_bar(notes, "known bugs", searches if into_path is None else searches + others) as advance,
        runner.over("known bugs", interruption, lambda done: advance(done, 0)) as over,
    ):
        watch = None if into_path is not None else lambda done: advance(done, 0)
        lines = matrix(ordered if names else in_fair_order(ordered, str), asked, over, watch)
        resting()
        tried = _operators(operators, components, over) if operators else []
    by_name = {line.bug: line for line in lines}
    found = [(bug, by_name[name]) for name, bug in wanted if name in by_name]
    new = {bug.id: reporting.bug_row(bug, line, known.digests[bug.id]) for bug, line in found}
    page = known.with_new(new)
    ids = {bug.id for _, bug in chosen}
    rows = [row for row in page if row.id in ids]
    untried = [bug.id for name, bug in wanted if name not in by_name]
    remarks = reporting.untried_lines("known bug", untried, interruption.requested)
    remarks += known.remarks("known bug", new)
    if interruption.requested and operators and len(tried) < operators:
        remarks.append(f"{len(tried)} of {operators} operator mutants were tried.")
    reporting.print_bugs(out, rows, everything or bool(names))
    for row in rows if names else ():
        if row.change:
            out.print_lines(f"\n{neutral_line(row.id)} changes the reference:\n  {indented(row.change)}")
    unguarded = reporting.unguarded_properties([bug for _, bug in chosen]) if not names and not components else []
    for slug in unguarded:
        out.print(f"No known bug tests the property {slug}.")
    for one in tried:
        if not one.killed and one.name not in reasons:
            out.print(f"No property noticed the operator mutant {one.name} (line {one.line}).", soft_wrap=True)
    for remark in (*remarks, *runner.remarks(bool(untried))):
        out.print(remark, soft_wrap=True)
    if corpus_path is not None:
        part = len(found) < len(known_bugs())
        _write_corpus(corpus_path, hits if part else {}, found)
    if report_path is not None:
        reporting.write_text(report_path, reporting.matrix_text(page, tried, reasons, remarks))
    if json_path is not None:
        document = reporting.bugs_document(page, tried)
        reporting.write_json(json_path, {**document, "interrupted": interruption.requested})
    if interruption.requested:
        return INTERRUPTED
    if unguarded or not all(row.killed for row in rows):
        return VIOLATION
    return INCONCLUSIVE if untried else CONFORMS


def _operators(count: int, components: tuple[str, ...], over: Over) -> list[OperatorMutant]:
    """Try operator mutants of the reference, except its catalogues. It is found by its name and not imported here."""
    subject = Subject("reference_impl", "reference", CATALOGUES)
    return try_operators(subject, components or tuple(COMPONENTS), count, OPERATOR_SCENARIOS, over)


def _reasons(path: Path) -> dict[str, str]:
    return read_toml(path, dict[str, str], 'every entry must be a text: "module:function: before -> after" = "reason"')


def _write_corpus(folder: Path, hits: Mapping[str, str], found: Sequence[tuple[KnownBug, Line]]) -> None:
    """Write the minimal scenarios, and the first hits. `hits` are those of bugs that were not searched for now."""
    make_folder(folder)
    now = dict(hits)
    for bug, line in found:
        now.pop(bug.id, None)
        if line.forms:
            reporting.write_text(folder / f"{as_file_name(bug.id)}.json", encode_scenario(line.forms[0]))
        if first := line.first_hit:
            now[bug.id] = first
    reporting.write_text(folder / FIRST_HITS, first_hits_text(now))
