"""The corpus: minimal scenarios that once showed a bug. A check replays them before it searches.

The replay takes milliseconds, and an implementation that has a bug is most likely to fail in these scenarios.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from importlib.resources.abc import Traversable

import msgspec
from msgspec import Struct

from conformance.driver import Component, Components, Program, run_scenario
from conformance.engines.interruption import NEVER, Interruption, until
from conformance.engines.patience import IN_CORPUS, Patience
from conformance.engines.tally import Failure, Signature, Tally
from conformance.scenarios import Scenario, decode_scenario
from conformance.scenarios.former_gates import component_as_of_today
from conformance.system.packaged import packaged

ENDING = ".json"


class _About(Struct):
    component: str


def corpus_files() -> Iterator[Traversable]:
    """Yields the files of the corpus by name: those of the installed package, or of the tests of a working copy."""
    folder = packaged("corpus", "tests/corpus")
    if folder is not None:
        yield from sorted((one for one in folder.iterdir() if one.name.endswith(ENDING)), key=lambda one: one.name)


@cache
def corpus(component: Component) -> tuple[tuple[str, Scenario], ...]:
    """Returns the scenarios of a component with their names, in the order of the names. Raises: SchemaError."""
    found = []
    for file in corpus_files():
        text = file.read_text(encoding="utf-8")
        if component_as_of_today(msgspec.json.decode(text, type=_About).component) == component.name:
            where = str(file)
            found.append((file.name.removesuffix(ENDING), decode_scenario(text, Components("", (component,)), where)))
    return tuple(found)


def replay_corpus(
    program: Program,
    numbers: Iterable[int] | None = None,
    spent: Iterable[str] = (),
    interruption: Interruption = NEVER,
) -> dict[Signature, Failure]:
    """Returns the failures in the scenarios whose configurations the implementation understands, of the shapes of the
    component in which the program is searched.

    `numbers` are the places of scenarios in the corpus of the component; None: all. `spent` are the classes of failures
    in earlier ones. After too many crashes, the rest is not replayed.

    A property that holds in these scenarios does not count as exercised, because they were made for known bugs of other
    implementations.
    """
    tally, patience = Tally(), Patience(spent, IN_CORPUS)
    scenarios = corpus(program.component)
    for number in until(interruption, range(len(scenarios)) if numbers is None else numbers):
        scenario = scenarios[number][1]
        if not program.understands(scenario.config) or not program.has_shape(scenario.config):
            continue
        run = run_scenario(program, scenario.config, scenario.steps)
        if run.violation is not None:
            signature, broken = run.violation.signature, run.violation.broken
            performed = Scenario(scenario.component, scenario.config, tuple(run.performed))
            tally.fail(signature, Failure(performed, broken.owed, broken.observed))
            if patience.is_over_after(signature[1]):
                break
    return tally.failures
