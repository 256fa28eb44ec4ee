"""The producer's side of a channel. Specification: subpartition.md.

Everything that one method does happens under the subpartition lock, which is its user's. Announcements are fired after
it was let go.
"""

from __future__ import annotations

from conformance.ports import (
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
    StateStatus,
    SubpartitionConfig,
    SubpartitionPort,
)

from .design import Design
from .prioritized_deque import PrioritizedDeque


class Queued:
    """An element in the queue; for data, the buffer that the producer may still be writing."""

    __slots__ = ("data_type", "element", "finished", "finished_as_seen", "ids", "is_buffer")

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
        self.finished_as_seen = self.finished
        """As the consumer's side knows it: it looks when it polls, not when the producer finishes (executed: 2.3.0)."""

    def readable(self) -> bool:
        return bool(self.ids) or not self.is_buffer

    def build(self) -> Element:
        """What is readable now, as an element of its own; it is not readable again."""
        if not self.is_buffer:
            return self.element
        element, self.ids = Buffer(self.ids), ()
        return element


class Subpartition(SubpartitionPort):
    """The subpartition of every generation; what differs between them stands in the `Design`."""

    def __init__(self, config: SubpartitionConfig, design: Design) -> None:
        self.design = design
        self.skips_empty = config.exclusive_buffers > 0
        self.queue: PrioritizedDeque[Queued] = PrioritizedDeque()
        self.backlog = 0
        self.seq = 0
        self.view = self.blocked = self.flush_requested = self.finished = self.released = False
        self.channel_state_future: int | None = None
        """The checkpoint whose output data the writer waits for: its timeoutable barrier is queued."""
        self.written: dict[int, OutputState] = {}

    # ---- producer --------------------------------------------------------------------------------------------------
    def add(self, element: Element) -> bool:
        if self.finished or self.released:
            return False
        if self.enqueue(Queued(element)):
            self.announce_priority()
        # Only the first finished element is announced: the consumer polls until it is told that nothing follows.
        if self.view and not self.flush_requested and not self.blocked and self.count_finished() == 1:
            self.emit(DataAvailable())
        return True

    def enqueue(self, queued: Queued) -> bool:
        """Put an element where it belongs. Answers whether a priority event must be announced."""
        element = queued.element
        if type(element) is Barrier and element.alignment is Alignment.UNALIGNED:
            self.queue.add_priority(queued)
            overtaken = self.queue.elements[self.queue.priority :]
            if any(one.is_buffer for one in overtaken):  # an empty buffer counts as well (executed: 2.3.0)
                self.written[element.checkpoint] = OutputState(StateStatus.WRITTEN, copies(overtaken))
            return self.may_announce_priority()
        if type(element) is Barrier and element.alignment is Alignment.TIMEOUTABLE:
            self.fail_channel_state_future()
            self.channel_state_future = element.checkpoint
            self.written[element.checkpoint] = OutputState(StateStatus.PENDING)
        self.backlog += queued.is_buffer
        self.queue.add(queued)
        return False

    def append(self, ids: tuple[int, ...]) -> None:
        self.queue.elements[-1].ids += ids

    def finish_buffer(self) -> None:
        self.queue.elements[-1].finished = True

    def flush(self) -> None:
        elements = self.queue.elements
        if not elements or self.flush_requested:
            return
        lone_head_has_data = len(elements) == 1 and elements[0].readable()
        self.flush_requested = len(elements) > 1 or lone_head_has_data
        if lone_head_has_data and self.view and not self.blocked:
            self.emit(DataAvailable())

    def finish(self) -> None:
        if self.finished or self.released:
            return
        self.enqueue(Queued(EndOfPartition()))
        self.finished = True
        if self.view:
            self.emit(DataAvailable())

    # ---- consumer --------------------------------------------------------------------------------------------------
    def attach_view(self) -> None:
        if self.released:
            raise PortError(ErrorKind.STATE, "the subpartition is released")
        if self.view:
            raise PortError(ErrorKind.STATE, "the subpartition has a view")
        self.view = True

    def poll(self) -> BufferAndBacklog | None:
        if self.delivery_blocked():
            return None
        elements = self.queue.elements
        if not elements:
            self.flush_requested = False
        while elements:
            head = elements[0]
            if len(elements) == 1:
                self.flush_requested = False
            if is_barrier(head, self.channel_state_future):  # it stayed aligned: there is no output data for it
                self.complete_channel_state_future(())
            readable = head.readable()
            head.finished_as_seen = head.finished
            if head.finished:
                self.queue.poll()
                self.backlog -= head.is_buffer
            if readable or (head.finished and not self.skips_empty):
                self.blocked = self.blocked or head.data_type.blocks_upstream
                seq, self.seq = self.seq, self.seq + 1
                return BufferAndBacklog(head.build(), seq, self.next_type(), self.count_backlog())
            if not head.finished:
                break
        return None

    def available(self, has_credit: bool) -> Availability:
        if has_credit:
            available = self.something_available()
        else:
            available = bool(self.queue) and not self.queue.elements[0].is_buffer
        return Availability(available, self.count_backlog())

    def resume(self) -> None:
        if not self.blocked:
            raise PortError(ErrorKind.STATE, "the subpartition is not blocked")
        self.blocked = False

    # ---- what can be delivered, and what is announced --------------------------------------------------------------
    def delivery_blocked(self) -> bool:
        """Nothing leaves a blocked subpartition; since FLINK-39018, nothing but priority events."""
        return self.blocked and not (self.design.priority_passes_blocked and self.queue.priority)

    def may_announce_priority(self) -> bool:
        """A second priority event needs no announcement: the consumer learns of it when it polls the first."""
        return self.queue.priority == 1 and (self.design.priority_passes_blocked or not self.blocked)

    def announce_priority(self) -> None:
        if self.view:
            self.emit(PriorityAvailable(self.seq))

    def count_finished(self) -> int:
        elements = self.queue.elements
        if len(elements) == 1 and elements[0].finished_as_seen:
            return 1
        return max(0, len(elements) - 1)  # only the last one may be unfinished

    def something_available(self) -> bool:
        return not self.delivery_blocked() and (self.flush_requested or self.count_finished() > 0)

    def next_type(self) -> Next:
        if not self.queue.elements or not self.something_available():
            return Next.NONE
        return _NEXT[self.queue.elements[0].data_type]

    def count_backlog(self) -> int:
        elements = self.queue.elements
        if self.delivery_blocked() or not elements:
            return 0
        if self.flush_requested or self.finished or not elements[-1].is_buffer:
            return self.backlog
        return max(self.backlog - 1, 0)

    # ---- checkpoints -----------------------------------------------------------------------------------------------
    def aligned_timeout(self, checkpoint: int) -> None:
        """The timeoutable barrier becomes an unaligned one; the data in front of it is output state now."""
        if self.channel_state_future != checkpoint:
            return
        elements = self.queue.elements
        position = next(index for index, queued in enumerate(elements) if is_barrier(queued, checkpoint))
        overtaken = copies(elements[self.queue.priority : position])
        del elements[position]
        self.queue.add_priority(Queued(Barrier(checkpoint, Alignment.UNALIGNED)))
        self.complete_channel_state_future(overtaken)
        if self.may_announce_priority():
            self.announce_priority()

    def abort(self, checkpoint: int, reason: CheckpointReason) -> None:
        if self.channel_state_future == checkpoint:
            self.fail_channel_state_future()

    def complete_channel_state_future(self, ids: tuple[int, ...]) -> None:
        assert self.channel_state_future is not None
        self.written[self.channel_state_future] = OutputState(StateStatus.WRITTEN, ids)
        self.channel_state_future = None

    def fail_channel_state_future(self) -> None:
        """If one is open: its checkpoint was aborted, a newer one has begun, or the subpartition is released."""
        if self.channel_state_future is not None:
            self.written[self.channel_state_future] = OutputState(StateStatus.FAILED)
            self.channel_state_future = None

    def persisted(self, checkpoint: int) -> OutputState:
        return self.written.get(checkpoint, _ABSENT)

    # ---- recovery and release --------------------------------------------------------------------------------------
    def recover(self, element: Element) -> None:
        self.add(element)

    def finish_recovery(self, block: bool) -> None:
        if block:
            self.add(RecoveryCompletion())

    def release(self) -> None:
        self.queue.clear()
        self.backlog = 0
        self.fail_channel_state_future()
        self.view = False
        self.released = True

    def resources(self) -> Resources:
        return Resources(
            segments=self.backlog,
            heap=0,
            files=0,
            listeners=int(self.view),
            futures=int(self.channel_state_future is not None),
        )


def copies(overtaken: list[Queued]) -> tuple[int, ...]:
    """Independent copies of what is readable; the consumer still gets its own."""
    return tuple(record for queued in overtaken for record in queued.ids)


def is_barrier(queued: Queued, checkpoint: int | None) -> bool:
    """Whether this is the barrier of the checkpoint."""
    element = queued.element
    return type(element) is Barrier and element.checkpoint == checkpoint


def _next(data_type: DataType) -> Next:
    if data_type.is_buffer:
        return Next.DATA
    return Next.PRIORITY if data_type.has_priority else Next.EVENT


_NEXT = {data_type: _next(data_type) for data_type in DataType}
_ABSENT = OutputState(StateStatus.ABSENT)
