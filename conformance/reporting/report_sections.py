"""Writes the sections of a conformance report, in the order in which a reader needs them."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Sequence
from pathlib import PurePath

from conformance import __version__
from conformance.driver import Kind, Level, Property, Verdict
from conformance.engines import Check, KnownFailure
from conformance.reporting.conformance_report import Call, Shown, Tested, file_names
from conformance.reporting.diagram import sequence_diagram
from conformance.reporting.divergences import config_text, divergences_markdown, steps_text
from conformance.reporting.exercise import gaps_markdown
from conformance.reporting.markdown import cell, story_markdown, table, ticket_link
from conformance.reporting.story import CONTINUED, WHAT_CONTINUED_MEANS, tell
from conformance.reporting.words import failure_class_in_words
from conformance.system.text import markdown_block, markdown_code, neutral_line

PASSED, FAILED, KNOWN, UNKNOWN = "passed", "failed", "known failure", "unknown"
NOT_EXERCISED, NOT_APPLICABLE, UNTESTABLE = "not exercised", "not applicable", "untestable"
_ORDER = (PASSED, FAILED, KNOWN, UNKNOWN, NOT_EXERCISED, NOT_APPLICABLE, UNTESTABLE)


def report_page(call: Call, everybody: Sequence[Tested], page: str, remarks: Sequence[str] = ()) -> str:
    """Return the page. `page` is the name of its file; the scenario files are in the folder of that name.

    `remarks` are sentences that a reader must know before all others, as that the check was interrupted.
    """
    sections = [
        f"# Conformance of {_and([cell(_full_name(one)) for one in everybody])}",
        *(f"**{cell(one)}**" for one in remarks),
        _tested(call, everybody, page),
        _verdicts(everybody),
        _failures(call, everybody, PurePath(page).stem),
    ]
    if call.known_failures is not None:
        sections.append(_known_failures(everybody))
    sections += [_untested(everybody), _exercise(everybody)]
    if call.against is not None:
        sections.append(_divergences(call.against, everybody))
    return "\n\n".join(sections) + "\n"


def _full_name(one: Tested) -> str:
    """Return the name and, unless it is part of the name, the version."""
    return one.name if one.name.endswith(f"@{one.version}") else f"{one.name} {one.version}".rstrip()


def _and(names: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _components(everybody: Sequence[Tested]) -> list[str]:
    return list(dict.fromkeys(check.program.component.name for one in everybody for check in one.checks))


# ---- what was tested -------------------------------------------------------------------------------------------------
def _tested(call: Call, everybody: Sequence[Tested], page: str) -> str:
    claims = [(cell(one.name), cell(one.version) or "unknown", _names(one.capabilities) or "none") for one in everybody]
    assumed = f"these are assumed for all: {_names(call.assume)}" if call.assume else "none is assumed"
    chosen = "Hypothesis" if call.engine == "hypothesis" else "random search"
    corpus = ""
    if call.engine == "random":
        corpus = " The corpus, scenarios that once showed a bug, is replayed first. It adds failures, but no evidence."
    amounts = [(one, *(_amount(tested.check_of(one)) for tested in everybody)) for one in _components(everybody)]
    return "\n\n".join(
        (
            "## What was tested",
            f"Suite: `checkpoint-conformance` {__version__}; seed {cell(call.seed)}; {call.scenarios:,} scenarios were "
            f"asked for per implementation and component ({chosen})."
            f"{corpus}",
            table(("implementation", "version", "capabilities claimed"), claims),
            f"Capabilities decide which properties apply; {assumed}. Scenarios and steps that were run:",
            table(("component", *(cell(one.name) for one in everybody)), amounts),
            f"This command writes the report again:\n\n{markdown_block(neutral_line(call.command(page)), 'sh')}",
        )
    )


def _names(names: Sequence[str] | frozenset[str]) -> str:
    return ", ".join(map(markdown_code, sorted(map(str, names))))


def _amount(check: Check | None) -> str:
    if check is None:
        return "not offered"
    return f"{check.tally.scenarios:,} scenarios, {check.tally.steps:,} steps"


# ---- verdicts --------------------------------------------------------------------------------------------------------
def _verdicts(everybody: Sequence[Tested]) -> str:
    head = ("component", *(cell(one.name) for one in everybody))
    components = _components(everybody)
    rows = [(one, *(_counts(tested, tested.check_of(one)) for tested in everybody)) for one in components]
    parts = [
        "## Verdicts",
        "A property that was not put to the test has not passed. *Situations* are goals: a search must have seen them, "
        "or it has not looked hard enough.",
        table(head, rows),
    ]
    for component in components:
        parts += [f"### {component}", _property_table(component, everybody)]
    return "\n\n".join(parts)


def verdict_in_words(one: Tested, check: Check, judged: Property) -> str:
    """Return the verdict on a property. Known failures and untestable properties have verdicts of their own."""
    verdict = check.verdict(judged)
    if verdict is Verdict.FAILED:
        return KNOWN if one.is_known(judged.slug, check.program.component.name) else FAILED
    if judged.level is Level.UNTESTABLE and verdict is Verdict.NOT_EXERCISED:
        return UNTESTABLE
    return verdict.value


def _counts(one: Tested, check: Check | None) -> str:
    if check is None:
        return "not offered"
    counts: Counter[str] = Counter()
    seen = wanted = 0
    for judged in check.program.component.properties:
        word = verdict_in_words(one, check, judged)
        if judged.kind is not Kind.SOMETIMES:
            counts[word] += 1
        elif word != NOT_APPLICABLE:
            wanted += 1
            seen += word == PASSED
    words = [_bold(f"{counts[word]} {_plural(word, counts[word])}", word) for word in _ORDER if counts[word]]
    if wanted:
        words.append(f"{seen} of {wanted} situations seen")
    return ", ".join(words)


def _plural(word: str, count: int) -> str:
    return f"{word}s" if word == KNOWN and count > 1 else word


def _bold(text: str, word: str) -> str:
    return f"**{text}**" if word == FAILED else text


def _property_table(component: str, everybody: Sequence[Tested]) -> str:
    offering = [(one, check) for one in everybody if (check := one.check_of(component)) is not None]
    rows = [
        (
            f"`{judged.slug}`",
            "to be seen" if judged.kind is Kind.SOMETIMES else judged.level.value,
            *(_verdict_cell(one, check, judged) for one, check in offering),
        )
        for judged in offering[0][1].program.component.properties
    ]
    note = "In brackets: how many scenarios put the property to the test; for a failure, in how many it failed."
    return f"{note}\n\n{table(('property', 'level', *(cell(one.name) for one, _ in offering)), rows)}"


def _verdict_cell(one: Tested, check: Check, judged: Property) -> str:
    word = verdict_in_words(one, check, judged)
    if word in (FAILED, KNOWN):
        count = sum(found.count for found in check.found if found.slug == judged.slug)
    else:
        count = check.tally.exercised.get(judged.slug, 0)
    if judged.kind is Kind.SOMETIMES:
        word = {PASSED: "seen", NOT_EXERCISED: "not seen"}.get(word, word)
    return _bold(f"{word} ({count:,})" if count else word, word)


# ---- failures --------------------------------------------------------------------------------------------------------
def _failures(call: Call, everybody: Sequence[Tested], folder: str) -> str:
    names = file_names(everybody)
    every = [(one, shown) for one in everybody for shown in one.failures]
    if not every:
        return "## Failures\n\nNo property failed. This only says that these scenarios contain no counterexample."
    parts = [
        "## Failures",
        "Each failure has the shortest scenario that is known for it. The scenario files are in "
        f"{markdown_code(folder)}.",
    ]
    for number, (one, shown) in enumerate(every, start=1):
        parts.append(_failure(call, number, one, shown, f"{folder}/{names[number]}"))
    return "\n\n".join(parts)


def _failure(call: Call, number: int, one: Tested, shown: Shown, file: str) -> str:
    found = shown.found
    scenario = found.scenario
    properties = shown.replay.component.properties
    judged = next((some for some in properties if some.slug == found.slug), None)
    assumed = "".join(f" --assume {shlex.quote(some)}" for some in call.assume)
    command = f"conformance replay {shlex.quote(file)} --implementation {shlex.quote(one.name)}{assumed}"
    story = tell(shown.replay, shown.reference)
    statement = [] if judged is None else [f"> {judged.statement}"]
    facts = [
        f"- Tickets: {_tickets(shown, judged)}",
        f"- Class **{cell(found.failure_class)}**: {cell(failure_class_in_words(found.failure_class))}. It showed at "
        f"{markdown_code(found.signature[2])}, in {found.count:,} scenario{'' if found.count == 1 else 's'}.",
    ]
    parts = [
        f"### {number}. {cell(scenario.component)}: {markdown_code(found.slug)} on {cell(one.name)}",
        *statement,
        "\n".join(facts),
        f"The shortest scenario known, {story.length}; configuration {markdown_code(config_text(scenario))}:",
        steps_text(scenario),
        table(("", ""), [("**expected**", cell(found.owed)), ("**observed**", cell(found.observed))]),
    ]
    if shown.replay.violation is None:
        parts.append(
            f"It did **not** fail when it was run again ({shown.replay.verdict.value}: {cell(shown.replay.reason)}), "
            "so the implementation does not give the same results every time."
        )
    if story.steps:
        parts += [] if story.in_the_drain is None else [story.in_the_drain]
        parts.append(story_markdown(story))
        if story.has_turns:
            parts.append(f"*{CONTINUED}*: {WHAT_CONTINUED_MEANS}")
        if story.from_the_reference is not None:
            parts.append(story.from_the_reference)
        parts.append(markdown_block(sequence_diagram(shown.replay, shown.reference), "mermaid"))
    parts.append(
        f"This command replays it in the folder of this page:\n\n{markdown_block(neutral_line(command), 'sh')}"
    )
    return "\n\n".join(parts)


def _tickets(shown: Shown, judged: Property | None) -> str:
    if shown.known is not None:
        return f"{ticket_link(shown.known.ticket)}, known: {cell(shown.known.reason)}."
    if judged is not None and judged.tickets:
        return f"not a known failure; the property has {', '.join(map(ticket_link, judged.tickets))}."
    return "not a known failure."


# ---- known failures --------------------------------------------------------------------------------------------------
def _known_failures(everybody: Sequence[Tested]) -> str:
    rows = []
    for one in everybody:
        rows += [_entry(one, entry, "yes") for entry in one.standing.failing]
        rows += [_entry(one, entry, "**no**: remove it from the list") for entry in one.standing.fixed]
        rows += [_entry(one, entry, "does not apply to it") for entry in one.standing.inapplicable]
    if not rows:
        return "## Known failures\n\nNo entry of the list concerns these implementations and components."
    head = ("implementation", "component", "property", "class", "ticket", "reason", "still fails as recorded")
    return f"## Known failures\n\n{table(head, rows)}"


def _entry(one: Tested, entry: KnownFailure, still: str) -> tuple[str, ...]:
    return (
        cell(one.name), cell(entry.component), markdown_code(entry.property), entry.failure_class.value,
        ticket_link(entry.ticket), cell(entry.reason), still,
    )  # fmt: skip


# ---- what was not put to the test ------------------------------------------------------------------------------------
def _untested(everybody: Sequence[Tested]) -> str:
    rows = [
        (cell(one.name), check.program.component.name, f"`{judged.slug}`", word, why)
        for one in everybody
        for check in one.checks
        for judged in check.program.component.properties
        for word, why in _why_untested(one, check, judged)
    ]
    title = "## What was not put to the test, and why"
    if not rows:
        return f"{title}\n\nEvery property was put to the test, and every situation was seen."
    return f"{title}\n\n{table(('implementation', 'component', 'property', 'verdict', 'why'), rows)}"


def _why_untested(one: Tested, check: Check, judged: Property) -> list[tuple[str, str]]:
    """Return the verdict and the reason, or nothing if the property was put to the test."""
    word = verdict_in_words(one, check, judged)
    scenarios = f"{check.tally.scenarios:,} scenarios"
    if word == NOT_APPLICABLE:
        return [(word, f"needs {_names(judged.needs - check.program.capabilities)}, which is not claimed")]
    if word == UNTESTABLE:
        return [(word, "no operation of the component can show that it is broken")]
    if word == UNKNOWN:
        return [(word, f"not put to the test in {scenarios}, some of which crashed or hung before they could do so")]
    if word == NOT_EXERCISED:
        return [("not seen" if judged.kind is Kind.SOMETIMES else word, f"it did not come up in {scenarios}")]
    return []


# ---- in which settings -----------------------------------------------------------------------------------------------
def _exercise(everybody: Sequence[Tested]) -> str:
    return "\n\n".join(
        (
            "## Where properties were not put to the test",
            "These properties were put to the test elsewhere. In these settings their steps were performed, and they "
            "would have been judged at least ten times, had they been judged as often as elsewhere; or operations that "
            "overlapped left open in most cases what is right.",
            gaps_markdown([(one.name, check) for one in everybody for check in one.checks]),
        )
    )


# ---- divergences -----------------------------------------------------------------------------------------------------
def _divergences(against: str, everybody: Sequence[Tested]) -> str:
    parts = [
        f"## Divergences from {cell(against)}",
        "Both implementations run the same scenarios, and their outcomes are compared up to the first difference in "
        "value, signals or error. A divergence is not a failure: either result may be right. Only scenarios with whole "
        "interleaving are compared, in configurations that both understand. The counts that `resources` returns are "
        "not compared, since each implementation may pool memory in its own way.",
        *(divergences_markdown(one.name, one.checks) for one in everybody),
    ]
    return "\n\n".join(parts)
