"""The steps of an input gate: state is recovered, the network delivers, the task converts, polls and checkpoints."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from msgspec import Struct

from conformance.alphabets import gate_choices as choices
from conformance.alphabets.base import Alphabet, Bound, StepKind, ignore, recovers
from conformance.ports import (
    Alignment,
    Barrier,
    Capability,
    ChannelKind,
    Data,
    Element,
    EndOfData,
    EndOfPartition,
    Event,
    GateConfig,
    GatePort,
    GateTaken,
    Recovery,
    RecoveryCompletion,
    Resources,
)
from conformance.properties import Seen
from conformance.properties import gate as properties
from conformance.properties.gate import GateLedger as Ledger
from conformance.scenarios import Step

LOCAL, REMOTE = ChannelKind.LOCAL, ChannelKind.REMOTE


class GateScenarioConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """`recovered`: how many recovered records each channel may be given."""

    channels: tuple[ChannelKind, ...] = (LOCAL, REMOTE)
    recovery: Recovery = Recovery.NONE
    recovered: int = 2
    interleaving: Literal["whole", "fine"] = "whole"


_RECOVERING = ("recovering",)
_CONVERTED = ("converted",)
_LIVE = ("live",)
_FLOWING = ("live", "starting")
_POLLABLE = ("recovering", "live")
_OPEN = ("recovering", "converted", "live", "starting")
_RELEASED = ("released",)
_FAILED = ("failed",)
_ALWAYS = (*_OPEN, "released", "failed")


# ---- what a step does, and what is learned ---------------------------------------------------------------------------
def _pushes(port: Any, ledger: Ledger, channel: int) -> Any:
    return port.recover(channel, ledger.sides[channel].recovered[-1].element)


def _pushes_late(port: Any, ledger: Ledger, channel: int) -> Any:
    return port.recover(channel, Data((ledger.numbers[channel],)))


def _arrival(name: str, make: Callable[..., Element], possible: Any, weight: int, operands: Any = None) -> StepKind:
    """A live element: what it is is decided when it is sent."""

    def begin(ledger: Ledger, channel: int, *more: int) -> None:
        ledger.begin_arrival(channel, make(ledger.numbers[channel], *more))

    def call(port: Any, ledger: Ledger, channel: int, *more: int) -> Any:
        side = ledger.sides[channel]
        sent = (side.urgent if name == "unaligned_barrier" else side.queue)[-1]
        return port.arrive(channel, sent.element)

    def learn(ledger: Ledger, seen: Seen, channel: int, *more: int) -> None:
        ledger.end_arrival(channel)

    return StepKind(name, "network", _FLOWING, operands or {"channel": int}, possible, call, learn, weight, begin=begin)


def _ended(ledger: Ledger, seen: Seen, *operands: Any) -> None:
    ledger.end()


def _began(ledger: Ledger, *operands: Any) -> None:
    ledger.begin()


def _requested(ledger: Ledger, seen: Seen) -> None:
    ledger.end()
    ledger.requested = True


def _started(ledger: Ledger, seen: Seen, checkpoint: int) -> None:
    ledger.start(checkpoint, seen.error is None)


def _moved(ledger: Ledger, seen: Seen, channel: int, seq: int) -> None:
    checkpoint = next(one[2] for one in ledger.announced if one[:2] == (channel, seq))
    ledger.announced = [one for one in ledger.announced if one[:2] != (channel, seq)]
    if seen.error is None:
        ledger.to_front(channel, checkpoint)
    else:
        ledger.end_move()


def _tracked(ledger: Ledger, seen: Seen, channel: int) -> None:
    if seen.error is None:
        ledger.track(channel)
    else:
        ledger.end()


def _released(ledger: Ledger, seen: Seen) -> None:
    ledger.end()
    ledger.release()


# ---- the fair drain --------------------------------------------------------------------------------------------------
_LOOKED, _FINISHED, _INSPECTED, _OVER = 2, 3, 4, 5


def _reaching(stage: int) -> Any:
    def reached(ledger: Ledger, seen: Seen, *operands: Any) -> None:
        if ledger.closing:
            ledger.closing = stage

    return reached


def _inspected(ledger: Ledger, seen: Seen, checkpoint: int) -> None:
    if ledger.closing:
        ledger.inspected += 1


def _closing(ledger: Ledger) -> Step | None:
    """Recover all, end all, let the consumer follow what it is told, look at what was written, and release."""
    if not ledger.released:
        step = _recovering(ledger) if not ledger.converted else _flowing(ledger)
        if step is not None:
            return step
        if ledger.closing < _LOOKED:
            return ("available",)
        if ledger.closing < _FINISHED:
            return ("finished",)
    if ledger.inspected < len(ledger.started):
        return ("persisted", ledger.started[ledger.inspected])
    if not ledger.released:
        return ("release",)
    if ledger.closing < _OVER:
        return ("resources",)
    if ledger.flying:
        return None  # somebody still waits, who must not
    return None if ledger.failed else ("fail",)


def _recovering(ledger: Ledger) -> Step | None:
    if not ledger.pushed_design:
        for number, side in enumerate(ledger.sides):
            if not side.finishing:
                return "finish_recovery", number
    if ledger.convertible():
        return ("convert",)
    return ("poll",) if ledger.awake else None


def _flowing(ledger: Ledger) -> Step | None:
    if not ledger.requested:
        return ("request",)
    for checkpoint in ledger.marked:
        return "checkpoint_started", checkpoint
    for number, side in enumerate(ledger.sides):
        if choices.completes(ledger, side):
            return "completion", number
    for number, side in enumerate(ledger.sides):
        if choices.finishes(ledger, side):
            return "finish_recovery", number
    if ledger.awake:
        return ("poll",)
    for number, side in enumerate(ledger.sides):
        if choices.to_track(ledger, side):
            return "end_of_output_state", number
        if choices.is_blocked(ledger, side):
            return "resume", number
    if ledger.checkpoint:
        return "checkpoint_stopped", ledger.checkpoint
    for number, side in enumerate(ledger.sides):
        if choices.ends_data(ledger, side):
            return "end_of_data", number
        if choices.ends(ledger, side):
            return "end_of_partition", number
    return None


def _ledger(config: GateScenarioConfig, capabilities: frozenset[Capability]) -> Ledger:
    passes = Capability.BLOCKED_PRIORITY_LOCAL in capabilities
    return Ledger(config.channels, config.recovery.value, config.recovered, passes)


_CHANNEL = {"channel": int}
_CHANNEL_AND_CHECKPOINT = {"channel": int, "checkpoint": int}
_CHECKPOINT = {"checkpoint": int}

_CONFIGS = tuple(
    GateScenarioConfig(channels, recovery, 2, interleaving)
    for recovery in Recovery
    for channels in ((LOCAL, REMOTE), (REMOTE, REMOTE), (LOCAL,), (REMOTE, LOCAL, REMOTE))
    for interleaving in ("whole", "fine")
)

GATE = Alphabet(
    component="gate",
    port=GatePort,
    config_type=GateScenarioConfig,
    configs=_CONFIGS,
    port_config=lambda config: GateConfig(config.channels, config.recovery),
    make_ledger=_ledger,
    needs=lambda config: recovers(config.recovery),
    threads=("recovery", "network", "task"),
    steps=(
        StepKind("recover", "recovery", _OPEN, _CHANNEL, choices.channels(choices.recovers), _pushes,
                 lambda ledger, seen, channel: ledger.end_push(channel), weight=16,
                 begin=lambda ledger, channel: ledger.begin_push(channel)),
        StepKind("finish_recovery", "recovery", _OPEN, _CHANNEL, choices.channels(choices.finishes),
                 lambda port, ledger, channel: port.finish_recovery(channel),
                 lambda ledger, seen, channel: ledger.end_finish(channel), weight=10,
                 begin=lambda ledger, channel: ledger.begin_finish(channel)),
        StepKind("recover_after_release", "recovery", _RELEASED, _CHANNEL, choices.channels(choices.finishes),
                 _pushes_late, _ended, weight=4, fails=True, begin=_began),
        _arrival("data", lambda number: Data((number,)), choices.channels(choices.has_data), 24),
        _arrival("event", Event, choices.channels(choices.flows), 4),
        _arrival("completion", lambda number: RecoveryCompletion(), choices.channels(choices.completes), 20),
        _arrival("aligned_barrier", lambda number, checkpoint: Barrier(checkpoint, Alignment.ALIGNED),
                 choices.barriers(choices.flows), 3, _CHANNEL_AND_CHECKPOINT),
        _arrival("timeoutable_barrier", lambda number, checkpoint: Barrier(checkpoint, Alignment.TIMEOUTABLE),
                 choices.barriers(choices.announces), 6, _CHANNEL_AND_CHECKPOINT),
        _arrival("unaligned_barrier", lambda number, checkpoint: Barrier(checkpoint, Alignment.UNALIGNED),
                 choices.barriers(choices.overtakes), 10, _CHANNEL_AND_CHECKPOINT),
        _arrival("end_of_data", lambda number: EndOfData(), choices.channels(choices.ends_data), 2),
        _arrival("end_of_partition", lambda number: EndOfPartition(), choices.channels(choices.ends), 4),
        StepKind("convert", "task", _RECOVERING, {}, choices.always, lambda port, ledger: port.convert(),
                 lambda ledger, seen: ledger.end_conversion(seen.error is None), weight=8, fails=True,
                 begin=lambda ledger: ledger.begin_conversion()),
        StepKind("convert_again", "task", ("converted", "live"), {}, choices.always,
                 lambda port, ledger: port.convert(), _ended, weight=2, begin=_began),
        StepKind("request", "task", _CONVERTED, {}, choices.always, lambda port, ledger: port.request_partitions(),
                 _requested, weight=24, begin=_began),
        StepKind("request_too_early", "task", _RECOVERING, {}, choices.always,
                 lambda port, ledger: port.request_partitions(), _ended, weight=1, fails=True, begin=_began),
        StepKind("poll", "task", _POLLABLE, {}, choices.always, lambda port, ledger: port.poll(),
                 lambda ledger, seen: ledger.end_poll(seen.value), weight=40, answers=GateTaken | None,
                 begin=lambda ledger: ledger.begin_poll()),
        StepKind("poll_after_release", "task", _RELEASED, {}, choices.always, lambda port, ledger: port.poll(), _ended,
                 weight=4, fails=True, answers=GateTaken | None, begin=_began),
        StepKind("resume", "task", _LIVE, _CHANNEL, choices.channels(choices.is_blocked),
                 lambda port, ledger, channel: port.resume(channel),
                 lambda ledger, seen, channel: ledger.resume(channel), weight=10, begin=_began),
        StepKind("end_of_output_state", "task", _LIVE, _CHANNEL, choices.channels(choices.to_track),
                 lambda port, ledger, channel: port.end_of_output_state(channel), _tracked, weight=16, fails=True,
                 begin=_began),
        StepKind("end_of_output_state_again", "task", _LIVE, _CHANNEL, choices.channels(choices.is_tracked),
                 lambda port, ledger, channel: port.end_of_output_state(channel), _ended, weight=1, fails=True,
                 begin=_began),
        StepKind("insert_recovery_barriers", "task", _LIVE, _CHECKPOINT, choices.marks,
                 lambda port, ledger, checkpoint: port.insert_recovery_barriers(checkpoint),
                 lambda ledger, seen, checkpoint: ledger.end_marking(checkpoint), weight=8,
                 begin=lambda ledger, checkpoint: ledger.begin_marking(checkpoint)),
        StepKind("checkpoint_started", "task", ("recovering", "live", "starting"), _CHECKPOINT, choices.starts,
                 lambda port, ledger, checkpoint: port.checkpoint_started(Barrier(checkpoint, Alignment.UNALIGNED)),
                 _started, weight=8, fails=True,
                 begin=lambda ledger, checkpoint: ledger.begin_start(checkpoint)),
        StepKind("checkpoint_stopped", "task", _POLLABLE, _CHECKPOINT, choices.stops,
                 lambda port, ledger, checkpoint: port.checkpoint_stopped(checkpoint),
                 lambda ledger, seen, checkpoint: ledger.stop(checkpoint), weight=4,
                 begin=lambda ledger, checkpoint: ledger.begin_stop()),
        StepKind("convert_to_priority", "task", _LIVE, {"channel": int, "seq": int}, choices.announced,
                 lambda port, ledger, channel, seq: port.convert_to_priority(channel, seq), _moved, weight=16,
                 fails=True, begin=lambda ledger, channel, seq: ledger.begin_move(channel)),
        StepKind("convert_unknown_to_priority", "task", _LIVE, _CHANNEL, choices.channels(choices.remote),
                 lambda port, ledger, channel: port.convert_to_priority(channel, 1000), _ended, weight=1, fails=True,
                 begin=_began),
        StepKind("release", "task", _OPEN, {}, choices.always, lambda port, ledger: port.release(), _released, weight=1,
                 begin=lambda ledger: ledger.begin_release()),
        StepKind("available", "observer", _OPEN, {}, choices.always, lambda port, ledger: port.available(),
                 _reaching(_LOOKED), weight=2, answers=bool),
        StepKind("finished", "observer", _OPEN, {}, choices.always, lambda port, ledger: port.finished(),
                 _reaching(_FINISHED), weight=2, answers=bool),
        StepKind("in_use", "observer", _OPEN, _CHANNEL, choices.channels(lambda ledger, side: not side.ended),
                 lambda port, ledger, channel: port.in_use(channel), ignore, weight=2, answers=int),
        StepKind("persisted", "observer", _ALWAYS, _CHECKPOINT, choices.inspections,
                 lambda port, ledger, checkpoint: port.persisted(checkpoint), _inspected, weight=4,
                 answers=tuple[tuple[int, ...], ...]),
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
    explored=GateScenarioConfig((REMOTE, LOCAL), Recovery.IN_MEMORY, 1, "fine"),
    bounds={
        "elements": Bound(("recover", "data"), 2, each=True),
        "checkpoints": Bound(("checkpoint_started",), 1),
        "barriers": Bound(("unaligned_barrier",), 1, each=True),
        "marks": Bound(("insert_recovery_barriers",), 1),
        "stops": Bound(("checkpoint_stopped",), 0),
        "conversions": Bound(("convert",), 1),
        "other": Bound(
            ("event", "aligned_barrier", "timeoutable_barrier", "end_of_data", "end_of_partition", "fail", "restore",
             "release", "recover_after_release", "poll_after_release", "convert_again", "request_too_early",
             "convert_unknown_to_priority", "end_of_output_state_again"), 0,
        ),
    },
    biases=(
        {"recover": 60, "finish_recovery": 30, "convert": 30, "poll": 8},
        {"unaligned_barrier": 40, "checkpoint_started": 30, "insert_recovery_barriers": 30, "persisted": 12},
        {"data": 60, "poll": 30, "aligned_barrier": 16, "resume": 6},
        {"timeoutable_barrier": 40, "convert_to_priority": 60, "data": 40},
        {"end_of_data": 30, "end_of_partition": 40, "poll": 60, "completion": 60, "end_of_output_state": 60},
        {"fail": 6, "restore": 60, "release": 6},
    ),
)  # fmt: skip
