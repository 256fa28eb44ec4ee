"""The ledger of one local channel and its subpartition: what was sent, what the task took, and what must come next.

Three threads act: the producer adds, the recovery thread pushes, the task thread takes, starts checkpoints and
releases. The ledger knows exactly what the task thread has done; the task may find an element whose operation is still
in flight, or not, and the ledger knows of which it is sure.
"""

from __future__ import annotations

from typing import Any

from conformance.driver import PortLedger, Seen
from conformance.models import checkpoints
from conformance.models.consumer import Due, NumberedConsumer
from conformance.models.faults import struck_by
from conformance.models.input_state import State
from conformance.models.lane import Lane
from conformance.models.records import in_words
from conformance.models.recovery import Push, ends
from conformance.models.words import Description, name
from conformance.ports import (
    PRODUCER,
    Barrier,
    Buffer,
    BufferAndBacklog,
    ChannelConfig,
    CheckpointReason,
    Element,
    EndOfPartition,
    FaultKind,
    Next,
    Places,
    Recovery,
    Signal,
)

_PRIORITY = Next.PRIORITY


class View:
    """The view of the subpartition, which the channel requests."""

    __slots__ = ("attached", "first_announced", "requested")

    def __init__(self) -> None:
        self.requested = self.attached = False
        """Whether the request of the subpartition has begun; whether it is over."""
        self.first_announced = 0
        """The position from which on priority events are announced: they were sent after the request."""


class Pushes(Push):
    """What the recovery thread has pushed, and what it will."""

    __slots__ = ("ids", "to_recover")

    def __init__(self, handed_over: tuple[int, ...], to_recover: list[int] | None) -> None:
        super().__init__()
        self.ids: dict[int, None] = dict.fromkeys(handed_over)
        """All recovered records in order, including those that were taken."""
        self.to_recover = to_recover
        """The records that are still to be pushed; None: new records, as many as the driver draws."""


class Checkpoints(checkpoints.Checkpoints):
    """The checkpoints of a local channel."""

    __slots__ = ("copied_to", "declined", "marked")

    def __init__(self, without_barrier: CheckpointReason, newest: int = 0) -> None:
        super().__init__(without_barrier, newest)
        self.marked = 0
        """The checkpoint whose recovery barrier was inserted and which has not started; 0: none."""
        self.declined = False
        """Whether a checkpoint was declined because its recovery barrier was missing."""
        self.copied_to = 0
        """Number of recovered buffers, from the first on, of which copies were written for a checkpoint."""


class Ledger(PortLedger):
    """What the rules and the steps read, and how the steps change it."""

    __slots__ = (
        "adding", "busy", "checkpoints", "config", "consumer", "due", "lane", "next_record", "push", "restored", "seq",
        "view",
    )  # fmt: skip

    def __init__(
        self, config: ChannelConfig, passes_blocked: bool, can_fail: Places, without_barrier: CheckpointReason
    ) -> None:
        """`passes_blocked`: whether a priority event passes a blocked subpartition. `without_barrier`: why a checkpoint
        is declined whose recovery barrier is missing."""
        super().__init__(can_fail)
        self.config = config
        self.restored = False
        """Whether the channel took the place of one that had failed."""
        self.next_record = len(config.handed_over)
        self.begin_channel(config.handed_over, None, passes_blocked, Checkpoints(without_barrier))

    def begin_channel(
        self, handed_over: tuple[int, ...], to_recover: list[int] | None, passes_blocked: bool, checkpoints: Checkpoints
    ) -> None:
        """Begins with a fresh channel.

        `handed_over`: recovered records that it begins with. `to_recover`: records that will be pushed; None: any.
        """
        self.begin_life("open")
        recovery = self.config.recovery
        self.lane = Lane(handed_over, recovery is Recovery.PUSHED, passes_blocked)
        self.lane.end_left = recovery is Recovery.IN_MEMORY
        self.consumer = NumberedConsumer(bool(handed_over))  # at the conversion the gate asks for the buffers in use
        self.due = Due()
        self.seq = 0
        """The sequence number of the next live element that is taken."""
        self.checkpoints = checkpoints
        self.push = Pushes(handed_over, to_recover)
        self.view = View()
        self.adding = False
        """Whether the producer is adding an element."""
        self.busy = False
        """Whether an operation of the task is in flight that may write data for a checkpoint."""

    # ---- queries -----------------------------------------------------------------------------------------------------
    def priority_passes(self) -> bool:
        """Returns whether a priority event can be taken now, if there is one."""
        return self.view.attached and (self.lane.passes or not self.lane.blocked)

    def producer_has_failed(self) -> bool:
        """Returns whether the producer has failed and the task does not know. What the producer added before may be
        delivered, or be gone."""
        return PRODUCER in self.faults.armed

    def error_waits(self) -> bool:
        """Returns whether nothing stands in front of the error of a producer that has failed but its data: also if the
        subpartition is blocked."""
        behind = self.lane.is_hiding() or self.lane.end_left
        return self.producer_has_failed() and not self.released and not behind

    def something_waits(self) -> bool:
        """Returns whether a take certainly finds something."""
        lane = self.lane
        if self.released or (not self.lane.is_hiding() and self.producer_has_failed()):
            return False
        if lane.urgent and self._urgent_is_there() and self.priority_passes():
            return True
        if lane.next_ordinary(not lane.consumed or not self.view.attached) is not None:
            return True
        return lane.end_waits()

    def must_come_first(self) -> bool:
        """Returns whether the next element must be a priority event."""
        passes = not self.released and self._urgent_is_there() and self.priority_passes()
        return passes and (not self.lane.urgent[0].silent or not self.lane.is_hiding())

    def _urgent_is_there(self) -> bool:
        """Returns whether a priority event is certainly queued: it was added, or the consumer was notified of it."""
        urgent = self.lane.urgent
        if self.producer_has_failed():
            return False
        return bool(urgent) and (urgent[0].sure or self.consumer.announced == self.seq)

    def urgent_waits(self) -> bool:
        """Returns whether a priority event waits of which the channel must have notified the consumer, because it was
        sent after the request."""
        urgent = self.lane.urgent
        if not urgent or self.released or self.producer_has_failed() or urgent[0].number < self.view.first_announced:
            return False
        return self.priority_passes()

    def first_urgent(self) -> str:
        """Describes the first priority event that waits."""
        return name(self.lane.urgent[0].element)

    def must_find(self) -> Description | None:
        """Returns what describes the element that could certainly be taken when the take began, and still can, if the
        producer has failed meanwhile; None: there was none."""
        if not self.due.count or self.end_takes_a_turn():
            return None
        return self.first if not self.producer_has_failed() or self.something_waits() else None

    def end_takes_a_turn(self) -> bool:
        """Returns whether a take may find nothing but the end of recovered data, which was handed over too."""
        if not self.lane.end_left or self.lane.is_hiding():
            return False
        return not self.due.priority or self.lane.urgent[0].silent

    def first(self) -> str:
        """Describes what the next take must find."""
        lane = self.lane
        if self.must_come_first():
            return name(lane.urgent[0].element)
        if self.lane.is_hiding():
            return f"recovered {in_words(lane.left())}" if lane.waiting else "the end of recovered data"
        return name(lane.live[0].element) if lane.live else "an unaligned barrier"

    def end_must_come(self) -> bool:
        """Returns whether the end of recovered data was next when the take began."""
        lane, due = self.lane, self.due
        return due.count > 0 and not due.priority and not lane.consumed and not lane.waiting

    def next_number(self, has_priority: bool) -> int | None:
        """Returns the sequence number that the next element must carry; None: any."""
        return self.lane.seq if self.lane.is_hiding() and not has_priority else self.seq

    def came_too_late(self) -> bool | None:
        """Returns True if the channel was released before the push began, or while it waited for the upstream, which
        was never there; False if the release began during any other push; None: it was not released."""
        if not self.releasing:
            return None
        return self.push.too_late or (self.push.upstream_was_missing and not self.view.requested)

    def upstream_is_there(self) -> bool | None:
        """Returns whether the subpartition was requested during the push; None: it had been requested before, or the
        channel is released."""
        return self.view.requested if self.push.upstream_was_missing and not self.releasing else None

    def counted(self) -> tuple[int, int]:
        """Returns the number of queued buffers, and what 2.3.0 returns: it also counts the end of recovered data,
        recovery barriers, and events in the subpartition."""
        lane = self.lane
        least = lane.there()
        most = least + ((self.config.recovery is Recovery.IN_MEMORY) or not lane.consumed) + len(lane.marks)
        if self.view.attached:
            least += 0 if self.producer_has_failed() else self.lane.buffers()
            most += len(lane.live) + len(lane.urgent)
        return least, most

    def holds(self) -> tuple[tuple[str, int], ...]:
        """Returns one segment for each queued buffer, and one listener for the view, unless the producer has failed."""
        if self.producer_has_failed():
            return ()
        return ("segments", self.lane.there() + self.lane.buffers()), ("listeners", int(self.view.attached))

    def most_futures(self) -> int:
        """Returns one future for each of these: recovered data that was not all pushed, its end that was not taken, a
        request that was not made, and a barrier in the subpartition that can time out."""
        lane = self.lane
        waits = 0 if lane.consumed else 1 + (not lane.finishing) + (not self.view.attached)
        return waits + any(sent.element.data_type.needs_announcement for sent in lane.live)

    def state(self, checkpoint: int) -> State | None:
        """Returns what must have been written; None: an operation in flight may change it, or nothing was started."""
        return None if self.busy else self.lane.input.states.get(checkpoint)

    # ---- the producer ------------------------------------------------------------------------------------------------
    def hear(self, signals: list[Signal]) -> None:
        """Notes the notifications of the consumer."""
        self.consumer.hear_numbers(signals, self.seq)

    def begin_add(self, element: Element) -> None:
        """Notes that the producer begins to add an element without priority."""
        self.lane.send(element)
        self._adds()

    def _adds(self) -> None:
        self.adding = True
        self.alone = False
        self.consumer.empty_takes = 0

    def begin_data(self) -> None:
        """Notes that the producer begins to add a buffer with the next record."""
        self.lane.send(Buffer((self.next_record,)))
        self.next_record += 1
        self._adds()

    def begin_barrier(self, barrier: Barrier) -> None:
        """Notes that the producer begins to add a barrier. Before the request there is no view to notify, so that
        recovered data that was handed over may come before the barrier."""
        self.lane.send(barrier, self.config.recovery is Recovery.IN_MEMORY and not self.view.attached)
        self.checkpoints.barrier(barrier.checkpoint)
        self._adds()

    def begin_end(self) -> None:
        """Notes that the producer begins to add the end of partition."""
        self.begin_add(EndOfPartition())
        self.phase = "ended"

    def end_add(self, *operands: object) -> None:
        """Notes that the add is over: the element is in the subpartition."""
        self.adding = False
        self.lane.end_send()

    # ---- the recovery thread -----------------------------------------------------------------------------------------
    def begin_push(self) -> None:
        """Notes that a push begins; it may wait for the request of the subpartition."""
        self.begin_afterwards()
        self._begin_recovering()
        if self.push.too_late:
            return
        if self.push.to_recover is None:
            record = self.next_record
            self.next_record += 1
        else:
            record = self.push.to_recover.pop(0)
        self.push.ids[record] = None
        self.lane.begin_push((record,))

    def end_push(self) -> None:
        """Notes that the push is over."""
        self.push.in_flight = False
        self.lane.end_push()

    def begin_finish(self) -> None:
        """Notes that the push of the end of recovered data begins."""
        self._begin_recovering()
        self.lane.finishing = True

    def end_finish(self) -> None:
        """Notes that the push of the end of recovered data is over."""
        self.push.in_flight = False
        self.lane.finished = True

    def _begin_recovering(self) -> None:
        self.push.begin(self.released, self.view.attached)
        self.alone = False
        self.consumer.empty_takes = 0

    # ---- the task ----------------------------------------------------------------------------------------------------
    def begin_request(self) -> None:
        """Notes that the request of the subpartition begins."""
        self.afterlife += self.released
        self.view.requested = True
        self.consumer.empty_takes = 0

    def request_struck(self, seen: Seen[None]) -> None:
        """Notes that the subpartition was not there yet, or cannot be had at all."""
        if struck_by(seen).kind is FaultKind.REFUSES:
            self.faults.struck(seen.signals)
            self.view.requested = False
        else:
            self.break_down(seen)

    def request(self) -> None:
        """Notes that the request of the subpartition is over. Priority events that were sent before may be silent."""
        if not self.view.attached and not self.released:
            self.view.attached = True
            self.view.first_announced = self.lane.arrived if self.lane.urgent else 0

    def begin_take(self) -> None:
        """Notes that a take begins, and what it must find."""
        self.afterlife += self.released
        self.due.count = self.something_waits()
        self.due.priority = self.due.count and self.must_come_first()
        self.due.error = self.error_waits()
        self.consumer.begin_counted_take()
        self.busy = True
        self.alone = not (self.adding or self.push.in_flight)

    def take(self, seen: Seen[BufferAndBacklog | None]) -> None:
        """Notes that a take is over. The rules have already judged what it returned."""
        lane, taken = self.lane, seen.value
        self.busy = self.alone = False
        if taken is None:
            self.consumer.took_number(more=False, number=-1)
            self.lane.end_left = False
            self.consumer.empty_takes += 1
            if ends(seen.signals):
                self.consumer.empty_takes = 0
                lane.consumed = True
                lane.marks = {}
            return
        self.consumer.empty_takes = 0
        has_priority = taken.element.data_type.has_priority
        self.consumer.expects_priority |= taken.next is _PRIORITY
        self.consumer.took_number(taken.next != "none", taken.seq if has_priority else -1)
        if self.lane.is_hiding() and not has_priority:
            lane.take_recovered(taken.seq)
            return
        self.seq += 1
        self.lane.end_left &= has_priority
        element = (lane.urgent if has_priority else lane.live).pop(0).element
        lane.notice(element)
        if element.data_type.blocks_upstream:
            lane.blocked = True

    def break_down(self, seen: Seen[Any], *checkpoint: int) -> None:
        """Notes that a take, or the start of a checkpoint, failed with the channel state writer."""
        super().break_down(seen)
        self.busy = self.alone = False
        self.consumer.leave()
        self.lane.input.failed += checkpoint

    def resume(self) -> None:
        """Notes that the consumer resumed the channel."""
        self.lane.blocked = False
        self.consumer.empty_takes = 0

    def begin_mark(self, checkpoint: int) -> None:
        """Notes that the insertion of a recovery barrier begins, if the channel is in recovery."""
        self.consumer.empty_takes = 0
        self.checkpoints.name(checkpoint)
        self.checkpoints.marked = checkpoint
        if self.lane.in_recovery():
            self.lane.begin_mark(checkpoint)

    def end_mark(self, checkpoint: int) -> None:
        """Notes that the insertion is over; buffers that are pushed later stand behind the recovery barrier."""
        self.lane.end_mark(checkpoint)

    def begin_start(self, checkpoint: int) -> None:
        """Notes that the start of a checkpoint begins."""
        self.busy = True
        self.consumer.empty_takes = 0
        self.checkpoints.name(checkpoint)
        self.checkpoints.start(checkpoint)

    def start(self, seen: Seen[None], checkpoint: int) -> None:
        """Notes that the checkpoint started, or that its start was refused."""
        self._checkpoint_moved(checkpoint)
        lane = self.lane
        mark = lane.marks.get(checkpoint)
        if seen.error is not None:
            self.checkpoints.declined |= self.lane.lacks_mark(checkpoint)
            lane.input.failed.append(checkpoint)
            return
        least = most = tuple[int, ...]()
        if self.config.recovery is Recovery.IN_MEMORY:
            self.checkpoints.copied_to = lane.pushed
            least = most = lane.left()
        elif mark is not None:
            self.checkpoints.copied_to = max(self.checkpoints.copied_to, mark.least)
            least, most = lane.before(mark.least), lane.before(mark.most)
            lane.marks = {one: mark for one, mark in lane.marks.items() if one > checkpoint}
        lane.input.started(checkpoint, least, most)

    def begin_stop(self, checkpoint: int) -> None:
        """Notes that the stop of a checkpoint begins."""
        self.busy = True
        self.consumer.empty_takes = 0
        self.checkpoints.name(checkpoint)

    def stop(self, checkpoint: int) -> None:
        """Notes that a checkpoint was stopped."""
        self._checkpoint_moved(checkpoint)
        self.checkpoints.stop(checkpoint)
        self.lane.input.stopped(checkpoint)

    def _checkpoint_moved(self, checkpoint: int) -> None:
        self.busy = False
        if checkpoint >= self.checkpoints.marked:
            self.checkpoints.marked = 0

    def begin_cancel(self) -> None:
        """Notes that the task is cancelled, whatever it does."""
        if self.busy:
            self.lane.input.forget_pending()
        super().begin_cancel()
        self.busy = self.alone = False

    def release(self) -> None:
        """Notes that a release of the channel is over."""
        super().release()
        self.lane.end_left = False
        self.consumer.leave()
        self.checkpoints.marked = self.consumer.empty_takes = 0

    def fail(self) -> None:
        """Notes that the channel was released at an arbitrary moment; operations in flight are abandoned."""
        if self.busy:
            self.lane.input.forget_pending()
        super().fail()
        self.push.in_flight = self.busy = self.adding = self.alone = False
        self.consumer.leave()

    def restore(self, seen: Seen[tuple[int, ...]], checkpoint: int) -> None:
        """Begins with a fresh channel that recovers the input state of a checkpoint as it was written."""
        self.restored = True
        ids = tuple(seen.value)
        in_memory, pushed = self.config.recovery is Recovery.IN_MEMORY, self.config.recovery is Recovery.PUSHED
        fresh = Checkpoints(self.checkpoints.without_barrier, self.checkpoints.newest)
        self.begin_channel(ids if in_memory else (), list(ids) if pushed else None, self.lane.passes, fresh)
