"""Shows what the record of a job that ran elsewhere has come to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from conformance.system.text import neutral_line

if TYPE_CHECKING:  # its component is imported only by the command that needs it
    from conformance.episodes.judging import Verdict

_FIGURES = (
    ("records supplied", "supplied"), ("checkpoints completed", "completed"), ("rows committed", "committed"),
    ("rows read in the output", "row"),
)  # fmt: skip


def recorded_lines(verdict: Verdict, source: str) -> Iterator[str]:
    """Yields the verdict, what it rests on, and the first violations. `source`: the name of the file."""
    name = neutral_line(source)
    job = f"{neutral_line(verdict.job)}, " if verdict.job else ""
    yield f"{name}: {job}{verdict.lines:,} lines, {_many(verdict.lives, 'life', 'lives')}"
    yield f"  {'restores from recovery data':<30}{verdict.restores:>12,}"
    for words, kind in _FIGURES:
        yield f"  {words:<30}{verdict.kinds[kind]:>12,}"
    yield f"  {'properties put to the test':<30}{len(verdict.exercised):>12,}"
    yield from (f"    not: {slug}" for slug in verdict.not_exercised)
    if verdict.noted:
        yield from violation_lines(verdict, source)
    elif not verdict.restores:
        yield "NOT EXERCISED: the job was never restored from recovery data."
    elif not verdict.finished:
        yield "NOT EXERCISED: the last life has not finished, so nobody knows what is lost."
    else:
        yield "CONFORMS"


def violation_lines(verdict: Verdict, source: str) -> Iterator[str]:
    """Yields what was wrong, also in the lines before one that cannot be read; nothing if nothing was."""
    if not verdict.noted:
        return
    yield f"FAILED: {_many(sum(verdict.violations.values()), 'violation', 'violations')}"
    for slug, count in verdict.violations.most_common():
        yield f"  {count:>6,} {slug}"
    yield "The first ones. What comes later may follow from the first:"
    for one in verdict.noted:
        yield f"  {neutral_line(source)}, line {one.line}: {one.slug}"
        yield f"    {neutral_line(str(one.broken))}"


def _many(count: int, one: str, several: str) -> str:
    return f"{count:,} {one if count == 1 else several}"
