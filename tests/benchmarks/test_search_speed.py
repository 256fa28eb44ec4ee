"""How fast the engines are, as ratios within one run. Nothing is asserted about a time: machines are shared."""

from __future__ import annotations

from time import process_time

import pytest

from conformance.components import COMPONENTS
from conformance.driver import Program, run_scenario
from conformance.engines import Search, check_with_hypothesis
from conformance.engines.search import seeds
from conformance.ports import find_implementation

pytestmark = pytest.mark.benchmark
SCENARIOS = 8000
ROUNDS = 5


@pytest.mark.parametrize("component", sorted(COMPONENTS))
def test_search_replay_and_hypothesis(component, capsys):
    ready = Program(COMPONENTS[component], find_implementation("reference"))
    search = Search(ready)
    searched, replayed = [], []
    for number in range(ROUNDS):
        texts = list(seeds(f"speed/{number}", component, range(SCENARIOS)))
        began = process_time()
        runs = [search.run(text) for text in texts]
        spent = process_time() - began
        steps = sum(len(run.performed) for _, run in runs)
        closing = sum(run.closing_steps for _, run in runs)
        searched.append((steps / spent, (steps + closing) / spent, spent))
        began = process_time()
        for scenario, _ in runs:
            run_scenario(ready, scenario.config, scenario.steps)
        replayed.append(process_time() - began)
    began = process_time()
    with_hypothesis = check_with_hypothesis(ready, 200, "speed")
    hypothesis_speed = with_hypothesis.tally.steps / (process_time() - began)
    middle = sorted(searched)[ROUNDS // 2]
    ratio = sorted(one[2] / other for one, other in zip(searched, replayed, strict=True))[ROUNDS // 2]
    with capsys.disabled():
        print(
            f"\n{component}: random search {middle[0]:,.0f} steps/s and core ({middle[1]:,.0f} with the drain), "
            f"{ratio:.2f}x the time of replaying the same scenarios; Hypothesis {hypothesis_speed:,.0f} steps/s, "
            f"{middle[0] / hypothesis_speed:.0f}x slower"
        )
    assert with_hypothesis.clean
