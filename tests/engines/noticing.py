"""Searches every known bug, and writes which properties notice it.

    python -m tests.engines.noticing tests/corpus/noticed.toml

Unlike a hunt, which ends soon after the property that must notice the bug, each search has the same length.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import click

from conformance.components import COMPONENTS
from conformance.driver import Program
from conformance.engines.check import search_range
from conformance.engines.interruption import Interruption
from conformance.engines.noticed import noticed_text
from conformance.engines.processes import mapping
from conformance.ports import find_known_bug, known_bugs
from conformance.system.writing import write_text

SEED = "noticing"
SCENARIOS = 400


def noticing(bug_id: str, scenarios: int = SCENARIOS) -> frozenset[str]:
    """Returns the slugs of the properties that fail in a search of the known bug."""
    bug = find_known_bug(bug_id)
    with closing(bug.build()) as implementation:
        program = Program(COMPONENTS[bug.component], implementation).pinned(bug.shape)
        tally = search_range(program, SEED, range(scenarios))
    return frozenset(slug for slug, _, _ in tally.failures)


def _noticing(bug_id: str, interruption: Interruption) -> frozenset[str] | None:
    return None if interruption.requested else noticing(bug_id)


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--processes", type=int, default=1, show_default=True, help="Searches at once.")
def main(file: Path, processes: int) -> None:
    """Search, and write the file, which is left as it was if the search is interrupted."""
    bugs = known_bugs()
    with mapping(processes) as over:
        searched = list(over(_noticing, [(bug.id,) for bug in bugs]))
    found: dict[str, dict[str, frozenset[str]]] = {}
    for bug, slugs in zip(bugs, searched, strict=True):
        if slugs is None:
            raise click.ClickException(f"{file} was not written, because the search was interrupted")
        if slugs:
            found.setdefault(bug.component, {})[bug.id] = slugs
    write_text(file, noticed_text(found))


if __name__ == "__main__":
    main()
