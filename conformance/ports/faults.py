"""Faults: what fails when a component calls it, because a scenario says so."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from msgspec import Struct

from conformance.ports.word import Word


class FaultKind(Word):
    """How a call fails."""

    THROWS = "throws"
    """It raises an error and does nothing else. What was handed to it, it has given back (Java: `IOException`)."""
    REFUSES = "refuses"
    """It cannot do now what is asked for, and says so; it can be asked again (Java: null, or an exception for that)."""
    ENDS = "ends"
    """It has failed for good: this call fails, so does every later one, and every waiting caller gets the error."""
    SLOW = "slow"
    """It takes its time: the thread that calls it pauses there, and others go on. It does not fail, so that nothing is
    signalled. Only fine scenarios distinguish it."""
    SHORT = "short"
    """It does a part of what was asked for and says how much, as a read may that gets fewer bytes. It does not fail, so
    that nothing is signalled."""


UNNOTICED = (FaultKind.SLOW, FaultKind.SHORT)
"""The kinds that are no failure: the caller must cope with them."""


Places: TypeAlias = Mapping[str, tuple[FaultKind, ...]]
"""What a component calls that can fail, each with how it can fail."""
CHANNEL_STATE_WRITER = "channel-state-writer"
"""The place where the channel state writer is handed buffers (Flink: `ChannelStateWriter.addInputData`), begins a
checkpoint, or is notified that the outputs are done."""
BUFFER_POOL = "buffer-pool"
"""The place where a buffer is asked for (Flink: `BufferPool.requestBuffer`)."""
NETWORK_BUFFER_POOL = "network-buffer-pool"
"""The place where a physical channel is given its exclusive buffers, when a recovered channel is converted to it
(Flink: `RemoteInputChannel.setup`, `NetworkBufferPool.requestUnpooledMemorySegments`)."""
SUBPARTITION_REQUEST = "subpartition-request"
"""The place where the producer is asked for its subpartition (Flink: `ResultPartitionManager.createSubpartitionView`,
`PartitionRequestClient.requestSubpartition`)."""
PRODUCER = "producer"
"""The producer, whose error arrives instead of its next data (Flink: `RemoteInputChannel.onError`, the failure cause of
a subpartition view)."""
CONNECTION = "connection"
"""The place where something is sent to the producer: credit, a resumption (Flink: `PartitionRequestClient`)."""
AVAILABILITY_LISTENER = "availability-listener"
"""The place where the consumer is notified that something is available (Flink: `BufferAvailabilityListener`)."""
CHANNEL_RELEASE = "channel-release"
"""The place where a gate releases one of its channels: that channel stays as it is, until the gate is released again
(Flink: `InputChannel.releaseAllResources`)."""
OPERATOR_COORDINATOR = "operator-coordinator"
"""The place where the user's coordinator is asked for its state, given a report, or notified of the end of a checkpoint
(Flink: `OperatorCoordinator`)."""
CHECKPOINT_START = "checkpoint-start"
"""The place where the inputs of a task start an unaligned checkpoint (Flink: `CheckpointableInput.checkpointStarted`).
A refusal is for that checkpoint alone."""
STATE_FILE_OPEN = "state-file-open"
"""The place where the channel state writer makes a file (Flink: `createCheckpointStateOutputStream`)."""
STATE_FILE_WRITE = "state-file-write"
"""The place where it writes a buffer to the file."""
STATE_FILE_FLUSH = "state-file-flush"
"""The place where it flushes a file that is complete."""
STATE_FILE_CLOSE = "state-file-close"
"""The place where it closes a file, because it is complete or is given up (Flink: `closeAndGetHandle`, `close`)."""
OPERATOR_SNAPSHOT = "operator-snapshot"
"""The place where the operators take the synchronous part of their snapshots (Flink: `OperatorChain.snapshotState`)."""
SPILL_DIRECTORY = "spill-directory"
"""The place where the directory is made into which a task spills fetched state."""
SPILL_FILE_CREATE = "spill-file-create"
"""The place where a file is made into which fetched state is spilled."""
SPILL_FILE_WRITE = "spill-file-write"
"""The place where fetched state is written to it. If that fails, a part may have been written, as on a full disk."""
SPILL_FILE_SYNC = "spill-file-sync"
"""The place where a spill file that is complete is flushed and closed."""
SPILL_FILE_OPEN = "spill-file-open"
"""The place where a spill file is opened to be read. If that fails, the file may have vanished."""
SPILL_FILE_READ = "spill-file-read"
"""The place where a spill file is read."""
SPILL_FILE_READ_ON = "spill-file-read-on"
"""The place where an operation that has read a piece of a spill file reads the next one."""
SPILL_FILE_CLOSE = "spill-file-close"
"""The place where a spill file is closed that was written or read."""
SPILL_FILE_DELETE = "spill-file-delete"
"""The place where a spill file is deleted."""
CHANNEL_STATE_READ = "channel-state-read"
"""The place where recovered channel state is read (Flink: `SequentialChannelStateReader`)."""
CHANNEL_PUSH = "channel-push"
"""The place where a buffer is handed to a recovered channel. If that fails, the channel has taken the buffer over
(Flink: `RecoveredInputChannel.onRecoveredStateBuffer`)."""
PARTITIONER = "partitioner"
"""The place where the partitioner of an edge, or the key selector, is asked for the subtask of a record (Flink:
`StreamPartitioner.selectChannel`)."""
RECORD_READ = "record-read"
"""The place where a recovered record is read by its serializer."""
RECORD_WRITE = "record-write"
"""The place where a record that is kept is written by its serializer."""
RECORD_FILE_CREATE = "record-file-create"
"""The place where a file is made for a large record of which a part was read (Flink: `SpanningWrapper`)."""
RECORD_FILE_WRITE = "record-file-write"
"""The place where the bytes of such a record are written to its file."""
RECORD_FILE_READ = "record-file-read"
"""The place where such a record is read out of its file."""
RECORD_FILE_DELETE = "record-file-delete"
"""The place where the file of such a record is deleted."""
OPERATORS_OPEN = "operators-open"
"""The place where the operators are initialized and opened (Flink: `OperatorChain.initializeStateAndOpenOperators`)."""
OPERATORS_PROCESS = "operators-process"
"""The place where the operators process a record that the task has taken (Flink: `Input.processElement`)."""
COMMIT = "commit"
"""The place where a subtask of a sink commits a transaction (Flink: `Committer.commit`)."""
CHECKPOINT_STORE = "checkpoint-store"
"""The place where the job master stores a checkpoint that all tasks have acknowledged (Flink:
`PendingCheckpoint.finalizeCheckpoint`, `CompletedCheckpointStore.addCheckpoint`)."""
WRITER_THROWS: Places = {CHANNEL_STATE_WRITER: (FaultKind.THROWS,)}


class FaultStruck(Struct, frozen=True, tag="fault-struck"):
    """The fault that was armed at this place has struck: a call there has failed. It is not armed any more."""

    place: str
    kind: FaultKind
