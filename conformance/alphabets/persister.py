"""The steps of a channel state persister."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from conformance.alphabets.base import NO_OPERANDS, Alphabet, Bound, Operands, StepKind, ignore
from conformance.ports import (
    Alignment,
    Announcement,
    Barrier,
    Data,
    Event,
    PersisterConfig,
    PersisterPort,
    Resources,
)
from conformance.properties import Seen
from conformance.properties import persister as properties
from conformance.properties.persister import PersisterLedger as Ledger
from conformance.scenarios import Step


class PersisterScenarioConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """Nothing to choose."""

    interleaving: Literal["whole"] = "whole"


_LIVE = ("live",)
_FAILED = ("failed",)
_ALWAYS = ("live", "failed")


def _always(ledger: Ledger) -> tuple[Operands, ...]:
    return NO_OPERANDS


def _near(ledger: Ledger) -> tuple[Operands, ...]:
    """Checkpoints in order, again, or late."""
    newest = ledger.newest
    return ((newest + 1,), (newest,), (newest - 1,)) if newest > 1 else ((newest + 1,),)


def _starts(ledger: Ledger) -> tuple[Operands, ...]:
    """A checkpoint that was not started, with none or two records known before it."""
    near = [one for (one,) in _near(ledger) if one not in ledger.started_ids]
    return tuple((one, known) for one in near for known in (0, 2))


def _inspections(ledger: Ledger) -> tuple[Operands, ...]:
    return tuple((one,) for one in ledger.started_ids[-3:])


def _known(ledger: Ledger, count: int) -> tuple[int, ...]:
    return tuple(range(ledger.records, ledger.records + count))


def _started(ledger: Ledger, seen: Seen, checkpoint: int, count: int) -> None:
    known = _known(ledger, count)
    ledger.records += count
    ledger.newest = max(ledger.newest, checkpoint)
    if seen.error is None:
        ledger.started_ids.append(checkpoint)
        ledger.started(checkpoint, list(known))


def _stopped(ledger: Ledger, seen: Seen, checkpoint: int) -> None:
    ledger.newest = max(ledger.newest, checkpoint)
    ledger.stopped_late = ledger.stopped_late or ledger.pending > checkpoint
    ledger.stopped(checkpoint)


def _arrived(ledger: Ledger, seen: Seen) -> None:
    ledger.behind += not ledger.pending and ledger.last_seen > 0
    ledger.noticed(Data((ledger.records,)))
    ledger.records += 1


def _barrier_came(ledger: Ledger, seen: Seen, checkpoint: int) -> None:
    ledger.newest = max(ledger.newest, checkpoint)
    ledger.noticed(Barrier(checkpoint, Alignment.UNALIGNED))


def _inspected(ledger: Ledger, seen: Seen, checkpoint: int) -> None:
    if ledger.closing:
        ledger.inspected += 1


def _failed(ledger: Ledger, seen: Seen) -> None:
    ledger.failed = True


def _closing(ledger: Ledger) -> Step | None:
    """Look at what was written for every checkpoint, then release."""
    if ledger.inspected < len(ledger.started_ids):
        return "persisted", ledger.started_ids[ledger.inspected]
    return None if ledger.failed else ("fail",)


_CHECKPOINT = {"checkpoint": int}

PERSISTER = Alphabet(
    component="persister",
    port=PersisterPort,
    config_type=PersisterScenarioConfig,
    configs=(PersisterScenarioConfig(),),
    port_config=lambda config: PersisterConfig(),
    make_ledger=lambda config, capabilities: Ledger(),
    steps=(
        StepKind("start", "task", _LIVE, {"checkpoint": int, "known": int}, _starts,
                 lambda port, ledger, checkpoint, count: port.start(checkpoint, _known(ledger, count)),
                 _started, weight=12, fails=True),
        StepKind("stop", "task", _LIVE, _CHECKPOINT, _near,
                 lambda port, ledger, checkpoint: port.stop(checkpoint), _stopped, weight=6),
        StepKind("data", "network", _LIVE, {}, _always,
                 lambda port, ledger: port.maybe_persist(Data((ledger.records,))), _arrived, weight=16),
        StepKind("event", "network", _LIVE, {}, _always, lambda port, ledger: port.maybe_persist(Event(0)), ignore,
                 weight=2),
        StepKind("barrier", "network", _LIVE, _CHECKPOINT, _near,
                 lambda port, ledger, checkpoint: port.barrier(Barrier(checkpoint, Alignment.UNALIGNED)),
                 _barrier_came, weight=8, answers=int | None),
        StepKind("announce", "network", _LIVE, _CHECKPOINT, _near,
                 lambda port, ledger, checkpoint: port.barrier(Announcement(checkpoint, 0)), ignore, weight=2,
                 answers=int | None),
        StepKind("barrier_received", "observer", _LIVE, {}, _always,
                 lambda port, ledger: port.barrier_received(), ignore, weight=4, answers=bool),
        StepKind("persisted", "observer", _ALWAYS, _CHECKPOINT, _inspections,
                 lambda port, ledger, checkpoint: port.persisted(checkpoint), _inspected, weight=6,
                 answers=tuple[int, ...]),
        StepKind("fail", "driver", _ALWAYS, {}, _always, lambda port, ledger: port.release(), _failed, weight=1),
        StepKind("restore", "driver", _FAILED, {}, _always, lambda port, ledger: port.resources(),
                 lambda ledger, seen: ledger.restore(), weight=16, fresh_port=True, answers=Resources),
    ),
    closing=_closing,
    properties=properties.PROPERTIES,
    final_phase="failed",
    bounds={
        "elements": Bound(("data",), 2),
        "checkpoints": Bound(("start", "barrier"), 3),
        "stops": Bound(("stop",), 2),
        "other": Bound(("event", "announce", "fail", "restore"), 0),
    },
    biases=({"data": 40, "start": 20}, {"barrier": 30, "start": 30}, {"stop": 30}),
)  # fmt: skip
