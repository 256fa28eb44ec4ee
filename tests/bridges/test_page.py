"""The description of the protocol repeats the messages and the ports, and does not go stale."""

from __future__ import annotations

import json

import pytest

from conformance.bridges.jsonl.__main__ import main
from conformance.bridges.jsonl.page import NoSuchSection, schema_text, sections, with_sections
from conformance.ports import INTERFACES, Capability, CheckpointReason, ErrorKind
from conformance.ports.signatures import operations
from tests.bridges.conftest import ROOT

PAGE = ROOT / "docs" / "jsonl-protocol.md"
SECTIONS = sections(INTERFACES)
SCHEMA = ROOT / "docs" / "jsonl-protocol.schema.json"


def test_the_page_is_what_is_generated():
    page = PAGE.read_text(encoding="utf-8")
    assert with_sections(page) == page, "run: python -m conformance.bridges.jsonl page docs/jsonl-protocol.md"
    assert all(f"<!-- generated: {name} -->" in page for name in sections(INTERFACES))


def test_the_schema_is_what_is_generated(capsys):
    assert main(["schema"]) == 0
    printed = capsys.readouterr().out
    assert SCHEMA.read_text(encoding="utf-8") == printed == schema_text(), (
        "run: python -m conformance.bridges.jsonl schema > docs/jsonl-protocol.schema.json"
    )
    assert json.loads(printed)["$defs"]


def test_the_page_names_everything():
    page = PAGE.read_text(encoding="utf-8")
    for name, interface in INTERFACES.items():
        assert f"\n### {name}\n" in page
        assert all(f"| `{operation}` |" in page for operation in operations(interface.port))
    for enum in (Capability, CheckpointReason, ErrorKind):
        rows = [line for value in enum for line in page.splitlines() if line.startswith(f"| `{value}` |")]
        assert all(line.rstrip("| ").count("|") >= 2 for line in rows), "every one has its sentence"
        assert len(rows) >= len(enum)


def test_the_page_says_what_the_absence_of_each_capability_demands():
    rows = {
        line.split(" | ")[0].strip("|` "): line.strip("| ").split(" | ")
        for line in SECTIONS["capabilities"]().splitlines()
    }
    for one in Capability:
        assert len(rows[one]) == 3, f"{one}: its docstring ends with `Without it, ...`"
        assert rows[one][2].endswith(".")
    assert "returns false" in rows["faults"][1]


@pytest.mark.parametrize("python", ["None", "True", "False", "PortError", "STATE"])
def test_the_page_speaks_json(python):
    generated = "".join(section() for section in sections(INTERFACES).values())
    assert python not in generated


def test_page_rewrites_what_is_between_the_markers(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- generated: reasons -->\nstale\n<!-- end -->\nafter\n")
    assert main(["page", str(page)]) == 0
    written = page.read_text()
    assert "stale" not in written
    assert "| `expired` | It did not complete in time. |" in written
    assert written.startswith("before\n")
    assert written.endswith("<!-- end -->\nafter\n")


def test_what_is_not_generated_is_reported(tmp_path, capsys):
    page = tmp_path / "page.md"
    page.write_text("<!-- generated: weather -->\n<!-- end -->\n")
    with pytest.raises(NoSuchSection, match="no generated section 'weather'; there are messages, "):
        with_sections(page.read_text())
    assert main(["page", str(page)]) == 2
    assert main(["page", str(tmp_path / "none.md")]) == 2
    assert "none.md" in capsys.readouterr().err
