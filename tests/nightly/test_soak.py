"""What takes minutes: the false-positive rate over many scenarios, and seeds that nobody has chosen."""

from __future__ import annotations

import secrets

import pytest

from conformance.components import COMPONENTS
from conformance.driver import Program
from conformance.engines import Search, check_with_hypothesis
from conformance.engines.check import missed_goals, search_range
from conformance.engines.search import seeds
from conformance.ports import find_implementation

pytestmark = pytest.mark.slow
GENERATIONS = ("reference", "reference-in-memory", "reference-recover-first")
SCENARIOS = 200_000
LONG, LONG_SCENARIOS = 5_000, 500


@pytest.mark.parametrize("component", sorted(COMPONENTS))
@pytest.mark.parametrize("name", GENERATIONS)
def test_the_reference_never_fails_over_many_scenarios(name, component):
    seed = secrets.token_hex(8)  # another night, other scenarios; a failure names the seed
    ready = Program(COMPONENTS[component], find_implementation(name))
    tally = search_range(ready, seed, range(SCENARIOS))
    assert tally.failures == {}, f"seed {seed}"
    assert missed_goals(ready, tally) == [], f"seed {seed}"


@pytest.mark.parametrize("component", sorted(COMPONENTS))
@pytest.mark.parametrize("name", GENERATIONS)
def test_the_reference_never_fails_in_long_scenarios(name, component):
    """Long lives reach what a hundred steps do not: much state, many checkpoints, and many restores in a row."""
    seed = secrets.token_hex(8)
    search = Search(Program(COMPONENTS[component], find_implementation(name)), LONG)
    steps = 0
    for text in seeds(seed, component, range(LONG_SCENARIOS)):
        _, run = search.run(text)
        assert run.violation is None, f"seed {text}: {run.violation}"
        steps += len(run.performed)
    print(f"{component}: {steps / LONG_SCENARIOS:,.0f} steps in a scenario")
    assert steps > LONG * LONG_SCENARIOS / 2


@pytest.mark.parametrize("component", sorted(COMPONENTS))
def test_hypothesis_finds_nothing_on_the_reference_either(component):
    seed = secrets.token_hex(8)
    result = check_with_hypothesis(Program(COMPONENTS[component], find_implementation("reference")), 2000, seed)
    assert result.clean, f"seed {seed}: {result.found}"
