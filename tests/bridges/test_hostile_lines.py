"""Whatever a program writes or is sent, the answer is a message or a clear error: the wire is fuzzed both ways."""

from __future__ import annotations

import io
import json
from collections import Counter
from contextlib import closing
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conformance.bridges.jsonl import Client, JsonLinesImplementation
from conformance.bridges.jsonl.protocol import (
    Call,
    OneOutcome,
    Open,
    decode_reply,
    decode_request,
    encode,
)
from conformance.bridges.jsonl.remote import remote_port
from conformance.bridges.jsonl.serve import serve
from conformance.components.deque import DequeScenarioConfig
from conformance.driver import ANSWERS
from conformance.engines import replay
from conformance.ports import INTERFACES, ErrorKind, PortError, find_implementation
from conformance.ports.exact import exact
from conformance.ports.signatures import answer_type
from conformance.scenarios import Scenario
from conformance.scheduling import Waitable
from reference_impl.network.deque import Deque
from tests.hostile import bytes_of, mutations_of, read_or_told
from tests.implementations import with_parts

REQUESTS: tuple[dict[str, Any], ...] = (
    {"type": "hello", "protocol": 2, "suite": "1"},
    {"type": "open", "component": "gate", "config": {"gates": [["local", "remote"]], "recovery": "none"}},
    {"type": "call", "call": ["add", {"type": "buffer", "ids": [1, 2]}]},
    {"type": "resume", "token": 1},
    {"type": "scenario", "component": "deque", "config": {}, "calls": [["add", {"id": 1}], ["new"], ["poll"]]},
    {"type": "close"},
)
TAKEN = {"element": {"type": "buffer", "ids": [1]}, "seq": 0, "next": "none", "backlog": 0}
WAITS = {"type": "outcome", "outcome": {"blocked": 1, "ready": [1]}}
REPLIES: tuple[dict[str, Any], ...] = (
    {"type": "hello", "protocol": 2, "name": "a", "version": "1", "capabilities": [], "components": ["deque"]},
    {"type": "opened"},
    {"type": "outcome", "outcome": {"value": TAKEN, "signals": [{"type": "data-available"}]}},
    {"type": "outcome", "outcome": {"error": {"kind": "crashed", "reason": "no"}}},
    WAITS,
    {"type": "outcomes", "outcomes": [{"value": True}, {"value": [1, 2]}]},
    {"type": "error", "reason": "no"},
)  # fmt: skip
SMALL = st.one_of(st.none(), st.booleans(), st.integers(-2, 5), st.text(max_size=4), st.just([]), st.just({}))
"""No large numbers: an operation with one of them is right, and takes for ever."""
THOROUGH = settings(max_examples=150, deadline=None)


REFERENCE = find_implementation("reference")


def line_of(document: Any) -> bytes:
    return json.dumps(document).encode()


def outcome_of(value: Any) -> Any:
    return {"type": "outcome", "outcome": {"value": value}}


lines_to_the_suite = st.sampled_from(REPLIES).flatmap(
    lambda one: st.one_of(bytes_of(line_of(one)), mutations_of(one).map(line_of))
)
lines_to_a_program = st.sampled_from(REQUESTS).flatmap(
    lambda one: st.one_of(bytes_of(line_of(one)), mutations_of(one, SMALL).map(line_of))
)


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (r"b'{\"type\": \"error\", \"reason\": \"\xff\"}'", "byte 0xff is not valid in UTF-8"),
        ("b'[' * 100_000", "nested more than 64 deep"),
        ("b'{\"type\": \"outcome\", \"outcome\": {\"value\": ' + b'[' * 900 + b']' * 900 + b'}}'", "more than 64 deep"),
        ('b\'{"type": "outcome", "outcome": {"value": \' + b\'9\' * 5_000 + b\'}}\'', "more than 19 digits"),
        ("'{\"type\": \"opened\"}'.encode('utf-16').replace(b'\\n', b'')", "it is encoded as UTF-16"),
    ],
)
def test_a_reply_that_cannot_be_decoded_is_a_finding_against_the_program(program, reply, said):
    write = f"sys.stdout.buffer.write({reply} + b'\\n'); sys.stdout.flush()"
    command = program(write)
    client = Client(command)
    client.request(Open("deque", {}))
    with pytest.raises(PortError, match="answered the call 'poll' with") as caught:
        client.request(Call(("poll",)))
    assert caught.value.kind is ErrorKind.CRASHED
    assert said in caught.value.reason
    assert len(caught.value.reason) < 600
    with closing(JsonLinesImplementation(command)) as implementation:
        seen = replay(Scenario("deque", DequeScenarioConfig(), (("add", 1),)), implementation)
    assert seen.violation is not None
    assert seen.violation.signature[:2] == (ANSWERS, "crashed")


@THOROUGH
@given(lines_to_the_suite)
def test_any_line_of_a_program_is_decoded_or_reported(line):
    reply, told = read_or_told(ValueError, decode_reply, line)
    assert decode_reply(encode(reply)) == reply if reply else 0 < len(told) < 2_100


@pytest.mark.parametrize("component", INTERFACES)
def test_any_answer_to_an_operation_is_converted_or_the_fault_of_the_program(component):
    interface = INTERFACES[component]
    methods = sorted(interface.port.__abstractmethods__)
    types = {method: exact(answer_type(getattr(interface.port, method))) for method in methods}
    accused, converted, waiting = Counter[str](), Counter[str](), Counter[str]()

    @settings(max_examples=60, deadline=None)
    @given(
        st.sampled_from(methods), (mutations_of(TAKEN) | SMALL).map(outcome_of) | mutations_of(WAITS) | st.just(WAITS)
    )
    def check(method, document):
        reply, _ = read_or_told(ValueError, decode_reply, line_of(document))
        if not isinstance(reply, OneOutcome):
            return
        port: Any = remote_port(interface, lambda port, what: reply.outcome)
        try:
            value = getattr(port, method)()
            waits_for = value.send(None) if hasattr(value, "send") else None
        except PortError:
            accused[method] += 1
            return
        if waits_for is not None:
            assert isinstance(waits_for, Waitable)
            value.close()
            waiting[method] += 1
        else:
            assert types[method](value)
            converted[method] += 1

    check()
    assert accused
    assert converted
    assert waiting


@THOROUGH
@given(st.lists(lines_to_a_program | st.sampled_from(REQUESTS[1:3]).map(line_of), max_size=6))
def test_any_request_is_answered_with_one_line(lines):
    lines = [line.replace(b"\n", b" ") for line in lines]
    answers = io.BytesIO()
    serve(REFERENCE, io.BytesIO(b"".join(line + b"\n" for line in lines)), answers)
    replies = [decode_reply(line) for line in answers.getvalue().splitlines()]
    assert len(replies) == len(lines) or encode(replies[-1]) == b'{"type":"closed"}\n'


@given(lines_to_a_program)
def test_any_request_is_decoded_or_reported(line):
    request, told = read_or_told(ValueError, decode_request, line)
    assert decode_request(encode(request)) == request if request else told


def test_an_answer_that_json_cannot_hold_is_refused():
    class Strange(Deque):
        def poll(self) -> Any:
            return object()

    answers = io.BytesIO()
    asked = [{"type": "open", "component": "deque", "config": {}}, {"type": "call", "call": ["poll"]}]
    serve(with_parts("strange", deque=Strange), io.BytesIO(b"".join(line_of(one) + b"\n" for one in asked)), answers)
    assert b"cannot be written as JSON" in answers.getvalue()
