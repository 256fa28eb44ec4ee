"""The operator coordinator: events between a coordinator in the job master and its subtasks, across checkpoints.

The port is everything between the user's code on both sides: the holder with its gates in the job master, the
transport, and the gates of the subtasks if there are any. The user's code is the driver's, and so are the checkpoint
coordinator, the life of the attempts, and the order in which anything arrives. (Flink: `OperatorCoordinatorHolder`,
`SubtaskGatewayImpl`, `OperatorEventDispatcher`; FLINK-26029.)
"""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

from msgspec import Struct

from conformance.ports.coordinator_signals import Message
from conformance.ports.faults import OPERATOR_COORDINATOR, FaultKind, Places
from conformance.ports.port import Answer, Port

NO_CHECKPOINT = -1
"""Stands for the beginning: nothing was restored (Flink: `OperatorCoordinator.NO_CHECKPOINT`)."""


class RestoredEvents(Struct, frozen=True):
    """What a checkpoint stored for replay: `stored[s]` are the reports of subtask s, in the order in which it sent
    them."""

    checkpoint: int
    stored: tuple[tuple[Message, ...], ...]


class CoordinatorConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """A coordinator of one operator with `parallelism` subtasks. Attempt 0 of each subtask is deployed and not running.

    If `restored` has more subtasks than `parallelism`, the reports of subtask s that must be replayed belong to subtask
    s modulo `parallelism`. Without `checkpointing` there are no checkpoints, and a subtask may have several attempts at
    a time.
    """

    parallelism: int
    sources: bool = False
    """Whether the subtasks are sources. Barriers of sources travel in order with the events to the subtask."""
    checkpointing: bool = True
    restored: RestoredEvents | None = None


class CoordinatorPort(Port):
    """The job master's and the subtasks' side of an operator coordinator. Specification: coordinator.md.

    *Events* go from the coordinator to a subtask, *reports* from a subtask to the coordinator. Both travel in order for
    each attempt. An implementation may send messages of its own among them; the signals `EventTransmitted` and
    `ReportTransmitted` have no message then.

    What an operation does in the main thread of the job master may happen at once, or be queued: then it emits one
    `TurnQueued` for each queued action, and `turn` runs the oldest one. `fail_attempt`, `finish`, `restart` and
    `restart_all` are turns of their own.

    No operation raises an error: what is refused, lost, or comes too late shows in signals.

    If the coordinator throws when it is asked for its state, that checkpoint fails and the whole job must be restarted;
    if it throws when it is given a report, the whole job must be restarted. If it throws when it is notified that a
    checkpoint is complete or aborted, the job may go on. In each case, whatever else the turn does is done.
    """

    can_fail: ClassVar[Places] = {OPERATOR_COORDINATOR: (FaultKind.THROWS,)}

    # ---- the coordinator's own thread
    @abstractmethod
    def send(self, message: Message) -> Answer[None]:
        """The coordinator sends an event to an attempt that it knows to be ready (Flink: `SubtaskGateway.sendEvent`).

        The ticket of the event ends with `TicketEnded`: the attempt has got it, or it may not have got it.
        """

    @abstractmethod
    def cut(self, checkpoint: int, succeeds: bool) -> Answer[None]:
        """The coordinator completes the future of a checkpoint with its state, or exceptionally.

        What it sent before this call belongs to the checkpoint; what it sends afterwards does not. It may come late,
        after the checkpoint was aborted.
        """

    @abstractmethod
    def fail_job(self) -> Answer[None]:
        """The coordinator reports a failure that only a restart of the whole job mends (Flink: `Context.failJob`)."""

    # ---- the checkpoint coordinator
    @abstractmethod
    def trigger(self, checkpoint: int) -> Answer[None]:
        """A checkpoint begins: sooner or later the coordinator is asked for its state (`CheckpointRequested`), and the
        result becomes known (`CoordinatorCheckpointed`).

        Ids increase strictly, also across failures. A request with an old id fails, and changes nothing else.
        """

    @abstractmethod
    def inject(self, checkpoint: int) -> Answer[None]:
        """The result was a success, and the barriers of the checkpoint leave now."""

    @abstractmethod
    def abort_triggering(self) -> Answer[None]:
        """The checkpoint that is being triggered failed before anybody could say which one it is. It may be that none
        had got so far as `trigger` (Flink: `abortCurrentTriggering`)."""

    @abstractmethod
    def abort(self, checkpoint: int, triggering: bool) -> Answer[None]:
        """A checkpoint failed. `triggering`: its barriers had not left, so `abort_triggering` comes first. It may have
        failed before it was triggered: then `trigger` is not called for its id any more.

        The coordinator is notified (`CheckpointAbortNotified`).
        """

    @abstractmethod
    def complete(
        self, checkpoint: int, subsumed: tuple[int, ...], notify: bool
    ) -> Answer[tuple[tuple[Message, ...], ...]]:
        """All subtasks have taken part in a checkpoint, and it is stored. Returns, by subtask, the reports that it
        stores for replay. After rescaling there may be some of a subtask that the job has no more.

        First each checkpoint in `subsumed` is aborted. `notify`: the coordinator is notified
        (`CheckpointCompleteNotified`); nobody is notified of a savepoint (Flink: `notifyCheckpointComplete`).
        """

    # ---- the main thread of the job master, and what arrives there
    @abstractmethod
    def turn(self) -> Answer[None]:
        """The main thread runs the oldest queued action."""

    @abstractmethod
    def reply(self, subtask: int, attempt: int) -> Answer[None]:
        """The oldest reply of an attempt arrives: it has got an event."""

    @abstractmethod
    def arrive(self, subtask: int, attempt: int) -> Answer[None]:
        """The oldest report of an attempt arrives. The job master refuses it if the attempt is over by the time of the
        turn (Flink: `SchedulerBase.deliverOperatorEventToCoordinator`)."""

    @abstractmethod
    def acknowledge_again(self, subtask: int, attempt: int, checkpoint: int) -> Answer[None]:
        """What an attempt says after its snapshot arrives once more, or for a checkpoint that nobody knows."""

    @abstractmethod
    def lose_event(self, subtask: int, attempt: int) -> Answer[None]:
        """The oldest event on its way to an attempt is lost; its sender sees the request fail."""

    @abstractmethod
    def lose_reply(self, subtask: int, attempt: int) -> Answer[None]:
        """The oldest reply of an attempt is lost; the sender sees the request fail although the event has arrived."""

    # ---- the subtasks
    @abstractmethod
    def deliver(self, subtask: int, attempt: int) -> Answer[Message | None]:
        """The oldest event on its way to an attempt arrives and is handled. None: a message of the implementation."""

    @abstractmethod
    def report(self, message: Message) -> Answer[None]:
        """The operator of a subtask sends a report (Flink: `OperatorEventGateway.sendEventToCoordinator`)."""

    @abstractmethod
    def lose_report(self, subtask: int, attempt: int) -> Answer[None]:
        """The oldest report on its way from an attempt is lost, and the task fails because of that."""

    @abstractmethod
    def barrier(
        self, subtask: int, attempt: int, checkpoint: int, succeeds: bool, hook: tuple[Message, ...]
    ) -> Answer[None]:
        """A subtask takes its snapshot. While it does, its operator sends the reports in `hook`, and its state says so.

        `succeeds`: if not, the synchronous part of the snapshot throws after that.
        """

    @abstractmethod
    def notify_aborted(self, subtask: int, attempt: int, checkpoint: int) -> Answer[None]:
        """The task is notified that a checkpoint was aborted, by a request that may overtake events."""

    # ---- the attempts
    @abstractmethod
    def run(self, subtask: int, attempt: int) -> Answer[None]:
        """An attempt switches to running; if it still runs at the time of the turn, the coordinator is notified
        (`SubtaskReady`)."""

    @abstractmethod
    def fail_attempt(self, subtask: int, attempt: int, aborted: tuple[int, ...]) -> Answer[None]:
        """An attempt fails or is cancelled, and the coordinator is notified (`SubtaskFailed`). Requests to it fail.

        Then the abortion of the checkpoints in `aborted` is queued. These are usually all in progress (Flink:
        `CheckpointCoordinator.stopCheckpointScheduler`).
        """

    @abstractmethod
    def finish(self, subtask: int, attempt: int) -> Answer[None]:
        """An attempt finishes. All its reports have arrived; events that it has not handled are lost with it."""

    @abstractmethod
    def restart(self, subtasks: tuple[int, ...], restored: RestoredEvents, aborted: tuple[int, ...]) -> Answer[None]:
        """The job master restarts failed subtasks from a checkpoint, or from the beginning.

        In one turn it queues the abortion of the checkpoints in `aborted`, notifies the coordinator that each subtask
        is reset (`SubtaskReset`), and deploys the next attempts.
        """

    @abstractmethod
    def restart_all(self, restored: RestoredEvents, aborted: tuple[int, ...]) -> Answer[None]:
        """The job master restarts everything from a checkpoint, or from the beginning.

        In one turn it cancels what still runs (`SubtaskFailed`), queues the abortion of the checkpoints in `aborted`,
        resets the coordinator (`CoordinatorReset`), and deploys the next attempts of all subtasks.
        """

    @abstractmethod
    def speculate(self, subtask: int) -> Answer[None]:
        """A further attempt of a subtask is deployed while others run. Only without checkpointing."""
