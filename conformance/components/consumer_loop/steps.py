"""The steps of a consumer loop: elements arrive, time passes, the task runs mails and its default action."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from conformance.components.consumer_loop.ledger import Ledger
from conformance.driver import BROKEN, FAILING, Drain, Each, Once, Step, Steps, While, always
from conformance.models.answers import records_by_channel, whether
from conformance.models.barriers import KINDS, PASSING
from conformance.models.faults import fault_step
from conformance.models.lifetime import fail_step, resources_step, restart_step
from conformance.ports import (
    MOST_QUEUED,
    Alignment,
    Answer,
    Barrier,
    Buffer,
    CancelMarker,
    ConsumerLoopPort,
    Element,
    EndOfData,
    EndOfPartition,
    InputStatus,
)

LIVE = ("live",)
FAILS = (FAILING,)
ALWAYS = ("live", FAILING, BROKEN, "failed")

STEPS = Steps[ConsumerLoopPort, Ledger]()
step = STEPS.step


# ---- when ------------------------------------------------------------------------------------------------------------
def has_room(ledger: Ledger) -> Sequence[tuple[int]]:
    """Channels in which a record may arrive: its producer has credit, and has not ended its data."""
    return [
        (number,)
        for number in ledger.senders
        if not (lane := ledger.lanes[number]).data_ended and len(lane.records) - lane.processed < MOST_QUEUED
    ]


def ends_data(ledger: Ledger) -> Sequence[tuple[int]]:
    """Channels whose data may end."""
    return [(number,) for number in ledger.senders if not ledger.lanes[number].data_ended]


def ends(ledger: Ledger) -> Sequence[tuple[int]]:
    """Channels that may end: those whose data has ended."""
    return [(number,) for number in ledger.senders if ledger.lanes[number].data_ended]


def started(ledger: Ledger) -> Sequence[tuple[int]]:
    """The newest two checkpoints that the inputs have started."""
    return [(checkpoint,) for checkpoint in list(ledger.started)[-2:]]


# ---- the network -----------------------------------------------------------------------------------------------------
def _arrival(
    name: str, when: Callable[[Ledger], Sequence[tuple[int]]], make: Callable[[Ledger], Element], weight: int
) -> Step[Ledger, None, int]:
    def begin(ledger: Ledger, channel: int) -> None:
        ledger.begin_arrival(channel, make(ledger))

    @step("network", LIVE, when=when, begin=begin, end=Ledger.end_arrival, struck=Ledger.arrival_struck, weight=weight,
          name=name)  # fmt: skip
    def arrive(port: ConsumerLoopPort, ledger: Ledger, channel: int) -> Answer[None]:
        return port.arrive(channel, ledger.arriving, 0)

    return arrive


def _of_checkpoint(name: str, when: Any, make: Callable[[int], Element], weight: int) -> Step[Ledger, None, int, int]:
    def begin(ledger: Ledger, channel: int, checkpoint: int) -> None:
        ledger.begin_arrival(channel, make(checkpoint))

    @step("network", LIVE, when=when, begin=begin, end=Ledger.end_arrival, struck=Ledger.arrival_struck, weight=weight,
          name=name)  # fmt: skip
    def arrive(port: ConsumerLoopPort, ledger: Ledger, channel: int, checkpoint: int) -> Answer[None]:
        sent = ledger.arriving
        return port.arrive(channel, sent, ledger.upstream.timestamp(checkpoint) if isinstance(sent, Barrier) else 0)

    return arrive


def _barrier(kind: Alignment, weight: int) -> Step[Ledger, None, int, int]:
    def when(ledger: Ledger) -> Sequence[tuple[int, int]]:
        return ledger.upstream.barriers(kind, ledger.upstream.inputs)

    return _of_checkpoint(f"{kind}_barrier", when, lambda checkpoint: Barrier(checkpoint, kind), weight)


buffer = _arrival("buffer", has_room, lambda ledger: Buffer((ledger.next_record,)), 30)
aligned_barrier = _barrier(Alignment.ALIGNED, 8)
timeoutable_barrier = _barrier(Alignment.TIMEOUTABLE, 14)
unaligned_barrier = _barrier(Alignment.UNALIGNED, 10)
cancel_marker = _of_checkpoint("cancel_marker", lambda ledger: ledger.upstream.cancellable(), CancelMarker, 3)
end_of_data = _arrival("end_of_data", ends_data, lambda ledger: EndOfData(), 2)
end_of_partition = _arrival("end_of_partition", ends, lambda ledger: EndOfPartition(), 4)


# ---- time and the task -----------------------------------------------------------------------------------------------
@step("timer", LIVE, when=lambda ledger: PASSING, begin=Ledger.begin_passing, end=Ledger.pass_time, weight=8)
def advance(port: ConsumerLoopPort, ledger: Ledger, milliseconds: int) -> Answer[None]:
    return port.advance(milliseconds)


@step("task", LIVE, when=always, begin=Ledger.begin_act, end=Ledger.end, learn=Ledger.mail_run,
      struck=Ledger.act_struck, weight=30, in_words=whether("ran a mail", "there was no mail"))  # fmt: skip
def run_mail(port: ConsumerLoopPort, ledger: Ledger) -> Answer[bool]:
    return port.run_mail()


run_mail_with_an_error = run_mail.also(
    "an error is kept", FAILS, when=always, begin=Ledger.begin_act, end=Ledger.end, learn=Ledger.got_error,
    struck=Ledger.act_struck, weight=30, fails=True,
)  # fmt: skip


@step("task", LIVE, when=always, begin=Ledger.begin_act, end=Ledger.end, learn=Ledger.processed,
      struck=Ledger.act_struck, weight=40)  # fmt: skip
def process(port: ConsumerLoopPort, ledger: Ledger) -> Answer[InputStatus]:
    return port.process()


process_for_the_error = process.also(
    "an error is kept", FAILS, when=always, begin=Ledger.begin_act, end=Ledger.end, learn=Ledger.got_error,
    struck=Ledger.act_struck, weight=40, fails=True,
)  # fmt: skip


# ---- observers and the driver ----------------------------------------------------------------------------------------
@step("observer", LIVE, when=always, weight=8, in_words=whether("idle", "not idle"))
def idle(port: ConsumerLoopPort, ledger: Ledger) -> Answer[bool]:
    return port.idle()


idle_with_an_error = idle.also("an error is kept", FAILS, when=always)


@step("observer", LIVE, when=started, weight=8, in_words=records_by_channel)
def persisted(port: ConsumerLoopPort, ledger: Ledger, checkpoint: int) -> Answer[tuple[tuple[int, ...], ...]]:
    return port.persisted(checkpoint)


fault = fault_step(STEPS, LIVE, weight=4)
resources = resources_step(STEPS, ALWAYS, weight=4)
fail = fail_step(STEPS, ALWAYS)
restore = restart_step(STEPS, Ledger.restore)

ARRIVALS = (
    buffer, aligned_barrier, timeoutable_barrier, unaligned_barrier, cancel_marker, end_of_data, end_of_partition,
)  # fmt: skip
OTHERS = (*ARRIVALS, advance)
"""The steps of the threads that must leave all acting to the task."""
ACTS = (run_mail, process)
"""The steps in which the task acts."""
FAILING_ACTS = (run_mail_with_an_error, process_for_the_error)
"""The steps in which the task acts while its gate keeps an error."""


# ---- the fair drain --------------------------------------------------------------------------------------------------
_BY_KIND = dict(zip(KINDS, (aligned_barrier, timeoutable_barrier, unaligned_barrier), strict=True))


def _mail(ledger: Ledger) -> Any:
    return run_mail() if ledger.phase == "live" and not ledger.lookers.found_nothing("mailbox") else None


def _default(ledger: Ledger) -> Any:
    return process() if ledger.phase == "live" and not ledger.lookers.found_nothing("default action") else None


def _error(ledger: Ledger) -> Any:
    return process() if ledger.phase == FAILING else None


def _due(ledger: Ledger) -> Any:
    """While a checkpoint is in progress, its missing barriers come. Then every channel ends."""
    if ledger.phase != "live":
        return None
    upstream = ledger.upstream
    newest = upstream.newest
    for channel in upstream.inputs:
        if upstream.last[channel] < newest:
            return _BY_KIND[upstream.kinds.get(newest, Alignment.ALIGNED)](channel, newest)
    return None


def _rest(ledger: Ledger) -> Sequence[tuple[Any, ...]]:
    return [idle(), *(persisted(*one) for one in started(ledger))] if ledger.phase == "live" else ()


def _ending(ledger: Ledger) -> Any:
    if ledger.phase != "live":
        return None
    for number in ledger.upstream.inputs:
        return end_of_partition(number) if ledger.lanes[number].data_ended else end_of_data(number)
    return None


DRAIN = Drain[Ledger](
    While((_error, _mail, _default)),
    Each(_rest),
    While((_error, _mail, _default, _due)),
    Each(_rest),
    While((_error, _mail, _default, _ending)),
    Each(_rest),
    Once((resources(), fail()), unless=lambda ledger: ledger.failed),
    Once((resources(),)),
)
"""Let the task act until it finds nothing, and ask what it did. Let missing barriers come, let every channel end, and
release."""
