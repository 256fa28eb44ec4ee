"""The component drainer: fetched state on its way into channels. Specification: drainer.md."""

from __future__ import annotations

from functools import cache
from itertools import zip_longest
from typing import Annotated, Literal

from msgspec import Meta

from conformance.components.drainer import goals, rules
from conformance.components.drainer.ledger import Ledger
from conformance.components.drainer.steps import DRAIN, STEPS
from conformance.driver import Bound, Component
from conformance.models.designs import PUSHED
from conformance.models.faults import WithFaults
from conformance.models.recovered_state import channels_of, first_records
from conformance.ports import DrainerConfig, DrainerPort, Piece


class DrainerScenarioConfig(WithFaults, frozen=True, forbid_unknown_fields=True):
    """`recovered`: how many records of each channel were fetched. `in_turn`: whether one of each channel was fetched
    after the other, not channel by channel. `without`: for how many of the first channels nothing was fetched."""

    gates: tuple[Annotated[int, Meta(ge=1, le=3)], ...] = (2,)
    recovered: Annotated[int, Meta(ge=0, le=4)] = 2
    segment_records: Annotated[int, Meta(ge=1, le=4)] = 2
    interleaving: Literal["whole", "fine"] = "whole"
    faults: bool = False
    without: Annotated[int, Meta(ge=0, le=2)] = 0
    buffers: Annotated[int, Meta(ge=1, le=64)] = 64
    in_turn: bool = False


@cache
def _recovered(config: DrainerScenarioConfig) -> tuple[tuple[int, ...], ...]:
    channels = range(sum(config.gates))
    return tuple([first_records(one, config.recovered if one >= config.without else 0) for one in channels])


@cache
def _fetched(config: DrainerScenarioConfig) -> tuple[Piece, ...]:
    by_channel = zip(channels_of(config.gates), _recovered(config), strict=True)
    pieces = [[Piece(gate, channel, (record,)) for record in ids] for (gate, channel), ids in by_channel]
    in_order = zip_longest(*pieces) if config.in_turn else pieces
    return tuple([piece for some in in_order for piece in some if piece is not None])


_make = DrainerScenarioConfig
_TWO = (2, 1)
COMPONENT = Component(
    name="drainer",
    port=DrainerPort,
    config_type=DrainerScenarioConfig,
    configs=(
        _make(), _make(_TWO), _make((1, 2), faults=True), _make(recovered=0), _make((1,), 4, 3),
        *[_make(interleaving="fine")] * 3, *[_make(_TWO, interleaving="fine")] * 2, _make((1,), 3, 3, "fine"),
        _make(recovered=0, interleaving="fine"), _make((2,), 1, 1, "fine"),
        _make(without=1), _make(_TWO, without=1, interleaving="fine"),
        _make(in_turn=True), _make(_TWO, interleaving="fine", in_turn=True),
        _make(buffers=1), _make(_TWO, interleaving="fine", buffers=2, in_turn=True),
        _make(faults=True), _make(_TWO, interleaving="fine", faults=True),
        _make((1, 1)), _make((2, 2), 1, 1, "fine", in_turn=True), _make((1, 1), interleaving="fine", faults=True),
    ),
    port_config=lambda config: DrainerConfig(
        config.gates, _fetched(config), config.segment_records, config.buffers
    ),
    make_ledger=lambda config, capabilities: Ledger(
        config.gates, _recovered(config), _fetched(config), config.buffers, config.can_fail(DrainerPort)
    ),
    needs=lambda config: PUSHED | config.needs_for_faults(),
    threads=("task", "drain", "network", "executor", "canceler"),
    steps=tuple(STEPS.all),
    properties=(*rules.RULES.all, *goals.RULES.all),
    drain=DRAIN,
    final_phase="failed",
    explored=_make((2,), 2, 2, "fine"),
    bounds={
        "records": Bound(("buffer",), 1),
        "checkpoints": Bound(("checkpoint",), 2),
        "aborts": Bound(("abort",), 0),
        "writes": Bound(("write",), 0),
        "looks": Bound(("trigger", "stored", "resources"), 0),
        "other": Bound(("fail", "restore", "fault", "cancel"), 0),
    },
    biases=(
        {"checkpoint": 40, "drain": 60},
        {"drain": 80, "take": 80, "buffer": 20},
        {"abort": 12, "write": 60, "checkpoint": 30},
        {"cancel": 6, "checkpoint": 30},
        {"cancel": 6, "drain": 90},
    ),
    contains=("spill", "writer"),
)  # fmt: skip
