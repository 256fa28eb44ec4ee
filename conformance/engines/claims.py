"""What an implementation claims, compared with what it does.

An implementation that has a capability and does not claim it is accused of doing too much, with an expectation that
only others must meet. So a failing scenario is judged again, with each capability that is not claimed.
"""

from __future__ import annotations

from collections.abc import Iterable

from conformance.driver import Program, Property, run_scenario
from conformance.engines.patience import PATIENCE
from conformance.ports import Capability
from conformance.scenarios import Scenario


def unclaimed(program: Program, scenario: Scenario, failure_class: str) -> tuple[Capability, ...]:
    """Returns the capabilities that are not claimed and with each of which nothing is wrong in a failing scenario.

    Each of its steps must be performed with the capability, too. A crash or a hang is wrong in any case.
    """
    if failure_class in PATIENCE:
        return ()
    return tuple(one for one in Capability if one not in program.capabilities and _conforms(program, scenario, one))


def _conforms(program: Program, scenario: Scenario, capability: Capability) -> bool:
    able = Program(program.component, program.implementation, program.capabilities | {capability})
    able.factory, able.log = program.factory, program.log
    run = run_scenario(able, scenario.config, scenario.steps)
    return run.violation is None and len(run.performed) == len(scenario.steps)


def never_used(
    claimed: Iterable[Capability], judged: Iterable[Property], exercised: Iterable[str]
) -> tuple[Capability, ...]:
    """Returns the capabilities that were claimed, and that none of the properties which need them was exercised with.

    `judged`: the properties of all components that were checked. `exercised`: the slugs of those that were exercised.
    """
    seen = frozenset(exercised)
    needing = [(one.needs, one.slug in seen) for one in judged]
    used = {capability for needs, was in needing for capability in needs if was}
    asked = {capability for needs, _ in needing for capability in needs}
    return tuple(one for one in Capability if one in claimed and one in asked and one not in used)
