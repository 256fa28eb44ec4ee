"""Guards of released Flink, removed one at a time: the property that names the guard must fail.

A guard that can be removed without a failure is either judged by no property, or hidden by a guard of the Java side of
the bridge, which must have none.
"""

from __future__ import annotations

from functools import cache

import pytest

from conformance.bridges.flink.guards import Change, FlinkWithoutGuard, Guard, guards
from conformance.bridges.flink.implementation import FlinkComponent
from conformance.components import COMPONENTS
from conformance.driver import Program
from conformance.engines.batch import searching
from conformance.engines.search import seeds
from conformance.ports import UnusableImplementation
from tests.bridges.conftest import skip_without

pytestmark = [pytest.mark.flink, pytest.mark.xdist_group("flink")]

RELEASE = "2.3.0"
SCENARIOS = 1000
GUARDS = guards()


def broken(implementation, component, shape="", until=None):
    """The slugs of the properties that random scenarios break, in the order found; ends with the slug `until`."""
    search = searching(Program(COMPONENTS[component], implementation).pinned(shape))
    found: dict[str, None] = {}
    for text in seeds(0, component, range(SCENARIOS)):
        violation = search.run(text)[1].violation
        if violation is not None:
            found[violation.property.slug] = None
            if violation.property.slug == until:
                break
    return list(found)


@cache
def broken_with_all_guards(component, shape):
    implementation = FlinkComponent(RELEASE)
    try:
        return broken(implementation, component, shape)
    finally:
        implementation.close()


@pytest.mark.parametrize("guard", GUARDS, ids=lambda guard: guard.id)
def test_without_a_guard_its_property_fails(guard: Guard):
    skip_without(RELEASE)
    assert guard.property not in broken_with_all_guards(guard.component, guard.shape)
    implementation = FlinkWithoutGuard(RELEASE, guard)
    try:
        assert guard.property in broken(implementation, guard.component, guard.shape, guard.property)
    finally:
        implementation.close()


def test_each_guard_has_an_id_of_its_own():
    assert len({guard.id for guard in GUARDS}) == len(GUARDS)


def test_a_guard_that_is_not_there_is_reported():
    skip_without(RELEASE)
    place = "runtime.io.network.partition.consumer.RemoteInputChannel#onBuffer"
    guard = Guard("X", place, "absent", Change.TRUE, "deque", "", "")
    implementation = FlinkWithoutGuard(RELEASE, guard)
    with pytest.raises(UnusableImplementation, match="there are 0 places with"):
        implementation.components()
    implementation.close()
