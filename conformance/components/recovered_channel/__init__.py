"""The component recovered channel, into which input state is read before the channel is physical.

Specification: recovered-channel.md.
"""

from __future__ import annotations

from operator import attrgetter
from typing import Literal

from conformance.components.recovered_channel import goals, rules
from conformance.components.recovered_channel.ledger import Ledger
from conformance.components.recovered_channel.steps import DRAIN, STEPS
from conformance.driver import Bound, Component, Settings
from conformance.models.designs import BY_CONVERSION, recovers
from conformance.models.faults import WithFaults
from conformance.ports import BUFFER_POOL, ChannelConfig, FaultKind, RecoveredChannelPort, Recovery


class RecoveredChannelScenarioConfig(WithFaults, frozen=True, forbid_unknown_fields=True):
    """`recovery`: the recovery design, which decides when the channel may be converted."""

    recovery: Literal["recover-first", "in-memory", "pushed"]
    interleaving: Literal["whole", "fine"] = "whole"
    faults: bool = False


_PLAIN, _FAULTY = (
    tuple(
        RecoveredChannelScenarioConfig(recovery, interleaving, faults=faults)
        for interleaving in ("whole", "fine")
        for recovery in ("recover-first", "in-memory", "pushed")
    )
    for faults in (False, True)
)

COMPONENT = Component(
    name="recovered-channel",
    port=RecoveredChannelPort,
    config_type=RecoveredChannelScenarioConfig,
    configs=_PLAIN * 5 + _FAULTY,
    port_config=lambda config: ChannelConfig(Recovery(config.recovery)),
    make_ledger=lambda config, capabilities: Ledger(
        ChannelConfig(Recovery(config.recovery)), config.can_fail(RecoveredChannelPort, config.interleaving == "fine")
    ),
    needs=lambda config: recovers(config.recovery) | config.needs_for_faults(),
    threads=("recovery", "task", "pool", "canceler"),
    steps=tuple(STEPS.all),
    properties=(*rules.RULES.all, *goals.RULES.all),
    drain=DRAIN,
    settings=Settings(attrgetter("conversion.done"), BY_CONVERSION),
    final_phase="failed",
    explored=RecoveredChannelScenarioConfig("in-memory", "fine"),
    bounds={
        "pushes": Bound(("push_recovered", "push_recovered (after the end)"), 2),
        "checkpoints": Bound(("checkpoint_started", "checkpoint_stopped"), 1),
        "releases": Bound(("release",), 1),
        "cancellations": Bound(("cancel",), 0),
        "failures": Bound(("fail",), 1),
        "restores": Bound(("restore",), 0),
        "variants": Bound(("push_recovered", "checkpoint_started", "checkpoint_stopped"), 1, variants=True),
    },
    biases=(
        {"push_recovered": 40, "take": 6},
        {"convert": 16, "finish_recovered": 10, "take": 24},
        {"release": 8, "fail": 4, "restore": 60, "push_recovered": 30},
        {"checkpoint_started": 16, "checkpoint_stopped": 16, "last_stopped": 8},
        {"fault": 24, "push_recovered": 40, "offer_buffer": 24, "release": 8, "convert": 12},
        {"fault": 16, "convert": 16, "finish_recovered": 10, "take": 24},
    ),
    prefixes=(
        # The buffer pool would refuse a buffer, and a push comes after the end of recovered data, which asks for none.
        (
            ("fault", BUFFER_POOL, FaultKind.REFUSES.value, 1),
            ("finish_recovered",),
            ("finish", "recovery"),
            ("push_recovered", 1),
            ("finish", "recovery"),
        ),
        # A push waits for a buffer, is offered one, and does not go on before the channel is released or converted.
        *(
            (
                ("fault", BUFFER_POOL, FaultKind.REFUSES.value, 1),
                ("push_recovered", 1),
                ("finish", "recovery"),
                ("offer_buffer",),
                ("finish", "pool"),
                end,
            )
            for end in (("release",), ("convert",))
        ),
    ),
)
