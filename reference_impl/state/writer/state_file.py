"""The file of one checkpoint, to which the subtasks of one executor write. Specification: writer.md."""

from __future__ import annotations

from collections.abc import Sequence

from conformance.ports import CheckpointReason, PortError, RequestKind
from conformance.state_files import (
    HEADER,
    VERSION,
    Handle,
    Place,
    StateList,
    encode_header,
    encode_record,
    encode_segment,
)

from .requests import Asked, Result, recycle
from .storage import Storage, Stream


class Part:
    """What one subtask contributes to the file."""

    __slots__ = ("input_is_final", "offsets", "output_is_final", "result", "sizes")

    def __init__(self, result: Result) -> None:
        self.result = result
        self.input_is_final = self.output_is_final = False
        self.offsets: dict[tuple[bool, int], list[int]] = {}
        """Segments: by channel state, where its segments begin; a channel state is an output or not, and a channel."""
        self.sizes: dict[tuple[bool, int], int] = {}

    def handles(self) -> tuple[Handle, ...]:
        """W19. The handles of the channel states, inputs first."""
        return tuple(
            Handle(
                self.result.subtask, output, channel, tuple(self.offsets[output, channel]), self.sizes[output, channel]
            )
            for output, channel in sorted(self.offsets)
        )


class StateFile:
    """It is open until it is finished or given up."""

    __slots__ = ("awaited", "checkpoint", "is_open", "parts", "reason", "storage", "stream")

    def __init__(self, storage: Storage, checkpoint: int, subtasks: Sequence[int]) -> None:
        """W13. The file awaits these subtasks, and is not made yet."""
        self.storage = storage
        self.checkpoint = checkpoint
        self.awaited = list(subtasks)
        """Awaited: the subtasks that have not started the checkpoint."""
        self.parts: dict[int, Part] = {}
        """Parts: by subtask that has started it."""
        self.is_open = True
        self.reason = CheckpointReason.IO_EXCEPTION
        """Reason: once the file was given up, how the results fail of those who are not the cause."""
        self.stream: Stream | None = None
        """None: the file is not made yet, or is over."""

    def start(self, request: Asked) -> None:
        """W14, W15. A subtask joins the file, which is made for the first one."""
        result = request.result
        assert result is not None
        if not self.is_open:
            result.fail(self.reason)
            return
        self.awaited.remove(request.subtask)
        self.parts[request.subtask] = Part(result)
        if self.stream is None:
            try:
                self.stream = self.storage.create(self.checkpoint)
            except PortError:
                self.give_up(CheckpointReason.IO_EXCEPTION)
            else:
                self.stream.begin(encode_header(self.checkpoint))

    def write(self, request: Asked, output: bool, records: list[int]) -> None:
        """W17, W18. Write buffers, each as a segment; whatever happens, they are recycled."""
        try:
            for record in records if self.is_open else ():
                self.append(request.subtask, (output, request.channel), record)
        except PortError:
            self.give_up(CheckpointReason.IO_EXCEPTION)
        recycle(request.port, records)

    def write_snapshot(self, request: Asked) -> None:
        """W25. Write what is in a snapshot, each piece for its channel; whatever happens, the snapshot is closed."""
        assert request.snapshot is not None
        try:
            while self.is_open and (piece := request.snapshot.next()) is not None:
                channel, records = piece
                for record in records:
                    self.append(request.subtask, (False, channel), record)
        except PortError:
            self.give_up(CheckpointReason.IO_EXCEPTION)
        request.close_snapshot()

    def append(self, subtask: int, state: tuple[bool, int], record: int) -> None:
        """W17. Append a segment. Raises: PortError IO."""
        part, stream = self.parts[subtask], self.stream
        assert stream is not None
        offsets = part.offsets.get(state, ())
        place = Place(self.checkpoint, subtask, *state)
        data = encode_segment(place, len(offsets), encode_record(record))
        offset = stream.write(data)
        part.offsets.setdefault(state, []).append(offset)
        part.sizes[state] = part.sizes.get(state, 0) + len(data)

    def finish_part(self, request: Asked) -> None:
        """W19. The input or the output of a subtask is complete."""
        if not self.is_open:
            return
        part = self.parts[request.subtask]
        if request.kind is RequestKind.FINISH_INPUT:
            part.input_is_final = True
        else:
            part.output_is_final = True
        self.finish_if_complete()

    def leave(self, subtask: int) -> None:
        """W21. A subtask ends. If it has not started the checkpoint, the file does not wait for it."""
        if subtask in self.awaited:
            self.awaited.remove(subtask)
            self.finish_if_complete()

    def finish_if_complete(self) -> None:
        """W19. Once every part is final, the file is closed, and every result is completed."""
        parts = self.parts.values()
        if not self.is_open or self.awaited or not all(part.input_is_final and part.output_is_final for part in parts):
            return
        stream = self.stream
        assert stream is not None
        name = stream.name
        if stream.length == HEADER:
            self.stream, name = None, ""
            stream.discard()
        else:
            try:
                stream.finish()
            except PortError:
                self.give_up(CheckpointReason.IO_EXCEPTION)
                return
        self.is_open, self.stream = False, None
        if name:
            handles = tuple(handle for part in parts for handle in part.handles())
            self.storage.describe(StateList(VERSION, self.checkpoint, name, stream.length, handles))
        for part in parts:
            part.result.complete(name, part.handles())

    def give_up(self, others: CheckpointReason, subtask: int = -1, own: CheckpointReason | None = None) -> None:
        """W13, W16, W17, W20. Every result fails for the reason for others, that of this subtask for its own."""
        if not self.is_open:
            return
        self.is_open, self.reason = False, others
        for number, part in self.parts.items():
            part.result.fail(own if own is not None and number == subtask else others)
        if self.stream is not None:
            self.stream.discard()
            self.stream = None
