"""Reads and writes the folder of an exploration.

    DIR/exploration.json             what is explored, and by which code
    DIR/levels/00007/states/         the states that are first reached with seven steps, sorted
    DIR/levels/00007/left/           the states of level 6 whose drain is that of a state of level 7
    DIR/levels/00007/drains/         the states of level 6 from which the drain is still to be judged
    DIR/levels/00007/broken/         what drains of earlier levels have violated
    DIR/levels/00007/level.json      what is known once the level is explored
    DIR/driver.lock                  locked by the process that explores

A level is made in a folder of its own, DIR/levels/00007-TOKEN, and counts as soon as that is renamed, with everything
in it. Until a runner has noticed that its driver was killed, it may write: into a folder that nobody will look at
again. Each level follows from the one before it, so an exploration that was stopped goes on with the last one that
counts.
"""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from conformance.campaigns.code import Code
from conformance.campaigns.lock import LOCK
from conformance.exploring.errors import ExplorationError
from conformance.exploring.rows import BROKEN, DRAINS, LEFT, STATES, Told
from conformance.scenarios.reading import read_bytes
from conformance.scheduling import Edge
from conformance.system.writing import make_folder, naming, rename_folder, write_bytes

TABLES = {"states": STATES, "left": LEFT, "drains": DRAINS, "broken": BROKEN}
_BEGUN = ".exploration.json.part"
"""The name of exploration.json while it is written."""
_ROWS = 20_000
"""How many rows are read at once."""


class Explored(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is explored."""

    component: str
    implementation: str
    scope: tuple[str, ...]
    """As it was given: `KEY=VALUE`, sorted."""


class Met(msgspec.Struct, frozen=True):
    """A violation that steps have shown, with the first of the shortest runs."""

    told: Told
    order: bytes
    steps: bytes


class Level(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is known once a level is explored. Counts are those of all levels so far."""

    states: int
    transitions: int
    rows: dict[str, int]
    """By table, how many rows it has; none, if it is missing here."""
    found: tuple[Met, ...] = ()
    edges: tuple[Edge, ...] = ()
    """The orders in which threads have taken locks, as they were met."""

    @property
    def reached(self) -> int:
        """How many states are new."""
        return self.rows.get("states", 0)

    @property
    def drains(self) -> int:
        """From how many states of the level before the drain is still to be judged."""
        return self.rows.get("drains", 0)

    @property
    def broken(self) -> int:
        """How many drains have violated something."""
        return self.rows.get("broken", 0)


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The content of exploration.json."""

    schema: int
    explored: Explored
    code: Code


class Folder:
    """The folder of one exploration."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.levels: list[Level] = []
        self._making: Path | None = None
        """The folder of the level that does not count yet."""

    def resume(self, explored: Explored, code: Code) -> None:
        """Make the folder, or go on with it. What does not count is removed.

        Raises: ExplorationError if it is that of another exploration, or other code has written it; NotWritten.
        """
        home, there = self.path / "exploration.json", self.path / "levels"
        for one in (home, there):
            if one.is_symlink():
                raise ExplorationError(f"{one} is a link. An exploration reads and writes its own folder only.")
        if not home.exists():
            begun = {LOCK, _BEGUN}  # all that a driver has made if it was killed before this file was there
            if self.path.is_dir() and any(one.name not in begun for one in self.path.iterdir()):
                raise ExplorationError(f"{self.path} is not the folder of an exploration, and not empty.")
            content = msgspec.json.format(msgspec.json.encode(_File(1, explored, code))) + b"\n"
            write_bytes(home, content, self.path / _BEGUN)
        written = _read(home, _File)
        if written.explored != explored:
            raise ExplorationError(
                f"{self.path} is an exploration of {_about(written.explored)}, and not of {_about(explored)}."
            )
        if changes := written.code.changes(code):
            raise ExplorationError(f"{self.path} was written by other code: {changes[0]}. Explore into a new folder.")
        make_folder(there)
        while (committed := self._level(len(self.levels)) / "level.json").is_file():
            self.levels.append(_read(committed, Level))
            self.check(len(self.levels) - 1)
        self.tidy()

    def tidy(self) -> None:
        """Remove what does not count. What a runner writes at the same time may stay. Raises: NotWritten."""
        self._making = None
        for one in (self.path / "levels").iterdir():
            if not one.name.isdecimal() or int(one.name) >= len(self.levels):
                _remove(one)

    def begin(self) -> None:
        """Make the folder of the next level, which no other driver has. Raises: NotWritten."""
        self.tidy()
        self._making = self.path / "levels" / f"{len(self.levels):05}-{secrets.token_hex(4)}"
        make_folder(self._making)

    def commit(self, level: Level) -> None:
        """Let the level count of which the tables are written. Raises: NotWritten."""
        made = self._level(len(self.levels))
        write_bytes(made / "level.json", msgspec.json.encode(level) + b"\n", durable=True)
        self._making = None
        rename_folder(made, self._level(len(self.levels)))
        self.levels.append(level)

    def place(self, number: int, table: str) -> Path:
        """Returns the folder of a table of a level."""
        return self._level(number) / table

    def check(self, number: int) -> None:
        """Check that the tables of a level have the rows that it had. Raises: ExplorationError."""
        for table in TABLES:
            found, rows = self.count(number, table), self.levels[number].rows.get(table, 0)
            if found != rows:
                place = self.place(number, table)
                raise ExplorationError(f"{place} is damaged: it has {found:,} rows, and was written with {rows:,}.")

    def read(self, number: int, table: str) -> Iterator[pa.RecordBatch]:
        """Yields a table of a level, in order. Raises: ExplorationError."""
        schema = TABLES[table]
        for file in sorted(self.place(number, table).glob("part-*.parquet")):
            try:
                with pq.ParquetFile(file) as opened:
                    for batch in opened.iter_batches(_ROWS, columns=schema.names):
                        yield batch.cast(schema) if batch.schema != schema else batch
            except (pa.ArrowException, OSError) as error:
                raise ExplorationError(f"{file} is damaged: {error}") from error

    def count(self, number: int, table: str) -> int:
        """Returns how many rows a table of a level has. Raises: ExplorationError."""
        count = 0
        for file in self.place(number, table).glob("part-*.parquet"):
            try:
                count += pq.read_metadata(file).num_rows
            except (pa.ArrowException, OSError) as error:
                raise ExplorationError(f"{file} is damaged: {error}") from error
        return count

    @contextmanager
    def writing(self, number: int, table: str) -> Iterator[pq.ParquetWriter]:
        """Yield what writes a table of a level. Raises: NotWritten."""
        make_folder(self.place(number, table))
        path = self.place(number, table) / "part-0.parquet"
        with naming(path), pq.ParquetWriter(path, TABLES[table], compression="zstd") as writer:
            yield writer

    def remove(self, place: Path) -> None:
        """Remove what was made on the way. Raises: NotWritten."""
        _remove(place)

    def _level(self, number: int) -> Path:
        if self._making is not None and number == len(self.levels):
            return self._making
        return self.path / "levels" / f"{number:05}"


def _read(path: Path, kind: type[Any]) -> Any:
    try:
        return msgspec.json.decode(read_bytes(path), type=kind)
    except (msgspec.MsgspecError, ValueError) as error:
        raise ExplorationError(f"{path} is damaged: {error}") from error


def _remove(place: Path) -> None:
    with naming(place):
        if place.is_symlink() or not place.is_dir():
            place.unlink(missing_ok=True)
        else:
            shutil.rmtree(place, ignore_errors=True)


def _about(explored: Explored) -> str:
    return f"{explored.component} on {explored.implementation} with {' '.join(explored.scope) or 'the usual scope'}"
