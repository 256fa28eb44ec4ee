"""The rules of a filter about memory, files and buffers. Specification: filter.md."""

from __future__ import annotations

from conformance.components.filter import steps
from conformance.components.filter.ledger import Ledger
from conformance.components.filter.rules import FILTERS, ONE_BUFFER
from conformance.driver import Broken, FailureClass, Judgement, Never, Rules, Seen, Setting
from conformance.models import lifetime
from conformance.models.designs import RESOURCES
from conformance.models.words import are, many, must_fail
from conformance.ports import (
    Capability,
    ErrorKind,
    PartialRecord,
    Recovery,
    Resources,
    SegmentBeforeFilter,
)
from conformance.ports.framing import LENGTH

RULES = Rules[Ledger]("filter")
rule, adopt = RULES.rule, RULES.adopt
FILTERED_LATER = Never(Setting("recover-first"), "Nothing is filtered before the task demultiplexes.")
BOUNDED = frozenset({Capability.BOUNDED_FILTER_MEMORY})
Looked = Seen[Resources]


# ---- the segment before the filter -----------------------------------------------------------------------------------
@rule(steps.request_in_use, steps.read_in_use, invariant="I-74", tickets=("FLINK-39519",), needs=ONE_BUFFER | FILTERS)
def one_buffer_before_the_filter_at_a_time(ledger: Ledger, seen: Seen[object]) -> Judgement:
    """While the buffer before the filter is in use, a request for it and a read are refused with an error of kind
    state."""
    return must_fail(seen.error, ErrorKind.STATE, "the buffer before the filter is in use")


@rule(
    steps.before_filter,
    invariant="I-74",
    tickets=("FLINK-39519",),
    needs=ONE_BUFFER | FILTERS,
    quiet=True,
    never=(FILTERED_LATER,),
)
def the_segment_before_the_filter_is_used_again(ledger: Ledger, seen: Seen[SegmentBeforeFilter | None]) -> Judgement:
    """There is one segment before the filter: the same for every chunk, in use while somebody has it, and free
    otherwise, also after a failure."""
    there, segment = seen.value, ledger.segment
    if not ledger.filters:
        return False
    if there is None:
        if segment.requests and not ledger.cancelled:
            return Broken(
                FailureClass.LEAKED, "the segment before the filter is kept until the release", "there is none"
            )
        return False
    if segment.numbers and there.number not in segment.numbers[-1:]:
        owed = f"segment {segment.numbers[-1]} is used for every chunk"
        return Broken(FailureClass.LEAKED, owed, f"now it is segment {there.number}")
    in_use = segment.requested is not None
    if there.in_use is in_use:
        return True
    if in_use:
        return Broken(FailureClass.PROTOCOL, "the segment was requested, and not given back", "it is free")
    return Broken(FailureClass.LEAKED, "the segment before the filter was given back", "it is in use")


@rule(steps.before_filter, invariant="I-75", tickets=("FLINK-39519",), needs=ONE_BUFFER)
def without_a_filter_there_is_no_segment_for_it(ledger: Ledger, seen: Seen[SegmentBeforeFilter | None]) -> Judgement:
    """If nothing is filtered while state is read, there is no segment before the filter."""
    if ledger.filters:
        return False
    if seen.value is None:
        return ledger.has_read
    return Broken(
        FailureClass.LEAKED, "nothing is filtered while state is read", "there is a segment before the filter"
    )


@rule(
    steps.resources,
    invariant="I-75",
    tickets=("FLINK-39519",),
    needs=RESOURCES | BOUNDED,
    never=(Never(Setting("pushed"), "Chunks are spilled, whose open segment is on the heap."),),
)
def without_a_filter_the_pool_gives_the_buffers(ledger: Ledger, seen: Looked) -> Judgement:
    """If nothing is filtered while state is read, chunks are read into buffers of the pool, and never to the heap."""
    held = seen.value.heap
    if ledger.filters or held is None or ledger.config.recovery is Recovery.PUSHED:
        return False
    if not held:
        return ledger.has_read
    return Broken(FailureClass.LEAKED, "state is read into buffers of the pool", f"{are(held, 'heap segment')} held")


# ---- buffers ---------------------------------------------------------------------------------------------------------
@rule(steps.resources, invariant="I-93", tickets=("FLINK-39519",), needs=RESOURCES, quiet=True)
def every_buffer_is_given_back_once(ledger: Ledger, seen: Looked) -> Judgement:
    """The pool has given out the buffers that the task holds, and no other once everything was taken."""
    held = seen.value.segments
    if held is None or ledger.phase not in ("fetching", "fetched"):
        return False
    least = len(ledger.held)
    if held < least:
        owed = f"the task holds {many(least, 'buffer')}"
        return Broken(FailureClass.LOST, owed, f"{are(held, 'segment')} given out")
    if not ledger.all_taken:
        return False
    if held == least:
        return True
    owed = f"everything was taken, and the task holds {many(least, 'buffer')}"
    return Broken(FailureClass.LEAKED, owed, f"{are(held, 'segment')} given out")


# ---- memory and files ------------------------------------------------------------------------------------------------
@rule(steps.resources, invariant="I-72", tickets=("FLINK-39519",), needs=RESOURCES | BOUNDED, quiet=True)
def memory_does_not_grow_with_the_state(ledger: Ledger, seen: Looked) -> Judgement:
    """No more buffers are given out than the pool has; outside of it there is one segment before the filter, and with
    pushed the open segment of the spill files."""
    if ledger.released:
        return False
    segments, heap, config = seen.value.segments, seen.value.heap, ledger.config
    if segments is not None and segments > config.buffers:
        return _too_many("segment of the pool", segments, config.buffers)
    most = ledger.filters + (config.recovery is Recovery.PUSHED)
    if heap is not None and heap > most:
        return _too_many("heap segment", heap, most)
    return ledger.has_read


def _too_many(what: str, held: int, most: int) -> Broken:
    return Broken(FailureClass.LEAKED, f"there may be {many(most, what)}", f"{are(held, what)} held")


@rule(steps.partial, invariant="I-72", tickets=("FLINK-39519", "FLINK-38930"), needs=BOUNDED)
def only_records_that_have_not_ended_are_kept(ledger: Ledger, seen: Seen[tuple[PartialRecord, ...]]) -> Judgement:
    """Of each virtual channel, at most the one record is kept of which a part was read, and no more of it than was
    read."""
    last = -1
    for one in seen.value:
        if not last < one.virtual < len(ledger.virtuals):
            return Broken(FailureClass.PROTOCOL, "one record of each virtual channel at most, in their order", str(one))
        last = one.virtual
        begun = ledger.most_begun(one.virtual)
        if one.size > begun:
            owed = f"{many(begun, 'byte')} were read of an element of virtual channel {one.virtual} that has not ended"
            return Broken(FailureClass.LEAKED, owed, f"{are(one.size, 'byte')} kept")
    if ledger.filters:
        kept = {one.virtual: one.size for one in seen.value}
        for virtual in ledger.virtuals:
            least = virtual.layout.begun(virtual.read) - LENGTH if virtual.layout.is_known else 0
            if kept.get(virtual.layout.number, 0) < least:
                owed = f"at least {many(least, 'byte')} of the next element of virtual channel {virtual.layout.number}"
                return Broken(FailureClass.LOST, owed, f"{kept.get(virtual.layout.number, 0)} are kept")
    return bool(seen.value)


@rule(steps.partial, invariant="I-72", tickets=("FLINK-39519",), needs=BOUNDED)
def what_is_large_is_kept_in_a_file(ledger: Ledger, seen: Seen[tuple[PartialRecord, ...]]) -> Judgement:
    """If more is kept of a record than may stay in memory, it is kept in a file."""
    most = ledger.config.partial_in_memory
    large = [one for one in seen.value if one.size > most]
    for one in large:
        if not one.in_file:
            owed = f"{many(most, 'byte')} of a record that has not ended may stay in memory"
            return Broken(FailureClass.LEAKED, owed, f"{are(one.size, 'byte')} kept there")
    return bool(large)


@rule(steps.resources, invariant="I-72", tickets=("FLINK-39519",), needs=RESOURCES, quiet=True)
def a_file_ends_with_its_record(ledger: Ledger, seen: Looked) -> Judgement:
    """There are files only of records that have not ended, and of spilled segments; once everything was taken, none is
    left but those whose deletion has failed."""
    there = seen.value.files
    if there is None or ledger.phase not in ("fetching", "fetched"):
        return False
    most = ledger.files_left
    if there <= most and ledger.config.recovery is not Recovery.PUSHED:  # nothing need be counted
        return ledger.has_large()
    if not ledger.all_taken or (ledger.config.recovery is Recovery.PUSHED and not ledger.drained):
        if ledger.config.recovery is Recovery.PUSHED:
            return False
        most += ledger.count_begun()
    if there <= most:
        return ledger.has_large()
    return Broken(FailureClass.LEAKED, f"there may be {many(most, 'file')}", f"{are(there, 'file')} there")


adopt(lifetime.after_release_nothing_is_held, steps.resources, needs=RESOURCES)
