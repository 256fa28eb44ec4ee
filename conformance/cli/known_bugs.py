"""`conformance bugs`: the suite on trial."""

from __future__ import annotations

from pathlib import Path

import click

from conformance import reporting
from conformance.cli.options import (
    check_components,
    component_option,
    json_option,
    notes,
    out,
    seed_option,
)
from conformance.engines.kill import MOST_SCENARIOS, kill
from conformance.engines.optimum import optimal_steps
from conformance.ports import (
    find_known_bug,
    known_bugs,
)
from conformance.reporting.status import CONFORMS, VIOLATION


@click.command()
@click.argument("names", metavar="[BUG]...", nargs=-1)
@component_option
@seed_option
@click.option(
    "--seeds",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="Repeat with so many seeds; the median counts.",
)
@click.option(
    "--scenarios",
    type=click.IntRange(1),
    default=MOST_SCENARIOS,
    show_default=True,
    help="After so many a bug has survived.",
)
@click.option("--optimal", is_flag=True, help="Explore too: how short can a scenario be that shows the bug?")
@json_option
def bugs(
    names: tuple[str, ...], components: tuple[str, ...], seed: str, seeds: int, scenarios: int, optimal: bool,
    json_path: Path | None,
) -> int:  # fmt: skip
    """The kill matrix: every known bug, found or survived, by the property that must notice it."""
    check_components(components)
    chosen = [find_known_bug(name) for name in names] or known_bugs()
    chosen = [bug for bug in chosen if not components or bug.component in components]
    if not chosen:
        raise click.UsageError("there is no known bug of these components")
    rows = []
    with reporting.progress_bar(notes, "known bugs", len(chosen) * seeds) as advance:
        for index, bug in enumerate(chosen):
            kills = []
            for number in range(seeds):
                kills.append(kill(bug, seed if seeds == 1 else f"{seed}.{number}", scenarios))
                advance(index * seeds, number + 1)
            rows.append(reporting.bug_row(kills, optimal_steps(bug) if optimal else None))
    out.print(reporting.kill_matrix(rows))
    unguarded = reporting.unguarded_properties(chosen) if not names and not components else []
    for slug in unguarded:
        out.print(f"No known bug is killed by {slug}.", markup=False)
    if json_path is not None:
        reporting.write_json(json_path, reporting.bugs_document(rows))
    return VIOLATION if unguarded or not all(row.killed for row in rows) else CONFORMS
