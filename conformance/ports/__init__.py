"""The abstract interface that an implementation puts itself behind.

One small ABC per component (`DequePort`, `SubpartitionPort`), the vocabulary they share (elements, signals, outcomes,
errors), the capabilities an implementation claims, and how implementations and known bugs are found by name. This room
knows no other.
"""

from conformance.ports.capabilities import Capability
from conformance.ports.deque import DequeConfig, DequePort, Item
from conformance.ports.elements import (
    Alignment,
    Barrier,
    CancelMarker,
    Data,
    DataType,
    Element,
    EndOfData,
    EndOfPartition,
    Event,
    RecoveryCompletion,
    RecoveryMetadata,
)
from conformance.ports.implementation import Batch, Implementation, KnownBug, UnusableImplementation
from conformance.ports.outcomes import (
    Blocked,
    CheckpointReason,
    DataAvailable,
    Error,
    ErrorKind,
    Outcome,
    PortError,
    PriorityAvailable,
    Signal,
)
from conformance.ports.port import Answer, Port, Resources
from conformance.ports.registry import (
    find_implementation,
    find_known_bug,
    known_bugs,
    offered_components,
    registered_names,
)
from conformance.ports.subpartition import (
    Availability,
    Next,
    OutputState,
    StateStatus,
    SubpartitionConfig,
    SubpartitionPort,
    Taken,
)

__all__ = [
    "Alignment",
    "Answer",
    "Availability",
    "Barrier",
    "Batch",
    "Blocked",
    "CancelMarker",
    "Capability",
    "CheckpointReason",
    "Data",
    "DataAvailable",
    "DataType",
    "DequeConfig",
    "DequePort",
    "Element",
    "EndOfData",
    "EndOfPartition",
    "Error",
    "ErrorKind",
    "Event",
    "Implementation",
    "Item",
    "KnownBug",
    "Next",
    "Outcome",
    "OutputState",
    "Port",
    "PortError",
    "PriorityAvailable",
    "RecoveryCompletion",
    "RecoveryMetadata",
    "Resources",
    "Signal",
    "StateStatus",
    "SubpartitionConfig",
    "SubpartitionPort",
    "Taken",
    "UnusableImplementation",
    "find_implementation",
    "find_known_bug",
    "known_bugs",
    "offered_components",
    "registered_names",
]
