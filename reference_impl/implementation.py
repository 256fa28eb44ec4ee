"""The reference as an `Implementation`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from conformance.ports import (
    Capability,
    DequePort,
    Implementation,
    Recovery,
    SubpartitionConfig,
    SubpartitionPort,
)
from conformance.ports.implementation import Factory
from reference_impl.deque import ReferenceDeque
from reference_impl.design import Design
from reference_impl.subpartition import ReferenceSubpartition

_RECOVERIES = {
    Recovery.RECOVER_FIRST: Capability.RECOVERS_FIRST,
    Recovery.IN_MEMORY: Capability.RECOVERS_IN_MEMORY,
    Recovery.PUSHED: Capability.RECOVERS_BY_PUSHING,
}


class Reference(Implementation):
    """Makes the components of one design. A known bug names other classes for its parts."""

    deque_class: ClassVar[type[ReferenceDeque]] = ReferenceDeque
    subpartition_class: ClassVar[type[ReferenceSubpartition]] = ReferenceSubpartition

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
        return {"deque": self._deque, "subpartition": self._subpartition}

    def _deque(self, config: Any) -> DequePort:
        return self.deque_class()

    def _subpartition(self, config: SubpartitionConfig) -> SubpartitionPort:
        return self.subpartition_class(config, self.design)
