"""The component prioritised deque: the queue inside subpartitions, channels and gates. Specification: deque.md."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from conformance.components.deque import rules
from conformance.components.deque.ledger import Ledger
from conformance.components.deque.steps import DRAIN, STEPS
from conformance.driver import Bound, Component
from conformance.ports import DequeConfig, DequePort


class DequeScenarioConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """A deque has no options."""

    interleaving: Literal["whole"] = "whole"


COMPONENT = Component(
    name="deque",
    port=DequePort,
    config_type=DequeScenarioConfig,
    configs=(DequeScenarioConfig(),),
    port_config=lambda config: DequeConfig(),
    make_ledger=lambda config, capabilities: Ledger(),
    steps=tuple(STEPS.all),
    properties=(*rules.RULES.all,),
    drain=DRAIN,
    final_phase="failed",
    biases=({"add": 60, "add_priority": 20, "poll": 2, "remove": 1},),
    bounds={"elements": Bound(("add", "add_priority"), 4), "failures": Bound(("fail",), 1)},
)
