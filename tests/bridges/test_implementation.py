"""A program as an implementation: the same ports, the same outcomes, stepwise and in one message."""

from __future__ import annotations

import inspect
import json
import shlex
import subprocess
from typing import Any

import jsonschema
import pytest

from conformance.bridges.jsonl import JsonLinesImplementation, jsonl
from conformance.bridges.jsonl.protocol import decode_reply, decode_request, encode, schema
from conformance.bridges.jsonl.remote import answers, remote_class
from conformance.ports import (
    INTERFACES,
    Alignment,
    Availability,
    Barrier,
    Buffer,
    BufferAndBacklog,
    Capability,
    CheckpointReason,
    DataAvailable,
    DequeConfig,
    Error,
    ErrorKind,
    Event,
    Item,
    Next,
    Outcome,
    OutputState,
    PortError,
    PriorityAvailable,
    Resources,
    StateStatus,
    SubpartitionConfig,
    UnusableImplementation,
    find_implementation,
)

CALLS: list[tuple[Any, ...]] = [
    ("new",),
    ("add", Item(0, 7)),
    ("add_priority", Item(1, 7)),
    ("items",),
    ("prioritize", 0),
    ("contains_priority", 0),
    ("count_priority",),
    ("remove", 9),
    ("poll",),
    ("resources",),
    ("new",),
    ("poll",),
]
VALUES = [None, None, None, (1, 0), None, True, 2, None, 1, Resources(), None, None]


def test_a_program_runs_stepwise_and_in_one_message(deque_program):
    implementation = jsonl(shlex.join(deque_program))
    assert (implementation.name, implementation.version, implementation.capabilities) == ("tiny", "1", frozenset())
    deque = implementation.components()["deque"]
    for call, value in zip(CALLS, VALUES, strict=True):
        if call[0] == "new":
            port: Any = deque(DequeConfig())
        elif call[0] == "remove":
            with pytest.raises(PortError, match="ValueError"):
                port.remove(9)
        else:
            assert getattr(port, call[0])(*call[1:]) == value
    assert implementation.batch is not None
    outcomes = implementation.batch("deque", DequeConfig(), CALLS)
    assert [outcome.value for outcome in outcomes] == VALUES
    assert [call for call, outcome in zip(CALLS, outcomes, strict=True) if outcome.error] == [("remove", 9)]
    implementation.close()


def test_nothing_is_started_before_it_is_needed():
    implementation = find_implementation("jsonl:/nonexistent/adapter --fast")
    with pytest.raises(UnusableImplementation, match=r"The program `/nonexistent/adapter --fast` cannot be started"):
        implementation.components()
    implementation.close()


@pytest.mark.parametrize("argument", ["", "  ", "adapter 'half"])
def test_what_is_no_command_is_reported(argument):
    with pytest.raises(UnusableImplementation, match="command"):
        jsonl(argument)


def test_capabilities_are_those_that_it_claims(program):
    made = JsonLinesImplementation(program(on_hello="say(**{**HELLO, 'capabilities': ['resources']})"))
    assert made.capabilities == {Capability.RESOURCES}
    made.close()


def test_capabilities_that_nobody_knows_are_named(program):
    made = JsonLinesImplementation(program(on_hello="say(**{**HELLO, 'capabilities': ['warp', 'resources', 'beam']})"))
    with pytest.raises(UnusableImplementation, match=r"bad claims capabilities .*: beam, warp\..*persisted-readback"):
        _ = made.capabilities
    made.close()


def test_components_that_nobody_knows_are_ignored(program):
    made = JsonLinesImplementation(program())
    assert set(made.components()) == {"deque", "subpartition"}
    made.close()


@pytest.mark.parametrize(
    ("on_call", "method", "arguments", "value"),
    [
        ("outcome(value={'element': {'type': 'barrier', 'checkpoint': 2, 'alignment': 'aligned'}, 'seq': 4, "
         "'next': 'none', 'backlog': 0})",
         "poll", (), BufferAndBacklog(Barrier(2, Alignment.ALIGNED), 4, Next.NONE, 0)),
        ("outcome()", "poll", (), None),
        ("outcome(value={'available': request['call'][1], 'backlog': 3})", "available", (True,), Availability(True, 3)),
        ("outcome(value={'status': 'written', 'ids': [1]})", "persisted", (1,), OutputState(StateStatus.WRITTEN, (1,))),
        ("outcome(value={'segments': 1})", "resources", (), Resources(1)),
        ("outcome(value=request['call'] == ['add', {'type': 'buffer', 'ids': [1], 'finished': False}])",
         "add", (Buffer((1,), finished=False),), True),
        ("outcome(value=None if request['call'] == ['abort', 1, 'expired'] else 1)",
         "abort", (1, CheckpointReason.EXPIRED), None),
    ],
)  # fmt: skip
def test_values_have_the_types_of_the_interface(program, on_call, method, arguments, value):
    made = JsonLinesImplementation(program(on_call))
    port: Any = made.components()["subpartition"](SubpartitionConfig())
    assert getattr(port, method)(*arguments) == value
    made.close()


@pytest.mark.parametrize(
    ("value", "method"),
    [
        ("3", "resources"),
        ("{'status': 'lost'}", "persisted"),
        ("'yes'", "add"),
        ("0", "release"),
        ("None", "available"),
    ],
)
def test_a_value_of_another_type_is_nonsense(program, value, method):
    made = JsonLinesImplementation(program(f"outcome(value={value})"))
    port: Any = made.components()["subpartition"](SubpartitionConfig())
    with pytest.raises(PortError, match=f"answered nonsense to '{method}'") as caught:
        getattr(port, method)(*[1] * (method in ("persisted", "add", "available")))
    assert caught.value.kind is ErrorKind.CRASHED
    made.close()


ODD_BUFFER = "{'element': {'type': 'buffer', 'ids': [1], 'extra': 1}, 'seq': 4, 'next': 'none', 'backlog': 0}"


@pytest.mark.parametrize(
    ("value", "call", "said"),
    [
        ("{'segments': 0, 'openFiles': 7}", ("resources",), "unknown field `openFiles`, found "),
        ("{'status': 'written', 'idz': [1]}", ("persisted", 1), "unknown field `idz`"),
        (ODD_BUFFER, ("poll",), "unknown field `extra` - at `$.element`"),
    ],
)
def test_a_value_with_an_unknown_field_is_nonsense(program, value, call, said):
    """A count whose name is misspelt is not there, so that nothing would be judged of it."""
    one = f"{{'value': {value}}}"
    made = JsonLinesImplementation(
        program(f"outcome(value={value})", on_scenario=f"say(type='outcomes', outcomes=[{{}}, {one}])")
    )
    config = SubpartitionConfig()
    port: Any = made.components()["subpartition"](config)
    with pytest.raises(PortError, match=f"answered nonsense to '{call[0]}'") as caught:
        getattr(port, call[0])(*call[1:])
    assert said in caught.value.reason
    assert made.batch is not None
    _, judged = made.batch("subpartition", config, [("new", config), call])
    assert judged.error == Error(ErrorKind.CRASHED, caught.value.reason)
    made.close()


def test_a_scenario_with_an_unknown_field_in_a_signal_is_not_answered(program):
    odd = "{'value': 1, 'signals': [{'type': 'priority-available', 'seq': 1, 'sequence': 1}]}"
    made = JsonLinesImplementation(program(on_scenario=f"say(type='outcomes', outcomes=[{{}}, {odd}])"))
    assert made.batch is not None
    with pytest.raises(PortError, match="unknown field `sequence`") as caught:
        made.batch("deque", DequeConfig(), [("new",), ("poll",)])
    assert caught.value.kind is ErrorKind.CRASHED
    made.close()


def test_signals_are_emitted_also_beside_an_error(program):
    made = JsonLinesImplementation(
        program(
            "outcome(signals=[{'type': 'data-available'}, {'type': 'priority-available', 'seq': 4}], "
            "error={'kind': 'checkpoint', 'reason': 'late', 'checkpoint_reason': 'expired'})"
        )
    )
    port: Any = made.components()["subpartition"](SubpartitionConfig())
    with pytest.raises(PortError) as caught:
        port.aligned_timeout(1)
    assert (caught.value.kind, caught.value.reason) == (ErrorKind.CHECKPOINT, "late")
    assert caught.value.checkpoint_reason is CheckpointReason.EXPIRED
    assert port.signals == [DataAvailable(), PriorityAvailable(4)]
    made.close()


DATA_AVAILABLE = "signals=[{'type': 'data-available'}]"


@pytest.mark.parametrize(
    ("component", "fields", "call", "said"),
    [
        ("deque", DATA_AVAILABLE, ("poll",), "no operation of this component signals data-available"),
        ("persister", DATA_AVAILABLE, ("stop", 1), "no operation of this component signals data-available"),
        ("persister", "ready=[5]", ("stop", 1), "it lists the token 5 as ready, and no operation waits with"),
        ("persister", "error={'kind': 'state'}, ready=[5]", ("stop", 1), "it lists the token 5 as ready"),
        ("persister", "signals=[{'type': 'fault-struck', 'place': 'p', 'kind': 'throws'}]", ("stop", 1), ""),
        ("subpartition", DATA_AVAILABLE, ("flush",), ""),
    ],
)
def test_signals_that_it_does_not_have_and_tokens_that_nobody_has_are_nonsense(program, component, fields, call, said):
    hello = f"say(**{{**HELLO, 'components': ['{component}']}})"
    answered = f"say(type='outcomes', outcomes=[{{}}, dict({fields})])"
    made = JsonLinesImplementation(program(f"outcome({fields})", hello, answered))
    config = INTERFACES[component].config()
    port: Any = made.components()[component](config)
    failed = None
    try:
        getattr(port, call[0])(*call[1:])
    except PortError as error:
        failed = Error(error.kind, error.reason)
    assert made.batch is not None
    _, judged = made.batch(component, config, [("new", config), call])
    assert judged.error == failed
    if said:
        assert failed is not None
        assert failed.kind is ErrorKind.CRASHED
        assert said in failed.reason
    else:
        assert len(judged.signals) == len(port.signals) == 1
        assert failed is None
    made.close()


@pytest.mark.parametrize(
    ("first", "then", "said"),
    [
        ("", "ready=[7, 7]", "it lists the token 7 as ready, which was listed before"),
        ("ready=[7]", "ready=[7]", "it lists the token 7 as ready, which was listed before"),
        ("ready=[7]", "ready=[8]", "it lists the token 8 as ready, and no operation waits with this token"),
        ("", "blocked=7", "it waits with the token 7, with which another operation waits"),
        ("", "ready=[7]", ""),
    ],
)
def test_a_token_is_that_of_one_operation_and_is_ready_once(program, first, then, said):
    answers_ = f"{{'receive': dict(blocked=7), 'take': dict({first}), 'resume': dict({then})}}"
    hello = "say(**{**HELLO, 'components': ['remote-channel']})"
    made = JsonLinesImplementation(program(f"outcome(**{answers_}[request['call'][0]])", hello))
    port: Any = made.components()["remote-channel"](INTERFACES["remote-channel"].config())
    waiting = port.receive(Event(0), 0, 0)
    at = waiting.send(None)
    assert not at.ready()
    port.take()
    assert at.ready() == bool(first)
    if said:
        with pytest.raises(PortError, match=said):
            port.resume()
    else:
        port.resume()
        assert at.ready()
    waiting.close()
    made.close()


def test_a_port_ends_when_the_next_one_is_made(program):
    made = JsonLinesImplementation(program("outcome(value=True)"))
    make: Any = made.components()["subpartition"]
    old, new = make(SubpartitionConfig()), make(SubpartitionConfig())
    assert new.add(Buffer(())) is True
    assert old.release() is None
    with pytest.raises(PortError) as caught:
        old.add(Buffer(()))
    assert caught.value.kind is ErrorKind.RELEASED
    made.close()


def test_a_scenario_is_answered_call_by_call(program):
    answer = "[{}, {'value': 3}, {'error': {'kind': 'state'}}, {'value': 'x', 'signals': [{'type': 'data-available'}]}]"
    made = JsonLinesImplementation(program(on_scenario=f"say(type='outcomes', outcomes={answer})"))
    calls = [("new",), ("poll",), ("items",), ("items",)]
    assert made.batch is not None
    good, three, state, nonsense = made.batch("deque", DequeConfig(), calls)
    assert (good, three) == (Outcome(), Outcome(3))
    assert state == Outcome(error=Error(ErrorKind.STATE))
    assert nonsense.signals == (DataAvailable(),)
    assert nonsense.error is not None
    assert nonsense.error.kind is ErrorKind.CRASHED
    with pytest.raises(PortError, match="answered 4 outcomes to a scenario of 2 calls") as caught:
        made.batch("deque", DequeConfig(), calls[:2])
    assert caught.value.kind is ErrorKind.CRASHED
    made.close()


def test_a_scenario_sends_the_configuration_of_each_restore(program):
    echo = (
        "say(type='outcomes', outcomes=[{'error': {'kind': 'state', 'reason': str(c[1])}} for c in request['calls']])"
    )
    made = JsonLinesImplementation(program(on_scenario=echo))
    first, later = SubpartitionConfig(1), SubpartitionConfig(3)
    assert made.batch is not None
    said = made.batch("subpartition", first, [("new", first), ("new", later), ("new",)])
    assert [one.error and one.error.reason for one in said] == [f"{{'exclusive_buffers': {n}}}" for n in (1, 3, 1)]
    made.close()


@pytest.mark.parametrize("interface", INTERFACES.values(), ids=INTERFACES)
def test_remote_ports_have_every_operation(interface):
    remote = remote_class(interface)
    assert not inspect.isabstract(remote)
    assert issubclass(remote, interface.port)
    more = {"fault"} if interface.port.can_fail else set()
    optional = {"offer_buffer", "alignment_times", "add_input_from_spill", "aligned", "state_written"}
    more |= optional & set(vars(interface.port))
    assert set(answers(interface)) == interface.port.__abstractmethods__ | more


def test_the_schema_describes_what_is_sent_and_answered(deque_program):
    judge = jsonschema.Draft202012Validator(schema(INTERFACES))
    judge.check_schema(schema(INTERFACES))
    requests = [
        {"type": "hello", "protocol": 4, "suite": "0"},
        {"type": "open", "component": "deque", "config": {}},
        {"type": "call", "call": ["add", {"handle": 0, "label": 0}]},
        {"type": "scenario", "component": "deque", "config": {}, "calls": [["new", {}], ["poll"]]},
        {"type": "close"},
    ]
    for request in requests:
        judge.validate(request)
        assert json.loads(encode(decode_request(json.dumps(request).encode()))) == request
    lines = "".join(json.dumps(request) + "\n" for request in requests)
    done = subprocess.run(deque_program, input=lines, capture_output=True, text=True, check=True)
    replies = done.stdout.splitlines()
    assert len(replies) == len(requests)
    for reply in replies:
        decode_reply(reply.encode())
        judge.validate(json.loads(reply))
    assert not judge.is_valid({"type": "shrug"})
    said = {"type": "data-available"}
    assert judge.is_valid({"type": "outcome", "outcome": {"signals": [said]}})
    assert not judge.is_valid({"type": "outcome", "outcome": {"signals": [{**said, "extra": 1}]}})
    with pytest.raises(ValueError, match="Invalid value 'shrug'"):
        decode_request(b'{"type":"shrug"}')
