"""Gates for reports: in the subtasks, with what the job master asks of them. Specification: coordinator.md."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Protocol

from conformance.ports import Message

from .attempts import Attempt, State
from .messages import Acknowledged, CloseGate, Downward, GateClosed, OpenGate, Upward


class Surroundings(Protocol):
    """What a gate for reports needs of the holder and the transport."""

    def request(self, checkpoint: int) -> None:
        """O21. Ask the coordinator for its state."""

    def settle(self, checkpoint: int, succeeds: bool) -> None:
        """O24. Make the result of a checkpoint known, unless it is."""

    def transmit(self, attempt: Attempt, body: Downward) -> None:
        """O3. Send something to an attempt."""

    def transmit_up(self, attempt: Attempt, body: Upward) -> None:
        """O15. Send something from an attempt to the job master."""


class UpGate(ABC):
    """What holds reports back while a checkpoint is in progress, and what it stores for replay."""

    def __init__(self, around: Surroundings) -> None:
        self.around = around

    # ---- in the job master
    @abstractmethod
    def begin(self, checkpoint: int, attempts: list[Attempt]) -> None:
        """A checkpoint begins; these attempts run. Sooner or later the coordinator is asked for its state."""

    @abstractmethod
    def closed(self, attempt: Attempt, checkpoint: int) -> None:
        """An attempt says that its gate is closed."""

    @abstractmethod
    def lost(self, attempt: Attempt, checkpoint: int) -> None:
        """The request to close the gate of a running attempt was lost."""

    @abstractmethod
    def end(self, attempt: Attempt) -> None:
        """An attempt is over."""

    @abstractmethod
    def abort(self, checkpoint: int, attempts: list[Attempt]) -> None:
        """A checkpoint was aborted; these attempts are alive."""

    @abstractmethod
    def stored(self, checkpoint: int, parallelism: int) -> tuple[tuple[Message, ...], ...]:
        """A checkpoint is complete. Returns, by subtask, the reports that it stores."""

    # ---- in the subtasks
    @abstractmethod
    def deploy(self, attempt: Attempt, stored: list[Message]) -> None:
        """An attempt starts with these reports to be replayed."""

    @abstractmethod
    def report(self, attempt: Attempt, message: Message) -> None:
        """Transmit a report, or hold it back."""

    @abstractmethod
    def barrier(self, attempt: Attempt, checkpoint: int, succeeds: bool, hook: tuple[Message, ...]) -> None:
        """An attempt takes its snapshot."""

    @abstractmethod
    def receive(self, attempt: Attempt, body: CloseGate | OpenGate) -> None:
        """The job master says something to the gate of an attempt."""

    @abstractmethod
    def abort_at(self, attempt: Attempt, checkpoint: int) -> None:
        """The task of an attempt is notified that a checkpoint was aborted."""


class Unblocked(UpGate):
    """V0, V1: reports are never held back, and none is stored."""

    def begin(self, checkpoint: int, attempts: list[Attempt]) -> None:
        """O19. The coordinator is asked at once."""
        self.around.request(checkpoint)

    def closed(self, attempt: Attempt, checkpoint: int) -> None:
        """O30. No gate closes here."""

    def lost(self, attempt: Attempt, checkpoint: int) -> None:
        """O31. No request to close a gate is lost here."""

    def end(self, attempt: Attempt) -> None:
        """O30, O31. No checkpoint waits for an attempt."""

    def abort(self, checkpoint: int, attempts: list[Attempt]) -> None:
        """O36. There is no gate to open."""

    def stored(self, checkpoint: int, parallelism: int) -> tuple[tuple[Message, ...], ...]:
        """O35. Nothing is stored for replay."""
        return ((),) * parallelism

    def deploy(self, attempt: Attempt, stored: list[Message]) -> None:
        """O37. Nothing is replayed."""

    def report(self, attempt: Attempt, message: Message) -> None:
        """O33. Every report leaves at once."""
        self.around.transmit_up(attempt, message)

    def barrier(self, attempt: Attempt, checkpoint: int, succeeds: bool, hook: tuple[Message, ...]) -> None:
        """O34. What the hooks of the snapshot report leaves, and then the acknowledgement."""
        for message in hook:
            self.report(attempt, message)
        if succeeds:
            self.around.transmit_up(attempt, Acknowledged(checkpoint))

    def receive(self, attempt: Attempt, body: CloseGate | OpenGate) -> None:
        """O32, O36. No message of the engine comes here."""

    def abort_at(self, attempt: Attempt, checkpoint: int) -> None:
        """O36. There is no gate to open."""


class SubtaskGate:
    """V2: the gate for the reports of one attempt."""

    __slots__ = ("aborted", "held", "last", "queue")

    def __init__(self) -> None:
        self.held: list[int] = []
        """The checkpoints that hold the gate."""
        self.aborted: list[int] = []
        """Aborted checkpoints that are newer than the last snapshot."""
        self.last = 0
        """The checkpoint of the last snapshot."""
        self.queue: list[Message] = []
        """The reports that are held back, in order."""


class Closing(UpGate):
    """V2: all subtasks close their gates before the coordinator cuts, and each opens its own at its snapshot."""

    def __init__(self, around: Surroundings) -> None:
        super().__init__(around)
        self.waits: dict[int, list[Attempt]] = {}
        """By checkpoint, the attempts that have not said yet that their gates are closed."""
        self.gates: dict[tuple[int, int], SubtaskGate] = {}
        """By subtask and attempt."""
        self.saved: dict[int, dict[int, tuple[Message, ...]]] = {}
        """By checkpoint and subtask, the reports that are stored for replay."""

    # ---- in the job master
    def begin(self, checkpoint: int, attempts: list[Attempt]) -> None:
        """O29, O30. The gates of all subtasks are asked to close; then the coordinator is asked (FLINK-28639)."""
        self.saved[checkpoint] = {}
        self.waits[checkpoint] = attempts
        for attempt in list(attempts):
            self.around.transmit(attempt, CloseGate(checkpoint))
        self.ask_when_closed(checkpoint)

    def ask_when_closed(self, checkpoint: int) -> None:
        """O30. When all gates have acknowledged, the coordinator is asked."""
        if self.waits.get(checkpoint) == []:
            del self.waits[checkpoint]
            self.around.request(checkpoint)

    def closed(self, attempt: Attempt, checkpoint: int) -> None:
        """O30. The gate of an attempt has acknowledged."""
        waiting = self.waits.get(checkpoint, [])
        if attempt in waiting:
            waiting.remove(attempt)
            self.ask_when_closed(checkpoint)

    def lost(self, attempt: Attempt, checkpoint: int) -> None:
        """O31. A request to close has failed, so the checkpoint fails."""
        if self.waits.pop(checkpoint, None) is not None:
            self.around.settle(checkpoint, False)

    def end(self, attempt: Attempt) -> None:
        """O30, O31. An attempt is over: one that has finished needs no gate, one that has failed lets its checkpoint
        fail."""
        del self.gates[attempt.subtask, attempt.number]
        for checkpoint in list(self.waits):
            if attempt.state is State.FINISHED:
                self.closed(attempt, checkpoint)
            elif attempt in self.waits[checkpoint]:
                self.lost(attempt, checkpoint)

    def abort(self, checkpoint: int, attempts: list[Attempt]) -> None:
        """O36. The gates are asked to open, and nothing is stored."""
        self.waits.pop(checkpoint, None)
        self.saved.pop(checkpoint, None)
        for attempt in attempts:
            self.around.transmit(attempt, OpenGate(checkpoint))

    def stored(self, checkpoint: int, parallelism: int) -> tuple[tuple[Message, ...], ...]:
        """O35. By subtask, the reports that were held back, which the checkpoint stores."""
        saved = self.saved.pop(checkpoint, {})
        return tuple([saved.get(subtask, ()) for subtask in range(parallelism)])

    # ---- in the subtasks
    def deploy(self, attempt: Attempt, stored: list[Message]) -> None:
        """O37. An attempt begins with an open gate, and its stored reports are replayed."""
        self.gates[attempt.subtask, attempt.number] = SubtaskGate()
        for message in stored:
            self.around.transmit_up(attempt, message)

    def report(self, attempt: Attempt, message: Message) -> None:
        """O33. A report leaves, or is queued while the gate is held."""
        gate = self.gates[attempt.subtask, attempt.number]
        if gate.held:
            gate.queue.append(message)
        else:
            self.around.transmit_up(attempt, message)

    def flush(self, attempt: Attempt, gate: SubtaskGate) -> None:
        """O33. The gate is not held any more, so the queue leaves."""
        if not gate.held:
            queue, gate.queue = gate.queue, []
            for message in queue:
                self.around.transmit_up(attempt, message)

    def barrier(self, attempt: Attempt, checkpoint: int, succeeds: bool, hook: tuple[Message, ...]) -> None:
        """O34. The subtask takes its snapshot: its queue is stored with it, the gate opens, and the acknowledgement
        leaves."""
        gate = self.gates[attempt.subtask, attempt.number]
        for message in hook:
            self.report(attempt, message)
        if succeeds and checkpoint > gate.last and checkpoint not in gate.aborted:
            if checkpoint in self.saved:
                self.saved[checkpoint][attempt.subtask] = tuple(gate.queue)
            gate.last = checkpoint
            gate.held = [one for one in gate.held if one > checkpoint]
            gate.aborted = [one for one in gate.aborted if one > checkpoint]
            self.around.transmit_up(attempt, Acknowledged(checkpoint))
            self.flush(attempt, gate)

    def receive(self, attempt: Attempt, body: CloseGate | OpenGate) -> None:
        """O32, O36. A request to close or to open the gate has arrived at the subtask."""
        if type(body) is OpenGate:
            self.abort_at(attempt, body.checkpoint)
            return
        gate = self.gates[attempt.subtask, attempt.number]
        if body.checkpoint > gate.last and body.checkpoint not in gate.aborted:
            gate.held.append(body.checkpoint)
        self.around.transmit_up(attempt, GateClosed(body.checkpoint))

    def abort_at(self, attempt: Attempt, checkpoint: int) -> None:
        """O36. The checkpoint holds the gate no longer, and cannot hold it later."""
        gate = self.gates[attempt.subtask, attempt.number]
        if checkpoint > gate.last and checkpoint not in gate.aborted:
            gate.aborted.append(checkpoint)
        if checkpoint in gate.held:
            gate.held.remove(checkpoint)
            self.flush(attempt, gate)
