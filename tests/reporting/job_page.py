"""Draws what scenarios of whole jobs look like, and the shortest one of each known bug, and writes the page.

    python -m tests.reporting.job_page reports/jobs.md

The scenarios of the known bugs are those of the corpus.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from conformance.components import COMPONENTS
from conformance.engines import replay
from conformance.engines.corpus import corpus
from conformance.ports import Implementation, KnownBug, find_implementation, known_bugs
from conformance.reporting import write_text
from conformance.reporting.time_line import LEGEND, time_line_of
from conformance.scenarios import Scenario
from conformance.system.text import markdown, markdown_block
from tests.scenarios.named_jobs import NAMED

SHOWN = {
    "Rescaled": "keyed with broadcast, down, recover-first",
    "A checkpoint of a recovery": "three phases, up and down, pushed",
}
"""By heading, the named scenarios that are drawn first."""
JOBS = COMPONENTS["pipeline"]


def drawn(scenario: Scenario, implementation: Implementation) -> Iterator[str]:
    """The time line of a scenario, and what is wrong in it."""
    seen = replay(scenario, implementation)
    shown = time_line_of(seen)
    if shown is not None:
        yield markdown_block("\n".join(shown.lines()) + "\n", "text")
    if seen.violation is not None:
        broken = seen.violation.broken
        yield f"**{seen.violation.property.slug}.** Expected: {markdown(broken.owed)}. Observed: " + (
            f"{markdown(broken.observed)}."
        )


def page(bugs: Iterable[KnownBug], scenarios: Mapping[str, Scenario]) -> str:
    """The page. `scenarios`: by the id of a known bug, the shortest one."""
    parts = ["# Scenarios of whole jobs", f"`make jobs` wrote this page. {LEGEND}"]
    for heading, name in SHOWN.items():
        parts += [
            f"## {heading}",
            f"The scenario “{name}”, on the reference.",
            *drawn(NAMED[name], find_implementation("reference")),
        ]
    parts += ["## The shortest scenario of each known bug"]
    for bug in bugs:
        scenario = scenarios.get(bug.id)
        if scenario is not None:
            parts += [f"### {bug.id}", markdown(bug.summary), *drawn(scenario, bug.build())]
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    mine = [bug for bug in known_bugs() if bug.component == JOBS.name]
    write_text(Path(sys.argv[1]), page(mine, dict(corpus(JOBS))))
