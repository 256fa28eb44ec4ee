"""The channel state that a task was assigned, as its fetch reads it. Specification: filter.md."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Protocol

from conformance.ports import CHANNEL_STATE_READ, ErrorKind, PortError, Virtual
from conformance.ports.framing import Recovered, encode, size_of

from ...faults import Faults

MOST_REMEMBERED = 4096
"""Of how many bytes an element is at most whose bytes are remembered, so that all together take a few MiB."""
remembered = lru_cache(maxsize=1024)(encode)


def encoded(element: Recovered) -> bytes:
    """X1. Returns the bytes of an element. Those of a small one are remembered: a scenario is read over and over."""
    return remembered(element) if size_of(element) <= MOST_REMEMBERED else encode(element)


class Source(Protocol):
    """The bytes of one virtual channel."""

    def read(self, count: int) -> bytes:
        """X5. Returns at most so many of the next bytes, and none only at the end."""


class EncodedElements:
    """The bytes of elements, which are made when they are read."""

    __slots__ = ("at", "elements", "left", "next", "open")

    def __init__(self, virtual: Virtual) -> None:
        self.elements = virtual.elements
        self.next = 0
        """Next: which element is made next."""
        self.open = b""
        """Open: the element that is being read."""
        self.at = 0
        """At: how many of its bytes were read."""
        self.left = sum(map(size_of, virtual.elements)) - virtual.missing
        """Left: how many bytes can still be read."""

    def read(self, count: int) -> bytes:
        """X1, X5. The next bytes, of as many elements as they are of."""
        parts = []
        count = min(count, self.left)
        self.left -= count
        while count:
            if self.at == len(self.open):
                self.open, self.at = encoded(self.elements[self.next]), 0
                self.next += 1
            part = self.open[self.at : self.at + count]
            parts.append(part)
            self.at += len(part)
            count -= len(part)
        return b"".join(parts)


class ChannelState:
    """Reads the next bytes of any virtual channel (Flink: `ChannelStateChunkReader`)."""

    __slots__ = ("faults", "sources")

    def __init__(self, sources: Sequence[Source], faults: Faults) -> None:
        """`sources`: by number of a virtual channel."""
        self.sources = sources
        self.faults = faults

    def read(self, virtual: int, length: int) -> bytes:
        """X5, X26. Returns so many bytes. Raises: PortError IO, also if there are not so many."""
        found = b""
        while len(found) < length:
            self.faults.reach(CHANNEL_STATE_READ)
            count = length - len(found)
            if self.faults.is_short(CHANNEL_STATE_READ):
                count = (count + 1) // 2
            part = self.sources[virtual].read(count)
            if not part:
                raise PortError(ErrorKind.IO, f"the state of virtual channel {virtual} ends too early")
            found += part
        return found
