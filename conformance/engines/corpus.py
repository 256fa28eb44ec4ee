"""The corpus: minimal scenarios that once showed a bug, replayed before anything is searched for.

They cost milliseconds and are where an implementation most likely fails, if it fails at all.
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
    """Where the corpus lies: in the package where it is installed, among the tests in a working copy."""
    places = (_PACKAGE / "corpus", _PACKAGE.parent / "tests" / "corpus")
    return next((place for place in places if place.is_dir()), None)


class _About(Struct):
    component: str


@cache
def corpus(component: Component) -> tuple[tuple[str, Scenario], ...]:
    """The scenarios of a component with their names, in the order of names. Raises: SchemaError."""
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
    """The failures among the scenarios that mean something to the implementation.

    What holds in them is no evidence for anybody: they were made for somebody else. The first that crashes or hangs
    is the last.
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
