"""The producer's side of a channel. Specification: subpartition.md.

All of one operation happens under the subpartition lock, which the caller holds. The caller passes the signals on after
it has released that lock.
"""

from __future__ import annotations

from conformance.ports import (
    AVAILABILITY_LISTENER,
    CHANNEL_STATE_WRITER,
    PRODUCER,
    Alignment,
    Availability,
    Barrier,
    Buffer,
    BufferAndBacklog,
    CheckpointReason,
    DataAvailable,
    DataType,
    Element,
    EndOfPartition,
    ErrorKind,
    Next,
    OutputState,
    PortError,
    PriorityAvailable,
    RecoveryCompletion,
    Resources,
    Signal,
    StateStatus,
    SubpartitionConfig,
    SubpartitionPort,
)

from ..design import Design
from ..faults import Faults, Faulty
from .prioritized_deque import PrioritizedDeque

NONE, DATA, EVENT, PRIORITY = Next.NONE, Next.DATA, Next.EVENT, Next.PRIORITY
UNALIGNED, TIMEOUTABLE = Alignment.UNALIGNED, Alignment.TIMEOUTABLE
"""Module variables, because looking up a member of an enumeration is slow in Python 3.11."""


class Queued:
    """An element in the queue. Of a data buffer it knows what is readable and whether the producer has finished it."""

    __slots__ = ("data_type", "element", "finished", "finished_as_added", "ids", "is_buffer")

    def __init__(self, element: Element) -> None:
        self.element = element
        self.data_type = element.data_type
        self.is_buffer = type(element) is Buffer
        if type(element) is Buffer:
            self.ids: tuple[int, ...] = element.ids
            self.finished = element.finished
        else:
            self.ids = ()
            self.finished = True
        self.finished_as_added = self.finished
        """Whether the consumer's side knows that the element is finished. Of a buffer that was finished later it does
        not: the poll that finds out takes it out of the queue (S18; executed: 2.3.0)."""

    def readable(self) -> bool:
        """S18. Whether something can be read; an event is always readable."""
        return bool(self.ids) or not self.is_buffer

    def build(self) -> Element:
        """S18. Remove what is readable, and return it as an element of its own."""
        if not self.is_buffer:
            return self.element
        element, self.ids = Buffer(self.ids), ()
        return element


class Subpartition(Faulty, SubpartitionPort):
    """The subpartition of every recovery design. Whether priority events pass a blocked one stands in `Design`."""

    def __init__(self, config: SubpartitionConfig, design: Design, faults: Faults | None = None) -> None:
        self.design = design
        self.faults = faults or Faults(self)
        self.skips_empty = config.exclusive_buffers > 0
        """Whether the consumer has exclusive buffers, so that a poll skips an empty finished buffer (S18)."""
        self.queue: PrioritizedDeque[Queued] = PrioritizedDeque()
        """Queue: the elements, in a prioritised deque."""
        self.backlog = 0
        """Data count: how many elements of the queue are data buffers."""
        self.seq = 0
        """Sequence number: the number of the next element that is delivered."""
        self.view = self.blocked = self.flush_requested = self.finished = self.released = False
        """View: the consumer is attached. Blocked: an element that blocks the producer was delivered, and the consumer
        has not resumed. Flush requested: what was written so far is to be delivered, also from an unfinished buffer.
        Finished: the end of partition was added. Released: everything was given up."""
        self.channel_state_future: int | None = None
        """Channel state future: the checkpoint for which one is open; the channel state writer waits for it."""
        self.written: dict[int, OutputState] = {}
        """Output state: by checkpoint, what the channel state writer has (S24)."""

    # ---- producer ----------------------------------------------------------------------------------------------------
    def add(self, element: Element) -> bool:
        """S1 to S6. The producer adds an element; the consumer is notified if it must be (Flink:
        `PipelinedSubpartition.add`)."""
        if self.finished or self.released:
            return False
        if self.enqueue(Queued(element)):
            self.announce_priority()
        # S5. Only the first finished element is announced. From then on the consumer polls until the next type is none.
        if self.view and not self.flush_requested and not self.blocked and self.count_finished() == 1:
            self.notify(DataAvailable())
        return True

    def enqueue(self, queued: Queued) -> bool:
        """S2 to S4, S29. Put an element in its place in the queue (Flink: `addBuffer`, `processPriorityBuffer`).

        Returns whether the consumer, if there is one, is to be notified of a priority event (S6).
        """
        element = queued.element
        if type(element) is Barrier and element.alignment is UNALIGNED:
            self.queue.add_priority(queued)
            overtaken = self.queue.elements[self.queue.priority :]
            if any(one.is_buffer for one in overtaken):  # an empty buffer counts as well (executed: 2.3.0)
                self.faults.reach(CHANNEL_STATE_WRITER)
                self.write(element.checkpoint, copies(overtaken))
            return self.may_announce_priority()
        if type(element) is Barrier and element.alignment is TIMEOUTABLE:
            self.fail_channel_state_future()
            self.faults.reach(CHANNEL_STATE_WRITER)
            self.open_channel_state_future(element.checkpoint)
        self.backlog += queued.is_buffer
        self.queue.add(queued)
        return False

    def append(self, ids: tuple[int, ...]) -> None:
        """S7. The producer writes records into the unfinished buffer at the end (Flink: `BufferBuilder.append`)."""
        self.queue.elements[-1].ids += ids

    def finish_buffer(self) -> None:
        """S8. The producer finishes the buffer at the end (Flink: `BufferBuilder.finish`)."""
        self.queue.elements[-1].finished = True

    def flush(self) -> None:
        """S9. Let the consumer read unfinished buffers, and notify it (Flink: `PipelinedSubpartition.flush`)."""
        elements = self.queue.elements
        if not elements or self.flush_requested:
            return
        lone_head_has_data = len(elements) == 1 and elements[0].readable()
        self.flush_requested = len(elements) > 1 or lone_head_has_data
        if lone_head_has_data and self.view and not self.blocked:
            self.notify(DataAvailable())

    def finish(self) -> None:
        """S10. Add the end of the partition (Flink: `finish`)."""
        if self.finished or self.released:
            return
        self.enqueue(Queued(EndOfPartition()))
        self.finished = True
        if self.view:
            self.notify(DataAvailable())

    # ---- consumer ----------------------------------------------------------------------------------------------------
    def attach_view(self) -> None:
        """S16. The consumer attaches its view (Flink: `createReadView`)."""
        if self.released:
            raise PortError(ErrorKind.STATE, "the subpartition is released")
        if self.view:
            raise PortError(ErrorKind.STATE, "the subpartition has a view")
        self.view = True

    def poll(self) -> BufferAndBacklog | None:
        """S17 to S19, S30. Remove and return the next element, or the readable part of an unfinished buffer (Flink:
        `pollBuffer`)."""
        if self.delivery_blocked():
            self.faults.reach(PRODUCER)
            return None
        elements = self.queue.elements
        if not elements:
            self.flush_requested = False
        while elements:
            head = elements[0]
            if len(elements) == 1:
                self.flush_requested = False
            if is_barrier(head, self.channel_state_future):  # the barrier stays aligned: no output state
                self.complete_channel_state_future(())
            readable = head.readable()
            if head.finished:
                self.queue.poll()
                self.backlog -= head.is_buffer
            if readable or (head.finished and not self.skips_empty):
                self.blocked = self.blocked or head.data_type.blocks_upstream
                seq, self.seq = self.seq, self.seq + 1
                return BufferAndBacklog(head.build(), seq, self.next_type(), self.count_backlog())
            if not head.finished:
                break
        self.faults.reach(PRODUCER)
        return None

    def available(self, has_credit: bool) -> Availability:
        """S22. Whether the view may be polled with this credit, and the backlog (Flink:
        `getAvailabilityAndBacklog`)."""
        if has_credit:
            available = self.something_available()
        else:
            available = bool(self.queue) and not self.queue.elements[0].is_buffer
        return Availability(available, self.count_backlog())

    def resume(self) -> None:
        """S23. The consumer resumes the blocked subpartition (Flink: `resumeConsumption`)."""
        if not self.blocked:
            raise PortError(ErrorKind.STATE, "the subpartition is not blocked")
        self.blocked = False

    # ---- what can be delivered, and what is announced ----------------------------------------------------------------
    def delivery_blocked(self) -> bool:
        """S17. Whether delivery is blocked. A priority event in the queue can pass only since FLINK-39018 (Flink:
        `isBlocked`)."""
        return self.blocked and not (self.design.priority_passes_blocked and self.queue.priority)

    def may_announce_priority(self) -> bool:
        """S6. The consumer is notified only of the first priority event in the queue; a poll names the next one."""
        return self.queue.priority == 1 and (self.design.priority_passes_blocked or not self.blocked)

    def announce_priority(self) -> None:
        """S6. Notify the consumer of a priority event (Flink: `notifyPriorityEvent`)."""
        if self.view:
            self.notify(PriorityAvailable(self.seq))

    def notify(self, signal: Signal) -> None:
        """S5, S6, S28. Notify the consumer; an operation does so last."""
        if self.faults.armed:
            self.faults.reach(AVAILABILITY_LISTENER)
        self.emit(signal)

    def count_finished(self) -> int:
        """S5. The number of finished elements (Flink: `getNumberOfFinishedBuffers`)."""
        elements = self.queue.elements
        if len(elements) == 1 and elements[0].finished_as_added:
            return 1
        return max(0, len(elements) - 1)  # only the last one may be unfinished

    def something_available(self) -> bool:
        """S22. Whether something is available (Flink: `isDataAvailableUnsafe`)."""
        return not self.delivery_blocked() and (self.flush_requested or self.count_finished() > 0)

    def next_type(self) -> Next:
        """S20. The type of what the next poll returns (Flink: `getNextBufferTypeUnsafe`)."""
        if not self.queue.elements or not self.something_available():
            return NONE
        return _NEXT[self.queue.elements[0].data_type]

    def count_backlog(self) -> int:
        """S21. The number of data buffers that can be polled (Flink: `getBuffersInBacklogUnsafe`)."""
        elements = self.queue.elements
        if self.delivery_blocked() or not elements:
            return 0
        if self.flush_requested or self.finished or not elements[-1].is_buffer:
            return self.backlog
        return max(self.backlog - 1, 0)

    # ---- checkpoints -------------------------------------------------------------------------------------------------
    def aligned_timeout(self, checkpoint: int) -> None:
        """S11, S12. The alignment timeout: the queued barrier becomes unaligned, and the channel state future gets what
        it overtakes (Flink: `PipelinedSubpartition.alignedBarrierTimeout`)."""
        if self.channel_state_future != checkpoint:
            return
        elements = self.queue.elements
        position = next(index for index, queued in enumerate(elements) if is_barrier(queued, checkpoint))
        overtaken = copies(elements[self.queue.priority : position])
        del elements[position]
        self.queue.add_priority(Queued(Barrier(checkpoint, UNALIGNED)))
        self.complete_channel_state_future(overtaken)
        if self.may_announce_priority():
            self.announce_priority()

    def abort(self, checkpoint: int, reason: CheckpointReason) -> None:
        """S13. The checkpoint was aborted: its channel state future fails (Flink: `abortCheckpoint`)."""
        if self.channel_state_future == checkpoint:
            self.fail_channel_state_future()

    def write(self, checkpoint: int, ids: tuple[int, ...]) -> None:
        """S3. The channel state writer has the output state of a checkpoint (Flink: `addOutputData`)."""
        self.written[checkpoint] = OutputState(StateStatus.WRITTEN, ids)

    def open_channel_state_future(self, checkpoint: int) -> None:
        """S4. The channel state writer waits for the output state of a checkpoint (Flink: `addOutputDataFuture`)."""
        self.channel_state_future = checkpoint
        self.written[checkpoint] = OutputState(StateStatus.PENDING)

    def complete_channel_state_future(self, ids: tuple[int, ...]) -> None:
        """S12, S18. The writer gets these records; there may be none (Flink: `completeChannelStateFuture`)."""
        assert self.channel_state_future is not None
        self.written[self.channel_state_future] = OutputState(StateStatus.WRITTEN, ids)
        self.channel_state_future = None

    def fail_channel_state_future(self) -> None:
        """S4, S13, S26. Nothing happens if none is open (Flink: `completeChannelStateFuture` with an error)."""
        if self.channel_state_future is not None:
            self.written[self.channel_state_future] = OutputState(StateStatus.FAILED)
            self.channel_state_future = None

    def persisted(self, checkpoint: int) -> OutputState:
        """S24. The output state of a checkpoint, as far as the channel state writer has it."""
        return self.written.get(checkpoint, _ABSENT)

    # ---- recovery and release ----------------------------------------------------------------------------------------
    def recover(self, element: Element) -> None:
        """S14. Add an element of the recovered output state (Flink: `PipelinedSubpartition.addRecovered`)."""
        self.add(element)

    def finish_recovery(self, block: bool) -> None:
        """S15. The recovered output state is complete: add its end if the configuration says so (Flink:
        `finishReadRecoveredState`, `EndOfOutputChannelStateEvent`)."""
        if block:
            self.add(RecoveryCompletion())

    def release(self) -> None:
        """S26, S27. Drop the queue, fail the channel state future, and detach the view (Flink: `release`)."""
        self.queue.clear()
        self.backlog = 0
        self.fail_channel_state_future()
        self.view = False
        self.released = True

    def resources(self) -> Resources:
        """S25. The buffers in the queue, the view, and an open channel state future."""
        return Resources(
            segments=self.backlog,
            heap=0,
            files=0,
            listeners=int(self.view),
            futures=int(self.channel_state_future is not None),
        )


def copies(overtaken: list[Queued]) -> tuple[int, ...]:
    """S3, S12. The records of all readable parts, in their order. The buffers keep them for the consumer."""
    return tuple(record for queued in overtaken for record in queued.ids)


def is_barrier(queued: Queued, checkpoint: int | None) -> bool:
    """S12, S18. Whether the element is a barrier of this checkpoint."""
    element = queued.element
    return type(element) is Barrier and element.checkpoint == checkpoint


def _next(data_type: DataType) -> Next:
    """S20. What the next type is if an element of this data type is the head."""
    if data_type.is_buffer:
        return DATA
    return PRIORITY if data_type.has_priority else EVENT


_NEXT = {data_type: _next(data_type) for data_type in DataType}
_ABSENT = OutputState(StateStatus.ABSENT)
