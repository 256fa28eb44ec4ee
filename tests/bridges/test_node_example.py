"""The example for Node: it conforms, and what is broken in it on purpose is found."""

from __future__ import annotations

import json
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
from tests.by_default import one_of

NODE = shutil.which("node") or ""
ADAPTER = Path(__file__).resolve().parents[2] / "examples" / "node" / "adapter.mjs"
OFFERED = ("subpartition", "gate")
SCENARIOS = 1000
SCENARIOS_TO_A_BUG, SCENARIOS_AT_ONCE = 1_500, 100
REDUCTION = 20
"""Runs in which a violation is made shorter: here it is only looked at which one it is."""

UNEXERCISED = {"every-operation-ends", "what-comes-too-late-for-its-task-is-refused"}
"""Judged where operations are interleaved, or in flight when the task is cancelled; those of the example run whole."""

pytestmark = pytest.mark.skipif(not NODE, reason="Node is not installed: there is no `node` on the PATH")


@pytest.fixture(scope="module")
def example():
    implementation = JsonLinesImplementation([NODE, str(ADAPTER)])
    yield implementation
    implementation.close()


def test_its_page_says_what_it_does_not_claim(example):
    claims = ADAPTER.with_name("README.md").read_text(encoding="utf-8").split("## What it claims")[1].split("\n## ")[0]
    needed = {one for name in OFFERED for each in COMPONENTS[name].properties for one in each.needs}
    assert set(re.findall(r"`([a-z-]+)`", claims)) == UNEXERCISED | {one.value for one in needed - example.capabilities}


def test_the_doctor_finds_nothing_wrong():
    assert [one for one in examine(lambda: JsonLinesImplementation([NODE, str(ADAPTER)])) if one.wrong] == []


@pytest.mark.parametrize(
    "component",
    # By default a gate is tried with the bugs below.
    [pytest.param(one, marks=[pytest.mark.slow] * (one == "gate")) for one in OFFERED],
)
def test_the_example_conforms(example, component):
    program = Program(COMPONENTS[component], example)
    result = check(program, SCENARIOS, "node")
    assert [found.signature for found in result.found] == []
    verdicts = {one.slug: result.verdict(one) for one in program.properties if one.level is Level.MUST}
    assert {slug for slug, verdict in verdicts.items() if verdict is not Verdict.PASSED} <= UNEXERCISED
    situations = [one for one in program.properties if one.kind is Kind.SOMETIMES]
    assert situations
    assert [one.slug for one in situations if result.verdict(one) is not Verdict.PASSED] == []


BREAKAGES = [
    (
        "a-blocked-subpartition-announces-no-barrier",  # FLINK-39018
        "if (this.viewAttached && this.queue.priorityCount === 1)",
        "if (this.viewAttached && this.queue.priorityCount === 1 && !this.blocked)",
        "subpartition",
        "a-blocked-subpartition-announces-priority-events",
    ),
    (
        "an-unaligned-barrier-overtakes-nothing",
        "this.queue.addPriority(new QueuedElement(barrier));",
        "this.queue.add(new QueuedElement(barrier));",
        "subpartition",
        "elements-arrive-once-in-order-and-unchanged",
    ),
    (
        "a-newer-promise-forgets-the-older-one",
        "    this.#breakPromise();\n    this.promised = checkpoint;\n",
        "    this.promised = checkpoint;\n",
        "subpartition",
        "a-newer-timeoutable-barrier-fails-the-older-channel-state-future",
    ),
    (
        "segments-leak-on-release",
        "    this.queue.clear();\n    this.backlog = 0;\n",
        "    this.queue.clear();\n",
        "subpartition",
        "after-release-nothing-is-held",
    ),
    (
        "recovered-buffers-are-written-twice",  # FLINK-40016
        "return { element: this.recovered.shift(), seq: this.recoveredSequenceNumber++ };",
        "this.persister.inspect(this.recovered[0]);\n"
        "    return { element: this.recovered.shift(), seq: this.recoveredSequenceNumber++ };",
        "gate",
        "data-in-front-of-a-barrier-is-written-once-in-every-channel",
    ),
    (
        "a-late-stop-ends-a-newer-checkpoint",
        "    if (checkpoint < this.lastSeen) return;\n",
        "",
        "gate",
        "data-in-front-of-a-barrier-is-written-once-in-every-channel",
    ),
    (
        "resuming-tells-nobody",
        "    this.subpartition.resume();\n    this.notifyIfReadable();\n",
        "    this.subpartition.resume();\n",
        "gate",
        "the-consumer-is-notified-of-available-data",
    ),
    (
        "an-end-of-output-state-resumes-at-once",
        "if (this.unrestored.size === 0) this.channels.forEach((_, index) => this.resume(index));",
        "this.resume(channel);",
        "gate",
        "producers-go-on-once-all-output-state-has-ended",
    ),
]


def slugs(program: Program, seed: str) -> set[str]:
    """The properties that failed in some scenarios."""
    return {found.slug for found in check(program, SCENARIOS_AT_ONCE, seed, budget=REDUCTION).found}


@pytest.mark.parametrize(("name", "old", "new", "component", "expected"), one_of(4, BREAKAGES, lambda one: one[0]))
def test_a_bug_in_the_example_is_found(tmp_path, name, old, new, component, expected):
    source = ADAPTER.read_text(encoding="utf-8")
    assert source.count(old) == 1
    broken = tmp_path / "adapter.mjs"
    broken.write_text(source.replace(old, new), encoding="utf-8")
    implementation = JsonLinesImplementation([NODE, str(broken)])
    try:
        program = Program(COMPONENTS[component], implementation)
        assert any(
            expected in slugs(program, f"node/{part}") for part in range(SCENARIOS_TO_A_BUG // SCENARIOS_AT_ONCE)
        ), name
    finally:
        implementation.close()


HELLO = {"type": "hello", "protocol": 4, "suite": "0"}
OPEN = {"type": "open", "component": "subpartition", "config": {}}


def answers_to(*lines: object, adapter: Path = ADAPTER) -> list[dict[str, object]]:
    """Texts are sent as they are, anything else as JSON. The end of stdin follows."""
    text = "".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines)
    ran = subprocess.run([NODE, str(adapter)], input=text, capture_output=True, text=True, timeout=60, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
    return [json.loads(line) for line in ran.stdout.splitlines()]


@pytest.mark.parametrize(
    ("request_", "said"),
    [
        ({**HELLO, "protocol": 2}, "this program speaks protocol 4, not 2"),
        ({"type": "open", "component": "teleporter", "config": {}}, "no component teleporter"),
        ({"type": "open", "component": "toString", "config": {}}, "no component toString"),
        ({"type": "open", "component": "subpartition", "config": {"teeth": 32}}, "no setting teeth"),
        ({"type": "open", "component": "gate", "config": {"gates": [["local"]], "recovery": "pushed"}}, "pushed"),
        ({"type": "call", "call": ["frobnicate"]}, "no method frobnicate"),
        ({"type": "call", "call": ["constructor"]}, "no method constructor"),
        ({"type": "call", "call": ["add"]}, "add has 1 operands, not 0"),
        ({"type": "call"}, ""),
        ({"type": "resume", "token": 1}, "no request resume"),
        ({"type": "frobnicate"}, "no request frobnicate"),
        ("null", ""),
        ("no JSON", "JSON"),
    ],
)
def test_what_makes_no_sense_is_refused_and_the_next_request_is_answered(request_, said):
    *_, refused, answered = answers_to(HELLO, OPEN, request_, {"type": "call", "call": ["poll"]})
    assert refused["type"] == "error"
    assert said in str(refused["reason"])
    assert answered == {"type": "outcome", "outcome": {"value": None}}


@pytest.mark.parametrize(
    "requests",
    [
        [{"type": "call", "call": ["poll"]}],
        [OPEN, {"type": "scenario", "component": "subpartition", "config": {}, "calls": [["poll"]]}],
    ],
)
def test_nothing_can_be_called_before_something_is_open(requests):
    assert answers_to(HELLO, *requests)[-1] == {"type": "error", "reason": "no object is open"}


def test_an_exception_is_a_crash_of_the_operation_alone():
    crashing, polling = {"type": "call", "call": ["append", [1]]}, {"type": "call", "call": ["poll"]}
    *_, crashed, polled = answers_to(HELLO, OPEN, crashing, polling)
    outcome = crashed["outcome"]
    assert isinstance(outcome, dict)
    assert outcome["error"]["kind"] == "crashed"
    assert "TypeError" in outcome["error"]["reason"]
    assert polled == {"type": "outcome", "outcome": {"value": None}}


def test_the_part_that_is_to_be_copied_needs_nothing_of_the_engine(tmp_path):
    """The page says so. What it offers is made by classes of the engine; here they are others."""
    _, part = ADAPTER.read_text(encoding="utf-8").split("// ---- the protocol")
    own = 'class Subpartition { poll() { throw new PortError("state", "empty"); } release() { this.oops(); } }\n'
    copied = tmp_path / "own.mjs"
    copied.write_text(f"{own}// ---- the protocol{part}", encoding="utf-8")
    calls = [{"type": "call", "call": [name]} for name in ("poll", "release", "frobnicate")]
    *_, failed, crashed, refused = answers_to(HELLO, OPEN, *calls, adapter=copied)
    assert failed == {"type": "outcome", "outcome": {"error": {"kind": "state", "reason": "empty"}}}
    assert "this.oops" in str(crashed["outcome"])
    assert refused == {"type": "error", "reason": "there is no method frobnicate"}


def test_it_ends_at_close_and_reads_no_further():
    assert [one["type"] for one in answers_to(HELLO, {"type": "close"}, OPEN)] == ["hello", "closed"]


def test_it_ends_at_the_end_of_stdin():
    assert answers_to() == []
    assert [one["type"] for one in answers_to(HELLO, OPEN)] == ["hello", "opened"]
