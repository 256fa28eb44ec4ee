"""A summary in Markdown, which continuous integration shows beside a build: what failed, the worst first, and counts.

It is short whatever was found, since such a place takes little: the page and the tests of CTRF have everything.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from conformance.engines.causes import Cause
from conformance.reporting.columns import Word
from conformance.reporting.counts import NOT_PUT_TO_THE_TEST, counted
from conformance.reporting.differences import Differences
from conformance.reporting.markdown import cell, table
from conformance.reporting.severity import ORDER, worst_of
from conformance.reporting.since import Key, Since
from conformance.reporting.verdicts import Tried, Verdicts, failed_scenarios, is_expected, rank_of
from conformance.system.text import markdown_code
from conformance.system.writing import write_text

MOST = 50
"""How many rows a table has."""


@dataclass(frozen=True, slots=True)
class Summed:
    """What a summary is of."""

    verdicts: Verdicts
    status: str
    """The sentence about the exit status."""
    unfinished: Sequence[str] = ()
    """Sentences that say what is missing; empty if it is over."""
    differences: Differences | None = None
    since: Since | None = None


def summary_text(summed: Summed) -> str:
    """Return the summary."""
    parts = [
        "## Checkpoint conformance",
        f"**{cell(summed.status)}**",
        *(f"> {cell(one)}" for one in summed.unfinished),
        table(("implementation", "verdict", "passed", "FAILED", "not judged", "scenarios"), _counts(summed.verdicts)),
        *_failures(summed),
        *([] if summed.since is None else _since(summed.since)),
        *_differences(summed.differences),
    ]
    return "\n\n".join(parts) + "\n"


def write_summary(path: Path, summed: Summed) -> None:
    """Write the summary. Raises: OSError."""
    write_text(path, summary_text(summed))


def _counts(verdicts: Verdicts) -> list[tuple[str, ...]]:
    return [
        (
            cell(one.label), cell(one.verdict), f"{one.counts.of(Word.PASSED):,}", f"{one.counts.of(Word.FAILED):,}",
            f"{one.counts.of(*NOT_PUT_TO_THE_TEST):,}", f"{one.counts.scenarios:,}",
        )
        for one in verdicts.tried
    ]  # fmt: skip


def _failures(summed: Summed) -> list[str]:
    every = [(one, cause) for one in summed.verdicts.tried for cause in one.causes]
    ranked = sorted(every, key=lambda pair: rank_of(*pair))
    if not ranked:
        return ["No property failed. What was not exercised has not passed."]
    new = {one.key for one in summed.since.new} if summed.since is not None else set()
    rows = [_row(one, cause, new) for one, cause in ranked]
    return [
        "### What failed, by likely cause",
        f"The worst first: {ORDER}. Known bugs, which must fail, and known failures come behind all others.",
        _table(("class", "component", "property", "implementation", "findings", "scenarios", "steps", ""), rows),
    ]


def _row(one: Tried, cause: Cause, new: Collection[Key]) -> tuple[str, ...]:
    shortest = cause.shortest
    words = ["must fail" if one.must_fail else "known"] if is_expected(one, cause) else []
    if any((one.name, found.scenario.component, found.signature) in new for found in cause.found):
        words.append("**new**")
    return (
        cell(worst_of(found.failure_class for found in cause.found)), cell(shortest.scenario.component),
        markdown_code(shortest.slug), cell(one.label),
        f"{len(cause.found):,}", f"{failed_scenarios(cause):,}", f"{len(shortest.scenario.steps):,}", ", ".join(words),
    )  # fmt: skip


def _since(since: Since) -> list[str]:
    lines = [*(f"new: {one}" for one in since.new), *(f"gone: {one}" for one in since.gone)]
    lines += [f"no longer exercised: {one}" for one in since.no_more]
    listed = "\n".join(f"- {cell(one)}" for one in lines[:MOST])
    left = f"\n- and {len(lines) - MOST:,} more, on the page" if len(lines) > MOST else ""
    return [f"### Since {markdown_code(since.where)}", f"{cell(since.in_words)}.", *([listed + left] if lines else [])]


def _differences(apart: Differences | None) -> list[str]:
    if apart is None or not apart.legal:
        return []
    rows = [
        (
            cell(one.component), markdown_code(one.operation), cell(one.field), cell(one.implementation),
            f"{one.count:,}", f"{len(one.steps):,}",
        )
        for one in apart.legal
    ]  # fmt: skip
    return [
        f"### Where implementations differ from {cell(apart.baseline)}",
        f"{counted(len(rows), 'difference')}. No violations: either result may be right.",
        _table(("component", "operation", "what differs", "implementation", "scenarios", "steps"), rows),
    ]


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    text = table(head, rows[:MOST])
    return text if len(rows) <= MOST else f"{text}\n\nAnd {len(rows) - MOST:,} more, on the page."
