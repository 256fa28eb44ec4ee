"""What must be true of a remote channel, and what a campaign must have seen. Specification: remote-channel.md."""

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
    """Nothing live without priority is handed out before the recovered data of the channel was consumed."""
    lane, value = ledger.lane, seen.value
    hidden = lane.waiting or not (lane.consumed or lane.finishing)
    if value is None or not hidden or value.element.data_type.has_priority:
        return False
    if lane.waiting and type(value.element) is Buffer:
        return True
    owed = "the recovered data of the channel is not consumed"
    return Broken(FailureClass.REORDERED, owed, f"{name(value.element)} came")


@rule(steps.take, invariant="I-95", tickets=("FLINK-39521",), needs=PUSHED)
def events_of_a_recovering_channel_are_kept_and_replayed(ledger: Ledger, seen: Took) -> Judgement:
    """Ordinary events that come during recovery are handed out after it, in the order in which they came."""
    stashed, value = ledger.stashed(), seen.value
    if stashed is None or value is None or value.element.data_type.has_priority:
        return False
    if value.element == stashed:
        return True
    return Broken(FailureClass.LOST, f"{name(stashed)} came during recovery and is next", f"{name(value.element)} came")


@rule(steps.take, invariant="I-30")
def priority_events_come_first(ledger: Ledger, seen: Took) -> Judgement:
    """A priority event comes before everything that has no priority."""
    urgent, value = ledger.lane.urgent, seen.value
    if not urgent or not ledger.alone or (value is None and not recovery.ends(seen.signals)):
        return False
    if value is not None and value.element.data_type.has_priority:
        return True
    came = "the end of recovered data" if value is None else name(value.element)
    return Broken(FailureClass.REORDERED, f"{name(urgent[0].element)} has priority", f"{came} came")


@rule(steps.take, invariant="I-02", tickets=("FLINK-17564",))
def elements_arrive_once_and_in_order(ledger: Ledger, seen: Took) -> Judgement:
    """What was received is handed out once and in order, priority events first."""
    if seen.value is None:
        return False
    lane, element = ledger.lane, seen.value.element
    if element.data_type.has_priority:
        first = lane.urgent[0].element if lane.urgent else None
        if element == first or (type(element) is Announcement and type(first) is Announcement):
            return True
        owed = f"{name(first)} is the first priority event" if first is not None else "no priority event is queued"
        return Broken(FailureClass.REORDERED, owed, f"{name(element)} came")
    head = lane.head()
    if head is None:
        return Broken(FailureClass.DUPLICATED, "everything was taken before", f"{name(element)} came")
    return must_be(head.element, element)


@rule(steps.take, invariant="I-19")
def elements_keep_their_sequence_numbers(ledger: Ledger, seen: Took) -> Judgement:
    """A live element is handed out with the sequence number with which it came."""
    lane, value = ledger.lane, seen.value
    if value is None or lane.waiting:
        return False
    line = lane.urgent if value.element.data_type.has_priority else lane.live
    if not line or line[0].number == value.seq:
        return bool(line)
    owed = f"it came with sequence number {line[0].number}"
    return Broken(FailureClass.PROTOCOL, owed, f"it is handed out with {value.seq}")


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
    """An element that does not carry the next sequence number is an error of kind reordering."""
    owed = f"element {ledger.lane.arrived} comes next"
    return False if ledger.releasing else must_fail(seen.error, ErrorKind.REORDERING, owed)


@rule(steps.buffer_in_recovery, invariant="I-95", tickets=("FLINK-39521",), needs=PUSHED)
def no_data_comes_during_recovery(ledger: Ledger, seen: Seen[None]) -> Judgement:
    """Live data while the channel is in recovery is an error of kind protocol."""
    if ledger.lane.consumed or ledger.releasing:
        return False
    return must_fail(seen.error, ErrorKind.PROTOCOL, "no live data comes while the channel is in recovery")


@rule(steps.blocked_with_backlog, invariant="I-95")
def a_blocked_producer_has_no_backlog(ledger: Ledger, seen: Seen[None]) -> Judgement:
    """An element that blocks the producer and comes with a backlog is an error of kind argument."""
    owed = "a producer that is blocked has no backlog"
    return False if ledger.releasing else must_fail(seen.error, ErrorKind.ARGUMENT, owed)


# ---- credit ----------------------------------------------------------------------------------------------------------
def _gives_its_credit_back(ledger: Ledger) -> bool:
    """Without exclusive buffers a blocked producer loses its credit, once it is resumed."""
    return ledger.lane.blocked and not ledger.credit.exclusive


@rule(steps.free_for_live, invariant="I-96", needs=RESOURCES, quiet=True)
def credit_is_what_is_set_aside(ledger: Ledger, seen: Seen[int]) -> Judgement:
    """The credit announced, less the data received, is the number of buffers set aside for live data."""
    if ledger.phase == "new" or not ledger.lane.consumed or _gives_its_credit_back(ledger):
        return False
    granted = ledger.credit.granted
    if seen.value == granted:
        return True
    owed = f"the producer holds {granted} credits: so many buffers are set aside for it"
    return Broken(FailureClass.PROTOCOL, owed, f"{seen.value} are")


@rule(steps.free_for_live, invariant="I-96", needs=RESOURCES, quiet=True)
def credit_is_covered_by_buffers(ledger: Ledger, seen: Seen[int]) -> Judgement:
    """A channel does not hold more buffers, in use and announced, than it has of its own and the pool can lend."""
    if ledger.phase == "new" or ledger.recovery != "none" or _gives_its_credit_back(ledger):
        return False
    missing = -ledger.spare()
    owed = f"there are {sum(ledger.buffers)} buffers"
    return missing <= 0 or Broken(FailureClass.PROTOCOL, owed, f"{missing} more are in use or announced")


@rule(steps.free_for_live, invariant="I-96", tickets=("FLINK-39521",), needs=PUSHED, quiet=True)
def no_credit_is_announced_during_recovery(ledger: Ledger, seen: Seen[int]) -> Judgement:
    """Buffers are announced to the producer once the recovery is over, not before."""
    if ledger.phase == "new" or ledger.lane.consumed:
        return False
    granted, owed = ledger.credit.granted, "no buffer is announced before the recovery is over"
    return granted == 0 or Broken(FailureClass.PROTOCOL, owed, f"the producer holds {granted} credits")


@rule(
    steps.recycle, steps.free_for_live, invariant="I-96", tickets=("FLINK-23466",), needs=RESOURCES,
    kind=Kind.EVENTUALLY, quiet=True,
)  # fmt: skip
def a_backlog_gets_the_buffers_that_come_back(ledger: Ledger, seen: Seen[object]) -> Judgement:
    """A channel gets the floating buffers that a backlog asks for, as soon as they are free, until it has enough."""
    credit = ledger.credit
    if not credit.waits() or ledger.lane.blocked or ledger.released:
        return False
    spare = ledger.spare()
    if spare <= 0 or credit.granted >= credit.required:
        return True
    owed = f"the producer's backlog asks for {credit.required} buffers, and {spare} are free"
    return Broken(FailureClass.STUCK, owed, f"it holds {credit.granted} credits")


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
    """The input state of a checkpoint is exactly the data in front of its barrier that had not been taken when it
    started: once and in order, whatever arrives meanwhile."""
    return judge_written(ledger.input, seen.operands[0], seen.value)


@rule(steps.convert_to_priority, invariant="I-31", tickets=("FLINK-19681",))
def a_converted_barrier_is_announced_by_force(ledger: Ledger, seen: Seen[None, int]) -> Judgement:
    """The gate is told of an announced barrier that overtakes, even if it was told of the announcement before."""
    if seen.error is not None:
        return must_succeed(seen.error, "the announced barrier is queued, and can overtake")
    told = any(type(signal) is PriorityAvailable for signal in seen.signals)
    return told or Broken(FailureClass.STUCK, "the gate is told of a barrier that overtakes", "it was not")


@rule(steps.convert_unknown_to_priority, invariant="I-31", tickets=("FLINK-19681",))
def only_the_last_barrier_can_overtake(ledger: Ledger, seen: Seen[None]) -> Judgement:
    """Making anything but the last barrier of the channel a priority event is an error of kind state."""
    return must_fail(seen.error, ErrorKind.STATE, "that is no barrier of this channel")


@rule(steps.resume, invariant="I-17", tickets=("FLINK-23223",))
def the_producer_is_told_to_go_on(ledger: Ledger, seen: Seen[None]) -> Judgement:
    """Resuming consumption sends word to the producer."""
    told = any(type(signal) is ConsumptionResumed for signal in seen.signals)
    return told or Broken(FailureClass.STUCK, "the producer is told to go on", "it was not")


# ---- what is held ----------------------------------------------------------------------------------------------------
adopt(taking.buffers_in_use_count_what_waits, steps.in_use, needs=RESOURCES)
adopt(
    lifetime.after_release_nothing_is_held, steps.resources, needs=RESOURCES,
    formerly=("a-released-channel-holds-nothing",),
)  # fmt: skip


# ---- what a campaign must have seen ----------------------------------------------------------------------------------
@goal(steps.buffer)
def credit_ran_out_with_a_backlog(ledger: Ledger, seen: Seen[None, int]) -> bool:
    """The last credit was used, and the producer had more."""
    return ledger.credit.granted <= 0 and seen.operands[0] > 0


@goal(steps.buffer)
def a_floating_buffer_was_announced(ledger: Ledger, seen: Seen[None, int]) -> bool:
    """A backlog led to more credit."""
    return ledger.credit.granted >= 0 and seen.operands[0] > 0 and bool(seen.signals)


@goal(steps.event, needs=PUSHED)
def an_event_was_stashed(ledger: Ledger, seen: Seen[None, int]) -> bool:
    """An ordinary event came during recovery."""
    return not ledger.lane.consumed


@goal(steps.take, needs=PUSHED)
def a_stashed_event_was_replayed(ledger: Ledger, seen: Took) -> bool:
    """An event that had come during recovery was taken."""
    return seen.value is not None and ledger.lane.consumed and ledger.stashed() is not None


goal(steps.checkpoint_started, needs=PUSHED)(starts.a_recovery_barrier_was_missing)
goal(steps.checkpoint_started)(starts.a_checkpoint_was_subsumed)


@goal(steps.checkpoint_started, needs=PUSHED)
def a_checkpoint_started_with_recovered_data(ledger: Ledger, seen: Seen[None, int]) -> bool:
    """A checkpoint started while recovered data was queued."""
    return seen.error is None and bool(ledger.lane.waiting)


@goal(steps.checkpoint_started, needs=STEPPING)
def an_element_arrived_while_a_checkpoint_started(ledger: Ledger, seen: Seen[None, int]) -> bool:
    """An arrival was in progress when a checkpoint started."""
    return ledger.arriving is not None


@goal(steps.checkpoint_stopped)
def an_older_checkpoint_was_stopped_late(ledger: Ledger, seen: Seen[None, int]) -> bool:
    """An older checkpoint was stopped late, while a newer one was pending or over."""
    return ledger.input.awaited() > seen.operands[0]


@goal(steps.convert_to_priority)
def an_announced_barrier_overtook_data(ledger: Ledger, seen: Seen[None, int]) -> bool:
    """An announced barrier was made a priority event behind data."""
    return any(type(sent.element) is Buffer for sent in ledger.lane.live)


@goal(steps.push_recovered, needs=PUSHED)
def a_pusher_waited_for_the_upstream(ledger: Ledger, seen: Seen[None]) -> bool:
    """Recovered data was pushed before the producer had sent anything."""
    return ledger.lane.arrived == (ledger.arriving is not None)


@goal(steps.release, steps.fail, needs=PUSHED)
def released_during_recovery(ledger: Ledger, seen: Seen[None]) -> bool:
    """Released before the recovered data was consumed."""
    return not ledger.released and not ledger.lane.consumed


@goal(steps.release, steps.fail)
def released_with_a_pending_checkpoint(ledger: Ledger, seen: Seen[None]) -> bool:
    """Released while a barrier was awaited."""
    return not ledger.released and ledger.input.awaited() > 0


@goal(steps.release, steps.fail)
def released_while_blocked(ledger: Ledger, seen: Seen[None]) -> bool:
    """Released while a producer was blocked."""
    return not ledger.released and ledger.lane.blocked


@goal(steps.release, needs=STEPPING)
def released_during_other_operations(ledger: Ledger, seen: Seen[None]) -> bool:
    """A release was over while others were in progress."""
    return ledger.flying > 1


@goal(steps.restore)
def a_fresh_channel_took_over(ledger: Ledger, seen: Seen[Resources]) -> bool:
    """A fresh channel took the place of one that had failed."""
    return True
