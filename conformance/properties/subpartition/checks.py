"""How each property of a subpartition is decided: small functions of the ledger and of what was seen.

The sentences they decide stand in the package's `PROPERTIES`.
"""

from __future__ import annotations

from conformance.ports import (
    Barrier,
    Data,
    DataAvailable,
    ErrorKind,
    Next,
    OutputState,
    PriorityAvailable,
    RecoveryCompletion,
    StateStatus,
)
from conformance.properties.base import Broken, FailureClass, Judgement, Seen, compare_ids
from conformance.properties.subpartition.ledger import Queued, SubpartitionLedger

Ledger = SubpartitionLedger


# ---- what a poll hands out -------------------------------------------------------------------------------------------
def arrives_in_order(ledger: Ledger, seen: Seen) -> Judgement:
    if seen.value is None:
        return False
    element = seen.value.element
    if ledger.urgent:
        if type(element) is Barrier and element.checkpoint == ledger.urgent[0] and element.alignment == "unaligned":
            return True
        return Broken(
            FailureClass.REORDERED,
            f"the unaligned barrier {ledger.urgent[0]} stands in front",
            f"the poll answered {_name(element)}",
        )
    if ledger.blocked:
        return False  # another property says what may come out of a blocked subpartition
    head = ledger.head()
    if head is None:
        return Broken(FailureClass.DUPLICATED, "everything was delivered before", f"the poll answered {_name(element)}")
    if head.element is None:
        expected = tuple(range(ledger.delivered, head.end))
        if type(element) is not Data:
            return Broken(
                FailureClass.REORDERED, f"records {expected} come next", f"the poll answered {_name(element)}"
            )
        if element.ids == expected:
            return True
        kind = compare_ids(expected, element.ids, ledger.delivered)
        return Broken(kind, f"records {expected} come next", f"the poll answered records {element.ids}")
    if element == head.element:
        return True
    kind = FailureClass.REORDERED
    if type(element) is Data and element.ids and element.ids[0] < ledger.delivered:
        kind = FailureClass.DUPLICATED
    elif type(element) is type(head.element):
        kind = FailureClass.CORRUPTED
    return Broken(kind, f"{_name(head.element)} comes next", f"the poll answered {_name(element)}")


def hands_out_what_is_readable(ledger: Ledger, seen: Seen) -> Judgement:
    if ledger.blocked or not ledger.readable():
        return False
    if seen.value is not None:
        return True
    return Broken(
        FailureClass.STUCK, f"{_first(ledger)} is readable and nothing blocks it", "the poll answered nothing"
    )


def numbers_without_gaps(ledger: Ledger, seen: Seen) -> Judgement:
    if seen.value is None:
        return False
    if seen.value.seq == ledger.seq:
        return True
    return Broken(
        FailureClass.PROTOCOL, f"sequence number {ledger.seq} comes next", f"the element carries {seen.value.seq}"
    )


def only_priority_leaves_while_blocked(ledger: Ledger, seen: Seen) -> Judgement:
    if not ledger.blocked:
        return False
    if seen.value is None or seen.value.element.data_type.has_priority:
        return True
    return Broken(
        FailureClass.REORDERED,
        "the consumer has not resumed the subpartition yet",
        f"{_name(seen.value.element)} left it all the same",
    )


def priority_leaves_while_blocked(ledger: Ledger, seen: Seen) -> Judgement:
    if not (ledger.blocked and ledger.urgent):
        return False
    if seen.value is not None:
        return True
    return Broken(
        FailureClass.STUCK,
        f"the unaligned barrier {ledger.urgent[0]} must reach the consumer although the subpartition is blocked",
        "the poll answered nothing",
    )


def completion_is_sent(ledger: Ledger, seen: Seen) -> Judgement:
    if ledger.blocked or ledger.urgent:
        return False
    head = ledger.head()
    if head is None or type(head.element) is not RecoveryCompletion:
        return False
    if seen.value is not None and type(seen.value.element) is RecoveryCompletion:
        return True
    got = "nothing" if seen.value is None else _name(seen.value.element)
    return Broken(
        FailureClass.LOST,
        "the end of recovered output state is always sent, also when there was none: the consumer counts on it",
        f"the poll answered {got}",
    )


def next_is_true(ledger: Ledger, seen: Seen) -> Judgement:
    if seen.value is None:
        return False
    told: Next = seen.value.next
    if ledger.urgent and (ledger.passes_blocked or not ledger.blocked):
        expected = Next.PRIORITY
    elif ledger.blocked or not ledger.ordinary:
        expected = Next.NONE
    else:
        first = ledger.ordinary[0]
        expected = Next.DATA if first.element is None else Next.EVENT
        if told is Next.NONE and not ledger.due():
            return True
    if told is expected:
        return True
    if told is Next.NONE:
        return Broken(
            FailureClass.STUCK, f"{_first(ledger)} can be polled next", "the consumer was told that nothing can"
        )
    return Broken(FailureClass.PROTOCOL, f"the next type must be {expected}", f"the consumer was told {told}")


def backlog_is_true(ledger: Ledger, seen: Seen) -> Judgement:
    if seen.value is None:
        return False
    return _judge_backlog(ledger, seen.value.backlog)


def _judge_backlog(ledger: Ledger, told: int) -> Judgement:
    if ledger.blocked and ledger.urgent:
        return False  # left open: 2.3.0 answers 0, FLINK-40519 counts what stands behind the priority event
    most = 0 if ledger.blocked else ledger.buffers
    least = most
    if most and not ledger.finished and ledger.ordinary[-1].element is None:
        least = most - 1
    if least <= told <= most:
        return True
    owed = f"{most}" if least == most else f"{least} or {most}"
    return Broken(FailureClass.PROTOCOL, f"the backlog is {owed} data buffers", f"the consumer was told {told}")


# ---- what the consumer is told ---------------------------------------------------------------------------------------
def _gains_priority(ledger: Ledger, seen: Seen) -> bool:
    """Whether this step makes the first priority element appear in front of a consumer."""
    if not ledger.view or ledger.urgent or ledger.failed:
        return False
    return ledger.promise == seen.operands[0] or seen.operands[0] not in ledger.barriers


def _announcement(ledger: Ledger, seen: Seen, why: str) -> Judgement:
    told = [signal for signal in seen.signals if type(signal) is PriorityAvailable]
    if told == [PriorityAvailable(ledger.seq)]:
        return True
    if not told:
        return Broken(
            FailureClass.STUCK,
            f"the consumer must be told of the priority event with sequence number {ledger.seq}{why}",
            "it was told nothing",
        )
    numbers = [signal.seq for signal in told]
    return Broken(
        FailureClass.PROTOCOL, f"one announcement of sequence number {ledger.seq} is owed", f"announced were {numbers}"
    )


def announces_priority(ledger: Ledger, seen: Seen) -> Judgement:
    if ledger.blocked or not _gains_priority(ledger, seen):
        return False
    return _announcement(ledger, seen, "")


def announces_priority_while_blocked(ledger: Ledger, seen: Seen) -> Judgement:
    if not (ledger.blocked and _gains_priority(ledger, seen)):
        return False
    return _announcement(ledger, seen, ", although the subpartition is blocked")


def announces_nothing_blocked(ledger: Ledger, seen: Seen) -> Judgement:
    if not (ledger.blocked and ledger.view):
        return False
    for signal in seen.signals:
        if type(signal) is DataAvailable:
            return Broken(
                FailureClass.PROTOCOL, "nothing can be polled while the subpartition is blocked", "data was announced"
            )
    return True


def announced_can_be_polled(ledger: Ledger, seen: Seen) -> Judgement:
    announced = ledger.announced
    if announced is Next.NONE:
        return False
    if announced is Next.PRIORITY:
        if seen.value is not None and seen.value.element.data_type.has_priority:
            return True
        return Broken(FailureClass.PROTOCOL, "a priority event was announced", "the poll did not answer it")
    if ledger.blocked or not ledger.readable():
        return False
    if seen.value is not None:
        return True
    return Broken(FailureClass.PROTOCOL, f"{_first(ledger)} was announced", "the poll answered nothing")


def flush_is_announced(ledger: Ledger, seen: Seen) -> Judgement:
    if not ledger.view or ledger.probe or ledger.blocked or ledger.urgent or len(ledger.ordinary) != 1:
        return False
    alone = ledger.ordinary[0]
    if not alone.open or alone.end <= ledger.delivered:
        return False
    if ledger.awake or any(type(signal) is DataAvailable for signal in seen.signals):
        return True
    return Broken(FailureClass.STUCK, f"{_first(ledger)} can be polled now, so the consumer is told", "it was not")


def nothing_due_waits(ledger: Ledger, seen: Seen) -> Judgement:
    if not ledger.closing or not ledger.view or ledger.probe:
        return False
    if ledger.awake or not ledger.due():
        return True
    return Broken(
        FailureClass.STUCK,
        f"{_first(ledger)} can be polled, so the consumer must be woken",
        "it sleeps, and nothing that is left to happen will wake it",
    )


# ---- what the consumer asks ------------------------------------------------------------------------------------------
def availability_is_true(ledger: Ledger, seen: Seen) -> Judgement:
    if ledger.blocked:
        return False
    (has_credit,) = seen.operands
    told = seen.value.available
    if has_credit:
        if told and not ledger.urgent and not ledger.ordinary:
            return Broken(
                FailureClass.PROTOCOL, "nothing is there", "the consumer was told that something is available"
            )
        if not told and (ledger.due() or (ledger.flushed and ledger.readable())):
            return Broken(
                FailureClass.STUCK, f"{_first(ledger)} can be polled", "the consumer was told that nothing is"
            )
    else:
        event = bool(ledger.urgent) or (bool(ledger.ordinary) and ledger.ordinary[0].element is not None)
        if told is not event:
            return Broken(
                FailureClass.STUCK if event else FailureClass.PROTOCOL,
                f"without credit an event can leave and data cannot, so available must be {event}",
                f"it is {told}",
            )
    return _judge_backlog(ledger, seen.value.backlog)


def priority_leaves_with_and_without_credit(ledger: Ledger, seen: Seen) -> Judgement:
    if not (ledger.blocked and ledger.urgent):
        return False
    if seen.value.available:
        return True
    with_or_without = "with" if seen.operands[0] else "without"
    return Broken(
        FailureClass.STUCK,
        f"the unaligned barrier {ledger.urgent[0]} must leave a blocked subpartition {with_or_without} credit",
        "the reader was told that nothing is available",
    )


def resuming_shows_what_waited(ledger: Ledger, seen: Seen) -> Judgement:
    if not ledger.resumed or not seen.operands[0] or not ledger.due():
        return False
    if seen.value.available:
        return True
    return Broken(
        FailureClass.STUCK,
        f"{_first(ledger)} waited while the subpartition was blocked",
        "nothing was available after it",
    )


def resumed_once(ledger: Ledger, seen: Seen) -> Judgement:
    error = seen.error
    if ledger.blocked:
        if error is None:
            return True
        return Broken(FailureClass.PROTOCOL, "a blocked subpartition can be resumed", f"it answered {error.kind}")
    if error is not None and error.kind is ErrorKind.STATE:
        return True
    return Broken(FailureClass.PROTOCOL, "it was not blocked: resuming it is an error of kind state", _got(seen))


def attached_once(ledger: Ledger, seen: Seen) -> Judgement:
    if seen.error is not None and seen.error.kind is ErrorKind.STATE:
        return True
    why = "it was released" if ledger.failed else "it has a view"
    return Broken(FailureClass.PROTOCOL, f"{why}: attaching one is an error of kind state", _got(seen))


def accepts_nothing_after_the_end(ledger: Ledger, seen: Seen) -> Judgement:
    if seen.value is False:
        return True
    why = "released" if ledger.failed else "finished"
    return Broken(FailureClass.LEAKED, f"the subpartition is {why}: the element must be rejected", "it was accepted")


# ---- what the writer gets --------------------------------------------------------------------------------------------
def overtaken_data_is_written_once(ledger: Ledger, seen: Seen) -> Judgement:
    owed = ledger.states.get(seen.operands[0])
    if owed is None:
        return _writes_nothing(seen)
    if owed.status is not StateStatus.WRITTEN:
        return False
    got: OutputState = seen.value
    if got == owed:
        return bool(owed.ids)
    if got.status is not StateStatus.WRITTEN:
        return Broken(
            FailureClass.ORPHANED if owed.ids == () else FailureClass.LOST,
            f"barrier {seen.operands[0]} overtook records {owed.ids}, which must be written",
            f"the state is {got.status}",
        )
    kind = compare_ids(owed.ids, got.ids, owed.ids[0] if owed.ids else ledger.delivered)
    return Broken(
        kind,
        f"barrier {seen.operands[0]} overtook records {owed.ids}, which must be written",
        f"written were {got.ids}",
    )


def _writes_nothing(seen: Seen) -> Judgement:
    got: OutputState = seen.value
    if got.status is StateStatus.ABSENT or (got.status is StateStatus.WRITTEN and not got.ids):
        return True
    return Broken(
        FailureClass.DUPLICATED,
        f"barrier {seen.operands[0]} overtook nothing, so its state must be empty",
        f"it is {got.status}, {got.ids}",
    )


def promise_is_settled(ledger: Ledger, seen: Seen) -> Judgement:
    checkpoint = seen.operands[0]
    owed = ledger.states.get(checkpoint)
    if owed is None or checkpoint not in ledger.timeoutable or checkpoint in ledger.replaced or owed.ids:
        return False
    got: OutputState = seen.value
    if got.status is owed.status:
        return True
    kind = FailureClass.ORPHANED if got.status is StateStatus.PENDING else FailureClass.PROTOCOL
    return Broken(
        kind, f"the writer's promise for checkpoint {checkpoint} must be {owed.status} by now", f"it is {got.status}"
    )


def older_promise_is_broken(ledger: Ledger, seen: Seen) -> Judgement:
    checkpoint = seen.operands[0]
    if checkpoint not in ledger.replaced:
        return False
    got: OutputState = seen.value
    if got.status is StateStatus.FAILED:
        return True
    return Broken(
        FailureClass.ORPHANED,
        f"a newer timeoutable barrier took the place of barrier {checkpoint}: its promise to the writer must fail",
        f"it is {got.status}",
    )


# ---- what is held ----------------------------------------------------------------------------------------------------
def holds_what_it_should(ledger: Ledger, seen: Seen) -> Judgement:
    for name, owed, got in (
        ("segments", ledger.buffers, seen.value.segments),
        ("listeners", int(ledger.view and not ledger.failed), seen.value.listeners),
        ("futures", int(ledger.promise > 0), seen.value.futures),
    ):
        if got is not None and got != owed:
            when = "after it was released" if ledger.failed else "now"
            kind = FailureClass.LEAKED if got > owed else FailureClass.LOST
            return Broken(kind, f"{when} it must hold {owed} {name}", f"it holds {got}")
    return True


def _first(ledger: Ledger) -> str:
    if ledger.urgent:
        return f"the unaligned barrier {ledger.urgent[0]}"
    head = ledger.head()
    return "nothing" if head is None else _describe(head, ledger)


def _describe(queued: Queued, ledger: Ledger) -> str:
    if queued.element is not None:
        return _name(queued.element)
    return f"records {tuple(range(ledger.delivered, queued.end))}"


def _name(element: object) -> str:
    if isinstance(element, Data):
        return f"records {element.ids}"
    if isinstance(element, Barrier):
        return f"the {element.alignment} barrier {element.checkpoint}"
    return f"{type(element).__name__}"


def _got(seen: Seen) -> str:
    return "it was accepted" if seen.error is None else f"it answered {seen.error.kind}"


def never(ledger: Ledger, seen: Seen) -> Judgement:
    """The check of a property that this component cannot be asked about: the tracker counts, not the subpartition."""
    return False
