"""Models of the ledger of a filter: a virtual channel, and a channel of the task with what comes out of it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from functools import cache

from conformance.components.filter.state import selects
from conformance.ports import FilterConfig, Record, Recovered, Recovery, Status, Virtual, Watermark
from conformance.ports.framing import LENGTH, size_of

_TAGGED = LENGTH + 1
_TIMED = _TAGGED + 8


class Layout:
    """What is known of a virtual channel before anything is read."""

    __slots__ = (
        "ambiguous", "before", "channel", "cut", "elements", "ends", "is_known", "kept", "largest", "number", "place",
        "total",
    )  # fmt: skip

    def __init__(self, config: FilterConfig, number: int, virtual: Virtual) -> None:
        gates = config.gates
        mapping = gates[virtual.gate].mapping
        first = sum(len(one.mapping.channels) for one in gates[: virtual.gate])
        targets = [at for at, old in enumerate(mapping.channels) if virtual.old_channel in old]
        self.number = number
        self.channel = first + targets[0] if targets and mapping.old_subtasks else -1
        """The channel of the task, counted through all gates, into which it goes; -1: the gate cannot know it."""
        self.is_known = self.channel >= 0 and virtual.old_subtask in mapping.old_subtasks
        self.ambiguous = config.rescaled and virtual.old_subtask in mapping.ambiguous
        self.elements = virtual.elements
        ends, end = [], 0
        for element in virtual.elements:
            end += size_of(element)
            ends.append(end)
        self.ends = tuple(ends)
        """By element, the byte behind it."""
        self.largest = max(map(size_of, virtual.elements), default=0)
        """How many bytes its largest element has."""
        self.total = end - virtual.missing
        """How many bytes can be read."""
        self.cut = min(virtual.input_bytes, self.total)
        """How many of them are input state."""
        kind = gates[virtual.gate].kind
        place: dict[int, int] = {}
        seen = 0
        for at, element in enumerate(virtual.elements):
            if isinstance(element, Record):
                here = not self.ambiguous or selects(kind, element.key, seen, config.parallelism, config.subtask)
                seen += 1
                if here and ends[at] <= self.total:
                    place[at] = len(place)
        self.place = place
        """By element, for each record that must be kept: the how many-th it is, from 0."""
        self.kept = tuple(place)
        """The elements that are records to be kept."""
        before = [0]
        for at, element in enumerate(virtual.elements):
            before.append(before[-1] + (size_of(element) if at in place else 0))
        self.before = tuple(before)
        """By element, and behind the last one, how many bytes the records before it have that must be kept."""

    def ends_inside(self) -> bool:
        """Returns whether what can be read ends inside an element."""
        return self.total not in (0, *self.ends)

    def complete(self, count: int) -> int:
        """Returns how many elements end within so many bytes."""
        return bisect_right(self.ends, count)

    def begun(self, count: int) -> int:
        """Returns how many of so many bytes are of an element that has not ended."""
        whole = bisect_right(self.ends, count)
        return count - self.ends[whole - 1] if whole else count

    def next_reads(self, read: int, page: int) -> tuple[tuple[int, int], tuple[tuple[int, int], ...]]:
        """Returns the operands of the reads that may come after so many bytes, if some remain in the stage: first
        that of an exploration, then others."""
        most = min(read + page, self.cut if read < self.cut else self.total)
        at = self.complete(read)
        start, end = self.ends[at - 1] if at else 0, self.ends[at]
        size = end - start
        likely = [start + 2, start + 2 * size // 3, end]
        others = [start + LENGTH, start + _TAGGED, start + _TIMED, most]
        first = next((one for one in likely if read < one), most)
        wanted = dict.fromkeys(min(one, most) for one in (*others, *likely) if one > read)
        wanted.pop(min(first, most), None)
        return (self.number, min(first, most) - read), tuple((self.number, one - read) for one in wanted)


@cache
def layouts(config: FilterConfig) -> tuple[Layout, ...]:
    """Returns the layout of each virtual channel."""
    return tuple(Layout(config, number, virtual) for number, virtual in enumerate(config.state))


@cache
def home(config: FilterConfig) -> dict[int, tuple[int, int]]:
    """Returns for each record, by its id, its virtual channel and its place among the elements of that."""
    return {
        element.id: (number, at)
        for number, virtual in enumerate(config.state)
        for at, element in enumerate(virtual.elements)
        if isinstance(element, Record)
    }


next_reads = cache(Layout.next_reads)
"""`next_reads(layout, read, page)`, remembered outside of the layout, which is a part of the ledger's state."""


class VirtualChannel:
    """A virtual channel: how much of it was read, and which of its records the task has taken."""

    __slots__ = ("begun", "chunks", "got", "layout", "past", "read")

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.read = 0
        """How many bytes were read for certain."""
        self.begun = 0
        """The same with those of a read that is in flight, or has failed."""
        self.chunks: list[int] = []
        """The bytes behind which a read ended."""
        self.got: frozenset[int] = frozenset()
        """The elements that are records and were taken."""
        self.past = 0
        """The first element behind the last record that was taken."""

    # ---- queries -----------------------------------------------------------------------------------------------------
    def left(self) -> list[int]:
        """Returns the elements that are records to be kept and were not taken, of all that can be read."""
        return [at for at in self.layout.kept if at not in self.got]

    def kept_between(self, start: int, end: int) -> int:
        """Returns how many bytes the records have that must be kept and end between these bytes."""
        layout = self.layout
        return layout.before[layout.complete(end)] - layout.before[layout.complete(start)]

    def is_cut(self, at: int) -> bool:
        """Returns whether a read ended inside this element."""
        end = self.layout.ends[at]
        start = self.layout.ends[at - 1] if at else 0
        return any(start < one < end for one in self.chunks)

    def may_have_passed(self) -> Sequence[Recovered]:
        """Returns the elements that may have been looked at when the task takes something that is no record: those that
        were read, before the next record to be taken."""
        layout, complete = self.layout, self.layout.complete(self.begun)
        stop = next((at for at in layout.kept if at >= self.past), complete)
        return layout.elements[: min(stop, complete)]

    def watermark(self) -> int | None:
        """Returns the highest watermark that may have been seen."""
        return max((one.time for one in self.may_have_passed() if type(one) is Watermark), default=None)

    def may_be(self, active: bool) -> bool:
        """Returns whether it may be active, or idle, as far as it may have been seen."""
        passed = self.may_have_passed()
        settled = [one.active for one in passed[: self.past] if type(one) is Status]
        later = [one.active for one in passed[self.past :] if type(one) is Status]
        return active in (settled[-1] if settled else True, *later)

    def last_watermark(self) -> int | None:
        """Returns the last watermark of all that can be read."""
        times = [one.time for one in self._all() if type(one) is Watermark]
        return times[-1] if times else None

    def ends_active(self) -> bool:
        """Returns whether it is active at its end."""
        return next((one.active for one in reversed(self._all()) if type(one) is Status), True)

    def _all(self) -> Sequence[Recovered]:
        return self.layout.elements[: self.layout.complete(self.layout.total)]


class TargetChannel:
    """A channel of the task: the virtual channels that go into it, and what has come out of it besides records."""

    __slots__ = (
        "active", "attributes", "channel", "gate", "last", "markers", "open", "passed", "strangers", "virtuals",
        "watermark",
    )  # fmt: skip

    def __init__(self, gate: int, channel: int, virtuals: Sequence[VirtualChannel]) -> None:
        self.gate = gate
        self.channel = channel
        self.virtuals = [one for one in virtuals if one.layout.is_known]
        """All that the gate knows; the scenario has state of each, if only without an element."""
        self.strangers = [one for one in virtuals if not one.layout.is_known]
        """Those of old subtasks that the gate does not know."""
        self.watermark: int | None = None
        """The last watermark that came out."""
        self.active = True
        """The last status that came out."""
        self.markers: frozenset[int] = frozenset()
        """The times of the latency markers that came out."""
        self.attributes = 0
        self.open = 0
        """How many bytes of an element came out that has not ended."""
        self.last = False
        """Whether the task was notified that everything was taken."""
        self.passed = 0
        """How many elements came out, if nothing is rescaled."""

    def is_damaged(self) -> bool:
        """Returns whether one of the virtual channels ends inside an element, or is not known."""
        return bool(self.strangers) or any(one.layout.ends_inside() for one in self.virtuals)

    def minimum(self) -> int | None:
        """Returns the watermark after everything was read; None: a virtual channel has none."""
        found = [one.last_watermark() for one in self.virtuals]
        times = [one for one in found if one is not None]
        return min(times) if times and len(times) == len(found) else None

    def is_active_at_the_end(self) -> bool:
        """Returns whether one of the virtual channels is active at its end."""
        return not self.virtuals or any(one.ends_active() for one in self.virtuals)

    def untaken(self) -> list[int]:
        """Returns the ids of the records that were read and not taken, by virtual channel."""
        return [
            element.id
            for one in self.virtuals
            for at in one.left()
            if isinstance(element := one.layout.elements[at], Record)
        ]


def filters(config: FilterConfig) -> bool:
    """Returns whether records are filtered while they are read."""
    return config.rescaled and config.recovery is not Recovery.RECOVER_FIRST
