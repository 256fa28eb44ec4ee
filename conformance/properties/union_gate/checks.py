"""How each property of a union of gates is decided: small functions of the ledger and of what was seen.

The sentences they decide stand in the package's `PROPERTIES`.
"""

from __future__ import annotations

from conformance.ports import (
    Barrier,
    ConsumptionResumed,
    CreditAnnounced,
    Data,
    Element,
    EndOfPartition,
    ErrorKind,
    GateTaken,
    Recovery,
    StateConsumed,
)
from conformance.properties.base import Broken, FailureClass, Judgement, Seen
from conformance.properties.union_gate.ledger import UnionGateLedger as Ledger
from conformance.properties.union_gate.lines import Gate, Line, Sent

_REFUSALS = (ErrorKind.STATE, ErrorKind.RELEASED)


# ---- what a poll hands out -------------------------------------------------------------------------------------------
def arrives_in_order(ledger: Ledger, seen: Seen) -> Judgement:
    taken: GateTaken | None = seen.value
    if taken is None or ledger.phase == "failed":
        return False
    element = taken.element
    if not 0 <= taken.channel < len(ledger.lines):
        return Broken(
            FailureClass.CORRUPTED,
            f"channels are numbered from 0 to {len(ledger.lines) - 1}",
            f"the poll answered {_name(element)} of channel {taken.channel}",
        )
    line = ledger.lines[taken.channel]
    queue = line.urgent if element.data_type.has_priority else line.recovered or line.live
    if queue and queue[0].element == element:
        return True
    return _misplaced(ledger, taken, queue)


def _misplaced(ledger: Ledger, taken: GateTaken, queue: list[Sent]) -> Broken:
    """In which way something else came than what stands in front of the channel."""
    element = taken.element
    owed = f"{_name(queue[0].element)} comes next from channel {taken.channel}" if queue else (
        f"everything sent into channel {taken.channel} was delivered before"
    )  # fmt: skip
    observed = f"the poll answered {_name(element)} as its next"
    line = ledger.lines[taken.channel]
    if _contains(line, element):
        return Broken(FailureClass.REORDERED, owed, observed)
    if type(element) is Data and any(_contains(other, element) for other in ledger.lines):
        return Broken(FailureClass.CORRUPTED, owed, f"{observed}, which was sent into another")
    if type(element) is Data and element.ids and all(0 <= one < ledger.sent for one in element.ids):
        return Broken(FailureClass.DUPLICATED, owed, observed)
    return Broken(FailureClass.CORRUPTED if queue else FailureClass.DUPLICATED, owed, observed)


def _contains(line: Line, element: Element) -> bool:
    return any(sent.element == element for queue in (line.recovered, line.live, line.urgent) for sent in queue)


def live_waits_for_recovered(ledger: Ledger, seen: Seen) -> Judgement:
    taken: GateTaken | None = seen.value
    if taken is None or not 0 <= taken.channel < len(ledger.lines) or ledger.phase == "failed":
        return False
    line = ledger.lines[taken.channel]
    if taken.element.data_type.has_priority:
        return False
    if line.finishing and not line.recovered:
        return ledger.recovery is not Recovery.NONE and bool(line.live)
    if not any(sent.element == taken.element for sent in line.live):
        return bool(line.live)
    why = f"{_name(line.recovered[0].element)} comes first" if line.recovered else "its recovery is not finished"
    return Broken(
        FailureClass.REORDERED,
        f"channel {taken.channel} has recovered data: {why}",
        f"the poll answered {_name(taken.element)}, which is live",
    )


def priority_comes_first(ledger: Ledger, seen: Seen) -> Judgement:
    taken: GateTaken | None = seen.value
    if not ledger.due_urgent or taken is None or ledger.phase == "failed":
        return False
    if taken.element.data_type.has_priority:
        return True
    line = next(line for line in ledger.lines if ledger.urgent(line))
    return Broken(
        FailureClass.REORDERED,
        f"{_name(line.urgent[0].element)} was there before the poll began, and has priority",
        f"the poll answered {_name(taken.element)} of channel {taken.channel}",
    )


def served_in_turn(ledger: Ledger, seen: Seen) -> Judgement:
    taken: GateTaken | None = seen.value
    if taken is None or taken.element.data_type.has_priority or ledger.phase == "failed":
        return False
    gates, served = ledger.gates, ledger.lines[taken.channel].gate
    judged = False
    for gate in gates:
        if gate.due and gate is not served:
            judged = True
            rounds = 1 + ledger.turns_of_ends(gate)
            if gate.waited + 1 >= rounds * (len(gates) - 1) + 1:
                return Broken(
                    FailureClass.REORDERED,
                    f"gate {gates.index(gate)} has had something all the time, and has its turn after at most "
                    f"{rounds * (len(gates) - 1)} of other gates",
                    f"{gate.waited + 1} came from others",
                )
    return judged


def slow_gate_holds_up_no_other(ledger: Ledger, seen: Seen) -> Judgement:
    if not ledger.due_anything or ledger.phase == "failed" or all(gate.due or gate.ended for gate in ledger.gates):
        return False
    if seen.value is not None:
        return True
    if ledger.starved < len(ledger.gates):
        return False
    return Broken(
        FailureClass.STUCK,
        f"{_waiting(ledger, _first_readable(ledger))} must reach the consumer, whatever the other gates do",
        f"{ledger.starved + 1} polls in a row answered nothing",
    )


def fails_only_when_released(ledger: Ledger, seen: Seen) -> Judgement:
    error = seen.error
    if error is None:
        return ledger.phase == "failed"
    if ledger.phase == "failed" and error.kind in _REFUSALS:
        return True
    why = "the gates are being released" if ledger.phase == "failed" else "nothing is released"
    return Broken(FailureClass.PROTOCOL, f"{why}, so this must not fail in this way", f"it answered {error.kind}")


def released_gates_hand_out_nothing(ledger: Ledger, seen: Seen) -> Judgement:
    if not ledger.in_poll_of_released:
        return False
    if seen.value is None:
        return True
    owed, got = "the gates were released before the poll began", _name(seen.value.element)
    return Broken(FailureClass.PROTOCOL, owed, f"it answered {got}")


# ---- waking the consumer ---------------------------------------------------------------------------------------------
def no_wake_up_is_lost(ledger: Ledger, seen: Seen) -> Judgement:
    if ledger.awake or ledger.probe:
        return ledger.awake
    if ledger.phase == "failed":
        return False
    line = ledger.due()
    if line is None:
        return False
    return Broken(
        FailureClass.STUCK,
        f"{_waiting(ledger, line)} waits, so the consumer must be woken",
        "it sleeps: it was told nothing, and nothing that is under way will tell it",
    )


def priority_is_announced(ledger: Ledger, seen: Seen) -> Judgement:
    if ledger.urged or ledger.phase == "failed":
        return ledger.urged
    for line in ledger.lines:
        if ledger.urgent(line):
            return Broken(
                FailureClass.STUCK,
                f"{_waiting(ledger, line)} has priority, and the consumer must be told so",
                "it was not told",
            )
    return False


def availability_is_true(ledger: Ledger, seen: Seen) -> Judgement:
    if ledger.phase == "failed" or ledger.ended:
        return False
    line = ledger.due()
    if line is None:
        return False
    if seen.value:
        return True
    return Broken(FailureClass.STUCK, f"{_waiting(ledger, line)} waits", "the union says that nothing is available")


def empty_polls_come_to_an_end(ledger: Ledger, seen: Seen) -> Judgement:
    if not ledger.idle or ledger.ended or ledger.phase == "failed":
        return False
    if not seen.value or ledger.idle <= len(ledger.gates) + 1:
        return not seen.value
    if ledger.due() is not None:
        return False
    return Broken(
        FailureClass.PROTOCOL,
        f"{ledger.idle} polls in a row found nothing, and nothing has happened since: the consumer may sleep",
        "it is told again that something is available",
    )


# ---- recovery --------------------------------------------------------------------------------------------------------
def conversion_is_per_gate(ledger: Ledger, seen: Seen) -> Judgement:
    if ledger.phase == "failed":
        return False
    mine: Gate = ledger.gates[seen.operands[0]]
    others = any(ledger.unread(gate) for gate in ledger.gates if gate is not mine)
    if seen.error is None:
        return others
    also = ", although another gate has unread state" if others else ""
    return Broken(
        FailureClass.STUCK,
        f"gate {seen.operands[0]} has nothing that a conversion would lose: it can be converted{also}",
        f"it answered {seen.error.kind}",
    )


def unread_state_is_kept(ledger: Ledger, seen: Seen) -> Judgement:
    if ledger.phase == "failed" or not ledger.must_refuse(ledger.gates[seen.operands[0]]):
        return False
    if seen.error is not None and seen.error.kind is ErrorKind.STATE:
        return True
    return Broken(
        FailureClass.LOST,
        f"gate {seen.operands[0]} has state that was not read: converting it is an error of kind state",
        "it was accepted" if seen.error is None else f"it answered {seen.error.kind}",
    )


def end_of_state_is_told(ledger: Ledger, seen: Seen) -> Judgement:
    if not ledger.closing or ledger.phase == "failed":
        return False
    judged = False
    for number, line in enumerate(ledger.lines):
        if line.finished and line.expects_end:
            judged = True
            if not line.consumed:
                return Broken(
                    FailureClass.STUCK,
                    f"all recovered data of channel {number} was taken: the consumer must find its end, and be told",
                    "it polled as long as it had a reason to, and was not told",
                )
    return judged


def right_producer_is_resumed(ledger: Ledger, seen: Seen) -> Judgement:
    channel = seen.operands[0]
    if seen.error is not None or ledger.phase == "failed" or ledger.lines[channel].local:
        return False
    resumed = [signal.channel for signal in seen.signals if type(signal) is ConsumptionResumed]
    if resumed == [channel]:
        return True
    return Broken(
        FailureClass.STUCK, f"the producer of channel {channel} must be told to go on", f"told were those of {resumed}"
    )


def credit_goes_to_that_gate(ledger: Ledger, seen: Seen) -> Judgement:
    """Floating buffers belong to a gate: what one of its channels gives back, another one of it may get. Where recovery
    ended meanwhile, what is free is announced for the first time."""
    opened = [signal.channel for signal in seen.signals if type(signal) is StateConsumed]
    credited = [
        signal.channel for signal in seen.signals if type(signal) is CreditAnnounced and signal.channel not in opened
    ]
    channel = seen.value.channel if seen.value is not None else None
    if not credited or channel is None or ledger.phase == "failed":
        return False
    gate = ledger.lines[channel].gate
    remote = [number for number, line in enumerate(ledger.lines) if line.gate is gate and not line.local]
    if all(number in remote for number in credited):
        return True
    return Broken(
        FailureClass.CORRUPTED,
        f"a buffer of channel {channel} came back: its credit is for producers of the same gate, of channels {remote}",
        f"it was announced for channels {credited}",
    )


# ---- the end ---------------------------------------------------------------------------------------------------------
def finished_is_true(ledger: Ledger, seen: Seen) -> Judgement:
    if ledger.phase == "failed":
        return False
    if seen.value is ledger.ended:
        return ledger.ended or any(gate.ended for gate in ledger.gates)
    left = sum(not line.ended for line in ledger.lines)
    return Broken(
        FailureClass.STUCK if ledger.ended else FailureClass.LOST,
        f"{left} channels have not ended, so finished is {ledger.ended}",
        f"it is {seen.value}",
    )


def nothing_follows_the_end(ledger: Ledger, seen: Seen) -> Judgement:
    if ledger.phase == "failed":
        return False
    taken: GateTaken | None = seen.value
    if ledger.ended:
        if taken is None:
            return True
        return Broken(FailureClass.DUPLICATED, "every gate has ended", f"the poll answered {_name(taken.element)}")
    if taken is None or type(taken.element) is not EndOfPartition:
        return False
    last = ledger.lines[taken.channel]
    if any(not line.ended and line is not last for line in ledger.lines):
        return False
    if not (taken.more or taken.more_priority):
        return True
    return Broken(FailureClass.PROTOCOL, "this was the end of the last channel", "the consumer was told to poll again")


def the_end_is_available(ledger: Ledger, seen: Seen) -> Judgement:
    if not ledger.ended or ledger.phase == "failed":
        return False
    if seen.value:
        return True
    return Broken(
        FailureClass.STUCK, "every gate has ended, which the consumer must notice", "the union is not available"
    )


# ---- what is held ----------------------------------------------------------------------------------------------------
def everything_is_given_back(ledger: Ledger, seen: Seen) -> Judgement:
    if not ledger.released:
        return False
    held = seen.value
    for name, most, got in (
        ("segments", ledger.in_hand, held.segments),
        ("heap segments", 0, held.heap),
        ("files", 0, held.files),
        ("listeners", 0, held.listeners),
        ("futures", 0, held.futures),
    ):
        if got is not None and got > most:
            return Broken(FailureClass.LEAKED, f"after it was released it must hold no {name}", f"it holds {got}")
    return True


# ---- words -----------------------------------------------------------------------------------------------------------
def _first_readable(ledger: Ledger) -> Line:
    return next(line for line in ledger.lines if line.gate.due and ledger.readable(line))


def _waiting(ledger: Ledger, line: Line) -> str:
    where = f"of channel {ledger.lines.index(line)}"
    if ledger.passes(line):
        return f"{_name(line.urgent[0].element)} {where}"
    if line.recovered:
        return f"{_name(line.recovered[0].element)}, recovered, {where}"
    return f"{_name(line.live[0].element)} {where}"


def _name(element: Element) -> str:
    if isinstance(element, Data):
        return f"records {element.ids}"
    if isinstance(element, Barrier):
        return f"the {element.alignment} barrier {element.checkpoint}"
    return type(element).__name__
