"""How long the reference needs to assign the state of 1,000 subtasks that each have 1,000 channels. No time is
asserted."""

from __future__ import annotations

from time import process_time

import pytest

from conformance.ports import AssignmentConfig, Edge, EdgeKind, Vertex
from reference_impl.rescale.assignment import Assignment

pytestmark = pytest.mark.benchmark
SUBTASKS = 1000
MOST = 4096


@pytest.mark.parametrize(("producers", "consumers"), [(SUBTASKS, SUBTASKS - 1), (SUBTASKS - 1, SUBTASKS)])
@pytest.mark.parametrize("outputs", [False, True], ids=["input state", "output state"])
def test_assign(producers, consumers, outputs, capsys):
    """A keyed edge with state of every channel, one end of which is scaled down by one subtask."""
    vertices = Vertex("source", SUBTASKS, MOST), Vertex("sink", SUBTASKS, MOST)
    one = Assignment(AssignmentConfig(vertices, (Edge(0, 1, EdgeKind.HASH),)))
    began = process_time()
    for subtask in range(SUBTASKS):
        for channel in range(SUBTASKS):
            if outputs:
                one.hold_output(0, subtask, 0, channel)
            else:
                one.hold_input(1, subtask, 0, channel)
    one.rescale(0, producers)
    one.rescale(1, consumers)
    held = process_time()
    assigned = one.assign()
    ended = process_time()
    handles = sum([len(subtask.inputs) + len(subtask.from_upstream) for subtask in assigned])
    assert handles >= SUBTASKS**2
    with capsys.disabled():
        print(
            f"\n{SUBTASKS:,} x {SUBTASKS:,} to {producers:,} x {consumers:,}: {handles:,} handles assigned in"
            f" {ended - held:.2f} CPU s, held in {held - began:.2f} CPU s"
        )
