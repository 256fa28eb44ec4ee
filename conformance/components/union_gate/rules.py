"""What must be true of several gates as one. Specification: union-gate.md."""

from __future__ import annotations

from conformance.components.union_gate import steps
from conformance.components.union_gate.ledger import Ledger
from conformance.components.union_gate.lines import Line
from conformance.driver import Broken, FailureClass, Judgement, Kind, Rules, Seen, answers_property, thread_properties
from conformance.parts import lifetime, notice
from conformance.parts.designs import RESOURCES
from conformance.parts.lane import Sent
from conformance.parts.words import got, must_succeed, name
from conformance.ports import BufferOrEvent, Recovery, Resources
from conformance.ports.elements import Buffer, Element, EndOfPartition
from conformance.ports.outcomes import ConsumptionResumed, CreditAnnounced, ErrorKind, StateConsumed

RULES = Rules[Ledger]("union-gate", answers_property("union-gate"), *thread_properties("union-gate"))
rule, adopt = RULES.rule, RULES.adopt
Polled = Seen[BufferOrEvent | None]


# ---- what a poll hands out -------------------------------------------------------------------------------------------
@rule(steps.poll, invariant="I-09", tickets=("FLINK-39018",))
def live_data_waits_for_recovered_data(ledger: Ledger, seen: Polled) -> Judgement:
    """What a channel recovered comes before anything live of that channel, except priority events."""
    if (taken := seen.value) is None or ledger.failed or not 0 <= taken.channel < len(ledger.lines):
        return False
    line = ledger.lines[taken.channel]
    if taken.element.data_type.has_priority:
        return False
    if line.finishing and not line.waiting:
        return ledger.recovery is not Recovery.NONE and bool(line.live)
    if taken.element not in [sent.element for sent in line.live]:
        return bool(line.live)
    why = f"{name(line.waiting[0].element)} comes first" if line.waiting else "its recovery is not finished"
    owed = f"channel {taken.channel} has recovered data: {why}"
    return Broken(FailureClass.REORDERED, owed, f"the poll answered {name(taken.element)}, which is live")


@rule(steps.poll, invariant="I-28", tickets=("FLINK-39018", "FLINK-20145"))
def elements_arrive_once_in_order_from_their_channel(ledger: Ledger, seen: Polled) -> Judgement:
    """Each element reaches the consumer once, in the order of its channel, and with the number of that channel among
    all channels of all gates."""
    if (taken := seen.value) is None or ledger.failed:
        return False
    if not 0 <= taken.channel < len(ledger.lines):
        owed = f"channels are numbered from 0 to {len(ledger.lines) - 1}"
        came = f"the poll answered {name(taken.element)} of channel {taken.channel}"
        return Broken(FailureClass.PROTOCOL, owed, came)
    line = ledger.lines[taken.channel]
    queue = line.urgent if taken.element.data_type.has_priority else line.waiting or line.live
    if queue and queue[0].element == taken.element:
        return True
    return _misplaced(ledger, line, queue, taken.element)


def _misplaced(ledger: Ledger, line: Line, queue: list[Sent], element: Element) -> Broken:
    """In which way something else came than what stands in front of the channel."""
    owed = f"everything sent into channel {line.number} was delivered before"
    if queue:
        owed = f"{name(queue[0].element)} comes next from channel {line.number}"
    observed = f"the poll answered {name(element)} as its next"
    if line.holds(element):
        return Broken(FailureClass.REORDERED, owed, observed)
    if type(element) is Buffer:
        if any(other.holds(element) for other in ledger.lines):
            return Broken(FailureClass.CORRUPTED, owed, f"{observed}, which was sent into another")
        if element.ids and all(0 <= one < ledger.sent for one in element.ids):
            return Broken(FailureClass.DUPLICATED, owed, observed)
    return Broken(FailureClass.CORRUPTED if queue else FailureClass.DUPLICATED, owed, observed)


@rule(steps.poll, invariant="I-30", tickets=("FLINK-20145",))
def a_priority_event_of_any_gate_comes_first(ledger: Ledger, seen: Polled) -> Judgement:
    """A priority event that is there when a poll begins comes before everything else, whichever gate has it."""
    if (taken := seen.value) is None or not ledger.due_urgent or ledger.failed:
        return False
    if taken.element.data_type.has_priority:
        return True
    line = next(line for line in ledger.lines if line.comes_first())
    owed = f"{line.first()} was there before the poll began, and has priority"
    return Broken(FailureClass.REORDERED, owed, f"the poll answered {name(taken.element)} of channel {taken.channel}")


@rule(steps.poll, invariant="I-30")
def gates_are_served_in_turn(ledger: Ledger, seen: Polled) -> Judgement:
    """A gate that has something has its turn after at most one ordinary element of each other gate."""
    if (taken := seen.value) is None or taken.element.data_type.has_priority or ledger.failed:
        return False
    served = ledger.lines[taken.channel].gate
    waiting = [gate for gate in ledger.gates if gate.due and gate is not served]
    for gate in waiting:
        most = (1 + gate.turns_of_ends()) * (len(ledger.gates) - 1)
        if gate.waited >= most:
            owed = f"gate {gate.number} has had something all the time: it has its turn after at most {most} of others"
            return Broken(FailureClass.STUCK, owed, f"{gate.waited + 1} came from others")
    return bool(waiting)


@rule(steps.poll, invariant="I-97", tickets=("FLINK-39018",))
def a_slow_gate_holds_up_no_other(ledger: Ledger, seen: Polled) -> Judgement:
    """A gate that has nothing, or is recovering, or blocked, delays neither data nor barriers of another gate."""
    due = [gate for gate in ledger.gates if gate.due]
    slow = [gate for gate in ledger.gates if not (gate.due or gate.ended())]
    if not due or not slow or ledger.failed:
        return False
    if seen.value is not None or ledger.starved < len(ledger.gates):
        return seen.value is not None
    line = next(line for gate in due for line in gate.lines if line.readable())
    owed = f"{line.first()} must reach the consumer, whatever the other gates do"
    return Broken(FailureClass.STUCK, owed, f"{ledger.starved + 1} polls in a row answered nothing")


@rule(steps.poll, steps.request_partitions, steps.resume, invariant="I-32", tickets=("FLINK-20145", "FLINK-21104"))
def operations_fail_only_after_release(ledger: Ledger, seen: Seen[object]) -> Judgement:
    """Polling, requesting and resuming fail only if the gates are being released."""
    if not ledger.failed:
        return False if seen.error is None else must_succeed(seen.error, "nothing is released: this must not fail")
    owed = "the gates are being released: this must not fail so"
    allowed = seen.error is None or seen.error.kind in (ErrorKind.STATE, ErrorKind.RELEASED)
    return allowed or Broken(FailureClass.PROTOCOL, owed, got(seen.error))


@rule(steps.poll, invariant="I-94")
def released_gates_hand_out_nothing(ledger: Ledger, seen: Polled) -> Judgement:
    """A poll that begins after release answers no element."""
    if not ledger.in_poll_of_released:
        return False
    if (taken := seen.value) is None:
        return True
    owed = "the gates were released before the poll began"
    return Broken(FailureClass.PROTOCOL, owed, f"it answered {name(taken.element)}")


@rule(steps.poll, invariant="I-33", tickets=("FLINK-38544",))
def nothing_follows_the_last_end(ledger: Ledger, seen: Polled) -> Judgement:
    """With the end of the last channel the consumer is told that nothing follows, and polls then answer nothing."""
    taken = seen.value
    if ledger.phase == "ended":
        owed = "every gate has ended"
        return taken is None or Broken(FailureClass.DUPLICATED, owed, f"the poll answered {name(taken.element)}")
    if ledger.failed or taken is None or type(taken.element) is not EndOfPartition:
        return False
    if any(not line.ended and line.number != taken.channel for line in ledger.lines):
        return False
    owed, observed = "this was the end of the last channel", "the consumer was told to poll again"
    return not (taken.more or taken.more_priority) or Broken(FailureClass.PROTOCOL, owed, observed)


# ---- waking the consumer ---------------------------------------------------------------------------------------------
@rule(
    steps.available, invariant="I-22", tickets=("FLINK-20383",), quiet=True,
    formerly=("availability-tells-the-truth",),
)  # fmt: skip
def a_union_with_data_is_available(ledger: Ledger, seen: Seen[bool]) -> Judgement:
    """Asked while nothing is under way, the union says that it is available if something can be polled."""
    line = None if ledger.phase == "ended" else ledger.due()
    if line is None:
        return False
    said = "the union says that nothing is available"
    return seen.value or Broken(FailureClass.STUCK, f"{line.first()} waits", said)


adopt(
    notice.the_consumer_is_told_of_what_waits, *steps.FEEDS, steps.poll, steps.available,
    tickets=("FLINK-20145", "FLINK-20383", "FLINK-39018"), formerly=("no-wake-up-is-lost",),
)  # fmt: skip


@rule(*steps.FEEDS, steps.poll, invariant="I-22", tickets=("FLINK-20145",), quiet=True)
def the_consumer_is_told_of_priority_events(ledger: Ledger, seen: Seen[object]) -> Judgement:
    """Whenever a priority event can be polled and nothing is under way, the consumer has been told of one."""
    if ledger.urged or ledger.failed:
        return ledger.urged
    for line in ledger.lines:
        if line.urgent and line.comes_first():
            owed = f"{line.first()} has priority, and the consumer must be told so"
            return Broken(FailureClass.STUCK, owed, "it was not told")
    return False


@rule(steps.available, invariant="I-32", tickets=("FLINK-20145", "FLINK-21104"), quiet=True)
def an_empty_union_lets_its_consumer_sleep(ledger: Ledger, seen: Seen[bool]) -> Judgement:
    """After some empty polls, and if nothing happens meanwhile, the union is not available any more."""
    if not ledger.idle or ledger.failed or ledger.phase == "ended":
        return False
    if not seen.value or ledger.idle <= len(ledger.gates) + 1:
        return not seen.value
    if ledger.due() is not None:
        return False
    owed = f"{ledger.idle} polls in a row found nothing, and nothing has happened since: the consumer may sleep"
    return Broken(FailureClass.PROTOCOL, owed, "it is told again that something is available")


@rule(steps.available, invariant="I-33", quiet=True)
def a_union_that_has_ended_is_available(ledger: Ledger, seen: Seen[bool]) -> Judgement:
    """Once every gate has ended the union is available for ever, so that the consumer notices."""
    if ledger.phase != "ended":
        return False
    owed = "every gate has ended, which the consumer must notice"
    return seen.value or Broken(FailureClass.STUCK, owed, "the union is not available")


@rule(steps.finished, invariant="I-33", quiet=True)
def a_union_is_finished_once_every_gate_is(ledger: Ledger, seen: Seen[bool]) -> Judgement:
    """The union says that it is finished exactly if the end of every channel of every gate was taken."""
    if ledger.failed:
        return False
    ended = ledger.phase == "ended"
    if seen.value is ended:
        return any(gate.ended() for gate in ledger.gates)
    left = [line.ended for line in ledger.lines].count(False)
    owed = f"{left} channels have not ended, so finished is {ended}"
    return Broken(FailureClass.PROTOCOL, owed, f"it is {seen.value}")


# ---- producers -------------------------------------------------------------------------------------------------------
@rule(steps.resume, invariant="I-17", tickets=("FLINK-23223",))
def the_right_producer_is_resumed(ledger: Ledger, seen: Seen[None, int]) -> Judgement:
    """Resuming a channel over the network tells the producer of that channel, and no other, to go on."""
    (channel,) = seen.operands
    if seen.error is not None or ledger.failed or ledger.lines[channel].local:
        return False
    resumed = [signal.channel for signal in seen.signals if type(signal) is ConsumptionResumed]
    owed = f"the producer of channel {channel} must be told to go on"
    return resumed == [channel] or Broken(FailureClass.STUCK, owed, f"told were those of {resumed}")


@rule(steps.poll, invariant="I-96")
def credit_goes_to_producers_of_the_same_gate(ledger: Ledger, seen: Polled) -> Judgement:
    """A buffer that was read is announced to a producer of the gate that it came from, and to no other."""
    if seen.value is None or ledger.failed or not seen.signals:
        return False
    # Floating buffers belong to a gate: what one of its channels gives back, another one of it may get. Where recovery
    # ended meanwhile, what is free is announced for the first time.
    opened = {signal.channel for signal in seen.signals if type(signal) is StateConsumed}
    credited = {signal.channel for signal in seen.signals if type(signal) is CreditAnnounced} - opened
    remote = {line.number for line in ledger.lines[seen.value.channel].gate.lines if not line.local}
    if credited <= remote:
        return bool(credited)
    whose = f"a buffer of channel {seen.value.channel} came back"
    owed = f"{whose}: its credit is for producers of the same gate, of channels {sorted(remote)}"
    return Broken(FailureClass.PROTOCOL, owed, f"it was announced for channels {sorted(credited)}")


# ---- recovery --------------------------------------------------------------------------------------------------------
@rule(steps.convert, invariant="I-26", tickets=("FLINK-38544",))
def each_gate_is_converted_on_its_own(ledger: Ledger, seen: Seen[None, int]) -> Judgement:
    """A gate that has nothing to lose is converted, even if another gate was never read."""
    if ledger.failed:
        return False
    (gate,) = seen.operands
    others = ledger.is_unread_elsewhere(ledger.gates[gate])
    if seen.error is None:
        return others
    also = ", although another gate has unread state" if others else ""
    why = f"gate {gate} has nothing that a conversion would lose{also}: it can be converted"
    return Broken(FailureClass.STUCK, why, got(seen.error))


@rule(steps.convert_early, invariant="I-27", tickets=("FLINK-39018",))
def unread_state_is_not_converted_away(ledger: Ledger, seen: Seen[None, int]) -> Judgement:
    """Converting a gate whose state was not read is an error of kind state."""
    (gate,) = seen.operands
    if ledger.failed or not ledger.gates[gate].must_refuse():
        return False
    refused = seen.error is not None and seen.error.kind is ErrorKind.STATE
    owed = f"gate {gate} has state that was not read: converting it is an error of kind state"
    return refused or Broken(FailureClass.LOST, owed, got(seen.error))


@rule(steps.resources, kind=Kind.EVENTUALLY, invariant="I-26", tickets=("FLINK-38544",))
def the_end_of_recovered_data_is_told_for_every_gate(ledger: Ledger, seen: Seen[Resources]) -> Judgement:
    """Once the consumer took the end of the recovered data of a channel, that is told with the channel's number."""
    if not ledger.closing or ledger.failed:
        return False
    ended = [line for line in ledger.lines if line.finished and line.expects_end]
    for line in ended:
        if not line.consumed:
            owed = f"all recovered data of channel {line.number} was taken: the consumer must find its end, and be told"
            return Broken(FailureClass.STUCK, owed, "it polled as long as it had a reason to, and was not told")
    return bool(ended)


# ---- what is held ----------------------------------------------------------------------------------------------------
adopt(
    lifetime.after_release_nothing_is_held, steps.resources, needs=RESOURCES,
    formerly=("released-gates-hold-nothing",),
)  # fmt: skip
