"""The steps of a chain: producers send, the network transfers, state is recovered, the consumer consumes, chains
fail."""

from __future__ import annotations

from collections.abc import Sequence

from conformance.components.chain.ledger import Ledger
from conformance.driver import BROKEN, DISABLED, NO_OPERANDS, AnyStep, Drain, Each, Once, Operands, Steps, While, always
from conformance.driver.step import FINISH, RUN
from conformance.models.answers import records_by_channel
from conformance.models.faults import fault_step
from conformance.models.lifetime import fail_step, resources_step
from conformance.ports import (
    CHANNEL_STATE_WRITER,
    Alignment,
    Answer,
    ChainCheckpoint,
    ChainPort,
    Consumed,
    Element,
    FaultKind,
    Recovery,
)

MOST_IN_FLIGHT = 6
"""Number of records of a channel that are sent and not counted from which on its producer is back-pressured."""
MOST_CHECKPOINTS = 24
_OPEN = 3
"""Number of the last checkpoints for which a late barrier may still be sent."""
_ALIGNMENTS = {True: ("unaligned", "unaligned", "aligned"), False: ("unaligned", "timeoutable", "aligned")}
"""By whether the edge has unaligned checkpoints, the alignments to draw from for a new one. No alignment times out."""

THREADS = ("producer", "network", "recovery", "task")
STARTING = ("starting",)
RECOVERING = ("starting", "recovering")
CONNECTED = ("recovering", "live")
RUNNING = ("starting", "recovering", "live")
FAILED = ("failed",)
PRESENT = (*RUNNING, BROKEN)
ALWAYS = (*PRESENT, *FAILED)

STEPS = Steps[ChainPort, Ledger]()
step = STEPS.step


# ---- when a step is enabled ------------------------------------------------------------------------------------------
def _feeds(ledger: Ledger) -> bool:
    """Returns whether recovered records can be pushed: with `pushed` after the request of partitions, otherwise before
    the conversion."""
    return ledger.is_connected() if ledger.config.recovery is Recovery.PUSHED else not ledger.converted


def producing(ledger: Ledger) -> Sequence[tuple[int]]:
    """Channels whose producer has not finished."""
    return [(lane.channel,) for lane in ledger.lanes if lane.producing]


def output_left(ledger: Ledger) -> Sequence[tuple[int]]:
    """Channels with output state that was not pushed into the subpartition."""
    return [(lane.channel,) for lane in ledger.lanes if lane.output_next < lane.recovered_end]


def output_complete(ledger: Ledger) -> Sequence[tuple[int]]:
    """Channels whose output state was pushed completely and whose producer has not started."""
    return [
        (lane.channel,)
        for lane in ledger.lanes
        if lane.output_next == lane.recovered_end and not lane.producing and not lane.over
    ]


def input_left(ledger: Ledger) -> Sequence[tuple[int]]:
    """Channels with input state that was not pushed into the gate."""
    left = [(lane.channel,) for lane in ledger.lanes if lane.input_next < lane.input_end]
    return left if left and _feeds(ledger) else DISABLED


def input_complete(ledger: Ledger) -> Sequence[tuple[int]]:
    """Channels whose input state was pushed completely and has no end of recovered data yet."""
    there = [(lane.channel,) for lane in ledger.lanes if not lane.input_done and lane.input_next == lane.input_end]
    return there if there and _feeds(ledger) else DISABLED


def transferable(ledger: Ledger) -> Sequence[tuple[int]]:
    """Remote channels, except those from which certainly no element can leave."""
    return [(lane.channel,) for lane in ledger.lanes if lane.remote and not lane.idle]


def sendable(ledger: Ledger) -> Sequence[tuple[int, int]]:
    """Channels whose producer runs and is not back-pressured, with one or two records."""
    found: list[tuple[int, int]] = []
    for lane in ledger.lanes:
        if lane.producing and lane.sent - lane.counted < MOST_IN_FLIGHT:
            found += ((lane.channel, 1), (lane.channel, 2))
    return found


def barriers(ledger: Ledger) -> Sequence[tuple[int, int, str]]:
    """Enables barriers: late ones of recent checkpoints, and those of a new checkpoint when the last one is over. Every
    third checkpoint, from the first on, may be followed by a new one before it is over."""
    known, cuts, last = ledger.checkpoints.known, ledger.history.cuts, len(ledger.history.cuts)
    recent = known[-_OPEN:]
    producing = [lane for lane in ledger.lanes if lane.producing]
    if not producing:
        return DISABLED
    found = [(lane.channel, one, cuts[one].began) for lane in producing for one in recent if one > lane.newest]
    alignment = ledger.alignment
    settled = not known or (alignment.current == known[-1] and not alignment.pending)
    if last < MOST_CHECKPOINTS and (settled or last % 3 == 1):
        for lane in producing:
            if len(lane.unaligned()) < 2:
                found += [(lane.channel, last + 1, one) for one in _ALIGNMENTS[ledger.config.unaligned]]
    return found


def may_convert(ledger: Ledger) -> Sequence[tuple[()]]:
    """Enables the conversion when it loses no state."""
    return NO_OPERANDS if not ledger.converted and ledger.convertible() else DISABLED


def may_request(ledger: Ledger) -> Sequence[tuple[()]]:
    """Enables the request of partitions after the conversion."""
    return NO_OPERANDS if ledger.converted else DISABLED


def awake(ledger: Ledger) -> Sequence[tuple[()]]:
    """Enables a poll of the consumer when it has a reason to poll."""
    return NO_OPERANDS if ledger.consumer.awake else DISABLED


def triggers(ledger: Ledger) -> Sequence[tuple[int]]:
    """Enables the trigger of a new checkpoint before the conversion."""
    last = len(ledger.history.cuts)
    return DISABLED if ledger.converted or last >= MOST_CHECKPOINTS else ((last + 1,),)


def inspectable(ledger: Ledger) -> Sequence[tuple[int]]:
    """The last four checkpoints of this chain. If it has failed, only those of one that broke down."""
    if ledger.failed and not ledger.history.broke:
        return DISABLED
    return [(checkpoint,) for checkpoint in ledger.checkpoints.known[-4:]]


def may_fail(ledger: Ledger) -> Sequence[tuple[()]]:
    """Enables a failure at any moment, but in two chains of three only after a completed checkpoint, so that there are
    checkpoints of restored chains to restore from, or when the chain has broken down."""
    spared = (
        ledger.history.generation % 3
        and not ledger.alignment.triggered
        and not ledger.closing
        and not ledger.history.broke
    )
    return DISABLED if spared else NO_OPERANDS


def restorable(ledger: Ledger) -> Sequence[tuple[int, str]]:
    """Checkpoints that can be restored, with each recovery design that the run allows."""
    return [(checkpoint, recovery) for checkpoint in ledger.restorable() for recovery in ledger.recoveries]


# ---- the producers ---------------------------------------------------------------------------------------------------
@step(
    "producer", RUNNING, when=sendable, begin=Ledger.begin_send, end=Ledger.data_sent, struck=Ledger.break_down,
    weight=16,
)  # fmt: skip
def produce(port: ChainPort, ledger: Ledger, channel: int, records: int) -> Answer[None]:
    sent = ledger.lanes[channel].sent
    return port.produce(channel, tuple(range(sent - records, sent)))


@step(
    "producer", RUNNING, when=barriers, begin=Ledger.begin_barrier, end=Ledger.barrier_sent,
    struck=Ledger.barrier_failed, weight=10,
)  # fmt: skip
def barrier(port: ChainPort, ledger: Ledger, channel: int, checkpoint: int, alignment: str) -> Answer[None]:
    return port.barrier(channel, checkpoint, Alignment(alignment))


@step("producer", CONNECTED, when=producing, begin=Ledger.begin_finish, end=Ledger.sent, weight=1)
def end_of_partition(port: ChainPort, ledger: Ledger, channel: int) -> Answer[None]:
    return port.finish(channel)


@step("producer", RECOVERING, when=output_left, end=Ledger.output_recovered, struck=Ledger.break_down, weight=12)
def recover_output(port: ChainPort, ledger: Ledger, channel: int) -> Answer[None]:
    return port.recover_output(channel)


@step(
    "producer", RECOVERING, when=output_complete, end=Ledger.output_finished, struck=Ledger.break_down, weight=16,
)  # fmt: skip
def finish_output_recovery(port: ChainPort, ledger: Ledger, channel: int) -> Answer[None]:
    return port.finish_output_recovery(channel)


# ---- the network, the recovery and the task --------------------------------------------------------------------------
@step(
    "network", CONNECTED, when=transferable, begin=Ledger.begin_transfer, learn=Ledger.transferred,
    struck=Ledger.transfer_failed, weight=24,
)  # fmt: skip
def transfer(port: ChainPort, ledger: Ledger, channel: int) -> Answer[Element | None]:
    return port.transfer(channel)


@step(
    "recovery", RECOVERING, when=input_left, begin=Ledger.begin, end=Ledger.recovered, struck=Ledger.recover_failed,
    weight=12,
)  # fmt: skip
def recover(port: ChainPort, ledger: Ledger, channel: int) -> Answer[None]:
    return port.recover(channel)


@step("recovery", RECOVERING, when=input_complete, end=Ledger.recovery_finished, weight=16)
def finish_recovery(port: ChainPort, ledger: Ledger, channel: int) -> Answer[None]:
    return port.finish_recovery(channel)


@step("task", STARTING, when=may_convert, end=Ledger.convert, weight=16)
def convert(port: ChainPort, ledger: Ledger) -> Answer[None]:
    return port.convert()


@step("task", STARTING, when=may_request, end=Ledger.request, weight=24)
def request_partitions(port: ChainPort, ledger: Ledger) -> Answer[None]:
    return port.request_partitions()


@step(
    "task", RUNNING, when=awake, begin=Ledger.begin_consume, learn=Ledger.consumed, struck=Ledger.consume_failed,
    weight=28,
)  # fmt: skip
def consume(port: ChainPort, ledger: Ledger) -> Answer[Consumed | None]:
    return port.consume()


@step(
    "task", STARTING, when=triggers, begin=Ledger.begin_trigger, end=Ledger.triggered, struck=Ledger.trigger_failed,
    weight=1,
)  # fmt: skip
def trigger(port: ChainPort, ledger: Ledger, checkpoint: int) -> Answer[None]:
    return port.trigger(checkpoint)


# ---- observation and failure -----------------------------------------------------------------------------------------
@step("observer", RUNNING, when=always, weight=1, in_words=records_by_channel)
def counted(port: ChainPort, ledger: Ledger) -> Answer[tuple[tuple[int, ...], ...]]:
    return port.counted()


@step("observer", ALWAYS, when=inspectable, begin=Ledger.begin_read, end=Ledger.end_read, weight=2)
def snapshot(port: ChainPort, ledger: Ledger, checkpoint: int) -> Answer[ChainCheckpoint]:
    return port.snapshot(checkpoint)


resources = resources_step(STEPS, ALWAYS, weight=1)
fault = fault_step(STEPS, RUNNING, weight=4)
fail = fail_step(STEPS, PRESENT, may_fail, weight=2)


@step("driver", FAILED, when=restorable, begin=Ledger.begin_restore, learn=Ledger.restore, weight=16, fresh_port=True)
def restore(port: ChainPort, ledger: Ledger, checkpoint: int, recovery: str) -> Answer[ChainCheckpoint | None]:
    if checkpoint == 0:
        return None
    return ledger.history.saved.get(checkpoint) or port.snapshot(checkpoint)


# ---- the fair drain --------------------------------------------------------------------------------------------------
def _failed(ledger: Ledger) -> bool:
    return ledger.failed


def _has_failed(ledger: Ledger) -> bool:
    return ledger.failed or ledger.history.broke


_FLOW: tuple[AnyStep, ...] = (
    recover_output, finish_output_recovery, convert, request_partitions, transfer, consume, recover, finish_recovery,
)  # fmt: skip
"""The steps of the fair drain in the order of preference. Steps that may wait for the producer's side come last."""


def _flow(ledger: Ledger) -> Operands | None:
    """Returns the first of these steps that is enabled."""
    for one in _FLOW:
        if ledger.phase in one.during and (possible := one.when(ledger)):
            return one(*possible[0])
    return None


def _missing_barrier(ledger: Ledger) -> Operands | None:
    """Returns a step that sends a missing barrier of the newest checkpoint, unless that checkpoint is over."""
    if (
        _has_failed(ledger)
        or not ledger.checkpoints.known
        or ledger.alignment.was_triggered_or_declined(ledger.checkpoints.known[-1])
    ):
        return None
    last = ledger.checkpoints.known[-1]
    for lane in ledger.lanes:
        if last > lane.newest and not lane.over:
            return barrier(lane.channel, last, ledger.history.cuts[last].began)
    return None


DRAIN = Drain[Ledger](
    While((_flow, _missing_barrier)),
    Once((counted(),), unless=_has_failed),
    Each(lambda ledger: [] if ledger.failed else [snapshot(one) for one in ledger.checkpoints.known]),
    Once((fail(),), unless=_failed),
    Each(lambda ledger: [snapshot(one) for one in ledger.checkpoints.known] if ledger.history.broke else []),
    Once((resources(),)),
)
"""Finish the recovery, complete the last checkpoint, transfer and consume all elements, then read the checkpoints and
release."""


# ---- prefixes that lead to rare states -------------------------------------------------------------------------------
def _one_by_one(*steps: Operands) -> tuple[Operands, ...]:
    """Returns these steps with turns in between, so that each operation is over before the next begins."""
    return tuple(one for step in steps for one in (step, *((FINISH, thread) for thread in THREADS)))


_RECOVER_ALL = (*[recover(0)] * 3, *[recover(1)] * 3, finish_recovery(0), finish_recovery(1))
"""Of use only if recovered data is given to the gate before the conversion."""
_RECOVER = (recover(0), recover(0), recover(1), recover(1), finish_recovery(0), finish_recovery(1))
_CONNECT = (
    convert(), request_partitions(),
    recover_output(0), recover_output(0), finish_output_recovery(0),
    recover_output(1), recover_output(1), finish_output_recovery(1),
    transfer(0), transfer(1), transfer(0), transfer(1),
)  # fmt: skip
_BARRIER = barrier(0, 1, "unaligned")
_COMPLETE = (
    *((FINISH, thread) for thread in ("recovery", "network", "task")),
    *_one_by_one(barrier(1, 1, "unaligned"), transfer(1), consume(), snapshot(1)),
)

A_RECORD_ARRIVES = (
    *_one_by_one(*_RECOVER, *[consume()] * 3, *_CONNECT, *[consume()] * 4, produce(1, 1), _BARRIER, transfer(0)),
    transfer(1), consume(), (RUN, "task", "channel 1 lock"),
)  # fmt: skip
"""Leads to a checkpoint that is about to start while a record arrives."""
A_RECORD_ARRIVED = (*A_RECORD_ARRIVES, (RUN, "task", ""), (FINISH, "network"), *_COMPLETE)
"""A checkpoint that has just started in a channel when a record arrives there, and that completes."""
A_RECORD_IS_PUSHED = (
    *_one_by_one(*_RECOVER_ALL, *_CONNECT, _BARRIER, transfer(0)),
    recover(0), (RUN, "recovery", "drainer lock"), (RUN, "recovery", "drainer lock"), consume(), (FINISH, "task"),
    *_COMPLETE,
)  # fmt: skip
"""A checkpoint that starts, as far as it can, while a recovered record is pushed, and completes."""
MARKED_AND_NOT_STARTED = (
    *_one_by_one(*_RECOVER_ALL, *_CONNECT, _BARRIER),
    consume(), (RUN, "task", "drainer lock"), (RUN, "task", "local channel 0 lock"),
    (RUN, "task", "local channel 0 lock"), recover(0), (FINISH, "recovery"),
)  # fmt: skip
"""Leads to a checkpoint whose recovery barriers are inserted and that has not started."""
A_BARRIER_IS_NOT_WRITTEN = (
    *_one_by_one(*_RECOVER, *[consume()] * 3, *_CONNECT, *[consume()] * 4, barrier(1, 1, "unaligned"), transfer(1)),
    *_one_by_one(consume(), fault(CHANNEL_STATE_WRITER, FaultKind.THROWS.value, 1), produce(0, 1)), _BARRIER, consume(),
    (FINISH, "producer"), (FINISH, "task"),
)  # fmt: skip
"""The last barrier of a checkpoint, whose output state cannot be written while the consumer is about to take it."""
A_RECORD_IS_NOT_WRITTEN = _one_by_one(
    *_RECOVER, *[consume()] * 3, *_CONNECT, *[consume()] * 4, barrier(1, 1, "unaligned"), transfer(1), consume(),
    fault(CHANNEL_STATE_WRITER, FaultKind.THROWS.value, 1), produce(0, 1), transfer(0), consume(),
)  # fmt: skip
"""A record that a checkpoint in progress must hold, and that cannot be written when it arrives or is taken."""
PREFIXES = (
    A_RECORD_ARRIVES, A_RECORD_IS_PUSHED, MARKED_AND_NOT_STARTED, A_RECORD_ARRIVED, A_BARRIER_IS_NOT_WRITTEN,
    A_RECORD_IS_NOT_WRITTEN,
)  # fmt: skip
