"""The ledger of the restore of a task: what is to be recovered, what the operators got, and how far the task is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

from conformance.driver import PortLedger, Seen
from conformance.models.lookers import Lookers
from conformance.models.recovered_state import RecoveredState
from conformance.models.words import name
from conformance.ports import (
    ALL_GATES,
    CHANNEL_STATE_WRITER,
    OPERATORS_OPEN,
    OPERATORS_PROCESS,
    SPILL_DIRECTORY,
    SPILL_FILE_CLOSE,
    SPILL_FILE_CREATE,
    SPILL_FILE_DELETE,
    SPILL_FILE_SYNC,
    SPILL_FILE_WRITE,
    SUBPARTITION_REQUEST,
    Element,
    ElementTaken,
    FaultStruck,
    GateConverted,
    Places,
    Recovery,
    Signal,
    TaskRestoreConfig,
    TaskState,
    TaskStateChanged,
    Turn,
)

WAITS = Turn.WAITS
CANCELED = TaskState.CANCELED
"""Module variables, because looking up a member of an enumeration is slow in Python 3.11."""

Looker: TypeAlias = Literal["executor", "task"]
"""Who looks for something to do."""
OVER = (TaskState.FINISHED, TaskState.FAILED, CANCELED)
_WRITING = (SPILL_DIRECTORY, SPILL_FILE_CREATE, SPILL_FILE_WRITE, SPILL_FILE_SYNC)
"""What is called while state is fetched into spill files."""
_NEXT = {
    None: (TaskState.INITIALIZING,),
    TaskState.INITIALIZING: (TaskState.RUNNING, TaskState.FAILED, CANCELED),
    TaskState.RUNNING: OVER,
}


class Found:
    """What was found wrong in what the task signalled, one thing for each rule about signals."""

    __slots__ = ("before_conversion", "converted_again", "converted_early", "early", "not_read", "out_of_turn", "state")

    def __init__(self) -> None:
        self.out_of_turn: tuple[int, str, str] | None = None
        """A channel, what had to come out of it, and what did."""
        self.before_conversion: int | None = None
        """A channel out of which a record came although its gate was not converted, and it was not one that may be
        processed before."""
        self.not_read: int | None = None
        """A channel out of which an element came although the operators do not read its gate."""
        self.converted_early = self.converted_again = -1
        """A gate that was converted before all of its recovered data was taken; one that was converted twice."""
        self.state: tuple[str, str] | None = None
        """Two states of which the second must not follow the first."""
        self.early = ""
        """Why the task must not have got as far as it says."""


class Ledger(PortLedger):
    """Phases: *deployed*, *live*, *over*, or the end."""

    __slots__ = (
        "config", "converted", "executor_waits", "found", "kept", "lookers", "recovered", "recovery", "selected",
        "state", "task_waits", "undeleted", "was_over",
    )  # fmt: skip

    def __init__(self, config: TaskRestoreConfig, recovery: Recovery, can_fail: Places) -> None:
        """`recovery`: the design that is in effect."""
        super().__init__(can_fail)
        self.config = config
        self.recovery = recovery
        self.recovered = RecoveredState(config.gates, config.input_state, config.buffers)
        self.restart()

    def restart(self) -> None:
        """Begins with a fresh task, which is not restored yet."""
        self.begin_life("deployed")
        self.state: TaskState | None = None
        self.recovered.restart()
        self.converted = [False] * len(self.recovered.gates)
        """By gate."""
        self.selected = ALL_GATES
        self.lookers: Lookers[Looker] = Lookers("executor", "task")
        self.executor_waits = self.task_waits = False
        """Whether the executor waits in the middle of an operation for as long as the operation of the task takes;
        whether the task found nothing to do meanwhile."""
        self.was_over = {"turn": False, "read": False}
        """By thread that looks for something to do, whether the task was over when its operation began."""
        self.found = Found()
        self.kept = ""
        """Where the call has failed of which a gate may keep the error, for the task to find when it reads the gate;
        empty: nowhere."""
        self.undeleted = False
        """Whether a spill file could not be deleted."""

    # ---- queries -----------------------------------------------------------------------------------------------------
    def processes_first(self) -> bool:
        """Returns whether recovered data is processed before the conversion."""
        return self.recovery is Recovery.RECOVER_FIRST

    def has_directory(self) -> bool:
        """Returns whether the task has all that it needs: a directory to spill into, if it must spill."""
        return self.config.spill_directories or self.recovery is not Recovery.PUSHED

    def is_cancelled(self) -> bool:
        """Returns whether the task was cancelled."""
        return self.state is CANCELED

    def is_live(self) -> bool:
        """Returns whether the task restores or runs."""
        return self.phase == "live"

    def reads(self, gate: int) -> bool:
        """Returns whether the operators read this gate."""
        return self.selected in (ALL_GATES, gate)

    def is_waiting(self) -> bool:
        """Returns whether the executor may wait for a buffer. Then so many recovered records were not taken, and the
        operators do not read all gates, or may still find one of these records. It may wait for an upstream that was
        not requested, too, until the task finds the error of the request."""
        if self.phase != "live" or not self.recovered.handing_on or self.recovery is Recovery.IN_MEMORY:
            return False
        if self.kept and self.recovery is Recovery.PUSHED:
            return True
        return self.recovered.left() >= self.recovered.buffers and not (self.task_waits and self.selected == ALL_GATES)

    def must_start(self) -> bool | None:
        """Returns whether the task must take its part of a checkpoint now; None: it may decline it or not, or it is
        over, or about to fail with an error that a gate keeps."""
        if not self.is_live() or self.kept:
            return None
        if not all(self.converted):
            return False
        if self.state is TaskState.RUNNING or (self.recovered.gates and not self.processes_first()):
            return True
        return None

    def strikable(self) -> Sequence[tuple[str, str]]:
        """Returns the faults that can strike from now on, as operands of a step."""
        pushed = self.recovery is Recovery.PUSHED
        converted = all(self.converted)
        reachable = {  # all other places can be reached, those of spill files with pushed state
            OPERATORS_OPEN: self.phase == "deployed",
            SUBPARTITION_REQUEST: not converted,
            OPERATORS_PROCESS: bool(self.recovered.gates),
            CHANNEL_STATE_WRITER: self.config.unaligned and not self.processes_first(),
            **dict.fromkeys(_WRITING, pushed and not converted),
        }
        return [
            one for one in self.faults.possible() if reachable.get(one[0], pushed or not one[0].startswith("spill-"))
        ]

    def need_not_fail(self, place: str) -> bool:
        """Returns whether the task may go on although a call at this place has failed: its gate may keep the error, or
        a spill file is not needed any more."""
        if place == SPILL_FILE_CLOSE:
            return all(self.converted) or self.state in OVER
        return place in (SUBPARTITION_REQUEST, SPILL_FILE_DELETE)

    # ---- threads -----------------------------------------------------------------------------------------------------
    def wake(self) -> None:
        """Notes that something happens, so that there may be something to do."""
        self.lookers.wake()
        self.alone = self.executor_waits = self.task_waits = False

    def begin_restore(self) -> None:
        """Notes that the restore begins."""
        self.begin_alone()
        self.phase = "live"

    def begin_turn(self) -> None:
        """Notes that the task looks for something to do. In the drain, an executor that is in the middle of an
        operation waits, and can only go on when the task has done something."""
        self._begin_act("turn")
        self.executor_waits = self.closing and self.recovered.handing_on

    def begin_read(self) -> None:
        """Notes that the executor looks for something to do."""
        self._begin_act("read")
        self.recovered.handing_on = True
        self.task_waits = False

    def end_read(self) -> None:
        """Notes that the executor has done what it can do now."""
        self.end()
        self.recovered.handing_on = False

    def _begin_act(self, which: str) -> None:
        self.begin_alone()
        self.was_over[which] = self.state in OVER

    def turned(self, seen: Seen[Turn]) -> None:
        """Notes what a turn has come to."""
        self.lookers.look("task", seen.value is WAITS and self.alone)
        converting = self.state is TaskState.RUNNING and not (all(self.converted) or self.kept)
        if self.lookers.found_nothing("task") and converting:
            self.found.early = "the task waits, and a gate was not converted"
        self.task_waits = seen.value is WAITS and self.executor_waits

    def finds_nothing(self) -> bool:
        """Returns whether the task, if it looked for something to do, would find nothing again."""
        return self.task_waits if self.recovered.handing_on else self.lookers.found_nothing("task")

    def was_read(self, seen: Seen[bool]) -> None:
        """Notes whether the executor had anything to do."""
        self.lookers.look("executor", not seen.value and self.alone)

    def begin_arrival(self, channel: int, element: Element) -> None:
        """Notes that the producer of a channel begins to send."""
        self.begin()
        self.wake()
        self.recovered.lanes[channel].send(element)

    def select(self, gate: int) -> None:
        """Notes which gates the operators read."""
        self.wake()
        self.selected = gate

    def begin_ending(self) -> None:
        """Notes that the task begins to be cancelled."""
        self.begin()
        self.wake()

    def begin_too_late(self, checkpoint: int) -> None:
        """Notes that a task that is over is asked for a checkpoint."""
        self.begin()

    def tried(self, seen: Seen[None], checkpoint: int) -> None:
        """Notes whether the task took its part of a checkpoint."""
        self.recovered.try_checkpoint(checkpoint, seen.error is None)

    def struck(self, seen: Seen[Any]) -> None:
        """Notes that what an operation has called failed."""
        self.end()
        self.faults.struck(seen.signals)
        self.wake()

    def turn_struck(self, seen: Seen[Any]) -> None:
        """Notes that what a turn has called failed. If the task goes on, a gate keeps the error."""
        requested = [one for one in seen.signals if type(one) is FaultStruck and one.place == SUBPARTITION_REQUEST]
        if requested and self.is_live():
            self.kept = SUBPARTITION_REQUEST
        self.struck(seen)

    def checkpoint_struck(self, seen: Seen[None], checkpoint: int) -> None:
        """Notes that what a checkpoint has called failed."""
        self.struck(seen)
        self.tried(seen, checkpoint)

    def read_struck(self, seen: Seen[Any]) -> None:
        """Notes that what the executor has called failed."""
        self.recovered.handing_on = False
        self.struck(seen)

    # ---- the task's signals ------------------------------------------------------------------------------------------
    def hear(self, signals: list[Signal]) -> None:
        """Notes what the operators got, which gates were converted, and how far the task is, in this order."""
        for signal in signals:
            if type(signal) is ElementTaken:
                self._take(signal.channel, signal.element)
            elif type(signal) is GateConverted:
                self._convert(signal.gate)
            elif type(signal) is TaskStateChanged:
                self._change(signal.state)
            elif type(signal) is FaultStruck and signal.place == SPILL_FILE_DELETE:
                self.undeleted = True

    def _take(self, channel: int, element: Element) -> None:
        recovered = self.recovered
        gate, _ = recovered.channels[channel]
        if not self.reads(gate):
            self.found.not_read = channel
        if not self.converted[gate] and (not recovered.left_in(channel) or self.recovery is Recovery.PUSHED):
            self.found.before_conversion = channel
        owed = recovered.owed(channel)
        if element != owed:
            self.found.out_of_turn = channel, name(owed) if owed else "nothing", name(element)
        recovered.lanes[channel].take_next(has_priority=False)

    def _convert(self, gate: int) -> None:
        if self.converted[gate]:
            self.found.converted_again = gate
        if self.processes_first() and self.recovered.left_of(gate):
            self.found.converted_early = gate
        self.converted[gate] = True

    def _change(self, state: TaskState) -> None:
        if state not in _NEXT.get(self.state, ()):
            self.found.state = str(self.state), str(state)
        if state is TaskState.RUNNING and self.recovery is not Recovery.IN_MEMORY:
            if self.recovered.left():
                self.found.early = "recovered data was not taken"
            elif self.recovery is Recovery.PUSHED and not all(self.converted):
                self.found.early = "a gate was not converted"
        elif state is TaskState.FINISHED and not self.recovered.has_ended():
            self.found.early = "a channel had not ended"
        self.state = state
        if state in OVER and self.phase == "live":
            self.phase = "over"
