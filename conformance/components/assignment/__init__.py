"""The component assignment, which decides who recovers which channel state. Specification: assignment.md."""

from __future__ import annotations

from conformance.components.assignment import goals, rules
from conformance.components.assignment.config import AssignmentScenarioConfig
from conformance.components.assignment.ledger import Ledger
from conformance.components.assignment.search import BIASES, BOUNDS, CONFIGS, EXPLORED, PREFIXES
from conformance.components.assignment.steps import DRAIN, STEPS
from conformance.driver import Component
from conformance.ports import AssignmentPort

COMPONENT = Component(
    name="assignment",
    port=AssignmentPort,
    config_type=AssignmentScenarioConfig,
    configs=CONFIGS,
    port_config=AssignmentScenarioConfig.of_port,
    make_ledger=lambda config, capabilities: Ledger(config),
    needs=AssignmentScenarioConfig.needs,
    steps=tuple(STEPS.all),
    properties=(*rules.RULES.all, *goals.RULES.all),
    drain=DRAIN,
    final_phase="failed",
    explored=EXPLORED,
    bounds=BOUNDS,
    biases=BIASES,
    prefixes=PREFIXES,
)
