"""The state assignment of released Flink behind its port."""

from __future__ import annotations

from random import Random

import pytest
from msgspec import convert

from conformance.bridges.jsonl.protocol import RunScenario
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
    Vertex,
    find_implementation,
)
from tests.bridges.assigning import drawn_job, meaning

pytestmark = [pytest.mark.flink, pytest.mark.xdist_group("flink")]


@pytest.fixture
def flink(flink_rescaling):
    return flink_rescaling


def job(*vertices, edges, output_on_downstream=False):
    """A job of vertices (parallelism, maximum parallelism) and edges (producer, consumer, kind)."""
    made = [Vertex(f"v{number}", *one) for number, one in enumerate(vertices)]
    return AssignmentConfig(tuple(made), tuple(Edge(*one) for one in edges), output_on_downstream)


@pytest.fixture
def assignment(flink):
    """Makes the port of a job."""
    return flink.components()["assignment"]


def told(assigned, vertex):
    """What the subtasks of a vertex get, by subtask."""
    return {one.subtask: one for one in assigned if one.vertex == vertex}


def test_a_keyed_vertex_recovers_from_the_old_owners_of_its_key_groups(assignment):
    port = assignment(job((3, 128), (7, 128), edges=[(0, 1, EdgeKind.HASH)]))
    port.hold_input(1, 3, 0, 2)
    port.hold_output(0, 1, 0, 6)
    port.rescale(1, 2)
    assigned = port.assign()
    assert port.assign() == assigned
    first, second = told(assigned, 1).values()
    channels = ((0,), (1,), (2,))
    assert first == Assigned(1, 0, (InputHandle(3, 0, 2),), gates=(RescaleMapping((0, 1, 2, 3), channels, (3,)),))
    assert second == Assigned(1, 1, (InputHandle(3, 0, 2),), gates=(RescaleMapping((3, 4, 5, 6), channels, (3,)),))
    assert told(assigned, 0)[1] == Assigned(
        0, 1, outputs=(OutputHandle(1, 0, 6),),
        partitions=(RescaleMapping((1,), ((0, 1, 2, 3), (3, 4, 5, 6)), ()),),
    )  # fmt: skip
    port.hold_input(1, 1, 0, 0)  # of the job with two subtasks
    assert told(port.assign(), 1)[1] == Assigned(1, 1, (InputHandle(1, 0, 0),))


def test_output_state_goes_downstream_if_the_release_can_do_that(flink, assignment):
    if flink.release != "2.3.0":
        with pytest.raises(PortError, match="does not recover output state on the consumers"):
            assignment(job((3, 128), (7, 128), edges=[(0, 1, EdgeKind.HASH)], output_on_downstream=True))
        return
    port = assignment(job((3, 128), (7, 128), edges=[(0, 1, EdgeKind.HASH)], output_on_downstream=True))
    port.hold_output(0, 1, 0, 6)
    port.rescale(1, 2)
    assigned = port.assign()
    assert [one.from_upstream for one in told(assigned, 1).values()] == [(), (InputHandle(6, 0, 1),)]
    assert [one.outputs for one in told(assigned, 0).values()] == [()] * 3


def test_what_cannot_be_restored_is_refused(assignment):
    refused = {}
    for name, edge, change in (
        ("forward", EdgeKind.FORWARD, lambda port: (port.rescale(0, 2), port.rescale(1, 2))),
        ("broadcast", EdgeKind.BROADCAST, lambda port: port.rescale(1, 2)),
        ("too many subtasks", EdgeKind.HASH, lambda port: port.rescale(1, 8)),
        ("another maximum", EdgeKind.HASH, lambda port: port.limit(1, 9)),
    ):
        port = assignment(job((3, 7), (3, 7), edges=[(0, 1, edge)]))
        port.hold_input(1, 0, 0, 0)
        change(port)
        with pytest.raises(PortError) as caught:
            port.assign()
        refused[name] = caught.value.kind
    state, config = ErrorKind.STATE, ErrorKind.CONFIG
    assert refused == {
        "forward": state, "broadcast": state, "too many subtasks": config, "another maximum": config
    }  # fmt: skip


def test_after_a_refusal_the_job_is_as_it_was(assignment):
    port = assignment(job((3, 7), (3, 7), edges=[(0, 1, EdgeKind.HASH)]))
    port.rescale(1, 8)
    port.hold_input(1, 2, 0, 0)
    with pytest.raises(PortError):
        port.assign()
    port.hold_input(1, 2, 0, 1)
    assert told(port.assign(), 1)[2] == Assigned(1, 2, (InputHandle(2, 0, 1),))


GRAPHS = 2_000
"""Jobs that are drawn, each with up to three restores."""


def test_random_jobs_are_assigned_as_by_the_reference(flink):
    random = Random(1)
    different, asked = [], 0
    for number in range(GRAPHS):
        config, calls = drawn_job(random, flink.release == "2.3.0")
        reference = find_implementation("reference").components()["assignment"](config)
        reply = flink.client.request(RunScenario("assignment", config, (("new", config), *calls)))
        for call, outcome in zip(calls, reply.outcomes[1:], strict=True):
            due = getattr(reference, call[0])(*call[1:])
            assert outcome.error is None, (number, config, calls, outcome.error)
            if call == ("assign",):
                asked += 1
                if meaning(due) != meaning(convert(outcome.value, tuple[Assigned, ...])):
                    different.append((number, config, calls))
    assert asked > GRAPHS
    assert different == []
