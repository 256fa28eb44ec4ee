"""The steps of the channel state writers: what subtasks ask for, and what executors execute."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from conformance.components.writer.handed_in import spilled_pieces
from conformance.components.writer.ledger import MOST_CHECKPOINTS, Ledger
from conformance.components.writer.subtasks import Subtask
from conformance.components.writer.words import channel_state, executor_of, executors_of
from conformance.driver import DISABLED, Drain, Each, Once, Steps, While, always
from conformance.models.answers import each_of
from conformance.models.faults import fault_step
from conformance.models.lifetime import fail_step, resources_step, restart_step
from conformance.ports import Answer, ChannelState, CheckpointReason, Request, RequestKind, WriterPort

LIVE = ("live",)
ALWAYS = ("live", "failed")
REASONS = (str(CheckpointReason.DECLINED), str(CheckpointReason.EXPIRED))
"""The reasons for which a subtask aborts a checkpoint, or output fails. One is as good as another."""
COUNTS = (1, 2, 0)
SPILLED = ("0", "010110", "11", "")
"""The channels of the pieces of a snapshot: of one channel, of both in turn, of none."""

STEPS = Steps[WriterPort, Ledger]()
step = STEPS.step


# ---- when ------------------------------------------------------------------------------------------------------------
def _registered(ledger: Ledger) -> list[tuple[int, Subtask]]:
    return [(number, one) for number, one in enumerate(ledger.subtasks) if one.executor is not None]


def unregistered(ledger: Ledger) -> Sequence[tuple[int]]:
    """Subtasks that may be deployed: those that are not registered, and not closing. None of them comes between a start
    that is queued and its execution: checkpoints are triggered when all subtasks run."""
    joined = ledger.joinable()
    if joined is not None and joined.is_starting():
        return DISABLED
    closing = [executor.closing for executor in ledger.executors]
    return [(number,) for number, one in enumerate(ledger.subtasks) if one.executor is None and number not in closing]


def executable(ledger: Ledger) -> Sequence[tuple[int]]:
    """Executors in which something was queued since they had nothing to execute, each by one of its subtasks."""
    subtasks = enumerate(ledger.subtasks)
    return [(number,) for number, one in subtasks if one.executor is not None and not one.executor.idle]


def closable(ledger: Ledger) -> Sequence[tuple[int]]:
    """Subtasks that may be closed: all of them, also twice."""
    return [(number,) for number in range(len(ledger.subtasks))]


def startable(ledger: Ledger) -> Sequence[tuple[int, int]]:
    """Checkpoints that a subtask may start: its next one, the newest, the one after that, and one that it has."""
    top = ledger.top()
    found = []
    for number, one in _registered(ledger):
        last = one.last
        found += [(number, checkpoint) for checkpoint in dict.fromkeys((last + 1, top, top + 1)) if checkpoint > last]
        if last in one.results:
            found.append((number, last))
    return [one for one in found if one[1] <= MOST_CHECKPOINTS]


def abortable(ledger: Ledger) -> Sequence[tuple[int, int, str]]:
    """Checkpoints that a subtask may abort: its newest one, the one before, and the next, which it has not started."""
    return [
        (number, checkpoint, REASONS[checkpoint % 2])
        for number, one in _registered(ledger)
        for checkpoint in (one.last, one.last + 1, one.last - 1)
        if one.aborted < checkpoint <= MOST_CHECKPOINTS
    ]


def takable(ledger: Ledger) -> Sequence[tuple[int, int]]:
    """Results that a subtask may ask for: those that it has, its newest one, and the next, which it has not started."""
    return [
        (number, checkpoint)
        for number, one in _registered(ledger)
        for checkpoint in dict.fromkeys((*one.results, one.last, one.last + 1))
        if checkpoint
    ]


def _writing_input(ledger: Ledger) -> list[int]:
    """The subtasks whose newest checkpoint they have not aborted, and of which more input can come."""
    return [number for number, one in enumerate(ledger.subtasks) if one.writes_input()]


def _writing_output(ledger: Ledger) -> list[int]:
    """The subtasks whose newest checkpoint they have not aborted, and of which more output can come."""
    return [number for number, one in enumerate(ledger.subtasks) if one.writes_output()]


@cache
def _data(subtasks: tuple[int, ...]) -> Sequence[tuple[int, int, int]]:
    """Buffers of these subtasks, in either channel."""
    return tuple((subtask, channel, count) for subtask in subtasks for channel in (0, 1) for count in COUNTS)


def inputs(ledger: Ledger) -> Sequence[tuple[int, int, int]]:
    """Input of a subtask that has said that more can come, also late: after it has aborted or closed."""
    return _data(tuple([number for number, one in enumerate(ledger.subtasks) if one.last > one.input_finished]))


def snapshots(ledger: Ledger) -> Sequence[tuple[int, str]]:
    """Snapshots of spill files that a subtask may hand in: one for each checkpoint."""
    if not ledger.spills:
        return DISABLED
    spilling = [number for number, one in enumerate(ledger.subtasks) if one.writes_input() and one.spilled < one.last]
    return [(number, channels) for number in spilling for channels in SPILLED]


def outputs(ledger: Ledger) -> Sequence[tuple[int, int, int]]:
    """Output of a subtask."""
    return _data(tuple(_writing_output(ledger)))


def promises(ledger: Ledger) -> Sequence[tuple[int, int]]:
    """Promised output of a subtask. At most three promises are open."""
    if len(ledger.futures.open) >= 3:
        return DISABLED
    return [(one, channel) for one in _writing_output(ledger) for channel in (0, 1)]


def promised(ledger: Ledger) -> Sequence[tuple[int, int]]:
    """Promises that may be kept."""
    return [(future, count) for future in ledger.futures.open for count in COUNTS]


def breakable(ledger: Ledger) -> Sequence[tuple[int, str]]:
    """Promises that may be broken."""
    return [(future, REASONS[future % 2]) for future in ledger.futures.open]


def finishable_input(ledger: Ledger) -> Sequence[tuple[int]]:
    """Subtasks whose input may be complete: no thread hands in more."""
    if ledger.adding is not None:
        return DISABLED
    return [(one,) for one in _writing_input(ledger)]


def finishable_output(ledger: Ledger) -> Sequence[tuple[int]]:
    """Subtasks whose output may be complete."""
    return [(one,) for one in _writing_output(ledger)]


def started(ledger: Ledger) -> Sequence[tuple[int, int]]:
    """Results that may be read back, if they are there: those of the newest two checkpoints of a subtask."""
    return [
        (number, checkpoint)
        for number, one in enumerate(ledger.subtasks)
        for checkpoint in (one.last, one.last - 1)
        if checkpoint > 0
    ]


# ---- subtasks come and go --------------------------------------------------------------------------------------------
@step("deployment", LIVE, when=unregistered, begin=Ledger.begin_register, learn=Ledger.registered, weight=14,
      in_words=executor_of)  # fmt: skip
def register(port: WriterPort, ledger: Ledger, subtask: int) -> Answer[tuple[int, ...]]:
    return port.register(subtask)


@step("task", LIVE, when=closable, begin=Ledger.begin_close, end=Ledger.end_close, weight=2)
def close(port: WriterPort, ledger: Ledger, subtask: int) -> Answer[None]:
    return port.close(subtask)


# ---- what a subtask asks for -----------------------------------------------------------------------------------------
@step("task", LIVE, when=startable, begin=Ledger.start, end=Ledger.started, weight=16, fails=True)
def start(port: WriterPort, ledger: Ledger, subtask: int, checkpoint: int) -> Answer[None]:
    return port.start(subtask, checkpoint)


def _add_input(ledger: Ledger, subtask: int, channel: int, count: int) -> None:
    ledger.add(RequestKind.INPUT, subtask, channel, count)


@step("network", LIVE, when=inputs, begin=_add_input, learn=Ledger.added, weight=12, fails=True)
def add_input(port: WriterPort, ledger: Ledger, subtask: int, channel: int, count: int) -> Answer[None]:
    return port.add_input(subtask, ledger.subtasks[subtask].last, channel, ledger.buffers.newest(count))


@step("task", LIVE, when=snapshots, begin=Ledger.spill, learn=Ledger.spilled_in, weight=12)
def add_input_from_spill(port: WriterPort, ledger: Ledger, subtask: int, channels: str) -> Answer[None]:
    (number,) = ledger.snapshots.newest(1)
    return port.add_input_from_spill(subtask, ledger.subtasks[subtask].last, number, spilled_pieces(number, channels))


def _add_output(ledger: Ledger, subtask: int, channel: int, count: int) -> None:
    ledger.add(RequestKind.OUTPUT, subtask, channel, count)


@step("task", LIVE, when=outputs, begin=_add_output, end=Ledger.end, weight=12)
def add_output(port: WriterPort, ledger: Ledger, subtask: int, channel: int, count: int) -> Answer[None]:
    return port.add_output(subtask, ledger.subtasks[subtask].last, channel, ledger.buffers.newest(count))


@step("task", LIVE, when=promises, begin=Ledger.promise, end=Ledger.end, weight=6)
def add_output_future(port: WriterPort, ledger: Ledger, subtask: int, channel: int) -> Answer[None]:
    return port.add_output_future(subtask, ledger.subtasks[subtask].last, channel, ledger.futures.total - 1)


@step("network", LIVE, when=promised, begin=Ledger.keep, end=Ledger.end, weight=6)
def complete_future(port: WriterPort, ledger: Ledger, future: int, count: int) -> Answer[None]:
    return port.complete_future(future, ledger.buffers.newest(count))


@step("network", LIVE, when=breakable, begin=Ledger.break_promise, end=Ledger.end, weight=2)
def fail_future(port: WriterPort, ledger: Ledger, future: int, reason: str) -> Answer[None]:
    return port.fail_future(future, CheckpointReason(reason))


def _finish(kind: RequestKind) -> Any:
    return lambda ledger, subtask: ledger.finish(kind, subtask)


@step("task", LIVE, when=finishable_input, begin=_finish(RequestKind.FINISH_INPUT), end=Ledger.end, weight=16)
def finish_input(port: WriterPort, ledger: Ledger, subtask: int) -> Answer[None]:
    return port.finish_input(subtask, ledger.subtasks[subtask].last)


@step("task", LIVE, when=finishable_output, begin=_finish(RequestKind.FINISH_OUTPUT), end=Ledger.end, weight=16)
def finish_output(port: WriterPort, ledger: Ledger, subtask: int) -> Answer[None]:
    return port.finish_output(subtask, ledger.subtasks[subtask].last)


@step("task", LIVE, when=abortable, begin=Ledger.abort, end=Ledger.aborted, weight=3)
def abort(port: WriterPort, ledger: Ledger, subtask: int, checkpoint: int, reason: str) -> Answer[None]:
    return port.abort(subtask, checkpoint, CheckpointReason(reason))


@step("task", LIVE, when=takable, end=Ledger.take, weight=3, fails=True)
def take_result(port: WriterPort, ledger: Ledger, subtask: int, checkpoint: int) -> Answer[None]:
    return port.take_result(subtask, checkpoint)


# ---- the executors, observers and the driver -------------------------------------------------------------------------
@step("executor", LIVE, when=executable, begin=Ledger.begin_execute, learn=Ledger.executed, weight=60)
def execute(port: WriterPort, ledger: Ledger, subtask: int) -> Answer[Request | None]:
    return port.execute(subtask)


@step("observer", LIVE, when=started, weight=6, in_words=channel_state)
def read_back(
    port: WriterPort, ledger: Ledger, subtask: int, checkpoint: int
) -> Answer[tuple[ChannelState, ...] | None]:
    return port.read_back(subtask, checkpoint)


@step("observer", LIVE, when=always, weight=4, in_words=each_of("file", "checkpoint"))
def files(port: WriterPort, ledger: Ledger) -> Answer[tuple[int, ...]]:
    return port.files()


@step("observer", LIVE, when=always, weight=3, in_words=executors_of)
def executors(port: WriterPort, ledger: Ledger) -> Answer[tuple[tuple[int, ...], ...]]:
    return port.executors()


fault = fault_step(STEPS, LIVE)
resources = resources_step(STEPS, ALWAYS, weight=4)
fail = fail_step(STEPS, ALWAYS)
restore = restart_step(STEPS, Ledger.restore)

ENDINGS = (execute, close)
"""The steps in which results end."""
RECYCLES = (execute, close, add_input, complete_future)
"""The steps in which buffers are recycled."""
CLOSES = (execute, close, add_input_from_spill)
"""The steps in which snapshots of spill files are closed."""


# ---- the fair drain --------------------------------------------------------------------------------------------------
def _unkept(ledger: Ledger) -> Any:
    return (
        complete_future(next(iter(ledger.futures.open)), 1) if ledger.futures.open and ledger.phase == "live" else None
    )


def _queued(ledger: Ledger) -> Any:
    if ledger.phase != "live":
        return None
    for executor in ledger.executors:
        users = [one for one in executor.users if one != executor.closing]
        if users and not executor.idle:
            return execute(users[0])
    return None


def _rest(ledger: Ledger) -> Sequence[tuple[Any, ...]]:
    if ledger.phase != "live":
        return ()
    return [*(read_back(*key) for key in ledger.results.stored), files()]


DRAIN = Drain[Ledger](
    While((_unkept, _queued)),
    Each(_rest),
    Once((resources(), fail()), unless=lambda ledger: ledger.failed),
    Once((resources(),)),
)
"""Keep every promise, execute what is queued, read back what is stored, then release."""
