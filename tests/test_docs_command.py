"""`conformance docs`: the pages that are installed with the suite."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance import cli

PAGES = Path(__file__).parents[1] / "docs"


def run(capsys, *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        cli.main(["docs", *arguments])
    printed = capsys.readouterr()
    assert isinstance(ended.value.code, int)
    return ended.value.code, printed.out, printed.err


def test_it_lists_the_pages_with_their_titles(capsys):
    status, told, _ = run(capsys)
    assert status == 0
    assert "jsonl-protocol                    The JSON Lines protocol, version 4\n" in told
    assert "specification/gate                The input gate, and unions of gates\n" in told
    assert "decisions/01" not in told
    assert str(PAGES) in told
    assert max(map(len, told.splitlines()[:-1])) <= 80


@pytest.mark.parametrize("page", ["specification/gate", "gate", "docs/specification/gate.md", "gate.md"])
def test_it_prints_a_page_by_any_of_its_names(capsys, page):
    assert run(capsys, page) == (0, (PAGES / "specification" / "gate.md").read_text(encoding="utf-8"), "")


def test_with_an_anchor_it_prints_a_rule_or_a_section(capsys):
    status, told, _ = run(capsys, "spill.md#operations")
    assert status == 0
    assert told.startswith("## Operations\n\nPhases: *fetching* until")
    assert "| `close_reader` |" in told
    assert "## Promises" not in told
    assert run(capsys, "docs/specification/spill.md#K7")[1].startswith("**K7 The last grant.** ")


def test_a_part_that_is_not_there_is_refused_with_those_that_are(capsys):
    status, told, complaint = run(capsys, "spill#operation")
    assert (status, told) == (2, "")
    assert "spill has no part 'operation'" in complaint
    assert "threads-and-locks, transitions, operations, promises" in " ".join(complaint.split())


@pytest.mark.parametrize(("page", "near"), [("gat", "gate"), ("../README", "README"), ("", "tutorial")])
def test_a_page_that_is_not_there_is_refused_with_one_that_is(capsys, page, near):
    status, told, complaint = run(capsys, page)
    assert (status, told) == (2, "")
    assert near in complaint.partition("Near: ")[2]
