"""The reference as an `Implementation`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from conformance.ports import Capability, DequePort, Implementation, SubpartitionConfig, SubpartitionPort
from conformance.ports.implementation import Factory
from reference_impl.deque import ReferenceDeque
from reference_impl.design import Design
from reference_impl.subpartition import ReferenceSubpartition


class Reference(Implementation):
    """Makes the components of one design. A known bug names other classes for its parts."""

    deque_class: ClassVar[type[ReferenceDeque]] = ReferenceDeque
    subpartition_class: ClassVar[type[ReferenceSubpartition]] = ReferenceSubpartition

    def __init__(self, name: str, design: Design) -> None:
        self.name = name
        self.design = design

    @property
    def capabilities(self) -> frozenset[Capability]:
        passing = {Capability.BLOCKED_PRIORITY_LOCAL, Capability.BLOCKED_PRIORITY_REMOTE}
        return frozenset(Capability) - (set() if self.design.priority_passes_blocked else passing)

    def components(self) -> Mapping[str, Factory]:
        return {"deque": self._deque, "subpartition": self._subpartition}

    def _deque(self, config: Any) -> DequePort:
        return self.deque_class()

    def _subpartition(self, config: SubpartitionConfig) -> SubpartitionPort:
        return self.subpartition_class(config, self.design)
