"""Recovered channel state and its chunks: what is drawn, and to what it shrinks."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import find, settings

from conformance.ports.filter import Virtual
from conformance.ports.framing import Record, Watermark, encode, size_of
from conformance.ports.key_groups import hash_of_number, key_group, owner
from conformance.ports.rescale import EdgeKind, RescaleMapping
from strategies import RescalePlan, chunkings, elements, keys, records, recovered_gate, rescale_plans, virtual_states
from tests.strategies.room import drawn

FOUND = settings(max_examples=3_000, database=None, deadline=None)
WIDER, NARROWER = RescalePlan((2, 7)), RescalePlan((7, 2))


# ---- chunks ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("total", "least"), [(0, ()), (1, (1,)), (16, (16,)), (40, (16, 16, 8))])
def test_chunks_shrink_to_no_cut(total, least):
    assert find(chunkings(total, 16), lambda lengths: True, settings=FOUND) == least


def test_chunks_have_all_bytes_and_fit_a_page():
    for lengths in drawn(chunkings(100, 7), 100):
        assert sum(lengths) == 100
        assert all(0 < length <= 7 for length in lengths)


def test_one_cut_is_left_where_it_is_needed():
    assert find(chunkings(100, 100), lambda lengths: lengths[0] == 37, settings=FOUND) == (37, 63)
    assert find(chunkings(100, 100), lambda lengths: 3 in lengths, settings=FOUND) == (3, 97)


@pytest.mark.parametrize(("total", "page", "most"), [(-1, 4, 1), (4, 0, 1), (4, 4, -1)])
def test_chunks_that_cannot_be_are_refused(total, page, most):
    with pytest.raises(ValueError, match="nothing can be cut so"):
        chunkings(total, page, most)


# ---- gates -----------------------------------------------------------------------------------------------------------
def test_a_keyed_gate_recovers_from_those_whose_key_groups_it_owns():
    """Of 7 old subtasks, the one in the middle has key groups of both new ones (filtering: keyed 7 → 2)."""
    left, right = (recovered_gate(NARROWER, subtask).mapping for subtask in (0, 1))
    assert (left.old_subtasks, left.ambiguous) == ((0, 1, 2, 3), (3,))
    assert (right.old_subtasks, right.ambiguous) == ((3, 4, 5, 6), (3,))
    assert left.channels == right.channels == ((0, 2, 4, 6), (1, 3, 5))
    assert all(recovered_gate(RescalePlan((4, 2)), subtask).mapping.ambiguous == () for subtask in (0, 1))
    assert {one for subtask in range(7) for one in recovered_gate(WIDER, subtask).mapping.ambiguous} == {0, 1}


@pytest.mark.parametrize(
    ("kind", "subtask", "mapping"),
    [
        (EdgeKind.CUSTOM, 1, RescaleMapping((0, 1, 2), ((0, 2), (1,)), (0, 1, 2))),
        (EdgeKind.REBALANCE, 1, RescaleMapping((1,), ((0, 2), (1,)), ())),
        (EdgeKind.SHUFFLE, 0, RescaleMapping((0, 2), ((0, 2), (1,)), ())),
        (EdgeKind.GLOBAL, 0, RescaleMapping((0, 1, 2), ((0, 2), (1,)), ())),
        (EdgeKind.GLOBAL, 1, RescaleMapping((), ((0, 2), (1,)), ())),
    ],
)
def test_a_gate_of_another_kind(kind, subtask, mapping):
    assert recovered_gate(RescalePlan((5, 3, 2)), subtask, kind).mapping == mapping


@pytest.mark.parametrize("kind", [EdgeKind.HASH, EdgeKind.CUSTOM, EdgeKind.REBALANCE, EdgeKind.GLOBAL])
def test_state_stays_where_it_is_if_nothing_is_rescaled(kind):
    for subtask in range(3):
        mapping = recovered_gate(RescalePlan((2, 3, 3)), subtask, kind).mapping
        assert mapping == RescaleMapping((subtask,), ((0,), (1,), (2,)), ())


def test_a_gate_that_cannot_be_is_refused():
    with pytest.raises(ValueError, match="subtask 2 is none of those after 7 → 2"):
        recovered_gate(NARROWER, 2)
    with pytest.raises(ValueError, match="7 → 2 has more subtasks than the maximum parallelism 6"):
        recovered_gate(NARROWER, 0, max_parallelism=6)
    with pytest.raises(ValueError, match="channel state of a forward edge cannot be rescaled"):
        recovered_gate(NARROWER, 0, EdgeKind.FORWARD)
    with pytest.raises(ValueError, match="subtask 1 recovers nothing after 7 → 2 on a global edge"):
        virtual_states(NARROWER, 1, EdgeKind.GLOBAL)


# ---- virtual channels ------------------------------------------------------------------------------------------------
@pytest.mark.slow  # it shrinks for seconds; another shape is tried by default
def test_state_shrinks_to_one_virtual_channel():
    assert find(virtual_states(NARROWER), lambda state: True, settings=FOUND) == (Virtual(0, 0, 0, (), 0),)


@pytest.mark.slow  # it shrinks for seconds; another shape is tried by default
def test_state_shrinks_to_the_smallest_record_all_of_which_is_input():
    def has_a_record(state):
        return any(isinstance(one, Record) for virtual in state for one in virtual.elements)

    few = elements(records(most=2), most=1)
    strategy = rescale_plans().flatmap(lambda plan: virtual_states(plan, elements=few, most=2))
    found = find(strategy, has_a_record, settings=FOUND)
    key = next(key for key in range(99) if owner(key_group(hash_of_number(key), 128), 128, 2) == 0)
    assert found == (Virtual(0, 0, 0, (Record(0, key, 17),), 17),)


def test_state_shrinks_to_one_byte_of_output():
    def begun_as_input(state):
        return any(0 < one.input_bytes < sum(map(size_of, one.elements)) for one in state)

    found = find(virtual_states(RescalePlan((2, 1))), begun_as_input, settings=FOUND)
    assert [(one.input_bytes, len(one.elements)) for one in found] == [(16, 1)]


@pytest.mark.parametrize(("plan", "subtask"), [(NARROWER, 0), (NARROWER, 1), (WIDER, 5), (RescalePlan((3, 3)), 2)])
def test_state_is_what_a_job_could_have_left(plan, subtask):
    old, _ = plan.rescales[-1]
    mapping = recovered_gate(plan, subtask).mapping
    seen = set()
    for state in drawn(virtual_states(plan, subtask, elements=elements(records(keys=keys(99), most=3))), 60):
        ids = [one.id for virtual in state for one in virtual.elements if isinstance(one, Record)]
        assert ids == list(range(len(ids)))
        places = [(one.old_subtask, one.old_channel) for one in state]
        assert places == sorted({*places})
        for virtual in state:
            assert virtual.old_subtask in mapping.old_subtasks
            assert virtual.old_channel < old
            assert (
                0
                <= virtual.input_bytes
                <= sum(map(size_of, virtual.elements))
                == sum(len(encode(one)) for one in virtual.elements)
            )
            for one in virtual.elements:
                if isinstance(one, Record):
                    assert owner(key_group(hash_of_number(one.key), 128), 128, old) == virtual.old_subtask
        seen |= {*places}
    assert len(seen) >= 2


def test_on_other_edges_keys_are_as_drawn():
    strategy = virtual_states(NARROWER, 0, EdgeKind.CUSTOM, elements=records(keys=keys(1)))
    found = {one.key for state in drawn(strategy) for virtual in state for one in virtual.elements}
    assert found == {0}


def test_times_never_fall():
    mixed = set()
    for found in drawn(elements(records("reading"), markers=True), 200):
        times = [one.time if isinstance(one, Watermark) else getattr(one, "timestamp", None) for one in found]
        assert (known := [time for time in times if time is not None]) == sorted(known)
        mixed |= {(type(one), type(next_)) for one, next_ in pairwise(found)}
    assert {(Watermark, Record), (Record, Watermark)} <= mixed
