"""What must not change what state assignment returns, and what no rescale may lose, on drawn jobs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import hypothesis.strategies as st
import msgspec
import pytest
from hypothesis import given, settings

from conformance.components.assignment.answer import content
from conformance.ports import Assigned, AssignmentConfig, EdgeKind, Implementation, find_implementation, legal_variants
from conformance.ports.key_groups import hash_of_number, key_group, owner
from strategies import topologies

KINDS = (EdgeKind.HASH, EdgeKind.REBALANCE, EdgeKind.SHUFFLE, EdgeKind.GLOBAL, EdgeKind.CUSTOM)
IMPLEMENTATIONS = {
    "reference": find_implementation("reference"),
    **{one.id: one.build() for one in legal_variants() if one.component == "assignment"},
}
EVERY = pytest.mark.parametrize("implementation", IMPLEMENTATIONS.values(), ids=IMPLEMENTATIONS)

Channel = tuple[int, int, int, int]
"""Vertex, subtask, gate and channel."""


@dataclass(frozen=True)
class Question:
    """A job, of which of its channels and subpartitions there is state, and with which parallelism it is restored."""

    job: AssignmentConfig
    inputs: tuple[Channel, ...]
    outputs: tuple[Channel, ...]
    parallelism: tuple[int, ...]


def channels(job: AssignmentConfig, parallelism: Sequence[int], outputs: bool = False) -> list[Channel]:
    """All channels of the gates of a job, or all subpartitions, of edges that are not pointwise."""
    found: list[Channel] = []
    counted: Counter[int] = Counter()
    for edge in job.edges:
        vertex, other = (edge.producer, edge.consumer) if outputs else (edge.consumer, edge.producer)
        place = counted[vertex]
        counted[vertex] += 1
        first = edge.kind is EdgeKind.GLOBAL
        subtasks, numbers = range(parallelism[vertex]), range(parallelism[other])
        if first:
            subtasks, numbers = (subtasks, range(1)) if outputs else (range(1), numbers)
        found += [(vertex, subtask, place, number) for subtask in subtasks for number in numbers]
    return found


@st.composite
def questions(draw: st.DrawFn) -> Question:
    """Draws a question that is not refused."""
    job = draw(topologies(kinds=KINDS, most=5, edges=4))
    before = [one.parallelism for one in job.vertices]
    inputs = draw(st.lists(st.sampled_from(channels(job, before)), unique=True, max_size=12))
    outputs = draw(st.lists(st.sampled_from(channels(job, before, outputs=True)), unique=True, max_size=12))
    wanted = draw(st.tuples(*[st.integers(1, min(7, one.max_parallelism)) for one in job.vertices]))
    return Question(job, tuple(inputs), tuple(outputs), wanted)


def port_of(implementation: Implementation, question: Question) -> Any:
    return implementation.components()["assignment"](question.job)


def collect(port: Any, question: Question) -> None:
    for channel in question.inputs:
        port.hold_input(*channel)
    for channel in question.outputs:
        port.hold_output(*channel)
    for vertex, parallelism in enumerate(question.parallelism):
        port.rescale(vertex, parallelism)


def ask(implementation: Implementation, question: Question) -> tuple[Assigned, ...]:
    port = port_of(implementation, question)
    collect(port, question)
    found: tuple[Assigned, ...] = port.assign()
    return found


@EVERY
@settings(max_examples=60, deadline=None)
@given(question=questions())
def test_names_and_order_and_earlier_questions_change_nothing(implementation, question):
    """assignment.md A10."""
    asked = content(ask(implementation, question))
    vertices = tuple([msgspec.structs.replace(one, name=f"{one.name}!") for one in question.job.vertices])
    renamed = replace(question, job=msgspec.structs.replace(question.job, vertices=vertices))
    reversed_ = replace(question, inputs=question.inputs[::-1], outputs=question.outputs[::-1])
    assert content(ask(implementation, renamed)) == asked
    assert content(ask(implementation, reversed_)) == asked
    port = port_of(implementation, question)
    collect(port, question)
    assert content(port.assign()) == asked
    assert content(port.assign()) == asked
    unchanged = [(vertex, one.parallelism) for vertex, one in enumerate(question.job.vertices)]
    for vertex, parallelism in unchanged:
        port.rescale(vertex, parallelism)  # the next restore goes back, with nothing in flight
    port.assign()
    collect(port, question)
    assert content(port.assign()) == asked


# ---- where records go ------------------------------------------------------------------------------------------------
Records = dict[Channel, tuple[int, ...]]
"""By channel, the keys of the records in it."""


def selects(kind: EdgeKind, key: int, most: int, parallelism: int) -> int:
    """The subtask that the partitioner of an edge selects: by key, the first, or as a user says who counts nothing."""
    if kind is EdgeKind.HASH:
        return owner(key_group(hash_of_number(key), most), most, parallelism)
    return 0 if kind is EdgeKind.GLOBAL else key % parallelism


def restored(question: Question, assigned: Sequence[Assigned], records: Mapping[Channel, tuple[int, ...]]) -> Records:
    """The records of each channel after a restore: what a subtask recovers that is not ambiguous, and of what is
    ambiguous the records that the partitioner sends to it."""
    job, parallelism = question.job, question.parallelism
    gates = [[edge for edge in job.edges if edge.consumer == vertex] for vertex in range(len(job.vertices))]
    found: Records = {}
    for one in assigned:
        for handle in one.inputs:
            kind = gates[one.vertex][handle.gate].kind
            mapping = one.gates[handle.gate] if one.gates else None
            channel, kept = handle.old_channel, records[one.vertex, handle.old_subtask, handle.gate, handle.old_channel]
            if mapping is not None:
                assert handle.old_subtask in mapping.old_subtasks
                (channel,) = [new for new, olds in enumerate(mapping.channels) if handle.old_channel in olds]
                if handle.old_subtask in mapping.ambiguous:
                    most, new = job.vertices[one.vertex].max_parallelism, parallelism[one.vertex]
                    kept = tuple([key for key in kept if selects(kind, key, most, new) == one.subtask])
            else:
                assert handle.old_subtask == one.subtask
            at = one.vertex, one.subtask, handle.gate, channel
            found[at] = found.get(at, ()) + kept
    return found


def by_gate(records: Mapping[Channel, tuple[int, ...]]) -> Counter[tuple[int, int, int]]:
    """How often each gate has each key."""
    return Counter([(vertex, gate, key) for (vertex, _, gate, _), keys in records.items() for key in keys])


@EVERY
@settings(max_examples=60, deadline=None)
@given(question=questions(), back=st.booleans())
def test_records_are_neither_lost_nor_doubled_and_reach_their_owners(implementation, question, back):
    """assignment.md A4, A7, A12 to A15: over one restore, and over another one back to where the job was."""
    job = question.job
    before = [one.parallelism for one in job.vertices]
    gates = [[edge for edge in job.edges if edge.consumer == vertex] for vertex in range(len(job.vertices))]
    records: Records = {}
    for number, (vertex, subtask, gate, channel) in enumerate(question.inputs):
        kind, most = gates[vertex][gate].kind, job.vertices[vertex].max_parallelism
        keys = tuple(range(number * 50, number * 50 + 50))
        if kind in (EdgeKind.HASH, EdgeKind.GLOBAL, EdgeKind.CUSTOM):
            keys = tuple([key for key in keys if selects(kind, key, most, before[vertex]) == subtask])
        records[vertex, subtask, gate, channel] = keys
    owed = by_gate(records)
    port = port_of(implementation, question)
    question = replace(question, outputs=())
    for wanted in (question.parallelism, tuple(before)) if back else (question.parallelism,):
        now = replace(question, inputs=tuple(records), parallelism=wanted)
        collect(port, now)
        records = restored(now, port.assign(), records)
        assert by_gate(records) == owed
        for (vertex, subtask, gate, _), keys in records.items():
            kind, most = gates[vertex][gate].kind, job.vertices[vertex].max_parallelism
            if kind in (EdgeKind.HASH, EdgeKind.GLOBAL, EdgeKind.CUSTOM):
                assert {selects(kind, key, most, wanted[vertex]) for key in keys} <= {subtask}
