"""The rules of the restore of a task. Specification: task-restore.md."""

from __future__ import annotations

from typing import Any

from conformance.components.task_restore import steps
from conformance.components.task_restore.ledger import OVER, Ledger
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
from conformance.models import faults, lifetime, recovered_state
from conformance.models.designs import FAULTS, READBACK, RESOURCES
from conformance.models.fault_words import call_at
from conformance.models.signal_words import signalled
from conformance.models.words import got, must_fail, must_succeed, refusal
from conformance.ports import (
    ALL_GATES,
    CHANNEL_STATE_WRITER,
    SPILL_FILE_OPEN,
    SPILL_FILE_READ,
    SPILL_FILE_READ_ON,
    CheckpointReason,
    ElementTaken,
    ErrorKind,
    GateConverted,
    OperatorsOpened,
    OutputStateRestored,
    Signal,
    TaskRestorePort,
    TaskState,
    TaskStateChanged,
    Turn,
)

TURN_OVER = Turn.OVER
"""Module variables, because looking up a member of an enumeration is slow in Python 3.11."""

RULES = Rules[Ledger]("task-restore", answers_property("task-restore"), *thread_properties("task-restore"))

rule, adopt = RULES.rule, RULES.adopt
Acted = Seen[Any, *tuple[Any, ...]]
READING = (SPILL_FILE_OPEN, SPILL_FILE_READ, SPILL_FILE_READ_ON)
"""What is called while spill files are read."""
_CLOSING = (CheckpointReason.TASK_CLOSING, CheckpointReason.DECLINED_TASK_NOT_READY)
BUSY = (steps.turn, steps.read)
"""The steps in which the threads of the task look for something to do."""


# ---- what the operators get ------------------------------------------------------------------------------------------
@rule(steps.turn, invariant="I-09", tickets=("FLINK-39018",), after_learning=True, signals=(ElementTaken,))
def recovered_records_come_first_and_each_record_comes_once(ledger: Ledger, seen: Seen[Turn]) -> Judgement:
    """From each channel the operators get the recovered records and then the live ones, each once and in order, and
    the end of partition last."""
    if ledger.found.out_of_turn is None:
        return True
    channel, owed, came = ledger.found.out_of_turn
    return Broken(FailureClass.REORDERED, f"{owed} is the next in channel {channel}", f"the operators got {came}")


@rule(steps.turn, invariant="I-87", tickets=("FLINK-38544",), after_learning=True, signals=(ElementTaken,))
def no_record_is_processed_before_its_gate_is_converted(ledger: Ledger, seen: Seen[Turn]) -> Judgement:
    """The operators get no live data out of a gate before its conversion. Where recovered data is pushed, they get
    nothing before."""
    if ledger.found.before_conversion is None:
        return True
    channel = ledger.found.before_conversion
    owed = f"gate {ledger.recovered.channels[channel][0]} was not converted, so the operators must get nothing from it"
    return Broken(FailureClass.PROTOCOL, owed, f"they got a record of channel {channel}")


@rule(steps.turn, invariant="I-87", after_learning=True, signals=(ElementTaken,))
def operators_get_only_what_they_read(ledger: Ledger, seen: Seen[Turn]) -> Judgement:
    """The operators get elements only out of the gate that they have selected, if they have."""
    if ledger.found.not_read is None:
        return True
    owed = f"the operators read gate {ledger.selected} only, so they must get nothing from another one"
    return Broken(FailureClass.PROTOCOL, owed, f"they got an element of channel {ledger.found.not_read}")


# ---- conversion ------------------------------------------------------------------------------------------------------
@rule(*steps.ACTS, invariant="I-55", tickets=("FLINK-40518",), after_learning=True,
      signals=(GateConverted, TaskStateChanged),
      never=(Never(Setting("recover-first"), "It has no checkpoints during recovery to disable."),))  # fmt: skip
def without_all_three_settings_recovered_data_is_processed_first(ledger: Ledger, seen: Acted) -> Judgement:
    """Unless unaligned checkpoints, the recovery of output state downstream and checkpointing during recovery are all
    enabled, a gate is converted and the task runs only after the operators got all recovered data."""
    if ledger.recovery is ledger.config.recovery:
        return False
    owed = "not all three settings are enabled, so the operators must get all recovered data first"
    if ledger.found.converted_early >= 0:
        return Broken(FailureClass.LOST, owed, f"gate {ledger.found.converted_early} was converted before that")
    if ledger.found.early and ledger.state is TaskState.RUNNING:
        return Broken(FailureClass.LOST, owed, "the task runs before that")
    return True


@rule(*steps.ACTS, invariant="I-27", after_learning=True, signals=(GateConverted,))
def a_gate_is_converted_once_and_loses_nothing(ledger: Ledger, seen: Acted) -> Judgement:
    """A gate is converted once. Where recovered data is processed first, the operators got all of it before."""
    if ledger.found.converted_again >= 0:
        return Broken(
            FailureClass.DUPLICATED,
            f"gate {ledger.found.converted_again} was converted before",
            "it was converted again",
        )
    if ledger.found.converted_early >= 0:
        owed = f"gate {ledger.found.converted_early} has recovered data that the operators did not get"
        return Broken(FailureClass.LOST, owed, "it was converted")
    return True


@rule(*BUSY, invariant="I-26", tickets=("FLINK-38544",), after_learning=True)
def a_gate_does_not_wait_for_the_others(ledger: Ledger, seen: Acted) -> Judgement:
    """When neither the executor nor the task has anything to do, every gate was converted; where recovered data is
    processed first, every gate that the operators read. What these gates have was taken."""
    if ledger.kept or not (ledger.lookers.all_found_nothing() and ledger.is_live()):
        return False
    for gate in range(len(ledger.recovered.gates)):
        if not ledger.converted[gate] and (ledger.reads(gate) or not ledger.processes_first()):
            return Broken(
                FailureClass.STUCK, f"nothing holds up gate {gate}, so it must be converted", "it was not converted"
            )
    for channel in ledger.recovered.not_empty():
        if ledger.reads(ledger.recovered.channels[channel][0]):
            owed = f"the operators read channel {channel}, which is not empty, so the task must not wait"
            return Broken(FailureClass.STUCK, owed, "the task waits")
    return bool(ledger.recovered.gates)


# ---- how far the task is ---------------------------------------------------------------------------------------------
@rule(
    *steps.ACTS,
    invariant="I-89",
    after_learning=True,
    signals=(TaskStateChanged,),
    formerly=("a-task-gets-only-further",),
)
def task_states_never_go_back(ledger: Ledger, seen: Acted) -> Judgement:
    """A task initializes, runs and finishes; from the first two of these it can fail or be cancelled. No state comes
    twice, and none follows the last."""
    if ledger.found.state is None:
        return True
    before, after = ledger.found.state
    return Broken(
        FailureClass.PROTOCOL,
        f"a task initializes, runs and then finishes, and this one was {before}",
        f"then it was {after}",
    )


@rule(*BUSY, invariant="I-88", tickets=("FLINK-38544",), after_learning=True, signals=(TaskStateChanged,))
def the_restore_ends_when_every_gate_has_recovered(ledger: Ledger, seen: Acted) -> Judgement:
    """The task runs only once every gate has recovered: all recovered data was taken, unless it is kept in memory. A
    gate that was not converted by then is converted before the task waits; where recovered data is pushed, the task
    runs only after the conversion. It finishes only once the end of every channel was taken."""
    if not ledger.found.early:
        return ledger.state in (TaskState.RUNNING, TaskState.FINISHED)
    return Broken(
        FailureClass.LOST, f"{ledger.found.early}, so the task must not be {ledger.state}", f"it was {ledger.state}"
    )


@rule(*BUSY, invariant="I-98", tickets=("FLINK-38544",), after_learning=True)
def a_restore_comes_to_an_end(ledger: Ledger, seen: Acted) -> Judgement:
    """When neither the executor nor the task has anything to do and the operators read all gates, the task runs; if
    every channel has ended, it is over."""
    if (
        ledger.kept
        or not ledger.lookers.all_found_nothing()
        or not all(ledger.reads(gate) for gate in range(len(ledger.recovered.gates)))
    ):
        return False
    if ledger.state is TaskState.INITIALIZING:
        return Broken(FailureClass.STUCK, "nothing is left to recover, so the task must run", "it still initializes")
    if ledger.state is TaskState.RUNNING and ledger.recovered.has_ended():
        return Broken(FailureClass.STUCK, "every channel has ended, so the task must finish", "it still runs")
    return True


@rule(steps.restore_state, invariant="I-09", tickets=("FLINK-19907",))
def output_state_is_restored_before_the_operators_open(ledger: Ledger, seen: Seen[None]) -> Judgement:
    """The recovered output state is in the result partitions before the operators open and may emit."""
    if seen.error is not None:
        return False
    told = [one for one in seen.signals if type(one) in (OutputStateRestored, OperatorsOpened)]
    due: list[Signal] = [OutputStateRestored(ledger.config.output_state), OperatorsOpened()]
    if told == due:
        return True
    owed = f"this must be signalled, in this order: {'; '.join(map(signalled, due))}"
    return Broken(FailureClass.REORDERED, owed, f"this was signalled: {'; '.join(map(signalled, told)) or 'neither'}")


@rule(*steps.ACTS[1:], steps.select, steps.checkpoint, steps.buffer, steps.end_of_partition, invariant="I-09")
def the_operators_open_once(ledger: Ledger, seen: Acted) -> Judgement:
    """Once the task has begun to restore, neither the operators open again nor is output state restored again."""
    again = [one for one in seen.signals if type(one) in (OutputStateRestored, OperatorsOpened)]
    owed = "the operators have opened, and the output state was restored, when the restore began: once"
    if again:
        return Broken(FailureClass.DUPLICATED, owed, f"this was signalled again: {signalled(again[0])}")
    return bool(seen.signals)


@rule(steps.restore_state, invariant="I-91", tickets=("FLINK-38544",))
def a_task_that_cannot_spill_fails_at_once(ledger: Ledger, seen: Seen[None]) -> Judgement:
    """A task that would have to spill and has no directory for it fails, with an error of kind argument. A task that
    spills nothing needs no directory."""
    if ledger.has_directory():
        return must_succeed(seen.error, "the task has all that it needs, so it must begin to restore")
    return must_fail(seen.error, ErrorKind.ARGUMENT, "there is no directory to spill into")


@rule(steps.turn, invariant="I-92")
def a_task_that_is_over_does_nothing(ledger: Ledger, seen: Seen[Turn]) -> Judgement:
    """A turn that begins after the task has finished, failed or was cancelled says that it is over, and does nothing
    else."""
    return _nothing_more(seen, seen.value is TURN_OVER) if ledger.was_over["turn"] else False


@rule(steps.read, invariant="I-92", tickets=("FLINK-38544",))
def an_executor_reads_nothing_for_a_task_that_is_over(ledger: Ledger, seen: Seen[bool]) -> Judgement:
    """After the task has finished, failed or was cancelled, the executor has nothing to do, and that is no error."""
    return _nothing_more(seen, seen.value is False) if ledger.was_over["read"] else False


def _nothing_more(seen: Acted, says_so: bool) -> Judgement:
    if seen.signals:
        return Broken(
            FailureClass.PROTOCOL,
            "the task is over, so nothing more may happen",
            f"it signalled this: {signalled(seen.signals[0])}",
        )
    return says_so or Broken(
        FailureClass.PROTOCOL, "the task is over, so nothing must be left to do", "something was still done"
    )


@rule(steps.cancel, invariant="I-92", tickets=("FLINK-39522",), after_learning=True)
def a_task_that_is_cancelled_is_over(ledger: Ledger, seen: Seen[None]) -> Judgement:
    """When the cancellation has ended, the task is over."""
    if ledger.state in OVER:
        return True
    return Broken(FailureClass.STUCK, "the task was cancelled, so it must be over", f"it is {ledger.state}")


@rule(steps.restore_state, *BUSY, steps.checkpoint, invariant="I-90", tickets=("FLINK-38544",), needs=FAULTS,
      struck=True)  # fmt: skip
def an_error_of_the_restore_fails_the_task(ledger: Ledger, seen: Acted) -> Judgement:
    """If something fails that the restore calls, or a mail, or the default action, the task fails in the same
    operation, with the message of that error. It may go on if its gate keeps the error of a request, or if what has
    failed is a spill file that is not needed any more, or the read of the files for a checkpoint."""
    struck = faults.struck_by(seen)
    if (again := faults.struck_again(ledger.faults, struck)) is not None:
        return again
    told = [one for one in seen.signals if type(one) is TaskStateChanged and one.state in OVER]
    reads_for_checkpoint = seen.operands and struck.place in READING
    if reads_for_checkpoint or (not told and (ledger.state in OVER or ledger.need_not_fail(struck.place))):
        return False
    if [one.state for one in told] == [TaskState.FAILED] and any(
        place and place in told[0].cause for place in (struck.place, ledger.kept)
    ):
        return True
    owed = f"{call_at(struck.place)} failed, so the task must fail with that as the cause"
    what = (
        f"it is {told[0].state}, and {f'its cause is: {told[0].cause}' if told[0].cause else 'names no cause'}"
        if told
        else "the task goes on"
    )
    return Broken(FailureClass.LOST, owed, what)


@rule(steps.checkpoint, invariant="I-90", needs=FAULTS, struck=True)
def a_checkpoint_fails_with_what_it_calls(ledger: Ledger, seen: Seen[None, int]) -> Judgement:
    """If the spill files cannot be read for a checkpoint, or the channels cannot start it, the operation fails with an
    error of kind io. If only the read fails, the task goes on."""
    struck = faults.struck_by(seen)
    if ledger.state in OVER or struck.place not in (*READING, CHANNEL_STATE_WRITER):
        return False
    if seen.error is None or seen.error.kind is not ErrorKind.IO:
        owed = f"{call_at(struck.place)} failed, so the operation must fail with an error of kind io"
        return Broken(FailureClass.PROTOCOL, owed, got(seen.error))
    failed = [one for one in seen.signals if type(one) is TaskStateChanged and one.state is TaskState.FAILED]
    if failed and struck.place in READING:
        owed = f"{call_at(struck.place)} failed, which concerns this checkpoint only, so the task must go on"
        return Broken(FailureClass.CRASHED, owed, f"it failed: {failed[0].cause}")
    return True


@rule(steps.turn, invariant="I-90", needs=FAULTS)
def an_error_that_a_gate_keeps_fails_the_task(ledger: Ledger, seen: Seen[Turn]) -> Judgement:
    """While a gate keeps the error of a request, a task whose operators read all gates does not wait. When it fails, it
    fails with the message of that error."""
    if not (ledger.kept and ledger.is_live()):
        return False
    told = [one for one in seen.signals if type(one) is TaskStateChanged and one.state is TaskState.FAILED]
    owed = f"{call_at(ledger.kept)} failed, and a gate keeps the error: the task must fail with that as the cause"
    if told:
        return ledger.kept in told[0].cause or Broken(
            FailureClass.LOST, owed, f"its cause is: {told[0].cause or 'none'}"
        )
    if seen.value is Turn.WAITS and ledger.selected == ALL_GATES:
        return Broken(FailureClass.LOST, owed, "the task waits")
    return False


@rule(steps.restore_state, *BUSY, invariant="I-90", signals=(TaskStateChanged,))
def a_task_fails_only_with_what_it_calls(ledger: Ledger, seen: Acted) -> Judgement:
    """A task does not fail if nothing has failed that it called, and it has all that it needs."""
    failed = [one for one in seen.signals if type(one) is TaskStateChanged and one.state is TaskState.FAILED]
    if ledger.kept or not (failed and ledger.has_directory()):
        return not failed
    return Broken(
        FailureClass.CRASHED, "nothing has failed, so the task must not fail", f"it failed: {failed[0].cause}"
    )


faults.see_strikes(RULES, TaskRestorePort.can_fail, steps.restore_state, *BUSY, steps.checkpoint)
faults.see_later_strikes(RULES, *BUSY, steps.checkpoint)


# ---- checkpoints -----------------------------------------------------------------------------------------------------
adopt(
    recovered_state.a_checkpoint_that_comes_too_early_is_declined, steps.checkpoint, of=Ledger.must_start,
    tickets=("FLINK-20654", "FLINK-38544"),
)  # fmt: skip
adopt(recovered_state.a_checkpoint_does_not_wait_for_recovered_data, steps.checkpoint, of=Ledger.must_start)


@rule(steps.checkpoint_over, invariant="I-92")
def a_task_that_is_over_declines_a_checkpoint(ledger: Ledger, seen: Seen[None, int]) -> Judgement:
    """A checkpoint that is triggered in a task that has finished, failed or was cancelled is declined, with the reason
    task-closing or declined-task-not-ready, or fails because the task is released. It is never accepted in silence."""
    if seen.error is not None and (seen.error.kind is ErrorKind.RELEASED or refusal(seen.error) in _CLOSING):
        return True
    return Broken(FailureClass.PROTOCOL, "the task is over, so the checkpoint must be declined", got(seen.error))


@rule(steps.persisted, invariant="I-39", tickets=("FLINK-40016", "FLINK-39523"), needs=READBACK)
def a_checkpoint_holds_what_was_recovered_and_not_processed(
    ledger: Ledger, seen: Seen[tuple[tuple[int, ...], ...], int]
) -> Judgement:
    """The input state of a checkpoint is the recovered data that the operators had not got, each record once and in
    order. A checkpoint that was declined leaves none."""
    (checkpoint,) = seen.operands
    return ledger.recovered.must_hold(checkpoint, seen.value)


# ---- resources -------------------------------------------------------------------------------------------------------
adopt(
    lifetime.a_cancellation_deletes_the_files, steps.resources, needs=RESOURCES,
    of=lambda ledger: ledger.is_cancelled() and not (ledger.released or ledger.flying or ledger.undeleted),
)  # fmt: skip
adopt(lifetime.after_release_nothing_is_held, steps.resources, needs=RESOURCES)
