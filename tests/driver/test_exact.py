"""Results and signals have exactly the types of the interface, from any adapter and in any engine."""

from __future__ import annotations

from enum import Enum
from functools import partial
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Struct

from conformance.bridges.jsonl.protocol import OneOutcome, decode_reply
from conformance.bridges.jsonl.remote import remote_port
from conformance.components import COMPONENTS
from conformance.driver import ANSWERS, Program
from conformance.engines import check, replay
from conformance.engines.doctor import examine
from conformance.engines.hypothesis_check import check_with_hypothesis
from conformance.engines.replay import ReplayVerdict
from conformance.ports import (
    INTERFACES,
    Capability,
    DataAvailable,
    Implementation,
    PortError,
    Signal,
    find_implementation,
)
from conformance.ports.exact import are_signals, exact
from conformance.ports.registry import is_own
from conformance.ports.signatures import answer_type, operations
from reference_impl.network.local_channel import LocalChannel
from tests.implementations import With, with_parts
from tests.lying import LYING, Anything, NumberEqualToAll, Word, ZeroForNothingLater

SUBPARTITION = COMPONENTS["subpartition"]
HINTS = list(
    dict.fromkeys(
        [Signal, *(answer_type(getattr(port, one)) for port, _ in INTERFACES.values() for one in operations(port))]
    )
)


# ---- in every engine -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("part", LYING, ids=lambda part: part.__name__)
def test_a_wrong_type_is_a_finding_of_the_class_of_an_invalid_result(part):
    program = Program(SUBPARTITION, With(part))
    found = [one for one in check(program, 150, "0").found if LYING[part] in one.observed]
    assert found
    for one in found:
        assert one.signature[:2] == (ANSWERS, "crashed")
        assert one.observed.startswith("it did not keep to the interface: ")
    seen = replay(found[0].scenario, With(part))
    assert seen.verdict is ReplayVerdict.FAILED
    assert seen.violation is not None
    assert LYING[part] in seen.violation.broken.observed


@pytest.mark.parametrize("part", [NumberEqualToAll, ZeroForNothingLater], ids=lambda part: part.__name__)
def test_hypothesis_and_the_doctor_find_it_too(part):
    found = check_with_hypothesis(Program(SUBPARTITION, With(part)), 60, "0").found
    assert [one.signature[:2] for one in found if LYING[part] in one.observed] == [(ANSWERS, "crashed")]
    assert any(LYING[part] in one.found for one in examine(lambda: With(part)) if one.wrong)


def test_a_result_after_which_the_task_has_failed_has_the_right_type_too():
    """How such an operation ends is not judged, but its result is one of the interface."""

    class Late(LocalChannel):
        async def take(self) -> Any:
            await super().take()
            return 7

    program = Program(COMPONENTS["local-channel"], with_parts("mine", local_channel=Late))
    found = [one for one in check(program, 300, "0").found if "got `int`" in one.observed]
    assert {one.signature for one in found} == {(ANSWERS, "crashed", "take")}


def test_those_of_the_suite_are_not_asked_and_all_others_are():
    assert all(is_own(find_implementation(name)) for name in ("reference", "known-bug:B-01", "legal-variant:V-H1"))
    assert is_own(find_implementation("jsonl:true"))
    assert not is_own(With())
    assert not is_own(with_parts("mine"))
    assert Program(SUBPARTITION, With()).is_checked
    assert not Program(SUBPARTITION, find_implementation("reference")).is_checked


# ---- every type of the interface -------------------------------------------------------------------------------------
def values(hint: Any) -> st.SearchStrategy[Any]:
    """Values of a type of the interface."""
    if get_origin(hint) in (Union, UnionType):
        return st.one_of(*map(values, get_args(hint)))
    if hint in (None, NoneType):
        return st.none()
    if get_origin(hint) is tuple:
        return st.lists(values(get_args(hint)[0]), max_size=3).map(tuple)
    if issubclass(hint, Enum):
        return st.sampled_from(hint)
    if issubclass(hint, Struct):
        hints = get_type_hints(hint)
        return st.tuples(*(values(hints[name]) for name in hint.__struct_fields__)).map(lambda some: hint(*some))
    return {bool: st.booleans(), int: st.integers(-3, 9), str: st.text(max_size=3)}[hint]


def parts(value: Any) -> int:
    """How many values there are inside, itself included."""
    return 1 + sum(map(parts, _inside(value)))


def _inside(value: Any) -> tuple[Any, ...]:
    if isinstance(value, Struct):
        return tuple(getattr(value, name) for name in value.__struct_fields__)
    return value if type(value) is tuple else ()


def replaced(value: Any, at: int) -> Any:
    """The value with another one in the place of the part with this number, which is equal to it as far as possible."""
    if at == 0:
        return _other(value)
    at -= 1
    inside = []
    for one in _inside(value):
        inside.append(replaced(one, at) if 0 <= at < parts(one) else one)
        at -= parts(one)
    return tuple(inside) if type(value) is tuple else type(value)(*inside)


def _other(value: Any) -> Any:
    match value:
        case bool():
            return int(value)
        case int():
            return Anything(value)
        case str():
            return Word(value)
        case tuple():
            return list(value)
        case Struct():
            return msgspec.structs.asdict(value)
    assert value is None
    return 0.5


@pytest.mark.parametrize("hint", HINTS, ids=str)
@settings(max_examples=30)
@given(data=st.data())
def test_what_json_gives_back_is_right_and_with_one_other_part_it_is_wrong(hint, data):
    value = data.draw(values(hint))
    is_right = exact(hint)
    assert is_right(value)
    assert is_right(msgspec.json.decode(msgspec.json.encode(value), type=hint))
    other = replaced(value, data.draw(st.integers(0, parts(value) - 1)))
    assert not is_right(other)
    assert "got `" in is_right.complaint(other)
    if hint is Signal:
        assert are_signals([value])
        assert not are_signals([value, other])
        assert not are_signals((value,))


@pytest.mark.parametrize("text", ["1.0", "true", "1e0", '"1"'])
def test_a_program_cannot_write_another_type_for_a_number(text):
    reply = decode_reply(b'{"type":"outcome","outcome":{"value":%s}}' % text.encode())
    assert isinstance(reply, OneOutcome)
    port: Any = remote_port(INTERFACES["local-channel"], lambda port, what: reply.outcome)
    with pytest.raises(PortError, match="answered nonsense to 'in_use'"):
        port.in_use()


def test_half_of_a_character_is_no_text():
    assert exact(str)("ä😀")
    assert not exact(str)("\ud83d")
    assert "half of a character" in exact(str).complaint("\ud83d")


def test_a_component_of_others_may_have_other_types():
    pair, counts = exact(tuple[int, bool]), exact(dict[str, int])
    assert pair((1, True))
    assert not pair((1, 1))
    assert not pair((1,))
    assert "Expected `array` of length 2, got 1 - at `$`" in pair.complaint((1,))
    assert "Expected `bool`, got `int` - at `$[1]`" in pair.complaint((1, 1))
    assert counts({"a": 1})
    assert not counts({"a": 1.5})
    assert "Expected `object`, got `dict` - at `$`" in counts.complaint({"a": 1.5})
    assert exact(tuple[dict[str, int], ...])(({"a": 1}, {}))
    assert not exact(tuple[dict[str, int], ...])(({"a": 1.5},))


# ---- signals of other components -------------------------------------------------------------------------------------
class Talkative(Implementation):
    """The reference. Each fresh port has emitted a signal, which only some components have."""

    name = "talkative"
    inner = find_implementation("reference")

    @property
    def capabilities(self) -> frozenset[Capability]:
        return self.inner.capabilities

    def components(self):
        return {name: partial(self.make, make) for name, make in self.inner.components().items()}

    @staticmethod
    def make(make: Any, config: Any) -> Any:
        port = make(config)
        port.emit(DataAvailable())
        return port


@pytest.mark.parametrize("component", COMPONENTS.values(), ids=lambda one: one.name)
def test_a_signal_of_another_component_is_no_error_of_the_suite(component):
    checked = check(Program(component, Talkative()), 3, "0")
    assert checked.tally.scenarios == 3
