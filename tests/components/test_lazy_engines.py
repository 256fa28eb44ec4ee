"""A refusal does not pass for success: an engine that always gives the same legal-looking answer is noticed.

After a change of what a component draws, the kept scenarios are stale and the tests search anew, which takes longer:
`python -m tests.components.lazy COMPONENT` keeps others.
"""

from __future__ import annotations

import pytest

from conformance.components import COMPONENTS
from tests.components import lazy
from tests.components.lazy import ALLOWED, AS_THE_REFERENCE, Lazy, lazy_engines

KEPT = lazy.kept()
ENGINES = [one for component in COMPONENTS for one in lazy_engines(component)]
SAME = [one for one in ENGINES if KEPT.get(one.name) == AS_THE_REFERENCE]
SOON = [one for one in ENGINES if one not in SAME and one.name in KEPT]
RARE = [one for one in ENGINES if one.name not in KEPT and one.reason is None]


@pytest.mark.parametrize("engine", SOON, ids=[one.name for one in SOON])
def test_a_lazy_engine_is_noticed(engine):
    if lazy.noticed(lazy.searching(engine), KEPT[engine.name]) is None:
        assert lazy.first_notice(engine), "no property notices this"


@pytest.mark.slow  # thousands of scenarios each, and those of whole jobs
@pytest.mark.parametrize("engine", RARE, ids=[one.name for one in RARE])
def test_a_lazy_engine_is_noticed_that_rarely_has_the_occasion(engine):
    assert lazy.first_notice(engine) or not lazy.differs(engine), "no property notices this"


@pytest.mark.slow  # a hundred scenarios each, twice
@pytest.mark.parametrize("engine", SAME, ids=[one.name for one in SAME])
def test_what_is_said_to_do_as_the_reference_does_so(engine):
    assert not lazy.differs(engine)


@pytest.mark.parametrize("component", COMPONENTS)
def test_an_engine_that_passes_everything_on_conforms(component):
    search = lazy.searching(Lazy(component, "nothing"))
    assert [lazy.noticed(search, f"0/{component}/{number}") for number in range(2)] == [None, None]


def test_what_is_allowed_and_kept_is_a_lazy_engine():
    names = {one.name for one in ENGINES}
    assert set(KEPT) <= names
    assert set(ALLOWED) <= names
    assert len(names) == len(ENGINES) > 900
    assert len(SOON) > 800


@pytest.mark.parametrize(
    "habit",
    [
        "consumer-loop: CheckpointTriggered: CheckpointDeclined declined-subsumed",
        "consumer-loop: process: nothing-available",
        "gate: poll: nothing",
        "gate: DataAvailable: never",
        "assignment: assign: fails, state",
        "pipeline: trigger: refused too-many",
        "coordinator: CoordinatorCheckpointed: succeeded False",
        "task-restore: checkpoint: fails, checkpoint declined-task-not-ready",
    ],
)
def test_there_are_lazy_engines_of_this_kind(habit):
    assert habit in {f"{one.component}: {one.habit}" for one in ENGINES}
