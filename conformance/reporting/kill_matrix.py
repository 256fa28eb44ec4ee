"""Writes the kill matrix as a Markdown page: which known bugs the suite finds, and with how much effort."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import mean, median

from conformance.engines.operators import OperatorMutant
from conformance.reporting.documents import BugRow
from conformance.reporting.markdown import cell, table


def matrix_text(
    rows: Sequence[BugRow], operators: Sequence[OperatorMutant] = (), reasons: Mapping[str, str] | None = None
) -> str:
    """Return the page. `reasons` says, by the name of an operator mutant, why no property can notice it."""
    sections = ["# Kill matrix", _summary(rows)]
    for component in dict.fromkeys(row.component for row in rows):
        mine = [row for row in rows if row.component == component]
        sections += [f"## {component}", _bugs(mine), *_changes(mine)]
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
        lines.append(
            f"CPU seconds, with the reduction: {median(row.cpu_seconds for row in killed):.2f} for the median bug, "
            f"{max(row.worst_cpu_seconds or 0 for row in killed):.1f} at most. The reduction alone takes "
            f"{median(row.reduction_cpu_seconds or 0 for row in killed):.2f} for the median bug."
        )
        known = [row for row in killed if row.optimal_steps and row.minimal_steps is not None]
        if known:
            ratios = [row.minimal_steps / row.optimal_steps for row in known if row.optimal_steps and row.minimal_steps]
            lines.append(
                "Steps of the minimal scenario, divided by the fewest steps that exploration proves possible, for the "
                f"{len(known)} bugs that show within a scope: {mean(ratios):.3f} on average, {max(ratios):.2f} at "
                "most. The ratio is below 1 if a configuration outside the scope needs fewer steps."
            )
        single = sum(row.normal_forms == 1 for row in killed)
        lines.append(
            f"Bugs with the same minimal scenario for all seeds: {single} of {len(killed)} "
            f"({100 * single / len(killed):.0f} %)."
        )
        unconfirmed = [row.id for row in killed if row.confirmed is False]
        if any(row.confirmed is not None for row in killed):
            lines.append(
                f"The minimal scenarios of these do not fail in a fresh process: {', '.join(unconfirmed)}."
                if unconfirmed
                else "Every minimal scenario fails in a fresh process too."
            )
    survivors = [row for row in rows if not row.killed]
    if survivors:
        lines.append("These bugs survived, so each is a hole in the suite:")
    text = "\n".join(f"- {line}" for line in lines)
    return text + "".join(
        f"\n  - {row.id} ({row.survived} of {row.seeds} seeds): {cell(row.summary)}" for row in survivors
    )


def _bugs(rows: Iterable[BugRow]) -> str:
    head = ("bug", "ticket", "what is wrong", "noticed by", "also", "scenarios", "cpu s", "steps", "forms")
    return table(head, [_bug(row) for row in rows])


def _changes(rows: Iterable[BugRow]) -> list[str]:
    """Return the change of the reference by each bug, as a folded diff."""
    return [
        f"<details><summary>{row.id}: {cell(row.summary)}</summary>\n\n```diff\n{row.change}\n```\n\n</details>"
        for row in rows
        if row.change
    ]


def _bug(row: BugRow) -> list[str]:
    steps = "" if row.minimal_steps is None else str(row.minimal_steps)
    if row.optimal_steps is not None:
        steps += f" ({row.optimal_steps})"
    often = sorted(row.noticed.items(), key=lambda one: -one[1])
    others = ", ".join(f"{slug} ({count})" for slug, count in often if slug != row.property)
    noticed = f"`{row.property}`" if row.killed else f"**SURVIVED**: `{row.property}`"
    return [
        row.id, row.ticket, cell(row.summary), noticed, others, f"{row.scenarios:,}", f"{row.cpu_seconds:.2f}", steps,
        str(row.normal_forms),
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
            rows = [(f"`{cell(one.name)}`", str(one.line), cell(reasons.get(one.name, ""))) for one in some]
            text += f"\n\n### {title}\n\n" + table(("change", "line", "why"), rows)
    return text
