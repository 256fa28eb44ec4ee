"""The component persister, which decides which buffers belong to which checkpoint. Specification: persister.md."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from conformance.components.persister import rules
from conformance.components.persister.ledger import Ledger
from conformance.components.persister.steps import DRAIN, STEPS
from conformance.driver import Bound, Component
from conformance.models.faults import WithFaults
from conformance.ports import PersisterConfig, PersisterPort


class PersisterScenarioConfig(WithFaults, frozen=True, forbid_unknown_fields=True):
    """`base`: this is added to the id of every checkpoint, so that steps name large ids by small numbers."""

    base: Annotated[int, Meta(ge=0, le=2**53)] = 0
    interleaving: Literal["whole"] = "whole"
    faults: bool = False


COMPONENT = Component(
    name="persister",
    port=PersisterPort,
    config_type=PersisterScenarioConfig,
    configs=(
        *[PersisterScenarioConfig()] * 6,
        PersisterScenarioConfig(2**31 - 2),
        PersisterScenarioConfig(2**32 - 2),
        *[PersisterScenarioConfig(faults=True)] * 2,
    ),
    port_config=lambda config: PersisterConfig(),
    make_ledger=lambda config, capabilities: Ledger(config.base, config.can_fail(PersisterPort)),
    needs=lambda config: config.needs_for_faults(),
    steps=tuple(STEPS.all),
    properties=(*rules.RULES.all,),
    drain=DRAIN,
    final_phase="failed",
    bounds={
        "elements": Bound(("buffer",), 2),
        "checkpoints": Bound(("start", "barrier", "aligned_barrier", "timeoutable_barrier"), 3),
        "stops": Bound(("stop",), 2),
        "other": Bound(("event", "other_event", "no_barrier", "announcement", "fail", "restore"), 0),
        "variants": Bound(("aligned_barrier", "timeoutable_barrier"), 0),
    },
    biases=({"buffer": 40, "start": 20}, {"barrier": 30, "start": 30}, {"stop": 30}),
)
