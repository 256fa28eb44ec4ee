"""`conformance variants`: tests the suite for false alarms."""

from __future__ import annotations

from pathlib import Path

import click

from conformance import reporting
from conformance.campaigns.checks import try_variants, works_of_variant
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
from conformance.engines.variants import MOST_SCENARIOS
from conformance.ports import Limits, find_legal_variant, legal_variants
from conformance.ports.registry import LEGAL_VARIANT_SCHEME, LEGAL_VARIANTS
from conformance.reporting.status import CONFORMS, INCONCLUSIVE, INTERRUPTED, VIOLATION
from conformance.scenarios import encode_scenario
from conformance.scenarios.names import as_file_name
from conformance.system.text import indented, neutral_line
from conformance.system.writing import make_folder


@click.command(short_help="Check the legal variants, which no property may accuse.")
@click.argument("names", metavar="[VARIANT]...", nargs=-1)
@component_option
@seed_option
@click.option(
    "--scenarios", type=click.IntRange(1), default=MOST_SCENARIOS, show_default=True,
    help="How many scenarios to run with each variant.",
)  # fmt: skip
@processes_option
@runner_options
@click.option(
    "--report",
    "report_path",
    metavar="FILE",
    type=TO_FILE,
    help="Write the table as a Markdown page.",
)
@click.option(
    "--corpus", "corpus_path", metavar="FOLDER", type=TO_FOLDER,
    help="Write into this folder, for each variant, a scenario in which its history differs.",
)  # fmt: skip
@earlier_option
@every_option
@step_seconds_option
@memory_option
@json_option
def variants(
    names: tuple[str, ...], components: tuple[str, ...], seed: str, scenarios: int, processes: int,
    report_path: Path | None, corpus_path: Path | None, everything: bool, step_seconds: float, memory: int,
    json_path: Path | None, into_path: Path | None, runner_name: str | None, master: str | None, conf: tuple[str, ...],
    earlier_path: Path | None,
) -> int:  # fmt: skip
    """Check the legal variants: the specification allows each of them, so no property may accuse one.

    Legal variants that are not the suite's own run in one process, which has limits.
    """
    check_components(components)
    check_earlier(earlier_path, names)
    runner = RunnerOptions(into_path, runner_name, master, conf, processes)
    runner.check()
    limits = Limits(step_seconds, memory)
    if (status := runner.guarded(names, LEGAL_VARIANT_SCHEME, LEGAL_VARIANTS, limits)) is not None:
        return status
    chosen = [(name, find_legal_variant(name)) for name in names] or [(one.id, one) for one in legal_variants()]
    chosen = [(name, one) for name, one in chosen if not components or one.component in components]
    if not chosen:
        raise click.UsageError("there is no legal variant of these components")
    shown = [one for _, one in chosen] if earlier_path is None else legal_variants()
    earlier = {} if earlier_path is None else reporting.earlier_variants(earlier_path, shown)
    is_kept = earlier_path is not None or json_path is not None
    known = reporting.Rows(row_digests(shown, LEGAL_VARIANTS, (seed, scenarios), is_kept), earlier)
    wanted = [(name, one) for name, one in chosen if not known.still_true(one.id)]
    works = 1 if into_path is None else works_of_variant(scenarios)
    with (
        interruptible() as interruption,
        reporting.progress_bar(notes, "legal variants", len(wanted) * works) as advance,
        runner.over("legal variants", interruption, lambda done: advance(done, 0)) as over,
    ):
        watch = None if into_path is not None else lambda done: advance(done, 0)
        trials = try_variants([name for name, _ in wanted], seed, scenarios, over, watch)
    by_name = {trial.variant: trial for trial in trials}
    tried = [(variant, by_name[name]) for name, variant in wanted if name in by_name]
    untried = [one.id for name, one in wanted if name not in by_name]
    remarks = reporting.untried_lines("legal variant", untried, interruption.requested)
    new = {one.id: reporting.variant_row(one, trial, known.digests[one.id]) for one, trial in tried}
    remarks += known.remarks("legal variant", new)
    page = known.with_new(new)
    ids = {one.id for _, one in chosen}
    rows = [row for row in page if row.id in ids]
    resting()
    reporting.print_variants(out, rows, everything or bool(names))
    for row in rows if names else ():
        out.print_lines(f"\n{neutral_line(row.id)}, allowed by {neutral_line(row.reason)}\n  {indented(row.change)}")
    for remark in (*remarks, *runner.remarks(bool(untried))):
        out.print(remark, soft_wrap=True)
    if corpus_path is not None:
        make_folder(corpus_path)
        for variant, trial in tried:
            if trial.difference is not None:
                reporting.write_text(
                    corpus_path / f"{as_file_name(variant.id)}.json", encode_scenario(trial.difference.scenario)
                )
    if report_path is not None:
        reporting.write_text(report_path, reporting.variants_text(page, remarks))
    if json_path is not None:
        document = reporting.variants_document(page)
        reporting.write_json(json_path, {**document, "interrupted": interruption.requested})
    if interruption.requested:
        return INTERRUPTED
    if any(row.accused for row in rows):
        return VIOLATION
    return CONFORMS if all(row.differs for row in rows) and not untried else INCONCLUSIVE
