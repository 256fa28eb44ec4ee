import io
import json
from collections.abc import Iterable
from pathlib import Path

import pytest
from rich.console import RenderableType

from conformance.components import COMPONENTS
from conformance.driver import Program, Verdict
from conformance.engines import Check, check, replay
from conformance.engines.kill import kill
from conformance.engines.matrix import Line
from conformance.engines.optimum import Optimum
from conformance.ports import find_implementation, find_known_bug
from conformance.reporting import (
    BugRow,
    bug_row,
    bugs_document,
    check_document,
    implementation_row,
    implementation_table,
    implementations_document,
    kill_matrix,
    print_implementations,
    print_properties,
    properties_document,
    property_tables,
    replay_document,
    unguarded_properties,
    unusable_row,
    verdict_tables,
    write_json,
    write_text,
)
from conformance.reporting.console import CarefulConsole
from conformance.system.writing import NotWritten

REFERENCE = find_implementation("reference")
BROKEN = find_implementation("known-bug:B-D5")


def checked(implementation, component="deque") -> Check:
    return check(Program(COMPONENTS[component], implementation), 30, 0, budget=100)


@pytest.fixture(scope="module")
def checks() -> list[Check]:
    return [checked(REFERENCE), checked(BROKEN)]


def shown(renderables: Iterable[RenderableType]) -> str:
    console = CarefulConsole(width=80, color_system=None, force_terminal=False)
    with console.capture() as capture:
        for one in renderables:
            console.print(one)
    text = capture.get()
    assert max(map(len, text.splitlines())) <= 80
    return text


def words(text: str) -> str:
    return " ".join(text.split())


# ---- documents -------------------------------------------------------------------------------------------------------
def test_the_document_of_a_check(checks: list[Check]):
    document = json.loads(json.dumps(check_document("7", 30, [(REFERENCE, checks[:1]), (BROKEN, checks[1:])])))
    assert set(document) == {"schema", "seed", "scenarios", "steps", "implementations"}
    assert (document["schema"], document["seed"], document["scenarios"]) == (1, "7", 30)
    assert document["steps"] == sum(one.tally.steps for one in checks) > 0
    good, bad = document["implementations"]
    assert set(bad) == {"name", "version", "components", "ran", "properties", "findings", "gaps", "holes"}
    assert (good["name"], good["components"], good["findings"]) == ("reference", ["deque"], [])
    assert set(bad["properties"][0]) == {
        "slug", "component", "level", "kind", "verdict", "scenarios", "minimal_steps", "cases", "unsure",
    }  # fmt: skip
    by_slug = {one["slug"]: one for one in bad["properties"]}
    finding = bad["findings"][0]
    assert {"property", "class", "steps", "scenario", "component", "owed", "count"} <= set(finding)
    assert by_slug[finding["property"]]["verdict"] == "failed"
    assert by_slug[finding["property"]]["minimal_steps"] == finding["steps"] == len(finding["scenario"]["steps"])
    assert {one["minimal_steps"] for one in good["properties"]} == {None}


def test_the_document_of_a_replay(checks: list[Check]):
    scenario = checks[1].found[0].scenario
    document = replay_document(replay(scenario, BROKEN))
    assert set(document) == {"schema", "verdict", "property", "history", "reason"}
    assert (document["verdict"], document["property"]) == ("FAILED", checks[1].found[0].slug)
    assert all(set(entry) <= {"step", "outcome", "skipped", "closing"} for entry in document["history"])
    fixed = replay_document(replay(scenario, REFERENCE))
    assert (fixed["verdict"], fixed["property"]) == ("FIXED", checks[1].found[0].slug)


def test_the_document_of_the_known_bugs():
    bug = find_known_bug("B-D5")
    kills = tuple(kill(bug, seed, 60) for seed in (0, 1))
    row = bug_row(bug, Line(bug.id, kills, Optimum(2, proved=True)))
    assert row.killed
    assert (row.optimal_steps, row.optimal_at_least) == (2, 2)
    assert row.minimal_config == {"interleaving": "whole"}
    open_row = bug_row(bug, Line(bug.id, kills, Optimum(2, proved=False)))
    assert (open_row.optimal_steps, open_row.optimal_at_least) == (None, 2)
    assert row.seeds == 2
    document = bugs_document([row])
    assert set(document["bugs"][0]) >= {
        "id", "ticket", "component", "killed", "property", "scenarios", "cpu_seconds", "minimal_steps", "optimal_steps",
        "summary", "found_property",
    }  # fmt: skip
    survived = bug_row(bug, Line(bug.id, (kill(bug, 0, 0),)))
    assert (survived.killed, survived.minimal_steps, survived.found_property) == (False, None, None)


def test_the_catalogues():
    properties = properties_document()["properties"]
    assert {one["component"] for one in properties} == set(COMPONENTS)
    assert {"slug", "component", "statement", "kind", "level", "tickets", "needs"} <= set(properties[0])
    assert {one["component"] for one in properties_document([COMPONENTS["deque"]])["properties"]} == {"deque"}
    rows = [implementation_row("reference", REFERENCE), unusable_row("jsonl", "no command was given")]
    good, bad = implementations_document(rows)["implementations"]
    assert (good["usable"], bad["usable"], bad["reason"]) == (True, False, "no command was given")
    assert "deque" in good["components"]
    text = words(shown([implementation_table(rows), *property_tables([COMPONENTS["deque"]])]))
    assert "cannot be used no command was given" in text
    assert "a-poll-takes-the-head" in text


def test_in_a_pipe_the_catalogues_have_a_line_for_each():
    rows = [implementation_row("reference", REFERENCE), unusable_row("jsonl", "no command\nwas given")]
    out = io.StringIO()
    console = CarefulConsole(file=out, width=40)
    print_implementations(console, rows)
    print_properties(console, [COMPONENTS["deque"]])
    first, second, *lines = out.getvalue().splitlines()
    assert first.startswith("usable reference: assignment, barrier-handler, ")
    assert second == "unusable jsonl: no command was given"
    assert len(lines) == len(COMPONENTS["deque"].properties)
    assert lines[1].startswith("must deque a-poll-takes-the-head (deque.md#I-20 FLINK-19681): A poll removes ")
    assert lines[-1] == "to-be-seen deque a-priority-element-was-removed: A priority element was removed."


def test_a_property_without_a_known_bug_is_named():
    assert "a-poll-takes-the-head (deque)" in unguarded_properties([])
    assert "a-poll-takes-the-head (deque)" not in unguarded_properties([find_known_bug("B-D5")])


def test_json_is_written_in_one_way(tmp_path: Path):
    path = tmp_path / "new" / "x.json"
    write_json(path, {"b": 1, "a": [2]})
    assert path.read_text() == '{\n "a": [\n  2\n ],\n "b": 1\n}\n'
    write_json(path, {})
    assert path.read_text() == "{}\n"
    assert list(path.parent.iterdir()) == [path]


def test_what_cannot_be_written_leaves_nothing_and_names_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "x.json"
    path.write_text("old")

    def refuse(source, target):
        raise PermissionError(13, "Permission denied", str(source))

    monkeypatch.setattr("os.replace", refuse)
    with pytest.raises(NotWritten) as raised:
        write_text(path, "new")
    assert raised.value.filename == str(path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_is_written_through(tmp_path: Path):
    (tmp_path / "link").symlink_to(tmp_path / "real")
    write_text(tmp_path / "link", "text")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "text"


# ---- tables ----------------------------------------------------------------------------------------------------------
def test_the_verdict_table(checks: list[Check]):
    text = shown(verdict_tables(checks))
    row = next(line.split() for line in text.splitlines() if line.startswith(" a-poll-takes-the-head"))
    count = sum(one.count for one in checks[1].found if one.slug == "a-poll-takes-the-head")
    assert row[1] == "passed"
    assert row[3:] == ["FAILED", "in", str(count)]
    assert "deque: what failed" in text
    assert "a-poll-takes-the-head" not in shown(verdict_tables(checks[:1], statements=True))


def test_what_does_not_apply_says_why():
    text = words(shown(verdict_tables([checked(find_implementation("reference-recover-first"), "subpartition")])))
    assert f"{Verdict.NOT_APPLICABLE.value}" in text
    assert "needs blocked-priority-local" in text.replace("- ", "-")


def test_the_kill_matrix():
    found = BugRow(
        "B-1", "FLINK-1", "deque", True, "a-b", "a-b", 1234, 0.5, 3, 2, "It is wrong.", drain_steps=4,
        optimal_at_least=2,
    )  # fmt: skip
    alive = BugRow("B-2", "own", "deque", False, "c-d", None, 20_000, 9.0, None, None, "It [is] wrong.")
    text = shown([kill_matrix([found, alive])])
    assert "Known bugs: 1 of 2 found" in text
    assert words(text).count("B-1 FLINK-1 a-b 1,234 3+4 (2) 0.50 It is wrong.") == 1
    assert "SURVIVED" in text
    assert "[is]" in words(text)
