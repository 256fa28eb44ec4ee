"""The recovery of a task whose state was fetched. Specification: drainer.md."""

from __future__ import annotations

from conformance.ports import (
    Alignment,
    Barrier,
    Buffer,
    ChannelKind,
    CheckpointReason,
    Drained,
    DrainerConfig,
    DrainerPort,
    ErrorKind,
    GateConfig,
    Piece,
    PortError,
    Recovery,
    RecoveryTrigger,
    Resources,
    Signal,
    StateConsumed,
)

from ..design import Design
from ..faults import Faults, Faulty
from ..gate import Gate
from ..spill.spill import RECORD_BYTES, encode
from ..spill.storage import Storage
from ..spill.store import Limits, SpillWriter
from .drainer import Drainer
from .hand_over import HandOver


class DrainedGate(Gate):
    """A gate into whose channels state is pushed."""

    def __init__(self, config: GateConfig, design: Design, index: int, faults: Faults) -> None:
        self.consumed = 0
        """Consumed: of how many channels the end of recovered data was taken."""
        super().__init__(config, design, index=index, faults=faults)

    def emit(self, signal: Signal) -> None:
        """N6. What the gate tells its reader is of no concern: the task asks it."""
        if type(signal) is StateConsumed:
            self.consumed += 1


class Recovering(Faulty, DrainerPort):
    """Gates, drainer and hand-overs have states of their own."""

    def __init__(self, config: DrainerConfig, design: Design) -> None:
        """N1."""
        self.faults = Faults(self)
        self.storage = Storage(False, self.faults)
        segment = config.segment_records * RECORD_BYTES
        writer = SpillWriter(self.storage, Limits(segment, 4 * segment))
        for piece in config.fetched:
            writer.append(piece.gate, piece.channel, encode(piece.records))
        self.fetched = writer.finish()
        self.gates = [
            DrainedGate(GateConfig((ChannelKind.LOCAL,) * size, Recovery.PUSHED), design, index, self.faults)
            for index, size in enumerate(config.gates)
        ]
        self.first = [sum(config.gates[:index]) for index in range(len(config.gates))]
        """First: by gate, the number of its first channel through all gates."""
        reader = None if self.fetched is None else self.fetched.reader()
        self.drainer = Drainer(self.gates, reader, self.faults)
        self.ready = RecoveryTrigger.NOT_READY
        """Trigger: what a checkpoint finds."""
        self.over = False
        """Over: whether the task was cancelled, has failed, or was released."""
        self.handed_over: dict[int, HandOver] = {}
        """Handed over: by checkpoint, its input state."""

    # ---- task thread -----------------------------------------------------------------------------------------------
    async def install(self) -> None:
        """N2. The drainer is installed by the mail that converts the gates."""
        for gate in self.gates:
            await gate.convert()
            await gate.request_partitions()
        self.ready = RecoveryTrigger.DRAINING

    async def take(self, gate: int) -> Drained | None:
        """N6."""
        reading = self.gates[gate]
        taken = await reading.poll()
        if self.ready is RecoveryTrigger.DRAINING and all(one.consumed == len(one.channels) for one in self.gates):
            self.ready = RecoveryTrigger.NO_OP
        return None if taken is None else Drained(gate, taken.channel, taken.element)

    async def checkpoint(self, checkpoint: int) -> None:
        """N7, N8."""
        if self.ready is RecoveryTrigger.NOT_READY:
            raise PortError(
                ErrorKind.CHECKPOINT, "the state is still fetched", CheckpointReason.DECLINED_TASK_NOT_READY
            )
        snapshot = None
        if self.ready is RecoveryTrigger.DRAINING:
            snapshot = await self.drainer.snapshot_and_mark(checkpoint)
        try:
            queued: list[tuple[int, ...]] = []
            for gate in self.gates:
                await gate.checkpoint_started(Barrier(checkpoint, Alignment.UNALIGNED))
                queued += gate.persisted(checkpoint)
                await gate.checkpoint_stopped(checkpoint)
            if self.over:
                raise PortError(ErrorKind.RELEASED, "the task is over")
        except BaseException:  # the snapshot belongs to this thread until it is handed over
            if snapshot is not None:
                snapshot.close()
            raise
        self.handed_over[checkpoint] = HandOver(queued, self.first, snapshot)

    def abort(self, checkpoint: int) -> None:
        """N11."""
        handed_over = self.handed_over.get(checkpoint)
        if handed_over is not None and not handed_over.is_over:
            handed_over.give_up()

    # ---- other threads ---------------------------------------------------------------------------------------------
    async def drain(self) -> Piece | None:
        """N3 to N5, N12."""
        if self.over:
            return None
        try:
            return await self.drainer.step()
        except PortError:
            if self.over:
                return None
            self.over = True
            raise

    async def arrive(self, gate: int, channel: int, record: int) -> None:
        """N6."""
        await self.gates[gate].arrive(channel, Buffer((record,)))

    def write(self) -> bool:
        """N9, N10. The oldest checkpoint first."""
        for handed_over in self.handed_over.values():
            if not handed_over.is_over:
                handed_over.write()
                return True
        return False

    # ---- the end ---------------------------------------------------------------------------------------------------
    async def cancel(self) -> None:
        """N12."""
        await self.release()

    async def release(self) -> None:
        """N12. Whoever waits for the upstream goes on."""
        self.over = True
        for handed_over in self.handed_over.values():
            if not handed_over.is_over:
                handed_over.give_up()
        self.drainer.release()
        for gate in self.gates:
            await gate.release()

    # ---- observers -------------------------------------------------------------------------------------------------
    def stored(self, checkpoint: int) -> tuple[tuple[int, ...], ...] | None:
        """N9."""
        handed_over = self.handed_over.get(checkpoint)
        if handed_over is None or not handed_over.is_complete:
            return None
        return tuple(map(tuple, handed_over.stored))

    def trigger(self) -> RecoveryTrigger:
        """N2, N6."""
        return self.ready

    def resources(self) -> Resources:
        """N12."""
        held = [gate.resources() for gate in self.gates]
        return Resources(
            segments=sum(one.segments or 0 for one in held),
            heap=0,
            files=len(self.storage.existing),
            listeners=sum(one.listeners or 0 for one in held),
            futures=sum(one.futures or 0 for one in held),
            open_files=self.storage.open,
            grants=0 if self.fetched is None else self.fetched.grants,
        )
