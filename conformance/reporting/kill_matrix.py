"""Writes the kill matrix as a Markdown page: which known bugs the suite finds, and with how much effort."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import mean, median

from conformance.engines.operators import OperatorMutant
from conformance.reporting.documents import BugRow
from conformance.reporting.markdown import cell, table
from conformance.reporting.words import plain
from conformance.system.text import html, markdown_block, markdown_code


def matrix_text(
    rows: Sequence[BugRow],
    operators: Sequence[OperatorMutant] = (),
    reasons: Mapping[str, str] | None = None,
    remarks: Sequence[str] = (),
) -> str:
    """Return the page. `reasons` says, by the name of an operator mutant, why no property can notice it.

    `remarks` are sentences that a reader must know before all others, as that the search was interrupted.
    """
    sections = ["# Kill matrix", *(f"**{cell(one)}**" for one in remarks), _summary(rows)]
    for component in dict.fromkeys(row.component for row in rows):
        mine = [row for row in rows if row.component == component]
        sections += [f"## {cell(component)}", _bugs(mine), *_changes(mine)]
    if operators:
        sections += ["## Operator mutants of the reference", _operators(operators, reasons or {})]
    return "\n\n".join(sections) + "\n"


def _summary(rows: Sequence[BugRow]) -> str:
    seeds = max((row.seeds for row in rows), default=0)
    killed = [row for row in rows if row.killed]
    lines = [
        f"{len(killed)} of {len(rows)} known bugs were found with each of {seeds} seed{'s' * (seeds != 1)}.",
    ]
    if killed:
        lines.append(
            f"Scenarios until a bug was found, median over the seeds: {median(row.scenarios for row in killed):g} for "
            f"the median bug, {max(row.scenarios for row in killed):,} for the worst bug. With the worst seed, the "
            f"worst bug needs {max(row.worst_scenarios or 0 for row in killed):,}."
        )
        lines += [_seconds(killed), *_optima(killed)]
        several = [row for row in killed if row.reduced > 1]
        if several:
            single = sum(row.normal_forms == 1 for row in several)
            lines.append(
                f"Bugs with the same minimal scenario for all seeds: {single} of {len(several)} "
                f"({100 * single / len(several):.0f} %)."
            )
        unconfirmed = [row.id for row in killed if row.confirmed is False]
        if any(row.confirmed is not None for row in killed):
            lines.append(
                f"The minimal scenarios of these do not fail in a fresh process: {', '.join(map(cell, unconfirmed))}."
                if unconfirmed
                else "Every minimal scenario fails in a fresh process too."
            )
    survivors = [row for row in rows if not row.killed]
    if survivors:
        lines.append("These bugs survived, so each is a hole in the suite:")
    text = "\n".join(f"- {line}" for line in lines)
    return text + "".join(
        f"\n  - {cell(row.id)} ({row.survived} of {row.seeds} seeds): {cell(row.summary)}" for row in survivors
    )


def _seconds(killed: Sequence[BugRow]) -> str:
    """Say how long the searches took, and the reductions if there were any."""
    middle, most = median(row.cpu_seconds for row in killed), max(row.worst_cpu_seconds or 0 for row in killed)
    reductions = [row.reduction_cpu_seconds for row in killed if row.reduction_cpu_seconds is not None]
    some = f"{max(row.reduced for row in killed)} of the seeds"
    if not reductions:
        return f"CPU seconds: {middle:.2f} for the median bug, {most:.1f} at most. Nothing was reduced."
    if any(row.reduced < row.seeds for row in killed):
        return (
            f"CPU seconds: {middle:.2f} for the median bug, {most:.1f} at most. Only what {some} found was reduced, in "
            f"{median(reductions):.2f} for the median bug."
        )
    return (
        f"CPU seconds, with the reduction: {middle:.2f} for the median bug, {most:.1f} at most. The reduction alone "
        f"takes {median(reductions):.2f} for the median bug."
    )


def _optima(killed: Sequence[BugRow]) -> list[str]:
    """Say how short the minimal scenarios are, compared with the shortest ones of their configurations."""
    asked = [row for row in killed if row.optimal_at_least is not None and row.minimal_steps is not None]
    if not asked:
        return []
    known = [(row.minimal_steps, row.optimal_steps) for row in asked if row.optimal_steps is not None]
    ratios = [minimal / optimal if optimal else 1.0 for minimal, optimal in known if minimal is not None]
    lines = [
        "*proved*: exploration judged every scenario with fewer steps in the configuration of the minimal scenario, "
        "with the same interleaving. Only their length was bounded: every step could occur as often as it is possible, "
        "with all its operands. Another configuration may need fewer steps.",
        f"The fewest steps in this sense are known for {len(known)} of {len(asked)} bugs. The minimal scenario has as "
        f"few for {ratios.count(1.0)} of them"
        + (
            f"; it has {mean(ratios):.3f} times as many on average, {max(ratios):.2f} times at most." if ratios else "."
        ),
    ]
    if len(known) < len(asked):
        lines.append(
            "For the others, exploration ended before it had judged all shorter scenarios. The table says how many "
            "steps are needed at least."
        )
    return lines


def steps_in_words(row: BugRow) -> str:
    """Return the steps of the minimal scenario, those of the drain, and what exploration says about them."""
    if row.minimal_steps is None:
        return ""
    words = f"{row.minimal_steps} + {row.drain_steps} of the drain" if row.drain_steps else f"{row.minimal_steps}"
    if row.minimal_steps == 0 or row.optimal_at_least is None:
        return words
    if row.optimal_steps is None:
        return f"{words} (at least {row.optimal_at_least})"
    return f"{words} (proved)" if row.optimal_steps == row.minimal_steps else f"{words} ({row.optimal_steps} proved)"


def _bugs(rows: Iterable[BugRow]) -> str:
    head = ("bug", "ticket", "what is wrong", "noticed by", "also", "scenarios", "cpu s", "steps", "forms")
    return table(head, [_bug(row) for row in rows])


def _changes(rows: Iterable[BugRow]) -> list[str]:
    """Return the change of the reference by each bug, as a folded diff."""
    return [
        f"<details><summary>{html(row.id)}: {html(plain(row.summary))}</summary>\n\n"
        f"{markdown_block(row.change, 'diff')}\n\n</details>"
        for row in rows
        if row.change
    ]


def _bug(row: BugRow) -> list[str]:
    often = sorted(row.noticed.items(), key=lambda one: -one[1])
    others = ", ".join(f"{slug} ({count})" for slug, count in often if slug != row.property)
    noticed = markdown_code(row.property) if row.killed else f"**SURVIVED**: {markdown_code(row.property)}"
    return [
        cell(row.id), cell(row.ticket), cell(row.summary), noticed, cell(others), f"{row.scenarios:,}",
        f"{row.cpu_seconds:.2f}", steps_in_words(row), str(row.normal_forms or ""),
    ]  # fmt: skip


def _operators(operators: Sequence[OperatorMutant], reasons: Mapping[str, str]) -> str:
    survivors = [one for one in operators if not one.killed]
    killed = len(operators) - len(survivors)
    explained = [one for one in survivors if one.name in reasons]
    holes = [one for one in survivors if one.name not in reasons]
    text = (
        f"Each mutant changes one operator, constant or statement of the reference. {killed} of {len(operators)} were "
        f"noticed, {len(explained)} cannot be noticed for the reasons below, and {len(holes)} are open."
    )
    for title, some in (("Cannot be noticed", explained), ("Open", holes)):
        if some:
            rows = [(markdown_code(one.name), str(one.line), cell(reasons.get(one.name, ""))) for one in some]
            text += f"\n\n### {title}\n\n" + table(("change", "line", "why"), rows)
    return text
