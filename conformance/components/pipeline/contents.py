"""What is wrong with the contents of a completed checkpoint: each record in front of the cut must be in one place.

The cut of a checkpoint says of each split how many records its source has emitted. Between the source and each vertex
with state, a record is in flight on one edge of its path, or it has arrived.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from conformance.components.pipeline.graph import STATELESS, Graph, Path
from conformance.components.pipeline.records import RecordSet
from conformance.driver import Broken, FailureClass
from conformance.models.records import in_words
from conformance.ports import (
    KEYS,
    CheckpointKind,
    InFlight,
    JobCheckpoint,
    OperatorState,
    Runs,
    Side,
    Transaction,
    key_of,
    record,
    records_of,
    split_of,
)

LOST, DUPLICATED, REORDERED, CORRUPTED = (
    FailureClass.LOST, FailureClass.DUPLICATED, FailureClass.REORDERED, FailureClass.CORRUPTED
)  # fmt: skip
_ALIGNED = (CheckpointKind.ALIGNED, CheckpointKind.SAVEPOINT)
_MOST_NAMED = 6


def named(records: Iterable[int]) -> str:
    """Names a few records."""
    known = sorted(records)
    rest = f" and {len(known) - _MOST_NAMED} more" if len(known) > _MOST_NAMED else ""
    return in_words(known[:_MOST_NAMED]) + rest


class Arrived:
    """The records that have arrived in a vertex, by split and key, in the order of their arrival."""

    __slots__ = ("order", "records", "twice", "unordered")

    def __init__(self, states: Iterable[Runs]) -> None:
        self.records = RecordSet()
        self.twice: list[int] = []
        """Those that are there twice."""
        self.unordered: list[tuple[int, int]] = []
        """Each record in front of which, by split and key, a later one was counted, with that one."""
        last: dict[tuple[int, int], int] = {}
        ends: dict[tuple[int, int], int] = {}
        loose: list[int] = []
        for runs in states:
            for run in runs:
                first = run.first
                lane = split_of(first), key_of(first)
                if run.step == KEYS or run.first == run.last:
                    before = last.get(lane, -1)
                    if first <= before:
                        self.unordered.append((first, before))
                    last[lane] = run.last
                    if first == ends.get(lane, _begin(*lane)):
                        ends[lane] = run.last + KEYS
                        continue
                    loose.extend(run)
                    continue
                for one in run:
                    lane = split_of(one), key_of(one)
                    if one <= last.get(lane, -1):
                        self.unordered.append((one, last[lane]))
                    last[lane] = one
                    loose.append(one)
        self._gather(ends, loose)

    def _gather(self, ends: Mapping[tuple[int, int], int], loose: Iterable[int]) -> None:
        """Makes one set of what has arrived without a gap, by split and key, and of all others."""
        by_split: dict[int, list[tuple[int, int]]] = {}
        for (split, key), end in ends.items():
            by_split.setdefault(split, []).append((end, key))
        for split, some in by_split.items():
            known = {key for _, key in some}
            first = min([end for end, _ in some] + [_begin(split, key) for key in range(KEYS) if key not in known])
            begin = record(split, 0)
            self.records.front[split] = first
            self.records.size += first - begin
            for end, key in some:
                at = first + (key - key_of(first)) % KEYS
                for one in range(at, end, KEYS):
                    self.records.add(one)
        for one in loose:
            if not self.records.add(one):
                self.twice.append(one)


def _begin(split: int, key: int) -> int:
    """Returns the first record of a split that has this key."""
    first = record(split, 0)
    return first + (key - key_of(first)) % KEYS


class Lineage(NamedTuple):
    """What a checkpoint inherits from the one that its job was restored from."""

    offsets: Mapping[int, int]
    readers: Mapping[int, tuple[int, int]]
    """By split, vertex and subtask of its reader."""
    parallelism: tuple[int, ...]
    travelling: frozenset[int]
    """The splits of which records were in flight."""
    disordered: frozenset[int]
    """The splits whose records may come out of order."""
    stirred: frozenset[int]
    """The splits whose records may be out of order within a channel."""


BEGINNING = Lineage({}, {}, (), frozenset(), frozenset(), frozenset())


class Contents:
    """What a checkpoint holds, in the form in which rules ask for it, and what is wrong with it."""

    __slots__ = (
        "broken", "checkpoint", "disordered", "flying", "graph", "lineage", "offsets", "places", "prepared", "readers",
        "stirred",
    )  # fmt: skip

    def __init__(self, checkpoint: JobCheckpoint, graph: Graph, origin: Lineage | None) -> None:
        """`origin`: of the checkpoint from which the job was restored when this one was taken; None: not known."""
        self.checkpoint = checkpoint
        self.graph = graph
        self.broken: dict[str, Broken] = {}
        """By what it is about, what is wrong."""
        self.offsets: dict[int, int] = {}
        self.readers: dict[int, tuple[int, int]] = {}
        self.places: dict[int, int] = dict.fromkeys(checkpoint.unassigned, 1)
        """By split, in how many places it is."""
        for vertex in graph.sources:
            for subtask, state in enumerate(self.states(vertex)):
                for split, offset in ((one.split, one.offset) for one in state.splits):
                    self.offsets[split] = offset
                    self.readers[split] = vertex, subtask
                    self.places[split] = self.places.get(split, 0) + 1
        self.flying: dict[int, set[int]] = {}
        """By edge, the records in flight."""
        for flight in checkpoint.in_flight:
            there = self.flying.setdefault(flight.edge, set())
            for one in records_of(flight.records):
                if one in there:
                    self.say("in flight twice", DUPLICATED, f"{in_words((one,))} is in flight on an edge once",
                             f"it is stored twice on edge {flight.edge}")  # fmt: skip
                there.add(one)
        self.prepared: dict[int, dict[Transaction, Runs]] = {
            sink: {one.transaction: one.records for state in self.states(sink) for one in state.prepared}
            for sink in graph.sinks
        }
        self.lineage = self._lineage(origin)

    def states(self, vertex: int) -> Sequence[OperatorState]:
        """Returns the states of a vertex, by subtask."""
        states = self.checkpoint.states
        return states[vertex] if vertex < len(states) else ()

    def say(self, about: str, how: FailureClass, owed: str, observed: str) -> None:
        """Notes what is wrong, if nothing of the kind was noted before."""
        self.broken.setdefault(about, Broken(how, f"checkpoint {self.checkpoint.checkpoint}: {owed}", observed))

    def offset(self, split: int) -> int:
        """Returns how many records of a split were emitted."""
        return self.offsets.get(split, 0)

    def in_flight(self, path: Path) -> Iterator[int]:
        """Yields the records in flight on a path."""
        for number in path:
            yield from self.flying.get(number, ())

    def _lineage(self, origin: Lineage | None) -> Lineage:
        every = frozenset(self.graph.splits)
        travelling = frozenset(split_of(one) for some in self.flying.values() for one in some)
        parallelism = self.checkpoint.parallelism
        if origin is None:
            return Lineage(self.offsets, self.readers, parallelism, travelling, every, every)
        moved = frozenset(
            split
            for split in origin.travelling
            if split not in self.readers or self.readers[split] != origin.readers.get(split)
        )
        rescaled: frozenset[int] = frozenset()
        stirred = moved
        if origin.parallelism and origin.parallelism != parallelism:
            stirred = origin.travelling
            changed = {at for at, one in enumerate(parallelism) if one != origin.parallelism[at]}
            rescaled = frozenset(split for split in origin.travelling if self._crosses(split, changed))
        return Lineage(self.offsets, self.readers, parallelism, travelling, origin.disordered | moved | rescaled,
                       origin.stirred | stirred)  # fmt: skip

    def _crosses(self, split: int, changed: set[int]) -> bool:
        """Returns whether, in front of a count, records of a split pass a vertex whose parallelism has changed. That of
        the count itself does not matter: a key has one channel from each subtask."""
        edges = self.graph.edges
        return any(
            edges[number].producer in changed
            for vertex in self.graph.counts
            for number in self.graph.paths[vertex].get(split, ())
        )

    # ---- what must be so ---------------------------------------------------------------------------------------------
    def check(self, committed: Mapping[int, RecordSet], newer: Mapping[int, set[int]]) -> None:
        """Notes what is wrong. `committed`: by sink, what is committed; `newer`: those of these records that were only
        written behind the cut."""
        self._check_places()
        self._check_shape()
        arrived = {vertex: Arrived(state.records for state in self.states(vertex)) for vertex in self.graph.counts}
        for vertex, one in arrived.items():
            self._check_arrived(vertex, self.graph.paths[vertex], one.records, one.twice)
            self._check_order(vertex, one)
        for vertex in self.graph.joins:
            for subtask, state in enumerate(self.states(vertex)):
                got = Arrived([state.records])
                self._check_arrived(vertex, self.graph.kept[vertex], got.records, got.twice, f", subtask {subtask}")
        for sink in self.graph.sinks:
            self._check_sink(sink, committed[sink], newer[sink])
        self._check_channels()

    def _check_places(self) -> None:
        for split in self.graph.splits:
            there = self.places.get(split, 0)
            if there != 1:
                how = DUPLICATED if there else LOST
                self.say("places", how, f"split {split} must have one place: not assigned, or with one reader",
                         f"it has {there}")  # fmt: skip

    def _check_shape(self) -> None:
        one = self.checkpoint
        parallelism = self.graph.config.vertices
        for vertex, states in enumerate(one.states):
            if len(states) != parallelism[vertex].parallelism:
                self.say("final", LOST, f"all {parallelism[vertex].parallelism} subtasks of vertex {vertex} have state",
                         f"it has the state of {len(states)}")  # fmt: skip
        if one.in_flight and one.kind in _ALIGNED:
            first = one.in_flight[0]
            self.say("aligned", CORRUPTED, f"a checkpoint of the kind {one.kind} has no channel state",
                     f"it has {named(records_of(first.records))} of edge {first.edge}")  # fmt: skip
        for flight in one.in_flight:
            if self.graph.edges[flight.edge].kind in STATELESS:
                kind = self.graph.edges[flight.edge].kind
                self.say("stateless", CORRUPTED, f"edge {flight.edge} is of the kind {kind}: it has no channel state",
                         f"it has {named(records_of(flight.records))}")  # fmt: skip

    def _check_arrived(
        self, vertex: int, paths: Mapping[int, Path], arrived: RecordSet, twice: Sequence[int], where: str = ""
    ) -> None:
        """Each record in front of the cut is in flight to a vertex, or has arrived there."""
        about = f"vertex {vertex}{where}"
        kind = "broadcast" if where else "arrived"
        if twice:
            self.say(f"{kind} twice", DUPLICATED, f"a record arrives in {about} once", f"{named(twice)} arrived twice")
        behind = [one for one in arrived.behind if self._is_behind(one)] + [
            first - 1 for split, first in arrived.front.items() if first > record(split, self.offset(split))
        ]
        if behind:
            self.say("from behind", CORRUPTED, "nothing is there that the sources have not emitted in front of the cut",
                     f"{named(behind)} arrived in {about}")  # fmt: skip
        size = 0
        for split, path in paths.items():
            size += self.offset(split)
            flying = {one for one in self.in_flight(path) if split_of(one) == split}
            if both := [one for one in flying if one in arrived]:
                self.say("arrived twice", DUPLICATED, f"a record is in flight, or has arrived in {about}",
                         f"{named(both)}: both")  # fmt: skip
            missing = [one for one in arrived.missing(split, self.offset(split)) if one not in flying]
            if missing:
                how = f"{kind} lost" if where else "lost"
                self.say(how, LOST, f"each record that was emitted has arrived in {about}, or is in flight to it",
                         f"{named(missing)}: neither")  # fmt: skip

    def _is_behind(self, one: int) -> bool:
        split = split_of(one)
        return one >= record(split, self.offset(split))

    def _check_order(self, vertex: int, arrived: Arrived) -> None:
        for one, before in arrived.unordered:
            split = split_of(one)
            path = self.graph.paths[vertex].get(split)
            if path and split not in self.lineage.disordered and self.graph.is_in_order(path):
                self.say("order", REORDERED, f"vertex {vertex} counts records of one split and key in their order",
                         f"{in_words((one,))} was counted after {in_words((before,))}")  # fmt: skip

    def _check_sink(self, sink: int, committed: RecordSet, newer: set[int]) -> None:
        prepared: set[int] = set()
        for runs in self.prepared[sink].values():
            for one in records_of(runs):
                if one in prepared:
                    self.say("arrived twice", DUPLICATED, f"sink {sink} writes each record once",
                             f"{in_words((one,))} is prepared twice")  # fmt: skip
                prepared.add(one)
        behind = [one for one in prepared if self._is_behind(one)]
        if behind:
            self.say("from behind", CORRUPTED, "nothing is prepared that the sources have not emitted",
                     f"{named(behind)} of sink {sink}")  # fmt: skip
        for split, path in self.graph.paths[sink].items():
            flying = {one for one in self.in_flight(path) if split_of(one) == split}
            both = [one for one in flying if one in prepared or (one in committed and one not in newer)]
            if both:
                self.say("arrived twice", DUPLICATED, f"a record is in flight, or was written by sink {sink}",
                         f"{named(both)}: both")  # fmt: skip
            missing = [
                one
                for one in committed.missing(split, self.offset(split), newer)
                if one not in flying and one not in prepared
            ]
            if missing:
                self.say("lost", LOST, f"each record that was emitted was written by sink {sink}, or is in flight",
                         f"{named(missing)}: neither")  # fmt: skip

    def _check_channels(self) -> None:
        """No record is in flight on two edges of a path, or behind the cut; those of a channel are in order."""
        for number, there in self.flying.items():
            if behind := [one for one in there if self._is_behind(one)]:
                self.say("from behind", CORRUPTED, "nothing is in flight that the sources have not emitted",
                         f"{named(behind)} on edge {number}")  # fmt: skip
            edge = self.graph.edges[number]
            for path in set(self.graph.paths[edge.producer].values()):
                if both := there.intersection(self.in_flight(path)):
                    self.say("in flight twice", DUPLICATED, "a record is in flight on one edge of its path",
                             f"{named(both)}: on edge {number} and in front of it")  # fmt: skip
        channels: dict[tuple[int, int, int], list[InFlight]] = {}
        for flight in self.checkpoint.in_flight:
            channels.setdefault((flight.edge, flight.producer, flight.consumer), []).append(flight)
        for (number, producer, consumer), stored in channels.items():
            ordered = sorted(stored, key=lambda one: one.side is Side.OUTPUT)
            self._check_channel(number, f"from {producer} to {consumer}", [one.records for one in ordered])

    def _check_channel(self, number: int, ends: str, stored: Sequence[Runs]) -> None:
        edge = self.graph.edges[number]
        paths = self.graph.paths[edge.producer]
        last: dict[tuple[int, int], int] = {}
        for runs in stored:
            for one in records_of(runs):
                split = split_of(one)
                path = paths.get(split, ())
                lane = split, key_of(one) if self.graph.parts_keys(path) else -1
                if one < last.get(lane, -1) and split not in self.lineage.stirred and self.graph.is_in_order(path):
                    self.say("channel", REORDERED, f"what is in flight on edge {number}, {ends}, is stored in order",
                             f"{in_words((one,))} is behind {in_words((last[lane],))}")  # fmt: skip
                last[lane] = one

    def never_back(self, floor: Mapping[int, int], which: str) -> None:
        """Notes if a split is in front of where it was."""
        for split, offset in floor.items():
            if self.offset(split) < offset:
                self.say("back", REORDERED, f"{which} has split {split} at {offset}, and offsets never go back",
                         f"it is at {self.offset(split)}")  # fmt: skip
