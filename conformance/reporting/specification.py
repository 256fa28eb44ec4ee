"""The chapters of the specification, and the rule that a property judges.

`docs/specification` has a chapter for each component. Its rules carry numbers with anchors: `G7` is a transition of the
gate, `I-30` a promise, `FG1` a freedom that engines have. A property carries the number of the promise that it judges.
"""

from __future__ import annotations

import re
from functools import cache

from conformance.driver import Property
from conformance.system.packaged import chapter, chapter_file

_LINK = re.compile(r"\[([^\]]+)\]\(([^)]+)\)")
"""A Markdown link. A link in a quoted rule would be wrong, since a report is not in the folder of the chapters."""
_SECTION = re.compile(r"^## ([^\n]+)\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
_RULE = re.compile(r'^<a id="((?:[A-Z]|F[A-Z]|I-|CP)\d+)"></a>(.*?)(?=\n\n|\n<|\Z)', re.MULTILINE | re.DOTALL)


def specification_reference(judged: Property) -> str:
    """Return the place of the rule that a property judges, as `gate.md#I-30`, or an empty text if it judges none."""
    return f"{chapter_file(judged.component)}#{judged.invariant}" if judged.invariant else ""


def rules(text: str) -> dict[str, str]:
    """Return the rules of a chapter by number. Each rule is a paragraph in Markdown."""
    return {number: " ".join(rule.split()) for number, rule in _RULE.findall(text)}


def parts_of(text: str) -> dict[str, str]:
    """Return the sections of a page by anchor, as GitHub makes it of a heading, without its rules."""
    return {_anchor(heading): f"## {heading}\n{body}" for heading, body in _SECTION.findall(text)}


def part_of(text: str, anchor: str) -> str | None:
    """Return the rule or the section of a page that has this anchor, or None if there is none."""
    return rules(text).get(anchor) or parts_of(text).get(anchor)


def _anchor(heading: str) -> str:
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


@cache
def rule_text(component: str, number: str) -> str | None:
    """Return the paragraph of a rule, or None if there is no such rule or the specification is not installed."""
    text = chapter(component)
    found = rules(text).get(number) if text is not None else None
    return _LINK.sub(r"\1 (\2)", found) if found is not None else None
