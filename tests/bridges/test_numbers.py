"""The suite sends no integer that a language without integers of 64 bits, as JavaScript, would read as another one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from conformance.components import COMPONENTS
from conformance.driver import Program
from conformance.engines.batch import noting
from conformance.engines.search import Search, seeds
from conformance.ports import find_implementation
from conformance.ports.implementation import Call

LARGEST = 2**53
"""Up to this one, each integer is a floating-point number of 64 bits."""
DRAWN = 12


def numbers(what: Any) -> Iterator[int]:
    if isinstance(what, int):
        yield what
    elif isinstance(what, dict | list | tuple):
        for one in what.values() if isinstance(what, dict) else what:
            yield from numbers(one)


@pytest.mark.parametrize("component", COMPONENTS)
def test_every_number_that_is_sent_is_below_what_javascript_reads(component):
    sent: list[Call] = []
    program = Program(COMPONENTS[component], find_implementation("reference"))
    search = Search(program.made_by(noting(program.factory, sent)))
    for seed in seeds("numbers", component, range(DRAWN)):
        search.run(seed)
    configs = [program.component.port_config(one) for one in program.configs]
    found = list(numbers(msgspec.to_builtins([sent, configs])))
    assert sent
    assert found
    assert all(abs(one) <= LARGEST for one in found)


def test_numbers_are_found_wherever_they_are():
    assert list(numbers([("start", 2**60, [1]), {"a": {"b": [2, "3", None]}}])) == [2**60, 1, 2]
