"""The component remote channel: the consumer's side of a network connection. Specification: remote-channel.md."""

from __future__ import annotations

from operator import attrgetter
from typing import Annotated, Literal

from msgspec import Meta

from conformance.components.remote_channel import buffer_rules, fault_rules, goals, rules
from conformance.components.remote_channel.ledger import Ledger
from conformance.components.remote_channel.steps import DRAIN, STEPS
from conformance.driver import Bound, Component, Settings
from conformance.models.designs import ANYWHERE, BY_END_OF_RECOVERY, NOTHING, recovers
from conformance.models.faults import WithFaults
from conformance.models.starts import reason_without_barrier
from conformance.ports import CHANNEL_STATE_WRITER, Capability, ChannelConfig, FaultKind, Recovery, RemoteChannelPort
from conformance.scenarios import Step


class RemoteChannelScenarioConfig(WithFaults, frozen=True, forbid_unknown_fields=True):
    """`handed_over`: with the recovery design `in-memory`, the number of recovered buffers that the channel begins
    with."""

    recovery: Literal["none", "in-memory", "pushed"] = "none"
    handed_over: Annotated[int, Meta(ge=0, le=8)] = 0
    exclusive_buffers: Annotated[int, Meta(ge=0, le=8)] = 2
    floating_buffers: Annotated[int, Meta(ge=0, le=8)] = 2
    interleaving: Literal["whole", "fine"] = "whole"
    first_number: Annotated[int, Meta(ge=-(2**31), lt=2**31)] = 0
    faults: bool = False


_RECOVERIES: tuple[tuple[Literal["none", "in-memory", "pushed"], int], ...] = (
    ("none", 0), ("in-memory", 2), ("pushed", 0), ("pushed", 0),
)  # fmt: skip


_FAULTY: tuple[tuple[Literal["none", "in-memory", "pushed"], int, int, int], ...] = (
    ("none", 0, 2, 2), ("none", 0, 2, 1), ("in-memory", 2, 2, 2), ("in-memory", 2, 1, 1), ("pushed", 0, 2, 2),
    ("pushed", 0, 0, 2),
)  # fmt: skip
"""Of the configurations with faults: how data is recovered, and the number of exclusive and of floating buffers."""
_LATE = 2**31 - 3
"""A sequence number after which the numbers soon wrap around."""
_BEGIN: tuple[Step, ...] = (("request_subpartition",), ("finish", "task"))
_LIVE: tuple[Step, ...] = (*_BEGIN, *(("take",), ("finish", "task")) * 3)
"""Leads to live data, also if the channel begins with recovered data."""
_DATA: tuple[Step, ...] = (("buffer", -1), ("finish", "network"))
_SLOW: Step = ("fault", CHANNEL_STATE_WRITER, FaultKind.SLOW.value, 1)
_THROWS: Step = ("fault", CHANNEL_STATE_WRITER, FaultKind.THROWS.value, 1)
_EVENT: tuple[Step, ...] = (("event", -1), ("finish", "network"))


def _handed_over(config: RemoteChannelScenarioConfig) -> int:
    return config.handed_over if config.recovery == "in-memory" else 0


def _port_config(config: RemoteChannelScenarioConfig, handed_over: int) -> ChannelConfig:
    return ChannelConfig(
        Recovery(config.recovery), tuple(range(handed_over)), config.exclusive_buffers, config.floating_buffers,
        config.first_number,
    )  # fmt: skip


COMPONENT = Component(
    name="remote-channel",
    port=RemoteChannelPort,
    config_type=RemoteChannelScenarioConfig,
    configs=tuple(
        RemoteChannelScenarioConfig(recovery, handed_over, exclusive, floating, interleaving, first)
        for interleaving in ("whole", "fine")
        for recovery, handed_over in _RECOVERIES
        for exclusive, floating, first in ((2, 2, 0), (1, 1, 0), (0, 2, 0), (1, 0, 0), (0, 1, 0), (2, 2, _LATE))
    ) + tuple(
        RemoteChannelScenarioConfig(recovery, handed_over, exclusive, floating, interleaving, faults=True)
        for interleaving in ("whole", "fine")
        for recovery, handed_over, exclusive, floating in _FAULTY
    ),
    port_config=lambda config: _port_config(config, _handed_over(config)),
    restored_config=lambda config, ledger: _port_config(config, 0),
    make_ledger=lambda config, capabilities: Ledger(
        _port_config(config, _handed_over(config)), config.can_fail(RemoteChannelPort, config.interleaving == "fine"),
        reason_without_barrier(capabilities), Capability.TIMEOUTABLE_BARRIERS in capabilities,
    ),
    needs=lambda config: recovers(config.recovery)
    | (ANYWHERE if config.first_number else NOTHING)
    | config.needs_for_faults(),
    threads=("network", "task", "recovery", "canceler"),
    steps=tuple(STEPS.all),
    properties=(*rules.RULES.all, *buffer_rules.RULES.all, *fault_rules.RULES.all, *goals.RULES.all),
    drain=DRAIN,
    settings=Settings(attrgetter("lane.consumed"), BY_END_OF_RECOVERY),
    final_phase="failed",
    explored=RemoteChannelScenarioConfig("pushed", 0, 1, 0, "fine"),
    bounds={
        "elements": Bound(("buffer", "event"), 1),
        "recovered": Bound(("push_recovered",), 1),
        "checkpoints": Bound(("checkpoint_started",), 1),
        "barriers": Bound(("unaligned_barrier",), 1),
        "marks": Bound(("insert_recovery_barrier",), 1),
        "other": Bound(
            ("aligned_barrier", "timeoutable_barrier", "recovery_completion", "end_of_partition",
             "receive_out_of_order", "buffer (during recovery)", "blocked_with_backlog",
             "push_recovered (after the end)", "push_recovered (after release)", "checkpoint_stopped",
             "convert_to_priority (unknown)", "convert_to_priority (outdated)", "resume (after release)", "release",
             "cancel", "fail", "restore", "fault", "producer_fails"), 0,
        ),
        "variants": Bound(("buffer", "event", "unaligned_barrier", "checkpoint_started"), 1, variants=True),
    },
    # Steps that break the connection have a weight only in the last bias, because they leave little that can follow.
    biases=(
        {"push_recovered": 50, "finish_recovered": 20, "event": 30},
        {"insert_recovery_barrier": 40, "checkpoint_started": 40, "unaligned_barrier": 30, "persisted": 12},
        {"buffer": 60, "recycle": 20, "free_for_live": 20, "event": 20, "aligned_barrier": 10, "resume": 60},
        {"timeoutable_barrier": 40, "convert_to_priority": 60, "buffer": 40, "convert_to_priority (outdated)": 30},
        {"fail": 6, "restore": 60, "release": 6, "receive_out_of_order": 2, "blocked_with_backlog": 2},
    ),
    prefixes=(
        # The channel state writer is slow at the start of a checkpoint, and data arrives meanwhile.
        (*_LIVE, *_DATA, _SLOW, ("checkpoint_started", 1), ("run", "task", ""), *_DATA, ("finish", "task"),
         ("finish", "network")),
        # The channel state writer is slow while data arrives, and a newer checkpoint starts meanwhile.
        (*_LIVE, ("checkpoint_started", 1), ("finish", "task"), *_DATA, _SLOW, ("buffer", -1), ("run", "network", ""),
         ("checkpoint_started", 2), ("finish", "task"), ("finish", "network")),
        # The channel state writer fails when data arrives.
        (*_LIVE, ("checkpoint_started", 1), ("finish", "task"), _THROWS, *_DATA),
        # Data arrives while a checkpoint starts.
        (*_LIVE, ("checkpoint_started", 1), ("run", "task", ""), ("buffer", -1), ("finish", "network"),
         ("finish", "task")),
        # An event arrives while recovery ends, behind events that came during recovery.
        (*_BEGIN, *_EVENT, *_EVENT, ("finish_recovered",), ("finish", "recovery"), ("take",), ("run", "task", ""),
         ("run", "task", ""), *_EVENT, ("finish", "task")),
        # The same, and the event asks for more floating buffers.
        (*_BEGIN, *_EVENT, ("finish_recovered",), ("finish", "recovery"), ("take",), ("run", "task", ""),
         ("run", "task", ""), ("event", 2), ("finish", "network"), ("finish", "task")),
        # A timeoutable barrier comes after its checkpoint was stopped, and its announcement is taken.
        (*_BEGIN, ("checkpoint_started", 1), ("finish", "task"), ("checkpoint_stopped", 1), ("finish", "task"),
         ("timeoutable_barrier", 1), ("finish", "network"), ("take",), ("finish", "task")),
    ),
    contains=("deque", "persister"),
)  # fmt: skip
