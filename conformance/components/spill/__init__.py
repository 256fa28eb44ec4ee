"""The component spill: the files of fetched channel state. Specification: spill.md."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from conformance.components.spill import goals, rules
from conformance.components.spill.ledger import Ledger
from conformance.components.spill.steps import DRAIN, STEPS
from conformance.driver import Bound, Component
from conformance.models.faults import WithFaults
from conformance.ports import SpillConfig, SpillPort


class SpillScenarioConfig(WithFaults, frozen=True, forbid_unknown_fields=True):
    """As in the configuration of the port."""

    gates: tuple[Annotated[int, Meta(ge=1, le=3)], ...] = (2,)
    segment_records: Annotated[int, Meta(ge=1, le=8)] = 2
    file_records: Annotated[int, Meta(ge=1, le=16)] = 4
    files: bool = False
    interleaving: Literal["whole"] = "whole"
    faults: bool = False


_make = SpillScenarioConfig
_MOST = (
    _make(), _make((1,)), _make((1, 2)), _make((2,), 3, 6), _make((2,), 1, 1), _make((1,), 8, 16),
    _make(faults=True), _make((1, 2), faults=True), _make((2,), 1, 3, faults=True),
)  # fmt: skip


def _port_config(config: SpillScenarioConfig) -> SpillConfig:
    return SpillConfig(config.gates, config.segment_records, config.file_records, config.files)


COMPONENT = Component(
    name="spill",
    port=SpillPort,
    config_type=SpillScenarioConfig,
    configs=(*_MOST * 2, _make((1, 2), files=True), _make(files=True, faults=True)),
    port_config=_port_config,
    make_ledger=lambda config, capabilities: Ledger(_port_config(config), config.can_fail(SpillPort)),
    needs=lambda config: config.needs_for_faults(),
    steps=tuple(STEPS.all),
    properties=(*rules.RULES.all, *goals.RULES.all),
    drain=DRAIN,
    final_phase="failed",
    bounds={
        "appends": Bound(("append",), 3),
        "snapshots": Bound(("snapshot",), 2),
        "variants": Bound(("append", "read", "read_snapshot"), 1, variants=True),
        "other": Bound(("fail", "restore", "fault", "append (unknown channel)", "append (after the end)"), 0),
    },
    biases=(
        {"append": 100, "finish": 2, "buffered": 20, "resources": 16},
        {"snapshot": 40, "read_snapshot": 60, "close_snapshot": 4},
        {"finish": 20, "force_close": 6, "close_reader": 6},
    ),
)  # fmt: skip
