"""`conformance campaign`: long searches, on one machine or a cluster."""

from __future__ import annotations

from pathlib import Path

import click

from conformance import campaigns, reporting
from conformance.cli.options import (
    RUNNERS,
    assume_option,
    capabilities_of,
    check_components,
    component_option,
    implementation_option,
    known_option,
    notes,
    out,
    say,
    seed_option,
)
from conformance.engines import load_known_failures


@click.group()
def campaign() -> None:
    """Long searches, on one machine or a cluster."""


@campaign.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@implementation_option
@component_option
@click.option("--scenarios", type=click.IntRange(1), help="Per component.  [default: 20000]")
@click.option("--steps", type=click.IntRange(1), help="Until so many steps were executed.")
@click.option("--minutes", type=click.FloatRange(0, min_open=True), help="Begin nothing new after so many minutes.")
@click.option("--runner", type=click.Choice(RUNNERS), default="auto", show_default=True)
@click.option("--master", metavar="URL", help="The Spark master.  [default: this machine]")
@seed_option
@assume_option
@known_option
def start(
    folder: Path,
    implementations: tuple[str, ...],
    components: tuple[str, ...],
    scenarios: int | None,
    steps: int | None,
    minutes: float | None,
    runner: str,
    master: str | None,
    seed: str,
    assume: tuple[str, ...],
    known_path: Path | None,
) -> int:
    """Run the same scenarios on all implementations; the first one draws them, the others are compared with it.

    A known bug among them is the canary: it has to be found, and does not count as a violation then.
    """
    check_components(components)
    entries = load_known_failures(known_path) if known_path is not None else ()
    if sum(goal is not None for goal in (scenarios, steps, minutes)) > 1:
        raise click.UsageError("--scenarios, --steps and --minutes exclude each other")
    if master is not None and runner not in ("auto", "spark"):
        raise click.UsageError(f"--master goes with --runner spark, not with {runner}")
    chosen, note = campaigns.choose(runner, master)
    if note is not None:
        notes.print(note, markup=False)
    plan = campaigns.make_plan(
        seed,
        implementations,
        components,
        scenarios=scenarios if steps or minutes else scenarios or 20_000,
        steps=steps,
        minutes=minutes,
        assume=sorted(capabilities_of(assume)),
    )
    with reporting.progress_bar(notes, "blocks", plan.number_of_blocks) as advance:

        def watch(state: campaigns.Advance) -> None:
            advance(state.done, 0)
            if state.note:
                say(state.note)

        result = campaigns.start(folder, plan, chosen, watch)
    status = reporting.conclude_campaign(out, result, folder / "report", entries)
    out.print(f"Result: {folder / 'result.json'}", soft_wrap=True, markup=False)
    return status


@campaign.command(name="report")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("-o", "--output", metavar="FOLDER", type=click.Path(path_type=Path), help="[default: DIR/report]")
@known_option
def campaign_report(folder: Path, output: Path | None, known_path: Path | None) -> int:
    """Print the verdicts of a campaign and write a bug report folder per violation."""
    result = campaigns.load(folder)
    return reporting.conclude_campaign(
        out, result, output or folder / "report", load_known_failures(known_path) if known_path else ()
    )
