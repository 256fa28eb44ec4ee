"""The recovery designs, and the capabilities that an implementation needs for each of them."""

from __future__ import annotations

from conformance.ports import Capability, Recovery

_NEEDS = {
    Recovery.NONE: frozenset[Capability](),
    Recovery.RECOVER_FIRST: frozenset({Capability.RECOVERS_FIRST}),
    Recovery.IN_MEMORY: frozenset({Capability.RECOVERS_IN_MEMORY}),
    Recovery.PUSHED: frozenset({Capability.RECOVERS_BY_PUSHING}),
}


def recovers(recovery: Recovery | str) -> frozenset[Capability]:
    """Returns the capabilities that an implementation needs for a configuration with this recovery design."""
    return _NEEDS[Recovery(recovery)]


READBACK = frozenset({Capability.PERSISTED_READBACK})
RESOURCES = frozenset({Capability.RESOURCES})
STEPPING = frozenset({Capability.STEPPING})
RECOVER_FIRST = recovers(Recovery.RECOVER_FIRST)
IN_MEMORY = recovers(Recovery.IN_MEMORY)
PUSHED = recovers(Recovery.PUSHED)
PASSES_LOCALLY = frozenset({Capability.BLOCKED_PRIORITY_LOCAL})
PASSES_REMOTELY = frozenset({Capability.BLOCKED_PRIORITY_REMOTE})
"""Sets of capabilities that rules and goals name as their `needs`."""
