"""The rules and goals of the remote channel. Specification: remote-channel.md."""

from __future__ import annotations

from conformance.components.remote_channel import steps
from conformance.components.remote_channel.ledger import Ledger
from conformance.driver import Broken, FailureClass, Judgement, Kind, Rules, Seen, answers_property, thread_properties
from conformance.parts import lifetime, notice, recovery, starts, taking
from conformance.parts.designs import PUSHED, READBACK, RESOURCES, STEPPING
from conformance.parts.input_state import judge_written
from conformance.parts.words import must_be, must_fail, must_succeed, name
from conformance.ports import (
    Announcement,
    Buffer,
    BufferAndBacklog,
    ConsumptionResumed,
    ErrorKind,
    PriorityAvailable,
    Resources,
)

RULES = Rules[Ledger]("remote-channel", answers_property("remote-channel"), *thread_properties("remote-channel"))
rule, goal, adopt = RULES.rule, RULES.goal, RULES.adopt
Took = Seen[BufferAndBacklog | None]


# ---- taking ----------------------------------------------------------------------------------------------------------
@rule(steps.take, invariant="I-09", tickets=("FLINK-39521",), needs=PUSHED)
def live_data_is_hidden_until_recovered_data_is_consumed(ledger: Ledger, seen: Took) -> Judgement:
    """The channel hands out no live element without priority before the task has taken all its recovered data."""
    lane, value = ledger.lane, seen.value
    hidden = lane.waiting or not (lane.consumed or lane.finishing)
    if value is None or not hidden or value.element.data_type.has_priority:
        return False
    if lane.waiting and type(value.element) is Buffer:
        return True
    owed = "the task has not taken all recovered data of the channel: no live element without priority may come"
    return Broken(FailureClass.REORDERED, owed, f"the take answered {name(value.element)}")


@rule(steps.take, invariant="I-95", tickets=("FLINK-39521",), needs=PUSHED)
def events_of_a_recovering_channel_are_kept_and_replayed(ledger: Ledger, seen: Took) -> Judgement:
    """The channel keeps events without priority that arrive during recovery, and hands them out afterwards in the order
    in which they arrived."""
    stashed, value = ledger.stashed(), seen.value
    if stashed is None or value is None or value.element.data_type.has_priority:
        return False
    if value.element == stashed:
        return True
    owed = f"{name(stashed)} arrived first during recovery and must be handed out next"
    return Broken(FailureClass.LOST, owed, f"the take answered {name(value.element)}")


@rule(steps.take, invariant="I-30")
def priority_events_come_first(ledger: Ledger, seen: Took) -> Judgement:
    """If a priority event can be handed out, it is handed out before every element without priority."""
    urgent, value = ledger.lane.urgent, seen.value
    if not urgent or not ledger.alone or (value is None and not recovery.ends(seen.signals)):
        return False
    if value is not None and value.element.data_type.has_priority:
        return True
    came = "the end of recovered data" if value is None else name(value.element)
    return Broken(
        FailureClass.REORDERED,
        f"{name(urgent[0].element)} has priority and must come first",
        f"the take answered {came}",
    )


@rule(steps.take, invariant="I-02", tickets=("FLINK-17564",))
def elements_arrive_once_and_in_order(ledger: Ledger, seen: Took) -> Judgement:
    """The channel hands out every received element once and in the order in which it was received, except that priority
    events come first."""
    if seen.value is None:
        return False
    lane, element = ledger.lane, seen.value.element
    if element.data_type.has_priority:
        first = lane.urgent[0].element if lane.urgent else None
        if element == first or (type(element) is Announcement and type(first) is Announcement):
            return True
        owed = "no priority event is queued" if first is None else f"{name(first)} is the first priority event"
        return Broken(FailureClass.REORDERED, owed, f"the take answered {name(element)}")
    head = lane.head()
    if head is None:
        return Broken(
            FailureClass.DUPLICATED, "all received elements were taken before", f"the take answered {name(element)}"
        )
    return must_be(head.element, element)


@rule(steps.take, invariant="I-19")
def elements_keep_their_sequence_numbers(ledger: Ledger, seen: Took) -> Judgement:
    """The channel hands out a live element with the sequence number with which it was received."""
    lane, value = ledger.lane, seen.value
    if value is None or lane.waiting:
        return False
    line = lane.urgent if value.element.data_type.has_priority else lane.live
    if not line or line[0].number == value.seq:
        return bool(line)
    owed = f"the element was received with sequence number {line[0].number}"
    return Broken(FailureClass.PROTOCOL, owed, f"it is handed out with sequence number {value.seq}")


adopt(taking.a_take_answers_what_is_there, steps.take)
adopt(
    notice.the_consumer_is_told_of_what_waits, steps.buffer, steps.event, steps.aligned_barrier,
    steps.timeoutable_barrier, steps.unaligned_barrier, steps.recovery_completion, steps.end_of_partition,
    steps.push_recovered, steps.finish_recovered, steps.request_subpartition, steps.take, steps.convert_to_priority,
    tickets=("FLINK-20145",), formerly=("the-gate-is-told-of-what-can-be-taken",),
)  # fmt: skip


# ---- receiving -------------------------------------------------------------------------------------------------------
@rule(steps.receive_out_of_order, invariant="I-19")
def a_reordered_element_is_refused(ledger: Ledger, seen: Seen[None]) -> Judgement:
    """If an element arrives that does not carry the next sequence number, the channel answers an error of kind
    reordering."""
    owed = f"the next sequence number is {ledger.lane.arrived}, and the element carries another one"
    return False if ledger.releasing else must_fail(seen.error, ErrorKind.REORDERING, owed)


@rule(steps.buffer_in_recovery, invariant="I-95", tickets=("FLINK-39521",), needs=PUSHED)
def no_data_comes_during_recovery(ledger: Ledger, seen: Seen[None]) -> Judgement:
    """If live data arrives while the channel is in recovery, the channel answers an error of kind protocol."""
    if ledger.lane.consumed or ledger.releasing:
        return False
    return must_fail(seen.error, ErrorKind.PROTOCOL, "live data arrived while the channel was in recovery")


@rule(steps.blocked_with_backlog, invariant="I-95")
def a_blocked_producer_has_no_backlog(ledger: Ledger, seen: Seen[None]) -> Judgement:
    """If an element that blocks the producer arrives with a backlog above 0, the channel answers an error of kind
    argument."""
    owed = "an element that blocks the producer arrived with a backlog above 0"
    return False if ledger.releasing else must_fail(seen.error, ErrorKind.ARGUMENT, owed)


# ---- credit ----------------------------------------------------------------------------------------------------------
def _gives_its_credit_back(ledger: Ledger) -> bool:
    """Returns whether the producer is blocked and has no exclusive buffers: it then loses its credit when resumed."""
    return ledger.lane.blocked and not ledger.credit.exclusive


@rule(steps.free_for_live, invariant="I-96", needs=RESOURCES, quiet=True)
def credit_is_what_is_set_aside(ledger: Ledger, seen: Seen[int]) -> Judgement:
    """The number of buffers that the channel has set aside for live data is the credit that it announced less the data
    buffers that it received."""
    if ledger.phase == "new" or not ledger.lane.consumed or _gives_its_credit_back(ledger):
        return False
    granted = ledger.credit.granted
    if seen.value == granted:
        return True
    owed = f"the producer has a credit of {granted}, so {granted} buffers must be set aside for live data"
    return Broken(FailureClass.PROTOCOL, owed, f"{seen.value} are set aside")


@rule(steps.free_for_live, invariant="I-96", needs=RESOURCES, quiet=True)
def credit_is_covered_by_buffers(ledger: Ledger, seen: Seen[int]) -> Judgement:
    """The number of buffers in use plus the credit of the producer is at most the number of exclusive buffers of the
    channel plus the number of floating buffers of the pool."""
    if ledger.phase == "new" or ledger.recovery != "none" or _gives_its_credit_back(ledger):
        return False
    missing = -ledger.spare()
    owed = f"the channel and the pool have {sum(ledger.buffers)} buffers"
    return missing <= 0 or Broken(FailureClass.PROTOCOL, owed, f"{missing} more are in use or announced as credit")


@rule(steps.free_for_live, invariant="I-96", tickets=("FLINK-39521",), needs=PUSHED, quiet=True)
def no_credit_is_announced_during_recovery(ledger: Ledger, seen: Seen[int]) -> Judgement:
    """The channel announces no credit to the producer before its recovery is over."""
    if ledger.phase == "new" or ledger.lane.consumed:
        return False
    granted, owed = ledger.credit.granted, "the channel must announce no credit before its recovery is over"
    return granted == 0 or Broken(FailureClass.PROTOCOL, owed, f"the producer has a credit of {granted}")


@rule(
    steps.recycle, steps.free_for_live, invariant="I-96", tickets=("FLINK-23466",), needs=RESOURCES,
    kind=Kind.EVENTUALLY, quiet=True,
)  # fmt: skip
def a_backlog_gets_the_buffers_that_come_back(ledger: Ledger, seen: Seen[object]) -> Judgement:
    """If the producer's backlog requires more buffers than the channel has, the channel sets aside each floating buffer
    that becomes free, and announces it as credit, until it has enough."""
    credit = ledger.credit
    if not credit.waits() or ledger.lane.blocked or ledger.released:
        return False
    spare = ledger.spare()
    if spare <= 0 or credit.granted >= credit.required:
        return True
    owed = f"the producer's backlog requires a credit of {credit.required}, and {spare} buffers are free"
    return Broken(FailureClass.STUCK, owed, f"its credit is {credit.granted}")


# ---- recovery --------------------------------------------------------------------------------------------------------
adopt(recovery.a_push_waits_until_the_upstream_is_there, steps.push_recovered, steps.finish_recovered, needs=PUSHED)
adopt(recovery.a_push_after_release_is_recycled_silently, steps.push_after_release, needs=PUSHED)
adopt(recovery.a_push_after_the_end_is_refused, steps.push_after_end, needs=PUSHED)
adopt(
    recovery.recovery_barriers_are_inserted_in_recovery_only, steps.insert_recovery_barrier, needs=PUSHED,
    formerly=("only-a-channel-in-recovery-is-marked",),
)  # fmt: skip
adopt(recovery.a_channel_is_in_recovery_until_the_end_was_taken, steps.in_recovery)

# ---- checkpoints -----------------------------------------------------------------------------------------------------
adopt(starts.a_newer_barrier_subsumes_an_older_checkpoint, steps.checkpoint_started)
adopt(starts.a_missing_recovery_barrier_declines_the_checkpoint, steps.checkpoint_started, needs=PUSHED)
adopt(starts.a_checkpoint_starts_if_nothing_speaks_against_it, steps.checkpoint_started)


@rule(
    steps.persisted, invariant="I-35", tickets=("FLINK-38544", "FLINK-40016", "FLINK-20097"), needs=READBACK, quiet=True
)  # fmt: skip
def data_in_front_of_a_barrier_is_written_once(ledger: Ledger, seen: Seen[tuple[int, ...], int]) -> Judgement:
    """The input state of a checkpoint contains exactly the records in front of its barrier that the task had not taken
    when the checkpoint started, including those that arrive later, each once and in order."""
    return judge_written(ledger.input, seen.operands[0], seen.value)


@rule(steps.convert_to_priority, invariant="I-31", tickets=("FLINK-19681",))
def a_converted_barrier_is_announced_by_force(ledger: Ledger, seen: Seen[None, int]) -> Judgement:
    """When the task converts an announced barrier to a priority event, the channel notifies the gate of a priority
    event, although it has notified the gate of the announcement before."""
    if seen.error is not None:
        return must_succeed(seen.error, "the announced barrier is queued: its conversion must succeed")
    told = any(type(signal) is PriorityAvailable for signal in seen.signals)
    return told or Broken(FailureClass.STUCK, "the channel must emit PriorityAvailable", "it did not")


@rule(steps.convert_unknown_to_priority, invariant="I-31", tickets=("FLINK-19681",))
def only_the_last_barrier_can_overtake(ledger: Ledger, seen: Seen[None]) -> Judgement:
    """If the task asks to convert anything but the last barrier of the channel to a priority event, the channel answers
    an error of kind state."""
    return must_fail(seen.error, ErrorKind.STATE, "no barrier with that sequence number arrived in this channel")


@rule(steps.resume, invariant="I-17", tickets=("FLINK-23223",))
def the_producer_is_told_to_go_on(ledger: Ledger, seen: Seen[None]) -> Judgement:
    """When the task resumes consumption, the channel tells the producer to go on: it emits ConsumptionResumed."""
    told = any(type(signal) is ConsumptionResumed for signal in seen.signals)
    return told or Broken(FailureClass.STUCK, "the channel must emit ConsumptionResumed", "it did not")


# ---- resources -------------------------------------------------------------------------------------------------------
adopt(taking.buffers_in_use_count_what_waits, steps.in_use, needs=RESOURCES)
adopt(
    lifetime.after_release_nothing_is_held, steps.resources, needs=RESOURCES,
    formerly=("a-released-channel-holds-nothing",),
)  # fmt: skip


# ---- goals -----------------------------------------------------------------------------------------------------------
@goal(steps.buffer)
def credit_ran_out_with_a_backlog(ledger: Ledger, seen: Seen[None, int]) -> bool:
    """The producer used its last credit and sent a backlog above 0."""
    return ledger.credit.granted <= 0 and seen.operands[0] > 0


@goal(steps.buffer)
def a_floating_buffer_was_announced(ledger: Ledger, seen: Seen[None, int]) -> bool:
    """The producer sent a backlog, and the channel announced more credit."""
    return ledger.credit.granted >= 0 and seen.operands[0] > 0 and bool(seen.signals)


@goal(steps.event, needs=PUSHED)
def an_event_was_stashed(ledger: Ledger, seen: Seen[None, int]) -> bool:
    """An event without priority arrived during recovery."""
    return not ledger.lane.consumed


@goal(steps.take, needs=PUSHED)
def a_stashed_event_was_replayed(ledger: Ledger, seen: Took) -> bool:
    """An event that had arrived during recovery was taken after it."""
    return seen.value is not None and ledger.lane.consumed and ledger.stashed() is not None


goal(steps.checkpoint_started, needs=PUSHED)(starts.a_recovery_barrier_was_missing)
goal(steps.checkpoint_started)(starts.a_checkpoint_was_subsumed)


@goal(steps.checkpoint_started, needs=PUSHED)
def a_checkpoint_started_with_recovered_data(ledger: Ledger, seen: Seen[None, int]) -> bool:
    """A checkpoint started while recovered data was queued."""
    return seen.error is None and bool(ledger.lane.waiting)


@goal(steps.checkpoint_started, needs=STEPPING)
def an_element_arrived_while_a_checkpoint_started(ledger: Ledger, seen: Seen[None, int]) -> bool:
    """An element was arriving when a checkpoint started."""
    return ledger.arriving is not None


@goal(steps.checkpoint_stopped)
def an_older_checkpoint_was_stopped_late(ledger: Ledger, seen: Seen[None, int]) -> bool:
    """An older checkpoint was stopped while a newer one was pending or over."""
    return ledger.input.awaited() > seen.operands[0]


@goal(steps.convert_to_priority)
def an_announced_barrier_overtook_data(ledger: Ledger, seen: Seen[None, int]) -> bool:
    """An announced barrier behind data was converted to a priority event."""
    return any(type(sent.element) is Buffer for sent in ledger.lane.live)


@goal(steps.push_recovered, needs=PUSHED)
def a_pusher_waited_for_the_upstream(ledger: Ledger, seen: Seen[None]) -> bool:
    """Recovered data was pushed before the producer had sent anything."""
    return ledger.lane.arrived == (ledger.arriving is not None)


@goal(steps.release, steps.fail, needs=PUSHED)
def released_during_recovery(ledger: Ledger, seen: Seen[None]) -> bool:
    """A release happened before the recovered data was consumed."""
    return not ledger.released and not ledger.lane.consumed


@goal(steps.release, steps.fail)
def released_with_a_pending_checkpoint(ledger: Ledger, seen: Seen[None]) -> bool:
    """A release happened while a checkpoint waited for its barrier."""
    return not ledger.released and ledger.input.awaited() > 0


@goal(steps.release, steps.fail)
def released_while_blocked(ledger: Ledger, seen: Seen[None]) -> bool:
    """A release happened while a producer was blocked."""
    return not ledger.released and ledger.lane.blocked


@goal(steps.release, needs=STEPPING)
def released_during_other_operations(ledger: Ledger, seen: Seen[None]) -> bool:
    """A release ended while other operations were in flight."""
    return ledger.flying > 1


@goal(steps.restore)
def a_fresh_channel_took_over(ledger: Ledger, seen: Seen[Resources]) -> bool:
    """A fresh channel replaced one that had failed."""
    return True
