"""Measures which known bugs of jobs are found in an engine that shows less of itself, and writes the report.

    python -m tests.hunts.outside reports/outside.md --into build/outside

The known bugs of jobs are changes of the reference, whose threads a scenario steps and whose checkpoints it reads. A
real engine offers neither. So each bug is looked for in the same jobs as three engines that show less: their threads
work on their own; besides, they keep their checkpoints themselves, and show where splits are; or nothing of them. What
is missed there the suite would miss in a real engine: it cannot be seen from outside, or scenarios do not come to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path

import click
from msgspec import Struct

from conformance.bridges.jsonl.unstepped import Unstepped
from conformance.components import COMPONENTS
from conformance.driver import Program
from conformance.engines.first_hits import read_first_hits
from conformance.engines.interruption import Interruption, Unfinished
from conformance.engines.position import Follow
from conformance.engines.search import Search, seeds
from conformance.engines.works import Over
from conformance.ports import Implementation, KnownBug, find_implementation, known_bugs
from conformance.reporting.markdown import cell, table
from conformance.system.writing import write_text
from tests.components.keeping_job import Keeping, ShowsNothing
from tests.hunts.keeping import kept_over
from tests.hunts.sought import DOES_NOT_END, Seen, bounded

SEED = "outside"
COMPONENT = "pipeline"
SCENARIOS = 200
"""A bug that is not found in so many scenarios is not found."""
CORPUS = Path(__file__).parent.parent / "corpus"
ENGINES: Mapping[str, Callable[[str], Implementation]] = {
    "on its own": lambda name: Unstepped(find_implementation(name)),
    "shows splits": Keeping,
    "shows nothing": lambda name: Keeping(name, ShowsNothing),
}
"""By what the engine shows, how it is made of an implementation."""


class Looked(Struct, frozen=True):
    """The search for a known bug of jobs in an engine that shows less."""

    engine: str
    bug: str
    seed: str
    scenarios: int

    @property
    def topics(self) -> tuple[str, ...]:
        """See `Work`."""
        return self.bug, self.engine

    def do(self, interruption: Interruption, follow: Follow) -> Seen:
        """See `Work`. Raises: Unfinished."""
        with closing(ENGINES[self.engine](f"known-bug:{self.bug}")) as implementation:
            search = Search(Program(COMPONENTS[COMPONENT], implementation))
            for number, text in enumerate(seeds(self.seed, COMPONENT, range(self.scenarios)), 1):
                if interruption.requested:
                    raise Unfinished
                run = bounded(search, text)
                if run is None:
                    return Seen(DOES_NOT_END, number)
                if run.violation is not None:
                    return Seen(run.violation.property.slug, number)
        return Seen("", self.scenarios)


def looked(bugs: Sequence[KnownBug], over: Over, scenarios: int = SCENARIOS) -> dict[str, dict[str, Seen]]:
    """Look for each bug in each engine. Returns what was seen, by bug and engine, without what an interruption left
    out."""
    works = [Looked(engine, bug.id, SEED, scenarios) for bug in bugs for engine in ENGINES]
    found: dict[str, dict[str, Seen]] = {bug.id: {} for bug in bugs}
    for work, seen in zip(works, over(works), strict=True):
        if seen is not None:
            found[work.bug][work.engine] = seen
    return found


# ---- the page --------------------------------------------------------------------------------------------------------
def report(bugs: Sequence[KnownBug], found: Mapping[str, Mapping[str, Seen]], hits: Mapping[str, int]) -> str:
    """Returns the page. `hits`: by bug, the number of the first scenario that finds it with steps."""
    rows = [["steps, and all that is stored", str(len(bugs)), str(len(bugs)), *_figures(hits[bug.id] for bug in bugs)]]
    for engine in ENGINES:
        mine = [some[engine] for some in found.values() if engine in some]
        firsts = [one.scenarios for one in mine if one.found_by]
        rows.append([engine, str(len(mine)), str(len(firsts)), *_figures(firsts)])
    missed = []
    needs = {one.slug: ", ".join(sorted(one.needs)) for one in COMPONENTS[COMPONENT].properties}
    for bug in sorted(bugs, key=lambda bug: (bug.property, bug.id)):
        seen = found[bug.id]
        if any(not one.found_by for one in seen.values()):
            each = [_in_words(seen.get(engine)) for engine in ENGINES]
            missed.append([bug.id, cell(bug.property), needs[bug.property], *each, cell(bug.summary)])
    return "\n".join([
        "# What is found in a job from outside",
        "",
        f"The {len(bugs)} known bugs of jobs, looked for in engines that show less of themselves than the reference. "
        "*On its own*: its threads work when they like, and no scenario steps them. *Shows splits*, *shows nothing*: "
        "besides, it keeps its checkpoints itself, as released Flink does, and shows of one where its splits are, or "
        "nothing; what is outside the job is the suite's own then, as what a sink has committed and returns. A bug is "
        f"found if a property fails in {SCENARIOS:,} scenarios, and with steps it always is. Written "
        f"by `python -m tests.hunts.outside`, with the seed `{SEED}`.",
        "",
        table(["engine", "bugs", "found", "median of scenarios", "most"], rows),
        "",
        f"These {len(missed)} are not found in each of them. *1* and so on: the first scenario that finds it; a dash: "
        "none does. *Needs*: what the engine must offer so that the property can be judged that notices the bug "
        "otherwise.",
        "",
        table(["bug", "its property", "needs", *ENGINES, "what is wrong"], missed),
        "",
    ])  # fmt: skip


def _figures(firsts: Iterable[int]) -> list[str]:
    ordered = sorted(firsts)
    return [str(ordered[len(ordered) // 2]), str(ordered[-1])] if ordered else ["-", "-"]


def _in_words(seen: Seen | None) -> str:
    return "not tried" if seen is None else str(seen.scenarios) if seen.found_by else "-"


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--into", "folder", type=click.Path(path_type=Path), help="Keep each result there, and go on from it.")
@click.option("--processes", type=int, default=1, show_default=True, help="Searches at once.")
def main(file: Path, folder: Path | None, processes: int) -> None:
    """Look for the bugs, and write the file."""
    bugs = [bug for bug in known_bugs() if bug.component == COMPONENT]
    with kept_over(folder, "outside", processes) as over:
        found = looked(bugs, over)
    hits = {bug: int(text.rpartition("/")[2]) + 1 for bug, text in read_first_hits(CORPUS).items()}
    write_text(file, report(bugs, found, hits))


if __name__ == "__main__":
    main()
