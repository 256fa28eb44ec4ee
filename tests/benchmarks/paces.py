"""Measures the speed of the search of every component, against an earlier revision, and writes it into the report.

    python -m tests.benchmarks.paces HEAD~1 reports/performance.md

Machines are shared and differ, so what counts are ratios: to a loop that no version changes, and to the earlier
revision, which takes turns with the working copy in the same run.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

import click

from conformance.components import COMPONENTS
from conformance.reporting.markdown import table
from conformance.system.writing import write_text
from tests.versions import Version, extract

PACE = Path(__file__).with_name("pace.py")
BEGIN, END = "<!-- written by tests.benchmarks.paces -->", "<!-- end -->"
_BETWEEN = re.compile(f"{re.escape(BEGIN)}.*{re.escape(END)}", re.DOTALL)


class Pace(NamedTuple):
    """How fast one component is searched in one interleaving."""

    component: str
    interleaving: str
    speeds: tuple[float, ...]
    """Steps a CPU second, those of the drain included, in each round."""
    turns: tuple[float, ...]
    """How many turns of the loop take as long as a step, in each round."""
    ratios: tuple[float, ...]
    """The speed against that of the earlier revision, in each round; empty if it lacks the component."""


def paces(
    before: Version, after: Version, components: Sequence[str], scenarios: int, rounds: int
) -> Iterator[Pace]:  # fmt: skip
    """Yields how fast each component is."""
    for component in components:
        for interleaving in ("whole", "fine"):
            speeds, turns, ratios = [], [], []
            for number in range(-1, rounds):  # the first round warms up
                request = component, interleaving, f"pace/{number}", scenarios
                versions = (before, after) if number % 2 else (after, before)
                found = {version: version.ask(request) for version in versions}
                if number < 0 or found[after] is None:
                    continue
                steps, seconds, turn = found[after]
                speeds.append(steps / seconds)
                turns.append(seconds / steps / turn)
                if found[before] is not None:
                    old_steps, old_seconds, _ = found[before]
                    ratios.append(steps / seconds / (old_steps / old_seconds))
            if speeds:
                yield Pace(component, interleaving, tuple(speeds), tuple(turns), tuple(ratios))


def told(measured: Sequence[Pace], revision: str) -> str:
    """Returns the table."""
    rows = [
        (
            one.component, one.interleaving, f"{round(median(one.speeds), -3):,.0f}", f"{median(one.turns):.0f}",
            f"{median(one.ratios):.2f} ({min(one.ratios):.2f} to {max(one.ratios):.2f})" if one.ratios else "new",
        )
        for one in measured
    ]  # fmt: skip
    head = ("component", "interleaving", "steps per second and core", "turns of the loop", f"against {revision}")
    return table(head, rows)


@click.command()
@click.argument("revision")
@click.argument("report", required=False, type=click.Path(path_type=Path, dir_okay=False, exists=True))
@click.option("--component", "components", multiple=True, type=click.Choice(list(COMPONENTS)))
@click.option("--scenarios", default=600, show_default=True, help="In each round.")
@click.option("--rounds", default=7, show_default=True, type=click.IntRange(1))
def main(revision: str, report: Path | None, components: Sequence[str], scenarios: int, rounds: int) -> None:
    """Compare the search of the working copy with that of REVISION; write the table into REPORT."""
    with tempfile.TemporaryDirectory() as scratch:
        extract(revision, Path(scratch))
        with Version(PACE, Path(scratch)) as before, Version(PACE) as after:
            measured = []
            for one in paces(before, after, components or list(COMPONENTS), scenarios, rounds):
                measured.append(one)
                ratio = f"{median(one.ratios):.2f} x {revision}" if one.ratios else "new"
                click.echo(f"{one.component}, {one.interleaving}: {median(one.speeds):,.0f} steps/s, {ratio}")
    if report is not None:
        write_text(report, placed(report.read_text(encoding="utf-8"), told(measured, revision)))


def placed(page: str, text: str) -> str:
    """Returns the page with the table between the marks. Raises: ValueError if the page has no such marks."""
    if not _BETWEEN.search(page):
        raise ValueError(f"the report has no lines {BEGIN} and {END}, between which the table stands")
    return _BETWEEN.sub(lambda found: f"{BEGIN}\n{text}\n{END}", page)


if __name__ == "__main__":
    main()
