"""A task that restores, and the channel state that it is given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from conformance.ports import EdgeKind, FilterConfig, FilteredGate, Recovery, RescaleMapping, Resources, Virtual
from conformance.ports.framing import Record, Recovered, Unreadable, size_of
from conformance.ports.key_groups import hash_of_number, key_group, owner
from conformance.relations import Subject
from conformance.relations.restoring import Restoring
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


class Task(Restoring):
    """A task that restores, with its state in the order in which it is given."""

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
        config = FilterConfig(recovery, gates, state, options.pop("parallelism", 2), subtask, **options)
        super().__init__(Subject(make, frozenset()), config)

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

    def released(self) -> Resources:
        self.port.release()
        left: Resources = self.port.resources()
        return left


def virtual(*elements: Recovered, subtask: int = 0, channel: int = 0, gate: int = 0, **options: Any) -> Virtual:
    """A virtual channel: all of it is input state, unless `input_bytes` says otherwise."""
    total = sum(map(size_of, elements))
    return Virtual(gate, subtask, channel, elements, options.pop("input_bytes", total), **options)
