"""How many scenarios of twenty steps a second the released Flink gets through, judged, with one JVM."""

from __future__ import annotations

from time import perf_counter

import pytest

from conformance.components import COMPONENTS
from conformance.driver import Program
from conformance.engines import Search
from conformance.engines.batch import BatchSearch
from conformance.ports import UnusableImplementation, find_implementation

pytestmark = [pytest.mark.benchmark, pytest.mark.flink]
STEPS = 20
SCENARIOS = 1000


def test_scenarios_per_second(capsys):
    try:
        began = perf_counter()
        flink = find_implementation("flink-component@2.3.0")
        components = list(flink.components())
        started = perf_counter() - began
    except UnusableImplementation as error:
        pytest.skip(str(error))
    with capsys.disabled():
        print(f"\nJVM start {started:.2f} s; scenarios of {STEPS} steps a second:")
    for component in components:
        program = Program(COMPONENTS[component], flink)
        assert flink.batch is not None
        rates = []
        for search in (BatchSearch(program, flink.batch, STEPS), Search(program, STEPS)):
            search.run("warm up")
            began = perf_counter()
            for number in range(SCENARIOS):
                search.run(f"speed/{number}")
            rates.append(SCENARIOS / (perf_counter() - began))
        with capsys.disabled():
            print(f"  {component:18} {rates[0]:6,.0f} in batches, {rates[1]:6,.0f} step by step")
    flink.close()
