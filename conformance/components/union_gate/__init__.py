"""The component union gate: several input gates read as one. Specification: union-gate.md."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from conformance.components.union_gate import goals, notice_rules, rules
from conformance.components.union_gate.ledger import Ledger
from conformance.components.union_gate.settings import SETTINGS
from conformance.components.union_gate.steps import DRAIN, STEPS
from conformance.driver import Bound, Component
from conformance.models.designs import recovers
from conformance.models.faults import WithFaults
from conformance.ports import Capability, ChannelKind, GateConfig, Recovery, UnionGateConfig, UnionGatePort
from conformance.scenarios import Step

_Channels = Annotated[tuple[ChannelKind, ...], Meta(min_length=1, max_length=4)]


class UnionGateScenarioConfig(WithFaults, frozen=True, forbid_unknown_fields=True):
    """`gates`: for each gate, the kinds of its channels. There are at least two, because Flink refuses one gate
    alone."""

    gates: Annotated[tuple[_Channels, ...], Meta(min_length=2, max_length=4)]
    recovery: Recovery = Recovery.NONE
    interleaving: Literal["whole", "fine"] = "whole"
    faults: bool = False


def _port_config(config: UnionGateScenarioConfig) -> UnionGateConfig:
    return UnionGateConfig(tuple(GateConfig(kinds, config.recovery) for kinds in config.gates))


_L, _R = ChannelKind.LOCAL, ChannelKind.REMOTE
_GATES = (((_L,), (_R,)), ((_L,), (_L,)), ((_R, _L), (_L, _R)), ((_R,), (_L,), (_L, _R)))

_LIVE: tuple[Step, ...] = tuple(
    step
    for gate in (0, 1)
    for step in (("convert", gate), ("finish", "task"), ("request_partitions", gate), ("finish", "task"))
)
"""Two gates get live data. The turns count if operations are interleaved."""
_SENT: tuple[Step, ...] = ("buffer", 0), ("finish", "network")
_TOLD_LATE: tuple[Step, ...] = (
    *_LIVE, *_SENT,
    ("poll",), ("run", "task", "union lock"), ("buffer", 0), ("run", "network", "outside the gate lock"),
    ("finish", "task"), ("poll",), ("finish", "task"), ("finish", "network"), ("poll",), ("run", "task", "union lock"),
)  # fmt: skip
"""A gate is told of a buffer that was polled already. The next poll finds nothing in it, and pauses before it decides
whether the gate is queued again."""
_POLL: tuple[Step, ...] = ("poll",), ("finish", "task")
_ENDED_WHILE_BLOCKED: tuple[Step, ...] = (
    ("available",), *_POLL * 3, ("aligned_barrier", 0), ("finish", "network"), *_POLL,
    ("end_of_data", 0), ("finish", "network"), ("end_of_partition", 0), ("finish", "network"), *_POLL, ("available",),
)  # fmt: skip
"""The end of a channel that is blocked is told, and the poll finds nothing. Then the consumer asks if it may sleep."""
_FIRST_GATE_ALONE: tuple[Step, ...] = (
    ("finish_recovery", 0), ("finish", "recovery"), *_POLL, ("available",), *_LIVE[:4],
    ("finish_recovery", 0), ("finish", "recovery"), *_POLL, ("available",),
    ("recovery_completion", 0), ("finish", "network"), ("finish", "recovery"), *(*_POLL, ("available",)) * 2,
    ("resume", 0), ("finish", "task"), ("end_of_data", 0), ("finish", "network"), *_POLL,
    ("end_of_partition", 0), ("finish", "network"), *_POLL, ("finished",),
    ("finish_recovery", 1), ("finish", "recovery"), *_POLL, *_LIVE, ("finished",),
)  # fmt: skip
"""The first gate is recovered, requested, and ends with its first channel, before the partitions of the second gate are
requested."""
_PREFIXES: tuple[tuple[Step, ...], ...] = (
    _FIRST_GATE_ALONE,
    (*_LIVE, *_SENT, ("poll",), ("run", "task", "union lock"), ("run", "task", "outside the union lock"), *_SENT),
    (*_TOLD_LATE, *_SENT, ("finish", "task"), *_ENDED_WHILE_BLOCKED),
    (*_TOLD_LATE, ("unaligned_barrier", 0), ("run", "network", "outside the gate lock"), ("finish", "task"),
     ("finish", "network")),
    (*_LIVE, *_SENT, *_SENT, ("unaligned_barrier", 0), ("run", "network", "outside the gate lock"), ("poll",),
     ("finish", "task"), ("finish", "network"), ("unaligned_barrier", 1), ("finish", "network"), *_ENDED_WHILE_BLOCKED),
)  # fmt: skip
"""All but the first one have races between a poll and what is told of a gate, the last with a priority event that was
polled already."""

COMPONENT = Component(
    name="union-gate",
    port=UnionGatePort,
    config_type=UnionGateScenarioConfig,
    configs=tuple(
        UnionGateScenarioConfig(gates, recovery, interleaving)
        for gates in _GATES
        for recovery in Recovery
        for interleaving in ("whole", "fine")
    )
    + tuple(
        UnionGateScenarioConfig(gates, recovery, interleaving, faults=True)
        for gates, recovery in (
            (_GATES[0], Recovery.NONE), (_GATES[0], Recovery.RECOVER_FIRST),
            (_GATES[2], Recovery.IN_MEMORY), (_GATES[2], Recovery.PUSHED),
        )
        for interleaving in ("whole", "fine")
    ),
    port_config=_port_config,
    make_ledger=lambda config, capabilities: Ledger(
        config.gates, config.recovery, Capability.BLOCKED_PRIORITY_LOCAL in capabilities,
        config.can_fail(UnionGatePort),
    ),
    needs=lambda config: recovers(config.recovery) | config.needs_for_faults(),
    threads=("recovery", "network", "task", "canceler"),
    steps=tuple(STEPS.all),
    properties=(*rules.RULES.all, *notice_rules.RULES.all, *goals.RULES.all),
    drain=DRAIN,
    settings=SETTINGS,
    final_phase="failed",
    explored=UnionGateScenarioConfig(((_L,), (_L,)), Recovery.NONE, "fine"),
    bounds={
        "elements": Bound(("recover", "buffer"), 1, each=True),
        "barriers": Bound(("unaligned_barrier",), 1, each=True),
        "other": Bound(
            ("event", "recovery_completion", "aligned_barrier", "end_of_data", "end_of_partition", "convert_early",
             "release", "fail", "restore"), 0,
        ),
    },
    biases=(
        {"unaligned_barrier": 40, "buffer": 24, "poll": 16, "aligned_barrier": 0, "end_of_data": 0, "fail": 0},
        {
            "buffer": 40, "poll": 30, "available": 30, "request_partitions": 40, "aligned_barrier": 0, "end_of_data": 0,
            "fail": 0, "release": 0,
        },
        {"end_of_data": 16, "end_of_partition": 20, "poll": 60, "finished": 6},
        {"aligned_barrier": 16, "resume": 3, "unaligned_barrier": 16},
        {"recover": 30, "finish_recovery": 3, "convert_early": 6},
        {"finish_recovery": 60, "convert": 40, "request_partitions": 60, "buffer": 30},
        {"release": 8, "fail": 4, "restore": 60},
    ),
    prefixes=_PREFIXES,
    contains=("gate",),
)  # fmt: skip
