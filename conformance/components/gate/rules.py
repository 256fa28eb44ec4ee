"""The rules of the input gate, and of a union of several. Specification: gate.md."""

from __future__ import annotations

from collections.abc import Sequence

from conformance.components.gate import steps
from conformance.components.gate.ledger import Ledger
from conformance.components.gate.side import Side
from conformance.components.gate.union import Union, takes_an_end
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
from conformance.driver.setting import LOCAL
from conformance.models import consumer, lifetime, recovery, starts
from conformance.models.consumer import notifies
from conformance.models.designs import AFTER, BEFORE, PUSHED, READBACK, RESOURCES, TIMEOUTABLE, UNIONS
from conformance.models.input_state import judge_written
from conformance.models.kept import KEPT, must_be_refused
from conformance.models.records import compare_ids
from conformance.models.taking import judge_count
from conformance.models.words import channels, many, must_fail, must_succeed, name, truth
from conformance.ports import (
    Announcement,
    Buffer,
    BufferOrEvent,
    ConsumptionResumed,
    EndOfData,
    EndOfPartition,
    ErrorKind,
    Recovery,
    StateConsumed,
)

RULES = Rules[Ledger]("gate", answers_property("gate"), *thread_properties("gate", other_waits=PUSHED))
ONE_GATE, SEVERAL_GATES = "one gate", "several gates"
"""The shapes of the component."""
NO_PRODUCERS = Never(
    BEFORE._replace(shape=ONE_GATE), "Recovered channels have no producers, and refuse every checkpoint."
)
NOTHING_RECOVERED = Never(Setting("none"), "Nothing is recovered.")
ALL_TAKEN = Never(Setting("recover-first", "after conversion"), "All recovered data was taken before.")
NOTHING_PUSHED = Never(
    Setting("pushed", "before conversion", shape=ONE_GATE),
    "Nothing is pushed before the conversion, so nothing waits.",
)
BOTH_KINDS = tuple(
    Never(Setting(channel=channels), "The gates of scenarios with faults have channels of both kinds.")
    for channels in ("local channels", "remote channels")
)
BESIDE_OTHERS = Never(Setting(shape=ONE_GATE), "It is about what a union adds to its gates.")
BY_ITSELF = Never(
    Setting(shape=SEVERAL_GATES), "The poll of a union may find nothing, or leave a gate to the next poll."
)
NOT_ALL_LIVE = Never(BEFORE, "A union has not ended before all of its gates are converted.")
NO_SUCH_NOTIFICATION = Never(Setting(shape=SEVERAL_GATES), "A union need not notify its consumer of the end.")
rule, adopt = RULES.rule, RULES.adopt
Polled = Seen[BufferOrEvent | None]
Written = Seen[tuple[tuple[int, ...], ...], int]


def _polled(taken: BufferOrEvent) -> str:
    return f"the poll returned {name(taken.element)} of channel {taken.channel}"


# ---- polling ---------------------------------------------------------------------------------------------------------
@rule(
    steps.poll,
    steps.poll_for_the_error,
    steps.poll_the_refusal,
    invariant="I-23",
    tickets=("FLINK-21104", "FLINK-20145"),
)
def an_ended_channel_delivers_nothing_more(ledger: Ledger, seen: Polled) -> Judgement:
    """Every polled element comes from a channel of the gate whose end of partition was not polled before."""
    if (taken := seen.value) is None:
        return False
    if not 0 <= taken.channel < len(ledger.sides):
        return Broken(FailureClass.PROTOCOL, f"the gate has {len(ledger.sides)} channels", _polled(taken))
    if not ledger.sides[taken.channel].ended:
        return True
    channel = taken.channel
    owed = f"the end of partition of channel {channel} was polled before, so nothing more may be polled from it"
    return Broken(FailureClass.DUPLICATED, owed, _polled(taken))


@rule(
    steps.poll,
    invariant="I-09",
    tickets=("FLINK-39018", "FLINK-39521"),
    never=(NOTHING_RECOVERED, ALL_TAKEN),
    formerly=("live-data-waits-for-recovered-data",),
)
def recovered_data_comes_before_live_data(ledger: Ledger, seen: Polled) -> Judgement:
    """The gate delivers no live element without priority before the consumer has taken all recovered data of that
    channel."""
    if (taken := seen.value) is None or taken.element.data_type.has_priority:
        return False
    side = ledger.sides[taken.channel]
    if side.waiting:
        if type(taken.element) is Buffer:
            return True
        owed = f"recovered data of channel {taken.channel} is queued and must be polled before its live elements"
        return Broken(FailureClass.REORDERED, owed, _polled(taken))
    if ledger.recovery is not Recovery.PUSHED or side.finishing:
        return False
    owed = f"the recovery of channel {taken.channel} is not over, so its live elements must not be polled yet"
    return Broken(FailureClass.REORDERED, owed, _polled(taken))


@rule(
    steps.poll,
    invariant="I-09",
    after_learning=True,
    never=(
        NOTHING_RECOVERED,
        ALL_TAKEN,
        Never(Setting("in-memory", "after conversion"), "The end of recovered data is not handed over."),
        Never(Setting("pushed", "before conversion", shape=ONE_GATE), "Nothing is pushed before the conversion."),
        Never(
            Setting("pushed", channel="remote channels"),
            "A push waits for the first element of a remote producer, so behind the end of recovered data there is an "
            "element, and the same poll returns it: no poll that returns nothing takes that end.",
        ),
    ),
    formerly=(
        "the-end-of-recovered-data-is-notified-once-for-its-channel",
        "the-end-of-recovered-data-is-told-once-for-its-channel",
        "the-end-of-recovered-data-is-told-once-per-channel",
    ),
)
def the_end_of_recovered_data_is_notified_once_per_channel(ledger: Ledger, seen: Polled) -> Judgement:
    """The gate signals once that the recovered data of a channel was consumed: after the end of that data was queued
    and its buffers were polled, with `pushed` at the latest in the poll of its first live element without priority."""
    if ledger.end_signalled_wrongly:
        owed = "the gate may signal once for each channel that its recovered state is consumed, behind its last buffer"
        return Broken(
            FailureClass.DUPLICATED, owed, f"it signalled that for channel {ledger.end_signalled_wrongly - 1}"
        )
    if (taken := seen.value) is not None and ledger.recovery is Recovery.PUSHED:
        side = ledger.sides[taken.channel]
        if side.consumed and not side.told_end:
            owed = f"the gate must have signalled that the recovered state of channel {taken.channel} is consumed"
            return Broken(FailureClass.LOST, owed, f"it did not, and {_polled(taken)}")
    return StateConsumed in [type(signal) for signal in seen.signals]


@rule(steps.poll, invariant="I-33", never=(NO_PRODUCERS,))
def the_end_of_data_comes_before_the_end_of_a_partition(ledger: Ledger, seen: Polled) -> Judgement:
    """The gate delivers the end of partition of a channel once, after the end of data of that channel."""
    if (taken := seen.value) is None or type(taken.element) is not EndOfPartition:
        return False
    owed = "the end of data must come before the end of partition"
    early = EndOfData in [type(sent.element) for sent in ledger.sides[taken.channel].live]
    return not early or Broken(FailureClass.REORDERED, owed, _polled(taken))


@rule(steps.poll, invariant="I-15", tickets=("FLINK-39018",), never=(NO_PRODUCERS,))
def a_blocked_channel_delivers_priority_events_only(ledger: Ledger, seen: Polled) -> Judgement:
    """After the consumer has polled an element that blocks the producer, the gate delivers only priority events of
    that channel until the consumer resumes it."""
    if (taken := seen.value) is None or not ledger.sides[taken.channel].blocked:
        return True in [side.blocked and bool(side.live) and side.live[0].sure for side in ledger.sides]  # it stayed
    owed = f"channel {taken.channel} is blocked and was not resumed: only its priority events may come"
    return taken.element.data_type.has_priority or Broken(FailureClass.REORDERED, owed, _polled(taken))


@rule(
    steps.poll,
    steps.poll_for_the_error,
    steps.poll_the_refusal,
    invariant="I-28",
    tickets=("FLINK-39018", "FLINK-17564"),
    formerly=("elements-arrive-once-in-order-from-their-channel",),
)
def elements_arrive_once_and_in_order_across_conversion(ledger: Ledger, seen: Polled) -> Judgement:
    """The consumer polls all recovered and live elements of a channel once and in order, with the number of that
    channel, also if the channel is converted in between, except that priority events come first."""
    if (taken := seen.value) is None:
        return False
    side, element = ledger.sides[taken.channel], taken.element
    urgent = element.data_type.has_priority
    queue = side.urgent if urgent else side.waiting or side.live
    if queue and element == queue[0].element:
        return True
    elsewhere = type(element) is Buffer and ledger.is_of_another(side, element)
    if not queue:
        kind = "every priority event" if urgent else "everything"
        owed = f"{kind} sent into channel {taken.channel} was polled before"
        return Broken(FailureClass.CORRUPTED if elsewhere else FailureClass.DUPLICATED, owed, _polled(taken))
    head = queue[0].element
    if type(element) is Announcement and type(head) is Announcement and element.checkpoint == head.checkpoint:
        return True  # the ledger does not know the sequence number of an announcement before it comes
    failure = FailureClass.CORRUPTED
    if type(element) is Buffer and type(head) is Buffer and not elsewhere:
        failure = compare_ids(head.ids, element.ids, head.ids[0])
    elif urgent or element in [sent.element for sent in (*side.waiting, *side.live)]:
        failure = FailureClass.REORDERED
    return Broken(failure, f"{name(head)} must come next from channel {taken.channel}", _polled(taken))


@rule(
    steps.poll,
    invariant="I-30",
    tickets=("FLINK-19681",),
    never=(NO_PRODUCERS,),
    formerly=("a-priority-event-of-any-gate-comes-first",),
)
def priority_events_come_first(ledger: Ledger, seen: Polled) -> Judgement:
    """If a priority event can be delivered, it is delivered before every element without priority."""
    union = ledger.union
    if (taken := seen.value) is None or not (ledger.alone or (union is not None and union.due_priority)):
        return False
    if taken.element.data_type.has_priority:
        return True
    for number, side in enumerate(ledger.sides):
        if side.urgent and side.urgent_due():
            owed = f"{name(side.urgent[0].element)} of channel {number} has priority and must come first"
            return Broken(FailureClass.REORDERED, owed, _polled(taken))
    return False


@rule(steps.poll, invariant="I-30", formerly=("channels-of-a-gate-are-served-in-turn",))
def channels_are_served_in_turn(ledger: Ledger, seen: Polled) -> Judgement:
    """In a gate of k channels, a channel with elements waits for its turn while the gate delivers at most k - 1
    elements of the others (twice as many if the end of recovered data takes a turn of its own)."""
    if (taken := seen.value) is None or taken.element.data_type.has_priority:
        return False
    union = ledger.union
    sides: Sequence[Side] = ledger.sides
    if union is not None:
        gate = sides[taken.channel].gate
        others, sides = len(gate.sides) - 1, union.members[gate.number].due_sides
    elif ledger.alone:
        others = len(sides) - 1
    else:
        return False
    for side in sides:
        late = side.waited > 0 and side.waited >= others * side.rounds()
        if late and side.number != taken.channel and (union is not None or ledger.ready(side, end=False)):
            others_had = f"during {many(side.waited, 'poll')} of others"
            owed = f"channel {side.number} had an element {others_had}, so it is its turn"
            return Broken(FailureClass.STUCK, owed, _polled(taken))
    return others > 0 and (union is None or len(sides) > 0)


def _answers_something(ledger: Ledger, seen: Polled) -> Judgement:
    if seen.value is not None:
        return True
    for number, side in enumerate(ledger.sides):
        if (side.live or side.waiting or side.urgent) and ledger.ready(side, end=False):
            owed = f"channel {number} has an element that can be polled"
            return Broken(FailureClass.STUCK, owed, "the poll returned nothing")
    return False


@rule(steps.poll, invariant="I-97", tickets=("FLINK-39018",), never=(BY_ITSELF, NO_PRODUCERS))
def one_slow_channel_delays_no_other(ledger: Ledger, seen: Polled) -> Judgement:
    """While one channel is blocked or still recovering, a poll returns an element if another channel has one."""
    return ledger.alone and ledger.any_slow() and _answers_something(ledger, seen)


@rule(
    steps.poll, invariant="I-32", tickets=("FLINK-20145", "FLINK-21104"), never=(BY_ITSELF,),
    formerly=("a-poll-answers-what-is-there",),
)  # fmt: skip
def a_poll_returns_what_is_available(ledger: Ledger, seen: Polled) -> Judgement:
    """A poll that no other operation overlaps returns an element if any channel has one that can be polled."""
    return ledger.alone and not ledger.any_slow() and _answers_something(ledger, seen)


@rule(steps.poll, invariant="I-33", tickets=("FLINK-38544",), needs=UNIONS, never=(BESIDE_OTHERS, NOT_ALL_LIVE))
def nothing_follows_the_last_end(ledger: Ledger, seen: Polled) -> Judgement:
    """The poll that returns the end of partition of the last channel says that nothing follows, and later polls return
    nothing."""
    if (taken := seen.value) is None or type(taken.element) is not EndOfPartition:
        return taken is None and ledger.all_ended()
    if False in [side.ended or side.number == taken.channel for side in ledger.sides]:
        return False
    owed, observed = "this is the end of the last channel: nothing follows", "the poll said that more follows"
    return not (taken.more or taken.more_priority) or Broken(FailureClass.PROTOCOL, owed, observed)


@rule(
    steps.poll,
    invariant="I-32",
    tickets=("FLINK-20145",),
    formerly=(
        "more-available-is-returned-only-if-something-is-left",
        "more-is-said-only-if-something-is-left",
        "more-is-said-with-reason",
    ),
)
def more_available_is_returned_only_with_a_reason(ledger: Ledger, seen: Polled) -> Judgement:
    """A poll that no other operation overlaps says that more can be polled only if something is left in a channel, or
    if a channel may have been queued for nothing since a poll returned nothing: by the request of partitions, or by an
    operation that overlapped a poll."""
    if (taken := seen.value) is None or ledger.left(taken):
        return False
    if not taken.more:
        return True
    if ledger.consumer.raced or (ledger.union is None and not ledger.alone):
        return Unsure("an operation overlapped the poll, or a channel was queued for nothing")
    owed = "nothing is left in any channel, so the poll must not say that more follows"
    return Broken(FailureClass.PROTOCOL, owed, "it said that more follows")


@rule(
    steps.poll,
    invariant="I-31",
    tickets=("FLINK-19681", "FLINK-21104"),
    formerly=(
        "more-priority-events-are-returned-only-if-one-is-left",
        "more-priority-is-said-only-if-a-priority-event-is-left",
        "more-priority-is-said-of-priority-events",
    ),
)
def more_priority_events_are_returned_only_if_one_waits(ledger: Ledger, seen: Polled) -> Judgement:
    """A poll says that a priority event can be polled only if a channel has one that was not polled."""
    if (taken := seen.value) is None or ledger.priority_left(taken):
        return False
    owed = "no channel has a priority event, so the poll must not say that one follows"
    return not taken.more_priority or Broken(FailureClass.PROTOCOL, owed, "it said that a priority event follows")


@rule(steps.poll, invariant="I-32", formerly=("empty-polls-do-not-go-on-for-ever",))
def polls_that_find_nothing_come_to_an_end(ledger: Ledger, seen: Polled) -> Judgement:
    """If nothing is in any channel and no other operation overlaps, three polls in a row that find nothing do not all
    notify the consumer, so that it may stop polling. In a union this holds for more polls in a row than there are
    gates plus one (for correspondingly more, if ends of recovered data take turns of their own)."""
    if seen.value is not None:
        return False
    if ledger.union is not None:
        empty = 0 if takes_an_end(seen.signals) else ledger.consumer.empty_takes + 1
        return _left_alone(ledger, ledger.union, empty, notifies(seen.signals), "was notified")
    owed = "polls found nothing three times in a row, so the consumer must not be notified until something happens"
    return ledger.alone and (
        ledger.consumer.empty_takes < 2
        or not notifies(seen.signals)
        or Broken(FailureClass.STUCK, owed, "it was notified each time")
    )


def _left_alone(ledger: Ledger, union: Union, empty: int, is_called: bool, how: str) -> Judgement:
    """Judges whether the consumer of a union is not notified again after so many polls in a row that found nothing."""
    if not empty or ledger.is_gone() or ledger.all_ended() or ledger.flying > 1:
        return False
    if not is_called or empty <= len(union.members) + 1 + union.turns_of_ends():
        return not is_called
    if ledger.something_waits():
        return False
    owed = (
        f"{empty} polls in a row found nothing, and no other operation has run: the union must give no reason to poll"
    )
    return Broken(FailureClass.PROTOCOL, owed, f"it {how}")


# ---- finished, and available -----------------------------------------------------------------------------------------
@rule(
    steps.finished,
    invariant="I-33",
    tickets=("FLINK-39520",),
    quiet=True,
    formerly=("a-union-is-finished-once-every-gate-is",),
)
def a_gate_is_finished_once_every_channel_has_ended(ledger: Ledger, seen: Seen[bool]) -> Judgement:
    """The gate reports that it is finished exactly if the consumer polled the end of partition of every channel."""
    ended = sum([side.ended for side in ledger.sides])
    due = ended == len(ledger.sides)
    if seen.value == due:
        return True
    polled = f"the consumer polled the end of partition of {ended} of {len(ledger.sides)} channels"
    return Broken(FailureClass.PROTOCOL, f"{polled}, so `finished` must be {truth(due)}", f"it is {truth(seen.value)}")


@rule(
    steps.available,
    invariant="I-22",
    quiet=True,
    never=(NOTHING_PUSHED,),
    formerly=(
        "a-union-with-data-is-available",
        "availability-tells-the-truth",
        "a-union-that-has-ended-is-available",
    ),
)
def a_gate_with_data_is_available(ledger: Ledger, seen: Seen[bool]) -> Judgement:
    """The gate reports that it is available if an element can be polled, or if all channels have ended."""
    if not (ledger.something_waits() or ledger.all_ended()):
        return False
    if seen.value:
        return True
    why = "all channels have ended" if ledger.all_ended() else f"{ledger.first()} can be polled"
    return Broken(FailureClass.STUCK, f"{why}, so the gate must be available", "it says that it is not available")


@rule(
    steps.available,
    invariant="I-32",
    tickets=("FLINK-20145",),
    quiet=True,
    formerly=(
        "an-empty-union-is-not-available",
        "an-empty-union-lets-its-consumer-sleep",
        "a-gate-with-nothing-lets-its-reader-sleep",
    ),
)
def an_empty_gate_is_not_available(ledger: Ledger, seen: Seen[bool]) -> Judgement:
    """The gate reports that it is available only if its consumer has a reason to poll, or if all channels have ended. A
    union may report that until more polls in a row than there are gates plus one have found nothing, with no other
    operation in between (correspondingly more, if ends of recovered data take turns of their own)."""
    if ledger.union is not None:
        empty = ledger.consumer.empty_takes
        return _left_alone(ledger, ledger.union, empty, seen.value, "was notified that the union is available")
    if ledger.consumer.awake or ledger.all_ended():
        return False
    owed = "the consumer was not notified since its last poll, so the gate must not be available"
    return not seen.value or Broken(FailureClass.PROTOCOL, owed, "the gate says that it is available")


adopt(
    consumer.the_consumer_is_notified_of_available_data, *steps.MOVES, steps.poll_for_the_error, steps.available,
    of=lambda ledger: (
        ledger.consumer, ledger.something_waits() if ledger.union is None else ledger.waits_unasked(), ledger.first,
    ),
    tickets=("FLINK-39018", "FLINK-20145", "FLINK-20383"), formerly=("the-consumer-is-told-of-what-can-be-polled",),
)  # fmt: skip


adopt(
    consumer.the_consumer_is_notified_of_priority_events,
    *steps.MOVES,
    of=lambda ledger: (ledger.consumer, ledger.urgent_waits(), ledger.first_urgent),
    tickets=("FLINK-20383", "FLINK-39018"),
    never=(NO_PRODUCERS,),
)


@rule(
    steps.poll, invariant="I-33", never=(NO_PRODUCERS, NO_SUCH_NOTIFICATION),
    formerly=("the-consumer-is-told-of-the-end",),
)  # fmt: skip
def the_consumer_is_notified_of_the_end(ledger: Ledger, seen: Polled) -> Judgement:
    """When a poll returns the last end of partition, the consumer is notified once more, so that it notices that the
    gate is finished."""
    if (taken := seen.value) is None or type(taken.element) is not EndOfPartition:
        return False
    if False in [side.ended or number == taken.channel for number, side in enumerate(ledger.sides)]:
        return False
    owed = "every channel has ended, so the consumer must be notified to look whether the gate is finished"
    return notifies(seen.signals) or taken.more or Broken(FailureClass.STUCK, owed, "it was not notified")


# ---- conversion, and operations that must be refused -----------------------------------------------------------------
@rule(
    steps.convert,
    steps.poll_the_refusal,
    invariant="I-27",
    tickets=("FLINK-39018",),
    never=(Never(Setting("pushed"), "Nothing was pushed before the conversion."),),
    formerly=(
        "a-conversion-loses-no-unread-state",
        "unread-state-is-not-converted-away",
    ),
)
def no_conversion_loses_state(ledger: Ledger, seen: Seen[object]) -> Judgement:
    """As long as a recovered channel has state that its physical channel would not get, a conversion fails with an
    error of kind state."""  # at once, or at the next poll (FG14)
    polls, consumer = ledger.phase == KEPT, ledger.consumer
    if polls:
        if seen.error is None and consumer.empty_takes + 1 < len(ledger.gates):
            return False  # a poll of a union may ask a gate that has nothing, and leaves the others to the next polls
    elif ledger.converting is None or not ledger.converting.loses() or (seen.error is None and consumer.probe):
        return False  # or the consumer asks whether something can be polled before it waits
    owed = "the conversion would lose state of a channel"
    return must_be_refused(ledger, ledger.consumer, seen, steps.convert.name, ErrorKind.STATE, owed, FailureClass.LOST)


@rule(steps.convert, steps.convert_again, invariant="I-26", formerly=("each-gate-is-converted-on-its-own",))
def channels_convert_once_nothing_can_be_lost(ledger: Ledger, seen: Seen[None, int]) -> Judgement:
    """The conversion of a gate succeeds as soon as it loses no state of a channel of this gate, whatever was read of
    other gates, and so does every further one."""
    gate = ledger.gates[seen.operands[0]]
    if not gate.converted and (gate.loses() is not False or ledger.overlapped):
        return False
    return must_succeed(seen.error, "the conversion loses no state: it must succeed", FailureClass.STUCK)


@rule(steps.request_partitions_too_early, steps.poll_the_refusal, invariant="I-24")
def partitions_are_requested_after_conversion(ledger: Ledger, seen: Seen[object]) -> Judgement:
    """If partitions are requested before the channels are converted, the gate fails with an error of kind state; or it
    converts them first, and fails with that error, at once or at the next poll, if this would lose state."""
    if seen.error is None and not ledger.gates[0].loses():
        return False  # the gate has converted its channels
    owed = "the channels are not converted yet"
    return must_be_refused(
        ledger, ledger.consumer, seen, steps.request_partitions_too_early.name, ErrorKind.STATE, owed
    )


@rule(
    steps.convert, steps.convert_again, steps.request_partitions, steps.request_partitions_too_early,
    invariant="I-24", open_ended=True,
)  # fmt: skip
def what_comes_too_late_for_its_task_is_refused(ledger: Ledger, seen: Seen[None, int]) -> Judgement:
    """A conversion or a request of partitions that is under way when the task is cancelled succeeds, or comes too late,
    which is an error of kind state."""
    if seen.error is None or not ledger.releasing:
        return False
    if seen.error.kind is ErrorKind.IO and ledger.can_be_struck():
        return False
    return must_fail(seen.error, ErrorKind.STATE, "the task was cancelled")


@rule(steps.end_of_output_state, steps.end_of_output_state_again, invariant="I-18")
def the_output_state_of_a_channel_ends_once(ledger: Ledger, seen: Seen[None, int]) -> Judgement:
    """The gate accepts the first end of output state of a channel; while other channels have not sent theirs, it
    fails for a second one of the same channel with an error of kind state."""
    (channel,) = seen.operands
    if not ledger.sides[channel].tracked:
        return must_succeed(seen.error, "it is the first end of output state of that channel: the gate must accept it")
    if ledger.all_tracked():
        return False  # left open: all producers were resumed, and 2.3.0 ignores a further end
    why = f"the end of output state of channel {channel} was reported to the gate before"
    return must_fail(seen.error, ErrorKind.STATE, why)


def _told_to_go_on(seen: Seen[None, int]) -> list[int]:
    return [signal.channel for signal in seen.signals if type(signal) is ConsumptionResumed]


@rule(steps.end_of_output_state, invariant="I-17", tickets=("FLINK-38544",), after_learning=True)
def producers_go_on_once_all_output_state_has_ended(ledger: Ledger, seen: Seen[None, int]) -> Judgement:
    """When the gate is notified of the end of output state of the last channel, it resumes the producers of all
    channels; before that it resumes none."""
    done, told_to = ledger.all_tracked(), _told_to_go_on(seen)
    if len(set(told_to)) < len(told_to):
        twice = f"the signals resumed the producers of {channels(told_to)}"
        return Broken(FailureClass.DUPLICATED, "every producer must be resumed once", twice)
    for number, side in enumerate(ledger.sides):
        if not side.local and side.completion_taken and side.resumed != done:
            owed = "the gate must resume all producers at the end of output state of the last channel, and none before"
            no = "" if side.resumed else "not "
            return Broken(FailureClass.PROTOCOL, owed, f"the producer of channel {number} was {no}resumed")
    return len(ledger.sides) > 1


@rule(
    steps.poll_after_release,
    invariant="I-24",
    formerly=(
        "released-gates-deliver-nothing",
        "released-gates-hand-out-nothing",
        "operations-fail-only-after-release",
    ),
)
def a_closed_gate_is_not_polled(ledger: Ledger, seen: Polled) -> Judgement:
    """A poll of a released gate fails with an error of kind released, or returns nothing if all channels had ended. A
    poll of a released union returns nothing, or fails with that error."""
    if (ledger.union is not None or ledger.may_have_ended()) and seen.error is None and seen.value is None:
        return True
    return must_fail(seen.error, ErrorKind.RELEASED, "the gate was released")


@rule(
    steps.resume,
    invariant="I-15",
    tickets=("FLINK-23223",),
    never=(Never(Setting(channel=LOCAL), "No signal reaches a local producer."),),
    formerly=(
        "the-right-producer-is-resumed",
        "a-resumed-producer-is-told-to-go-on",
    ),
)
def resuming_a_remote_channel_resumes_its_producer_once(ledger: Ledger, seen: Seen[None, int]) -> Judgement:
    """When the consumer resumes a remote channel, the producer of this channel, and of no other one, is resumed,
    once."""
    (channel,) = seen.operands
    told_to = _told_to_go_on(seen)
    if told_to == ([] if ledger.sides[channel].local else [channel]):
        return bool(told_to)
    owed = f"only the producer of channel {channel} is resumed, once, and with a signal if it is remote"
    return Broken(FailureClass.PROTOCOL, owed, f"the signals resumed the producers of {channels(told_to)}")


adopt(
    recovery.a_push_after_release_is_recycled_silently,
    steps.recover_after_release,
    of=lambda ledger: (ledger.came_too_late(), ledger.what_ended_it()),
)


@rule(steps.convert_to_priority, invariant="I-48", tickets=("FLINK-19681",), needs=TIMEOUTABLE)
def an_announced_barrier_can_overtake(ledger: Ledger, seen: Seen[None, int, int]) -> Judgement:
    """While the last announced barrier of a remote channel is queued, the task can convert it to a priority event."""
    return must_succeed(seen.error, "the announced barrier is queued: its conversion to a priority event must succeed")


@rule(steps.convert_unknown_to_priority, invariant="I-31", tickets=("FLINK-19681",), needs=TIMEOUTABLE)
def only_a_queued_barrier_can_overtake(ledger: Ledger, seen: Seen[None, int, int]) -> Judgement:
    """If the task asks to convert anything but a queued barrier to a priority event, the gate fails with an error of
    kind state."""
    return must_fail(seen.error, ErrorKind.STATE, "no barrier with that sequence number is queued")


# ---- checkpoints -----------------------------------------------------------------------------------------------------
adopt(
    starts.checkpoints_are_declined_until_channels_are_physical,
    steps.checkpoint_started,
    of=lambda ledger: ledger.refuses,
    never=(Never(AFTER, "All channels are physical."), NOTHING_RECOVERED),
)
adopt(
    starts.a_missing_recovery_barrier_declines_the_checkpoint,
    steps.checkpoint_started,
    of=lambda ledger: (ledger.refuses, ledger.checkpoints.without_barrier),
    needs=PUSHED,
    never=(NO_PRODUCERS,),
)
adopt(
    starts.a_newer_barrier_subsumes_an_older_checkpoint,
    steps.checkpoint_started,
    of=lambda ledger: (ledger.refuses, ledger.checkpoints.without_barrier),
    never=(NO_PRODUCERS,),
)
adopt(
    starts.a_checkpoint_starts_unless_it_must_be_declined,
    steps.checkpoint_started,
    of=lambda ledger: ledger.refuses,
    tickets=("FLINK-39018",),
    never=(NO_PRODUCERS,),
)


@rule(
    steps.persisted, invariant="I-34", tickets=("FLINK-40016", "FLINK-17315", "FLINK-18139", "FLINK-20097"),
    needs=READBACK, quiet=True, formerly=("data-in-front-of-a-barrier-is-written-once",),
)  # fmt: skip
def data_in_front_of_a_barrier_is_written_once_in_every_channel(ledger: Ledger, seen: Written) -> Judgement:
    """For each channel, the input state of a checkpoint contains exactly the records in front of its barrier that the
    task had not polled when the checkpoint started, including those that arrive later, each once and in order."""
    (checkpoint,) = seen.operands
    judged: Judgement = False
    if checkpoint == ledger.checkpoints.failed:
        return False
    for number, side in enumerate(ledger.sides):
        if number >= len(seen.value):
            observed = f"it returned that of {len(seen.value)}"
            return Broken(
                FailureClass.PROTOCOL,
                f"the gate has {len(ledger.sides)} channels, so it must return the input state of as many",
                observed,
            )
        judgement = judge_written(side.input, checkpoint, seen.value[number], f" of channel {number}")
        if isinstance(judgement, Broken):
            return judgement
        if judged is False or judgement is True:
            judged = judgement
    return judged


# ---- resources -------------------------------------------------------------------------------------------------------
@rule(steps.in_use, invariant="I-21", tickets=("FLINK-39018",), needs=RESOURCES, quiet=True, never=(NOTHING_PUSHED,))
def buffers_in_use_count_what_waits(ledger: Ledger, seen: Seen[int, int]) -> Judgement:
    """The number of buffers in use counts all queued buffers, recovered ones included; it may also count queued events,
    recovery barriers, the end of recovered data and the backlog of a remote producer."""
    return judge_count(ledger.sides[seen.operands[0]].counted(), seen.value)


adopt(
    lifetime.after_release_nothing_is_held, steps.resources, needs=RESOURCES,
    formerly=("a-released-gate-holds-nothing", "released-gates-hold-nothing"),
)  # fmt: skip
