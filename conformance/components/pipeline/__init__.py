"""The component pipeline: a whole job, with its failures and restores. Specification: pipeline.md."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conformance.components.pipeline import goals, rules
from conformance.components.pipeline.config import CONFIGS, PipelineScenarioConfig
from conformance.components.pipeline.drain import DRAIN, outcome
from conformance.components.pipeline.ledger import Ledger
from conformance.components.pipeline.levels import levels
from conformance.components.pipeline.prefixes import PREFIXES
from conformance.components.pipeline.steps import STEPS, neighbours, work
from conformance.driver import Component, Settings, Turned
from conformance.driver.step import Operands
from conformance.models.designs import BY_END_OF_RECOVERY, recovers
from conformance.ports import Capability, PipelinePort, ThreadWoken

__all__ = ["COMPONENT", "PipelineScenarioConfig"]


def _awake(ledger: Ledger) -> Mapping[Operands, Any]:
    """Returns the threads of a job that may have something to do. A job that was released has none."""
    return ledger.threads.awake if ledger.phase != "failed" else {}


def _needs(config: PipelineScenarioConfig) -> frozenset[Capability]:
    settings = config.settings
    upstream = frozenset() if settings.output_on_downstream else frozenset({Capability.OUTPUT_RECOVERED_UPSTREAM})
    return recovers(settings.recovery) | upstream | config.needs_for_faults()


COMPONENT = Component(
    name="pipeline",
    port=PipelinePort,
    config_type=PipelineScenarioConfig,
    configs=CONFIGS,
    port_config=PipelineScenarioConfig.job,
    restored_config=lambda config, ledger: ledger.config,
    make_ledger=lambda config, capabilities: Ledger(config, capabilities, config.can_fail(PipelinePort)),
    needs=_needs,
    steps=tuple(STEPS.all),
    properties=(*rules.RULES.all, *goals.RULES.all),
    drain=DRAIN,
    settings=Settings(
        lambda ledger: not ledger.is_recovering(), BY_END_OF_RECOVERY,
        recovery=lambda config, ledger: ledger.in_effect(),
    ),
    final_phase="failed",
    prefixes=PREFIXES,
    prefixed=0.75,
    biases=(
        {"throttle": 20, "trigger": 30, "fail": 8, "settle": 10},
        {"supply": 30, "trigger": 20, "kill": 6, "restore": 30, "settle": 8},
        {"fail": 12, "trigger": 20},
        {"lose": 8, "advance": 8, "trigger": 20},
        {"end": 8, "stop_with_savepoint": 4, "cancel": 3, "trigger": 20},
        {"work": 400, "trigger": 10},
        {"trigger": 40, "snapshot": 20, "settle": 20, "advance": 6},
    ),
    outcome=outcome,
    turned=Turned(work, _awake, neighbours, frozenset({Capability.JOB_STEPS}), ThreadWoken),
    contains=("chain", "task-restore", "coordinator"),
    levels=levels({one.name: tuple(one.operands) for one in STEPS.all}),
)  # fmt: skip
