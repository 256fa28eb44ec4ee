"""The figures of runs as Markdown, and the document that they are part of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import median

from conformance.bridges.flink.job.campaign import Result
from conformance.bridges.flink.job.judge import Kind
from conformance.bridges.flink.job.table import not_exercised
from conformance.scenarios import read_text

BEGIN = "<!-- figures: begin -->"
END = "<!-- figures: end -->"
_NEW_DOCUMENT = f"# The coordinator protocol in whole jobs\n\n{BEGIN}\n{END}\n"


def write_report(path: Path, figures: str) -> None:
    """Write the figures between the two marks of a document, which is made if there is none. The rest of it stays.

    Raises: ValueError if the document has no such marks.
    """
    text = read_text(path) if path.exists() else _NEW_DOCUMENT
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(
            f"{path} has no lines {BEGIN} and {END} for the figures to go between. Add them, or remove it."
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{before}{BEGIN}\n\n{figures.strip()}\n\n{END}{after}", encoding="utf-8")


def figures(results: Sequence[Result]) -> str:
    """The tables of what was run and of what was found."""
    groups: dict[tuple[str, str], list[Result]] = {}
    for result in results:
        groups.setdefault((result.plan.name, result.release), []).append(result)
    plans = {result.plan.name: result.plan for result in results}
    parts = ["### What was run\n", *_lines(_RUN, map(_ran, groups.values()))]
    parts += ["\n### What was found\n", *_lines(_FOUND, map(_found, groups.values()))]
    parts += ["\n### The first example of each kind\n"]
    examples = [line for group in groups.values() for line in _examples(group)]
    parts += examples or ["Nothing was found."]
    parts += ["\n### What the configurations are\n"]
    parts += [f"- `{name}`: {plan.about}" for name, plan in plans.items()]
    return "\n".join(parts)


_RUN = (
    "configuration", "release", "runs", "checkpoints", "savepoints", "unaligned", "overlapping",
    "with a finished reader", "splits", "failures", "readers restored", "not exercised",
)  # fmt: skip
_FOUND = (
    "configuration", "release", "EQ-D differs", "lost at the end", "doubled at the end", "given back wrongly",
    "stalled", "other", "expired", "failed otherwise", "EQ-U differs", "checkpoint after failure, ms",
    "assignment after failure, ms",
)  # fmt: skip


def _lines(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    return [_row(head), _row(["---"] * len(head)), *map(_row, rows)]


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _ran(group: Sequence[Result]) -> list[str]:
    verdicts = [result.verdict for result in group]
    missing = Counter(told for result in group for told in not_exercised(result.config, result.verdict))
    return [
        f"`{group[0].plan.name}`",
        group[0].release,
        str(len(group)),
        *(
            str(sum(getattr(verdict, name) for verdict in verdicts))
            for name in ("checkpoints", "savepoints", "unaligned", "overlapping", "with_finished", "units")
        ),
        f"{sum(one.failures for one in verdicts)} of {sum(len(result.config.faults) for result in group)}",
        str(sum(one.restored for one in verdicts)),
        "; ".join(f"{told} ({times} of {len(group)} runs)" for told, times in missing.items()) or "-",
    ]


_OTHER = (Kind.STATE_GONE, Kind.NO_CUT, Kind.UNFINISHED)


def _found(group: Sequence[Result]) -> list[str]:
    verdicts = [result.verdict for result in group]
    kinds = Counter(finding.kind for verdict in verdicts for finding in verdict.findings)
    compared, expired = sum(one.compared for one in verdicts), sum(one.expired for one in verdicts)
    other = "; ".join(f"{kind.value}: {kinds[kind]}" for kind in _OTHER if kinds[kind])
    return [
        f"`{group[0].plan.name}`",
        group[0].release,
        f"{_strong(sum(one.differ for one in verdicts))} of {compared}",
        _strong(sum(one.lost_units for one in verdicts)),
        _strong(sum(one.doubled_units for one in verdicts)),
        _strong(kinds[Kind.GIVEN_BACK]),
        _strong(kinds[Kind.STALLED]),
        f"**{other}**" if other else "0",
        str(expired),
        str(sum(one.failed.total() for one in verdicts) - expired),
        f"{sum(one.reports_differ for one in verdicts)} of {compared}",
        _times([time for one in verdicts for time in one.checkpoint_again]),
        _times([time for one in verdicts for time in one.assigned_again]),
    ]


def _strong(number: int) -> str:
    return f"**{number}**" if number else "0"


def _times(times: Sequence[int]) -> str:
    return f"{median(times):.0f}, at most {max(times)}" if times else "-"


def _examples(group: Sequence[Result]) -> Iterable[str]:
    seen: set[tuple[Kind, bool]] = set()
    for result in group:
        for finding in result.verdict.findings:
            what = (finding.kind, finding.checkpoint is None)
            if what not in seen:
                seen.add(what)
                places = [f"seed {result.config.seed}", f"{finding.at} ms"]
                places += [f"checkpoint {finding.checkpoint}"] if finding.checkpoint is not None else []
                places += [f"subtask {finding.subtask}"] if finding.subtask is not None else []
                where = f"`{result.plan.name}` on {result.release}, {', '.join(places)}"
                yield f"- {where}: **{finding.kind.value}**, {finding.told}."
