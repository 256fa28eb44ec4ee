"""Strategies for recovered channel state: what each virtual channel has, and where its bytes are cut into chunks."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import TypeAlias

import hypothesis.strategies as st
from hypothesis.strategies import SearchStrategy
from msgspec import Struct
from msgspec.structs import replace

from conformance.components.filter.state import mapping_of
from conformance.ports.filter import FilteredGate, Virtual
from conformance.ports.framing import Record, Recovered, size_of
from conformance.ports.key_groups import LEAST_DEFAULT, hash_of_number, key_group, owner
from conformance.ports.rescale import EdgeKind
from strategies.jobs import RescalePlan
from strategies.records import elements
from strategies.values import made

_KINDS = (EdgeKind.HASH, EdgeKind.CUSTOM, EdgeKind.REBALANCE, EdgeKind.SHUFFLE, EdgeKind.GLOBAL)
"""The kinds of edges whose channel state can be rescaled."""
_MOST_OF_ONE = 1 << 16
_Elements: TypeAlias = tuple[Recovered, ...]
_Part: TypeAlias = tuple[tuple[int, int], _Elements, int, int]
"""An old subtask and an old channel, the elements, how many of the last ones are output state, and how many bytes of
the one before."""


def chunkings(total: int, page: int, most: int = 8) -> SearchStrategy[tuple[int, ...]]:
    """Draws into which chunks the bytes of channel state are cut: lengths whose sum is `total`, each at most `page`.
    There are up to `most` cuts anywhere, and then every piece that is longer than a page is cut after each page.

    It shrinks to no cut, but those after each page. What is drawn are the places of the cuts, so that shrinking, if it
    deletes one, joins two chunks and leaves the others as they are.

    Raises: ValueError if there is no such cutting.
    """
    if total < 0 or page < 1 or most < 0:
        raise ValueError(f"nothing can be cut so: {total=}, {page=}, {most=}")
    if total < 2:
        return st.just((1,) * total)
    return made(lambda cuts: _lengths({*cuts, total}, page), st.lists(st.integers(1, total - 1), max_size=most))


def _lengths(ends: set[int], page: int) -> tuple[int, ...]:
    """Returns the lengths of the chunks that end there, none longer than a page."""
    found: list[int] = []
    begin = 0
    for end in sorted(ends):
        pages, rest = divmod(end - begin, page)
        found += [page] * pages
        if rest:
            found.append(rest)
        begin = end
    return tuple(found)


def recovered_gate(
    plan: RescalePlan, subtask: int, kind: EdgeKind = EdgeKind.HASH, max_parallelism: int = LEAST_DEFAULT
) -> FilteredGate:
    """Returns through which gate a subtask recovers in the last restore of a plan, if the producers are rescaled as it
    is. It recovers from those old subtasks only from which it must.

    Raises: ValueError if there is no such subtask, more subtasks than key groups, or no channel state on such an edge.
    """
    old, new = plan.rescales[-1]
    if not 0 <= subtask < new:
        raise ValueError(f"subtask {subtask} is none of those after {plan}")
    if max(old, new) > max_parallelism:
        raise ValueError(f"{plan} has more subtasks than the maximum parallelism {max_parallelism}")
    if kind not in _KINDS:
        raise ValueError(f"channel state of a {kind} edge cannot be rescaled; that of {', '.join(_KINDS)} can")
    return FilteredGate(kind, mapping_of(kind, (old, new), (old, new), subtask, max_parallelism))


_ELEMENTS = elements()


def virtual_states(
    plan: RescalePlan,
    subtask: int = 0,
    kind: EdgeKind = EdgeKind.HASH,
    max_parallelism: int = LEAST_DEFAULT,
    elements: SearchStrategy[_Elements] = _ELEMENTS,
    most: int = 6,
) -> SearchStrategy[tuple[Virtual, ...]]:
    """Draws what the virtual channels have through which a subtask recovers in the last restore of a plan: those of
    `recovered_gate`. Up to `most` virtual channels have elements, some of whose last bytes, which may begin inside an
    element, are output state. The others have nothing, and are not there.

    Records are numbered through all virtual channels. On a keyed edge, a record has a key that its old subtask owned,
    a smaller one if a smaller one was drawn. It shrinks to one virtual channel whose bytes are all input state.

    Raises: ValueError as `recovered_gate`, or if the subtask recovers nothing.
    """
    gate = recovered_gate(plan, subtask, kind, max_parallelism)
    old_channels = [channel for channels in gate.mapping.channels for channel in channels]
    places = [(old, channel) for old in gate.mapping.old_subtasks for channel in sorted(old_channels)]
    if not places:
        raise ValueError(f"subtask {subtask} recovers nothing after {plan} on a {kind} edge")
    part = st.tuples(st.sampled_from(places), elements, st.integers(0, 3), st.integers(0, _MOST_OF_ONE))
    owners = _Owners(plan.rescales[-1][0], max_parallelism) if kind is EdgeKind.HASH else None
    return made(lambda parts: _stored(parts, owners), st.lists(part, min_size=1, max_size=most))


class _Owners(Struct, frozen=True):
    """Who owned which key before the rescale."""

    parallelism: int
    max_parallelism: int

    def near(self, key: int, subtask: int) -> int:
        """Returns a key that this subtask owned: a smaller one for a smaller key, and the smallest one for 0."""
        for candidate in count(key * self.parallelism):
            group = key_group(hash_of_number(candidate), self.max_parallelism)
            if owner(group, self.max_parallelism, self.parallelism) == subtask:
                return candidate
        raise AssertionError("every subtask owns a key group, and every key group has keys without end")


def _stored(parts: list[_Part], owners: _Owners | None) -> tuple[Virtual, ...]:
    """Returns the state of virtual channels, of which those parts consist that were drawn first for each."""
    chosen = {part[0]: part for part in reversed(parts)}
    number = count()
    return tuple(_virtual(chosen[place], number, owners) for place in sorted(chosen))


def _virtual(part: _Part, number: Iterator[int], owners: _Owners | None) -> Virtual:
    (old_subtask, old_channel), elements, whole, more = part

    def of_the_task(one: Recovered) -> Recovered:
        if not isinstance(one, Record):
            return one
        return replace(one, id=next(number), key=one.key if owners is None else owners.near(one.key, old_subtask))

    found = tuple(map(of_the_task, elements))
    sizes = [size_of(one) for one in found]
    before = sizes[: max(len(sizes) - whole, 0)]
    input_bytes = sum(before) - (more % before[-1] if before else 0)
    return Virtual(0, old_subtask, old_channel, found, input_bytes)
