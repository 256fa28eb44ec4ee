"""The component filter: recovered state of a task that was rescaled, from its files into its channels.

Specification: filter.md.
"""

from __future__ import annotations

from conformance.components.filter import goals, memory_rules, rules
from conformance.components.filter.ledger import Ledger
from conformance.components.filter.search import BIASES, BOUNDS, CONFIGS, EXPLORED
from conformance.components.filter.state import FilterScenarioConfig, port_config
from conformance.components.filter.steps import DRAIN, STEPS
from conformance.driver import Component
from conformance.models.designs import NOTHING, recovers
from conformance.ports import Capability, EdgeKind, FilterPort


def _needs(config: FilterScenarioConfig) -> frozenset[Capability]:
    needs = set(recovers(config.recovery) | config.needs_for_faults())
    if config.rescaled:
        needs.add(Capability.FILTERS_RECORDS)
    if config.partial_in_memory:
        needs.add(Capability.PARTIAL_RECORDS_IN_FILES)
    if EdgeKind.CUSTOM in config.kinds:
        needs.add(Capability.RESCALES_FORCED_EDGES)
    return frozenset(needs) or NOTHING


COMPONENT = Component(
    name="filter",
    port=FilterPort,
    config_type=FilterScenarioConfig,
    configs=CONFIGS,
    port_config=port_config,
    make_ledger=lambda config, capabilities: Ledger(
        port_config(config), config.scale, capabilities, config.can_fail(FilterPort, config.interleaving == "fine")
    ),
    needs=_needs,
    threads=("fetch", "drain", "task", "canceler"),
    steps=tuple(STEPS.all),
    properties=(*rules.RULES.all, *memory_rules.RULES.all, *goals.RULES.all),
    drain=DRAIN,
    final_phase="failed",
    explored=EXPLORED,
    bounds=BOUNDS,
    biases=BIASES,
    contains=("spill",),
)
