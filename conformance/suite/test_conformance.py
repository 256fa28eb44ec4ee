"""Tests every property and every relation of every component on every implementation that was named."""

from __future__ import annotations

import shlex
from typing import Any

import pytest

from conformance.driver import ANSWERS, Verdict
from conformance.engines.check import Found
from conformance.engines.known_failures import KnownFailure
from conformance.engines.replay import replay
from conformance.reporting.bug_report import report_folder_name
from conformance.reporting.claims import idle_in_words
from conformance.reporting.conclusion import report_violation
from conformance.reporting.story import tell
from conformance.suite.run import BROKEN, TESTED, Case, ConformancePlugin, Trial
from conformance.suite.searches import Part
from conformance.suite.telling import relation_told, steps_told
from conformance.system.text import neutral_line, neutral_lines
from conformance.system.writing import NotWritten


def _plugin(config: pytest.Config) -> ConformancePlugin:
    plugin = config.pluginmanager.get_plugin("checkpoint-conformance-run")
    assert isinstance(plugin, ConformancePlugin)
    return plugin


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make one test per part of a search, one per property, one per relation, and one per known failure."""
    plugin = _plugin(metafunc.config)
    if "part" in metafunc.fixturenames:
        parts = [pytest.param(one, marks=pytest.mark.xdist_group(str(one)), id=str(one)) for one in plugin.searches()]
        metafunc.parametrize("part", parts)
    if "case" in metafunc.fixturenames:
        cases = [
            pytest.param(one, marks=pytest.mark.xdist_group(f"{one.implementation}-{one.component}"), id=str(one))
            for one in plugin.cases()
        ]
        metafunc.parametrize("case", cases)
    if "trial" in metafunc.fixturenames:
        trials = [pytest.param(one, marks=pytest.mark.xdist_group(str(one)), id=str(one)) for one in plugin.trials()]
        metafunc.parametrize("trial", trials)
    if "entry" in metafunc.fixturenames:
        entries = [
            (name, entry)
            for name, components in plugin.components.items()
            for entry in plugin.entries
            if any(entry.concerns(name, component) for component in components)
        ]
        metafunc.parametrize("entry", entries, ids=[f"{name}-{entry.property}" for name, entry in entries])


@pytest.fixture
def conformance(request: pytest.FixtureRequest) -> ConformancePlugin:
    """The run that this test is part of."""
    return _plugin(request.config)


def test_search(part: Part, conformance: ConformancePlugin) -> None:
    """A part of the search was run. What it has found is reported by the tests of properties, once for all parts."""
    conformance.search(part)


def test_property(case: Case, conformance: ConformancePlugin, record_property: Any) -> None:
    """The scenarios of all parts of the search put the property to the test, and the property held.

    One that every operation exercises fails if nothing else was put to the test: a run of skipped tests looks well.
    """
    name, component, slug = case.implementation, case.component, case.slug
    check = conformance.check(name, component)
    judged = next(one for one in check.program.component.properties if one.slug == slug)
    found = [one for one in check.found if one.slug == slug]
    now = conformance.standing(name, component)
    news = [one for one in found if now.entry(one) is None]
    record_property(TESTED, [name, component, slug])
    if news:
        pytest.fail("\n\n".join(_told(conformance, name, one) for one in news), pytrace=False)
    entry = now.entry(found[0]) if found else None
    if entry is not None:
        pytest.xfail(neutral_line(f"{entry.ticket}: {entry.reason}"))
    verdict = check.verdict(judged)
    if verdict == Verdict.NOT_APPLICABLE:
        needs = ", ".join(sorted(judged.needs - check.program.capabilities))
        pytest.skip(neutral_line(f"not applicable: needs {needs}"))
    if slug == ANSWERS and check.idle:
        pytest.fail(neutral_line(idle_in_words(check)), pytrace=False)
    if verdict != Verdict.PASSED:
        pytest.skip(neutral_line(f"{verdict} in {check.tally.scenarios:,} scenarios"))


def test_relation(trial: Trial, conformance: ConformancePlugin, record_property: Any) -> None:
    """What must change nothing changed nothing in any example that Hypothesis drew."""
    missing = conformance.missing(trial)
    if missing:
        pytest.skip(neutral_line(f"not applicable: needs {', '.join(missing)}"))
    why = conformance.attempt(trial)
    if why is not None:
        record_property(BROKEN, [trial.implementation, trial.relation.component, trial.relation.slug])
        pytest.fail(neutral_lines(relation_told(trial.relation, why)), pytrace=False)


def test_known_failure(entry: tuple[str, KnownFailure], conformance: ConformancePlugin) -> None:
    """A known failure still fails as it is recorded."""
    name, failure = entry
    now = conformance.standing(name, failure.component)
    if failure in now.inapplicable:
        pytest.skip(neutral_line(f"not applicable: {name} cannot show what {failure.ticket} recorded"))
    if failure in now.fixed:
        pytest.fail(
            neutral_line(
                f"{failure.property} no longer fails in the scenario of this entry ({failure.ticket}): remove the entry"
            ),
            pytrace=False,
        )


def _told(conformance: ConformancePlugin, name: str, found: Found) -> str:
    """Write a bug report, and return the message: what failed, at which step, and the command that replays it."""
    implementation = conformance.implementations[name]
    unwritten = []
    try:
        report_violation(conformance.reports, name, found, implementation, conformance.assumed)
    except NotWritten as error:  # what was found is reported all the same
        unwritten = [f"There is no bug report: {error}"]
    folder = conformance.reports / report_folder_name(name, found)
    story = tell(replay(found.scenario, implementation, conformance.assumed), None)
    assumed = "".join(f" --assume {one.value}" for one in sorted(conformance.assumed))
    replaying = f"conformance replay {shlex.quote(str(folder / 'scenario.json'))} --implementation {shlex.quote(name)}"
    return neutral_lines(
        (
            f"{found.scenario.component}: {found.slug} ({found.failure_class})",
            f"expected: {found.owed}",
            f"observed: {found.observed}",
            *steps_told(story),
            f"{replaying}{assumed}",
            *unwritten,
        )
    )
