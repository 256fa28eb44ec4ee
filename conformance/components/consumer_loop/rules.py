"""The rules of the consumer loop. Specification: consumer-loop.md."""

from __future__ import annotations

from typing import Any

from conformance.components.consumer_loop import steps
from conformance.components.consumer_loop.ledger import Ledger
from conformance.driver import (
    NO_LOCK_MEANWHILE,
    Broken,
    FailureClass,
    Judgement,
    Rules,
    Seen,
    Unsure,
    answers_property,
    thread_properties,
)
from conformance.models import faults, lifetime
from conformance.models.alignment import (
    a_checkpoint_is_triggered_once_and_in_order,
    only_a_blocked_channel_is_resumed,
    the_inputs_start_a_checkpoint_before_the_task,
    the_inputs_stop_a_checkpoint_when_it_is_over,
)
from conformance.models.designs import FAULTS, READBACK, RESOURCES
from conformance.models.fault_words import call_at
from conformance.models.records import compare_ids, in_words, were
from conformance.models.signal_words import signalled
from conformance.models.words import channels, got, name
from conformance.ports import (
    CheckpointDeclined,
    CheckpointTriggered,
    ConsumerLoopPort,
    ConsumptionResumed,
    ElementTaken,
    EndOfData,
    ErrorKind,
    InputsCheckpointStarted,
    InputsCheckpointStopped,
    InputStatus,
)

END_OF_DATA, END_OF_INPUT, NOTHING_AVAILABLE = (
    InputStatus.END_OF_DATA,
    InputStatus.END_OF_INPUT,
    InputStatus.NOTHING_AVAILABLE,
)
"""Module variables, because looking up a member of an enumeration is slow in Python 3.11."""

# A thread waits only for locks, so only a broken loop could exercise the rule about waiting for anything else.
RULES = Rules[Ledger](
    "consumer-loop",
    answers_property("consumer-loop"),
    *thread_properties("consumer-loop", untestable=(NO_LOCK_MEANWHILE,)),
)
rule, adopt = RULES.rule, RULES.adopt
Acted = Seen[Any, *tuple[Any, ...]]
DEEDS = (
    ElementTaken,
    ConsumptionResumed,
    CheckpointTriggered,
    CheckpointDeclined,
    InputsCheckpointStarted,
    InputsCheckpointStopped,
)
"""Signals that only the task emits."""


# ---- what the operators process --------------------------------------------------------------------------------------
@rule(*steps.ACTS, invariant="I-01", after_learning=True, signals=(ElementTaken,))
def every_element_is_taken_once_in_its_turn(ledger: Ledger, seen: Acted) -> Judgement:
    """The task takes each element once: priority events as soon as they are there, the others in the order in which
    they arrived in their channel."""
    if ledger.act.out_of_turn is None:
        return True
    channel, element = ledger.act.out_of_turn
    head = ledger.lanes[channel].head()
    first = "nothing" if head is None else name(head.element)
    return Broken(
        FailureClass.REORDERED,
        f"{first} is the next in channel {channel}, besides priority events",
        f"the task took {name(element)}",
    )


@rule(*steps.ACTS, invariant="I-08", tickets=("FLINK-17568",), after_learning=True, signals=(ElementTaken,))
def nothing_behind_a_barrier_is_processed_before_its_checkpoint(ledger: Ledger, seen: Acted) -> Judgement:
    """What arrived behind a barrier is processed only after the task took the barrier, and its part of the checkpoint
    if that is not over."""
    if ledger.act.behind is None:
        return True
    channel, checkpoint = ledger.act.behind
    owed = f"checkpoint {checkpoint} must begin before what is behind its barrier in channel {channel} is processed"
    return Broken(FailureClass.PROTOCOL, owed, "something of that was processed first")


@rule(*steps.ACTS, invariant="I-08", after_learning=True, signals=(ConsumptionResumed,))
def a_channel_is_resumed_when_its_checkpoint_is_over(ledger: Ledger, seen: Acted) -> Judgement:
    """A channel that waits behind a barrier is not resumed while the checkpoint of the barrier is in progress; if the
    receiver aligns, not before it is triggered."""
    for channel, checkpoint in ledger.upstream.resumed:
        began = ledger.aligns_at_receiver and checkpoint in ledger.alignment.triggered
        if checkpoint and not began and not ledger.alignment.is_obsolete(checkpoint):
            owed = f"channel {channel} must wait until checkpoint {checkpoint} is over"
            return Broken(FailureClass.PROTOCOL, owed, "the channel was resumed")
    return True


@rule(steps.persisted, invariant="I-34", tickets=("FLINK-17315", "FLINK-40016"), needs=READBACK)
def in_flight_data_is_what_was_not_processed(ledger: Ledger, seen: Seen[tuple[tuple[int, ...], ...], int]) -> Judgement:
    """The in-flight data of a checkpoint are the records in front of its barriers that were not processed when the
    inputs started it, each once and in order."""
    (checkpoint,) = seen.operands
    if checkpoint in ledger.alignment.declined or checkpoint in ledger.subsumed or not ledger.is_settled():
        return False
    if len(seen.value) != len(ledger.lanes):
        owed = f"there are {len(ledger.lanes)} channels, so the in-flight data of each must be returned"
        return Broken(FailureClass.PROTOCOL, owed, f"that of {len(seen.value)} was")
    judged = False
    for channel, (lane, start) in enumerate(zip(ledger.lanes, ledger.started[checkpoint], strict=True)):
        expected = lane.in_flight(checkpoint, start)
        if expected is None:
            continue
        judged = judged or bool(expected)
        if seen.value[channel] != expected:
            kind = compare_ids(expected, seen.value[channel], expected[0] if expected else 0)
            owed = (
                f"{in_words(expected)} of channel {channel} must be stored as in-flight data of checkpoint {checkpoint}"
            )
            return Broken(kind, owed, f"{were(seen.value[channel])} stored")
    return judged


# ---- who acts, and when ----------------------------------------------------------------------------------------------
@rule(*steps.OTHERS, invariant="I-45", tickets=("FLINK-17994",))
def only_the_task_acts_on_what_arrives(ledger: Ledger, seen: Acted) -> Judgement:
    """Neither the network thread nor the timer takes elements, starts or ends checkpoints, or resumes channels."""
    for signal in seen.signals:
        if type(signal) in DEEDS:
            owed = "only a mail and the default action of the task may act on checkpoints and channels"
            return Broken(FailureClass.PROTOCOL, owed, "an operation of another thread acted on them")
    return True


@rule(steps.run_mail, invariant="I-10")
def a_priority_event_is_there_as_a_mail(ledger: Ledger, seen: Seen[bool]) -> Judgement:
    """When there is no mail, every priority event that has arrived was taken: none waits for the default action."""
    if not ledger.act.urgent:
        return False
    if seen.value or seen.signals:
        return True
    owed = f"{channels(ledger.act.urgent)} had a priority event, so there must be a mail that takes it"
    return Broken(FailureClass.STUCK, owed, "there was no mail")


@rule(steps.process, invariant="I-22")
def the_default_action_takes_what_is_there(ledger: Ledger, seen: Seen[InputStatus]) -> Judgement:
    """The default action takes nothing, and says that nothing is available, only if nothing was there when it began."""
    if not ledger.act.something:
        return False
    if seen.value is not NOTHING_AVAILABLE or seen.signals:
        return True
    return Broken(
        FailureClass.STUCK, "an element was there, so the default action must take one", "it found no element"
    )


@rule(steps.idle, invariant="I-22")
def a_task_waits_only_if_nothing_is_left(ledger: Ledger, seen: Seen[bool]) -> Judgement:
    """A task that waits has taken everything that has arrived: no wake-up is lost."""
    if not (seen.value and ledger.is_settled()):
        return False
    if left := ledger.left():
        owed = f"something is left in {channels(left)}, so the task must not wait"
        return Broken(FailureClass.STUCK, owed, "the task waits")
    return True


@rule(steps.idle, invariant="I-32", tickets=("FLINK-20145",))
def a_task_with_nothing_to_do_waits(ledger: Ledger, seen: Seen[bool]) -> Judgement:
    """Once there was no mail and the default action found nothing, the task waits until something happens."""
    if not ledger.lookers.all_found_nothing() or not ledger.is_settled():
        return False
    if seen.value:
        return True
    owed = "there was no mail and nothing to take, and nothing has happened since: the task must wait"
    return Broken(FailureClass.STUCK, owed, "the task is not idle")


# ---- checkpoints -----------------------------------------------------------------------------------------------------
adopt(a_checkpoint_is_triggered_once_and_in_order, *steps.ACTS, of=lambda ledger: ledger.alignment.repeated)


@rule(*steps.ACTS, invariant="I-45", after_learning=True, signals=(CheckpointTriggered,))
def an_aligned_checkpoint_waits_for_every_barrier(ledger: Ledger, seen: Acted) -> Judgement:
    """An aligned checkpoint is triggered only once the barrier of every channel that has not ended was taken."""
    if not ledger.act.triggered_early:
        return True
    owed = f"a barrier of checkpoint {ledger.act.triggered_early} is still to be taken"
    return Broken(FailureClass.PROTOCOL, owed, "the checkpoint was triggered, aligned")


@rule(steps.idle, invariant="I-45")
def a_checkpoint_whose_barriers_are_taken_is_triggered(ledger: Ledger, seen: Seen[bool]) -> Judgement:
    """When the task waits and has taken the newest barrier of every channel, it has triggered or declined that
    checkpoint."""
    if not (seen.value and ledger.is_settled()) or ledger.left() or ledger.awaits_barriers():
        return False
    if ledger.alignment.was_triggered_or_declined(ledger.alignment.current):
        return True
    owed = f"every barrier of checkpoint {ledger.alignment.current} was taken, so the task must trigger it"
    return Broken(FailureClass.STUCK, owed, "the task did not trigger it")


@rule(*steps.ACTS, invariant="I-56", after_learning=True, signals=(CheckpointDeclined,))
def a_checkpoint_is_declined_with_a_reason(ledger: Ledger, seen: Acted) -> Judgement:
    """A checkpoint is declined only if a newer one came, its cancel marker came, a channel ended whose end does not
    count, or the inputs have refused to start it."""
    if ledger.act.groundless is None:
        return True
    checkpoint, reason = ledger.act.groundless
    owed = f"there was no reason to decline checkpoint {checkpoint}"
    return Broken(FailureClass.PROTOCOL, owed, f"it was declined with the reason {reason}")


@rule(*steps.ACTS, invariant="I-50", tickets=("FLINK-19681",), after_learning=True, signals=(ElementTaken,))
def what_ends_a_checkpoint_declines_it(ledger: Ledger, seen: Acted) -> Judgement:
    """If the task takes a barrier or an announcement of a newer checkpoint while another one is in progress, it
    declines the older one; and so it does if it takes the end of a channel that does not count."""
    for checkpoint in ledger.act.must_decline:
        if checkpoint not in ledger.alignment.declined:
            owed = f"what was taken has ended checkpoint {checkpoint}, so it must be declined"
            return Broken(FailureClass.STUCK, owed, "it was not declined")
    return bool(ledger.act.must_decline)


adopt(the_inputs_start_a_checkpoint_before_the_task, *steps.ACTS)
adopt(the_inputs_stop_a_checkpoint_when_it_is_over, *steps.ACTS, of=lambda ledger: ledger.alignment)
adopt(only_a_blocked_channel_is_resumed, *steps.ACTS, of=lambda ledger: ledger.act.resumed_unblocked)


@rule(steps.idle, invariant="I-58", tickets=("FLINK-18252",))
def a_cancelled_checkpoint_is_declined(ledger: Ledger, seen: Seen[bool]) -> Judgement:
    """When the task waits and has taken a cancel marker of the newest checkpoint, it has declined this checkpoint."""
    checkpoint = ledger.alignment.current
    if not (seen.value and ledger.is_settled()) or checkpoint not in ledger.cancelled:
        return False
    if checkpoint in ledger.alignment.declined:
        return True
    owed = f"a cancel marker of checkpoint {checkpoint} was taken, so the task must decline it"
    return Broken(FailureClass.STUCK, owed, "the task did not decline it")


@rule(steps.idle, invariant="I-46", tickets=("FLINK-19681",))
def no_channel_waits_for_a_checkpoint_that_is_over(ledger: Ledger, seen: Seen[bool]) -> Judgement:
    """When the task waits, a channel is blocked only by the newest checkpoint, and only while that is in progress."""
    if not (seen.value and ledger.is_settled()) or ledger.left():
        return False
    waits = ledger.alignment.left_blocked(ledger.upstream.blocked)
    if not waits:
        return any(ledger.upstream.blocked)
    return Broken(
        FailureClass.STUCK,
        f"the checkpoint is over for which {channels(waits)} waits: the channel must be resumed",
        "it was not resumed",
    )


@rule(steps.idle, invariant="I-48", tickets=("FLINK-19681",))
def an_alignment_that_takes_too_long_becomes_unaligned(ledger: Ledger, seen: Seen[bool]) -> Judgement:
    """When the task waits, and time has passed since the alignment of the newest checkpoint is overdue, the task has
    triggered it as soon as it took a barrier."""
    alignment = ledger.alignment
    if not (seen.value and alignment.overdue and alignment.current in ledger.upstream.kinds and ledger.is_settled()):
        return False
    if alignment.was_triggered_or_declined(alignment.current):
        return True
    owed = f"the alignment of checkpoint {alignment.current} is overdue, so the task must trigger it unaligned"
    return Broken(FailureClass.STUCK, owed, "the task waits for more barriers")


@rule(
    *steps.ACTS, invariant="I-49", tickets=("FLINK-18252",), after_learning=True, signals=(CheckpointTriggered,),
    formerly=("an-aligned-savepoint-stays-aligned",),
)  # fmt: skip
def a_checkpoint_that_is_in_time_stays_aligned(ledger: Ledger, seen: Acted) -> Judgement:
    """A checkpoint is triggered unaligned only if an unaligned barrier of it was sent, or if it is timeoutable and
    overdue. A savepoint is never unaligned."""
    if not ledger.act.hastened:
        return True
    owed = f"checkpoint {ledger.act.hastened} is aligned and in time, and must stay aligned"
    return Broken(FailureClass.PROTOCOL, owed, "it was triggered unaligned")


@rule(*steps.ACTS, invariant="I-49", after_learning=True, signals=(ElementTaken,))
def no_barrier_in_time_overtakes(ledger: Ledger, seen: Acted) -> Judgement:
    """A barrier that was announced is taken before what is in front of it only if an unaligned barrier of its
    checkpoint was sent, or if that is overdue: an aligned checkpoint does not store what was overtaken."""
    if not ledger.act.overtook:
        return ledger.act.took_announced
    owed = f"checkpoint {ledger.act.overtook} is aligned and in time, and its barriers overtake nothing"
    return Broken(FailureClass.REORDERED, owed, "one was taken before what is in front of it")


# ---- the end of the input --------------------------------------------------------------------------------------------
@rule(steps.process, invariant="I-33", tickets=("FLINK-38544",), after_learning=True)
def the_input_ends_when_every_channel_has_ended(ledger: Ledger, seen: Seen[InputStatus]) -> Judgement:
    """The default action returns the end of the input once the end of every channel was taken and it has nothing to
    take, and not before."""
    ended = all(ledger.alignment.ended)
    answered = seen.value is END_OF_INPUT
    if answered and not ended:
        owed = "a channel has not ended, so the input must not end"
        return Broken(FailureClass.LOST, owed, "the default action returned the end of the input")
    if ended and not answered and not seen.signals:
        owed = "every channel has ended and nothing was taken, so the input must end"
        return Broken(FailureClass.STUCK, owed, f"the default action returned {seen.value}")
    return ended


@rule(steps.process, invariant="I-33", after_learning=True, formerly=("the-end-of-data-is-told-once",))
def the_end_of_data_is_returned_once(ledger: Ledger, seen: Seen[InputStatus]) -> Judgement:
    """The default action returns the end of data when it takes the end of data of the last channel, and only then."""
    ends = any(type(signal) is ElementTaken and isinstance(signal.element, EndOfData) for signal in seen.signals)
    owed = ends and all(lane.data_taken for lane in ledger.lanes)
    if owed == (seen.value is END_OF_DATA):
        return owed
    if owed:
        return Broken(
            FailureClass.LOST,
            "the data of the last channel has ended, so the default action must return the end of data",
            f"it returned {seen.value}",
        )
    return Broken(
        FailureClass.PROTOCOL,
        "the default action returns the end of data once, when that of the last channel is taken",
        "it returned the end of data now",
    )


# ---- what the task calls fails ---------------------------------------------------------------------------------------
adopt(faults.an_operation_fails_with_what_it_calls, *steps.ACTS, needs=FAULTS)


@rule(*steps.ACTS, invariant="I-90", needs=FAULTS, struck=True)
def an_error_is_no_refusal(ledger: Ledger, seen: Acted) -> Judgement:
    """If a call fails while the inputs start a checkpoint, or the task acts on one, the task declines no checkpoint for
    it and is not asked for its part behind it: only a refusal declines."""
    struck = faults.struck_by(seen)
    if ledger.may_keep(struck.place):
        return False
    for signal in seen.signals[seen.signals.index(struck) :]:
        if type(signal) in (CheckpointDeclined, CheckpointTriggered):
            owed = f"{call_at(struck.place)} failed, so the task must fail and do nothing else"
            return Broken(FailureClass.PROTOCOL, owed, f"it signalled this: {signalled(signal)}")
    return True


@rule(*steps.ARRIVALS, invariant="I-90", needs=FAULTS, struck=True)
def an_arrival_fails_only_with_what_it_calls(ledger: Ledger, seen: Acted) -> Judgement:
    """If something fails in an arrival, the arrival succeeds or fails with an error of kind io."""
    struck = faults.struck_by(seen)
    if (again := faults.struck_again(ledger.faults, struck)) is not None:
        return again
    if seen.error is None or seen.error.kind is ErrorKind.IO:
        return True
    owed = f"{call_at(struck.place)} failed, so the arrival may fail with an error of kind io only"
    return Broken(FailureClass.PROTOCOL, owed, got(seen.error))


@rule(steps.process_for_the_error, invariant="I-22", needs=FAULTS)
def a_kept_error_fails_the_default_action(ledger: Ledger, seen: Seen[InputStatus]) -> Judgement:
    """While the gate keeps an error, the default action fails with an error of kind io, or takes an element."""
    owed = "the gate keeps an error, so the default action must fail with an error of kind io, or take an element"
    if seen.error is not None:
        return seen.error.kind is ErrorKind.IO or Broken(FailureClass.PROTOCOL, owed, got(seen.error))
    if any(type(signal) is ElementTaken for signal in seen.signals):
        return False
    if not ledger.alone:
        return Unsure("the arrival that has failed was not over")
    return Broken(FailureClass.STUCK, owed, f"it took nothing and returned {seen.value}")


@rule(steps.run_mail_with_an_error, invariant="I-90", needs=FAULTS)
def a_mail_fails_only_with_the_error_that_is_kept(ledger: Ledger, seen: Seen[bool]) -> Judgement:
    """While the gate keeps an error, a mail that fails does so with an error of kind io."""
    if seen.error is None:
        return False
    owed = "the gate keeps an error, so a mail may fail with an error of kind io only"
    return seen.error.kind is ErrorKind.IO or Broken(FailureClass.PROTOCOL, owed, got(seen.error))


@rule(steps.idle_with_an_error, invariant="I-22", needs=FAULTS)
def a_task_does_not_wait_while_an_error_is_kept(ledger: Ledger, seen: Seen[bool]) -> Judgement:
    """A task whose gate keeps an error does not wait: nothing else would wake it."""
    if not ledger.is_settled():
        return False
    if not seen.value:
        return True
    return Broken(FailureClass.STUCK, "the gate keeps an error, so the task must not wait", "the task waits")


faults.see_strikes(RULES, ConsumerLoopPort.can_fail, *steps.ACTS, *steps.ARRIVALS)
faults.see_later_strikes(RULES, *steps.ACTS, *steps.ARRIVALS)


# ---- resources -------------------------------------------------------------------------------------------------------
adopt(lifetime.after_release_nothing_is_held, steps.resources, needs=RESOURCES)
