"""The reference's state assignment, rule by rule. Specification: assignment.md."""

from __future__ import annotations

import pytest

from conformance.ports import (
    Assigned,
    AssignmentConfig,
    Edge,
    EdgeKind,
    ErrorKind,
    InputHandle,
    OutputHandle,
    PortError,
    RescaleMapping,
    Resources,
    Vertex,
)
from conformance.ports.key_groups import MOST, owner
from reference_impl.rescale.assignment import Assignment
from reference_impl.rescale.key_group_ranges import key_groups_of
from reference_impl.rescale.mappers import DOWNSTREAM, UPSTREAM, Mapper, mapped

HASH, REBALANCE, CUSTOM, BROADCAST = EdgeKind.HASH, EdgeKind.REBALANCE, EdgeKind.CUSTOM, EdgeKind.BROADCAST


def job(*parallelism: int, edges: tuple[tuple[int, int, EdgeKind], ...], downstream: bool = True, most: int = 128):
    vertices = tuple([Vertex(f"vertex {number}", one, most) for number, one in enumerate(parallelism)])
    return Assignment(AssignmentConfig(vertices, tuple([Edge(*one) for one in edges]), downstream))


def of(assigned: tuple[Assigned, ...], vertex: int) -> list[Assigned]:
    """What the subtasks of a vertex get, by subtask."""
    found = [one for one in assigned if one.vertex == vertex]
    assert [one.subtask for one in found] == list(range(len(found)))
    return found


def kind_of(call, *operands) -> ErrorKind:
    with pytest.raises(PortError) as caught:
        call(*operands)
    return caught.value.kind


def test_handles_keep_the_numbers_that_they_had():
    """assignment.md A1, A4."""
    one = job(3, 2, edges=((0, 1, HASH),))
    one.hold_input(1, 1, 0, 2)
    assert [subtask.inputs for subtask in of(one.assign(), 1)] == [(), (InputHandle(1, 0, 2),)]


def test_vertices_without_state_of_their_own_take_part():
    """assignment.md A2: the producer and the consumer of the vertex that has state, and nobody else."""
    one = job(1, 1, 1, 1, edges=((0, 1, HASH), (1, 2, HASH), (2, 3, HASH)))
    one.hold_input(1, 0, 0, 0)
    assert [subtask.vertex for subtask in one.assign()] == [0, 1, 2]


def test_vertices_that_are_chained_take_part_as_one():
    """assignment.md A2."""
    one = job(1, 2, 2, 1, edges=((0, 1, HASH), (1, 2, EdgeKind.FORWARD), (2, 3, HASH)))
    one.chain(1)
    one.hold_input(1, 0, 0, 0)
    assert {subtask.vertex for subtask in one.assign()} == {0, 1, 2, 3}


def test_two_edges_between_the_same_vertices_have_their_own_gates_and_mappings():
    """assignment.md A3."""
    one = job(2, 4, edges=((0, 1, HASH), (0, 1, REBALANCE)))
    one.hold_input(1, 1, 0, 0)
    one.hold_input(1, 1, 1, 0)
    one.rescale(1, 2)
    first, second = of(one.assign(), 1)
    assert (first.inputs, second.inputs) == ((InputHandle(1, 0, 0),), (InputHandle(1, 1, 0),))
    assert [mapping and mapping.old_subtasks for mapping in first.gates] == [(0, 1), (0, 2)]


def test_state_stays_if_the_parallelism_does_unless_a_users_partitioner_is_rescaled():
    """assignment.md A4."""
    for rescaled, takers in (False, [1]), (True, [0, 1, 2]):
        one = job(2, 3, edges=((0, 1, CUSTOM),))
        one.hold_input(1, 1, 0, 0)
        one.rescale(0, 3 if rescaled else 2)
        assert [subtask.subtask for subtask in of(one.assign(), 1) if subtask.inputs] == takers


def test_output_state_stays_with_its_producers():
    """assignment.md A5."""
    one = job(3, 2, edges=((0, 1, HASH),), downstream=False)
    one.hold_output(0, 2, 0, 1)
    one.rescale(0, 2)
    first, second = of(one.assign(), 0)
    assert (first.outputs, second.outputs) == ((OutputHandle(2, 0, 1),), ())


def test_output_state_that_is_recovered_downstream_is_named_as_a_channel_of_the_consumer():
    """assignment.md A6."""
    one = job(3, 7, edges=((0, 1, REBALANCE), (0, 1, HASH)))
    one.hold_output(0, 2, 1, 3)
    one.rescale(1, 2)
    assigned = one.assign()
    assert [subtask.from_upstream for subtask in of(assigned, 1)] == [(InputHandle(3, 1, 2),)] * 2
    assert not any(subtask.outputs or subtask.inputs for subtask in assigned)


def test_both_ends_learn_what_is_mapped():
    """assignment.md A7."""
    one = job(3, 7, edges=((0, 1, HASH),))
    one.hold_input(1, 3, 0, 0)
    one.rescale(0, 2)
    one.rescale(1, 2)
    assigned = one.assign()
    channels = (0, 2), (1,)
    assert [subtask.gates for subtask in of(assigned, 1)] == [
        (RescaleMapping((0, 1, 2, 3), channels, (3,)),), (RescaleMapping((3, 4, 5, 6), channels, (3,)),)
    ]  # fmt: skip
    subpartitions = (0, 1, 2, 3), (3, 4, 5, 6)
    assert [subtask.partitions for subtask in of(assigned, 0)] == [
        (RescaleMapping((0, 2), subpartitions, ()),), (RescaleMapping((1,), subpartitions, ()),)
    ]  # fmt: skip


def test_a_gate_without_state_is_not_mapped():
    """assignment.md A7, A8."""
    one = job(2, 2, edges=((0, 1, BROADCAST), (0, 1, HASH)))
    one.hold_input(1, 0, 1, 0)
    one.rescale(1, 3)
    assert [subtask.gates[0] for subtask in of(one.assign(), 1)] == [None] * 3


@pytest.mark.parametrize("rescaled", [0, 1])
@pytest.mark.parametrize("kind", [BROADCAST, EdgeKind.RESCALE, EdgeKind.FORWARD])
def test_state_of_an_edge_that_cannot_be_rescaled_is_refused(kind, rescaled):
    """assignment.md A8."""
    one = job(2, 2, edges=((0, 1, kind),))
    one.hold_input(1, 0, 0, 0)
    assert of(one.assign(), 1)[0].inputs == (InputHandle(0, 0, 0),)
    one.hold_input(1, 0, 0, 0)
    one.rescale(rescaled, 3)
    assert kind_of(one.assign) is ErrorKind.STATE


def test_a_vertex_keeps_its_key_groups():
    """assignment.md A9."""
    for change, refused in (
        (("rescale", 9), True),
        (("limit", 16), True),
        (("limit", 8), False),
        (("rescale", 8), False),
    ):
        one = job(2, 2, edges=((0, 1, HASH),), most=8)
        one.hold_input(1, 0, 0, 0)
        getattr(one, change[0])(1, change[1])
        if refused:
            assert kind_of(one.assign) is ErrorKind.CONFIG
        else:
            one.assign()


def test_state_of_an_edge_that_is_chained_is_refused():
    """assignment.md A9."""
    one = job(2, 2, edges=((0, 1, EdgeKind.FORWARD),))
    one.hold_input(1, 0, 0, 0)
    one.chain(0)
    assert kind_of(one.assign) is ErrorKind.STATE


def test_the_order_in_which_state_is_held_does_not_matter():
    """assignment.md A10."""
    channels = [(1, subtask, 0, channel) for subtask in range(3) for channel in range(2)]
    found = []
    for order in channels, channels[::-1]:
        one = job(2, 3, edges=((0, 1, HASH),))
        for channel in order:
            one.hold_input(*channel)
        one.rescale(1, 2)
        found += [one.assign(), one.assign()]
    assert found.count(found[0]) == 4


@pytest.mark.parametrize(("parallelism", "most"), [(1, 1), (3, 7), (7, 128), (200, 600), (128, 128)])
def test_key_groups_are_those_of_their_owner(parallelism, most):
    """assignment.md A11."""
    groups = [(group, subtask) for subtask in range(parallelism) for group in key_groups_of(subtask, parallelism, most)]
    assert groups == [(group, owner(group, most, parallelism)) for group in range(most)]


@pytest.mark.parametrize(
    ("mapper", "olds"),
    [
        (Mapper.ARBITRARY, [(0, 3), (1, 4), (2,)]),
        (Mapper.ROUND_ROBIN, [(0, 3), (1, 4), (2,)]),
        (Mapper.FIRST, [(0, 1, 2, 3, 4), (), ()]),
        (Mapper.FULL, [(0, 1, 2, 3, 4)] * 3),
        (Mapper.RANGE, [(0, 1), (1, 2, 3), (3, 4)]),
    ],
)
def test_each_mapper_has_its_old_subtasks(mapper, olds):
    """assignment.md A12."""
    assert list(mapped(mapper, 5, 3, 128).old_by_new) == olds
    assert kind_of(Mapper.UNSUPPORTED.old_subtasks, 0, 5, 3, 128) is ErrorKind.STATE


def test_a_run_has_all_old_owners_also_where_that_of_all_key_groups_has_not():
    """assignment.md A12."""
    assert owner(219, 600, 263) == 95
    assert owner(219, 600, 200) == 73
    assert mapped(Mapper.RANGE, 263, 200, 600).old_by_new[73] == (95, 96, 97)
    assert mapped(Mapper.RANGE, 263, 200, MOST).old_by_new[73] == (96, 97)


def test_each_kind_of_edge_has_its_mappers():
    """assignment.md A13."""
    arbitrary = HASH, REBALANCE, EdgeKind.SHUFFLE, EdgeKind.GLOBAL, CUSTOM
    assert [kind for kind, mapper in UPSTREAM.items() if mapper is Mapper.ARBITRARY] == list(arbitrary)
    consumer = Mapper.RANGE, Mapper.ROUND_ROBIN, Mapper.ROUND_ROBIN, Mapper.FIRST, Mapper.FULL
    assert tuple([DOWNSTREAM[kind] for kind in arbitrary]) == consumer
    rest = [kind for kind in EdgeKind if kind not in arbitrary]
    assert {UPSTREAM[kind] for kind in rest} | {DOWNSTREAM[kind] for kind in rest} == {Mapper.UNSUPPORTED}


@pytest.mark.parametrize(
    ("old", "new", "ambiguous"), [(7, 2, {3}), (4, 2, set()), (2, 7, {0, 1}), (3, 3, set())]
)  # fmt: skip
def test_ambiguous_is_what_several_recover(old, new, ambiguous):
    """assignment.md A14."""
    assert mapped(Mapper.RANGE, old, new, 128).ambiguous == ambiguous
    assert mapped(Mapper.ROUND_ROBIN, old, new, 128).ambiguous == frozenset()


def test_a_restore_begins_with_the_job_as_the_one_before_has_left_it():
    """assignment.md A15."""
    one = job(2, 2, edges=((0, 1, HASH),), most=8)
    one.rescale(1, 4)
    one.assign()
    one.hold_input(1, 3, 0, 0)
    one.rescale(1, 9)
    assert kind_of(one.assign) is ErrorKind.CONFIG
    assert kind_of(one.assign) is ErrorKind.CONFIG
    one.hold_input(1, 3, 0, 1)
    assert of(one.assign(), 1)[3].inputs == (InputHandle(3, 0, 1),)
    one.release()
    assert one.resources() == Resources(0, 0, 0, 0, 0, 0, 0)
