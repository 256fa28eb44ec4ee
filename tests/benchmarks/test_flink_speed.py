"""How many scenarios of twenty steps a second the released Flink gets through, judged, on one core and one JVM."""

from __future__ import annotations

from time import perf_counter

import pytest

from conformance.alphabets import alphabet_of
from conformance.alphabets.program import Program
from conformance.engines import Search
from conformance.engines.batch import BatchSearch
from conformance.ports import UnusableImplementation, find_implementation

pytestmark = [pytest.mark.benchmark, pytest.mark.flink]
STEPS = 20
SCENARIOS = 2000


def test_scenarios_per_second(capsys):
    try:
        began = perf_counter()
        flink = find_implementation("flink-component@2.3.0")
        started = bool(flink.components()) and perf_counter() - began
    except UnusableImplementation as error:
        pytest.skip(str(error))
    program = Program(alphabet_of("subpartition"), flink)
    assert flink.batch is not None
    rates = []
    for search in (BatchSearch(program, flink.batch, STEPS), Search(program, STEPS)):
        search.run("warm up")
        began = perf_counter()
        for number in range(SCENARIOS):
            search.run(f"speed/{number}")
        rates.append(SCENARIOS / (perf_counter() - began))
    flink.close()
    with capsys.disabled():
        print(f"\nstart {started:.2f} s; {rates[0]:,.0f} scenarios/s in batches, {rates[1]:,.0f} step by step")
