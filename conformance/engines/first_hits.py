"""Where the search first found each known bug, so that a test need not search for it again.

A scenario depends only on the program and its seed text. The folder of the corpus keeps, for each known bug, the seed
text of the first scenario in which the property failed that must notice the bug. As long as the scenario with that text
fails so, one scenario shows that the search finds the bug. A change of the steps, weights or prefixes of a component
changes its scenarios: the kept texts are then *stale*, and the search has to begin anew.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from conformance.driver import Program
from conformance.engines.search import Search
from conformance.ports import KnownBug
from conformance.scenarios import Scenario, read_toml

FILE = "first_hits.toml"
"""The name of the file in the folder of the corpus."""
_HEAD = """\
# The seed text of the first scenario in which each known bug was noticed by the property that must notice it.
# Written by `conformance bugs --corpus FOLDER`.
"""


def read_first_hits(folder: Path) -> dict[str, str]:
    """Returns the seed texts of a folder by the ids of the known bugs; none if the folder has no such file.

    Raises: SchemaError, OSError.
    """
    path = folder / FILE
    return (
        read_toml(path, dict[str, str], 'every entry must be a text: "bug" = "seed/component/number"')
        if path.exists()
        else {}
    )


def first_hits_text(hits: Mapping[str, str]) -> str:
    """Returns the content of the file with these seed texts."""
    # A JSON string is a TOML string as well, as long as nothing but control characters is escaped.
    lines = (
        f"{json.dumps(bug, ensure_ascii=False)} = {json.dumps(hits[bug], ensure_ascii=False)}" for bug in sorted(hits)
    )
    return "\n".join((_HEAD, *lines, ""))


def hit(bug: KnownBug, program: Program, text: str) -> Scenario | None:
    """Returns the scenario with this seed text, up to the failure; None if the property that must notice the bug does
    not fail in it, because the text is stale."""
    scenario, run = Search(program).run(text)
    violation = run.violation
    return scenario if violation is not None and violation.property.slug == bug.property else None
