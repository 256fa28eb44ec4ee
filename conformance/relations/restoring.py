"""A task that restores, of which only what it recovers is of interest."""

from __future__ import annotations

from types import CoroutineType
from typing import Any, TypeAlias

from conformance.ports import FilterConfig, Recovery, Taken
from conformance.ports.framing import Recovered, Unreadable
from conformance.relations.subject import Subject
from conformance.scheduling import PAUSED, Kernel

Found: TypeAlias = list[Recovered | Unreadable]


class Restoring:
    """One task. Its operations run whole, and it takes whenever one of them has to wait for that."""

    def __init__(self, subject: Subject, config: FilterConfig) -> None:
        self.config = config
        self.subject = subject
        self.port = subject.port(config)
        self.kernel = Kernel(("fetch", "task", "drain"), fine=False)
        self.found: dict[tuple[int, int], Found] = {
            (gate, channel): [] for gate, one in enumerate(config.gates) for channel in range(len(one.mapping.channels))
        }
        """By gate and channel, the elements that the task has taken."""
        self.ended: list[tuple[int, int]] = []
        """The channels whose end it has taken."""
        subject.call(self.port.begin)

    def read(self, virtual: int, length: int) -> None:
        """Reads the next bytes of a virtual channel."""
        self.consume("fetch", self.subject.begin(self.port.read, virtual, length))

    def consume(self, thread: str, operation: Any) -> Any:
        """Returns the result of an operation that has begun. The task takes all there is whenever it has to wait.

        Raises: AssertionError if it waits all the same.
        """
        if type(operation) is not CoroutineType:
            return operation
        found = self.kernel.start(self.kernel.threads[thread], (thread,), operation)
        while found is PAUSED:
            self.take_all()
            if not self.kernel.threads[thread].runnable:
                raise AssertionError(f"everything was taken, and the operation does not end: {self.kernel.waiting()}")
            found = self.kernel.finish(self.kernel.threads[thread])
        return found

    def finish(self) -> list[Found]:
        """Ends the recovery, after everything was read. Returns what was taken out of each channel.

        Raises: AssertionError if a channel does not end.
        """
        self.consume("fetch", self.subject.begin(self.port.end))
        if self.config.recovery is Recovery.PUSHED:
            while self.consume("drain", self.subject.begin(self.port.drain)):
                pass
        self.take_all()
        for place in self.found:
            if place not in self.ended:
                raise AssertionError(f"everything was handed on, and channel {place[1]} of gate {place[0]} has no end")
        return list(self.found.values())

    def take(self, gate: int = 0, channel: int = 0) -> Taken | None:
        """Takes what comes next out of a channel."""
        taken: Taken | None = self.subject.call(self.port.take, gate, channel)
        return taken

    def take_all(self) -> None:
        """Takes everything, and gives it back."""
        for gate, channel in self.found:
            while (one := self.take(gate, channel)) is not None:
                self.found[gate, channel] += one.elements
                if one.buffer is not None:
                    self.subject.call(self.port.recycle, one.buffer)
                if one.last:
                    self.ended.append((gate, channel))
                    break

    def release(self) -> None:
        """Releases it."""
        self.subject.release(self.port)
