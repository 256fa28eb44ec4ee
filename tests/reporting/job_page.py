"""Draws what scenarios of whole jobs look like, and the shortest one of each known bug, and writes the page.

    python -m tests.reporting.job_page reports/jobs.md

The scenarios of the known bugs are those of the corpus. Text is folded for 80 columns, as the drawings are.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from textwrap import fill

from conformance.components import COMPONENTS
from conformance.components.pipeline.config import make
from conformance.engines import Replay, replay
from conformance.engines.corpus import corpus
from conformance.ports import KnownBug, find_implementation, known_bugs
from conformance.reporting import write_text
from conformance.reporting.time_line import LEGEND, WIDTH, time_line_of
from conformance.scenarios import Scenario, Step
from conformance.system.text import markdown, markdown_block
from tests.scenarios.named_jobs import NAMED

IDLE: Step = ("settle", "idle")
STRUCK = Scenario(
    "pipeline",
    make("separate", 2),
    (
        *(("supply", split, 3) for split in range(4)),
        ("settle", "running"),
        ("fail", "task", 4, "between-cuts"),
        ("trigger", "unaligned"),
        IDLE,
        ("trigger", "aligned"),
        IDLE,
        ("fail", "task", 5, "in-restore"),
        ("fail", "worker", 1, "now"),
        IDLE,
        ("throttle", 4, True),
        *(("supply", split, 8) for split in range(4)),
        IDLE,
        ("trigger", "timeoutable"),
        IDLE,
        ("trigger", "savepoint"),
        IDLE,
        ("advance", 10),
        IDLE,
        ("throttle", 4, False),
        ("fail", "master", 0, "completed"),
        IDLE,
    ),
)
"""Failures of each kind, at chosen points, and two checkpoints that are pending at a time."""
SHOWN = {
    "Failures": ("Where each failure strikes, and what is restarted from which checkpoint.", STRUCK),
    "Another parallelism": (
        "The scenario “keyed with broadcast, down, recover-first”: tasks stand still, so that the checkpoint has "
        "records in flight; it is restored with fewer subtasks of each vertex.",
        NAMED["keyed with broadcast, down, recover-first"],
    ),
    "A checkpoint of a recovery": (
        "The scenario “three phases, up and down, pushed”: checkpoint 2 is taken while what checkpoint 1 had in flight "
        "is still being recovered, and is restored in its turn.",
        NAMED["three phases, up and down, pushed"],
    ),
}
"""By heading, the scenarios that are drawn first, and what is to be seen in them."""
JOBS = COMPONENTS["pipeline"]
INTRODUCTION = """A scenario of a [whole job](../docs/specification/pipeline.md) is a graph, settings, and steps. Steps
supply records to splits, let the operator of a task stand still (`throttle`), trigger checkpoints, let something fail,
and restore a checkpoint in a new job (`kill`, `restore`). Nothing happens in between, unless a step says so: `settle`
lets the threads of the job work in a drawn order until it has come to something, `work` lets one of them take one turn.
`task 2/0` is the thread of subtask 0 of vertex 2, `to 2/0` and `from 2/0` carry the messages to it and from it. At the
end, each run is *drained*: operators go on, sources are read to what was supplied, checkpoints are triggered, until
everything has been committed. A scenario can fail in these steps, too; they count on from its own."""
READING = """Above each drawing are the graph, with the parallelism of each vertex, the design in which the job
recovers, and the settings that are not the usual ones. A property broke where `<- here` is."""


def folded(text: str, indent: str = "") -> str:
    """Folds a paragraph."""
    return fill(text, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def sentence(text: str) -> str:
    """What a property owed or saw, with one full stop."""
    return f"{markdown(text).rstrip('.')}."


def time_line(seen: Replay) -> Iterator[str]:
    """The time line of a replay, as a block of text."""
    shown = time_line_of(seen)
    if shown is not None:
        yield markdown_block("\n".join(shown.lines()) + "\n", "text")


def of_a_bug(bug: KnownBug, seen: Replay) -> Iterator[str]:
    """What a known bug does in its scenario."""
    yield f"### {bug.id}"
    yield folded(markdown(bug.summary))
    yield from time_line(seen)
    if seen.violation is None:
        yield folded("This scenario does not show the bug any more; `make corpus` looks for another one.")
        return
    broken = seen.violation.broken
    yield "\n".join(
        folded(line, "  ")
        for line in (
            f"- Found by `{seen.violation.property.slug}`.",
            f"- Expected: {sentence(broken.owed)}",
            f"- Observed: {sentence(broken.observed)}",
        )
    )


def contents(found: Mapping[str, Replay]) -> str:
    """The known bugs by the property that breaks in their scenarios, as links to the drawings."""
    by_property: dict[str, list[str]] = {}
    for bug, seen in found.items():
        slug = "" if seen.violation is None else seen.violation.property.slug
        by_property.setdefault(slug, []).append(f"[{bug}](#{bug.lower()})")
    return "\n".join(
        folded(f"- {f'`{slug}`' if slug else 'nothing breaks any more'}: {', '.join(bugs)}", "  ")
        for slug, bugs in sorted(by_property.items())
    )


def page(bugs: Iterable[KnownBug], scenarios: Mapping[str, Scenario]) -> str:
    """The page. `scenarios`: by the id of a known bug, the shortest one."""
    bugs = list(bugs)
    found = {one.id: replay(scenarios[one.id], one.build()) for one in bugs if one.id in scenarios}
    without = [one.id for one in bugs if one.id not in scenarios]
    parts = [
        "# Scenarios of whole jobs",
        folded(f"Written by `make jobs`. {INTRODUCTION}"),
        "## How to read a time line",
    ]
    parts += [folded(LEGEND), folded(READING)]
    reference = find_implementation("reference")
    for heading, (text, scenario) in SHOWN.items():
        parts += [f"## {heading}", folded(text), *time_line(replay(scenario, reference))]
    parts += ["## The shortest scenario of each known bug"]
    parts += [folded(f"{len(found)} known bugs of the reference, by the property that breaks:"), contents(found)]
    if without:
        parts += [folded(f"No scenario is kept of {', '.join(without)}.")]
    for bug in bugs:
        if bug.id in found:
            parts += of_a_bug(bug, found[bug.id])
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    mine = sorted((bug for bug in known_bugs() if bug.component == JOBS.name), key=lambda bug: bug.id)
    write_text(Path(sys.argv[1]), page(mine, dict(corpus(JOBS))))
