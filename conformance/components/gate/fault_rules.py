"""Rules for what a gate does when something fails that it calls. Specification: gate.md, G28 to G31 and G33."""

from __future__ import annotations

from conformance.components.gate import steps
from conformance.components.gate.ledger import Ledger
from conformance.components.gate.rules import BESIDE_OTHERS, BOTH_KINDS, SEVERAL_GATES, Polled, Written
from conformance.driver import Broken, FailureClass, Judgement, Never, Rules, Seen, Setting, Unsure
from conformance.models import faults, kept
from conformance.models.designs import BEFORE, FAULTS, IN_MEMORY, READBACK, RESOURCES, UNIONS
from conformance.models.records import in_words
from conformance.models.words import counted, got
from conformance.ports import ErrorKind, GatePort, Resources

RULES = Rules[Ledger]("gate")
rule, goal, adopt = RULES.rule, RULES.goal, RULES.adopt
NO_FAILED_RELEASE = Never(Setting(shape=SEVERAL_GATES), "In a union, no release of a channel fails.")
_KEPT = (steps.convert, steps.request_partitions, steps.request_partitions_too_early, steps.buffer)
"""Steps after whose failure the gate may keep the error."""

adopt(
    faults.an_operation_fails_with_what_it_calls,
    steps.poll,
    steps.checkpoint_started,
    needs=FAULTS,
    never=(Never(BEFORE, "A recovered channel writes nothing."), *BOTH_KINDS),
)
adopt(
    kept.the_consumer_is_notified_of_an_error, *_KEPT,
    of=lambda ledger: (ledger, ledger.only_the_task_calls(), ledger.consumer.polls_again()),
    needs=FAULTS, never=BOTH_KINDS,
)  # fmt: skip
adopt(
    kept.a_kept_error_fails_the_next_poll, steps.poll_for_the_error,
    of=lambda ledger: (ledger, ledger.consumer, ledger.may_find_nothing()), needs=FAULTS, never=BOTH_KINDS,
)  # fmt: skip


@rule(steps.persisted, invariant="I-34", needs=FAULTS | READBACK, quiet=True, never=BOTH_KINDS)
def a_checkpoint_that_fails_has_no_input_state(ledger: Ledger, seen: Written) -> Judgement:
    """If the start of a checkpoint fails with the channel state writer, no channel has written anything for it but the
    channels in front of the one in which the writer failed, and these what they must."""
    (checkpoint,) = seen.operands
    if checkpoint != ledger.checkpoints.failed:
        return False
    failed, unsure = not ledger.checkpoints.failed_later, False
    for number, written in enumerate(seen.value):
        input = ledger.sides[number].input
        if input.is_unsure(checkpoint):
            unsure = True  # the writer may have failed here
        elif written and (failed or tuple(written) != input.expected(checkpoint)):
            owed = f"the start of checkpoint {checkpoint} failed, so nothing may be written for it"
            where = " behind the channel in which it failed" if failed and ledger.checkpoints.failed_later else ""
            return Broken(FailureClass.LEAKED, f"{owed}{where}", f"channel {number} has written {in_words(written)}")
        elif input.expected(checkpoint) and not written:
            failed = True
    if ledger.is_unsure(checkpoint) or (unsure and not failed):
        return Unsure("operations overlapped the start of the checkpoint")
    if failed:
        return True
    owed = f"the start of checkpoint {checkpoint} failed, so some channel has not written what it must"
    return Broken(FailureClass.PROTOCOL, owed, "every channel has written it")


@rule(
    steps.release,
    steps.cancel,
    invariant="I-93",
    needs=FAULTS,
    struck=True,
    never=(*BOTH_KINDS, NO_FAILED_RELEASE),
    formerly=("a-release-answers-the-error-of-a-channel-or-none",),
)
def a_release_fails_only_with_the_error_of_a_channel(ledger: Ledger, seen: Seen[None]) -> Judgement:
    """If the release of a channel fails, the release of the gate fails with that error, of kind io, or succeeds. A
    fault strikes once."""
    struck = faults.struck_by(seen)
    if (again := faults.struck_again(ledger.faults, struck)) is not None:
        return again
    if seen.error is None or seen.error.kind is ErrorKind.IO:
        return True
    owed = "the release of a channel failed, so the release of the gate must fail with an error of kind io, or succeed"
    return Broken(FailureClass.PROTOCOL, owed, got(seen.error))


@rule(steps.resources, invariant="I-93", needs=FAULTS | RESOURCES, quiet=True, never=(*BOTH_KINDS, NO_FAILED_RELEASE))
def a_release_goes_on_where_a_channel_fails(ledger: Ledger, seen: Seen[Resources]) -> Judgement:
    """If the release of one channel fails, the gate releases the others: until it is released again, it holds no more
    than one channel can hold."""
    if not ledger.unreleased or ledger.releases:
        return False
    one = ledger.exclusive + ledger.floating + max(len(side.waiting) + len(side.live) for side in ledger.sides)
    for what, most in (("segments", one), ("listeners", 1), ("futures", 2)):
        held = getattr(seen.value, what)
        if held is not None and held > most:
            owed = f"the release of one channel failed, and the gate may hold {counted(most, what)} for that"
            return Broken(FailureClass.LEAKED, owed, f"it holds {counted(held, what)}")
    return True


# ---- goals -----------------------------------------------------------------------------------------------------------
faults.see_strikes(RULES, GatePort.can_fail, *_KEPT, steps.poll, steps.checkpoint_started, steps.release, steps.cancel)
faults.see_later_strikes(RULES, steps.convert, steps.request_partitions, steps.checkpoint_started, steps.release)


@goal(steps.poll_for_the_error, needs=FAULTS)
def a_poll_answered_an_error_that_was_kept(ledger: Ledger, seen: Polled) -> bool:
    """A poll failed with an error that had waited for it."""
    return seen.error is not None and seen.error.kind is ErrorKind.IO


@goal(steps.buffer, needs=FAULTS, struck=True)
def an_arrival_failed_in_front_of_other_data(ledger: Ledger, seen: Seen[None, int]) -> bool:
    """The channel state writer failed in an arrival while another channel had data."""
    return any(side is not ledger.sending and (side.live or side.waiting) for side in ledger.sides)


@goal(steps.convert, needs=FAULTS | IN_MEMORY, struck=True)
def a_conversion_failed_with_data_queued(ledger: Ledger, seen: Seen[None, int]) -> bool:
    """A conversion failed while recovered data was queued."""
    return any(side.waiting for side in ledger.sides)


@goal(steps.checkpoint_started, needs=FAULTS, struck=True)
def a_checkpoint_failed_behind_the_first_channel(ledger: Ledger, seen: Seen[None, int]) -> bool:
    """The channel state writer failed in the start of a checkpoint, and the first channel had nothing to write."""
    first = ledger.sides[0]
    return not (first.waiting or first.live)


@goal(steps.poll_for_the_error, needs=UNIONS | FAULTS, never=(BESIDE_OTHERS,))
def another_gate_was_polled_before_the_error(ledger: Ledger, seen: Polled) -> bool:
    """While a gate kept an error, a poll of a union returned an element."""
    return ledger.union is not None and seen.value is not None
