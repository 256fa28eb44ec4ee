"""The abstract interface that an implementation puts itself behind.

One small ABC per component (`DequePort`, `SubpartitionPort`), the vocabulary they share (elements, signals, outcomes,
errors), the capabilities an implementation claims, and how implementations and known bugs are found by name. This room
knows no other.
"""

from conformance.ports.capabilities import Capability
from conformance.ports.catalogue import INTERFACES, Interface, Interfaces
from conformance.ports.chain import ChainCheckpoint, ChainConfig, ChainPort, CheckpointStatus, Consumed
from conformance.ports.channel import (
    ChannelConfig,
    InputChannelPort,
    LocalChannelPort,
    PhysicalChannelPort,
    RecoveredChannelPort,
    Recovery,
    RemoteChannelPort,
)
from conformance.ports.deque import DequeConfig, DequePort, Item
from conformance.ports.elements import (
    Alignment,
    Announcement,
    Barrier,
    Buffer,
    CancelMarker,
    DataType,
    Element,
    EndOfData,
    EndOfPartition,
    Event,
    RecoveryCompletion,
    RecoveryMetadata,
)
from conformance.ports.examined import Examined
from conformance.ports.gate import (
    BufferOrEvent,
    ChannelKind,
    GateConfig,
    GatePort,
    UnionGateConfig,
    UnionGatePort,
)
from conformance.ports.implementation import Batch, Implementation, UnusableImplementation
from conformance.ports.known_bugs import KnownBug, read_known_bugs
from conformance.ports.outcomes import (
    CheckpointAcknowledged,
    CheckpointDeclined,
    CheckpointReason,
    ConsumptionResumed,
    CreditAnnounced,
    DataAvailable,
    Error,
    ErrorKind,
    Outcome,
    PortError,
    PriorityAvailable,
    Signal,
    StateConsumed,
)
from conformance.ports.persister import PersisterConfig, PersisterPort
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
    BufferAndBacklog,
    Next,
    OutputState,
    StateStatus,
    SubpartitionConfig,
    SubpartitionPort,
)

__all__ = [
    "INTERFACES",
    "Alignment",
    "Announcement",
    "Answer",
    "Availability",
    "Barrier",
    "Batch",
    "Buffer",
    "BufferAndBacklog",
    "BufferOrEvent",
    "CancelMarker",
    "Capability",
    "ChainCheckpoint",
    "ChainConfig",
    "ChainPort",
    "ChannelConfig",
    "ChannelKind",
    "CheckpointAcknowledged",
    "CheckpointDeclined",
    "CheckpointReason",
    "CheckpointStatus",
    "Consumed",
    "ConsumptionResumed",
    "CreditAnnounced",
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
    "Examined",
    "GateConfig",
    "GatePort",
    "Implementation",
    "InputChannelPort",
    "Interface",
    "Interfaces",
    "Item",
    "KnownBug",
    "LocalChannelPort",
    "Next",
    "Outcome",
    "OutputState",
    "PersisterConfig",
    "PersisterPort",
    "PhysicalChannelPort",
    "Port",
    "PortError",
    "PriorityAvailable",
    "RecoveredChannelPort",
    "Recovery",
    "RecoveryCompletion",
    "RecoveryMetadata",
    "RemoteChannelPort",
    "Resources",
    "Signal",
    "StateConsumed",
    "StateStatus",
    "SubpartitionConfig",
    "SubpartitionPort",
    "UnionGateConfig",
    "UnionGatePort",
    "UnusableImplementation",
    "find_implementation",
    "find_known_bug",
    "known_bugs",
    "offered_components",
    "read_known_bugs",
    "registered_names",
]
