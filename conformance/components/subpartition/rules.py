"""What must be true of a subpartition. Specification: subpartition.md."""

from __future__ import annotations

from conformance.components.subpartition import steps
from conformance.components.subpartition.ledger import (
    ABSENT,
    DATA,
    EVENT,
    FAILED,
    NONE,
    PENDING,
    PRIORITY,
    WRITTEN_EMPTY,
    Ledger,
)
from conformance.driver import Broken, FailureClass, Judgement, Kind, Level, Rules, Seen, Step, answers_property
from conformance.parts import lifetime, taking
from conformance.parts.designs import PASSES_LOCALLY, PASSES_REMOTELY, READBACK, RESOURCES
from conformance.parts.records import compare_ids
from conformance.parts.words import must_fail, must_succeed, name
from conformance.ports import (
    Availability,
    Buffer,
    BufferAndBacklog,
    Capability,
    DataAvailable,
    ErrorKind,
    OutputState,
    PriorityAvailable,
    RecoveryCompletion,
    StateStatus,
)

RULES = Rules[Ledger]("subpartition", answers_property("subpartition"))
rule, adopt = RULES.rule, RULES.adopt
TIMEOUTABLE = frozenset({Capability.TIMEOUTABLE_BARRIERS})
_TICKET = ("FLINK-39018",)

Polled = Seen[BufferAndBacklog | None]
State = Seen[OutputState, int]


# ---- what a poll hands out -------------------------------------------------------------------------------------------
@rule(steps.poll, invariant="I-17", tickets=_TICKET)
def the_end_of_recovered_state_is_always_sent(ledger: Ledger, seen: Polled) -> Judgement:
    """After recovered output state the consumer is sent its end, exactly once, even if there was no state."""
    head = None if ledger.blocked or ledger.urgent else ledger.head()
    if head is None or type(head.element) is not RecoveryCompletion:
        return False
    if seen.value is not None and type(seen.value.element) is RecoveryCompletion:
        return True
    owed = "the end of recovered output state is always sent, also when there was none: the consumer counts on it"
    return Broken(FailureClass.LOST, owed, _answered(seen.value))


@rule(steps.poll, invariant="I-01", tickets=("FLINK-17564", "FLINK-18136"))
def elements_arrive_once_in_order_and_unchanged(ledger: Ledger, seen: Polled) -> Judgement:
    """What was recovered and what was added reaches the consumer once, unchanged, each in its order, and a priority
    event before everything that has no priority."""
    if seen.value is None:
        return False
    element = seen.value.element
    if ledger.urgent:
        if element == ledger.urgent[0]:
            return True
        return Broken(FailureClass.REORDERED, f"{ledger.first()} stands in front", _answered(seen.value))
    if ledger.blocked:
        return False  # another rule says what may come out of a blocked subpartition
    head = ledger.head()
    if head is None:
        return Broken(FailureClass.DUPLICATED, "everything was delivered before", _answered(seen.value))
    owed = ledger.owed(head)
    if type(owed) is Buffer and type(element) is Buffer:
        if element.ids == owed.ids:
            return True
        kind = compare_ids(owed.ids, element.ids, ledger.delivered)
    elif element == owed:
        return True
    elif type(element) is Buffer and element.ids and element.ids[0] < ledger.delivered:
        kind = FailureClass.DUPLICATED
    else:
        kind = FailureClass.CORRUPTED if type(element) is type(owed) else FailureClass.REORDERED
    return Broken(kind, f"{name(owed)} comes next", _answered(seen.value))


adopt(taking.sequence_numbers_have_no_gaps, steps.poll)


@rule(steps.poll, invariant="I-15", tickets=_TICKET)
def only_priority_events_leave_a_blocked_subpartition(ledger: Ledger, seen: Polled) -> Judgement:
    """Until the consumer resumes it, a blocked subpartition hands out nothing but priority events."""
    if not ledger.blocked:
        return False
    if seen.value is None or seen.value.element.data_type.has_priority:
        return True
    owed = "the consumer has not resumed the subpartition yet"
    return Broken(FailureClass.REORDERED, owed, f"{name(seen.value.element)} left it all the same")


@rule(steps.poll, invariant="I-13", tickets=_TICKET, needs=PASSES_LOCALLY)
def a_blocked_subpartition_hands_out_priority_events(ledger: Ledger, seen: Polled) -> Judgement:
    """A priority event is handed out although the subpartition is blocked."""
    if not (ledger.blocked and ledger.urgent):
        return False
    if seen.value is not None:
        return True
    owed = f"{ledger.first()} must reach the consumer although the subpartition is blocked"
    return Broken(FailureClass.STUCK, owed, _answered(None))


@rule(steps.poll, invariant="I-16", tickets=_TICKET)
def what_is_announced_can_be_polled(ledger: Ledger, seen: Polled) -> Judgement:
    """The poll after an announcement answers what was announced."""
    if ledger.announced is NONE:
        return False
    if ledger.announced is PRIORITY:
        if seen.value is not None and seen.value.element.data_type.has_priority:
            return True
        return Broken(FailureClass.PROTOCOL, "a priority event was announced", _answered(seen.value))
    if ledger.blocked or not ledger.readable():
        return False
    return seen.value is not None or Broken(FailureClass.PROTOCOL, f"{ledger.first()} was announced", _answered(None))


adopt(taking.a_take_answers_what_is_there, steps.poll, formerly=("a-poll-hands-out-what-is-readable",))


# ---- what the consumer is told ---------------------------------------------------------------------------------------
@rule(steps.unaligned_barrier, steps.aligned_timeout, invariant="I-13", tickets=_TICKET, needs=PASSES_LOCALLY)
def a_blocked_subpartition_announces_priority_events(ledger: Ledger, seen: Seen[object]) -> Judgement:
    """The first priority event in a blocked subpartition is announced, once, with the number it will carry."""
    return _judge_announcement(ledger, seen, ", although the subpartition is blocked") if ledger.blocked else False


@rule(steps.available, invariant="I-14", tickets=_TICKET, needs=PASSES_REMOTELY)
def priority_events_leave_with_and_without_credit(ledger: Ledger, seen: Seen[Availability, bool]) -> Judgement:
    """A priority event in a blocked subpartition counts as available to a reader with credit and to one without."""
    if not (ledger.blocked and ledger.urgent):
        return False
    if seen.value.available:
        return True
    credit = "with" if seen.operands[0] else "without"
    owed = f"{ledger.first()} must leave a blocked subpartition {credit} credit"
    return Broken(FailureClass.STUCK, owed, "the reader was told that nothing is available")


@rule(steps.unaligned_barrier, steps.aligned_timeout, invariant="I-16")
def priority_events_are_announced_once(ledger: Ledger, seen: Seen[object]) -> Judgement:
    """The first priority event is announced to the consumer, once, with the number it will carry."""
    return False if ledger.blocked else _judge_announcement(ledger, seen)


@rule(*steps.ADDS, steps.aligned_timeout, invariant="I-16", tickets=_TICKET)
def nothing_is_announced_that_is_blocked(ledger: Ledger, seen: Seen[object]) -> Judgement:
    """While the subpartition is blocked, data that cannot be polled is not announced."""
    if not (ledger.blocked and ledger.view):
        return False
    if DataAvailable() not in seen.signals:
        return True
    return Broken(FailureClass.PROTOCOL, "nothing leaves a blocked subpartition without priority", "data was announced")


@rule(steps.poll, invariant="I-16", after_learning=True)
def the_next_type_tells_what_follows(ledger: Ledger, seen: Polled) -> Judgement:
    """The consumer is told the type of the next element exactly if it can be polled."""
    if seen.value is None:
        return False
    told = seen.value.next
    if ledger.urgent and (ledger.passes_blocked or not ledger.blocked):
        owed = PRIORITY
    elif ledger.blocked or not ledger.ordinary:
        owed = NONE
    elif told is NONE and not ledger.due():
        return True
    else:
        owed = DATA if ledger.ordinary[0].element is None else EVENT
    if told is owed:
        return True
    if told is NONE:
        what = f"{ledger.first()} can be polled next"
        return Broken(FailureClass.STUCK, what, "the consumer was told that nothing can")
    return Broken(FailureClass.PROTOCOL, f"the next type must be {owed}", f"the consumer was told {told}")


@rule(steps.poll, level=Level.SHOULD, invariant="I-21", after_learning=True)
def the_backlog_counts_ready_data(ledger: Ledger, seen: Polled) -> Judgement:
    """The backlog is the number of queued data buffers, less one that may be unfinished; 0 while blocked, unless a
    priority event can leave."""
    return False if seen.value is None else _judge_backlog(ledger, seen.value.backlog)


# ---- what the consumer asks ------------------------------------------------------------------------------------------
@rule(steps.available, invariant="I-17", tickets=("FLINK-23223",))
def resuming_makes_waiting_elements_available(ledger: Ledger, seen: Seen[Availability, bool]) -> Judgement:
    """What waited while the subpartition was blocked is available once it is resumed."""
    if not ledger.resumed or not seen.operands[0] or not ledger.due():
        return False
    if seen.value.available:
        return True
    owed = f"{ledger.first()} waited while the subpartition was blocked"
    return Broken(FailureClass.STUCK, owed, "nothing was available after it")


@rule(steps.available, invariant="I-16")
def availability_tells_the_truth(ledger: Ledger, seen: Seen[Availability, bool]) -> Judgement:
    """Asked whether something is available, the subpartition says yes if a poll would answer it, and without credit if
    an event would."""
    if ledger.blocked:
        return False
    told, ordinary = seen.value.available, ledger.ordinary
    if not seen.operands[0]:
        event = bool(ledger.urgent) or (bool(ordinary) and ordinary[0].element is not None)
        if told is not event:
            kind = FailureClass.STUCK if event else FailureClass.PROTOCOL
            owed = f"without credit an event can leave and data cannot, so available must be {event}"
            return Broken(kind, owed, f"it is {told}")
    elif told and not ledger.urgent and not ordinary:
        return Broken(FailureClass.PROTOCOL, "nothing is there", "the consumer was told that something is available")
    elif not told and (ledger.due() or (ledger.flushed and ledger.readable())):
        return Broken(FailureClass.STUCK, f"{ledger.first()} can be polled", "the consumer was told that nothing is")
    return _judge_backlog(ledger, seen.value.backlog)


@rule(steps.resume, steps.resume_unblocked, invariant="I-18")
def only_a_blocked_subpartition_can_be_resumed(ledger: Ledger, seen: Seen[None]) -> Judgement:
    """Resuming a subpartition that is not blocked is an error of kind state."""
    if ledger.blocked:
        return must_succeed(seen.error, "a blocked subpartition can be resumed")
    return must_fail(seen.error, ErrorKind.STATE, "it was not blocked")


@rule(steps.attach_view_again, invariant="I-18")
def a_view_is_attached_once(ledger: Ledger, seen: Seen[None]) -> Judgement:
    """A second view, or one on a released subpartition, is an error of kind state."""
    return must_fail(seen.error, ErrorKind.STATE, "it was released" if ledger.released else "it has a view")


adopt(taking.nothing_is_accepted_after_the_end, steps.add_after_end)


# ---- what the writer gets --------------------------------------------------------------------------------------------
@rule(*steps.READS, invariant="I-34", tickets=("FLINK-17315", "FLINK-18139"), needs=READBACK)
def overtaken_data_is_written_once_and_in_order(ledger: Ledger, seen: State) -> Judgement:
    """The output state of a checkpoint is exactly the data that its barrier overtook, once and in order."""
    (checkpoint,) = seen.operands
    owed, got = ledger.state(checkpoint), seen.value
    if owed is ABSENT:
        if got in (ABSENT, WRITTEN_EMPTY):
            return True
        what = f"barrier {checkpoint} overtook nothing, so its state must be empty"
        return Broken(FailureClass.DUPLICATED, what, f"it is {got.status}, records {got.ids}")
    if owed in (PENDING, FAILED):
        return False
    if got == owed:
        return bool(owed.ids)
    what = f"barrier {checkpoint} overtook records {owed.ids}, which must be written"
    if got.status is not StateStatus.WRITTEN:
        return Broken(FailureClass.LOST if owed.ids else FailureClass.ORPHANED, what, f"the state is {got.status}")
    kind = compare_ids(owed.ids, got.ids, owed.ids[0] if owed.ids else ledger.delivered)
    return Broken(kind, what, f"records {got.ids} were written")


@rule(
    *steps.READS, invariant="I-62", tickets=("FLINK-27251", "FLINK-28474"), needs=READBACK | TIMEOUTABLE,
    formerly=("a-promise-to-the-writer-is-settled",),
)  # fmt: skip
def a_channel_state_future_is_completed(ledger: Ledger, seen: State) -> Judgement:
    """The channel state future of a timeoutable barrier completes when the barrier is polled or converted, and fails
    when the checkpoint is aborted or the subpartition released."""
    (checkpoint,) = seen.operands
    owed, got = ledger.state(checkpoint), seen.value
    if checkpoint not in ledger.timeoutable or checkpoint in ledger.replaced or owed.ids:
        return False
    if got.status is owed.status:
        return True
    kind = FailureClass.ORPHANED if got.status is StateStatus.PENDING else FailureClass.PROTOCOL
    what = f"the channel state future of checkpoint {checkpoint} must be {owed.status} by now"
    return Broken(kind, what, f"it is {got.status}")


@rule(
    *steps.READS, invariant="I-59", needs=READBACK | TIMEOUTABLE,
    formerly=("a-newer-timeoutable-barrier-fails-the-older-promise",),
)  # fmt: skip
def a_newer_timeoutable_barrier_fails_the_older_channel_state_future(ledger: Ledger, seen: State) -> Judgement:
    """A timeoutable barrier added while an older channel state future is open fails that older one."""
    (checkpoint,) = seen.operands
    if checkpoint not in ledger.replaced:
        return False
    if seen.value.status is StateStatus.FAILED:
        return True
    what = f"a newer timeoutable barrier took the place of barrier {checkpoint}: its channel state future must fail"
    return Broken(FailureClass.ORPHANED, what, f"it is {seen.value.status}")


# ---- what is held, and what must not wait ----------------------------------------------------------------------------
_HELD = ("a-subpartition-holds-what-it-should-and-releases-all",)
adopt(lifetime.while_it_lives_a_port_holds_what_it_should, steps.resources, needs=RESOURCES, formerly=_HELD)
adopt(lifetime.after_release_nothing_is_held, steps.resources, needs=RESOURCES, formerly=_HELD)


@rule(steps.flush, invariant="I-22")
def what_is_flushed_is_announced(ledger: Ledger, seen: Seen[None]) -> Judgement:
    """After a flush the consumer has been told of records in an unfinished buffer, if nothing stands before them."""
    if not ledger.view or ledger.probe or ledger.blocked or ledger.urgent or len(ledger.ordinary) != 1:
        return False
    alone = ledger.ordinary[0]
    if not alone.open or alone.end <= ledger.delivered:
        return False
    if ledger.awake or DataAvailable() in seen.signals:
        return True
    return Broken(FailureClass.STUCK, f"{ledger.first()} can be polled now, so the consumer is told", "it was not")


@rule(
    steps.resume,
    steps.flush,
    steps.resources,
    kind=Kind.EVENTUALLY,
    invariant="I-22",
    tickets=("FLINK-39018", "FLINK-20145"),
)
def nothing_due_waits_for_ever(ledger: Ledger, seen: Seen[object]) -> Judgement:
    """Followed fairly, announcements, next types and answers lead the consumer to everything that can be polled."""
    if not ledger.closing or not ledger.view or ledger.probe:
        return False
    if ledger.awake or not ledger.due():
        return True
    owed = f"{ledger.first()} can be polled, so the consumer must be woken"
    return Broken(FailureClass.STUCK, owed, "it sleeps, and nothing that is left to happen will wake it")


_NO_STEP: tuple[Step[Ledger, object], ...] = ()


@rule(*_NO_STEP, level=Level.UNTESTABLE, invariant="I-18")
def the_producer_is_resumed_once_per_channel(ledger: Ledger, seen: Seen[object]) -> Judgement:
    """A duplicate end of output state of one channel is an error of kind state."""
    return False  # a subpartition cannot be asked: the tracker counts


# ---- what several rules ask ------------------------------------------------------------------------------------------
def _answered(taken: BufferAndBacklog | None) -> str:
    return f"the poll answered {'nothing' if taken is None else name(taken.element)}"


def _judge_announcement(ledger: Ledger, seen: Seen[object], although: str = "") -> Judgement:
    """Where this step makes the first priority event appear in front of a consumer, it is announced."""
    if not ledger.view or ledger.urgent or not ledger.rises:
        return False
    numbers = [signal.seq for signal in seen.signals if type(signal) is PriorityAvailable]
    if numbers == [ledger.seq]:
        return True
    owed = f"the consumer must be told of the priority event with sequence number {ledger.seq}{although}"
    if not numbers:
        return Broken(FailureClass.STUCK, owed, "it was told nothing")
    return Broken(FailureClass.PROTOCOL, owed, f"announced were {numbers}")


def _judge_backlog(ledger: Ledger, told: int) -> Judgement:
    if ledger.blocked and ledger.urgent:
        return False  # left open: 2.3.0 answers 0, FLINK-40519 counts what stands behind the priority event
    most = 0 if ledger.blocked else ledger.buffers
    least = most
    if most and ledger.phase != "finished" and ledger.ordinary[-1].element is None:
        least = most - 1
    if least <= told <= most:
        return True
    owed = f"{most}" if least == most else f"{least} or {most}"
    return Broken(FailureClass.PROTOCOL, f"the backlog is {owed} data buffers", f"the consumer was told {told}")
