"""What must not change what is recovered: two recoveries of drawn state are compared, and no rule is asked.

That all new subtasks together keep what the old ones had, in any chain of rescales, is in
`tests/strategies/test_rescaled_job.py`; that other text changes nothing is there, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple, TypeAlias

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis.strategies import SearchStrategy
from msgspec.structs import replace

from conformance.components.filter.state import selects
from conformance.ports import EdgeKind, Recovery, Resources, Virtual
from conformance.ports.framing import Record, Recovered, Unreadable, size_of
from strategies import RescalePlan, chunkings, elements, records, recovered_gate, rescale_plans, sizes, virtual_states
from tests.filtering.task import PAGE, Task

Found: TypeAlias = list[list[Recovered | Unreadable]]
Reads: TypeAlias = Sequence[tuple[int, int]]
"""Virtual channels, and how many bytes are read next."""
NOTHING = Resources(0, 0, 0, 0, 0, 0, 0)
EVERY = pytest.mark.parametrize("recovery", [Recovery.RECOVER_FIRST, Recovery.IN_MEMORY, Recovery.PUSHED])
drawn = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])


class Restored(NamedTuple):
    """A subtask that restores, with its state, and in which pieces and in which order it is read."""

    plan: RescalePlan
    subtask: int
    kind: EdgeKind
    state: tuple[Virtual, ...]
    reads: Reads

    def recovered(
        self, recovery: Recovery, state: tuple[Virtual, ...] | None = None, reads: Reads | None = None, **options: Any
    ) -> Found:
        """What every channel gets; `state`, `reads`: others than those that were drawn."""
        state = self.state if state is None else state
        old, new = self.plan.rescales[-1]
        gates = (recovered_gate(self.plan, self.subtask, self.kind),)
        task = Task(
            *state,
            recovery=recovery,
            gates=gates,
            parallelism=new,
            subtask=self.subtask,
            rescaled=old != new,
            **options,
        )
        for virtual, length in one_after_the_other(state, options.get("page", PAGE)) if reads is None else reads:
            task.read(virtual, length)
        found = task.finish()
        assert task.released() == NOTHING
        return found


def stages(state: Iterable[Virtual]) -> Iterator[tuple[tuple[int, int], ...]]:
    """By stage, the virtual channels and how many bytes they have there."""
    sizes_of = [(number, one.input_bytes, sum(map(size_of, one.elements))) for number, one in enumerate(state)]
    yield tuple((number, before) for number, before, _ in sizes_of)
    yield tuple((number, total - before) for number, before, total in sizes_of)


def one_after_the_other(state: Iterable[Virtual], page: int) -> Reads:
    """Each virtual channel by itself, in whole pages."""
    return [
        (number, min(page, size - at))
        for stage in stages(state)
        for number, size in stage
        for at in range(0, size, page)
    ]


def reads(state: tuple[Virtual, ...], page: int = PAGE) -> SearchStrategy[Reads]:
    """Chunks of virtual channels that alternate in any way, those of output state last."""
    return st.tuples(*(of_a_stage(stage, page) for stage in stages(state))).map(lambda both: (*both[0], *both[1]))


def of_a_stage(stage: tuple[tuple[int, int], ...], page: int) -> SearchStrategy[Reads]:
    cut = st.tuples(*(chunkings(size, page, most=4) for _, size in stage))
    return st.tuples(cut, st.lists(st.integers(0, 6), max_size=12)).map(lambda one: alternating(stage, *one))


def alternating(stage: tuple[tuple[int, int], ...], cut: tuple[tuple[int, ...], ...], picks: list[int]) -> Reads:
    """The chunks of the virtual channels that are picked, and then what is left."""
    left = {number: list(lengths) for (number, _), lengths in zip(stage, cut, strict=True) if lengths}
    found: list[tuple[int, int]] = []
    for pick in chain(picks, iter(lambda: 0, 1)):
        if not left:
            break
        number = list(left)[pick % len(left)]
        found.append((number, left[number].pop(0)))
        if not left[number]:
            del left[number]
    return found


def restores(
    kinds: Sequence[EdgeKind] = (EdgeKind.HASH, EdgeKind.CUSTOM, EdgeKind.REBALANCE),
    of: SearchStrategy[tuple[Recovered, ...]] | None = None,
) -> SearchStrategy[Restored]:
    found = elements(records(sizes=sizes(64), most=4)) if of is None else of

    def with_state(plan: RescalePlan, subtask: int, kind: EdgeKind) -> SearchStrategy[Restored]:
        subtask %= min(plan.rescales[-1])  # such a one recovers something on every edge
        return virtual_states(plan, subtask, kind, elements=found, most=4).flatmap(
            lambda state: reads(state).map(lambda order: Restored(plan, subtask, kind, state, order))
        )

    return st.tuples(rescale_plans(longest=1), st.integers(0, 6), st.sampled_from(list(kinds))).flatmap(
        lambda one: with_state(*one)
    )


def ids(found: Iterable[Iterable[object]]) -> list[list[int]]:
    return [[one.id for one in elements if isinstance(one, Record)] for elements in found]


def by_virtual(state: tuple[Virtual, ...], found: Found) -> list[list[int]]:
    """The ids of the records of each virtual channel, in the order in which they were recovered."""
    recovered = [one for channel in ids(found) for one in channel]
    owned = [{one.id for one in virtual.elements if isinstance(one, Record)} for virtual in state]
    return [[one for one in recovered if one in mine] for mine in owned]


@EVERY
@drawn
@given(restores())
def test_where_chunks_are_cut_and_how_they_alternate_changes_nothing(recovery, restored):
    one = restored.recovered(recovery, reads=restored.reads)
    other = restored.recovered(recovery)
    assert by_virtual(restored.state, one) == by_virtual(restored.state, other)
    assert [sorted(channel) for channel in ids(one)] == [sorted(channel) for channel in ids(other)]


@EVERY
@drawn
@given(restores())
def test_what_is_kept_is_what_a_fresh_partitioner_sends_there(recovery, restored):
    new = restored.plan.rescales[-1][1]
    ambiguous = recovered_gate(restored.plan, restored.subtask, restored.kind).mapping.ambiguous
    expected = []
    for virtual in restored.state:
        sent = [one for one in virtual.elements if isinstance(one, Record)]
        expected.append(
            [
                one.id
                for nth, one in enumerate(sent)
                if virtual.old_subtask not in ambiguous or selects(restored.kind, one.key, nth, new, restored.subtask)
            ]
        )
    assert by_virtual(restored.state, restored.recovered(recovery, reads=restored.reads)) == expected


@EVERY
@drawn
@given(restores([EdgeKind.HASH]))
def test_filtering_what_was_filtered_changes_nothing(recovery, restored):
    kept = {one for channel in ids(restored.recovered(recovery)) for one in channel}
    left = tuple(map(only(lambda one: not isinstance(one, Record) or one.id in kept), restored.state))
    assert {one for channel in ids(restored.recovered(recovery, left)) for one in channel} == kept


def only(wanted: Callable[[Recovered], bool]) -> Callable[[Virtual], Virtual]:
    """Leaves elements of a virtual channel out."""

    def change(one: Virtual) -> Virtual:
        left = tuple(filter(wanted, one.elements))
        return replace(one, elements=left, input_bytes=sum(map(size_of, left)))

    return change


@EVERY
@drawn
@given(restores(), st.sampled_from([1, 2, 8]), st.sampled_from([PAGE, 2 * PAGE]))
def test_the_sizes_of_page_and_pool_change_nothing(recovery, restored, buffers, page):
    one = restored.recovered(recovery, reads=restored.reads)
    assert restored.recovered(recovery, reads=restored.reads, buffers=buffers, page=page) == one


@EVERY
@drawn
@given(restores())
def test_a_virtual_channel_without_elements_changes_watermarks_only(recovery, restored):
    emptied = (*restored.state[:-1], only(lambda one: False)(restored.state[-1]))
    whole, without = restored.recovered(recovery), restored.recovered(recovery, emptied)
    assert by_virtual(restored.state, whole)[:-1] == by_virtual(restored.state, without)[:-1]
    assert by_virtual(restored.state, without)[-1] == []


@EVERY
@drawn
@given(restores([EdgeKind.HASH, EdgeKind.REBALANCE], records(sizes=sizes(64), most=4)))
def test_two_copies_of_the_state_give_each_record_twice(recovery, restored):
    more = sum(len(virtual.elements) for virtual in restored.state)

    def twice(one: Virtual) -> Virtual:
        copies = tuple(replace(copy, id=copy.id + more) for copy in one.elements if isinstance(copy, Record))
        return replace(one, elements=one.elements + copies, input_bytes=2 * sum(map(size_of, one.elements)))

    once = by_virtual(restored.state, restored.recovered(recovery))
    doubled = tuple(map(twice, restored.state))
    assert by_virtual(doubled, restored.recovered(recovery, doubled)) == [
        [*found, *(one + more for one in found)] for found in once
    ]
