"""The strategies of the room, for tests of what holds for all; and what is printed of their values, as a program.

`python -m tests.strategies.room` prints values of each strategy: the same ones in every process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.strategies import SearchStrategy

import strategies
from conformance import ports
from conformance.components import COMPONENTS
from conformance.ports import assignment, filter, framing, rescale
from conformance.scenarios import Scenario
from strategies import (
    RescalePlan,
    chunkings,
    configs,
    elements,
    enabled_scenarios,
    faults,
    keys,
    records,
    rescale_plans,
    scenarios,
    sizes,
    steps,
    topologies,
    virtual_states,
)

ROOM: dict[str, Callable[[], SearchStrategy[Any]]] = {
    "keys": keys,
    "keys, some of them hot": partial(keys, 100, hot=3),
    "sizes": sizes,
    "sizes, of a small page": partial(sizes, 17),
    "records": records,
    "records, readings": partial(records, "reading", keys(4), sizes(64)),
    "elements": elements,
    "elements, markers alone": partial(elements, watermarks=False, statuses=False, markers=True),
    "chunkings": partial(chunkings, 100, 16),
    "virtual_states": partial(virtual_states, RescalePlan((7, 2))),
    "virtual_states, of any plan": lambda: rescale_plans().flatmap(virtual_states),
    "rescale_plans": rescale_plans,
    "topologies": topologies,
    "topologies of forward edges": partial(topologies, 6, [rescale.EdgeKind.FORWARD, rescale.EdgeKind.HASH]),
    **{f"configs({name})": partial(configs, name) for name in COMPONENTS},
    **{f"faults({name})": partial(faults, name) for name in COMPONENTS if COMPONENTS[name].port.can_fail},
    **{f"steps({name})": partial(steps, name) for name in COMPONENTS},
    **{f"scenarios({name})": partial(scenarios, name) for name in COMPONENTS},
    **{f"enabled_scenarios({name})": partial(enabled_scenarios, name, most=20) for name in COMPONENTS},
}

NAMES = {
    **{name: getattr(ports, name) for name in ports.__all__},
    **vars(assignment), **vars(filter), **vars(framing), **vars(rescale),
    **{name: getattr(strategies, name) for name in strategies.__all__},
    **{one.config_type.__name__: one.config_type for one in COMPONENTS.values()},
    "Scenario": Scenario,
}  # fmt: skip
"""What a test of a user imports."""


def drawn(strategy: SearchStrategy[Any], count: int = 30, number: int = 1) -> list[Any]:
    """The values that a test with this seed is given. No health check fails for them: whatever starves, or is too
    large, fails the test. Only how long it takes depends on the machine, and is not asked."""
    found: list[Any] = []

    @seed(number)
    @settings(
        max_examples=count, deadline=None, database=None, phases=[Phase.generate],
        suppress_health_check=[HealthCheck.too_slow],
    )  # fmt: skip
    @given(strategy)
    def collect(value: Any) -> None:
        found.append(value)

    collect()
    return found


PRINTED = (
    "keys, some of them hot", "chunkings", "rescale_plans", "topologies", "virtual_states, of any plan",
    "enabled_scenarios(gate)",
)  # fmt: skip


def printed() -> Iterator[str]:
    for name in PRINTED:
        for value in drawn(ROOM[name](), 10):
            yield f"{name}: {value!r}"


if __name__ == "__main__":
    print(*printed(), sep="\n")
