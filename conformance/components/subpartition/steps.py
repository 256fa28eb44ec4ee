"""The steps of a subpartition."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVarTuple

from conformance.components.subpartition.ledger import ALIGNED, DESERTED, TIMEOUTABLE, UNALIGNED, Ledger
from conformance.driver import BROKEN, DISABLED, NO_OPERANDS, Drain, Each, Once, Steps, While, always
from conformance.models.answers import ADDED
from conformance.models.faults import fault_step
from conformance.models.lifetime import fail_step, resources_step
from conformance.ports import (
    PRODUCER,
    Answer,
    Availability,
    Barrier,
    BufferAndBacklog,
    CheckpointReason,
    Event,
    OutputState,
    SubpartitionPort,
)
from conformance.scenarios import Step

Ops = TypeVarTuple("Ops")

MOST_QUEUED = 12
"""Number of queued elements from which on the producer is back-pressured; it keeps scenarios short."""
MOST_CHECKPOINTS = 40

LIVE = ("live",)
WRITING = ("writing",)
RECOVERING = ("recovering",)
FAILED = ("failed",)
ENDED = ("finished", "failed")
RUNNING = ("live", "writing", "finished")
SINCE_LIVE = (*RUNNING, *FAILED)
UNTIL_FAILED = (*RECOVERING, *RUNNING)
POLLED = (*UNTIL_FAILED, DESERTED)
ALWAYS = (*POLLED, BROKEN, *FAILED)
_OVER = (BROKEN, *FAILED)
WITH_OR_AFTER_A_VIEW = (*UNTIL_FAILED, *FAILED)

STEPS = Steps[SubpartitionPort, Ledger]()
step = STEPS.step

_BOTH = ((True,), (False,))
_LATER = tuple(((c + 1,), (c + 2,)) for c in range(MOST_CHECKPOINTS))
"""By the newest checkpoint: the next one and the one after it, so that some are left out."""


# ---- when a step is enabled ------------------------------------------------------------------------------------------
def unless_full(operands: Sequence[tuple[*Ops]]) -> Callable[[Ledger], Sequence[tuple[*Ops]]]:
    """Enables a step with these operands unless the producer is back-pressured."""
    return lambda ledger: operands if len(ledger.live) < MOST_QUEUED else DISABLED


def newer(ledger: Ledger) -> Sequence[tuple[int]]:
    """The next checkpoints, unless the producer is back-pressured."""
    if ledger.checkpoints.newest >= MOST_CHECKPOINTS or len(ledger.live) >= MOST_QUEUED:
        return DISABLED
    return _LATER[ledger.checkpoints.newest]


def late_barrier(ledger: Ledger) -> Sequence[tuple[int]]:
    """The next checkpoint, whose barrier must be rejected."""
    following = ledger.checkpoints.newest + 1
    return ((following,),) if following <= MOST_CHECKPOINTS else DISABLED


def one_record(ledger: Ledger) -> Sequence[tuple[int]]:
    """Enables a buffer with one record."""
    return ((1,),)


def added(ledger: Ledger) -> Sequence[tuple[int]]:
    """The last three checkpoints whose barriers were added."""
    return [(checkpoint,) for checkpoint in ledger.checkpoints.barriers[-3:]]


def timeoutable(ledger: Ledger) -> Sequence[tuple[int]]:
    """The last three checkpoints whose timeoutable barriers were added, if their alignment can time out."""
    return [(checkpoint,) for checkpoint in ledger.checkpoints.timeoutable[-3:]] if ledger.times_out else DISABLED


def all_added(ledger: Ledger) -> Sequence[tuple[int]]:
    """All checkpoints whose barriers were added."""
    return [(checkpoint,) for checkpoint in ledger.checkpoints.barriers]


def to_recover(ledger: Ledger) -> Sequence[tuple[()]]:
    """Enables a step while recovered output state is left."""
    return NO_OPERANDS if ledger.to_recover else DISABLED


def all_recovered(ledger: Ledger) -> Sequence[tuple[bool]]:
    """Enables the end of the recovery, with and without a blocking end of output state, when no state is left."""
    return DISABLED if ledger.to_recover else _BOTH


def no_view(ledger: Ledger) -> Sequence[tuple[()]]:
    """Enables a step until a view is attached."""
    return DISABLED if ledger.view else NO_OPERANDS


def no_view_any_more(ledger: Ledger) -> Sequence[tuple[()]]:
    """Enables an attempt to attach a view that must fail: there is a view, or the subpartition is released."""
    return NO_OPERANDS if ledger.view or ledger.failed else DISABLED


def view(ledger: Ledger) -> Sequence[tuple[()]]:
    """Enables a step when a view is attached."""
    return NO_OPERANDS if ledger.view else DISABLED


def view_and_credit(ledger: Ledger) -> Sequence[tuple[bool]]:
    """Enables a step with and without credit when a view is attached."""
    return _BOTH if ledger.view else DISABLED


def blocked(ledger: Ledger) -> Sequence[tuple[()]]:
    """Enables a step while the subpartition is blocked."""
    return NO_OPERANDS if ledger.blocked else DISABLED


def not_blocked(ledger: Ledger) -> Sequence[tuple[()]]:
    """Enables a step while a view is attached and the subpartition is not blocked."""
    return NO_OPERANDS if ledger.view and not ledger.blocked else DISABLED


def strikeable(ledger: Ledger) -> Sequence[tuple[str, str]]:
    """The faults that can strike: a consumer that has a view can find that the producer has failed."""
    if not ledger.faults.can_fail:
        return DISABLED
    return [one for one in ledger.faults.possible() if ledger.view or one[0] != PRODUCER]


# ---- the producer ----------------------------------------------------------------------------------------------------
@step("producer", LIVE, when=unless_full(((1,), (2,), (0,))), end=Ledger.add_data, struck=Ledger.break_down,
      weight=16, in_words=ADDED)  # fmt: skip
def add_buffer(port: SubpartitionPort, ledger: Ledger, records: int) -> Answer[bool]:
    return port.add(ledger.next_data(records))


@step("producer", LIVE, when=unless_full(((0,), (1,))), end=Ledger.open, struck=Ledger.break_down, weight=6,
      in_words=ADDED)  # fmt: skip
def open_buffer(port: SubpartitionPort, ledger: Ledger, records: int) -> Answer[bool]:
    return port.add(ledger.next_data(records, finished=False))


@step("producer", WRITING, when=always, end=Ledger.append, struck=Ledger.break_down)
def append(port: SubpartitionPort, ledger: Ledger) -> Answer[None]:
    return port.append((ledger.next_record,))


@step("producer", WRITING, when=always, end=Ledger.finish_buffer, struck=Ledger.break_down, weight=10)
def finish_buffer(port: SubpartitionPort, ledger: Ledger) -> Answer[None]:
    return port.finish_buffer()


@step("producer", SINCE_LIVE, when=always, end=Ledger.flush, struck=Ledger.break_down, weight=4)
def flush(port: SubpartitionPort, ledger: Ledger) -> Answer[None]:
    return port.flush()


@step("producer", LIVE, when=unless_full(NO_OPERANDS), end=Ledger.add_event, struck=Ledger.break_down, weight=4,
      in_words=ADDED)  # fmt: skip
def add_event(port: SubpartitionPort, ledger: Ledger) -> Answer[bool]:
    return port.add(Event(ledger.events))


@step("producer", LIVE, when=newer, end=Ledger.add_aligned, struck=Ledger.add_aligned_untold, weight=4, in_words=ADDED)
def aligned_barrier(port: SubpartitionPort, ledger: Ledger, checkpoint: int) -> Answer[bool]:
    return port.add(Barrier(checkpoint, ALIGNED))


@step("producer", LIVE, when=newer, end=Ledger.add_timeoutable, struck=Ledger.timeoutable_struck, in_words=ADDED)
def timeoutable_barrier(port: SubpartitionPort, ledger: Ledger, checkpoint: int) -> Answer[bool]:
    return port.add(Barrier(checkpoint, TIMEOUTABLE))


@step(
    "producer", LIVE, when=newer, begin=Ledger.begin_urgent, end=Ledger.add_unaligned, struck=Ledger.unaligned_struck,
    weight=10, in_words=ADDED)  # fmt: skip
def unaligned_barrier(port: SubpartitionPort, ledger: Ledger, checkpoint: int) -> Answer[bool]:
    return port.add(Barrier(checkpoint, UNALIGNED))


@step("producer", LIVE, when=unless_full(NO_OPERANDS), end=Ledger.finish, struck=Ledger.break_down, weight=2)
def finish(port: SubpartitionPort, ledger: Ledger) -> Answer[None]:
    return port.finish()


add_late = add_buffer.also("after the end", ENDED, when=one_record, weight=2)
timeoutable_late = timeoutable_barrier.also("after the end", ENDED, when=late_barrier, end=Ledger.refuse, weight=1)
unaligned_late = unaligned_barrier.also("after the end", ENDED, when=late_barrier, end=Ledger.refuse, weight=1)
finish_again = finish.also("again", ENDED, when=always, weight=2)


# ---- checkpointing and recovery --------------------------------------------------------------------------------------
@step(
    "checkpointing", SINCE_LIVE, when=timeoutable, begin=Ledger.begin_urgent, end=Ledger.time_out,
    struck=Ledger.time_out_untold,
)  # fmt: skip
def aligned_timeout(port: SubpartitionPort, ledger: Ledger, checkpoint: int) -> Answer[None]:
    return port.aligned_timeout(checkpoint)


@step("checkpointing", SINCE_LIVE, when=added, end=Ledger.abort, weight=4)
def abort_checkpoint(port: SubpartitionPort, ledger: Ledger, checkpoint: int) -> Answer[None]:
    return port.abort(checkpoint, CheckpointReason.DECLINED)


@step("recovery", RECOVERING, when=to_recover, end=Ledger.recover, struck=Ledger.break_down, weight=12)
def recover(port: SubpartitionPort, ledger: Ledger) -> Answer[None]:
    return port.recover(ledger.to_recover[0])


@step("recovery", RECOVERING, when=all_recovered, end=Ledger.finish_recovery, struck=Ledger.break_down, weight=12)
def finish_recovery(port: SubpartitionPort, ledger: Ledger, block: bool) -> Answer[None]:
    return port.finish_recovery(block)


# ---- the consumer ----------------------------------------------------------------------------------------------------
@step("consumer", UNTIL_FAILED, when=no_view, end=Ledger.attach, struck=Ledger.attach_untold)
def attach_view(port: SubpartitionPort, ledger: Ledger) -> Answer[None]:
    return port.attach_view()


attach_view_again = attach_view.also("again", WITH_OR_AFTER_A_VIEW, when=no_view_any_more, weight=2, fails=True)


@step("consumer", POLLED, when=view, learn=Ledger.poll, struck=Ledger.break_down, weight=28)
def poll(port: SubpartitionPort, ledger: Ledger) -> Answer[BufferAndBacklog | None]:
    return port.poll()


@step("consumer", UNTIL_FAILED, when=view_and_credit, learn=Ledger.ask, struck=Ledger.break_down, weight=4)
def available(port: SubpartitionPort, ledger: Ledger, has_credit: bool) -> Answer[Availability]:
    return port.available(has_credit)


@step("consumer", UNTIL_FAILED, when=blocked, end=Ledger.resume, struck=Ledger.break_down, fails=True)
def resume(port: SubpartitionPort, ledger: Ledger) -> Answer[None]:
    return port.resume()


resume_unblocked = resume.also("not blocked", UNTIL_FAILED, when=not_blocked, weight=2, fails=True)


# ---- observation, failure --------------------------------------------------------------------------------------------
@step("observer", ALWAYS, when=all_added, weight=2)
def persisted(port: SubpartitionPort, ledger: Ledger, checkpoint: int) -> Answer[OutputState]:
    return port.persisted(checkpoint)


fault = fault_step(STEPS, UNTIL_FAILED, weight=2, when=strikeable, armed=Ledger.desert)
resources = resources_step(STEPS, ALWAYS)
fail = fail_step(STEPS, ALWAYS)


@step(
    "driver",
    FAILED,
    when=lambda ledger: ledger.checkpoints.restorable(),
    end=Ledger.restore,
    weight=32,
    fresh_port=True,
)
def restore(port: SubpartitionPort, ledger: Ledger, checkpoint: int) -> Answer[OutputState]:
    return port.persisted(checkpoint)


ADDS = (add_buffer, open_buffer, append, flush, add_event, aligned_barrier, timeoutable_barrier, unaligned_barrier)
AFTER_THE_END = (add_late, timeoutable_late, unaligned_late)
"""Steps that add what must be rejected."""
BRINGS_NOTHING = (poll, available, resume, flush, abort_checkpoint, add_late, finish_again, persisted, resources)
"""Steps after which the consumer finds no more than it found before, unless they let it find what waited."""
BRINGS = (add_buffer, open_buffer, append, add_event, aligned_barrier, timeoutable_barrier, unaligned_barrier,
          aligned_timeout, finish, recover, finish_recovery)  # fmt: skip
"""Steps after which the consumer may find more."""
READS = (persisted, restore)
"""Steps that return the output state of a checkpoint."""
NOTIFIES = (*ADDS, finish, recover, finish_recovery, aligned_timeout)
"""Steps that may notify the consumer, and fail if that fails."""


# ---- the fair drain --------------------------------------------------------------------------------------------------
def _failed(ledger: Ledger) -> bool:
    return ledger.failed


def _ends(ledger: Ledger) -> bool:
    return ledger.phase in _OVER


def _follow(ledger: Ledger) -> Step | None:
    """Finishes the recovery and an unfinished buffer, and lets the consumer act on its notifications. A consumer whose
    producer has failed polls until it learns that."""
    phase = ledger.phase
    if phase in _OVER:
        return None
    if phase == DESERTED:
        return poll()
    if phase == "recovering":
        return recover() if ledger.to_recover else finish_recovery(True)
    if not ledger.view:
        return attach_view()
    if ledger.consumer.probe:
        return available(True)
    if ledger.consumer.awake:
        return poll()
    if phase == "writing":
        return finish_buffer()
    return resume() if ledger.blocked else None


DRAIN = Drain[Ledger](
    While((_follow,)),
    Once((flush(),), unless=_ends),
    While((_follow,)),
    Each(lambda ledger: [persisted(checkpoint) for checkpoint in ledger.checkpoints.barriers]),
    Once((resources(), fail()), unless=_failed),
    Once((resources(),)),
    Each(lambda ledger: [persisted(checkpoint) for checkpoint in ledger.read_again()]),
)
"""Finish the recovery and an unfinished buffer, poll, flush, poll, read what was written, and release. If something can
fail, read again."""
