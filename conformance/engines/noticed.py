"""Which properties notice each known bug, so that failures can be compared with what one defect is known to break."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from functools import cache
from typing import TypeAlias

import msgspec

from conformance.system.packaged import packaged

Noticed: TypeAlias = Mapping[str, Mapping[str, frozenset[str]]]
"""The slugs of the properties that notice a known bug, by its component and its id."""

FILE = "noticed.toml"
"""The name of the file in the folder of the corpus."""
_HEAD = """\
# Which properties notice each known bug, by component.
# Written by `make corpus`.
"""


@cache
def noticed() -> Noticed:
    """Returns what is kept beside the corpus; nothing if there is no such file."""
    folder = packaged("corpus", "tests/corpus")
    file = None if folder is None else folder / FILE
    if file is None or not file.is_file():
        return {}
    return msgspec.convert(tomllib.loads(file.read_text(encoding="utf-8")), dict[str, dict[str, frozenset[str]]])


def noticed_text(found: Noticed) -> str:
    """Returns the content of the file. A known bug that no property notices is left out."""
    lines = [_HEAD]
    for component in sorted(found):
        lines.append(f"[{component}]")
        lines += [f"{json.dumps(bug)} = {json.dumps(sorted(slugs))}" for bug, slugs in sorted(found[component].items())]
        lines.append("")
    return "\n".join(lines)
