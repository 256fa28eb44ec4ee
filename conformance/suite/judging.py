"""Judges one scenario inside a test of a user: `@given(scenarios("subpartition"))`."""

from __future__ import annotations

from collections.abc import Iterable

from conformance.engines.replay import Replay, ReplayVerdict, replay
from conformance.ports import Capability, Implementation, offered_components
from conformance.reporting.story import tell
from conformance.scenarios import Scenario
from conformance.suite.telling import told
from conformance.system.text import neutral_lines


def judge(scenario: Scenario, implementation: Implementation, assume: Iterable[Capability] = ()) -> Replay:
    """Run a scenario, drain it, and judge every property that applies.

    Steps that are not enabled are skipped. Returns the verdict with the history: FIXED if every property held, NOT
    APPLICABLE if the implementation cannot run the scenario or none of its steps was enabled. With `assume`, properties
    that need these capabilities are judged although they are not claimed.

    Raises: AssertionError if a property does not hold. It says what was expected and observed, shows the rule and the
    steps in words, and the command that replays the scenario. ValueError if the implementation does not offer the
    component: a test of it could never fail.
    """
    if scenario.component not in offered_components(implementation):
        raise ValueError(f"{implementation.name} does not offer the component {scenario.component}")
    assumed = frozenset(assume)
    found = replay(scenario, implementation, assumed)
    if found.verdict is ReplayVerdict.FAILED:
        story = tell(found)
        head = (f"{story.component}: {story.slug}", f"expected: {story.expected}", f"observed: {story.observed}")
        raise AssertionError(f"{neutral_lines(head)}\n{told(found, implementation, assumed)}")
    return found
