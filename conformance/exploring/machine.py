"""Explores a level with the processes of this machine. Which states were reached before is in the driver's memory."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack
from typing import Any

import pyarrow as pa

from conformance.engines.interruption import Interruption
from conformance.engines.processes import mapping
from conformance.exploring.errors import ExplorationError
from conformance.exploring.folder import Explored, Folder, Level
from conformance.exploring.merging import Progress, Rest, Sums
from conformance.exploring.rows import (
    BROKEN,
    COUNT,
    DRAIN,
    DRAINS,
    EDGE,
    LATER,
    LEFT,
    OUT,
    REACHED,
    STATES,
    STEP,
    keys_in,
)
from conformance.exploring.tasks import to_arrow, work_on_arrow

_FEW, _MANY = 64, 1_000
"""How many states a task has, at least and at most. One takes about two milliseconds."""
_TASKS = 4
"""How many tasks there are for each process at least, if there are enough states, so that none waits long."""

Task = tuple[Explored, str, bytes]
"""What is explored, the name of a task, and its rows."""


class Machine:
    """The processes of this machine."""

    name = "processes"

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self._known: set[bytes] = set()
        self._read = 0

    def begin(self, folder: Folder, explored: Explored, interruption: Interruption) -> ExitStack:
        """Start the processes. They end with what is returned. Raises: ExplorationError."""
        self._folder, self._explored = folder, explored
        with ExitStack() as ending:
            self._map = ending.enter_context(mapping(self.workers, interruption))
            return ending.pop_all()

    def level(self, number: int, sums: Sums, progress: Progress) -> Level | None:
        """Write the tables of a level; None if an interruption came first. Raises: ExplorationError; NotWritten."""
        self._know()
        folder = self._folder
        frontier = pa.Table.from_batches(folder.read(number - 1, "states"), STATES)
        owed = list(self._tasks("drain", pa.Table.from_batches(folder.read(number - 1, "drains"), DRAINS)))
        made = self._done([*self._tasks("expand", frontier), *owed])
        met, later, broken = list[pa.Table](), list[pa.Table](), list[pa.Table]()
        new: dict[bytes, bytes] = {}
        for data in made:
            if data is None:
                return None
            table = _read(data)
            if table.schema == BROKEN:
                broken.append(table)
                continue
            kinds, keys = table["kind"].to_pylist(), table["key"].to_pylist()
            places = []
            for place, (kind, key) in enumerate(zip(kinds, keys, strict=True)):
                if kind == REACHED and key not in self._known and key not in new:
                    new[key] = key
                    places.append(place)
            met.append(_as(STATES, table.take(pa.array(places, pa.int64()))))
            later.append(_only(table, kinds, LATER))
            broken.append(_as(BROKEN, _only(table, kinds, DRAIN)))
            for one in _only(table, kinds, STEP).to_pylist():
                sums.violated(one["broken"], one["order"], one["steps"])
            for one in _only(table, kinds, EDGE).to_pylist():
                sums.ordered(one["broken"])
            sums.transitions += sum(_only(table, kinds, COUNT)["number"].to_pylist())
            progress(number - 1, sums.states + len(new), sums.transitions)
        found = pa.concat_tables(met) if met else STATES.empty_table()
        if sums.exchanges:
            exchanged = self._exchanged(found, new)
            if exchanged is None:
                return None
            found = exchanged
        left, drains = _settled(pa.concat_tables(later) if later else OUT.empty_table(), new)
        return self._write(number, {"states": found, "left": left, "drains": drains, "broken": _whole(broken)}, sums)

    def rest(self) -> Rest:
        """Judge the drains that no further level will judge: those of the last level, and those that it owes."""
        last, broken, undrained = len(self._folder.levels) - 1, list[dict[str, Any]](), list[tuple[bytes, bytes]]()
        for name in ("states", "drains"):
            read = (batch.select(DRAINS.names) for batch in self._folder.read(last, name))
            parts = list(self._slices(pa.Table.from_batches(read, DRAINS)))
            tasks = [(self._explored, "drain", _stream(part)) for part in parts]
            for part, data in zip(parts, self._done(tasks), strict=True):
                if data is None:
                    undrained += zip(part["key"].to_pylist(), part["order"].to_pylist(), strict=True)
                else:
                    broken += _read(data).to_pylist()
        return Rest(broken, undrained)

    def _done(self, tasks: list[Task]) -> Iterator[bytes | None]:
        """Yield what comes out of tasks, in their order; None after an interruption. Raises: ExplorationError."""
        try:
            yield from self._map(work_on_arrow, tasks)
        except BrokenProcessPool as error:
            raise ExplorationError(
                f"A process that explored into {self._folder.path} was killed, perhaps because memory was short. The "
                "same command goes on with the level that it was working on."
            ) from error

    def _know(self) -> None:
        """Read which states there are, as far as they are not known yet."""
        while self._read < len(self._folder.levels):
            for batch in self._folder.read(self._read, "states"):
                self._known.update(batch.column("key").to_pylist())
                for others in batch.column("others").to_pylist():
                    self._known.update(keys_in(others))
            self._read += 1

    def _slices(self, table: pa.Table) -> Iterator[pa.Table]:
        rows = max(_FEW, min(_MANY, -(-table.num_rows // (self.workers * _TASKS))))
        for first in range(0, table.num_rows, rows):
            yield table.slice(first, rows)

    def _tasks(self, name: str, table: pa.Table) -> Iterator[Task]:
        for part in self._slices(table):
            yield self._explored, name, _stream(part)

    def _exchanged(self, found: pa.Table, new: dict[bytes, bytes]) -> pa.Table | None:
        """Leave out the new states for which others stand. `new`: by key, the state that stands for it."""
        new.clear()
        parts = []
        for data in self._done(list(self._tasks("exchange", found))):
            if data is None:
                return None
            table, places = _read(data), []
            for place, (key, others) in enumerate(
                zip(table["key"].to_pylist(), table["others"].to_pylist(), strict=True)
            ):
                if key not in new:
                    places.append(place)
                    new[key] = key
                    for one in keys_in(others):
                        new.setdefault(one, key)
            parts.append(table.take(pa.array(places, pa.int64())))
        return pa.concat_tables(parts) if parts else found

    def _write(self, number: int, tables: dict[str, pa.Table], sums: Sums) -> Level:
        self._folder.begin()
        for name, table in tables.items():
            with self._folder.writing(number, name) as writer:
                writer.write_table(table)
        for one in tables["broken"].to_pylist():
            sums.violated(one["broken"], one["order"], one["steps"])
        return sums.level({name: table.num_rows for name, table in tables.items()})


def _settled(later: pa.Table, new: dict[bytes, bytes]) -> tuple[pa.Table, pa.Table]:
    """Returns which drains are those of new states, and which are still to be judged."""
    targets = [new.get(one) for one in later["target"].to_pylist()]
    here = [place for place, one in enumerate(targets) if one is not None]
    gone = [place for place, one in enumerate(targets) if one is None]
    left = pa.Table.from_arrays(
        [later["key"].take(pa.array(here, pa.int64())), pa.array([targets[one] for one in here], pa.binary())],
        schema=LEFT,
    )
    return left, _as(DRAINS, later.take(pa.array(gone, pa.int64())))


def _only(table: pa.Table, kinds: list[str], kind: str) -> pa.Table:
    return table.take(pa.array([place for place, one in enumerate(kinds) if one == kind], pa.int64()))


def _as(schema: pa.Schema, table: pa.Table) -> pa.Table:
    """Returns the columns of a schema; the keys of others are not known yet."""
    columns = [
        table[name] if name in table.column_names else pa.array([b""] * table.num_rows, pa.binary())
        for name in schema.names
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def _whole(tables: list[pa.Table]) -> pa.Table:
    return pa.concat_tables(tables) if tables else BROKEN.empty_table()


def _stream(table: pa.Table) -> bytes:
    return to_arrow(table.schema, table.combine_chunks().to_batches())


def _read(data: bytes) -> pa.Table:
    with pa.ipc.open_stream(data) as stream:
        return stream.read_all()
