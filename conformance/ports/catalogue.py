"""Which components there are, by name, and of each its port and what a port is made from."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

from msgspec import Struct

from conformance.ports.chain import ChainConfig, ChainPort
from conformance.ports.channel import ChannelConfig, LocalChannelPort, RecoveredChannelPort, RemoteChannelPort
from conformance.ports.deque import DequeConfig, DequePort
from conformance.ports.gate import GateConfig, GatePort, UnionGateConfig, UnionGatePort
from conformance.ports.persister import PersisterConfig, PersisterPort
from conformance.ports.subpartition import SubpartitionConfig, SubpartitionPort


class Interface(NamedTuple):
    """How a component is spoken to."""

    port: type[Any]
    """Its abstract class; nobody makes one."""
    config: type[Struct]
    """What a port is made from."""


Interfaces: TypeAlias = Mapping[str, Interface]
"""By the name of the component: a value that is handed on, so that a test can make its own."""

INTERFACES: Interfaces = MappingProxyType(
    {
        "deque": Interface(DequePort, DequeConfig),
        "subpartition": Interface(SubpartitionPort, SubpartitionConfig),
        "persister": Interface(PersisterPort, PersisterConfig),
        "recovered-channel": Interface(RecoveredChannelPort, ChannelConfig),
        "local-channel": Interface(LocalChannelPort, ChannelConfig),
        "remote-channel": Interface(RemoteChannelPort, ChannelConfig),
        "gate": Interface(GatePort, GateConfig),
        "union-gate": Interface(UnionGatePort, UnionGateConfig),
        "chain": Interface(ChainPort, ChainConfig),
    }
)
