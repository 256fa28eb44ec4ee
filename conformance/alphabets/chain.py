"""The steps of a chain: producers, the network, the recovery and the consumer, and failures in between."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from conformance.alphabets import chain_choices as choices
from conformance.alphabets.base import DISABLED, Alphabet, StepKind, recovers
from conformance.ports import (
    Alignment,
    Capability,
    ChainCheckpoint,
    ChainConfig,
    ChainPort,
    ChannelKind,
    CheckpointStatus,
    Consumed,
    Element,
    Recovery,
    Resources,
)
from conformance.properties import Seen
from conformance.properties import chain as properties
from conformance.properties.chain import ChainLedger as Ledger
from conformance.scenarios import Step


class ChainScenarioConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """`recovery`: the design of the first start; `recoveries`: those that a restore can choose from.

    `input_state` and `output_state`: how many records of each channel the run begins with in these states, as if it
    were restored; with a `recovery` other than none.
    """

    channels: Annotated[tuple[ChannelKind, ...], Meta(min_length=1, max_length=4)]
    recovery: Recovery = Recovery.NONE
    recoveries: Annotated[tuple[Recovery, ...], Meta(min_length=1, max_length=3)] = (Recovery.RECOVER_FIRST,)
    output_on_downstream: bool = False
    input_state: Annotated[int, Meta(ge=0, le=4)] = 0
    output_state: Annotated[int, Meta(ge=0, le=4)] = 0
    interleaving: Literal["whole", "fine"] = "whole"


_ALIGNMENT = {alignment.value: alignment for alignment in Alignment}


# ---- what a step does ------------------------------------------------------------------------------------------------
def _send(port: ChainPort, ledger: Ledger, channel: int, count: int) -> Any:
    sent = ledger.sides[channel].sent
    return port.produce(channel, tuple(range(sent - count, sent)))


def _read(port: ChainPort, ledger: Ledger, checkpoint: int, recovery: str) -> Any:
    if checkpoint == 0:
        return None
    saved = ledger.saved.get(checkpoint)
    return port.snapshot(checkpoint) if saved is None else saved


# ---- what the ledger learns ------------------------------------------------------------------------------------------
def _begin_send(ledger: Ledger, channel: int, count: int) -> None:
    ledger.sides[channel].sent += count


def _sent(ledger: Ledger, seen: Seen, channel: int, *operands: Any) -> None:
    ledger.sides[channel].idle = False


def _begin_finish(ledger: Ledger, channel: int) -> None:
    ledger.sides[channel].finished = True


def _output_recovered(ledger: Ledger, seen: Seen, channel: int) -> None:
    side = ledger.sides[channel]
    side.output_next += 1
    side.idle = False


def _output_finished(ledger: Ledger, seen: Seen, channel: int) -> None:
    side = ledger.sides[channel]
    side.output_done = True
    side.idle = False


def _begin_recover(ledger: Ledger, channel: int) -> None:
    ledger.busy += 1


def _recovered(ledger: Ledger, seen: Seen, channel: int) -> None:
    ledger.busy -= 1
    ledger.sides[channel].input_next += 1


def _recovery_finished(ledger: Ledger, seen: Seen, channel: int) -> None:
    ledger.sides[channel].input_done = True


def _converted(ledger: Ledger, seen: Seen) -> None:
    ledger.converted = True


def _looked(ledger: Ledger, seen: Seen) -> None:
    if ledger.closing:
        ledger.closing = 2


def _inspected(ledger: Ledger, seen: Seen, checkpoint: int) -> None:
    if ledger.closing:
        ledger.inspected += 1


def _measured(ledger: Ledger, seen: Seen) -> None:
    if ledger.closing:
        ledger.closing = 4


def _closing(ledger: Ledger) -> Step | None:
    """Recover to the end, complete what was begun, let everybody follow what he is told, then look and release."""
    if not ledger.failed and ledger.closing == 1:
        return _flow(ledger) or ("counted",)
    if not ledger.failed and ledger.inspected < len(ledger.known):
        return ("snapshot", ledger.known[ledger.inspected])
    if not ledger.failed:
        return ("fail",)
    return ("resources",) if ledger.closing < 4 else None


def _flow(ledger: Ledger) -> Step | None:
    for name, choose in _FLOW:
        possible = choose(ledger)
        if possible:
            return (name, *possible[0])
    last = ledger.known[-1] if ledger.known else 0
    if last in ledger.acknowledged or last in ledger.declined:
        return None
    for channel, side in enumerate(ledger.sides):
        if last > side.newest and not side.finished:
            return ("barrier", channel, last, ledger.alignments[last])
    return None


_FLOW: tuple[tuple[str, Any], ...] = (
    ("recover_output", choices.recover_output),
    ("finish_output_recovery", choices.finish_output_recovery),
    ("convert", choices.convert),
    ("request_partitions", lambda ledger: DISABLED if ledger.requested else choices.request(ledger)),
    ("transfer", lambda ledger: choices.transfer(ledger) if ledger.requested else DISABLED),
    ("consume", choices.consume),
    ("recover", choices.recover),
    ("finish_recovery", choices.finish_recovery),
)
"""What the fair drain prefers, in this order: whoever waits for the upstream comes last."""


# ---- configurations --------------------------------------------------------------------------------------------------
def _needs(config: ChainScenarioConfig) -> frozenset[Capability]:
    designs = frozenset[Capability]().union(*map(recovers, (config.recovery, *config.recoveries)))
    upstream = () if config.output_on_downstream else (Capability.OUTPUT_RECOVERED_UPSTREAM,)
    return designs.union({Capability.PERSISTED_READBACK, *upstream})


def _beginning(config: ChainScenarioConfig) -> ChainCheckpoint | None:
    """What the first chain of a run is restored from."""
    if config.recovery is Recovery.NONE:
        return None
    end = config.input_state + config.output_state
    each = [((),), (tuple(range(config.input_state)),), (tuple(range(config.input_state, end)),)]
    return ChainCheckpoint(CheckpointStatus.COMPLETED, *[one * len(config.channels) for one in each])


def _port_config(config: ChainScenarioConfig) -> ChainConfig:
    return ChainConfig(config.channels, config.recovery, _beginning(config), config.output_on_downstream)


def _restored_config(config: ChainScenarioConfig, ledger: Ledger) -> ChainConfig:
    return ChainConfig(config.channels, Recovery(ledger.recovery), ledger.restored, config.output_on_downstream)


def _ledger(config: ChainScenarioConfig, capabilities: frozenset[Capability]) -> Ledger:
    recoveries = tuple(one.value for one in config.recoveries)
    return Ledger(
        tuple(one.value for one in config.channels), config.recovery.value, recoveries, _beginning(config),
        config.output_on_downstream, Capability.BLOCKED_PRIORITY_LOCAL in capabilities,
    )  # fmt: skip


_LOCAL, _REMOTE = ChannelKind.LOCAL, ChannelKind.REMOTE
_ALL = (Recovery.RECOVER_FIRST, Recovery.IN_MEMORY, Recovery.PUSHED)
_CONFIGS = tuple(
    ChainScenarioConfig(channels, recovery, recoveries, downstream, *states, interleaving)
    for interleaving in ("whole", "fine")
    for channels in ((_LOCAL, _REMOTE), (_REMOTE, _LOCAL), (_LOCAL, _LOCAL), (_REMOTE, _REMOTE), (_LOCAL,), (_REMOTE,))
    for recovery, recoveries, downstream, states in (
        (Recovery.NONE, _ALL[:1], False, (0, 0)),
        (Recovery.RECOVER_FIRST, _ALL[:1], True, (1, 1)),
        (Recovery.NONE, _ALL[:2], False, (0, 0)),
        (Recovery.IN_MEMORY, _ALL[:2], True, (2, 1)),
        (Recovery.IN_MEMORY, _ALL[:2], False, (1, 2)),
        (Recovery.NONE, _ALL, False, (0, 0)),
        (Recovery.RECOVER_FIRST, _ALL, False, (0, 0)),
        (Recovery.IN_MEMORY, _ALL, True, (0, 0)),
        (Recovery.PUSHED, _ALL, False, (2, 1)),
        (Recovery.PUSHED, _ALL, True, (1, 1)),
        (Recovery.PUSHED, _ALL[2:], False, (0, 0)),
    )
)  # fmt: skip

_STARTING = ("starting",)
_RECOVERING = ("starting", "recovering")
_CONNECTED = ("recovering", "live")
_RUNNING = ("starting", "recovering", "live")
_FAILED = ("failed",)
_ALWAYS = (*_RUNNING, "failed")


def _one_by_one(*steps: Step) -> tuple[Step, ...]:
    """Each operation is over before the next begins."""
    return tuple(
        one for step in steps for one in (step, *[("finish", thread) for thread in ("producer", "network", "recovery",
                                                                                     "task")])
    )  # fmt: skip


_RECOVER: tuple[Step, ...] = (
    ("recover", 0), ("recover", 0), ("recover", 1), ("recover", 1), ("finish_recovery", 0), ("finish_recovery", 1),
)  # fmt: skip
_CONNECT: tuple[Step, ...] = (
    ("convert",), ("request_partitions",), ("recover_output", 0), ("recover_output", 0), ("finish_output_recovery", 0),
    ("recover_output", 1), ("recover_output", 1), ("finish_output_recovery", 1),
    *(("transfer", 0), ("transfer", 1)) * 2,
)  # fmt: skip
_PREFIXES: tuple[tuple[Step, ...], ...] = (
    (*_one_by_one(*_RECOVER, *(("consume",),) * 3, *_CONNECT, *(("consume",),) * 4, ("produce", 1, 1),
                  ("barrier", 0, 1, "unaligned"), ("transfer", 0)),
     ("transfer", 1), ("consume",), ("run", "task", "channel 1 lock")),
    (*_one_by_one(*_CONNECT, ("barrier", 0, 1, "unaligned"), ("transfer", 0)),
     ("recover", 0), ("run", "recovery", "drainer lock"), ("run", "recovery", "drainer lock"), ("consume",)),
    (*_one_by_one(*_CONNECT, ("barrier", 0, 1, "unaligned")),
     ("consume",), ("run", "task", "drainer lock"), ("run", "task", "local channel 0 lock"),
     ("run", "task", "local channel 0 lock"), ("recover", 0), ("finish", "recovery")),
)  # fmt: skip
"""A checkpoint is about to start while a record arrives; while a recovered record is pushed; it is marked in the
recovered data, and has not started."""

CHAIN = Alphabet(
    component="chain",
    port=ChainPort,
    config_type=ChainScenarioConfig,
    configs=_CONFIGS,
    port_config=_port_config,
    restored_config=_restored_config,
    make_ledger=_ledger,
    steps=(
        StepKind("produce", "producer", _RUNNING, {"channel": int, "records": int}, choices.produce, _send, _sent,
                 weight=16, begin=_begin_send),
        StepKind("barrier", "producer", _RUNNING, {"channel": int, "checkpoint": int, "alignment": str},
                 choices.barriers, lambda port, ledger, channel, checkpoint, alignment:
                 port.barrier(channel, checkpoint, _ALIGNMENT[alignment]),
                 lambda ledger, seen, channel, checkpoint, alignment: ledger.barrier_sent(channel, alignment),
                 weight=10, begin=Ledger.begin_barrier),
        StepKind("end", "producer", _CONNECTED, {"channel": int}, choices.end,
                 lambda port, ledger, channel: port.finish(channel), _sent, weight=1, begin=_begin_finish),
        StepKind("recover_output", "producer", _RECOVERING, {"channel": int}, choices.recover_output,
                 lambda port, ledger, channel: port.recover_output(channel), _output_recovered, weight=12),
        StepKind("finish_output_recovery", "producer", _RECOVERING, {"channel": int}, choices.finish_output_recovery,
                 lambda port, ledger, channel: port.finish_output_recovery(channel), _output_finished, weight=16),
        StepKind("transfer", "network", _CONNECTED, {"channel": int}, choices.transfer,
                 lambda port, ledger, channel: port.transfer(channel),
                 lambda ledger, seen, channel: ledger.transferred(channel, seen.value),
                 weight=24, begin=Ledger.begin_transfer, answers=Element | None),
        StepKind("recover", "recovery", _RECOVERING, {"channel": int}, choices.recover,
                 lambda port, ledger, channel: port.recover(channel), _recovered, weight=12,
                 begin=_begin_recover),
        StepKind("finish_recovery", "recovery", _RECOVERING, {"channel": int}, choices.finish_recovery,
                 lambda port, ledger, channel: port.finish_recovery(channel), _recovery_finished, weight=16),
        StepKind("convert", "task", _STARTING, {}, choices.convert, lambda port, ledger: port.convert(), _converted,
                 weight=16),
        StepKind("request_partitions", "task", _STARTING, {}, choices.request,
                 lambda port, ledger: port.request_partitions(), lambda ledger, seen: ledger.requested_now(),
                 weight=24),
        StepKind("consume", "task", _RUNNING, {}, choices.consume, lambda port, ledger: port.consume(),
                 lambda ledger, seen: ledger.consumed(seen.value, seen.signals), weight=28,
                 begin=Ledger.begin_consume, answers=Consumed | None),
        StepKind("trigger", "task", _STARTING, {"checkpoint": int}, choices.trigger,
                 lambda port, ledger, checkpoint: port.trigger(checkpoint),
                 lambda ledger, seen, checkpoint: ledger.triggered(checkpoint), weight=1,
                 begin=lambda ledger, checkpoint: ledger.note_checkpoint(checkpoint, "unaligned")),
        StepKind("counted", "observer", _RUNNING, {}, choices.always, lambda port, ledger: port.counted(), _looked,
                 weight=1, answers=tuple[tuple[int, ...], ...]),
        StepKind("snapshot", "observer", _RUNNING, {"checkpoint": int}, choices.inspections,
                 lambda port, ledger, checkpoint: port.snapshot(checkpoint), _inspected, weight=2,
                 answers=ChainCheckpoint),
        StepKind("resources", "observer", _ALWAYS, {}, choices.always, lambda port, ledger: port.resources(), _measured,
                 weight=1, answers=Resources),
        StepKind("fail", "checkpointing", _RUNNING, {}, choices.fail, lambda port, ledger: port.release(),
                 lambda ledger, seen: ledger.fail(), weight=2, crashes=True),
        StepKind("restore", "checkpointing", _FAILED, {"checkpoint": int, "recovery": str}, choices.restore, _read,
                 lambda ledger, seen, checkpoint, recovery: ledger.restore(checkpoint, seen.value, recovery),
                 weight=16, fresh_port=True, answers=ChainCheckpoint | None),
    ),
    closing=_closing,
    properties=properties.PROPERTIES,
    final_phase="failed",
    threads=("producer", "network", "recovery", "task"),
    needs=_needs,
    prefixes=_PREFIXES,
    biases=(
        {"fail": 8, "barrier": 40, "produce": 6, "transfer": 60, "consume": 60, "end": 0},
        {"fail": 5, "barrier": 20, "consume": 16, "produce": 30, "transfer": 40, "end": 0},
        {"fail": 5, "barrier": 40, "recover": 4, "finish_recovery": 4, "request_partitions": 60, "end": 0},
        {"fail": 3, "barrier": 20, "produce": 20, "transfer": 30, "consume": 10, "end": 0},
        {"fail": 4, "barrier": 60, "recover": 30, "finish_recovery": 40, "finish_output_recovery": 40, "convert": 60,
         "request_partitions": 80, "transfer": 60, "consume": 6, "end": 0},
        {"produce": 60, "transfer": 60, "consume": 30, "barrier": 10, "fail": 1, "end": 0, "snapshot": 0},
        {"trigger": 12, "fail": 4},
        {"finish_output_recovery": 3, "fail": 4},
    ),
)  # fmt: skip
