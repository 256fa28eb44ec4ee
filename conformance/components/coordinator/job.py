"""What the ledger of a coordinator knows of the job: attempts, checkpoints, turns, and what ends or disturbs them."""

from __future__ import annotations

from collections.abc import Sequence

from conformance.components.coordinator.sides import (
    ABORTED,
    Attempt,
    Checkpoint,
    Line,
    Point,
)
from conformance.driver import Faults, PortLedger
from conformance.ports import (
    NO_CHECKPOINT,
    CoordinatorConfig,
    FaultStruck,
    Places,
    RestoredEvents,
    Signal,
)

MOST_SUBTASKS = 3
RECENT = 3
"""How many checkpoints that are over the ledger remembers."""
ORDINARY, REPEATED, ABORTING, REPORTED, OUTDATED, OLD_ID, CUTS = 0, 1, 2, 3, 4, 5, 6
"""What a queued turn is for: anything; an acknowledgement that was repeated; an abort because of a failure; a failure
of the coordinator, since the last restart of the job or before it; a request with an old id; or, with the id added, a
cut."""


def threw(signals: Sequence[Signal]) -> bool:
    """Returns whether the coordinator threw in the operation with these signals."""
    return FaultStruck in map(type, signals)


class Job(PortLedger):
    """The attempts of a job, its checkpoints, and what is under way between them."""

    __slots__ = (
        "alive", "answered", "called", "can_fail", "checkpoints", "concurrent", "config", "current", "failed_job",
        "failover", "faults", "lines", "most_turns", "newest", "points", "queue", "regressed", "requested",
        "restarting", "tag", "thrown", "unnotified",
    )  # fmt: skip

    def __init__(
        self, config: CoordinatorConfig, concurrent: int = 1, most_turns: int = 0, can_fail: Places | None = None
    ) -> None:
        super().__init__()
        self.can_fail = can_fail or {}
        self.most_turns = most_turns
        """How many turns may wait before other threads wait too; 0: any number."""
        self.concurrent = concurrent
        """How many checkpoints may be in progress at a time. One savepoint may be in progress besides."""
        self.newest = 0
        """The id of the newest checkpoint."""
        zeros = (0,) * MOST_SUBTASKS
        self.points = [Point(NO_CHECKPOINT, zeros, zeros, zeros, zeros, ())]
        """What the job can be restored from: the beginning or the newest checkpoint, and the newest savepoint."""
        self.begin_job(config, self.points[0])

    # ---- the job
    def begin_job(self, config: CoordinatorConfig, point: Point) -> None:
        """Begins with a fresh job master, restored from this point."""
        self.begin_life("live")
        self.faults = Faults(self.can_fail)
        self.thrown: list[str] = []
        """The kinds of calls in which the coordinator threw."""
        self.called: Signal | None = None
        """The last call of the coordinator: it was asked for its state, given a report, or told of an end."""
        self.config = config
        self.queue: list[int] = []
        """What the turns are for that the main thread has not run."""
        self.tag = self.current = ORDINARY
        """What turns are for that an operation queues now; and what the last turn was for."""
        self.checkpoints: dict[int, Checkpoint] = {}
        self.requested = NO_CHECKPOINT - 1
        """The newest checkpoint that the coordinator was asked for."""
        self.regressed = 0
        """How many requests with an old id have no answer."""
        self.failed_job = False
        """Whether the coordinator has reported a failure since the last reset."""
        self.failover = False
        """Whether the job must be restarted."""
        self.answered = False
        """Whether a restart was asked for because of a failure that the coordinator has reported since the last one."""
        self.unnotified: list[tuple[int, int, int]] = []
        """By subtask, attempt and checkpoint: the tasks that can be told that a checkpoint was aborted."""
        self.restarting: tuple[tuple[int, ...], tuple[int, ...]] = (), ()
        """The subtasks of a restart that has begun, and the checkpoints that it aborts."""
        self.alive: list[Attempt] = []
        """The attempts that are neither finished nor failed, in the order of their deployment."""
        every = zip(point.sent, point.received, point.reported, point.counted, strict=True)
        self.lines = [Line(*one) for one in every]
        """By subtask, also those that the job has no more."""
        for subtask in range(config.parallelism):
            self.deploy(subtask, point)

    def deploy(self, subtask: int, point: Point) -> None:
        """Notes that a new attempt of a subtask is deployed, with its state from this point."""
        line = self.lines[subtask]
        if line.attempts and line.attempts[-1].cut:
            line.dead = line.newest, line.attempts[-1].cut
        line.newest += 1
        line.received, line.reported = point.received[subtask], point.reported[subtask]
        parallelism = self.config.parallelism
        owned = [one for of, every in enumerate(point.stored) if of % parallelism == subtask for one in every]
        line.attempts = [one for one in line.attempts if one.tickets]
        for one in line.attempts:
            one.ready = False
        line.attempts.append(Attempt(subtask, line.newest, owned))
        self.alive.append(line.attempts[-1])

    def restored(self) -> RestoredEvents:
        """Returns what a restart hands to the implementation."""
        point = self.points[0]
        return RestoredEvents(point.number, point.stored)

    def knows(self, subtask: int) -> bool:
        """Returns whether there is such a subtask, or was in an earlier job."""
        return 0 <= subtask < len(self.lines)

    def attempt(self, subtask: int, number: int) -> Attempt | None:
        """Returns an attempt that the ledger remembers."""
        for one in self.lines[subtask].attempts if self.knows(subtask) else ():
            if one.number == number:
                return one
        return None

    def the(self, subtask: int, number: int) -> Attempt:
        """Returns an attempt that is there."""
        found = self.attempt(subtask, number)
        assert found is not None
        return found

    def pending(self) -> list[Checkpoint]:
        """Returns the checkpoints in progress."""
        return [
            one
            for one in self.checkpoints.values()
            if one.state != "completed" and one.state != "aborted" and one.number != NO_CHECKPOINT
        ]

    def dead_lines(self) -> tuple[int, ...]:
        """Returns the subtasks whose attempts have all failed."""
        return tuple([
            subtask
            for subtask, line in enumerate(self.lines[: self.config.parallelism])
            if all(one.state == "failed" for one in line.attempts)
        ])  # fmt: skip

    def is_whole(self) -> bool:
        """Returns whether a checkpoint may be triggered: every subtask runs or has finished, and nothing is to fail."""
        if self.failover or not self.config.checkpointing:
            return False
        runs = False
        for line in self.lines[: self.config.parallelism]:
            last = line.attempts[-1]
            if last.state == "running" and not last.doomed:
                runs = True
            elif last.state != "finished":
                return False
        return runs

    def has_room(self) -> bool:
        """Returns whether another thread may queue a turn now, if the scenario limits how many wait."""
        return not self.most_turns or len(self.queue) < self.most_turns

    def is_idle(self) -> bool:
        """Returns whether no turn, event or report is under way."""
        return not self.queue and all(not (one.events or one.reports) for one in self.alive)

    def may_fail(self, signals: Sequence[Signal]) -> bool:
        """Returns whether the whole job may be restarted for what the coordinator or an old id has caused, also if that
        is in the signals of the operation that has just ended."""
        return self.failed_job or self.regressed > 0 or self.current == OUTDATED or threw(signals)

    # ---- what ends, and what that may disturb
    def abort(self, number: int) -> None:
        """Notes that a checkpoint is aborted. Its tasks can be told from now on."""
        checkpoint = self.checkpoints[number]
        checkpoint.state = ABORTED
        checkpoint.must_tell = checkpoint.requested
        checkpoint.excused = True
        self.disturb(number)
        self.unnotified.extend([(one.subtask, one.number, number) for one in self.alive])

    def excuse(self) -> None:
        """Notes that something has happened that may make checkpoints in progress fail."""
        for checkpoint in self.checkpoints.values():
            checkpoint.excused = True

    def disturb(self, number: int) -> None:
        """Notes that a checkpoint ends, so that other checkpoints in progress might be disturbed."""
        for other in self.checkpoints.values():
            if other.number != number and other.sent is not None:
                other.others_ended = True

    def forget(self, one: Attempt, state: str) -> None:
        """Notes that an attempt is over."""
        one.end(state)
        self.alive.remove(one)
        self.excuse()
        self.unnotified = [task for task in self.unnotified if task[:2] != (one.subtask, one.number)]
