"""The rules of the remote channel for what it calls and what fails. Specification: remote-channel.md."""

from __future__ import annotations

from typing import Any

from conformance.components.remote_channel import steps
from conformance.components.remote_channel.buffer_rules import between
from conformance.components.remote_channel.ledger import OPEN, Ledger
from conformance.components.remote_channel.rules import Took
from conformance.driver import Broken, FailureClass, Judgement, Rules, Seen, Unsure, shared
from conformance.models import faults, recovery
from conformance.models.consumer import notifies
from conformance.models.designs import FAULTS, RESOURCES
from conformance.models.fault_words import call_at
from conformance.models.faults import struck_again, struck_by
from conformance.models.words import are, many, must_succeed
from conformance.ports import ErrorKind, RemoteChannelPort, Resources

RULES = Rules[Ledger]("remote-channel")
rule, adopt = RULES.rule, RULES.adopt
ARRIVALS = (
    steps.buffer,
    steps.event,
    steps.aligned_barrier,
    steps.timeoutable_barrier,
    steps.unaligned_barrier,
    steps.recovery_completion,
    steps.end_of_partition,
)
"""The steps in which an element of the producer arrives."""
FAIL = (*ARRIVALS, steps.request_subpartition, steps.checkpoint_started)
"""The steps whose operations fail with what they call, if that is not the connection."""
SEND = (*ARRIVALS, steps.take, steps.recycle, steps.resume)
"""The steps whose operations send credit or a resumption."""


@rule(*SEND, invariant="I-90", needs=FAULTS, struck=True, formerly=("what-cannot-be-sent-is-not-silent",))
def a_failure_to_send_is_reported(ledger: Ledger, seen: Seen[Any, *tuple[Any, ...]]) -> Judgement:
    """If credit or a resumption cannot be sent, the operation fails with an error of kind io, or the channel keeps the
    error for the next take, which the gate has a reason to make."""
    struck = struck_by(seen)
    if not ledger.may_keep(struck.place):
        return False
    if (again := struck_again(ledger.faults, struck)) is not None:
        return again
    if seen.error is None and (notifies(seen.signals) or ledger.consumer.awake):
        return True
    if seen.error is not None and seen.error.kind is ErrorKind.IO:
        return True
    if seen.error is None and ledger.flying > 1:
        return Unsure("a take in flight may fail with the error")
    owed = f"{call_at(struck.place)} failed: the operation must fail with an error of kind io, or notify the gate"
    observed = (
        "nobody was notified" if seen.error is None else f"it failed with an error of kind {seen.error.kind.value}"
    )
    return Broken(FailureClass.STUCK, owed, observed)


@shared("I-90", struck=True)
def the_arrival_of_an_error_succeeds(ledger: Ledger, seen: Seen[None]) -> Judgement:
    """The error of the producer is for the task: its arrival raises no error, be it the first one, a later one, or one
    after release."""
    return must_succeed(
        seen.error, "the network thread delivers the error of the producer, so its operation must succeed"
    )


@shared("I-22", struck=True, formerly=("the-consumer-is-told-of-the-error",))
def the_consumer_is_notified_of_the_error(ledger: Ledger, seen: Seen[None]) -> Judgement:
    """When the error of the producer arrives in a channel that is not released, the consumer has a reason to take: it
    was notified since its last take began, or that take said that something follows."""
    if ledger.phase not in OPEN or ledger.due.in_flight or ledger.releasing:
        return False
    if notifies(seen.signals) or ledger.consumer.awake:
        return True
    owed = "the error of the producer has arrived, so the consumer must have been notified"
    return Broken(FailureClass.STUCK, owed, "the consumer was not notified and does not take again")


@rule(steps.take, invariant="I-90", needs=FAULTS, formerly=("an-error-that-came-is-not-silent",))
def an_error_of_the_producer_fails_the_next_take(ledger: Ledger, seen: Took) -> Judgement:
    """If an error has come, a take fails with it, or delivers what came before; it does not return
    nothing."""
    if not ledger.due.error:
        return False
    if seen.error is not None or seen.value is not None or recovery.ends(seen.signals):
        return True
    return Broken(
        FailureClass.STUCK, "an error has come, so a take that finds nothing must fail", "it returned nothing"
    )


@rule(
    steps.take, steps.recycle, steps.resume, steps.request_subpartition, steps.request_again,
    invariant="I-90", formerly=("only-an-error-that-came-fails-an-operation",))  # fmt: skip
def operations_fail_only_after_an_error_of_the_producer(ledger: Ledger, seen: Seen[Any, *tuple[Any, ...]]) -> Judgement:
    """A take, a recycling, a resumption and the request do not fail, unless an error has come before; then the
    error is of kind io. After release, a recycling does not fail."""
    if seen.error is None:
        return True
    if ledger.connection.error_comes and not ledger.released and seen.error.kind is ErrorKind.IO:
        return True
    came = "the error that came is of kind io" if ledger.connection.error_comes else "no error has come"
    return must_succeed(seen.error, "the channel is released" if ledger.released else came)


@rule(steps.resources, invariant="I-93", needs=FAULTS | RESOURCES, quiet=True)
def after_a_failure_each_buffer_is_in_one_place(ledger: Ledger, seen: Seen[Resources]) -> Judgement:
    """After an operation has failed, and before the release, the channel holds one segment for each data buffer that
    waits or is with the task, and one for each that is set aside. The buffer of an arrival that has failed is queued,
    or was recycled; the exclusive buffers of a request that has failed are set aside, or were not. If the producer was
    blocked with a backlog, and the channel has no exclusive buffers, the floating ones are set aside, or have returned
    to the pool."""
    if not ledger.is_broken() or ledger.released or seen.value.segments is None:
        return False
    held, (least, most), used = seen.value.segments + (seen.value.heap or 0), ledger.set_aside(), ledger.in_use()
    if seen.value.heap is None:  # recovered data may be in memory that this implementation does not count
        least -= min(least + used, ledger.own_recovered())
    if used - ledger.credit.unsure + least <= held <= used + most:
        return True
    kind = FailureClass.LEAKED if held > used + most else FailureClass.LOST
    owed = f"{are(used, 'data buffer')} in use, and {between(least, most)} may be set aside, and no others be held"
    return Broken(kind, owed, f"the channel holds {many(held, 'segment')}")


adopt(faults.an_operation_fails_with_what_it_calls, *FAIL, needs=FAULTS)
adopt(faults.a_refusal_is_not_a_failure, steps.request_subpartition, needs=FAULTS)
adopt(the_arrival_of_an_error_succeeds, steps.producer_fails, needs=FAULTS)
adopt(the_consumer_is_notified_of_the_error, steps.producer_fails, needs=FAULTS)
faults.see_strikes(
    RULES, RemoteChannelPort.can_fail, *FAIL, steps.take, steps.recycle, steps.resume, steps.producer_fails
)
