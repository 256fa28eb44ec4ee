"""The rules and goals of a subpartition that are about faults. Specification: subpartition.md, S28 to S30."""

from __future__ import annotations

from conformance.components.subpartition import steps
from conformance.components.subpartition.ledger import DESERTED, Ledger
from conformance.driver import Broken, FailureClass, Judgement, Rules, Seen
from conformance.models import faults
from conformance.models.designs import FAULTS, READBACK, TIMEOUTABLE
from conformance.ports import (
    AVAILABILITY_LISTENER,
    CHANNEL_STATE_WRITER,
    BufferAndBacklog,
    FaultKind,
    FaultStruck,
    OutputState,
    StateStatus,
    SubpartitionPort,
)

RULES = Rules[Ledger]("subpartition")
rule, goal = RULES.rule, RULES.goal
_UNTOLD = FaultStruck(AVAILABILITY_LISTENER, FaultKind.THROWS)
_NOT_TAKEN = FaultStruck(CHANNEL_STATE_WRITER, FaultKind.THROWS)

RULES.adopt(
    faults.an_operation_fails_with_what_it_calls, *steps.NOTIFIES, steps.poll, steps.resume, steps.attach_view,
    steps.available, needs=FAULTS,
)  # fmt: skip
faults.see_strikes(RULES, SubpartitionPort.can_fail, *steps.NOTIFIES, steps.poll)


@rule(*steps.READS, invariant="I-62", needs=READBACK | FAULTS)
def what_the_writer_did_not_take_is_no_output_state(ledger: Ledger, seen: Seen[OutputState, int]) -> Judgement:
    """If the channel state writer fails when a barrier is added, there is no output state for its checkpoint, not even
    one without a record, and after the release no channel state future is open for it."""
    if not ledger.checkpoints.unwritten or seen.operands[0] not in ledger.checkpoints.unwritten:
        return False
    checkpoint = seen.operands[0]
    got = seen.value.status
    owed = f"the channel state writer has failed when barrier {checkpoint} was added"
    if got is StateStatus.WRITTEN:
        return Broken(FailureClass.PROTOCOL, f"{owed}: nothing may count as written", "the output state is written")
    if got is StateStatus.PENDING and ledger.released:
        what = f"{owed}: after the release, no channel state future may be open for it"
        return Broken(FailureClass.ORPHANED, what, "one is open")
    return True


@rule(steps.poll, invariant="I-90", needs=FAULTS, formerly=("a-poll-answers-that-the-producer-has-failed",))
def a_poll_fails_if_the_producer_has_failed(ledger: Ledger, seen: Seen[BufferAndBacklog | None]) -> Judgement:
    """If the producer has failed, a poll returns what was added before, or fails with the error; it does not return
    nothing."""
    if ledger.phase != DESERTED:
        return False
    if seen.value is not None:
        return True
    owed = "the producer has failed, so a poll that finds nothing must fail"
    return Broken(FailureClass.STUCK, owed, "it returned nothing")


# ---- goals -----------------------------------------------------------------------------------------------------------
@goal(steps.poll, needs=FAULTS, struck=True)
def the_producer_had_failed_behind_what_blocks(ledger: Ledger, seen: Seen[BufferAndBacklog | None]) -> bool:
    """A poll of a blocked subpartition reported that the producer had failed."""
    return ledger.blocked


@goal(steps.recover, steps.finish_recovery, needs=FAULTS, struck=True)
def a_notification_failed_during_recovery(ledger: Ledger, seen: Seen[None]) -> bool:
    """The notification of recovered output state failed."""
    return _UNTOLD in seen.signals


@goal(steps.finish, needs=FAULTS, struck=True)
def the_notification_of_the_end_failed(ledger: Ledger, seen: Seen[None]) -> bool:
    """The notification of the end of partition failed."""
    return _UNTOLD in seen.signals


@goal(steps.flush, needs=FAULTS, struck=True)
def the_notification_of_a_flush_failed(ledger: Ledger, seen: Seen[None]) -> bool:
    """The notification of records in an unfinished buffer failed."""
    return _UNTOLD in seen.signals


@goal(steps.aligned_timeout, needs=FAULTS | TIMEOUTABLE, struck=True)
def the_notification_of_a_converted_barrier_failed(ledger: Ledger, seen: Seen[None, int]) -> bool:
    """The notification of a barrier failed that an alignment timeout had made unaligned."""
    return _UNTOLD in seen.signals


@goal(steps.timeoutable_barrier, needs=FAULTS | TIMEOUTABLE, struck=True)
def the_writer_did_not_take_a_future(ledger: Ledger, seen: Seen[bool, int]) -> bool:
    """The channel state writer did not take the channel state future of a barrier while an older one was open."""
    return _NOT_TAKEN in seen.signals and ledger.checkpoints.open_future > 0


@goal(steps.unaligned_barrier, needs=FAULTS, struck=True)
def the_writer_did_not_take_overtaken_data(ledger: Ledger, seen: Seen[bool, int]) -> bool:
    """The channel state writer did not take the data that an unaligned barrier overtook."""
    return _NOT_TAKEN in seen.signals
