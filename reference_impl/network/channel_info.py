"""How a channel of a task is named. Specification: gate.md."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct


class ChannelInfo(Struct, frozen=True):
    """A channel, wherever several gates meet (Flink: `InputChannelInfo`)."""

    gate: int
    channel: int
    """Its number in the gate."""


class Numbering(Struct, frozen=True):
    """At a port the channels of several gates are numbered through; only there a number stands for a channel."""

    infos: tuple[ChannelInfo, ...]
    """By the number of a channel among all: its gate, and its number there."""
    first: tuple[int, ...]
    """First channel: by gate, the number of its first channel among all."""

    def number(self, info: ChannelInfo) -> int:
        """U5, U9. The number of a channel among all."""
        return self.first[info.gate] + info.channel


def numbering(sizes: Iterable[int]) -> Numbering:
    """U11, U13. Number the channels of gates through. `sizes`: by gate, how many channels it has."""
    infos: list[ChannelInfo] = []
    first: list[int] = []
    for gate, size in enumerate(sizes):
        first.append(len(infos))
        infos += [ChannelInfo(gate, number) for number in range(size)]
    return Numbering(tuple(infos), tuple(first))
