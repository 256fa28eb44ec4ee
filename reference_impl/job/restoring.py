"""What tasks get of a checkpoint. Specification: pipeline.md."""

from __future__ import annotations

from collections.abc import Sequence

from conformance.ports import ErrorKind, JobCheckpoint, OperatorState, PortError, Side, records_of

from ..network.channel_info import ChannelInfo
from .graph import Graph
from .task import Restored

NEW = Restored({}, {}, is_restored=False)


class Shares:
    """Who gets what of a checkpoint."""

    def __init__(self, graph: Graph, checkpoint: JobCheckpoint | None, downstream: bool) -> None:
        """`downstream`: whether consumers recover output state. Raises: PortError CONFIG."""
        self.graph = graph
        self.checkpoint = checkpoint
        if checkpoint is None:
            return
        if checkpoint.parallelism != tuple(one.parallelism for one in graph.vertices):
            raise PortError(ErrorKind.CONFIG, "another parallelism")
        self.inputs: dict[int, dict[ChannelInfo, tuple[int, ...]]] = {}
        self.outputs: dict[int, dict[ChannelInfo, tuple[int, ...]]] = {}
        for side in Side:  # input state comes before output state
            for one in checkpoint.in_flight:
                if one.side is side:
                    edge = graph.edges[one.edge]
                    records = tuple(records_of(one.records))
                    if side is Side.OUTPUT and not downstream:
                        number = graph.consumers[one.edge, one.producer].index(one.consumer)
                        info = ChannelInfo(graph.out_of[edge.producer].index(one.edge), number)
                        to = self.outputs.setdefault(graph.task(edge.producer, one.producer), {})
                    else:
                        number = graph.producers[one.edge, one.consumer].index(one.producer)
                        info = ChannelInfo(graph.into[edge.consumer].index(one.edge), number)
                        to = self.inputs.setdefault(graph.task(edge.consumer, one.consumer), {})
                    to[info] = to.get(info, ()) + records

    def restored(self, task: int) -> Restored:
        """Returns the channel state of a task."""
        if self.checkpoint is None:
            return NEW
        return Restored(self.inputs.get(task, {}), self.outputs.get(task, {}), is_restored=True)

    def states(self, task: int) -> Sequence[OperatorState]:
        """Returns the operator states from which a task starts."""
        if self.checkpoint is None:
            return ()
        vertex, subtask = self.graph.tasks[task]
        return (self.checkpoint.states[vertex][subtask],)
