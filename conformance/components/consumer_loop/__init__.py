"""The component consumer-loop: the task in front of its barrier handler. Specification: consumer-loop.md."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from conformance.components.consumer_loop import goals, rules
from conformance.components.consumer_loop.ledger import Ledger
from conformance.components.consumer_loop.steps import DRAIN, STEPS
from conformance.driver import Bound, Component
from conformance.models.barriers import TIMEOUT
from conformance.models.faults import WithFaults
from conformance.ports import BarrierHandlerConfig, Capability, ConsumerLoopPort


class ConsumerLoopScenarioConfig(WithFaults, frozen=True, forbid_unknown_fields=True):
    """`alternating`, `counts_ends`: as in the configuration of the barrier handler."""

    channels: Annotated[int, Meta(ge=1, le=4)] = 2
    alternating: bool = True
    counts_ends: bool = True
    interleaving: Literal["whole", "fine"] = "whole"
    faults: bool = False


def _port_config(config: ConsumerLoopScenarioConfig) -> BarrierHandlerConfig:
    return BarrierHandlerConfig(config.channels, TIMEOUT, config.alternating, config.counts_ends)


_make = ConsumerLoopScenarioConfig
COMPONENT = Component(
    name="consumer-loop",
    port=ConsumerLoopPort,
    config_type=ConsumerLoopScenarioConfig,
    configs=(
        *[_make()] * 2, _make(3), _make(1), _make(alternating=False), _make(3, counts_ends=False),
        *[_make(interleaving="fine")] * 4, *[_make(3, interleaving="fine")] * 2,
        *[_make(faults=True)] * 2, _make(3, faults=True), *[_make(interleaving="fine", faults=True)] * 2,
    ),
    port_config=_port_config,
    make_ledger=lambda config, capabilities: Ledger(
        _port_config(config), config.can_fail(ConsumerLoopPort), Capability.ALIGNS_AT_RECEIVER in capabilities
    ),
    needs=lambda config: config.needs_for_faults(),
    threads=("network", "timer", "task"),
    steps=tuple(STEPS.all),
    properties=(*rules.RULES.all, *goals.RULES.all),
    drain=DRAIN,
    final_phase="failed",
    bounds={
        "records": Bound(("buffer",), 1),
        "barriers": Bound(("aligned_barrier", "timeoutable_barrier", "unaligned_barrier"), 2),
        "markers": Bound(("cancel_marker",), 1),
        "ends": Bound(("end_of_data", "end_of_partition"), 0),
        "time": Bound(("advance",), 1),
        "other": Bound(("fail", "restore", "fault"), 0),
    },
    alike=lambda config: {"channel": config.channels},
    biases=(
        {"timeoutable_barrier": 30, "advance": 20, "run_mail": 60, "fault": 16},
        {"unaligned_barrier": 30, "buffer": 60},
        {"end_of_data": 10, "end_of_partition": 20},
    ),
    contains=("gate", "barrier-handler"),
)  # fmt: skip
