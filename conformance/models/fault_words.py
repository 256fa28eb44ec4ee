"""Describes faults: what is called at a place, and how the call fails. Rules and reports use the same words."""

from __future__ import annotations

from collections.abc import Mapping

from conformance.ports import (
    AVAILABILITY_LISTENER,
    BUFFER_POOL,
    CHANNEL_RELEASE,
    CHANNEL_STATE_READ,
    CHANNEL_STATE_WRITER,
    CHECKPOINT_START,
    CONNECTION,
    NETWORK_BUFFER_POOL,
    OPERATOR_COORDINATOR,
    OPERATOR_SNAPSHOT,
    OPERATORS_OPEN,
    PRODUCER,
    SPILL_DIRECTORY,
    SPILL_FILE_CLOSE,
    SPILL_FILE_CREATE,
    SPILL_FILE_DELETE,
    SPILL_FILE_OPEN,
    SPILL_FILE_READ,
    SPILL_FILE_READ_ON,
    SPILL_FILE_SYNC,
    SPILL_FILE_WRITE,
    STATE_FILE_CLOSE,
    STATE_FILE_FLUSH,
    STATE_FILE_OPEN,
    STATE_FILE_WRITE,
    SUBPARTITION_REQUEST,
    FaultKind,
)

CALLS: Mapping[str, str] = {
    CHANNEL_STATE_WRITER: "the call of the channel state writer",
    BUFFER_POOL: "the request for a buffer",
    NETWORK_BUFFER_POOL: "the request for exclusive buffers",
    SUBPARTITION_REQUEST: "the request for the subpartition",
    PRODUCER: "the producer",
    CONNECTION: "the message to the producer",
    AVAILABILITY_LISTENER: "the notification of the consumer",
    CHANNEL_RELEASE: "the release of a channel",
    OPERATOR_COORDINATOR: "the call of the operator coordinator",
    CHECKPOINT_START: "the start of the checkpoint in the inputs",
    STATE_FILE_OPEN: "the creation of a channel state file",
    STATE_FILE_WRITE: "the write to a channel state file",
    STATE_FILE_FLUSH: "the flush of a channel state file",
    STATE_FILE_CLOSE: "the close of a channel state file",
    OPERATOR_SNAPSHOT: "the snapshot of the operators",
    SPILL_DIRECTORY: "the creation of the spill directory",
    SPILL_FILE_CREATE: "the creation of a spill file",
    SPILL_FILE_WRITE: "the write to a spill file",
    SPILL_FILE_SYNC: "the flush of a spill file",
    SPILL_FILE_OPEN: "the opening of a spill file",
    SPILL_FILE_READ: "the read of a spill file",
    SPILL_FILE_READ_ON: "the read of the next piece of a spill file",
    SPILL_FILE_CLOSE: "the close of a spill file",
    SPILL_FILE_DELETE: "the deletion of a spill file",
    CHANNEL_STATE_READ: "the read of recovered channel state",
    OPERATORS_OPEN: "the initialization of the operators",
}
"""What is called at each place, as the subject of a sentence."""

HOW: Mapping[FaultKind, str] = {
    FaultKind.THROWS: "fails with an error",
    FaultKind.REFUSES: "is refused",
    FaultKind.ENDS: "fails for good",
    FaultKind.SLOW: "is slow",
    FaultKind.SHORT: "does only a part of what was asked for",
}
"""How a call fails, as the predicate of that sentence."""


def call_at(place: str) -> str:
    """Describes what is called at a place, as the subject of a sentence; a place of another component has its name."""
    return CALLS.get(place) or f"the call of the {place.replace('-', ' ').replace('_', ' ')}"


def failure_at(place: str, kind: FaultKind) -> str:
    """Describes a fault in a sentence: `the request for a buffer fails for good`."""
    return f"{call_at(place)} {HOW[kind]}"
