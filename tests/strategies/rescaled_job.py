"""A job that fails again and again before it has processed anything, each time restored with another parallelism.

Its records are in flight on one edge. After each restore, what the subtasks have recovered is compared with what was in
flight before, and is in flight again. The texts of the records are Faker's.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import TypeAlias

from conformance.ports import EdgeKind, Implementation, Recovery, Virtual
from conformance.ports.framing import Record, Recovered, smallest
from conformance.ports.key_groups import LEAST_DEFAULT, hash_of_number, key_group, owner
from strategies import RescalePlan, recovered_gate
from tests.filtering.task import PAGE, Task

Channel: TypeAlias = tuple[int, int]
"""A subtask, and one of its channels: the subtask of the producer."""
InFlight: TypeAlias = dict[Channel, tuple[Record, ...]]


def sent(count: int, keys: int, parallelism: int, random: Random) -> InFlight:
    """Records that so many producers have sent by key. Most are small; one in a hundred takes more than a page."""
    found: dict[Channel, list[Record]] = {
        (one, other): [] for one in range(parallelism) for other in range(parallelism)
    }
    for number in range(count):
        key = random.randrange(keys)
        size = smallest() + (random.randrange(2 * PAGE) if random.random() < 0.01 else random.randrange(120))
        subtask = owner(key_group(hash_of_number(key), LEAST_DEFAULT), LEAST_DEFAULT, parallelism)
        found[subtask, random.randrange(parallelism)].append(Record(number, key, size))
    return {channel: tuple(records) for channel, records in found.items()}


def restored(
    on: Implementation, before: InFlight, old: int, new: int, kind: EdgeKind, recovery: Recovery, random: Random
) -> InFlight:
    """What the job has in flight after it was restored with another parallelism. Chunks are cut anywhere, virtual
    channels alternate, and a part of the state is output state.

    Raises: AssertionError if a record is lost, doubled, in another order, damaged, or where it does not belong.
    """
    after: InFlight = {}
    for subtask in range(new):
        gate = recovered_gate(RescalePlan((old, new)), subtask, kind)
        state = tuple(
            _stored(old_subtask, channel, before[old_subtask, channel], random)
            for old_subtask in gate.mapping.old_subtasks
            for channel in range(old)
        )
        task = Task(
            *state, recovery=recovery, gates=(gate,), parallelism=new, subtask=subtask, rescaled=old != new,
            make=on.components()["filter"],
        )  # fmt: skip
        for virtual, length in _chunks(state, random):
            task.read(virtual, length)
        for channel, found in enumerate(task.finish()):
            after[subtask, channel] = tuple(one for one in found if isinstance(one, Record))
            assert len(after[subtask, channel]) == len(found), f"damaged: {set(found) - set(after[subtask, channel])}"
        task.port.release()
    compare(before, after, new, kind)
    return after


def _stored(old_subtask: int, channel: int, records: tuple[Record, ...], random: Random) -> Virtual:
    total = sum(one.size for one in records)
    return Virtual(0, old_subtask, channel, records, random.randint(0, total) if random.random() < 0.5 else total)


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


def compare(before: InFlight, after: InFlight, new: int, kind: EdgeKind) -> None:
    """Compare what is in flight after a restore with what was. Nobody is asked how it was assigned or filtered.

    Raises: AssertionError that names the first record that is wrong.
    """
    was = {one.id: (one, channel) for channel, records in before.items() for one in records}
    places: dict[int, Channel] = {}
    last: dict[tuple[Channel, Channel], tuple[int, int]] = {}
    order = {one.id: at for records in before.values() for at, one in enumerate(records)}
    for channel, records in after.items():
        for one in records:
            assert one.id not in places, f"doubled: {one} is in {places[one.id]} and in {channel}"
            places[one.id] = channel
            stored, old = was[one.id]
            assert one == stored, f"changed: {one} was {stored}"
            if kind is EdgeKind.HASH:
                subtask = owner(key_group(hash_of_number(one.key), LEAST_DEFAULT), LEAST_DEFAULT, new)
                assert channel[0] == subtask, f"misplaced: {one} belongs to subtask {subtask}, and is in {channel}"
            at, earlier = last.get((old, channel), (-1, -1))
            assert order[one.id] > at, f"reordered: {one} is behind record {earlier}"
            last[old, channel] = order[one.id], one.id
    lost = was.keys() - places.keys()
    assert not lost, f"lost: {was[min(lost)][0]} and {len(lost) - 1} more"


def run(
    on: Implementation, plan: RescalePlan, count: int, keys: int, seed: int, recovery: Recovery,
    kind: EdgeKind = EdgeKind.HASH,
) -> InFlight:  # fmt: skip
    """Restore a job with these records in flight along a plan. Returns what is in flight in the end.

    Raises: AssertionError as `restored`.
    """
    random = Random(seed)
    flying = sent(count, keys, plan.parallelisms[0], random)
    for old, new in plan.rescales:
        flying = restored(on, flying, old, new, kind, recovery, random)
    return flying
