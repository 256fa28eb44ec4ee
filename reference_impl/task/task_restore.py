"""The restore of a task. Specification: task-restore.md.

Two threads take part: the task's own thread, which runs the mailbox loop, and the executor of channel state. What the
executor wants of the task, and what the task wants of itself for later, is put into the mailbox.
"""

from __future__ import annotations

from enum import Enum

from conformance.ports import (
    ALL_GATES,
    CHANNEL_STATE_READ,
    OPERATORS_OPEN,
    ChannelKind,
    CheckpointReason,
    Element,
    ElementTaken,
    EndOfPartition,
    ErrorKind,
    GateConfig,
    GateConverted,
    OperatorsOpened,
    OutputStateRestored,
    Piece,
    PortError,
    Recovery,
    Resources,
    SubpartitionConfig,
    TaskRestoreConfig,
    TaskRestorePort,
    TaskState,
    TaskStateChanged,
    Turn,
)
from conformance.scheduling import Mailbox, Pause

from ..design import Design
from ..faults import Faults, Faulty
from ..held import together
from ..network.channel import PhysicalChannel
from ..network.local_channel import LocalChannel
from ..network.subpartition import Subpartition
from ..state.drainer.buffers import RecoveryBuffers
from ..state.drainer.drainer import Drainer
from ..state.drainer.gate import RecoveringGate
from ..state.drainer.hand_over import InputStates
from ..state.drainer.lists import ListDrainer
from ..state.spill.spill import encode
from ..state.spill.storage import Storage
from ..state.spill.store import FetchedState, Limits, SpillWriter

_OVER = (TaskState.FINISHED, TaskState.FAILED, TaskState.CANCELED)


def in_effect(config: TaskRestoreConfig) -> Recovery:
    """E1. The design in which a task recovers with these settings."""
    enabled = config.unaligned and config.output_on_downstream and config.during_recovery
    return config.recovery if enabled else Recovery.RECOVER_FIRST


class Mail(Enum):
    """What is to be done on the thread of the task."""

    CONVERT = "convert a gate"
    INSTALL = "convert all gates, and let the executor hand on what it has fetched"
    SUSPEND = "end the restore loop"


class RestoreGate(RecoveringGate):
    """A gate of the task. Its producers are in the same process."""

    def __init__(self, config: GateConfig, design: Design, task: TaskRestore, index: int, first: int) -> None:
        self.task = task
        self.first = first
        """First: the number of its first channel."""
        recovered = task.config.input_state[first : first + len(config.channels)]
        super().__init__(config, design, index, task.faults, map(len, recovered), task.buffers)

    def physical_channel(self, number: int, handed_over: tuple[int, ...], last_stopped: int) -> PhysicalChannel:
        """E9. The channel reads the subpartition of its producer."""
        channel = super().physical_channel(number, handed_over, last_stopped)
        assert isinstance(channel, LocalChannel)
        channel.subpartition = self.task.subpartitions[self.first + number]
        self.task.local[self.first + number] = channel
        return channel


class TaskRestore(Faulty, TaskRestorePort):
    """The gates, the files, and whoever hands on what was fetched have states of their own."""

    def __init__(self, config: TaskRestoreConfig, design: Design) -> None:
        self.config = config
        self.faults = Faults(self)
        self.recovery = in_effect(config)
        """Recovery: the design in which the task recovers."""
        self.state: TaskState | None = None
        """State: none before the restore begins."""
        self.mails: Mailbox[tuple[Mail, int]] = Mailbox("mailbox")
        self.outside = Pause("between two mails of the recovery")
        self.subpartitions = [Subpartition(SubpartitionConfig(2), design) for _ in config.input_state]
        """Subpartition: by channel, the one of its producer."""
        self.local: list[LocalChannel | None] = [None] * len(self.subpartitions)
        """Local: by channel, the physical channel once there is one."""
        enough = sum(map(len, config.input_state))
        self.buffers = RecoveryBuffers(enough if self.recovery is Recovery.IN_MEMORY else config.buffers)
        """Buffers: those for recovered data."""
        self.reading_into = 0
        """Reading into: how many buffers are being filled with output state."""
        self.gates: list[RestoreGate] = []
        first = 0
        for index, size in enumerate(config.gates):
            kinds = (ChannelKind.LOCAL,) * size
            gate = RestoreGate(GateConfig(kinds, self.recovery), design, self, index, first)
            self.gates.append(gate)
            first += size
        self.reader = ListDrainer(self.gates, self.recovery, config.input_state)
        """Hands what is read to the gates at once. Not with `pushed`."""
        self.to_end = list(range(len(self.gates)))
        """To end: the gates to which the end of recovered state was not handed. Not with `pushed`."""
        self.to_fetch = [
            Piece(gate.index, channel - gate.first, (record,))
            for gate in self.gates
            for channel in range(gate.first, gate.first + len(gate.channels))
            for record in config.input_state[channel]
        ]
        """To fetch: what is to be fetched. With `pushed` only."""
        self.storage = Storage(False, self.faults)
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
        self.turn_of = 0
        """Turn of: the gate that the default action asks first."""
        self.states = InputStates(self.gates, self.faults)
        """Stored: by checkpoint, the input state."""

    # ---- the beginning ---------------------------------------------------------------------------------------------
    async def restore(self) -> None:
        """E1 to E4."""
        self.change(TaskState.INITIALIZING)
        if self.recovery is Recovery.PUSHED and not self.config.spill_directories:
            await self.end(TaskState.FAILED, "there is no directory to spill into")
            raise PortError(ErrorKind.ARGUMENT, "fetched state is to be spilled, and there is no directory")
        try:
            self.restore_output()
            self.faults.reach(OPERATORS_OPEN)
            self.emit(OperatorsOpened())
        except PortError as error:
            await self.end(TaskState.FAILED, error.reason)
            return
        if not self.gates:
            self.mails.put((Mail.SUSPEND, 0))

    def restore_output(self) -> None:
        """E3, E18. The buffer into which it is read is given back, also if that fails. Raises: PortError IO."""
        self.reading_into = 1
        try:
            self.faults.reach(CHANNEL_STATE_READ)
        finally:
            self.reading_into = 0
        self.emit(OutputStateRestored(self.config.output_state))

    # ---- executor of channel state ---------------------------------------------------------------------------------
    async def read(self) -> bool:
        """E5, E18. What fails here fails the task."""
        if self.state is not TaskState.INITIALIZING and self.state is not TaskState.RUNNING:
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
        if self.recovery is Recovery.PUSHED:
            return self.fetch_next()
        for channel, left in enumerate(self.reader.left):
            if left:
                await self.buffers.request()
                self.faults.reach(CHANNEL_STATE_READ)
                await self.reader.recover(channel)
                return True
        if self.to_end:
            gate = self.gates[self.to_end.pop(0)]
            for number in range(len(gate.channels)):
                await gate.finish_recovery(number)
            if self.recovery is Recovery.IN_MEMORY:
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
            self.mails.put((Mail.INSTALL, 0))
        return True

    def fetch(self, piece: Piece) -> None:
        """E6. Raises: PortError IO."""
        self.writer.append(piece.gate, piece.channel, encode(piece.records))

    async def gate_recovered(self, gate: RestoreGate) -> None:
        """E8, E10. The gate is converted by a mail; the restore loop ends when all gates have come that far."""
        self.recovered[gate.index] = True
        if self.recovery is not Recovery.PUSHED:
            self.mails.put((Mail.CONVERT, gate.index))
        await self.outside
        if all(self.recovered):
            self.mails.put((Mail.SUSPEND, 0))

    # ---- task thread -----------------------------------------------------------------------------------------------
    async def turn(self) -> Turn:
        """E11, E18."""
        if self.is_over():
            return Turn.OVER
        mail = self.mails.take()
        try:
            if mail is None:
                return await self.default_action()
            await self.run(*mail)
            return Turn.ACTED
        except PortError as error:
            if not self.is_over():
                await self.end(TaskState.FAILED, error.reason)
            return Turn.OVER

    async def run(self, mail: Mail, index: int) -> None:
        """E9, E10."""
        if mail is Mail.CONVERT:
            await self.convert(self.gates[index])
        elif mail is Mail.INSTALL:
            for gate in self.gates:
                await self.convert(gate)
            self.installed = True
        else:
            self.change(TaskState.RUNNING)

    async def convert(self, gate: RestoreGate) -> None:
        """E9. Raises: PortError."""
        await gate.convert()
        await gate.request_partitions()
        self.emit(GateConverted(gate.index))

    async def default_action(self) -> Turn:
        """E12 to E14. The operators get one element."""
        if all(gate.finished() for gate in self.gates):
            if self.state is TaskState.INITIALIZING:  # deferred until the restore is over
                return Turn.WAITS
            await self.end(TaskState.FINISHED)
            return Turn.OVER
        for gate in self.readable():
            taken = await gate.poll()
            if taken is not None:
                self.turn_of = (gate.index + 1) % len(self.gates)
                self.emit(ElementTaken(gate.first + taken.channel, taken.element))
            if gate.is_consumed() and not self.recovered[gate.index]:
                await self.gate_recovered(gate)
            if taken is not None:
                return Turn.ACTED
        return Turn.ACTED if self.mails.mails else Turn.WAITS

    def readable(self) -> list[RestoreGate]:
        """E12. The gates that the operators read, in their turn. Before its conversion, only with `recover-first`."""
        inorder = [*self.gates[self.turn_of :], *self.gates[: self.turn_of]]
        return [
            gate
            for gate in inorder
            if self.selected in (ALL_GATES, gate.index)
            and (self.recovery is Recovery.RECOVER_FIRST or gate.requested)
            and not gate.finished()
        ]

    def select(self, gate: int) -> None:
        """E12."""
        self.selected = gate

    # ---- checkpoints -----------------------------------------------------------------------------------------------
    async def checkpoint(self, checkpoint: int) -> None:
        """E15, E16."""
        if not self.can_checkpoint():
            raise PortError(
                ErrorKind.CHECKPOINT, "the restore has not come far enough", CheckpointReason.DECLINED_TASK_NOT_READY
            )
        snapshot = None if self.drainer is None else await self.drainer.snapshot_and_mark(checkpoint)
        await self.states.hand_over(checkpoint, snapshot, self.is_over)
        while self.states.write():
            pass

    def can_checkpoint(self) -> bool:
        """E15."""
        if self.recovery is Recovery.RECOVER_FIRST or not self.gates:
            return self.state is TaskState.RUNNING
        if self.recovery is Recovery.PUSHED:
            return self.installed
        return all(gate.requested for gate in self.gates)

    # ---- producers -------------------------------------------------------------------------------------------------
    async def arrive(self, channel: int, element: Element) -> None:
        """E17."""
        consumer = self.local[channel]
        if self.is_over():
            return
        if consumer is not None:
            await consumer.add(element)
        elif type(element) is EndOfPartition:
            self.subpartitions[channel].finish()
        else:
            self.subpartitions[channel].add(element)

    # ---- the end ---------------------------------------------------------------------------------------------------
    def is_over(self) -> bool:
        """E14, E18, E19."""
        return self.state in _OVER

    def change(self, state: TaskState, cause: str = "") -> None:
        """E1, E10, E14, E18, E19."""
        self.state = state
        self.emit(TaskStateChanged(state, cause))

    async def end(self, state: TaskState, cause: str = "") -> None:
        """E14, E18, E19, E20. The task is over; whoever waits for it goes on."""
        self.change(state, cause)
        await self.clean_up()

    async def clean_up(self) -> None:
        """E20."""
        self.mails.close()
        if self.drainer is None:  # the files are not complete
            self.writer.discard()
        else:
            self.drainer.release()
        self.reader.release()
        self.buffers.release()
        self.states.close()
        for gate in self.gates:
            await gate.release()
        for subpartition in self.subpartitions:
            subpartition.release()

    async def cancel(self) -> None:
        """E19."""
        if not self.is_over():
            await self.end(TaskState.CANCELED)

    async def release(self) -> None:
        """E20."""
        if not self.is_over():
            self.state = TaskState.CANCELED
        await self.clean_up()

    # ---- observers -------------------------------------------------------------------------------------------------
    def persisted(self, checkpoint: int) -> tuple[tuple[int, ...], ...]:
        """E16."""
        return self.states.stored(checkpoint) or tuple(() for _ in self.subpartitions)

    def resources(self) -> Resources:
        """E20. What the gates hold, the subpartitions that no local channel counts as its own, and whoever reads output
        state."""
        held = [Resources(segments=self.reading_into), *(gate.resources() for gate in self.gates)]
        for subpartition, consumer in zip(self.subpartitions, self.local, strict=True):
            if consumer is None:
                held.append(subpartition.resources())
        return together(held, self.storage, 0 if self.fetched is None else self.fetched.grants)
