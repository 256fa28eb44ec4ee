"""Restore chains: operators stand still, a checkpoint overtakes data, the job fails and is restored, and at once the
next checkpoint is taken, which holds what was recovered and not consumed. And other ways to rare states."""

from __future__ import annotations

from conformance import ports
from conformance.components.pipeline import steps
from conformance.driver import Operands
from conformance.ports import FailurePoint, Recovery

Prefix = tuple[Operands, ...]
_PUSHED, _MEMORY, _FIRST = (one.value for one in (Recovery.PUSHED, Recovery.IN_MEMORY, Recovery.RECOVER_FIRST))
_ALIGNED, _TIMEOUTABLE, _UNALIGNED, _SAVEPOINT = (steps.trigger(one.value) for one in ports.CheckpointKind)
_ENDED, _RUNNING, _IDLE, _OVER = (steps.settle(one.value) for one in ports.Until)
_TASK, _WORKER, _MASTER, _JOB = (one.value for one in ports.FailureTarget)
_CRASH = steps.fail(_TASK, 0, FailurePoint.NOW.value)
_STOP = steps.stop_with_savepoint()
_READ = (steps.snapshot(1), steps.snapshot(2), *(steps.state(at) for at in range(5)),
         *(steps.output(at) for at in range(1, 5)))  # fmt: skip
_STILL = ((1, 2), (2, 3), (2,), (3,), (1, 2, 3, 4, 5), (4, 5), (6, 7))
"""Tasks that stand still: of small jobs, and of larger ones; some with an edge without channel state in front."""


def _throttled(on: bool, *tasks: int) -> Prefix:
    return tuple(steps.throttle(task, on) for task in tasks)


def _records(count: int) -> Prefix:
    return tuple(steps.supply(split, count) for split in range(4))


def _supplied(count: int, *tasks: int) -> Prefix:
    """Records come, and reach the tasks that stand still."""
    return (_RUNNING, *_throttled(True, *tasks), *_records(count), _IDLE)


def _overtaking(number: int, *tasks: int) -> Prefix:
    """A checkpoint as soon as the tasks are ready, while these stand still."""
    return (*_throttled(True, *tasks), _IDLE, _UNALIGNED, _ENDED, steps.snapshot(number))


def _restored(number: int, how: str, design: str, side: bool = True) -> Prefix:
    return (steps.kill(), steps.restore(number, how, design, side))


def _at(target: str, number: int, point: FailurePoint) -> Operands:
    return steps.fail(target, number, point.value)


def _later(point: FailurePoint) -> bool:
    return point not in (FailurePoint.NOW, FailurePoint.IN_RESTORE)


FIRST = {
    tasks: (*_supplied(8 if tasks in ((1, 2), (2, 3), (1, 2, 3, 4, 5)) else 1, *tasks), *_overtaking(1, *tasks))
    for tasks in _STILL
}
"""An unaligned checkpoint with data in front of tasks that stand still: little, so that others have room, or much."""
IN_ONE_JOB = tuple(
    (*FIRST[tasks], _CRASH, _IDLE, _UNALIGNED, _ENDED, steps.snapshot(2), _CRASH, _IDLE, *_throttled(False, *tasks))
    for tasks in _STILL
)
"""The job itself restores what was in flight, twice, the second time from a checkpoint taken while it restores."""
CHAINS = tuple(
    (*FIRST[tasks], *_restored(1, first, design), *_overtaking(2, *tasks), *_restored(2, then, other),
     *_throttled(True, *tasks), _IDLE, _CRASH, *_overtaking(3, *tasks), *_restored(3, "same", design))
    for tasks in _STILL
    for design, other, first, then in (
        (_PUSHED, _PUSHED, "same", "same"), (_PUSHED, _PUSHED, "up", "down"), (_PUSHED, _FIRST, "2", "1"),
        (_PUSHED, _MEMORY, "down", "3"), (_MEMORY, _PUSHED, "same", "2"), (_MEMORY, _MEMORY, "down", "up"),
    )
)  # fmt: skip
"""A job restores another one, twice, with other parallelisms and designs, and fails while it does."""
SETTLED = tuple(
    (*FIRST[tasks], *_restored(1, how, design), _IDLE, *(steps.state(vertex) for vertex in range(5)))
    for tasks in (_STILL[0], _STILL[3], _STILL[4])
    for how, design in (("same", _FIRST), ("up", _PUSHED), ("2", _MEMORY), ("mixed", _FIRST), ("down", _PUSHED),
                        ("3", _MEMORY))
)  # fmt: skip
"""A restored job settles before records are supplied: it holds exactly the cut."""
TAKEN = tuple(
    (*FIRST[tasks], *_restored(1, how, design), *_throttled(True, *tasks), _IDLE, _UNALIGNED,
     *_throttled(False, *tasks))
    for tasks in _STILL[::2]
    for how in ("same", "up")
    for design in (_PUSHED, _MEMORY)
)  # fmt: skip
"""What was recovered is taken while the next checkpoint is pending."""
RESCALED = tuple(
    (*_supplied(3), _ALIGNED, _ENDED, steps.snapshot(1), *_restored(1, how, _PUSHED), _IDLE, *_supplied(1), _ALIGNED,
     _ENDED, steps.snapshot(2))
    for how in ("up", "mixed", "down", "3")
)  # fmt: skip
"""Everything has arrived when the checkpoint is taken that is restored with another parallelism."""
UPSTREAM = tuple(
    (*FIRST[_STILL[4]], *_restored(1, how, _FIRST, False), *_overtaking(2, 2), _IDLE, steps.state(1), steps.state(2))
    for how in ("same", "2")
)
"""The producers recover their output state."""
AT_POINTS = tuple(
    (*_supplied(3), _at(target, number, point), _UNALIGNED, _IDLE, _ALIGNED, _ENDED, *_READ)
    for target, number in ((_TASK, 1), (_WORKER, 0), (_MASTER, 0), (_JOB, 0))
    for point in filter(_later, FailurePoint)
)
IN_RESTORE = tuple(
    (*FIRST[_STILL[0]], _at(target, 0, FailurePoint.IN_RESTORE), _CRASH, _IDLE)
    for target in (_TASK, _WORKER, _MASTER, _JOB)
)
WITH_FAULTS = tuple(
    (*_supplied(8, 1, 2, 3), steps.fault(place, ports.FaultKind.THROWS.value, nth), _UNALIGNED, _IDLE)
    for place in (ports.STATE_FILE_OPEN, ports.STATE_FILE_WRITE, ports.STATE_FILE_FLUSH, ports.STATE_FILE_CLOSE,
                  ports.CHANNEL_STATE_WRITER, ports.OPERATOR_SNAPSHOT, ports.CHECKPOINT_STORE)
    for nth in (1, 2)
)  # fmt: skip
"""What is called while channel state is written fails."""
_EXPIRES = (_ALIGNED, _IDLE, steps.advance(100), _IDLE)
TIMED_OUT = (*_supplied(8, 1, 2, 3), _TIMEOUTABLE, _IDLE, steps.advance(10), _ENDED, steps.snapshot(1), _CRASH, _IDLE)
"""A timeoutable checkpoint becomes unaligned, and is restored."""
TIMED_OUT_AGAIN = (*_supplied(1), _IDLE, _TIMEOUTABLE, _ENDED, *_supplied(8, 1, 2, 3), _TIMEOUTABLE, _IDLE,
                   steps.advance(10), _IDLE, steps.snapshot(2))  # fmt: skip
"""A timeoutable checkpoint completes in time, and the next one becomes unaligned."""
TIMED_OUT_HALFWAY = (_RUNNING, steps.throttle(2, True), steps.supply(0, 4), _IDLE, _TIMEOUTABLE, _IDLE,
                     steps.throttle(2, False), steps.work("task 1/0"), steps.work("task 2/0"), steps.throttle(2, True),
                     steps.advance(10), _IDLE, steps.snapshot(1))  # fmt: skip
"""A timeoutable checkpoint becomes unaligned when the barrier of one channel was taken, and records are in front of the
other one."""
EXPIRED = (*_supplied(3, 1, 2), *_EXPIRES, *_throttled(False, 1, 2), _IDLE, _ALIGNED, _IDLE, *_supplied(1, 1, 2),
           *_EXPIRES, *_EXPIRES, *_throttled(False, 1, 2), *_supplied(1, 1, 2), *_EXPIRES,
           *_throttled(False, 1, 2))  # fmt: skip
"""After one that completes, two checkpoints expire behind operators that stand still: more than some jobs tolerate.
Such a job is restarted, and tolerates the next one that expires."""
NOT_READY = (*FIRST[_STILL[4]], *_restored(1, "same", _FIRST), *_throttled(True, 1, 2, 3), _IDLE, _UNALIGNED, _IDLE)
"""The job recovers first, its operators stand still, and a checkpoint waits for them."""
_BEHIND = [f"{vertex}/{subtask}" for vertex in (1, 2) for subtask in (0, 1)]
SUBSUMED = (_RUNNING, _IDLE, *_throttled(True, *range(1, 8)), _ALIGNED, _IDLE, _ALIGNED, _IDLE,
            *_throttled(False, *range(1, 8)), *[steps.work(f"task {name}") for name in _BEHIND] * 3,
            *[steps.lose(f"from {name}") for name in _BEHIND], _IDLE)  # fmt: skip
"""Of two pending checkpoints, an acknowledgement of the first is lost."""
ALIGNED_TWICE = (*_supplied(3), *_throttled(True, 1), _ALIGNED, _IDLE, _ALIGNED, _SAVEPOINT, *_throttled(False, 1))
SAVED = (*_supplied(3), _SAVEPOINT, _ENDED, steps.snapshot(1), *_supplied(1), _CRASH, _IDLE)
"""A failover behind a savepoint."""
STOPPED = (*_supplied(3), _STOP, _ENDED)
STOP_FAILS = (*_supplied(3), steps.fault(ports.COMMIT, ports.FaultKind.THROWS.value, 1), _STOP, _IDLE)
ENDING = (*_supplied(3), steps.end(0), steps.end(1), _IDLE, _ALIGNED, _IDLE)
LOST_NOTICE, KEPT_NOTICE = (
    (*_supplied(3), one, _ENDED, *(steps.lose(f"to {vertex}/0") for vertex in range(5)), *_supplied(1), _ALIGNED,
     _IDLE, *_READ)
    for one in (_ALIGNED, _STOP)
)  # fmt: skip
FAILURE_KEPT = (*_supplied(3), _CRASH, steps.lose("from 0/0"), _IDLE,
                _at(_JOB, 0, FailurePoint.NOW), _ALIGNED, _IDLE, *_records(1), _IDLE)  # fmt: skip
"""What a task says of its failure is not lost. Then a checkpoint has its number when all tasks are restarted, and its
coordinators have not been asked."""
COMMITTED_LATE = (*_records(3), _RUNNING, _at(_MASTER, 0, FailurePoint.COMPLETED), _ALIGNED, _IDLE, *_READ)
CANCELLED = (*_supplied(3), steps.cancel(), _at(_MASTER, 0, FailurePoint.NOW), _IDLE)
STOP_EXPIRES = (*_supplied(3, 1, 2), _STOP, _IDLE, steps.advance(100), _IDLE, *_throttled(False, 1, 2), *_supplied(1),
                *_READ)  # fmt: skip
KEPT_ABORT = (*_supplied(3, 1, 2), _STOP, _IDLE, steps.advance(100), _ENDED,
              *(steps.lose(f"to 0/{subtask}") for subtask in range(2)), *_throttled(False, 1, 2), _ALIGNED, _IDLE,
              *_supplied(1), _IDLE, *_READ)  # fmt: skip
"""The notice that the savepoint was aborted with which the job was to be stopped is not lost. A checkpoint completes
then, so that no channel is blocked any more."""
OVERTAKEN = (*_supplied(8, 1, 2), _SAVEPOINT, _IDLE, _UNALIGNED, _IDLE)
BOTH_EXPIRE = (*_supplied(3, 1, 2), _ALIGNED, _IDLE, _SAVEPOINT, _IDLE, steps.advance(100), _IDLE, *_EXPIRES)
"""A checkpoint and a savepoint expire at the same time, and then another checkpoint."""
QUEUED_WITH_OUTPUT = (*_supplied(1, 1, 2, 3), _TIMEOUTABLE, _IDLE, _SAVEPOINT, _IDLE, steps.advance(100), _IDLE,
                      _UNALIGNED, _IDLE)  # fmt: skip
"""A timeoutable checkpoint expires while its barriers are queued, and the next one overtakes them."""
HALF_ENDED = (*_supplied(3), steps.end(0), _IDLE, _ALIGNED, _IDLE, *_records(3), _ALIGNED, _ENDED,
              steps.snapshot(2))  # fmt: skip
"""One of two sources has finished."""
STOPPED_AND_LOST = (*_supplied(3, 0), _STOP, _IDLE, _at(_MASTER, 0, FailurePoint.NOW), _IDLE)
"""The job master fails when the savepoint is complete with which the job stops, and a source stands still."""
SECOND_ENDED = (*_records(1), steps.end(1), _IDLE, _UNALIGNED, _ENDED, _UNALIGNED, _ENDED)
"""The second source has ended, as its channels have, of which a task may have others."""
ENDED_BEHIND = (*_supplied(1, *range(2, 8)), steps.end(0), steps.end(1), _IDLE, _UNALIGNED, _IDLE, _UNALIGNED, _ENDED,
                steps.snapshot(1), steps.snapshot(2))  # fmt: skip
"""All data was sent, and tasks that stand still have not taken it, when two checkpoints overtake it."""
_ROUND = tuple(steps.work(name) for name in ("from 0/0", "from 0/1", "master", "to 0/0", "to 0/1"))
_FIRST_TASKS = tuple(steps.work(f"task {vertex}/0") for vertex in range(5))
_FROM_OTHERS = tuple(steps.work(f"from {vertex}/0") for vertex in range(1, 5))
_ROUND_OF_TWO = (*_ROUND, *(steps.work(f"{way} 1/{subtask}") for way in ("from", "to") for subtask in range(2)))
FINISHING = (*_supplied(3), steps.end(0), _IDLE, _ALIGNED, _ENDED, _UNALIGNED, *_ROUND_OF_TWO * 24,
             *_FIRST_TASKS[:1] * 4, _IDLE)  # fmt: skip
"""A task of the source that has ended is notified of its last checkpoint and takes its part in the next one before it
finishes, while another source goes on."""
_NAMES = [f"{vertex}/{subtask}" for vertex in range(5) for subtask in range(2)]
_BUT_NOTICES = tuple(steps.work(name) for name in (
    "enumerator 0", "enumerator 1", "master", "master", *(f"to {name}" for name in _NAMES[:4]),
    *(f"task {name}" for name in _NAMES), *(f"from {name}" for name in _NAMES),
))  # fmt: skip
"""Everybody works, but no message reaches a task behind the first two vertices."""
LATE_NOTICE = (*_supplied(3), _ALIGNED, *_BUT_NOTICES * 6, *_records(1), steps.end(0), steps.end(1),
               *_BUT_NOTICES * 8, _ALIGNED, *_BUT_NOTICES * 6, *(steps.work(f"to {name}") for name in _NAMES[4:]),
               *_BUT_NOTICES * 8, _IDLE)  # fmt: skip
"""The tasks at the end of the job are notified that a checkpoint is complete when they have taken part in the next one,
which is their last."""
_BUT_RESTORES = tuple(steps.work(name) for name in (
    "master", "enumerator 0", "enumerator 1", *(f"{who} {name}" for who in ("to", "from", "task") for name in _NAMES),
    *(f"link {edge}/{producer}/{consumer}" for edge in range(4) for producer in range(2) for consumer in range(2)),
))  # fmt: skip
_RESTORES = tuple(steps.work(f"restore {name}") for name in _NAMES)
SLOW_RESTORE = tuple(
    (
        _RUNNING,
        *_throttled(True, *tasks),
        *_records(8) * 2,
        *_overtaking(1),
        *_restored(1, "same", _PUSHED),
        *_records(8) * 2,
        *_BUT_RESTORES * 2,
        *_RESTORES * 12,
        *(*_BUT_RESTORES * 24, *_RESTORES) * 6,
    )
    for tasks in _STILL[:2]
)
"""What was fetched is pushed one record at a time, while live data arrives: so much that some of it has the key of a
record that is still to be pushed."""
HELD_TWICE = tuple(
    (*_supplied(1, *tasks), _UNALIGNED, _IDLE, steps.advance(100), _ENDED,
     *(steps.lose(f"to 2/{at}") for at in range(3)), *_records(1), _IDLE, _UNALIGNED, _IDLE,
     *_throttled(False, *tasks), _IDLE, steps.snapshot(2))
    for tasks in ((2,), (4, 5))
)  # fmt: skip
"""A join holds the barriers of a checkpoint that has expired, and is not notified of that, when those of the next one
overtake."""
UNDER_WAY = (*_supplied(3), _ALIGNED, _ENDED, *_records(3), _UNALIGNED, *(*_ROUND, *_FIRST_TASKS) * 9)
"""The snapshots of a checkpoint are taken while the notices of the one before are on their way."""
SLOW_WRITERS = (*_supplied(8, 1, 2), _UNALIGNED, *(*_ROUND, *_FIRST_TASKS) * 9, *_throttled(False, 1, 2), _ALIGNED,
                *(*_ROUND, *_FIRST_TASKS, *_FROM_OTHERS) * 40)  # fmt: skip
"""The channel state of a checkpoint is not written before a newer one is under way, if there may be two."""
MEANWHILE = tuple(
    (*FIRST[_STILL[1]], *_restored(1, "same", design), *_throttled(True, 2, 3), _IDLE, _UNALIGNED,
     *(*_ROUND, *(steps.work(name) for name in ("task 0/1", "link 0/1/0", "task 1/0"))) * 14,
     *_throttled(False, 2, 3), *[steps.work("task 1/0")] * 6)
    for design in (_PUSHED, _MEMORY)
)  # fmt: skip
"""What was recovered is taken while a checkpoint is under way: one source has sent its barrier, and another has not."""
_ASSIGNED = (*_records(3), *(steps.work(f"task {at}/{subtask}") for subtask in range(3) for at in range(5)),
             steps.work("task 0/0"), *_ROUND * 3, steps.work("enumerator 0"))  # fmt: skip
LOST_SPLIT = (*_ASSIGNED, *_ROUND[:3] * 3, steps.lose("to 0/0"), _IDLE, _ALIGNED, _IDLE)
URGENT = (*_ASSIGNED, _ALIGNED, *_ROUND * 24)
"""A trigger arrives while an event of the operator coordinator waits in the mailbox of a source."""

_OTHERS = (
    SAVED, ENDING, NOT_READY, ALIGNED_TWICE, LOST_NOTICE, KEPT_NOTICE, FAILURE_KEPT, COMMITTED_LATE, CANCELLED,
    STOP_EXPIRES, BOTH_EXPIRE, QUEUED_WITH_OUTPUT, OVERTAKEN, HALF_ENDED, UNDER_WAY, SLOW_WRITERS, LOST_SPLIT, URGENT,
)  # fmt: skip
_INSTEAD = {
    STOP_EXPIRES: KEPT_ABORT, ENDING: FINISHING, SAVED: LATE_NOTICE, LOST_NOTICE: HELD_TWICE[0],
    KEPT_NOTICE: HELD_TWICE[1], QUEUED_WITH_OUTPUT: HELD_TWICE[0], OVERTAKEN: HELD_TWICE[1], HALF_ENDED: ENDED_BEHIND,
    CANCELLED: STOPPED_AND_LOST, BOTH_EXPIRE: SECOND_ENDED, NOT_READY: SLOW_RESTORE[0], ALIGNED_TWICE: SLOW_RESTORE[0],
    COMMITTED_LATE: SLOW_RESTORE[1],
}  # fmt: skip
"""What takes the place of a prefix the third time. So the list stays as long as it is, since its length decides which
prefix a seed draws, and thus in which scenario each known bug is found first."""
PREFIXES = (
    *CHAINS, *IN_ONE_JOB, *IN_ONE_JOB[:-2], TIMED_OUT_AGAIN, TIMED_OUT_HALFWAY, *SETTLED, *TAKEN, *UPSTREAM,
    *MEANWHILE * 3, *AT_POINTS, *IN_RESTORE, *WITH_FAULTS * 2,
    TIMED_OUT, STOPPED, *[EXPIRED, SUBSUMED, STOP_FAILS] * 8, *RESCALED,
    *_OTHERS * 2,
    *[_INSTEAD.get(one, one) for one in _OTHERS],
)  # fmt: skip
"""Half of them are restore chains."""
