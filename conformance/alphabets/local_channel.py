"""The steps of a local channel: a producer adds, recovery pushes, the task takes, starts checkpoints and resumes."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from conformance.alphabets.base import DISABLED, NO_OPERANDS, Alphabet, Bound, Operands, StepKind, ignore, recovers
from conformance.ports import (
    Alignment,
    Barrier,
    Capability,
    ChannelConfig,
    Data,
    EndOfPartition,
    Event,
    LocalChannelPort,
    Recovery,
    RecoveryCompletion,
    Resources,
    Taken,
)
from conformance.properties import Seen
from conformance.properties import local_channel as properties
from conformance.properties.local_channel import LocalChannelLedger as Ledger
from conformance.scenarios import Step

MOST_QUEUED = 8
"""Elements in flight after which producer and recovery are back-pressured."""

MOST_AFTERWARDS = 4
"""Operations after a release."""


class LocalChannelScenarioConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """`handed_over`: with recovery in memory, how many buffers the recovered channel leaves behind."""

    recovery: Recovery = Recovery.NONE
    handed_over: Annotated[int, Meta(ge=0, le=8)] = 0
    interleaving: Literal["whole", "fine"] = "whole"


# ---- when a step is enabled ------------------------------------------------------------------------------------------
_OPEN = ("open",)
_LIVING = ("open", "ended")
_OVER = ("ended", "released")
_PRESENT = ("open", "ended", "released")
_FAILED = ("failed",)
_ALWAYS = ("open", "ended", "released", "failed")


def _always(ledger: Ledger) -> tuple[Operands, ...]:
    return NO_OPERANDS


def _alive(ledger: Ledger) -> tuple[Operands, ...]:
    """Of what follows a release, a little is enough."""
    return NO_OPERANDS if ledger.afterlife < MOST_AFTERWARDS else DISABLED


def _fail(ledger: Ledger) -> tuple[Operands, ...]:
    """What a release must bring to an end is not cut short."""
    return DISABLED if ledger.released and (ledger.pushing or ledger.adding) else NO_OPERANDS


def _add(ledger: Ledger) -> tuple[Operands, ...]:
    return NO_OPERANDS if len(ledger.live) < MOST_QUEUED else DISABLED


def _barrier(ledger: Ledger) -> tuple[Operands, ...]:
    """Barriers of a channel come in order; others may have heard of their checkpoint before."""
    newest, before = ledger.newest, ledger.barrier_added
    if len(ledger.live) >= MOST_QUEUED or len(ledger.urgent) >= 3:
        return DISABLED
    if newest > before + 1:
        return ((before + 1,), (newest,), (newest,), (newest + 1,))
    return ((newest,), (newest + 1,)) if newest > before else ((newest + 1,), (newest + 2,))


def _push(ledger: Ledger) -> tuple[Operands, ...]:
    if ledger.recovery != "pushed" or ledger.finishing or ledger.afterlife >= MOST_AFTERWARDS:
        return DISABLED
    return DISABLED if len(ledger.pushed) - ledger.taken >= MOST_QUEUED or ledger.to_recover == [] else NO_OPERANDS


def _finish(ledger: Ledger) -> tuple[Operands, ...]:
    return DISABLED if ledger.recovery != "pushed" or ledger.finishing or ledger.to_recover else NO_OPERANDS


def _push_after_end(ledger: Ledger) -> tuple[Operands, ...]:
    return NO_OPERANDS if ledger.recovery == "pushed" and ledger.consumed else DISABLED


def _request(ledger: Ledger) -> tuple[Operands, ...]:
    """A second request changes nothing, which is seen soon enough."""
    return DISABLED if ledger.requested and (ledger.live_seq or ledger.generation) else NO_OPERANDS


def _take(ledger: Ledger) -> tuple[Operands, ...]:
    """Between a recovery barrier and the start of its checkpoint the task does nothing else."""
    if ledger.released:
        return _alive(ledger)
    return NO_OPERANDS if (ledger.requested or ledger.awake) and not ledger.marked else DISABLED


def _resume(ledger: Ledger) -> tuple[Operands, ...]:
    return _alive(ledger) if ledger.blocked or ledger.released else DISABLED


def _marks(ledger: Ledger) -> tuple[Operands, ...]:
    if ledger.marked or (ledger.recovery != "pushed" and ledger.newest > 2):
        return DISABLED
    return _startable(ledger)


def _starts(ledger: Ledger) -> tuple[Operands, ...]:
    marked = ledger.marked
    if not marked:
        return _startable(ledger)
    over = max(ledger.started, ledger.stopped)
    return ((marked,), (marked,), (marked,), (marked - 1,)) if marked - 1 > over else ((marked,),)


def _startable(ledger: Ledger) -> tuple[Operands, ...]:
    """Checkpoints start in order, whether their barrier came here, waits here, or is still elsewhere."""
    over, newest, came = max(ledger.started, ledger.stopped), ledger.newest, ledger.barrier_taken
    if came > over:
        return ((came,), (came - 1,), (newest + 1,)) if came - 1 > over else ((came,), (newest + 1,))
    return ((newest,), (newest + 1,)) if newest > over else ((newest + 1,), (newest + 2,))


def _stops(ledger: Ledger) -> tuple[Operands, ...]:
    started, newest = ledger.started, ledger.newest
    if ledger.marked:
        return ((ledger.marked,),)
    return ((started,), (started - 1,), (newest + 1,)) if started > 1 else ((newest + 1,),)


def _inspections(ledger: Ledger) -> tuple[Operands, ...]:
    written = ledger.written
    return tuple([(checkpoint,) for checkpoint in (*written.states, *written.failed[-2:])])


def _restorable(ledger: Ledger) -> tuple[Operands, ...]:
    return ledger.written.restorable()


# ---- what a step does, and what is learned ---------------------------------------------------------------------------
def _adding(alignment: Alignment) -> dict[str, Any]:
    return {
        "begin": lambda ledger, checkpoint: ledger.begin_barrier(Barrier(checkpoint, alignment)),
        "call": lambda port, ledger, checkpoint: port.add(Barrier(checkpoint, alignment)),
        "learn": lambda ledger, seen, checkpoint: ledger.end_add(),
    }


def _added(ledger: Ledger, seen: Seen) -> None:
    ledger.end_add()


def _pushes(port: Any, ledger: Ledger) -> Any:
    return port.push_recovered(Data((ledger.next_record,) if ledger.was_over else ledger.pushed[-1]))


def _begin_end(ledger: Ledger) -> None:
    ledger.begin_event(EndOfPartition())
    ledger.ended = True


def _begin_request(ledger: Ledger) -> None:
    ledger.requesting = True


def _requested(ledger: Ledger, seen: Seen) -> None:
    ledger.requested = True


def _resumed(ledger: Ledger, seen: Seen) -> None:
    ledger.blocked = False


def _started(ledger: Ledger, seen: Seen, checkpoint: int) -> None:
    ledger.start(checkpoint, seen.error is not None)


# ---- the fair drain --------------------------------------------------------------------------------------------------
_COUNTED, _INSPECTED, _LOOKED_AT, _CLOSED = 2, 3, 4, 5


def _reaching(stage: int) -> Any:
    def learn(ledger: Ledger, seen: Seen, *operands: Any) -> None:
        if ledger.closing:
            ledger.closing = stage

    return learn


def _inspected(ledger: Ledger, seen: Seen, checkpoint: int) -> None:
    if ledger.closing:
        ledger.inspected += 1


def _released(ledger: Ledger, seen: Seen) -> None:
    ledger.release()
    if ledger.closing:
        ledger.closing = _COUNTED


def _crashed(ledger: Ledger, seen: Seen) -> None:
    ledger.fail()
    if ledger.closing:
        ledger.closing = _CLOSED


def _closing(ledger: Ledger) -> Step | None:
    """End the recovery, let the consumer follow what it is told, look at what was written, and release."""
    if ledger.phase in _LIVING and (step := _drain(ledger)) is not None:
        return step
    if ledger.pushing or ledger.adding:
        return None  # they must have come to an end by now
    if ledger.closing < _COUNTED and not ledger.released:
        return ("in_use",)
    states = (*ledger.written.states, *ledger.written.failed)
    if ledger.inspected < len(states):
        return ("persisted", states[ledger.inspected])
    if ledger.closing < _LOOKED_AT or (ledger.closing == _CLOSED):
        return ("resources",)
    if not ledger.released:
        return ("release",)
    return None if ledger.failed else ("fail",)


def _drain(ledger: Ledger) -> Step | None:
    if ledger.marked:
        return ("checkpoint_stopped", ledger.marked)
    if not ledger.requested:
        return ("request",)
    if ledger.in_recovery() and not ledger.finishing:
        return ("push_recovered",) if ledger.to_recover else ("finish_recovered",)
    if ledger.awake:
        return ("take",)
    return ("resume",) if ledger.blocked else None


LOCAL_CHANNEL = Alphabet(
    component="local-channel",
    port=LocalChannelPort,
    config_type=LocalChannelScenarioConfig,
    configs=tuple(
        LocalChannelScenarioConfig(recovery, handed_over, interleaving)
        for recovery, handed_over in (
            (Recovery.NONE, 0),
            (Recovery.RECOVER_FIRST, 0),
            (Recovery.IN_MEMORY, 0),
            (Recovery.IN_MEMORY, 1),
            (Recovery.IN_MEMORY, 4),
            (Recovery.PUSHED, 0),
            (Recovery.PUSHED, 0),
            (Recovery.PUSHED, 0),
        )
        for interleaving in ("whole", "fine")
    ),
    port_config=lambda config: ChannelConfig(config.recovery, tuple(range(config.handed_over))),
    restored_config=lambda config, ledger: ChannelConfig(
        config.recovery, tuple([record for ids in ledger.pushed for record in ids])
    ),
    make_ledger=lambda config, capabilities: Ledger(
        config.recovery.value, config.handed_over, Capability.BLOCKED_PRIORITY_LOCAL in capabilities
    ),
    needs=lambda config: recovers(config.recovery),
    threads=("producer", "task", "recovery"),
    steps=(
        StepKind("add", "producer", _OPEN, {}, _add, lambda port, ledger: port.add(ledger.live[-1]), _added,
                 weight=28, answers=bool, begin=lambda ledger: ledger.begin_data()),
        StepKind("add_event", "producer", _OPEN, {}, _add, lambda port, ledger: port.add(Event(0)), _added,
                 weight=6, answers=bool, begin=lambda ledger: ledger.begin_event(Event(0))),
        StepKind("aligned_barrier", "producer", _OPEN, {"checkpoint": int}, _barrier, weight=8, answers=bool,
                 **_adding(Alignment.ALIGNED)),
        StepKind("timeoutable_barrier", "producer", _OPEN, {"checkpoint": int}, _barrier, weight=6, answers=bool,
                 **_adding(Alignment.TIMEOUTABLE)),
        StepKind("unaligned_barrier", "producer", _OPEN, {"checkpoint": int}, _barrier, weight=16, answers=bool,
                 **_adding(Alignment.UNALIGNED)),
        StepKind("end_of_output_state", "producer", _OPEN, {}, _add,
                 lambda port, ledger: port.add(RecoveryCompletion()), _added, weight=6, answers=bool,
                 begin=lambda ledger: ledger.begin_event(RecoveryCompletion())),
        StepKind("end_of_partition", "producer", _OPEN, {}, _add, lambda port, ledger: port.add(EndOfPartition()),
                 _added, weight=1, answers=bool, begin=_begin_end),
        StepKind("add_after_end", "producer", _OVER, {}, _alive,
                 lambda port, ledger: port.add(Data((ledger.next_record,))), ignore, weight=4, answers=bool,
                 begin=lambda ledger: ledger.begin_afterwards()),
        StepKind("push_recovered", "recovery", _PRESENT, {}, _push, _pushes,
                 lambda ledger, seen: ledger.end_push(), weight=28, fails=True,
                 begin=lambda ledger: ledger.begin_push()),
        StepKind("finish_recovered", "recovery", _PRESENT, {}, _finish, lambda port, ledger: port.finish_recovered(),
                 lambda ledger, seen: ledger.end_finish(), weight=4, fails=True,
                 begin=lambda ledger: ledger.begin_finish()),
        StepKind("push_after_end", "recovery", _LIVING, {}, _push_after_end,
                 lambda port, ledger: port.push_recovered(Data((ledger.next_record,))), ignore, weight=2, fails=True),
        StepKind("request", "task", _LIVING, {}, _request, lambda port, ledger: port.request(), _requested, weight=8,
                 begin=_begin_request),
        StepKind("take", "task", _PRESENT, {}, _take, lambda port, ledger: port.take(),
                 lambda ledger, seen: ledger.end_take(seen.value, seen.signals), weight=48, fails=True,
                 answers=Taken | None, begin=lambda ledger: ledger.begin_take()),
        StepKind("resume", "task", _PRESENT, {}, _resume, lambda port, ledger: port.resume(), _resumed, weight=16,
                 fails=True, begin=lambda ledger: ledger.begin_afterwards()),
        StepKind("insert_recovery_barrier", "task", _LIVING, {"checkpoint": int}, _marks,
                 lambda port, ledger, checkpoint: port.insert_recovery_barrier(checkpoint),
                 lambda ledger, seen, checkpoint: ledger.end_mark(), weight=12, answers=bool,
                 begin=lambda ledger, checkpoint: ledger.begin_mark(checkpoint)),
        StepKind("checkpoint_started", "task", _LIVING, {"checkpoint": int}, _starts,
                 lambda port, ledger, checkpoint: port.checkpoint_started(Barrier(checkpoint, Alignment.UNALIGNED)),
                 _started, weight=12, fails=True, begin=lambda ledger, checkpoint: ledger.begin_start(checkpoint)),
        StepKind("checkpoint_stopped", "task", _LIVING, {"checkpoint": int}, _stops,
                 lambda port, ledger, checkpoint: port.checkpoint_stopped(checkpoint),
                 lambda ledger, seen, checkpoint: ledger.stop(checkpoint), weight=6,
                 begin=lambda ledger, checkpoint: ledger.begin_stop(checkpoint)),
        StepKind("release", "task", _PRESENT, {}, _alive, lambda port, ledger: port.release(), _released, weight=1,
                 begin=lambda ledger: ledger.begin_release()),
        StepKind("in_recovery", "observer", _LIVING, {}, _always, lambda port, ledger: port.in_recovery(), ignore,
                 weight=2, answers=bool),
        StepKind("in_use", "observer", _LIVING, {}, _always, lambda port, ledger: port.in_use(), _reaching(_COUNTED),
                 weight=6, answers=int),
        StepKind("persisted", "observer", _ALWAYS, {"checkpoint": int}, _inspections,
                 lambda port, ledger, checkpoint: port.persisted(checkpoint), _inspected, weight=2,
                 answers=tuple[int, ...]),
        StepKind("resources", "observer", _ALWAYS, {}, _always, lambda port, ledger: port.resources(),
                 _reaching(_LOOKED_AT), weight=2, answers=Resources),
        StepKind("fail", "driver", _ALWAYS, {}, _fail, lambda port, ledger: port.release(), _crashed, weight=1,
                 crashes=True),
        StepKind("restore", "driver", _FAILED, {"checkpoint": int}, _restorable,
                 lambda port, ledger, checkpoint: port.persisted(checkpoint),
                 lambda ledger, seen, checkpoint: ledger.restore(tuple(seen.value)), weight=16, fresh_port=True,
                 answers=tuple[int, ...]),
    ),
    closing=_closing,
    properties=properties.PROPERTIES,
    final_phase="failed",
    explored=LocalChannelScenarioConfig(Recovery.PUSHED, interleaving="fine"),
    bounds={
        "elements": Bound(("add", "add_event", "end_of_output_state", "end_of_partition", "add_after_end"), 1),
        "barriers": Bound(("aligned_barrier", "timeoutable_barrier", "unaligned_barrier"), 0),
        "pushes": Bound(("push_recovered", "push_after_end"), 1),
        "requests": Bound(("request",), 1),
        "checkpoints": Bound(("insert_recovery_barrier", "checkpoint_started", "checkpoint_stopped"), 1),
        "releases": Bound(("release",), 1),
        "failures": Bound(("fail",), 0),
        "restores": Bound(("restore",), 0),
        "variants": Bound(
            (
                "aligned_barrier", "timeoutable_barrier", "unaligned_barrier", "insert_recovery_barrier",
                "checkpoint_started", "checkpoint_stopped",
            ), 1, variants=True,
        ),
    },
    biases=(
        {"unaligned_barrier": 40, "checkpoint_started": 30, "insert_recovery_barrier": 30},
        {"fail": 5, "restore": 60, "unaligned_barrier": 40, "checkpoint_started": 30, "insert_recovery_barrier": 40},
        {"fail": 6, "restore": 60, "unaligned_barrier": 40, "checkpoint_started": 40, "insert_recovery_barrier": 50,
         "push_recovered": 60, "finish_recovered": 1, "request": 20},
        {"take": 80, "resume": 5, "end_of_output_state": 20, "unaligned_barrier": 30},
        {"release": 8, "fail": 2, "request": 3, "push_recovered": 40},
        {"push_recovered": 60, "take": 16, "checkpoint_stopped": 16, "insert_recovery_barrier": 24},
        {"checkpoint_started": 24, "checkpoint_stopped": 20, "add": 50, "take": 70, "aligned_barrier": 20},
    ),
)  # fmt: skip
