"""The component gate: an input gate, or several that are read as one. Specification: gate.md."""

from __future__ import annotations

from operator import attrgetter
from typing import Annotated, Any, Literal

from msgspec import Meta

from conformance.components.gate import buffer_rules, fault_rules, goals, rules, union_rules
from conformance.components.gate.ledger import Ledger
from conformance.components.gate.rules import ONE_GATE, SEVERAL_GATES
from conformance.components.gate.search import (
    BIASES,
    BIASES_OF_UNIONS,
    PREFIXES,
    PREFIXES_OF_UNIONS,
    WEIGHTS_OF_UNIONS,
)
from conformance.components.gate.steps import DRAIN, STEPS
from conformance.driver import Bound, Component, Settings, Shape
from conformance.models.designs import BY_CONVERSION, NOTHING, UNIONS, recovers
from conformance.models.faults import WithFaults
from conformance.models.starts import reason_without_barrier
from conformance.ports import (
    NETWORK_BUFFER_POOL,
    SUBPARTITION_REQUEST,
    Capability,
    ChannelKind,
    GateConfig,
    GatePort,
    Recovery,
)

LOCAL, REMOTE = ChannelKind.LOCAL, ChannelKind.REMOTE


_Channels = Annotated[tuple[ChannelKind, ...], Meta(min_length=1, max_length=4)]


class GateScenarioConfig(WithFaults, frozen=True, forbid_unknown_fields=True):
    """`gates`: for each gate, the kinds of its channels; several are read as one. `recovered`: the highest number of
    recovered records that are pushed into each channel. `credited`: the producers of remote channels send data only for
    credit, and say their backlogs."""

    gates: Annotated[tuple[_Channels, ...], Meta(min_length=1, max_length=4)] = ((LOCAL, REMOTE),)
    recovery: Recovery = Recovery.NONE
    recovered: int = 2
    interleaving: Literal["whole", "fine"] = "whole"
    exclusive_buffers: Annotated[int, Meta(ge=0, le=8)] = 2
    floating_buffers: Annotated[int, Meta(ge=0, le=8)] = 2
    credited: bool = False
    faults: bool = False


def _make_ledger(config: Any, capabilities: frozenset[Capability]) -> Ledger:
    places = config.can_fail(GatePort)
    if len(config.gates) > 1:
        places = {place: kinds for place, kinds in places.items() if place in _FAIL_IN_A_UNION}
    return Ledger(
        config.gates,
        config.recovery,
        config.recovered,
        Capability.BLOCKED_PRIORITY_LOCAL in capabilities,
        (config.exclusive_buffers, config.floating_buffers),
        config.credited,
        places,
        reason_without_barrier(capabilities),
        Capability.TIMEOUTABLE_BARRIERS in capabilities,
    )


_FAIL_IN_A_UNION = (SUBPARTITION_REQUEST, NETWORK_BUFFER_POOL)
_ONE_LOCAL, _TWO_LOCAL = (REMOTE, LOCAL, REMOTE), (LOCAL, REMOTE, LOCAL)
_THREE = {
    Recovery.NONE: _TWO_LOCAL, Recovery.RECOVER_FIRST: _TWO_LOCAL,
    Recovery.IN_MEMORY: _ONE_LOCAL, Recovery.PUSHED: _ONE_LOCAL,
}  # fmt: skip
"""Three channels. Of two local ones, one is polled while the other is blocked."""
_WAYS: tuple[Literal["whole"], Literal["fine"]] = ("whole", "fine")
_ONE_GATE = (
    *(
        GateScenarioConfig((channels,), recovery, 2, interleaving)
        for recovery in Recovery
        for channels in ((LOCAL, REMOTE), (REMOTE, REMOTE), (LOCAL,), _THREE[recovery])
        for interleaving in _WAYS
    ),
    *(
        GateScenarioConfig((channels,), recovery, 2, interleaving, exclusive, floating, credited=True)
        for recovery in Recovery
        for channels, exclusive, floating in (((REMOTE, REMOTE), 0, 1), ((REMOTE, LOCAL, REMOTE), 1, 2))
        for interleaving in _WAYS
    ),
    *(
        GateScenarioConfig((channels,), recovery, 2, interleaving, faults=True)
        for recovery, channels in (
            (Recovery.NONE, (LOCAL, REMOTE)),
            (Recovery.RECOVER_FIRST, (LOCAL, REMOTE)),
            (Recovery.IN_MEMORY, (LOCAL, REMOTE)),
            (Recovery.PUSHED, _ONE_LOCAL),
        )
        for interleaving in _WAYS
    ),
)
_GATES = (
    ((LOCAL,), (REMOTE,)), ((LOCAL,), (LOCAL,)), ((REMOTE, LOCAL), (LOCAL, REMOTE)),
    ((REMOTE,), (LOCAL,), (LOCAL, REMOTE)),
)  # fmt: skip
_SEVERAL_GATES = (
    *(
        GateScenarioConfig(gates, recovery, 3, interleaving)
        for gates in _GATES
        for recovery in Recovery
        for interleaving in _WAYS
    ),
    *(
        GateScenarioConfig(gates, recovery, 3, interleaving, faults=True)
        for gates, recovery in (
            (_GATES[0], Recovery.NONE), (_GATES[0], Recovery.RECOVER_FIRST),
            (_GATES[2], Recovery.IN_MEMORY), (_GATES[2], Recovery.PUSHED),
        )
        for interleaving in _WAYS
    ),
)  # fmt: skip

COMPONENT = Component(
    name="gate",
    port=GatePort,
    config_type=GateScenarioConfig,
    configs=(*_ONE_GATE, *_SEVERAL_GATES),
    shapes=(
        Shape(ONE_GATE, _ONE_GATE, {}, BIASES, PREFIXES),
        Shape(SEVERAL_GATES, _SEVERAL_GATES, WEIGHTS_OF_UNIONS, BIASES_OF_UNIONS, PREFIXES_OF_UNIONS),
    ),
    port_config=lambda config: GateConfig(
        config.gates, config.recovery, config.exclusive_buffers, config.floating_buffers
    ),
    make_ledger=_make_ledger,
    needs=lambda config: (
        recovers(config.recovery) | config.needs_for_faults() | (UNIONS if len(config.gates) > 1 else NOTHING)
    ),
    threads=("recovery", "network", "task", "canceler"),
    steps=tuple(STEPS.all),
    properties=(
        *rules.RULES.all, *union_rules.RULES.all, *buffer_rules.RULES.all, *fault_rules.RULES.all, *goals.RULES.all,
    ),
    drain=DRAIN,
    settings=Settings(
        attrgetter("converted"),
        BY_CONVERSION,
        lambda config: [kind for kinds in config.gates for kind in kinds],
        shape=lambda config: ONE_GATE if len(config.gates) == 1 else SEVERAL_GATES,
    ),
    final_phase="failed",
    explored=GateScenarioConfig(((REMOTE, LOCAL),), Recovery.IN_MEMORY, 1, "fine"),
    bounds={
        "elements": Bound(("recover", "buffer"), 2, each=True),
        "checkpoints": Bound(("checkpoint_started",), 1),
        "barriers": Bound(("unaligned_barrier",), 1, each=True),
        "marks": Bound(("insert_recovery_barriers",), 1),
        "stops": Bound(("checkpoint_stopped",), 0),
        "conversions": Bound(("convert",), 1),
        "other": Bound(
            ("event", "aligned_barrier", "timeoutable_barrier", "end_of_data", "end_of_partition", "fail", "restore",
             "release", "cancel", "recover (after release)", "poll (after release)", "convert (again)",
             "request_partitions (too early)", "convert_to_priority (unknown)", "end_of_output_state (again)",
             "event_with_backlog"), 0,
        ),
    },
    contains=("deque", "local-channel", "remote-channel", "recovered-channel"),
)  # fmt: skip
