"""The component input gate. Specification: gate.md."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from conformance.components.gate import buffer_rules, fault_rules, goals, rules
from conformance.components.gate.ledger import Ledger
from conformance.components.gate.prefixes import PREFIXES
from conformance.components.gate.steps import DRAIN, STEPS
from conformance.driver import Bound, Component, Settings
from conformance.models.designs import BY_CONVERSION, recovers
from conformance.models.faults import WithFaults
from conformance.models.starts import reason_without_barrier
from conformance.ports import Capability, ChannelKind, GateConfig, GatePort, Recovery

LOCAL, REMOTE = ChannelKind.LOCAL, ChannelKind.REMOTE


class GateScenarioConfig(WithFaults, frozen=True, forbid_unknown_fields=True):
    """`recovered`: the highest number of recovered records that are pushed into each channel. `credited`: the producers
    of remote channels send data only for credit, and say their backlogs."""

    channels: tuple[ChannelKind, ...] = (LOCAL, REMOTE)
    recovery: Recovery = Recovery.NONE
    recovered: int = 2
    interleaving: Literal["whole", "fine"] = "whole"
    exclusive_buffers: Annotated[int, Meta(ge=0, le=8)] = 2
    floating_buffers: Annotated[int, Meta(ge=0, le=8)] = 2
    credited: bool = False
    faults: bool = False


_ONE_LOCAL, _TWO_LOCAL = (REMOTE, LOCAL, REMOTE), (LOCAL, REMOTE, LOCAL)
_THREE = {
    Recovery.NONE: _TWO_LOCAL, Recovery.RECOVER_FIRST: _TWO_LOCAL,
    Recovery.IN_MEMORY: _ONE_LOCAL, Recovery.PUSHED: _ONE_LOCAL,
}  # fmt: skip
"""Three channels. Of two local ones, one is polled while the other is blocked."""

COMPONENT = Component(
    name="gate",
    port=GatePort,
    config_type=GateScenarioConfig,
    configs=tuple(
        GateScenarioConfig(channels, recovery, 2, interleaving)
        for recovery in Recovery
        for channels in ((LOCAL, REMOTE), (REMOTE, REMOTE), (LOCAL,), _THREE[recovery])
        for interleaving in ("whole", "fine")
    )
    + tuple(
        GateScenarioConfig(channels, recovery, 2, interleaving, exclusive, floating, credited=True)
        for recovery in Recovery
        for channels, exclusive, floating in (((REMOTE, REMOTE), 0, 1), ((REMOTE, LOCAL, REMOTE), 1, 2))
        for interleaving in ("whole", "fine")
    )
    + tuple(
        GateScenarioConfig(channels, recovery, 2, interleaving, faults=True)
        for recovery, channels in (
            (Recovery.NONE, (LOCAL, REMOTE)),
            (Recovery.RECOVER_FIRST, (LOCAL, REMOTE)),
            (Recovery.IN_MEMORY, (LOCAL, REMOTE)),
            (Recovery.PUSHED, _ONE_LOCAL),
        )
        for interleaving in ("whole", "fine")
    ),
    port_config=lambda config: GateConfig(
        config.channels, config.recovery, config.exclusive_buffers, config.floating_buffers
    ),
    make_ledger=lambda config, capabilities: Ledger(
        config.channels,
        config.recovery,
        config.recovered,
        Capability.BLOCKED_PRIORITY_LOCAL in capabilities,
        (config.exclusive_buffers, config.floating_buffers),
        config.credited,
        config.can_fail(GatePort),
        reason_without_barrier(capabilities),
        Capability.TIMEOUTABLE_BARRIERS in capabilities,
    ),
    needs=lambda config: recovers(config.recovery) | config.needs_for_faults(),
    threads=("recovery", "network", "task", "canceler"),
    steps=tuple(STEPS.all),
    properties=(*rules.RULES.all, *buffer_rules.RULES.all, *fault_rules.RULES.all, *goals.RULES.all),
    drain=DRAIN,
    settings=Settings(lambda ledger: ledger.converted, BY_CONVERSION, lambda config: config.channels),
    final_phase="failed",
    explored=GateScenarioConfig((REMOTE, LOCAL), Recovery.IN_MEMORY, 1, "fine"),
    bounds={
        "elements": Bound(("recover", "buffer"), 2, each=True),
        "checkpoints": Bound(("checkpoint_started",), 1),
        "barriers": Bound(("unaligned_barrier",), 1, each=True),
        "marks": Bound(("insert_recovery_barriers",), 1),
        "stops": Bound(("checkpoint_stopped",), 0),
        "conversions": Bound(("convert",), 1),
        "other": Bound(
            ("event", "aligned_barrier", "timeoutable_barrier", "end_of_data", "end_of_partition", "fail", "restore",
             "release", "cancel", "recover_after_release", "poll_after_release", "convert_again",
             "request_partitions_too_early", "convert_unknown_to_priority", "end_of_output_state_again",
             "event_with_backlog"), 0,
        ),
    },
    biases=(
        {"recover": 60, "finish_recovery": 30, "convert": 30, "poll": 8},
        {"unaligned_barrier": 40, "checkpoint_started": 30, "insert_recovery_barriers": 30, "persisted": 12},
        {"buffer": 60, "poll": 30, "aligned_barrier": 16, "resume": 6},
        {"timeoutable_barrier": 40, "convert_to_priority": 60, "buffer": 40},
        {"end_of_data": 30, "end_of_partition": 40, "poll": 60, "recovery_completion": 60, "end_of_output_state": 60},
        {"fail": 6, "restore": 60, "release": 6},
        {"cancel": 8, "release": 4, "convert": 30, "request_partitions": 30, "finish_recovery": 30, "recover": 16,
         "buffer": 40},
        {"fault": 20, "checkpoint_started": 30, "buffer": 60, "poll": 30, "resources": 8, "finish_recovery": 40,
         "convert": 40, "request_partitions": 60},
        {"event_with_backlog": 60, "buffer": 60, "poll": 30, "end_of_data": 20, "end_of_partition": 30},
    ),
    prefixes=PREFIXES,
    contains=("deque", "local-channel", "remote-channel", "recovered-channel"),
)  # fmt: skip
