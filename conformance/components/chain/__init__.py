"""The component chain, from the producers to the consumer, with failures and restores. Specification: chain.md."""

from __future__ import annotations

from operator import attrgetter
from typing import Annotated, Literal

from msgspec import Meta

from conformance.components.chain import buffer_rules, fault_rules, goals, rules
from conformance.components.chain.ledger import Ledger
from conformance.components.chain.steps import DRAIN, PREFIXES, STEPS, THREADS
from conformance.driver import Component, Settings
from conformance.models.designs import BY_CONVERSION, READBACK, recovers
from conformance.models.faults import WithFaults
from conformance.ports import (
    Capability,
    ChainCheckpoint,
    ChainConfig,
    ChainPort,
    ChannelKind,
    CheckpointStatus,
    Places,
    Recovery,
)


class ChainScenarioConfig(WithFaults, frozen=True, forbid_unknown_fields=True):
    """`recovery`: the recovery design of the first chain; `recoveries`: the designs with which a restore can be done.

    `input_state` and `output_state`: the number of records of each channel that the first chain recovers as input state
    and as output state. They have an effect only if `recovery` is not none. `unaligned`: whether the edge has unaligned
    checkpoints.
    """

    channels: Annotated[tuple[ChannelKind, ...], Meta(min_length=1, max_length=4)]
    recovery: Recovery = Recovery.NONE
    recoveries: Annotated[tuple[Recovery, ...], Meta(min_length=1, max_length=3)] = (Recovery.RECOVER_FIRST,)
    output_on_downstream: bool = False
    input_state: Annotated[int, Meta(ge=0, le=4)] = 0
    output_state: Annotated[int, Meta(ge=0, le=4)] = 0
    interleaving: Literal["whole", "fine"] = "whole"
    exclusive_buffers: Annotated[int, Meta(ge=0, le=4)] = 2
    floating_buffers: Annotated[int, Meta(ge=0, le=4)] = 2
    unaligned: bool = True
    faults: bool = False


def _needs(config: ChainScenarioConfig) -> frozenset[Capability]:
    upstream = () if config.output_on_downstream else (Capability.OUTPUT_RECOVERED_UPSTREAM,)
    aligned = () if config.unaligned else (Capability.ALIGNED_EDGES,)
    return READBACK.union(
        upstream, aligned, recovers(config.recovery), *map(recovers, config.recoveries), config.needs_for_faults()
    )


def _beginning(config: ChainScenarioConfig) -> ChainCheckpoint | None:
    """Returns the checkpoint from which the first chain of a run is restored; None: it starts without one."""
    if config.recovery is Recovery.NONE:
        return None
    end = config.input_state + config.output_state
    each = [((),), (tuple(range(config.input_state)),), (tuple(range(config.input_state, end)),)]
    return ChainCheckpoint(CheckpointStatus.COMPLETED, *[one * len(config.channels) for one in each])


def _port_config(config: ChainScenarioConfig) -> ChainConfig:
    buffers = config.exclusive_buffers, config.floating_buffers
    return ChainConfig(
        config.channels, config.recovery, _beginning(config), config.output_on_downstream, *buffers, config.unaligned
    )


def _ledger(config: ChainScenarioConfig, capabilities: frozenset[Capability], can_fail: Places) -> Ledger:
    recoveries = tuple(one.value for one in config.recoveries)
    passes_blocked = Capability.BLOCKED_PRIORITY_LOCAL in capabilities
    return Ledger(_port_config(config), recoveries, passes_blocked, can_fail)


_LOCAL, _REMOTE = ChannelKind.LOCAL, ChannelKind.REMOTE
_ALL = (Recovery.RECOVER_FIRST, Recovery.IN_MEMORY, Recovery.PUSHED)
_CONFIGS = tuple(
    ChainScenarioConfig(channels, recovery, recoveries, downstream, *states, interleaving, exclusive, floating)
    for interleaving in ("whole", "fine")
    for channels in ((_LOCAL, _REMOTE), (_REMOTE, _LOCAL), (_LOCAL, _LOCAL), (_REMOTE, _REMOTE), (_LOCAL,), (_REMOTE,))
    for recovery, recoveries, downstream, states, *buffers in (
        (Recovery.NONE, _ALL[:1], False, (0, 0)),
        (Recovery.RECOVER_FIRST, _ALL[:1], True, (1, 1)),
        (Recovery.NONE, _ALL[:2], False, (0, 0)),
        (Recovery.IN_MEMORY, _ALL[:2], True, (2, 1)),
        (Recovery.IN_MEMORY, _ALL[:2], False, (1, 2), 1, 0),
        (Recovery.NONE, _ALL, False, (0, 0)),
        (Recovery.RECOVER_FIRST, _ALL, False, (0, 0)),
        (Recovery.IN_MEMORY, _ALL, True, (0, 0)),
        (Recovery.PUSHED, _ALL, False, (2, 1)),
        (Recovery.PUSHED, _ALL, True, (1, 1)),
        (Recovery.PUSHED, _ALL[2:], False, (1, 0)),
    )
    for exclusive, floating in [buffers or (2, 2)]
) + tuple(
    ChainScenarioConfig(channels, recovery, recoveries, False, 2, 1, interleaving, exclusive, floating)
    for interleaving in ("whole", "fine")
    for channels, exclusive, floating in (
        ((_REMOTE,), 0, 1), ((_REMOTE, _REMOTE), 0, 1), ((_REMOTE, _LOCAL), 0, 2), ((_REMOTE, _REMOTE), 1, 1),
        ((_REMOTE, _REMOTE), 1, 0),
    )
    for recovery, recoveries in (
        (Recovery.NONE, _ALL[:1]), (Recovery.IN_MEMORY, _ALL[:2]), (Recovery.PUSHED, _ALL[2:]), (Recovery.NONE, _ALL),
    )
) + tuple(
    ChainScenarioConfig(channels, recovery, recoveries, downstream, *states, interleaving, faults=True)
    for interleaving in ("whole", "fine")
    for channels, recovery, recoveries, downstream, states in (
        ((_LOCAL, _REMOTE), Recovery.NONE, _ALL, False, (0, 0)),
        ((_REMOTE, _LOCAL), Recovery.NONE, _ALL[2:], False, (0, 0)),
        ((_LOCAL,), Recovery.NONE, _ALL[:2], False, (0, 0)),
        ((_LOCAL,), Recovery.NONE, _ALL, False, (0, 0)),
        ((_LOCAL,), Recovery.RECOVER_FIRST, _ALL[:1], False, (1, 1)),
        ((_LOCAL,), Recovery.PUSHED, _ALL[2:], True, (1, 1)),
        ((_REMOTE,), Recovery.NONE, _ALL, False, (0, 0)),
        ((_LOCAL, _REMOTE), Recovery.RECOVER_FIRST, _ALL[:1], True, (1, 1)),
        ((_REMOTE, _LOCAL), Recovery.RECOVER_FIRST, _ALL[:1], False, (1, 1)),
        ((_LOCAL, _REMOTE), Recovery.IN_MEMORY, _ALL[:2], False, (1, 2)),
        ((_REMOTE, _LOCAL), Recovery.IN_MEMORY, _ALL[:2], True, (2, 1)),
        ((_REMOTE,), Recovery.IN_MEMORY, _ALL[:2], False, (1, 1)),
        ((_LOCAL, _REMOTE), Recovery.PUSHED, _ALL[2:], False, (2, 1)),
        ((_REMOTE, _LOCAL), Recovery.PUSHED, _ALL[2:], False, (1, 1)),
        ((_LOCAL, _LOCAL), Recovery.PUSHED, _ALL[2:], True, (1, 1)),
        ((_REMOTE, _REMOTE), Recovery.PUSHED, _ALL, False, (2, 1)),
    )
) + tuple(
    ChainScenarioConfig(channels, recovery, recoveries, interleaving=interleaving, unaligned=False)
    for interleaving in ("whole", "fine")
    for channels, recovery, recoveries in (
        ((_LOCAL, _REMOTE), Recovery.NONE, _ALL[:1]), ((_REMOTE, _LOCAL), Recovery.NONE, _ALL[:2]),
        ((_REMOTE, _REMOTE), Recovery.NONE, _ALL), ((_LOCAL, _LOCAL), Recovery.NONE, _ALL),
        ((_LOCAL, _REMOTE), Recovery.RECOVER_FIRST, _ALL[:1]), ((_REMOTE, _LOCAL), Recovery.IN_MEMORY, _ALL[:2]),
        ((_LOCAL, _REMOTE), Recovery.PUSHED, _ALL[2:]), ((_REMOTE,), Recovery.NONE, _ALL),
    )
) + tuple(
    ChainScenarioConfig(
        channels, recovery, recoveries, downstream, *states, interleaving, 0, floating, unaligned, faults
    )
    for interleaving in ("whole", "fine")
    for channels, floating, recovery, recoveries, downstream, states, unaligned, faults in (
        ((_REMOTE,), 1, Recovery.NONE, _ALL[:1], False, (0, 0), True, True),
        ((_REMOTE, _LOCAL), 1, Recovery.IN_MEMORY, _ALL[:2], True, (1, 1), True, True),
        ((_REMOTE, _REMOTE), 2, Recovery.PUSHED, _ALL[2:], False, (2, 1), True, True),
        ((_REMOTE,), 2, Recovery.RECOVER_FIRST, _ALL[:1], True, (1, 1), True, False),
        ((_REMOTE, _LOCAL), 1, Recovery.PUSHED, _ALL[2:], True, (1, 0), True, False),
        ((_REMOTE, _REMOTE), 1, Recovery.NONE, _ALL, False, (0, 0), False, False),
    )
)  # fmt: skip

COMPONENT = Component(
    name="chain",
    port=ChainPort,
    config_type=ChainScenarioConfig,
    configs=_CONFIGS,
    port_config=_port_config,
    restored_config=lambda config, ledger: ledger.config,
    make_ledger=lambda config, capabilities: _ledger(
        config, capabilities, config.can_fail(ChainPort, config.interleaving == "fine")
    ),
    needs=_needs,
    threads=THREADS,
    steps=tuple(STEPS.all),
    properties=(*rules.RULES.all, *buffer_rules.RULES.all, *fault_rules.RULES.all, *goals.RULES.all),
    drain=DRAIN,
    settings=Settings(
        attrgetter("converted"), BY_CONVERSION, lambda config: config.channels,
        lambda config, ledger: ledger.config.recovery,
    ),
    final_phase="failed",
    prefixes=PREFIXES,
    biases=(
        {"fail": 8, "barrier": 40, "produce": 6, "transfer": 60, "consume": 60, "end_of_partition": 0},
        {"fail": 5, "barrier": 20, "consume": 16, "produce": 30, "transfer": 40, "end_of_partition": 0},
        {"fail": 5, "barrier": 40, "recover": 4, "finish_recovery": 4, "request_partitions": 60, "end_of_partition": 0},
        {"fail": 3, "barrier": 20, "produce": 20, "transfer": 30, "consume": 10, "end_of_partition": 0},
        {
            "fail": 4, "barrier": 60, "recover": 30, "finish_recovery": 40, "finish_output_recovery": 40, "convert": 60,
            "request_partitions": 80, "transfer": 60, "consume": 6, "end_of_partition": 0,
        },
        {"produce": 60, "transfer": 60, "consume": 30, "barrier": 10, "fail": 1, "end_of_partition": 0, "snapshot": 0},
        {"trigger": 12, "fail": 4},
        {"finish_output_recovery": 3, "fail": 4},
    ),
    contains=("subpartition", "gate", "barrier-handler", "subtask-checkpoint", "writer"),
)  # fmt: skip
