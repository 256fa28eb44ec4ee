"""The steps of a remote channel: the network delivers, the task takes and checkpoints, state is pushed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from conformance.alphabets import remote_channel_choices as choices
from conformance.alphabets.base import Alphabet, Bound, StepKind, ignore, recovers
from conformance.ports import (
    Alignment,
    Barrier,
    ChannelConfig,
    Data,
    Element,
    EndOfPartition,
    Event,
    Recovery,
    RecoveryCompletion,
    RemoteChannelPort,
    Resources,
    Taken,
)
from conformance.properties import Seen
from conformance.properties import remote_channel as properties
from conformance.properties.remote_channel import RemoteChannelLedger as Ledger
from conformance.scenarios import Step


class RemoteChannelScenarioConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """`handed_over`: how many recovered buffers the channel begins with, in memory."""

    recovery: Literal["none", "in-memory", "pushed"] = "none"
    handed_over: Annotated[int, Meta(ge=0, le=8)] = 0
    exclusive_buffers: Annotated[int, Meta(ge=0, le=8)] = 2
    floating_buffers: Annotated[int, Meta(ge=0, le=8)] = 2
    interleaving: Literal["whole", "fine"] = "whole"


_RECOVERIES: tuple[tuple[Literal["none", "in-memory", "pushed"], int], ...] = (
    ("none", 0), ("in-memory", 2), ("pushed", 0), ("pushed", 0),
)  # fmt: skip
_NEW = ("new",)
_LIVE = ("live",)
_FLOWING = ("live", "starting")
_OPEN = ("new", "live", "starting")
_RELEASED = ("released",)
_FAILED = ("failed",)
_RELEASABLE = (*_OPEN, "broken")
_ALWAYS = (*_RELEASABLE, "released", "failed")
_NOTHING = -1
"""No backlog is said."""


# ---- what a step does, and what is learned ---------------------------------------------------------------------------
def _arrival(
    name: str, make: Callable[..., Element], possible: Any, operands: Any, weight: int, backlog: int = _NOTHING
) -> StepKind:
    """A live element; data and events say a backlog, and a producer that is blocked says that it has none."""
    said = "backlog" in operands

    def begin(ledger: Ledger, *more: int) -> None:
        ledger.begin_arrival(make(ledger, *more))

    def call(port: Any, ledger: Ledger, *more: int) -> Any:
        sent = max((*ledger.queue, *ledger.urgent), key=lambda one: one.seq)
        element = next(one.element for one in (*ledger.queue, *ledger.urgent) if one.seq == sent.seq)
        return port.receive(element, sent.seq, more[0] if said else backlog)

    def learn(ledger: Ledger, seen: Seen, *more: int) -> None:
        ledger.end_arrival(more[0] if said else backlog)

    return StepKind(name, "network", _FLOWING, operands, possible, call, learn, weight, begin=begin)


def _wrong_order(port: Any, ledger: Ledger) -> Any:
    return port.receive(Event(0), ledger.seq + 1, _NOTHING)


def _data_in_recovery(port: Any, ledger: Ledger) -> Any:
    return port.receive(Data((ledger.records,)), ledger.seq, _NOTHING)


def _blocked_with_backlog(port: Any, ledger: Ledger) -> Any:
    return port.receive(RecoveryCompletion(), ledger.seq, 1)


def _make_data(ledger: Ledger, backlog: int) -> Element:
    ledger.records += 1
    return Data((ledger.records - 1,))


def _began(ledger: Ledger, *operands: Any) -> None:
    ledger.begin()


def _ended(ledger: Ledger, seen: Seen, *operands: Any) -> None:
    ledger.end()


def _lost_the_connection(ledger: Ledger, seen: Seen) -> None:
    ledger.lose_the_connection()


def _disturbs(ledger: Ledger) -> None:
    ledger.begin()
    ledger.disturbed = True


def _trespasses(ledger: Ledger) -> None:
    _disturbs(ledger)
    ledger.trespassing = True


def _trespassed(ledger: Ledger, seen: Seen) -> None:
    ledger.end()
    ledger.trespassing = False


def _moves(ledger: Ledger, seq: int) -> None:
    ledger.begin()
    ledger.moving = True


def _moved(ledger: Ledger, seen: Seen, seq: int) -> None:
    ledger.end()
    ledger.moving = False
    checkpoint = next(one[1] for one in ledger.announced if one[0] == seq)
    ledger.announced = [one for one in ledger.announced if one[0] != seq]
    ledger.to_front(checkpoint)


def _inspected(ledger: Ledger, seen: Seen, checkpoint: int) -> None:
    if ledger.closing:
        ledger.inspected += 1


# ---- the fair drain --------------------------------------------------------------------------------------------------
_COUNTED, _OVER = 2, 3


def _reaching(stage: int) -> Any:
    def reached(ledger: Ledger, seen: Seen, *operands: Any) -> None:
        if ledger.closing:
            ledger.closing = stage

    return reached


def _closing(ledger: Ledger) -> Step | None:
    """Recover all, take what there is, look at what was written and at the credit, and release."""
    if not ledger.released and not ledger.broken:
        if not ledger.requested:
            return ("request",)
        for checkpoint in ledger.marked:
            return "checkpoint_started", checkpoint
        if not ledger.ready_upstream:
            return ("event", _NOTHING) if not ledger.blocked and not ledger.over else ("release",)
        if ledger.recovery == "pushed" and not ledger.finishing:
            return ("finish_recovered",)
        if ledger.awake:
            return ("take",)
        if ledger.held:
            return "recycle", ledger.held
        if ledger.closing < _COUNTED:
            return ("free_for_live",)
    if ledger.inspected < len(ledger.started_ids):
        return "persisted", ledger.started_ids[ledger.inspected]
    if not ledger.released:
        return ("release",)
    if ledger.closing < _OVER:
        return ("resources",)
    if ledger.flying:
        return None
    return None if ledger.failed else ("fail",)


_CHECKPOINT = {"checkpoint": int}
_BACKLOG = {"backlog": int}

REMOTE_CHANNEL = Alphabet(
    component="remote-channel",
    port=RemoteChannelPort,
    config_type=RemoteChannelScenarioConfig,
    configs=tuple(
        RemoteChannelScenarioConfig(recovery, handed_over, exclusive, floating, interleaving)
        for interleaving in ("whole", "fine")
        for recovery, handed_over in _RECOVERIES
        for exclusive, floating in ((2, 2), (1, 1), (0, 2))
    ),
    port_config=lambda config: ChannelConfig(
        Recovery(config.recovery), tuple(range(config.handed_over)) if config.recovery == "in-memory" else (),
        config.exclusive_buffers, config.floating_buffers,
    ),
    restored_config=lambda config, ledger: ChannelConfig(
        Recovery(config.recovery), (), config.exclusive_buffers, config.floating_buffers
    ),
    make_ledger=lambda config, capabilities: Ledger(
        config.recovery, config.handed_over if config.recovery == "in-memory" else 0, config.exclusive_buffers,
        config.floating_buffers,
    ),
    needs=lambda config: recovers(config.recovery),
    threads=("network", "task", "recovery"),
    steps=(
        StepKind("request", "task", _NEW, {}, choices.always, lambda port, ledger: port.request(),
                 lambda ledger, seen: ledger.request(), weight=30, begin=_began),
        StepKind("request_again", "task", _LIVE, {}, choices.always, lambda port, ledger: port.request(), _ended,
                 weight=1, begin=_began),
        _arrival("data", _make_data, choices.data, _BACKLOG, 24),
        _arrival("event", lambda ledger, backlog: Event(ledger.seq), choices.event, _BACKLOG, 5),
        _arrival("aligned_barrier", lambda ledger, checkpoint: Barrier(checkpoint, Alignment.ALIGNED),
                 choices.ordinary_barrier, _CHECKPOINT, 3, backlog=0),
        _arrival("timeoutable_barrier", lambda ledger, checkpoint: Barrier(checkpoint, Alignment.TIMEOUTABLE),
                 choices.announced_barrier, _CHECKPOINT, 6, backlog=0),
        _arrival("unaligned_barrier", lambda ledger, checkpoint: Barrier(checkpoint, Alignment.UNALIGNED),
                 choices.unaligned_barrier, _CHECKPOINT, 8),
        _arrival("completion", lambda ledger: RecoveryCompletion(), choices.ordinary, {}, 2, backlog=0),
        _arrival("end_of_partition", lambda ledger: EndOfPartition(), choices.ordinary, {}, 1),
        StepKind("receive_out_of_order", "network", _LIVE, {}, choices.unended, _wrong_order,
                 _lost_the_connection, weight=0, fails=True, begin=_began),
        StepKind("data_in_recovery", "network", _LIVE, {}, choices.in_recovery_surely, _data_in_recovery,
                 _trespassed, weight=1, fails=True, begin=_trespasses),
        StepKind("blocked_with_backlog", "network", _LIVE, {}, choices.unended, _blocked_with_backlog,
                 _lost_the_connection, weight=0, fails=True, begin=_disturbs),
        StepKind("push_recovered", "recovery", _FLOWING, {}, choices.push,
                 lambda port, ledger: port.push_recovered(ledger.recovered[-1].element),
                 lambda ledger, seen: ledger.end_push(), weight=14, begin=lambda ledger: ledger.begin_push()),
        StepKind("finish_recovered", "recovery", _FLOWING, {}, choices.finish,
                 lambda port, ledger: port.finish_recovered(), lambda ledger, seen: ledger.end_finish(), weight=6,
                 begin=lambda ledger: ledger.begin_finish()),
        StepKind("push_after_end", "recovery", _LIVE, {}, choices.after_end,
                 lambda port, ledger: port.push_recovered(Data((ledger.records,))), _ended, weight=1, fails=True,
                 begin=_began),
        StepKind("push_after_release", "recovery", _RELEASED, {}, choices.pushed_design,
                 lambda port, ledger: port.push_recovered(Data((ledger.records,))), _ended, weight=1, fails=True,
                 begin=_began),
        StepKind("take", "task", _LIVE, {}, choices.always, lambda port, ledger: port.take(),
                 lambda ledger, seen: ledger.end_take(seen.value), weight=30, answers=Taken | None,
                 begin=lambda ledger: ledger.begin_take()),
        StepKind("recycle", "task", (*_LIVE, "released"), {"count": int}, choices.recycle,
                 lambda port, ledger, count: port.recycle(count),
                 lambda ledger, seen, count: ledger.end_recycle(), weight=8,
                 begin=lambda ledger, count: ledger.begin_recycle(count)),
        StepKind("resume", "task", _LIVE, {}, choices.blocked, lambda port, ledger: port.resume(),
                 lambda ledger, seen: ledger.resume(), weight=16,
                 begin=_began),
        StepKind("insert_recovery_barrier", "task", _LIVE, _CHECKPOINT, choices.mark,
                 lambda port, ledger, checkpoint: port.insert_recovery_barrier(checkpoint),
                 lambda ledger, seen, checkpoint: ledger.end_mark(checkpoint), weight=8, answers=bool,
                 begin=lambda ledger, checkpoint: ledger.begin_mark(checkpoint)),
        StepKind("checkpoint_started", "task", _FLOWING, _CHECKPOINT, choices.start,
                 lambda port, ledger, checkpoint: port.checkpoint_started(Barrier(checkpoint, Alignment.UNALIGNED)),
                 lambda ledger, seen, checkpoint: ledger.start(checkpoint, seen.error is None), weight=8, fails=True,
                 begin=lambda ledger, checkpoint: ledger.begin_start(checkpoint)),
        StepKind("checkpoint_stopped", "task", _LIVE, _CHECKPOINT, choices.stop,
                 lambda port, ledger, checkpoint: port.checkpoint_stopped(checkpoint),
                 lambda ledger, seen, checkpoint: ledger.stop(checkpoint), weight=4,
                 begin=lambda ledger, checkpoint: ledger.begin_stop(checkpoint)),
        StepKind("convert_to_priority", "task", _LIVE, {"seq": int}, choices.announced,
                 lambda port, ledger, seq: port.convert_to_priority(seq), _moved, weight=16, fails=True, begin=_moves),
        StepKind("convert_unknown_to_priority", "task", _LIVE, {}, choices.always,
                 lambda port, ledger: port.convert_to_priority(1000), _ended, weight=1, fails=True, begin=_began),
        StepKind("release", "task", _RELEASABLE, {}, choices.always, lambda port, ledger: port.release(),
                 lambda ledger, seen: ledger.release(), weight=1, begin=lambda ledger: ledger.begin_release()),
        StepKind("in_use", "observer", _OPEN, {}, choices.always, lambda port, ledger: port.in_use(), ignore, weight=2,
                 answers=int),
        StepKind("in_recovery", "observer", _OPEN, {}, choices.always, lambda port, ledger: port.in_recovery(), ignore,
                 weight=2, answers=bool),
        StepKind("free_for_live", "observer", _OPEN, {}, choices.always, lambda port, ledger: port.free_for_live(),
                 _reaching(_COUNTED), weight=4, answers=int),
        StepKind("persisted", "observer", _ALWAYS, _CHECKPOINT, choices.inspections,
                 lambda port, ledger, checkpoint: port.persisted(checkpoint), _inspected, weight=4,
                 answers=tuple[int, ...]),
        StepKind("resources", "observer", _ALWAYS, {}, choices.always, lambda port, ledger: port.resources(),
                 _reaching(_OVER), weight=2, answers=Resources),
        StepKind("fail", "driver", _ALWAYS, {}, choices.always, lambda port, ledger: port.release(),
                 lambda ledger, seen: ledger.fail(), weight=1, crashes=True),
        StepKind("restore", "driver", _FAILED, {}, choices.always, lambda port, ledger: port.resources(),
                 lambda ledger, seen: ledger.restore(), weight=16, fresh_port=True, answers=Resources),
    ),
    closing=_closing,
    properties=properties.PROPERTIES,
    final_phase="failed",
    explored=RemoteChannelScenarioConfig("pushed", 0, 1, 0, "fine"),
    bounds={
        "elements": Bound(("data", "event"), 1),
        "recovered": Bound(("push_recovered",), 1),
        "checkpoints": Bound(("checkpoint_started",), 1),
        "barriers": Bound(("unaligned_barrier",), 1),
        "marks": Bound(("insert_recovery_barrier",), 1),
        "other": Bound(
            ("aligned_barrier", "timeoutable_barrier", "completion", "end_of_partition", "receive_out_of_order",
             "data_in_recovery", "blocked_with_backlog", "push_after_end", "push_after_release",
             "checkpoint_stopped", "convert_unknown_to_priority", "release", "fail", "restore"), 0,
        ),
        "variants": Bound(("data", "event", "unaligned_barrier", "checkpoint_started"), 1, variants=True),
    },
    # What breaks the connection has no weight but in the last one: little can be done afterwards.
    biases=(
        {"push_recovered": 50, "finish_recovered": 20, "event": 30},
        {"insert_recovery_barrier": 40, "checkpoint_started": 40, "unaligned_barrier": 30, "persisted": 12},
        {"data": 60, "recycle": 20, "free_for_live": 20, "event": 20, "aligned_barrier": 10, "resume": 60},
        {"timeoutable_barrier": 40, "convert_to_priority": 60, "data": 40},
        {"fail": 6, "restore": 60, "release": 6, "receive_out_of_order": 2, "blocked_with_backlog": 2},
    ),
)  # fmt: skip
