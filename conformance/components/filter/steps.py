"""The steps of a filter: one thread fetches and filters, one drains, the task takes and gives back, all may end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from conformance.components.filter.ledger import Ledger
from conformance.driver import BROKEN, DISABLED, NO_OPERANDS, Drain, Each, Once, Steps, While
from conformance.models.answers import records_by_channel, whether
from conformance.models.faults import fault_step
from conformance.models.lifetime import fail_step, resources_step, restart_step
from conformance.ports import (
    SPILL_DIRECTORY,
    Answer,
    Capability,
    FilterPort,
    PartialRecord,
    Recovery,
    SegmentBeforeFilter,
    Taken,
)

NEW, FETCHING, FETCHED = ("new",), ("fetching",), ("fetched",)
LIVE = ("fetching", "fetched")
ALWAYS = ("new", *LIVE, BROKEN, "failed")
MOST_CHECKPOINTS = 5
MOST_REQUESTS = 3
"""How many checkpoints, and how many requests for the segment before the filter, a scenario has."""
MOST_LATE = 6
"""How many takes after a failure a scenario has."""

STEPS = Steps[FilterPort, Ledger]()
step = STEPS.step


# ---- when ------------------------------------------------------------------------------------------------------------
def good_page(ledger: Ledger) -> Sequence[tuple[()]]:
    """If the page size is accepted."""
    return NO_OPERANDS if ledger.has_good_page() else DISABLED


def bad_page(ledger: Ledger) -> Sequence[tuple[()]]:
    """If the page size is not accepted."""
    return DISABLED if ledger.has_good_page() else NO_OPERANDS


def reads(ledger: Ledger) -> Sequence[tuple[int, int]]:
    """Virtual channels, and how many bytes may be read next: up to places where a chunk may end, or a whole chunk."""
    return DISABLED if ledger.segment.requested is not None else ledger.next_reads()


def reads_unknown(ledger: Ledger) -> Sequence[tuple[int, int]]:
    """Virtual channels that their gate does not know, with all that they have."""
    return DISABLED if ledger.segment.requested is not None else ledger.unknown_reads()


def reads_in_use(ledger: Ledger) -> Sequence[tuple[int, int]]:
    """What may be read, while the segment before the filter is in use."""
    return DISABLED if ledger.segment.requested is None else ledger.next_reads()


def all_read(ledger: Ledger) -> Sequence[tuple[()]]:
    """Once everything was read, and each virtual channel ends with an element."""
    return DISABLED if ledger.left or ledger.is_damaged() or ledger.segment.requested is not None else NO_OPERANDS


def damaged(ledger: Ledger) -> Sequence[tuple[()]]:
    """Once everything was read, and a virtual channel ends inside an element."""
    if ledger.left or not ledger.is_damaged() or ledger.segment.requested is not None:
        return DISABLED
    return NO_OPERANDS


def has_segment(ledger: Ledger) -> bool:
    """Returns whether the implementation reads into one segment before the filter, and filters here."""
    return ledger.filters and Capability.ONE_BUFFER_BEFORE_THE_FILTER in ledger.capabilities


def requests(ledger: Ledger) -> Sequence[tuple[()]]:
    """If there is one segment before the filter, and it is free."""
    segment = ledger.segment
    if segment.requested is not None or segment.requests >= MOST_REQUESTS or not has_segment(ledger):
        return DISABLED
    return NO_OPERANDS


def requests_in_use(ledger: Ledger) -> Sequence[tuple[()]]:
    """If the segment before the filter is in use."""
    return DISABLED if ledger.segment.requested is None else NO_OPERANDS


def drains(ledger: Ledger) -> Sequence[tuple[()]]:
    """If what was filtered is pushed from segments."""
    return NO_OPERANDS if ledger.config.recovery is Recovery.PUSHED else DISABLED


def channels(ledger: Ledger) -> Sequence[tuple[int, int]]:
    """All channels, but those in which the task demultiplexes what is damaged."""
    return ledger.sound


def damaged_channels(ledger: Ledger) -> Sequence[tuple[int, int]]:
    """Channels in which the task demultiplexes what is damaged."""
    return ledger.damaged


def late_channels(ledger: Ledger) -> Sequence[tuple[int, int]]:
    """A few times after the fetch has failed, all channels."""
    if not ledger.fetch_failed or ledger.cancelled or ledger.late >= MOST_LATE:
        return DISABLED
    return (*ledger.sound, *ledger.damaged)


def in_hand(ledger: Ledger) -> Sequence[tuple[int]]:
    """The buffers that the task holds, and that of a request."""
    requested = ledger.segment.requested
    if requested is None and not ledger.held:
        return DISABLED
    found = [(buffer,) for buffer in ledger.held]
    return found if requested is None else [*found, (requested,)]


def next_checkpoint(ledger: Ledger) -> Sequence[tuple[int]]:
    """The next checkpoint."""
    return ((ledger.checkpoints + 1,),) if ledger.checkpoints < MOST_CHECKPOINTS else DISABLED


def observes_segment(ledger: Ledger) -> Sequence[tuple[()]]:
    """If the implementation has one segment before the filter, or none without a filter."""
    return NO_OPERANDS if Capability.ONE_BUFFER_BEFORE_THE_FILTER in ledger.capabilities else DISABLED


def observes_memory(ledger: Ledger) -> Sequence[tuple[()]]:
    """If memory is bounded, while no operation is running."""
    if ledger.flying or Capability.BOUNDED_FILTER_MEMORY not in ledger.capabilities:
        return DISABLED
    return NO_OPERANDS


# ---- the thread that fetches -----------------------------------------------------------------------------------------
@step("fetch", NEW, when=good_page, begin=Ledger.begin_fetching, end=Ledger.end_fetching, learn=Ledger.begun,
      struck=Ledger.struck, weight=60)  # fmt: skip
def begin(port: FilterPort, ledger: Ledger) -> Answer[None]:
    return port.begin()


begin_badly = begin.also(
    "bad page", NEW, when=bad_page, begin=Ledger.begin_fetching, end=Ledger.end_fetching, learn=Ledger.begun,
    struck=Ledger.struck, weight=60, fails=True,
)  # fmt: skip


@step("fetch", FETCHING, when=reads, begin=Ledger.begin_read, end=Ledger.end_fetching, learn=Ledger.was_read,
      struck=Ledger.read_struck, weight=60)  # fmt: skip
def read(port: FilterPort, ledger: Ledger, virtual: int, length: int) -> Answer[None]:
    return port.read(virtual, length)


read_unknown = read.also(
    "unknown virtual channel", FETCHING, when=reads_unknown, begin=Ledger.begin_read, end=Ledger.end_fetching,
    learn=Ledger.was_read, struck=Ledger.read_struck, weight=2, fails=True,
)  # fmt: skip
read_in_use = read.also(
    "segment in use", FETCHING, when=reads_in_use, begin=Ledger.begin_refused, end=Ledger.end_fetching, weight=4,
    fails=True,
)  # fmt: skip


@step("fetch", FETCHING, when=all_read, begin=Ledger.begin_fetching, end=Ledger.end_fetching, learn=Ledger.ended,
      struck=Ledger.end_struck, weight=20)  # fmt: skip
def end(port: FilterPort, ledger: Ledger) -> Answer[None]:
    return port.end()


end_damaged = end.also(
    "inside an element", FETCHING, when=damaged, begin=Ledger.begin_fetching, end=Ledger.end_fetching,
    learn=Ledger.ended, struck=Ledger.end_struck, weight=20, fails=True,
)  # fmt: skip


@step("fetch", FETCHING, when=requests, begin=Ledger.begin_fetching, end=Ledger.end_fetching, learn=Ledger.requested,
      weight=3, in_words=lambda number: f"buffer {number}")  # fmt: skip
def request_before_filter(port: FilterPort, ledger: Ledger) -> Answer[int]:
    return port.request_before_filter()


request_in_use = request_before_filter.also(
    "in use", FETCHING, when=requests_in_use, begin=Ledger.begin_fetching, end=Ledger.end_fetching, weight=6, fails=True
)


# ---- the thread that drains ------------------------------------------------------------------------------------------
@step("drain", FETCHED, when=drains, begin=Ledger.begin_draining, end=Ledger.end_draining, learn=Ledger.was_drained,
      struck=Ledger.drain_struck, weight=30, in_words=whether("pushed a buffer", "everything was pushed"))  # fmt: skip
def drain(port: FilterPort, ledger: Ledger) -> Answer[bool]:
    return port.drain()


# ---- the task --------------------------------------------------------------------------------------------------------
@step("task", LIVE, when=channels, begin=Ledger.begin_take, end=Ledger.end_take, learn=Ledger.taken,
      struck=Ledger.take_struck, weight=30)  # fmt: skip
def take(port: FilterPort, ledger: Ledger, gate: int, channel: int) -> Answer[Taken | None]:
    return port.take(gate, channel)


take_damaged = take.also(
    "of damaged state", LIVE, when=damaged_channels, begin=Ledger.begin_take, end=Ledger.end_take, learn=Ledger.taken,
    struck=Ledger.take_struck, weight=20, fails=True,
)  # fmt: skip
take_late = take.also(
    "after a failure", (BROKEN,), when=late_channels, begin=Ledger.begin_late_take, end=Ledger.end_take,
    learn=Ledger.taken, struck=Ledger.take_struck, weight=20, fails=True,
)  # fmt: skip


@step("task", (*LIVE, BROKEN), when=in_hand, begin=Ledger.begin, end=Ledger.recycled, weight=20)
def recycle(port: FilterPort, ledger: Ledger, buffer: int) -> Answer[None]:
    return port.recycle(buffer)


@step("task", LIVE, when=next_checkpoint, begin=Ledger.begin_checkpoint, end=Ledger.end_checkpoint,
      struck=Ledger.checkpoint_struck, weight=6, fails=True, in_words=records_by_channel)  # fmt: skip
def checkpoint(port: FilterPort, ledger: Ledger, checkpoint: int) -> Answer[tuple[tuple[int, ...], ...]]:
    return port.checkpoint(checkpoint)


# ---- the canceler, observers and the driver --------------------------------------------------------------------------
def _not_cancelled(ledger: Ledger) -> Sequence[tuple[()]]:
    return DISABLED if ledger.cancelled else NO_OPERANDS


@step("canceler", ("new", *LIVE, BROKEN), when=_not_cancelled, begin=Ledger.begin_cancel, end=Ledger.end,
      struck=Ledger.cancel_struck, weight=1, cancels=True)  # fmt: skip
def cancel(port: FilterPort, ledger: Ledger) -> Answer[None]:
    return port.cancel()


@step("observer", ("new", *LIVE, BROKEN), when=observes_segment, learn=Ledger.looked, weight=6)
def before_filter(port: FilterPort, ledger: Ledger) -> Answer[SegmentBeforeFilter | None]:
    return port.before_filter()


@step("observer", LIVE, when=observes_memory, weight=6)
def partial(port: FilterPort, ledger: Ledger) -> Answer[tuple[PartialRecord, ...]]:
    return port.partial()


def strikable(ledger: Ledger) -> Sequence[tuple[str, str]]:
    """The faults that can strike in this phase, with this design."""
    places = ledger.strikable
    return [one for one in ledger.faults.possible() if one[0] in places[ledger.phase]]


fault = fault_step(STEPS, ("new", *LIVE), weight=4, when=strikable, once=(SPILL_DIRECTORY,))
resources = resources_step(STEPS, ALWAYS, weight=6)
fail = fail_step(STEPS, ALWAYS)
restore = restart_step(STEPS, Ledger.restart)
TAKES = (take, take_damaged, take_late)


# ---- the fair drain --------------------------------------------------------------------------------------------------
def _give_back(ledger: Ledger) -> Any:
    if ledger.phase not in ("fetching", "fetched", BROKEN):
        return None
    found = in_hand(ledger)
    return recycle(*found[0]) if found else None


def _begin(ledger: Ledger) -> Any:
    return begin() if ledger.phase == "new" else None


def _read(ledger: Ledger) -> Any:
    if ledger.phase != "fetching" or ledger.fetching:
        return None
    found = ledger.whole_reads() or ledger.unknown_reads()
    return read(*found[0]) if found else end()


def _push(ledger: Ledger) -> Any:
    if ledger.phase != "fetched" or ledger.drained or ledger.draining or not drains(ledger):
        return None
    return drain()


def _take(ledger: Ledger) -> Any:
    if ledger.phase not in LIVE:
        return None
    for number, one in enumerate(ledger.channels):
        if not one.last and not ledger.lookers.found_nothing(number):
            return take(one.gate, one.channel)
    return None


def _must_go_on(ledger: Ledger) -> Any:
    """A thread that fetches or drains, and waits although everything was taken and given back, or the task ended."""
    if ledger.fetching:
        return end()
    return drain() if ledger.draining else None


def _late(ledger: Ledger) -> Sequence[tuple[Any, ...]]:
    if ledger.phase != BROKEN or ledger.cancelled or not ledger.fetch_failed:
        return ()
    return [take(one.gate, one.channel) for one in ledger.channels]


def _looks(ledger: Ledger) -> Sequence[tuple[Any, ...]]:
    if ledger.phase == "failed":
        return ()
    found: list[tuple[Any, ...]] = [resources()]
    if ledger.phase == "fetched":
        found.append(checkpoint(ledger.checkpoints + 1))
        found += [partial()] if observes_memory(ledger) else []
    return [*found, *([before_filter()] if observes_segment(ledger) and ledger.phase != "new" else [])]


DRAIN = Drain[Ledger](
    While((_give_back, _begin, _read, _push, _take, _must_go_on)),
    Each(_late),
    While((_give_back,)),
    Each(_looks),
    Once((fail(),), unless=lambda ledger: ledger.failed),
    Once((resources(),)),
)
"""Read, push and take everything and give it back. Let the task take once more if the fetch has failed; look, and
release."""
