"""A task that restores, and the channel state that it is given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from conformance.driver.turns import whole
from conformance.ports import EdgeKind, FilterConfig, FilteredGate, Recovery, RescaleMapping, Resources, Taken, Virtual
from conformance.ports.framing import Record, Recovered, Unreadable, size_of
from conformance.ports.key_groups import hash_of_number, key_group, owner
from conformance.scheduling import PAUSED, Kernel
from reference_impl.state.filter.channel_state import Source
from reference_impl.state.filter.filter import Filter

PAGE = 1 << 12
ONE_TO_TWO = RescaleMapping((0,), ((0,),), (0,))
"""One old subtask, split among two new ones, behind one producer."""


def records(*keys: int, size: int = 40, first: int = 0) -> tuple[Record, ...]:
    """Records with these keys, numbered from `first` on."""
    return tuple(Record(first + number, key, size) for number, key in enumerate(keys))


def kept(elements: Sequence[Recovered], subtask: int = 0, parallelism: int = 2) -> list[Record]:
    """The records whose key group the subtask owns."""
    return [
        one
        for one in elements
        if isinstance(one, Record) and owner(key_group(hash_of_number(one.key), 128), 128, parallelism) == subtask
    ]


class Task:
    """A task that restores, whose operations run whole, and which takes whenever something has to wait for it."""

    def __init__(
        self,
        *state: Virtual,
        recovery: Recovery = Recovery.IN_MEMORY,
        mapping: RescaleMapping = ONE_TO_TWO,
        **options: Any,
    ) -> None:
        gates = options.pop("gates", (FilteredGate(options.pop("kind", EdgeKind.HASH), mapping),))
        sources: Sequence[Source] | None = options.pop("sources", None)
        make = options.pop("make", lambda config: Filter(config, sources))
        subtask = options.pop("subtask", 0)
        self.config = FilterConfig(recovery, gates, state, options.pop("parallelism", 2), subtask, **options)
        self.port = make(self.config)
        self.kernel = Kernel(("fetch", "task", "drain"), fine=False)
        self.found: dict[tuple[int, int], list[Recovered | Unreadable]] = {
            (gate, channel): [] for gate, one in enumerate(gates) for channel in range(len(one.mapping.channels))
        }
        """By channel, the elements that the task has taken."""
        self.ended: list[tuple[int, int]] = []
        self.port.begin()

    def read(self, virtual: int, length: int) -> None:
        self.consume("fetch", self.port.read(virtual, length))

    def consume(self, thread: str, operation: Any) -> Any:
        """An operation, while the task takes all that there is."""
        found = self.kernel.start(self.kernel.threads[thread], (thread,), operation)
        while found is PAUSED:
            self.take_all()
            assert self.kernel.threads[thread].runnable, "everything was taken, and the operation still waits"
            found = self.kernel.finish(self.kernel.threads[thread])
        return found

    def read_all(self, cut: int = PAGE) -> None:
        """First all input state, then all output state; virtual channels alternate."""
        for stage in (0, 1):
            left = {
                number: one.input_bytes
                if stage == 0
                else sum(map(size_of, one.elements)) - one.input_bytes - one.missing
                for number, one in enumerate(self.config.state)
            }
            while any(left.values()):
                for number, rest in left.items():
                    self.read(number, min(cut, rest))
                    left[number] -= min(cut, rest)

    def run(self, cut: int = PAGE) -> list[list[Recovered | Unreadable]]:
        """The whole recovery. Returns what every channel got."""
        self.read_all(cut)
        return self.finish()

    def finish(self) -> list[list[Recovered | Unreadable]]:
        """What is left of the recovery after everything was read. Returns what every channel got."""
        whole(self.port.end())
        if self.config.recovery is Recovery.PUSHED:
            while self.consume("drain", self.port.drain()):
                pass
        self.take_all()
        assert self.ended == list(self.found)
        return list(self.found.values())

    def take(self, gate: int = 0, channel: int = 0) -> Taken | None:
        taken: Taken | None = whole(self.port.take(gate, channel))
        return taken

    def take_all(self) -> None:
        """Take everything, and give it back."""
        for gate, channel in self.found:
            while (one := self.take(gate, channel)) is not None:
                self.found[gate, channel] += one.elements
                if one.buffer is not None:
                    self.port.recycle(one.buffer)
                if one.last:
                    self.ended.append((gate, channel))

    def released(self) -> Resources:
        self.port.release()
        left: Resources = self.port.resources()
        return left


def virtual(*elements: Recovered, subtask: int = 0, channel: int = 0, gate: int = 0, **options: Any) -> Virtual:
    """A virtual channel: all of it is input state, unless `input_bytes` says otherwise."""
    total = sum(map(size_of, elements))
    return Virtual(gate, subtask, channel, elements, options.pop("input_bytes", total), **options)
