"""The drainer: fetched channel state on its way from files into channels, and the checkpoints that come meanwhile."""

from __future__ import annotations

from abc import abstractmethod
from typing import Annotated, ClassVar

from msgspec import Meta, Struct

from conformance.ports.elements import Element
from conformance.ports.faults import (
    BUFFER_POOL,
    SPILL_FILE_OPEN,
    SPILL_FILE_READ,
    SPILL_FILE_READ_ON,
    FaultKind,
    Places,
)
from conformance.ports.port import Answer, Port
from conformance.ports.spill import Piece
from conformance.ports.word import Word


class DrainerConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """The gates of a task whose state was fetched, and that state. Every gate recovers with PUSHED."""

    gates: tuple[Annotated[int, Meta(ge=1)], ...]
    """The number of channels of each gate. All channels are local."""
    fetched: tuple[Piece, ...]
    """What was fetched, in this order. It lies in spill files."""
    segment_records: Annotated[int, Meta(ge=1)] = 2
    """How many records a segment of the files has when it is full."""
    buffers: Annotated[int, Meta(ge=1)] = 64
    """How many buffers there are for recovered data. A record has one from its push until the task takes it."""


class RecoveryTrigger(Word):
    """What a checkpoint finds that starts now (Flink: `RecoveryCheckpointTrigger`)."""

    NOT_READY = "not-ready"
    """The state is still fetched: the checkpoint is declined."""
    DRAINING = "draining"
    """Recovery barriers are inserted, and what is not pushed is snapshotted."""
    NO_OP = "no-op"
    """All recovered data was consumed: there is nothing to do."""


class Drained(Struct, frozen=True):
    """An element that the task took, and the channel out of which it came."""

    gate: int
    channel: int
    element: Element


class DrainerPort(Port):
    """The drainer of a task, its gates, and what is handed to the channel state writer (FLINK-38544). Specification:
    drainer.md.

    Buffers have one record. The state is fetched when the port is made.
    """

    can_fail: ClassVar[Places] = {
        SPILL_FILE_OPEN: (FaultKind.THROWS,),
        SPILL_FILE_READ: (FaultKind.THROWS, FaultKind.SHORT),
        SPILL_FILE_READ_ON: (FaultKind.THROWS,),
        BUFFER_POOL: (FaultKind.ENDS,),
    }

    # ---- task thread
    @abstractmethod
    def install(self) -> Answer[None]:
        """The state is fetched: all gates are converted, their subpartitions requested, and the drainer begins."""

    @abstractmethod
    def checkpoint(self, checkpoint: int) -> Answer[None]:
        """An unaligned checkpoint starts: in all channels, and for what is not pushed yet. Its input state is handed to
        the channel state writer. Checkpoint ids ascend.

        Raises: PortError CHECKPOINT DECLINED_TASK_NOT_READY before `install`; RELEASED if the task is over meanwhile.
        """

    @abstractmethod
    def abort(self, checkpoint: int) -> Answer[None]:
        """The checkpoint is aborted. What was handed over for it and is not written is given up, at once or by `write`;
        that of older checkpoints may be given up, too."""

    @abstractmethod
    def take(self, gate: int) -> Answer[Drained | None]:
        """The task takes the next element of a gate; nothing if the gate has none. Allowed after `install`, at any
        moment."""

    # ---- thread that drains
    @abstractmethod
    def drain(self) -> Answer[Piece | None]:
        """Hand the next record to its channel, once there is a buffer for it. Returns: the record; nothing once
        everything was handed on, and the end of recovered data was pushed into each channel; also again. Called after
        `install`.

        Raises: PortError IO if it cannot be read, or no buffer can be had: the task fails then.
        """

    # ---- network thread
    @abstractmethod
    def arrive(self, gate: int, channel: int, record: int) -> Answer[None]:
        """The producer of a channel sends a record, which stays hidden until recovered data was consumed."""

    # ---- executor of the channel state writer
    @abstractmethod
    def write(self) -> Answer[bool]:
        """Write some of what was handed over, or give up some of what was aborted; False if nothing is left of either,
        as before `install`.

        Raises: PortError IO if it cannot be read: only that checkpoint fails then.
        """

    # ---- canceler
    @abstractmethod
    def cancel(self) -> Answer[None]:
        """The task is cancelled, whatever its threads do. Files are deleted."""

    # ---- observer
    @abstractmethod
    def stored(self, checkpoint: int) -> Answer[tuple[tuple[int, ...], ...] | None]:
        """The input state of a checkpoint, by channel through all gates, in the order written; nothing unless it is
        complete. What is complete stays so until `release`, if neither it nor a newer checkpoint is aborted."""

    @abstractmethod
    def trigger(self) -> Answer[RecoveryTrigger]:
        """What a checkpoint would find that started now."""
