"""The rules of the subpartition. Specification: subpartition.md."""

from __future__ import annotations

from conformance.components.subpartition import steps
from conformance.components.subpartition.ledger import (
    ABSENT,
    DATA,
    DESERTED,
    EVENT,
    FAILED,
    NONE,
    PENDING,
    PRIORITY,
    WRITTEN_EMPTY,
    Ledger,
)
from conformance.driver import BROKEN, Broken, FailureClass, Judgement, Rules, Seen, answers_property
from conformance.models import lifetime, taking
from conformance.models.designs import PASSES_LOCALLY, PASSES_REMOTELY, READBACK, RESOURCES, TIMEOUTABLE
from conformance.models.records import compare_ids, in_words, were
from conformance.models.signal_words import signalled
from conformance.models.words import must_fail, must_succeed, name, truth
from conformance.ports import (
    Availability,
    Buffer,
    BufferAndBacklog,
    DataAvailable,
    ErrorKind,
    OutputState,
    PriorityAvailable,
    RecoveryCompletion,
    StateStatus,
)

RULES = Rules[Ledger]("subpartition", answers_property("subpartition"))
rule, adopt = RULES.rule, RULES.adopt
_TICKET = ("FLINK-39018",)

Polled = Seen[BufferAndBacklog | None]
State = Seen[OutputState, int]


# ---- polling ---------------------------------------------------------------------------------------------------------
@rule(steps.poll, invariant="I-17", tickets=_TICKET)
def the_end_of_recovered_state_is_always_sent(ledger: Ledger, seen: Polled) -> Judgement:
    """After the recovered output state, the subpartition delivers the end of output state once, also if there was no
    output state."""
    head = None if ledger.blocked or ledger.urgent else ledger.head()
    if head is None or type(head.element) is not RecoveryCompletion:
        return False
    if seen.value is not None and type(seen.value.element) is RecoveryCompletion:
        return True
    owed = "the end of output state must come next, also if there was no output state: the consumer waits for it"
    return Broken(FailureClass.LOST, owed, _answered(seen.value))


@rule(steps.poll, invariant="I-01", tickets=("FLINK-17564", "FLINK-18136"))
def elements_arrive_once_in_order_and_unchanged(ledger: Ledger, seen: Polled) -> Judgement:
    """Every recovered and every added element reaches the consumer once, unchanged and in order, except that priority
    events come before elements without priority."""
    if seen.value is None:
        return False
    element = seen.value.element
    if ledger.urgent:
        if element == ledger.urgent[0]:
            return True
        first = f"{ledger.first()} has priority and must come first"
        return Broken(FailureClass.REORDERED, first, _answered(seen.value))
    if ledger.blocked:
        return False  # only-priority-events-leave-a-blocked-subpartition judges this
    head = ledger.head()
    if head is None:
        return Broken(FailureClass.DUPLICATED, "all elements were delivered before", _answered(seen.value))
    owed = ledger.owed(head)
    if type(owed) is Buffer and type(element) is Buffer:
        if element.ids == owed.ids:
            if head.open and not owed.ids:
                what = "nothing is left to read in the unfinished buffer, so the poll must return nothing"
                return Broken(FailureClass.DUPLICATED, what, _answered(seen.value))
            return True
        kind = compare_ids(owed.ids, element.ids, ledger.delivered)
    elif element == owed:
        return True
    elif type(element) is Buffer and element.ids and element.ids[0] < ledger.delivered:
        kind = FailureClass.DUPLICATED
    else:
        kind = FailureClass.CORRUPTED if type(element) is type(owed) else FailureClass.REORDERED
    return Broken(kind, f"{name(owed)} must come next", _answered(seen.value))


adopt(taking.sequence_numbers_have_no_gaps, steps.poll, of=lambda ledger: ledger.next_number)


@rule(steps.poll, invariant="I-15", tickets=_TICKET)
def only_priority_events_leave_a_blocked_subpartition(ledger: Ledger, seen: Polled) -> Judgement:
    """Until the consumer resumes it, a blocked subpartition delivers nothing but priority events."""
    if not ledger.blocked:
        return False
    if seen.value is None or seen.value.element.data_type.has_priority:
        return True
    owed = "the subpartition is blocked and was not resumed: only priority events may come"
    return Broken(FailureClass.REORDERED, owed, _answered(seen.value))


@rule(
    steps.poll,
    invariant="I-13",
    tickets=_TICKET,
    needs=PASSES_LOCALLY,
    formerly=("a-blocked-subpartition-hands-out-priority-events",),
)
def a_blocked_subpartition_delivers_priority_events(ledger: Ledger, seen: Polled) -> Judgement:
    """The subpartition delivers a priority event even while it is blocked."""
    if not (ledger.blocked and ledger.urgent):
        return False
    if seen.value is not None:
        return True
    owed = f"{ledger.first()} must reach the consumer although the subpartition is blocked"
    return Broken(FailureClass.STUCK, owed, _answered(None))


@rule(steps.poll, invariant="I-16", tickets=_TICKET)
def what_is_announced_can_be_polled(ledger: Ledger, seen: Polled) -> Judgement:
    """If the subpartition has notified the consumer of data or of a priority event, the next poll returns an element,
    and after a notification of priority it returns a priority event."""
    if ledger.announced is NONE:
        return False
    if ledger.announced is PRIORITY:
        if seen.value is not None and seen.value.element.data_type.has_priority:
            return True
        owed = "the consumer was notified of a priority event"
        return Broken(FailureClass.PROTOCOL, owed, _answered(seen.value))
    if ledger.blocked or not ledger.readable():
        return False
    if seen.value is not None:
        return True
    owed = f"the consumer was notified of data, and {ledger.first()} can be polled"
    return Broken(FailureClass.PROTOCOL, owed, _answered(None))


adopt(
    taking.a_take_returns_what_is_available,
    steps.poll,
    of=Ledger.must_find,
    formerly=("a-poll-hands-out-what-is-readable",),
)


# ---- notifications, and what a poll says about the next element ------------------------------------------------------
@rule(steps.unaligned_barrier, steps.aligned_timeout, invariant="I-13", tickets=_TICKET, needs=PASSES_LOCALLY)
def a_blocked_subpartition_announces_priority_events(ledger: Ledger, seen: Seen[object]) -> Judgement:
    """When a blocked subpartition gets its first priority event, it notifies the consumer once, with the sequence
    number of that event."""
    return _judge_announcement(ledger, seen, ", although the subpartition is blocked") if ledger.blocked else False


@rule(steps.available, invariant="I-14", tickets=_TICKET, needs=PASSES_REMOTELY)
def priority_events_leave_with_and_without_credit(ledger: Ledger, seen: Seen[Availability, bool]) -> Judgement:
    """A blocked subpartition that has a priority event reports that an element is available, whether or not the reader
    has credit."""
    if not (ledger.blocked and ledger.urgent):
        return False
    if seen.value.available:
        return True
    credit = "with" if seen.operands[0] else "without"
    owed = f"{ledger.first()} must be available to a reader {credit} credit, although the subpartition is blocked"
    return Broken(FailureClass.STUCK, owed, "the subpartition says that nothing is available")


@rule(steps.unaligned_barrier, steps.aligned_timeout, invariant="I-16")
def priority_events_are_announced_once(ledger: Ledger, seen: Seen[object]) -> Judgement:
    """When a subpartition that is not blocked gets its first priority event, it notifies the consumer once, with the
    sequence number of that event."""
    return False if ledger.blocked else _judge_announcement(ledger, seen)


@rule(
    *steps.ADDS, steps.aligned_timeout, steps.poll, steps.resume, invariant="I-16", after_learning=True,
    signals=(PriorityAvailable,),
)  # fmt: skip
def an_announced_number_is_that_of_a_priority_event(ledger: Ledger, seen: Seen[object]) -> Judgement:
    """The sequence number in a notification of a priority event is the number that a queued priority event will
    carry."""
    numbers = [signal.seq for signal in seen.signals if type(signal) is PriorityAvailable]
    first, count = ledger.seq, len(ledger.urgent)
    wrong = [one for one in numbers if not first <= one < first + count]
    if not wrong:
        return True
    queued = f"{count} priority events are queued, and the next element carries {first}" if count else "none is queued"
    what = f"a notification must name the sequence number of a queued priority event; {queued}"
    return Broken(FailureClass.PROTOCOL, what, f"the consumer was notified of sequence number {wrong[0]}")


@rule(*steps.ADDS, steps.aligned_timeout, invariant="I-16", tickets=_TICKET)
def nothing_is_announced_that_is_blocked(ledger: Ledger, seen: Seen[object]) -> Judgement:
    """A blocked subpartition does not notify the consumer of data, because the consumer cannot poll the data."""
    if not (ledger.blocked and ledger.view):
        return False
    if DataAvailable() not in seen.signals:
        return True
    owed = "the subpartition is blocked, so it must not notify the consumer of data"
    return Broken(FailureClass.PROTOCOL, owed, "it signalled that data is available")


@rule(steps.poll, invariant="I-16", after_learning=True, formerly=("the-next-type-tells-what-follows",))
def the_next_data_type_is_that_of_the_next_element(ledger: Ledger, seen: Polled) -> Judgement:
    """A take that returns an element also returns the type of what can be taken next, and the type none if nothing
    can."""
    if seen.value is None:
        return False
    told = seen.value.next
    if ledger.urgent and (ledger.passes_blocked or not ledger.blocked):
        owed = PRIORITY
    elif ledger.blocked or not ledger.live:
        owed = NONE
    elif told is NONE and not ledger.due():
        return True
    elif ledger.only_waits_for_records():
        owed = NONE
    else:
        owed = DATA if ledger.live[0].element is None else EVENT
    if told is owed:
        return True
    if told is NONE:
        what = f"{ledger.first()} can be polled next, so the next type must be {owed}"
        return Broken(FailureClass.STUCK, what, f"the poll returned the next type {told}")
    return Broken(FailureClass.PROTOCOL, f"the next type must be {owed}", f"the poll returned the next type {told}")


@rule(steps.poll, invariant="I-21", after_learning=True)
def the_backlog_counts_ready_data(ledger: Ledger, seen: Polled) -> Judgement:
    """The backlog is the number of queued data buffers, of which the last one need not be counted until the producer
    has finished; while the subpartition is blocked and has no priority event, the backlog is 0."""
    return False if seen.value is None else _judge_backlog(ledger, seen.value.backlog)


# ---- availability, resuming and the view -----------------------------------------------------------------------------
@rule(steps.available, invariant="I-17", tickets=("FLINK-23223",))
def resuming_makes_waiting_elements_available(ledger: Ledger, seen: Seen[Availability, bool]) -> Judgement:
    """After the consumer has resumed the subpartition, the elements that waited while it was blocked are available."""
    if not ledger.resumed or not seen.operands[0] or not ledger.due():
        return False
    if seen.value.available:
        return True
    owed = f"{ledger.first()} waited while the subpartition was blocked, and must be available now"
    return Broken(FailureClass.STUCK, owed, "the subpartition says that nothing is available")


@rule(steps.available, invariant="I-16", formerly=("availability-tells-the-truth",))
def availability_agrees_with_the_next_poll(ledger: Ledger, seen: Seen[Availability, bool]) -> Judgement:
    """To a reader with credit, the subpartition reports that an element is available if a poll would return one, and
    not if it is blocked, empty, or only waits for more records; to a reader without credit, it reports so exactly if
    the next element is an event."""
    told, live = seen.value.available, ledger.live
    if ledger.blocked:
        if not seen.operands[0] or ledger.can_be_polled():
            return False  # left open; priority-events-leave-with-and-without-credit judges what can leave
        if told:
            owed = "the subpartition is blocked and nothing can leave it, so `available` must return false"
            return Broken(FailureClass.PROTOCOL, owed, "it returned true")
        return _judge_backlog(ledger, seen.value.backlog)
    if not seen.operands[0]:
        event = bool(ledger.urgent) or (bool(live) and live[0].element is not None)
        if told is not event:
            kind = FailureClass.STUCK if event else FailureClass.PROTOCOL
            next_one = "an event" if event else "no event"
            owed = f"without credit, and with {next_one} in front, `available` must return {truth(event)}"
            return Broken(kind, owed, f"it returned {truth(told)}")
    elif told and ((not live and not ledger.urgent) or ledger.only_waits_for_records()):
        queued = "nothing is left to read in the unfinished buffer" if live else "no element is queued"
        return Broken(FailureClass.PROTOCOL, f"{queued}, so `available` must return false", "it returned true")
    elif not told and (ledger.due() or (ledger.flushed and ledger.readable())):
        return Broken(
            FailureClass.STUCK, f"{ledger.first()} can be polled, so `available` must return true", "it returned false"
        )
    return _judge_backlog(ledger, seen.value.backlog)


@rule(steps.resume, steps.resume_unblocked, invariant="I-18")
def only_a_blocked_subpartition_can_be_resumed(ledger: Ledger, seen: Seen[None]) -> Judgement:
    """Resuming a blocked subpartition succeeds; resuming one that is not blocked fails with an error of kind state."""
    if ledger.blocked:
        return must_succeed(seen.error, "the subpartition is blocked: resuming it must succeed")
    return must_fail(seen.error, ErrorKind.STATE, "the subpartition is not blocked")


@rule(steps.attach_view_again, invariant="I-18")
def a_view_is_attached_once(ledger: Ledger, seen: Seen[None]) -> Judgement:
    """Attaching a second view, or a view to a released subpartition, fails with an error of kind state."""
    why = "was released" if ledger.released else "has a view already"
    return must_fail(seen.error, ErrorKind.STATE, f"the subpartition {why}")


adopt(taking.nothing_is_accepted_after_the_end, *steps.AFTER_THE_END)


# ---- output state and channel state futures --------------------------------------------------------------------------
@rule(*steps.READS, invariant="I-34", tickets=("FLINK-17315", "FLINK-18139"), needs=READBACK)
def overtaken_data_is_written_once_and_in_order(ledger: Ledger, seen: State) -> Judgement:
    """The output state of a checkpoint contains exactly the records that its barrier overtook, each once and in
    order."""
    (checkpoint,) = seen.operands
    owed, got = ledger.checkpoints.state(checkpoint), seen.value
    if owed is ABSENT:
        if got in (ABSENT, WRITTEN_EMPTY):
            return True
        if checkpoint in ledger.checkpoints.unwritten:
            return False
        what = f"barrier {checkpoint} overtook no data, so the output state must be empty"
        return Broken(FailureClass.DUPLICATED, what, f"the output state is {got.status} with {in_words(got.ids)}")
    if owed in (PENDING, FAILED):
        return False
    if got == owed:
        return bool(owed.ids)
    what = f"barrier {checkpoint} overtook {in_words(owed.ids)}, so the output state must be written with "
    what += "exactly this content" if owed.ids else "no record"
    if got.status is not StateStatus.WRITTEN:
        kind = FailureClass.LOST if owed.ids else FailureClass.ORPHANED
        return Broken(kind, what, f"the output state is {got.status}")
    kind = compare_ids(owed.ids, got.ids, owed.ids[0] if owed.ids else ledger.delivered)
    return Broken(kind, what, f"{were(got.ids)} written")


@rule(
    *steps.READS, invariant="I-62", tickets=("FLINK-27251", "FLINK-28474"), needs=READBACK | TIMEOUTABLE,
    formerly=("a-promise-to-the-writer-is-settled",),
)  # fmt: skip
def a_channel_state_future_is_completed(ledger: Ledger, seen: State) -> Judgement:
    """The subpartition completes the channel state future of a timeoutable barrier when the barrier is polled or
    converted, and fails it when the checkpoint is aborted or the subpartition is released."""
    (checkpoint,) = seen.operands
    owed, got = ledger.checkpoints.state(checkpoint), seen.value
    if checkpoint not in ledger.checkpoints.timeoutable or checkpoint in ledger.checkpoints.replaced or owed.ids:
        return False
    if got.status is owed.status:
        return True
    if owed is PENDING and got == FAILED and ledger.phase in (BROKEN, DESERTED):
        return False  # left open: the future may fail before the release or with it
    kind = FailureClass.ORPHANED if got.status is StateStatus.PENDING else FailureClass.PROTOCOL
    what = f"the channel state future of checkpoint {checkpoint} must be {owed.status} by now"
    return Broken(kind, what, f"it is {got.status}")


@rule(
    *steps.READS, invariant="I-59", needs=READBACK | TIMEOUTABLE,
    formerly=("a-newer-timeoutable-barrier-fails-the-older-promise",),
)  # fmt: skip
def a_newer_timeoutable_barrier_fails_the_older_channel_state_future(ledger: Ledger, seen: State) -> Judgement:
    """If a timeoutable barrier is added while the channel state future of an older one is open, the subpartition fails
    the older future."""
    (checkpoint,) = seen.operands
    if checkpoint not in ledger.checkpoints.replaced:
        return False
    if seen.value.status is StateStatus.FAILED:
        return True
    what = f"a newer timeoutable barrier was added: the channel state future of checkpoint {checkpoint} must fail"
    return Broken(FailureClass.ORPHANED, what, f"its output state is {seen.value.status}")


# ---- resources, and elements that nobody polls -----------------------------------------------------------------------
_HELD = ("a-subpartition-holds-what-it-should-and-releases-all",)
adopt(
    lifetime.no_resource_is_leaked_while_open,
    steps.resources,
    needs=RESOURCES,
    formerly=_HELD,
)
adopt(lifetime.after_release_nothing_is_held, steps.resources, needs=RESOURCES, formerly=_HELD)


@rule(steps.flush, invariant="I-22")
def what_is_flushed_is_announced(ledger: Ledger, seen: Seen[None]) -> Judgement:
    """After a flush, the subpartition has notified the consumer of the records in an unfinished buffer, if this buffer
    is the only queued element."""
    if not ledger.view or ledger.consumer.probe or ledger.blocked or ledger.urgent or len(ledger.live) != 1:
        return False
    alone = ledger.live[0]
    if not alone.open or alone.end <= ledger.delivered:
        return False
    if ledger.consumer.awake or DataAvailable() in seen.signals:
        return True
    owed = f"after the flush {ledger.first()} can be polled, so the consumer must have been notified"
    return Broken(FailureClass.STUCK, owed, "it was not notified")


@rule(
    *steps.BRINGS, steps.poll, steps.available, steps.resume, steps.flush, steps.resources,
    invariant="I-22", tickets=("FLINK-39018", "FLINK-20145"), after_learning=True,
    formerly=("nothing-due-waits-for-ever",),
)  # fmt: skip
def the_consumer_has_a_reason_to_poll_what_is_available(ledger: Ledger, seen: Seen[object]) -> Judgement:
    """Whenever an element can be polled, the consumer has a reason to poll: it was notified since its last poll, or an
    operation has returned since that an element can be polled. It asks after attaching its view and after resuming."""
    if ledger.consumer.awake:
        return True
    if not ledger.view or ledger.consumer.probe or not ledger.due():
        return False
    owed = f"{ledger.first()} can be polled, so the consumer must have a reason to poll"
    return Broken(FailureClass.STUCK, owed, "it was not notified, and no operation has returned that more follows")


@rule(*steps.BRINGS_NOTHING, invariant="I-22", after_learning=True, formerly=("nobody-is-woken-for-nothing",))
def the_consumer_is_notified_only_of_what_can_be_polled(ledger: Ledger, seen: Seen[object]) -> Judgement:
    """An operation that puts nothing into the queue does not notify the consumer of data if nothing can be polled
    afterwards: a consumer that finds nothing sleeps."""
    if not seen.signals:
        return ledger.view and not ledger.consumer.awake
    if ledger.can_be_polled() or not any(type(signal) is DataAvailable for signal in seen.signals):
        return False
    owed = "nothing can be polled, so nobody must be notified"
    return Broken(FailureClass.PROTOCOL, owed, "it signalled that data is available")


@rule(
    *steps.BRINGS,
    *steps.AFTER_THE_END,
    steps.flush,
    steps.finish_again,
    steps.abort_checkpoint,
    invariant="I-22",
    formerly=("nobody-is-told-without-a-view",),
)
def nothing_is_notified_without_a_view(ledger: Ledger, seen: Seen[object]) -> Judgement:
    """The subpartition notifies nobody as long as no view is attached, and nobody after release."""
    if ledger.view and not ledger.failed:
        return False
    if not seen.signals:
        return True
    why = "the subpartition was released" if ledger.failed else "no view is attached"
    return Broken(
        FailureClass.PROTOCOL, f"{why}, so nobody must be notified", f"it signalled this: {signalled(seen.signals[0])}"
    )


# ---- judgements that several rules share -----------------------------------------------------------------------------
def _answered(taken: BufferAndBacklog | None) -> str:
    return f"the poll returned {'nothing' if taken is None else name(taken.element)}"


def _judge_announcement(ledger: Ledger, seen: Seen[object], although: str = "") -> Judgement:
    """Judges the notification of a step that gives a subpartition with a view its first priority event."""
    if not ledger.view or ledger.urgent or not ledger.rises:
        return False
    numbers = [signal.seq for signal in seen.signals if type(signal) is PriorityAvailable]
    if numbers == [ledger.seq]:
        return True
    owed = f"the consumer must be notified of the priority event with sequence number {ledger.seq}{although}"
    if not numbers:
        return Broken(FailureClass.STUCK, owed, "the consumer was not notified of any")
    return Broken(
        FailureClass.PROTOCOL,
        owed,
        f"the consumer was notified of {', '.join(f'sequence number {one}' for one in numbers)}",
    )


def _judge_backlog(ledger: Ledger, told: int) -> Judgement:
    if ledger.blocked and ledger.can_be_polled():
        return False  # left open: 2.3.0 returns 0, FLINK-40519 counts the buffers behind the priority event
    most = 0 if ledger.blocked else ledger.buffers
    least = most
    if most and ledger.phase != "finished" and ledger.live[-1].element is None:
        least = most - 1
    if least <= told <= most:
        return True
    owed = f"{most}" if least == most else f"{least} or {most}"
    return Broken(FailureClass.PROTOCOL, f"the backlog must be {owed}", f"the backlog is {told}")
