"""The chapters of the specification, and the rule that a property judges.

`docs/specification` has a chapter for each component. Its rules carry numbers with anchors: `G7` is a transition of the
gate, `I-30` a promise. A property carries the number of the promise that it judges.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import conformance
from conformance.driver import Property

_PACKAGE = Path(conformance.__file__).parent
_RULE = re.compile(r'^<a id="([A-Z]-?\d+)"></a>(.*?)(?=\n\n|\n<|\Z)', re.MULTILINE | re.DOTALL)


def specification_folder() -> Path | None:
    """Where the chapters lie: in the package where it is installed, among the documents in a working copy."""
    places = (_PACKAGE / "specification", _PACKAGE.parent / "docs" / "specification")
    return next((place for place in places if place.is_dir()), None)


def chapter_file(component: str) -> str:
    """The name of the file of a component's chapter."""
    return f"{component}.md"


def specification_reference(judged: Property) -> str:
    """Where the specification has the rule that a property judges, as `gate.md#I-30`; empty if it judges none."""
    return f"{chapter_file(judged.component)}#{judged.invariant}" if judged.invariant else ""


def rules(chapter: str) -> dict[str, str]:
    """The rules of a chapter by number, each as its paragraph in Markdown."""
    return {number: " ".join(text.split()) for number, text in _RULE.findall(chapter)}


@cache
def rule_text(component: str, number: str) -> str | None:
    """The paragraph of a rule; None if there is no such rule, or no specification here."""
    folder = specification_folder()
    file = folder / chapter_file(component) if folder is not None else None
    if file is None or not file.is_file():
        return None
    return rules(file.read_text(encoding="utf-8")).get(number)
