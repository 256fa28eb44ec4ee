"""The recovery of a task whose state was fetched. Specification: drainer.md."""

from __future__ import annotations

from conformance.ports import (
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
)

from ...design import Design
from ...faults import Faults, Faulty
from ...held import together
from ...network.channel_info import ChannelInfo, numbering
from ...network.gate import Gate
from ..spill.spill import RECORD_BYTES, encode
from ..spill.storage import Storage
from ..spill.store import Limits, SpillWriter
from .buffers import RecoveryBuffers
from .drainer import Drainer
from .hand_over import InputStates
from .recovered_inputs import RecoveredInputs


class Recovering(Faulty, DrainerPort):
    """Gates, drainer and hand-overs have states of their own."""

    def __init__(self, config: DrainerConfig, design: Design) -> None:
        """N1. Fetch the channel state into spill files, and make the gates with recovered channels."""
        self.faults = Faults(self)
        self.storage = Storage(False, self.faults)
        segment = config.segment_records * RECORD_BYTES
        writer = SpillWriter(self.storage, Limits(segment, 4 * segment))
        for piece in config.fetched:
            writer.append(piece.gate, piece.channel, encode(piece.records))
        self.fetched = writer.finish()
        self.buffers = RecoveryBuffers(config.buffers)
        self.inputs = RecoveredInputs(config.gates, self.buffers)
        self.gates = [
            Gate(GateConfig(((ChannelKind.LOCAL,) * size,), Recovery.PUSHED), design, self.inputs, index, self.faults)
            for index, size in enumerate(config.gates)
        ]
        reader = None if self.fetched is None else self.fetched.reader()
        self.drainer = Drainer(self.gates, reader, self.buffers)
        self.ready = RecoveryTrigger.NOT_READY
        """Trigger: what a checkpoint finds."""
        self.over = False
        """Over: whether the task was cancelled, has failed, or was released."""
        self.states = InputStates(self.gates, numbering(config.gates), self.faults)
        """Handed over: what is to be written, and what is written."""

    # ---- task thread -------------------------------------------------------------------------------------------------
    async def install(self) -> None:
        """N2. The drainer is installed by the mail that converts the gates."""
        for gate in self.gates:
            await gate.convert()
            await gate.request_partitions()
        self.ready = RecoveryTrigger.DRAINING

    async def take(self, gate: int) -> Drained | None:
        """N6. The task takes an element; when all recovered data was consumed, the recovery has come to its end."""
        taken = await self.gates[gate].poll()
        if taken is not None:
            self.inputs.was_taken(ChannelInfo(gate, taken.channel), taken.element)
        if self.ready is RecoveryTrigger.DRAINING and all(map(self.inputs.is_consumed, range(len(self.gates)))):
            self.ready = RecoveryTrigger.NO_OP
        return None if taken is None else Drained(gate, taken.channel, taken.element)

    async def checkpoint(self, checkpoint: int) -> None:
        """N7, N8. A checkpoint starts: the writer gets what was pushed from the channels, and the rest from a snapshot
        of the fetched files."""
        if self.ready is RecoveryTrigger.NOT_READY:
            raise PortError(
                ErrorKind.CHECKPOINT, "the state is still fetched", CheckpointReason.DECLINED_TASK_NOT_READY
            )
        snapshot = None
        if self.ready is RecoveryTrigger.DRAINING:
            snapshot = await self.drainer.snapshot_and_mark(checkpoint)
        await self.states.hand_over(checkpoint, snapshot, self.is_over)

    def abort(self, checkpoint: int) -> None:
        """N11. A checkpoint is aborted in the writer (Flink: `ChannelStateWriter.abort`)."""
        self.states.abort(checkpoint)

    # ---- other threads -----------------------------------------------------------------------------------------------
    async def drain(self) -> Piece | None:
        """N3 to N5, N12. Push the next fetched buffer into its channel (Flink: `FetchedChannelStateDrainer`)."""
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
        """N6. A live record arrives in a channel."""
        await self.gates[gate].arrive(channel, Buffer((record,)))

    def write(self) -> bool:
        """N9, N10. The next request."""
        return self.states.write()

    # ---- the end -----------------------------------------------------------------------------------------------------
    def is_over(self) -> bool:
        """N12. Whether the task has failed or was cancelled."""
        return self.over

    async def cancel(self) -> None:
        """N12. The task is cancelled."""
        await self.release()

    async def release(self) -> None:
        """N12. A thread that waits for the upstream goes on."""
        self.over = True
        self.states.close()
        self.drainer.release()
        self.buffers.release()
        for gate in self.gates:
            await gate.release()

    # ---- observers ---------------------------------------------------------------------------------------------------
    def stored(self, checkpoint: int) -> tuple[tuple[int, ...], ...] | None:
        """N9. By channel, the records that a completed checkpoint holds; None if it is not complete."""
        return self.states.stored(checkpoint)

    def trigger(self) -> RecoveryTrigger:
        """N2, N6. How far the recovery has come."""
        return self.ready

    def resources(self) -> Resources:
        """N12. What gates, files and grants are held."""
        grants = 0 if self.fetched is None else self.fetched.grants
        return together([gate.resources() for gate in self.gates], self.storage, grants)
