"""A subpartition that loses the barrier whose alignment times out after the end of the partition, a rare moment.

Tests copy this file into the folder of a user.
"""

from conformance.ports import (
    Alignment,
    Availability,
    Barrier,
    Buffer,
    BufferAndBacklog,
    Capability,
    DataAvailable,
    EndOfPartition,
    ErrorKind,
    Implementation,
    Next,
    OutputState,
    PortError,
    PriorityAvailable,
    RecoveryCompletion,
    Resources,
    StateStatus,
    SubpartitionPort,
)


class ToySubpartition(SubpartitionPort):
    def __init__(self, config):
        self.queue, self.seq, self.keeps_empty = [], 0, config.exclusive_buffers == 0
        self.view = self.blocked = self.flushed = self.over = self.released = False
        self.waiting = self.unseen = None

    def add(self, element):
        if not self.over:
            self.put(element)
        return not self.over

    def put(self, element):
        urgent = sum(one.data_type.has_priority for one in self.queue)
        if getattr(element, "alignment", None) is Alignment.TIMEOUTABLE:
            self.waiting = element
        if element.data_type.has_priority:
            self.queue.insert(urgent, element)
            if self.view and not self.blocked and urgent == 0:
                self.emit(PriorityAvailable(self.seq))
        else:
            self.queue.append(element)
        if self.view and not self.blocked and not self.flushed and self.finished() == 1:
            self.emit(DataAvailable())

    def append(self, ids):
        self.queue[-1] = Buffer(self.queue[-1].ids + ids, finished=False)

    def finish_buffer(self):
        self.queue[-1] = Buffer(self.queue[-1].ids)
        self.unseen = self.queue[-1]

    def flush(self):
        lone = len(self.queue) == 1 and getattr(self.queue[0], "ids", True) != ()
        if lone and self.view and not self.blocked and not self.flushed:
            self.emit(DataAvailable())
        self.flushed = self.flushed or lone or len(self.queue) > 1

    def finish(self):
        if not self.over:
            self.queue.append(EndOfPartition())
            self.over = True
            if self.view:
                self.emit(DataAvailable())

    def attach_view(self):
        if self.view or self.released:
            raise PortError(ErrorKind.STATE, "attached before, or released")
        self.view = True

    def poll(self):
        while self.queue and not self.blocked:
            self.flushed = self.flushed and len(self.queue) > 1
            head = self.queue[0]
            self.waiting = None if head is self.waiting else self.waiting
            if getattr(head, "finished", True):
                self.queue.pop(0)
            else:
                self.queue[0] = Buffer((), finished=False)
            if getattr(head, "ids", True) or (self.keeps_empty and getattr(head, "finished", True)):
                self.blocked, self.seq = head.data_type.blocks_upstream, self.seq + 1
                element = Buffer(head.ids) if isinstance(head, Buffer) else head
                return BufferAndBacklog(element, self.seq - 1, self.next(), self.backlog())
            if not head.finished:
                break
        return None

    def available(self, has_credit):
        ready = bool(self.queue) and (self.ready() if has_credit else not isinstance(self.queue[0], Buffer))
        return Availability(ready, self.backlog())

    def finished(self):
        lone = len(self.queue) == 1 and getattr(self.queue[0], "finished", True) and self.queue[0] is not self.unseen
        return 1 if lone else max(0, len(self.queue) - 1)

    def ready(self):
        return not self.blocked and (self.flushed or self.finished() > 0)

    def next(self):
        if not self.queue or not self.ready():
            return Next.NONE
        kind = self.queue[0].data_type
        return Next.PRIORITY if kind.has_priority else Next.DATA if kind.label == "data" else Next.EVENT

    def backlog(self):
        if self.blocked or not self.queue:
            return 0
        count = sum(isinstance(one, Buffer) for one in self.queue)
        return count if self.flushed or self.over or not isinstance(self.queue[-1], Buffer) else max(0, count - 1)

    def resume(self):
        if not self.blocked:
            raise PortError(ErrorKind.STATE, "not blocked")
        self.blocked = False

    def recover(self, element):
        self.add(element)

    def finish_recovery(self, block):
        if block:
            self.add(RecoveryCompletion())

    def aligned_timeout(self, checkpoint):
        if self.waiting is not None and self.waiting.checkpoint == checkpoint:
            self.queue.remove(self.waiting)
            self.add(Barrier(checkpoint, Alignment.UNALIGNED))
            self.waiting = None

    def abort(self, checkpoint, reason):
        if self.waiting is not None and self.waiting.checkpoint == checkpoint:
            self.waiting = None

    def persisted(self, checkpoint):
        return OutputState(StateStatus.ABSENT)

    def resources(self):
        return Resources()

    def release(self):
        self.queue, self.over, self.released, self.view, self.waiting = [], True, True, False, None


class Toy(Implementation):
    name, version = "toy", "1"
    capabilities = frozenset({Capability.TIMEOUTABLE_BARRIERS})

    def components(self):
        return {"subpartition": ToySubpartition}
