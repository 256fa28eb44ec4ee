"""What the ledger of a coordinator learns from the signals of an implementation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from conformance.components.coordinator.job import OLD_ID, ORDINARY, OUTDATED, Job
from conformance.components.coordinator.sides import (
    ANSWERED,
    COMPLETED,
    TRIGGERED,
)
from conformance.ports import (
    NO_CHECKPOINT,
    CheckpointAbortNotified,
    CheckpointCompleteNotified,
    CheckpointRequested,
    CoordinatorCheckpointed,
    CoordinatorReset,
    EventTransmitted,
    FaultStruck,
    GlobalFailoverTriggered,
    ReportReceived,
    ReportTransmitted,
    Signal,
    SubtaskFailed,
    SubtaskReady,
    SubtaskReset,
    TaskFailoverTriggered,
    TicketEnded,
    TurnQueued,
)


class Heard(Job):
    """A job that hears what is under way, and what the user is told."""

    __slots__ = ()

    def hear(self, signals: list[Signal]) -> None:
        """Learns what is under way and what the coordinator was told."""
        for signal in signals:
            HEARD[type(signal)](self, signal)
        self.tag = self.current = ORDINARY
        if not self.queue:
            self.settle()

    def settle(self) -> None:
        """Notes that the main thread has nothing to do, and so knows what is over."""
        for checkpoint in self.checkpoints.values():
            if checkpoint.state == "aborted":
                checkpoint.known = True
            checkpoint.noticed = checkpoint.done

    def _queued(self, signal: TurnQueued) -> None:
        self.queue.append(self.tag)

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
                checkpoint.poisoned |= (
                    not signal.delivered and one.is_alive() and (checkpoint.noticed or not one.doomed)
                )

    def _requested(self, signal: CheckpointRequested) -> None:
        self.called = signal
        self.requested = max(self.requested, signal.checkpoint)
        if signal.checkpoint in self.checkpoints:
            self.checkpoints[signal.checkpoint].requested = True

    def _checkpointed(self, signal: CoordinatorCheckpointed) -> None:
        checkpoint = self.checkpoints.get(signal.checkpoint)
        is_old = self.regressed and OLD_ID in (self.current, self.tag)
        if checkpoint is not None and checkpoint.result is None and not is_old:
            checkpoint.result = signal.succeeded
            if checkpoint.state == TRIGGERED:
                checkpoint.state = ANSWERED
                if signal.checkpoint == NO_CHECKPOINT:
                    checkpoint.state = COMPLETED
        elif self.regressed:
            self.regressed -= 1

    def _told(self, signal: CheckpointCompleteNotified | CheckpointAbortNotified) -> None:
        self.called = signal
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
        self.called = signal
        one = self.attempt(signal.subtask, signal.attempt)
        if one is not None and signal.message in one.landed:
            one.landed.remove(signal.message)
        if self.knows(signal.message.subtask):
            self.lines[signal.message.subtask].counted = signal.message.number + 1

    def _doomed(self, signal: TaskFailoverTriggered) -> None:
        one = self.attempt(signal.subtask, signal.attempt)
        if one is not None:
            one.doomed = True

    def _struck(self, signal: FaultStruck) -> None:
        """The coordinator threw. If it was asked or given something, the job fails, and it will not cut."""
        self.faults.struck((signal,))
        self.thrown.append(type(self.called).__name__)
        self.failed_job |= type(self.called) in (CheckpointRequested, ReportReceived)
        if type(self.called) is CheckpointRequested and self.called.checkpoint in self.checkpoints:
            checkpoint = self.checkpoints[self.called.checkpoint]
            checkpoint.done = checkpoint.poisoned = True
        self.excuse()

    def _failover(self, signal: GlobalFailoverTriggered) -> None:
        self.failover = True
        self.answered |= self.current not in (OUTDATED, OLD_ID)


HEARD: dict[type, Callable[[Heard, Any], None]] = {
    TurnQueued: Heard._queued,
    EventTransmitted: Heard._transmitted,
    ReportTransmitted: Heard._reported,
    TicketEnded: Heard._ended,
    CheckpointRequested: Heard._requested,
    CoordinatorCheckpointed: Heard._checkpointed,
    CheckpointCompleteNotified: Heard._told,
    CheckpointAbortNotified: Heard._told,
    SubtaskReady: Heard._ready,
    SubtaskFailed: Heard._failed,
    SubtaskReset: Heard._reset,
    CoordinatorReset: Heard._reset_all,
    ReportReceived: Heard._received,
    TaskFailoverTriggered: Heard._doomed,
    GlobalFailoverTriggered: Heard._failover,
    FaultStruck: Heard._struck,
}
"""What each signal tells the ledger."""
