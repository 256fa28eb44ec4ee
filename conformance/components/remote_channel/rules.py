"""The rules and goals of the remote channel. Specification: remote-channel.md."""

from __future__ import annotations

from typing import Any

from conformance.components.remote_channel import steps
from conformance.components.remote_channel.ledger import Ledger
from conformance.driver import (
    Broken,
    FailureClass,
    Judgement,
    Never,
    Rules,
    Seen,
    Setting,
    Unsure,
    answers_property,
    thread_properties,
)
from conformance.models import consumer, recovery, starts, taking
from conformance.models.designs import PUSHED, READBACK, TIMEOUTABLE
from conformance.models.input_state import judge_written
from conformance.models.kept import must_be_refused
from conformance.models.signal_words import signalled
from conformance.models.words import must_be, must_fail, must_succeed, name
from conformance.ports import (
    Announcement,
    Buffer,
    BufferAndBacklog,
    ConsumptionResumed,
    DataAvailable,
    ErrorKind,
    Next,
    PriorityAvailable,
)

RULES = Rules[Ledger](
    "remote-channel", answers_property("remote-channel"), *thread_properties("remote-channel", other_waits=PUSHED)
)
END_TAKEN = Never(Setting(stage="not in recovery"), "The end of recovered data was taken before.")
NO_CREDIT = Never(Setting(stage="in recovery"), "No credit is announced in recovery.")
OVERLAPPED = Unsure("another operation overlapped the take")
RELEASING = Unsure("a release had begun, and what arrives then may be dropped")
rule, goal, adopt = RULES.rule, RULES.goal, RULES.adopt
Took = Seen[BufferAndBacklog | None]


# ---- taking ----------------------------------------------------------------------------------------------------------
@rule(steps.take, invariant="I-09", tickets=("FLINK-39521",), needs=PUSHED, never=(END_TAKEN,))
def live_data_is_hidden_until_recovered_data_is_consumed(ledger: Ledger, seen: Took) -> Judgement:
    """The channel delivers no live element without priority before the task has taken all its recovered data."""
    lane, value = ledger.lane, seen.value
    hidden = lane.waiting or not (lane.consumed or lane.finishing)
    if value is None or not hidden or value.element.data_type.has_priority:
        return False
    if lane.waiting and type(value.element) is Buffer:
        return True
    owed = "the task has not taken all recovered data of the channel: no live element without priority may come"
    return Broken(FailureClass.REORDERED, owed, f"the take returned {name(value.element)}")


@rule(
    steps.take,
    invariant="I-95",
    tickets=("FLINK-39521",),
    needs=PUSHED,
    never=(Never(Setting(stage="in recovery"), "They are delivered after recovery."),),
)
def events_of_a_recovering_channel_are_kept_and_replayed(ledger: Ledger, seen: Took) -> Judgement:
    """The channel keeps events without priority that arrive during recovery, and delivers them afterwards in the order
    in which they arrived."""
    stashed, value = ledger.stashed(), seen.value
    if stashed is None or value is None or value.element.data_type.has_priority:
        return False
    if value.element == stashed:
        return True
    owed = f"{name(stashed)} arrived first during recovery and must come next"
    return Broken(FailureClass.LOST, owed, f"the take returned {name(value.element)}")


@rule(steps.take, invariant="I-30")
def priority_events_come_first(ledger: Ledger, seen: Took) -> Judgement:
    """If a priority event can be delivered, it is delivered before every element without priority."""
    urgent, value = ledger.lane.urgent, seen.value
    if not urgent or (value is None and not recovery.ends(seen.signals)):
        return False
    if not ledger.alone and not (value is not None and value.element.data_type.has_priority):
        return OVERLAPPED
    if value is not None and value.element.data_type.has_priority:
        return True
    came = "the end of recovered data" if value is None else name(value.element)
    return Broken(
        FailureClass.REORDERED,
        f"{name(urgent[0].element)} has priority and must come first",
        f"the take returned {came}",
    )


@rule(steps.take, invariant="I-02", tickets=("FLINK-17564",))
def elements_arrive_once_and_in_order(ledger: Ledger, seen: Took) -> Judgement:
    """The channel delivers every received element once and in the order in which it was received, except that priority
    events come first."""
    if seen.value is None:
        return False
    lane, element = ledger.lane, seen.value.element
    if element.data_type.has_priority:
        first = lane.urgent[0].element if lane.urgent else None
        if element == first or (type(element) is Announcement and type(first) is Announcement):
            return True
        owed = "no priority event is queued" if first is None else f"{name(first)} is the first priority event"
        return Broken(FailureClass.REORDERED, owed, f"the take returned {name(element)}")
    head = lane.head()
    if head is None:
        return Broken(
            FailureClass.DUPLICATED, "all received elements were taken before", f"the take returned {name(element)}"
        )
    return must_be(head.element, element)


@rule(steps.take, invariant="I-19")
def elements_keep_their_sequence_numbers(ledger: Ledger, seen: Took) -> Judgement:
    """The channel delivers a live element with the sequence number with which it was received. Recovered buffers have
    consecutive numbers of their own."""
    lane, value = ledger.lane, seen.value
    if value is None:
        return False
    line = lane.urgent if value.element.data_type.has_priority else lane.live
    if lane.waiting and line is lane.live:
        if lane.seq is None or value.seq == lane.seq:
            return lane.seq is not None
        owed = f"recovered buffers have consecutive sequence numbers, and the last one had {lane.seq - 1}"
        return Broken(FailureClass.PROTOCOL, owed, f"this one has {value.seq}")
    if not line or ledger.number(line[0].number) == value.seq:
        return bool(line)
    owed = f"the element was received with sequence number {ledger.number(line[0].number)}"
    return Broken(FailureClass.PROTOCOL, owed, f"the take returned it with sequence number {value.seq}")


@rule(
    steps.take,
    invariant="I-09",
    needs=PUSHED,
    after_learning=True,
    never=(END_TAKEN,),
    formerly=("the-end-of-recovery-is-told-once",),
)
def the_end_of_recovery_is_notified_once(ledger: Ledger, seen: Took) -> Judgement:
    """When recovery is over, the channel emits StateConsumed, once."""
    if ledger.lane.consumed_again:
        return Broken(
            FailureClass.DUPLICATED,
            "the channel must signal once that its recovered state is consumed",
            "it signalled that again",
        )
    return recovery.ends(seen.signals) > 0


adopt(taking.a_take_returns_what_is_available, steps.take, of=Ledger.must_find)


@rule(steps.take, invariant="I-22", after_learning=True, formerly=("a-take-says-what-follows",))
def a_take_returns_the_next_data_type(ledger: Ledger, seen: Took) -> Judgement:
    """A take that returns an element names the type of what the next take would find, be it the end of recovered data
    that was handed over. It says that the backlog is 0."""
    value = seen.value
    if value is None or ledger.connection.error_comes:
        return False
    if not ledger.alone:
        return OVERLAPPED
    owed = ledger.following()
    if value.next is not owed and not (value.next is Next.EVENT and ledger.end_may_follow()):
        what = f"the next type must be {owed}"
        return Broken(FailureClass.PROTOCOL, what, f"the take returned the next type {value.next}")
    if value.backlog:
        what = "the backlog must be 0, because the channel asks the producer for nothing"
        return Broken(FailureClass.PROTOCOL, what, f"the take returned the backlog {value.backlog}")
    return True


@rule(steps.take, invariant="I-22", formerly=("an-empty-take-notifies-nobody",))
def an_empty_take_does_not_notify(ledger: Ledger, seen: Took) -> Judgement:
    """A take that finds nothing does not notify the gate. Otherwise the gate would take again and again."""
    if (
        seen.value is not None
        or recovery.ends(seen.signals)
        or ledger.end_may_follow()
        or ledger.connection.error_comes
    ):
        return False
    if not ledger.alone:
        return OVERLAPPED
    for signal in seen.signals:
        if type(signal) in (DataAvailable, PriorityAvailable):
            return Broken(
                FailureClass.PROTOCOL,
                "nothing can be taken, so the take must notify nobody",
                f"it signalled this: {signalled(signal)}",
            )
    return True


adopt(
    consumer.the_consumer_is_notified_of_priority_events, steps.timeoutable_barrier, steps.unaligned_barrier,
    steps.convert_to_priority, steps.take,
    of=lambda ledger: (ledger.consumer, ledger.urgent_waits(), ledger.first_urgent),
    formerly=("the-gate-is-told-of-priority",),
)  # fmt: skip


@rule(
    steps.timeoutable_barrier, steps.unaligned_barrier, invariant="I-22", formerly=("priority-is-told-with-its-number",)
)
def a_priority_notification_has_the_sequence_number(ledger: Ledger, seen: Seen[None, int]) -> Judgement:
    """If the gate is notified of a priority event that arrives, the notification carries its sequence number. The
    announcement of a barrier has the number of the barrier."""
    number = -1 if ledger.arriving is None else ledger.number(ledger.arriving.sent.number)
    told = [signal.seq for signal in seen.signals if type(signal) is PriorityAvailable]
    if not told or all(seq == number for seq in told):
        return bool(told)
    owed = f"the priority event has the sequence number {number}"
    return Broken(FailureClass.PROTOCOL, owed, f"the notification names the sequence number {told[0]}")


adopt(
    consumer.the_consumer_is_notified_of_available_data, steps.buffer, steps.event, steps.aligned_barrier,
    steps.timeoutable_barrier, steps.unaligned_barrier, steps.recovery_completion, steps.end_of_partition,
    steps.push_recovered, steps.finish_recovered, steps.request_subpartition, steps.take, steps.convert_to_priority,
    of=lambda ledger: (ledger.consumer, ledger.something_waits(), ledger.first), tickets=("FLINK-20145",),
    formerly=("the-gate-is-told-of-what-can-be-taken",),
)  # fmt: skip


# ---- receiving -------------------------------------------------------------------------------------------------------
@rule(steps.receive_out_of_order, steps.take_the_error, invariant="I-19")
def a_reordered_element_is_refused(ledger: Ledger, seen: Seen[object]) -> Judgement:
    """If an element arrives that does not carry the next sequence number, the channel fails with an error of kind
    reordering, at once or at the next take."""
    owed = f"the next sequence number is {ledger.number(ledger.lane.arrived)}, and the element carries another one"
    if ledger.releasing:
        return RELEASING
    return must_be_refused(ledger, ledger.consumer, seen, steps.receive_out_of_order.name, ErrorKind.REORDERING, owed)


@rule(steps.buffer_in_recovery, invariant="I-95", tickets=("FLINK-39521",), needs=PUSHED)
def no_data_comes_during_recovery(ledger: Ledger, seen: Seen[None, int]) -> Judgement:
    """If live data arrives while the channel is in recovery, the channel fails with an error of kind protocol."""
    if ledger.lane.consumed:
        return False
    if ledger.releasing:
        return RELEASING
    return must_fail(seen.error, ErrorKind.PROTOCOL, "live data arrived while the channel was in recovery")


@rule(steps.blocked_with_backlog, steps.take_the_error, invariant="I-95")
def a_blocked_producer_has_no_backlog(ledger: Ledger, seen: Seen[object]) -> Judgement:
    """If an element that blocks the producer arrives with a backlog above 0, the channel fails with an error of kind
    argument, at once or at the next take."""
    owed = "an element that blocks the producer arrived with a backlog above 0"
    if ledger.releasing:
        return RELEASING
    return must_be_refused(ledger, ledger.consumer, seen, steps.blocked_with_backlog.name, ErrorKind.ARGUMENT, owed)


# ---- recovery --------------------------------------------------------------------------------------------------------
adopt(
    recovery.a_push_waits_until_the_upstream_is_there,
    steps.push_recovered,
    steps.finish_recovered,
    of=Ledger.upstream_is_there,
    needs=PUSHED,
)
adopt(
    recovery.a_push_after_release_is_recycled_silently,
    steps.push_after_release,
    of=lambda ledger: (ledger.came_too_late(), ledger.what_ended_it()),
    needs=PUSHED,
)
adopt(recovery.a_push_after_the_end_is_refused, steps.push_late, needs=PUSHED)
adopt(
    recovery.recovery_barriers_are_inserted_in_recovery_only, steps.insert_recovery_barrier,
    of=lambda ledger: ledger.lane, needs=PUSHED, formerly=("only-a-channel-in-recovery-is-marked",),
)  # fmt: skip
adopt(recovery.a_channel_is_in_recovery_until_the_end_was_taken, steps.in_recovery, of=lambda ledger: ledger.lane)

# ---- checkpoints -----------------------------------------------------------------------------------------------------
adopt(
    starts.a_newer_barrier_subsumes_an_older_checkpoint,
    steps.checkpoint_started,
    of=lambda ledger: (ledger.refuses, ledger.checkpoints.without_barrier),
)
adopt(
    starts.a_missing_recovery_barrier_declines_the_checkpoint,
    steps.checkpoint_started,
    of=lambda ledger: (ledger.refuses, ledger.checkpoints.without_barrier),
    needs=PUSHED,
    never=(END_TAKEN,),
)
adopt(starts.a_checkpoint_starts_unless_it_must_be_declined, steps.checkpoint_started, of=lambda ledger: ledger.refuses)


@rule(
    steps.persisted, invariant="I-35", tickets=("FLINK-38544", "FLINK-40016", "FLINK-20097"), needs=READBACK, quiet=True
)  # fmt: skip
def data_in_front_of_a_barrier_is_written_once(ledger: Ledger, seen: Seen[tuple[int, ...], int]) -> Judgement:
    """The input state of a checkpoint contains exactly the records in front of its barrier that the task had not taken
    when the checkpoint started, including those that arrive later, each once and in order."""
    return judge_written(ledger.lane.input, seen.operands[0], seen.value)


@rule(steps.convert_to_priority, invariant="I-31", tickets=("FLINK-19681",), needs=TIMEOUTABLE)
def a_converted_barrier_is_announced_by_force(ledger: Ledger, seen: Seen[None, int]) -> Judgement:
    """When the task converts an announced barrier to a priority event, the channel notifies the gate of a priority
    event, although it has notified the gate of the announcement before."""
    if seen.error is not None:
        return must_succeed(seen.error, "the announced barrier is queued: its conversion must succeed")
    told = any(type(signal) is PriorityAvailable for signal in seen.signals)
    return told or Broken(
        FailureClass.STUCK, "the channel must signal that a priority event is available", "it did not signal that"
    )


@rule(
    steps.convert_unknown, steps.convert_outdated, invariant="I-31", tickets=("FLINK-19681",),
    needs=TIMEOUTABLE,
)  # fmt: skip
def only_the_last_barrier_can_overtake(ledger: Ledger, seen: Seen[None, int]) -> Judgement:
    """If the task asks to convert anything but the last barrier of the channel to a priority event, the channel fails
    with an error of kind state."""
    return must_fail(seen.error, ErrorKind.STATE, "the last barrier of this channel has another sequence number")


@rule(steps.resume, invariant="I-17", tickets=("FLINK-23223",), formerly=("the-producer-is-told-to-go-on",))
def resuming_consumption_resumes_the_producer(ledger: Ledger, seen: Seen[None]) -> Judgement:
    """When the task resumes consumption, the channel resumes the producer: it emits ConsumptionResumed, once."""
    if seen.error is not None:
        return False  # operations-fail-only-after-an-error-of-the-producer judges it
    told = sum(type(signal) is ConsumptionResumed for signal in seen.signals)
    if told > 1:
        return Broken(FailureClass.DUPLICATED, "the channel must resume its producer once", "it resumed it again")
    return told == 1 or Broken(FailureClass.STUCK, "the channel must resume its producer", "it did not resume it")


@rule(
    steps.take, steps.recycle, steps.aligned_barrier, steps.recovery_completion, steps.checkpoint_started,
    steps.checkpoint_stopped, invariant="I-17", formerly=("a-producer-goes-on-only-if-the-task-says-so",))  # fmt: skip
def only_the_task_resumes_a_blocked_producer(ledger: Ledger, seen: Seen[object]) -> Judgement:
    """As long as the task has not resumed consumption, the channel does not resume a blocked producer."""
    if not ledger.lane.held_back:
        return False
    if not seen.signals or not any(type(signal) is ConsumptionResumed for signal in seen.signals):
        return True
    owed = "the producer is blocked, and the task has not resumed it"
    return Broken(FailureClass.PROTOCOL, owed, "the channel resumed the producer")


@rule(steps.resume_late, invariant="I-17")
def a_released_channel_is_not_resumed(ledger: Ledger, seen: Seen[None]) -> Judgement:
    """If the task resumes the consumption of a released channel, the channel fails with an error of kind state."""
    return must_fail(seen.error, ErrorKind.STATE, "the channel is released")


@rule(
    steps.release,
    steps.cancel,
    steps.recycle,
    steps.buffer_late,
    invariant="I-93",
    formerly=("a-released-channel-tells-nobody-anything",),
)
def a_released_channel_notifies_nobody(ledger: Ledger, seen: Seen[None, *tuple[Any, ...]]) -> Judgement:
    """The release of the channel, and the recycling of buffers and the arrival of elements after it, notify nobody and
    announce no credit."""
    if not (ledger.released or ledger.releasing):
        return False
    if not seen.signals:
        return True
    owed = "the channel is released, so it must signal nothing"
    return Broken(FailureClass.PROTOCOL, owed, f"it signalled this: {signalled(seen.signals[0])}")
