"""Judges one scenario inside a test of a user: `@given(scenarios("subpartition"))`."""

from __future__ import annotations

import shlex
from collections.abc import Iterable

from conformance.engines.replay import Replay, ReplayVerdict, replay
from conformance.ports import Capability, Implementation, UnusableImplementation, find_implementation
from conformance.reporting.story import tell
from conformance.scenarios import Scenario, encode_scenario
from conformance.system.text import neutral


def judge(scenario: Scenario, implementation: Implementation, assume: Iterable[Capability] = ()) -> Replay:
    """Run a scenario, drain it, and judge every property that applies.

    Steps that are not enabled are skipped. Returns the verdict with the history: FIXED if every property held, NOT
    APPLICABLE if the implementation cannot run the scenario or none of its steps was enabled. With `assume`, properties
    that need these capabilities are judged although they are not claimed.

    Raises: AssertionError if a property does not hold. It says what was expected and observed, gives the steps in
    words, and the command that replays the scenario.
    """
    assumed = frozenset(assume)
    found = replay(scenario, implementation, assumed)
    if found.verdict is ReplayVerdict.FAILED:
        raise AssertionError(_told(found, implementation, assumed))
    return found


def _told(found: Replay, implementation: Implementation, assumed: frozenset[Capability]) -> str:
    story = tell(found)
    done = [one for one in story.steps if one.answer]
    who = max((len(one.actor) for one in done), default=0)
    what = max((len(one.step) for one in done), default=0)
    steps = [
        f"  {one.number:2} {one.actor:{who}}  {one.step:{what}}  {one.outcome}  {one.remark}".rstrip() for one in done
    ]
    command = f"conformance replay /dev/stdin --implementation {shlex.quote(_name(implementation))}"
    command += "".join(f" --assume {one.value}" for one in sorted(assumed))
    text = encode_scenario(found.history.scenario).strip()
    lines = (
        f"{story.component}: {story.slug}",
        f"expected: {story.expected}",
        f"observed: {story.observed}",
        *steps,
        "",
        f"{command} <<'SCENARIO'",
        text,
        "SCENARIO",
    )
    return neutral("\n".join(lines))


def _name(implementation: Implementation) -> str:
    """Returns the name by which a command finds an implementation: a registered one, or that of its class."""
    try:
        registered = type(find_implementation(implementation.name)).__qualname__ == type(implementation).__qualname__
    except (UnusableImplementation, ValueError, KeyError):
        registered = False
    kind = type(implementation)
    return implementation.name if registered else f"{kind.__module__}:{kind.__qualname__}"
