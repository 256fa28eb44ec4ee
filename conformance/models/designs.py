"""The recovery designs, and the capabilities that an implementation needs for each of them."""

from __future__ import annotations

from conformance.driver import Setting
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


BY_CONVERSION = {False: "before conversion", True: "after conversion"}
BEFORE, AFTER = (Setting(stage=BY_CONVERSION[converted]) for converted in (False, True))
BY_END_OF_RECOVERY = {False: "in recovery", True: "not in recovery"}
"""The names of stages, by whether the channels were converted, or whether all recovered data was taken."""

READBACK = frozenset({Capability.PERSISTED_READBACK})
RESOURCES = frozenset({Capability.RESOURCES})
TIMEOUTABLE = frozenset({Capability.TIMEOUTABLE_BARRIERS})
FAULTS = frozenset({Capability.FAULTS})
UNIONS = frozenset({Capability.UNIONS})
ALIGNED_EDGES = frozenset({Capability.ALIGNED_EDGES})
SAYS_HOW_TAKEN = frozenset({Capability.SAYS_HOW_TAKEN})
NOTHING: frozenset[Capability] = frozenset()
STEPPING = frozenset({Capability.STEPPING})
ANYWHERE = frozenset({Capability.BEGINS_ANYWHERE})
RECOVER_FIRST = recovers(Recovery.RECOVER_FIRST)
IN_MEMORY = recovers(Recovery.IN_MEMORY)
PUSHED = recovers(Recovery.PUSHED)
PASSES_LOCALLY = frozenset({Capability.BLOCKED_PRIORITY_LOCAL})
PASSES_REMOTELY = frozenset({Capability.BLOCKED_PRIORITY_REMOTE})
"""Sets of capabilities that rules and goals name as their `needs`."""
