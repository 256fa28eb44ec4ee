"""The outputs of a task: result partitions, which are bounded, and who writes to them. Specification: pipeline.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from conformance.ports import Alignment, Barrier, Buffer, CancelMarker, CheckpointReason, Element, SubpartitionConfig

from ..design import Design
from ..faults import Faults
from .channel_info import ChannelInfo
from .partitioners import Partitioner
from .subpartition import Subpartition

if TYPE_CHECKING:
    from ..job.network import JobProducers
    from ..job.states import JobStates


class OutputSubpartition(Subpartition):
    """A subpartition whose output state goes to the channel state writer of its worker."""

    def __init__(
        self, config: SubpartitionConfig, design: Design, faults: Faults, states: JobStates, info: ChannelInfo
    ) -> None:
        """J6. `info`: partition and subpartition of the task."""
        super().__init__(config, design, faults)
        self.states = states
        self.info = info

    def write(self, checkpoint: int, ids: tuple[int, ...]) -> None:
        """subpartition.md S3. Output state is queued for the executor (Flink: `addOutputData`)."""
        self.states.add_output(self.info, checkpoint, ids)

    def open_channel_state_future(self, checkpoint: int) -> None:
        """subpartition.md S4, writer.md W7. Output state is promised (Flink: `addOutputDataFuture`)."""
        self.channel_state_future = checkpoint
        self.states.promise_output(self.info, checkpoint)

    def complete_channel_state_future(self, ids: tuple[int, ...]) -> None:
        """subpartition.md S12, S18, writer.md W10. The promise is kept."""
        assert self.channel_state_future is not None
        checkpoint, self.channel_state_future = self.channel_state_future, None
        self.states.keep_promise(self.info, checkpoint, ids)

    def fail_channel_state_future(self) -> None:
        """subpartition.md S4, S13, S26, writer.md W10. The promise is broken, if there is one."""
        if self.channel_state_future is not None:
            checkpoint, self.channel_state_future = self.channel_state_future, None
            self.states.break_promise(self.info, checkpoint)


def crossing(alignment: Alignment, unaligned: bool) -> Alignment:
    """J6, chain.md C2. How a barrier crosses an edge; `unaligned`: whether that has unaligned checkpoints (Flink:
    `RecordWriterOutput.broadcastEvent`, `CheckpointOptions.withUnalignedUnsupported`)."""
    return alignment if unaligned else Alignment.ALIGNED


class ResultPartition:
    """What a task produces for one edge (Flink: `ResultPartition`, `RecordWriter`)."""

    def __init__(
        self,
        subpartitions: Sequence[OutputSubpartition],
        readers: Sequence[tuple[JobProducers, ChannelInfo]],
        partitioner: Partitioner | None,
        always_aligned: bool,
    ) -> None:
        """J2. `readers`: of each subpartition, the producers of the task that reads it, and the channel there.
        `partitioner`: none if each record goes to all."""
        self.subpartitions = subpartitions
        self.readers = readers
        self.partitioner = partitioner
        self.always_aligned = always_aligned
        self.unread = len(subpartitions)
        """Unread: how many consumers have not taken the end of data."""

    async def emit(self, records: tuple[int, ...]) -> None:
        """J2. Records are sent, each subpartition's in a buffer of its own (Flink: `RecordWriter.emit`)."""
        if self.partitioner is None:
            await self.broadcast(Buffer(records))
            return
        if len(records) == 1:
            await self.send(self.partitioner.select(records[0]), Buffer(records))
            return
        to: dict[int, list[int]] = {}
        for record in records:
            to.setdefault(self.partitioner.select(record), []).append(record)
        for number, some in to.items():
            await self.send(number, Buffer(tuple(some)))

    async def broadcast(self, element: Element) -> None:
        """J2. Every subpartition gets the element (Flink: `RecordWriter.broadcastEmit`, `broadcastEvent`)."""
        for number in range(len(self.readers)):
            await self.send(number, element)

    async def barrier(self, checkpoint: int, alignment: Alignment) -> None:
        """J6. A barrier is sent. On an edge without channel state it is aligned, whatever the others are."""
        await self.broadcast(Barrier(checkpoint, crossing(alignment, not self.always_aligned)))

    async def cancel_marker(self, checkpoint: int) -> None:
        """J8. The checkpoint is aborted, and the consumers must learn of it (Flink: `CancelCheckpointMarker`)."""
        self.abort(checkpoint)
        await self.broadcast(CancelMarker(checkpoint))

    def give_up(self) -> None:
        """J11, subpartition.md S26. The output state that was promised does not come: the executor may have promises
        of others behind it (Flink: `PipelinedSubpartition.release`)."""
        for subpartition in self.subpartitions:
            subpartition.fail_channel_state_future()

    def abort(self, checkpoint: int) -> None:
        """J8. Nobody waits for the output state of the checkpoint any more (Flink: `abortCheckpoint`)."""
        for subpartition in self.subpartitions:
            subpartition.abort(checkpoint, CheckpointReason.DECLINED)

    async def time_out(self, checkpoint: int) -> None:
        """J6. Barriers that are still queued become unaligned (Flink: `alignedBarrierTimeout`)."""
        if not self.always_aligned:
            for producers, info in self.readers:
                await producers.time_out(info, checkpoint)

    async def send(self, number: int, element: Element) -> None:
        """J2. A subpartition gets an element."""
        producers, info = self.readers[number]
        await producers.send(info, element)

    def has_room(self, most: int) -> bool:
        """J3. Whether fewer data buffers than this wait in each subpartition (Flink: `isAvailable`)."""
        return max([one.backlog for one in self.subpartitions]) < most


RecoveredOutput = Mapping[ChannelInfo, tuple[int, ...]]
"""By partition and subpartition, recovered output state."""
