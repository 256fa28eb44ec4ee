"""The steps of a recovered channel: one thread reads state into it, the task takes, declines checkpoints, converts."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct

from conformance.alphabets.base import DISABLED, NO_OPERANDS, Alphabet, Bound, Operands, StepKind, ignore, recovers
from conformance.ports import (
    Alignment,
    Barrier,
    ChannelConfig,
    Data,
    RecoveredChannelPort,
    Recovery,
    Resources,
    Taken,
)
from conformance.properties import Seen
from conformance.properties import recovered_channel as properties
from conformance.properties.recovered_channel import RecoveredChannelLedger as Ledger
from conformance.scenarios import Step

MOST_WAITING = 8
"""Buffers in the channel after which the reader of state is back-pressured."""

MOST_AFTERWARDS = 4
"""Operations after a release."""


class RecoveredChannelScenarioConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """Where recovered data lives decides when the channel may be converted."""

    recovery: Literal["recover-first", "in-memory", "pushed"]
    interleaving: Literal["whole", "fine"] = "whole"


# ---- when a step is enabled ------------------------------------------------------------------------------------------
_COUNTS: tuple[Operands, ...] = ((1,), (2,))
_OPEN = ("open",)
_RELEASED = ("released",)
_FAILED = ("failed",)
_ALIVE = ("open", "released")
_ALWAYS = ("open", "released", "failed")


def _always(ledger: Ledger) -> tuple[Operands, ...]:
    return NO_OPERANDS


def _alive(ledger: Ledger) -> tuple[Operands, ...]:
    """Of what follows a release, a little is enough."""
    return NO_OPERANDS if ledger.afterlife < MOST_AFTERWARDS else DISABLED


def _push(ledger: Ledger) -> tuple[Operands, ...]:
    if ledger.finishing or ledger.afterlife >= MOST_AFTERWARDS or len(ledger.pushed) - ledger.taken >= MOST_WAITING:
        return DISABLED
    return _COUNTS


def _finish(ledger: Ledger) -> tuple[Operands, ...]:
    return DISABLED if ledger.finishing else _alive(ledger)


def _push_after_end(ledger: Ledger) -> tuple[Operands, ...]:
    """Only the newest design says what comes of it."""
    return _alive(ledger) if ledger.finishing and ledger.recovery == "pushed" else DISABLED


def _start(ledger: Ledger) -> tuple[Operands, ...]:
    return ((ledger.checkpoints + 1,), (ledger.checkpoints + 2,))


def _stop(ledger: Ledger) -> tuple[Operands, ...]:
    """A checkpoint of which the channel has heard or not, or a late one."""
    newest = ledger.checkpoints
    return ((newest + 1,), (newest,), (newest - 1,)) if newest > 1 else ((newest + 1,),)


def _inspections(ledger: Ledger) -> tuple[Operands, ...]:
    return ((ledger.checkpoints,),) if ledger.checkpoints else DISABLED


# ---- what a step does, and what is learned ---------------------------------------------------------------------------
def _pushes(port: Any, ledger: Ledger, count: int) -> Any:
    return port.push_recovered(Data((ledger.next_record,) if ledger.was_over else ledger.pushed[-1]))


def _checkpoint(ledger: Ledger, checkpoint: int) -> None:
    ledger.checkpoints = max(ledger.checkpoints, checkpoint)


def _stopped(ledger: Ledger, seen: Seen, checkpoint: int) -> None:
    ledger.stop(checkpoint)


def _converted(ledger: Ledger, seen: Seen) -> None:
    if seen.error is None:
        ledger.release(converted=True)
    else:
        ledger.refuse_conversion()
    _reaches(ledger, _CONVERTED)


def _failed(ledger: Ledger, seen: Seen) -> None:
    ledger.fail()
    _reaches(ledger, _INSPECTED)


# ---- the fair drain --------------------------------------------------------------------------------------------------
_COUNTED, _CONVERTED, _INSPECTED, _OVER = 2, 3, 4, 5


def _reaches(ledger: Ledger, stage: int) -> None:
    if ledger.closing:
        ledger.closing = stage


def _reaching(stage: int) -> Any:
    return lambda ledger, seen, *operands: _reaches(ledger, stage)


def _closing(ledger: Ledger) -> Step | None:
    """Read all state, let the consumer follow what it is told, convert if that is allowed, and release."""
    if ledger.phase == "open":
        if not ledger.finishing:
            return ("finish_recovered",)
        if ledger.awake:
            return ("take",)
        if ledger.closing < _COUNTED:
            return ("in_use",)
        return ("convert",) if ledger.closing < _CONVERTED else ("release",)
    if ledger.closing < _INSPECTED and ledger.checkpoints:
        return ("persisted", ledger.checkpoints)
    if ledger.closing < _OVER:
        return ("resources",)
    return None if ledger.failed else ("fail",)


RECOVERED_CHANNEL = Alphabet(
    component="recovered-channel",
    port=RecoveredChannelPort,
    config_type=RecoveredChannelScenarioConfig,
    configs=tuple(
        RecoveredChannelScenarioConfig(recovery, interleaving)
        for interleaving in ("whole", "fine")
        for recovery in ("recover-first", "in-memory", "pushed")
    ),
    port_config=lambda config: ChannelConfig(Recovery(config.recovery)),
    make_ledger=lambda config, capabilities: Ledger(config.recovery),
    needs=lambda config: recovers(config.recovery),
    threads=("recovery", "task"),
    steps=(
        StepKind("push_recovered", "recovery", _ALIVE, {"records": int}, _push, _pushes,
                 lambda ledger, seen, count: ledger.end_push(), weight=16, fails=True,
                 begin=lambda ledger, count: ledger.begin_push(count)),
        StepKind("finish_recovered", "recovery", _ALIVE, {}, _finish, lambda port, ledger: port.finish_recovered(),
                 lambda ledger, seen: ledger.end_finish(), weight=5, fails=True,
                 begin=lambda ledger: ledger.begin_finish()),
        StepKind("push_after_end", "recovery", _ALIVE, {}, _push_after_end,
                 lambda port, ledger: port.push_recovered(Data((ledger.next_record,))), ignore, weight=2, fails=True,
                 begin=lambda ledger: ledger.begin_afterwards()),
        StepKind("take", "task", _ALIVE, {}, _alive, lambda port, ledger: port.take(),
                 lambda ledger, seen: ledger.take(seen.value, seen.signals), weight=16, fails=True,
                 answers=Taken | None, begin=lambda ledger: ledger.begin_take()),
        StepKind("checkpoint_started", "task", _OPEN, {"checkpoint": int}, _start,
                 lambda port, ledger, checkpoint: port.checkpoint_started(Barrier(checkpoint, Alignment.UNALIGNED)),
                 ignore, weight=4, fails=True, begin=_checkpoint),
        StepKind("checkpoint_stopped", "task", _OPEN, {"checkpoint": int}, _stop,
                 lambda port, ledger, checkpoint: port.checkpoint_stopped(checkpoint), _stopped, weight=4,
                 begin=_checkpoint),
        StepKind("convert", "task", _OPEN, {}, _always, lambda port, ledger: port.convert(), _converted, weight=5,
                 fails=True, answers=tuple[int, ...], begin=lambda ledger: ledger.begin_release()),
        StepKind("release", "task", _ALIVE, {}, _alive, lambda port, ledger: port.release(),
                 lambda ledger, seen: ledger.release(ledger.converted), weight=1,
                 begin=lambda ledger: ledger.begin_release()),
        StepKind("last_stopped", "observer", _ALIVE, {}, _always, lambda port, ledger: port.last_stopped(), ignore,
                 weight=2, answers=int),
        StepKind("in_use", "observer", _ALIVE, {}, _always, lambda port, ledger: port.in_use(), _reaching(_COUNTED),
                 weight=3, answers=int),
        StepKind("persisted", "observer", _ALWAYS, {"checkpoint": int}, _inspections,
                 lambda port, ledger, checkpoint: port.persisted(checkpoint), _reaching(_INSPECTED), weight=2,
                 answers=tuple[int, ...]),
        StepKind("resources", "observer", _ALWAYS, {}, _always, lambda port, ledger: port.resources(), _reaching(_OVER),
                 weight=2, answers=Resources),
        StepKind("fail", "driver", _ALWAYS, {}, _always, lambda port, ledger: port.release(),
                 _failed, weight=1, crashes=True),
        StepKind("restore", "driver", _FAILED, {}, _always, lambda port, ledger: port.resources(),
                 lambda ledger, seen: ledger.restore(), weight=16, fresh_port=True, answers=Resources),
    ),
    closing=_closing,
    properties=properties.PROPERTIES,
    final_phase="failed",
    explored=RecoveredChannelScenarioConfig("in-memory", "fine"),
    bounds={
        "pushes": Bound(("push_recovered", "push_after_end"), 2),
        "checkpoints": Bound(("checkpoint_started", "checkpoint_stopped"), 1),
        "releases": Bound(("release",), 1),
        "failures": Bound(("fail",), 1),
        "restores": Bound(("restore",), 0),
        "variants": Bound(("push_recovered", "checkpoint_started", "checkpoint_stopped"), 1, variants=True),
    },
    biases=(
        {"push_recovered": 40, "take": 6},
        {"convert": 16, "finish_recovered": 10, "take": 24},
        {"release": 8, "fail": 4, "restore": 60, "push_recovered": 30},
        {"checkpoint_started": 16, "checkpoint_stopped": 16, "last_stopped": 8},
    ),
)  # fmt: skip
