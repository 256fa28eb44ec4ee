"""The configuration of a scenario, and the task and the channel state that it stands for.

What a new subtask recovers is computed here by its meaning, and not with the mappers of an engine: a new subtask needs
every old one with which it shares a key group.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Annotated, Literal

from msgspec import Meta

from conformance.models.faults import WithFaults
from conformance.ports import (
    LEAST_PAGE,
    Attributes,
    EdgeKind,
    FilterConfig,
    FilteredGate,
    LatencyMarker,
    Record,
    Recovered,
    Recovery,
    RescaleMapping,
    Status,
    Virtual,
    Watermark,
)
from conformance.ports.framing import size_of, smallest
from conformance.ports.key_groups import hash_of_number, key_group, owner

_IN_MEMORY, _SEGMENT = 5 << 20, 1 << 20
"""What stays in memory of a large record, and the size of a spill segment, if the scenario says nothing of them."""
MAX_PARALLELISM = 128
_PER_CHANNEL = 16
"""How many ids the records of one virtual channel have."""


class FilterScenarioConfig(WithFaults, frozen=True, forbid_unknown_fields=True, cache_hash=True):
    """`scale`: the parallelism of the vertex before and after. `producers`: that of the vertex in front of each
    gate. `records`, `sizes`: how many records each virtual channel has, and their sizes in turn. `keep`: which of
    the records of ambiguous old subtasks belong to this one. `watermarks`: which virtual channels have any. `idle`:
    which become idle; with all, one becomes active again, and with for-good none. `empty`: how many of the first
    virtual channels have no elements. `cut`: where output state begins, one byte later in each further virtual
    channel; -1 if there is none. `missing`: how many bytes of the last virtual channel are lost. `unknown`: what
    the gate does not know about the last one. `partial_in_memory`, `segment`: 0 for what is usual. All others as in
    the configuration of the port."""

    recovery: Literal["recover-first", "in-memory", "pushed"] = "in-memory"
    scale: tuple[Annotated[int, Meta(ge=1, le=16)], Annotated[int, Meta(ge=1, le=16)]] = (3, 2)
    subtask: Annotated[int, Meta(ge=0, le=15)] = 0
    kinds: tuple[EdgeKind, ...] = (EdgeKind.HASH,)
    producers: tuple[Annotated[int, Meta(ge=1, le=4)], Annotated[int, Meta(ge=1, le=4)]] = (1, 1)
    records: Annotated[int, Meta(ge=0, le=8)] = 2
    sizes: tuple[Annotated[int, Meta(ge=17, le=65536)], ...] = (17,)
    keep: Literal["in-turn", "all", "none"] = "in-turn"
    watermarks: Literal["none", "all", "all-but-one"] = "none"
    idle: Literal["none", "one", "all", "for-good"] = "none"
    markers: bool = False
    empty: Annotated[int, Meta(ge=0, le=8)] = 0
    cut: Annotated[int, Meta(ge=-1)] = -1
    missing: Annotated[int, Meta(ge=0)] = 0
    unknown: Literal["none", "channel", "subtask", "gate"] = "none"
    rescaled: bool = True
    page: int = LEAST_PAGE
    buffers: Annotated[int, Meta(ge=1, le=64)] = 8
    partial_in_memory: Annotated[int, Meta(ge=0)] = 0
    segment: Annotated[int, Meta(ge=0)] = 0
    files: bool = False
    interleaving: Literal["whole", "fine"] = "whole"
    faults: bool = False


@cache
def port_config(config: FilterScenarioConfig) -> FilterConfig:
    """Returns the configuration of the port."""
    gates = tuple(
        FilteredGate(kind, mapping_of(kind, config.scale, config.producers, config.subtask)) for kind in config.kinds
    )
    return FilterConfig(
        Recovery(config.recovery), gates, _state(config, gates), config.scale[1], config.subtask, MAX_PARALLELISM,
        config.rescaled, config.page, config.buffers, config.partial_in_memory or _IN_MEMORY,
        config.segment or _SEGMENT, config.files,
    )  # fmt: skip


# ---- what is recovered from whom -------------------------------------------------------------------------------------
@cache
def mapping_of(
    kind: EdgeKind, scale: tuple[int, int], producers: tuple[int, int], subtask: int,
    max_parallelism: int = MAX_PARALLELISM,
) -> RescaleMapping:  # fmt: skip
    """Returns what a new subtask recovers through a gate with such an edge. `scale`, `producers`: the parallelism
    before and after, of the vertex and of the one in front."""
    old, new = scale
    shared: set[int] = set()
    if old == new:
        mine = {subtask}
    elif kind is EdgeKind.HASH:
        groups = range(max_parallelism)
        owners = [(owner(one, max_parallelism, old), owner(one, max_parallelism, new)) for one in groups]
        mine = {before for before, after in owners if after == subtask}
        shared = mine & {before for before, after in owners if after != subtask}
    elif kind is EdgeKind.CUSTOM:
        mine = set(range(old))
        shared = mine if new > 1 else set()
    elif kind is EdgeKind.GLOBAL:
        mine = set() if subtask else set(range(old))
    else:
        mine = set(range(subtask, old, new))
    before, after = producers
    channels = tuple(tuple(range(channel, before, after)) for channel in range(after))
    return RescaleMapping(tuple(sorted(mine)), channels, tuple(sorted(shared)))


# ---- the state -------------------------------------------------------------------------------------------------------
def _state(config: FilterScenarioConfig, gates: tuple[FilteredGate, ...]) -> tuple[Virtual, ...]:
    places = [
        (gate, subtask, channel)
        for gate, one in enumerate(gates)
        for subtask in one.mapping.old_subtasks
        for channel in sorted(old for channels in one.mapping.channels for old in channels)
    ]
    found = []
    for number, (gate, subtask, channel) in enumerate(places):
        elements = tuple(_elements(config, gates[gate], subtask, number)) if number >= config.empty else ()
        total = sum(map(size_of, elements))
        missing = min(config.missing, total) if number == len(places) - 1 else 0
        left = total - missing
        cut = left if config.cut < 0 else min(left, config.cut + number)
        found.append(Virtual(gate, subtask, channel, elements, cut, missing))
    if config.unknown != "none":
        found.append(_unknown(config, gates, len(places)))
    return tuple(found)


def _unknown(config: FilterScenarioConfig, gates: tuple[FilteredGate, ...], number: int) -> Virtual:
    """Returns a virtual channel that its gate does not know."""
    elements = (Record(number * _PER_CHANNEL, 1, smallest()),)
    if config.unknown == "gate":
        without = next(gate for gate, one in enumerate(gates) if not one.mapping.old_subtasks)
        return Virtual(without, 0, 0, elements, smallest())
    known = gates[0].mapping.old_subtasks
    if config.unknown == "channel":
        return Virtual(0, known[0], config.producers[0], elements, smallest())
    stranger = next(one for one in range(config.scale[0] + 1) if one not in known)
    return Virtual(0, stranger, 0, elements, smallest())


def _elements(config: FilterScenarioConfig, gate: FilteredGate, subtask: int, number: int) -> Iterator[Recovered]:
    """Yields the elements of a virtual channel."""
    is_first = number == config.empty
    has_watermarks = config.watermarks == "all" or (config.watermarks == "all-but-one" and not is_first)
    if config.idle == "one" and is_first:
        yield Status(False)
    keys = _keys(config, gate, subtask, number)
    for at in range(config.records):
        size = config.sizes[(number + at) % len(config.sizes)]
        timestamp = 1000 * at + 500 + number if size >= smallest(0) else None
        yield Record(number * _PER_CHANNEL + at, next(keys), size, timestamp)
        if config.markers:
            yield LatencyMarker(number * _PER_CHANNEL + at)
        if has_watermarks:
            yield Watermark(1000 * (at + 1) + 10 * (number * 2 % 5))
    if config.markers:
        yield Attributes(True)
    if config.idle in ("all", "for-good"):
        yield Status(False)
        if is_first and config.idle == "all":
            yield Status(True)


def _keys(config: FilterScenarioConfig, gate: FilteredGate, subtask: int, number: int) -> Iterator[int]:
    """Yields the keys of the records of a virtual channel: such as the old subtask has had, and as the scenario wants
    them kept or not."""
    is_shared = subtask in gate.mapping.ambiguous
    key = number
    for at in range(config.records):
        wanted = config.keep == "all" or (config.keep == "in-turn" and (number + at) % 2 == 0)

        def suits(one: int, nth: int = at, as_wanted: bool = wanted) -> bool:
            kept = selects(gate.kind, one, nth, config.scale[1], config.subtask)
            return not is_shared or kept is as_wanted

        while not ((_has_had(config, gate, subtask, key) or not is_shared) and suits(key)):
            key += 1
        yield key
        key += 1


def _has_had(config: FilterScenarioConfig, gate: FilteredGate, subtask: int, key: int) -> bool:
    if gate.kind is not EdgeKind.HASH:
        return True
    return owner_of(key, config.scale[0]) == subtask


def selects(kind: EdgeKind, key: int, nth: int, parallelism: int, subtask: int) -> bool:
    """Returns whether the partitioner of an edge selects this subtask for the `nth` record that it sees, from 0."""
    if kind is EdgeKind.CUSTOM:
        return (key + nth) % parallelism == subtask
    return owner_of(key, parallelism) == subtask


@lru_cache(maxsize=1024)
def owner_of(key: int, parallelism: int) -> int:
    """Returns the subtask that owns the key group of a key."""
    return owner(key_group(hash_of_number(key), MAX_PARALLELISM), MAX_PARALLELISM, parallelism)
