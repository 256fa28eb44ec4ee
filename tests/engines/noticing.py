"""Searches every known bug, and writes which properties notice it.

    python -m tests.engines.noticing tests/corpus/noticed.toml [--component COMPONENT ...]

Unlike a hunt, which ends soon after the property that must notice the bug, each search has the same length. That is too
short for a rare bug, so the scenario is run, too, in which the property that must notice it was first seen to fail.
"""

from __future__ import annotations

from contextlib import closing
from functools import cache
from pathlib import Path

import click

from conformance.components import COMPONENTS
from conformance.driver import Program
from conformance.engines.check import search_range
from conformance.engines.first_hits import hit, read_first_hits
from conformance.engines.interruption import Interruption
from conformance.engines.noticed import noticed, noticed_text
from conformance.engines.processes import mapping
from conformance.ports import find_known_bug, known_bugs
from conformance.system.writing import write_text

SEED = "noticing"
SCENARIOS = 400
CORPUS = Path(__file__).resolve().parents[1] / "corpus"


def noticing(bug_id: str, scenarios: int = SCENARIOS) -> frozenset[str]:
    """Returns the slugs of the properties that fail in a search of the known bug, and of the one that must notice it,
    unless its first hit is stale."""
    bug = find_known_bug(bug_id)
    with closing(bug.build()) as implementation:
        program = Program(COMPONENTS[bug.component], implementation).pinned(bug.shape)
        tally = search_range(program, SEED, range(scenarios))
        text = _first_hits().get(bug_id)
        found = {slug for slug, _, _ in tally.failures}
        if bug.property not in found and text is not None and hit(bug, program, text) is not None:
            found.add(bug.property)
    return frozenset(found)


@cache
def _first_hits() -> dict[str, str]:
    return read_first_hits(CORPUS)


def _noticing(bug_id: str, interruption: Interruption) -> frozenset[str] | None:
    return None if interruption.requested else noticing(bug_id)


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--component", "components", multiple=True, help="Search the known bugs of these only.")
@click.option("--processes", type=int, default=1, show_default=True, help="Searches at once.")
def main(file: Path, components: tuple[str, ...], processes: int) -> None:
    """Search, and write the file, which is left as it was if the search is interrupted."""
    bugs = [bug for bug in known_bugs() if not components or bug.component in components]
    with mapping(processes) as over:
        searched = list(over(_noticing, [(bug.id,) for bug in bugs]))
    others = {component: bugs for component, bugs in noticed().items() if components and component not in components}
    found: dict[str, dict[str, frozenset[str]]] = {component: dict(bugs) for component, bugs in others.items()}
    for bug, slugs in zip(bugs, searched, strict=True):
        if slugs is None:
            raise click.ClickException(f"{file} was not written, because the search was interrupted")
        if slugs:
            found.setdefault(bug.component, {})[bug.id] = slugs
    write_text(file, noticed_text(found))


if __name__ == "__main__":
    main()
