"""What the sections of a page show: implementations, likely causes, discovery over time, exercise, all properties."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

import msgspec

from conformance.campaigns import EPISODE
from conformance.driver import Component, Components, Kind, Property
from conformance.engines import Found
from conformance.engines.causes import Cause
from conformance.engines.exercise import Exercise, can, cases_of, cells
from conformance.engines.exercise import shown as exercisable
from conformance.engines.known_failures import KnownFailure
from conformance.engines.tally import Signature, Tally
from conformance.ports import Recovery
from conformance.reporting.claims import unclaimed_in_words
from conformance.reporting.columns import Column, Judged, Word, by_component
from conformance.reporting.counts import count, counted
from conformance.reporting.episode_reports import EVIDENCE, again_command
from conformance.reporting.episodes import job_words
from conformance.reporting.exercise import NO_RECOVERY, exercise_table
from conformance.reporting.markdown import Report, ticket_address
from conformance.reporting.page_drawing import Chart, Drawing, chart_of, drawing_of
from conformance.reporting.replaying import assumed_words
from conformance.reporting.sequence import sequence_of
from conformance.reporting.severity import worst_of
from conformance.reporting.specification import rule_text, specification_reference
from conformance.reporting.story import Story, tell
from conformance.reporting.time_line import time_line_of
from conformance.reporting.time_line_drawing import TimeLineDrawing, time_line_drawing
from conformance.reporting.verdicts import Tried, Verdicts, failed_scenarios, properties_of, rank_of
from conformance.reporting.words import failure_class_in_words, plain, step_in_words, value_in_words


@dataclass(frozen=True, slots=True)
class Rule:
    """The paragraph of the specification that a property judges."""

    reference: str
    """As `gate.md#I-30`."""
    text: str


@dataclass(frozen=True, slots=True)
class Replayed:
    """How a finding shows in its shortest scenario."""

    story: Story
    drawing: Drawing | None
    """None if the scenario failed before its first step."""
    time_line: TimeLineDrawing | None
    """None if it is not of a job."""
    steps: tuple[tuple[int, str, str], ...]
    """Number, step, and what happens without it."""
    doubt: str
    """Why the finding may not be reproducible; empty if it was confirmed or not tried."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A finding."""

    anchor: str
    found: Found
    meaning: str
    """What the failure class means."""
    judged: Property | None
    rule: Rule | None
    tickets: tuple[tuple[str, str], ...]
    """Name and address; the address is empty if it is not known."""
    known: KnownFailure | None
    config: str
    steps: tuple[str, ...]
    """The steps of the scenario in words."""
    replayed: Replayed | None
    unclaimed: str
    """What is said of capabilities that the implementation seems to have; empty if nothing is."""
    folder: str
    """The folder of its bug report, beside the page; empty if there is none."""
    command: str
    files: tuple[tuple[str, str], ...]
    """What is in the folder, as words and name."""

    @property
    def where(self) -> str:
        """When it was seen, in words."""
        seen = f"seen in {counted(self.found.count, 'scenario')}"
        if self.found.first is None:
            return f"{seen}, none of them drawn by the search with a number: the corpus shows it"
        return f"{seen}, first in scenario {self.found.first:,}"


@dataclass(frozen=True, slots=True)
class Group:
    """A likely cause."""

    tried: Tried
    rank: tuple[bool, int, int]
    """Its place on the page: see `rank_of`."""
    worst: str
    """The worst class of its findings."""
    number: int
    many: int
    resembles: tuple[str, ...]
    scenarios: int
    properties: tuple[tuple[str, str], ...]
    """Component and slug."""
    shortest: Shown
    others: tuple[tuple[Shown, str], ...]
    """The other findings, each with the reason why it belongs to the cause."""

    @property
    def found(self) -> tuple[Found, ...]:
        """All its findings."""
        return self.shortest.found, *(one.found for one, _ in self.others)


@dataclass(frozen=True, slots=True)
class Matrix:
    """In which settings the properties of a component were judged."""

    component: str
    heads: list[str]
    rows: list[tuple[str, list[str]]]


@dataclass(frozen=True, slots=True)
class Table:
    """All properties of a component, with a column for each implementation."""

    component: str
    columns: tuple[Column, ...]
    rows: tuple[Judged, ...]
    failed: bool
    summary: str
    designs: Mapping[tuple[str, str], str]
    """By implementation and property, in how many cases it was judged in each recovery design, if there are several."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One component of one implementation."""

    verdict: str
    words: str
    not_exercised: tuple[tuple[str, int], ...]
    """In which recovery designs properties were never judged that are judged after steps performed there, and how many
    of them."""


@dataclass(frozen=True, slots=True)
class Overview:
    """All components of all implementations, one word and the counts for each."""

    labels: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Cell | None, ...]], ...]
    """None: the implementation does not offer the component, or was not run."""


@dataclass(frozen=True, slots=True)
class Sections:
    """Everything that a page shows below its head."""

    failed: bool
    groups: tuple[Group, ...]
    chart: Chart | None
    unnumbered: int
    """How many findings have no number of a scenario, so that the chart does not show them."""
    matrices: tuple[Matrix, ...]
    overview: Overview
    tables: tuple[Table, ...]


_FILES = (("Bug report", "report.md"), ("scenario", "scenario.json"), ("test", "test_reproduce.py"))
_EPISODE_FILES = (("Bug report", "report.md"), ("episode", "scenario.json"), ("evidence", f"{EVIDENCE}/"))
Evidence = Mapping[tuple[str, str, Signature], Report]


def sections_of(
    verdicts: Verdicts, evidence: Evidence, exercise: Mapping[tuple[str, str], Exercise],
    folder: Callable[[str, Found], str] | None,
) -> Sections:  # fmt: skip
    """Return the sections. `folder` returns the name of the folder of a finding in `evidence`; None: there is none."""
    groups = tuple(sorted(_groups(verdicts, evidence, folder), key=lambda group: group.rank))
    found = [(one.label, [each for cause in one.causes for each in cause.found]) for one in verdicts.tried]
    columns = [column for one in verdicts.tried for column in one.columns]
    numbered = [
        (label, [(one.first, f"{one.scenario.component}: {one.slug}") for one in every if one.first is not None])
        for label, every in found
    ]
    return Sections(
        failed=any(one.causes for one in verdicts.tried),
        groups=groups,
        chart=chart_of(numbered, max((column.scenarios for column in columns), default=0)),
        unnumbered=sum(one.first is None for _, every in found for one in every),
        matrices=tuple(_matrices(exercise, verdicts.components)),
        overview=_overview(verdicts, exercise),
        tables=tuple(
            _table(name, tuple(alike), _designs(name, alike, exercise, verdicts.components))
            for name, alike in by_component(columns, verdicts.components).items()
        ),
    )


# ---- likely causes ---------------------------------------------------------------------------------------------------
def _groups(verdicts: Verdicts, evidence: Evidence, folder: Callable[[str, Found], str] | None) -> Iterator[Group]:
    number = 0
    for one in verdicts.tried:
        for at, cause in enumerate(one.causes, start=1):
            shown = []
            for found in cause.found:
                number += 1
                report = evidence.get((one.name, found.scenario.component, found.signature))
                shown.append(_shown(f"finding-{number}", one, found, report, verdicts.components, folder))
            yield _group(one, at, cause, shown)


def _group(one: Tried, number: int, cause: Cause, shown: list[Shown]) -> Group:
    why = cause.why or ("",) * (len(shown) - 1)
    worst = worst_of(found.failure_class for found in cause.found)
    return Group(
        one, rank_of(one, cause), worst, number, len(one.causes), cause.resembles, failed_scenarios(cause),
        tuple(properties_of(cause)), shown[0], tuple(zip(shown[1:], why, strict=True)),
    )  # fmt: skip


def _shown(
    anchor: str, one: Tried, found: Found, report: Report | None, components: Components,
    folder: Callable[[str, Found], str] | None,
) -> Shown:  # fmt: skip
    component = components[found.scenario.component]
    judged = next((each for each in component.properties if each.slug == found.slug), None)
    is_episode = component.name == EPISODE
    place = "" if folder is None or (report is None and not is_episode) else folder(one.name, found)
    command = f"conformance replay {place}/scenario.json{assumed_words(one.name, report)}" if place else ""
    if place and is_episode:
        command = again_command(f"{place}/scenario.json", one.name)
    return Shown(
        anchor, found, failure_class_in_words(found.failure_class), judged, _rule(judged),
        tuple((ticket, ticket_address(ticket)) for ticket in (() if judged is None else judged.tickets)),
        one.standing.entry(found), _config(found),
        tuple(step_in_words(step, component) for step in found.scenario.steps),
        None if report is None else _replayed(report), unclaimed_in_words(found.unclaimed), place, command,
        _EPISODE_FILES if is_episode else _FILES,
    )  # fmt: skip


def _rule(judged: Property | None) -> Rule | None:
    if judged is None or not judged.invariant:
        return None
    text = rule_text(judged.component, judged.invariant)
    return None if text is None else Rule(specification_reference(judged), text)


def _config(found: Found) -> str:
    if found.scenario.component == EPISODE:
        return job_words(found.scenario.config)
    config: dict[str, object] = msgspec.to_builtins(found.scenario.config)
    return ", ".join(
        f"{name.replace('_', ' ')} {'none' if value is None else value_in_words(value)}"
        for name, value in config.items()
    )


def _replayed(report: Report) -> Replayed:
    story = tell(report.replay, report.reference)
    own = [one for one in story.steps if not one.in_drain]
    reasons = report.reasons if len(report.reasons) == len(own) else [""] * len(own)
    doubt = ""
    if report.replay.violation is None:
        doubt = f"It did not fail when the scenario was run again ({plain(report.replay.reason)})."
    elif report.opinion is not None and not report.opinion.confirms:
        doubt = f"In a fresh process {report.opinion.told} ({plain(report.opinion.reason)})."
    messages = sequence_of(report.replay, report.reference)
    return Replayed(
        story,
        drawing_of(messages) if messages.happenings else None,
        None if (line := time_line_of(report.replay)) is None else time_line_drawing(line),
        tuple((one.number, one.step, reason) for one, reason in zip(own, reasons, strict=True)),
        doubt,
    )


# ---- the rest --------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class _Judging:
    component: Component
    properties: tuple[Property, ...]


def _matrices(exercise: Mapping[tuple[str, str], Exercise], components: Components) -> Iterator[Matrix]:
    """Yield a table for each component. The counts of all implementations are added up in it."""
    tallies: dict[str, Tally] = {}
    for (_, where), one in exercise.items():
        tallies.setdefault(where, Tally()).merge(Tally(settings=cases_of(one), unsure=dict(one.unsure)))
    for name, component in components.items():
        tally = tallies.get(name)
        if tally is not None and tally.settings:
            yield Matrix(name, *exercise_table(_Judging(component, tuple(component.properties)), tally))


def _designs(
    component: str, columns: Iterable[Column], exercise: Mapping[tuple[str, str], Exercise], components: Components
) -> dict[tuple[str, str], str]:
    """Return in words how often each property was judged in each recovery design, by implementation and slug."""
    return {
        (column.name, slug): " · ".join(
            f"{design} {f'{count:,}' if count else Word.NOT_EXERCISED}" for design, count in by
        )
        for column in columns
        for slug, by in by_design(component, exercise.get((column.name, component)), components).items()
    }


def by_design(component: str, exercise: Exercise | None, components: Components) -> dict[str, list[tuple[str, int]]]:
    """Return for each property the recovery designs in which it can be judged and its steps were performed.

    Each has the number of cases in which it was judged there. It is empty if the component was run in one design only.
    """
    if exercise is None or component not in components:
        return {}
    tally = Tally(settings=cases_of(exercise))
    there = {one.recovery for one in tally.settings}
    designs = [one.value for one in Recovery if one.value in there]
    if len(designs) < 2:
        return {}
    program = _Judging(components[component], tuple(components[component].properties))
    found: dict[str, list[tuple[str, int]]] = {}
    for judged in exercisable(program):
        every = cells(judged, tally)
        for design in designs:
            mine = {one: cell for one, cell in every.items() if one.recovery == design}
            if mine and (any(cell.judged for cell in mine.values()) or any(can(judged, program, one) for one in mine)):
                number = sum(cell.judged for cell in mine.values())
                found.setdefault(judged.slug, []).append((NO_RECOVERY if design == "none" else design, number))
    return found


def _overview(verdicts: Verdicts, exercise: Mapping[tuple[str, str], Exercise]) -> Overview:
    columns = [column for one in verdicts.tried for column in one.columns]
    return Overview(
        tuple(one.label for one in verdicts.tried),
        tuple(
            (component, tuple(_of(component, one, exercise, verdicts.components) for one in verdicts.tried))
            for component in by_component(columns, verdicts.components)
        ),
    )


def _of(
    component: str, one: Tried, exercise: Mapping[tuple[str, str], Exercise], components: Components
) -> Cell | None:
    column = next((column for column in one.columns if column.component == component), None)
    if column is None:
        return None
    counts = count([column])
    missing: Counter[str] = Counter()
    for slug, by in by_design(component, exercise.get((one.name, component)), components).items():
        if slug in column.cells and column.cells[slug].scenarios:
            missing.update(design for design, number in by if not number)
    return Cell(counts.verdict, counts.properties_in_words.partition(": ")[2], tuple(sorted(missing.items())))


def _table(component: str, columns: tuple[Column, ...], designs: Mapping[tuple[str, str], str]) -> Table:
    rows = tuple(dict.fromkeys(one for column in columns for one in column.judged))
    words = (Word.FAILED, Word.KNOWN)
    failed = any(column.cells[one.slug].word in words for column in columns for one in column.judged)
    ranked = sorted(rows, key=lambda one: (_rank(one, columns), one.kind == Kind.SOMETIMES.value))
    summary = "; ".join(f"{column.label}: {count([column]).properties_in_words}" for column in columns)
    return Table(component, columns, tuple(ranked), failed, summary, designs)


def _rank(one: Judged, columns: tuple[Column, ...]) -> int:
    words = {column.cells[one.slug].word for column in columns if one.slug in column.cells}
    return 0 if Word.FAILED in words else 1 if Word.KNOWN in words else 2
