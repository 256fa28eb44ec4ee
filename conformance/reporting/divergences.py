"""Shows divergences as a table, as data and as Markdown. They are not failures: either result may be right."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from rich.table import Table
from rich.text import Text

from conformance.driver import Component
from conformance.engines import Check, Comparison, Divergence
from conformance.ports import Outcome
from conformance.reporting.counts import counted
from conformance.reporting.documents import Document, encodable, scenario_document
from conformance.reporting.looks import Slug, simple_table
from conformance.reporting.markdown import cell, table
from conformance.reporting.story import SEPARATOR
from conformance.reporting.verdicts import Remark
from conformance.reporting.words import outcome_in_words, plain, signals_in_words, step_in_words
from conformance.scenarios import Entry, History, Scenario
from conformance.scenarios.codec import encode_entries
from conformance.system.text import markdown_block, markdown_code


def compared(checks: Iterable[Check]) -> list[tuple[Check, Comparison]]:
    """The checks that were compared with another implementation."""
    return [(check, check.comparison) for check in checks if check.comparison is not None]


# ---- for a terminal --------------------------------------------------------------------------------------------------
def divergence_tables(checks: Iterable[Check]) -> list[Table]:
    """Return one table of the divergences in which neither side breaks a property, or no table if there are none."""
    rows = [(check, one) for check, comparison in compared(checks) for one in comparison.divergences]
    if not rows:
        return []
    shown = simple_table(
        f"Divergences: {len(rows)}",
        "No violations: either result may be right. seen: in how many scenarios; steps: of the shortest example.",
    )
    shown.add_column("implementation", ratio=2)
    shown.add_column("component, operation", ratio=2)
    shown.add_column("what differs", ratio=3)
    shown.add_column("seen", justify="right")
    shown.add_column("steps", justify="right")
    for check, one in rows:
        program = check.program
        where = Slug(program.component.name, one.group.operation)
        differs = Text(what_differs(one))
        shown.add_row(Slug(program.implementation.name), where, differs, f"{one.count:,}", str(len(one.scenario.steps)))
    return [shown]


def divergence_remarks(checks: Sequence[Check]) -> list[Remark]:
    """Return one remark on all divergences, and a sentence for each implementation that was compared."""
    rows = [(check, one) for check, comparison in compared(checks) for one in comparison.divergences]
    lines = tuple(
        f"divergence {check.program.component.name} {one.group.operation} {check.program.implementation.name}: "
        f"{what_differs(one)} ({counted(one.count, 'scenario')}, {counted(len(one.scenario.steps), 'step')})"
        for check, one in rows
    )
    told = [Remark(line) for line in divergence_lines(checks)]
    if not rows:
        return told
    (shown,) = divergence_tables(checks)
    return [
        Remark(f"{counted(len(rows), 'divergence')}. No violations: either result may be right.", lines, shown, 4),
        *told,
    ]


def divergence_lines(checks: Iterable[Check]) -> list[str]:
    """Say for each implementation how many scenarios were compared, how many diverge, and what was not compared."""
    by_name: dict[str, list[tuple[Check, Comparison]]] = {}
    for check, comparison in compared(checks):
        by_name.setdefault(check.program.implementation.name, []).append((check, comparison))
    return [
        f"{name}: {line}"
        for name, pairs in by_name.items()
        for line in (
            comparison_in_words([comparison for _, comparison in pairs]),
            *(f"{check.program.component.name}: {_reason(one)}" for check, one in pairs if one.reason),
        )
    ]


def comparison_in_words(comparisons: Sequence[Comparison]) -> str:
    """Say how many scenarios were compared with one baseline, and how many diverge."""
    free = sum(one.count for comparison in comparisons for one in comparison.divergences)
    bound = sum(one.count for comparison in comparisons for one in comparison.at_violations)
    scenarios = sum(comparison.compared for comparison in comparisons)
    words = f"{scenarios:,} scenarios compared with {comparisons[0].against}, {free:,} diverge"
    return f"{words}, and {bound:,} more in which a property is broken." if bound else f"{words}."


def _reason(comparison: Comparison) -> str:
    return plain(f"{'no more' if comparison.compared else 'nothing'} was compared: {comparison.reason}.")


def what_differs(one: Divergence) -> str:
    """The field and the kinds of both sides, the baseline's first."""
    left, right = one.group.kinds
    return f"{one.group.field}: {left} / {right}"


# ---- as data ---------------------------------------------------------------------------------------------------------
def divergences_document(against: str, checks: Iterable[Check]) -> Document:
    """Return the value of the key `divergences` in the document of a check. Only `--against` writes this key.

    `against`: the name of the baseline. `comparisons`: one per implementation and component, with `implementation`,
    `version`, `component`, `compared` (scenarios that were run on both sides), `reason` (why not all scenarios were
    compared; null if all were) and `groups`. Of each group: `operation` (of the baseline), `field` (`value`, `signals`,
    `error` or `enabled`), `kinds` (of what differs, in words: `against`, `implementation`), `broken` (the slug of the
    property that either side breaks in these scenarios, or null), `count` (scenarios), `steps`, `scenario` (as its file
    has it), `at` (index of the step that differs; from `steps` on: in the fair drain), `step`, and `outcomes` of both
    sides at that step, or null where it was not enabled or the run over.
    """
    return {
        "against": against,
        "comparisons": [
            {
                "implementation": check.program.implementation.name,
                "version": check.program.implementation.version,
                "component": check.program.component.name,
                "compared": comparison.compared,
                "reason": comparison.reason or None,
                "groups": [_group(one) for one in (*comparison.divergences, *comparison.at_violations)],
            }
            for check, comparison in compared(checks)
        ],
    }


def _group(one: Divergence) -> Document:
    group = one.group
    return {
        "operation": group.operation,
        "field": group.field,
        "kinds": _sides(*group.kinds),
        "broken": _sides(group.broken_by_baseline or None, group.broken or None),
        "count": one.count,
        "steps": len(one.scenario.steps),
        "scenario": scenario_document(one.scenario),
        "at": one.at,
        "step": msgspec.to_builtins(one.step),
        "outcomes": _sides(*(_outcome(one, outcome) for outcome in (one.baseline, one.other))),
    }


def _sides(baseline: Any, other: Any) -> Document:
    return {"against": baseline, "implementation": other}


def _outcome(one: Divergence, outcome: Outcome | None) -> Document | None:
    if outcome is None:
        return None
    (entry,) = encode_entries(encodable(History(one.scenario, (Entry(one.step, outcome),))).entries)
    found: Document = entry["outcome"]
    return found


# ---- as Markdown -----------------------------------------------------------------------------------------------------
def divergences_markdown(name: str, checks: Sequence[Check]) -> str:
    """Return the divergences of one implementation: counts, a table per component, and the examples."""
    parts = []
    for check, comparison in compared(checks):
        component = check.program.component
        parts.append(f"**{cell(name)}, {component.name}**: {cell(_told_of(comparison))}")
        if comparison.divergences:
            head = ("operation", "what differs", cell(comparison.against), cell(name), "scenarios", "shortest")
            rows = [
                (
                    markdown_code(one.group.operation),
                    cell(one.group.field),
                    *map(cell, one.group.kinds),
                    f"{one.count:,}",
                    _length(one),
                )
                for one in comparison.divergences
            ]
            parts.append(table(head, rows))
            parts += [_example(component, name, comparison.against, one) for one in comparison.divergences]
        if comparison.at_violations:
            parts.append("Divergences in scenarios in which a property is broken. Only the violation counts:")
            head = ("operation", "what differs", cell(comparison.against), cell(name), "scenarios", "broken property")
            parts.append(table(head, [_bound(comparison.against, name, one) for one in comparison.at_violations]))
    return "\n\n".join(parts)


def _told_of(comparison: Comparison) -> str:
    compared = [comparison_in_words([comparison])] if comparison.compared or not comparison.reason else []
    return " ".join((*compared, *([_reason(comparison)] if comparison.reason else [])))


def _bound(against: str, name: str, one: Divergence) -> tuple[str, ...]:
    group = one.group
    sides = (group.broken_by_baseline, against), (group.broken, name)
    broken = ", ".join(f"{markdown_code(slug)} by {cell(who)}" for slug, who in sides if slug)
    return markdown_code(group.operation), cell(group.field), *map(cell, group.kinds), f"{one.count:,}", broken


def _length(one: Divergence) -> str:
    count = len(one.scenario.steps)
    return f"{count} step{'' if count == 1 else 's'}{' and the drain' if one.in_drain else ''}"


def _example(component: Component, name: str, against: str, one: Divergence) -> str:
    """The steps of the shortest example, and both outcomes."""
    where = "in the fair drain" if one.in_drain else f"at step {one.at + 1}"
    step = markdown_code(step_in_words(one.step, component))
    sides = [
        (cell(who), cell(_told(component, one, outcome)))
        for who, outcome in ((against, one.baseline), (name, one.other))
    ]
    return "\n\n".join(
        (
            f"Shortest example of {markdown_code(one.group.operation)}, {cell(what_differs(one))}, {where} ({step}); "
            f"configuration {markdown_code(config_text(one.scenario))}:",
            steps_text(one.scenario),
            table(("", f"result of {step}"), sides),
        )
    )


def _told(component: Component, one: Divergence, outcome: Outcome | None) -> str:
    if outcome is None:
        return "the step is not enabled, or the run is over"
    words = outcome_in_words(outcome, component.step(one.step[0]))
    signals = SEPARATOR.join(signals_in_words(component.shown(outcome.signals)))
    return f"{words}; {f'signals: {signals}' if signals else 'no signal'}"


def steps_text(scenario: Scenario) -> str:
    """The steps of a scenario as JSON, one per line, in a code block."""
    if not scenario.steps:
        return "The scenario has no steps: making a port and draining the run is enough to show it."
    lines = [json.dumps(msgspec.to_builtins(step)) for step in scenario.steps]
    return markdown_block("\n".join(lines), "json")


def config_text(scenario: Scenario) -> str:
    """The configuration of a scenario as JSON on one line."""
    return json.dumps(msgspec.to_builtins(scenario.config), sort_keys=True)
