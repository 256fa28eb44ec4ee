"""A message brings data, and loads nothing."""

from __future__ import annotations

import os
import pickle
import sys

import pytest
from msgspec import UNSET

from conformance.engines.tally import Failure, Tally
from conformance.engines.wire import Wire
from conformance.ports import BufferAndBacklog, CancelMarker, Next
from conformance.scenarios import Scenario
from tests.engines.hostile import Harmless

wire = Wire()


class Foreign:
    def __repr__(self) -> str:
        return "foreign " * 100


class Silent:
    def __repr__(self) -> str:
        raise RuntimeError


def sent(message):
    read, write = os.pipe()
    try:
        wire.write(write, message)
        return wire.read(read)
    finally:
        os.close(read)
        os.close(write)


def test_data_arrives_as_it_was():
    taken = BufferAndBacklog(CancelMarker(3), 1, Next.EVENT, 0)
    scenario = Scenario("deque", None, (("add", 1),))
    message = (
        "done",
        [taken, {"a": (1.5, None, True, UNSET)}, Tally(failures={("a", "b", "c"): Failure(scenario, "", "")})],
    )
    assert sent(message) == message


def test_what_is_no_data_of_the_suite_arrives_as_text():
    found = sent([Foreign(), Silent(), Harmless, len, 7])
    assert found[0] == ("foreign " * 100)[:160]
    assert found[1] == "<Silent>"
    assert found[2] == repr(Harmless)
    assert found[3:] == [repr(len), 7]


class Evil:
    def __reduce__(self):
        return os.system, ("true",)


@pytest.mark.parametrize("what", [Evil(), Foreign(), Harmless])
def test_nothing_else_is_loaded(what):
    with pytest.raises(pickle.UnpicklingError, match=r"a message has a (posix|tests)\."):
        wire.decoded(pickle.dumps(what))


def test_a_module_is_not_imported():
    assert "antigravity" not in sys.modules
    with pytest.raises(pickle.UnpicklingError):
        wire.decoded(b"cantigravity\nfly\n.")
    assert "antigravity" not in sys.modules


def test_messages_are_split_where_they_end():
    read, write = os.pipe()
    wire.write(write, "one")
    wire.write(write, "two")
    data = os.read(read, 1000)
    received = bytearray()
    found = []
    for byte in data:
        received.append(byte)
        found += wire.split(received)
    assert found == ["one", "two"]
    assert not received
    os.close(read)
    os.close(write)
