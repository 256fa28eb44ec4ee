"""The ledger of one subtask checkpoint coordinator: of what it was notified in each checkpoint, and what it did."""

from __future__ import annotations

from typing import Any

from conformance.components.subtask_checkpoint.checkpoint import BARRIERS, NEEDS, REPEATABLE, Checkpoint, Stage
from conformance.driver import PortLedger, Seen
from conformance.models.barriers import TIMEOUT, triggered_at
from conformance.ports import (
    Alignment,
    CheckpointAcknowledged,
    CheckpointDeclined,
    CheckpointReason,
    ErrorKind,
    Places,
    Signal,
    StatePart,
    SubtaskCall,
    SubtaskCalled,
)

WRITER_START, WRITER_ABORT_AND_FORGET, WRITER_TAKE_RESULT, WRITER_FINISH_OUTPUT, OUTPUTS_TIME_OUT = (
    SubtaskCall.WRITER_START,
    SubtaskCall.WRITER_ABORT_AND_FORGET,
    SubtaskCall.WRITER_TAKE_RESULT,
    SubtaskCall.WRITER_FINISH_OUTPUT,
    SubtaskCall.OUTPUTS_TIME_OUT,
)
STARTED, OVER = Stage.STARTED, Stage.OVER
UNALIGNED = Alignment.UNALIGNED
"""Module variables, because looking up a member of an enumeration is slow in Python 3.11."""

MOST_CHECKPOINTS = 9
"""The highest checkpoint that a scenario names."""


class Timer:
    """The clock, and the timer that lets the newest barrier become unaligned."""

    __slots__ = ("checkpoint", "now")

    def __init__(self) -> None:
        self.now = 0
        self.checkpoint = 0
        """The checkpoint whose barrier becomes unaligned when it is due; 0: none."""


class Found:
    """What was found wrong in what was called."""

    __slots__ = ("early", "repeated", "timed_out_early")

    def __init__(self) -> None:
        self.repeated: tuple[int, SubtaskCall] | None = None
        """A call that was made twice for a checkpoint."""
        self.early: tuple[int, SubtaskCall] | None = None
        """A call that was made without the one that it needs."""
        self.timed_out_early = 0
        """A checkpoint whose barrier became unaligned when it must not."""


class Ledger(PortLedger):
    """A checkpoint is pending while its inputs are started and the task has not taken its part. Its asynchronous part
    is running until it was given a turn in which it had to end."""

    __slots__ = ("checkpoints", "found", "last", "left", "pending", "running", "says_how", "timer", "unaligned")

    def __init__(self, unaligned: bool, can_fail: Places, says_how: bool = False) -> None:
        """`unaligned`: whether checkpoints may be unaligned or timeoutable. `says_how`: whether an acknowledgement says
        how a checkpoint was taken."""
        super().__init__(can_fail)
        self.unaligned = unaligned
        self.says_how = says_how
        self.restore()

    def restore(self) -> None:
        """Begins with a fresh port, whose clock shows 0."""
        self.begin_life("live")
        self.timer = Timer()
        self.checkpoints = [Checkpoint() for _ in range(MOST_CHECKPOINTS + 1)]
        """By checkpoint, what is known of it. There is no checkpoint 0."""
        self.last = self.pending = self.left = 0
        """The newest checkpoint that was triggered or declined; the pending one; the newest one whose barrier has left.
        0: none."""
        self.running: list[int] = []
        """The checkpoints whose asynchronous part may run."""
        self.found = Found()

    # ---- queries -----------------------------------------------------------------------------------------------------
    def timestamp(self, checkpoint: int) -> int:
        """Returns when a checkpoint was triggered."""
        return triggered_at(checkpoint, self.timer.now)

    def is_cancelled(self) -> bool:
        """Returns whether the task is not running any more."""
        return self.phase == "cancelled"

    def open_parts(self) -> int:
        """Returns how many asynchronous parts may not have ended."""
        checkpoints = [self.checkpoints[number] for number in self.running]
        return len([one for one in checkpoints if not one.acknowledged and (one.was_final or not one.aborted)])

    # ---- updates: the task's thread ----------------------------------------------------------------------------------
    def start(self, checkpoint: int, alignment: str) -> None:
        """Notes that the inputs were started."""
        one = self.checkpoints[checkpoint]
        one.alignment = Alignment(alignment)
        one.stage = STARTED
        one.awaited = one.alignment is UNALIGNED
        self.pending = checkpoint

    def start_struck(self, seen: Seen[Any], checkpoint: int, alignment: str) -> None:
        """Notes that the inputs refused a checkpoint, or that the task fails."""
        if seen.error is None or seen.error.kind is not ErrorKind.CHECKPOINT:
            self.break_down(seen)
            return
        self.faults.struck(seen.signals)
        self.start(checkpoint, alignment)
        self.checkpoints[checkpoint].stage = Stage.REFUSED
        self.checkpoints[checkpoint].awaited = False

    def end_inputs(self, checkpoint: int) -> None:
        """Notes that the inputs have handed over all in-flight data, or will not."""
        self.checkpoints[checkpoint].awaited = False

    def trigger(self, checkpoint: int) -> None:
        """Notes that the task was asked for its part. It takes it only if the checkpoint is new and was not aborted."""
        one = self.checkpoints[checkpoint]
        self.pending = 0
        one.stage = OVER
        if checkpoint <= self.last:
            return
        self.last = checkpoint
        if one.aborted:
            return
        one.due = self.timestamp(checkpoint) + TIMEOUT
        self.timer.checkpoint = checkpoint if one.alignment is Alignment.TIMEOUTABLE else 0
        one.begin()
        self.running.append(checkpoint)

    def decline(self, checkpoint: int, reason: str) -> None:
        """Notes that the barrier handler gave a checkpoint up."""
        self.last = max(self.last, checkpoint)
        if self.pending == checkpoint:
            self.pending = 0
        self.checkpoints[checkpoint].stage = OVER

    def complete(self, checkpoint: int) -> None:
        """Notes that the checkpoint coordinator said that a checkpoint is complete."""
        self.checkpoints[checkpoint].completed = True

    def abort(self, checkpoint: int) -> None:
        """Notes that the checkpoint coordinator said that a checkpoint was aborted. A task that is not running any more
        does not listen."""
        if self.is_cancelled():
            return
        one = self.checkpoints[checkpoint]
        one.aborted = True
        one.was_final = one.stage is Stage.BEGUN and not one.missing and not one.failed

    def align(self, checkpoint: int, milliseconds: int) -> None:
        """Notes how long the alignment of a checkpoint took."""
        self.checkpoints[checkpoint].aligned_for = milliseconds

    def pass_time(self, milliseconds: int) -> None:
        """Notes that time has passed."""
        self.timer.now += milliseconds

    # ---- updates: other threads --------------------------------------------------------------------------------------
    def store(self, checkpoint: int, part: str, records: int) -> None:
        """Notes that so many more records in flight are stored of a checkpoint."""
        self.checkpoints[checkpoint].stored += records

    def finish(self, checkpoint: int, part: str) -> None:
        """Notes that a part of the state is final."""
        self.checkpoints[checkpoint].settle(StatePart(part))

    def fail_part(self, checkpoint: int, part: str, reason: str) -> None:
        """Notes that a part of the state failed."""
        cause = CheckpointReason(reason) if reason else CheckpointReason.ASYNC_EXCEPTION
        self.checkpoints[checkpoint].settle(StatePart(part), cause)

    def run(self, checkpoint: int) -> None:
        """Notes that an asynchronous part was given a turn. It has ended if all of its state is final or failed, or if
        it was cancelled."""
        one = self.checkpoints[checkpoint]
        if not one.missing or one.aborted or self.is_cancelled():
            self.running.remove(checkpoint)

    def cancel(self) -> None:
        """Notes that the task is not running any more."""
        self.phase = "cancelled"

    def hear(self, signals: list[Signal]) -> None:
        """Notes what was called, and what was sent to the checkpoint coordinator."""
        for signal in signals:
            if type(signal) is SubtaskCalled:
                self._hear_call(signal.checkpoint, signal.call)
            elif type(signal) is CheckpointAcknowledged:
                self.checkpoints[signal.checkpoint].acknowledged = True
            elif type(signal) is CheckpointDeclined:
                self.checkpoints[signal.checkpoint].declined.append(signal.reason)

    def _hear_call(self, checkpoint: int, call: SubtaskCall) -> None:
        one = self.checkpoints[checkpoint]
        told = one.told
        if call in told and call not in REPEATABLE:
            self.found.repeated = self.found.repeated or (checkpoint, call)
        needed = NEEDS.get(call)
        if needed is not None and needed not in told:
            self.found.early = self.found.early or (checkpoint, call)
        told.append(call)
        if call is WRITER_START:
            one.result = True
        elif call is WRITER_ABORT_AND_FORGET:
            one.result = False
        elif call is WRITER_TAKE_RESULT:
            if not one.result:
                self.found.early = self.found.early or (checkpoint, call)
            one.result = False
        elif call is WRITER_FINISH_OUTPUT:
            if not one.has_left():
                self.found.early = self.found.early or (checkpoint, call)
        elif call in BARRIERS:
            if checkpoint <= self.left or SubtaskCall.OUTPUTS_CANCEL_MARKER in told:
                self.found.repeated = self.found.repeated or (checkpoint, call)
            self.left = max(self.left, checkpoint)
        elif call is OUTPUTS_TIME_OUT:
            if checkpoint != self.timer.checkpoint or self.timer.now < one.due:
                self.found.timed_out_early = checkpoint
            self.timer.checkpoint = 0
