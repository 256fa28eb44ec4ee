"""The chapters of the specification, and the rule that a property judges.

`docs/specification` has a chapter for each component. Its rules carry numbers with anchors: `G7` is a transition of the
gate, `I-30` a promise, `FG1` a freedom that engines have. A property carries the number of the promise that it judges.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources.abc import Traversable

from conformance.driver import Property
from conformance.system.packaged import documentation

_LINK = re.compile(r"\[([^\]]+)\]\(([^)]+)\)")
"""A Markdown link. A link in a quoted rule would be wrong, since a report is not in the folder of the chapters."""
_RULE = re.compile(r'^<a id="((?:[A-Z]|F[A-Z]|I-|CP)\d+)"></a>(.*?)(?=\n\n|\n<|\Z)', re.MULTILINE | re.DOTALL)


def specification_folder() -> Traversable | None:
    """Return the folder of the chapters: in the installed package, or `docs/specification` in a working copy."""
    pages = documentation()
    folder = pages / "specification" if pages is not None else None
    return folder if folder is not None and folder.is_dir() else None


def chapter_file(component: str) -> str:
    """The name of the file of a component's chapter."""
    return f"{component}.md"


def specification_reference(judged: Property) -> str:
    """Return the place of the rule that a property judges, as `gate.md#I-30`, or an empty text if it judges none."""
    return f"{chapter_file(judged.component)}#{judged.invariant}" if judged.invariant else ""


def rules(chapter: str) -> dict[str, str]:
    """Return the rules of a chapter by number. Each rule is a paragraph in Markdown."""
    return {number: " ".join(text.split()) for number, text in _RULE.findall(chapter)}


@cache
def rule_text(component: str, number: str) -> str | None:
    """Return the paragraph of a rule, or None if there is no such rule or the specification is not installed."""
    folder = specification_folder()
    file = folder / chapter_file(component) if folder is not None else None
    if file is None or not file.is_file():
        return None
    found = rules(file.read_text(encoding="utf-8")).get(number)
    return _LINK.sub(r"\1 (\2)", found) if found is not None else None
