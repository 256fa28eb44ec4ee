"""The steps of the prioritised deque."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from conformance.alphabets.base import DISABLED, NO_OPERANDS, Alphabet, Bound, Operands, StepKind, ignore
from conformance.ports import DequeConfig, DequePort, Item
from conformance.properties import deque as properties
from conformance.properties.deque import DequeLedger
from conformance.scenarios import Step

_LABELS: tuple[Operands, ...] = ((0,), (1,))
"""Two labels, so that equal items are common."""


class DequeScenarioConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """Nothing to choose."""

    interleaving: Literal["whole"] = "whole"


_LIVE = ("live",)
_ALWAYS = ("live", "failed")
MOST_QUEUED = 8


def _adding(ledger: DequeLedger) -> tuple[Operands, ...]:
    return _LABELS if len(ledger.handles) < MOST_QUEUED else DISABLED


def _always(ledger: DequeLedger) -> tuple[Operands, ...]:
    return NO_OPERANDS


def _contained(ledger: DequeLedger) -> tuple[Operands, ...]:
    return tuple((handle,) for handle in ledger.handles)


def _closing(ledger: DequeLedger) -> Step | None:
    stage = ledger.closing
    if ledger.failed:
        return ("items",) if stage < 4 else None
    if stage == 1:
        return ("items",)
    if stage == 2:
        return ("count_priority",)
    return ("poll",) if ledger.handles else ("fail",)


def _looked(ledger: DequeLedger, seen: object) -> None:
    ledger.prioritized = -1
    if ledger.closing:
        ledger.closing = 4 if ledger.failed else 2


def _counted(ledger: DequeLedger, seen: object) -> None:
    if ledger.closing:
        ledger.closing = 3


DEQUE = Alphabet(
    component="deque",
    port=DequePort,
    config_type=DequeScenarioConfig,
    configs=(DequeScenarioConfig(),),
    port_config=lambda config: DequeConfig(),
    make_ledger=lambda config, capabilities: DequeLedger(),
    steps=(
        StepKind("add", "producer", _LIVE, {"label": int},
                 _adding,
                 lambda port, ledger, label: port.add(Item(ledger.next_handle, label)),
                 lambda ledger, seen, label: ledger.add(label, False), weight=12),
        StepKind("add_priority", "producer", _LIVE, {"label": int},
                 _adding,
                 lambda port, ledger, label: port.add_priority(Item(ledger.next_handle, label)),
                 lambda ledger, seen, label: ledger.add(label, True), weight=6),
        StepKind("prioritize", "checkpointing", _LIVE, {"handle": int}, _contained,
                 lambda port, ledger, handle: port.prioritize(handle),
                 lambda ledger, seen, handle: ledger.prioritize(handle)),
        StepKind("remove", "checkpointing", _LIVE, {"handle": int}, _contained,
                 lambda port, ledger, handle: port.remove(handle),
                 lambda ledger, seen, handle: ledger.remove(handle), weight=4),
        StepKind("poll", "consumer", _LIVE, {}, _always, lambda port, ledger: port.poll(),
                 lambda ledger, seen: ledger.poll(), answers=int | None),
        StepKind("contains_priority", "observer", _LIVE, {"handle": int}, _contained,
                 lambda port, ledger, handle: port.contains_priority(handle), ignore, weight=2, answers=bool),
        StepKind("count_priority", "observer", _LIVE, {}, _always, lambda port, ledger: port.count_priority(),
                 _counted, weight=4, answers=int),
        StepKind("items", "observer", _ALWAYS, {}, _always, lambda port, ledger: port.items(),
                 _looked, weight=6, answers=tuple[int, ...]),
        StepKind("fail", "recovery", _ALWAYS, {}, _always, lambda port, ledger: port.release(),
                 lambda ledger, seen: ledger.fail(), weight=1),
    ),
    closing=_closing,
    properties=properties.PROPERTIES,
    final_phase="failed",
    bounds={"elements": Bound(("add", "add_priority"), 4), "failures": Bound(("fail",), 1)},
)  # fmt: skip
