"""What an implementation has assigned, by edge: who recovers what, and what is mapped to what."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from conformance.components.assignment.config import Wire
from conformance.components.assignment.plan import Held, Plan
from conformance.ports import Assigned, InputHandle, OutputHandle, RescaleMapping

Takers = dict[tuple[int, int], list[int]]
"""By handle, given as its old subtask and its old channel or subpartition: the new subtasks that recover it."""
Mappings = tuple[RescaleMapping | None, ...]


class Ends:
    """What is mapped at one end of an edge."""

    __slots__ = ("is_given", "mappings", "recoverers")

    def __init__(self, mappings: Sequence[RescaleMapping | None], old_parallelism: int, is_given: bool) -> None:
        self.mappings = mappings
        """By new subtask. None: it recovers nothing here."""
        self.is_given = is_given
        """Whether anything was mapped here. If not, each subtask recovers what the old one with its number had."""
        self.recoverers: list[list[int]] = [[] for _ in range(old_parallelism)]
        """By old subtask, the new ones that recover from it."""
        for new, one in enumerate(mappings):
            if one is not None:
                for old in one.old_subtasks:
                    if 0 <= old < old_parallelism:
                        self.recoverers[old].append(new)


@dataclass(slots=True, eq=False)
class Recovered:
    """State that the checkpoint holds, and who recovers it."""

    wire: Wire
    place: str
    """The field of `Assigned` in which it must be."""
    key: tuple[int, int]
    """Its old subtask, and its old channel or subpartition."""
    takers: list[int]
    """The new subtasks that recover it."""
    ends: Ends
    """What is mapped where it must be recovered."""


class Answer:
    """An answer, as the rules read it. Nothing in it needs to be right."""

    __slots__ = (
        "consumers",
        "mapped",
        "misplaced",
        "of",
        "plan",
        "producers",
        "recovered",
        "shared",
        "strays",
        "suspect",
        "unheld",
    )

    def __init__(self, plan: Plan, value: tuple[Assigned, ...], output_on_downstream: bool) -> None:
        self.plan = plan
        """The question."""
        wanted, old = plan.wanted, plan.parallelism
        self.of: list[list[Assigned | None]] = [[None] * parallelism for parallelism in wanted]
        """By vertex and new subtask, what it was assigned."""
        self.strays: list[tuple[Assigned, str]] = []
        """What was assigned to subtasks that the job does not have, or assigned something before, each with which."""
        self.mapped: list[Assigned] = []
        """The subtasks of which a gate or a partition is mapped."""
        found: list[Assigned] = []
        for one in value:
            vertex, subtask = one.vertex, one.subtask
            if not (0 <= vertex < len(wanted) and 0 <= subtask < wanted[vertex]):
                self.strays.append((one, "which the job does not have"))
            elif self.of[vertex][subtask] is not None:
                self.strays.append((one, "a second time"))
            else:
                self.of[vertex][subtask] = one
                found.append(one)
                if one.gates or one.partitions:
                    self.mapped.append(one)
        self.consumers: dict[int, Ends] = {}
        """By edge with state, what is mapped at its consumer."""
        self.producers: dict[int, Ends] = {}
        """By edge with state, what is mapped at its producer."""
        for wire in plan.with_state:
            producer, consumer = wire.producer, wire.consumer
            gates = [None if one is None else one.gates for one in self.of[consumer]]
            self.consumers[wire.number] = _ends(gates, wire.gate, old[consumer], (old[producer], wanted[producer]))
            partitions = [None if one is None else one.partitions for one in self.of[producer]]
            self.producers[wire.number] = _ends(
                partitions, wire.partition, old[producer], (old[consumer], wanted[consumer])
            )
        inputs, outputs = _untaken(plan.inputs), _untaken(plan.outputs)
        from_upstream: dict[int, Takers] = {
            edge: {(consumer, producer): [] for (producer, consumer) in takers} for edge, takers in outputs.items()
        }
        self.unheld: list[tuple[Assigned, InputHandle | OutputHandle]] = []
        """The handles of which there is no state, each with who recovers it."""
        graph = plan.graph
        for one in found:
            vertex = one.vertex
            for input_ in one.inputs:
                key = input_.old_subtask, input_.old_channel
                self._note(one, input_, inputs, graph.gates[vertex], input_.gate, key)
            for input_ in one.from_upstream:
                key = input_.old_subtask, input_.old_channel
                self._note(one, input_, from_upstream, graph.gates[vertex], input_.gate, key)
            for output in one.outputs:
                key = output.old_subtask, output.old_subpartition
                self._note(one, output, outputs, graph.partitions[vertex], output.partition, key)
        right, wrong = (from_upstream, outputs) if output_on_downstream else (outputs, from_upstream)
        places = ("from_upstream", "outputs") if output_on_downstream else ("outputs", "from_upstream")
        end, other = (self.consumers, self.producers) if output_on_downstream else (self.producers, self.consumers)
        self.recovered = [
            *self._all(inputs, "inputs", self.consumers), *self._all(right, places[0], end)
        ]  # fmt: skip
        """All state, where it must be recovered."""
        self.misplaced = [one for one in self._all(wrong, places[1], other) if one.takers]
        """Output state that was recovered at the other end of its edge."""
        self.shared = [one for one in self.recovered if len(one.takers) > 1]
        """State that several subtasks recover, or one of them several times."""
        self.suspect = [
            one for one in self.recovered if not one.takers or one.takers != one.ends.recoverers[one.key[0]]
        ]
        """State that others recover than those whose mapping says so, or nobody, or that is in another order."""

    def _note(
        self, one: Assigned, handle: InputHandle | OutputHandle, taken: dict[int, Takers], edges: tuple[int, ...],
        at: int, key: tuple[int, int],
    ) -> None:  # fmt: skip
        takers = taken.get(edges[at]) if 0 <= at < len(edges) else None
        if takers is None or key not in takers:
            self.unheld.append((one, handle))
        else:
            takers[key].append(one.subtask)

    def _all(self, taken: dict[int, Takers], place: str, ends: dict[int, Ends]) -> Iterator[Recovered]:
        wires = self.plan.graph.wires
        for edge, by_handle in taken.items():
            wire, mapped = wires[edge], ends[edge]
            for key, takers in by_handle.items():
                yield Recovered(wire, place, key, takers, mapped)


def _untaken(held: Held) -> dict[int, Takers]:
    return {
        edge: {(old, number): [] for old, numbers in by_old.items() for number in numbers}
        for edge, by_old in held.items()
    }  # fmt: skip


def _ends(given: Sequence[Mappings | None], place: int, old: int, others: tuple[int, int]) -> Ends:
    """Returns what is mapped at one end of an edge. `given`: what each new subtask said of all gates or partitions;
    None: it said nothing. `old`: how many old subtasks this end has; `others`: how many the other end had and has."""
    if not any(given) and None not in given:
        return _unmapped_ends(old, len(given), others)
    found = []
    for new, mappings in enumerate(given):
        one = None
        if mappings:
            one = mappings[place] if place < len(mappings) else None
        elif mappings is not None and new < old:
            one = _unmapped(new, others)
        found.append(one if one is not None and one.old_subtasks else None)
    return Ends(found, old, is_given=True)


@lru_cache(maxsize=256)
def _unmapped_ends(old: int, new: int, others: tuple[int, int]) -> Ends:
    return Ends([_unmapped(at, others) if at < old else None for at in range(new)], old, is_given=False)


@lru_cache(maxsize=1024)
def _unmapped(new: int, others: tuple[int, int]) -> RescaleMapping:
    before, now = others
    return RescaleMapping((new,), tuple([(at,) if at < before else () for at in range(now)]), ())


def content(value: tuple[Assigned, ...]) -> dict[tuple[int, int], tuple[object, ...]]:
    """Returns what an answer says, without the order in which it says it."""
    return {
        (one.vertex, one.subtask): (
            frozenset(one.inputs), frozenset(one.from_upstream), frozenset(one.outputs),
            _unordered(one.gates), _unordered(one.partitions),
        )
        for one in value
    }  # fmt: skip


def _unordered(mappings: Mappings) -> tuple[object, ...]:
    return tuple(
        [
            None
            if one is None
            else (frozenset(one.old_subtasks), tuple(map(frozenset, one.channels)), frozenset(one.ambiguous))
            for one in mappings
        ]
    )
