"""The rules of the channel state writers. Specification: writer.md."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from conformance.components.writer import steps
from conformance.components.writer.ledger import Ledger
from conformance.components.writer.results import COMPLETED, Due
from conformance.components.writer.words import channel_state, executors_of, subtasks
from conformance.driver import Broken, FailureClass, Judgement, Rules, Seen, answers_property, thread_properties
from conformance.models import lifetime
from conformance.models.designs import RESOURCES
from conformance.models.words import counted, must_fail, must_succeed
from conformance.ports import (
    BufferRecycled,
    ChannelState,
    ChannelStateCompleted,
    ChannelStateFailed,
    ErrorKind,
    Request,
    RequestKind,
    Resources,
)

RULES = Rules[Ledger]("writer", answers_property("writer"), *thread_properties("writer"))
rule, adopt = RULES.rule, RULES.adopt


# ---- requests --------------------------------------------------------------------------------------------------------
@rule(steps.execute, invariant="I-61", tickets=("FLINK-17564",))
def requests_are_executed_in_order(ledger: Ledger, seen: Seen[Request | None, int]) -> Judgement:
    """The requests of a subtask are executed in the order in which they were made, each once. Only an abort overtakes
    others."""
    request, executor = seen.value, ledger.at_work
    if request is None:
        return False
    queued, complaint = executor.find(request.subtask, request.kind, request.checkpoint)
    if complaint and (queued is None or queued.is_ready):
        what = f"a request of kind {request.kind} of subtask {request.subtask} for checkpoint {request.checkpoint}"
        return Broken(FailureClass.REORDERED, complaint, f"{what} was executed")
    return True


@rule(steps.execute, invariant="I-66", tickets=("FLINK-27251",))
def a_request_waits_for_its_buffers(ledger: Ledger, seen: Seen[Request | None, int]) -> Judgement:
    """A request is not executed before the buffers are there that were promised for it."""
    request, executor = seen.value, ledger.at_work
    if request is None or request.kind is not RequestKind.OUTPUT or not ledger.futures.open:
        return False
    queued, _ = executor.find(request.subtask, request.kind, request.checkpoint)
    if queued is not None and not queued.is_ready:
        owed = f"subtask {request.subtask} has promised buffers for checkpoint {request.checkpoint}"
        return Broken(FailureClass.PROTOCOL, f"{owed}, and the request must wait for them", "the request was executed")
    return True


@rule(steps.execute, invariant="I-66", tickets=("FLINK-27251", "FLINK-24667"))
def what_is_ready_is_executed(ledger: Ledger, seen: Seen[Request | None, int]) -> Judgement:
    """An executor executes a request if any of its subtasks has one that is ready. Promised buffers hold up only the
    requests of their own subtask."""
    executor = ledger.at_work
    if seen.value is not None or not ledger.alone:
        return seen.value is not None
    queued = executor.waiting()
    if queued is None:
        return True
    owed = f"a request of kind {queued.kind} for checkpoint {queued.checkpoint} is ready, so it must be executed"
    return Broken(FailureClass.STUCK, owed, "the executor had nothing to do")


@rule(steps.execute, invariant="I-62", tickets=("FLINK-28474",))
def an_abort_is_executed_first(ledger: Ledger, seen: Seen[Request | None, int]) -> Judgement:
    """Once an abort was queued, it is executed before all other requests."""
    executor = ledger.at_work
    if not executor.aborts_queued or not ledger.alone:
        return False
    if seen.value is not None and seen.value.kind is RequestKind.ABORT:
        return True
    subtask, checkpoint = executor.aborts_queued[0]
    owed = f"subtask {subtask} has aborted checkpoint {checkpoint}, which must be executed first"
    return Broken(FailureClass.STUCK, owed, "another request was executed" if seen.value else "nothing was executed")


@rule(steps.start, invariant="I-62")
def a_subtask_starts_a_checkpoint_once(ledger: Ledger, seen: Seen[None, int, int]) -> Judgement:
    """A start is refused with an error of kind argument if the subtask has a result for this checkpoint."""
    if ledger.refusal != ErrorKind.ARGUMENT:
        return False
    return must_fail(seen.error, ErrorKind.ARGUMENT, f"the subtask has a result for checkpoint {seen.operands[1]}")


@rule(steps.start, invariant="I-62")
def results_are_taken_before_more_are_opened(ledger: Ledger, seen: Seen[None, int, int]) -> Judgement:
    """A start is refused with an error of kind state if the subtask has as many results as the configuration allows,
    and only then. A result that was taken or aborted does not count."""
    if ledger.refusal == ErrorKind.ARGUMENT:
        return False
    if ledger.refusal:
        return must_fail(seen.error, ErrorKind.STATE, "the subtask has too many results")
    return must_succeed(seen.error, "the checkpoint is new to the subtask, which must start it")


@rule(steps.take_result, invariant="I-62")
def a_result_is_taken_once(ledger: Ledger, seen: Seen[None, int, int]) -> Judgement:
    """A subtask can take a result that it has neither taken nor aborted, and no other."""
    subtask, checkpoint = seen.operands
    if checkpoint in ledger.subtasks[subtask].results:
        return must_succeed(seen.error, f"the subtask has started checkpoint {checkpoint}, so it can take the result")
    return must_fail(seen.error, ErrorKind.ARGUMENT, f"the subtask has no result for checkpoint {checkpoint}")


@rule(steps.add_input, invariant="I-60")
def input_is_refused_only_when_the_subtask_has_closed(ledger: Ledger, seen: Seen[None, int, int, int]) -> Judgement:
    """Input is taken as long as the subtask is registered. Later it may be refused, with an error of kind released."""
    if seen.error is None:
        return ledger.subtasks[seen.operands[0]].executor is not None
    if ledger.subtasks[seen.operands[0]].executor is not None and ledger.alone:
        return must_succeed(seen.error, "the subtask is registered, so its input must be taken")
    return must_fail(seen.error, ErrorKind.RELEASED, "the subtask has closed")


# ---- results ---------------------------------------------------------------------------------------------------------
ENDED = ChannelStateCompleted, ChannelStateFailed


def _owed(due: Due) -> str:
    subtask, checkpoint = due.key
    ends = " or ".join("be completed" if one == COMPLETED else f"fail ({one})" for one in due.ends[:2])
    return (
        f"the result of subtask {subtask} for checkpoint {checkpoint} must {ends or 'stay open: nothing has ended it'}"
    )


def _ended(due: Due, end: str) -> Broken:
    did = "the result was completed" if end == COMPLETED else f"it has failed ({end})"
    return Broken(FailureClass.PROTOCOL, _owed(due), did)


def _missing(due: Due) -> Broken:
    return Broken(FailureClass.ORPHANED, _owed(due), "the result is open")


def _ending(invariant: str, *tickets: str) -> Callable[[Callable[[], None]], None]:
    """Declares a rule about results that must end when a request is executed, or when an executor stops. The ledger
    names it in `Due.why`. If no result has ended at all, `a_result_that_must_end_is_not_left_open` judges that."""

    def declare(rule_of: Callable[[], None]) -> None:
        slug = rule_of.__name__

        def check(ledger: Ledger, seen: Seen[Any, *tuple[Any, ...]]) -> Judgement:
            for due, end in ledger.results.wrong:
                if due.why == slug:
                    return _ended(due, end)
            if not ledger.results.in_flight:
                for due in ledger.results.due:
                    if due.why == slug:
                        return _missing(due)
            return slug in ledger.results.settled

        check.__name__, check.__doc__ = slug, rule_of.__doc__
        rule(*steps.ENDINGS, invariant=invariant, tickets=tickets, after_learning=True, signals=ENDED)(check)

    return declare


@_ending("I-62", "FLINK-25305")
def a_result_is_completed_when_every_part_is() -> None:
    """Once every subtask of a file has said that its input and its output are complete, and everything before was
    executed, all results of the file are completed, in this operation."""


@_ending("I-62", "FLINK-28474")
def an_aborted_checkpoint_fails_with_its_cause() -> None:
    """If a subtask aborts a checkpoint, or its promised output fails, its result fails for the reason that it gave."""


@_ending("I-65", "FLINK-26803")
def an_abort_fails_the_others_as_shared() -> None:
    """If a subtask aborts a checkpoint, the results of the other subtasks of the file fail with the reason
    shared-stream, and not for the reason that the subtask gave."""


@_ending("I-66", "FLINK-27251")
def a_failed_future_fails_its_checkpoint() -> None:
    """If promised output fails, the results of the other subtasks of the file fail with the reason shared-stream, those
    of subtasks that start it later too."""


@_ending("I-62")
def an_abort_fails_what_is_older() -> None:
    """If a subtask aborts a checkpoint that is newer than the one that is written, the results of the older one fail
    with the reason declined-subsumed."""


@_ending("I-62")
def a_newer_checkpoint_fails_what_is_unfinished() -> None:
    """If a subtask starts a newer checkpoint than the one that is written, the results of the older one fail with the
    reason declined-subsumed."""


@_ending("I-62", "FLINK-28474")
def a_start_of_a_checkpoint_that_is_over_fails() -> None:
    """The start of a checkpoint that was aborted, or is older than another one, fails its result: for the reason of the
    abort if the subtask itself has aborted it, with the reason shared-stream if another subtask has, else with the
    reason declined-subsumed."""


@_ending("I-63", "FLINK-24667")
def a_failed_write_fails_its_checkpoint() -> None:
    """If a file cannot be made, written, flushed or closed, or spilled input cannot be read, the results of its
    checkpoint fail, those of subtasks that start it later too."""


@_ending("I-62", "FLINK-26803")
def no_result_stays_open_when_its_executor_stops() -> None:
    """When an executor stops, all results fail that have not ended."""


@rule(*steps.ENDINGS, invariant="I-62", tickets=("FLINK-25305",), after_learning=True, signals=ENDED)
def a_result_ends_for_a_reason(ledger: Ledger, seen: Seen[Any, *tuple[Any, ...]]) -> Judgement:
    """No result is completed before every part of its file was executed, and none fails unless its checkpoint was
    aborted or subsumed, its file or its input has failed, or its executor has stopped."""
    for due, end in ledger.results.wrong:
        if not due.ends:
            return _ended(due, end)
    return bool(ledger.results.settled)


@rule(*steps.ENDINGS, invariant="I-62", tickets=("FLINK-28474",), after_learning=True)
def a_result_that_must_end_is_not_left_open(ledger: Ledger, seen: Seen[Any, *tuple[Any, ...]]) -> Judgement:
    """If an operation must complete or fail results, it completes or fails at least one of them."""
    if ledger.results.in_flight or not ledger.results.due:
        return bool(ledger.results.settled)
    return _missing(ledger.results.due[0])


@rule(*steps.ENDINGS, invariant="I-62", after_learning=True, signals=ENDED)
def a_result_ends_once(ledger: Ledger, seen: Seen[Any, *tuple[Any, ...]]) -> Judgement:
    """A result is completed or fails once."""
    if ledger.results.again is None:
        return bool(ledger.results.settled)
    (subtask, checkpoint), before, now = ledger.results.again
    owed = f"the result of subtask {subtask} for checkpoint {checkpoint} has ended ({before})"
    return Broken(FailureClass.DUPLICATED, owed, f"it ended again ({now})")


# ---- buffers ---------------------------------------------------------------------------------------------------------
@rule(*steps.RECYCLES, invariant="I-60", tickets=("FLINK-20654",), after_learning=True, signals=(BufferRecycled,))
def a_buffer_is_recycled_once(ledger: Ledger, seen: Seen[Any, *tuple[Any, ...]]) -> Judgement:
    """Each buffer that was handed in is recycled once."""
    if ledger.buffers.given_back_twice < 0:
        return True
    what = f"the buffer of record {ledger.buffers.given_back_twice} was recycled again"
    return Broken(FailureClass.DUPLICATED, "each buffer must be recycled once", what)


@rule(*steps.RECYCLES, invariant="I-60", tickets=("FLINK-40667",), after_learning=True, signals=(BufferRecycled,))
def a_buffer_is_kept_until_it_is_written(ledger: Ledger, seen: Seen[Any, *tuple[Any, ...]]) -> Judgement:
    """A buffer is not recycled while its request is in the queue, unless its checkpoint is over."""
    if ledger.buffers.given_back_early < 0:
        return True
    owed = f"the buffer of record {ledger.buffers.given_back_early} waits to be written, so it must not be recycled"
    return Broken(FailureClass.CORRUPTED, owed, "it was recycled")


@rule(*steps.RECYCLES, invariant="I-60", tickets=("FLINK-20654", "FLINK-40667"), after_learning=True)
def a_buffer_is_recycled_when_it_is_not_needed(ledger: Ledger, seen: Seen[Any, *tuple[Any, ...]]) -> Judgement:
    """A buffer is recycled as soon as its request was executed, or refused, or will never be executed because the
    executor has stopped."""
    if ledger.results.in_flight or ledger.flying or not ledger.buffers.owed:
        return BufferRecycled in map(type, seen.signals)
    owed = f"the buffer of record {ledger.buffers.owed[0]} is not needed any more"
    return Broken(FailureClass.LEAKED, f"{owed}, and must be recycled", "it was not recycled")


@rule(steps.fail, invariant="I-60", after_learning=True)
def no_buffer_is_kept_after_the_release(ledger: Ledger, seen: Seen[None]) -> Judgement:
    """When the writer is released, it recycles all buffers that it has."""
    if ledger.released_in_operation:
        return False
    if not ledger.buffers.held:
        return ledger.buffers.total > 0
    return Broken(
        FailureClass.LEAKED,
        "the writer was released, so it must keep no buffer",
        f"it keeps the buffer of record {ledger.buffers.held[0]}",
    )


# ---- what is stored --------------------------------------------------------------------------------------------------
@rule(steps.read_back, invariant="I-61", tickets=("FLINK-26803",))
def what_is_read_back_is_what_was_handed_in(
    ledger: Ledger, seen: Seen[tuple[ChannelState, ...] | None, int, int]
) -> Judgement:
    """What is read back of a completed result is what its subtask has handed in, for each channel in order, and nothing
    else, whatever other subtasks have written to the same file."""
    key = seen.operands
    if key not in ledger.results.stored:
        return False
    written = ledger.files.written.get(key, {})
    owed = tuple(ChannelState(*state, tuple(written[state])) for state in sorted(written))
    if seen.value == owed:
        return True
    what = f"subtask {key[0]} has handed in for checkpoint {key[1]}: {channel_state(owed)}"
    return Broken(FailureClass.CORRUPTED, what, f"this was read back: {channel_state(seen.value)}")


@rule(steps.read_back, invariant="I-63")
def nothing_is_read_back_of_what_is_not_completed(
    ledger: Ledger, seen: Seen[tuple[ChannelState, ...] | None, int, int]
) -> Judgement:
    """Nothing can be read back of a result that is open or has failed."""
    if seen.operands in ledger.results.stored or ledger.results.in_flight:
        return False
    if seen.value is None:
        return True
    subtask, checkpoint = seen.operands
    owed = f"the result of subtask {subtask} for checkpoint {checkpoint} is not completed, so nothing may be read back"
    return Broken(FailureClass.PROTOCOL, owed, f"this was read back: {channel_state(seen.value)}")


@rule(steps.files, invariant="I-64")
def a_file_is_left_only_of_what_is_stored(ledger: Ledger, seen: Seen[tuple[int, ...]]) -> Judgement:
    """A file exists only of a checkpoint that is written now, or of which something is stored. A file in which nothing
    but its header was written is deleted."""
    if ledger.results.in_flight:
        return False
    allowed = [executor.ongoing for executor in ledger.executors if executor.is_open]
    allowed += ledger.files.complete
    for checkpoint in seen.value:
        if checkpoint not in allowed:
            owed = (
                f"nothing is stored of checkpoint {checkpoint}, and it is not being written, so there must be no file"
            )
            return Broken(FailureClass.LEAKED, owed, "there is a file")
        allowed.remove(checkpoint)
    return bool(ledger.results.ended)


@rule(steps.files, invariant="I-64")
def what_is_stored_has_a_file(ledger: Ledger, seen: Seen[tuple[int, ...]]) -> Judgement:
    """Of a checkpoint of which something is stored, the file exists."""
    if ledger.results.in_flight:
        return False
    left = list(seen.value)
    for checkpoint in ledger.files.complete:
        if checkpoint not in left:
            owed = f"something is stored of checkpoint {checkpoint}, so its file must exist"
            return Broken(FailureClass.LOST, owed, "there is no such file")
        left.remove(checkpoint)
    return bool(ledger.files.complete)


# ---- executors -------------------------------------------------------------------------------------------------------
@rule(steps.register, invariant="I-67", tickets=("FLINK-32049", "FLINK-26803"))
def a_subtask_joins_an_executor_that_others_can_join(ledger: Ledger, seen: Seen[tuple[int, ...], int]) -> Judgement:
    """A subtask that registers shares an executor with others if one is running that has fewer subtasks than may share
    it, of which none has closed, and that has started no checkpoint. Otherwise it gets an executor of its own."""
    subtask = seen.operands[0]
    shared = ledger.shared_by(seen.value, subtask)
    others = sorted(one for one in seen.value if one != subtask)
    if subtask not in seen.value or (others and (shared is None or others != sorted(shared.users))):
        owed = "`register` must return the subtasks that use the executor"
        return Broken(FailureClass.PROTOCOL, owed, f"it returned {subtasks(seen.value)}")
    if not ledger.alone:
        return False
    owing = ledger.joinable()
    if shared is owing:
        return True
    what = f"shares an executor with {subtasks(others)}" if others else "has an executor of its own"
    if owing is None:
        return Broken(
            FailureClass.PROTOCOL,
            "no executor can be joined, so the subtask must get its own",
            f"subtask {subtask} {what}",
        )
    owed = f"subtask {subtask} must join the executor of {subtasks(sorted(owing.users))}"
    return Broken(FailureClass.PROTOCOL, owed, f"it {what}")


@rule(steps.executors, invariant="I-67", tickets=("FLINK-32049", "FLINK-26803"))
def an_executor_runs_as_long_as_a_subtask_uses_it(ledger: Ledger, seen: Seen[tuple[tuple[int, ...], ...]]) -> Judgement:
    """An executor runs from the registration of its first subtask until its last one has closed. To close a subtask
    twice changes nothing."""
    if ledger.flying:
        return False
    owed = tuple(sorted(tuple(sorted(executor.users)) for executor in ledger.executors))
    if seen.value == owed:
        return bool(owed)
    return Broken(
        FailureClass.PROTOCOL,
        f"running executors must be: {executors_of(owed)}",
        f"running executors are: {executors_of(seen.value)}",
    )


@rule(steps.resources, invariant="I-60", needs=RESOURCES)
def only_what_is_needed_is_held(ledger: Ledger, seen: Seen[Resources]) -> Judgement:
    """The writer holds no more segments than buffers that were handed in and not recycled, no more open files than
    checkpoints that are written, and no more futures than results that are open."""
    if ledger.phase != "live" or ledger.flying:
        return False
    most = {
        "segments": len(ledger.buffers.held),
        "open_files": sum(executor.is_open for executor in ledger.executors),
        "futures": sum(
            (number, checkpoint) not in ledger.results.ended
            for number, one in enumerate(ledger.subtasks)
            for checkpoint in one.results
        ),
    }
    for what, number in most.items():
        held = getattr(seen.value, what)
        if held is not None and held > number:
            return Broken(
                FailureClass.LEAKED, f"the writer may hold {counted(number, what)}", f"it holds {counted(held, what)}"
            )
    return True


adopt(lifetime.after_release_nothing_is_held, steps.resources, needs=RESOURCES)
