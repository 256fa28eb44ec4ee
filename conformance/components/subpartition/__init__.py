"""The component subpartition: the producer's side of a channel. Specification: subpartition.md."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from conformance.components.subpartition import fault_rules, goals, rules
from conformance.components.subpartition.ledger import Ledger
from conformance.components.subpartition.steps import DRAIN, STEPS
from conformance.driver import Bound, Component
from conformance.models.faults import WithFaults
from conformance.ports import Capability, SubpartitionConfig, SubpartitionPort


class SubpartitionScenarioConfig(WithFaults, frozen=True, forbid_unknown_fields=True):
    """`recovered`: the number of recovered records that the run begins with; null: it begins without a recovery."""

    exclusive_buffers: Annotated[int, Meta(ge=0, le=8)] = 2
    recovered: Annotated[int, Meta(ge=0, le=8)] | None = None
    interleaving: Literal["whole"] = "whole"
    faults: bool = False


_BARRIERS = ("aligned_barrier", "timeoutable_barrier", "unaligned_barrier")
_LATE = ("timeoutable_barrier (after the end)", "unaligned_barrier (after the end)")


def _needs(config: SubpartitionScenarioConfig) -> frozenset[Capability]:
    recovers = () if config.recovered is None else (Capability.OUTPUT_RECOVERED_UPSTREAM,)
    return config.needs_for_faults().union(recovers)


COMPONENT = Component(
    name="subpartition",
    port=SubpartitionPort,
    config_type=SubpartitionScenarioConfig,
    configs=(
        *[
            *[SubpartitionScenarioConfig(recovered=recovered) for recovered in (None, None, 0, 1, 2)],
            SubpartitionScenarioConfig(exclusive_buffers=0),
        ]
        * 2,
        SubpartitionScenarioConfig(faults=True),
        SubpartitionScenarioConfig(recovered=2, faults=True),
    ),
    port_config=lambda config: SubpartitionConfig(config.exclusive_buffers),
    make_ledger=lambda config, capabilities: Ledger(
        config.exclusive_buffers,
        config.recovered,
        Capability.BLOCKED_PRIORITY_LOCAL in capabilities,
        config.can_fail(SubpartitionPort),
        Capability.TIMEOUTABLE_BARRIERS in capabilities,
    ),
    needs=_needs,
    steps=tuple(STEPS.all),
    properties=(*rules.RULES.all, *fault_rules.RULES.all, *goals.RULES.all),
    drain=DRAIN,
    final_phase="failed",
    explored=SubpartitionScenarioConfig(),
    bounds={
        "views": Bound(("attach_view",), 1),
        "elements": Bound(("add_buffer", "open_buffer", "append", "add_event", "finish", "recover", *_BARRIERS), 4),
        "checkpoints": Bound((*_BARRIERS, *_LATE), 2),
        "failures": Bound(("fail",), 0),
        "restores": Bound(("restore",), 0),
        "variants": Bound(("add_buffer", "open_buffer", *_BARRIERS, *_LATE), 1, variants=True),
    },
    biases=(
        {"aligned_barrier": 16, "timeoutable_barrier": 16, "unaligned_barrier": 20, "aligned_timeout": 16},
        {"open_buffer": 20, "append": 20, "flush": 16, "finish_buffer": 6},
        {"fail": 8, "restore": 60, "unaligned_barrier": 20},
        {"resume": 2, "unaligned_barrier": 24, "finish_recovery": 40},
        {"poll": 60, "resume": 20},
    ),
    contains=("deque",),
)
