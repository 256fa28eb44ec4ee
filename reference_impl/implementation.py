"""The reference as an `Implementation`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from conformance.ports import (
    Capability,
    ChainConfig,
    ChainPort,
    ChannelConfig,
    DequePort,
    GateConfig,
    GatePort,
    Implementation,
    LocalChannelPort,
    PersisterPort,
    RecoveredChannelPort,
    Recovery,
    RemoteChannelPort,
    SubpartitionConfig,
    SubpartitionPort,
    UnionGateConfig,
    UnionGatePort,
)
from conformance.ports.implementation import Factory
from reference_impl.chain.chain import ReferenceChain
from reference_impl.channels.local import ReferenceLocalChannel
from reference_impl.channels.persister import Persister
from reference_impl.channels.recovered import ReferenceRecoveredChannel
from reference_impl.channels.remote import ReferenceRemoteChannel
from reference_impl.deque import ReferenceDeque
from reference_impl.design import Design
from reference_impl.gate import ReferenceGate
from reference_impl.subpartition import ReferenceSubpartition
from reference_impl.union_gate import ReferenceUnionGate

_RECOVERIES = {
    Recovery.RECOVER_FIRST: Capability.RECOVERS_FIRST,
    Recovery.IN_MEMORY: Capability.RECOVERS_IN_MEMORY,
    Recovery.PUSHED: Capability.RECOVERS_BY_PUSHING,
}


class Reference(Implementation):
    """Makes the components of one design. A known bug names other classes for its parts."""

    deque_class: ClassVar[type[ReferenceDeque]] = ReferenceDeque
    subpartition_class: ClassVar[type[ReferenceSubpartition]] = ReferenceSubpartition
    persister_class: ClassVar[type[Persister]] = Persister
    recovered_channel_class: ClassVar[type[ReferenceRecoveredChannel]] = ReferenceRecoveredChannel
    local_channel_class: ClassVar[type[ReferenceLocalChannel]] = ReferenceLocalChannel
    remote_channel_class: ClassVar[type[ReferenceRemoteChannel]] = ReferenceRemoteChannel
    gate_class: ClassVar[type[ReferenceGate]] = ReferenceGate
    union_gate_class: ClassVar[type[ReferenceUnionGate]] = ReferenceUnionGate
    chain_class: ClassVar[type[ReferenceChain]] = ReferenceChain

    def __init__(self, name: str, design: Design) -> None:
        self.name = name
        self.design = design

    @property
    def capabilities(self) -> frozenset[Capability]:
        missing = {capability for recovery, capability in _RECOVERIES.items() if recovery not in self.design.recoveries}
        if not self.design.priority_passes_blocked:
            missing |= {Capability.BLOCKED_PRIORITY_LOCAL, Capability.BLOCKED_PRIORITY_REMOTE}
        return frozenset(Capability) - missing

    def components(self) -> Mapping[str, Factory]:
        return {
            "deque": self._deque,
            "subpartition": self._subpartition,
            "persister": self._persister,
            "recovered-channel": self._recovered_channel,
            "local-channel": self._local_channel,
            "remote-channel": self._remote_channel,
            "gate": self._gate,
            "union-gate": self._union_gate,
            "chain": self._chain,
        }

    def _deque(self, config: Any) -> DequePort:
        return self.deque_class()

    def _subpartition(self, config: SubpartitionConfig) -> SubpartitionPort:
        return self.subpartition_class(config, self.design)

    def _persister(self, config: Any) -> PersisterPort:
        return self.persister_class()

    def _recovered_channel(self, config: ChannelConfig) -> RecoveredChannelPort:
        return self.recovered_channel_class(config)

    def _local_channel(self, config: ChannelConfig) -> LocalChannelPort:
        return self.local_channel_class(config, self.design)

    def _remote_channel(self, config: ChannelConfig) -> RemoteChannelPort:
        return self.remote_channel_class(config)

    def _gate(self, config: GateConfig) -> GatePort:
        return self.gate_class(config, self.design)

    def _union_gate(self, config: UnionGateConfig) -> UnionGatePort:
        return self.union_gate_class(config, self.design)

    def _chain(self, config: ChainConfig) -> ChainPort:
        return self.chain_class(config, self.design)
