"""What must be true of a subpartition, as named sentences. recovery.md, sections 2.2, 3.1 and 3.2."""

from __future__ import annotations

from collections.abc import Callable

from conformance.ports import Capability
from conformance.properties.base import Judgement, Kind, Level, Property, Seen, answers_property
from conformance.properties.subpartition import checks, goals
from conformance.properties.subpartition.ledger import SubpartitionLedger

_SUBPARTITION = "subpartition"
_ADDS = ("add", "open", "append", "flush", "add_event", "aligned_barrier", "timeoutable_barrier", "unaligned_barrier")
_STATE = ("persisted", "restore")
_READBACK = frozenset({Capability.PERSISTED_READBACK})

_ALWAYS = (
    answers_property(_SUBPARTITION),
    Property(
        "the-end-of-recovered-state-is-always-sent",
        "After recovered output state the consumer is sent its end, exactly once, even if there was no state.",
        _SUBPARTITION, ("poll",), checks.completion_is_sent, invariant="I-17", tickets=("FLINK-39018",),
    ),
    Property(
        "elements-arrive-once-in-order-and-unchanged",
        "What the producer added reaches the consumer once, unchanged and in the order added; "
        "an unaligned barrier comes before everything that has no priority.",
        _SUBPARTITION, ("poll",), checks.arrives_in_order, invariant="I-01",
        tickets=("FLINK-17564", "FLINK-18136"),
    ),
    Property(
        "sequence-numbers-have-no-gaps",
        "Polled elements are numbered 0, 1, 2, and so on, priority elements included.",
        _SUBPARTITION, ("poll",), checks.numbers_without_gaps, invariant="I-19",
    ),
    Property(
        "only-priority-events-leave-a-blocked-subpartition",
        "Until the consumer resumes it, a blocked subpartition hands out nothing but priority events.",
        _SUBPARTITION, ("poll",), checks.only_priority_leaves_while_blocked, invariant="I-15", tickets=("FLINK-39018",),
    ),
    Property(
        "a-blocked-subpartition-hands-out-priority-events",
        "A priority event is handed out although the subpartition is blocked.",
        _SUBPARTITION, ("poll",), checks.priority_leaves_while_blocked, invariant="I-13", tickets=("FLINK-39018",),
        needs=frozenset({Capability.BLOCKED_PRIORITY_LOCAL}),
    ),
    Property(
        "what-is-announced-can-be-polled",
        "The poll after an announcement answers what was announced.",
        _SUBPARTITION, ("poll",), checks.announced_can_be_polled, invariant="I-16", tickets=("FLINK-39018",),
    ),
    Property(
        "a-poll-hands-out-what-is-readable",
        "A poll of a subpartition that is not blocked answers what was written so far, of an unfinished buffer too.",
        _SUBPARTITION, ("poll",), checks.hands_out_what_is_readable, invariant="I-16",
    ),
    Property(
        "a-blocked-subpartition-announces-priority-events",
        "The first priority event in a blocked subpartition is announced, once, with the number it will carry.",
        _SUBPARTITION, ("unaligned_barrier", "aligned_timeout"), checks.announces_priority_while_blocked,
        invariant="I-13", tickets=("FLINK-39018",), needs=frozenset({Capability.BLOCKED_PRIORITY_LOCAL}),
    ),
    Property(
        "priority-events-leave-with-and-without-credit",
        "A priority event in a blocked subpartition counts as available to a reader with credit and to one without.",
        _SUBPARTITION, ("available",), checks.priority_leaves_with_and_without_credit, invariant="I-14",
        tickets=("FLINK-39018",), needs=frozenset({Capability.BLOCKED_PRIORITY_REMOTE}),
    ),
    Property(
        "priority-events-are-announced-once",
        "The first priority event is announced to the consumer, once, with the number it will carry.",
        _SUBPARTITION, ("unaligned_barrier", "aligned_timeout"), checks.announces_priority, invariant="I-16",
    ),
    Property(
        "nothing-is-announced-that-is-blocked",
        "While the subpartition is blocked, data that cannot be polled is not announced.",
        _SUBPARTITION, (*_ADDS, "aligned_timeout"), checks.announces_nothing_blocked, invariant="I-16",
        tickets=("FLINK-39018",),
    ),
    Property(
        "the-next-type-tells-what-follows",
        "The consumer is told the type of the next element exactly if it can be polled.",
        _SUBPARTITION, ("poll",), checks.next_is_true, invariant="I-16", after_learning=True,
    ),
    Property(
        "the-backlog-counts-ready-data",
        "The backlog is the number of queued data buffers, less one that may be unfinished; "
        "0 while blocked, unless a priority event can leave.",
        _SUBPARTITION, ("poll",), checks.backlog_is_true, level=Level.SHOULD, invariant="I-21", after_learning=True,
    ),
    Property(
        "resuming-makes-waiting-elements-available",
        "What waited while the subpartition was blocked is available once it is resumed.",
        _SUBPARTITION, ("available",), checks.resuming_shows_what_waited, invariant="I-17", tickets=("FLINK-23223",),
    ),
    Property(
        "availability-tells-the-truth",
        "Asked whether something is available, the subpartition says yes if a poll would answer it, "
        "and without credit if an event would.",
        _SUBPARTITION, ("available",), checks.availability_is_true, invariant="I-16",
    ),
    Property(
        "only-a-blocked-subpartition-can-be-resumed",
        "Resuming a subpartition that is not blocked is an error of kind state.",
        _SUBPARTITION, ("resume", "resume_unblocked"), checks.resumed_once, invariant="I-18",
    ),
    Property(
        "a-view-is-attached-once",
        "A second view, or one on a released subpartition, is an error of kind state.",
        _SUBPARTITION, ("attach_again",), checks.attached_once, invariant="I-18",
    ),
    Property(
        "nothing-is-accepted-after-the-end",
        "A finished or released subpartition rejects what is added.",
        _SUBPARTITION, ("add_after_end",), checks.accepts_nothing_after_the_end, invariant="I-33",
    ),
    Property(
        "overtaken-data-is-written-once-and-in-order",
        "The output state of a checkpoint is exactly the data that its barrier overtook, once and in order.",
        _SUBPARTITION, _STATE, checks.overtaken_data_is_written_once, invariant="I-34",
        tickets=("FLINK-17315", "FLINK-18139"), needs=_READBACK,
    ),
    Property(
        "a-promise-to-the-writer-is-settled",
        "What the writer was promised for a timeoutable barrier comes when the barrier is polled or converted, and "
        "fails when the checkpoint is aborted or the subpartition released.",
        _SUBPARTITION, _STATE, checks.promise_is_settled, invariant="I-62", tickets=("FLINK-27251", "FLINK-28474"),
        needs=_READBACK | {Capability.TIMEOUTABLE_BARRIERS},
    ),
    Property(
        "a-newer-timeoutable-barrier-fails-the-older-promise",
        "A timeoutable barrier added while an older promise is open fails that older promise.",
        _SUBPARTITION, _STATE, checks.older_promise_is_broken, invariant="I-59",
        needs=_READBACK | {Capability.TIMEOUTABLE_BARRIERS},
    ),
    Property(
        "a-subpartition-holds-what-it-should-and-releases-all",
        "Segments, listeners and futures held are those of its elements, view and promise; after release, none.",
        _SUBPARTITION, ("resources",), checks.holds_what_it_should, invariant="I-93",
        needs=frozenset({Capability.RESOURCES}),
    ),
    Property(
        "what-is-flushed-is-announced",
        "After a flush the consumer has been told of records in an unfinished buffer, if nothing stands before them.",
        _SUBPARTITION, ("flush",), checks.flush_is_announced, invariant="I-22",
    ),
    Property(
        "nothing-due-waits-for-ever",
        "Followed fairly, announcements, next types and answers lead the consumer to everything that can be polled.",
        _SUBPARTITION, ("resume", "flush", "resources"), checks.nothing_due_waits, kind=Kind.EVENTUALLY,
        invariant="I-22", tickets=("FLINK-39018", "FLINK-20145"),
    ),
    Property(
        "the-producer-is-resumed-once-per-channel",
        "A duplicate end of output state of one channel is an error of kind state.",
        _SUBPARTITION, (), checks.never, level=Level.UNTESTABLE, invariant="I-18",
    ),
)  # fmt: skip


def _goal(slug: str, statement: str, on: tuple[str, ...], check: Callable[[SubpartitionLedger, Seen], Judgement],
          needs: frozenset[Capability] = frozenset()) -> Property:  # fmt: skip
    return Property(slug, statement, _SUBPARTITION, on, check, kind=Kind.SOMETIMES, level=Level.SHOULD, needs=needs)


_TIMEOUTABLE = frozenset({Capability.TIMEOUTABLE_BARRIERS})

_SOMETIMES = (
    _goal("a-priority-event-was-taken-from-a-blocked-subpartition",
          "A barrier passed a blocked subpartition.", ("poll",), goals.priority_taken_while_blocked,
          frozenset({Capability.BLOCKED_PRIORITY_LOCAL})),
    _goal("a-timeoutable-barrier-was-converted-behind-data",
          "An alignment timeout found data in front of its barrier.", ("aligned_timeout",),
          goals.converted_behind_data, _TIMEOUTABLE),
    _goal("a-timeoutable-barrier-was-converted-past-an-aborted-one",
          "An alignment timeout stepped over an older barrier whose checkpoint was aborted.", ("aligned_timeout",),
          goals.converted_past_aborted, _TIMEOUTABLE),
    _goal("an-alignment-timeout-came-too-late",
          "An alignment timeout fired after its barrier had been polled or aborted.", ("aligned_timeout",),
          goals.timeout_too_late, _TIMEOUTABLE),
    _goal("an-unfinished-head-was-polled",
          "A poll read from a buffer that the producer was still writing.", ("poll",), goals.unfinished_head_polled),
    _goal("a-second-priority-event-waited-behind-the-first",
          "Two unaligned barriers were queued at once.", ("unaligned_barrier", "aligned_timeout"),
          goals.second_priority_event),
    _goal("an-unaligned-barrier-overtook-data",
          "Data became output state.", ("unaligned_barrier",), goals.barrier_overtook_data),
    _goal("released-before-a-view-was-attached", "Released before its consumer came.", ("fail",),
          goals.released_without_view),
    _goal("released-while-recovering", "Released in the middle of its recovery.", ("fail",),
          goals.released_while_recovering),
    _goal("released-while-blocked", "Released while blocked.", ("fail",), goals.released_while_blocked),
    _goal("released-with-an-unfinished-buffer", "Released while the producer was writing a buffer.", ("fail",),
          goals.released_with_unfinished_buffer),
    _goal("released-with-an-open-promise", "Released while the writer waited for output state.", ("fail",),
          goals.released_with_promise, _TIMEOUTABLE),
    _goal("released-after-it-was-finished", "Released after the end of the partition.", ("fail",),
          goals.released_after_finish),
    _goal("released-a-second-time", "Released again.", ("fail",), goals.released_twice),
    _goal("failed-and-restored-with-output-state", "A checkpoint with output state was restored after a failure.",
          ("restore",), goals.restored_with_state, _READBACK | {Capability.OUTPUT_RECOVERED_UPSTREAM}),
    _goal("a-barrier-passed-restored-output-state",
          "An unaligned barrier overtook records that had just been recovered.", ("unaligned_barrier",),
          goals.barrier_during_recovery, frozenset({Capability.OUTPUT_RECOVERED_UPSTREAM})),
)  # fmt: skip

PROPERTIES: tuple[Property, ...] = _ALWAYS + _SOMETIMES

__all__ = ["PROPERTIES", "SubpartitionLedger"]
