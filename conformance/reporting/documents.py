"""The results as JSON documents. Their names and meanings do not change, since other programs read them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import median, median_low
from typing import Any

import msgspec

from conformance.components import COMPONENTS
from conformance.driver import Component, Kind, Level, Property
from conformance.engines import Check, Found, Replay
from conformance.engines.matrix import Line
from conformance.engines.operators import OperatorMutant
from conformance.ports import Implementation, KnownBug, offered_components
from conformance.reporting.exercise import gaps_document, holes_document
from conformance.reporting.specification import specification_reference
from conformance.reporting.words import value_in_words
from conformance.scenarios import Entry, History, Scenario, encode_scenario
from conformance.scenarios.codec import encode_entries

DOCUMENT_SCHEMA = 1
"""The version of what `--json` writes; scenarios in it have a version of their own."""
Document = dict[str, Any]
"""A value that JSON can represent."""


@dataclass(frozen=True, slots=True)
class BugRow:
    """A known bug, and the effort to find it. With several seeds, the numbers are medians."""

    id: str
    ticket: str
    component: str
    killed: bool
    property: str
    """The property that must notice the bug."""
    found_property: str | None
    """The property that noticed it; None if no seed found it."""
    scenarios: int
    cpu_seconds: float
    minimal_steps: int | None
    optimal_steps: int | None
    """The fewest steps that show the bug in `minimal_config`: every scenario of that configuration with fewer steps was
    judged. None if exploration ended before it found that out."""
    summary: str
    change: str = ""
    """The change of the reference, as a diff."""
    seeds: int = 1
    survived: int = 0
    """The number of seeds with which the bug was not found."""
    worst_scenarios: int | None = None
    worst_cpu_seconds: float | None = None
    reduction_cpu_seconds: float | None = None
    worst_minimal_steps: int | None = None
    normal_forms: int = 0
    """The number of different minimal scenarios over all seeds."""
    reduced: int = 0
    """With how many seeds what was found was reduced."""
    noticed: Mapping[str, int] = field(default_factory=dict)
    """The properties that failed, each with the number of seeds with which it did."""
    confirmed: bool | None = None
    """Whether the minimal scenario fails in a fresh process; None if that was not tried."""
    drain_steps: int | None = None
    """The number of steps of the drain that follow the `minimal_steps`, up to the failure."""
    optimal_at_least: int | None = None
    """In `minimal_config`, every scenario with fewer steps was judged and does not show the bug."""
    minimal_config: Mapping[str, Any] | None = None
    """The configuration of the shortest minimal scenario, in which exploration looked for a shorter one."""
    found_with: str = ""
    """The digest of the code and of the settings that this depends on; empty if nobody can say."""


def bug_row(bug: KnownBug, line: Line, found_with: str = "") -> BugRow:
    """Make a row from the searches with all seeds. A bug that one search did not find has survived."""
    kills = line.kills
    sizes = [(len(one.shortest.scenario.steps), one.drain_steps) for one in kills if one.shortest is not None]
    minimal_steps, drain_steps = median_low(sizes) if sizes else (None, None)
    seconds = [one.cpu_seconds for one in kills]
    reductions = [one.reduction_seconds for one in kills if one.shortest is not None]
    noticed = Counter(slug for one in kills for slug in one.noticed)
    return BugRow(
        id=bug.id,
        ticket=bug.ticket,
        component=bug.component,
        killed=all(one.killed for one in kills),
        property=bug.property,
        found_property=bug.property if any(one.killed for one in kills) else None,
        scenarios=median_low(one.scenarios for one in kills),
        cpu_seconds=round(median(seconds), 3),
        minimal_steps=minimal_steps,
        optimal_steps=None if line.optimum is None else line.optimum.steps,
        summary=bug.summary,
        change=bug.change,
        seeds=len(kills),
        survived=sum(not one.killed for one in kills),
        worst_scenarios=max(one.scenarios for one in kills),
        worst_cpu_seconds=round(max(seconds), 3),
        reduction_cpu_seconds=round(median(reductions), 3) if reductions else None,
        worst_minimal_steps=max(sizes)[0] if sizes else None,
        normal_forms=len(line.forms),
        reduced=len(sizes),
        noticed=dict(sorted(noticed.items())),
        confirmed=None if line.opinion is None else line.opinion.confirms,
        drain_steps=drain_steps,
        optimal_at_least=None if line.optimum is None else line.optimum.at_least,
        minimal_config=None if line.shortest_form is None else msgspec.to_builtins(line.shortest_form.config),
        found_with=found_with,
    )


def with_words_of_bug(row: BugRow, bug: KnownBug) -> BugRow:
    """Return an earlier row with what is said of the bug today."""
    return replace(row, ticket=bug.ticket, summary=bug.summary)


@dataclass(frozen=True, slots=True)
class ImplementationRow:
    """A registered implementation, or why it cannot be used here."""

    name: str
    version: str = ""
    components: tuple[str, ...] = ()
    capabilities: tuple[str, ...] = ()
    reason: str = ""
    """Why it cannot be used; empty if it can."""

    @property
    def usable(self) -> bool:
        """Whether it can be used here."""
        return not self.reason


def implementation_row(name: str, implementation: Implementation) -> ImplementationRow:
    """Make the row of an implementation that can be used. `name` is the name by which it was found."""
    components = tuple(sorted(offered_components(implementation)))
    capabilities = tuple(sorted(one.value for one in implementation.capabilities))
    return ImplementationRow(name, implementation.version, components, capabilities)


def unusable_row(name: str, reason: str) -> ImplementationRow:
    """Make the row of an implementation that cannot be used, with the reason."""
    return ImplementationRow(name, reason=reason or "no reason is known")


def check_document(
    seed: int | str, scenarios: int, checks_by_implementation: Iterable[tuple[Implementation, Sequence[Check]]]
) -> Document:
    """What a check found. `scenarios`: how many were asked for, per implementation and component."""
    implementations = [(one, list(checks)) for one, checks in checks_by_implementation]
    return {
        "schema": DOCUMENT_SCHEMA,
        "seed": seed,
        "scenarios": scenarios,
        "steps": sum(check.tally.steps for _, checks in implementations for check in checks),
        "implementations": [
            {
                "name": one.name,
                "version": one.version,
                "components": [check.program.component.name for check in checks],
                "ran": {check.program.component.name: check.tally.scenarios for check in checks},
                "properties": [row for check in checks for row in _judged(check)],
                "findings": [_finding(found) for check in checks for found in check.found],
                "gaps": [row for check in checks for row in gaps_document(check)],
                "holes": [row for check in checks for row in holes_document(check)],
            }
            for one, checks in implementations
        ],
    }


def _judged(check: Check) -> list[Document]:
    return [
        {
            "slug": judged.slug,
            "component": judged.component,
            "level": judged.level.value,
            "kind": judged.kind.value,
            "verdict": check.verdict(judged).value,
            "scenarios": check.tally.exercised.get(judged.slug, 0),
            "cases": check.tally.judged(judged.slug),
            "unsure": check.tally.unsure.get(judged.slug, 0),
            "minimal_steps": min(
                (len(found.scenario.steps) for found in check.found if found.slug == judged.slug), default=None
            ),
        }
        for judged in check.program.component.properties
    ]


def _finding(found: Found) -> Document:
    return {
        "property": found.slug,
        "class": found.failure_class,
        "operation": found.signature[2],
        "component": found.scenario.component,
        "steps": len(found.scenario.steps),
        "owed": found.owed,
        "observed": found.observed,
        "count": found.count,
        "first": found.first,
        "reduced": found.reduced,
        "unclaimed": [one.value for one in found.unclaimed],
        "scenario": scenario_document(found.scenario),
    }


def scenario_document(scenario: Scenario) -> Document:
    """Return the content of a scenario file as a dictionary."""
    document: Document = json.loads(encode_scenario(scenario))
    return document


def replay_document(replay: Replay) -> Document:
    """Return the verdict and the history. `property` is the one that broke, or else that of the scenario's finding."""
    finding = replay.history.scenario.finding
    meant = finding.property if finding is not None else None
    return {
        "schema": DOCUMENT_SCHEMA,
        "verdict": replay.verdict.value,
        "property": replay.violation.property.slug if replay.violation is not None else meant,
        "reason": replay.reason,
        "history": encode_entries(encodable(replay.history).entries),
    }


def encodable(history: History) -> History:
    """Replace the results that JSON cannot represent by a description, since a report must show these results, too."""
    return History(history.scenario, tuple(_encodable(entry) for entry in history.entries))


def _encodable(entry: Entry) -> Entry:
    if entry.outcome is None:
        return entry
    try:
        json.dumps(msgspec.to_builtins(entry.outcome))
    except Exception:  # an object of the implementation may raise anything
        words = value_in_words(entry.outcome.value)
        return Entry(entry.step, msgspec.structs.replace(entry.outcome, value=words), entry.closing)
    return entry


def bugs_document(rows: Iterable[BugRow], operators: Sequence[OperatorMutant] = ()) -> Document:
    """Return the kill matrix, and the operator mutants if there are any."""
    document: Document = {"schema": DOCUMENT_SCHEMA, "bugs": [msgspec.to_builtins(row) for row in rows]}
    if operators:
        document["operators"] = [msgspec.to_builtins(one) for one in operators]
    return document


def properties_document(components: Iterable[Component] = COMPONENTS.values()) -> Document:
    """The catalogue of properties, of all components or of these."""
    return {
        "schema": DOCUMENT_SCHEMA,
        "properties": [
            {
                "slug": one.slug,
                "component": one.component,
                "statement": one.statement,
                "kind": one.kind.value,
                "level": one.level.value,
                "invariant": one.invariant,
                "specification": specification_reference(one),
                "tickets": list(one.tickets),
                "needs": sorted(need.value for need in one.needs),
            }
            for component in components
            for one in component.properties
        ],
    }


def implementations_document(rows: Iterable[ImplementationRow]) -> Document:
    """The registered implementations."""
    return {
        "schema": DOCUMENT_SCHEMA,
        "implementations": [{**msgspec.to_builtins(row), "usable": row.usable} for row in rows],
    }


def unguarded_properties(bugs: Iterable[KnownBug], components: Iterable[Component] = COMPONENTS.values()) -> list[str]:
    """Return the properties that no known bug must break, as "slug (component)". Nothing shows that they can fail.

    Goals and untestable properties are left out, since they never fail.
    """
    guarded = {(bug.component, bug.property) for bug in bugs}

    def testable(one: Property) -> bool:
        return one.kind is not Kind.SOMETIMES and one.level is not Level.UNTESTABLE

    return [
        f"{one.slug} ({component.name})"
        for component in components
        for one in component.properties
        if testable(one) and (component.name, one.slug) not in guarded
    ]
