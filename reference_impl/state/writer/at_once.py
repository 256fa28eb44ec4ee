"""A writer that meets no other thread: its operations run to their end at once. Specification: writer.md, chain.md."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, TypeVar

from .executor import Executor
from .requests import Asked
from .writer import ChannelStateWriter

T = TypeVar("T")


def at_once(operation: Coroutine[Any, Any, T]) -> T:
    """W9, W11. Run an operation of the writer to its end. It meets no other one, so that its locks are free."""
    try:
        while True:
            operation.send(None)
    except StopIteration as end:
        value: T = end.value
        return value


class ExecutorAtOnce(Executor):
    """There is no thread for it: a request is executed in the operation that makes it."""

    async def submit(self, request: Asked, first: bool = False) -> None:
        """W9, W11, chain.md C25. The queue is always empty."""
        self.perform(request)


class WriterAtOnce(ChannelStateWriter):
    """Most of its subtasks never need it, so a subtask registers with its first checkpoint."""

    def make_executor(self, number: int) -> Executor:
        """W1, chain.md C25. An executor that executes each request when it is queued."""
        return ExecutorAtOnce(self.storage, number)

    async def start(self, subtask: int, checkpoint: int) -> None:
        """W1, W3, chain.md C25. Register the subtask if it is new, and start the checkpoint."""
        if subtask not in self.executor_of:
            await self.register(subtask)
        await super().start(subtask, checkpoint)
