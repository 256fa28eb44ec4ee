"""The channel state writer stores the in-flight data of the checkpoints of several subtasks."""

from __future__ import annotations

from abc import abstractmethod
from typing import Annotated, ClassVar

from msgspec import Meta, Struct

from conformance.ports.checkpoint_reason import CheckpointReason
from conformance.ports.faults import (
    SPILL_FILE_READ,
    SPILL_FILE_READ_ON,
    STATE_FILE_CLOSE,
    STATE_FILE_FLUSH,
    STATE_FILE_OPEN,
    STATE_FILE_WRITE,
    FaultKind,
    Places,
)
from conformance.ports.outcomes import ErrorKind, PortError
from conformance.ports.port import Answer, Port
from conformance.ports.word import Word


class WriterConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """How many subtasks there are, and what they share."""

    subtasks: Annotated[int, Meta(ge=1)]
    """How many subtasks there are, numbered from 0."""
    sharing: Annotated[int, Meta(ge=1)]
    """How many subtasks at most share an executor and a file (Flink:
    `execution.checkpointing.unaligned.max-subtasks-per-channel-state-file`)."""
    max_results: Annotated[int, Meta(ge=1)]
    """How many results of a subtask can be open at most, that is, started and neither taken nor aborted."""
    files: bool = False
    """Whether the bytes go to real files, in a folder that the implementation makes and deletes. If not, to memory."""


class RequestKind(Word):
    """What a subtask asks of its executor."""

    START = "start"
    INPUT = "input"
    """To write data of an input channel."""
    SPILLED_INPUT = "spilled-input"
    """To write the data of input channels that lies in spill files."""
    OUTPUT = "output"
    """To write data of a result subpartition."""
    FINISH_INPUT = "finish-input"
    FINISH_OUTPUT = "finish-output"
    ABORT = "abort"
    CLOSE = "close"
    """The subtask will ask for nothing more."""


class Request(Struct, frozen=True):
    """A request that an executor has executed. `checkpoint` is 0 for a request of kind close."""

    subtask: int
    kind: RequestKind
    checkpoint: int


class ChannelState(Struct, frozen=True):
    """What was written for one input channel, or for one result subpartition, in the order of writing."""

    output: bool
    channel: int
    records: tuple[int, ...]


class WriterPort(Port):
    """The channel state writers of the subtasks of one worker process, with the executors that they share (Flink:
    `ChannelStateWriterImpl`, `ChannelStateWriteRequestExecutorFactory`). Specification: writer.md.

    A subtask registers, starts checkpoints, hands in buffers, and says when its input and its output are complete. Each
    of these calls queues a request, and `execute` lets an executor execute one. A buffer that was handed in belongs to
    the writer, which recycles it: signal `BufferRecycled`. The result of a subtask for a checkpoint is known with the
    signal `ChannelStateCompleted` or `ChannelStateFailed`.

    An engine that recovers by pushing also hands in snapshots of spill files, which belong to the writer from then on,
    too: signal `SnapshotClosed`.

    Checkpoint ids are >= 1. Each buffer holds one record.
    """

    can_fail: ClassVar[Places] = dict.fromkeys(
        (STATE_FILE_OPEN, STATE_FILE_WRITE, STATE_FILE_FLUSH, STATE_FILE_CLOSE, SPILL_FILE_READ, SPILL_FILE_READ_ON),
        (FaultKind.THROWS,),
    )

    @abstractmethod
    def register(self, subtask: int) -> Answer[tuple[int, ...]]:
        """A subtask is deployed that is not registered, and gets an executor: a new one, or one that others use.

        Returns: the subtasks that use this executor now, itself included, in ascending order."""

    @abstractmethod
    def start(self, subtask: int, checkpoint: int) -> Answer[None]:
        """The subtask begins to write a checkpoint.

        Raises: PortError ARGUMENT if it has a result for this checkpoint that was neither taken nor aborted; STATE if
        it has as many such results as the configuration allows.
        """

    @abstractmethod
    def add_input(self, subtask: int, checkpoint: int, channel: int, records: tuple[int, ...]) -> Answer[None]:
        """The subtask hands in buffers of an input channel. Another thread than the task's may do so, also late.

        Raises: PortError RELEASED if the subtask is not registered; the buffers are recycled then.
        """

    def add_input_from_spill(
        self, subtask: int, checkpoint: int, snapshot: int, pieces: tuple[tuple[int, int], ...]
    ) -> Answer[None]:
        """The subtask hands in a snapshot of what of its recovered state was not pushed when the checkpoint started
        (FLINK-38544: `ChannelStateWriter.addInputDataFromSpill`). The writer reads it when it executes the request, and
        closes it. An empty one is closed at once, and nothing is queued.

        `snapshot`: its number, given by the caller. `pieces`: what reading it returns, one after another: the channel
        and the record of each piece. Called at most once for a checkpoint; only an implementation with the capability
        `recover-by-pushing` is asked for this.
        """
        raise PortError(ErrorKind.STATE, "this writer is handed no spill files: it must not claim `recover-by-pushing`")

    @abstractmethod
    def add_output(self, subtask: int, checkpoint: int, channel: int, records: tuple[int, ...]) -> Answer[None]:
        """The subtask hands in buffers of a result subpartition."""

    @abstractmethod
    def add_output_future(self, subtask: int, checkpoint: int, channel: int, future: int) -> Answer[None]:
        """The subtask promises the buffers of a result subpartition. Futures are numbered by the caller."""

    @abstractmethod
    def complete_future(self, future: int, records: tuple[int, ...]) -> Answer[None]:
        """The promised buffers are there, and belong to the writer. Called once, also after `finish_output`, `abort`
        and `close`."""

    @abstractmethod
    def fail_future(self, future: int, reason: CheckpointReason) -> Answer[None]:
        """The promised buffers will not come. Only the result of this subtask fails with this reason. Called in place
        of `complete_future`."""

    @abstractmethod
    def finish_input(self, subtask: int, checkpoint: int) -> Answer[None]:
        """The subtask has handed in all data of its input channels, or there was none. Called once."""

    @abstractmethod
    def finish_output(self, subtask: int, checkpoint: int) -> Answer[None]:
        """The subtask has handed in or promised all data of its result subpartitions, if there was any. Called once."""

    @abstractmethod
    def abort(self, subtask: int, checkpoint: int, reason: CheckpointReason) -> Answer[None]:
        """The checkpoint is over for this subtask, which will not take its result. It may not have started it."""

    @abstractmethod
    def take_result(self, subtask: int, checkpoint: int) -> Answer[None]:
        """The subtask takes its result, open or not, so that the writer need not keep it.

        Raises: PortError ARGUMENT if there is none.
        """

    @abstractmethod
    def close(self, subtask: int) -> Answer[None]:
        """The subtask ends. Allowed at any moment; it changes nothing if the subtask is not registered.

        An executor that no subtask uses any more stops: what is queued is cancelled, and what is open fails.
        """

    @abstractmethod
    def execute(self, subtask: int) -> Answer[Request | None]:
        """The executor of this subtask executes its next request. Returns: the request; none if there is none that can
        be executed."""

    @abstractmethod
    def read_back(self, subtask: int, checkpoint: int) -> Answer[tuple[ChannelState, ...] | None]:
        """Read what is stored for a subtask: inputs first, each by the number of its channel; nothing if its result is
        not complete. Allowed until `release`."""

    @abstractmethod
    def files(self) -> Answer[tuple[int, ...]]:
        """Return the checkpoint of each file that exists, in ascending order. Allowed until `release`."""

    @abstractmethod
    def executors(self) -> Answer[tuple[tuple[int, ...], ...]]:
        """Return the subtasks of each executor that is running, in ascending order."""
