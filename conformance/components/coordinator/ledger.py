"""The ledger of a coordinator: both sides' sequences, the cuts, and what is under way between them.

It has three parts: the attempts, checkpoints and turns of a job; what the ledger learns from signals; and what the
steps change.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from conformance.components.coordinator.sides import (
    ABORTED,
    ANSWERED,
    COMPLETED,
    FAILED,
    FINISHED,
    INJECTED,
    RUNNING,
    TRIGGERED,
    Attempt,
    Checkpoint,
    Line,
    Point,
)
from conformance.components.coordinator.turns import (
    ABORTING,
    CUTS,
    OLD_ID,
    ORDINARY,
    OUTDATED,
    REPEATED,
    REPORTED,
    Calls,
    Failures,
    Turns,
)
from conformance.driver import PortLedger, Seen
from conformance.ports import (
    NO_CHECKPOINT,
    CheckpointAbortNotified,
    CheckpointCompleteNotified,
    CheckpointRequested,
    CoordinatorCheckpointed,
    CoordinatorConfig,
    CoordinatorReset,
    EventTransmitted,
    FaultStruck,
    GlobalFailoverTriggered,
    Message,
    Places,
    ReportReceived,
    ReportTransmitted,
    RestoredEvents,
    Signal,
    SubtaskFailed,
    SubtaskReady,
    SubtaskReset,
    TaskFailoverTriggered,
    TicketEnded,
    TurnQueued,
)

MOST_SUBTASKS = 3
RECENT = 3
"""How many checkpoints that are over the ledger remembers."""


def threw(signals: Sequence[Signal]) -> bool:
    """Returns whether the coordinator threw in the operation with these signals."""
    return FaultStruck in map(type, signals)


class Ledger(PortLedger):
    """Plays the user's code on both sides and the checkpoint coordinator, and keeps account of both directions."""

    __slots__ = (
        "abort_notifications", "alive", "calls", "checkpoints", "concurrent", "config", "failures", "lines", "newest",
        "points", "snapping", "turns",
    )  # fmt: skip

    def __init__(
        self, config: CoordinatorConfig, concurrent: int = 1, most_turns: int = 0, can_fail: Places | None = None,
        base: int = 0,
    ) -> None:  # fmt: skip
        super().__init__(can_fail)
        self.turns = Turns(most_turns)
        self.concurrent = concurrent
        """How many checkpoints may be in progress at a time. One savepoint may be in progress besides."""
        self.newest = base
        """The id of the newest checkpoint, or one less than that of the first one."""
        zeros = (0,) * MOST_SUBTASKS
        self.points = [Point(NO_CHECKPOINT, zeros, zeros, zeros, zeros, ())]
        """What the job can be restored from: the beginning or the newest checkpoint, and the newest savepoint."""
        self.begin_job(config, self.points[0])

    # ---- the job
    def begin_job(self, config: CoordinatorConfig, point: Point) -> None:
        """Begins with a fresh job master, restored from this point."""
        self.begin_life("live")
        self.config = config
        self.turns = Turns(self.turns.most)
        self.calls = Calls()
        self.failures = Failures()
        self.checkpoints: dict[int, Checkpoint] = {}
        self.abort_notifications: list[tuple[int, int, int]] = []
        """By subtask, attempt and checkpoint: the tasks that can be notified that a checkpoint was aborted."""
        self.snapping: tuple[Attempt, int] | None = None
        """An attempt that takes its snapshot of a checkpoint in this operation."""
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
        if self.failures.failover or not self.config.checkpointing:
            return False
        runs = False
        for line in self.lines[: self.config.parallelism]:
            last = line.attempts[-1]
            if last.state == "running" and not last.must_fail:
                runs = True
            elif last.state != "finished":
                return False
        return runs

    def has_room(self) -> bool:
        """Returns whether another thread may queue a turn now, if the scenario limits how many wait. The drain is not
        limited: it queues several turns, one after the other."""
        turns = self.turns
        return not turns.most or self.closing or len(turns.queue) < turns.most

    def is_idle(self) -> bool:
        """Returns whether no turn, event or report is under way."""
        return not self.turns.queue and all(not (one.events or one.reports) for one in self.alive)

    def may_fail(self, signals: Sequence[Signal]) -> bool:
        """Returns whether the whole job may be restarted for what the coordinator or an old id has caused, also if that
        is in the signals of the operation that has just ended."""
        return self.failures.reported or self.calls.with_old_id > 0 or self.turns.current == OUTDATED or threw(signals)

    # ---- what ends, and what that may disturb
    def abort(self, number: int) -> None:
        """Notes that a checkpoint is aborted. Its tasks can be notified from now on."""
        checkpoint = self.checkpoints[number]
        checkpoint.state = ABORTED
        checkpoint.must_tell = checkpoint.requested
        checkpoint.may_fail = True
        self.disturb(number)
        self.abort_notifications.extend([(one.subtask, one.number, number) for one in self.alive])

    def let_checkpoints_fail(self) -> None:
        """Notes that something has happened that may make checkpoints in progress fail."""
        for checkpoint in self.checkpoints.values():
            checkpoint.may_fail = True

    def disturb(self, number: int) -> None:
        """Notes that a checkpoint ends, so that other checkpoints in progress might be disturbed."""
        for other in self.checkpoints.values():
            if other.number != number and other.sent is not None:
                other.others_ended = True

    def forget(self, one: Attempt, state: str) -> None:
        """Notes that an attempt is over."""
        one.end(state)
        self.alive.remove(one)
        self.let_checkpoints_fail()
        self.abort_notifications = [task for task in self.abort_notifications if task[:2] != (one.subtask, one.number)]

    # ---- what follows from signals
    # ------------------------------------------------------------------------------------
    def hear(self, signals: list[Signal]) -> None:
        """Learns what is under way and of what the coordinator was notified."""
        for signal in signals:
            heard = HEARD.get(type(signal))
            if heard is not None:  # one of another component says nothing here
                heard(self, signal)
        self.snapping = None
        self.turns.tag = self.turns.current = ORDINARY
        if not self.turns.queue:
            self.settle()

    def settle(self) -> None:
        """Notes that the main thread has nothing to do, and so knows what is over."""
        for checkpoint in self.checkpoints.values():
            if checkpoint.state == "aborted":
                checkpoint.known = True
            checkpoint.cut_seen = checkpoint.done

    def _queued(self, signal: TurnQueued) -> None:
        self.turns.queue.append(self.turns.tag)

    def _transmitted(self, signal: EventTransmitted) -> None:
        one = self.attempt(signal.subtask, signal.attempt)
        if one is None or not one.is_alive():
            return
        one.events.append(signal.message)
        if signal.message in one.unsent:
            one.unsent.remove(signal.message)

    def _reported(self, signal: ReportTransmitted) -> None:
        one = self.attempt(signal.subtask, signal.attempt)
        if one is None or not one.is_alive():
            return
        one.reports.append(signal.message)
        one.sent += 1
        if self.snapping is not None and self.snapping[0] is one:
            one.acknowledged[self.snapping[1]] = one.sent
        if signal.message in one.replay:
            one.replay.remove(signal.message)
        elif signal.message in one.unreported:
            one.unreported.remove(signal.message)

    def _ended(self, signal: TicketEnded) -> None:
        message = signal.message
        one = self.attempt(message.subtask, message.attempt)
        if one is None or message not in one.tickets:
            return
        one.tickets.remove(message)
        if message in one.unsent:
            one.unsent.remove(message)
        for checkpoint in self.checkpoints.values():
            if message in checkpoint.awaited:
                checkpoint.awaited.remove(message)
                checkpoint.cut_failed |= (
                    not signal.delivered and one.is_alive() and (checkpoint.cut_seen or not one.must_fail)
                )

    def _requested(self, signal: CheckpointRequested) -> None:
        self.calls.last = signal
        self.calls.newest_request = max(self.calls.newest_request, signal.checkpoint)
        if signal.checkpoint in self.checkpoints:
            self.checkpoints[signal.checkpoint].requested = True

    def _checkpointed(self, signal: CoordinatorCheckpointed) -> None:
        checkpoint = self.checkpoints.get(signal.checkpoint)
        is_old = self.calls.with_old_id and OLD_ID in (self.turns.current, self.turns.tag)
        if checkpoint is not None and checkpoint.result is None and not is_old:
            checkpoint.result = signal.succeeded
            if checkpoint.state == TRIGGERED:
                checkpoint.state = ANSWERED
                if signal.checkpoint == NO_CHECKPOINT:
                    checkpoint.state = COMPLETED
        elif self.calls.with_old_id:
            self.calls.with_old_id -= 1

    def _told(self, signal: CheckpointCompleteNotified | CheckpointAbortNotified) -> None:
        self.calls.last = signal
        if signal.checkpoint in self.checkpoints:
            self.checkpoints[signal.checkpoint].told += 1

    def _ready(self, signal: SubtaskReady) -> None:
        one = self.attempt(signal.subtask, signal.attempt)
        if one is not None and one.is_alive():
            one.ready = True

    def _failed(self, signal: SubtaskFailed) -> None:
        one = self.attempt(signal.subtask, signal.attempt)
        if one is not None:
            one.ready = False
            one.told_failed = True

    def _reset(self, signal: SubtaskReset) -> None:
        """The subtask also replays the reports of those that the job has no more and that it stands for."""
        for point in self.points:
            if point.number == signal.checkpoint:
                for of in range(signal.subtask, len(self.lines), self.config.parallelism):
                    self.lines[of].sent, self.lines[of].counted = point.sent[of], point.counted[of]

    def _reset_all(self, signal: CoordinatorReset) -> None:
        for point in self.points:
            if point.number == signal.checkpoint:
                for line, sent, counted in zip(self.lines, point.sent, point.counted, strict=True):
                    line.sent, line.counted = sent, counted

    def _received(self, signal: ReportReceived) -> None:
        self.calls.last = signal
        one = self.attempt(signal.subtask, signal.attempt)
        if one is not None and signal.message in one.arrived:
            one.arrived.remove(signal.message)
        if self.knows(signal.message.subtask):
            self.lines[signal.message.subtask].counted = signal.message.number + 1

    def _doomed(self, signal: TaskFailoverTriggered) -> None:
        one = self.attempt(signal.subtask, signal.attempt)
        if one is not None:
            one.must_fail = True

    def _struck(self, signal: FaultStruck) -> None:
        """The coordinator threw. If it was asked or given something, the job fails, and it will not cut."""
        self.faults.struck((signal,))
        self.failures.thrown.append(type(self.calls.last).__name__)
        self.failures.reported |= type(self.calls.last) in (CheckpointRequested, ReportReceived)
        if type(self.calls.last) is CheckpointRequested and self.calls.last.checkpoint in self.checkpoints:
            checkpoint = self.checkpoints[self.calls.last.checkpoint]
            checkpoint.done = checkpoint.cut_failed = True
        self.let_checkpoints_fail()

    def _failover(self, signal: GlobalFailoverTriggered) -> None:
        self.failures.failover = True
        self.failures.answered |= self.turns.current not in (OUTDATED, OLD_ID)

    # ---- what the steps change ---------------------------------------------------------------------------------------
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
        checkpoint.done = checkpoint.cut_failed = checkpoint.may_fail = True

    def cut(self, number: int) -> None:
        """Notes that the coordinator completes its part of a checkpoint."""
        self.turns.tag = CUTS + max(number, 0)
        checkpoint = self.checkpoints[number]
        checkpoint.late = checkpoint.known
        checkpoint.done = True
        checkpoint.sent = tuple([line.sent for line in self.lines])
        checkpoint.counted = tuple([line.counted for line in self.lines])
        checkpoint.awaited = [message for one in self.alive for message in one.tickets]

    def begin_fail_job(self) -> None:
        """Notes that the coordinator reports a failure."""
        self.failures.reported = True
        self.turns.tag = REPORTED

    # ---- the checkpoint coordinator
    def trigger(self, number: int, kind: str) -> None:
        """Notes that a checkpoint is triggered."""
        self.newest = max(self.newest, number)
        checkpoint = Checkpoint(number, kind == "savepoint", bool(self.pending()))
        self.checkpoints[number] = checkpoint
        for one in self.alive:
            if one.state == RUNNING:
                checkpoint.parts[one.subtask] = None
        if not self.turns.queue and not any(one.unsent or one.unreported for one in self.alive):
            over = [
                other
                for other, each in self.checkpoints.items()
                if each.is_over() and (each.done or not each.requested)
            ]
            for other in over[:-RECENT]:
                del self.checkpoints[other]

    def abort_untriggered(self, number: int) -> None:
        """Notes that a checkpoint that has its id is aborted, and is not triggered any more."""
        self.trigger(number, "checkpoint")
        self.checkpoints[number].was_triggered = False
        self.abort(number)

    def trigger_again(self, number: int, kind: str) -> None:
        """Notes that a checkpoint is triggered with an old id."""
        self.calls.with_old_id += 1
        self.turns.tag = OLD_ID

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
            self.lines[subtask].received = one.last_event = seen.value.number
            self.lines[subtask].received += 1

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
        one.opened = max(one.opened, number)
        if number <= one.cut or checkpoint is None or checkpoint.state == ABORTED:
            return
        one.cut = number
        self.snapping = one, number
        if subtask in checkpoint.parts:
            line = self.lines[subtask]
            checkpoint.parts[subtask] = line.received, line.reported

    def barrier_with_report(self, subtask: int, attempt: int, number: int) -> None:
        """Notes that a subtask takes its snapshot, and that its operator sends a report meanwhile."""
        self.report(subtask, attempt)
        self.barrier(subtask, attempt, number)
        checkpoint = self.checkpoints.get(number)
        if checkpoint is not None and checkpoint.parts.get(subtask) is not None:
            checkpoint.reported_in_snapshot.append(subtask)

    def barrier_that_fails_with_report(self, subtask: int, attempt: int, number: int) -> None:
        """Notes that the operator of a subtask sends a report in its snapshot, which fails then."""
        self.report(subtask, attempt)
        self.pass_barrier(subtask, attempt, number)

    def notify_aborted(self, subtask: int, attempt: int, number: int) -> None:
        """Notes that a task was notified that a checkpoint was aborted: it will ignore its barrier."""
        self.abort_notifications.remove((subtask, attempt, number))
        one = self.the(subtask, attempt)
        one.notified_aborts = [*one.notified_aborts[-RECENT:], number]
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
        self.let_checkpoints_fail()

    def lose_event(self, subtask: int, attempt: int) -> None:
        """Notes that an event is lost."""
        one = self.the(subtask, attempt)
        one.lost_an_event |= type(one.events.pop(0)) is Message
        one.missed = True
        self.let_checkpoints_fail()

    def arrive(self, subtask: int, attempt: int) -> None:
        """Notes that a report arrives in the job master."""
        one = self.the(subtask, attempt)
        message = one.reports.pop(0)
        if message is not None:
            one.arrived.append(message)

    def lose_report(self, subtask: int, attempt: int) -> None:
        """Notes that a report is lost, which makes its task fail."""
        one = self.the(subtask, attempt)
        one.reports.pop(0)
        one.must_fail = one.missed = True
        self.let_checkpoints_fail()

    def repeat(self, subtask: int, attempt: int, number: int) -> None:
        """Notes that an acknowledgement is repeated."""
        self.turns.tag = REPEATED
        for checkpoint in self.checkpoints.values():
            if checkpoint.sent is not None and subtask not in checkpoint.repeated:
                checkpoint.repeated.append(subtask)

    def begin_turn(self) -> None:
        """Notes that the main thread runs the oldest turn."""
        self.turns.current = self.turns.queue.pop(0)
        if self.turns.current >= CUTS and self.turns.current - CUTS in self.checkpoints:
            self.checkpoints[self.turns.current - CUTS].cut_seen = True

    def end_turn(self, seen: Seen[None]) -> None:
        """Notes that a turn is over. What it was for is known until its signals were heard."""
        if not seen.signals:
            self.turns.current = ORDINARY
        if not self.turns.queue:
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
        self.failures.restarting = (), tuple([one.number for one in self.pending()])
        self.turns.tag = ABORTING
        self.fail_attempt(subtask, attempt)
        for number in self.failures.restarting[1]:
            self.abort(number)

    def end_failure(self, subtask: int, attempt: int) -> None:
        """Notes that the failure has been dealt with."""
        self.failures.restarting = (), ()

    def finish(self, subtask: int, attempt: int) -> None:
        """Notes that an attempt finishes."""
        self.forget(self.the(subtask, attempt), FINISHED)

    def begin_restart(self) -> None:
        """Notes that the failed subtasks are to be restarted."""
        self.failures.restarting = self.dead_lines(), tuple([one.number for one in self.pending()])
        for number in self.failures.restarting[1]:
            self.abort(number)

    def begin_restart_all(self) -> None:
        """Notes that everything is to be restarted, and that what runs is cancelled."""
        aborted = tuple([one.number for one in self.pending()])
        self.failures.restarting = tuple(range(self.config.parallelism)), aborted
        self.failures.cancelled = tuple([(one.subtask, one.number) for one in self.alive])
        for one in list(self.alive):
            self.forget(one, FAILED)
        for number in aborted:
            self.abort(number)
        self.failures.reported = self.failures.failover = self.failures.answered = False
        self.turns.queue = [OUTDATED if tag == REPORTED else tag for tag in self.turns.queue]

    def restart(self) -> None:
        """Notes that the next attempts are deployed."""
        for subtask in self.failures.restarting[0]:
            self.deploy(subtask, self.points[0])
        self.failures.restarting, self.failures.cancelled = ((), ()), ()

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


HEARD: dict[type, Callable[[Ledger, Any], None]] = {
    TurnQueued: Ledger._queued,
    EventTransmitted: Ledger._transmitted,
    ReportTransmitted: Ledger._reported,
    TicketEnded: Ledger._ended,
    CheckpointRequested: Ledger._requested,
    CoordinatorCheckpointed: Ledger._checkpointed,
    CheckpointCompleteNotified: Ledger._told,
    CheckpointAbortNotified: Ledger._told,
    SubtaskReady: Ledger._ready,
    SubtaskFailed: Ledger._failed,
    SubtaskReset: Ledger._reset,
    CoordinatorReset: Ledger._reset_all,
    ReportReceived: Ledger._received,
    TaskFailoverTriggered: Ledger._doomed,
    GlobalFailoverTriggered: Ledger._failover,
    FaultStruck: Ledger._struck,
}
"""What the ledger learns from each signal."""
