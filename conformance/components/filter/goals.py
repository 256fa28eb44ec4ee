"""Situations that a campaign must have seen in a filter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from conformance.components.filter import steps
from conformance.components.filter.lanes import TargetChannel, VirtualChannel
from conformance.components.filter.ledger import Ledger
from conformance.components.filter.rules import FILTERS, ONE_BUFFER
from conformance.driver import Rules, Seen
from conformance.models.designs import FAULTS, IN_MEMORY, PUSHED
from conformance.ports import (
    CHANNEL_STATE_READ,
    Capability,
    EdgeKind,
    FaultStruck,
    Record,
    Resources,
    Status,
    Taken,
    Watermark,
)
from conformance.ports.framing import LENGTH

RULES = Rules[Ledger]("filter")
goal = RULES.goal
FORCED = frozenset({Capability.RESCALES_FORCED_EDGES})
Read = Seen[None, int, int]
Took = Seen[Taken | None, int, int]


def _read(ledger: Ledger, seen: Read) -> tuple[VirtualChannel, int, int]:
    """Returns the virtual channel, and the bytes between which it was read."""
    one = ledger.virtuals[seen.operands[0]]
    return one, one.read, one.read + seen.operands[1]


def _ends_inside(ledger: Ledger, seen: Read) -> int | None:
    """Returns how many bytes of an element a read that ended inside it has read; None: it ended with one."""
    one, _, to = _read(ledger, seen)
    return one.layout.begun(to) or None


# ---- where chunks end ------------------------------------------------------------------------------------------------
@goal(steps.read)
def a_chunk_ended_inside_a_length(ledger: Ledger, seen: Read) -> bool:
    """A chunk ended inside the length of an element."""
    return 0 < (_ends_inside(ledger, seen) or 0) < LENGTH


@goal(steps.read)
def a_chunk_ended_behind_a_length(ledger: Ledger, seen: Read) -> bool:
    """A chunk ended between the length of an element and its body."""
    return _ends_inside(ledger, seen) == LENGTH


@goal(steps.read)
def a_chunk_ended_behind_a_tag(ledger: Ledger, seen: Read) -> bool:
    """A chunk ended behind the tag of an element."""
    return _ends_inside(ledger, seen) == LENGTH + 1


@goal(steps.read)
def a_chunk_ended_inside_a_timestamp(ledger: Ledger, seen: Read) -> bool:
    """A chunk ended inside the timestamp of a record, or the time of a watermark."""
    one, _, to = _read(ledger, seen)
    inside = one.layout.begun(to)
    element = one.layout.elements[one.layout.complete(to)] if inside else None
    has_time = type(element) is Watermark or (type(element) is Record and element.timestamp is not None)
    return has_time and LENGTH + 1 < inside < LENGTH + 9


@goal(steps.read)
def a_chunk_was_a_whole_page(ledger: Ledger, seen: Read) -> bool:
    """A chunk had as many bytes as a page."""
    return seen.operands[1] == ledger.config.page


@goal(steps.read)
def another_virtual_channel_was_read_inside_a_record_of_three_chunks(ledger: Ledger, seen: Read) -> bool:
    """A record ended that was read in three chunks at least, and between them some of another virtual channel."""
    one, _, to = _read(ledger, seen)
    layout = one.layout
    whole = layout.complete(to)
    if not whole or layout.begun(to) or type(layout.elements[whole - 1]) is not Record:
        return False
    since = ledger.chunks_since(layout.number, layout.ends[whole - 2] if whole > 1 else 0)
    return since.count(layout.number) >= 3 and any(number != layout.number for number in since)


@goal(steps.read)
def a_record_began_as_input_and_ended_as_output_state(ledger: Ledger, seen: Read) -> bool:
    """A record ended in output state that had begun in input state."""
    one, _, to = _read(ledger, seen)
    layout = one.layout
    return layout.begun(layout.cut) > 0 and to > layout.cut and layout.complete(to) > layout.complete(layout.cut)


@goal(steps.read)
def two_parts_of_a_large_record_were_kept_at_once(ledger: Ledger, seen: Read) -> bool:
    """More than a page was read of records that have not ended, of two virtual channels."""
    page = ledger.config.page
    return sum(one.layout.begun(one.begun) > page for one in ledger.virtuals) > 1


# ---- who waits -------------------------------------------------------------------------------------------------------
@goal(steps.recycle, needs=IN_MEMORY)
def a_fetch_waited_at_its_first_buffer(ledger: Ledger, seen: Seen[None, int]) -> bool:
    """A buffer was given back while the task held all of them, and a read was in flight."""
    return ledger.reading and not ledger.meanwhile and len(ledger.held) == ledger.config.buffers


@goal(steps.recycle, needs=IN_MEMORY | FILTERS)
def a_fetch_waited_at_a_middle_buffer(ledger: Ledger, seen: Seen[None, int]) -> bool:
    """A buffer was given back while a read was in flight that had handed on some pages, and had several left."""
    return ledger.reading and 0 < ledger.meanwhile < ledger.pages - 1


@goal(steps.recycle, needs=IN_MEMORY | FILTERS)
def a_fetch_waited_at_its_last_buffer(ledger: Ledger, seen: Seen[None, int]) -> bool:
    """A buffer was given back while a read was in flight that had handed on all its pages but one."""
    return ledger.reading and 0 < ledger.meanwhile == ledger.pages - 1


@goal(steps.recycle, needs=PUSHED)
def a_drainer_waited_for_a_buffer(ledger: Ledger, seen: Seen[None, int]) -> bool:
    """A buffer was given back while the task held all of them, and the drainer was in the middle of a push."""
    return ledger.draining and len(ledger.held) == ledger.config.buffers


@goal(steps.cancel, needs=IN_MEMORY)
def a_task_was_cancelled_while_its_fetch_waited(ledger: Ledger, seen: Seen[None]) -> bool:
    """The task was cancelled while a read was in flight and the task held all buffers."""
    return ledger.reading and len(ledger.held) == ledger.config.buffers


@goal(steps.take, needs=FILTERS)
def a_task_took_during_a_read(ledger: Ledger, seen: Took) -> bool:
    """Something was taken while a read was in flight."""
    return ledger.reading and seen.value is not None


# ---- what is kept ----------------------------------------------------------------------------------------------------
def _target(ledger: Ledger, seen: Took) -> TargetChannel | None:
    """Returns the channel of a take that returned its end."""
    if seen.value is None or not seen.value.last:
        return None
    return ledger.channels[ledger.number(*seen.operands)]


@goal(steps.take, needs=FILTERS)
def everything_was_filtered(ledger: Ledger, seen: Took) -> bool:
    """A channel ended of which records were recovered, and none belongs here."""
    one = _target(ledger, seen)
    if one is None or any(virtual.layout.kept for virtual in one.virtuals):
        return False
    return any(type(element) is Record for virtual in one.virtuals for element in virtual.layout.elements)


@goal(steps.take, needs=FILTERS)
def ambiguous_and_other_subtasks_shared_a_channel(ledger: Ledger, seen: Took) -> bool:
    """A channel ended that continues channels of old subtasks of which some are ambiguous and some are not."""
    one = _target(ledger, seen)
    return one is not None and len({virtual.layout.ambiguous for virtual in one.virtuals if virtual.got}) == 2


@goal(steps.take, needs=FILTERS)
def a_virtual_channel_without_a_watermark_held_back_the_others(ledger: Ledger, seen: Took) -> bool:
    """A channel ended of which one virtual channel had no watermark and another had some."""
    one = _target(ledger, seen)
    return one is not None and len({virtual.last_watermark() is None for virtual in one.virtuals}) == 2


@goal(steps.take, needs=FILTERS)
def a_virtual_channel_was_idle_and_another_active(ledger: Ledger, seen: Took) -> bool:
    """A channel ended of which one virtual channel was idle and another active."""
    one = _target(ledger, seen)
    return one is not None and len({virtual.ends_active() for virtual in one.virtuals}) == 2


@goal(steps.take, needs=FILTERS)
def a_channel_became_idle_and_active_again(ledger: Ledger, seen: Took) -> bool:
    """The status active came out of a channel that had become idle."""
    if seen.value is None:
        return False
    one = ledger.channels[ledger.number(*seen.operands)]
    return not one.active and any(type(element) is Status and element.active for element in seen.value.elements)


@goal(steps.take, needs=FORCED)
def a_partitioner_that_counts_dropped_and_kept_records(ledger: Ledger, seen: Took) -> bool:
    """A channel ended behind a custom partitioner, after three records of a virtual channel, of which some belong
    here."""
    one = _target(ledger, seen)
    if one is None or ledger.config.gates[one.gate].kind is not EdgeKind.CUSTOM:
        return False
    return any(
        sum(type(element) is Record for element in virtual.layout.elements) > len(virtual.got) > 0
        for virtual in one.virtuals
    )


_WORDS = {2: "two", 3: "three", 4: "four", 7: "seven"}


def _scaled(old: int, new: int) -> Callable[[Ledger, Seen[Any]], bool]:
    def check(ledger: Ledger, seen: Seen[Any]) -> bool:
        return ledger.scale == (old, new)

    return check


for _old, _new in ((7, 2), (2, 7), (4, 2), (3, 2), (2, 2)):
    RULES.sight(
        f"everything-was-read-after-a-rescale-from-{_WORDS[_old]}-to-{_WORDS[_new]}",
        f"The fetch ended of a vertex whose parallelism was {_old} before and is {_new} now.",
        steps.end, _scaled(_old, _new), needs=FILTERS,
    )  # fmt: skip


# ---- the task and its end --------------------------------------------------------------------------------------------
@goal(steps.checkpoint, needs=IN_MEMORY)
def a_checkpoint_came_between_the_end_and_the_last_take(ledger: Ledger, seen: Seen[Any, int]) -> bool:
    """A checkpoint had records of which some others were taken before."""
    return seen.error is None and any(seen.value) and ledger.takes > 0


@goal(steps.checkpoint)
def a_checkpoint_came_after_everything_was_taken(ledger: Ledger, seen: Seen[Any, int]) -> bool:
    """A checkpoint came after the end of all channels was taken."""
    return seen.error is None and ledger.all_taken and ledger.takes > len(ledger.channels)


@goal(steps.checkpoint, needs=IN_MEMORY | FILTERS)
def a_checkpoint_came_inside_a_record(ledger: Ledger, seen: Seen[Any, int]) -> bool:
    """A checkpoint came while the task had taken a part of a record."""
    return seen.error is None and any(one.open for one in ledger.channels)


@goal(steps.cancel, steps.fail)
def a_task_ended_inside_a_record(ledger: Ledger, seen: Seen[None]) -> bool:
    """The task was cancelled or failed while more than a page was read of a record that had not ended."""
    page = ledger.config.page
    return not ledger.failed and any(one.layout.begun(one.read) > page for one in ledger.virtuals)


@goal(steps.fail, needs=IN_MEMORY)
def a_task_failed_while_everything_was_in_use(ledger: Ledger, seen: Seen[None]) -> bool:
    """The task failed while it held all buffers."""
    return not ledger.failed and len(ledger.held) == ledger.config.buffers


@goal(steps.read, needs=ONE_BUFFER | FILTERS)
def a_chunk_was_read_after_a_request(ledger: Ledger, seen: Read) -> bool:
    """A chunk was read after the segment before the filter was requested and given back."""
    return ledger.segment.requests > 0


@goal(steps.restore)
def a_fresh_task_took_over(ledger: Ledger, seen: Seen[Resources]) -> bool:
    """A fresh task replaced one that had failed."""
    return True


# ---- where faults strike ---------------------------------------------------------------------------------------------
def _struck_at(place: str, which: str) -> Callable[[Ledger, Seen[Any, int, int]], bool]:
    def check(ledger: Ledger, seen: Seen[Any, int, int]) -> bool:
        if not any(type(one) is FaultStruck and one.place == place for one in seen.signals):
            return False
        number = seen.operands[0]
        one = ledger.virtuals[number]
        layout = one.layout
        whole = layout.complete(one.read)
        chunks = ledger.chunks_since(number, layout.ends[whole - 1] if whole else 0).count(number)
        if one.begun >= layout.ends[whole]:
            return which == "last" and chunks > 1
        return which == ("first" if chunks == 1 else "middle")

    return check


for _which in ("first", "middle", "last"):
    RULES.sight(
        f"reading-failed-at-the-{_which}-chunk-of-a-record",
        f"Channel state could not be read where the {_which} of several chunks of an element is.",
        steps.read, _struck_at(CHANNEL_STATE_READ, _which), needs=FAULTS, struck=True,
    )  # fmt: skip
