"""What the ledger of a writer knows of one subtask: its executor, and how far it is with its newest checkpoint."""

from __future__ import annotations

from conformance.components.writer.executors import Executor


class Subtask:
    """A subtask, as long as the writer lives. It registers and closes any number of times."""

    __slots__ = ("aborted", "executor", "input_finished", "last", "output_finished", "results", "spilled")

    def __init__(self) -> None:
        self.executor: Executor | None = None
        """The executor that it uses; None: it is not registered."""
        self.last = self.aborted = 0
        """The newest checkpoint that it has started, since later attempts start newer ones; the newest that it has
        aborted."""
        self.input_finished = self.output_finished = self.spilled = 0
        """The newest checkpoint of which it has said that its input is complete; that its output is; of which it has
        handed in a snapshot of spill files."""
        self.results: list[int] = []
        """The checkpoints whose result it has neither taken nor aborted."""

    def writes_input(self) -> bool:
        """Returns whether more input of its newest checkpoint can come."""
        return self.last > self.input_finished and self._is_writing()

    def writes_output(self) -> bool:
        """Returns whether more output of its newest checkpoint can come."""
        return self.last > self.output_finished and self._is_writing()

    def _is_writing(self) -> bool:
        return self.last > self.aborted and self.executor is not None

    def its_executor(self) -> Executor:
        """Returns the executor that it uses."""
        assert self.executor is not None
        return self.executor
