"""Words of a stranger, in whatever field they stand, are printed as words: on a terminal, in Markdown and on the page.

Every field of the data that is shown gets the hostile words in turn, and what comes of it is compared with what comes
of tame words. A field that is added later is tried by itself.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from functools import partial
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from markdown_it import MarkdownIt
from msgspec import structs

from conformance.campaigns import CampaignResult, Inline, Status, load, make_plan, start
from conformance.campaigns.status import FoundSoFar
from conformance.components import COMPONENTS
from conformance.driver import FailureClass, Program
from conformance.engines import KnownFailure, Replay, Standing, check
from conformance.engines import replay as run_again
from conformance.engines.causes import likely_causes
from conformance.engines.exercise import exercise_of
from conformance.ports import Capability, Error, ErrorKind, Examined, find_implementation
from conformance.reporting import Summed, campaign_verdicts, story_markdown, summary_text, tell
from conformance.reporting.campaign import status_lines
from conformance.reporting.catalogues import print_implementations
from conformance.reporting.conformance_report import Call, Shown
from conformance.reporting.conformance_report import Tested as _Tested
from conformance.reporting.console import CarefulConsole
from conformance.reporting.ctrf import ctrf_document
from conformance.reporting.diagram import sequence_diagram
from conformance.reporting.differences import Difference, Differences, Sides
from conformance.reporting.documents import BugRow, ImplementationRow
from conformance.reporting.examined import examined_row
from conformance.reporting.kill_matrix import matrix_text
from conformance.reporting.known import standing_remarks
from conformance.reporting.legal_variants import VariantRow, variants_text
from conformance.reporting.markdown import Report, report_text
from conformance.reporting.page import Content, page_of
from conformance.reporting.report_sections import report_page
from conformance.reporting.showing import print_verdicts
from conformance.reporting.since import Change, Exercised, Since
from conformance.reporting.stored import audit_lines, audit_table
from conformance.reporting.trials import print_bugs, print_variants
from conformance.reporting.verdicts import Remark, Verdicts, tried_in_check
from conformance.state_files import Damaged, StateAudit, StoredState, Unread
from tests.reporting.poison import FORGED, HOSTILE, TAME, fields_of, poisoned

BUG = "known-bug:B-01"
KEYS = (KeyError, ValueError, IndexError)
"""What happens if the words stand in a name by which something is looked up, so that they are never shown."""
_MARKDOWN = MarkdownIt("commonmark").enable(["table", "strikethrough"])


OURS = {("VariantRow", "reason")}
"""A paragraph of the specification, which is Markdown."""
OUR_TAGS = {"<details>", "</details>", "<summary>", "</summary>"}


class Way(NamedTuple):
    """A way out: what is shown, and how."""

    shown: Any
    show: Callable[[Any], str]
    structure: Callable[[str], object]
    """What must not depend on the words."""
    least: int
    """In how many fields words are shown, at least: a field that is shown no more is noticed, too."""
    keys: str = ""
    """The fields that are names by which something is looked up."""


# ---- how it is shown -------------------------------------------------------------------------------------------------
def on_a_console(*prints: Callable[[CarefulConsole, Any], None], terminal: bool = True) -> Callable[[Any], str]:
    def show(value: Any) -> str:
        file = io.StringIO()
        console = CarefulConsole(file=file, width=4_000, force_terminal=terminal, color_system=None)
        for one in prints:
            one(console, value)
        return file.getvalue()

    return show


def lines_of(text: str) -> None:
    """All of it can be seen, and no line begins as the stranger wants."""
    for line in text.split("\n"):
        assert line.isprintable(), line
        assert not line.startswith(FORGED), line


def markdown_of(text: str) -> list[str]:
    """The blocks of a document. In them there are no links, no HTML and no code that the suite has not written."""
    assert all(line.isprintable() for line in text.split("\n"))
    blocks = []
    for token in _MARKDOWN.parse(text):
        blocks.append(token.type)
        if token.type == "html_block":
            assert not set(re.findall(r"<[^>]*>?", token.content)) - OUR_TAGS, token.content
        for one in token.children or ():
            assert one.type != "image"
            assert "evil" not in str(one.attrs.get("href", ""))
            assert one.type != "html_inline" or one.content in ("<code>", "</code>"), one.content
            assert one.type not in ("s_open",)
    return blocks


def tags_of(page: str) -> list[tuple[str, int]]:
    lines_of(page)
    seen: list[tuple[str, int]] = []

    class Seen(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            if tag != "tspan":  # a longer text of a drawing has more lines
                seen.append((tag, len(attrs)))
            assert not any("evil" in str(value) for name, value in attrs if name in ("href", "src"))

    Seen().feed(page)
    return seen


def words_of(document: Any) -> Iterator[str]:
    if isinstance(document, str):
        yield document
    elif isinstance(document, dict):
        for one in (*document, *document.values()):
            yield from words_of(one)
    elif isinstance(document, list):
        for one in document:
            yield from words_of(one)


# ---- what is shown ---------------------------------------------------------------------------------------------------
def _content() -> tuple[Content, _Tested]:
    component = COMPONENTS["subpartition"]
    with closing(find_implementation(BUG)) as implementation:
        program = Program(component, implementation)
        checked = check(program, 60, "page")
        found = checked.found[:1]
        seen = run_again(found[0].scenario, implementation)
        known = KnownFailure(
            found[0].slug, "subpartition", FailureClass.LOST, "OURS", "a reason", found[0].scenario, None
        )
        now = Standing({("subpartition", found[0].signature): known}, (known,), (known,))
        tried = tried_in_check(BUG, [checked], likely_causes([checked]), now)
        failing = tried_in_check("another", [checked], likely_causes([checked]))
    report = Report(
        found[0],
        _failing_with_text(seen),
        BUG,
        seen,
        ("faults",),
        {"implementation": BUG},
        ("why",) * len(found[0].scenario.steps),
    )
    verdicts = Verdicts((tried, failing), (Remark("a sentence", ("a line",), few=1), *standing_remarks("a name", now)))
    exercise = {(BUG, "subpartition"): exercise_of(checked.tally)}
    change = Change(BUG, "subpartition", found[0].signature, None, 1, "a remark")
    exercised = Exercised(BUG, "subpartition", "a-property", True, 2)
    apart = Difference(
        BUG, "subpartition", "poll", "signals", 2, "a config", ("a step",), "a text", True,
        Sides("a step", ("one kind", "another"), ("one result", "another")),
    )  # fmt: skip
    content = Content(
        verdicts, "a status", {(BUG, "subpartition", found[0].signature): report}, exercise, [("seed", "0")],
        ["a line"],
        Differences("reference", (apart, replace(apart, sides=None, why="a reason")), (replace(apart, legal=False),)),
        Since("a folder", ("a remark",), (change,), (change,), (change,), (exercised,), (exercised,)),
    )  # fmt: skip
    tested = _Tested(
        BUG, "1", frozenset({Capability("faults")}), (checked,), now, (Shown(found[0], seen, seen, known),)
    )
    return content, tested


def _failing_with_text(seen: Replay) -> Replay:
    """A replay in whose last outcome there is the text of an error."""
    *before, last = seen.history.entries
    assert last.outcome is not None
    outcome = structs.replace(last.outcome, error=Error(ErrorKind.STATE, "an error", None), value=None)
    entries = (*before, structs.replace(last, outcome=outcome))
    return replace(seen, history=structs.replace(seen.history, entries=entries))


BUGS = BugRow("B-1", "OURS", "gate", False, "a-property", "another", 1, 1.0, 1, 1, "a summary", "- a\n+ b", 2, 1)
VARIANT = VariantRow(
    "V-1", "gate", "gate.md#FG1", "a reason", "a summary", True, "a-property", "seen", 1, True, "poll", "- a\n+ b"
)
IMPLEMENTATIONS = (
    ImplementationRow("a name", "1", ("gate",), ("faults",)),
    ImplementationRow("b", reason="a reason"),
)
STATES = StateAudit(
    1,
    (StoredState("a.state", 1, 0, False, 0, 3, 3),),
    (Damaged("a.state", "it is damaged", 1),),
    unreferenced=("b",),
    unread=(Unread("c", "it is closed"),),
)


@pytest.fixture(scope="module")
def ways(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Way]:
    content, tested = _content()
    (report,) = content.evidence.values()
    call = Call([BUG], [], 60, "0", "random", [], "known.toml", None)
    folder = tmp_path_factory.mktemp("campaign") / "campaign"
    start(folder, make_plan("s", [BUG, "reference"], ["deque"], scenarios=20, block=20, budget=0), Inline())
    one = FoundSoFar("a name", "deque", "a-property", "lost", "poll", 1, 2)
    now = Status(1, 2, 3, 4, (one,), ("a block",), False, "a process")
    verdicts = content.verdicts

    return {
        "verdicts": Way(verdicts, _verdicts, lines_of, 16, "Column.component Judged.slug Scenario.component"),
        "continuous integration": Way(
            verdicts, lambda one: "\n".join(words_of(ctrf_document(one))), lines_of, 8, "Judged.slug"
        ),
        "summary": Way(
            Summed(verdicts, content.status, content.unfinished, content.differences, content.since),
            summary_text,
            markdown_of,
            12,
            "Judged.slug Scenario.component",
        ),
        "page": Way(content, page_of, tags_of, 40, "Judged.slug Scenario.component Entry.step"),
        "bug report": Way(report, report_text, markdown_of, 8, "Entry.step"),
        "steps in Markdown": Way(
            report,
            lambda one: story_markdown(tell(one.replay, one.reference)),
            markdown_of,
            1,
            "Entry.step",
        ),
        "steps": Way(report, on_a_console(_steps), lines_of, 1, "Entry.step"),
        "diagram": Way(report, lambda one: sequence_diagram(one.replay, one.reference), lines_of, 2, "Entry.step"),
        "conformance report": Way(
            (call, [tested]),
            _report,
            markdown_of,
            14,
            "Scenario.component Found.signature Entry.step",
        ),
        "known bugs": Way((BUGS,), _trials, lines_of, 5),
        "kill matrix": Way((BUGS,), matrix_text, markdown_of, 6),
        "legal variants": Way((VARIANT,), _trials, lines_of, 7),
        "legal variants in Markdown": Way((VARIANT,), variants_text, markdown_of, 7),
        "implementations": Way(IMPLEMENTATIONS, on_a_console(print_implementations), lines_of, 5),
        "doctor": Way(Examined("what", "found", "cure"), on_a_console(_examined), lines_of, 3),
        "progress of a campaign": Way(now, on_a_console(_progress), lines_of, 7),
        "result of a campaign": Way(
            load(folder),
            lambda one: _verdicts(campaign_verdicts(one)),
            lines_of,
            3,
            "Plan.implementations ComponentResult.component",
        ),
        "channel state": Way(STATES, on_a_console(_states), lines_of, 6),
    }


def _ci(value: Verdicts) -> str:
    return "\n".join(words_of(ctrf_document(value)))


def _steps_in_markdown(report: Report) -> str:
    return story_markdown(tell(report.replay, report.reference))


def _diagram(report: Report) -> str:
    return sequence_diagram(report.replay, report.reference)


def _result(value: CampaignResult) -> str:
    return _verdicts(campaign_verdicts(value))


def _verdicts(value: Verdicts) -> str:
    printed: list[Callable[[CarefulConsole, Any], None]] = [print_verdicts, partial(print_verdicts, everything=True)]
    return on_a_console(*printed)(value) + on_a_console(*printed, terminal=False)(value)


def _trials(rows: Any) -> str:
    printing = print_bugs if isinstance(rows[0], BugRow) else print_variants
    both = [partial(printing, everything=every) for every in (True, False)]
    return on_a_console(*both)(rows) + on_a_console(*both, terminal=False)(rows)


def _report(value: tuple[Call, list[_Tested]]) -> str:
    return report_page(*value, "page.md", ["a remark"])


def _steps(console: CarefulConsole, report: Report) -> None:
    console.print(tell(report.replay, report.reference))


def _examined(console: CarefulConsole, one: Examined) -> None:
    console.print(examined_row(one))


def _progress(console: CarefulConsole, now: Status) -> None:
    for line in status_lines(now, Path("folder")):
        console.print(line, soft_wrap=True)


def _states(console: CarefulConsole, found: StateAudit) -> None:
    console.print(audit_table(found))
    for line in audit_lines(found):
        console.print(line, soft_wrap=True)


WAYS = (
    "verdicts", "continuous integration", "summary", "page", "bug report", "steps in Markdown", "steps", "diagram",
    "conformance report", "known bugs", "kill matrix", "legal variants", "legal variants in Markdown",
    "implementations", "doctor", "progress of a campaign", "result of a campaign", "channel state",
)  # fmt: skip


def test_every_way_out_is_tried(ways):
    assert set(WAYS) == set(ways)


@pytest.mark.parametrize("name", WAYS)
def test_whatever_a_field_says_it_is_shown_as_words(name, ways):
    way = ways[name]
    shown, looked_up = 0, set()
    for field in fields_of(way.shown):
        if field in OURS:
            continue
        try:
            tame = way.show(poisoned(way.shown, field, TAME))
            hostile = way.show(poisoned(way.shown, field, HOSTILE))
        except KEYS:
            looked_up.add(".".join(field))
            continue
        shown += FORGED in hostile
        assert way.structure(hostile) == way.structure(tame), field
    assert looked_up <= set(way.keys.split()), (
        "a field that is not shown, because the words in it stopped what shows it"
    )
    assert shown >= way.least
