"""The page of a check or a campaign: it is harmless, it is the same every time, and it replaces only what is ours."""

from __future__ import annotations

import hashlib
import re
from base64 import b64encode
from contextlib import closing
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from conformance.components import COMPONENTS
from conformance.driver import Program
from conformance.engines import check, replay
from conformance.engines.causes import Cause, likely_causes
from conformance.engines.exercise import exercise_of
from conformance.ports import find_implementation
from conformance.reporting import report_violation
from conformance.reporting.markdown import Report
from conformance.reporting.page import GENERATOR, PAGE, Content, evidence_by_key, page_of, write_index
from conformance.reporting.page_drawing import chart_of, drawing_of, width_of, wrapped
from conformance.reporting.reports_folder import conclude_folder
from conformance.reporting.sequence import Happening, Line, Message, Sequence
from conformance.reporting.verdicts import Remark, Verdicts, tried_in_check

HOSTILE = "<script>alert(1)</script>\x1b[31m\u202eevil\" onload='x' </style>{{ 7 * 7 }}"
BUG = "known-bug:B-01"
LARGEST = 1_572_864
"""1.5 MiB. A real page with eight findings in all 17 components had 0.6 MiB."""


def content(remarks: tuple[Remark, ...] = (), name: str = BUG, status: str = "Exit status 1.") -> Content:
    with closing(find_implementation(BUG)) as implementation:
        checked = check(Program(COMPONENTS["subpartition"], implementation), 60, "page")
        reports = [
            Report(one, replay(one.scenario, implementation), name, None, (), {}, ("why",) * len(one.scenario.steps))
            for one in checked.found
        ]
        tried = tried_in_check(name, [checked], likely_causes([checked]))
    exercise = {(name, "subpartition"): exercise_of(checked.tally)}
    return Content(Verdicts((tried,), remarks), status, evidence_by_key(reports), exercise)


class Seen(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))


def test_the_page_has_what_a_reader_needs():
    page = page_of(content())
    for text in (
        "What failed, by likely cause", "Discovery over time", "Exercise by design", "All properties",
        "Why each step is there", "subpartition.md#I-13", "expected", "observed", "first in scenario",
        "Sequence diagram", "conformance replay subpartition-",
    ):  # fmt: skip
        assert text in page, text
    assert page.count("<svg") >= 3


def test_a_page_runs_and_loads_nothing_whatever_an_implementation_says():
    hostile = content((Remark(HOSTILE, (HOSTILE,)),), name=HOSTILE, status=HOSTILE)
    page = page_of(hostile)
    tags = Seen(page).tags
    known = {tag for tag, _ in Seen(page_of(content((Remark("a", ("b",)),)))).tags}
    assert {tag for tag, _ in tags} == known
    assert "script" not in known
    for _, attributes in tags:
        assert not any(name.startswith("on") or name in ("style", "src", "srcset") for name in attributes)
    assert all(
        str(attributes["href"]).startswith(("#", "subpartition-", "https://issues.apache.org/"))
        for tag, attributes in tags
        if tag == "a"
    )
    assert "\x1b" not in page
    assert "\u202e" not in page
    assert "{{ 7 * 7 }}" in page
    (policy,) = (one["content"] for tag, one in tags if one.get("http-equiv") == "Content-Security-Policy")
    style = re.search("<style>(.*?)</style>", page, re.DOTALL)
    assert style is not None
    digest = b64encode(hashlib.sha256(style[1].encode()).digest()).decode()
    assert f"default-src 'none'; style-src 'sha256-{digest}'" in str(policy)


def test_a_page_of_every_component_of_three_implementations_is_not_too_large():
    """It is attached to tickets. Twelve findings have diagrams; the other numbers are those of few scenarios."""
    with closing(find_implementation("reference")) as implementation:
        checks = [check(Program(one, implementation), 10, 0) for one in COMPONENTS.values()]
    found = content()
    (bad,) = found.verdicts.tried
    (cause, *_) = bad.causes
    report = found.evidence[BUG, "subpartition", cause.shortest.signature]
    signatures = [(cause.shortest.slug, "lost", f"operation-{number}") for number in range(12)]
    findings = [replace(cause.shortest, signature=one) for one in signatures]
    names = ("reference", "reference-recover-first", BUG)
    tried = [tried_in_check(name, checks, ()) for name in names]
    tried[-1] = replace(tried[-1], causes=tuple(Cause((one,), (), ()) for one in findings))
    reports = [replace(report, found=one) for one in findings]
    exercise = {(name, one.program.component.name): exercise_of(one.tally) for name in names for one in checks}
    page = page_of(Content(Verdicts(tuple(tried)), "Exit status 1.", evidence_by_key(reports), exercise))
    assert page.count('<svg class="heads"') == 12
    assert page.count("<summary>") >= 2 * len(COMPONENTS)
    assert 400_000 < len(page.encode()) < LARGEST


@pytest.mark.slow  # two searches with their reports
def test_a_huge_text_is_cut_off():
    plain, huge = page_of(content()), page_of(content((Remark("x" * (1 << 20)),)))
    assert len(huge) < len(plain) + 10_000
    assert "cut off here: 1,048,576 characters" in huge


def test_the_same_result_gives_the_same_bytes():
    assert page_of(content()) == page_of(content())


def test_a_second_call_removes_the_reports_of_the_first_and_no_file_of_anybody_else(tmp_path):
    first = content()
    with closing(find_implementation(BUG)) as implementation:
        report_violation(tmp_path, BUG, next(iter(first.evidence.values())).found, implementation, ())
    (written,) = tmp_path.iterdir()
    (written / "notes.txt").write_text("mine", encoding="utf-8")
    strangers = tmp_path / "subpartition-something-0123456789abcdef"
    strangers.mkdir()
    (strangers / "scenario.json").write_text("{}", encoding="utf-8")
    link = tmp_path / "link"
    link.symlink_to(written, target_is_directory=True)
    assert conclude_folder(tmp_path, Content(first.verdicts, "", {}, {})) == tmp_path / PAGE
    assert [path.name for path in written.iterdir()] == ["notes.txt"]
    assert (strangers / "scenario.json").exists()
    assert link.is_symlink()


def test_a_page_of_somebody_else_is_not_overwritten(tmp_path):
    (tmp_path / PAGE).write_text("<h1>mine</h1>", encoding="utf-8")
    with pytest.raises(FileExistsError, match="was not written by this suite") as refused:
        write_index(tmp_path, content())
    assert refused.value.filename == str(tmp_path / PAGE), "without it, this is an error of the suite"
    assert (tmp_path / PAGE).read_text(encoding="utf-8") == "<h1>mine</h1>"
    (tmp_path / PAGE).write_text(f'<meta name="generator" content="{GENERATOR} 0.0.1">', encoding="utf-8")
    write_index(tmp_path, content())
    assert "<h1>Checkpoint conformance" in (tmp_path / PAGE).read_text(encoding="utf-8")


# ---- drawings --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("text", ["", "a", "two words", "x" * 300, "a few words " * 40, "漢字" * 60])
def test_wrapped_lines_fit(text):
    lines = wrapped(text, 150, 4)
    assert 1 <= len(lines) <= 4
    assert all(width_of(line) <= 165 for line in lines)
    if not any("…" in line for line in lines):
        assert "".join("".join(lines).split()) == "".join(text.split())


def _messages(number: int) -> tuple[Message, ...]:
    call = f"{number}. add_buffer with a long text {'and more ' * (number % 9)}"
    return (
        Message("producer", "gate", call, Line.CALL),
        Message("gate", "consumer", "data available", Line.SIGNAL),
        Message("gate", "producer", "added", Line.ANSWER),
    )


def test_a_long_history_is_drawn_without_overlaps():
    steps = tuple(Happening(number, _messages(number), number == 60, number == 80) for number in range(1, 81))
    note = (("expected", "this " * 500), ("observed", "that"))
    drawing = drawing_of(Sequence(("producer", "gate", "consumer"), "gate", steps, note, "the run is drained"))
    assert len(drawing.arrows) == 240
    for one, other in zip(drawing.arrows, drawing.arrows[1:], strict=False):
        assert one.y < other.text.y - 8
    assert drawing.here is not None
    assert drawing.here.top + drawing.here.height <= drawing.height
    assert max(text.y + 15 * len(text.lines) for text in drawing.here.texts) <= drawing.height
    assert all(place < drawing.width for _, place, _ in drawing.lifelines)


def test_the_chart_shows_each_finding_where_it_was_first_seen():
    chart = chart_of([("a", [(0, "x"), (90, "y")]), ("b", []), ("c", [(10, "z")])], 100)
    assert chart is not None
    assert [(one.label, len(one.dots)) for one in chart.curves] == [("a", 2), ("c", 1)]
    places = {what: x for one in chart.curves for x, _, what in one.dots}
    assert places["scenario 0: x"] < places["scenario 10: z"] < places["scenario 90: y"] <= chart.right
    assert chart_of([("a", [])], 100) is None
