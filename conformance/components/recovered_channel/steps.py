"""The steps of a recovered channel.

The recovery thread reads state into the channel; the task thread takes it, starts and stops checkpoints, and converts
the channel. The buffer pool offers a buffer to a push that waits for one.
"""

from __future__ import annotations

from collections.abc import Sequence

from conformance.components.recovered_channel.ledger import EXPOSED, WAITING, Ledger
from conformance.driver import DISABLED, NO_OPERANDS, Drain, Each, End, Once, Seen, Steps, While, always
from conformance.driver.drain import Step
from conformance.models.answers import buffers, checkpoint, records, whether
from conformance.models.faults import fault_step
from conformance.models.lifetime import MOST_AFTERWARDS, alive, cancel_step, fail_step, resources_step, restart_step
from conformance.ports import (
    BUFFER_POOL,
    NETWORK_BUFFER_POOL,
    Alignment,
    Answer,
    Barrier,
    Buffer,
    BufferAndBacklog,
    FaultKind,
    RecoveredChannelPort,
)

MOST_WAITING = 8
"""Number of buffers in the channel from which on the recovery thread is back-pressured."""

OPEN = ("open", EXPOSED, WAITING)
ALIVE = (*OPEN, "released")
ENDING = (*ALIVE, "broken")
ALWAYS = (*ENDING, "failed")

STEPS = Steps[RecoveredChannelPort, Ledger]()
step = STEPS.step

_ONE = ((1,),)
_COUNTS = ((1,), (2,))


# ---- when a step is enabled ------------------------------------------------------------------------------------------
def may_push(ledger: Ledger) -> Sequence[tuple[int]]:
    """Enables a push of one or two records until the end of recovered data, unless many buffers wait. After release it
    is left open whether a push still asks the buffer pool, so none of its calls may be about to fail."""
    recovered = ledger.recovered
    if recovered.finishing or ledger.afterlife >= MOST_AFTERWARDS or len(recovered.waiting) >= MOST_WAITING:
        return DISABLED
    return DISABLED if ledger.released and ledger.faults.armed else _COUNTS


def may_finish(ledger: Ledger) -> Sequence[tuple[()]]:
    """Enables the end of recovered data once."""
    return DISABLED if ledger.recovered.finishing else alive(ledger)


def may_push_after_end(ledger: Ledger) -> Sequence[tuple[int]]:
    """Enables a push after the end; the specification says only for the design `pushed` how it ends. It asks the buffer
    pool for nothing; after release that is left open, so none of its calls may be about to fail."""
    if not ledger.recovered.finishing or ledger.config.recovery != "pushed":
        return DISABLED
    if ledger.released and ledger.faults.armed:
        return DISABLED
    return _ONE if alive(ledger) else DISABLED


def startable(ledger: Ledger) -> Sequence[tuple[int]]:
    """The next checkpoint, or the one after it, so that some checkpoints are left out."""
    return ((ledger.checkpoints.newest + 1,), (ledger.checkpoints.newest + 2,))


def stoppable(ledger: Ledger) -> Sequence[tuple[int]]:
    """The next checkpoint, the newest one, or the one before it."""
    newest = ledger.checkpoints.newest
    return ((newest + 1,), (newest,), (newest - 1,)) if newest > 1 else ((newest + 1,),)


def inspectable(ledger: Ledger) -> Sequence[tuple[int]]:
    """The newest checkpoint that a step has named."""
    return ((ledger.checkpoints.newest,),) if ledger.checkpoints.newest else DISABLED


def strikeable(ledger: Ledger) -> Sequence[tuple[str, str]]:
    """The faults that can strike: no push asks the buffer pool after the end, and while a push waits for a buffer, the
    pool can only be destroyed."""
    possible = ledger.faults.possible()
    if ledger.phase == WAITING:
        destroyed = () if ledger.pool_is_destroyed() else ((BUFFER_POOL, FaultKind.ENDS.value),)
        return [*possible, *destroyed]
    return [one for one in possible if one[0] != BUFFER_POOL] if ledger.recovered.finishing else possible


def may_offer(ledger: Ledger) -> Sequence[tuple[()]]:
    """Enables one offer for each push that waits, unless the buffer pool is destroyed."""
    return DISABLED if ledger.push.offered or ledger.pool_is_destroyed() else NO_OPERANDS


def may_fail(ledger: Ledger) -> Sequence[tuple[()]]:
    """Enables a failure, unless a release has still to end a push that is in flight."""
    return DISABLED if ledger.released and ledger.push.in_flight else NO_OPERANDS


# ---- the steps -------------------------------------------------------------------------------------------------------
@step("recovery", ALIVE, when=may_push, begin=Ledger.begin_push, end=Ledger.end_push, struck=Ledger.push_was_struck,
      weight=16, fails=True)  # fmt: skip
def push_recovered(port: RecoveredChannelPort, ledger: Ledger, records: int) -> Answer[None]:
    is_late = ledger.push.too_late or ledger.recovered.finishing
    return port.push_recovered(Buffer((ledger.next_record,)) if is_late else ledger.recovered.being_pushed())


@step("recovery", ALIVE, when=may_finish, begin=Ledger.begin_finish, end=Ledger.end_finish, weight=5, fails=True)
def finish_recovered(port: RecoveredChannelPort, ledger: Ledger) -> Answer[None]:
    return port.finish_recovered()


def _begin_late(ledger: Ledger, records: int) -> None:
    ledger.begin_afterwards()
    ledger.push.late, ledger.push.asked_late = not ledger.released, False


def _end_late(ledger: Ledger, records: int) -> None:
    ledger.push.late = False


def _late_was_struck(ledger: Ledger, seen: Seen[None], records: int) -> None:
    ledger.faults.struck(seen.signals)
    ledger.push.late = False


push_late = push_recovered.also(
    "after the end",
    ALIVE,
    when=may_push_after_end,
    begin=_begin_late,
    end=_end_late,
    struck=_late_was_struck,
    weight=2,
    fails=True,
)


@step("pool", (WAITING,), when=may_offer, begin=Ledger.begin_offer, in_words=whether("kept", "not kept"))
def offer_buffer(port: RecoveredChannelPort, ledger: Ledger) -> Answer[bool]:
    return port.offer_buffer()


@step("task", ALIVE, when=alive, begin=Ledger.begin_take, learn=Ledger.take, weight=16, fails=True)
def take(port: RecoveredChannelPort, ledger: Ledger) -> Answer[BufferAndBacklog | None]:
    return port.take()


@step("task", OPEN, when=startable, begin=Ledger.hear_of, weight=4, fails=True)
def checkpoint_started(port: RecoveredChannelPort, ledger: Ledger, checkpoint: int) -> Answer[None]:
    return port.checkpoint_started(Barrier(checkpoint, Alignment.UNALIGNED))


@step("task", OPEN, when=stoppable, begin=Ledger.hear_of, end=Ledger.stop, weight=4)
def checkpoint_stopped(port: RecoveredChannelPort, ledger: Ledger, checkpoint: int) -> Answer[None]:
    return port.checkpoint_stopped(checkpoint)


@step("task", ALIVE, when=alive, begin=Ledger.begin_conversion, learn=Ledger.convert,
      struck=Ledger.conversion_was_struck, weight=5, fails=True, in_words=records)  # fmt: skip
def convert(port: RecoveredChannelPort, ledger: Ledger) -> Answer[tuple[int, ...]]:
    return port.convert()


@step("task", ENDING, when=alive, begin=Ledger.begin_release, end=Ledger.release, weight=1)
def release(port: RecoveredChannelPort, ledger: Ledger) -> Answer[None]:
    return port.release()


@step("observer", ALIVE, when=always, weight=2, in_words=checkpoint)
def last_stopped(port: RecoveredChannelPort, ledger: Ledger) -> Answer[int]:
    return port.last_stopped()


@step("observer", ALIVE, when=always, weight=3, in_words=buffers)
def in_use(port: RecoveredChannelPort, ledger: Ledger) -> Answer[int]:
    return port.in_use()


@step("observer", ALWAYS, when=inspectable, weight=2, in_words=records)
def persisted(port: RecoveredChannelPort, ledger: Ledger, checkpoint: int) -> Answer[tuple[int, ...]]:
    return port.persisted(checkpoint)


fault = fault_step(STEPS, (EXPOSED, WAITING), when=strikeable, once=(NETWORK_BUFFER_POOL,), weight=4)
resources = resources_step(STEPS, ALWAYS)
fail = fail_step(STEPS, ALWAYS, when=may_fail)
restore = restart_step(STEPS, Ledger.restore)


PUSHES = (push_recovered, finish_recovered)


cancel = cancel_step(STEPS, (*OPEN, "broken"))


# ---- the fair drain --------------------------------------------------------------------------------------------------
def _offer(ledger: Ledger) -> Step | None:
    return offer_buffer() if ledger.phase == WAITING and may_offer(ledger) else None


def _finish(ledger: Ledger) -> Step | None:
    return finish_recovered() if ledger.phase in OPEN and not ledger.recovered.finishing else None


def _take(ledger: Ledger) -> Step | None:
    return take() if ledger.phase in OPEN and ledger.consumer.awake else None


def _over(ledger: Ledger) -> bool:
    return ledger.phase not in OPEN


def _released(ledger: Ledger) -> bool:
    return ledger.released


def _failed(ledger: Ledger) -> bool:
    return ledger.failed


DRAIN = Drain[Ledger](
    While((_offer, _finish, _take)),
    Once((resources(), release()), unless=lambda ledger: not ledger.is_broken()),  # it ends a push that waits
    End(lambda ledger: ledger.push.in_flight),  # no push may still wait here
    Once((in_use(), convert()), unless=_over),
    Once((release(),), unless=_released),
    Each(lambda ledger: [persisted(*one) for one in inspectable(ledger)]),
    Once((resources(),)),
    Once((fail(), resources()), unless=_failed),
)
"""Read all state, let the consumer act on its notifications, convert, release, and read what was written and held."""
