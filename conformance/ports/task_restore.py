"""The restore of a task: who reads the recovered channel state, when the gates are converted, when the task runs."""

from __future__ import annotations

from abc import abstractmethod
from typing import Annotated, ClassVar

from msgspec import Meta, Struct

from conformance.ports.channel import Recovery
from conformance.ports.elements import Element
from conformance.ports.faults import (
    BUFFER_POOL,
    CHANNEL_STATE_READ,
    OPERATORS_OPEN,
    OPERATORS_PROCESS,
    SPILL_FILE_READ_ON,
    SUBPARTITION_REQUEST,
    WRITER_THROWS,
    FaultKind,
    Places,
)
from conformance.ports.port import Answer, Port
from conformance.ports.spill import SpillPort
from conformance.ports.word import Word


class Turn(Word):
    """What one turn of the mailbox loop has come to."""

    ACTED = "acted"
    """It ran a mail, or the default action took something."""
    WAITS = "waits"
    """There is nothing to do until a mail or an element comes."""
    OVER = "over"
    """The task has finished, failed, or was cancelled."""


ALL_GATES = -1
"""The operators read all gates."""


class TaskRestoreConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """What is restored, and the settings of the job that say how. Channels are numbered through all gates."""

    gates: tuple[Annotated[int, Meta(ge=1)], ...]
    """The number of channels of each gate; empty: the task is a source."""
    input_state: tuple[tuple[int, ...], ...]
    """By channel, the recovered records."""
    output_state: tuple[int, ...]
    """The recovered records of the output."""
    recovery: Recovery
    """The design in which the engine recovers if checkpointing during recovery is in effect, that is, if all three
    settings are enabled. Otherwise it recovers with RECOVER_FIRST."""
    unaligned: bool = True
    """Whether unaligned checkpoints are enabled (Flink: `execution.checkpointing.unaligned.enabled`)."""
    output_on_downstream: bool = True
    """Flink: `execution.checkpointing.unaligned.recover-output-on-downstream.enabled`."""
    during_recovery: bool = True
    """Flink: `execution.checkpointing.unaligned.during-recovery.enabled`."""
    spill_directories: bool = True
    """Whether there are directories into which fetched state can be spilled."""
    buffers: Annotated[int, Meta(ge=1)] = 64
    """How many buffers there are for recovered data. A record has one from when the executor hands it on until the
    operators get it. With IN_MEMORY there are as many as are needed."""


class TaskRestorePort(Port):
    """A task that is deployed with recovered channel state (Flink: `StreamTask.restoreInternal`, its mailbox loop, and
    the executor of channel state). Specification: task-restore.md.

    All channels are local, so that live data waits at its producer until the task takes it. Signals:
    `TaskStateChanged`, `OutputStateRestored`, `OperatorsOpened`, `GateConverted`, and `ElementTaken` for every buffer
    and end of partition that the operators get. With RECOVER_FIRST the operators process recovered data before the
    conversion of its gate; with PUSHED they read only gates that are converted; with IN_MEMORY either is allowed.
    """

    can_fail: ClassVar[Places] = {
        CHANNEL_STATE_READ: (FaultKind.THROWS,),
        OPERATORS_OPEN: (FaultKind.THROWS,),
        OPERATORS_PROCESS: (FaultKind.THROWS,),
        BUFFER_POOL: (FaultKind.ENDS,),
        **SpillPort.can_fail,
        SPILL_FILE_READ_ON: (FaultKind.THROWS,),
        **WRITER_THROWS,
        SUBPARTITION_REQUEST: (FaultKind.THROWS,),
    }

    # ---- task thread
    @abstractmethod
    def restore(self) -> Answer[None]:
        """The task begins to restore: it reads its output state, opens the operators, and lets the executor of channel
        state begin. Called once, first.

        Raises: PortError ARGUMENT if state is to be spilled and there is no directory; the task has failed then.
        """

    @abstractmethod
    def turn(self) -> Answer[Turn]:
        """One turn of the mailbox loop: run the oldest mail; if there is none, the default action, which takes one
        element of the gates that the operators read. Allowed after the task is over, too."""

    @abstractmethod
    def select(self, gate: int) -> Answer[None]:
        """From now on the operators read only this gate, or `ALL_GATES` (Flink: `InputSelectable.nextSelection`)."""

    @abstractmethod
    def checkpoint(self, checkpoint: int) -> Answer[None]:
        """The task takes its part of an unaligned checkpoint. Checkpoint ids ascend. Not called if unaligned
        checkpoints are disabled.

        Raises: PortError CHECKPOINT DECLINED_TASK_NOT_READY if the restore has not come far enough; RELEASED if the
        task is over before it has taken its part; IO if the spill files cannot be read, or if the channels cannot start
        it, in which case the task has failed. If it was over before: CHECKPOINT
        TASK_CLOSING, or one of the first two.
        """

    # ---- executor of channel state
    @abstractmethod
    def read(self) -> Answer[bool]:
        """The executor does its next piece of work: it reads, or hands on, the recovered state of one buffer, or it
        ends the recovered state of a gate; False if there is nothing to do now, as when the task is over."""

    # ---- network thread
    @abstractmethod
    def arrive(self, channel: int, element: Element) -> Answer[None]:
        """The producer of a channel sends a buffer, or its end of partition. Allowed before the conversion, too."""

    # ---- canceler
    @abstractmethod
    def cancel(self) -> Answer[None]:
        """The task is cancelled, whatever its threads do. Nothing happens if it is over."""

    # ---- observer
    @abstractmethod
    def persisted(self, checkpoint: int) -> Answer[tuple[tuple[int, ...], ...]]:
        """The records that are stored as input state of a checkpoint, by channel; empty if the task declined it."""
