"""Where properties were judged: lines, a page, and JSON beside it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conformance import cli
from conformance.driver import Never, Setting
from conformance.engines import Check
from conformance.engines.check import search_range
from conformance.engines.exercise import exercise_of
from conformance.reporting import exercise_lines
from conformance.reporting.conformance_report import Call
from conformance.reporting.documents import check_document
from conformance.reporting.exercise import exercise_document, exercise_page
from tests.engines.test_exercise import DOUBTFUL, ONE_SIDED, toy

CALL = Call(("toy",), (), 200, "gaps", "random", (), None, None)


def checked(*never: Never) -> Check:
    program = toy(*never)
    return Check(program, search_range(program, "gaps", range(200)), ())


def row(page: str, slug: str) -> list[str]:
    (line,) = (one for one in page.splitlines() if one.startswith(f"| `{slug}` |"))
    return [cell.strip() for cell in line.strip("|").split("|")][1:]


def head(page: str) -> list[str]:
    (line,) = (one for one in page.splitlines() if one.startswith("| property |"))
    return [cell.strip() for cell in line.strip("|").split("|")][1:]


def test_a_gap_and_a_hole_have_a_line_each():
    gap, hole = exercise_lines([checked()])
    assert gap.startswith(f"toy-gate of toy: {ONE_SIDED} was never judged in: after conversion (")
    assert gap.endswith(" steps)")
    assert hole.startswith(f"toy-gate of toy: {DOUBTFUL} is a hole: unsure in ")


def test_the_page_has_a_table_with_a_column_for_each_setting():
    page = exercise_page([("toy", checked())], "conformance check")
    columns, cells = head(page), row(page, ONE_SIDED)
    assert columns == ["before conversion", "after conversion", "one local", "one remote", "whole", "fine", "unsure"]
    assert int(cells[0].replace(",", "")) > 0
    assert cells[1].startswith("**0** of ")
    assert int(row(page, DOUBTFUL)[-1].replace(",", "")) > 0
    assert f"`{ONE_SIDED}` | after conversion | never, after " in page


def test_what_a_component_declares_is_shown_as_such():
    never = Never(Setting(stage="after conversion"), "A toy.")
    page = exercise_page([("toy", checked(never))], "conformance check")
    assert row(page, ONE_SIDED)[1] == "*cannot*"
    assert "after conversion | never, after" not in page


def test_the_documents_have_the_same_lists():
    check = checked()
    (one,) = exercise_document(CALL, [("toy", check)])["checks"]
    assert one["judged"].keys() == exercise_of(check.tally).judged.keys()
    assert len(one["settings"]) == len(one["scenarios"]) == len(one["judged"][ONE_SIDED])
    assert [gap["property"] for gap in one["gaps"]] == [ONE_SIDED]
    (said,) = check_document("gaps", 200, [(check.program.implementation, [check])])["implementations"]
    assert said["gaps"] == one["gaps"]
    assert said["holes"] == one["holes"]
    cases = {judged["slug"]: (judged["cases"], judged["unsure"]) for judged in said["properties"]}
    assert cases[ONE_SIDED] == (sum(one["judged"][ONE_SIDED]), 0)
    assert cases[DOUBTFUL][1] == one["unsure"][DOUBTFUL]


def call(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        cli.main(["check", "--component", "deque", "--scenarios", "20", "--exercise", *arguments])
    assert isinstance(ended.value.code, int)
    return ended.value.code


def test_the_command_writes_page_and_json_with_the_same_bytes_every_time(tmp_path: Path):
    pages = [tmp_path / name / "page.md" for name in ("one", "two")]
    assert [call(str(page)) for page in pages] == [0, 0]
    assert pages[0].read_bytes() == pages[1].read_bytes()
    written = [page.with_suffix(".json").read_bytes() for page in pages]
    assert written[0] == written[1]
    assert json.loads(written[0])["fields"] == list(Setting._fields)
    assert "--component deque --scenarios 20 --seed 0 --exercise page.md" in pages[0].read_text()


@pytest.mark.parametrize("name", ["page", "page.json"])
def test_a_page_that_would_be_its_own_json_file_is_refused(name, tmp_path, capsys):
    assert call(str(tmp_path / name)) == 2
    assert "the page needs a suffix" in " ".join(capsys.readouterr().err.split())
