"""What passes through the wire comes out as it went in: the reference behind the protocol is the reference."""

from __future__ import annotations

import subprocess
import sys

import pytest

from conformance.bridges.jsonl import JsonLinesImplementation
from conformance.bridges.jsonl.protocol import Call
from conformance.components import COMPONENTS
from conformance.driver import Program, run_scenario
from conformance.engines.search import Search, seeds
from conformance.ports import ErrorKind, PortError, find_implementation
from conformance.scenarios import Step

SCENARIOS = 20


@pytest.fixture(scope="module")
def wired():
    """The reference, at the other end of a wire."""
    command = [sys.executable, "-m", "conformance.bridges.jsonl", "serve", "reference"]
    implementation = JsonLinesImplementation(command)
    yield implementation
    implementation.close()


@pytest.mark.parametrize("component", COMPONENTS)
def test_a_history_is_the_same_at_both_ends_of_a_wire(component, wired):
    near, far = (Program(COMPONENTS[component], one) for one in (find_implementation("reference"), wired))
    search = Search(near.within(one for one in near.configs if one.interleaving == "whole"))
    steps = 0
    for seed in seeds("wire", component, range(SCENARIOS)):
        scenario, run = search.run(seed)
        here, there = (run_scenario(one, scenario.config, scenario.steps, record=True) for one in (near, far))
        assert run.violation is here.violation is there.violation is None
        assert _compared(there.entries) == _compared(here.entries)
        steps += len(here.entries)
    assert steps > SCENARIOS


def _compared(entries):
    """Without the names of the places where an operation waits, which are inside the implementation."""
    return [
        (
            one.step[:2] if one.step[0] == "run" else one.step,
            one.outcome and (one.outcome.value, one.outcome.signals, _parts(one.outcome.error)),
        )
        for one in entries
    ]


def _parts(error):
    return error and (error.kind, error.checkpoint_reason, error.reason)


def test_an_operation_that_waits_is_gone_on_with_over_the_wire(wired):
    config = COMPONENTS["remote-channel"].config_type("pushed")
    steps: tuple[Step, ...] = (("request_subpartition",), ("push_recovered",), ("event", 0))
    run = run_scenario(Program(COMPONENTS["remote-channel"], wired), config, steps, record=True)
    paused = [(one.step[0], one.outcome.paused_at) for one in run.entries if one.outcome and one.outcome.paused_at]
    assert run.violation is None
    assert paused == [("push_recovered", "in push_recovered")]
    assert ("finish", "recovery") in [one.step for one in run.entries]


def test_a_known_bug_is_found_through_the_wire():
    command = [sys.executable, "-m", "conformance.bridges.jsonl", "serve", "known-bug:B-01"]
    implementation = JsonLinesImplementation(command)
    try:
        program = Program(COMPONENTS["subpartition"], implementation)
        search = Search(program.within(one for one in program.configs if one.interleaving == "whole"))
        broken = [search.run(seed)[1].violation for seed in seeds("wire", "subpartition", range(60))]
    finally:
        implementation.close()
    assert any(one is not None for one in broken)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (("frobnicate",), "has no operation"),
        (("add",), "has 1 operands, not 0"),
        (("add", {"type": "buffer"}), "missing required field `ids`"),
    ],
)
def test_a_request_without_sense_is_refused(wired, call, said):
    component = COMPONENTS["subpartition"]
    port = wired.components()["subpartition"](component.port_config(component.configs[0]))
    with pytest.raises(PortError, match=said) as caught:
        wired._ask(port, Call(call))
    assert caught.value.kind is ErrorKind.CRASHED


@pytest.mark.parametrize(
    ("arguments", "said"), [(["serve", "no-such"], "There is no implementation 'no-such'"), ([], "usage: ")]
)
def test_a_wrong_call_is_reported(arguments, said):
    command = [sys.executable, "-m", "conformance.bridges.jsonl", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
