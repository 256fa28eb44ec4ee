"""Describes faults: what is called at a place, and how the call fails. Rules and reports use the same words."""

from __future__ import annotations

from collections.abc import Mapping

from conformance import ports

CALLS: Mapping[str, str] = {
    ports.CHANNEL_STATE_WRITER: "the call of the channel state writer",
    ports.BUFFER_POOL: "the request for a buffer",
    ports.NETWORK_BUFFER_POOL: "the request for exclusive buffers",
    ports.SUBPARTITION_REQUEST: "the request for the subpartition",
    ports.PRODUCER: "the producer",
    ports.CONNECTION: "the message to the producer",
    ports.AVAILABILITY_LISTENER: "the notification of the consumer",
    ports.CHANNEL_RELEASE: "the release of a channel",
    ports.OPERATOR_COORDINATOR: "the call of the operator coordinator",
    ports.CHECKPOINT_START: "the start of the checkpoint in the inputs",
    ports.STATE_FILE_OPEN: "the creation of a channel state file",
    ports.STATE_FILE_WRITE: "the write to a channel state file",
    ports.STATE_FILE_FLUSH: "the flush of a channel state file",
    ports.STATE_FILE_CLOSE: "the close of a channel state file",
    ports.OPERATOR_SNAPSHOT: "the snapshot of the operators",
    ports.SPILL_DIRECTORY: "the creation of the spill directory",
    ports.SPILL_FILE_CREATE: "the creation of a spill file",
    ports.SPILL_FILE_WRITE: "the write to a spill file",
    ports.SPILL_FILE_SYNC: "the flush of a spill file",
    ports.SPILL_FILE_OPEN: "the opening of a spill file",
    ports.SPILL_FILE_READ: "the read of a spill file",
    ports.SPILL_FILE_READ_ON: "the read of the next piece of a spill file",
    ports.SPILL_FILE_CLOSE: "the close of a spill file",
    ports.SPILL_FILE_DELETE: "the deletion of a spill file",
    ports.CHANNEL_STATE_READ: "the read of recovered channel state",
    ports.CHANNEL_PUSH: "the hand-over of a buffer to its channel",
    ports.PARTITIONER: "the call of the partitioner",
    ports.RECORD_READ: "the deserialization of a record",
    ports.RECORD_WRITE: "the serialization of a record",
    ports.RECORD_FILE_CREATE: "the creation of a file for a large record",
    ports.RECORD_FILE_WRITE: "the write to the file of a large record",
    ports.RECORD_FILE_READ: "the read of the file of a large record",
    ports.RECORD_FILE_DELETE: "the deletion of the file of a large record",
    ports.OPERATORS_OPEN: "the initialization of the operators",
    ports.OPERATORS_PROCESS: "the processing of a record by the operators",
    ports.COMMIT: "the commit of a transaction",
    ports.CHECKPOINT_STORE: "the storing of a completed checkpoint",
}
"""What is called at each place, as the subject of a sentence."""

HOW: Mapping[ports.FaultKind, str] = {
    ports.FaultKind.THROWS: "fails with an error",
    ports.FaultKind.REFUSES: "is refused",
    ports.FaultKind.ENDS: "fails for good",
    ports.FaultKind.SLOW: "is slow",
    ports.FaultKind.SHORT: "does only a part of what was asked for",
}
"""How a call fails, as the predicate of that sentence."""


def call_at(place: str) -> str:
    """Describes what is called at a place, as the subject of a sentence; a place of another component has its name."""
    return CALLS.get(place) or f"the call of the {place.replace('-', ' ').replace('_', ' ')}"


def failure_at(place: str, kind: ports.FaultKind) -> str:
    """Describes a fault in a sentence: `the request for a buffer fails for good`."""
    return f"{call_at(place)} {HOW[kind]}"
