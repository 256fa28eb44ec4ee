"""The producer's side of a channel. recovery.md, section 2.2, row by row.

Everything one method does happens under the subpartition lock; announcements are fired after it was let go, which
makes no difference while operations run whole. Methods are cut where the specification says "then" or "under one
lock", so that a known bug is one overridden part.
"""

from __future__ import annotations

from conformance.ports import (
    Alignment,
    Availability,
    Barrier,
    CheckpointReason,
    Data,
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
    Taken,
)
from reference_impl.design import Design
from reference_impl.prioritized_deque import PrioritizedDeque


class Queued:
    """An element in the queue; for data, the buffer that the producer may still be writing."""

    __slots__ = ("data_type", "element", "finished", "finished_as_seen", "ids", "is_buffer")

    def __init__(self, element: Element) -> None:
        self.element = element
        self.data_type = element.data_type
        self.is_buffer = type(element) is Data
        if type(element) is Data:
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
        element, self.ids = Data(self.ids), ()
        return element


class ReferenceSubpartition(SubpartitionPort):
    """The subpartition of every generation; what differs between them stands in the `Design`."""

    def __init__(self, config: SubpartitionConfig, design: Design) -> None:
        self.design = design
        self.skips_empty = config.exclusive_buffers > 0
        self.queue: PrioritizedDeque[Queued] = PrioritizedDeque()
        self.backlog = 0
        self.seq = 0
        self.view = self.blocked = self.flush_requested = self.finished = self.released = False
        self.promised: int | None = None
        """The checkpoint whose output data the writer waits for."""
        self.written: dict[int, OutputState] = {}

    # ---- producer --------------------------------------------------------------------------------------------------
    def add(self, element: Element) -> bool:
        if self.finished or self.released:
            return False
        announces = self.enqueue(Queued(element))
        if announces:
            self.announce_priority()
        if self.should_announce_data():
            self.emit(DataAvailable())
        return True

    def enqueue(self, queued: Queued) -> bool:
        """Put an element where it belongs. Returns whether a priority event must be announced."""
        element = queued.element
        if type(element) is Barrier:
            if element.alignment is Alignment.UNALIGNED:
                return self.enqueue_unaligned(element.checkpoint, queued)
            if element.alignment is Alignment.TIMEOUTABLE:
                self.promise(element.checkpoint)
        elif queued.is_buffer:
            self.backlog += 1
        self.queue.add(queued)
        return False

    def enqueue_unaligned(self, checkpoint: int, queued: Queued) -> bool:
        self.queue.add_priority(queued)
        overtaken = self.queue.elements[self.queue.priority :]
        if any(queued.is_buffer for queued in overtaken):  # an empty buffer counts as well (executed: 2.3.0)
            self.write(checkpoint, self.copy_data(overtaken))
        return self.should_announce_priority()

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

    def poll(self) -> Taken | None:
        if self.delivery_blocked():
            return None
        elements = self.queue.elements
        if not elements:
            self.flush_requested = False
        while elements:
            head = elements[0]
            self.settle_polled(head)
            if len(elements) == 1:
                self.flush_requested = False
            readable = head.readable()
            head.finished_as_seen = head.finished
            if head.finished:
                self.queue.poll()
                self.backlog -= head.is_buffer
            if readable or (head.finished and not self.skips_empty):
                return self.hand_out(head)
            if not head.finished:
                break
        return None

    def hand_out(self, head: Queued) -> Taken:
        if head.data_type.blocks_upstream:
            self.blocked = True
        seq = self.seq
        self.seq += 1
        return Taken(head.build(), seq, self.next_type(), self.count_backlog())

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

    def should_announce_priority(self) -> bool:
        return self.queue.priority == 1 and (self.design.priority_passes_blocked or not self.blocked)

    def announce_priority(self) -> None:
        if self.view:
            self.emit(PriorityAvailable(self.seq))

    def should_announce_data(self) -> bool:
        """Only the first finished element is announced; the consumer polls until it is told that nothing follows."""
        return self.view and not self.flush_requested and not self.blocked and self.count_finished() == 1

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
    def promise(self, checkpoint: int) -> None:
        """The writer will get the output data of a timeoutable barrier once it is known which that is."""
        if self.promised is not None:
            self.break_promise()
        self.promised = checkpoint
        self.written[checkpoint] = OutputState(StateStatus.PENDING)

    def break_promise(self) -> None:
        if self.promised is not None:
            self.written[self.promised] = OutputState(StateStatus.FAILED)
            self.promised = None

    def settle_polled(self, head: Queued) -> None:
        """A barrier that is polled in its place stayed aligned: there is no output data for it."""
        element = head.element
        if type(element) is Barrier and element.checkpoint == self.promised:
            self.keep_promise(())

    def keep_promise(self, ids: tuple[int, ...]) -> None:
        assert self.promised is not None
        self.write(self.promised, ids)
        self.promised = None

    def write(self, checkpoint: int, ids: tuple[int, ...]) -> None:
        self.written[checkpoint] = OutputState(StateStatus.WRITTEN, ids)

    def copy_data(self, overtaken: list[Queued]) -> tuple[int, ...]:
        """Independent copies of what is readable; the consumer still gets its own."""
        return tuple(record for queued in overtaken for record in queued.ids)

    def aligned_timeout(self, checkpoint: int) -> None:
        if self.promised != checkpoint:
            return
        elements = self.queue.elements
        position = next(index for index, queued in enumerate(elements) if is_barrier(queued, checkpoint))
        overtaken = self.copy_data(elements[self.queue.priority : position])
        del elements[position]
        self.queue.add_priority(Queued(Barrier(checkpoint, Alignment.UNALIGNED)))
        self.keep_promise(overtaken)
        if self.should_announce_priority():
            self.announce_priority()

    def abort(self, checkpoint: int, reason: CheckpointReason) -> None:
        if self.promised == checkpoint:
            self.break_promise()

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
        self.break_promise()
        self.view = False
        self.released = True

    def resources(self) -> Resources:
        return Resources(
            segments=self.backlog,
            heap=0,
            files=0,
            listeners=int(self.view),
            futures=int(self.promised is not None),
        )


def is_barrier(queued: Queued, checkpoint: int) -> bool:
    """Whether this is the barrier of the checkpoint."""
    element = queued.element
    return type(element) is Barrier and element.checkpoint == checkpoint


def _next(data_type: DataType) -> Next:
    if data_type.is_buffer:
        return Next.DATA
    return Next.PRIORITY if data_type.has_priority else Next.EVENT


_NEXT = {data_type: _next(data_type) for data_type in DataType}
_ABSENT = OutputState(StateStatus.ABSENT)
