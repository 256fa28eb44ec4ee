"""Writes verdicts in the Common Test Report Format, which viewers of continuous integration read.

What the format has no field for stands in `extra`: `unclaimed`, of a failed test, has the capabilities that are not
claimed and with which nothing is wrong; `claimed and never used`, of the results, has those of each implementation that
nothing has put to the test.

The format: https://ctrf.io, its schema in the repository ctrf-io/ctrf. It asks for times. No verdict of the suite
depends on a clock, so they are 0, and the same result gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from conformance import __version__
from conformance.driver import Kind
from conformance.engines import Found
from conformance.reporting.claims import unclaimed_in_words
from conformance.reporting.columns import Column, Judged, Word
from conformance.reporting.counts import counted
from conformance.reporting.verdicts import Tried, Verdicts
from conformance.reporting.words import plain
from conformance.system.text import neutral_line
from conformance.system.writing import write_json

SPECIFICATION = "0.0.0"
"""The version of the format, which is the only one so far."""
STATUSES = {
    Word.PASSED: "passed",
    Word.FAILED: "failed",
    Word.KNOWN: "other",
    Word.UNKNOWN: "other",
    Word.NOT_EXERCISED: "skipped",
    Word.UNTESTABLE: "skipped",
    Word.NOT_TESTED: "pending",
    Word.NOT_APPLICABLE: "skipped",
}
"""What the format says for each word. A property that was not put to the test has not passed."""
NEVER_USED = "claimed and never used"
_ALL = ("passed", "failed", "pending", "skipped", "other")


def ctrf_document(verdicts: Verdicts) -> dict[str, Any]:
    """Return the document: a test for each property of each component and implementation."""
    tests = [test for one in verdicts.tried for test in _tests(one)]
    summary = {status: sum(test["status"] == status for test in tests) for status in _ALL}
    unused = [
        {"implementation": one.name, "capabilities": [*map(str, one.never_used)]}
        for one in verdicts.tried
        if one.never_used
    ]
    results: dict[str, Any] = {
        "tool": {"name": "checkpoint-conformance", "version": __version__},
        "summary": {"tests": len(tests), **summary, "start": 0, "stop": 0},
        "tests": tests,
    }
    if unused:
        results["extra"] = {NEVER_USED: unused}
    document = {"reportFormat": "CTRF", "specVersion": SPECIFICATION, "results": results}
    return cast("dict[str, Any]", _harmless(document))


def write_ctrf(path: Path, verdicts: Verdicts) -> None:
    """Write the document. Raises: OSError."""
    write_json(path, ctrf_document(verdicts))


def _harmless(value: Any) -> Any:
    """Return a document in which every text is one line, since a viewer prints it."""
    if isinstance(value, str):
        return neutral_line(value)
    if isinstance(value, dict):
        return {key: _harmless(one) for key, one in value.items()}
    return [_harmless(one) for one in value] if isinstance(value, list) else value


def _tests(one: Tried) -> Iterator[dict[str, Any]]:
    found: dict[tuple[str, str], list[Found]] = {}
    for cause in one.causes:
        for failure in cause.found:
            found.setdefault((failure.scenario.component, failure.slug), []).append(failure)
    for column in one.columns:
        for judged in column.judged:
            yield _test(one, column, judged, found.get((column.component, judged.slug), []))


def _test(one: Tried, column: Column, judged: Judged, found: list[Found]) -> dict[str, Any]:
    cell = column.cells[judged.slug]
    situation = judged.kind == Kind.SOMETIMES.value
    test: dict[str, Any] = {
        "name": f"{one.name} {column.component} {judged.slug}",
        "status": STATUSES[cell.word],
        "duration": 0,
        "rawStatus": cell.word.value,
        "suite": [one.label, column.component],
        "tags": ["situation" if situation else judged.level],
    }
    if found:
        shortest = min(found, key=lambda failure: len(failure.scenario.steps))
        test["message"] = plain(f"{shortest.owed}; {shortest.observed}")
        if shortest.unclaimed:
            test["message"] += f"; claim: {unclaimed_in_words(shortest.unclaimed)}"
            test["extra"] = {"unclaimed": [*map(str, shortest.unclaimed)]}
    elif cell.word is not Word.PASSED:
        test["message"] = cell.why or f"{cell.word.value} in {counted(column.scenarios, 'scenario')}"
    return test
