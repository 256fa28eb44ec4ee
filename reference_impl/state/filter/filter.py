"""The fetch with its filter, behind its port. Specification: filter.md."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from conformance.ports import (
    SPILL_DIRECTORY,
    CheckpointReason,
    ErrorKind,
    FilterConfig,
    FilterPort,
    PartialRecord,
    PortError,
    Recovery,
    Resources,
    SegmentBeforeFilter,
    Taken,
)
from conformance.ports.filter import LEAST_PAGE
from conformance.ports.framing import Record
from conformance.scheduling import Lock

from ...faults import Faults, Faulty
from ..spill.storage import Storage
from ..spill.store import FetchedState, Limits, SpillReader, SpillWriter
from .buffers import BeforeFilter, NetworkBuffer, Numbers, OutputBuffers
from .channel_state import ChannelState, EncodedElements, Source
from .channels import RecoveredInput
from .deserializer import RecordFaults
from .fetch import Fetch, FilteringFetch, PassingFetch
from .outputs import BufferOutput, Output, SpillOutput
from .readers import BufferReader, Demultiplexer, Reader
from .virtual_channel import Descriptor, VirtualChannel, VirtualChannels, virtual_channels


class Filter(Faulty, FilterPort):
    """One task that restores."""

    def __init__(self, config: FilterConfig, sources: Sequence[Source] | None = None) -> None:
        """`sources`: where the bytes of each virtual channel come from, if not from its elements."""
        self.config = config
        self.faults = Faults(self)
        self.spilled = Storage(config.files, self.faults)
        self.records = Storage(config.files, RecordFaults(self.faults))
        numbers = Numbers()
        self.pool = OutputBuffers(config.buffers, config.page, numbers, self.faults)
        self.before = BeforeFilter(config.page, numbers)
        self.channels = [
            [RecoveredInput(number, channel, self.faults) for channel in range(len(gate.mapping.channels))]
            for number, gate in enumerate(config.gates)
        ]
        self.virtual = [
            [virtual_channels(config, gate, channel, self.records, self.faults) for channel in range(len(channels))]
            for gate, channels in enumerate(self.channels)
        ]
        self.taken: dict[int, NetworkBuffer] = {}
        """Taken: by number, the buffers that the task has."""
        self.readers: list[list[Reader]] = [
            [self.reader_of(channel, virtual) for channel, virtual in zip(*both, strict=True)]
            for both in zip(self.channels, self.virtual, strict=True)
        ]
        self.writer = SpillWriter(self.spilled, Limits(config.segment))
        self.fetched: FetchedState | None = None
        """Fetched: none before the end of the fetch, and if nothing was spilled."""
        self.reader: SpillReader | None = None
        """Reader: of what is to be pushed; none if everything was."""
        self.drainer_lock = Lock("drainer lock")
        self.fetch = self.fetch_of(
            ChannelState(sources or [EncodedElements(virtual) for virtual in config.state], self.faults)
        )
        self.ended = False
        """Ended: everything was read."""
        self.over = False
        """Over: the task was cancelled or released."""

    def fetch_of(self, state: ChannelState) -> Fetch:
        """X10, X11. Returns the fetch of the recovery design. One that recovers first filters what is processed."""
        if self.config.rescaled and self.config.recovery is not Recovery.RECOVER_FIRST:
            return FilteringFetch(self.config, state, self.output, self.before, self.virtual)
        return PassingFetch(self.config, state, self.output, self.pool)

    def output(self, gate: int, channel: int) -> Output:
        """X7, X8. Returns the output to a channel."""
        if self.config.recovery is Recovery.PUSHED:
            return SpillOutput(gate, channel, self.config.page, self.writer, self.faults)
        return BufferOutput(self.channels[gate][channel], self.pool, self.faults)

    def reader_of(self, channel: RecoveredInput, virtual: VirtualChannels) -> Reader:
        """X10, X16. Returns how the task reads a channel."""
        if self.config.recovery is Recovery.RECOVER_FIRST:
            return Demultiplexer(channel, virtual)
        return BufferReader(channel, self.taken)

    def all_channels(self) -> list[RecoveredInput]:
        """X9. Returns the channels through all gates."""
        return [channel for channels in self.channels for channel in channels]

    # ---- thread that fetches -----------------------------------------------------------------------------------------
    def begin(self) -> None:
        """X24. The fetch begins. The page size is one that a memory manager has (Flink:
        `ConfigurationParserUtils.getPageSize`)."""
        page = self.config.page
        if page < LEAST_PAGE or page & (page - 1):
            raise PortError(ErrorKind.CONFIG, f"a page has a power of two of bytes, at least {LEAST_PAGE}; not {page}")
        if self.config.recovery is Recovery.PUSHED:
            self.faults.reach(SPILL_DIRECTORY)

    async def read(self, virtual: int, length: int) -> None:
        """X1, X5. The next chunk of a virtual channel (Flink: `ChannelStateChunkReader.readChunk`)."""
        if length:
            self.check_fetching()
            await self.fetch.read(virtual, length)

    async def end(self) -> None:
        """X9. The channels are notified, unless something is to be pushed into them before."""
        self.check_fetching()
        try:
            self.fetch.end()
            if self.config.recovery is Recovery.PUSHED:
                self.fetched = self.writer.finish()
        except PortError:
            self.fetch.failed = True
            raise
        if self.fetched is not None:
            self.reader = self.fetched.reader()
        if self.config.recovery is not Recovery.PUSHED:
            await self.finish()
        self.ended = True

    def request_before_filter(self) -> int:
        """X18, X19. The segment before the filter (Flink: `getPreFilterBuffer`)."""
        return self.before.request().number

    def check_fetching(self) -> None:
        """X26, X27. Raises: PortError RELEASED if the task is over, STATE if the fetch has failed."""
        if self.over:
            raise PortError(ErrorKind.RELEASED, "the task is over")
        if self.fetch.failed:
            raise PortError(ErrorKind.STATE, "the fetch has failed")

    async def finish(self) -> None:
        """X9. Each channel is notified that nothing more is pushed (Flink: `finishReadRecoveredState`)."""
        for channel in self.all_channels():
            await channel.finish()

    # ---- thread that drains ------------------------------------------------------------------------------------------
    async def drain(self) -> bool:
        """X12. Push and commit are one critical section (Flink: `FetchedChannelStateDrainer`, FLINK-38544)."""
        if self.over:
            raise PortError(ErrorKind.RELEASED, "the task is over")
        reader = self.reader
        part = None if reader is None else reader.next(self.config.page)
        if reader is None or part is None:
            self.end_draining()
            await self.finish()
            return False
        buffer = await self.pool.request()
        buffer.page[: len(part.body)] = part.body
        buffer.size = len(part.body)
        try:
            await self.drainer_lock
        except BaseException:  # the buffer belongs to this thread until it is pushed
            buffer.recycle()
            raise
        try:
            await self.channels[part.gate][part.channel].push(buffer)
            reader.commit()
        finally:
            self.drainer_lock.release()
        return True

    def end_draining(self) -> None:
        """X12. Everything was pushed: the files are granted to checkpoints only."""
        reader, self.reader = self.reader, None
        if reader is not None:
            reader.close()

    # ---- thread of the task ------------------------------------------------------------------------------------------
    async def take(self, gate: int, channel: int) -> Taken | None:
        """X16. What comes next out of a channel; nothing if the task is over."""
        return await self.readers[gate][channel].take()

    def recycle(self, buffer: int) -> None:
        """X16, X20. A buffer that was taken, or the segment that was requested."""
        taken = self.taken.pop(buffer, None) or self.before.buffer
        if taken is not None and taken.number == buffer:
            taken.recycle()

    async def checkpoint(self, checkpoint: int) -> tuple[tuple[int, ...], ...]:
        """X17. What waits in the channels, then what is not pushed: both belong to one moment."""
        if not self.ended or not self.is_ready():
            raise PortError(
                ErrorKind.CHECKPOINT, "the state is not recovered yet", CheckpointReason.DECLINED_TASK_NOT_READY
            )
        async with self.drainer_lock:
            return self.unread()

    def is_ready(self) -> bool:
        """X17. Whether a checkpoint can be taken. A task that recovers first must have taken everything."""
        recovers_first = self.config.recovery is Recovery.RECOVER_FIRST
        return not recovers_first or all(channel.consumed for channel in self.all_channels())

    def unread(self) -> tuple[tuple[int, ...], ...]:
        """X17. By channel, the records of which the task has not taken the last byte. The deserializers begin where
        those of the task are. Raises: PortError CHECKPOINT IO_EXCEPTION."""
        decoders = [[channel.decoder.copy() for channel in channels] for channels in self.channels]
        found: list[list[list[int]]] = [[[] for _ in channels] for channels in self.channels]

        def persist(gate: int, channel: int, piece: bytes) -> None:
            """X17. What follows in a channel."""
            elements = decoders[gate][channel].read(piece)
            found[gate][channel] += [element.id for element in elements if isinstance(element, Record)]

        for gate, channels in enumerate(self.channels):
            for number, channel in enumerate(channels):
                for pushed in channel.queue:
                    persist(gate, number, pushed.buffer.content())
        try:
            snapshot = None if self.reader is None else self.reader.snapshot()
            while snapshot is not None and (part := snapshot.next(self.config.page)) is not None:
                persist(part.gate, part.channel, part.body)
        except PortError as error:
            raise PortError(ErrorKind.CHECKPOINT, error.reason, CheckpointReason.IO_EXCEPTION) from error
        return tuple(tuple(ids) for gate in found for ids in gate)

    # ---- the end -----------------------------------------------------------------------------------------------------
    def cancel(self) -> None:
        """X27. A thread that waits for a buffer goes on, and fails."""
        self.over = True
        self.pool.release()
        for channel in self.all_channels():
            channel.closed = True

    def release(self) -> None:
        """X28. Everything is given back, whatever goes on (Flink: `close`)."""
        self.cancel()
        for gate in self.virtual:
            for virtual in gate:
                for one in virtual.values():
                    one.clear()
        self.before.free()
        for channel in self.all_channels():
            channel.release()
        if self.fetched is None:
            self.writer.discard()
        else:
            self.fetched.close()
        self.end_draining()
        self.spilled.clear()
        self.records.clear()

    # ---- observers ---------------------------------------------------------------------------------------------------
    def before_filter(self) -> SegmentBeforeFilter | None:
        """X18. The segment before the filter."""
        return self.before.seen()

    def partial(self) -> tuple[PartialRecord, ...]:
        """X21. What is kept of records of which a part was read."""
        return tuple(
            PartialRecord(number, partial.size, partial.file is not None)
            for number, virtual in self.numbered
            if (partial := virtual.deserializer.partial).size
        )

    @cached_property
    def numbered(self) -> Sequence[tuple[int, VirtualChannel]]:
        """X3. Each virtual channel, with the number of the first state that goes through it."""
        found: dict[VirtualChannel, int] = {}
        for number, of in enumerate(self.config.state):
            for channel in self.virtual[of.gate]:
                virtual = channel.get(Descriptor(of.old_subtask, of.old_channel))
                if virtual is not None:
                    found.setdefault(virtual, number)
        return [(number, virtual) for virtual, number in found.items()]

    def resources(self) -> Resources:
        """X28. The segment before the filter and the open spill segment are memory outside a pool."""
        spilled, records = self.spilled, self.records
        return Resources(
            segments=len(self.pool.lent),
            heap=(self.before.buffer is not None) + (self.writer.size > 0),
            files=len(spilled.existing) + len(records.existing),
            listeners=0,
            futures=0,
            open_files=spilled.open + records.open,
            grants=0 if self.fetched is None else self.fetched.grants,
        )
