"""The steps of a remote channel.

The network thread delivers live elements, the recovery thread pushes recovered data, and the task thread takes
elements, recycles buffers and takes checkpoints.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from conformance.components.remote_channel.ledger import FLOWING, NOTHING, OPEN, Ledger
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
from conformance.models import kept
from conformance.models.answers import IN_RECOVERY, INSERTED, buffers, records
from conformance.models.faults import fault_step
from conformance.models.kept import KEPT
from conformance.models.lifetime import alive, cancel_step, fail_step, resources_step, restart_step
from conformance.ports import (
    CHANNEL_STATE_WRITER,
    PRODUCER,
    SUBPARTITION_REQUEST,
    Alignment,
    Answer,
    Barrier,
    Buffer,
    BufferAndBacklog,
    EndOfPartition,
    Event,
    RecoveryCompletion,
    RemoteChannelPort,
)

# ---- when steps are enabled ------------------------------------------------------------------------------------------
MOST_QUEUED = 6
MOST_RECOVERED = 3
MOST_URGENT = 2
MOST_CHECKPOINTS = 30
MOST_ERRORS = 3

_EARLY = SUBPARTITION_REQUEST, PRODUCER
_LATE = (SUBPARTITION_REQUEST,)
_UNWRITTEN = SUBPARTITION_REQUEST, CHANNEL_STATE_WRITER
_BACKLOGS = ((0,), (1,), (2,), (NOTHING,))
_NO_BACKLOG = ((NOTHING,),)
_UNKNOWN = ((1000,),)
"""A sequence number that no barrier has."""


def _if(wanted: bool) -> Sequence[tuple[()]]:
    return NO_OPERANDS if wanted else DISABLED


def _goes_on(ledger: Ledger) -> bool:
    return not ledger.lane.over and not ledger.releasing


def _flows(ledger: Ledger) -> bool:
    lane = ledger.lane
    return not lane.held_back and len(lane.live) < MOST_QUEUED and not ledger.lane.over and not ledger.releasing


def _lets_priority_in(ledger: Ledger) -> bool:
    return len(ledger.lane.urgent) < MOST_URGENT and not ledger.checkpoints.converting


def sends(ledger: Ledger) -> Sequence[tuple[()]]:
    """Enables an element without priority while the producer is neither blocked, back-pressured nor finished."""
    return _if(_flows(ledger))


def sends_data(ledger: Ledger) -> Sequence[tuple[int]]:
    """Enables live data if the producer has credit and the recovery is over. The operand is the backlog, or
    `NOTHING`."""
    return _BACKLOGS if ledger.credit.granted > 0 and ledger.lane.consumed and _flows(ledger) else DISABLED


def sends_event(ledger: Ledger) -> Sequence[tuple[int]]:
    """Enables an event, which needs no credit. The operand is the backlog, or `NOTHING`."""
    return _BACKLOGS if _flows(ledger) else DISABLED


def _barriers(ledger: Ledger) -> Sequence[tuple[int]]:
    newest = ledger.checkpoints.newest
    if newest >= MOST_CHECKPOINTS:
        return DISABLED
    return ((newest,), (newest + 1,)) if ledger.checkpoints.last_barrier < newest else ((newest + 1,),)


def sends_barrier(ledger: Ledger) -> Sequence[tuple[int]]:
    """Enables the barrier of the newest checkpoint or of the next one."""
    return _barriers(ledger) if _flows(ledger) else DISABLED


def sends_announced_barrier(ledger: Ledger) -> Sequence[tuple[int]]:
    """Enables a timeoutable barrier, which the channel announces, unless too many priority events are queued or one
    is being made."""
    return _barriers(ledger) if _lets_priority_in(ledger) and _flows(ledger) else DISABLED


def sends_unaligned_barrier(ledger: Ledger) -> Sequence[tuple[int]]:
    """Enables an unaligned barrier, also if the producer is blocked, unless too many priority events are queued or one
    is being made."""
    return _barriers(ledger) if _lets_priority_in(ledger) and _goes_on(ledger) else DISABLED


def connected(ledger: Ledger) -> Sequence[tuple[()]]:
    """Enables a step until the end of partition was sent."""
    return _if(_goes_on(ledger))


def may_come_late(ledger: Ledger) -> Sequence[tuple[int]]:
    """Enables data for a released channel, which the network thread has read before the release, a few times."""
    return _NO_BACKLOG if ledger.lane.arrived and not ledger.lane.over and alive(ledger) else DISABLED


def in_recovery_surely(ledger: Ledger) -> Sequence[tuple[int]]:
    """Enables live data in recovery if no other thread can end the recovery during it."""
    return _NO_BACKLOG if not ledger.lane.finishing and not ledger.lane.consumed and _goes_on(ledger) else DISABLED


def may_push(ledger: Ledger) -> Sequence[tuple[()]]:
    """Enables a push until the end of recovered data is pushed, or `MOST_RECOVERED` buffers are."""
    return _if(not ledger.lane.finishing and ledger.lane.pushed < MOST_RECOVERED)


def may_finish(ledger: Ledger) -> Sequence[tuple[()]]:
    """Enables the end of recovered data once, and not while live data arrives that must not come during recovery."""
    return _if(not ledger.lane.finishing and not ledger.connection.sends_in_recovery)


def all_was_pushed(ledger: Ledger) -> Sequence[tuple[()]]:
    """Enables a step after the end of recovered data was pushed."""
    return _if(ledger.is_pushed() and ledger.lane.finished and not ledger.releasing)


def pushes(ledger: Ledger) -> Sequence[tuple[()]]:
    """Enables a step with the recovery design `pushed`."""
    return _if(ledger.is_pushed())


def held(ledger: Ledger) -> Sequence[tuple[int]]:
    """Enables the recycling of one buffer that the task holds, or of all of them."""
    count = ledger.credit.held
    if not count:
        return DISABLED
    return ((1,), (count,)) if count > 1 else ((1,),)


def blocked(ledger: Ledger) -> Sequence[tuple[()]]:
    """Enables the resumption of a blocked producer after the task has taken everything that it sent."""
    return _if(ledger.lane.held_back and not ledger.lane.live)


def markable(ledger: Ledger) -> Sequence[tuple[int]]:
    """Enables the insertion of a recovery barrier for the newest checkpoint, if it was not started, or the
    next."""
    newest = ledger.checkpoints.newest
    if not ledger.is_pushed() or newest >= MOST_CHECKPOINTS:
        return DISABLED
    return (
        ((newest,), (newest + 1,))
        if newest > max(ledger.checkpoints.started, ledger.lane.input.last)
        else ((newest + 1,),)
    )


def startable(ledger: Ledger) -> Sequence[tuple[int]]:
    """Enables the start of the checkpoint whose recovery barrier was inserted; without one, the start of the newest
    checkpoint, if it was not started, of the next one, or of one that was left out."""
    if ledger.lane.marks:
        return [(checkpoint,) for checkpoint in ledger.lane.marks]
    newest, started, state = ledger.checkpoints.newest, ledger.checkpoints.started, ledger.lane.input
    if newest >= MOST_CHECKPOINTS:
        return DISABLED
    if newest > started and (state.received or state.last < newest):
        return ((newest,), (newest + 1,), (newest - 1,)) if newest - 1 > started else ((newest,), (newest + 1,))
    return ((newest + 1,),)


def last_started(ledger: Ledger) -> Sequence[tuple[int]]:
    """The last two checkpoints that started."""
    states = ledger.lane.input.states
    return [(checkpoint,) for checkpoint in list(states)[-2:]] if states else DISABLED


def inspectable(ledger: Ledger) -> Sequence[tuple[int]]:
    """The last two checkpoints that started, and one whose start has failed."""
    failed = ledger.lane.input.failed
    return [*last_started(ledger), *[(checkpoint,) for checkpoint in failed]] if failed else last_started(ledger)


def error_arrives(ledger: Ledger) -> Sequence[tuple[()]]:
    """Enables the arrival of the producer's error, up to `MOST_ERRORS` times."""
    return _if(ledger.connection.producer_failed and ledger.connection.errors < MOST_ERRORS)


def without_error(ledger: Ledger) -> Sequence[tuple[()]]:
    """Enables a step unless an error has come after which credit need not be announced."""
    return _if(not ledger.connection.error_comes)


def strikeable(ledger: Ledger) -> Sequence[tuple[str, str]]:
    """The faults that can strike: the request can fail until it succeeds, and nothing but the producer before that; the
    channel state writer is called if a checkpoint waits for its barrier, or starts while data is queued."""
    if ledger.phase == "new":
        return [(place, kind) for place, kind in ledger.faults.possible() if place in _EARLY]
    lane = ledger.lane
    written = lane.input.pending is not None or bool(lane.live) or bool(lane.waiting)
    never = _LATE if written else _UNWRITTEN
    return [(place, kind) for place, kind in ledger.faults.possible() if place not in never]


def announced(ledger: Ledger) -> Sequence[tuple[int]]:
    """Announced barriers that, as far as the ledger knows, are queued and the last one of the channel."""
    if not ledger.checkpoints.times_out:
        return DISABLED
    state, last = ledger.lane.input, ledger.checkpoints.last_barrier
    if ledger.checkpoints.forgotten or ledger.arriving is not None or not state.received or state.last != last:
        return DISABLED
    return [
        (seq,)
        for seq, checkpoint in ledger.checkpoints.announced.items()
        if checkpoint == last
        and state.barrier_at.get(checkpoint) == ledger.position(seq)
        and any(sent.number == ledger.position(seq) for sent in ledger.lane.live)
    ]


def times_out(ledger: Ledger) -> Sequence[tuple[int]]:
    """Enables an attempt to convert what is not queued, if the alignment of barriers can time out."""
    return _UNKNOWN if ledger.checkpoints.times_out else DISABLED


def outdated(ledger: Ledger) -> Sequence[tuple[int]]:
    """Announced barriers that are queued and certainly not the last one of the channel: a newer one came, or the
    checkpoint was stopped."""
    if not ledger.checkpoints.times_out:
        return DISABLED
    state, last = ledger.lane.input, ledger.checkpoints.last_barrier
    if (
        ledger.arriving is not None
        or ledger.checkpoints.converting
        or ledger.checkpoints.in_flight
        or not ledger.checkpoints.announced
    ):
        return DISABLED
    stopped = state.last == last and not state.received and state.pending is None
    return [
        (seq,)
        for seq, checkpoint in ledger.checkpoints.announced.items()
        if (last in state.barrier_at if checkpoint < last else stopped)
        and any(sent.number == ledger.position(seq) for sent in ledger.lane.live)
    ]


# ---- the steps -------------------------------------------------------------------------------------------------------
NEW = ("new",)
LIVE = ("live",)
RELEASED = ("released",)
RELEASABLE = (*OPEN, BROKEN)
PRESENT = (*OPEN, "released")
ALWAYS = (*RELEASABLE, KEPT, "released", "failed")

STEPS = Steps[RemoteChannelPort, Ledger]()
step = STEPS.step


# ---- the network -----------------------------------------------------------------------------------------------------
@step(
    "task", NEW, when=always, begin=Ledger.begin, end=Ledger.request, learn=Ledger.requested,
    struck=Ledger.request_struck, weight=30, fails=True,
)  # fmt: skip
def request_subpartition(port: RemoteChannelPort, ledger: Ledger) -> Answer[None]:
    return port.request()


request_again = request_subpartition.also(
    "again", LIVE, when=always, begin=Ledger.begin, end=Ledger.end, learn=Ledger.attempt, weight=1, fails=True
)


def _deliver(port: RemoteChannelPort, ledger: Ledger) -> Answer[None]:
    """Delivers the element whose arrival has begun; if none has, delivers the next record, which must be refused."""
    arrival = ledger.arriving
    if arrival is None:
        return port.receive(Buffer((ledger.next_record,)), ledger.number(ledger.lane.arrived), NOTHING)
    return port.receive(arrival.sent.element, ledger.number(arrival.sent.number), arrival.backlog)


def _begin_event(ledger: Ledger, backlog: int) -> None:
    ledger.begin_arrival(Event(ledger.lane.arrived), backlog)


def _begin_completion(ledger: Ledger) -> None:
    ledger.begin_arrival(RecoveryCompletion())


def _begin_end(ledger: Ledger) -> None:
    ledger.begin_arrival(EndOfPartition())


@step(
    "network", FLOWING, when=sends_data, begin=Ledger.begin_data, end=Ledger.end_arrival,
    struck=Ledger.arrival_struck, weight=24,
)  # fmt: skip
def buffer(port: RemoteChannelPort, ledger: Ledger, backlog: int) -> Answer[None]:
    return _deliver(port, ledger)


@step(
    "network", FLOWING, when=sends_event, begin=_begin_event, end=Ledger.end_arrival, struck=Ledger.arrival_struck,
    weight=5,
)  # fmt: skip
def event(port: RemoteChannelPort, ledger: Ledger, backlog: int) -> Answer[None]:
    return _deliver(port, ledger)


def _barrier(kind: Alignment, when: Callable[[Ledger], Sequence[tuple[int]]], weight: int) -> Step[Ledger, None, int]:
    """Returns the step in which a barrier with this alignment arrives."""

    def begin(ledger: Ledger, checkpoint: int) -> None:
        ledger.begin_arrival(Barrier(checkpoint, kind))

    @step(
        "network", FLOWING, when=when, begin=begin, end=Ledger.end_arrival, struck=Ledger.arrival_struck,
        weight=weight, name=f"{kind}_barrier",
    )  # fmt: skip
    def barrier(port: RemoteChannelPort, ledger: Ledger, checkpoint: int) -> Answer[None]:
        return _deliver(port, ledger)

    return barrier


aligned_barrier = _barrier(Alignment.ALIGNED, sends_barrier, weight=3)
timeoutable_barrier = _barrier(Alignment.TIMEOUTABLE, sends_announced_barrier, weight=6)
unaligned_barrier = _barrier(Alignment.UNALIGNED, sends_unaligned_barrier, weight=8)


@step(
    "network", FLOWING, when=sends, begin=_begin_completion, end=Ledger.end_arrival, struck=Ledger.arrival_struck,
    weight=2,
)  # fmt: skip
def recovery_completion(port: RemoteChannelPort, ledger: Ledger) -> Answer[None]:
    return _deliver(port, ledger)


@step("network", FLOWING, when=sends, begin=_begin_end, end=Ledger.end_arrival, struck=Ledger.arrival_struck, weight=1)
def end_of_partition(port: RemoteChannelPort, ledger: Ledger) -> Answer[None]:
    return _deliver(port, ledger)


def _refused(operation: str) -> Callable[[Ledger, Seen[None]], None]:
    """Returns what the ledger learns when an element was refused."""
    return lambda ledger, seen: ledger.refuse(operation, seen)


@step(
    "network", LIVE, when=connected, begin=Ledger.begin, learn=_refused("receive_out_of_order"), weight=0, fails=True
)  # fmt: skip
def receive_out_of_order(port: RemoteChannelPort, ledger: Ledger) -> Answer[None]:
    return port.receive(Event(0), ledger.number(ledger.lane.arrived + 1), NOTHING)


buffer_in_recovery = buffer.also(
    "during recovery", LIVE, when=in_recovery_surely, begin=Ledger.begin_data_in_recovery,
    end=Ledger.end_data_in_recovery, weight=1, fails=True,
)  # fmt: skip


@step(
    "network", LIVE, when=connected, begin=Ledger.begin_backlog_breach, learn=_refused("blocked_with_backlog"),
    weight=0, fails=True,
)  # fmt: skip
def blocked_with_backlog(port: RemoteChannelPort, ledger: Ledger) -> Answer[None]:
    return port.receive(RecoveryCompletion(), ledger.number(ledger.lane.arrived), 1)


def _begin_late(ledger: Ledger, backlog: int) -> None:
    ledger.begin()
    ledger.begin_afterwards()


buffer_late = buffer.also(
    "after release", RELEASED, when=may_come_late, begin=_begin_late, end=Ledger.end, weight=4, fails=True
)


@step(
    "network", PRESENT, when=error_arrives, begin=Ledger.begin_error, end=Ledger.end, learn=Ledger.end_error,
    struck=Ledger.error_struck, weight=6,
)  # fmt: skip
def producer_fails(port: RemoteChannelPort, ledger: Ledger) -> Answer[None]:
    return port.receive(Event(0), ledger.number(ledger.lane.arrived), NOTHING)


# ---- recovery --------------------------------------------------------------------------------------------------------
@step("recovery", FLOWING, when=may_push, begin=Ledger.begin_push, end=Ledger.end_push, weight=14)
def push_recovered(port: RemoteChannelPort, ledger: Ledger) -> Answer[None]:
    is_late = ledger.lane.finishing or ledger.released
    return port.push_recovered(Buffer((ledger.next_record,)) if is_late else ledger.lane.being_pushed())


@step("recovery", FLOWING, when=may_finish, begin=Ledger.begin_finish, end=Ledger.end_finish, weight=6)
def finish_recovered(port: RemoteChannelPort, ledger: Ledger) -> Answer[None]:
    return port.finish_recovered()


push_late = push_recovered.also(
    "after the end", LIVE, when=all_was_pushed, begin=Ledger.begin, end=Ledger.end, weight=1, fails=True
)
push_after_release = push_recovered.also(
    "after release", RELEASED, when=pushes, begin=Ledger.begin, end=Ledger.end, weight=1, fails=True
)


# ---- the task --------------------------------------------------------------------------------------------------------
@step(
    "task", LIVE, when=always, begin=Ledger.begin_take, end=Ledger.end, learn=Ledger.take, struck=Ledger.take_struck,
    weight=30, fails=True,
)  # fmt: skip
def take(port: RemoteChannelPort, ledger: Ledger) -> Answer[BufferAndBacklog | None]:
    return port.take()


take_the_error = take.also(
    "an error is kept", (KEPT,), when=always, begin=Ledger.begin, learn=kept.read, weight=30, fails=True
)


@step(
    "task", ("live", "released"), when=held, begin=Ledger.begin_recycle, end=Ledger.end_recycle, learn=Ledger.attempt,
    struck=Ledger.recycle_struck, fails=True,
)  # fmt: skip
def recycle(port: RemoteChannelPort, ledger: Ledger, count: int) -> Answer[None]:
    return port.recycle(count)


@step(
    "task", LIVE, when=blocked, begin=Ledger.begin, end=Ledger.resume, learn=Ledger.attempt,
    struck=Ledger.resume_struck, weight=16, fails=True,
)  # fmt: skip
def resume(port: RemoteChannelPort, ledger: Ledger) -> Answer[None]:
    return port.resume()


@step("task", LIVE, when=markable, begin=Ledger.begin_mark, end=Ledger.end_mark, in_words=INSERTED)
def insert_recovery_barrier(port: RemoteChannelPort, ledger: Ledger, checkpoint: int) -> Answer[bool]:
    return port.insert_recovery_barrier(checkpoint)


@step(
    "task", FLOWING, when=startable, begin=Ledger.begin_start, end=Ledger.end, learn=Ledger.start,
    struck=Ledger.start_struck, fails=True,
)  # fmt: skip
def checkpoint_started(port: RemoteChannelPort, ledger: Ledger, checkpoint: int) -> Answer[None]:
    return port.checkpoint_started(Barrier(checkpoint, Alignment.UNALIGNED))


@step("task", LIVE, when=last_started, begin=Ledger.begin_stop, end=Ledger.stop, weight=4)
def checkpoint_stopped(port: RemoteChannelPort, ledger: Ledger, checkpoint: int) -> Answer[None]:
    return port.checkpoint_stopped(checkpoint)


@step("task", LIVE, when=announced, begin=Ledger.begin_move, end=Ledger.move, weight=16, fails=True)
def convert_to_priority(port: RemoteChannelPort, ledger: Ledger, seq: int) -> Answer[None]:
    return port.convert_to_priority(seq)


def _end_unknown(ledger: Ledger, seq: int) -> None:
    ledger.end()


convert_unknown = convert_to_priority.also(
    "unknown", LIVE, when=times_out, begin=Ledger.begin, end=_end_unknown, weight=1, fails=True
)
convert_outdated = convert_to_priority.also(
    "outdated", LIVE, when=outdated, begin=Ledger.begin, end=Ledger.lose_the_connection, weight=0, fails=True
)
resume_late = resume.also(
    "after release", RELEASED, when=always, begin=Ledger.begin, end=Ledger.end, weight=1, fails=True
)


@step("task", RELEASABLE, when=always, begin=Ledger.begin_release, end=Ledger.release, weight=1)
def release(port: RemoteChannelPort, ledger: Ledger) -> Answer[None]:
    return port.release()


cancel = cancel_step(STEPS, RELEASABLE)


# ---- observers, failure and restart ----------------------------------------------------------------------------------
@step("observer", OPEN, when=always, weight=2, in_words=buffers)
def in_use(port: RemoteChannelPort, ledger: Ledger) -> Answer[int]:
    return port.in_use()


@step("observer", OPEN, when=always, weight=2, in_words=IN_RECOVERY)
def in_recovery(port: RemoteChannelPort, ledger: Ledger) -> Answer[bool]:
    return port.in_recovery()


@step("observer", OPEN, when=without_error, weight=4, in_words=buffers)
def free_for_live(port: RemoteChannelPort, ledger: Ledger) -> Answer[int]:
    return port.free_for_live()


@step("observer", ALWAYS, when=inspectable, weight=4, in_words=records)
def persisted(port: RemoteChannelPort, ledger: Ledger, checkpoint: int) -> Answer[tuple[int, ...]]:
    return port.persisted(checkpoint)


fault = fault_step(STEPS, OPEN, when=strikeable, armed=Ledger.fault_armed, once=_LATE, weight=4)
resources = resources_step(STEPS, ALWAYS)
fail = fail_step(STEPS, ALWAYS)
restore = restart_step(STEPS, Ledger.restore)


# ---- the fair drain --------------------------------------------------------------------------------------------------
def _due(ledger: Ledger) -> Operands | None:
    """While the channel is open, finishes the recovery and takes all elements."""
    lane, held = ledger.lane, ledger.credit.held
    if ledger.still_waits():  # the next element would hide it
        return None
    if ledger.phase == KEPT:
        return take()
    if ledger.phase not in OPEN:
        return None
    if ledger.connection.producer_failed and not ledger.connection.errors:
        return producer_fails()
    if ledger.phase == "new":
        return request_subpartition()
    for checkpoint in lane.marks:
        return checkpoint_started(checkpoint)
    if ledger.connection.error_came:
        return take() if ledger.consumer.awake else None
    if not lane.arrived:  # pushes wait until the producer sends an element, which a blocked or finished one cannot
        return release() if lane.held_back or ledger.lane.over else event(NOTHING)
    if not lane.finishing:
        return finish_recovered()
    if ledger.consumer.awake:
        return take()
    return recycle(held) if held else None


DRAIN = Drain[Ledger](
    While((_due,)),
    End(Ledger.still_waits),
    Once((free_for_live(),), unless=lambda ledger: ledger.phase not in OPEN or ledger.connection.error_comes),
    Each(
        lambda ledger: [persisted(checkpoint) for checkpoint in (*ledger.lane.input.states, *ledger.lane.input.failed)]
    ),
    Once((resources(), release()), unless=lambda ledger: ledger.released),
    Once((resources(),)),
    End(lambda ledger: ledger.flying > 0),
    Once((fail(),), unless=lambda ledger: ledger.failed),
)
"""Finish the recovery, take all elements, read the credit, what was written and what is held, and release."""
