"""The rules of the local channel. Specification: local-channel.md."""

from __future__ import annotations

from conformance.components.local_channel import steps
from conformance.components.local_channel.answers import backlogs, next_types
from conformance.components.local_channel.ledger import Ledger
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
from conformance.models import consumer, faults, lifetime, recovery, starts, taking
from conformance.models.designs import FAULTS, IN_MEMORY, PASSES_LOCALLY, PUSHED, READBACK, RESOURCES
from conformance.models.records import compare_ids, in_words, were
from conformance.models.words import must_be, must_fail, must_succeed, name
from conformance.ports import Buffer, BufferAndBacklog, ErrorKind

# Without recovered data that is pushed, no operation of this channel waits for another one.
RULES = Rules[Ledger](
    "local-channel", answers_property("local-channel"), *thread_properties("local-channel", waits=PUSHED)
)
END_TAKEN = Never(Setting(stage="not in recovery"), "The end of recovered data was taken before.")
HIDDEN = Never(Setting(stage="in recovery"), "Live data is hidden, so none is written and none blocks the producer.")
MAY_WRITE = Unsure("an operation of the task is in flight that may write")
rule, adopt = RULES.rule, RULES.adopt
ADDS = (
    steps.add_buffer,
    steps.add_event,
    steps.aligned_barrier,
    steps.timeoutable_barrier,
    steps.unaligned_barrier,
    steps.recovery_completion,
    steps.end_of_partition,
)
PUSHES = steps.push_recovered, steps.finish_recovered
Took = Seen[BufferAndBacklog | None]


# ---- taking ----------------------------------------------------------------------------------------------------------
@rule(steps.take, invariant="I-92", tickets=("FLINK-40668",), formerly=("a-consumer-who-was-told-may-take",))
def a_take_by_a_notified_consumer_succeeds(ledger: Ledger, seen: Took) -> Judgement:
    """A take by a consumer that was notified, or that has requested the subpartition, does not fail."""
    owed = "the consumer was notified, or has requested the subpartition: the take must not fail"
    return must_succeed(seen.error, owed)


@rule(steps.take, invariant="I-09", tickets=("FLINK-39018",), needs=IN_MEMORY)
def live_data_waits_behind_recovered_data(ledger: Ledger, seen: Took) -> Judgement:
    """The channel delivers no live element without priority before the task has taken all recovered buffers and the
    end of recovered data."""
    lane = ledger.lane
    if not ledger.lane.is_hiding() or not lane.live or seen.value is None:
        return False
    element = seen.value.element
    if element.data_type.has_priority:
        return False
    if element != lane.live[0].element:
        return True
    first = f"recovered {in_words(lane.left())}" if lane.waiting else "the end of recovered data"
    return Broken(FailureClass.REORDERED, f"{first} must come before live data", f"the take returned {name(element)}")


@rule(steps.take, invariant="I-13", tickets=("FLINK-39018", "FLINK-40521"), needs=IN_MEMORY)
def priority_events_pass_recovered_data(ledger: Ledger, seen: Took) -> Judgement:
    """A priority event of which the consumer was notified is delivered before recovered data."""
    return _priority_came(ledger, seen) if ledger.due.priority and ledger.lane.is_hiding() else False


@rule(
    steps.take,
    invariant="I-07",
    tickets=("FLINK-18136",),
    never=(Never(Setting(stage="in recovery"), "The property priority-events-pass-recovered-data is judged instead."),),
)
def priority_events_come_first(ledger: Ledger, seen: Took) -> Judgement:
    """If a priority event can be delivered, it is delivered before every element without priority."""
    return _priority_came(ledger, seen) if ledger.due.priority and not ledger.lane.is_hiding() else False


def _priority_came(ledger: Ledger, seen: Took) -> Judgement:
    if ledger.lane.blocked or ledger.producer_has_failed():
        return False
    if seen.value is None and ledger.end_takes_a_turn():
        return Unsure("the end of recovered data may take a turn of its own")
    if seen.value is not None and seen.value.element.data_type.has_priority:
        return True
    came = f"the take returned {'nothing' if seen.value is None else name(seen.value.element)}"
    owed = f"{name(ledger.lane.urgent[0].element)} has priority and must come first"
    return Broken(FailureClass.REORDERED, owed, came)


@rule(
    steps.take,
    invariant="I-13",
    tickets=("FLINK-39018",),
    needs=PASSES_LOCALLY,
    never=(HIDDEN,),
    formerly=("a-blocked-channel-hands-out-priority-events",),
)
def a_blocked_channel_delivers_priority_events(ledger: Ledger, seen: Took) -> Judgement:
    """The channel delivers a priority event even while its producer is blocked."""
    if not ledger.due.priority or not ledger.lane.blocked or ledger.producer_has_failed():
        return False
    if seen.value is not None and seen.value.element.data_type.has_priority:
        return True
    owed = f"{name(ledger.lane.urgent[0].element)} must come although the producer is blocked"
    return Broken(FailureClass.STUCK, owed, "it did not come next")


@rule(steps.take, invariant="I-15", tickets=("FLINK-39018",), never=(HIDDEN,))
def only_priority_events_leave_a_blocked_channel(ledger: Ledger, seen: Took) -> Judgement:
    """Until the consumer resumes it, a blocked channel delivers nothing but priority events."""
    if not ledger.lane.blocked or ledger.released:
        return False
    if seen.value is None or seen.value.element.data_type.has_priority:
        return bool(ledger.lane.live)
    came = f"the take returned {name(seen.value.element)}"
    owed = "the channel is blocked and was not resumed: only priority events may come"
    return Broken(FailureClass.REORDERED, owed, came)


@rule(steps.take, invariant="I-44", tickets=("FLINK-40667", "FLINK-20654"), needs=READBACK | IN_MEMORY)
def copies_for_a_checkpoint_leave_the_consumer_its_buffers(ledger: Ledger, seen: Took) -> Judgement:
    """A recovered buffer that was copied for a checkpoint still reaches the consumer unchanged."""
    lane = ledger.lane
    if lane.taken >= ledger.checkpoints.copied_to or seen.value is None:
        return False
    element, copied = seen.value.element, lane.waiting[0].element
    if type(element) is not Buffer:
        return False
    if element == copied:
        return True
    owed = (
        f"a copy of {name(copied)} was written for a checkpoint, and the consumer must still get the buffer unchanged"
    )
    return Broken(FailureClass.CORRUPTED, owed, f"the consumer got {name(element)}")


@rule(steps.take, invariant="I-43", tickets=("FLINK-17564",))
def elements_arrive_once_in_order_and_unchanged(ledger: Ledger, seen: Took) -> Judgement:
    """Every recovered and every added element reaches the consumer once, unchanged and in order, except that priority
    events come before elements without priority."""
    if seen.value is None:
        return False
    lane, element = ledger.lane, seen.value.element
    if element.data_type.has_priority:
        if not lane.urgent:
            return Broken(FailureClass.DUPLICATED, "no priority event is queued", f"the take returned {name(element)}")
        owed = lane.urgent[0].element
        if element == owed:
            return True
        return Broken(FailureClass.REORDERED, f"{name(owed)} must come next", f"the take returned {name(element)}")
    hidden = ledger.lane.is_hiding()
    waiting = lane.waiting if hidden else lane.live
    if waiting:
        return must_be(waiting[0].element, element)
    what = "recovered" if hidden else "live"
    return Broken(
        FailureClass.DUPLICATED, f"all {what} elements were taken before", f"the take returned {name(element)}"
    )


adopt(
    recovery.the_end_of_recovered_data_is_notified_once,
    steps.take,
    of=lambda ledger: (ledger.lane, ledger.end_must_come()),
    needs=PUSHED,
    never=(END_TAKEN,),
)
adopt(taking.a_take_returns_what_is_available, steps.take, of=Ledger.must_find)
adopt(taking.sequence_numbers_have_no_gaps, steps.take, of=lambda ledger: ledger.next_number)


@rule(steps.take, invariant="I-16", tickets=("FLINK-40519",))
def the_next_type_names_what_can_be_taken(ledger: Ledger, seen: Took) -> Judgement:
    """A take that returns an element also returns the type of what can be taken next, and the type none if nothing
    can."""
    if seen.value is None or ledger.producer_has_failed():
        return False
    return taking.judge_next(next_types(ledger, seen.value), seen.value.next)


@rule(steps.take, invariant="I-21")
def the_backlog_counts_live_data(ledger: Ledger, seen: Took) -> Judgement:
    """The backlog that a live element carries is the number of data buffers in the subpartition, of which the last one
    need not be counted; with a recovered buffer it is 0, and while the subpartition is blocked, unless a priority event
    passes, which may carry the backlog or 0."""
    if seen.value is None or ledger.producer_has_failed():
        return False
    least, most = backlogs(ledger, seen.value)
    if least <= seen.value.backlog <= most:
        return True
    owed = f"the backlog must be {least}" if least == most else f"the backlog must be between {least} and {most}"
    return Broken(FailureClass.PROTOCOL, owed, f"the backlog is {seen.value.backlog}")


@rule(steps.take, invariant="I-31", tickets=("FLINK-19681",))
def a_priority_event_carries_the_number_announced(ledger: Ledger, seen: Took) -> Judgement:
    """If the consumer was notified of a priority event, the priority event that it takes carries the sequence number of
    the notification."""
    announced = ledger.consumer.announced_before
    if announced < 0 or seen.value is None or not seen.value.element.data_type.has_priority:
        return False
    if seen.value.seq == announced:
        return True
    if 0 < announced - seen.value.seq < len(ledger.lane.urgent):
        return Unsure("the last notification was of an event behind this one")
    owed = f"the consumer was notified of the priority event with sequence number {announced}"
    return Broken(FailureClass.PROTOCOL, owed, f"the event has sequence number {seen.value.seq}")


@rule(steps.take, *ADDS, invariant="I-31", quiet=True)
def only_priority_events_are_announced_as_such(ledger: Ledger, seen: Seen[object]) -> Judgement:
    """If the consumer was notified of a priority event that it has not taken, a priority event waits."""
    if ledger.consumer.announced < ledger.seq or ledger.released:
        return False
    if ledger.lane.urgent:
        return True
    owed = "no priority event waits, so the consumer must not be notified of one"
    return Broken(FailureClass.PROTOCOL, owed, f"it was notified of sequence number {ledger.consumer.announced}")


@rule(
    steps.take,
    invariant="I-90",
    needs=FAULTS,
    never=(Never(Setting(stage="in recovery"), "Recovered data, or its end, is still to be taken first."),),
    formerly=("a-failed-producer-is-not-silent",),
)
def the_failure_of_a_producer_fails_the_next_take(ledger: Ledger, seen: Took) -> Judgement:
    """If the producer has failed and no recovered data is left, a take returns what came before, or fails with the
    error; it does not return nothing."""
    if not ledger.due.error:
        return False
    if seen.value is not None:
        return True
    return Broken(
        FailureClass.STUCK, "the producer has failed, so a take that finds nothing must fail", "it returned nothing"
    )


# ---- adding and pushing ----------------------------------------------------------------------------------------------
@rule(*ADDS, invariant="I-33")
def what_is_added_is_accepted(ledger: Ledger, seen: Seen[bool]) -> Judgement:
    """A channel that is not released accepts every element that its producer adds before the end of partition."""
    if ledger.releasing or ledger.producer_has_failed():
        return Unsure("a release had begun, or the producer has failed")
    if seen.value is True:
        return True
    return Broken(
        FailureClass.LOST, "the channel is not released: it must accept the element", "it rejected the element"
    )


adopt(taking.nothing_is_accepted_after_the_end, steps.add_late)
adopt(recovery.a_push_waits_until_the_upstream_is_there, *PUSHES, of=Ledger.upstream_is_there, needs=PUSHED)
adopt(
    recovery.recovered_data_is_accepted_until_its_end, *PUSHES, needs=PUSHED,
    formerly=("recovered-data-is-accepted-in-recovery",),
)  # fmt: skip
adopt(
    recovery.a_push_after_release_is_recycled_silently,
    *PUSHES,
    of=lambda ledger: (ledger.came_too_late(), ledger.what_ended_it()),
    needs=PUSHED,
)
adopt(
    recovery.a_push_after_the_end_is_refused, steps.push_late, needs=PUSHED,
    formerly=("a-push-after-recovery-is-refused",),
)  # fmt: skip


# ---- resuming, observers, resources and notifications ----------------------------------------------------------------
@rule(steps.resume, invariant="I-18")
def a_blocked_channel_is_resumed_unless_released(ledger: Ledger, seen: Seen[None]) -> Judgement:
    """Resuming a blocked channel succeeds; resuming a released channel fails with an error of kind state."""
    if ledger.released:
        return must_fail(seen.error, ErrorKind.STATE, "the channel was released")
    return must_succeed(seen.error, "the channel is blocked: resuming it must succeed")


_HOLDS = ("a-local-channel-holds-what-it-should-and-releases-all",)

adopt(
    recovery.a_channel_is_in_recovery_until_the_end_was_taken, steps.in_recovery, of=lambda ledger: ledger.lane,
    formerly=("a-channel-says-whether-it-is-in-recovery",),
)  # fmt: skip
adopt(
    taking.buffers_in_use_count_what_waits, steps.in_use, of=Ledger.counted, needs=RESOURCES,
    formerly=("buffers-in-use-count-every-queued-buffer",),
)  # fmt: skip
adopt(
    lifetime.no_resource_is_leaked_while_open, steps.resources, needs=RESOURCES, tickets=("FLINK-40667",),
    formerly=_HOLDS,
)  # fmt: skip
adopt(
    lifetime.after_release_nothing_is_held, steps.resources, needs=RESOURCES, tickets=("FLINK-40667",), formerly=_HOLDS,
)  # fmt: skip
adopt(
    consumer.the_consumer_is_notified_of_available_data, *ADDS, *PUSHES, steps.request_subpartition, steps.take,
    steps.resume, steps.in_use, of=lambda ledger: (ledger.consumer, ledger.something_waits(), ledger.first),
    tickets=("FLINK-39018", "FLINK-40521"),
)  # fmt: skip


adopt(
    consumer.the_consumer_is_notified_of_priority_events, steps.unaligned_barrier, steps.take,
    of=lambda ledger: (ledger.consumer, ledger.urgent_waits(), ledger.first_urgent),
    tickets=("FLINK-39018", "FLINK-40519"), needs=PASSES_LOCALLY,
    formerly=("priority-events-are-told-apart-from-data",),
)  # fmt: skip
adopt(
    consumer.empty_takes_are_not_notified_again_and_again, steps.take, of=lambda ledger: ledger.consumer,
    formerly=("an-empty-channel-lets-its-consumer-sleep",),
)  # fmt: skip
adopt(
    faults.an_operation_fails_with_what_it_calls, steps.take, steps.checkpoint_started, steps.request_subpartition,
    needs=FAULTS,
)  # fmt: skip
adopt(faults.a_refusal_is_not_a_failure, steps.request_subpartition, needs=FAULTS)
adopt(
    lifetime.a_future_ends_with_what_it_waits_for,
    steps.resources,
    needs=RESOURCES,
)
adopt(lifetime.a_release_notifies_nobody, steps.release, steps.cancel)


@rule(steps.request_subpartition, invariant="I-24")
def a_released_channel_requests_nothing(ledger: Ledger, seen: Seen[None]) -> Judgement:
    """A request of the subpartition succeeds; the request of a channel that was released fails with an error of kind
    state."""
    if ledger.released:
        return must_fail(seen.error, ErrorKind.STATE, "the channel was released")
    return must_succeed(seen.error, "the channel is not released: it must request the subpartition")


# ---- checkpoints: starts that succeed or are refused -----------------------------------------------------------------
adopt(
    recovery.recovery_barriers_are_inserted_in_recovery_only,
    steps.insert_recovery_barrier,
    of=lambda ledger: ledger.lane,
    needs=PUSHED,
)
adopt(
    starts.a_newer_barrier_subsumes_an_older_checkpoint, steps.checkpoint_started,
    of=lambda ledger: (ledger.lane.refuses, ledger.checkpoints.without_barrier), tickets=("FLINK-21104",),
    formerly=("a-newer-barrier-subsumes-the-checkpoint",),
)  # fmt: skip
adopt(
    starts.a_missing_recovery_barrier_declines_the_checkpoint, steps.checkpoint_started,
    of=lambda ledger: (ledger.lane.refuses, ledger.checkpoints.without_barrier), tickets=("FLINK-39523",), needs=PUSHED,
    never=(END_TAKEN,),
)  # fmt: skip
adopt(
    starts.a_checkpoint_starts_unless_it_must_be_declined, steps.checkpoint_started,
    of=lambda ledger: ledger.lane.refuses, invariant="I-41", tickets=("FLINK-39018", "FLINK-39523"),
    formerly=("a-checkpoint-starts-if-nothing-is-in-its-way",),
)  # fmt: skip

# ---- checkpoints: written data ---------------------------------------------------------------------------------------
Written = Seen[tuple[int, ...], int]


def _unsure(ledger: Ledger) -> Judgement:
    """Judges a checkpoint whose input state the ledger does not know: an operation in flight may be changing it, or it
    was never started."""
    return MAY_WRITE if ledger.busy else False


@rule(steps.persisted, steps.restore, invariant="I-42", tickets=("FLINK-39523",), needs=READBACK)
def a_refused_checkpoint_writes_nothing(ledger: Ledger, seen: Written) -> Judgement:
    """The channel writes nothing for a checkpoint whose start it refused as subsumed or declined, or whose start failed
    with the channel state writer."""
    (checkpoint,) = seen.operands
    if checkpoint not in ledger.lane.input.failed:
        return False
    if ledger.busy:
        return MAY_WRITE
    if not seen.value:
        return True
    owed = f"the start of checkpoint {checkpoint} was refused: the channel must write nothing for it"
    return Broken(FailureClass.LEAKED, owed, f"it wrote {in_words(seen.value)}")


@rule(steps.persisted, steps.restore, invariant="I-39", tickets=("FLINK-40016", "FLINK-39523"), needs=READBACK)
def recovered_data_is_written_as_the_checkpoint_starts(ledger: Ledger, seen: Written) -> Judgement:
    """Of the recovered records, the channel writes for a checkpoint exactly those that are queued when it starts (with
    the design `pushed`, those in front of its recovery barrier), once and in order."""
    state = ledger.state(seen.operands[0])
    if state is None:
        return _unsure(ledger)
    recovered = ledger.push.ids
    written = tuple([record for record in seen.value if record in recovered])
    if written[: len(state.least)] == state.least and state.most[: len(written)] == written:
        return True
    kind = compare_ids(state.least, written, min(recovered, default=0))
    if state.least:
        owed = f"recovered {in_words(state.least)} must be written for checkpoint {seen.operands[0]}"
    else:
        owed = f"no recovered record must be written for checkpoint {seen.operands[0]}"
    if state.most != state.least:
        owed += f", and the recovered ones that follow up to record {state.most[-1]} may be written"
    return Broken(kind, owed, f"of the recovered records, {were(written)} written")


@rule(steps.persisted, steps.restore, invariant="I-38", tickets=("FLINK-20097",), needs=READBACK, never=(HIDDEN,))
def a_late_stop_of_an_older_checkpoint_changes_nothing(ledger: Ledger, seen: Written) -> Judgement:
    """If an older checkpoint is stopped while a newer one waits for its barrier, the channel still writes for the newer
    one the data that is taken before that barrier."""
    state = ledger.state(seen.operands[0])
    if state is None or state.since_late_stop is None:
        return False
    return _all_written(tuple(state.live[state.since_late_stop :]), seen, "an older checkpoint was stopped")


@rule(steps.persisted, steps.restore, invariant="I-37", tickets=("FLINK-21104",), needs=READBACK, never=(HIDDEN,))
def an_older_barrier_does_not_end_the_checkpoint(ledger: Ledger, seen: Written) -> Judgement:
    """If the barrier of an older checkpoint comes while a newer one waits for its barrier, the channel still writes for
    the newer one the data that is taken before its own barrier."""
    state = ledger.state(seen.operands[0])
    if state is None or state.since_old_barrier is None:
        return False
    return _all_written(tuple(state.live[state.since_old_barrier :]), seen, "the barrier of an older checkpoint came")


def _all_written(owed: tuple[int, ...], seen: Written, why: str) -> Judgement:
    missing = tuple([record for record in owed if record not in seen.value])
    if not missing:
        return bool(owed)
    words = f"{were(owed)} taken after {why} and before barrier {seen.operands[0]}, and must be written"
    return Broken(FailureClass.LOST, words, f"{were(missing)} not written")


@rule(steps.persisted, steps.restore, invariant="I-36", tickets=("FLINK-20097", "FLINK-20654"), needs=READBACK)
def nothing_behind_the_barrier_is_written(ledger: Ledger, seen: Written) -> Judgement:
    """The channel does not write for a checkpoint any data that is taken behind its barrier or after the checkpoint was
    stopped."""
    state = ledger.state(seen.operands[0])
    if state is None:
        return _unsure(ledger)
    recovered, live = ledger.push.ids, state.live
    behind = [record for record in seen.value if record not in recovered and record not in live]
    if not behind:
        return True
    number = seen.operands[0]
    owed = f"only data taken between the start of checkpoint {number} and its barrier or stop may be written for it"
    return Broken(FailureClass.CORRUPTED, owed, f"{were(behind)} written as well")


@rule(
    steps.persisted,
    steps.restore,
    invariant="I-34",
    tickets=("FLINK-17315", "FLINK-18139"),
    needs=READBACK,
    never=(HIDDEN,),
)
def live_data_before_the_barrier_is_written_once(ledger: Ledger, seen: Written) -> Judgement:
    """The channel writes the live data that is taken between the start of a checkpoint and its barrier once and in
    order, behind the recovered data."""
    state = ledger.state(seen.operands[0])
    if state is None:
        return _unsure(ledger)
    recovered, owed = ledger.push.ids, tuple(state.live)
    live = tuple([record for record in seen.value if record not in recovered])
    if live == owed and seen.value[len(seen.value) - len(owed) :] == owed:
        return bool(owed)
    kind = FailureClass.REORDERED if live == owed else compare_ids(owed, live, owed[0] if owed else 0)
    if owed:
        words = f"live {were(owed)} taken before barrier {seen.operands[0]} and must be written behind recovered ones"
    else:
        words = f"no live record was taken before barrier {seen.operands[0]}, so no live record may be written for it"
    return Broken(kind, words, f"{were(seen.value)} written")
