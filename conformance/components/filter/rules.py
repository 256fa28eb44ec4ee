"""The rules of a filter about what is read and taken. Specification: filter.md."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from conformance.components.filter import steps
from conformance.components.filter.ledger import Ledger
from conformance.driver import Broken, FailureClass, Judgement, Rules, Seen, answers_property, thread_properties
from conformance.driver.own_rules import NO_DEADLOCK, ONE_ORDER
from conformance.models import faults
from conformance.models.designs import FAULTS, IN_MEMORY, PUSHED, RECOVER_FIRST
from conformance.models.records import compare_ids, in_words
from conformance.models.words import got, must_fail, refusal
from conformance.ports import (
    RECORD_WRITE,
    Capability,
    CheckpointReason,
    ErrorKind,
    FilterPort,
    Recovery,
    Taken,
)

_OF_LOCKS = (NO_DEADLOCK, ONE_ORDER)
"""Only with pushed is a lock taken while another one is held."""
_THREADS = [
    replace(one, needs=one.needs | PUSHED) if one.slug in _OF_LOCKS else one for one in thread_properties("filter")
]
RULES = Rules[Ledger]("filter", answers_property("filter"), *_THREADS)
rule, adopt = RULES.rule, RULES.adopt
FILTERS = frozenset({Capability.FILTERS_RECORDS})
ONE_BUFFER = frozenset({Capability.ONE_BUFFER_BEFORE_THE_FILTER})
_TAKES = steps.TAKES
_DAMAGE = (ErrorKind.IO, ErrorKind.STATE)
FOUND = Ledger.has_found
TakenSeen = Seen[Taken | None, int, int]


# ---- what is taken ---------------------------------------------------------------------------------------------------
@rule(*_TAKES, invariant="I-71", tickets=("FLINK-38930",), after_learning=True, given=FOUND)
def what_is_taken_comes_as_the_design_says(ledger: Ledger, seen: TakenSeen) -> Judgement:
    """Elements come in a buffer that the task does not hold yet, with recover-first one at a time and without a
    buffer; the end of a channel comes once, without either."""
    return ledger.found.form


@rule(*_TAKES, invariant="I-78", tickets=("FLINK-39519", "FLINK-38930"), after_learning=True, given=FOUND)
def an_element_is_whole(ledger: Ledger, seen: TakenSeen) -> Judgement:
    """What is taken consists of elements that were recovered, each whole and with its own bytes, and ends with one."""
    return ledger.found.whole


@rule(*_TAKES, invariant="I-78", tickets=("FLINK-39519", "FLINK-35351"), after_learning=True, given=FOUND)
def where_a_chunk_ends_changes_nothing(ledger: Ledger, seen: TakenSeen) -> Judgement:
    """An element of which parts were read in several chunks comes out as it was, wherever it was cut and whatever was
    read in between."""
    return ledger.found.cut


@rule(*_TAKES, invariant="I-71", tickets=("FLINK-38930",), after_learning=True, given=FOUND)
def what_is_kept_comes_out_of_its_channel(ledger: Ledger, seen: TakenSeen) -> Judgement:
    """A record comes out of the channel that continues its old channel, and of no other."""
    return ledger.found.place


@rule(
    *_TAKES, invariant="I-77", tickets=("FLINK-35351", "FLINK-38930"), needs=FILTERS, after_learning=True, given=FOUND
)
def a_record_of_an_ambiguous_subtask_is_kept_by_its_owner(ledger: Ledger, seen: TakenSeen) -> Judgement:
    """Of an old subtask from which several new ones recover, a record is kept if and only if the partitioner of the
    edge selects this subtask for it."""
    return ledger.found.belongs


@rule(*_TAKES, invariant="I-77", tickets=("FLINK-19801", "FLINK-35351"), after_learning=True, given=FOUND)
def every_other_record_is_kept(ledger: Ledger, seen: TakenSeen) -> Judgement:
    """Of an old subtask from which only this one recovers, every record is kept, whatever its key is."""
    return ledger.found.everything


@rule(*_TAKES, invariant="I-05", tickets=("FLINK-35351", "FLINK-38930"), after_learning=True, given=FOUND)
def records_of_a_virtual_channel_keep_their_order(ledger: Ledger, seen: TakenSeen) -> Judgement:
    """The records of a virtual channel come once and in their order: first input state, then output state."""
    return ledger.found.order


@rule(*_TAKES, invariant="I-75", after_learning=True, given=FOUND)
def without_a_rescale_everything_passes(ledger: Ledger, seen: TakenSeen) -> Judgement:
    """If nothing near the vertex was rescaled, every element passes as it was, also markers and attributes."""
    return ledger.found.passed


# ---- watermarks, statuses, markers -----------------------------------------------------------------------------------
@rule(*_TAKES, invariant="I-81", tickets=("FLINK-19801",), needs=FILTERS, after_learning=True, given=FOUND)
def no_watermark_is_above_the_minimum(ledger: Ledger, seen: TakenSeen) -> Judgement:
    """A watermark comes only once every virtual channel of the channel has had one, is not above the last one of any of
    them, and not below one that came before."""
    return ledger.found.watermark


@rule(*_TAKES, invariant="I-81", tickets=("FLINK-19801",), needs=FILTERS, after_learning=True, given=FOUND)
def the_last_minimum_is_passed_on(ledger: Ledger, seen: TakenSeen) -> Judgement:
    """If every virtual channel of a channel has had a watermark, the last one that comes is the minimum of their last
    ones."""
    return ledger.found.last_watermark


@rule(*_TAKES, invariant="I-82", tickets=("FLINK-19801",), needs=FILTERS, after_learning=True, given=FOUND)
def a_channel_is_idle_only_if_all_its_virtual_channels_are(ledger: Ledger, seen: TakenSeen) -> Judgement:
    """The status idle comes only if all virtual channels of the channel are idle, and the status active only if one of
    them is active."""
    return ledger.found.idle


@rule(*_TAKES, invariant="I-82", tickets=("FLINK-19801",), needs=FILTERS, after_learning=True, given=FOUND)
def a_channel_is_left_as_its_virtual_channels_are(ledger: Ledger, seen: TakenSeen) -> Judgement:
    """In the end, a channel is idle if all its virtual channels are, and active if one of them is."""
    return ledger.found.last_status


@rule(*_TAKES, invariant="I-82", tickets=("FLINK-19801",), needs=FILTERS, after_learning=True, given=FOUND)
def markers_do_not_multiply(ledger: Ledger, seen: TakenSeen) -> Judgement:
    """A latency marker of a virtual channel comes once at most, and record attributes not more often than they were
    recovered."""
    return ledger.found.markers


# ---- the end ---------------------------------------------------------------------------------------------------------
@rule(*_TAKES, invariant="I-73", tickets=("FLINK-38930",))
def what_was_read_can_be_taken(ledger: Ledger, seen: TakenSeen) -> Judgement:
    """Once everything was handed on, a take returns the next that was recovered, then the end of the channel, and
    nothing after that."""
    if not ledger.must_find or seen.error is not None:
        return False
    if seen.value is not None or ledger.channels[ledger.numbers[seen.operands]].last:
        return True
    return Broken(
        FailureClass.STUCK, "everything was handed on, and the channel has not ended", "the take found nothing"
    )


@rule(steps.take, steps.take_damaged, invariant="I-79", tickets=("FLINK-38930",))
def a_channel_ends_after_everything_was_read(ledger: Ledger, seen: TakenSeen) -> Judgement:
    """The end of a channel comes only after the end of the fetch; with pushed, after everything was pushed."""
    if seen.value is None or not seen.value.last:
        return False
    if ledger.may_end():
        return True
    what = "not everything was pushed" if ledger.phase == "fetched" else "the fetch has not ended"
    return Broken(FailureClass.PROTOCOL, f"{what}, so the channel has not ended", "the end of the channel came")


@rule(steps.end_damaged, steps.take_damaged, invariant="I-79", tickets=("FLINK-38930",))
def state_that_ends_inside_an_element_is_an_error(ledger: Ledger, seen: Seen[Any]) -> Judgement:
    """If a virtual channel ends inside an element, the fetch fails at its end; with recover-first at the latest the
    take that would return the end of the channel."""
    if seen.error is not None:
        if not ledger.is_damaged():
            return False
        if seen.error.kind in _DAMAGE:
            return True
        return Broken(FailureClass.PROTOCOL, "the state is damaged: an error of kind io or state", got(seen.error))
    if ledger.phase == "fetching":
        is_late = ledger.config.recovery is Recovery.RECOVER_FIRST
    else:
        is_late = not (seen.value is not None and seen.value.last and ledger.is_damaged())
    if is_late:
        return False
    return Broken(FailureClass.LOST, "a virtual channel ends inside an element: the state is damaged", got(None))


# ---- what is refused -------------------------------------------------------------------------------------------------
@rule(steps.read_unknown, invariant="I-71", tickets=("FLINK-38930",), needs=FILTERS)
def an_unknown_virtual_channel_is_refused(ledger: Ledger, seen: Seen[None, int, int]) -> Judgement:
    """State of a virtual channel that the gate does not know, or of a gate without data, is refused with an error of
    kind state. With recover-first, an unknown old subtask may be noticed when the task demultiplexes."""
    layout = ledger.virtuals[seen.operands[0]].layout
    if seen.error is None and ledger.config.recovery is Recovery.RECOVER_FIRST and layout.channel >= 0:
        return False
    return must_fail(seen.error, ErrorKind.STATE, "the gate does not know the virtual channel")


@rule(*_TAKES, invariant="I-71", tickets=("FLINK-35351",), needs=FILTERS | RECOVER_FIRST, after_learning=True)
def nothing_of_an_unknown_virtual_channel_is_taken(ledger: Ledger, seen: TakenSeen) -> Judgement:
    """No element of an old subtask that the gate does not know comes out, and the channel does not end as if there were
    none: the take fails with an error of kind state."""
    if ledger.found.known:
        return ledger.found.known
    one = ledger.channels[ledger.numbers[seen.operands]]
    if not one.strangers or not any(stranger.read for stranger in one.strangers):
        return False
    if seen.error is not None:
        return must_fail(seen.error, ErrorKind.STATE, "an old subtask is unknown")
    if seen.value is None or not seen.value.last:
        return False
    return Broken(FailureClass.LOST, "an old subtask is unknown: the take must fail", "the end of the channel came")


@rule(steps.begin_badly, invariant="I-76", tickets=("FLINK-39519",))
def a_bad_page_size_is_refused(ledger: Ledger, seen: Seen[None]) -> Judgement:
    """A page size below 4 KiB, or that is no power of two, is refused with an error of kind config."""
    return must_fail(seen.error, ErrorKind.CONFIG, f"a page has {ledger.config.page} bytes")


# ---- checkpoints -----------------------------------------------------------------------------------------------------
@rule(steps.checkpoint, invariant="I-39", tickets=("FLINK-38930", "FLINK-39018"))
def a_checkpoint_before_the_end_is_declined(ledger: Ledger, seen: Seen[Any, int]) -> Judgement:
    """A checkpoint is declined before the end of the fetch, with recover-first before everything was taken, with the
    reason declined-task-not-ready. Afterwards it is not."""
    if ledger.must_start_now is None:
        return False
    if ledger.must_start_now:
        return seen.error is None or Broken(FailureClass.PROTOCOL, "the checkpoint must start", got(seen.error))
    if refusal(seen.error) is CheckpointReason.DECLINED_TASK_NOT_READY:
        return True
    owed = "the task is not ready: the checkpoint must be declined with the reason declined-task-not-ready"
    return Broken(FailureClass.PROTOCOL, owed, got(seen.error))


@rule(steps.checkpoint, invariant="I-39", tickets=("FLINK-38930", "FLINK-39519"))
def a_checkpoint_has_what_was_not_taken(ledger: Ledger, seen: Seen[tuple[tuple[int, ...], ...], int]) -> Judgement:
    """A checkpoint has each record that belongs here and that the task has not taken to its end, once, in its channel;
    those of a virtual channel in their order."""
    if seen.error is not None:
        return False
    if len(seen.value) != len(ledger.channels):
        owed = f"there are {len(ledger.channels)} channels"
        return Broken(FailureClass.PROTOCOL, owed, f"the checkpoint has {len(seen.value)}")
    for one, ids in zip(ledger.channels, seen.value, strict=True):
        owed_ids = one.untaken()
        by_virtual = tuple(sorted(ids, key=ledger.order.__getitem__)) if set(ids) <= ledger.order.keys() else ids
        if by_virtual != tuple(owed_ids):
            kind = compare_ids(tuple(owed_ids), by_virtual, 0)
            channel = f"channel {one.channel} of gate {one.gate}"
            return Broken(kind, f"{in_words(owed_ids)} of {channel} must be in it", f"{in_words(ids)} were")
    return True


# ---- what fails ------------------------------------------------------------------------------------------------------
STRUCK = (steps.begin, steps.read, steps.end, steps.drain, steps.take)
adopt(faults.an_operation_fails_with_what_it_calls, *STRUCK, needs=FAULTS)
_SEEN = (*STRUCK, steps.end_damaged, steps.cancel, steps.checkpoint)
_SPILLED = {place: kinds for place, kinds in FilterPort.can_fail.items() if place.startswith("spill-")}
_OTHERS = {place: kinds for place, kinds in FilterPort.can_fail.items() if place not in (*_SPILLED, RECORD_WRITE)}
faults.see_strikes(RULES, _OTHERS, *_SEEN)
faults.see_strikes(RULES, {RECORD_WRITE: FilterPort.can_fail[RECORD_WRITE]}, *_SEEN, needs=FAULTS | IN_MEMORY)
faults.see_strikes(RULES, _SPILLED, *_SEEN, needs=FAULTS | PUSHED)
faults.see_later_strikes(RULES, *STRUCK)


@rule(steps.checkpoint, invariant="I-90", needs=FAULTS | PUSHED, struck=True)
def a_checkpoint_fails_with_what_it_reads(ledger: Ledger, seen: Seen[Any, int]) -> Judgement:
    """If what a checkpoint needs cannot be read, this checkpoint fails, with an error of kind io or for that reason."""
    if (again := faults.struck_again(ledger.faults, faults.struck_by(seen))) is not None:
        return again
    if ledger.may_keep(faults.struck_by(seen).place):
        return False
    error = seen.error
    if error is not None and (error.kind is ErrorKind.IO or refusal(error) is CheckpointReason.IO_EXCEPTION):
        return True
    return Broken(FailureClass.LOST, "something could not be read, so the checkpoint must fail", got(error))


@rule(steps.take_late, invariant="I-90", tickets=("FLINK-38930",))
def after_a_failure_no_channel_ends(ledger: Ledger, seen: TakenSeen) -> Judgement:
    """After the fetch has failed, no channel is notified that everything was read."""
    if seen.value is not None and seen.value.last:
        return Broken(FailureClass.PROTOCOL, "the fetch has failed, so no channel ends", "the end of the channel came")
    return True
