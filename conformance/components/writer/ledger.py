"""The ledger of the channel state writers: what the subtasks have handed in, and what was returned to them."""

from __future__ import annotations

from conformance.components.writer.executors import Executor, Futures, Queued
from conformance.components.writer.handed_in import HandedIn, spilled_pieces
from conformance.components.writer.results import ANY, AT_STOP, COMPLETED, Files, Results
from conformance.components.writer.subtasks import Subtask
from conformance.driver import PortLedger, Seen
from conformance.ports import (
    STATE_FILE_CLOSE,
    BufferRecycled,
    ChannelStateCompleted,
    ChannelStateFailed,
    CheckpointReason,
    ErrorKind,
    FaultStruck,
    Places,
    Request,
    RequestKind,
    Signal,
    SnapshotClosed,
    WriterConfig,
)

INPUT, CLOSE, ABORT, START = RequestKind.INPUT, RequestKind.CLOSE, RequestKind.ABORT, RequestKind.START
"""Module variables, because looking up a member of an enumeration is slow in Python 3.11."""

MOST_CHECKPOINTS = 9
"""The highest checkpoint that a scenario names."""
IO, SHARED = str(CheckpointReason.IO_EXCEPTION), str(CheckpointReason.SHARED_STREAM)
SUBSUMED = str(CheckpointReason.DECLINED_SUBSUMED)


class Ledger(PortLedger):
    """Each result is open until the writer says that it is completed or has failed."""

    __slots__ = (
        "adding", "at_work", "buffers", "config", "executors", "files", "futures", "refusal", "released_in_operation",
        "results", "snapshots", "spills", "subtasks",
    )  # fmt: skip

    def __init__(self, config: WriterConfig, spills: bool, can_fail: Places) -> None:
        """`spills`: whether input can come from spill files."""
        super().__init__(can_fail)
        self.config = config
        self.spills = spills
        self.restore()

    def restore(self) -> None:
        """Begins with a fresh writer, with which no subtask is registered."""
        self.begin_life("live")
        self.executors: list[Executor] = []
        """Those that run."""
        self.subtasks = [Subtask() for _ in range(self.config.subtasks)]
        self.results = Results(self.config.subtasks)
        self.files = Files()
        self.futures = Futures()
        self.buffers, self.snapshots = HandedIn(), HandedIn()
        self.adding: Queued | None = None
        """The input that is handed in now; None: no thread hands in input."""
        self.refusal = ""
        """The kind of the error with which the start must be refused that is in flight; empty: it must not."""
        self.at_work = Executor()
        """The executor that executes a request, or has executed the last one; at first, one that nobody uses."""
        self.released_in_operation = False
        """Whether operations were in flight when the writer was released."""

    def top(self) -> int:
        """Returns the newest checkpoint that a subtask has started."""
        return max([one.last for one in self.subtasks])

    # ---- subtasks come and go ----------------------------------------------------------------------------------------
    def joinable(self) -> Executor | None:
        """Returns the executor that a subtask that registers joins; None: it gets a new one."""
        for executor in self.executors:
            if executor.registering and len(executor.users) < self.config.sharing:
                return executor
        return None

    def shared_by(self, subtasks: tuple[int, ...], newcomer: int) -> Executor | None:
        """Returns the executor that one of these subtasks uses besides the newcomer; None: none of them uses one."""
        for executor in self.executors:
            if any(one in executor.users for one in subtasks if one != newcomer):
                return executor
        return None

    def begin_register(self, subtask: int) -> None:
        """Notes that a subtask registers."""
        self.begin_alone()

    def registered(self, seen: Seen[tuple[int, ...]], subtask: int) -> None:
        """Notes which executor a subtask was given."""
        self.end()
        executor = self.shared_by(seen.value, subtask)
        if executor is None:
            executor = Executor()
            self.executors.append(executor)
        executor.join(subtask)
        if len(executor.users) >= self.config.sharing:
            executor.registering = False
        one = self.subtasks[subtask]
        one.executor = executor
        one.input_finished = one.output_finished = one.last

    def begin_close(self, subtask: int) -> None:
        """Notes that a subtask is closing."""
        self._begin_ending()
        one = self.subtasks[subtask]
        executor = one.executor
        self.results.closed_after[subtask] = one.last
        if executor is not None:
            executor.registering = False
            executor.closing = subtask
            one.executor = None
            self.queue(executor, subtask, Queued(CLOSE, 0))

    def _begin_ending(self) -> None:
        self.begin_alone()
        self.results.begin()

    def end_close(self, subtask: int) -> None:
        """Notes that a subtask has closed."""
        self.end()
        self.results.in_flight -= 1
        executor = next((one for one in self.executors if one.closing == subtask), None)
        if executor is None:
            return
        self.subtasks[subtask].results = []
        executor.closing = -1
        executor.users.remove(subtask)
        if not executor.users:
            self._stop(executor)
        self.results.settle()

    def _stop(self, executor: Executor) -> None:
        executor.stopped = True
        self.executors.remove(executor)
        open_results = [(of, executor.ongoing) for of in executor.parts] if executor.is_open else []
        for lines in (executor.task_lines, executor.input_lines):
            for of, line in lines.items():
                for queued in line:
                    self._owe(queued)
                    if queued.kind is START:
                        open_results.append((of, queued.checkpoint))
                line.clear()
        for key in open_results:
            self.results.expect(AT_STOP, key, *ANY)
        executor.is_open = False

    # ---- what a subtask asks for -------------------------------------------------------------------------------------
    def queue(self, executor: Executor, subtask: int, queued: Queued) -> None:
        """Notes that a request is in the queue, or on its way there."""
        lines = executor.input_lines if queued.kind is INPUT else executor.task_lines
        lines[subtask].append(queued)
        executor.idle = False

    def _refuses_start(self, subtask: int, checkpoint: int) -> str:
        results = self.subtasks[subtask].results
        if checkpoint in results:
            return ErrorKind.ARGUMENT
        return ErrorKind.STATE if len(results) >= self.config.max_results else ""

    def start(self, subtask: int, checkpoint: int) -> None:
        """Notes that a subtask asks to start a checkpoint."""
        self.begin()
        self.refusal = self._refuses_start(subtask, checkpoint)
        if not self.refusal:
            self.queue(self.subtasks[subtask].its_executor(), subtask, Queued(START, checkpoint))
            self.subtasks[subtask].results.append(checkpoint)
            self.results.open((subtask, checkpoint))

    def started(self, subtask: int, checkpoint: int) -> None:
        """Notes that a subtask has started a checkpoint, so that its threads hand in data."""
        self.end()
        if not self.refusal:
            self.subtasks[subtask].last = checkpoint

    def add(self, kind: RequestKind, subtask: int, channel: int, count: int) -> None:
        """Notes that buffers are handed in for the newest checkpoint of a subtask, maybe after it has closed."""
        self.begin_alone()
        queued = Queued(kind, self.subtasks[subtask].last, channel, self.buffers.hand_in(count))
        if kind is INPUT:
            self.adding = queued
        executor = self.subtasks[subtask].executor
        if executor is None:
            queued.is_late = True
            executor = next((one for one in reversed(self.executors) if subtask in one.input_lines), None)
        if executor is not None:
            self.queue(executor, subtask, queued)

    def added(self, seen: Seen[None], subtask: int, channel: int, count: int) -> None:
        """Notes whether buffers were taken; those of a subtask that is not registered may be refused."""
        self.end()
        queued, self.adding = self.adding, None
        if seen.error is not None and queued is not None:
            self.buffers.owe(queued.records)
            for executor in self.executors:
                line = executor.input_lines.get(subtask, [])
                if queued in line:
                    line.remove(queued)

    def spill(self, subtask: int, channels: str) -> None:
        """Notes that a snapshot of spill files is handed in. `channels`: those of its pieces."""
        self.begin()
        one = self.subtasks[subtask]
        one.spilled = one.last
        snapshot = self.snapshots.hand_in()
        if channels:
            queued = Queued(RequestKind.SPILLED_INPUT, self.subtasks[subtask].last)
            queued.snapshot, queued.pieces = snapshot, spilled_pieces(snapshot[0], channels)
            self.queue(self.subtasks[subtask].its_executor(), subtask, queued)
        else:
            self.snapshots.owe(snapshot)

    def spilled_in(self, seen: Seen[None], subtask: int, channels: str) -> None:
        """Notes that a snapshot was handed in, and, if it was read at once, whether that has failed."""
        self.end()
        if any(type(one) is FaultStruck for one in seen.signals):
            for queued in self.subtasks[subtask].its_executor().task_lines[subtask]:
                queued.is_unreadable = queued.is_unreadable or queued.snapshot == self.snapshots.newest(1)

    def promise(self, subtask: int, channel: int) -> None:
        """Notes that a subtask promises output."""
        self.begin()
        queued = Queued(RequestKind.OUTPUT, self.subtasks[subtask].last, channel, is_ready=False)
        executor = self.subtasks[subtask].its_executor()
        self.futures.promise(executor, subtask, queued)
        self.queue(executor, subtask, queued)

    def keep(self, future: int, count: int) -> None:
        """Notes that the promised buffers are there."""
        self.begin()
        executor, _, queued = self.futures.open.pop(future)
        queued.records = self.buffers.hand_in(count)
        queued.is_ready = True
        executor.idle = False
        if executor.stopped:
            self._owe(queued)

    def break_promise(self, future: int, reason: str) -> None:
        """Notes that the promised buffers will not come."""
        self.begin()
        executor, _, queued = self.futures.open.pop(future)
        queued.reason = reason
        queued.is_ready = True
        executor.idle = False

    def finish(self, kind: RequestKind, subtask: int) -> None:
        """Notes that the input or the output of the newest checkpoint of a subtask is complete."""
        self.begin()
        one = self.subtasks[subtask]
        if kind is RequestKind.FINISH_INPUT:
            one.input_finished = one.last
        else:
            one.output_finished = one.last
        self.queue(one.its_executor(), subtask, Queued(kind, one.last))

    def abort(self, subtask: int, checkpoint: int, reason: str) -> None:
        """Notes that a subtask aborts a checkpoint."""
        self.begin()
        queued = Queued(ABORT, checkpoint)
        queued.reason = reason
        executor = self.subtasks[subtask].its_executor()
        self.queue(executor, subtask, queued)
        executor.aborts_in_flight.append((subtask, checkpoint))
        self.subtasks[subtask].aborted = checkpoint

    def aborted(self, subtask: int, checkpoint: int, reason: str) -> None:
        """Notes that an abort is over: its request is in front of all others, or was executed."""
        self.end()
        executor = self.subtasks[subtask].its_executor()
        if (subtask, checkpoint) in executor.aborts_in_flight:
            executor.aborts_in_flight.remove((subtask, checkpoint))
            executor.aborts_queued.append((subtask, checkpoint))
        self.take(subtask, checkpoint)

    def fail(self) -> None:
        """Notes that the writer was released: nobody waits for a result any more."""
        self.released_in_operation = self.released_in_operation or self.flying > 0
        super().fail()
        self.results.in_flight = 0
        self.adding = None
        self.executors = []
        self.results.closed_after = [MOST_CHECKPOINTS] * len(self.subtasks)

    def take(self, subtask: int, checkpoint: int) -> None:
        """Notes that the writer need not keep a result any more, if it has one."""
        results = self.subtasks[subtask].results
        if checkpoint in results:
            results.remove(checkpoint)

    # ---- what an executor executes -----------------------------------------------------------------------------------
    def begin_execute(self, subtask: int) -> None:
        """Notes that an executor begins to execute a request."""
        self._begin_ending()
        self.at_work = self.subtasks[subtask].its_executor()

    def executed(self, seen: Seen[Request | None], subtask: int) -> None:
        """Notes which request was executed, and what must come of it."""
        self.end()
        self.results.in_flight -= 1
        request, executor = seen.value, self.at_work
        if request is None:
            executor.idle = True
        else:
            queued, complaint = executor.find(request.subtask, request.kind, request.checkpoint)
            if queued is not None and not complaint:
                executor.remove(request.subtask, queued)
                broken = [one.place for one in seen.signals if type(one) is FaultStruck]
                self._execute(executor, request.subtask, queued, broken)
        self.results.settle()

    def _execute(self, executor: Executor, subtask: int, queued: Queued, broken: list[str]) -> None:
        kind, checkpoint = queued.kind, queued.checkpoint
        executor.registering = executor.registering and kind is not START
        self.buffers.owe(queued.records)
        self.snapshots.owe(queued.snapshot)
        if kind is CLOSE:
            executor.leave(subtask)
        elif kind is ABORT:
            self._abort(executor, subtask, checkpoint, queued.reason)
        elif executor.is_over(checkpoint):
            if kind is START:
                self._start_obsolete(executor, subtask, checkpoint)
            return
        elif kind is START:
            self._start(executor, subtask, checkpoint)
        elif executor.is_open:
            self._go_on(executor, subtask, queued)
        if queued.is_unreadable or any(place != STATE_FILE_CLOSE for place in broken):
            self._give_up(executor, "a_failed_write_fails_its_checkpoint", IO, SHARED)
        elif executor.is_complete():
            self._complete(executor, bool(broken))

    def _start_obsolete(self, executor: Executor, subtask: int, checkpoint: int) -> None:
        end = SUBSUMED
        if checkpoint == executor.aborted:
            end = executor.cause if subtask == executor.aborted_by else SHARED
        self.results.expect("a_start_of_a_checkpoint_that_is_over_fails", (subtask, checkpoint), end)

    def _start(self, executor: Executor, subtask: int, checkpoint: int) -> None:
        if checkpoint > executor.ongoing:
            self._give_up(executor, "a_newer_checkpoint_fails_what_is_unfinished", SUBSUMED)
            executor.begin(checkpoint)
        if executor.is_open:
            executor.awaited.remove(subtask)
            executor.parts[subtask] = [False, False]
        else:
            why, ends = executor.late
            self.results.expect(why, (subtask, checkpoint), *ends)

    def _go_on(self, executor: Executor, subtask: int, queued: Queued) -> None:
        kind = queued.kind
        if kind in (RequestKind.FINISH_INPUT, RequestKind.FINISH_OUTPUT):
            executor.parts[subtask][kind is RequestKind.FINISH_OUTPUT] = True
        elif queued.reason:
            self._give_up(executor, "a_failed_future_fails_its_checkpoint", SHARED, own=subtask, cause=queued.reason)
        elif queued.records or queued.pieces:
            executor.written = True
            of = self.files.written.setdefault((subtask, queued.checkpoint), {})
            for channel, record in queued.pieces:
                of.setdefault((False, channel), []).append(record)
            if queued.records:
                of.setdefault((kind is RequestKind.OUTPUT, queued.channel), []).extend(queued.records)

    def _abort(self, executor: Executor, subtask: int, checkpoint: int, reason: str) -> None:
        if executor.is_over(checkpoint):
            return
        executor.aborted, executor.aborted_by, executor.cause = checkpoint, subtask, reason
        if checkpoint == executor.ongoing:
            self._give_up(executor, "an_abort_fails_the_others_as_shared", SHARED, own=subtask, cause=reason)
        else:
            self._give_up(executor, "an_abort_fails_what_is_older", SUBSUMED)

    def _complete(self, executor: Executor, broken: bool) -> None:
        if not broken:
            self._give_up(executor, "a_result_is_completed_when_every_part_is", COMPLETED)
            if executor.written:
                self.files.complete.append(executor.ongoing)
        elif executor.written:
            self._give_up(executor, "a_failed_write_fails_its_checkpoint", IO, SHARED)
        else:  # that an empty file cannot be closed has lost nothing
            self._give_up(executor, "a_failed_write_fails_its_checkpoint", COMPLETED, IO, SHARED)

    def _give_up(self, executor: Executor, why: str, *others: str, own: int = -1, cause: str = "") -> None:
        """Notes that every result of the file must end now. `cause`: how that of the subtask `own` must."""
        if not executor.is_open:
            return
        executor.is_open, executor.late = False, (why, others)
        for subtask in executor.parts:
            key = subtask, executor.ongoing
            if subtask == own:
                self.results.expect("an_aborted_checkpoint_fails_with_its_cause", key, cause)
            else:
                self.results.expect(why, key, *others)

    # ---- the writer's signals ----------------------------------------------------------------------------------------
    def hear(self, signals: list[Signal]) -> None:
        """Notes which buffers were recycled, and which results have ended."""
        for signal in signals:
            if type(signal) is BufferRecycled:
                self._recycled(signal.record)
            elif type(signal) is SnapshotClosed:
                self.snapshots.give_back(signal.snapshot)
            elif type(signal) is ChannelStateCompleted:
                self.results.told.append(((signal.subtask, signal.checkpoint), COMPLETED))
            elif type(signal) is ChannelStateFailed:
                self.results.told.append(((signal.subtask, signal.checkpoint), str(signal.reason)))
            elif type(signal) is FaultStruck:
                self.faults.struck([signal])
        if self.results.told:
            self.results.settle()

    def _owe(self, queued: Queued) -> None:
        if not queued.is_late:
            self.buffers.owe(queued.records)
            self.snapshots.owe(queued.snapshot)

    def _recycled(self, record: int) -> None:
        was_due = not self.buffers.give_back(record)
        if was_due or self.results.in_flight:
            return
        if any(executor.is_queued(record) for executor in self.executors):
            self.buffers.given_back_early = record
