"""The steps of several gates as one.

Recovered data is pushed on one thread, live data arrives on another, the consumer polls on a third, and whoever cancels
the task releases on a fourth. The consumer does only what it is told: it polls for a reason, and asks before it sleeps.
A gate is requested as soon as it is converted, since Flink does both in one mail.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from conformance.alphabets.base import DISABLED, NO_OPERANDS, Alphabet, Bound, Operands, StepKind, recovers
from conformance.ports import (
    Alignment,
    Capability,
    ChannelKind,
    EndOfData,
    EndOfPartition,
    GateConfig,
    GateTaken,
    Recovery,
    RecoveryCompletion,
    Resources,
    UnionGateConfig,
    UnionGatePort,
)
from conformance.properties import Seen
from conformance.properties import union_gate as properties
from conformance.properties.union_gate import UnionGateLedger as Ledger
from conformance.properties.union_gate.lines import Line
from conformance.scenarios import Step

MOST_QUEUED = 5
"""Elements in flight after which the producer of a channel is back-pressured."""

_Channels = Annotated[tuple[ChannelKind, ...], Meta(min_length=1, max_length=4)]


class UnionGateScenarioConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """`gates`: the kinds of the channels of each gate. A union of one gate is refused by Flink."""

    gates: Annotated[tuple[_Channels, ...], Meta(min_length=2, max_length=4)]
    recovery: Recovery = Recovery.NONE
    interleaving: Literal["whole", "fine"] = "whole"


# ---- when a step is enabled ------------------------------------------------------------------------------------------
_RUNNING = ("recovering", "live")
_UNTIL_FAILED = (*_RUNNING, "ended")
_PUSHES = ("recovering", "live", "failed")
_ALWAYS = (*_UNTIL_FAILED, "failed")
_FAILED = ("failed",)

_EACH: tuple[Operands, ...] = tuple((number,) for number in range(16))


def _always(ledger: Ledger) -> tuple[Operands, ...]:
    return NO_OPERANDS


def _channels(may: Callable[[Ledger, Line], bool]) -> Callable[[Ledger], list[Operands]]:
    """The channels of which this is true."""
    return lambda ledger: [one for one, line in zip(_EACH, ledger.lines, strict=False) if may(ledger, line)]


def _may_send(ledger: Ledger, line: Line) -> bool:
    gate = line.gate
    return (
        gate.converted
        and (gate.requested or line.local)
        and not line.halted
        and not line.sent_end
        and len(line.live) < MOST_QUEUED
    )


def _may_send_data(ledger: Ledger, line: Line) -> bool:
    """During its recovery the producer of a remote channel has no credit."""
    return not line.stopping and (line.local or line.consumed) and _may_send(ledger, line)


def _may_complete(ledger: Ledger, line: Line) -> bool:
    return not line.spoke and ledger.recovery is not Recovery.NONE and _may_send(ledger, line)


def _may_overtake(ledger: Ledger, line: Line) -> bool:
    """Checkpoints with unaligned barriers do not overlap; a blocked producer sends them all the same."""
    gate = line.gate
    return gate.converted and (gate.requested or line.local) and not line.sent_end and not line.urgent


def _may_stop(ledger: Ledger, line: Line) -> bool:
    return not line.stopping and _may_send(ledger, line)


def _may_end(ledger: Ledger, line: Line) -> bool:
    return line.stopping and _may_send(ledger, line)


def _may_recover(ledger: Ledger, line: Line) -> bool:
    return line.remaining > 0 and _may_finish(ledger, line)


def _may_finish(ledger: Ledger, line: Line) -> bool:
    """What is pushed needs a physical channel; anything else is recovered before the conversion."""
    if line.finishing or ledger.refusing:
        return False
    return line.gate.converted if ledger.recovery is Recovery.PUSHED else not line.gate.converted


def _may_resume(ledger: Ledger, line: Line) -> bool:
    return line.blocked


def _convert(ledger: Ledger) -> list[Operands]:
    return [
        one
        for one, gate in zip(_EACH, ledger.gates, strict=False)
        if not gate.converted and ledger.may_convert(gate)
    ]  # fmt: skip


def _convert_early(ledger: Ledger) -> list[Operands]:
    """Whoever refuses may have converted some channels of the gate; those are not read before they are requested."""
    in_memory = ledger.recovery is Recovery.IN_MEMORY
    return [
        one
        for one, gate in zip(_EACH, ledger.gates, strict=False)
        if ledger.must_refuse(gate) and not (in_memory and any(line.finishing for line in gate.lines))
    ]


def _request(ledger: Ledger) -> list[Operands]:
    return [one for one, gate in zip(_EACH, ledger.gates, strict=False) if gate.converted and not gate.requested]


def _poll(ledger: Ledger) -> tuple[Operands, ...]:
    if ledger.phase == "failed":
        return NO_OPERANDS
    if ledger.phase == "ended":
        return NO_OPERANDS if ledger.after_end < 2 else DISABLED
    if not (ledger.awake or ledger.urged):
        return DISABLED
    if ledger.phase == "recovering" and ledger.recovery is Recovery.IN_MEMORY and _request(ledger):
        return DISABLED  # between the two halves of one mail
    return NO_OPERANDS


# ---- what is learned -------------------------------------------------------------------------------------------------
def _sending(send: Callable[[Ledger, int], None]) -> dict[str, Any]:
    """An element is sent as soon as the operation begins, and the consumer was told when it is over."""
    return {
        "call": _arrive,
        "learn": _arrived,
        "begin": send,
    }


def _arrive(port: UnionGatePort, ledger: Ledger, channel: int) -> Any:
    return port.arrive(channel, ledger.sending)


def _arrived(ledger: Ledger, seen: Seen, channel: int) -> None:
    ledger.arrived(channel)


def _converted(ledger: Ledger, seen: Seen, gate: int) -> None:
    if seen.error is None:
        ledger.converted(gate)


def _begin_refusal(ledger: Ledger, gate: int) -> None:
    ledger.refusing = True


def _refused(ledger: Ledger, seen: Seen, gate: int) -> None:
    ledger.refusing = False


def _requested(ledger: Ledger, seen: Seen, gate: int) -> None:
    if seen.error is None:
        ledger.requested(gate)


def _resumed(ledger: Ledger, seen: Seen, channel: int) -> None:
    if seen.error is None:
        ledger.resumed(channel)


def _released(ledger: Ledger, seen: Seen) -> None:
    ledger.released = True


def _asked(ledger: Ledger, seen: Seen) -> None:
    ledger.asked(seen.value)
    if ledger.closing == _ENDED:
        ledger.closing = _ASKED


def _finished(ledger: Ledger, seen: Seen) -> None:
    if ledger.closing == _DRAINING:
        ledger.closing = _ENDED


def _counted(ledger: Ledger, seen: Seen) -> None:
    if ledger.closing:
        ledger.closing = _RELEASED if ledger.phase == "failed" else _COUNTED


# ---- the fair drain --------------------------------------------------------------------------------------------------
_DRAINING, _ENDED, _ASKED, _COUNTED, _RELEASED = range(1, 6)
"""The stages of the drain."""


def _closing(ledger: Ledger) -> Step | None:
    """Complete what was begun, let the consumer follow what it is told until every channel has ended, and release."""
    if ledger.phase == "failed":
        if not ledger.released:
            return ("release",)
        return ("resources",) if ledger.closing < _RELEASED else None
    step = _recovering(ledger) if ledger.phase == "recovering" else None
    step = step or _upstream_speaks(ledger) or _consuming(ledger)
    if step is not None:
        return step
    for number, line in enumerate(ledger.lines):
        if not line.finishing or ledger.recovery_busy:
            return ("finish_recovery", number)
    if ledger.closing == _DRAINING:
        return _ending(ledger) or ("finished",)
    if ledger.closing == _ENDED:
        return ("available",)
    return ("resources",) if ledger.closing == _ASKED else ("fail",)


def _recovering(ledger: Ledger) -> Step | None:
    for number, gate in enumerate(ledger.gates):
        if not gate.converted and ledger.may_convert(gate):
            return ("convert", number)
        if gate.converted and not gate.requested:
            return ("request", number)
    return None


def _upstream_speaks(ledger: Ledger) -> Step | None:
    """Whoever recovers by pushing waits for the first message."""
    if ledger.recovery is Recovery.PUSHED:
        for number, line in enumerate(ledger.lines):
            if not line.spoke and not line.local:
                return ("completion", number)
    return None


def _consuming(ledger: Ledger) -> Step | None:
    if ledger.awake or ledger.urged:
        return ("poll",) if not ledger.ended or ledger.after_end < 2 else None
    if ledger.probe and not ledger.ended:
        return ("available",)
    for number, line in enumerate(ledger.lines):
        if line.blocked:
            return ("resume", number)
    return None


def _ending(ledger: Ledger) -> Step | None:
    """Once one producer has begun to end, they all do."""
    if not any(line.stopping for line in ledger.lines):
        return None
    for number, line in enumerate(ledger.lines):
        if line.gate.requested and not line.sent_end:
            return ("end_of_partition", number) if line.stopping else ("end_of_data", number)
    return None


def _port_config(config: UnionGateScenarioConfig) -> UnionGateConfig:
    return UnionGateConfig(tuple(GateConfig(kinds, config.recovery) for kinds in config.gates))


def _ledger(config: UnionGateScenarioConfig, capabilities: frozenset[Capability]) -> Ledger:
    return Ledger(config.gates, config.recovery, Capability.BLOCKED_PRIORITY_LOCAL in capabilities)


_L, _R = ChannelKind.LOCAL, ChannelKind.REMOTE
_GATES = (((_L,), (_R,)), ((_L,), (_L,)), ((_R, _L), (_L, _R)), ((_R,), (_L,), (_L, _R)))

UNION_GATE = Alphabet(
    component="union-gate",
    port=UnionGatePort,
    config_type=UnionGateScenarioConfig,
    configs=tuple(
        UnionGateScenarioConfig(gates, recovery, interleaving)
        for gates in _GATES
        for recovery in Recovery
        for interleaving in ("whole", "fine")
    ),
    port_config=_port_config,
    make_ledger=_ledger,
    steps=(
        StepKind("recover", "recovery", _PUSHES, {"channel": int}, _channels(_may_recover),
                 lambda port, ledger, channel: port.recover(channel, ledger.recovering),
                 lambda ledger, seen, channel: ledger.recovered(channel), weight=14,
                 begin=lambda ledger, channel: ledger.recover(channel)),
        StepKind("finish_recovery", "recovery", _PUSHES, {"channel": int}, _channels(_may_finish),
                 lambda port, ledger, channel: port.finish_recovery(channel),
                 lambda ledger, seen, channel: ledger.recovered(channel), weight=10,
                 begin=lambda ledger, channel: ledger.finish_recovery(channel)),
        StepKind("convert", "task", ("recovering",), {"gate": int}, _convert,
                 lambda port, ledger, gate: port.convert(gate), _converted, weight=10, fails=True),
        StepKind("convert_early", "task", ("recovering",), {"gate": int}, _convert_early,
                 lambda port, ledger, gate: port.convert(gate), _refused, weight=1, fails=True, begin=_begin_refusal),
        StepKind("request", "task", ("recovering",), {"gate": int}, _request,
                 lambda port, ledger, gate: port.request_partitions(gate), _requested, weight=12, fails=True),
        StepKind("poll", "task", _ALWAYS, {}, _poll, lambda port, ledger: port.poll(),
                 lambda ledger, seen: ledger.polled(seen.value), weight=28, fails=True, answers=GateTaken | None,
                 begin=lambda ledger: ledger.begin_poll()),
        StepKind("resume", "task", _UNTIL_FAILED, {"channel": int}, _channels(_may_resume),
                 lambda port, ledger, channel: port.resume(channel), _resumed, weight=6, fails=True),
        StepKind("data", "network", _PUSHES, {"channel": int}, _channels(_may_send_data), weight=18,
                 **_sending(lambda ledger, channel: ledger.data(channel))),
        StepKind("event", "network", _PUSHES, {"channel": int}, _channels(_may_send), weight=2,
                 **_sending(lambda ledger, channel: ledger.event(channel))),
        StepKind("completion", "network", _PUSHES, {"channel": int}, _channels(_may_complete), weight=4,
                 **_sending(lambda ledger, channel: ledger.send(channel, RecoveryCompletion()))),
        StepKind("unaligned_barrier", "network", _PUSHES, {"channel": int}, _channels(_may_overtake), weight=8,
                 **_sending(lambda ledger, channel: ledger.barrier(channel, Alignment.UNALIGNED))),
        StepKind("aligned_barrier", "network", _PUSHES, {"channel": int}, _channels(_may_send), weight=3,
                 **_sending(lambda ledger, channel: ledger.barrier(channel, Alignment.ALIGNED))),
        StepKind("end_of_data", "network", _PUSHES, {"channel": int}, _channels(_may_stop), weight=2,
                 **_sending(lambda ledger, channel: ledger.send(channel, EndOfData()))),
        StepKind("end_of_partition", "network", _PUSHES, {"channel": int}, _channels(_may_end), weight=6,
                 **_sending(lambda ledger, channel: ledger.send(channel, EndOfPartition()))),
        StepKind("available", "observer", _UNTIL_FAILED, {}, _always, lambda port, ledger: port.available(),
                 _asked, weight=6, answers=bool),
        StepKind("finished", "observer", _UNTIL_FAILED, {}, _always, lambda port, ledger: port.finished(),
                 _finished, weight=1, answers=bool),
        StepKind("resources", "observer", _ALWAYS, {}, _always, lambda port, ledger: port.resources(), _counted,
                 weight=1, answers=Resources),
        StepKind("release", "canceler", _ALWAYS, {}, _always, lambda port, ledger: port.release(), _released,
                 weight=1, begin=lambda ledger: ledger.release()),
        StepKind("fail", "observer", _UNTIL_FAILED, {}, _always, lambda port, ledger: port.release(), _released,
                 weight=1, begin=lambda ledger: ledger.crash(), crashes=True),
        StepKind("restore", "observer", _FAILED, {}, _always, lambda port, ledger: port.resources(),
                 lambda ledger, seen: ledger.begin(), weight=16, answers=Resources, crashes=True, fresh_port=True),
    ),
    closing=_closing,
    properties=properties.PROPERTIES,
    final_phase="failed",
    threads=("recovery", "network", "task", "canceler"),
    needs=lambda config: recovers(config.recovery),
    explored=UnionGateScenarioConfig(((_L,), (_L,)), Recovery.NONE, "fine"),
    bounds={
        "elements": Bound(("recover", "data"), 1, each=True),
        "barriers": Bound(("unaligned_barrier",), 1, each=True),
        "other": Bound(
            ("event", "completion", "aligned_barrier", "end_of_data", "end_of_partition", "convert_early", "release",
             "fail", "restore"), 0,
        ),
    },
    biases=(
        {"unaligned_barrier": 40, "data": 24, "poll": 16, "aligned_barrier": 0, "end_of_data": 0, "fail": 0},
        {"data": 40, "poll": 30, "request": 40, "aligned_barrier": 0, "end_of_data": 0, "fail": 0, "release": 0},
        {"end_of_data": 16, "end_of_partition": 20, "poll": 60},
        {"aligned_barrier": 16, "resume": 3, "unaligned_barrier": 16},
        {"recover": 30, "finish_recovery": 3, "convert_early": 6},
        {"finish_recovery": 60, "convert": 40, "request": 60, "data": 30},
        {"release": 8, "fail": 4, "restore": 60},
    ),
)  # fmt: skip
