"""The reference as an `Implementation`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conformance.ports import (
    AssignmentConfig,
    AssignmentPort,
    BarrierHandlerConfig,
    BarrierHandlerPort,
    Capability,
    ChainConfig,
    ChainPort,
    ChannelConfig,
    ConsumerLoopPort,
    CoordinatorConfig,
    CoordinatorPort,
    DequePort,
    DrainerConfig,
    DrainerPort,
    FilterConfig,
    FilterPort,
    GateConfig,
    GatePort,
    Implementation,
    JobConfig,
    LocalChannelPort,
    PersisterPort,
    PipelinePort,
    RecoveredChannelPort,
    Recovery,
    RemoteChannelPort,
    SpillConfig,
    SpillPort,
    SubpartitionConfig,
    SubpartitionPort,
    SubtaskCheckpointConfig,
    SubtaskCheckpointPort,
    TaskRestoreConfig,
    TaskRestorePort,
    WriterConfig,
    WriterPort,
)
from conformance.ports.implementation import Factory

from .coordinator.coordinator import Coordinator
from .design import Design
from .job.pipeline import Pipeline
from .network.deque import Deque
from .network.gate import Gate
from .network.local_channel import LocalChannel
from .network.recovered_channel import RecoveredChannel
from .network.remote_channel import RemoteChannel
from .network.subpartition import Subpartition
from .network.union_gate import UnionGate
from .rescale.assignment import Assignment
from .state.drainer.recovery import Recovering
from .state.filter.filter import Filter
from .state.persister import Persister
from .state.spill.spill import Spill
from .state.writer.writer import ChannelStateWriter
from .task.barrier_handler import BarrierHandler
from .task.chain import Chain
from .task.consumer_loop import ConsumerLoop
from .task.subtask_checkpoint import SubtaskCheckpoint
from .task.task_restore import TaskRestore

_RECOVERIES = {
    Recovery.RECOVER_FIRST: Capability.RECOVERS_FIRST,
    Recovery.IN_MEMORY: Capability.RECOVERS_IN_MEMORY,
    Recovery.PUSHED: Capability.RECOVERS_BY_PUSHING,
}


class Reference(Implementation):
    """Makes the components of one design."""

    def __init__(self, name: str, design: Design) -> None:
        self.name = name
        self.design = design

    @property
    def capabilities(self) -> frozenset[Capability]:
        """All capabilities but those of the designs that this generation does not have."""
        missing = {capability for recovery, capability in _RECOVERIES.items() if recovery not in self.design.recoveries}
        missing.add(Capability.NOT_READY_WITHOUT_BARRIER)
        missing.add(Capability.ALIGNS_AT_RECEIVER)
        if not self.design.recoveries & {Recovery.IN_MEMORY, Recovery.PUSHED}:
            missing.add(Capability.ONE_BUFFER_BEFORE_THE_FILTER)
        if not self.design.priority_passes_blocked:
            missing |= {Capability.BLOCKED_PRIORITY_LOCAL, Capability.BLOCKED_PRIORITY_REMOTE}
        if not self.design.protocol.blocks_events:
            missing.add(Capability.DOWN_GATE)
        if not self.design.protocol.blocks_reports:
            missing |= {Capability.UP_GATE, Capability.UP_BLOCKED}
        return frozenset(Capability) - missing

    def components(self) -> Mapping[str, Factory]:
        """By the name of a component, the method that makes it."""
        drained = {"drainer": self._drainer} if Recovery.PUSHED in self.design.recoveries else {}
        return {
            **drained,
            "deque": self._deque,
            "subpartition": self._subpartition,
            "persister": self._persister,
            "recovered-channel": self._recovered_channel,
            "local-channel": self._local_channel,
            "remote-channel": self._remote_channel,
            "gate": self._gate,
            "chain": self._chain,
            "coordinator": self._coordinator,
            "barrier-handler": self._barrier_handler,
            "consumer-loop": self._consumer_loop,
            "writer": self._writer,
            "subtask-checkpoint": self._subtask_checkpoint,
            "spill": self._spill,
            "task-restore": self._task_restore,
            "pipeline": self._pipeline,
            "filter": self._filter,
            "assignment": self._assignment,
        }

    def _deque(self, config: Any) -> DequePort:
        return Deque()

    def _subpartition(self, config: SubpartitionConfig) -> SubpartitionPort:
        return Subpartition(config, self.design)

    def _persister(self, config: Any) -> PersisterPort:
        return Persister()

    def _recovered_channel(self, config: ChannelConfig) -> RecoveredChannelPort:
        return RecoveredChannel(config)

    def _local_channel(self, config: ChannelConfig) -> LocalChannelPort:
        return LocalChannel(config, self.design)

    def _remote_channel(self, config: ChannelConfig) -> RemoteChannelPort:
        return RemoteChannel(config)

    def _gate(self, config: GateConfig) -> GatePort:
        return Gate(config, self.design) if len(config.gates) == 1 else UnionGate(config, self.design)

    def _chain(self, config: ChainConfig) -> ChainPort:
        return Chain(config, self.design)

    def _barrier_handler(self, config: BarrierHandlerConfig) -> BarrierHandlerPort:
        return BarrierHandler(config)

    def _writer(self, config: WriterConfig) -> WriterPort:
        return ChannelStateWriter(config)

    def _subtask_checkpoint(self, config: SubtaskCheckpointConfig) -> SubtaskCheckpointPort:
        return SubtaskCheckpoint(config)

    def _consumer_loop(self, config: BarrierHandlerConfig) -> ConsumerLoopPort:
        return ConsumerLoop(config, self.design)

    def _drainer(self, config: DrainerConfig) -> DrainerPort:
        return Recovering(config, self.design)

    def _spill(self, config: SpillConfig) -> SpillPort:
        return Spill(config)

    def _filter(self, config: FilterConfig) -> FilterPort:
        return Filter(config)

    def _task_restore(self, config: TaskRestoreConfig) -> TaskRestorePort:
        return TaskRestore(config, self.design)

    def _assignment(self, config: AssignmentConfig) -> AssignmentPort:
        return Assignment(config)

    def _pipeline(self, config: JobConfig) -> PipelinePort:
        return Pipeline(config, self.design)

    def _coordinator(self, config: CoordinatorConfig) -> CoordinatorPort:
        return Coordinator(config, self.design.protocol)


class CoordinatorReference(Reference):
    """Makes the operator coordinator of one version of the protocol, and nothing else."""

    def components(self) -> Mapping[str, Factory]:
        """The operator coordinator."""
        return {"coordinator": self._coordinator}
