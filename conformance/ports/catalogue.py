"""All components by name, each with its port and its configuration."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

from msgspec import Struct

from conformance.ports.assignment import AssignmentConfig, AssignmentPort
from conformance.ports.barrier_handler import BarrierHandlerConfig, BarrierHandlerPort
from conformance.ports.chain import ChainConfig, ChainPort
from conformance.ports.channel import ChannelConfig, LocalChannelPort, RecoveredChannelPort, RemoteChannelPort
from conformance.ports.consumer_loop import ConsumerLoopPort
from conformance.ports.coordinator import CoordinatorConfig, CoordinatorPort
from conformance.ports.deque import DequeConfig, DequePort
from conformance.ports.drainer import DrainerConfig, DrainerPort
from conformance.ports.filter import FilterConfig, FilterPort
from conformance.ports.gate import GateConfig, GatePort
from conformance.ports.persister import PersisterConfig, PersisterPort
from conformance.ports.pipeline import JobConfig, PipelinePort
from conformance.ports.spill import SpillConfig, SpillPort
from conformance.ports.subpartition import SubpartitionConfig, SubpartitionPort
from conformance.ports.subtask_checkpoint import SubtaskCheckpointConfig, SubtaskCheckpointPort
from conformance.ports.task_restore import TaskRestoreConfig, TaskRestorePort
from conformance.ports.writer import WriterConfig, WriterPort


class Interface(NamedTuple):
    """The port and the configuration of a component."""

    port: type[Any]
    """The abstract class of its port."""
    config: type[Struct]
    """The type of the configuration from which a port is made."""


Interfaces: TypeAlias = Mapping[str, Interface]
"""Interfaces by component name. Functions take them as a parameter, so that a test can pass its own."""

INTERFACES: Interfaces = MappingProxyType(
    {
        "deque": Interface(DequePort, DequeConfig),
        "subpartition": Interface(SubpartitionPort, SubpartitionConfig),
        "persister": Interface(PersisterPort, PersisterConfig),
        "recovered-channel": Interface(RecoveredChannelPort, ChannelConfig),
        "local-channel": Interface(LocalChannelPort, ChannelConfig),
        "remote-channel": Interface(RemoteChannelPort, ChannelConfig),
        "gate": Interface(GatePort, GateConfig),
        "chain": Interface(ChainPort, ChainConfig),
        "coordinator": Interface(CoordinatorPort, CoordinatorConfig),
        "barrier-handler": Interface(BarrierHandlerPort, BarrierHandlerConfig),
        "consumer-loop": Interface(ConsumerLoopPort, BarrierHandlerConfig),
        "writer": Interface(WriterPort, WriterConfig),
        "subtask-checkpoint": Interface(SubtaskCheckpointPort, SubtaskCheckpointConfig),
        "drainer": Interface(DrainerPort, DrainerConfig),
        "spill": Interface(SpillPort, SpillConfig),
        "task-restore": Interface(TaskRestorePort, TaskRestoreConfig),
        "assignment": Interface(AssignmentPort, AssignmentConfig),
        "filter": Interface(FilterPort, FilterConfig),
        "pipeline": Interface(PipelinePort, JobConfig),
    }
)
