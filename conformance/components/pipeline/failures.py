"""What was made to fail in a job, and what may therefore happen: failed tasks, failed checkpoints, restarts."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from conformance.components.pipeline.checkpoints import Checkpoint
from conformance.components.pipeline.contents import ALIGNED
from conformance.driver import FailureClass
from conformance.models.words import many
from conformance.ports import (
    CHANNEL_STATE_WRITER,
    CHECKPOINT_STORE,
    STATE_FILE_CLOSE,
    STATE_FILE_FLUSH,
    STATE_FILE_OPEN,
    STATE_FILE_WRITE,
    CheckpointReason,
    FailureStruck,
    FailureTarget,
    FaultStruck,
    Recovery,
)

if TYPE_CHECKING:
    from conformance.components.pipeline.ledger import Ledger

SPARES_TASKS = (CHECKPOINT_STORE, STATE_FILE_OPEN, STATE_FILE_WRITE, STATE_FILE_FLUSH, STATE_FILE_CLOSE)
"""The places at which a fault lets a checkpoint fail and no task."""
STOP = "stop"
"""How the cause begins of a task that fails since the savepoint was aborted with which the job was to be stopped."""
LOST, PROTOCOL, CRASHED = FailureClass.LOST, FailureClass.PROTOCOL, FailureClass.CRASHED


class Failures:
    """What was made to fail in one job."""

    __slots__ = (
        "_excuses", "_losers", "aborted_stop", "all_restarted", "asked", "certain", "concerns_all", "count", "counted",
        "credit", "ledger", "lost", "lost_trigger", "must_restart", "overdue", "settled_losses", "stop_asked",
    )  # fmt: skip

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self.count = 0
        """How much has failed."""
        self.lost: list[str] = []
        """The threads whose messages were lost."""
        self.settled_losses = 0
        """How many of these messages were lost before nothing was left to do: no failure follows from them any more."""
        self._losers: Counter[str] = Counter()
        """By task, how often it may fail because a message to it, or of it, was lost."""
        self.lost_trigger = 0
        """How many were lost up to the last that may have been the trigger of a checkpoint, if a channel may be blocked
        for that checkpoint; 0: none is. It is blocked until the barrier of a newer one comes in the others, also if the
        checkpoint has expired (J15)."""
        self.asked: Counter[FailureStruck] = Counter()
        """How often each failure may strike that was asked for."""
        self._excuses: list[tuple[str, set[int] | None]] = []
        """What a task may fail of, each with the tasks that may; None: one, whichever it is."""
        self.credit = 0
        """How many restarts may follow from what has failed."""
        self.aborted_stop = 0
        """The newest checkpoint when the savepoint failed with which the job was to be stopped: all tasks may be
        restarted because of that, once, until a newer checkpoint completes (FJ14). 0: they may not."""
        self.stop_asked = 0
        """The newest checkpoint when the job was last asked to stop: what was pending may fail of that (FJ17)."""
        self.counted = self.certain = 0
        """How many checkpoints in a row have failed for a reason that counts: at most, and at least."""
        self.must_restart = False
        self.concerns_all = ""
        """What has failed, in words, if all tasks are to be restarted because of it and have not been."""
        self.all_restarted = False
        """Whether they were, at least once."""
        self.overdue = 0
        """How many restarts may follow because too many checkpoints have failed; with each, counting may begin anew."""

    @property
    def losses(self) -> int:
        """Returns how many messages were lost."""
        return len(self.lost)

    def lose(self, thread: str) -> None:
        """Notes that a message was lost."""
        self.lost.append(thread)
        self._losers[thread.partition(" ")[2]] += 1
        self.credit += 1
        if not all(one.is_completed for one in self.ledger.checkpoints.known.values()):
            self.lost_trigger = len(self.lost)

    def barriers_came(self, losses: int) -> None:
        """Notes that a checkpoint has completed that was triggered when so many messages were lost."""
        if losses >= self.lost_trigger:
            self.lost_trigger = 0

    def strike(self, signal: FailureStruck) -> None:
        """Notes that something fails."""
        if not self.asked[signal]:
            self.ledger.say("a-task-fails-of-what-was-made-to-fail", PROTOCOL, "what was asked for strikes, once",
                            f"{signal.target} {signal.number} failed {signal.point}")  # fmt: skip
        self.asked[signal] -= 1
        self.count += 1
        if signal.target is FailureTarget.MASTER:  # the next one may count anew
            self.certain, self.must_restart = 0, False
        if signal.target is FailureTarget.MASTER or signal.target is FailureTarget.JOB:
            self.concerns_all = f"the {signal.target} has failed"
        tasks, workers = self.ledger.graph.tasks, self.ledger.config.settings.workers
        excused = {signal.number} if signal.target is FailureTarget.TASK else set[int]()
        if signal.target is FailureTarget.WORKER:
            here = self.ledger.threads.steps  # else the engine says who is where, and who was connected with it (J12)
            excused = {
                task for task, (_, subtask) in enumerate(tasks) if not here or subtask % workers == signal.number
            }
        if excused:
            self._excuses.append((signal.target.value, excused))
        self.credit += max(1, len(excused))

    def asked_to_stop(self) -> None:
        """Notes that the job is asked to stop with a savepoint."""
        self.stop_asked = self.ledger.checkpoints.newest

    def stop_failed(self) -> None:
        """Notes that the savepoint has failed with which the job was to be stopped: a task that has taken its part in
        it may fail of that, or all tasks are restarted (J10)."""
        self.aborted_stop = self.ledger.checkpoints.newest
        self._excuses.append((STOP, set(range(len(self.ledger.graph.tasks)))))

    def strike_fault(self, signal: FaultStruck) -> None:
        """Notes that a fault has struck."""
        self.count += 1
        if signal.place not in SPARES_TASKS:
            self.credit += 1
            self._excuses.append((signal.place, None))

    def settle(self) -> None:
        """Notes that every task runs and nothing is left to do: what has failed has had its consequences. Only an
        executor of the channel state writer may say with the next checkpoint that it has failed."""
        self._excuses = [one for one in self._excuses if one[0] == CHANNEL_STATE_WRITER]
        self.credit = len(self._excuses)
        self.settled_losses = self.losses
        self._losers.clear()

    def task_failed(self, task: int, cause: str) -> None:
        """Notes that a task has failed, and whether it had to."""
        for excuse in self._excuses:
            words, tasks = excuse
            if cause.startswith(words) and (tasks is None or task in tasks):
                if tasks is not None:
                    tasks.discard(task)
                if not tasks:
                    self._excuses.remove(excuse)
                if words == STOP:  # nothing was made to fail, so that this is the first that is heard of it
                    self.count += 1
                    self.credit += 1
                return
        name = self.ledger.graph.names[task]
        if self._losers[name] and cause.startswith("lose"):
            self._losers[name] -= 1
        else:
            known = ", ".join(words for words, _ in self._excuses) or "nothing"
            failed = f"task {name} failed: {cause or 'no cause'}"
            self.ledger.say("a-task-fails-of-what-was-made-to-fail", CRASHED, f"a task fails of {known}", failed)

    def restarted(self, tasks: set[int]) -> None:
        """Notes that tasks are restarted, and whether they had to be."""
        graph, settings, say = self.ledger.graph, self.ledger.config.settings, self.ledger.say
        for words, excused in self._excuses:
            if words == STOP and excused is not None:
                excused.difference_update(tasks)
        everything = len(tasks) == len(graph.tasks)
        if everything and self.concerns_all:
            self.concerns_all, self.all_restarted = "", True
        if self.credit <= 0 and self.aborted_stop and everything:
            self.count += 1  # nothing was made to fail, so that this is the first that is heard of it
            self.credit, self.aborted_stop = 1, 0
        if self.credit <= 0:
            failed = f"nothing has failed but {many(self.counted, 'checkpoint')} in a row"
            say("a-job-is-restarted-only-after-failures", PROTOCOL, f"{failed}, and {settings.tolerable} are tolerated",
                "tasks are restarted")  # fmt: skip
        self.credit -= 1
        if self.must_restart:
            self.ledger.sights.add("too-many-checkpoints-failed")
        if self.counted > settings.tolerable:  # counting begins anew, unless fewer have failed as the engine counts
            self.counted = 0 if self.must_restart else settings.tolerable
            self.certain, self.must_restart = 0, self.must_restart and not everything
        elif self.overdue:  # of several that failed together, one may have counted after the restart
            self.certain, self.must_restart = 0, self.must_restart and not everything
        self.overdue = max(0, self.overdue - 1)
        together = set(range(len(graph.tasks)))
        if settings.regions:
            together = set().union(*(graph.regions[task] for task in tasks))
        if left := sorted(together - tasks):
            say("connected-tasks-are-restarted-together", LOST, "tasks that are connected are restarted together, and"
                " all without regions", f"task {graph.names[left[0]]} is not restarted with the others")  # fmt: skip

    # ---- checkpoints -------------------------------------------------------------------------------------------------
    def checkpoint_completed(self, number: int) -> None:
        """Notes that a checkpoint is complete that is no savepoint."""
        self.counted = self.certain = 0
        if number > self.aborted_stop:
            self.aborted_stop = 0

    def checkpoint_failed(self, one: Checkpoint, reason: CheckpointReason) -> None:
        """Notes that a checkpoint has failed, which may count, and whether it may have."""
        why_not = self._why_not(one, reason)
        if why_not:
            self.ledger.say("a-checkpoint-fails-for-the-reason-it-gives", PROTOCOL, f"checkpoint {one.number} fails for"
                            f" a reason, and {why_not}", f"its reason is {reason}")  # fmt: skip
        if not reason.counts:
            return
        settings = self.ledger.config.settings
        self.counted += 1
        if self.counted > settings.tolerable:
            self.credit += 1
            self.overdue += 1
        if not one.is_savepoint and not self.ledger.checkpoints.pending:  # others may make a difference
            self.certain += 1
            self.must_restart |= self.certain > settings.tolerable

    def _why_not(self, one: Checkpoint, reason: CheckpointReason) -> str:
        """Returns why a checkpoint cannot have failed for this reason; an empty text: it can."""
        ledger = self.ledger
        settings = ledger.config.settings
        lost = self.losses > min(one.losses, self.settled_losses)
        disturbed = self.count > one.failures or lost or self.credit > 0 or self.aborted_stop > 0
        ending = bool(ledger.ended or ledger.cancelled or ledger.status or ledger.stopped)
        stops = one.number <= self.stop_asked
        recovering = one.during_recovery and ledger.in_effect() is Recovery.PUSHED
        late = ledger.now - one.at >= settings.checkpoint_timeout or not ledger.threads.steps
        ready = one.all_ready and ledger.tells_ready and not disturbed
        restarts = self.counted > settings.tolerable or self.must_restart
        others = len(ledger.checkpoints.known) > 1 or disturbed
        subsumed = not one.is_savepoint or one.hindered
        newer = ledger.checkpoints.newest > one.number
        # A task may subsume one that is unaligned as soon as the barrier of a newer one comes. Of an engine that cannot
        # be stepped, what has happened at one time may be heard in another order.
        early = newer and (one.kind not in ALIGNED or not ledger.threads.steps)
        subsumer = ledger.checkpoints.point > one.number or early
        reasons, other = CheckpointReason, (others, "there is no other checkpoint")
        may = {
            reasons.EXPIRED: (late, f"{settings.checkpoint_timeout} milliseconds have not passed"),
            reasons.SUBSUMED: (subsumed and subsumer, "no newer one has completed that is no savepoint, or overtaken it"
                               if subsumed else "nothing subsumes a savepoint"),
            reasons.DECLINED_TASK_NOT_READY: (not ready, "every task was ready when it was triggered"),
            reasons.TASK_CLOSING: (disturbed or ending or restarts or stops, "nothing has failed or ended"),
            reasons.DECLINED_INPUT_END_OF_STREAM: (ending or ledger.stopping, "nothing has ended"),
            reasons.DECLINED_SUBSUMED: (newer or (others and not ledger.threads.steps), "there is no newer one"),
            reasons.DECLINED_ON_CANCELLATION_BARRIER: (  # of one in front that was not ready, which may be heard later
                others or not ready, "there is no other checkpoint, and every task was ready"),
            reasons.SHARED_STREAM: other,
        }  # fmt: skip
        allowed, why_not = may.get(reason, (disturbed or recovering, "nothing was made to fail"))
        return "" if allowed else why_not
