"""The component local channel, which reads the subpartition of a producer in the same process.

Specification: local-channel.md.
"""

from __future__ import annotations

from operator import attrgetter
from typing import Annotated, Literal

from msgspec import Meta

from conformance.components.local_channel import goals, rules
from conformance.components.local_channel.ledger import Ledger
from conformance.components.local_channel.steps import DRAIN, STEPS
from conformance.driver import Bound, Component, Settings
from conformance.models.designs import BY_END_OF_RECOVERY, recovers
from conformance.models.faults import WithFaults
from conformance.models.starts import reason_without_barrier
from conformance.ports import Capability, ChannelConfig, LocalChannelPort, Recovery


class LocalChannelScenarioConfig(WithFaults, frozen=True, forbid_unknown_fields=True):
    """`handed_over`: with the recovery design `in-memory`, the number of recovered buffers that the channel begins
    with."""

    recovery: Recovery = Recovery.NONE
    handed_over: Annotated[int, Meta(ge=0, le=8)] = 0
    interleaving: Literal["whole", "fine"] = "whole"
    faults: bool = False


_FAULTY = tuple(
    LocalChannelScenarioConfig(recovery, handed_over, interleaving, faults=True)
    for recovery, handed_over in (
        (Recovery.NONE, 0),
        (Recovery.RECOVER_FIRST, 0),
        (Recovery.IN_MEMORY, 2),
        (Recovery.PUSHED, 0),
    )
    for interleaving in ("whole", "fine")
)
_ADDED, _TAKEN = ("finish", "producer"), ("finish", "task")
_REQUESTED = ("request_subpartition",), _TAKEN


def _port_config(config: LocalChannelScenarioConfig) -> ChannelConfig:
    return ChannelConfig(config.recovery, tuple(range(config.handed_over)))


COMPONENT = Component(
    name="local-channel",
    port=LocalChannelPort,
    config_type=LocalChannelScenarioConfig,
    configs=tuple(
        LocalChannelScenarioConfig(recovery, handed_over, interleaving)
        for recovery, handed_over in (
            (Recovery.NONE, 0),
            (Recovery.RECOVER_FIRST, 0),
            (Recovery.IN_MEMORY, 0),
            (Recovery.IN_MEMORY, 1),
            (Recovery.IN_MEMORY, 4),
            (Recovery.PUSHED, 0),
            (Recovery.PUSHED, 0),
            (Recovery.PUSHED, 0),
        )
        for interleaving in ("whole", "fine")
    ) + _FAULTY,
    port_config=_port_config,
    restored_config=lambda config, ledger: ChannelConfig(config.recovery, ledger.lane.left()),
    make_ledger=lambda config, capabilities: Ledger(
        _port_config(config), Capability.BLOCKED_PRIORITY_LOCAL in capabilities, config.can_fail(LocalChannelPort),
        reason_without_barrier(capabilities),
    ),
    needs=lambda config: recovers(config.recovery) | config.needs_for_faults(),
    threads=("producer", "task", "recovery", "canceler"),
    steps=tuple(STEPS.all),
    properties=(*rules.RULES.all, *goals.RULES.all),
    drain=DRAIN,
    settings=Settings(attrgetter("lane.consumed"), BY_END_OF_RECOVERY),
    final_phase="failed",
    explored=LocalChannelScenarioConfig(Recovery.PUSHED, interleaving="fine"),
    bounds={
        "elements": Bound(("add_buffer", "add_event", "recovery_completion", "end_of_partition",
                           "add_buffer (after the end)"), 1),
        "barriers": Bound(("aligned_barrier", "timeoutable_barrier", "unaligned_barrier"), 0),
        "pushes": Bound(("push_recovered", "push_recovered (after the end)"), 1),
        "requests": Bound(("request_subpartition",), 1),
        "checkpoints": Bound(("insert_recovery_barrier", "checkpoint_started", "checkpoint_stopped"), 1),
        "releases": Bound(("release",), 1),
        "cancellations": Bound(("cancel",), 0),
        "failures": Bound(("fail",), 0),
        "restores": Bound(("restore",), 0),
        "variants": Bound(
            (
                "aligned_barrier", "timeoutable_barrier", "unaligned_barrier", "insert_recovery_barrier",
                "checkpoint_started", "checkpoint_stopped",
            ), 1, variants=True,
        ),
    },
    prefixes=(
        # while a resume is in flight, the producer adds to the blocked subpartition, which was empty
        (*_REQUESTED, ("aligned_barrier", 1), _ADDED, ("take",), _TAKEN, ("resume",), ("add_buffer",), _ADDED, _TAKEN),
        # a take comes between a priority event and the end of the operation that adds it
        (*_REQUESTED, ("unaligned_barrier", 1), ("run", "producer", ""), ("take",), _TAKEN, _ADDED),
        # a release comes between the moment when a push may go on and the moment when it has the lock
        (*_REQUESTED, ("push_recovered",), ("run", "recovery", ""), ("release",), _TAKEN, ("finish", "recovery")),
        # an older checkpoint is stopped while a newer one waits for its barrier
        (*_REQUESTED, ("insert_recovery_barrier", 2), _TAKEN, ("checkpoint_started", 2), _TAKEN,
         ("checkpoint_stopped", 1), _TAKEN, ("add_buffer",), _ADDED, ("take",), _TAKEN),
    ),
    biases=(
        {"unaligned_barrier": 40, "checkpoint_started": 30, "insert_recovery_barrier": 30},
        {"fail": 5, "restore": 60, "unaligned_barrier": 40, "checkpoint_started": 30, "insert_recovery_barrier": 40},
        {"fail": 6, "restore": 60, "unaligned_barrier": 40, "checkpoint_started": 40, "insert_recovery_barrier": 50,
         "push_recovered": 60, "finish_recovered": 1, "request_subpartition": 20},
        {"take": 80, "resume": 5, "recovery_completion": 20, "unaligned_barrier": 30},
        {"release": 8, "fail": 2, "request_subpartition": 3, "push_recovered": 40},
        {"push_recovered": 60, "take": 16, "checkpoint_stopped": 16, "insert_recovery_barrier": 24},
        {"checkpoint_started": 24, "checkpoint_stopped": 20, "add_buffer": 50, "take": 70, "aligned_barrier": 20},
    ),
    contains=("subpartition", "persister"),
)  # fmt: skip
