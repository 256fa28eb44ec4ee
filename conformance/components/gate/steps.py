"""The steps of an input gate, and of a union of several.

The recovery thread pushes recovered data, the network thread delivers live elements, and the task thread converts the
channels, polls and takes checkpoints. The canceler releases the gate, whatever they do meanwhile. The consumer of a
union polls only for a reason, and asks whether the union is available before it stops polling. A gate of a union is
requested as soon as it is converted, since Flink does both in one mail.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from conformance.components.gate.ledger import Ledger
from conformance.components.gate.side import Gate, Side
from conformance.driver import (
    BROKEN,
    DISABLED,
    NO_OPERANDS,
    Drain,
    Each,
    End,
    Once,
    Operands,
    Seen,
    Step,
    Steps,
    While,
    always,
)
from conformance.models.answers import AVAILABLE, FINISHED, buffers, records_by_channel
from conformance.models.faults import fault_step
from conformance.models.kept import KEPT
from conformance.models.lifetime import cancel_step, fail_step, resources_step, restart_step
from conformance.ports import (
    CHANNEL_RELEASE,
    Answer,
    BufferOrEvent,
    EndOfData,
    EndOfPartition,
    GatePort,
    Recovery,
    RecoveryCompletion,
)
from conformance.ports.elements import Alignment, Barrier, Buffer, Element, Event

NONE, IN_MEMORY, PUSHED = Recovery.NONE, Recovery.IN_MEMORY, Recovery.PUSHED
"""Module variables, because looking up a member of an enumeration is slow in Python 3.11."""

# ---- when steps are enabled ------------------------------------------------------------------------------------------
MOST_QUEUED = 6
"""Number of elements in a channel from which on its producer is back-pressured."""
MOST_CHECKPOINTS = 30

Wanted: TypeAlias = Callable[[Ledger, Side], bool]


# ---- channels for which a step is enabled ----------------------------------------------------------------------------
def channels(wanted: Wanted) -> Callable[[Ledger], Sequence[tuple[int]]]:
    """Enables a step for the channels for which `wanted` is true."""

    def possible(ledger: Ledger) -> Sequence[tuple[int]]:
        found = []  # a comprehension is a call, and most draws find nothing
        for number, side in enumerate(ledger.sides):
            if wanted(ledger, side):
                found.append((number,))
        return found

    return possible


def gates(wanted: Callable[[Gate], bool]) -> Callable[[Ledger], Sequence[tuple[int]]]:
    """Enables a step for the gates for which `wanted` is true."""
    return lambda ledger: [(gate.number,) for gate in ledger.gates if wanted(gate)]


def barriers(wanted: Wanted) -> Callable[[Ledger], Sequence[tuple[int, int]]]:
    """Enables a barrier in the channels for which `wanted` is true.

    Its checkpoint is the newest one, if that barrier was not sent into the channel yet, or the next one.
    """

    def possible(ledger: Ledger) -> Sequence[tuple[int, int]]:
        newest = ledger.checkpoints.newest
        if newest >= MOST_CHECKPOINTS:
            return DISABLED
        return [
            (number, checkpoint)
            for number, side in enumerate(ledger.sides)
            if wanted(ledger, side)
            for checkpoint in ((newest, newest + 1) if side.last_barrier < newest else (newest + 1,))
        ]

    return possible


def finishes(ledger: Ledger, side: Side) -> bool:
    """Whether the end of recovered data may be pushed."""
    return not side.finishing and side.gate.converted == (ledger.recovery is PUSHED)


def recovers(ledger: Ledger, side: Side) -> bool:
    """Whether recovered data may be pushed."""
    return side.pushed < ledger.most_recovered and finishes(ledger, side)


def completes(ledger: Ledger, side: Side) -> bool:
    """Whether the producer has still to send its end of output state, which is its first element."""
    if not side.is_connected():
        return False
    return not side.completion_sent if ledger.union is None else not side.arrived and ledger.recovery is not NONE


def flows(ledger: Ledger, side: Side) -> bool:
    """Whether the producer of the channel may send an element without priority."""
    if side.held_back or side.end_sent or not side.completion_sent or len(side.live) >= MOST_QUEUED:
        return False
    return side.is_connected()


def has_data(ledger: Ledger, side: Side) -> bool:
    """Whether the producer of the channel may send data: it needs credit if it keeps to it."""
    credit = side.credit
    if credit is not None and credit.granted <= 0:
        return False
    return ends_data(ledger, side) and (ledger.union is None or side.may_get_data())


def ends_data(ledger: Ledger, side: Side) -> bool:
    """Whether the producer of the channel may send the end of data."""
    return not side.data_ended and flows(ledger, side)


def backlogs(ledger: Ledger) -> Sequence[tuple[int, int]]:
    """The channels whose producers keep to their credit and may send a backlog, each with some backlogs."""
    return [
        (number, backlog)
        for number, side in enumerate(ledger.sides)
        if side.credit is not None and ends_data(ledger, side)
        for backlog in (0, 1, 3)
    ]


def ends(ledger: Ledger, side: Side) -> bool:
    """Whether the producer of the channel may send the end of partition."""
    return side.data_ended and flows(ledger, side)


def announces(ledger: Ledger, side: Side) -> bool:
    """Whether the producer of the channel may send a timeoutable barrier, which the channel announces."""
    return ledger.union is None and not side.local and not side.urgent and flows(ledger, side)


def overtakes(ledger: Ledger, side: Side) -> bool:
    """Whether the producer of the channel may send an unaligned barrier."""
    if side.end_sent or not side.is_connected():
        return False
    if ledger.union is not None:
        return not side.urgent
    return side.completion_sent and len(side.urgent) < 2 and ledger.checkpoints.moving is not side


def is_blocked(ledger: Ledger, side: Side) -> bool:
    """Whether the task may resume the channel. During recovery, a gate itself resumes all channels, of whose output
    state the task tells it."""
    return side.blocked and (ledger.recovery is NONE or ledger.union is not None or ledger.all_tracked())


def to_track(ledger: Ledger, side: Side) -> bool:
    """Whether the task took the end of output state of the channel and has still to notify the gate of it."""
    return side.completion_taken and not side.tracked and ledger.union is None


def requestable(gate: Gate) -> bool:
    """Whether the partitions of the gate may be requested: once, after the conversion."""
    return gate.converted and not gate.requested


def pollable(ledger: Ledger) -> Sequence[tuple[()]]:
    """Enables a poll: of one gate at any time, of a union for a reason."""
    if ledger.union is None:
        return NO_OPERANDS
    if not ledger.union.has_reason():
        return DISABLED
    if ledger.phase == "joining" and ledger.recovery is IN_MEMORY and any(map(requestable, ledger.gates)):
        return DISABLED  # Flink converts and requests in one mail, so that no poll comes between
    return NO_OPERANDS


tracked = channels(lambda ledger, side: side.tracked)
unended = channels(lambda ledger, side: not side.ended and ledger.union is None)


def unknown(ledger: Ledger) -> Sequence[tuple[int, int]]:
    """Remote channels, each with a sequence number that no barrier has."""
    if not ledger.times_out or ledger.union is not None:
        return DISABLED
    return [(number, 1000) for number, side in enumerate(ledger.sides) if not (side.local or side.ended)]


# ---- checkpoints for which a step is enabled -------------------------------------------------------------------------
def markable(ledger: Ledger) -> Sequence[tuple[int]]:
    """Enables the insertion of recovery barriers for the newest checkpoint, if it has not started, or the next one."""
    newest = ledger.checkpoints.newest
    if ledger.recovery is not PUSHED or ledger.union is not None or newest >= MOST_CHECKPOINTS:
        return DISABLED
    return ((newest,), (newest + 1,)) if newest and newest not in ledger.checkpoints.started else ((newest + 1,),)


def startable(ledger: Ledger) -> Sequence[tuple[int]]:
    """Enables the start of the checkpoint whose recovery barriers were inserted; if there is none, the start of the
    newest checkpoint, of the one before it, or of the next one."""
    checkpoints = ledger.checkpoints
    if checkpoints.marked:
        return ((checkpoints.marked,),)
    if ledger.union is not None:
        return DISABLED
    newest, last = checkpoints.newest, max([0, *checkpoints.started, *checkpoints.stopped])
    if newest >= MOST_CHECKPOINTS:
        return DISABLED
    if checkpoints.stopped and not checkpoints.started and not any(side.last_barrier for side in ledger.sides):
        return ((newest,), (newest + 1,))  # the order to start a checkpoint may come after it was stopped
    if newest - 1 > last:
        return ((newest,), (newest,), (newest - 1,), (newest + 1,))
    return ((newest,), (newest,), (newest + 1,)) if newest > last else ((newest + 1,),)


def started(ledger: Ledger) -> Sequence[tuple[int]]:
    """The last two checkpoints that were started."""
    return [(checkpoint,) for checkpoint in ledger.checkpoints.started[-2:]]


def stoppable(ledger: Ledger) -> Sequence[tuple[int]]:
    """The last two checkpoints that were started; before the conversion also one that was aborted before it started."""
    if ledger.union is not None:
        return DISABLED
    return started(ledger) if ledger.converted else [*started(ledger), (ledger.checkpoints.newest + 1,)]


def announced(ledger: Ledger) -> Sequence[tuple[int, int]]:
    """Announced barriers that, as far as the ledger knows, are queued and the last ones of their channels."""
    if not ledger.times_out:
        return DISABLED
    checkpoints = ledger.checkpoints
    return [
        (channel, seq)
        for (channel, seq), checkpoint in checkpoints.announced.items()
        if checkpoint == ledger.sides[channel].last_barrier
        and checkpoint in ledger.sides[channel].input.barrier_at
        and checkpoint not in checkpoints.stopped
        and not any(started > checkpoint for started in checkpoints.started)
        and ledger.sending is not ledger.sides[channel]
    ]


def releases_in_full(ledger: Ledger) -> Sequence[tuple[()]]:
    """Enables the failure of the task, unless the release of a channel is going to fail: it must leave nothing."""
    return DISABLED if CHANNEL_RELEASE in ledger.faults.armed else NO_OPERANDS


# ---- the steps -------------------------------------------------------------------------------------------------------
RECOVERING = ("recovering",)
TO_CONVERT = ("recovering", "joining")
TO_REQUEST = ("converted", "joining")
LIVE = ("live",)
RESUMABLE = ("live", "joining")
FLOWING = ("converted", "live", "starting", "joining")
POLLABLE = ("recovering", "live", "joining")
PHYSICAL = ("converted", "live")
STARTABLE = ("recovering", "live", "starting")
STOPPABLE = ("recovering", "live")
OPEN = ("recovering", "converted", "live", "starting", "joining")
RELEASED = ("released",)
FAILS = ("failing",)
ENDING = (*OPEN, "failing", BROKEN)
ALWAYS = (*ENDING, KEPT, "released", "failed")

STEPS = Steps[GatePort, Ledger]()
step = STEPS.step


# ---- recovery --------------------------------------------------------------------------------------------------------
@step("recovery", OPEN, when=channels(recovers), begin=Ledger.begin_push, end=Ledger.end_push, weight=16)
def recover(port: GatePort, ledger: Ledger, channel: int) -> Answer[None]:
    return port.recover(channel, ledger.handed_in(channel))


@step("recovery", OPEN, when=channels(finishes), begin=Ledger.begin_finish, end=Ledger.end_push, weight=10)  # fmt: skip
def finish_recovery(port: GatePort, ledger: Ledger, channel: int) -> Answer[None]:
    return port.finish_recovery(channel)


recover_after_release = recover.also(
    "after release", RELEASED, when=channels(finishes), begin=Ledger.begin, end=Ledger.end, weight=4, fails=True
)


# ---- the network -----------------------------------------------------------------------------------------------------
def _arrival(
    name: str, make: Callable[[int], Element], wanted: Wanted, weight: int,
    struck: Callable[[Ledger, Seen[None], int], None] | None = None,
) -> Step[Ledger, None, int]:  # fmt: skip
    """Returns the step in which a live element with the next record or label arrives."""

    def begin(ledger: Ledger, channel: int) -> None:
        ledger.begin_arrival(channel, make(ledger.sides[channel].next_id))

    @step("network", FLOWING, when=channels(wanted), begin=begin, end=Ledger.end_arrival, struck=struck,
          weight=weight, name=name)  # fmt: skip
    def arrive(port: GatePort, ledger: Ledger, channel: int) -> Answer[None]:
        return port.arrive(channel, ledger.arriving, -1)

    return arrive


def _barrier(name: str, alignment: Alignment, wanted: Wanted, weight: int) -> Step[Ledger, None, int, int]:
    """Returns the step in which a barrier with this alignment arrives."""

    def begin(ledger: Ledger, channel: int, checkpoint: int) -> None:
        ledger.begin_arrival(channel, Barrier(checkpoint, alignment))

    @step("network", FLOWING, when=barriers(wanted), begin=begin, end=Ledger.end_arrival, weight=weight, name=name)
    def arrive(port: GatePort, ledger: Ledger, channel: int, checkpoint: int) -> Answer[None]:
        return port.arrive(channel, ledger.arriving, -1)

    return arrive


buffer = _arrival("buffer", lambda record: Buffer((record,)), has_data, 24, Ledger.arrival_failed)
event = _arrival("event", Event, flows, 4)
recovery_completion = _arrival("recovery_completion", lambda label: RecoveryCompletion(), completes, 20)
aligned_barrier = _barrier("aligned_barrier", Alignment.ALIGNED, flows, 3)
timeoutable_barrier = _barrier("timeoutable_barrier", Alignment.TIMEOUTABLE, announces, 6)
unaligned_barrier = _barrier("unaligned_barrier", Alignment.UNALIGNED, overtakes, 10)
end_of_data = _arrival("end_of_data", lambda label: EndOfData(), ends_data, 2)
end_of_partition = _arrival("end_of_partition", lambda label: EndOfPartition(), ends, 4)


def _begin_backlog(ledger: Ledger, channel: int, backlog: int) -> None:
    ledger.begin_arrival(channel, Event(ledger.sides[channel].next_id), backlog)


@step("network", FLOWING, when=backlogs, begin=_begin_backlog, end=Ledger.end_arrival, weight=16)
def event_with_backlog(port: GatePort, ledger: Ledger, channel: int, backlog: int) -> Answer[None]:
    return port.arrive(channel, ledger.arriving, backlog)


# ---- the task --------------------------------------------------------------------------------------------------------
@step("task", TO_CONVERT, when=gates(lambda gate: not gate.converted), begin=Ledger.begin_conversion, end=Ledger.end,
      learn=Ledger.convert, struck=Ledger.setup_failed, fails=True)  # fmt: skip
def convert(port: GatePort, ledger: Ledger, gate: int) -> Answer[None]:
    return port.convert(gate)


convert_again = convert.also(
    "again", PHYSICAL, when=gates(lambda gate: gate.converted), begin=Ledger.begin, end=Ledger.end, weight=2,
    fails=True,
)  # fmt: skip


@step("task", TO_REQUEST, when=gates(requestable), begin=Ledger.begin, end=Ledger.end, learn=Ledger.request,
      struck=Ledger.setup_failed, weight=24)  # fmt: skip
def request_partitions(port: GatePort, ledger: Ledger, gate: int) -> Answer[None]:
    return port.request_partitions(gate)


request_partitions_too_early = request_partitions.also(
    "too early", RECOVERING, when=gates(lambda gate: not gate.converted), begin=Ledger.begin, end=Ledger.end,
    learn=Ledger.request_early, struck=Ledger.setup_failed, weight=1, fails=True,
)  # fmt: skip


@step("task", POLLABLE, when=pollable, begin=Ledger.begin_poll, end=Ledger.end, learn=Ledger.poll,
      struck=Ledger.poll_failed, weight=40)  # fmt: skip
def poll(port: GatePort, ledger: Ledger) -> Answer[BufferOrEvent | None]:
    return port.poll()


poll_the_refusal = poll.also(
    "a refusal is kept", (KEPT,), when=always, begin=Ledger.begin, end=Ledger.end, learn=Ledger.read, weight=40,
    fails=True,
)  # fmt: skip

poll_for_the_error = poll.also(
    "an error is kept", FAILS, when=pollable, begin=Ledger.begin_last_polls, end=Ledger.end, learn=Ledger.last_poll,
    weight=24, fails=True,
)  # fmt: skip

poll_after_release = poll.also(
    "after release", RELEASED, when=always, begin=Ledger.begin, end=Ledger.end, weight=4, fails=True
)


@step("task", RESUMABLE, when=channels(is_blocked), begin=Ledger.begin, end=Ledger.resume, weight=10)
def resume(port: GatePort, ledger: Ledger, channel: int) -> Answer[None]:
    return port.resume(channel)


@step("task", LIVE, when=channels(to_track), begin=Ledger.begin, end=Ledger.end, learn=Ledger.track, weight=16,
      fails=True)  # fmt: skip
def end_of_output_state(port: GatePort, ledger: Ledger, channel: int) -> Answer[None]:
    return port.end_of_output_state(channel)


end_of_output_state_again = end_of_output_state.also(
    "again", LIVE, when=tracked, begin=Ledger.begin, end=Ledger.end, weight=1, fails=True
)


@step("task", LIVE, when=markable, begin=Ledger.begin_mark, end=Ledger.end_mark)
def insert_recovery_barriers(port: GatePort, ledger: Ledger, checkpoint: int) -> Answer[None]:
    return port.insert_recovery_barriers(checkpoint)


@step("task", STARTABLE, when=startable, begin=Ledger.begin_start, end=Ledger.end, learn=Ledger.start,
      struck=Ledger.start_failed, fails=True)  # fmt: skip
def checkpoint_started(port: GatePort, ledger: Ledger, checkpoint: int) -> Answer[None]:
    return port.checkpoint_started(Barrier(checkpoint, Alignment.UNALIGNED))


@step("task", STOPPABLE, when=stoppable, begin=Ledger.begin_stop, end=Ledger.stop, weight=4)
def checkpoint_stopped(port: GatePort, ledger: Ledger, checkpoint: int) -> Answer[None]:
    return port.checkpoint_stopped(checkpoint)


@step("task", LIVE, when=announced, begin=Ledger.begin_move, end=Ledger.end, learn=Ledger.move, weight=16,
      fails=True)  # fmt: skip
def convert_to_priority(port: GatePort, ledger: Ledger, channel: int, seq: int) -> Answer[None]:
    return port.convert_to_priority(channel, seq)


convert_unknown_to_priority = convert_to_priority.also(
    "unknown", LIVE, when=unknown, begin=Ledger.begin, end=Ledger.end, weight=1, fails=True
)


@step("task", ENDING, when=always, begin=Ledger.begin_release, end=Ledger.release, struck=Ledger.release_failed,
      weight=1)  # fmt: skip
def release(port: GatePort, ledger: Ledger) -> Answer[None]:
    return port.release()


# ---- observers -------------------------------------------------------------------------------------------------------
@step("observer", (*OPEN, "failing"), when=always, learn=Ledger.asked, weight=2, in_words=AVAILABLE)
def available(port: GatePort, ledger: Ledger) -> Answer[bool]:
    return port.available()


@step("observer", OPEN, when=always, weight=2, in_words=FINISHED)
def finished(port: GatePort, ledger: Ledger) -> Answer[bool]:
    return port.finished()


@step("observer", OPEN, when=unended, weight=2, in_words=buffers)
def in_use(port: GatePort, ledger: Ledger, channel: int) -> Answer[int]:
    return port.in_use(channel)


@step("observer", ALWAYS, when=started, weight=4, in_words=records_by_channel)
def persisted(port: GatePort, ledger: Ledger, checkpoint: int) -> Answer[tuple[tuple[int, ...], ...]]:
    return port.persisted(checkpoint)


fault = fault_step(STEPS, OPEN, weight=4, when=Ledger.strikable, armed=Ledger.fault_armed)
cancel = cancel_step(STEPS, (*ENDING, KEPT), struck=Ledger.release_failed)
resources = resources_step(STEPS, ALWAYS, weight=4)
fail = fail_step(STEPS, ALWAYS, when=releases_in_full)
restore = restart_step(STEPS, Ledger.restore)

MOVES = (
    buffer, event, aligned_barrier, timeoutable_barrier, unaligned_barrier, recovery_completion, end_of_data,
    end_of_partition, recover, finish_recovery, convert, request_partitions, poll, resume, end_of_output_state,
    convert_to_priority,
)  # fmt: skip
"""Steps after which more can perhaps be polled than before."""
CREDITED = (buffer, event_with_backlog, aligned_barrier, end_of_partition, request_partitions, poll, resume)
"""Steps after which another credit is due than before."""


# ---- the fair drain --------------------------------------------------------------------------------------------------
def _go_on(ledger: Ledger) -> Operands | None:
    if ledger.phase == KEPT:
        return poll_the_refusal()
    if ledger.phase == "failing":
        return _poll(ledger, poll_for_the_error)
    if ledger.union is not None:
        return _flow_together(ledger) if ledger.phase in ("joining", "live") else None
    if ledger.phase == "recovering":
        return _recover(ledger)
    if ledger.phase == "converted":
        return request_partitions(0)
    if ledger.phase == "starting":
        return checkpoint_started(ledger.checkpoints.marked)
    return _flow(ledger) if ledger.phase == "live" else None


def _recover(ledger: Ledger) -> Operands | None:
    if due := _first(finish_recovery, finishes, ledger):
        return due
    if ledger.gates[0].loses() is False:
        return convert(0)
    return _poll(ledger, poll)


def _poll(ledger: Ledger, once_more: Step[Ledger, BufferOrEvent | None]) -> Operands | None:
    """The consumer polls if it has a reason to, and asks for one if it may."""
    if ledger.consumer.awake or ledger.consumer.expects_priority:
        return once_more()
    return available() if ledger.consumer.probe else None


def _flow_together(ledger: Ledger) -> Operands | None:
    """Every gate is converted and requested as soon as that is possible, and the consumer acts on its notifications. If
    one producer has sent the end of data, all producers end."""
    for gate in ledger.gates:
        if not gate.converted and gate.loses() is False:
            return convert(gate.number)
        if requestable(gate):
            return request_partitions(gate.number)
    pushed = ledger.recovery is PUSHED  # pushes wait until the producer has sent its first element
    for side in ledger.sides if pushed else ():
        if not (side.arrived or side.local):
            return recovery_completion(side.number)
    if not ledger.all_ended() and (due := _poll(ledger, poll)):
        return due
    if due := _first(resume, is_blocked, ledger) or _first(finish_recovery, finishes, ledger):
        return due
    if True in [side.data_ended for side in ledger.sides]:
        return _first(end_of_partition, ends, ledger) or _first(end_of_data, ends_data, ledger)
    return None


def _flow(ledger: Ledger) -> Operands | None:
    """The consumer polls as long as it has a reason to. Then blocked producers are resumed, and finally they finish."""
    if due := _first(recovery_completion, completes, ledger) or _first(finish_recovery, finishes, ledger):
        return due
    if ledger.consumer.awake:
        return poll()
    if due := _first(end_of_output_state, to_track, ledger) or _first(resume, is_blocked, ledger):
        return due
    if ledger.checkpoints.running:
        return checkpoint_stopped(ledger.checkpoints.running)
    for number, side in enumerate(ledger.sides):
        if flows(ledger, side):
            return end_of_partition(number) if side.data_ended else end_of_data(number)
    return None


def _first(goes_on: Step[Ledger, None, int], wanted: Wanted, ledger: Ledger) -> Operands | None:
    """Returns this step for the first channel for which `wanted` is true."""
    for number, side in enumerate(ledger.sides):
        if wanted(ledger, side):
            return goes_on(number)
    return None


def _go_on_together(ledger: Ledger) -> Operands | None:
    """The consumer of a union may have been notified that something is available after all."""
    return None if ledger.union is None else _go_on(ledger)


DRAIN = Drain[Ledger](
    While((_go_on,)),
    Once((available(), finished()), unless=lambda ledger: ledger.released or ledger.is_broken()),
    While((_go_on_together,)),
    Once((resources(),), unless=lambda ledger: ledger.union is None or ledger.released or ledger.is_broken()),
    Each(lambda ledger: [persisted(checkpoint) for checkpoint in ledger.checkpoints.started]),
    Once((release(),), unless=lambda ledger: ledger.released),
    Once((resources(),), unless=lambda ledger: ledger.released),  # after a release that has failed
    Once((release(),), unless=lambda ledger: ledger.released),
    Once((resources(),)),
    End(lambda ledger: ledger.flying > 0),  # no operation may still wait here
    Once((fail(),), unless=lambda ledger: ledger.failed or not releases_in_full(ledger)),
)
"""Finish the recovery, let the consumer act on its notifications, finish all producers, read what was written, and
release."""
