"""The columns of verdict tables: one implementation and component, from a check or from a campaign."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from conformance.components import COMPONENTS
from conformance.driver import Component, Level, Verdict
from conformance.engines import Check


@dataclass(frozen=True, slots=True)
class Judged:
    """The parts of a property that a row shows."""

    slug: str
    level: str
    kind: str
    statement: str


@dataclass(frozen=True, slots=True)
class Cell:
    """A verdict, the number of scenarios that put the property to the test, and the reason if none could."""

    verdict: str
    scenarios: int
    why: str = ""


@dataclass(frozen=True, slots=True)
class FindingLine:
    """One finding: a row of the table of failures."""

    property: str
    failure_class: str
    operation: str
    steps: int
    count: int
    owed: str
    observed: str


@dataclass(frozen=True, slots=True)
class Column:
    """One component of one implementation."""

    name: str
    version: str
    component: str
    scenarios: int
    steps: int
    judged: tuple[Judged, ...]
    cells: Mapping[str, Cell]
    findings: tuple[FindingLine, ...]
    interrupted: bool = False


def by_component(columns: Iterable[Column]) -> dict[str, list[Column]]:
    """Group the columns by component. Each group is one table."""
    groups: dict[str, list[Column]] = {}
    for column in columns:
        groups.setdefault(column.component, []).append(column)
    return groups


def column_of_check(check: Check) -> Column:
    """The column of a check."""
    program, tally = check.program, check.tally
    judged, cells = [], {}
    for one in program.component.properties:
        verdict = check.verdict(one)
        why = ""
        if verdict is Verdict.NOT_APPLICABLE:
            why = f"needs {', '.join(sorted(one.needs - program.capabilities))}"
        elif one.level is Level.UNTESTABLE:
            why = "untestable"
        judged.append(Judged(one.slug, one.level.value, one.kind.value, one.statement))
        cells[one.slug] = Cell(verdict.value, tally.exercised.get(one.slug, 0), why)
    findings = tuple(
        FindingLine(
            *found.signature,
            steps=len(found.scenario.steps),
            count=found.count,
            owed=found.owed,
            observed=found.observed,
        )
        for found in check.found
    )
    name, version = program.implementation.name, program.implementation.version
    component = program.component.name
    counts = tally.scenarios, tally.steps
    return Column(name, version, component, *counts, tuple(judged), cells, findings, check.interrupted)


def columns_of_result(result: Mapping[str, Any], components: Mapping[str, Component] = COMPONENTS) -> list[Column]:
    """Return the columns of a campaign's result, which a suite with other properties may have written."""
    return [
        _column(one, part, components.get(part["component"]))
        for one in result.get("implementations", ())
        for part in one.get("components", ())
    ]


def _column(implementation: Mapping[str, Any], part: Mapping[str, Any], known: Component | None) -> Column:
    component = part["component"]
    statements = {} if known is None else {one.slug: one.statement for one in known.properties}
    properties = part.get("properties", ())
    return Column(
        name=implementation["name"],
        version=implementation.get("version", ""),
        component=component,
        scenarios=part.get("scenarios", 0),
        steps=part.get("steps", 0),
        judged=tuple(
            Judged(one["slug"], one.get("level", ""), one.get("kind", ""), statements.get(one["slug"], ""))
            for one in properties
        ),
        cells={one["slug"]: Cell(one["verdict"], one.get("scenarios", 0)) for one in properties},
        findings=tuple(
            FindingLine(
                property=one["property"],
                failure_class=one["class"],
                operation=one.get("operation", ""),
                steps=one["steps"],
                count=one["count"],
                owed=one["owed"],
                observed=one["observed"],
            )
            for one in part.get("findings", ())
        ),
    )
