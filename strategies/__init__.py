"""Hypothesis strategies for the tests of the suite, and for users who write tests of their own.

Whatever a component can observe is drawn, and shrinks. What is drawn is a frozen value whose `repr` is the call that
makes it, so that it can be pasted into a test. docs/strategies.md is the guide.
"""

from strategies.jobs import RescalePlan, rescale_plans, topologies
from strategies.records import elements, keys, records, sizes
from strategies.scenarios import configs, enabled_scenarios, faults, scenarios, steps
from strategies.states import chunkings, recovered_gate, virtual_states
from strategies.texts import Texts, described

__all__ = [
    "RescalePlan",
    "Texts",
    "chunkings",
    "configs",
    "described",
    "elements",
    "enabled_scenarios",
    "faults",
    "keys",
    "records",
    "recovered_gate",
    "rescale_plans",
    "scenarios",
    "sizes",
    "steps",
    "topologies",
    "virtual_states",
]
