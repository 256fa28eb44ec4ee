"""What the ledger of a writer knows of one executor: what its subtasks have asked for, and which file is open."""

from __future__ import annotations

from conformance.ports import RequestKind

INPUT, FINISH_INPUT = RequestKind.INPUT, RequestKind.FINISH_INPUT
"""Module variables, because looking up a member of an enumeration is slow in Python 3.11."""

ABORT = RequestKind.ABORT


class Queued:
    """A request of a subtask that was not executed yet."""

    __slots__ = (
        "channel", "checkpoint", "is_late", "is_ready", "is_unreadable", "kind", "pieces", "reason", "records",
        "snapshot",
    )  # fmt: skip

    def __init__(
        self, kind: RequestKind, checkpoint: int, channel: int = 0, records: tuple[int, ...] = (), is_ready: bool = True
    ) -> None:
        self.kind = kind
        self.checkpoint = checkpoint
        self.channel = channel
        self.records = records
        """Of data: the channel and the buffers."""
        self.snapshot: tuple[int, ...] = ()
        self.pieces: tuple[tuple[int, int], ...] = ()
        """Of input in spill files: the number of the snapshot; for each of its pieces, the channel and the record."""
        self.is_unreadable = False
        """Of input in spill files: whether it was read when it was handed in, and that has failed."""
        self.is_ready = is_ready
        """Whether it does not wait for promised buffers."""
        self.is_late = False
        """Whether its subtask had closed before. It need not be executed."""
        self.reason = ""
        """Of an abort, or of promised buffers that do not come: why."""


class Executor:
    """An executor as its subtasks know it.

    The requests of the task of a subtask form one line, those of the network thread another one: what two threads ask
    for at the same time has no order.
    """

    __slots__ = (
        "aborted", "aborted_by", "aborts_in_flight", "aborts_queued", "awaited", "cause", "closed", "closing", "idle",
        "input_lines", "is_open", "late", "ongoing", "parts", "registering", "stopped", "task_lines", "users",
        "written",
    )  # fmt: skip

    def __init__(self) -> None:
        self.users: list[int] = []
        self.registering = True
        """Whether others may join it."""
        self.stopped = False
        self.task_lines: dict[int, list[Queued]] = {}
        self.input_lines: dict[int, list[Queued]] = {}
        self.aborts_in_flight: list[tuple[int, int]] = []
        """The aborts, by subtask and checkpoint, that are in flight and were not executed yet."""
        self.aborts_queued: list[tuple[int, int]] = []
        """Those that are queued and were not executed yet."""
        self.closing = -1
        """A subtask that is closing; -1: none is."""
        self.closed: list[int] = []
        """The subtasks whose last request was executed."""
        self.idle = False
        """Whether nothing was queued since the executor had nothing to execute."""
        self.ongoing = 0
        """The newest checkpoint that was started; 0: none."""
        self.is_open = self.written = False
        """Whether its results are to come; whether a buffer was written for it."""
        self.late: tuple[str, tuple[str, ...]] = "", ()
        """Once its results were to end: the property that says why, and how the result may end of a subtask that starts
        it later."""
        self.awaited: list[int] = []
        """The subtasks that have not started it."""
        self.parts: dict[int, list[bool]] = {}
        """By subtask that has started it: whether its input is complete, and its output."""
        self.aborted = 0
        """The newest checkpoint that was aborted; 0: none."""
        self.aborted_by = -1
        self.cause = ""

    def join(self, subtask: int) -> None:
        """Notes that a subtask uses the executor from now on."""
        self.users.append(subtask)
        self.task_lines[subtask] = []
        self.input_lines[subtask] = []

    def is_starting(self) -> bool:
        """Returns whether a start is in the queue."""
        return any(one.kind is RequestKind.START for line in self.task_lines.values() for one in line)

    def begin(self, checkpoint: int) -> None:
        """Notes that a checkpoint is started which is newer than all others."""
        self.ongoing = checkpoint
        self.is_open, self.written = True, False
        self.awaited = [subtask for subtask in self.task_lines if subtask not in self.closed]
        self.parts = {}

    def leave(self, subtask: int) -> None:
        """Notes that the last request of a subtask was executed."""
        self.closed.append(subtask)
        if subtask in self.awaited:
            self.awaited.remove(subtask)

    def is_over(self, checkpoint: int) -> bool:
        """Returns whether the requests of a checkpoint lead to nothing: it is older, or aborted."""
        return checkpoint < self.ongoing or checkpoint <= self.aborted

    def is_complete(self) -> bool:
        """Returns whether every part of the file is final."""
        return self.is_open and not self.awaited and all(final[0] and final[1] for final in self.parts.values())

    def find(self, subtask: int, kind: RequestKind, checkpoint: int) -> tuple[Queued | None, str]:
        """Returns the request that was executed, and what is wrong about that: empty if nothing is."""
        if subtask not in self.task_lines:
            return None, "this subtask does not use the executor"
        lines = self.task_lines[subtask], self.input_lines[subtask]
        line = lines[kind is INPUT]
        for queued in line:
            if queued.kind is ABORT is not kind:
                continue
            if queued.kind is kind and queued.checkpoint == checkpoint:
                if not queued.is_ready:
                    return queued, "its buffers are not there"
                if kind is FINISH_INPUT and any(one.checkpoint == checkpoint for one in lines[1]):
                    return queued, "input was handed in before that is not written"
                return queued, ""
            if kind is ABORT:
                continue
            return None, f"a request of kind {queued.kind} for checkpoint {queued.checkpoint} must come before it"
        return None, "there is no such request in the queue"

    def remove(self, subtask: int, queued: Queued) -> None:
        """Notes that a request was executed. Aborts in front of it have nothing to do any more."""
        line = self.input_lines[subtask] if queued.kind is INPUT else self.task_lines[subtask]
        at = line.index(queued)
        if queued.kind is not ABORT:
            del line[: at + 1]
            return
        key = subtask, queued.checkpoint
        for early in (self.aborts_queued, self.aborts_in_flight):
            if key in early:
                early.remove(key)
                return
        del line[at]

    def waiting(self) -> Queued | None:
        """Returns a request that can be executed now; None: there is none. Aborts need not be executed twice."""
        for subtask, line in self.task_lines.items():
            for queued in line:
                if not queued.is_ready:
                    break
                if queued.kind is not ABORT:
                    return queued
            else:
                if self.input_lines[subtask] and not self.input_lines[subtask][0].is_late:
                    return self.input_lines[subtask][0]
        return None

    def is_queued(self, record: int) -> bool:
        """Returns whether the buffer of this record waits to be written for a checkpoint that is not over."""
        for lines in (self.input_lines, self.task_lines):
            for subtask, line in lines.items():
                for queued in line:
                    if record in queued.records:
                        checkpoint = queued.checkpoint
                        over = queued.is_late or self.is_over(checkpoint) or (subtask, checkpoint) in self.aborts_queued
                        return not over and (checkpoint != self.ongoing or self.is_open)
        return False


class Futures:
    """The buffers that were promised as output, and that are not there yet."""

    __slots__ = ("open", "total")

    def __init__(self) -> None:
        self.total = 0
        """How many futures there were. They are numbered from 0."""
        self.open: dict[int, tuple[Executor, int, Queued]] = {}
        """By future that is neither completed nor failed: its executor, its subtask and its request."""

    def promise(self, executor: Executor, subtask: int, queued: Queued) -> None:
        """Notes that the buffers of this request are promised."""
        self.open[self.total] = executor, subtask, queued
        self.total += 1
