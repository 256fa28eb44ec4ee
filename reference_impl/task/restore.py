"""The restore of a task. Specification: task-restore.md.

Two threads take part: the task's own thread, which runs the mailbox loop, and the executor of channel state. What the
executor wants of the task, and what the task wants of itself for later, is put into the mailbox.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from conformance.ports import (
    ALL_GATES,
    CHANNEL_STATE_READ,
    OPERATORS_OPEN,
    BarrierHandlerConfig,
    ChannelKind,
    CheckpointReason,
    Element,
    ErrorKind,
    GateConfig,
    GateConverted,
    InputStatus,
    OperatorsOpened,
    OutputStateRestored,
    Piece,
    Port,
    PortError,
    Recovery,
    Resources,
    TaskRestoreConfig,
    TaskState,
    TaskStateChanged,
    Turn,
)
from conformance.scheduling import Pause

from ..design import Design
from ..faults import Faults
from ..network.channel_info import Numbering
from ..network.gate import Gate
from ..network.listener import Listens
from ..network.producers import Upstream
from ..network.union_gate import Union
from ..state.drainer.buffers import RecoveryBuffers
from ..state.drainer.drainer import Drainer
from ..state.drainer.hand_over import TASK, InputStates
from ..state.drainer.lists import ListDrainer
from ..state.spill.spill import encode
from ..state.spill.storage import Storage
from ..state.spill.store import FetchedState, Limits, SpillWriter
from .checkpoints import TaskCheckpoints
from .inputs import Inputs
from .operators import Operators
from .states import TaskStates
from .task import Mail, Task, TaskListener

INITIALIZING, RUNNING = TaskState.INITIALIZING, TaskState.RUNNING
RECOVER_FIRST, IN_MEMORY, PUSHED = Recovery.RECOVER_FIRST, Recovery.IN_MEMORY, Recovery.PUSHED
OVER, ACTED, WAITS = Turn.OVER, Turn.ACTED, Turn.WAITS
CONVERT, INSTALL, SUSPEND = Mail.CONVERT, Mail.INSTALL, Mail.SUSPEND
END_OF_INPUT, NOTHING_AVAILABLE = InputStatus.END_OF_INPUT, InputStatus.NOTHING_AVAILABLE
"""Module variables, because looking up a member of an enumeration is slow in Python 3.11."""

FINISHED, FAILED, CANCELED = TaskState.FINISHED, TaskState.FAILED, TaskState.CANCELED


MakeCheckpoints: TypeAlias = Callable[[Inputs, ListDrainer], TaskCheckpoints]
"""Makes the part of a task in checkpoints, of its inputs and of what hands recovered records to them."""


def in_effect(config: TaskRestoreConfig) -> Recovery:
    """E1. The design in which a task recovers with these settings."""
    enabled = config.unaligned and config.output_on_downstream and config.during_recovery
    return config.recovery if enabled else RECOVER_FIRST


def recovery_buffers(config: TaskRestoreConfig) -> RecoveryBuffers:
    """E5. The buffers for recovered data; with `in-memory` there are as many as are needed."""
    return RecoveryBuffers(sum(map(len, config.input_state)) if in_effect(config) is IN_MEMORY else config.buffers)


class RestoringTask(Task):
    """A task whose state is read before it runs, or while it does.

    The files, and the executor that hands on what was fetched, have states of their own.
    """

    outside = Pause("between two mails of the recovery")

    # With more than 30 attributes in one dictionary, Python 3.11 looks up every method of a task anew.
    __slots__ = (
        "buffers", "config", "drainer", "faults", "fetched", "gates", "installed", "port", "reader",
        "reading_into", "recovered", "recovery", "selected", "state", "storage", "to_end", "to_fetch", "writer",
    )  # fmt: skip

    def __init__(
        self, port: Listens, config: TaskRestoreConfig, numbers: Numbering, design: Design, faults: Faults,
        listener: TaskListener, operators: Operators, gates: Sequence[GateConfig], make_checkpoints: MakeCheckpoints,
        states: TaskStates | None = None,
    ) -> None:  # fmt: skip
        """`listener`: has the buffers for recovered data. `gates`: of each input, how its gates are made. `states`:
        takes the input state of the channels; None: a hand-over asks for it (drainer.md N8)."""
        self.port = port
        self.config = config
        self.faults = faults
        self.recovery = in_effect(config)
        """Recovery: the design in which the task recovers."""
        self.state: TaskState | None = None
        """State: none before the restore begins."""
        self.buffers = listener.buffers
        """Buffers: those for recovered data."""
        inputs = Inputs(numbers, gates, design, listener, faults, listener.upstream, states)
        self.gates = inputs.gates
        to_recover = dict(zip(numbers.infos, config.input_state, strict=True))
        self.reader = ListDrainer(self.gates, self.recovery, to_recover)
        """Hands what is read to the gates at once. Not with `pushed`."""
        super().__init__(inputs, listener, make_checkpoints(inputs, self.reader), operators)
        self.reading_into = 0
        """Reading into: how many buffers are being filled with output state."""
        self.to_end = list(range(len(self.gates)))
        """To end: the gates to which the end of recovered state was not handed. Not with `pushed`."""
        self.to_fetch = [Piece(at.gate, at.channel, (one,)) for at, records in to_recover.items() for one in records]
        """To fetch: what is to be fetched. With `pushed` only."""
        self.storage = Storage(False, faults)
        self.writer = SpillWriter(self.storage, Limits())
        self.fetched: FetchedState | None = None
        """Fetched: the files in which everything is that was fetched. With `pushed` only."""
        self.drainer: Drainer | None = None
        """Drainer: pushes what was fetched, once that is complete. With `pushed` only."""
        self.installed = False
        """Installed: whether the drainer was."""
        self.recovered = [False] * len(self.gates)
        """Recovered: by gate, whether it has recovered as far as the restore loop waits for it."""
        self.selected = ALL_GATES

    # ---- the beginning -----------------------------------------------------------------------------------------------
    async def restore(self) -> None:
        """E1 to E4. The task begins to restore; with `pushed`, fetched state is spilled first (Flink:
        `StreamTask.restore`, `restoreStateAndGates`)."""
        self.change(INITIALIZING)
        if self.recovery is PUSHED and not self.config.spill_directories:
            await self.end(TaskState.FAILED, "there is no directory to spill into")
            raise PortError(ErrorKind.ARGUMENT, "fetched state is to be spilled, and there is no directory")
        try:
            self.restore_output()
            self.faults.reach(OPERATORS_OPEN)
            self.port.emit(OperatorsOpened())
        except PortError as error:
            await self.end(TaskState.FAILED, error.reason)
            return
        if not self.gates:
            self.mails.put((SUSPEND, 0))

    def restore_output(self) -> None:
        """E3, E18. The buffer into which it is read is given back, also if that fails. Raises: PortError IO."""
        self.reading_into = 1
        try:
            self.faults.reach(CHANNEL_STATE_READ)
        finally:
            self.reading_into = 0
        self.port.emit(OutputStateRestored(self.config.output_state))

    # ---- executor of channel state -----------------------------------------------------------------------------------
    async def read(self) -> bool:
        """E5, E18. What fails here fails the task."""
        if self.state is not INITIALIZING and self.state is not RUNNING:
            return False
        try:
            return await self.read_next()
        except PortError as error:
            if self.is_over():
                return False
            await self.end(TaskState.FAILED, error.reason)
            return True

    async def read_next(self) -> bool:
        """E5 to E7. Raises: PortError."""
        if self.drainer is not None and self.installed:
            if self.drainer.has_ended():
                return False
            await self.drainer.step()
            return True
        if self.recovery is PUSHED:
            return self.fetch_next()
        for info, left in self.reader.left.items():
            if left:
                await self.buffers.request(info)
                self.faults.reach(CHANNEL_STATE_READ)
                await self.reader.recover(info)
                return True
        if self.to_end:
            gate = self.gates[self.to_end.pop(0)]
            for number in range(len(gate.channels)):
                await gate.finish_recovery(number)
            if self.recovery is IN_MEMORY:
                await self.gate_recovered(gate)
            return True
        return False

    def fetch_next(self) -> bool:
        """E6. Raises: PortError IO."""
        if self.drainer is not None:
            return False
        self.faults.reach(CHANNEL_STATE_READ)
        if self.to_fetch:
            self.fetch(self.to_fetch.pop(0))
        if not self.to_fetch:
            self.fetched = self.writer.finish()
            reader = None if self.fetched is None else self.fetched.reader()
            self.drainer = Drainer(self.gates, reader, self.buffers)
            self.mails.put((INSTALL, 0))
        return True

    def fetch(self, piece: Piece) -> None:
        """E6. Raises: PortError IO."""
        self.writer.append(piece.gate, piece.channel, encode(piece.records))

    async def gate_recovered(self, gate: Gate) -> None:
        """E8, E10. The gate is converted by a mail; the restore loop ends when all gates have come that far."""
        self.recovered[gate.index] = True
        if self.recovery is not PUSHED:
            self.mails.put((CONVERT, gate.index))
        await self.outside
        if all(self.recovered):
            self.mails.put((SUSPEND, 0))

    # ---- task thread -------------------------------------------------------------------------------------------------
    async def turn(self) -> Turn:
        """E11, E18. Run the oldest mail, or else the default action (Flink: `MailboxProcessor.runMailboxLoop`)."""
        if self.is_over():
            return OVER
        mail = self.mails.take()
        try:
            if mail is None:
                return await self.default_action()
            await self.run(*mail)
            return ACTED
        except PortError as error:
            if not self.is_over():
                await self.end(TaskState.FAILED, error.reason)
            return OVER

    async def run(self, mail: Mail, index: int) -> None:
        """E9, E10. A mail of the restore: convert a gate, convert all gates, or end the restore loop (Flink:
        `convertRecoveredInputChannels`, `suspend`)."""
        if mail is CONVERT:
            await self.convert(self.gates[index])
        elif mail is INSTALL:
            for gate in self.gates:
                await self.convert(gate)
            self.installed = True
        elif mail is SUSPEND:
            self.change(RUNNING)
        else:
            await super().run(mail, index)

    async def convert(self, gate: Gate) -> None:
        """E9, E21. Raises: PortError."""
        await gate.convert()
        await gate.request_partitions()
        self.port.emit(GateConverted(gate.index))

    async def default_action(self) -> Turn:
        """E12 to E14. The operators get one element."""
        status = await self.process_input()
        if status is END_OF_INPUT:
            if self.state is INITIALIZING:  # deferred until the restore is over
                return WAITS
            await self.end(TaskState.FINISHED)
            return OVER
        if status is NOTHING_AVAILABLE:
            return ACTED if self.mails.mails else WAITS
        return ACTED

    async def take(self, gate: Gate | Union) -> Element | None:
        """E8, E13. All recovered data of a gate may have been taken then."""
        element = await super().take(gate)
        for one in () if self.state is RUNNING else gate.gates:
            if self.listener.is_consumed(one.index) and not self.recovered[one.index]:
                await self.gate_recovered(one)
        return element

    def readable(self) -> list[Gate | Union]:
        """E12. Before its conversion a gate is read only with `recover-first`."""
        return [
            gate
            for gate in super().readable()
            if self.selected in (ALL_GATES, gate.index)
            and (self.recovery is RECOVER_FIRST or gate.requested)
            and not gate.finished()
        ]

    def select(self, gate: int) -> None:
        """E12. The operator reads only this gate (Flink: `InputSelectable`)."""
        self.selected = gate

    # ---- checkpoints -------------------------------------------------------------------------------------------------
    def can_checkpoint(self) -> bool:
        """E15. Whether the restore has come far enough to take part in a checkpoint."""
        if self.recovery is RECOVER_FIRST or not self.gates:
            return self.state is RUNNING
        if self.recovery is PUSHED:
            return self.installed
        return all(gate.requested for gate in self.gates)

    # ---- the end -----------------------------------------------------------------------------------------------------
    def is_over(self) -> bool:
        """E14, E18, E19. Whether the task has finished, failed, or was cancelled."""
        state = self.state
        return state is FINISHED or state is FAILED or state is CANCELED

    def change(self, state: TaskState, cause: str = "") -> None:
        """E1, E10, E14, E18, E19. The task changes its state, and signals it (Flink: `Task.transitionState`)."""
        self.state = state
        self.port.emit(TaskStateChanged(state, cause))

    async def end(self, state: TaskState, cause: str = "") -> None:
        """E14, E18, E19, E20. The task is over; every thread that waits for it goes on."""
        self.change(state, cause)
        await self.clean_up()

    async def clean_up(self) -> None:
        """E20. No mail is put any more once this has begun."""
        self.mails.close()
        if self.drainer is None:  # the files are not complete
            self.writer.discard()
        else:
            self.drainer.release()
        self.reader.release()
        self.buffers.release()
        await super().release()

    async def cancel(self) -> None:
        """E19. The task is cancelled (Flink: `Task.cancelExecution`, `StreamTask.cancel`)."""
        if not self.is_over():
            await self.end(TaskState.CANCELED)

    async def release(self) -> None:
        """E20. The task is over: everything is given back (Flink: `StreamTask.cleanUp`)."""
        if not self.is_over():
            self.state = TaskState.CANCELED
        await self.clean_up()
        self.storage.clear()

    # ---- observers ---------------------------------------------------------------------------------------------------
    def resources(self) -> list[Resources]:
        """E20. What the gates and the readers of output state hold."""
        return [Resources(segments=self.reading_into), *super().resources()]


class HandingOver(RestoringTask):
    """A task that restores, alone: it has a writer of its own, to which it hands the input state of a checkpoint."""

    def __init__(
        self, port: Port, config: TaskRestoreConfig, numbers: Numbering, design: Design, faults: Faults,
        upstream: Upstream, operators: Operators,
    ) -> None:  # fmt: skip
        """All channels are local."""
        gates = [GateConfig(((ChannelKind.LOCAL,) * size,), in_effect(config)) for size in config.gates]

        def make_checkpoints(inputs: Inputs, reader: ListDrainer) -> TaskCheckpoints:
            """E16. The writer has the input state in memory."""
            self.states = InputStates(inputs.gates, numbers, faults)
            states = TaskStates(self.states.writer, TASK, numbers)
            handled = BarrierHandlerConfig(len(numbers.infos), timeout=0)
            return TaskCheckpoints(port, inputs, reader, states, handled, operators)

        listener = TaskListener(upstream, config.gates, recovery_buffers(config))
        super().__init__(port, config, numbers, design, faults, listener, operators, gates, make_checkpoints)

    async def checkpoint(self, checkpoint: int) -> None:
        """E15, E16, E18. Take part in a checkpoint: the channel state that was restored and not consumed is written
        again (Flink: `triggerCheckpointAsync`)."""
        if self.is_over():
            raise PortError(ErrorKind.CHECKPOINT, "the task is over", CheckpointReason.TASK_CLOSING)
        if not self.can_checkpoint():
            raise PortError(
                ErrorKind.CHECKPOINT, "the restore has not come far enough", CheckpointReason.DECLINED_TASK_NOT_READY
            )
        try:
            snapshot = None if self.drainer is None else await self.drainer.snapshot_and_mark(checkpoint)
            await self.states.hand_over(checkpoint, snapshot, self.is_over)
        except PortError as error:
            if error.kind is ErrorKind.IO and not self.is_over():
                await self.end(TaskState.FAILED, error.reason)
            raise
        while self.states.write():
            pass

    async def clean_up(self) -> None:
        """E20. What is not written is given up, too."""
        self.states.close()
        await super().clean_up()
