"""The channel state writer of the reference without a scheduler, for tests that call it step by step."""

from __future__ import annotations

from inspect import iscoroutine
from typing import Any

from conformance.ports import WriterConfig
from reference_impl.state.writer.writer import ChannelStateWriter


class Writer:
    """The reference without a scheduler: every operation runs to its end."""

    def __init__(self, subtasks: int = 2, sharing: int = 2, most: int = 2, files: bool = False) -> None:
        self.port = ChannelStateWriter(WriterConfig(subtasks, sharing, most, files))

    def __getattr__(self, name: str) -> Any:
        def call(*operands: Any) -> Any:
            answer = getattr(self.port, name)(*operands)
            if not iscoroutine(answer):
                return answer
            while True:
                try:
                    waitable = answer.send(None)
                except StopIteration as end:
                    return end.value
                assert waitable.ready()

        return call

    def signals(self) -> list[Any]:
        """What was signalled since the last call."""
        signals, self.port.signals = self.port.signals, []
        return signals

    def execute_all(self, subtask: int = 0) -> list[Any]:
        """Executes what is queued. Returns what was signalled."""
        while self.execute(subtask) is not None:
            pass
        return self.signals()


def registered(*subtasks: int, **config: Any) -> Writer:
    writer = Writer(**config)
    for subtask in subtasks:
        writer.register(subtask)
    return writer
