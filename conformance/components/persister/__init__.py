"""The component persister, which decides which buffers belong to which checkpoint. Specification: persister.md."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from conformance.components.persister.ledger import Ledger
from conformance.components.persister.rules import RULES
from conformance.components.persister.steps import DRAIN, STEPS
from conformance.driver import Bound, Component
from conformance.ports import PersisterConfig, PersisterPort


class PersisterScenarioConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """A persister has no options."""

    interleaving: Literal["whole"] = "whole"


COMPONENT = Component(
    name="persister",
    port=PersisterPort,
    config_type=PersisterScenarioConfig,
    configs=(PersisterScenarioConfig(),),
    port_config=lambda config: PersisterConfig(),
    make_ledger=lambda config, capabilities: Ledger(),
    steps=tuple(STEPS.all),
    properties=tuple(RULES.all),
    drain=DRAIN,
    final_phase="failed",
    bounds={
        "elements": Bound(("buffer",), 2),
        "checkpoints": Bound(("start", "barrier"), 3),
        "stops": Bound(("stop",), 2),
        "other": Bound(("event", "announcement", "fail", "restore"), 0),
    },
    biases=({"buffer": 40, "start": 20}, {"barrier": 30, "start": 30}, {"stop": 30}),
)
