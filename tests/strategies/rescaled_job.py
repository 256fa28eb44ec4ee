"""A job that fails again and again before it has processed anything, and is restored with another parallelism.

Its records are in flight between two vertices. After each restore, what the subtasks have recovered is compared with
what was in flight before, and is in flight again. The texts of the records are Faker's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any, TypeAlias

from conformance.ports import (
    Assigned,
    AssignmentConfig,
    Edge,
    EdgeKind,
    FilteredGate,
    Implementation,
    Recovery,
    RescaleMapping,
    Vertex,
    Virtual,
)
from conformance.ports.framing import Record, Recovered, smallest
from conformance.ports.key_groups import LEAST_DEFAULT, hash_of_number, key_group, owner
from strategies import RescalePlan
from tests.filtering.task import PAGE, Task

Channel: TypeAlias = tuple[int, int, int]
"""A gate, a subtask, and one of its channels: the subtask of the producer."""
InFlight: TypeAlias = dict[Channel, tuple[Record, ...]]
Wanted: TypeAlias = Callable[[Record, int, Channel], int | None]
"""Returns the subtask to which a record belongs that was the n-th in a channel; None: to any."""
PRODUCER, CONSUMER = 0, 1
"""The vertices. Each gate of the consumer belongs to an edge between the two."""


def owning(key: int, max_parallelism: int, parallelism: int) -> int:
    """The subtask that owns a key."""
    return owner(key_group(hash_of_number(key), max_parallelism), max_parallelism, parallelism)


@dataclass
class Job:
    """The job on one implementation. `parallelism`: that of the producer and that of the consumer."""

    on: Implementation
    kinds: tuple[EdgeKind, ...]
    parallelism: tuple[int, int]
    recovery: Recovery
    random: Random
    max_parallelism: int = LEAST_DEFAULT
    flying: InFlight = field(default_factory=dict)

    def __post_init__(self) -> None:
        vertices = tuple(
            Vertex(*one, self.max_parallelism) for one in zip(("producer", "consumer"), self.parallelism, strict=True)
        )
        edges = tuple(Edge(PRODUCER, CONSUMER, kind) for kind in self.kinds)
        self.assignment: Any = self.on.components()["assignment"](AssignmentConfig(vertices, edges))

    def send(self, count: int, keys: int) -> None:
        """So many records are in flight. Most are small; one in a hundred takes more than a page."""
        random, (producers, consumers) = self.random, self.parallelism
        found: dict[Channel, list[Record]] = {}
        for number in range(count):
            gate, key = random.randrange(len(self.kinds)), random.randrange(keys)
            size = smallest() + (random.randrange(2 * PAGE) if random.random() < 0.01 else random.randrange(120))
            subtask = random.randrange(consumers)
            if self.kinds[gate] is EdgeKind.HASH:
                subtask = owning(key, self.max_parallelism, consumers)
            elif self.kinds[gate] is EdgeKind.GLOBAL:
                subtask = 0
            found.setdefault((gate, subtask, random.randrange(producers)), []).append(Record(number, key, size))
        self.flying = {channel: tuple(records) for channel, records in found.items()}

    def restore(self, *parallelism: int) -> None:
        """The job fails, and is restored with another parallelism of the producer and of the consumer. Chunks are cut
        anywhere, virtual channels alternate, and a part of the state is output state.

        Raises: AssertionError if a record is lost, doubled, in another order, damaged, or where it does not belong.
        """
        before, old = self.flying, self.parallelism
        share = self.random.choice((0.0, 0.5, 1.0))
        stored = {channel: self._stored(channel, share) for channel in before}
        after: InFlight = {}
        for one in self._assigned(stored, parallelism):
            gates, state = self._given(one, stored)
            task = Task(
                *state, recovery=self.recovery, gates=gates, parallelism=parallelism[CONSUMER], subtask=one.subtask,
                max_parallelism=self.max_parallelism, rescaled=old != parallelism,
                make=self.on.components()["filter"],
            )  # fmt: skip
            for virtual, length in _chunks(state, self.random):
                task.read(virtual, length)
            task.finish()
            for (gate, channel), found in task.found.items():
                damaged = [other for other in found if not isinstance(other, Record)]
                assert not damaged, f"damaged: {damaged} in channel {channel} of subtask {one.subtask}"
                after[gate, one.subtask, channel] = tuple(record for record in found if isinstance(record, Record))
            task.port.release()
        for kind, gate in zip(self.kinds, range(len(self.kinds)), strict=True):
            compare(
                {channel: records for channel, records in before.items() if channel[0] == gate},
                {channel: records for channel, records in after.items() if channel[0] == gate},
                self._wanted(kind, parallelism),
            )
        self.parallelism = parallelism[PRODUCER], parallelism[CONSUMER]
        self.flying = {channel: records for channel, records in after.items() if records}

    def _wanted(self, kind: EdgeKind, parallelism: tuple[int, ...]) -> Wanted:
        """Which subtask a record belongs to, after the job was restored so."""
        new = parallelism[CONSUMER]
        if self.parallelism == parallelism:
            return lambda record, nth, before: before[1]
        if kind is EdgeKind.HASH:
            return lambda record, nth, before: owning(record.key, self.max_parallelism, new)
        if kind is EdgeKind.CUSTOM:  # it counts what was in flight in one channel
            return lambda record, nth, before: (record.key + nth) % new
        if kind is EdgeKind.GLOBAL:
            return lambda record, nth, before: 0
        return lambda record, nth, before: None

    def _stored(self, channel: Channel, share: float) -> Virtual:
        """The state of a channel. `share`: how probable it is that not all of it is input state."""
        gate, subtask, of_the_producer = channel
        records = self.flying[channel]
        total = sum(one.size for one in records)
        cut = self.random.choice((0, self.random.randint(0, total))) if self.random.random() < share else total
        return Virtual(gate, subtask, of_the_producer, records, 0 if share == 1 else cut)

    def _assigned(self, stored: dict[Channel, Virtual], parallelism: tuple[int, ...]) -> Iterator[Assigned]:
        """What the new subtasks of the consumer are deployed with."""
        for (gate, subtask, channel), virtual in stored.items():
            if virtual.input_bytes:
                self.assignment.hold_input(CONSUMER, subtask, gate, channel)
            if has_output(virtual):
                self.assignment.hold_output(PRODUCER, channel, gate, subtask)
        for vertex, number in enumerate(parallelism):
            self.assignment.rescale(vertex, number)
        for one in self.assignment.assign():
            assert not one.outputs, f"doubled: subtask {one.subtask} of the producer recovers {one.outputs}, too"
            if one.vertex == CONSUMER:
                yield one

    def _given(
        self, one: Assigned, stored: dict[Channel, Virtual]
    ) -> tuple[tuple[FilteredGate, ...], tuple[Virtual, ...]]:
        """The gates of a new subtask, and its virtual channels: of each, the input state and the output state that it
        was assigned. If nothing is mapped, it recovers what the old subtask with its number had."""
        inputs = {(handle.gate, handle.old_subtask, handle.old_channel) for handle in one.inputs}
        outputs = {(handle.gate, handle.old_subtask, handle.old_channel) for handle in one.from_upstream}
        given = len(one.inputs) + len(one.from_upstream)
        assert given == len(inputs) + len(outputs), f"doubled: subtask {one.subtask} gets the same state twice"
        state = []
        for channel in sorted(inputs | outputs):
            virtual = stored[channel]
            halves = (channel in inputs, bool(virtual.input_bytes)), (channel in outputs, has_output(virtual))
            assert all(half is there for half, there in halves), f"lost: subtask {one.subtask} has a part of {channel}"
            state.append(virtual)
        same = RescaleMapping((one.subtask,), tuple((at,) for at in range(self.parallelism[PRODUCER])), ())
        mappings = one.gates or (same,) * len(self.kinds)
        nothing = RescaleMapping((), (), ())
        gates = [FilteredGate(kind, of or nothing) for kind, of in zip(self.kinds, mappings, strict=True)]
        return tuple(gates), tuple(state)


def has_output(virtual: Virtual) -> bool:
    """Whether its last bytes are output state."""
    return virtual.input_bytes < sum(map(size, virtual.elements))


def _chunks(state: tuple[Virtual, ...], random: Random) -> Iterator[tuple[int, int]]:
    """Chunks of all input state, and then of all output state, of virtual channels that alternate."""
    for stage in ("input", "output"):
        left = {
            number: one.input_bytes if stage == "input" else sum(map(size, one.elements)) - one.input_bytes
            for number, one in enumerate(state)
        }
        waiting = [number for number, rest in left.items() if rest]
        while waiting:
            at = random.randrange(len(waiting))
            number = waiting[at]
            length = min(left[number], random.choice((random.randint(1, 64), random.randint(1, PAGE), PAGE)))
            yield number, length
            left[number] -= length
            if not left[number]:
                waiting[at] = waiting[-1]
                waiting.pop()


def size(one: Recovered) -> int:
    assert isinstance(one, Record)
    return one.size


def compare(before: InFlight, after: InFlight, wanted: Wanted) -> None:
    """Compare what is in flight after a restore with what was. Nobody is asked how it was assigned or filtered.

    Raises: AssertionError that names the first record that is wrong.
    """
    was = {one.id: (one, nth, channel) for channel, records in before.items() for nth, one in enumerate(records)}
    places: dict[int, Channel] = {}
    last: dict[tuple[Channel, Channel], tuple[int, int]] = {}
    for channel, records in after.items():
        for one in records:
            assert one.id not in places, f"doubled: {one} is in {places[one.id]} and in {channel}"
            assert one.id in was, f"misplaced: {one} is in {channel}, and was not in flight to this gate"
            places[one.id] = channel
            stored, nth, old = was[one.id]
            assert one == stored, f"changed: {one} was {stored}"
            mine = wanted(one, nth, old)
            assert mine in (None, channel[1]), f"misplaced: {one} belongs to subtask {mine}, and is in {channel}"
            at, earlier = last.get((old, channel), (-1, -1))
            assert nth > at, f"reordered: {one} is behind record {earlier}"
            last[old, channel] = nth, one.id
    lost = was.keys() - places.keys()
    assert not lost, f"lost: {was[min(lost)][0]} and {len(lost) - 1} more"


def run(
    on: Implementation, plans: tuple[RescalePlan, RescalePlan], count: int, keys: int, seed: int, recovery: Recovery,
    kinds: tuple[EdgeKind, ...] = (EdgeKind.HASH,), max_parallelism: int = LEAST_DEFAULT,
) -> InFlight:  # fmt: skip
    """Restore a job with these records in flight along the plans of its producer and its consumer; the longer one ends
    earlier. Returns what is in flight in the end.

    Raises: AssertionError as `Job.restore`.
    """
    steps = list(zip(plans[PRODUCER].parallelisms, plans[CONSUMER].parallelisms, strict=False))
    job = Job(on, kinds, steps[0], recovery, Random(seed), max_parallelism)
    job.send(count, keys)
    for parallelism in steps[1:]:
        job.restore(*parallelism)
    job.assignment.release()
    return job.flying
