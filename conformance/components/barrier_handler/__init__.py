"""The component barrier-handler: what barriers lead to. Specification: barrier-handler.md."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from conformance.components.barrier_handler import goals, rules
from conformance.components.barrier_handler.ledger import Ledger
from conformance.components.barrier_handler.steps import DRAIN, STEPS
from conformance.driver import Bound, Component
from conformance.models.barriers import TIMEOUT
from conformance.models.faults import WithFaults
from conformance.ports import BarrierHandlerConfig, BarrierHandlerPort


class BarrierHandlerScenarioConfig(WithFaults, frozen=True, forbid_unknown_fields=True):
    """`sources`: how many of the channels, the last ones, are sources, which are asked for a checkpoint by a call.

    `alternating`, `counts_ends`: as in the configuration of the port.
    """

    channels: Annotated[int, Meta(ge=1, le=4)] = 2
    sources: Annotated[int, Meta(ge=0, le=2)] = 0
    alternating: bool = True
    counts_ends: bool = True
    interleaving: Literal["whole"] = "whole"
    faults: bool = False


def _port_config(config: BarrierHandlerScenarioConfig) -> BarrierHandlerConfig:
    return BarrierHandlerConfig(config.channels, TIMEOUT, config.alternating, config.counts_ends)


_make = BarrierHandlerScenarioConfig
COMPONENT = Component(
    name="barrier-handler",
    port=BarrierHandlerPort,
    config_type=BarrierHandlerScenarioConfig,
    configs=(
        *[_make()] * 3,
        *[_make(3)] * 3,
        _make(1),
        _make(4),
        *[_make(3, sources=1)] * 2,
        _make(2, alternating=False),
        _make(3, sources=1, alternating=False),
        _make(3, counts_ends=False),
        *[_make(3, faults=True)] * 2,
    ),
    port_config=_port_config,
    make_ledger=lambda config, capabilities: Ledger(
        _port_config(config), min(config.sources, config.channels), config.can_fail(BarrierHandlerPort)
    ),
    needs=lambda config: config.needs_for_faults(),
    steps=tuple(STEPS.all),
    properties=(*rules.RULES.all, *goals.RULES.all),
    drain=DRAIN,
    final_phase="failed",
    bounds={
        "barriers": Bound(("aligned_barrier", "timeoutable_barrier", "unaligned_barrier", "rpc_barrier"), 4),
        "announcements": Bound(("announcement",), 2),
        "markers": Bound(("cancel_marker",), 1),
        "ends": Bound(("end_of_partition",), 1),
        "time": Bound(("advance",), 2),
        "other": Bound(("fail", "restore", "fault"), 0),
    },
    biases=(
        {"timeoutable_barrier": 30, "announcement": 30, "advance": 12},
        {"aligned_barrier": 30, "cancel_marker": 10},
        {"unaligned_barrier": 30, "end_of_partition": 6},
    ),
)
