"""Writes the text of a bug report, in the order in which a maintainer needs it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from conformance import __version__
from conformance.driver import Property
from conformance.engines import Found, Replay
from conformance.engines.fresh import Opinion
from conformance.ports import MOST_TRANSCRIPT, OversizedTranscript, Transcript, is_built_in
from conformance.reporting.claims import unclaimed_in_words
from conformance.reporting.diagram import sequence_diagram
from conformance.reporting.specification import rule_text, specification_reference
from conformance.reporting.story import CONTINUED, WHAT_CONTINUED_MEANS, Mark, Story, StoryStep, tell
from conformance.reporting.time_line import LEGEND, time_line_of
from conformance.reporting.words import failure_class_in_words, plain, value_in_words
from conformance.system.text import in_a_cell, markdown, markdown_block, markdown_code, neutral_line

TICKETS = "https://issues.apache.org/jira/browse/"
"""Where tickets of Apache projects are, as FLINK-39018."""
_TICKET = re.compile(r"[A-Z][A-Z0-9]*-[0-9]+")


_NOT_REDUCED = (
    "The search was interrupted before this scenario was reduced to the end. A shorter one may show the same failure: "
    "`conformance shrink` looks for it."
)


@dataclass(frozen=True, slots=True)
class Report:
    """The data of a bug report."""

    found: Found
    replay: Replay
    implementation: str
    """The name by which `find_implementation` finds it."""
    reference: Replay | None = None
    """The replay of the reference on the same scenario."""
    assume: Sequence[str] = ()
    """The capabilities that were assumed, sorted by name."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """What it ran on, as name and value."""
    reasons: Sequence[str] = ()
    """What happens without each step, one phrase per step."""
    opinion: Opinion | None = None
    """Whether the scenario fails in a fresh process."""
    transcript: Transcript | OversizedTranscript | None = None
    """What the scenario sent to a program, if the implementation is one; only its size if that is too much."""


def report_text(report: Report) -> str:
    """Return the whole report."""
    story = tell(report.replay, report.reference)
    sections = (
        _title(report),
        _what_failed(report, story),
        _expected_and_observed(report, story),
        _scenario(report, story),
        *_why(report, story),
        *_job(report),
        f"## As a diagram\n\n{markdown_block(sequence_diagram(report.replay, report.reference), 'mermaid')}",
        _property(report),
        _reproduce(report),
        "## Environment\n\n" + table(("", ""), [(name, cell(value)) for name, value in report.environment.items()]),
    )
    return "\n\n".join(sections) + "\n"


def _job(report: Report) -> list[str]:
    """Draw the time line, if it is a job that failed."""
    shown = time_line_of(report.replay)
    if shown is None:
        return []
    text = "\n".join(shown.lines()) + "\n"
    return [f"## The job\n\n{LEGEND}\n\n{markdown_block(text, 'text')}"]


def cell(text: str) -> str:
    """Escape a text for a table cell or a line, so that Markdown shows it as it is."""
    return markdown(plain(text))


def story_markdown(story: Story) -> str:
    """Return the steps as a Markdown table. The column of marks is left out if no step has one."""
    marked = any(one.mark for one in story.steps)
    head = ("#", "who", "step", "answer", "signals", *([""] if marked else []))
    rows = []
    for one in story.steps:
        bold = "**" if one.mark is Mark.DIVERGENT else ""
        cells = [str(one.number), one.actor, _code(one), cell(one.answer), cell(one.signals)]
        rows.append([f"{bold}{text}{bold}" if text else "" for text in (*cells, *([one.remark] if marked else []))])
    return table(head, rows)


def _code(step: StoryStep) -> str:
    """Return the step as code, and behind it the remark “continued” as text."""
    name, comma, remark = step.step.partition(f", {CONTINUED}")
    return f"{markdown_code(name)}{comma}{markdown(remark)}"


def _title(report: Report) -> str:
    found = report.found
    sentence = found.slug.replace("-", " ")
    return f"# {cell(found.scenario.component)}: “{markdown(sentence)}” does not hold ({markdown(found.failure_class)})"


def _what_failed(report: Report, story: Story) -> str:
    found, name = report.found, cell(report.implementation)
    if report.replay.violation is None:
        return (
            f"**{name}** failed in a search; expected was: {cell(found.owed)}. It did **not** fail when the scenario "
            f"was run again ({report.replay.verdict.value}: {cell(report.replay.reason)}), so the implementation does "
            "not give the same results every time."
        )
    if story.divergent is not None:
        where = _place(story.divergent, story)
    else:
        where = "after the steps below" if story.steps else "before the first step"
    broken = report.replay.violation.property
    text = f"**{name}** breaks this property {where}:\n\n> {broken.statement}"
    if broken.slug != found.slug:
        text += f"\n\nIts slug is `{broken.slug}`. In the search, {markdown_code(found.slug)} was broken."
    return text


def _place(step: StoryStep, story: Story) -> str:
    if step.in_drain:
        return f"at step {step.number} ({_code(step)}), in the fair drain that ends every run"
    return f"at step {step.number} of {sum(not one.in_drain for one in story.steps)} ({_code(step)})"


def _expected_and_observed(report: Report, story: Story) -> str:
    if story.slug is None:
        return "## Expected and observed\n\nThe replay did not fail, so there is nothing to compare."
    rows = [("expected", story.expected), ("observed", story.observed)]
    if story.divergent is not None:
        rows.append((f"result of {_code(story.divergent)}", story.divergent.outcome))
    if story.reference is not None:
        rows.append(("the reference's result", story.reference))
    if report.found.unclaimed:
        rows.append(("claim", unclaimed_in_words(report.found.unclaimed)))
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
        + (f" Configuration of the {cell(report.found.scenario.component)}: {chosen}." if chosen else ""),
        *([] if report.found.reduced else [_NOT_REDUCED]),
        *([] if story.in_the_drain is None else [story.in_the_drain]),
        story_markdown(story) if story.steps else "The scenario failed before its first step.",
    ]
    if story.records:
        parts.append("Its records:\n\n" + "\n".join(f"- {cell(line)}" for line in story.records))
    marks = {one.mark for one in story.steps} | {Mark.DRAIN for one in story.steps if one.in_drain}
    if story.has_turns:
        parts.append(f"*{CONTINUED}*: {WHAT_CONTINUED_MEANS}")
    if Mark.SKIPPED in marks:
        parts.append("*skipped*: the step was not possible when its turn came, so it was left out.")
    if Mark.DRAIN in marks:
        parts.append(
            "*drain*: the step is not part of the scenario, but of the fair drain that ends every run. In it, no new "
            "elements are added, and everything begun is completed. At its end, nothing may be owed."
        )
    return "\n\n".join(parts)


def _why(report: Report, story: Story) -> list[str]:
    """Say what happens without each step, and whether the scenario fails in a fresh process."""
    steps = [one for one in story.steps if not one.in_drain]
    sections = []
    if report.reasons and len(report.reasons) == len(steps):
        rows = [(str(one.number), _code(one), cell(reason)) for one, reason in zip(steps, report.reasons, strict=True)]
        sections.append("## Why each step is there\n\n" + table(("#", "step", "why"), rows))
    if report.opinion is not None and not report.opinion.confirms:
        sections.append(
            f"**In a fresh process {report.opinion.told}** ({cell(report.opinion.verdict)}: "
            f"{cell(report.opinion.reason)}). The implementation keeps state from one scenario to the next, or it is "
            "not deterministic."
        )
    return sections


def _value(value: Any) -> str:
    return cell(value_in_words(value)) if value is not None else "none"


def _property(report: Report) -> str:
    found = report.found
    judged = _judged(report)
    failure = cell(failure_class_in_words(found.failure_class))
    lines = [f"- Failure class **{cell(found.failure_class)}**: {failure}."]
    if judged is None:
        return "\n\n".join((f"## The property\n\n{markdown_code(found.slug)}", *lines))
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
    address = ticket_address(ticket)
    return f"[{ticket}]({address})" if address else cell(ticket)


def ticket_address(ticket: str) -> str:
    """Return where a ticket of an Apache project is; empty if it is none, as other text in a list of failures."""
    return f"{TICKETS}{ticket}" if _TICKET.fullmatch(ticket) else ""


def _reproduce(report: Report) -> str:
    built_in = is_built_in(report.implementation)
    folder = "" if built_in else "FOLDER/"  # what else it names is found where the suite has run it, if anywhere
    named = f"--implementation {shlex.quote(report.implementation)}{_assumed(report)}"
    commands = (
        f"conformance replay {folder}scenario.json {named}",
        f"python -m pytest {folder}test_reproduce.py",
    )
    where = "in this folder" if built_in else "where the suite has run it, and with this folder as FOLDER"
    lines = [
        "## How to reproduce",
        f"With `checkpoint-conformance` {__version__} installed, {where}:",
        markdown_block("\n".join(map(neutral_line, commands)), "sh"),
        "The first command shows the steps above, and exits with 1 until the bug is fixed, then with 0. "
        "The second runs a test that fails until the bug is fixed. The test can be put into any test suite, together "
        "with `scenario.json`. `history.json` contains every result in full.",
    ]
    if not built_in:
        lines.append(
            "The test looks for the implementation where it was found, seen from this folder. Elsewhere it is skipped, "
            "and says so, until the environment variable names it: "
            "`CONFORMANCE_IMPLEMENTATION=module:object python -m pytest test_reproduce.py`, or `jsonl:COMMAND` for a "
            "program."
        )
    lines += _wire(report)
    return "\n\n".join(lines)


def _wire(report: Report) -> list[str]:
    """Say what to do with the lines that were sent to a program, or how to get them if there were too many."""
    scheme, _, command = report.implementation.partition(":")
    program = command if scheme == "jsonl" else "PROGRAM"
    match report.transcript:
        case None:
            return []
        case Transcript():
            return [
                "`calls.jsonl` has the lines that the suite sends to the program, and `answers.jsonl` what the program "
                "wrote, so that it can be run without the suite, for example under a debugger. Where the suite has run "
                "it, and with this folder as FOLDER, this prints nothing as long as the program writes the same:",
                markdown_block(neutral_line(f"{program} < FOLDER/calls.jsonl | diff FOLDER/answers.jsonl -"), "sh"),
            ]
        case OversizedTranscript(calls=calls, answers=answers):
            within = f"tee calls.jsonl | {program} | tee answers.jsonl"
            through = shlex.quote(f"jsonl:sh -c {shlex.quote(within)}")
            return [
                "`calls.jsonl` and `answers.jsonl`, the lines that the suite sends to the program and what it writes, "
                f"are left out: they would have {_mebibytes(calls)} and {_mebibytes(answers)}, and a bug report has "
                f"at most {_mebibytes(MOST_TRANSCRIPT)} of them. Where the suite has run the program, and with this "
                "folder as FOLDER, this writes them into the current folder:",
                markdown_block(
                    neutral_line(
                        f"conformance replay FOLDER/scenario.json --implementation {through}{_assumed(report)}"
                    ),
                    "sh",
                ),
            ]


def _mebibytes(size: int) -> str:
    return f"{size / (1 << 20):,.1f} MiB"


def _assumed(report: Report) -> str:
    return "".join(f" --assume {one}" for one in report.assume)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table of cells in Markdown. Whatever is in a cell, it stays this cell."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(in_a_cell, line))} |" for line in lines)
