"""Which known bugs of the reference show the failures of a group, too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing

from conformance.driver import Component, Program, run_scenario
from conformance.engines.check import Found
from conformance.engines.corpus import corpus
from conformance.engines.patience import PATIENCE
from conformance.ports import KnownBug, UnusableImplementation

MOST = 3
"""How many known bugs are named."""
TRIED = 8
"""How many known bugs are tried, and on how many findings of the group. Making one takes 20 ms."""


def resembling(
    found: Sequence[Found], components: Mapping[str, Component], known: Mapping[str, KnownBug]
) -> tuple[str, ...]:
    """Returns the ids of known bugs that fail in the same way in at least half of these findings' scenarios.

    Only those are tried whose scenario in the corpus shows one of the failures, the shortest scenarios first.
    """
    tried = [one for one in sorted(found, key=_length) if one.failure_class not in PATIENCE][:TRIED]
    counts = {
        name: _agreeing(known[name], tried, components)
        for name in [one for one in _candidates(tried, components) if one in known][:TRIED]
    }
    agreeing = [name for name, count in counts.items() if count and 2 * count >= len(tried)]
    return tuple(sorted(agreeing, key=lambda name: (-counts[name], name))[:MOST])


def _candidates(found: Sequence[Found], components: Mapping[str, Component]) -> list[str]:
    names: dict[str, None] = {}
    for one in found:
        for name, scenario in corpus(components[one.scenario.component]):
            shown = scenario.finding
            if shown is not None and (shown.property, shown.failure_class) == one.signature[:2]:
                names[name] = None
    return list(names)


def _agreeing(bug: KnownBug, found: Sequence[Found], components: Mapping[str, Component]) -> int:
    """Returns in how many of the scenarios the known bug fails with the same property and class."""
    try:
        implementation = bug.build()
    except UnusableImplementation:
        return 0
    count = 0
    with closing(implementation):
        for one in found:
            component = components[one.scenario.component]
            if component.name in implementation.components():
                program = Program(component, implementation)
                run = run_scenario(program, one.scenario.config, one.scenario.steps)
                count += run.violation is not None and run.violation.signature[:2] == one.signature[:2]
    return count


def _length(found: Found) -> tuple[int, str, tuple[str, str, str]]:
    return len(found.scenario.steps), found.scenario.component, found.signature
