"""The rules of the union gate. Specification: union-gate.md."""

from __future__ import annotations

from conformance.components.union_gate import steps
from conformance.components.union_gate.ledger import Ledger
from conformance.components.union_gate.lines import Line
from conformance.components.union_gate.settings import ENDED, FAILED, RECOVERING, RELEASED, REQUESTED
from conformance.driver import (
    Broken,
    FailureClass,
    Judgement,
    Never,
    Rules,
    Seen,
    Setting,
    answers_property,
    thread_properties,
)
from conformance.driver.setting import LOCAL
from conformance.models import consumer, kept, lifetime
from conformance.models.designs import FAULTS, PUSHED, RESOURCES
from conformance.models.kept import must_be_refused
from conformance.models.lane import Sent
from conformance.models.words import channels, counted, got, must_succeed, name, truth
from conformance.ports import BufferOrEvent, Recovery, Resources
from conformance.ports.elements import Buffer, Element, EndOfPartition
from conformance.ports.outcomes import ConsumptionResumed, CreditAnnounced, ErrorKind, StateConsumed

RULES = Rules[Ledger](
    "union-gate", answers_property("union-gate"), *thread_properties("union-gate", other_waits=PUSHED)
)
NOTHING_RECOVERED = Never(Setting("none"), "Nothing is recovered.")
NOT_RELEASED = tuple(
    Never(Setting(stage=stage), "Nothing was released.") for stage in (RECOVERING, REQUESTED, ENDED, FAILED)
)
NO_END_YET = Never(Setting(stage=RECOVERING), "No channel ends before its gate is requested.")
TASK_FAILS = Never(
    Setting(stage=FAILED), "The task fails: it recovers and reads no more, and data may be given back now."
)
BOTH_KINDS = tuple(
    Never(Setting(channel=channels), "The unions of scenarios with faults have channels of both kinds.")
    for channels in ("local channels", "remote channels")
)
LOCAL_PRODUCER = Never(Setting(channel=LOCAL), "The producer of a local channel gets no credit and no signal.")
JUDGED_AT_THE_END = Never(
    Setting(stage=RECOVERING), "They are judged at the end of a run, when all gates have been requested."
)
NOTHING_LEFT = Never(Setting(stage=ENDED), "Nothing is left to poll, and the union stays available for ever.")
NOTHING_ENDS_ONE = tuple(
    Never(
        Setting(stage=REQUESTED, channel=channels),
        "A channel has not ended, and a poll that answers nothing does not end one.",
    )
    for channels in ("local channels", "local and remote channels")
)
ENDS_TAKEN_BEFORE = tuple(
    Never(
        Setting(recovery, REQUESTED),
        "Before a gate is converted, the ends of recovered data are taken, or handed over.",
    )
    for recovery in ("recover-first", "in-memory")
)
AFTER_RELEASE = Never(Setting(stage=RELEASED), "A released union hands out nothing.")
rule, adopt = RULES.rule, RULES.adopt
Polled = Seen[BufferOrEvent | None]


# ---- polling ---------------------------------------------------------------------------------------------------------
@rule(steps.poll, invariant="I-09", tickets=("FLINK-39018",), never=(NOTHING_RECOVERED, AFTER_RELEASE))
def live_data_waits_for_recovered_data(ledger: Ledger, seen: Polled) -> Judgement:
    """The union hands out all recovered data of a channel before any live element of that channel, except priority
    events."""
    if (taken := seen.value) is None or ledger.failed or not 0 <= taken.channel < len(ledger.lines):
        return False
    line = ledger.lines[taken.channel]
    if taken.element.data_type.has_priority:
        return False
    if line.finishing and not line.waiting:
        return ledger.recovery is not Recovery.NONE and bool(line.live)
    if taken.element not in [sent.element for sent in line.live]:
        return bool(line.live)
    owed = f"the recovery of channel {taken.channel} is not over: none of its live elements may come"
    if line.waiting:
        owed = f"recovered {name(line.waiting[0].element)} must come next from channel {taken.channel}"
    return Broken(FailureClass.REORDERED, owed, f"the poll returned {name(taken.element)}, which is live")


@rule(
    steps.poll,
    steps.poll_for_the_error,
    invariant="I-28",
    tickets=("FLINK-39018", "FLINK-20145"),
    never=(AFTER_RELEASE,),
)
def elements_arrive_once_in_order_from_their_channel(ledger: Ledger, seen: Polled) -> Judgement:
    """The union hands out each element once and in the order of its channel, and answers with it the number of that
    channel among the channels of all gates."""
    if (taken := seen.value) is None or ledger.failed:
        return False
    if not 0 <= taken.channel < len(ledger.lines):
        owed = f"channels are numbered from 0 to {len(ledger.lines) - 1}"
        came = f"the poll returned {name(taken.element)} of channel {taken.channel}"
        return Broken(FailureClass.PROTOCOL, owed, came)
    line = ledger.lines[taken.channel]
    queue = line.urgent if taken.element.data_type.has_priority else line.waiting or line.live
    if queue and queue[0].element == taken.element:
        return True
    return _misplaced(ledger, line, queue, taken.element)


def _misplaced(ledger: Ledger, line: Line, queue: list[Sent], element: Element) -> Broken:
    """Returns in which way an element differs from the one that must come next from the channel."""
    owed = f"all elements sent into channel {line.number} were delivered before"
    if queue:
        owed = f"{name(queue[0].element)} must come next from channel {line.number}"
    observed = f"the poll returned {name(element)} as the next element of that channel"
    if line.holds(element):
        return Broken(FailureClass.REORDERED, owed, observed)
    if type(element) is Buffer:
        if any(other.holds(element) for other in ledger.lines):
            return Broken(FailureClass.CORRUPTED, owed, f"{observed}, but it was sent into another channel")
        if element.ids and all(0 <= one < ledger.next_record for one in element.ids):
            return Broken(FailureClass.DUPLICATED, owed, observed)
    return Broken(FailureClass.CORRUPTED if queue else FailureClass.DUPLICATED, owed, observed)


@rule(steps.poll, invariant="I-30", tickets=("FLINK-20145",), never=(AFTER_RELEASE,))
def a_priority_event_of_any_gate_comes_first(ledger: Ledger, seen: Polled) -> Judgement:
    """If any gate has a priority event when a poll begins, the poll answers a priority event."""
    if (taken := seen.value) is None or not ledger.consumer.due_priority or ledger.failed:
        return False
    if taken.element.data_type.has_priority:
        return True
    line = next(line for line in ledger.lines if line.comes_first())
    owed = f"{line.first()} has priority and was queued before the poll began, so a priority event must come"
    return Broken(FailureClass.REORDERED, owed, f"the poll returned {name(taken.element)} of channel {taken.channel}")


@rule(steps.poll, invariant="I-30", never=(AFTER_RELEASE,))
def gates_are_served_in_turn(ledger: Ledger, seen: Polled) -> Judgement:
    """While a gate has elements, the union hands out at most one element without priority of each other gate before the
    gate has its turn (correspondingly more if ends of recovered data take turns of their own)."""
    if (taken := seen.value) is None or taken.element.data_type.has_priority or ledger.failed:
        return False
    served = ledger.lines[taken.channel].gate
    waiting = [gate for gate in ledger.gates if gate.due and gate is not served]
    for gate in waiting:
        most = (1 + gate.turns_of_ends()) * (len(ledger.gates) - 1)
        if gate.waited >= most:
            owed = (
                f"gate {gate.number} had an element all the time, and at most {most} of other gates may come before it"
            )
            return Broken(FailureClass.STUCK, owed, f"{gate.waited + 1} elements of other gates came")
    return bool(waiting)


@rule(steps.poll, invariant="I-30", never=(AFTER_RELEASE,))
def channels_of_a_gate_are_served_in_turn(ledger: Ledger, seen: Polled) -> Judgement:
    """While a channel has elements, the union hands out at most one element without priority of each other channel of
    the same gate before the channel has its turn (correspondingly more if ends of recovered data take turns of their
    own)."""
    if (taken := seen.value) is None or taken.element.data_type.has_priority or ledger.failed:
        return False
    served = ledger.lines[taken.channel]
    others = len(served.gate.lines) - 1
    waiting = [line for line in served.gate.lines if line.due and line is not served] if others else ()
    for line in waiting:
        most = (1 + line.end_left) * others
        if line.waited >= most:
            where = f"channel {line.number} had an element all the time"
            owed = f"{where}, and at most {most} of other channels of its gate may come before it"
            return Broken(FailureClass.STUCK, owed, f"{line.waited + 1} elements of these channels came")
    return bool(waiting)


@rule(steps.poll, invariant="I-97", tickets=("FLINK-39018",), never=(AFTER_RELEASE,))
def a_slow_gate_holds_up_no_other(ledger: Ledger, seen: Polled) -> Judgement:
    """While one gate is empty, recovering or blocked, the union still hands out the data and the barriers of the other
    gates."""
    due = [gate for gate in ledger.gates if gate.due]
    slow = [gate for gate in ledger.gates if not (gate.due or gate.ended())]
    if not due or not slow or ledger.failed:
        return False
    if seen.value is not None or ledger.starved < len(ledger.gates) + ledger.turns_of_ends():
        return seen.value is not None
    line = next(line for gate in due for line in gate.lines if line.readable())
    owed = f"{line.first()} can be polled, although other gates are empty, recovering or blocked"
    return Broken(FailureClass.STUCK, owed, f"{ledger.starved + 1} polls in a row found nothing")


@rule(
    steps.poll,
    steps.request_partitions,
    steps.resume,
    invariant="I-32",
    tickets=("FLINK-20145", "FLINK-21104"),
    never=NOT_RELEASED,
)
def operations_fail_only_after_release(ledger: Ledger, seen: Seen[object]) -> Judgement:
    """A poll, a request of partitions or a resumption fails only after a release has begun, and then with an error of
    kind state or released."""
    if not ledger.failed:
        owed = "no release has begun: the operation must not fail"
        return False if seen.error is None else must_succeed(seen.error, owed)
    owed = "a release has begun: the operation may fail only with an error of kind state or released"
    allowed = seen.error is None or seen.error.kind in (ErrorKind.STATE, ErrorKind.RELEASED)
    if ledger.error_kept and seen.error is not None and seen.error.kind is ErrorKind.IO:
        return False  # a gate that is not released yet may have kept it
    return allowed or Broken(FailureClass.PROTOCOL, owed, got(seen.error))


@rule(steps.poll, invariant="I-94", never=NOT_RELEASED, formerly=("released-gates-hand-out-nothing",))
def released_gates_deliver_nothing(ledger: Ledger, seen: Polled) -> Judgement:
    """A poll that begins after release answers no element."""
    if not ledger.in_poll_of_released:
        return False
    if (taken := seen.value) is None:
        return True
    owed = "the gates were released before the poll began, so it must return nothing"
    return Broken(FailureClass.PROTOCOL, owed, f"it returned {name(taken.element)}")


@rule(steps.poll, invariant="I-33", tickets=("FLINK-38544",), never=(NO_END_YET, *NOTHING_ENDS_ONE, AFTER_RELEASE))
def nothing_follows_the_last_end(ledger: Ledger, seen: Polled) -> Judgement:
    """The poll that answers the end of partition of the last channel says that nothing follows, and later polls answer
    nothing."""
    taken = seen.value
    if ledger.phase == "ended":
        owed = "every gate has ended, so a poll must return nothing"
        return taken is None or Broken(FailureClass.DUPLICATED, owed, f"the poll returned {name(taken.element)}")
    if ledger.failed or taken is None or type(taken.element) is not EndOfPartition:
        return False
    if any(not line.ended and line.number != taken.channel for line in ledger.lines):
        return False
    owed, observed = "this is the end of the last channel: nothing follows", "the poll said that more follows"
    return not (taken.more or taken.more_priority) or Broken(FailureClass.PROTOCOL, owed, observed)


# ---- notifications and availability ----------------------------------------------------------------------------------
@rule(
    steps.available, invariant="I-22", tickets=("FLINK-20383",), quiet=True,
    formerly=("availability-tells-the-truth",), never=(NOTHING_LEFT,),
)  # fmt: skip
def a_union_with_data_is_available(ledger: Ledger, seen: Seen[bool]) -> Judgement:
    """If an element can be polled and no operation is in progress, the union answers that it is available."""
    if ledger.phase == "ended" or not (ledger.phase == "failing" or ledger.due()):
        return False
    if seen.value:
        return True
    said = "the union says that it is not available"
    return Broken(FailureClass.STUCK, f"{ledger.first()} can be polled", said)


adopt(
    consumer.the_consumer_is_notified_of_available_data, *steps.FEEDS, steps.poll, steps.poll_for_the_error,
    steps.available, of=lambda ledger: (ledger.consumer, ledger.something_waits(), ledger.first),
    tickets=("FLINK-20145", "FLINK-20383", "FLINK-39018"), formerly=("no-wake-up-is-lost",), never=(AFTER_RELEASE,),
)  # fmt: skip


adopt(
    consumer.the_consumer_is_notified_of_priority_events, *steps.FEEDS, steps.poll,
    of=lambda ledger: (ledger.consumer, ledger.urgent_waits(), ledger.first_urgent), tickets=("FLINK-20145",),
    formerly=("the-consumer-is-told-of-priority-events",), never=(AFTER_RELEASE,),
)  # fmt: skip


@rule(
    steps.available,
    invariant="I-32",
    tickets=("FLINK-20145", "FLINK-21104"),
    quiet=True,
    never=(TASK_FAILS, NOTHING_LEFT),
    formerly=("an-empty-union-lets-its-consumer-sleep",),
)
def an_empty_union_is_not_available(ledger: Ledger, seen: Seen[bool]) -> Judgement:
    """After more empty polls in a row than there are gates plus one, with no other operation in between, the union
    answers that it is not available (after correspondingly more, if ends of recovered data take turns of their own)."""
    if not ledger.consumer.empty_takes or ledger.failed or ledger.phase == "ended":
        return False
    if not seen.value or not ledger.is_empty():
        return not seen.value
    if ledger.due() is not None:
        return False
    empty = ledger.consumer.empty_takes
    owed = f"{empty} polls in a row found nothing, and no other operation has run: the union must not be available"
    return Broken(FailureClass.PROTOCOL, owed, "the union says that it is available")


@rule(
    steps.available,
    invariant="I-33",
    quiet=True,
    never=(NO_END_YET, Never(Setting(stage=REQUESTED), "A channel has not ended."), TASK_FAILS),
)
def a_union_that_has_ended_is_available(ledger: Ledger, seen: Seen[bool]) -> Judgement:
    """Once every gate has ended, the union always answers that it is available, so that the consumer notices the
    end."""
    if ledger.phase != "ended":
        return False
    owed = "every gate has ended, so the union must be available"
    return seen.value or Broken(FailureClass.STUCK, owed, "the union says that it is not available")


@rule(steps.finished, invariant="I-33", quiet=True)
def a_union_is_finished_once_every_gate_is(ledger: Ledger, seen: Seen[bool]) -> Judgement:
    """The union answers that it is finished exactly if the consumer took the end of partition of every channel of every
    gate."""
    if ledger.failed:
        return False
    ended = ledger.phase == "ended"
    if seen.value is ended:
        return any(gate.ended() for gate in ledger.gates)
    left = [line.ended for line in ledger.lines].count(False)
    why = f"{left} channel{' has' if left == 1 else 's have'} not ended" if left else "every gate has ended"
    return Broken(FailureClass.PROTOCOL, f"{why}, so `finished` must be {truth(ended)}", f"it is {truth(seen.value)}")


# ---- producers -------------------------------------------------------------------------------------------------------
@rule(steps.resume, invariant="I-17", tickets=("FLINK-23223",), never=(LOCAL_PRODUCER,))
def the_right_producer_is_resumed(ledger: Ledger, seen: Seen[None, int]) -> Judgement:
    """When the consumer resumes a remote channel, the union emits ConsumptionResumed for that channel and for no
    other."""
    (channel,) = seen.operands
    if seen.error is not None or ledger.failed or ledger.lines[channel].local:
        return False
    resumed = [signal.channel for signal in seen.signals if type(signal) is ConsumptionResumed]
    owed = f"the union must resume the producer of channel {channel} alone"
    return resumed == [channel] or Broken(FailureClass.STUCK, owed, f"it resumed the producers of {channels(resumed)}")


@rule(steps.poll, invariant="I-96", never=(LOCAL_PRODUCER, AFTER_RELEASE))
def credit_goes_to_producers_of_the_same_gate(ledger: Ledger, seen: Polled) -> Judgement:
    """When a polled buffer is recycled, the union announces its credit only to producers of channels of the same
    gate."""
    if seen.value is None or ledger.failed or not seen.signals:
        return False
    # Floating buffers belong to a gate: a buffer that one channel recycles may go to another channel of that gate.
    # A channel whose recovery ended during this poll announces all its free buffers for the first time.
    opened = {signal.channel for signal in seen.signals if type(signal) is StateConsumed}
    credited = {signal.channel for signal in seen.signals if type(signal) is CreditAnnounced} - opened
    remote = {line.number for line in ledger.lines[seen.value.channel].gate.lines if not line.local}
    if credited <= remote:
        return bool(credited)
    whose = f"a buffer of channel {seen.value.channel} was recycled"
    owed = f"{whose}: its credit may be announced only for remote channels of its gate, {channels(sorted(remote))}"
    return Broken(FailureClass.PROTOCOL, owed, f"credit was announced for {channels(sorted(credited))}")


# ---- recovery --------------------------------------------------------------------------------------------------------
@rule(steps.convert, invariant="I-26", tickets=("FLINK-38544",), never=(TASK_FAILS, AFTER_RELEASE))
def each_gate_is_converted_on_its_own(ledger: Ledger, seen: Seen[None, int]) -> Judgement:
    """The conversion of a gate succeeds if it loses no state of this gate, even if another gate has state that was not
    read."""
    if ledger.failed:
        return False
    (gate,) = seen.operands
    others = ledger.is_unread_elsewhere(ledger.gates[gate])
    if seen.error is None:
        return others
    also = ", and it does not matter that another gate has state that was not read" if others else ""
    why = f"the conversion of gate {gate} must succeed, because it loses no state{also}"
    return Broken(FailureClass.STUCK, why, got(seen.error))


@rule(
    steps.convert_early,
    steps.poll_the_error,
    invariant="I-27",
    tickets=("FLINK-39018",),
    never=(AFTER_RELEASE,),
    formerly=("unread-state-is-not-converted-away",),
)
def a_conversion_loses_no_unread_state(ledger: Ledger, seen: Seen[object]) -> Judgement:
    """If a gate has state that a conversion would lose, the conversion fails with an error of kind state, at once or to
    whoever polls next."""
    if ledger.failed or not any(gate.must_refuse() for gate in ledger.gates):
        return False
    if seen.error is None and ledger.consumer.refused and ledger.consumer.empty_takes + 1 < len(ledger.gates):
        return False  # a poll may ask a gate that has nothing, and leaves the others to the next polls
    if seen.error is None and not ledger.consumer.refused and ledger.consumer.probe:
        return False  # the consumer asks whether the union is available before it waits
    owed = "the gate has state that a conversion would lose"
    return must_be_refused(
        ledger, ledger.consumer, seen, steps.convert_early.name, ErrorKind.STATE, owed, FailureClass.LOST
    )


@rule(steps.poll, invariant="I-26", never=(AFTER_RELEASE,))
def live_elements_wait_for_the_request_of_their_gate(ledger: Ledger, seen: Polled) -> Judgement:
    """The union hands out no live element of a gate before the partitions of this gate are requested, whatever was
    requested of other gates."""
    taken = seen.value
    if taken is None or ledger.failed or not 0 <= taken.channel < len(ledger.lines):
        return False
    line = ledger.lines[taken.channel]
    if line.waiting and not taken.element.data_type.has_priority:
        return False
    if line.gate.requesting:
        return True
    owed = f"the partitions of gate {line.gate.number} were not requested: none of its live elements may come"
    return Broken(FailureClass.PROTOCOL, owed, f"the poll returned {name(taken.element)} of channel {taken.channel}")


@rule(
    steps.poll,
    invariant="I-26",
    after_learning=True,
    never=(NOTHING_RECOVERED, *ENDS_TAKEN_BEFORE, NOTHING_LEFT, AFTER_RELEASE),
    formerly=("the-end-of-recovered-data-is-told-once-for-its-channel",),
)
def the_end_of_recovered_data_is_notified_once_for_its_channel(ledger: Ledger, seen: Polled) -> Judgement:
    """The union emits StateConsumed once for a channel, after the end of recovered data was pushed and all recovered
    buffers were polled."""
    told = [signal.channel for signal in seen.signals if type(signal) is StateConsumed] if seen.signals else ()
    if not told or ledger.failed:
        return False
    for number in told:
        line, observed = (
            ledger.lines[number],
            f"the union signalled that the recovered state of channel {number} is consumed",
        )
        if line.told > 1:
            return Broken(
                FailureClass.DUPLICATED,
                "the union must signal once for each channel that its recovered state is consumed",
                observed,
            )
        if not line.finishing:
            owed = f"the end of recovered data of channel {number} was not pushed"
            return Broken(FailureClass.PROTOCOL, owed, observed)
        if line.waiting and not line.end_left:
            owed = f"recovered {name(line.waiting[0].element)} must be polled from channel {number} before"
            return Broken(FailureClass.LOST, owed, observed)
    return True


@rule(
    steps.resources,
    invariant="I-26",
    tickets=("FLINK-38544",),
    never=(NOTHING_RECOVERED, TASK_FAILS, JUDGED_AT_THE_END, AFTER_RELEASE),
    formerly=("the-end-of-recovered-data-is-told-for-every-gate",),
)
def the_end_of_recovered_data_is_notified_for_every_gate(ledger: Ledger, seen: Seen[Resources]) -> Judgement:
    """The consumer finally takes every end of recovered data that was pushed, unless a conversion handed it over, and
    the union emits StateConsumed with the number of that channel."""
    if not ledger.closing or ledger.failed or ledger.is_broken():
        return False
    ended = [line for line in ledger.lines if line.finished and line.expects_end]
    for line in ended:
        if not line.consumed:
            owed = f"the union must signal that the recovered state of channel {line.number} is consumed"
            observed = "it did not signal that, and the consumer has no reason to poll again"
            return Broken(FailureClass.STUCK, owed, observed)
    return bool(ended)


# ---- resources -------------------------------------------------------------------------------------------------------
@rule(
    steps.resources,
    invariant="I-93",
    needs=RESOURCES,
    quiet=True,
    never=(TASK_FAILS, AFTER_RELEASE),
    formerly=("while-it-lives-a-union-holds-what-its-gates-need",),
)
def no_resource_of_a_union_is_leaked_while_open(ledger: Ledger, seen: Seen[Resources]) -> Judgement:
    """Before release and while no operation is in flight, the union holds a segment for each data buffer that waits, a
    listener for each local channel that was requested, and besides only the buffers that its remote channels and its
    gates may set aside, and futures of channels that recover; for channels and gates that have ended, it holds
    nothing."""
    if ledger.failed or ledger.is_broken():
        return False
    for what, least, most in ledger.bounds():
        held = getattr(seen.value, what)
        if held is not None and not least <= held <= most:
            kind = FailureClass.LEAKED if held > most else FailureClass.LOST
            between = counted(most, what) if least == most else f"{least} to {counted(most, what)}"
            return Broken(kind, f"the union must hold {between} now", f"it holds {counted(held, what)}")
    return True


_KEPT = (steps.convert, steps.convert_early, steps.request_partitions)
"""Steps after whose failure the gate keeps the error, or answers it."""
adopt(
    kept.the_consumer_is_notified_of_an_error,
    *_KEPT,
    of=lambda ledger: (ledger, True, ledger.polls_again()),
    needs=FAULTS,
    never=(*BOTH_KINDS, AFTER_RELEASE),
)
adopt(
    kept.a_kept_error_fails_the_next_poll,
    steps.poll_for_the_error,
    of=lambda ledger: (ledger, ledger.consumer, not ledger.is_empty()),
    needs=FAULTS,
    never=(*BOTH_KINDS, AFTER_RELEASE),
)
adopt(
    lifetime.after_release_nothing_is_held, steps.resources, needs=RESOURCES,
    formerly=("released-gates-hold-nothing",), never=NOT_RELEASED,
)  # fmt: skip
