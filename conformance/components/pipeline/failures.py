"""What was made to fail in a job, and what may therefore happen: failed tasks, failed checkpoints, restarts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from conformance.components.pipeline.checkpoints import Checkpoint
from conformance.components.pipeline.contents import named
from conformance.driver import FailureClass
from conformance.ports import (
    CHECKPOINT_STORE,
    STATE_FILE_CLOSE,
    STATE_FILE_FLUSH,
    STATE_FILE_OPEN,
    STATE_FILE_WRITE,
    CheckpointReason,
    FailurePoint,
    FailureStruck,
    FailureTarget,
    FaultStruck,
    JobConfig,
    JobOver,
    JobStatus,
    Recovery,
)

if TYPE_CHECKING:
    from conformance.components.pipeline.ledger import Ledger

SPARES_TASKS = (CHECKPOINT_STORE, STATE_FILE_OPEN, STATE_FILE_WRITE, STATE_FILE_FLUSH, STATE_FILE_CLOSE)
"""The places at which a fault lets a checkpoint fail and no task."""
_ELSEWHERE = (
    CheckpointReason.DECLINED_SUBSUMED, CheckpointReason.DECLINED_ON_CANCELLATION_BARRIER,
    CheckpointReason.SHARED_STREAM,
)  # fmt: skip
"""The reasons that another checkpoint must have given."""
LOST, PROTOCOL, CRASHED = FailureClass.LOST, FailureClass.PROTOCOL, FailureClass.CRASHED


class Failures:
    """What was made to fail in one job."""

    __slots__ = (
        "_at", "_before", "_credit", "_excuses", "_waiting", "config", "count", "counted", "counted_for_certain",
        "faults", "losses", "must_restart", "restarts", "struck",
    )  # fmt: skip

    def __init__(self, config: JobConfig) -> None:
        self.config = config
        self.count = self.losses = self.restarts = self.faults = 0
        """How much was made to fail; how many messages were lost; how often tasks were restarted; how many faults have
        struck."""
        self.struck: set[tuple[FailureTarget, FailurePoint]] = set()
        """What has failed, and when."""
        self._waiting: dict[FailurePoint, tuple[FailureTarget, int]] = {}
        """By point, the failure that waits for it, or happens now."""
        self._at = FailurePoint.NOW
        self._before: tuple[FailureTarget, int] | None = None
        """The point of the last one, and the one in whose place it came."""
        self._excuses: list[tuple[str, set[int] | None]] = []
        """What a task may fail of, each with the tasks that may; None: one, whichever it is."""
        self._credit = 0
        """How many restarts there may be."""
        self.counted = self.counted_for_certain = 0
        """How many checkpoints in a row have failed for a reason that counts: at most, and at least."""
        self.must_restart = False

    def await_one(self, target: FailureTarget, number: int, point: FailurePoint) -> None:
        """Notes that something is made to fail, now or at a point."""
        self._at, self._before = point, self._waiting.get(point)
        self._waiting[point] = target, number

    def refused(self, point: FailurePoint) -> None:
        """Notes that there is nothing that can fail: what waited for the point still does."""
        if self._before is not None:
            self._waiting[point] = self._before
        else:
            self._waiting.pop(point, None)

    def lose(self) -> None:
        """Notes that a message was lost."""
        self.losses += 1
        self._credit += 1

    def strike(self, signal: FailureStruck, ledger: Ledger) -> None:
        """Notes that something fails."""
        if self._waiting.pop(signal.point, None) != (signal.target, signal.number):
            ledger.say("struck", PROTOCOL, "a failure strikes what was asked for, once",
                       f"{signal.target} {signal.number} failed {signal.point}")  # fmt: skip
        if self._before is not None and self._at == signal.point:  # what happens at once takes no place
            self._waiting[signal.point] = self._before
            self._before = None
        self.count += 1
        if signal.target is FailureTarget.MASTER:  # the next one may count anew
            self.counted_for_certain = 0
            self.must_restart = False
        self.struck.add((signal.target, signal.point))
        tasks: set[int] = set()
        if signal.target is FailureTarget.TASK:
            tasks = {signal.number}
        elif signal.target is FailureTarget.WORKER:
            tasks = {task for task, worker in enumerate(ledger.graph.workers) if worker == signal.number}
        if tasks:
            self._excuses.append((signal.target.value, tasks))
        self._credit += max(1, len(tasks))

    def strike_fault(self, signal: FaultStruck) -> None:
        """Notes that a fault has struck."""
        self.count += 1
        self.faults += 1
        if signal.place not in SPARES_TASKS:
            self._credit += 1
            self._excuses.append((signal.place, None))

    def task_failed(self, task: int, cause: str, ledger: Ledger) -> None:
        """Notes that a task has failed, and whether it had to."""
        for excuse in self._excuses:
            words, tasks = excuse
            if cause.startswith(words) and (tasks is None or task in tasks):
                if tasks is not None:
                    tasks.discard(task)
                if not tasks:
                    self._excuses.remove(excuse)
                return
        if not (self.losses and cause.startswith("lose")):
            known = ", ".join(words for words, _ in self._excuses) or "nothing"
            ledger.say("failed", CRASHED, f"a task fails of what was made to fail, and that is {known}",
                       f"task {ledger.graph.names[task]} failed: {cause or 'no cause'}")  # fmt: skip

    def restarted(self, tasks: Sequence[int], ledger: Ledger) -> None:
        """Notes that tasks are restarted, and whether they had to be."""
        self.restarts += 1
        if self._credit <= 0:
            most = self.config.settings.tolerable
            ledger.say("tolerated", PROTOCOL, f"nothing has failed but {self.counted} checkpoints in a row, and {most}"
                       " are tolerated", "tasks are restarted")  # fmt: skip
        self._credit -= 1
        if self.counted > self.config.settings.tolerable:
            self.counted = self.counted_for_certain = 0
            self.must_restart = False
        there = set(tasks)
        for task in tasks:
            if not ledger.graph.regions[task] <= there:
                left = ", ".join(ledger.graph.names[one] for one in sorted(ledger.graph.regions[task] - there))
                ledger.say("region", LOST, "tasks that are connected are restarted together",
                           f"task {ledger.graph.names[task]} is restarted without {left}")  # fmt: skip
                break
        everybody = len(ledger.graph.tasks)
        if not self.config.settings.regions and len(there) < everybody:
            ledger.say("region", LOST, "all tasks are restarted", f"{len(there)} of {everybody} are")

    def may_restart(self) -> bool:
        """Returns whether something has failed after which tasks may still be restarted."""
        return self._credit > 0

    # ---- checkpoints -------------------------------------------------------------------------------------------------
    def checkpoint_completed(self) -> None:
        """Notes that a checkpoint is complete that is no savepoint."""
        self.counted = self.counted_for_certain = 0

    def checkpoint_failed(self, one: Checkpoint, reason: CheckpointReason) -> None:
        """Notes that a checkpoint has failed, which may count."""
        if not reason.counts:
            return
        settings = self.config.settings
        self.counted += 1
        if self.counted > settings.tolerable:
            self._credit += 1
        if not one.is_savepoint and (settings.unaligned or settings.concurrent == 1):
            self.counted_for_certain += 1
            self.must_restart |= self.counted_for_certain > settings.tolerable

    def why_not(self, one: Checkpoint, reason: CheckpointReason, ledger: Ledger) -> str:
        """Returns why a checkpoint cannot have failed for this reason; an empty text: it can."""
        disturbed = self.count > one.disturbances or self.losses > 0 or self._credit > 0
        ending = bool(ledger.ended) or ledger.cancelled or ledger.status is not None or bool(ledger.stopped)
        intolerable = self.counted > self.config.settings.tolerable
        match reason:
            case CheckpointReason.EXPIRED:
                late = self.config.settings.checkpoint_timeout
                return "" if ledger.now - one.at >= late else f"{late} milliseconds have not passed"
            case CheckpointReason.SUBSUMED:
                if one.is_savepoint and not one.hindered:
                    return "nothing subsumes a savepoint"
                return "" if ledger.checkpoints.newest > one.number else "there is no newer one"
            case CheckpointReason.DECLINED_TASK_NOT_READY:
                ready = one.all_ready and ledger.tells_ready
                return "every task was ready when it was triggered" if ready and not disturbed else ""
            case CheckpointReason.TASK_CLOSING:
                return "" if disturbed or ending or intolerable or self.must_restart else "nothing has failed or ended"
            case CheckpointReason.DECLINED_INPUT_END_OF_STREAM:
                return "" if ending or ledger.stopping else "nothing has ended"
            case _ if reason in _ELSEWHERE:
                alone = len(ledger.checkpoints.known) == 1
                return "there is no other checkpoint" if alone and not disturbed else ""
        recovering = one.during_recovery and ledger.in_effect() is Recovery.PUSHED
        return "" if disturbed or recovering else "nothing was made to fail"

    # ---- the end -----------------------------------------------------------------------------------------------------
    def job_over(self, signal: JobOver, ledger: Ledger) -> None:
        """Notes that the job is over, and whether it can be."""
        if signal.status is JobStatus.CANCELED and not ledger.cancelled:
            ledger.say("over", PROTOCOL, "nobody has cancelled the job", "it is canceled")
        elif signal.status is JobStatus.FAILED and not (ledger.stopped and (self.count or self.losses)):
            ledger.say("over", CRASHED, "a job is restarted after a failure, unless it was stopped with a savepoint",
                       f"it has failed: {signal.cause}")  # fmt: skip
        elif signal.status is JobStatus.FINISHED and not ledger.stopped:
            if not ledger.has_all_ended():
                ledger.say("over", PROTOCOL, "a job finishes when all of its sources have ended", "it has finished")
            for sink, mine in ledger.sinks.items():
                left = [
                    record
                    for split in ledger.graph.paths[sink]
                    for record in mine.records.missing(split, ledger.supplied[split])
                ]
                if left:
                    ledger.say("finished", LOST, f"a job finishes when sink {sink} has committed all records",
                               f"it has finished without {named(left)}")  # fmt: skip
