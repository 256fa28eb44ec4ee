"""What holds without a capability is what the protocol page says: an engine that does that is accused of nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from conformance.components import COMPONENTS
from conformance.driver import Program
from conformance.engines import check
from conformance.engines.batch import CALLED_ONLY_WITH, batch_of, searching
from conformance.engines.exercise import exercise_of
from conformance.engines.search import seeds
from conformance.ports import (
    Capability,
    ErrorKind,
    Outcome,
    OutputState,
    PortError,
    StateStatus,
    find_implementation,
)
from conformance.ports.implementation import Call
from reference_impl.design import PUSHED
from reference_impl.implementation import Reference
from tests.engines.far import FarAway

TIMEOUTS = CALLED_ONLY_WITH[Capability.TIMEOUTABLE_BARRIERS]
READS = [name for name, one in COMPONENTS.items() if hasattr(one.port, "persisted")]
TIMES_OUT = [name for name, one in COMPONENTS.items() if any(hasattr(one.port, each) for each in TIMEOUTS)]


def never(port: Any, *arguments: Any) -> None:
    raise AssertionError("this is not asked for without the capability")


def empty(answer: Any) -> Any:
    """What an engine returns that cannot read back: as if nothing was written."""
    if isinstance(answer, OutputState):
        return OutputState(StateStatus.ABSENT)
    return tuple(() for one in answer if isinstance(one, tuple))


class Without(Reference):
    """The reference, but it lacks a capability and does what is said to hold then."""

    def __init__(self, capability: Capability) -> None:
        super().__init__("without", PUSHED)
        self.capability = capability

    @property
    def capabilities(self) -> frozenset[Capability]:
        return super().capabilities - {self.capability}

    def components(self) -> Mapping[str, Callable[[Any], Any]]:
        return {name: self._lacking(make) for name, make in super().components().items()}

    def _lacking(self, make: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def made(config: Any) -> Any:
            port = make(config)
            usual = type(port)
            if self.capability is Capability.TIMEOUTABLE_BARRIERS:
                changes: dict[str, Any] = {name: never for name in TIMEOUTS if hasattr(usual, name)}
            else:
                changes = {"persisted": lambda self, checkpoint: empty(usual.persisted(self, checkpoint))}
                changes = changes if hasattr(usual, "persisted") else {}
            port.__class__ = type(usual.__name__, (usual,), {"__slots__": (), **changes})
            return port

        return made


@pytest.mark.parametrize(
    ("capability", "component"),
    [
        *((Capability.PERSISTED_READBACK, one) for one in READS),
        *((Capability.TIMEOUTABLE_BARRIERS, one) for one in TIMES_OUT),
    ],
)
def test_an_engine_without_it_that_does_what_is_said_is_accused_of_nothing(capability, component):
    done = check(Program(COMPONENTS[component], Without(capability)), 150, "0", budget=200)
    assert [(one.slug, one.owed, one.observed) for one in done.found] == []
    assert not done.idle


def test_the_components_are_there_to_which_it_applies():
    assert {"subpartition", "local-channel", "gate", "consumer-loop", "task-restore"} <= set(READS)
    assert set(TIMES_OUT) == {"subpartition", "gate", "remote-channel"}


@pytest.mark.parametrize(
    "component", [pytest.param(one, marks=[pytest.mark.slow] if one == "gate" else []) for one in TIMES_OUT]
)
def test_with_the_capability_timeouts_are_asked_for(component):
    """Otherwise, that they are not asked for without it would show nothing."""
    steps = exercise_of(check(Program(COMPONENTS[component], Without(Capability.RESOURCES)), 150, "0").tally).steps
    assert any(name in steps for name in TIMEOUTS)


class FarWithout(FarAway):
    """Behind a wire, without some capabilities. It refuses to run whole scenarios, and notes what they call."""

    def __init__(self, component: str, *lacking: Capability) -> None:
        super().__init__("reference", component)
        self.lacking = frozenset(lacking)
        self.called: set[str] = set()

    @property
    def capabilities(self) -> frozenset[Capability]:
        return super().capabilities - self.lacking

    def _batch(self, component: str, config: Any, calls: Sequence[Call]) -> list[Outcome]:
        self.called |= {str(one[0]) for one in calls}
        raise PortError(ErrorKind.CRASHED, "it listens only")


def over_a_wire(component: str, *lacking: Capability) -> set[str]:
    """Returns the operations that scenarios call which are sent whole."""
    far = FarWithout(component, *lacking)
    search = searching(Program(COMPONENTS[component], far))
    for seed in seeds(0, component, range(12)):
        search.run(seed)
    return far.called


@pytest.mark.parametrize(
    ("capability", "component", "operations"),
    [
        (capability, component, operations)
        for capability, names in CALLED_ONLY_WITH.items()
        for component, one in COMPONENTS.items()
        if component not in ("gate", "pipeline") and (operations := {name for name in names if hasattr(one.port, name)})
    ],
)  # gates take long, and pipelines longer
def test_over_a_wire_what_an_engine_does_not_claim_is_not_called(capability, component, operations):
    assert operations & over_a_wire(component)
    assert not operations & over_a_wire(component, capability)


def test_a_job_whose_threads_work_on_their_own_is_asked_step_by_step():
    assert batch_of(Program(COMPONENTS["pipeline"], FarWithout("pipeline"))) is not None
    assert batch_of(Program(COMPONENTS["pipeline"], FarWithout("pipeline", Capability.JOB_STEPS))) is None


def test_over_a_wire_a_scenario_without_it_is_one_message():
    """Otherwise the steps that are drawn here would not be enabled there, and each scenario would go step by step."""

    class Without(FarAway):
        capabilities = frozenset(find_implementation("reference").capabilities - {Capability.TIMEOUTABLE_BARRIERS})

    far = Without("reference")
    search = searching(Program(COMPONENTS["subpartition"], far))
    for seed in seeds(0, "subpartition", range(40)):
        search.run(seed)
    assert (far.messages, far.ports) == (40, 0)
