"""The ledger of a coordinator: both sides' sequences, the cuts, and what is under way between them."""

from __future__ import annotations

from conformance.components.coordinator.heard import Heard
from conformance.components.coordinator.job import (
    ABORTING,
    CUTS,
    OLD_ID,
    ORDINARY,
    OUTDATED,
    RECENT,
    REPEATED,
    REPORTED,
)
from conformance.components.coordinator.sides import (
    ABORTED,
    COMPLETED,
    FAILED,
    FINISHED,
    INJECTED,
    RUNNING,
    Attempt,
    Checkpoint,
    Point,
)
from conformance.driver import Seen
from conformance.ports import (
    CoordinatorConfig,
    Message,
    RestoredEvents,
)


class Ledger(Heard):
    """Plays the user's code on both sides and the checkpoint coordinator, and keeps account of both directions."""

    __slots__ = ()

    # ---- the coordinator
    def next_event(self, subtask: int, attempt: int) -> Message:
        """Returns the event that the coordinator sends next to a subtask."""
        return Message(subtask, attempt, self.lines[subtask].sent - 1)

    def send(self, subtask: int, attempt: int) -> None:
        """Notes that the coordinator sends an event."""
        line, one = self.lines[subtask], self.the(subtask, attempt)
        message = Message(subtask, attempt, line.sent)
        line.sent += 1
        one.unsent.append(message)
        one.tickets.append(message)

    def fail_cut(self, number: int) -> None:
        """Notes that the coordinator cannot do its part of a checkpoint."""
        checkpoint = self.checkpoints[number]
        checkpoint.done = checkpoint.poisoned = checkpoint.excused = True

    def cut(self, number: int) -> None:
        """Notes that the coordinator completes its part of a checkpoint."""
        self.tag = CUTS + max(number, 0)
        checkpoint = self.checkpoints[number]
        checkpoint.late = checkpoint.known
        checkpoint.done = True
        checkpoint.sent = tuple([line.sent for line in self.lines])
        checkpoint.counted = tuple([line.counted for line in self.lines])
        checkpoint.awaited = [message for one in self.alive for message in one.tickets]

    def begin_fail_job(self) -> None:
        """Notes that the coordinator reports a failure."""
        self.failed_job = True
        self.tag = REPORTED

    # ---- the checkpoint coordinator
    def trigger(self, number: int, kind: str) -> None:
        """Notes that a checkpoint is triggered."""
        self.newest = max(self.newest, number)
        checkpoint = Checkpoint(number, kind == "savepoint", bool(self.pending()))
        self.checkpoints[number] = checkpoint
        for one in self.alive:
            if one.state == RUNNING:
                checkpoint.parts[one.subtask] = None
        if not self.queue and not any(one.unsent or one.unreported for one in self.alive):
            over = [
                other
                for other, each in self.checkpoints.items()
                if each.is_over() and (each.done or not each.requested)
            ]
            for other in over[:-RECENT]:
                del self.checkpoints[other]

    def trigger_again(self, number: int) -> None:
        """Notes that a checkpoint is triggered with an old id."""
        self.regressed += 1
        self.tag = OLD_ID

    def inject(self, number: int) -> None:
        """Notes that the barriers of a checkpoint leave."""
        checkpoint = self.checkpoints[number]
        checkpoint.state = INJECTED
        checkpoint.has_left = True
        for one in self.alive:
            if one.state == RUNNING and one.subtask in checkpoint.parts:
                if self.config.sources:
                    one.events.append(number)
                else:
                    one.barriers.append(number)

    def fail_trigger(self) -> None:
        """Notes that a checkpoint failed before its trigger."""
        self.disturb(0)

    def subsumed(self, number: int) -> tuple[int, ...]:
        """Returns the checkpoints that are aborted when this one completes."""
        if self.checkpoints[number].is_savepoint:
            return ()
        return tuple([one.number for one in self.pending() if one.number < number and not one.is_savepoint])

    def complete(self, seen: Seen[tuple[tuple[Message, ...], ...]], number: int) -> None:
        """Notes that a checkpoint is complete."""
        for older in self.subsumed(number):
            self.abort(older)
        checkpoint = self.checkpoints[number]
        checkpoint.state = COMPLETED
        checkpoint.must_tell = not checkpoint.is_savepoint
        assert checkpoint.sent is not None
        parts = [checkpoint.parts.get(subtask) for subtask in range(len(self.lines))]
        lines = self.lines
        point = Point(
            number,
            checkpoint.sent,
            tuple([one[0] if one else sent for one, sent in zip(parts, checkpoint.sent, strict=True)]),
            tuple([one[1] if one else line.reported for one, line in zip(parts, lines, strict=True)]),
            checkpoint.counted,
            tuple([tuple(one) for one in seen.value]),
        )
        if checkpoint.is_savepoint:
            self.points = [self.points[0], point]
        else:
            self.points = [point, *self.points[1:]]

    # ---- subtasks
    def deliver(self, seen: Seen[Message | None], subtask: int, attempt: int) -> None:
        """Notes that an event has arrived."""
        one = self.the(subtask, attempt)
        one.events.pop(0)
        one.replies += 1
        if seen.value is not None:
            self.lines[subtask].received = seen.value.number + 1

    def next_report(self, subtask: int, attempt: int) -> Message:
        """Returns the report that the operator of a subtask has just sent."""
        return Message(subtask, attempt, self.lines[subtask].reported - 1)

    def report(self, subtask: int, attempt: int) -> None:
        """Notes that the operator of a subtask sends a report."""
        line = self.lines[subtask]
        self.the(subtask, attempt).unreported.append(Message(subtask, attempt, line.reported))
        line.reported += 1

    def pass_barrier(self, subtask: int, attempt: int, number: int) -> None:
        """Notes that a subtask receives a barrier, and that its snapshot may fail."""
        one = self.the(subtask, attempt)
        if self.config.sources:
            one.events.pop(0)
        one.barriers = [other for other in one.barriers if other > number]
        one.passed = max(one.passed, number)

    def barrier(self, subtask: int, attempt: int, number: int) -> None:
        """Notes that a subtask takes its snapshot; it may ignore the barrier of a checkpoint that was aborted."""
        self.pass_barrier(subtask, attempt, number)
        one, checkpoint = self.the(subtask, attempt), self.checkpoints.get(number)
        if number <= one.cut or checkpoint is None or checkpoint.state == ABORTED:
            return
        one.cut = number
        if subtask in checkpoint.parts:
            line = self.lines[subtask]
            checkpoint.parts[subtask] = line.received, line.reported

    def barrier_with_report(self, subtask: int, attempt: int, number: int) -> None:
        """Notes that a subtask takes its snapshot, and that its operator sends a report meanwhile."""
        self.report(subtask, attempt)
        self.barrier(subtask, attempt, number)
        checkpoint = self.checkpoints.get(number)
        if checkpoint is not None and checkpoint.parts.get(subtask) is not None:
            checkpoint.hooked.append(subtask)

    def notify_aborted(self, subtask: int, attempt: int, number: int) -> None:
        """Notes that a task was told that a checkpoint was aborted: it will ignore its barrier."""
        self.unnotified.remove((subtask, attempt, number))
        one = self.the(subtask, attempt)
        one.aware = [*one.aware[-RECENT:], number]
        if number in one.barriers:
            one.barriers.remove(number)
        if number in one.events:
            one.events.remove(number)

    # ---- the network
    def reply(self, subtask: int, attempt: int) -> None:
        """Notes that a reply arrives."""
        self.the(subtask, attempt).replies -= 1

    def lose_reply(self, subtask: int, attempt: int) -> None:
        """Notes that a reply is lost."""
        one = self.the(subtask, attempt)
        one.replies -= 1
        one.missed = True
        self.excuse()

    def lose_event(self, subtask: int, attempt: int) -> None:
        """Notes that an event is lost."""
        one = self.the(subtask, attempt)
        one.damaged |= type(one.events.pop(0)) is Message
        one.missed = True
        self.excuse()

    def arrive(self, subtask: int, attempt: int) -> None:
        """Notes that a report arrives in the job master."""
        one = self.the(subtask, attempt)
        message = one.reports.pop(0)
        if message is not None:
            one.landed.append(message)

    def lose_report(self, subtask: int, attempt: int) -> None:
        """Notes that a report is lost, which makes its task fail."""
        one = self.the(subtask, attempt)
        one.reports.pop(0)
        one.doomed = one.missed = True
        self.excuse()

    def repeat(self, subtask: int, attempt: int, number: int) -> None:
        """Notes that an acknowledgement is repeated."""
        self.tag = REPEATED
        for checkpoint in self.checkpoints.values():
            if checkpoint.sent is not None and subtask not in checkpoint.repeated:
                checkpoint.repeated.append(subtask)

    def begin_turn(self) -> None:
        """Notes that the main thread runs the oldest turn."""
        self.current = self.queue.pop(0)
        if self.current >= CUTS and self.current - CUTS in self.checkpoints:
            self.checkpoints[self.current - CUTS].noticed = True

    def end_turn(self, seen: Seen[None]) -> None:
        """Notes that a turn is over. What it was for is known until its signals were heard."""
        if not seen.signals:
            self.current = ORDINARY
        if not self.queue:
            self.settle()

    # ---- attempts
    def run(self, subtask: int, attempt: int) -> None:
        """Notes that an attempt switches to running."""
        self.the(subtask, attempt).state = RUNNING

    def fail_attempt(self, subtask: int, attempt: int) -> None:
        """Notes that an attempt fails."""
        self.forget(self.the(subtask, attempt), FAILED)

    def begin_failure(self, subtask: int, attempt: int) -> None:
        """Notes that an attempt fails, and that all checkpoints in progress are aborted."""
        self.restarting = (), tuple([one.number for one in self.pending()])
        self.tag = ABORTING
        self.fail_attempt(subtask, attempt)
        for number in self.restarting[1]:
            self.abort(number)

    def end_failure(self, subtask: int, attempt: int) -> None:
        """Notes that the failure has been dealt with."""
        self.restarting = (), ()

    def finish(self, subtask: int, attempt: int) -> None:
        """Notes that an attempt finishes."""
        self.forget(self.the(subtask, attempt), FINISHED)

    def begin_restart(self) -> None:
        """Notes that the failed subtasks are to be restarted."""
        self.restarting = self.dead_lines(), tuple([one.number for one in self.pending()])
        for number in self.restarting[1]:
            self.abort(number)

    def begin_restart_all(self) -> None:
        """Notes that everything is to be restarted, and that what runs is cancelled."""
        aborted = tuple([one.number for one in self.pending()])
        self.restarting = tuple(range(self.config.parallelism)), aborted
        for one in list(self.alive):
            self.forget(one, FAILED)
        for number in aborted:
            self.abort(number)
        self.failed_job = self.failover = self.answered = False
        self.queue = [OUTDATED if tag == REPORTED else tag for tag in self.queue]

    def restart(self) -> None:
        """Notes that the next attempts are deployed."""
        for subtask in self.restarting[0]:
            self.deploy(subtask, self.points[0])
        self.restarting = (), ()

    def speculate(self, subtask: int) -> None:
        """Notes that one more attempt of a subtask is deployed."""
        line = self.lines[subtask]
        line.newest += 1
        line.attempts.append(Attempt(subtask, line.newest, []))
        self.alive.append(line.attempts[-1])

    def restore(self, number: int, parallelism: int) -> None:
        """Begins with a fresh job master, restored from a checkpoint."""
        point = next(one for one in self.points if one.number == number)
        config = self.config
        restored = RestoredEvents(point.number, point.stored)
        self.points = [point]
        self.begin_job(CoordinatorConfig(parallelism, config.sources, config.checkpointing, restored), point)
