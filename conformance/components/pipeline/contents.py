"""What a completed checkpoint holds, and what is wrong with it: each record in front of the cut must be in one place.

The cut of a checkpoint says of each split how many records its source has emitted. A count, a subtask with broadcast
state, and a sink with what it has committed have each of them once, or it is in flight on an edge of its path.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from conformance.components.pipeline.graph import STATELESS, Graph, Path
from conformance.components.pipeline.records import Records, differences, named, unordered
from conformance.driver import FailureClass
from conformance.models.words import many
from conformance.ports import (
    RECORDS_OF_A_SPLIT,
    CheckpointKind,
    InFlight,
    JobCheckpoint,
    OperatorState,
    Run,
    Runs,
    Side,
    Transaction,
    key_of,
    split_of,
)

LOST, DUPLICATED, REORDERED, CORRUPTED = (
    FailureClass.LOST, FailureClass.DUPLICATED, FailureClass.REORDERED, FailureClass.CORRUPTED
)  # fmt: skip
ALIGNED = (CheckpointKind.ALIGNED, CheckpointKind.SAVEPOINT)
_NONE, _BY_KEY, _BY_SPLIT = range(3)
"""How much of the order of a split is left: that of its records with one key, or that of all."""


class Keeper(NamedTuple):
    """A part of the job that keeps records."""

    name: str
    paths: Mapping[int, Path]
    """By split whose records it keeps, the path on which they come."""
    state: Sequence[Run]
    is_broadcast: bool = False


def keepers(graph: Graph, vertex: int, states: Sequence[OperatorState]) -> Iterator[Keeper]:
    """Yields a vertex that counts, or each subtask that has broadcast state."""
    if vertex in graph.counts:
        yield Keeper(f"vertex {vertex}", graph.paths[vertex], [run for state in states for run in state.records])
    if vertex in graph.joins:
        for subtask, state in enumerate(states):
            yield Keeper(f"subtask {subtask} of vertex {vertex}", graph.kept[vertex], state.records, True)


Wrong = Iterator[tuple[str, FailureClass, str, str]]
"""What is wrong: the property that it breaks, how, what was owed, and what was observed."""


class Contents:
    """What a checkpoint holds, in the form in which rules ask for it, and in which later checkpoints are compared."""

    __slots__ = (
        "checkpoint", "flights", "flying", "graph", "in_recovery", "offsets", "order", "prepared", "readers",
        "restored", "travelling",
    )  # fmt: skip

    def __init__(self, checkpoint: JobCheckpoint, graph: Graph, in_recovery: bool = False) -> None:
        """`in_recovery`: whether it was triggered while tasks were restoring."""
        self.checkpoint, self.graph, self.in_recovery = checkpoint, graph, in_recovery
        self.offsets = dict.fromkeys(graph.splits, 0)
        """By split, how many of its records are in front of the cut."""
        self.readers: dict[int, tuple[int, int]] = {}
        """By split, vertex and subtask of its reader."""
        for vertex in graph.sources:
            for subtask, state in enumerate(self.states(vertex)):
                self.offsets.update((one.split, one.offset) for one in state.splits)
                self.readers.update((one.split, (vertex, subtask)) for one in state.splits)
        edges = range(len(graph.edges))
        self.flights = [one for one in checkpoint.in_flight if one.edge in edges and one.records]
        self.flying: dict[int, list[Run]] = {}
        """By edge, the records in flight."""
        for flight in self.flights:
            self.flying.setdefault(flight.edge, []).extend(flight.records)
        self.travelling = frozenset(split_of(run.first) for runs in self.flying.values() for run in runs)
        """The splits of which records were in flight."""
        self.prepared: dict[int, dict[Transaction, Runs]] = {
            sink: {one.transaction: one.records for state in self.states(sink) for one in state.prepared}
            for sink in graph.sinks
        }
        self.order: dict[int, int] = {}
        """By split, how much of its order is left; a split that is not there has it all."""
        self.restored: list[InFlight] = []
        """What was in flight when the job was restored, on edges that are as they were and on which there still is
        something in flight."""

    @property
    def can_be_restored(self) -> bool:
        """Returns whether a job can begin with it: it is there, or the engine keeps it."""
        return bool(self.checkpoint.states or self.checkpoint.location)

    def states(self, vertex: int) -> Sequence[OperatorState]:
        """Returns the states of a vertex, by subtask."""
        states = self.checkpoint.states
        return states[vertex] if vertex < len(states) else ()

    def in_flight(self, paths: Mapping[int, Path]) -> Iterator[Run]:
        """Yields the records in flight on these paths."""
        for number in sorted({number for path in paths.values() for number in path}):
            yield from self.flying.get(number, ())

    def written(self, sink: int) -> Records:
        """Returns what a sink has committed in front of the cut: all that is neither in flight nor prepared."""
        paths = self.graph.paths[sink]
        made = Records.up_to(self.offsets, paths)
        made.remove(chain(self.in_flight(paths), *self.prepared[sink].values()))
        return made

    def follow(self, origin: Contents | None) -> None:
        """Notes how much of the order of splits is left, and what was restored. `origin`: the checkpoint from which the
        job was restored when this one was taken; None: it was not read."""
        if origin is None:
            self.order = dict.fromkeys(self.graph.splits, _NONE)
            return
        self.order = origin.order.copy()
        before = origin.checkpoint.parallelism
        changed = {
            vertex for vertex, many in enumerate(self.checkpoint.parallelism) if before and many != before[vertex]
        }
        for one in origin.flights:
            edge = self.graph.edges[one.edge]
            if one.edge in self.flying and edge.producer not in changed and edge.consumer not in changed:
                self.restored.append(one)
        for split in origin.travelling:
            if self.readers.get(split) != origin.readers.get(split):
                self.order[split] = _NONE
            elif changed:
                kept = _NONE if self._passes(split, changed) else _BY_KEY
                self.order[split] = min(kept, self.order.get(split, kept))

    def _passes(self, split: int, vertices: set[int]) -> bool:
        """Returns whether records of a split pass one of these vertices in front of a count. The parallelism of the
        count itself does not matter: a key has one channel from each subtask."""
        return any(
            self.graph.edges[number].producer in vertices
            for vertex in self.graph.counts
            for number in self.graph.paths[vertex].get(split, ())
        )

    # ---- what must be so ---------------------------------------------------------------------------------------------
    def wrong_splits(self, before: Contents | None) -> Wrong:
        """Yields what is wrong with the places of splits. `before`: the checkpoint before, if it was read."""
        read = (each.split for vertex in self.graph.sources for state in self.states(vertex) for each in state.splits)
        places = Counter([*self.checkpoint.unassigned, *read])
        for split in self.graph.splits:
            if (there := places[split]) != 1:
                yield ("each-split-is-in-one-place", DUPLICATED if there else LOST,
                         f"split {split} is not assigned, or with one reader", f"it is in {there} places")  # fmt: skip
        for split, offset in before.offsets.items() if before is not None else ():
            if self.offsets[split] < offset:
                yield ("offsets-never-go-back", REORDERED, f"split {split} was at {offset}, and does not go back",
                       f"it is at {self.offsets[split]}")  # fmt: skip

    def wrong(self, earlier: Mapping[int, Records], before: Contents | None, runs: bool) -> Wrong:
        """Yields what is wrong with all that it holds, but for the places of splits. `earlier`: by sink, what was
        committed in front of the cut; `before`: the checkpoint before, if it was read; `runs`: whether nothing was
        restarted since."""
        graph = self.graph
        yield from self._of_shape()
        for vertex in range(len(graph.paths)):
            for keeper in keepers(graph, vertex, self.states(vertex)):
                yield from self._of_keeper(keeper, Records())
        for sink in graph.sinks:
            prepared = [*chain(*self.prepared[sink].values())]
            yield from self._of_keeper(Keeper(f"sink {sink}", graph.paths[sink], prepared), earlier[sink])
        for vertex in graph.counts:
            yield from self._of_keys(vertex)
            states = [run for state in self.states(vertex) for run in state.records]
            for one, later in unordered(states, by_key=True):
                if self._has_order(split_of(one), graph.paths[vertex], _BY_KEY):
                    yield ("records-of-a-key-are-counted-in-order", REORDERED, f"vertex {vertex} counts records of"
                           " one split and key in their order", f"{named([later, one])}, in this order")  # fmt: skip
        yield from self._of_channels()
        yield from self._of_watermarks(before if runs else None)

    def _of_shape(self) -> Wrong:
        one, graph = self.checkpoint, self.graph
        for vertex, owed in enumerate(graph.vertices):
            if (there := len(self.states(vertex))) != owed.parallelism:
                yield ("a-checkpoint-has-the-state-of-every-subtask", LOST, f"all {owed.parallelism} subtasks of"
                         f" vertex {vertex} have state", f"{there} have")  # fmt: skip
        for number, records in self.flying.items():
            stored = f"{named(records[0])} of edge {number}"
            if one.kind in ALIGNED:
                empty = f"it is {one.kind}, and has no channel state"
                yield ("an-aligned-checkpoint-has-no-channel-state", CORRUPTED, empty, stored)
            if graph.edges[number].kind in STATELESS:
                empty = f"edge {number} is {graph.edges[number].kind}, and has no channel state"
                yield ("pointwise-and-broadcast-edges-have-no-channel-state", CORRUPTED, empty, stored)

    def _of_keeper(self, one: Keeper, there: Records) -> Wrong:
        """`there`: what it has let go of already, in front of the cut."""
        twice = there.add(one.state) + there.add(self.in_flight(one.paths))
        slugs = {LOST: "no-record-is-missing-in-a-checkpoint", DUPLICATED: "a-record-is-in-a-checkpoint-once"}
        if one.is_broadcast:
            slugs = dict.fromkeys(slugs, "broadcast-reaches-each-subtask-once")
        for how, what in differences(there, twice, Records.up_to(self.offsets, one.paths)):
            yield (slugs.get(how, "nothing-in-a-checkpoint-is-from-behind-the-cut"), how,
                   f"each record in front of the cut is in {one.name}, or in flight to it, once", what)  # fmt: skip

    def _has_order(self, split: int, paths: Mapping[int, Path], least: int) -> bool:
        """Returns whether records of a split come in their order on its path: those with one key at least, or all."""
        path = paths.get(split)
        return path is not None and self.order.get(split, _BY_SPLIT) >= least and self.graph.is_in_order(path)

    def _of_keys(self, vertex: int) -> Wrong:
        """A key is counted in one subtask. Of a run with several keys, only that of its first record is compared."""
        owners: dict[int, int] = {}
        for subtask, state in enumerate(self.states(vertex)):
            for run in state.records:
                owner = owners.setdefault(key_of(run.first), subtask)
                if owner != subtask:
                    yield ("each-key-is-counted-in-one-subtask", CORRUPTED, f"vertex {vertex} counts each key in one"
                           f" subtask, that of record {run.first} in subtask {owner}",
                           f"subtask {subtask} has counted it")  # fmt: skip

    def _of_channels(self) -> Wrong:
        """Of each channel, the input state and then the output state are in order, and what was restored is in the
        channel in which it was."""
        channels: dict[tuple[int, int, int], list[Run]] = {}
        for flight in sorted(self.flights, key=lambda one: one.side is Side.OUTPUT):
            channels.setdefault((flight.edge, flight.producer, flight.consumer), []).extend(flight.records)
        for (number, producer, consumer), stored in channels.items():
            vertex = self.graph.edges[number].producer
            for one, before in unordered(stored, by_key=vertex not in self.graph.sources):
                if self._has_order(split_of(one), self.graph.paths[vertex], _BY_SPLIT):
                    yield ("what-is-in-flight-is-stored-in-order", REORDERED, f"what is in flight on edge {number},"
                             f" from {producer} to {consumer}, is stored in order",
                             f"{named([before, one])}, in this order")  # fmt: skip
        for was in self.restored:
            there = Records()
            there.add(was.records)
            for flight in self.flights:
                elsewhere = (flight.producer, flight.consumer) != (was.producer, was.consumer)
                if flight.edge == was.edge and elsewhere and (strays := there.add(flight.records)):
                    yield ("what-is-in-flight-stays-in-its-channel", CORRUPTED, f"on edge {was.edge}, {named(strays)}"
                           f" was in the channel from {was.producer} to {was.consumer} when the job was restored",
                           f"now it is in the one from {flight.producer} to {flight.consumer}")  # fmt: skip

    def wrongly_taken(self, took: int, times_out: bool) -> Iterator[tuple[str, str]]:
        """Yields what a task says of its part that is not so: what was owed, and what was observed. `took`: the time
        from the trigger to the completion; `times_out`: whether an alignment can have timed out."""
        one, graph = self.checkpoint, self.graph
        if tuple(map(len, one.taken)) != one.parallelism:
            yield "it says of each subtask how it has taken its part", "it does not of all, or of others"
            return
        stored: Counter[tuple[int, int]] = Counter()
        for flight in self.flights:
            edge = graph.edges[flight.edge]
            at = (edge.consumer, flight.consumer) if flight.side is Side.INPUT else (edge.producer, flight.producer)
            stored[at] += sum(map(len, flight.records))
        waits = one.kind in ALIGNED or (one.kind is CheckpointKind.TIMEOUTABLE and not times_out)
        for vertex, said in enumerate(one.taken):
            for subtask, task in enumerate(said):
                at, name = (vertex, subtask), f"subtask {subtask} of vertex {vertex}"
                if task.persisted is not None and task.persisted != stored[at]:
                    yield f"it holds {many(stored[at], 'record')} in flight of {name}", f"that says {task.persisted}"
                if task.unaligned is False and stored[at]:
                    yield f"it holds records in flight of {name}, so it is unaligned there", "that says that it is not"
                if task.unaligned and waits:
                    yield f"nothing overtakes in {name}, so it is aligned there", "that says that it is unaligned"
                if task.alignment is not None and not 0 <= task.alignment <= took:
                    yield (f"it was complete {took} milliseconds after its trigger",
                           f"{name} says that it was aligned for {task.alignment}")  # fmt: skip

    def _of_watermarks(self, running: Contents | None) -> Wrong:
        """No record comes behind a watermark that is larger than its position, and no watermark goes back."""
        graph, slug = self.graph, "watermarks-are-minima-that-never-go-back"
        coming: dict[tuple[int, int], int] = {}
        for one in self.flights:
            to, first = (graph.edges[one.edge].consumer, one.consumer), min(run.first for run in one.records)
            coming[to] = min(coming.get(to, RECORDS_OF_A_SPLIT), first % RECORDS_OF_A_SPLIT)
        for vertex, kept in enumerate(graph.kept):
            paths = graph.paths[vertex] | kept
            reaching = [self.offsets[split] for split, path in paths.items() if graph.fans_out(path)]
            for subtask, state in enumerate(self.states(vertex)):
                most = min([coming.get((vertex, subtask), RECORDS_OF_A_SPLIT), *reaching])
                old = () if running is None else running.states(vertex)[subtask : subtask + 1]
                least = max([one.watermark for one in old], default=0)
                if not least <= state.watermark <= most:
                    yield (slug, CORRUPTED, f"the watermark of subtask {subtask} of vertex {vertex} was {least}, and"
                             f" a record of position {most} is still to come", f"it is {state.watermark}")  # fmt: skip
