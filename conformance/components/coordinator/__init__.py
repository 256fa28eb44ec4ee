"""The component coordinator: events and reports between an operator coordinator and its subtasks. Specification:
coordinator.md."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from conformance.components.coordinator import fault_rules, goals, holding_rules, result_rules, rules, telling_rules
from conformance.components.coordinator.drain import DRAIN
from conformance.components.coordinator.ledger import MOST_SUBTASKS, Ledger
from conformance.components.coordinator.prefixes import PREFIXES
from conformance.components.coordinator.steps import STEPS
from conformance.driver import Bound, Component
from conformance.models.faults import WithFaults
from conformance.ports import Capability, CoordinatorConfig, CoordinatorPort

__all__ = ["COMPONENT", "CoordinatorScenarioConfig", "holding_rules", "result_rules", "telling_rules"]


class CoordinatorScenarioConfig(WithFaults, frozen=True, forbid_unknown_fields=True):
    """`concurrent`: how many checkpoints may be in progress at a time, besides a savepoint. `most_turns`: while so many
    turns wait for the main thread, other threads queue none; 0: there is no limit. `base`: the first checkpoint has the
    next id. The other fields are those of the coordinator."""

    parallelism: Annotated[int, Meta(ge=1, le=MOST_SUBTASKS)] = 1
    sources: bool = False
    concurrent: Annotated[int, Meta(ge=1, le=3)] = 1
    checkpointing: bool = True
    most_turns: Annotated[int, Meta(ge=0, le=100)] = 0
    base: Annotated[int, Meta(ge=0, le=2**53)] = 0
    interleaving: Literal["whole"] = "whole"
    faults: bool = False


def _port_config(config: CoordinatorScenarioConfig) -> CoordinatorConfig:
    return CoordinatorConfig(config.parallelism, config.sources, config.checkpointing)


def _needs(config: CoordinatorScenarioConfig) -> frozenset[Capability]:
    gates = frozenset() if config.sources or not config.checkpointing else frozenset({Capability.DOWN_GATE})
    return gates | config.needs_for_faults()


COMPONENT = Component(
    name="coordinator",
    port=CoordinatorPort,
    config_type=CoordinatorScenarioConfig,
    configs=(
        CoordinatorScenarioConfig(1),
        *[CoordinatorScenarioConfig(2, concurrent=2)] * 3,
        CoordinatorScenarioConfig(1, concurrent=3),
        CoordinatorScenarioConfig(3, concurrent=2),
        CoordinatorScenarioConfig(1, sources=True),
        CoordinatorScenarioConfig(2, sources=True),
        CoordinatorScenarioConfig(2, sources=True, concurrent=2),
        CoordinatorScenarioConfig(2, concurrent=2, base=8),
        CoordinatorScenarioConfig(2, concurrent=2, base=2**31 - 2),
        CoordinatorScenarioConfig(2, checkpointing=False),
        CoordinatorScenarioConfig(2, concurrent=2, faults=True),
        CoordinatorScenarioConfig(2, sources=True, faults=True),
    ),
    port_config=_port_config,
    restored_config=lambda config, ledger: ledger.config,
    make_ledger=lambda config, capabilities: Ledger(
        _port_config(config), config.concurrent, config.most_turns, config.can_fail(CoordinatorPort), config.base
    ),
    needs=_needs,
    steps=tuple(STEPS.all),
    properties=(
        *rules.RULES.all,
        *holding_rules.RULES.all,
        *result_rules.RULES.all,
        *telling_rules.RULES.all,
        *goals.RULES.all,
        *fault_rules.RULES.all,
    ),
    drain=DRAIN,
    prefixes=PREFIXES,
    final_phase="failed",
    explored=CoordinatorScenarioConfig(most_turns=1),
    bounds={
        "checkpoints": Bound(("trigger",), 1),
        "kinds": Bound(("trigger",), 1, variants=True),
        "events": Bound(("send",), 1, each=True),
        "reports": Bound(("report",), 1, each=True),
        "aborts": Bound(("abort", "fail_trigger"), 1),
        "failures": Bound(
            ("fail_attempt", "fail_attempt_only", "lose_event", "lose_reply", "lose_report", "fail_job"), 0
        ),
        "hooks": Bound(("barrier_with_report", "barrier_that_fails_with_report"), 0),
        "refusals": Bound(("fail_cut", "barrier_that_fails"), 0),
        "rare": Bound(
            (
                "finish",
                "fail",
                "restore",
                "trigger (an old id)",
                "abort (before its trigger)",
                "acknowledge_again",
                "acknowledge_again (unknown)",
                "speculate",
                "save_batch_state",
            ),
            0,
        ),
    },
    alike=lambda config: {"subtask": config.parallelism},
    biases=(
        {
            "fail_attempt": 0,
            "fail_attempt_only": 0,
            "lose_event": 0,
            "lose_reply": 0,
            "lose_report": 0,
            "finish": 0,
            "fail_job": 0,
            "fail": 0,
        },
        {"turn": 40, "reply": 4, "barrier": 6},
        {"complete": 2, "barrier": 6, "send": 30, "deliver": 60, "trigger": 90, "fail_attempt": 1},
        {"turn": 12, "fail_attempt": 6, "restart": 40, "send": 30},
        {"abort": 12, "fail_trigger": 8, "notify_aborted": 4, "trigger": 60},
        {"send": 40, "report": 40, "barrier": 10, "arrive": 10},
        {"finish": 6, "acknowledge_again": 8},
        {"fail": 4, "restore": 40, "report": 30},
    ),
)
