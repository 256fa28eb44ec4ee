"""What is handed to the channel state writer for a checkpoint during recovery. Specification: drainer.md."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from conformance.ports import (
    SPILL_FILE_READ_ON,
    Alignment,
    Barrier,
    ChannelStateFailed,
    CheckpointReason,
    ErrorKind,
    PortError,
    WriterConfig,
)

from ...faults import Faults
from ...network.channel_info import ChannelInfo, Numbering
from ...network.gate import Gate
from ..spill.spill import RECORD_BYTES, decode
from ..spill.store import SnapshotReader
from ..writer.at_once import at_once
from ..writer.writer import ChannelStateWriter

TASK = 0
"""The task as a subtask of its channel state writer."""


class Slice:
    """What was not pushed when a checkpoint started, as the channel state writer reads it."""

    __slots__ = ("faults", "has_read", "numbers", "reader")

    def __init__(self, reader: SnapshotReader, numbers: Numbering, faults: Faults) -> None:
        """N8. What was not pushed when a checkpoint started, for the writer to read (Flink:
        `FetchedChannelStateReader`)."""
        self.reader = reader
        self.numbers = numbers
        self.faults = faults
        self.has_read = False

    def next(self) -> tuple[int, tuple[int, ...]] | None:
        """N9. The next piece, with its channel through all gates. Raises: PortError IO, RELEASED."""
        if self.has_read:
            self.faults.reach(SPILL_FILE_READ_ON)
        part = self.reader.next(RECORD_BYTES)
        if part is None:
            return None
        self.has_read = True
        piece = decode(part)
        return self.numbers.number(ChannelInfo(piece.gate, piece.channel)), piece.records

    def close(self) -> None:
        """N9 to N11. The snapshot is closed, and its grant given back."""
        self.reader.close()


class InputStates:
    """The channel state writer of the task, with the input states of its checkpoints in memory.

    Its threads do not meet here: they are those of the component writer.
    """

    def __init__(self, gates: Sequence[Gate], numbers: Numbering, faults: Faults) -> None:
        """N8. The writer of the task's input state, and the gates of which it is."""
        self.gates = gates
        self.faults = faults
        self.numbers = numbers
        self.writer = ChannelStateWriter(WriterConfig(subtasks=1, sharing=1, max_results=1), faults)
        at_once(self.writer.register(TASK))

    async def hand_over(self, checkpoint: int, snapshot: SnapshotReader | None, is_over: Callable[[], bool]) -> None:
        """N8. `snapshot`: none if everything was pushed.

        Raises: PortError RELEASED if the task is over; the snapshot is closed then.
        """
        try:
            queued: list[tuple[int, ...]] = []
            for gate in self.gates:
                await gate.checkpoint_started(Barrier(checkpoint, Alignment.UNALIGNED))
                queued += gate.persisted(checkpoint)
                await gate.checkpoint_stopped(checkpoint)
            if is_over():
                raise PortError(ErrorKind.RELEASED, "the task is over")
        except BaseException:  # the snapshot belongs to this thread until it is handed over
            if snapshot is not None:
                snapshot.close()
            raise
        self.request(checkpoint, queued, snapshot)

    def request(self, checkpoint: int, queued: Sequence[tuple[int, ...]], snapshot: SnapshotReader | None) -> None:
        """N8. Queue the requests: what waits in the channels, then what is not pushed."""
        writer = self.writer
        at_once(writer.start(TASK, checkpoint))
        for channel, ids in enumerate(queued):
            if ids:
                at_once(writer.add_input(TASK, checkpoint, channel, ids))
        if snapshot is not None:
            at_once(writer.add_snapshot(TASK, checkpoint, Slice(snapshot, self.numbers, self.faults)))
        at_once(writer.finish_input(TASK, checkpoint))
        at_once(writer.finish_output(TASK, checkpoint))
        writer.take_result(TASK, checkpoint)

    def write(self) -> bool:
        """N9, N10. Execute the next request; False if there is none.

        Raises: PortError IO if its checkpoint has failed with that.
        """
        if TASK not in self.writer.executor_of or at_once(self.writer.execute(TASK)) is None:
            return False
        told, self.writer.signals = self.writer.signals, []
        if any(type(one) is ChannelStateFailed and one.reason is CheckpointReason.IO_EXCEPTION for one in told):
            raise PortError(ErrorKind.IO, "the input state of a checkpoint cannot be written")
        return True

    def abort(self, checkpoint: int) -> None:
        """N11. When the task is over, nothing is left to give up."""
        if TASK in self.writer.executor_of:
            at_once(self.writer.abort(TASK, checkpoint, CheckpointReason.DECLINED))

    def stored(self, checkpoint: int) -> tuple[tuple[int, ...], ...] | None:
        """N9. By channel through all gates; None unless it is complete."""
        written = self.writer.read_back(TASK, checkpoint)
        if written is None:
            return None
        states = {one.channel: one.records for one in written}
        return tuple(states.get(channel, ()) for channel in range(len(self.numbers.infos)))

    def close(self) -> None:
        """N12. What is not written is given up; what is complete stays."""
        at_once(self.writer.close(TASK))
