"""The corpus: minimal scenarios that once showed a bug. A check replays them before it searches.

The replay takes milliseconds, and an implementation that has a bug is most likely to fail in these scenarios.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import msgspec
from msgspec import Struct

import conformance
from conformance.driver import Component, Components, FailureClass, Program, run_scenario
from conformance.engines.tally import Failure, Signature, Tally
from conformance.scenarios import Scenario, decode_scenario

_PACKAGE = Path(conformance.__file__).parent


def corpus_folder() -> Path | None:
    """Returns the folder of the corpus: in the installed package, or among the tests of a working copy."""
    places = (_PACKAGE / "corpus", _PACKAGE.parent / "tests" / "corpus")
    return next((place for place in places if place.is_dir()), None)


class _About(Struct):
    component: str


@cache
def corpus(component: Component) -> tuple[tuple[str, Scenario], ...]:
    """Returns the scenarios of a component with their names, in the order of the names. Raises: SchemaError."""
    folder = corpus_folder()
    if folder is None:
        return ()
    found = []
    for file in sorted(folder.glob("*.json")):
        text = file.read_text(encoding="utf-8")
        if msgspec.json.decode(text, type=_About).component == component.name:
            found.append((file.stem, decode_scenario(text, Components("", (component,)), str(file))))
    return tuple(found)


def replay_corpus(program: Program) -> dict[Signature, Failure]:
    """Returns the failures in the scenarios whose configurations the implementation understands.

    A property that holds in these scenarios does not count as exercised, because they were made for known bugs of other
    implementations. The replay ends after the first crash or hang.
    """
    tally = Tally()
    for _, scenario in corpus(program.component):
        if not program.understands(scenario.config):
            continue
        run = run_scenario(program, scenario.config, scenario.steps)
        if run.violation is not None:
            signature, broken = run.violation.signature, run.violation.broken
            performed = Scenario(scenario.component, scenario.config, tuple(run.performed))
            tally.fail(signature, Failure(performed, broken.owed, broken.observed))
            if broken.failure_class in (FailureClass.CRASHED, FailureClass.HUNG):
                break
    return tally.failures
