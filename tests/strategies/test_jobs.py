"""Jobs, and plans to rescale them: what is drawn, and to what it shrinks."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import find, settings

from conformance.ports.assignment import AssignmentConfig, Edge, Vertex
from conformance.ports.key_groups import MOST
from conformance.ports.rescale import EdgeKind
from strategies import RescalePlan, rescale_plans, topologies
from tests.strategies.room import drawn

FOUND = settings(max_examples=2_000, database=None, deadline=None)


def test_a_plan_shrinks_to_two_subtasks_that_become_one():
    assert find(rescale_plans(), lambda plan: True, settings=FOUND) == RescalePlan((2, 1))


@pytest.mark.parametrize(
    ("wanted", "least"),
    [
        (lambda plan: any(new > old for old, new in plan.rescales), "2 → 3"),
        (lambda plan: any(new == old for old, new in plan.rescales), "2 → 2"),
        (lambda plan: (7, 2) in plan.rescales, "7 → 2"),
        (lambda plan: (2, 7) in plan.rescales, "2 → 7"),
        (lambda plan: len(plan.rescales) == 5, "2 → 1 → 1 → 1 → 1 → 1"),
    ],
)
def test_a_plan_is_said_as_people_write_it(wanted, least):
    assert str(find(rescale_plans(), wanted, settings=FOUND)) == least


def test_a_plan_has_one_parallelism_more_than_rescales():
    plans = drawn(rescale_plans(most=5, longest=3), 200)
    assert {len(plan.rescales) for plan in plans} == {1, 2, 3}
    assert {number for plan in plans for number in plan.parallelisms} == {1, 2, 3, 4, 5}
    assert all(plan.rescales == tuple(pairwise(plan.parallelisms)) for plan in plans)


def test_a_job_shrinks_to_one_edge_between_two_subtasks():
    least = find(topologies(), lambda job: True, settings=FOUND)
    assert least == AssignmentConfig((Vertex("A", 1, 128), Vertex("B", 1, 128)), (Edge(0, 1, EdgeKind.HASH),))
    assert str(least) == "hash A(1) → B(1)"


@pytest.mark.parametrize(
    ("wanted", "least"),
    [  # the first two by default: each takes seconds
        (lambda job: len({(one.producer, one.consumer) for one in job.edges}) < len(job.edges),
         "hash A(1) → B(1), hash A(1) → B(1)"),
        (lambda job: any(one.kind is EdgeKind.FORWARD and job.vertices[one.consumer].parallelism > 1
                         for one in job.edges), "forward A(2) → B(2)"),
        pytest.param(lambda job: len(job.vertices) == 4, "hash A(1) → D(1)", marks=pytest.mark.slow),
        pytest.param(lambda job: any(one.max_parallelism == one.parallelism for one in job.vertices),
                     "hash A(1) → B(1)", marks=pytest.mark.slow),
        pytest.param(lambda job: not job.output_on_downstream, "hash A(1) → B(1)", marks=pytest.mark.slow),
    ],
)  # fmt: skip
def test_a_job_shrinks_edge_by_edge(wanted, least):
    assert str(find(topologies(), wanted, settings=FOUND)) == least


def test_every_job_is_one():
    jobs = drawn(topologies(5, most=3), 300)
    for job in jobs:
        assert all(0 <= one.producer < one.consumer < len(job.vertices) for one in job.edges)
        assert all(one.parallelism <= one.max_parallelism <= MOST for one in job.vertices)
        for one in job.edges:
            ends = job.vertices[one.producer], job.vertices[one.consumer]
            assert one.kind is not EdgeKind.FORWARD or ends[0].parallelism == ends[1].parallelism
    assert {one.kind for job in jobs for one in job.edges} == {*EdgeKind}
    assert {len(job.vertices) for job in jobs} == {2, 3, 4, 5}
    most = {one.max_parallelism for job in jobs for one in job.vertices}
    assert {one for one in most if one & (one - 1)}, "some that are no powers of two"


def test_only_the_kinds_that_are_wanted():
    kinds = (EdgeKind.CUSTOM, EdgeKind.GLOBAL)
    assert {one.kind for job in drawn(topologies(kinds=kinds)) for one in job.edges} == {*kinds}


@pytest.mark.parametrize("wrong", [{"vertices": 1}, {"kinds": ()}, {"edges": 0}, {"most": 0}])
def test_a_job_that_cannot_be_is_refused(wrong):
    with pytest.raises(ValueError, match="a job needs two vertices and an edge") as caught:
        topologies(**wrong)
    assert repr(*wrong.values()) in str(caught.value)


@pytest.mark.parametrize("wrong", [{"most": 1}, {"longest": 0}])
def test_a_plan_that_cannot_be_is_refused(wrong):
    with pytest.raises(ValueError, match="a plan needs a parallelism of 2 and a restore"):
        rescale_plans(**wrong)
