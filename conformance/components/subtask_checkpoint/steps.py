"""The steps of a subtask checkpoint coordinator: the task takes its part, state becomes final, time passes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from conformance.components.subtask_checkpoint.checkpoint import Checkpoint, Stage
from conformance.components.subtask_checkpoint.ledger import MOST_CHECKPOINTS, Ledger
from conformance.driver import DISABLED, NO_OPERANDS, Drain, Once, Steps, While
from conformance.models.barriers import PASSING, TIMEOUT
from conformance.models.faults import fault_step
from conformance.models.lifetime import fail_step, resources_step, restart_step
from conformance.ports import (
    Alignment,
    Answer,
    Barrier,
    CheckpointReason,
    StatePart,
    SubtaskCall,
    SubtaskCheckpointPort,
)

UNKNOWN, STARTED, OVER = Stage.UNKNOWN, Stage.STARTED, Stage.OVER
WRITER_START = SubtaskCall.WRITER_START
UNALIGNED = Alignment.UNALIGNED
"""Module variables, because looking up a member of an enumeration is slow in Python 3.11."""

LIVE = ("live",)
CANCELLED = ("live", "cancelled")
ALWAYS = ("live", "cancelled", "broken", "failed")

STEPS = Steps[SubtaskCheckpointPort, Ledger]()
step = STEPS.step


# ---- the task's thread -----------------------------------------------------------------------------------------------
_STARTS = {
    unaligned: tuple(
        tuple((number, str(kind)) for kind in (Alignment if unaligned else (Alignment.ALIGNED,)))
        for number in range(MOST_CHECKPOINTS + 1)
    )
    for unaligned in (False, True)
}
"""By configuration and checkpoint, the operands with which its inputs can be started."""
_FROM_HANDLER = tuple(
    str(reason)
    for reason in (
        CheckpointReason.DECLINED_ON_CANCELLATION_BARRIER,
        CheckpointReason.DECLINED_SUBSUMED,
        CheckpointReason.DECLINED_INPUT_END_OF_STREAM,
    )
)
"""The reasons with which a barrier handler aborts a checkpoint."""
_NEAR = tuple(
    tuple(number for number in range(max(1, last - 2), min(last + 2, MOST_CHECKPOINTS) + 1))
    for last in range(MOST_CHECKPOINTS + 1)
)
"""By the last checkpoint, those of which somebody may still hear."""


def startable(ledger: Ledger) -> Sequence[tuple[int, str]]:
    """The next checkpoints, and an older one of which the task has not heard or that it has declined."""
    if ledger.pending:
        return DISABLED
    last, starts = ledger.last, _STARTS[ledger.unaligned]
    found: list[tuple[int, str]] = []
    for number in _NEAR[last]:
        if number > last or _is_open(ledger.checkpoints[number]):
            found.extend(starts[number])
    return found


def _is_open(one: Checkpoint) -> bool:
    """Returns whether the inputs of an older checkpoint were not started yet."""
    if one.stage is UNKNOWN:
        return True
    return one.stage is OVER and bool(one.declined) and WRITER_START not in one.told


@step("task", CANCELLED, when=startable, end=Ledger.start, struck=Ledger.start_struck, weight=20)
def start_inputs(port: SubtaskCheckpointPort, ledger: Ledger, checkpoint: int, alignment: str) -> Answer[None]:
    return port.start_inputs(checkpoint, Alignment(alignment))


def awaited(ledger: Ledger) -> Sequence[tuple[int]]:
    """Checkpoints of which the inputs still hand in-flight data to the writer."""
    checkpoints, last = ledger.checkpoints, max(ledger.last, ledger.pending)
    return [(number,) for number in range(1, last + 1) if checkpoints[number].awaited]


def arriving(ledger: Ledger) -> Sequence[tuple[int]]:
    """Those of them that the barrier handler has not aborted."""
    return [operands for operands in awaited(ledger) if ledger.checkpoints[operands[0]].stage is not OVER]


@step("task", LIVE, when=arriving, end=Ledger.end_inputs, weight=14)
def inputs_done(port: SubtaskCheckpointPort, ledger: Ledger, checkpoint: int) -> Answer[None]:
    return port.inputs_done(checkpoint)


@step("task", LIVE, when=awaited, end=Ledger.end_inputs, weight=2)
def inputs_failed(port: SubtaskCheckpointPort, ledger: Ledger, checkpoint: int) -> Answer[None]:
    return port.inputs_failed(checkpoint)


def triggerable(ledger: Ledger) -> Sequence[tuple[int]]:
    """The pending checkpoint, if the inputs did not refuse it."""
    pending = ledger.pending
    return ((pending,),) if pending and ledger.checkpoints[pending].stage is STARTED else DISABLED


@step("task", CANCELLED, when=triggerable, end=Ledger.trigger, struck=Ledger.break_down, weight=30)
def trigger(port: SubtaskCheckpointPort, ledger: Ledger, checkpoint: int) -> Answer[None]:
    alignment = ledger.checkpoints[checkpoint].alignment
    return port.trigger(Barrier(checkpoint, alignment), ledger.timestamp(checkpoint))


def alignable(ledger: Ledger) -> Sequence[tuple[int, int]]:
    """The pending checkpoint if it is not unaligned in the inputs; an unaligned one whose inputs are not done. Once."""
    if not ledger.says_how:
        return DISABLED
    pending, checkpoints = ledger.pending, ledger.checkpoints
    over = [number for (number,) in arriving(ledger)]
    if pending and checkpoints[pending].alignment is not UNALIGNED:
        over.append(pending)
    return [(one, time) for one in over if checkpoints[one].aligned_for is None for time in (0, TIMEOUT)]


@step("task", CANCELLED, when=alignable, end=Ledger.align, weight=16)
def aligned(port: SubtaskCheckpointPort, ledger: Ledger, checkpoint: int, milliseconds: int) -> Answer[None]:
    return port.aligned(checkpoint, milliseconds)


def declinable(ledger: Ledger) -> Sequence[tuple[int, str]]:
    """A checkpoint that the inputs have refused; else the next ones, and one whose barriers are still to come."""
    pending, last = ledger.pending, ledger.last
    if pending:
        refused = ledger.checkpoints[pending].stage is Stage.REFUSED
        return ((pending, str(CheckpointReason.DECLINED_TASK_NOT_READY)),) if refused else DISABLED
    one = ledger.checkpoints[last]
    late = [(last, reason) for reason in _FROM_HANDLER] if one.awaited and one.stage is Stage.BEGUN else []
    return late + [(number, reason) for number in _NEAR[last] if number > last for reason in _FROM_HANDLER]


@step("task", LIVE, when=declinable, end=Ledger.decline, weight=5)
def decline(port: SubtaskCheckpointPort, ledger: Ledger, checkpoint: int, reason: str) -> Answer[None]:
    return port.decline(checkpoint, CheckpointReason(reason))


def completable(ledger: Ledger) -> Sequence[tuple[int]]:
    """Checkpoints that the task has acknowledged."""
    return [
        (number,)
        for number in range(1, ledger.last + 1)
        if (one := ledger.checkpoints[number]).acknowledged and not (one.completed or one.is_given_up())
    ]


@step("task", CANCELLED, when=completable, end=Ledger.complete, weight=4)
def complete(port: SubtaskCheckpointPort, ledger: Ledger, checkpoint: int) -> Answer[None]:
    return port.complete(checkpoint)


def abortable(ledger: Ledger) -> Sequence[tuple[int]]:
    """Checkpoints of which the task has heard, or will, and that are not complete."""
    checkpoints = ledger.checkpoints
    return [
        (number,)
        for number in _NEAR[ledger.last]
        if not ((one := checkpoints[number]).aborted or one.completed)
    ]  # fmt: skip


@step("task", CANCELLED, when=abortable, end=Ledger.abort, weight=6)
def abort(port: SubtaskCheckpointPort, ledger: Ledger, checkpoint: int) -> Answer[None]:
    return port.abort(checkpoint)


def passing(ledger: Ledger) -> Sequence[tuple[int]]:
    """What may pass at once, if barriers can become unaligned."""
    return PASSING if ledger.unaligned else DISABLED


@step("timer", LIVE, when=passing, end=Ledger.pass_time, weight=8)
def advance(port: SubtaskCheckpointPort, ledger: Ledger, milliseconds: int) -> Answer[None]:
    return port.advance(milliseconds)


# ---- other threads ---------------------------------------------------------------------------------------------------
def _parts(one: Checkpoint) -> list[StatePart]:
    """The parts of the state that may be final next: those of which all was handed over, unless it was aborted."""
    stopped = one.is_stopped_in_writer()
    return [
        part
        for part in one.missing
        if part is StatePart.OPERATORS or not (stopped or (part is StatePart.INPUTS and one.awaited))
    ]


_AMOUNTS = (1, 3)
"""How many records may be stored at a time."""


def storable(ledger: Ledger) -> Sequence[tuple[int, str, int]]:
    """Parts in which records in flight may be stored: those of the inputs only if the checkpoint is unaligned, those of
    the outputs also if its barrier has timed out."""
    if not ledger.says_how:
        return DISABLED
    found = []
    for number in ledger.running:
        one = ledger.checkpoints[number]
        if one.is_stopped_in_writer() or not one.can_overtake():
            continue
        for part in one.missing:
            if part is StatePart.OUTPUTS or (part is StatePart.INPUTS and one.alignment is UNALIGNED):
                found += [(number, part.value, amount) for amount in _AMOUNTS]
    return found


@step("writer", CANCELLED, when=storable, end=Ledger.store, weight=16)
def state_written(
    port: SubtaskCheckpointPort, ledger: Ledger, checkpoint: int, part: str, records: int
) -> Answer[None]:
    return port.state_written(checkpoint, StatePart(part), records)


def finishable(ledger: Ledger) -> Sequence[tuple[int, str]]:
    """Parts that may be final next."""
    checkpoints = ledger.checkpoints
    return [(number, part.value) for number in ledger.running for part in _parts(checkpoints[number])]


@step("writer", CANCELLED, when=finishable, end=Ledger.finish, weight=40)
def finish_part(port: SubtaskCheckpointPort, ledger: Ledger, checkpoint: int, part: str) -> Answer[None]:
    return port.finish_part(checkpoint, StatePart(part))


_CAUSES = {
    StatePart.OPERATORS: ("", str(CheckpointReason.IO_EXCEPTION)),
    StatePart.INPUTS: ("", str(CheckpointReason.SHARED_STREAM)),
    StatePart.OUTPUTS: ("", str(CheckpointReason.SHARED_STREAM)),
}
"""By part of the state, the reasons with which it may fail; empty: with an error without one."""


def breakable(ledger: Ledger) -> Sequence[tuple[int, str, str]]:
    """Parts that may fail, each with a reason or without."""
    checkpoints = ledger.checkpoints
    return [
        (number, part.value, cause)
        for number in ledger.running
        for part in checkpoints[number].missing
        for cause in _CAUSES[part]
    ]


@step("writer", CANCELLED, when=breakable, end=Ledger.fail_part, weight=3)
def fail_part(port: SubtaskCheckpointPort, ledger: Ledger, checkpoint: int, part: str, reason: str) -> Answer[None]:
    return port.fail_part(checkpoint, StatePart(part), CheckpointReason(reason) if reason else None)


def runnable(ledger: Ledger) -> Sequence[tuple[int]]:
    """Checkpoints whose asynchronous part may run."""
    return [(number,) for number in ledger.running]


@step("async", CANCELLED, when=runnable, end=Ledger.run, weight=20)
def run_async(port: SubtaskCheckpointPort, ledger: Ledger, checkpoint: int) -> Answer[None]:
    return port.run_async(checkpoint)


def cancellable(ledger: Ledger) -> Sequence[tuple[()]]:
    """A task that has begun a checkpoint."""
    return NO_OPERANDS if ledger.last else DISABLED


@step("canceler", LIVE, when=cancellable, end=Ledger.cancel, weight=1)
def cancel(port: SubtaskCheckpointPort, ledger: Ledger) -> Answer[None]:
    return port.cancel()


# ---- observers and the driver ----------------------------------------------------------------------------------------
def strikable(ledger: Ledger) -> Sequence[tuple[str, str]]:
    """The faults that can strike: only checkpoints that may have channel state use the writer."""
    possible = ledger.faults.possible()
    return possible if ledger.unaligned else [one for one in possible if one[0] == "operator-snapshot"]


fault = fault_step(STEPS, LIVE, when=strikable)
resources = resources_step(STEPS, ALWAYS, weight=4)
fail = fail_step(STEPS, ALWAYS)
restore = restart_step(STEPS, Ledger.restore)

ACTS = (start_inputs, inputs_done, inputs_failed, trigger, aligned, decline, complete, abort, advance, state_written,
        finish_part, fail_part, run_async, cancel)  # fmt: skip
"""The steps in which something may be called, or sent to the checkpoint coordinator."""


# ---- the fair drain --------------------------------------------------------------------------------------------------
def _take_part(ledger: Ledger) -> Any:
    if ledger.phase == "live" and ledger.pending:
        refused = ledger.checkpoints[ledger.pending].stage is Stage.REFUSED
        return decline(*declinable(ledger)[0]) if refused else trigger(ledger.pending)
    return None


def _inputs(ledger: Ledger) -> Any:
    if ledger.phase != "live":
        return None
    for done, steps in ((inputs_done, arriving(ledger)), (inputs_failed, awaited(ledger))):
        if steps:
            return done(*steps[0])
    return None


def _state(ledger: Ledger) -> Any:
    """All state becomes final, or fails if the writer has given it up; then the asynchronous parts run."""
    if ledger.phase not in CANCELLED:
        return None
    for number in ledger.running:
        one = ledger.checkpoints[number]
        if one.missing and not (one.aborted or ledger.is_cancelled()):
            parts = _parts(one)
            return finish_part(number, parts[0].value) if parts else fail_part(number, one.missing[0].value, "")
        return run_async(number)
    return None


DRAIN = Drain[Ledger](
    While((_take_part, _inputs, _state)),
    Once((resources(), fail()), unless=lambda ledger: ledger.failed),
    Once((resources(),)),
)
"""Take the part that is pending, let all state become final and the asynchronous parts run, then release."""
