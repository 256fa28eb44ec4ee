"""The steps of a subpartition."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from conformance.alphabets.base import DISABLED, NO_OPERANDS, Alphabet, Bound, Operands, StepKind, ignore
from conformance.ports import (
    Alignment,
    Availability,
    Barrier,
    Capability,
    CheckpointReason,
    Data,
    EndOfPartition,
    Event,
    OutputState,
    RecoveryCompletion,
    Resources,
    SubpartitionConfig,
    SubpartitionPort,
    Taken,
)
from conformance.properties import Seen
from conformance.properties import subpartition as properties
from conformance.properties.subpartition import SubpartitionLedger as Ledger
from conformance.scenarios import Step

MOST_QUEUED = 12
"""Elements in flight after which the producer is back-pressured; keeps scenarios short and ledgers small."""
MOST_CHECKPOINTS = 40


class SubpartitionScenarioConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """`recovered`: how many recovered records the run begins with; null begins without a recovery."""

    exclusive_buffers: Annotated[int, Meta(ge=0, le=8)] = 2
    recovered: Annotated[int, Meta(ge=0, le=8)] | None = None
    interleaving: Literal["whole"] = "whole"


# ---- when a step is enabled ------------------------------------------------------------------------------------------
_RECORDS: tuple[Operands, ...] = ((1,), (2,), (0,))
_FIRST_RECORDS: tuple[Operands, ...] = ((0,), (1,))
_BOTH: tuple[Operands, ...] = ((True,), (False,))
_LATER: tuple[tuple[Operands, ...], ...] = tuple(((c + 1,), (c + 2,)) for c in range(MOST_CHECKPOINTS))
"""Checkpoints come in order, with gaps."""


_LIVE = ("live",)
_WRITING = ("writing",)
_RECOVERING = ("recovering",)
_FAILED = ("failed",)
_ENDED = ("finished", "failed")
_RUNNING = ("live", "writing", "finished")
_UNTIL_FAILED = ("recovering", *_RUNNING)
_ALWAYS = (*_UNTIL_FAILED, "failed")


def _always(ledger: Ledger) -> tuple[Operands, ...]:
    return NO_OPERANDS


def _adding(operands: tuple[Operands, ...]) -> Any:
    return lambda ledger: operands if len(ledger.ordinary) < MOST_QUEUED else DISABLED


def _barriers(ledger: Ledger) -> tuple[Operands, ...]:
    if ledger.last_checkpoint >= MOST_CHECKPOINTS or len(ledger.ordinary) >= MOST_QUEUED:
        return DISABLED
    return _LATER[ledger.last_checkpoint]


def _timeouts(ledger: Ledger) -> tuple[Operands, ...]:
    return tuple([(checkpoint,) for checkpoint in ledger.timeoutable[-3:]])


def _aborts(ledger: Ledger) -> tuple[Operands, ...]:
    return tuple([(checkpoint,) for checkpoint in ledger.barriers[-3:]])


def _inspections(ledger: Ledger) -> tuple[Operands, ...]:
    return tuple([(checkpoint,) for checkpoint in ledger.barriers])


def _recover(ledger: Ledger) -> tuple[Operands, ...]:
    return NO_OPERANDS if ledger.to_recover else DISABLED


def _finish_recovery(ledger: Ledger) -> tuple[Operands, ...]:
    return DISABLED if ledger.to_recover else _BOTH


def _attach(ledger: Ledger) -> tuple[Operands, ...]:
    return DISABLED if ledger.view else NO_OPERANDS


def _attach_again(ledger: Ledger) -> tuple[Operands, ...]:
    return NO_OPERANDS if ledger.view or ledger.failed else DISABLED


def _consume(ledger: Ledger) -> tuple[Operands, ...]:
    return NO_OPERANDS if ledger.view else DISABLED


def _ask(ledger: Ledger) -> tuple[Operands, ...]:
    return _BOTH if ledger.view else DISABLED


def _resume(ledger: Ledger) -> tuple[Operands, ...]:
    return NO_OPERANDS if ledger.blocked else DISABLED


def _resume_unblocked(ledger: Ledger) -> tuple[Operands, ...]:
    return NO_OPERANDS if ledger.view and not ledger.blocked else DISABLED


def _restore(ledger: Ledger) -> tuple[Operands, ...]:
    return ledger.restorable()


# ---- what a step does ------------------------------------------------------------------------------------------------
def _records(ledger: Ledger, count: int) -> tuple[int, ...]:
    return tuple(range(ledger.sent, ledger.sent + count))


def _barrier(alignment: Alignment) -> Any:
    return lambda port, ledger, checkpoint: port.add(Barrier(checkpoint, alignment))


# ---- what the ledger learns ------------------------------------------------------------------------------------------
def _added_event(ledger: Ledger, seen: Seen) -> None:
    ledger.add_event(Event(ledger.events))
    ledger.events += 1


def _finished(ledger: Ledger, seen: Seen) -> None:
    ledger.add_event(EndOfPartition())
    ledger.finished = True


def _timed_out(ledger: Ledger, seen: Seen, checkpoint: int) -> None:
    if ledger.promise == checkpoint:
        ledger.convert(checkpoint)


def _recovery_finished(ledger: Ledger, seen: Seen, block: bool) -> None:
    ledger.recovering = False
    if block:
        ledger.add_event(RecoveryCompletion())


def _attached(ledger: Ledger, seen: Seen) -> None:
    ledger.view = ledger.probe = True


def _resumed(ledger: Ledger, seen: Seen) -> None:
    ledger.blocked = False
    ledger.probe = ledger.resumed = True


def _asked(ledger: Ledger, seen: Seen, has_credit: bool) -> None:
    if has_credit:
        ledger.probe = ledger.resumed = False
        if seen.value.available:
            ledger.awake = True


def _flushed(ledger: Ledger, seen: Seen) -> None:
    ledger.flush()
    if ledger.closing:
        ledger.closing = 2


def _inspected(ledger: Ledger, seen: Seen, checkpoint: int) -> None:
    if ledger.closing:
        ledger.inspected += 1


def _counted(ledger: Ledger, seen: Seen) -> None:
    if ledger.closing:
        ledger.closing = 4 if ledger.failed else 3


def _closing(ledger: Ledger) -> Step | None:
    """Complete what was begun, let the consumer follow what it is told, then look at what was written, and release."""
    if not ledger.failed:
        if ledger.recovering:
            return ("recover",) if ledger.to_recover else ("finish_recovery", True)
        if not ledger.view:
            return ("attach",)
        if ledger.probe:
            return ("available", True)
        if ledger.awake:
            return ("poll",)
        if ledger.open:
            return ("finish_buffer",)
        if ledger.blocked:
            return ("resume",)
        if ledger.closing == 1:
            return ("flush",)
    if ledger.inspected < len(ledger.barriers):
        return ("persisted", ledger.barriers[ledger.inspected])
    if ledger.failed:
        return ("resources",) if ledger.closing < 4 else None
    return ("resources",) if ledger.closing < 3 else ("fail",)


def _ledger(config: SubpartitionScenarioConfig, capabilities: frozenset[Capability]) -> Ledger:
    return Ledger(config.exclusive_buffers, config.recovered, Capability.BLOCKED_PRIORITY_LOCAL in capabilities)


SUBPARTITION = Alphabet(
    component="subpartition",
    port=SubpartitionPort,
    config_type=SubpartitionScenarioConfig,
    configs=(
        *[SubpartitionScenarioConfig(recovered=recovered) for recovered in (None, None, 0, 1, 2)],
        SubpartitionScenarioConfig(exclusive_buffers=0),
    ),
    port_config=lambda config: SubpartitionConfig(config.exclusive_buffers),
    make_ledger=_ledger,
    steps=(
        StepKind("add", "producer", _LIVE, {"records": int}, _adding(_RECORDS),
                 lambda port, ledger, count: port.add(Data(_records(ledger, count))),
                 lambda ledger, seen, count: ledger.add_data(count), weight=16, answers=bool),
        StepKind("open", "producer", _LIVE, {"records": int}, _adding(_FIRST_RECORDS),
                 lambda port, ledger, count: port.add(Data(_records(ledger, count), finished=False)),
                 lambda ledger, seen, count: ledger.add_data(count, open=True), weight=6, answers=bool),
        StepKind("append", "producer", _WRITING, {}, _always,
                 lambda port, ledger: port.append((ledger.sent,)),
                 lambda ledger, seen: ledger.append(1), weight=8),
        StepKind("finish_buffer", "producer", _WRITING, {}, _always, lambda port, ledger: port.finish_buffer(),
                 lambda ledger, seen: ledger.finish_buffer(), weight=10),
        StepKind("flush", "producer", _RUNNING, {}, _always, lambda port, ledger: port.flush(), _flushed, weight=4),
        StepKind("add_event", "producer", _LIVE, {}, _adding(NO_OPERANDS),
                 lambda port, ledger: port.add(Event(ledger.events)), _added_event, weight=4, answers=bool),
        StepKind("aligned_barrier", "producer", _LIVE, {"checkpoint": int}, _barriers, _barrier(Alignment.ALIGNED),
                 lambda ledger, seen, checkpoint: ledger.add_barrier(Barrier(checkpoint, Alignment.ALIGNED)),
                 weight=4, answers=bool),
        StepKind("timeoutable_barrier", "producer", _LIVE, {"checkpoint": int}, _barriers,
                 _barrier(Alignment.TIMEOUTABLE),
                 lambda ledger, seen, checkpoint: ledger.add_barrier(Barrier(checkpoint, Alignment.TIMEOUTABLE)),
                 weight=8, answers=bool),
        StepKind("unaligned_barrier", "producer", _LIVE, {"checkpoint": int}, _barriers, _barrier(Alignment.UNALIGNED),
                 lambda ledger, seen, checkpoint: ledger.add_unaligned(checkpoint), weight=10, answers=bool),
        StepKind("finish", "producer", _LIVE, {}, _adding(NO_OPERANDS),
                 lambda port, ledger: port.finish(), _finished, weight=2),
        StepKind("add_after_end", "producer", _ENDED, {}, _always, lambda port, ledger: port.add(Data((ledger.sent,))),
                 ignore, weight=2, answers=bool),
        StepKind("aligned_timeout", "checkpointing", _RUNNING, {"checkpoint": int}, _timeouts,
                 lambda port, ledger, checkpoint: port.aligned_timeout(checkpoint), _timed_out, weight=8),
        StepKind("abort", "checkpointing", _RUNNING, {"checkpoint": int}, _aborts,
                 lambda port, ledger, checkpoint: port.abort(checkpoint, CheckpointReason.DECLINED),
                 lambda ledger, seen, checkpoint: ledger.break_promise(checkpoint), weight=4),
        StepKind("recover", "recovery", _RECOVERING, {}, _recover,
                 lambda port, ledger: port.recover(ledger.to_recover[0]),
                 lambda ledger, seen: ledger.recover(), weight=12),
        StepKind("finish_recovery", "recovery", _RECOVERING, {"block": bool}, _finish_recovery,
                 lambda port, ledger, block: port.finish_recovery(block), _recovery_finished, weight=12),
        StepKind("attach", "consumer", _UNTIL_FAILED, {}, _attach,
                 lambda port, ledger: port.attach_view(), _attached, weight=8),
        StepKind("attach_again", "consumer", _ALWAYS, {}, _attach_again,
                 lambda port, ledger: port.attach_view(), ignore,
                 weight=2, fails=True),
        StepKind("poll", "consumer", _UNTIL_FAILED, {}, _consume, lambda port, ledger: port.poll(),
                 lambda ledger, seen: ledger.poll(seen.value), weight=28, answers=Taken | None),
        StepKind("available", "consumer", _UNTIL_FAILED, {"has_credit": bool}, _ask,
                 lambda port, ledger, has_credit: port.available(has_credit), _asked, weight=4, answers=Availability),
        StepKind("resume", "consumer", _UNTIL_FAILED, {}, _resume,
                 lambda port, ledger: port.resume(), _resumed, weight=8, fails=True),
        StepKind("resume_unblocked", "consumer", _UNTIL_FAILED, {}, _resume_unblocked,
                 lambda port, ledger: port.resume(), ignore,
                 weight=2, fails=True),
        StepKind("persisted", "observer", _ALWAYS, {"checkpoint": int}, _inspections,
                 lambda port, ledger, checkpoint: port.persisted(checkpoint), _inspected, weight=2,
                 answers=OutputState),
        StepKind("resources", "observer", _ALWAYS, {}, _always, lambda port, ledger: port.resources(),
                 _counted, weight=2, answers=Resources),
        StepKind("fail", "recovery", _ALWAYS, {}, _always, lambda port, ledger: port.release(),
                 lambda ledger, seen: ledger.fail(), weight=1),
        StepKind("restore", "recovery", _FAILED, {"checkpoint": int}, _restore,
                 lambda port, ledger, checkpoint: port.persisted(checkpoint),
                 lambda ledger, seen, checkpoint: ledger.restore(checkpoint), weight=16, fresh_port=True,
                 answers=OutputState),
    ),
    closing=_closing,
    properties=properties.PROPERTIES,
    final_phase="failed",
    explored=SubpartitionScenarioConfig(),
    bounds={
        "views": Bound(("attach",), 1),
        "elements": Bound(
            ("add", "open", "append", "add_event", "finish", "recover", "aligned_barrier", "timeoutable_barrier",
             "unaligned_barrier"), 4,
        ),
        "checkpoints": Bound(("aligned_barrier", "timeoutable_barrier", "unaligned_barrier"), 2),
        "failures": Bound(("fail",), 0),
        "restores": Bound(("restore",), 0),
        "variants": Bound(
            ("add", "open", "aligned_barrier", "timeoutable_barrier", "unaligned_barrier"), 1, variants=True
        ),
    },
    biases=(
        {"aligned_barrier": 16, "timeoutable_barrier": 16, "unaligned_barrier": 20, "aligned_timeout": 16},
        {"open": 20, "append": 20, "flush": 16, "finish_buffer": 6},
        {"fail": 8, "restore": 60, "unaligned_barrier": 20},
        {"resume": 2, "unaligned_barrier": 24, "finish_recovery": 40},
        {"poll": 60, "resume": 20},
    ),
)  # fmt: skip
