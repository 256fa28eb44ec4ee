"""Gates for events: in the job master, between the coordinator and the subtasks. Specification: coordinator.md."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TypeAlias

from conformance.ports import NO_CHECKPOINT, Message

from .attempts import Attempt

Transmit: TypeAlias = Callable[[Message], None]


class DownGate(ABC):
    """What holds events back while a checkpoint is in progress. It calls the transport to let them go."""

    @abstractmethod
    def deploy(self, attempt: Attempt) -> None:
        """A new attempt is deployed, and is the newest of its subtask."""

    @abstractmethod
    def end(self, attempt: Attempt) -> list[Message]:
        """An attempt is over. Returns the events to it that were held back, which nobody transmits any more."""

    @abstractmethod
    def mark(self, checkpoint: int) -> None:
        """The coordinator is about to be asked for its state."""

    @abstractmethod
    def close(self, checkpoint: int) -> bool:
        """The coordinator has cut. Returns False if the checkpoint is over already, or a gate does not know it."""

    @abstractmethod
    def send(self, message: Message, transmit: Transmit) -> None:
        """Transmit an event, or hold it back."""

    @abstractmethod
    def acknowledge(self, attempt: Attempt, checkpoint: int, transmit: Transmit) -> None:
        """An attempt has taken its snapshot."""

    @abstractmethod
    def inject(self, checkpoint: int, transmit: Transmit) -> None:
        """The barriers of a checkpoint have left."""

    @abstractmethod
    def open(self, checkpoint: int, transmit: Transmit) -> None:
        """A checkpoint is over, completed or aborted."""


class Valve(DownGate):
    """O46. V0: one valve for all subtasks, shut from the cut until the barriers leave (Flink: `OperatorEventValve`)."""

    def __init__(self) -> None:
        self.marked = NO_CHECKPOINT
        self.is_shut = False
        self.held: list[Message] = []

    def deploy(self, attempt: Attempt) -> None:
        """O46. A valve does not know attempts."""

    def end(self, attempt: Attempt) -> list[Message]:
        """O46. Drop the events that it holds back for this attempt, and return them."""
        dropped = [one for one in self.held if (one.subtask, one.attempt) == (attempt.subtask, attempt.number)]
        self.held = [one for one in self.held if one not in dropped]
        return dropped

    def mark(self, checkpoint: int) -> None:
        """O46. Remember the checkpoint for which it will close (Flink: `OperatorEventValve.markForCheckpoint`)."""
        self.marked = checkpoint

    def close(self, checkpoint: int) -> bool:
        """O46. Close, if it was marked for this checkpoint (Flink: `tryShutValve`)."""
        if self.marked != checkpoint:
            return False
        self.is_shut = True
        return True

    def send(self, message: Message, transmit: Transmit) -> None:
        """O46. Send an event on, or hold it back (Flink: `sendEvent`)."""
        if self.is_shut:
            self.held.append(message)
        else:
            transmit(message)

    def acknowledge(self, attempt: Attempt, checkpoint: int, transmit: Transmit) -> None:
        """O46. A valve does not wait for acknowledgements."""

    def inject(self, checkpoint: int, transmit: Transmit) -> None:
        """O46. The barriers have left, so it opens."""
        self.open(checkpoint, transmit)

    def open(self, checkpoint: int, transmit: Transmit) -> None:
        """O46. Open for this checkpoint, and send what was held back (Flink: `openValveAndUnmarkCheckpoint`)."""
        if self.marked != checkpoint:
            return
        self.marked = NO_CHECKPOINT
        self.is_shut = False
        held, self.held = self.held, []
        for message in held:
            transmit(message)


class Gate:
    """V1, V2: the gate of one attempt. It may be held by several checkpoints at once (Flink: `SubtaskGatewayImpl`)."""

    __slots__ = ("attempt", "marked", "segments")

    def __init__(self, attempt: Attempt) -> None:
        self.attempt = attempt
        self.marked: list[int] = []
        """The checkpoints for which the gate may be closed, or is closed."""
        self.segments: dict[int, list[Message]] = {}
        """For each checkpoint that holds the gate, in order, the events sent while it was the newest of them."""

    def mark(self, checkpoint: int) -> None:
        """O8. Remember a checkpoint for which the gate will close (Flink: `markForCheckpoint`)."""
        self.marked.append(checkpoint)

    def close(self, checkpoint: int) -> bool:
        """O9. Close for a checkpoint, if it was marked (Flink: `tryCloseGateway`)."""
        if checkpoint not in self.marked:
            return False
        self.segments[checkpoint] = []
        return True

    def send(self, message: Message, transmit: Transmit) -> None:
        """O10. Send an event on, or hold it back behind the newest cut (Flink: `SubtaskGatewayImpl.sendEvent`,
        `callSendAction`)."""
        if self.segments:
            self.segments[max(self.segments)].append(message)
        else:
            transmit(message)

    def open(self, checkpoint: int, transmit: Transmit) -> None:
        """O12. Open for a checkpoint, and send what only that checkpoint held back (Flink:
        `openGatewayAndUnmarkCheckpoint`)."""
        if checkpoint in self.marked:
            self.marked.remove(checkpoint)
        held = self.segments.pop(checkpoint, [])
        older = [one for one in self.segments if one < checkpoint]
        if older:
            self.segments[max(older)].extend(held)
        else:
            for message in held:
                transmit(message)


class Gates(DownGate):
    """V1, V2: a gate for each attempt that runs or may run."""

    def __init__(self) -> None:
        self.gates: dict[int, Gate] = {}
        """By subtask, the gate of its newest attempt."""

    def deploy(self, attempt: Attempt) -> None:
        """O13. An attempt gets a gate of its own."""
        self.gates[attempt.subtask] = Gate(attempt)

    def end(self, attempt: Attempt) -> list[Message]:
        """O14. The gate of an attempt goes; what it holds back is returned."""
        gate = self.gates.get(attempt.subtask)
        if gate is None or gate.attempt is not attempt:
            return []
        del self.gates[attempt.subtask]
        return [message for segment in gate.segments.values() for message in segment]

    def mark(self, checkpoint: int) -> None:
        """O8. All gates are marked (Flink: `markForCheckpoint`)."""
        for gate in self.gates.values():
            gate.mark(checkpoint)

    def close(self, checkpoint: int) -> bool:
        """O9. All gates close; false if one was not marked (Flink: `closeGateways`)."""
        return all(gate.close(checkpoint) for gate in self.gates.values())

    def send(self, message: Message, transmit: Transmit) -> None:
        """O10. Through the gate of the attempt; without a gate, the event leaves."""
        gate = self.gates.get(message.subtask)
        if gate is None or gate.attempt.number != message.attempt:
            transmit(message)
        else:
            gate.send(message, transmit)

    def acknowledge(self, attempt: Attempt, checkpoint: int, transmit: Transmit) -> None:
        """O11. The subtask has taken its snapshot, so its gate opens (Flink: `AcknowledgeCheckpointEvent`)."""
        gate = self.gates.get(attempt.subtask)
        if gate is not None and gate.attempt is attempt:
            gate.open(checkpoint, transmit)

    def inject(self, checkpoint: int, transmit: Transmit) -> None:
        """O25. These gates open by acknowledgements, not when barriers leave."""

    def open(self, checkpoint: int, transmit: Transmit) -> None:
        """O12. All gates open for a checkpoint."""
        for gate in self.gates.values():
            gate.open(checkpoint, transmit)


class NoGates(DownGate):
    """Without checkpointing nothing is ever held back."""

    def deploy(self, attempt: Attempt) -> None:
        """O44. Nothing is held back for any attempt."""

    def end(self, attempt: Attempt) -> list[Message]:
        """O44. Nothing was held back."""
        return []

    def mark(self, checkpoint: int) -> None:
        """O44. There is no gate to mark."""

    def close(self, checkpoint: int) -> bool:
        """O44. There is no gate to close."""
        return True

    def send(self, message: Message, transmit: Transmit) -> None:
        """O44. Every event leaves at once."""
        transmit(message)

    def acknowledge(self, attempt: Attempt, checkpoint: int, transmit: Transmit) -> None:
        """O44. There is no gate to open."""

    def inject(self, checkpoint: int, transmit: Transmit) -> None:
        """O44. There is no gate to open."""

    def open(self, checkpoint: int, transmit: Transmit) -> None:
        """O44. There is no gate to open."""
