"""The operator coordinator: the holder in the job master, and the transport. Specification: coordinator.md."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias, TypeVarTuple

from conformance.ports import (
    NO_CHECKPOINT,
    OPERATOR_COORDINATOR,
    CheckpointAbortNotified,
    CheckpointCompleteNotified,
    CheckpointRequested,
    CoordinatorCheckpointed,
    CoordinatorConfig,
    CoordinatorPort,
    CoordinatorReset,
    EventTransmitted,
    GlobalFailoverTriggered,
    Message,
    PortError,
    ReportReceived,
    ReportTransmitted,
    Resources,
    RestoredEvents,
    Signal,
    SubtaskFailed,
    SubtaskReady,
    SubtaskReset,
    TaskFailoverTriggered,
    TicketEnded,
    TurnQueued,
)

from ..faults import Faults, Faulty
from .attempts import Attempt, State
from .down import DownGate, NoGates
from .messages import Acknowledged, CloseGate, Downward, GateClosed, Upward
from .protocol import Protocol
from .up import Unblocked

Operands = TypeVarTuple("Operands")
MainThread: TypeAlias = "list[tuple[object, partial[Any]]]"
"""The turns of the main thread of a job master: of each the coordinator that queued it, and what it does.

(Flink: `ComponentMainThreadExecutor`, which all coordinators of a job share.)
"""


class Coordinator(Faulty, CoordinatorPort):
    """Runs what happens in the main thread of the job master in the order in which it was queued."""

    def __init__(
        self,
        config: CoordinatorConfig,
        protocol: Protocol,
        main_thread: MainThread | None = None,
        faults: Faults | None = None,
    ) -> None:
        """`main_thread`, `faults`: those of the job; a coordinator that stands alone has its own."""
        self.queue: MainThread = [] if main_thread is None else main_thread
        self.faults = faults or Faults(self)
        self.parallelism = config.parallelism
        self.down: DownGate = protocol.down() if config.checkpointing else NoGates()
        self.up = protocol.up(self) if config.checkpointing else Unblocked(self)
        self.attempts: dict[tuple[int, int], Attempt] = {}
        """By subtask and number."""
        self.newest: list[int] = [-1] * config.parallelism
        """By subtask, the number of its newest attempt."""
        self.unfinished: list[Message] = []
        """The events whose tickets have not ended, in the order of their turns."""
        self.results: dict[int, list[Message] | None] = {}
        """For each checkpoint whose result is not known: the events that it waits for; None before the cut."""
        self.triggering: int | None = None
        """The checkpoint whose barriers have not left."""
        self.latest = 0
        """The newest checkpoint that was triggered."""
        self.failing = False
        """Whether the coordinator has reported a failure since the last reset."""
        for subtask in range(config.parallelism):
            self.deploy(subtask, config.restored)

    # ---- the main thread
    def later(self, turn: Callable[[*Operands], None], *operands: *Operands) -> None:
        """O1. Queue a turn (Flink: `runInMainThread`)."""
        self.queue.append((self, partial(turn, *operands)))
        self.emit(TurnQueued())

    def turn(self) -> None:
        """O1. The next turn, whichever coordinator has queued it."""
        _, turn = self.queue.pop(0)
        turn()

    def tell(self, signal: Signal) -> bool:
        """O49 to O51. Call the coordinator. Returns whether it throws, which must not end the turn."""
        self.emit(signal)
        try:
            self.faults.reach(OPERATOR_COORDINATOR)
        except PortError:
            return True
        return False

    # ---- events and their tickets
    def send(self, message: Message) -> None:
        """O2. The coordinator sends an event to an attempt; the main thread does it in a turn (Flink:
        `SubtaskGatewayImpl.sendEvent`)."""
        self.later(self.send_now, message)

    def send_now(self, message: Message) -> None:
        """O2. The event goes through the gate of its subtask, or its ticket fails if the attempt is over."""
        self.unfinished.append(message)
        if self.attempts[message.subtask, message.attempt].is_alive():
            self.down.send(message, self.transmit_event)
        else:
            self.end_ticket(message, False)

    def transmit_event(self, message: Message) -> None:
        """O3. An event leaves for its attempt."""
        self.transmit(self.attempts[message.subtask, message.attempt], message)

    def transmit(self, attempt: Attempt, body: Downward) -> None:
        """O3. An event, or a message of the engine, is on its way to an attempt (Flink:
        `TaskExecutorOperatorEventGateway`, `Execution.sendOperatorEvent`)."""
        attempt.events.append(body)
        message = body if type(body) is Message else None
        self.emit(EventTransmitted(attempt.subtask, attempt.number, message))

    def deliver(self, subtask: int, attempt: int) -> Message | None:
        """O4. The oldest message arrives at the attempt, and its acknowledgement is on its way back (Flink:
        `StreamTask.dispatchOperatorEvent`)."""
        one = self.attempts[subtask, attempt]
        body = one.events.pop(0)
        one.replies.append(body)
        if type(body) is Message:
            return body
        self.up.receive(one, body)  # type: ignore[arg-type]  # it is no message of the user
        return None

    def reply(self, subtask: int, attempt: int) -> None:
        """O5. The oldest acknowledgement arrives in the job master."""
        self.later(self.answered, self.attempts[subtask, attempt].replies.pop(0))

    def answered(self, body: Downward) -> None:
        """O5. An acknowledgement has come: the ticket of its event ends with success, or the gate of the subtask is
        closed."""
        if type(body) is Message:
            self.end_ticket(body, True)

    def lose_event(self, subtask: int, attempt: int) -> None:
        """O6, O31. The request of the oldest message to the attempt fails."""
        one = self.attempts[subtask, attempt]
        self.later(self.unanswered, one, one.events.pop(0))

    def lose_reply(self, subtask: int, attempt: int) -> None:
        """O6, O31. The acknowledgement of the oldest message that was delivered is lost."""
        one = self.attempts[subtask, attempt]
        self.later(self.unanswered, one, one.replies.pop(0))

    def unanswered(self, attempt: Attempt, body: Downward) -> None:
        """O6, O31. A request has failed: the attempt is asked to fail, and the ticket ends with a failure (Flink:
        `SubtaskAccess.triggerTaskFailover`)."""
        if attempt.is_alive():
            self.emit(TaskFailoverTriggered(attempt.subtask, attempt.number))
        if type(body) is Message:
            self.end_ticket(body, False)
        elif type(body) is CloseGate and attempt.is_alive():
            self.up.lost(attempt, body.checkpoint)

    def end_ticket(self, message: Message, delivered: bool) -> None:
        """O7. The ticket of an event ends; results that waited for it alone are known (Flink:
        `IncompleteFuturesTracker`)."""
        if message not in self.unfinished:
            return
        self.unfinished.remove(message)
        self.emit(TicketEnded(message, delivered))
        for checkpoint, awaited in list(self.results.items()):
            if awaited is not None and message in awaited:
                awaited.remove(message)
                if not delivered:
                    self.settle(checkpoint, False)
                elif not awaited:
                    self.settle(checkpoint, True)

    # ---- reports
    def report(self, message: Message) -> None:
        """O33. A subtask reports to the coordinator (Flink: `OperatorEventGateway.sendEventToCoordinator`)."""
        self.up.report(self.attempts[message.subtask, message.attempt], message)

    def transmit_up(self, attempt: Attempt, body: Upward) -> None:
        """O15. A report is on its way to the job master (Flink: `JobMasterOperatorEventGateway`)."""
        attempt.reports.append(body)
        message = body if type(body) is Message else None
        self.emit(ReportTransmitted(attempt.subtask, attempt.number, message))

    def arrive(self, subtask: int, attempt: int) -> None:
        """O16. The oldest report of an attempt arrives; a turn hands it to the coordinator."""
        one = self.attempts[subtask, attempt]
        self.later(self.arrived, one, one.reports.pop(0))

    def acknowledge_again(self, subtask: int, attempt: int, checkpoint: int) -> None:
        """O16. An acknowledgement of a checkpoint arrives that is older than the newest."""
        self.later(self.arrived, self.attempts[subtask, attempt], Acknowledged(checkpoint))

    def arrived(self, attempt: Attempt, body: Upward) -> None:
        """O16, O17, O50. A report goes to the coordinator, and an acknowledgement to the gate of the subtask (Flink:
        `OperatorCoordinatorHolder.handleEventFromOperator`)."""
        if not attempt.is_alive():
            return
        if type(body) is Message:
            if self.tell(ReportReceived(attempt.subtask, attempt.number, body)):
                self.fail_job()
        elif type(body) is Acknowledged:
            self.down.acknowledge(attempt, body.checkpoint, self.transmit_event)
        elif type(body) is GateClosed:
            self.up.closed(attempt, body.checkpoint)

    def lose_report(self, subtask: int, attempt: int) -> None:
        """O18. The request of the oldest report fails, so the attempt is asked to fail."""
        self.attempts[subtask, attempt].reports.pop(0)
        self.emit(TaskFailoverTriggered(subtask, attempt))

    # ---- checkpoints
    def trigger(self, checkpoint: int) -> None:
        """O19. The checkpoint coordinator asks for the coordinator's part of a checkpoint (Flink:
        `OperatorCoordinatorHolder.checkpointCoordinator`)."""
        self.later(self.trigger_now, checkpoint)

    def trigger_now(self, checkpoint: int) -> None:
        """O19, O20. An old checkpoint is refused; otherwise reports are closed off, and the coordinator is asked."""
        if checkpoint <= self.latest and checkpoint != NO_CHECKPOINT:
            self.emit(CoordinatorCheckpointed(checkpoint, False))
            return
        self.latest = max(self.latest, checkpoint)
        self.triggering = checkpoint
        self.results[checkpoint] = None
        self.up.begin(checkpoint, [one for one in self.attempts.values() if one.state is State.RUNNING])

    def request(self, checkpoint: int) -> None:
        """O21, O49. The gates are marked, and the coordinator is asked for its state (Flink:
        `checkpointCoordinatorInternal`)."""
        self.down.mark(checkpoint)
        if self.tell(CheckpointRequested(checkpoint)):
            self.settle(checkpoint, False)
            self.fail_job()

    def cut(self, checkpoint: int, succeeds: bool) -> None:
        """O22. The coordinator completes the future of its state; the main thread acts on it in a turn (Flink:
        `OperatorCoordinator.checkpointCoordinator`)."""
        self.later(self.cut_now, checkpoint, succeeds)

    def cut_now(self, checkpoint: int, succeeds: bool) -> None:
        """O22 to O24. The gates close, and the result waits for the events before (Flink: `closeGateways`,
        `completeCheckpointOnceEventsAreDone`)."""
        if checkpoint not in self.results:
            return
        if not succeeds or not self.down.close(checkpoint):
            self.settle(checkpoint, False)
        elif self.unfinished:
            self.results[checkpoint] = list(self.unfinished)
        else:
            self.settle(checkpoint, True)

    def settle(self, checkpoint: int, succeeds: bool) -> None:
        """O24. Make the result of a checkpoint known, unless it is."""
        if checkpoint in self.results:
            del self.results[checkpoint]
            self.emit(CoordinatorCheckpointed(checkpoint, succeeds))

    def inject(self, checkpoint: int) -> None:
        """O25. The barriers leave for the sources (Flink 1.11 to 1.15: `afterSourceBarrierInjection`)."""
        self.later(self.injected, checkpoint)

    def injected(self, checkpoint: int) -> None:
        """O25. The checkpoint is triggered; a valve opens."""
        if self.triggering == checkpoint:
            self.triggering = None
        self.down.inject(checkpoint, self.transmit_event)

    def abort_triggering(self) -> None:
        """O26. The checkpoint that is being triggered failed (Flink: `abortCurrentTriggering`)."""
        self.later(self.triggering_aborted)

    def triggering_aborted(self) -> None:
        """O26. Undo the checkpoint that is being triggered."""
        if self.triggering is not None:
            self.undo(self.triggering)

    def abort(self, checkpoint: int, triggering: bool) -> None:
        """O26, O27. A checkpoint is aborted (Flink: `notifyCheckpointAborted`)."""
        if triggering:
            self.abort_triggering()
        self.later(self.aborted, checkpoint)

    def aborted(self, checkpoint: int) -> None:
        """O27, O51. Undo the checkpoint, and notify the coordinator."""
        self.undo(checkpoint)
        self.tell(CheckpointAbortNotified(checkpoint))

    def undo(self, checkpoint: int) -> None:
        """O26, O27. Nothing is held back for a checkpoint any more."""
        if self.triggering == checkpoint:
            self.triggering = None
        self.settle(checkpoint, False)
        self.down.open(checkpoint, self.transmit_event)
        self.up.abort(checkpoint, [one for one in self.attempts.values() if one.is_alive()])

    def complete(self, checkpoint: int, subsumed: tuple[int, ...], notify: bool) -> tuple[tuple[Message, ...], ...]:
        """O28. A checkpoint is complete: older ones that it subsumes are aborted (Flink:
        `notifyCheckpointComplete`)."""
        for older in subsumed:
            self.later(self.aborted, older)
        if notify:
            self.later(self.completed, checkpoint)
        return self.up.stored(checkpoint, self.parallelism)

    def completed(self, checkpoint: int) -> None:
        """O28, O51. All gates open for the checkpoint, and the coordinator is notified."""
        self.down.open(checkpoint, self.transmit_event)
        self.tell(CheckpointCompleteNotified(checkpoint))

    # ---- subtasks
    def barrier(self, subtask: int, attempt: int, checkpoint: int, succeeds: bool, hook: tuple[Message, ...]) -> None:
        """O34. The barrier reaches a subtask, which takes its snapshot (Flink: `AcknowledgeCheckpointEvent`)."""
        self.up.barrier(self.attempts[subtask, attempt], checkpoint, succeeds, hook)

    def notify_aborted(self, subtask: int, attempt: int, checkpoint: int) -> None:
        """O36. The task of a subtask is notified that a checkpoint was aborted."""
        self.up.abort_at(self.attempts[subtask, attempt], checkpoint)

    # ---- attempts
    def deploy(self, subtask: int, restored: RestoredEvents | None) -> None:
        """O37, O38. The next attempt of a subtask is deployed, with its stored reports."""
        self.newest[subtask] += 1
        attempt = Attempt(subtask, self.newest[subtask])
        self.attempts[subtask, attempt.number] = attempt
        self.down.deploy(attempt)
        stored = () if restored is None else restored.stored
        owned = [one for of, reports in enumerate(stored) if of % self.parallelism == subtask for one in reports]
        self.up.deploy(attempt, owned)

    def run(self, subtask: int, attempt: int) -> None:
        """O39. An attempt switches to running."""
        self.attempts[subtask, attempt].state = State.RUNNING
        self.later(self.ready, subtask, attempt)

    def ready(self, subtask: int, attempt: int) -> None:
        """O39. If it still runs, the coordinator is notified that it is ready (Flink: `executionAttemptReady`)."""
        if self.attempts[subtask, attempt].state is State.RUNNING:
            self.emit(SubtaskReady(subtask, attempt))

    def end(self, attempt: Attempt, state: State) -> None:
        """O40, O41. The requests to the attempt fail, and what was held back for it fails too."""
        attempt.state = state
        unsent = self.down.end(attempt)
        self.up.end(attempt)
        for body in (*attempt.replies, *attempt.events, *unsent):
            if type(body) is Message:
                self.end_ticket(body, False)
        attempt.replies, attempt.events, attempt.reports = [], [], []

    def fail_attempt(self, subtask: int, attempt: int, aborted: tuple[int, ...]) -> None:
        """O40. An attempt fails, and the coordinator is notified (Flink: `executionAttemptFailed`)."""
        self.end(self.attempts[subtask, attempt], State.FAILED)
        self.emit(SubtaskFailed(subtask, attempt))
        for checkpoint in aborted:
            self.later(self.aborted, checkpoint)

    def finish(self, subtask: int, attempt: int) -> None:
        """O41. An attempt finishes."""
        self.end(self.attempts[subtask, attempt], State.FINISHED)

    def restart(self, subtasks: tuple[int, ...], restored: RestoredEvents, aborted: tuple[int, ...]) -> None:
        """O42. Failed subtasks are restarted: the coordinator is notified of each reset (Flink: `subtaskReset`)."""
        for checkpoint in aborted:
            self.later(self.aborted, checkpoint)
        for subtask in subtasks:
            self.emit(SubtaskReset(subtask, restored.checkpoint))
            self.deploy(subtask, restored)

    def restart_all(self, restored: RestoredEvents, aborted: tuple[int, ...]) -> None:
        """O43. The job is restarted: the coordinator is reset (Flink: `resetToCheckpoint`)."""
        for (subtask, number), attempt in self.attempts.items():
            if attempt.is_alive():
                self.fail_attempt(subtask, number, ())
        for checkpoint in aborted:
            self.later(self.aborted, checkpoint)
        self.failing = False
        self.emit(CoordinatorReset(restored.checkpoint))
        for subtask in range(self.parallelism):
            self.deploy(subtask, restored)

    def speculate(self, subtask: int) -> None:
        """O44. A further attempt of a subtask is deployed."""
        self.deploy(subtask, None)

    def fail_job(self) -> None:
        """O45. The job must be restarted; asked for once (Flink: `OperatorCoordinator.Context.failJob`)."""
        if not self.failing:
            self.failing = True
            self.emit(GlobalFailoverTriggered())

    # ---- life
    def resources(self) -> Resources:
        """O47. A future for each ticket and for each result that is not known."""
        return Resources(0, 0, 0, 0, len(self.unfinished) + len(self.results))

    def release(self) -> None:
        """O48. The job is over: tickets, results and turns of this coordinator are dropped."""
        self.unfinished.clear()
        self.results.clear()
        self.queue[:] = [turn for turn in self.queue if turn[0] is not self]
