"""The example in Go: the doctor finds nothing, it conforms, and what is broken in it on purpose is found."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from conformance.bridges.jsonl import JsonLinesImplementation
from conformance.components import COMPONENTS
from conformance.driver import Kind, Level, Program, Verdict
from conformance.engines import check
from conformance.engines.doctor import examine

GO = shutil.which("go") or ""
EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "go"
SOURCES = ("go.mod", "main.go", "components.go", "protocol.go", "subpartition.go")
SCENARIOS = 300
REDUCTION = 20
"""Runs in which a violation is made shorter: here it is only looked at which one it is."""

pytestmark = [
    pytest.mark.skipif(not GO, reason="Go is not installed: there is no `go` on the PATH"),
    pytest.mark.xdist_group("go"),
]


def built(folder: Path) -> Path:
    """The program made of the sources in a folder."""
    done = subprocess.run(
        [GO, "build", "-o", "adapter", "."], cwd=folder, capture_output=True, text=True, check=False,
        env={**os.environ, "CGO_ENABLED": "0", "GOFLAGS": "-mod=mod", "GOPROXY": "off", "GOTOOLCHAIN": "local"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return folder / "adapter"


def copied(folder: Path) -> Path:
    for name in SOURCES:
        shutil.copy(EXAMPLE / name, folder / name)
    return folder


@pytest.fixture(scope="module")
def adapter(tmp_path_factory):
    return built(copied(tmp_path_factory.mktemp("go")))


@pytest.fixture
def example(adapter):
    implementation = JsonLinesImplementation([str(adapter)])
    yield implementation
    implementation.close()


def test_these_are_all_its_files_and_they_are_formatted():
    assert {file.name for file in EXAMPLE.iterdir() if file.name != "adapter"} == {*SOURCES, "README.md"}
    gofmt = shutil.which("gofmt")
    if gofmt is None:
        pytest.skip("gofmt is not installed beside go")
    changed = subprocess.run([gofmt, "-l", "."], cwd=EXAMPLE, capture_output=True, text=True, check=True)
    assert changed.stdout == ""


def test_the_doctor_finds_nothing_wrong(adapter):
    assert [one for one in examine(lambda: JsonLinesImplementation([str(adapter)])) if one.wrong] == []


def test_the_example_conforms(example):
    program = Program(COMPONENTS["subpartition"], example)
    result = check(program, SCENARIOS, "go")
    assert [found.signature for found in result.found] == []
    judged = [one for one in program.properties if one.level is Level.MUST and one.kind is not Kind.SOMETIMES]
    assert [one.slug for one in judged if result.verdict(one) is not Verdict.PASSED] == []


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(  # FLINK-39018; the README shows it
            "if s.viewAttached && s.priorityCount == 1 {",
            "if s.viewAttached && s.priorityCount == 1 && !s.blocked {",
            "a-blocked-subpartition-announces-priority-events",
            id="a-blocked-subpartition-announces-no-barrier",
        ),
        pytest.param(
            "last.ids = append(last.ids[:len(last.ids):len(last.ids)], ids...)",
            "panic(last)",
            "operations-return-what-the-interface-says",
            id="a-panic-is-a-crash-of-the-operation",
        ),
    ],
)
def test_a_bug_in_the_example_is_found(tmp_path, old, new, expected):
    source = copied(tmp_path) / "subpartition.go"
    text = source.read_text(encoding="utf-8")
    assert text.count(old) == 1
    source.write_text(text.replace(old, new), encoding="utf-8")
    implementation = JsonLinesImplementation([str(built(tmp_path))])
    try:
        result = check(Program(COMPONENTS["subpartition"], implementation), SCENARIOS, "go", budget=REDUCTION)
    finally:
        implementation.close()
    assert expected in {found.slug for found in result.found}


HELLO = {"type": "hello", "protocol": 4, "suite": "0"}
OPEN = {"type": "open", "component": "subpartition", "config": {}}


def answers_to(adapter: Path, *lines: object) -> list[dict[str, object]]:
    """Texts are sent as they are, anything else as JSON. The end of stdin follows, without a line feed."""
    text = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
    ran = subprocess.run([str(adapter)], input=text, capture_output=True, text=True, timeout=60, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
    return [json.loads(line) for line in ran.stdout.splitlines()]


@pytest.mark.parametrize(
    ("request_", "said"),
    [
        ({**HELLO, "protocol": 2}, "this program speaks protocol 4, not 2"),
        ({"type": "open", "component": "teleporter", "config": {}}, "no component teleporter"),
        ({"type": "open", "component": "subpartition", "config": {"teeth": 32}}, "teeth"),
        ({"type": "call", "call": ["frobnicate"]}, "no method frobnicate"),
        ({"type": "call", "call": ["add"]}, "add: it has 1 operands, not 0"),
        ({"type": "call", "call": ["append", "x"]}, "append: json"),
        ({"type": "call", "call": [7]}, "name of a method"),
        ({"type": "call", "call": []}, "name of a method"),
        ({"type": "call"}, "name of a method"),
        ({"type": "resume", "token": 1}, "no request resume"),
        ("null", "no request"),
        ("no JSON", "invalid"),
    ],
)
def test_what_makes_no_sense_is_refused_and_the_next_request_is_answered(adapter, request_, said):
    _, _, refused, reopened, answered = answers_to(
        adapter, HELLO, OPEN, request_, OPEN, {"type": "call", "call": ["poll"]}
    )
    assert refused["type"] == "error"
    assert re.search(re.escape(said), str(refused["reason"]))
    assert reopened == {"type": "opened"}
    assert answered == {"type": "outcome", "outcome": {}}


def test_nothing_can_be_called_before_something_is_open(adapter):
    answer = answers_to(adapter, HELLO, {"type": "call", "call": ["poll"]})[-1]
    assert answer == {"type": "error", "reason": "no object is open"}


def test_it_ends_at_close_and_at_the_end_of_stdin(adapter):
    assert [one["type"] for one in answers_to(adapter, HELLO, {"type": "close"}, OPEN)] == ["hello", "closed"]
    assert answers_to(adapter) == []
