"""Writes the last part of a chapter of the specification: the properties and known bugs of its promises.

`conformance properties` writes this part. The rest of the chapter does not depend on it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from conformance.driver import Component
from conformance.ports import KnownBug
from conformance.reporting.markdown import cell, table
from conformance.system.text import markdown_code

_GENERATED = re.compile(r"\n*<!-- generated: judged -->.*?<!-- end -->\n*", re.DOTALL)


def with_judged(chapter: str, component: Component, bugs: Iterable[KnownBug]) -> str:
    """Return the chapter, with the properties and known bugs of its promises at its end."""
    return f"{without_judged(chapter)}\n<!-- generated: judged -->\n{_judged(component, list(bugs))}\n<!-- end -->\n"


def without_judged(chapter: str) -> str:
    """Return the chapter without the generated part."""
    return _GENERATED.sub("\n", chapter).rstrip("\n") + "\n"


def _judged(component: Component, bugs: list[KnownBug]) -> str:
    """Return one row for each property, in the order of the promises, and one line for each known bug."""
    breaks: dict[str, list[KnownBug]] = {}
    for bug in bugs:
        if bug.component == component.name:
            breaks.setdefault(bug.property, []).append(bug)
    numbered = sorted((one for one in component.properties if one.invariant), key=lambda one: _order(one.invariant))
    rows = [
        (
            f"[{one.invariant}](#{one.invariant})",
            f"`{one.slug}`",
            cell(one.statement),
            ", ".join(cell(bug.id) for bug in breaks.get(one.slug, ())),
        )
        for one in numbered
    ]
    listed = [
        f"- **{cell(bug.id)}** ({cell(bug.ticket)}), found by {markdown_code(bug.property)}: {cell(bug.summary)}"
        for found in breaks.values()
        for bug in found
    ]
    text = "## Properties and known bugs\n\n" + table(("promise", "property", "statement", "known bugs"), rows)
    return "\n\n".join([text, "\n".join(sorted(listed))]) if listed else text


def _order(number: str) -> tuple[str, int]:
    letters = number.rstrip("0123456789")
    return letters, int(number[len(letters) :])
