"""The steps of a remote channel.

The network thread delivers live elements, the recovery thread pushes recovered data, and the task thread takes
elements, recycles buffers and takes checkpoints.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from conformance.components.remote_channel.enabling import (
    all_was_pushed,
    announced,
    blocked,
    connected,
    error_arrives,
    held,
    in_recovery_surely,
    inspectable,
    last_started,
    markable,
    may_come_late,
    may_finish,
    may_push,
    outdated,
    pushes,
    sends,
    sends_announced_barrier,
    sends_barrier,
    sends_data,
    sends_event,
    sends_unaligned_barrier,
    startable,
    strikeable,
    times_out,
    without_error,
)
from conformance.components.remote_channel.ledger import Ledger
from conformance.components.remote_channel.state import FLOWING, NOTHING, OPEN
from conformance.driver import BROKEN, Drain, Each, End, Once, Operands, Seen, Step, Steps, While, always
from conformance.parts import kept
from conformance.parts.answers import IN_RECOVERY, INSERTED, buffers, records
from conformance.parts.faults import fault_step
from conformance.parts.kept import KEPT
from conformance.parts.lifetime import cancel_step, fail_step, resources_step, restart_step
from conformance.ports import (
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


@step("task", LIVE, when=always, begin=Ledger.begin, end=Ledger.end, learn=Ledger.attempt, weight=1, fails=True)
def request_subpartition_again(port: RemoteChannelPort, ledger: Ledger) -> Answer[None]:
    return port.request()


def _deliver(port: RemoteChannelPort, ledger: Ledger) -> Answer[None]:
    """Delivers the element whose arrival has begun."""
    sent = ledger.arriving
    assert sent is not None
    return port.receive(sent.element, ledger.number(sent.number), ledger.said)


def _begin_event(ledger: Ledger, backlog: int) -> None:
    ledger.begin_arrival(Event(ledger.lane.arrived), backlog)


def _begin_completion(ledger: Ledger) -> None:
    ledger.begin_arrival(RecoveryCompletion())


def _begin_end(ledger: Ledger) -> None:
    ledger.begin_last(EndOfPartition())


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


@step(
    "network", LIVE, when=in_recovery_surely, begin=Ledger.begin_trespass, end=Ledger.end_trespass, weight=1, fails=True
)  # fmt: skip
def buffer_in_recovery(port: RemoteChannelPort, ledger: Ledger) -> Answer[None]:
    return port.receive(Buffer((ledger.records,)), ledger.number(ledger.lane.arrived), NOTHING)


@step(
    "network", LIVE, when=connected, begin=Ledger.begin_backlog_breach, learn=_refused("blocked_with_backlog"),
    weight=0, fails=True,
)  # fmt: skip
def blocked_with_backlog(port: RemoteChannelPort, ledger: Ledger) -> Answer[None]:
    return port.receive(RecoveryCompletion(), ledger.number(ledger.lane.arrived), 1)


def _begin_late(ledger: Ledger) -> None:
    ledger.begin()
    ledger.begin_afterwards()


@step("network", RELEASED, when=may_come_late, begin=_begin_late, end=Ledger.end, weight=4, fails=True)
def buffer_after_release(port: RemoteChannelPort, ledger: Ledger) -> Answer[None]:
    return port.receive(Buffer((ledger.records,)), ledger.number(ledger.lane.arrived), NOTHING)


@step(
    "network", PRESENT, when=error_arrives, begin=Ledger.begin_error, end=Ledger.end, learn=Ledger.end_error,
    struck=Ledger.error_struck, weight=6,
)  # fmt: skip
def producer_fails(port: RemoteChannelPort, ledger: Ledger) -> Answer[None]:
    return port.receive(Event(0), ledger.number(ledger.lane.arrived), NOTHING)


# ---- recovery --------------------------------------------------------------------------------------------------------
@step("recovery", FLOWING, when=may_push, begin=Ledger.begin_push, end=Ledger.end_push, weight=14)
def push_recovered(port: RemoteChannelPort, ledger: Ledger) -> Answer[None]:
    return port.push_recovered(ledger.lane.being_pushed())


@step("recovery", FLOWING, when=may_finish, begin=Ledger.begin_finish, end=Ledger.end_finish, weight=6)
def finish_recovered(port: RemoteChannelPort, ledger: Ledger) -> Answer[None]:
    return port.finish_recovered()


@step("recovery", LIVE, when=all_was_pushed, begin=Ledger.begin, end=Ledger.end, weight=1, fails=True)
def push_after_end(port: RemoteChannelPort, ledger: Ledger) -> Answer[None]:
    return port.push_recovered(Buffer((ledger.records,)))


@step("recovery", RELEASED, when=pushes, begin=Ledger.begin, end=Ledger.end, weight=1, fails=True)
def push_after_release(port: RemoteChannelPort, ledger: Ledger) -> Answer[None]:
    return port.push_recovered(Buffer((ledger.records,)))


# ---- the task --------------------------------------------------------------------------------------------------------
@step(
    "task", LIVE, when=always, begin=Ledger.begin_take, end=Ledger.end, learn=Ledger.take, struck=Ledger.take_struck,
    weight=30, fails=True,
)  # fmt: skip
def take(port: RemoteChannelPort, ledger: Ledger) -> Answer[BufferAndBacklog | None]:
    return port.take()


@step("task", (KEPT,), when=always, begin=Ledger.begin, learn=kept.read, weight=30, fails=True)
def take_the_error(port: RemoteChannelPort, ledger: Ledger) -> Answer[BufferAndBacklog | None]:
    return port.take()


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


@step("task", LIVE, when=times_out, begin=Ledger.begin, end=Ledger.end, weight=1, fails=True)
def convert_unknown_to_priority(port: RemoteChannelPort, ledger: Ledger) -> Answer[None]:
    return port.convert_to_priority(1000)


@step("task", LIVE, when=outdated, begin=Ledger.begin, end=Ledger.lose_the_connection, weight=0, fails=True)
def convert_outdated_to_priority(port: RemoteChannelPort, ledger: Ledger, seq: int) -> Answer[None]:
    return port.convert_to_priority(seq)


@step("task", RELEASED, when=always, begin=Ledger.begin, end=Ledger.end, weight=1, fails=True)
def resume_after_release(port: RemoteChannelPort, ledger: Ledger) -> Answer[None]:
    return port.resume()


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


fault = fault_step(STEPS, OPEN, when=strikeable, armed=Ledger.fault_armed, weight=4)
resources = resources_step(STEPS, ALWAYS)
fail = fail_step(STEPS, ALWAYS)
restore = restart_step(STEPS, Ledger.restore)


# ---- the fair drain --------------------------------------------------------------------------------------------------
def _due(ledger: Ledger) -> Operands | None:
    """While the channel is open, finishes the recovery and takes all elements."""
    lane, held = ledger.lane, ledger.credit.held
    if ledger.phase == KEPT:
        return take_the_error()
    if ledger.phase not in OPEN:
        return None
    if ledger.producer_failed and not ledger.errors:
        return producer_fails()
    if ledger.phase == "new":
        return request_subpartition()
    for checkpoint in lane.marks:
        return checkpoint_started(checkpoint)
    if ledger.error_came:
        return take() if ledger.notice.awake else None
    if not lane.arrived:  # pushes wait until the producer sends an element, which a blocked or finished one cannot
        return release() if lane.blocked or ledger.over else event(NOTHING)
    if not lane.finishing:
        return finish_recovered()
    if ledger.notice.awake:
        return take()
    return recycle(held) if held else None


DRAIN = Drain[Ledger](
    While((_due,)),
    Once((free_for_live(),), unless=lambda ledger: ledger.phase not in OPEN or ledger.error_comes),
    Each(lambda ledger: [persisted(checkpoint) for checkpoint in (*ledger.input.states, *ledger.input.failed)]),
    Once((release(),), unless=lambda ledger: ledger.released),
    Once((resources(),)),
    End(lambda ledger: ledger.flying > 0),
    Once((fail(),), unless=lambda ledger: ledger.failed),
)
"""Finish the recovery, take all elements, read the credit and what was written, and release."""
