"""The text of a bug report: what a maintainer needs, in the order in which they ask for it."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from conformance import __version__
from conformance.driver import Property
from conformance.engines import Found, Replay
from conformance.engines.fresh import Opinion
from conformance.ports import registered_names
from conformance.reporting.diagram import sequence_diagram
from conformance.reporting.specification import rule_text, specification_reference
from conformance.reporting.story import CONTINUED, WHAT_CONTINUED_MEANS, Mark, Story, StoryStep, tell
from conformance.reporting.words import failure_class_in_words, plain

TICKETS = "https://issues.apache.org/jira/browse/"
"""Where tickets of Apache projects are, as FLINK-39018."""


@dataclass(frozen=True, slots=True)
class Report:
    """What a report is made of."""

    found: Found
    replay: Replay
    implementation: str
    """The name by which it is found again."""
    reference: Replay | None
    assume: Sequence[str]
    environment: Mapping[str, str]
    reasons: Sequence[str] = ()
    """Why each step is there, one phrase per step."""
    opinion: Opinion | None = None
    """What a fresh process says of the scenario."""


def report_text(report: Report) -> str:
    """The whole report."""
    story = tell(report.replay, report.reference)
    sections = (
        _title(report),
        _what_failed(report, story),
        _expected_and_observed(report, story),
        _scenario(report, story),
        *_why(report, story),
        f"## As a diagram\n\n```mermaid\n{sequence_diagram(report.replay, report.reference)}```",
        _property(report),
        _reproduce(report),
        "## Environment\n\n" + table(("", ""), [(name, cell(value)) for name, value in report.environment.items()]),
    )
    return "\n\n".join(sections) + "\n"


def cell(text: str) -> str:
    """A text in a Markdown table or line, shown as it is."""
    text = plain(text).replace("&", "&amp;").replace("<", "&lt;").replace("|", "\\|").replace("`", "'")
    return text.replace("*", "\\*").replace("[", "\\[").replace("]", "\\]")


def story_markdown(story: Story) -> str:
    """The steps as a Markdown table. The column that tells what is special is left out if nothing is."""
    marked = any(one.mark for one in story.steps)
    head = ("#", "who", "step", "answer", "signals", *([""] if marked else []))
    rows = []
    for one in story.steps:
        bold = "**" if one.mark is Mark.DIVERGENT else ""
        cells = [str(one.number), one.actor, _code(one), cell(one.answer), cell(one.signals)]
        rows.append([f"{bold}{text}{bold}" if text else "" for text in (*cells, *([one.remark] if marked else []))])
    return table(head, rows)


def _code(step: StoryStep) -> str:
    """A step as code, and what is not code of it behind that."""
    name, comma, remark = step.step.partition(f", {CONTINUED}")
    return f"`{name}`{comma}{remark}"


def _title(report: Report) -> str:
    found = report.found
    sentence = found.slug.replace("-", " ")
    return f"# {found.scenario.component}: “{sentence}” does not hold ({found.failure_class})"


def _what_failed(report: Report, story: Story) -> str:
    found, name = report.found, cell(report.implementation)
    if report.replay.violation is None:
        return (
            f"On **{name}** this failed in a search: {cell(found.owed)}. It did **not** fail when the scenario was run "
            f"again ({report.replay.verdict.value}: {cell(report.replay.reason)}), so the implementation does not "
            "answer alike every time."
        )
    where = "before the first step" if story.divergent is None else _place(story.divergent, story)
    broken = report.replay.violation.property
    text = f"**{name}** breaks this property {where}:\n\n> {broken.statement}"
    if broken.slug != found.slug:
        text += f"\n\nThat is `{broken.slug}`; in the search it was `{found.slug}`."
    return text


def _place(step: StoryStep, story: Story) -> str:
    if step.in_drain:
        return f"at step {step.number} ({_code(step)}), in the fair drain that ends every run"
    return f"at step {step.number} of {sum(not one.in_drain for one in story.steps)} ({_code(step)})"


def _expected_and_observed(report: Report, story: Story) -> str:
    if story.slug is None:
        return "## Expected and observed\n\nNothing to compare: see above."
    rows = [("expected", story.expected), ("observed", story.observed)]
    if story.divergent is not None:
        rows.append((f"answer to {_code(story.divergent)}", story.divergent.outcome))
    if story.reference is not None:
        rows.append(("the reference's answer", story.reference))
    text = "## Expected and observed\n\n" + table(("", ""), [(f"**{name}**", cell(text)) for name, text in rows])
    return text if story.from_the_reference is None else f"{text}\n\n{story.from_the_reference}"


def _scenario(report: Report, story: Story) -> str:
    count = report.found.count
    alike = "One scenario" if count == 1 else f"{count:,} scenarios"
    config: Any = msgspec.to_builtins(report.found.scenario.config)
    chosen = ", ".join(f"`{name}` = {_value(value)}" for name, value in config.items())
    parts = [
        "## The shortest scenario known",
        f"{alike} of the search failed like this."
        + (f" Configuration of the {report.found.scenario.component}: {chosen}." if chosen else ""),
        story_markdown(story) if story.steps else "It failed before its first step.",
    ]
    marks = {one.mark for one in story.steps} | {Mark.DRAIN for one in story.steps if one.in_drain}
    if story.has_turns:
        parts.append(f"*{CONTINUED}*: {WHAT_CONTINUED_MEANS}")
    if Mark.SKIPPED in marks:
        parts.append("*skipped*: not enabled when its turn came, and left out.")
    if Mark.DRAIN in marks:
        parts.append(
            "*drain*: not of the scenario. Every run ends like this: nothing new is fed, everything that can still "
            "happen does, and nothing owed may be left."
        )
    return "\n\n".join(parts)


def _why(report: Report, story: Story) -> list[str]:
    """Why it cannot be shorter, and whether it fails elsewhere too."""
    steps = [one for one in story.steps if not one.in_drain]
    sections = []
    if report.reasons and len(report.reasons) == len(steps):
        rows = [(str(one.number), _code(one), cell(reason)) for one, reason in zip(steps, report.reasons, strict=True)]
        sections.append("## Why each step is there\n\n" + table(("#", "step", "without it"), rows))
    if report.opinion is not None and not report.opinion.confirms:
        sections.append(
            f"**In a fresh process the scenario did not fail** ({cell(report.opinion.verdict)}: "
            f"{cell(report.opinion.reason)}). Something outlives a scenario in the implementation, or it is not "
            "deterministic."
        )
    return sections


def _value(value: Any) -> str:
    return "none" if value is None else cell(str(value))


def _property(report: Report) -> str:
    found = report.found
    judged = _judged(report)
    lines = [f"- Failure class **{found.failure_class}**: {failure_class_in_words(found.failure_class)}."]
    if judged is None:
        return "\n\n".join((f"## The property\n\n`{found.slug}`", *lines))
    binding = f"- `{judged.slug}`, {judged.kind.value}, level **{judged.level.value}**"
    lines.insert(0, f"{binding}.")
    rule = rule_text(judged.component, judged.invariant)
    if judged.invariant:
        lines.append(f"- Specification, `{specification_reference(judged)}`" + (f": {rule}" if rule else "."))
    if judged.tickets:
        lines.append(f"- Tickets: {', '.join(map(ticket_link, judged.tickets))}.")
    if judged.needs:
        needs = ", ".join(f"`{one}`" for one in sorted(judged.needs))
        claimed = "assumed for this run" if judged.needs & set(report.assume) else "which the implementation claims"
        lines.append(f"- Applies to implementations with {needs}, {claimed}.")
    return "## The property\n\n" + "\n".join(lines)


def _judged(report: Report) -> Property | None:
    properties = report.replay.component.properties
    return next((one for one in properties if one.slug == report.found.slug), None)


def ticket_link(ticket: str) -> str:
    """A ticket, as a link if it is one of an Apache project."""
    project, _, number = ticket.partition("-")
    return f"[{ticket}]({TICKETS}{ticket})" if project.isupper() and number.isdigit() else ticket


def _reproduce(report: Report) -> str:
    assumed = "".join(f" --assume {one}" for one in report.assume)
    lines = [
        "## How to reproduce",
        f"With `checkpoint-conformance` {__version__} installed, in this folder:",
        f"```sh\nconformance replay scenario.json --implementation {shlex.quote(report.implementation)}{assumed}\n"
        "python -m pytest test_reproduce.py\n```",
        "The first shows the steps above and exits with 1 while the bug is there, with 0 once it is fixed. "
        "The second fails and passes alike; it can be put into any test suite together with `scenario.json`. "
        "`history.json` holds every answer in full.",
    ]
    if _is_object(report.implementation, registered_names()):
        module = cell(report.implementation.partition(":")[0])
        lines.append(f"The module `{module}` must be on the Python path (`PYTHONPATH`).")
    return "\n\n".join(lines)


def _is_object(name: str, registered: Iterable[str]) -> bool:
    """Whether the implementation is named as module:object."""
    head, colon, _ = name.partition(":")
    return bool(colon) and head != "known-bug" and head.partition("@")[0] not in registered


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
