"""Hypothesis strategies for the tests of the suite, and for users who write tests of their own.

Whatever a component can observe is drawn, and shrinks. What is drawn is a frozen value whose `repr` is the call that
makes it, so that it can be pasted into a test. docs/strategies.md is the guide.
"""

from strategies.jobs import RescalePlan, rescale_plans, topologies
from strategies.records import chunkings, keys
from strategies.scenarios import configs, enabled_scenarios, faults, scenarios, steps

__all__ = [
    "RescalePlan",
    "chunkings",
    "configs",
    "enabled_scenarios",
    "faults",
    "keys",
    "rescale_plans",
    "scenarios",
    "steps",
    "topologies",
]
