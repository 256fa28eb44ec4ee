"""Restore chains: operators stand still, a checkpoint overtakes data, the job fails and is restored, and at once the
next checkpoint is taken, which holds what was recovered and not consumed. And other ways to rare states."""

from __future__ import annotations

from conformance.components.pipeline.steps import (
    advance,
    end,
    fail,
    fault,
    kill,
    restore,
    settle,
    snapshot,
    state,
    stop_with_savepoint,
    supply,
    throttle,
    trigger,
)
from conformance.driver import Operands
from conformance.ports import (
    CHANNEL_STATE_WRITER,
    CHECKPOINT_STORE,
    COMMIT,
    OPERATOR_SNAPSHOT,
    STATE_FILE_CLOSE,
    STATE_FILE_FLUSH,
    STATE_FILE_OPEN,
    STATE_FILE_WRITE,
    CheckpointKind,
    FailurePoint,
    FailureTarget,
    FaultKind,
    Recovery,
    Until,
)

_PUSHED, _MEMORY, _FIRST = (one.value for one in (Recovery.PUSHED, Recovery.IN_MEMORY, Recovery.RECOVER_FIRST))
_UNALIGNED, _ALIGNED, _SAVEPOINT, _TIMEOUTABLE = (
    trigger(one.value)
    for one in (
        CheckpointKind.UNALIGNED, CheckpointKind.ALIGNED, CheckpointKind.SAVEPOINT, CheckpointKind.TIMEOUTABLE
    )
)  # fmt: skip
_RUNNING, _IDLE, _ENDED = (settle(one.value) for one in (Until.RUNNING, Until.IDLE, Until.NO_CHECKPOINT))
_TASK, _WORKER, _MASTER, _JOB = (one.value for one in FailureTarget)
_NOW = FailurePoint.NOW.value


def _supplies(count: int) -> tuple[Operands, ...]:
    return tuple(supply(split, count) for split in range(4))


def _stand_still(*tasks: int) -> tuple[Operands, ...]:
    return tuple(throttle(task, True) for task in tasks)


def _go_on(*tasks: int) -> tuple[Operands, ...]:
    return tuple(throttle(task, False) for task in tasks)


def _overtaking(number: int, *tasks: int) -> tuple[Operands, ...]:
    """An unaligned checkpoint while these tasks stand still, with data in front of them."""
    return (*_supplies(8), _RUNNING, *_stand_still(*tasks), _IDLE, _UNALIGNED, _ENDED, snapshot(number))


def _restored(number: int, how: str, design: str, side: bool = True) -> tuple[Operands, ...]:
    return (kill(), restore(number, how, design, side))


def _at_once(number: int, *tasks: int) -> tuple[Operands, ...]:
    """A checkpoint as soon as the restored tasks are ready, while these stand still."""
    return (*_stand_still(*tasks), _IDLE, _UNALIGNED, _ENDED, snapshot(number))


_CRASH = fail(_TASK, 0, _NOW)
_STILL = ((1, 2), (2, 3), (1, 2, 3, 4, 5), (3, 4, 5, 6, 7))
"""Tasks that stand still: of small jobs, and of larger ones."""

IN_ONE_JOB = tuple(
    (*_overtaking(1, *tasks), _CRASH, _IDLE, _UNALIGNED, _ENDED, snapshot(2), _CRASH, _IDLE, *_go_on(*tasks))
    for tasks in _STILL
)
"""The job itself restores what was in flight, twice, the second time from a checkpoint taken while it restores."""
CHAINS = tuple(
    (*_overtaking(1, *tasks), *_restored(1, first, design), *_at_once(2, *tasks), *_restored(2, then, other),
     *_at_once(3, *tasks), *_restored(3, "same", design))
    for tasks in _STILL[:3]
    for design, other in ((_PUSHED, _PUSHED), (_MEMORY, _MEMORY), (_PUSHED, _FIRST))
    for first, then in (("same", "same"), ("up", "down"), ("2", "1"), ("down", "3"))
)  # fmt: skip
"""A job restores another one, twice, with other parallelisms and designs."""
SETTLED = tuple(
    (*_overtaking(1, *tasks), *_restored(1, how, design), _IDLE, *(state(vertex) for vertex in range(5)))
    for tasks in _STILL[:3]
    for how, design in (("same", _FIRST), ("up", _PUSHED), ("2", _MEMORY), ("mixed", _FIRST), ("down", _PUSHED),
                        ("3", _MEMORY))
)  # fmt: skip
"""A restored job settles before records are supplied: it holds exactly the cut."""
UPSTREAM = tuple(
    (*_overtaking(1, 1, 2, 3), *_restored(1, how, _FIRST, False), *_at_once(2, 2), _IDLE, state(1), state(2))
    for how in ("same", "2")
)
"""The producers recover their output state."""
EXPIRED = (*_supplies(3), _RUNNING, *_stand_still(1, 2), _ALIGNED, _IDLE, advance(100), _IDLE, _ALIGNED, _IDLE,
           advance(100), _IDLE, *_go_on(1, 2))  # fmt: skip
"""Two checkpoints expire behind operators that stand still: more than some jobs tolerate."""
TIMED_OUT = (*_supplies(8), _RUNNING, *_stand_still(1, 2, 3), _IDLE, _TIMEOUTABLE, _IDLE, advance(10), _ENDED,
             snapshot(1), _CRASH, _IDLE)  # fmt: skip
"""A timeoutable checkpoint becomes unaligned, and is restored."""
SAVED = (*_supplies(3), _RUNNING, _IDLE, _SAVEPOINT, _ENDED, snapshot(1), *_supplies(1), _IDLE, _CRASH, _IDLE)
"""A failover behind a savepoint."""
STOPPED = (*_supplies(3), _RUNNING, _IDLE, stop_with_savepoint(), _ENDED)
ENDING = (*_supplies(3), _RUNNING, end(0), end(1), _IDLE, _ALIGNED, _IDLE)
FAILED_AT_POINTS = tuple(
    (*_supplies(3), _RUNNING, fail(target, number, point.value), _UNALIGNED, _IDLE, _ALIGNED, _ENDED)
    for target, number in ((_TASK, 1), (_WORKER, 0), (_MASTER, 0), (_JOB, 0))
    for point in FailurePoint
    if point not in (FailurePoint.NOW, FailurePoint.IN_RESTORE)
)
IN_RESTORE = tuple(
    (*_overtaking(1, 1, 2), fail(target, 0, FailurePoint.IN_RESTORE.value), _CRASH, _IDLE)
    for target in (_TASK, _WORKER, _MASTER)
)
NOT_READY = (*_overtaking(1, 1, 2, 3), *_restored(1, "same", _FIRST), *_stand_still(1, 2, 3), _IDLE, _UNALIGNED, _IDLE)
"""The job recovers first, its operators stand still, and a checkpoint is declined."""
WITH_FAULTS = tuple(
    (*_supplies(8), _RUNNING, *_stand_still(1, 2, 3), _IDLE, fault(place, FaultKind.THROWS.value, nth), _UNALIGNED,
     _IDLE)
    for place in (STATE_FILE_OPEN, STATE_FILE_WRITE, STATE_FILE_FLUSH, STATE_FILE_CLOSE, CHANNEL_STATE_WRITER,
                  OPERATOR_SNAPSHOT, CHECKPOINT_STORE)
    for nth in (1, 2)
)  # fmt: skip
"""What is called while channel state is written fails."""
STOP_FAILS = (*_supplies(3), _RUNNING, fault(COMMIT, FaultKind.THROWS.value, 1), _IDLE, stop_with_savepoint(), _IDLE)
ALIGNED_TWICE = (*_supplies(3), _RUNNING, *_stand_still(1), _ALIGNED, _IDLE, _ALIGNED, _SAVEPOINT, *_go_on(1))

PREFIXES = (
    *CHAINS, *IN_ONE_JOB, *IN_ONE_JOB, *SETTLED, *UPSTREAM, EXPIRED, TIMED_OUT, SAVED, STOPPED, ENDING,
    *FAILED_AT_POINTS, *IN_RESTORE, *[EXPIRED] * 4, *WITH_FAULTS, *[NOT_READY, STOP_FAILS, ALIGNED_TWICE] * 3,
)  # fmt: skip
