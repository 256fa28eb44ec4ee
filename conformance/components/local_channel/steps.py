"""The steps of a local channel.

The producer adds live elements, the recovery thread pushes recovered data, and the task thread takes elements, starts
and stops checkpoints, and resumes the channel.
"""

from __future__ import annotations

from collections.abc import Sequence

from conformance.components.local_channel.ledger import Ledger
from conformance.driver import DISABLED, NO_OPERANDS, Drain, Each, End, Once, Step, Steps, While, always, drain
from conformance.models.answers import ADDED, IN_RECOVERY, INSERTED, buffers, records
from conformance.models.faults import fault_step
from conformance.models.lifetime import MOST_AFTERWARDS, alive, cancel_step, fail_step, resources_step
from conformance.ports import (
    PRODUCER,
    SUBPARTITION_REQUEST,
    Alignment,
    Answer,
    Barrier,
    Buffer,
    BufferAndBacklog,
    Element,
    EndOfPartition,
    Event,
    LocalChannelPort,
    Recovery,
    RecoveryCompletion,
)

MOST_QUEUED = 8
"""Number of queued elements from which on the producer, or the recovery thread, is back-pressured."""

OPEN = ("open",)
LIVING = ("open", "ended")
OVER = ("ended", "released")
PRESENT = ("open", "ended", "released")
FAILED = ("failed",)
ALWAYS = ("open", "ended", "broken", "released", "failed")

STEPS = Steps[LocalChannelPort, Ledger]()
step = STEPS.step


# ---- when a step is enabled ------------------------------------------------------------------------------------------
def room(ledger: Ledger) -> Sequence[tuple[()]]:
    """Enables an add unless the producer is back-pressured, or has failed."""
    return NO_OPERANDS if len(ledger.lane.live) < MOST_QUEUED and not ledger.producer_has_failed() else DISABLED


def next_barriers(ledger: Ledger) -> Sequence[tuple[int]]:
    """Enables the barrier of a newer checkpoint than that of the last barrier; the checkpoint may have started
    before."""
    newest, before = ledger.checkpoints.newest, ledger.checkpoints.last_barrier
    if len(ledger.lane.live) >= MOST_QUEUED or len(ledger.lane.urgent) >= 3 or ledger.producer_has_failed():
        return DISABLED
    if newest > before + 1:
        return ((before + 1,), (newest,), (newest,), (newest + 1,))
    return ((newest,), (newest + 1,)) if newest > before else ((newest + 1,), (newest + 2,))


def may_push(ledger: Ledger) -> Sequence[tuple[()]]:
    """Enables a push until the end of recovered data, unless the recovery thread is back-pressured."""
    lane = ledger.lane
    if lane.finishing or ledger.afterlife >= MOST_AFTERWARDS:
        return DISABLED
    return DISABLED if len(lane.waiting) >= MOST_QUEUED or ledger.push.to_recover == [] else NO_OPERANDS


def may_finish(ledger: Ledger) -> Sequence[tuple[()]]:
    """Enables the end of recovered data once, when all records that must be recovered were pushed."""
    return DISABLED if ledger.lane.finishing or ledger.push.to_recover else NO_OPERANDS


def may_push_after_end(ledger: Ledger) -> Sequence[tuple[()]]:
    """Enables a push after the task took the end of recovered data."""
    return NO_OPERANDS if ledger.config.recovery is Recovery.PUSHED and ledger.lane.consumed else DISABLED


def may_request(ledger: Ledger) -> Sequence[tuple[()]]:
    """Enables the request of the subpartition, and a second one, which must change nothing, early in a run. A released
    channel must refuse it."""
    if ledger.released:
        return alive(ledger)
    return DISABLED if ledger.view.attached and (ledger.restored or ledger.seq) else NO_OPERANDS


def may_take(ledger: Ledger) -> Sequence[tuple[()]]:
    """Enables a take, except between a recovery barrier and the start of its checkpoint: there the task does nothing
    else."""
    if ledger.released:
        return alive(ledger)
    return (
        NO_OPERANDS if (ledger.view.attached or ledger.consumer.awake) and not ledger.checkpoints.marked else DISABLED
    )


def may_resume(ledger: Ledger) -> Sequence[tuple[()]]:
    """Enables the resumption of a blocked channel or of a released one."""
    return alive(ledger) if ledger.lane.blocked or ledger.released else DISABLED


def markable(ledger: Ledger) -> Sequence[tuple[int]]:
    """Enables a recovery barrier, unless one is inserted already. Without recovered data that is pushed, only for the
    first checkpoints, because little can happen."""
    return (
        DISABLED
        if ledger.checkpoints.marked
        or (ledger.config.recovery is not Recovery.PUSHED and ledger.checkpoints.newest > 2)
        else _next_starts(ledger)
    )


def startable(ledger: Ledger) -> Sequence[tuple[int]]:
    """Enables the start of the checkpoint whose recovery barrier was inserted, or of the one before it."""
    marked = ledger.checkpoints.marked
    if not marked:
        return _next_starts(ledger)
    over = max(ledger.checkpoints.started, ledger.checkpoints.stopped)
    return ((marked,), (marked,), (marked,), (marked - 1,)) if marked - 1 > over else ((marked,),)


def _next_starts(ledger: Ledger) -> Sequence[tuple[int]]:
    """Enables the start of a newer checkpoint, whether its barrier was taken, is queued, or was not sent."""
    input = ledger.lane.input
    over, newest, came = (
        max(ledger.checkpoints.started, ledger.checkpoints.stopped),
        ledger.checkpoints.newest,
        input.last,
    )
    if input.received and came > over:
        return ((came,), (came - 1,), (newest + 1,)) if came - 1 > over else ((came,), (newest + 1,))
    return ((newest,), (newest + 1,)) if newest > over else ((newest + 1,), (newest + 2,))


def stoppable(ledger: Ledger) -> Sequence[tuple[int]]:
    """Enables the stop of the checkpoint whose recovery barrier was inserted, or of the one before it; without one, of
    the last checkpoint that was started, of the one before it, or of one that no step has named."""
    started, newest, marked = ledger.checkpoints.started, ledger.checkpoints.newest, ledger.checkpoints.marked
    if marked:
        return ((marked,), (marked - 1,)) if marked > 1 else ((marked,),)
    return ((started,), (started - 1,), (newest + 1,)) if started > 1 else ((newest + 1,),)


def inspectable(ledger: Ledger) -> Sequence[tuple[int]]:
    """Every checkpoint that was started, and the last two whose start was refused."""
    input = ledger.lane.input
    return [(checkpoint,) for checkpoint in (*input.states, *input.failed[-2:])]


def restorable(ledger: Ledger) -> Sequence[tuple[int]]:
    """The checkpoints whose input state is complete."""
    return ledger.lane.input.restorable()


def strikeable(ledger: Ledger) -> Sequence[tuple[str, str]]:
    """The faults that can strike: the request can fail until it succeeds, and the producer fails after that."""
    never = SUBPARTITION_REQUEST if ledger.view.attached else PRODUCER
    return [(place, kind) for place, kind in ledger.faults.possible() if place != never]


def may_fail(ledger: Ledger) -> Sequence[tuple[()]]:
    """Enables a failure, unless a release has still to end a push or an add that is in flight."""
    return DISABLED if ledger.released and (ledger.push.in_flight or ledger.adding) else NO_OPERANDS


# ---- the producer ----------------------------------------------------------------------------------------------------
@step("producer", OPEN, when=room, begin=Ledger.begin_data, end=Ledger.end_add, weight=28, in_words=ADDED)
def add_buffer(port: LocalChannelPort, ledger: Ledger) -> Answer[bool]:
    return port.add(ledger.lane.live[-1].element if ledger.adding else Buffer((ledger.next_record,)))


def _add_step(name: str, element: Element, weight: int) -> Step[Ledger, bool]:
    def begin(ledger: Ledger) -> None:
        ledger.begin_add(element)

    @step("producer", OPEN, when=room, begin=begin, end=Ledger.end_add, weight=weight, name=name, in_words=ADDED)
    def add_element(port: LocalChannelPort, ledger: Ledger) -> Answer[bool]:
        return port.add(element)

    return add_element


def _barrier_step(name: str, alignment: Alignment, weight: int) -> Step[Ledger, bool, int]:
    def begin(ledger: Ledger, checkpoint: int) -> None:
        ledger.begin_barrier(Barrier(checkpoint, alignment))

    @step(
        "producer", OPEN, when=next_barriers, begin=begin, end=Ledger.end_add, weight=weight, name=name, in_words=ADDED
    )
    def add_barrier(port: LocalChannelPort, ledger: Ledger, checkpoint: int) -> Answer[bool]:
        return port.add(Barrier(checkpoint, alignment))

    return add_barrier


add_event = _add_step("add_event", Event(0), 6)
aligned_barrier = _barrier_step("aligned_barrier", Alignment.ALIGNED, 8)
timeoutable_barrier = _barrier_step("timeoutable_barrier", Alignment.TIMEOUTABLE, 6)
unaligned_barrier = _barrier_step("unaligned_barrier", Alignment.UNALIGNED, 16)
recovery_completion = _add_step("recovery_completion", RecoveryCompletion(), 6)


@step("producer", OPEN, when=room, begin=Ledger.begin_end, end=Ledger.end_add, weight=1, in_words=ADDED)
def end_of_partition(port: LocalChannelPort, ledger: Ledger) -> Answer[bool]:
    return port.add(EndOfPartition())


add_late = add_buffer.also("after the end", OVER, when=alive, begin=Ledger.begin_afterwards, weight=4)


# ---- the recovery thread ---------------------------------------------------------------------------------------------
@step("recovery", PRESENT, when=may_push, begin=Ledger.begin_push, end=Ledger.end_push, weight=28, fails=True)
def push_recovered(port: LocalChannelPort, ledger: Ledger) -> Answer[None]:
    is_late = ledger.push.too_late or ledger.lane.consumed
    return port.push_recovered(Buffer((ledger.next_record,)) if is_late else ledger.lane.being_pushed())


@step("recovery", PRESENT, when=may_finish, begin=Ledger.begin_finish, end=Ledger.end_finish, weight=4, fails=True)
def finish_recovered(port: LocalChannelPort, ledger: Ledger) -> Answer[None]:
    return port.finish_recovered()


push_late = push_recovered.also("after the end", LIVING, when=may_push_after_end, weight=2, fails=True)


# ---- the task --------------------------------------------------------------------------------------------------------
@step("task", PRESENT, when=may_request, begin=Ledger.begin_request, end=Ledger.request, struck=Ledger.request_struck,
      fails=True)  # fmt: skip
def request_subpartition(port: LocalChannelPort, ledger: Ledger) -> Answer[None]:
    return port.request()


@step("task", PRESENT, when=may_take, begin=Ledger.begin_take, learn=Ledger.take, struck=Ledger.break_down,
      weight=48, fails=True)  # fmt: skip
def take(port: LocalChannelPort, ledger: Ledger) -> Answer[BufferAndBacklog | None]:
    return port.take()


@step("task", PRESENT, when=may_resume, begin=Ledger.begin_afterwards, end=Ledger.resume, weight=16, fails=True)
def resume(port: LocalChannelPort, ledger: Ledger) -> Answer[None]:
    return port.resume()


@step("task", LIVING, when=markable, begin=Ledger.begin_mark, end=Ledger.end_mark, weight=12, in_words=INSERTED)
def insert_recovery_barrier(port: LocalChannelPort, ledger: Ledger, checkpoint: int) -> Answer[bool]:
    return port.insert_recovery_barrier(checkpoint)


@step("task", LIVING, when=startable, begin=Ledger.begin_start, learn=Ledger.start, struck=Ledger.break_down,
      weight=12, fails=True)  # fmt: skip
def checkpoint_started(port: LocalChannelPort, ledger: Ledger, checkpoint: int) -> Answer[None]:
    return port.checkpoint_started(Barrier(checkpoint, Alignment.UNALIGNED))


@step("task", LIVING, when=stoppable, begin=Ledger.begin_stop, end=Ledger.stop, weight=6)
def checkpoint_stopped(port: LocalChannelPort, ledger: Ledger, checkpoint: int) -> Answer[None]:
    return port.checkpoint_stopped(checkpoint)


@step("task", (*PRESENT, "broken"), when=alive, begin=Ledger.begin_release, end=Ledger.release, weight=1)
def release(port: LocalChannelPort, ledger: Ledger) -> Answer[None]:
    return port.release()


cancel = cancel_step(STEPS, (*LIVING, "broken"))


# ---- observers and the driver ----------------------------------------------------------------------------------------
@step("observer", LIVING, when=always, weight=2, in_words=IN_RECOVERY)
def in_recovery(port: LocalChannelPort, ledger: Ledger) -> Answer[bool]:
    return port.in_recovery()


@step("observer", LIVING, when=always, weight=6, in_words=buffers)
def in_use(port: LocalChannelPort, ledger: Ledger) -> Answer[int]:
    return port.in_use()


@step("observer", ALWAYS, when=inspectable, weight=2, in_words=records)
def persisted(port: LocalChannelPort, ledger: Ledger, checkpoint: int) -> Answer[tuple[int, ...]]:
    return port.persisted(checkpoint)


fault = fault_step(STEPS, LIVING, when=strikeable, once=(SUBPARTITION_REQUEST,))
resources = resources_step(STEPS, ALWAYS)
fail = fail_step(STEPS, ALWAYS, when=may_fail)


@step("driver", FAILED, when=restorable, learn=Ledger.restore, weight=16, fresh_port=True, in_words=records)
def restore(port: LocalChannelPort, ledger: Ledger, checkpoint: int) -> Answer[tuple[int, ...]]:
    return port.persisted(checkpoint)


# ---- the fair drain --------------------------------------------------------------------------------------------------
def _due(ledger: Ledger) -> drain.Step | None:
    """Finishes the recovery, and lets the consumer act on its notifications."""
    if ledger.released or ledger.is_broken():
        return None
    if ledger.checkpoints.marked:
        return checkpoint_stopped(ledger.checkpoints.marked)
    if not ledger.view.attached:
        return request_subpartition()
    if not ledger.lane.finishing:
        return push_recovered() if ledger.push.to_recover else finish_recovered()
    if ledger.producer_has_failed() and not ledger.lane.is_hiding():
        return resume() if ledger.lane.blocked else take()
    if ledger.consumer.awake:
        return take()
    return resume() if ledger.lane.blocked else None


def _inspections(ledger: Ledger) -> list[drain.Step]:
    input = ledger.lane.input
    return [persisted(checkpoint) for checkpoint in (*input.states, *input.failed)]


def _released(ledger: Ledger) -> bool:
    return ledger.released


def _over(ledger: Ledger) -> bool:
    return ledger.released or ledger.is_broken()


def _failed(ledger: Ledger) -> bool:
    return ledger.failed


DRAIN = Drain[Ledger](
    While((_due,)),
    Once((release(),), unless=lambda ledger: not ledger.is_broken()),  # it ends a push that waits for the request
    End(lambda ledger: ledger.push.in_flight or ledger.adding),  # no push or add may still wait here
    Once((in_use(),), unless=_over),
    Each(_inspections),
    Once((resources(),)),
    Once((release(), resources()), unless=_released),
    Once((fail(), resources()), unless=_failed),
)
"""Deliver all elements, read what was written, release, and fail."""
