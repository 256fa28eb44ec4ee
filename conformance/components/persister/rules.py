"""The rules and goals of the channel state persister. Specification: persister.md."""

from __future__ import annotations

from conformance.components.persister import steps
from conformance.components.persister.ledger import Ledger
from conformance.driver import Broken, FailureClass, Judgement, Rules, Seen, answers_property
from conformance.models import faults, input_state, lifetime
from conformance.models.designs import FAULTS
from conformance.models.input_state import judge_written
from conformance.models.records import in_words, were
from conformance.models.starts import judge_refusal, judge_start
from conformance.models.words import counted, many, truth
from conformance.ports import Capability, CheckpointReason, PersisterPort, Resources

RULES = Rules[Ledger]("persister", answers_property("persister"))
rule, goal = RULES.rule, RULES.goal
RESOURCES = frozenset({Capability.RESOURCES})
READBACK = frozenset({Capability.PERSISTED_READBACK})
Written = Seen[tuple[int, ...], int]


@rule(steps.start, invariant="I-37", tickets=("FLINK-21104", "FLINK-20097"))
def a_newer_barrier_subsumes_an_older_checkpoint(ledger: Ledger, seen: Seen[None, int, int]) -> Judgement:
    """If a checkpoint starts after the barrier of a newer checkpoint was received, the start is refused with an error
    of kind checkpoint and the reason subsumed."""
    return judge_refusal(ledger.refuses, seen.operands[0], seen.error, CheckpointReason.SUBSUMED)


@rule(steps.start, invariant="I-37", tickets=("FLINK-20645",))
def a_checkpoint_starts_unless_a_newer_barrier_is_here(ledger: Ledger, seen: Seen[None, int, int]) -> Judgement:
    """The start of a checkpoint succeeds unless the barrier of a newer checkpoint was received, in whatever order
    checkpoints start."""
    return judge_start(ledger.refuses, seen.operands[0], seen.error, recovers=False)


@rule(*steps.BARRIERS, invariant="I-36", tickets=("FLINK-21104",))
def a_barrier_counts_unless_it_is_obsolete(ledger: Ledger, seen: Seen[int | None, int]) -> Judgement:
    """When an aligned, timeoutable or unaligned barrier arrives, the persister returns its checkpoint, or nothing if
    that checkpoint is over or a newer one is known."""
    (checkpoint,) = seen.operands
    owed = None if ledger.input.obsolete(checkpoint) else ledger.base + checkpoint
    if seen.value == owed:
        return True
    did = "ignored it" if seen.value is None else f"accepted it for checkpoint {seen.value}"
    if owed is None:
        why = f"{ledger.input.why_obsolete()}, so barrier {checkpoint} is obsolete and must be ignored"
    else:
        why = f"barrier {checkpoint} is not obsolete, so the persister must accept it for checkpoint {owed}"
    return Broken(FailureClass.PROTOCOL, why, f"the persister {did}")


@rule(steps.announcement, invariant="I-36", tickets=("FLINK-19681",))
def an_announcement_names_its_checkpoint(ledger: Ledger, seen: Seen[int | None, int]) -> Judgement:
    """When the announcement of a barrier arrives, the persister returns the checkpoint of the barrier and changes
    nothing."""
    checkpoint = ledger.base + seen.operands[0]
    if seen.value == checkpoint:
        return True
    owed = f"barrier {checkpoint} is announced, so the persister must return checkpoint {checkpoint}"
    answer = "nothing" if seen.value is None else f"checkpoint {seen.value}"
    return Broken(FailureClass.PROTOCOL, owed, f"it returned {answer}")


@rule(steps.no_barrier, invariant="I-36", formerly=("what-is-no-barrier-is-not-taken-for-one",))
def other_elements_are_not_taken_for_barriers(ledger: Ledger, seen: Seen[int | None, str]) -> Judgement:
    """When data arrives, or an event that is neither a barrier nor an announcement, the persister returns nothing."""
    if seen.value is None:
        return True
    owed = f"what arrived is of the kind {seen.operands[0]} and no barrier, so the persister must return nothing"
    return Broken(FailureClass.PROTOCOL, owed, f"it returned checkpoint {seen.value}")


@rule(steps.barrier_received, invariant="I-38")
def a_received_barrier_is_known_until_its_checkpoint_is_over(ledger: Ledger, seen: Seen[bool]) -> Judgement:
    """The persister reports that a barrier was received from its arrival until its checkpoint is stopped or a newer one
    starts."""
    if ledger.phase != "live":
        return False  # left open: nobody acts on what a channel returns that is released, or about to be
    received = ledger.input.received
    if seen.value == received:
        return True
    why = "was received and its checkpoint is not over" if received else "was not received, or its checkpoint is over"
    owed = f"the barrier of the newest checkpoint {why}, so `barrier_received` must return {truth(received)}"
    return Broken(FailureClass.PROTOCOL, owed, f"it returned {truth(seen.value)}")


@rule(steps.persisted, invariant="I-36", tickets=("FLINK-20654", "FLINK-20645"), needs=READBACK)
def nothing_behind_a_barrier_is_written(ledger: Ledger, seen: Written) -> Judgement:
    """The persister writes no buffer for a checkpoint that arrived behind its barrier or after the checkpoint was
    stopped, and none whose write has failed."""
    (checkpoint,) = seen.operands
    expected = ledger.input.expected(checkpoint)
    extra = tuple(record for record in seen.value if record not in expected)
    if extra:
        only = f"only {in_words(expected)}" if expected else "no record"
        owed = f"{only} may be written for checkpoint {checkpoint}"
        return Broken(FailureClass.DUPLICATED, owed, f"{were(extra)} written{' as well' if expected else ''}")
    return ledger.behind > 0


@rule(steps.persisted, invariant="I-38", tickets=("FLINK-20097",), needs=READBACK)
def a_late_stop_loses_nothing(ledger: Ledger, seen: Written) -> Judgement:
    """If an older checkpoint is stopped while a newer one waits for its barrier, the persister still writes all data in
    front of that barrier for the newer one."""
    return judge_written(ledger.input, seen.operands[0], seen.value) if ledger.late_stop else False


RULES.adopt(
    input_state.data_in_front_of_a_barrier_is_written_once,
    steps.persisted,
    of=lambda ledger: ledger.input,
    needs=READBACK,
)


@rule(steps.resources, invariant="I-93", needs=RESOURCES)
def a_persister_holds_only_what_it_has_written(ledger: Ledger, seen: Seen[Resources]) -> Judgement:
    """Before its release, the persister holds at most one segment for each record that it has written: it keeps neither
    what it did not write nor the known buffers of a checkpoint that it refused."""
    if ledger.failed or seen.value.segments is None:
        return False
    most, held = ledger.written(), seen.value.segments
    if held <= most:
        return True
    owed = f"the persister has written {many(most, 'record')}, so it may hold {counted(most, 'segments')}"
    return Broken(FailureClass.LEAKED, owed, f"it holds {counted(held, 'segments')}")


RULES.adopt(faults.an_operation_fails_with_what_it_calls, steps.start, steps.buffer, needs=FAULTS)
faults.see_strikes(RULES, PersisterPort.can_fail, steps.start, steps.buffer)
RULES.adopt(lifetime.after_release_nothing_is_held, steps.resources, needs=RESOURCES)


# ---- goals -----------------------------------------------------------------------------------------------------------
@goal(steps.start)
def a_checkpoint_was_subsumed(ledger: Ledger, seen: Seen[None, int, int]) -> bool:
    """The barrier of a newer checkpoint had been received when a checkpoint started."""
    return ledger.input.subsumes(seen.operands[0])


@goal(steps.start)
def a_checkpoint_had_a_large_id(ledger: Ledger, seen: Seen[None, int, int]) -> bool:
    """A checkpoint started whose id does not fit into 32 bits."""
    return ledger.base + seen.operands[0] >= 2**32


@goal(steps.stop)
def an_older_checkpoint_was_stopped_late(ledger: Ledger, seen: Seen[None, int]) -> bool:
    """An older checkpoint was stopped while a newer one was pending or over."""
    return ledger.input.awaited() > seen.operands[0]


@goal(steps.barrier)
def a_barrier_was_obsolete(ledger: Ledger, seen: Seen[int | None, int]) -> bool:
    """A barrier arrived after its checkpoint was over or a newer one was known."""
    return ledger.input.obsolete(seen.operands[0])


@goal(steps.start)
def a_barrier_came_before_its_checkpoint_started(ledger: Ledger, seen: Seen[None, int, int]) -> bool:
    """A checkpoint started after its barrier had arrived."""
    return ledger.input.received and ledger.input.last == seen.operands[0]


@goal(steps.barrier)
def a_newer_barrier_overtook_a_pending_checkpoint(ledger: Ledger, seen: Seen[int | None, int]) -> bool:
    """A newer barrier arrived while an older checkpoint waited for its barrier."""
    return 0 < ledger.input.awaited() < seen.operands[0]
