"""The relations of state assignment: answers to questions about drawn jobs are compared with each other.
Specification: assignment.md."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import hypothesis.strategies as st
from hypothesis.strategies import SearchStrategy
from msgspec.structs import replace

from conformance.components.assignment.answer import content
from conformance.ports import Assigned, AssignmentConfig, Capability, Edge, EdgeKind
from conformance.ports.key_groups import hash_of_number, key_group, owner
from conformance.relations.relation import Claims, Relations, broken, same
from conformance.relations.subject import Subject
from strategies import topologies

Channel: TypeAlias = tuple[int, int, int, int]
"""Vertex, subtask, gate and channel; or vertex, subtask, partition and subpartition."""
Keys: TypeAlias = dict[Channel, tuple[int, ...]]
"""By channel, the keys of the records in it."""
_KINDS = (EdgeKind.HASH, EdgeKind.REBALANCE, EdgeKind.SHUFFLE, EdgeKind.GLOBAL, EdgeKind.CUSTOM)
"""The kinds of edges whose state can be rescaled."""
_SELECT = (EdgeKind.HASH, EdgeKind.GLOBAL, EdgeKind.CUSTOM)
"""The kinds of edges on which a record belongs to one subtask."""
_PLACES = {Capability.OUTPUT_RECOVERED_DOWNSTREAM: True, Capability.OUTPUT_RECOVERED_UPSTREAM: False}
RELATIONS = Relations("assignment", frozenset(_PLACES))
relation = RELATIONS.relation
_MOST_VERTICES, _MOST_SUBTASKS, _MOST_EDGES, _MOST_WANTED, _MOST_HELD = 4, 5, 4, 7, 12
_KEYS = 50
"""How many keys the records of a channel are of, before those are left out that the channel does not get."""


# ---- the examples ----------------------------------------------------------------------------------------------------
class Question(NamedTuple):
    """A job, of which of its channels and subpartitions there is state, and with which parallelism it is restored."""

    job: AssignmentConfig
    inputs: tuple[Channel, ...]
    outputs: tuple[Channel, ...]
    parallelism: tuple[int, ...]


def _channels(job: AssignmentConfig, parallelism: Sequence[int], outputs: bool = False) -> list[Channel]:
    """Returns all channels of the gates of a job, or all subpartitions, of edges that are not pointwise."""
    found: list[Channel] = []
    counted: Counter[int] = Counter()
    for edge in job.edges:
        vertex, other = (edge.producer, edge.consumer) if outputs else (edge.consumer, edge.producer)
        place = counted[vertex]
        counted[vertex] += 1
        subtasks, numbers = range(parallelism[vertex]), range(parallelism[other])
        if edge.kind is EdgeKind.GLOBAL:
            subtasks, numbers = (subtasks, range(1)) if outputs else (range(1), numbers)
        found += [(vertex, subtask, place, number) for subtask in subtasks for number in numbers]
    return found


def questions(claims: Claims) -> SearchStrategy[Question]:
    """Draws a question that is not refused."""
    custom = Capability.RESCALES_FORCED_EDGES in claims
    kinds = [kind for kind in _KINDS if custom or kind is not EdgeKind.CUSTOM]
    places = [place for claim, place in _PLACES.items() if claim in claims]

    def of(job: AssignmentConfig) -> SearchStrategy[Question]:
        before = _before(job)
        held = [
            st.lists(st.sampled_from(_channels(job, before, outputs)), unique=True, max_size=_MOST_HELD).map(tuple)
            for outputs in (False, True)
        ]
        wanted = st.tuples(*[st.integers(1, min(_MOST_WANTED, one.max_parallelism)) for one in job.vertices])
        there = job if job.output_on_downstream in places else replace(job, output_on_downstream=places[0])
        return st.tuples(*held, wanted).map(lambda drawn: Question(there, *drawn))

    return topologies(_MOST_VERTICES, kinds, most=_MOST_SUBTASKS, edges=_MOST_EDGES).flatmap(of)


def _before(job: AssignmentConfig) -> tuple[int, ...]:
    return tuple([one.parallelism for one in job.vertices])


# ---- the questions ---------------------------------------------------------------------------------------------------
def _calls(question: Question) -> list[tuple[str, tuple[int, ...]]]:
    """Returns the calls that say what a checkpoint holds and how the job is rescaled."""
    return [
        *(("hold_input", channel) for channel in question.inputs),
        *(("hold_output", channel) for channel in question.outputs),
        *(("rescale", one) for one in enumerate(question.parallelism)),
    ]


def _ask(
    subject: Subject, port: Any, question: Question, calls: Iterable[tuple[str, tuple[int, ...]]] | None = None
) -> tuple[Assigned, ...]:
    for name, operands in _calls(question) if calls is None else calls:
        subject.call(getattr(port, name), *operands)
    found: tuple[Assigned, ...] = subject.call(port.assign)
    return found


def _said(assigned: Sequence[Assigned]) -> tuple[object, ...]:
    """Returns what an answer says, without the order in which it does."""
    counted = sorted(
        (one.vertex, one.subtask, *map(len, (one.inputs, one.from_upstream, one.outputs))) for one in assigned
    )
    return content(tuple(assigned)), counted


def _answer(subject: Subject, question: Question) -> tuple[object, ...]:
    """Returns what a fresh port answers."""
    port = subject.port(question.job)
    found = _said(_ask(subject, port, question))
    subject.release(port)
    return found


# ---- what changes nothing --------------------------------------------------------------------------------------------
def _with_names(claims: Claims) -> SearchStrategy[tuple[Question, list[int], bool]]:
    """Draws a question, numbers for the names of its vertices, and whether all of them have the same name instead."""
    return st.tuples(questions(claims), st.permutations(range(_MOST_VERTICES)), st.booleans())


@relation(_with_names, invariant="I-99")
def the_names_of_vertices_change_nothing(subject: Subject, example: tuple[Question, list[int], bool]) -> None:
    """If the vertices have other names, or all of them the same, the answer is the same."""
    question, order, alike = example
    vertices = [replace(one, name="" if alike else f"V{order[at]}") for at, one in enumerate(question.job.vertices)]
    renamed = question._replace(job=replace(question.job, vertices=tuple(vertices)))
    same(_answer(subject, renamed), _answer(subject, question), "what is assigned with other names")


def _with_order(claims: Claims) -> SearchStrategy[tuple[Question, list[int]]]:
    """Draws a question, and in which order it is put."""
    return questions(claims).flatmap(lambda one: st.tuples(st.just(one), st.permutations(range(len(_calls(one))))))


@relation(_with_order, invariant="I-99")
def the_order_of_calls_changes_nothing(subject: Subject, example: tuple[Question, list[int]]) -> None:
    """In whichever order it is said of what there is state and how the job is rescaled, the answer is the same."""
    question, order = example
    calls = _calls(question)
    port = subject.port(question.job)
    turned = _said(_ask(subject, port, question, [calls[at] for at in order]))
    subject.release(port)
    same(turned, _answer(subject, question), "what is assigned if the same is said in another order")


@relation(questions, invariant="I-99")
def earlier_questions_change_nothing(subject: Subject, question: Question) -> None:
    """If the same is asked again, at once or after another restore that has led back to the job as it was, the answer
    is the same."""
    asked = _answer(subject, question)
    port = subject.port(question.job)
    _ask(subject, port, question)
    same(_said(subject.call(port.assign)), asked, "what is assigned if the same is asked twice")
    there = [tuple(_channels(question.job, question.parallelism, outputs)) for outputs in (False, True)]
    _ask(subject, port, Question(question.job, there[0], there[1], _before(question.job)))
    same(_said(_ask(subject, port, question)), asked, "what is assigned if the job was restored before")


# ---- where records go ------------------------------------------------------------------------------------------------
def _selects(kind: EdgeKind, key: int, most: int, parallelism: int) -> int:
    """Returns the subtask that the partitioner of an edge selects: by key, the first, or as a user says who counts
    nothing."""
    if kind is EdgeKind.HASH:
        return owner(key_group(hash_of_number(key), most), most, parallelism)
    return 0 if kind is EdgeKind.GLOBAL else key % parallelism


def _gates(job: AssignmentConfig) -> list[list[Edge]]:
    return [[edge for edge in job.edges if edge.consumer == vertex] for vertex in range(len(job.vertices))]


def _sent(question: Question) -> Keys:
    """Returns the records that are in flight: each key at most once in a gate, and where its edge sends it."""
    job, gates, before = question.job, _gates(question.job), _before(question.job)
    found: Keys = {}
    for number, (vertex, subtask, gate, channel) in enumerate(question.inputs):
        kind, most = gates[vertex][gate].kind, job.vertices[vertex].max_parallelism
        keys = range(number * _KEYS, (number + 1) * _KEYS)
        found[vertex, subtask, gate, channel] = tuple(
            [key for key in keys if kind not in _SELECT or _selects(kind, key, most, before[vertex]) == subtask]
        )
    return found


def _restored(question: Question, assigned: Sequence[Assigned], keys: Mapping[Channel, tuple[int, ...]]) -> Keys:
    """Returns the records of each channel after a restore: what a subtask recovers that is not ambiguous, and of what
    is ambiguous the records that the partitioner sends to it."""
    gates, vertices = _gates(question.job), question.job.vertices
    found: Keys = {}
    for one in assigned:
        for handle in one.inputs:
            place = one.vertex, handle.old_subtask, handle.gate, handle.old_channel
            if place not in keys:
                broken(f"there is no state of {_words(place)}, and subtask {one.subtask} recovers it")
            mapping = one.gates[handle.gate] if one.gates else None
            channel, kept = handle.old_channel, keys[place]
            if mapping is not None:
                channels = [new for new, olds in enumerate(mapping.channels) if channel in olds]
                if handle.old_subtask not in mapping.old_subtasks or len(channels) != 1:
                    broken(
                        f"subtask {one.subtask} recovers {_words(place)}, and its mapping does not say so: {mapping}"
                    )
                (channel,) = channels
                if handle.old_subtask in mapping.ambiguous:
                    kind, most = gates[one.vertex][handle.gate].kind, vertices[one.vertex].max_parallelism
                    now = question.parallelism[one.vertex]
                    kept = tuple([key for key in kept if _selects(kind, key, most, now) == one.subtask])
            elif handle.old_subtask != one.subtask:
                broken(f"nothing is mapped, and subtask {one.subtask} recovers {_words(place)}")
            at = one.vertex, one.subtask, handle.gate, channel
            found[at] = found.get(at, ()) + kept
    return found


def _words(place: Channel) -> str:
    vertex, subtask, gate, channel = place
    return f"channel {channel} of gate {gate} of old subtask {subtask} of vertex {vertex}"


def _by_gate(keys: Mapping[Channel, tuple[int, ...]]) -> Counter[tuple[int, int, int]]:
    """Returns how often each gate has each key."""
    return Counter([(vertex, gate, key) for (vertex, _, gate, _), some in keys.items() for key in some])


def _restore(subject: Subject, port: Any, question: Question, keys: Keys) -> Keys:
    """Returns the records after a restore. Raises: AssertionError if one is lost, doubled or with another subtask than
    its edge would send it to."""
    found = _restored(question, _ask(subject, port, question), keys)
    owed, kept = _by_gate(keys), _by_gate(found)
    for what, one in ("lost", owed - kept), ("doubled", kept - owed):
        for vertex, gate, key in one:
            broken(f"the record with key {key} of gate {gate} of vertex {vertex} is {what}")
    gates = _gates(question.job)
    for (vertex, subtask, gate, _), some in found.items():
        kind, most = gates[vertex][gate].kind, question.job.vertices[vertex].max_parallelism
        for key in some if kind in _SELECT else ():
            if (wanted := _selects(kind, key, most, question.parallelism[vertex])) != subtask:
                where = f"gate {gate} of vertex {vertex}"
                broken(f"the record with key {key} of {where} belongs to subtask {wanted}; subtask {subtask} has it")
    return found


@relation(questions, invariant="I-77")
def all_new_subtasks_together_keep_each_record_once(subject: Subject, question: Question) -> None:
    """The new subtasks together recover all records of the old ones, none of them twice, and each the ones that the
    edge sends to it."""
    asked = question._replace(outputs=())
    _restore(subject, subject.port(question.job), asked, _sent(question))


@relation(questions, invariant="I-77")
def a_rescale_and_its_reverse_keep_each_record(subject: Subject, question: Question) -> None:
    """After a restore with another parallelism, and a second one with that before, each record is there once, where the
    edge sends it."""
    port = subject.port(question.job)
    there = _restore(subject, port, question._replace(outputs=()), _sent(question))
    back = question._replace(inputs=tuple(there), outputs=(), parallelism=_before(question.job))
    _restore(subject, port, back, there)
