"""Where implementations of a campaign differ from its baseline although none of them breaks a property.

Either result may be right: the specification allows both, or says nothing. What an implementation does in a component
in which it breaks a property, as each known bug does, is shown apart, since it may differ because of that.
"""

from __future__ import annotations

from collections.abc import Collection
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace

import msgspec

from conformance.campaigns import CampaignResult, DifferenceResult
from conformance.campaigns.names import SEARCHED
from conformance.driver import Component, Components, Program, Run, run_scenario
from conformance.engines import Replay, replay
from conformance.engines.apart import Apart, find
from conformance.engines.compare import first_difference, outcomes
from conformance.engines.divergence import Differ
from conformance.engines.interruption import NEVER, Interruption, until
from conformance.engines.kinds import kinds_of
from conformance.engines.patience import PATIENCE
from conformance.ports import Capability, Implementation, UnusableImplementation
from conformance.ports.registry import KNOWN_BUG_SCHEME, is_built_in
from conformance.reporting.columns import places_of
from conformance.reporting.story import SEPARATOR
from conformance.reporting.words import outcome_in_words, signals_in_words, step_in_words
from conformance.scenarios import Entry, Scenario, decode_scenario, encode_scenario

MOST_RUN = 200
"""So many scenarios of differences are run again for a page, on both sides. That takes a few seconds."""
MOST_REDUCED = 20
SHORT = 8
RUNS = 300
"""Of those with more than `SHORT` steps, so many are reduced for a page, each in at most `RUNS` runs."""


@dataclass(frozen=True, slots=True)
class Sides:
    """What both sides do in the scenario of a difference."""

    step: str
    """At which they differ, in words."""
    kinds: tuple[str, str]
    """What differs, in few words; the baseline first."""
    told: tuple[str, str]
    """The results with their signals; the baseline first."""


@dataclass(frozen=True, slots=True)
class Difference:
    """The differences of one kind: of an implementation, at an operation, in a field. It is not a violation."""

    implementation: str
    component: str
    operation: str
    field: str
    count: int
    """In how many scenarios it was the first difference."""
    config: str
    steps: tuple[str, ...]
    """The shortest scenario that is known, up to the difference, in words."""
    text: str
    """The same as a scenario file."""
    legal: bool
    """Whether the implementation breaks no property of the component."""
    sides: Sides | None = None
    """None if the scenario was not run again."""
    why: str = ""
    """Why it was not, or did not show the difference; empty if it did."""


@dataclass(frozen=True, slots=True)
class Differences:
    """All differences from a baseline, by component."""

    baseline: str
    legal: tuple[Difference, ...] = ()
    others: tuple[Difference, ...] = ()
    """Of implementations that break a property of the component."""
    alike: tuple[str, ...] = ()
    """The implementations of which none was found."""


def differences(
    result: CampaignResult,
    chosen: Collection[str] = (),
    components: Components = SEARCHED,
    interruption: Interruption = NEVER,
) -> Differences:
    """Return the differences of a campaign. The scenarios of the legal ones are run again, on both sides.

    An implementation that is neither built in nor among those `chosen` is not run.
    """
    place = places_of(components)
    broken = {(one.name, part.component) for one in result.implementations for part in one.components if part.findings}
    baseline = result.plan.baseline
    every = [
        _difference(one, (one.implementation, one.component) not in broken, baseline, broken, components)
        for one in sorted(result.differences, key=lambda one: (place(one.component), -one.count))
    ]
    legal = [one for one in every if one.legal]
    return Differences(
        baseline,
        tuple(_run(legal, baseline, chosen, result.plan.assume, components, interruption)),
        tuple(one for one in every if not one.legal),
        tuple(name for name in result.plan.implementations[1:] if name not in {one.implementation for one in every}),
    )


def _difference(
    one: DifferenceResult, legal: bool, baseline: str, broken: Collection[tuple[str, str]], components: Components
) -> Difference:
    scenario = decode_scenario(msgspec.json.encode(one.scenario).decode(), components, one.id)
    legal = legal and (baseline, one.component) not in broken and not one.implementation.startswith(KNOWN_BUG_SCHEME)
    told = Difference(one.implementation, one.component, one.operation, one.field, one.count, "", (), "", legal)
    return _told_as(told, scenario, components[scenario.component])


def _run(
    every: list[Difference], baseline: str, chosen: Collection[str], assume: Collection[Capability],
    components: Components, interruption: Interruption,
) -> list[Difference]:  # fmt: skip
    """Run the scenario of each difference again, as far as that may be and an interruption allows."""
    shown = [replace(one, why="it was not run again") for one in every]
    reduced = 0
    with ExitStack() as stack:
        made: dict[str, Implementation | str] = {}
        for at in until(interruption, range(min(len(every), MOST_RUN))):
            one, sides = every[at], []
            for name in (baseline, one.implementation):
                if name not in made:
                    made[name] = _made(name, chosen, components)
                    if isinstance(found := made[name], Implementation):
                        stack.enter_context(closing(found))
                if isinstance(found := made[name], str):
                    shown[at] = replace(one, why=found)
                    break
                scenario = decode_scenario(one.text, components, one.component)
                sides.append(replay(scenario, found, assume, components))
            else:
                shown[at] = _seen(one, sides[0], sides[1], components[one.component])
                if shown[at].sides is not None and len(one.steps) > SHORT and reduced < MOST_REDUCED:
                    left, right = made[baseline], made[one.implementation]
                    assert isinstance(left, Implementation)
                    assert isinstance(right, Implementation)
                    again = _reduced(one, (left, right), baseline, assume, components, interruption)
                    if again is not None:
                        reduced, shown[at] = reduced + 1, again
    return shown


def _reduced(
    one: Difference, both: tuple[Implementation, Implementation], baseline: str, assume: Collection[Capability],
    components: Components, interruption: Interruption,
) -> Difference | None:  # fmt: skip
    """Return a difference with a shorter scenario; None if there is none, or if a side cannot be run many times."""
    if any(isinstance(side, Apart) or side.is_far for side in both):
        return None
    component, scenario = components[one.component], decode_scenario(one.text, components, one.component)
    program = Program(component, both[1], assume)
    differ = Differ(baseline, both[0], program, assume, budget=RUNS)
    differ.see(scenario, run_scenario(program, scenario.config, scenario.steps, record=True))
    for found in differ.conclude(interruption).divergences:
        steps = found.scenario.steps[: found.at + 1]
        if (found.group.operation, found.group.field) == (one.operation, one.field) and len(steps) < len(one.steps):
            shorter = Scenario(component.name, found.scenario.config, steps)
            left, right = (replay(shorter, side, assume, components) for side in both)
            again = _seen(_told_as(one, shorter, component), left, right, component)
            return again if again.sides is not None else None
    return None


def _told_as(one: Difference, scenario: Scenario, component: Component) -> Difference:
    """Return a difference with another scenario."""
    config: dict[str, object] = msgspec.to_builtins(scenario.config)
    return replace(
        one,
        config=msgspec.json.encode(config).decode(),
        steps=tuple(step_in_words(step, component) for step in scenario.steps),
        text=encode_scenario(scenario),
    )


def _made(name: str, chosen: Collection[str], components: Components) -> Implementation | str:
    """Return an implementation, or why it is not there."""
    if not is_built_in(name) and name not in chosen:
        return f"{name} is not built in, and was not named, so it was not run again"
    try:
        return find(name, components=components)
    except UnusableImplementation as error:
        return str(error)


def _seen(one: Difference, left: Replay, right: Replay, component: Component) -> Difference:
    if any(side.violation is not None and side.violation.broken.failure_class in PATIENCE for side in (left, right)):
        return replace(one, why="a side crashed or hung when it was run again")
    runs = outcomes(component, _as_run(left), _as_run(right))
    found = first_difference(*runs)
    if found is None:
        return replace(one, why="the sides did not differ when it was run again")
    index, _, where = found
    entries = [run.entries[index] if index < len(run.entries) else None for run in runs]
    shown = entries[0] or entries[1]
    assert shown is not None
    told = [_told(component, entry) for entry in entries]
    sides = Sides(step_in_words(shown.step, component), kinds_of(entries[0], entries[1], where), (told[0], told[1]))
    return replace(one, sides=sides)


def _as_run(side: Replay) -> Run:
    run = Run(None, 0, side.violation)
    run.entries = side.history.entries
    return run


def _told(component: Component, entry: Entry | None) -> str:
    if entry is None or entry.outcome is None:
        return "not enabled, or the run is over"
    words = outcome_in_words(entry.outcome, component.step(entry.step[0]))
    signals = SEPARATOR.join(signals_in_words(entry.outcome.signals))
    return f"{words}; {f'signals: {signals}' if signals else 'no signal'}"
