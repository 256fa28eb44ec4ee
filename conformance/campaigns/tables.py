"""Writes and reads tables of rows as Parquet files. pyarrow takes a while to load, so this is imported late.

A table is a folder of files, in any order. Who wrote them may be this suite, Spark or a stranger.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType, UnionType
from typing import Annotated, Any, get_args, get_origin

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from conformance.campaigns.rows import Row
from conformance.system.writing import naming

COMPRESSION = "zstd"
ENDING = ".parquet"
ROWS = 500
"""How many rows are kept in memory until they are written."""
ROWS_OF_A_FILE = 20 * ROWS
"""A file of many rows is read as a whole, so there is another one after so many."""
_BATCH = 64
_MOST_TEXT = 8 << 20
"""No text in a row is longer. Each text is in a file once, and may stand for many rows."""

_TYPES: dict[Any, tuple[pa.DataType, str]] = {
    str: (pa.string(), "string"),
    int: (pa.int64(), "bigint"),
    float: (pa.float64(), "double"),
}
"""What a type is in Arrow and in the SQL of Spark."""


def _columns() -> Iterator[tuple[str, pa.DataType, str]]:
    for one in msgspec.structs.fields(Row):
        yield one.encode_name, *_TYPES[_plain(one.type)]


def _plain(form: Any) -> Any:
    """Return the type of the values of a field: `int` of `Annotated[int, …] | None`."""
    if get_origin(form) is Annotated:
        return _plain(get_args(form)[0])
    if isinstance(form, UnionType) or type(None) in get_args(form):
        return _plain(next(one for one in get_args(form) if one is not type(None)))
    return type(get_args(form)[0]) if get_args(form) else form  # a Literal


SCHEMA = pa.schema([(name, form) for name, form, _ in _columns()])
"""The schema of every table of a campaign."""
SQL_SCHEMA = ", ".join(f"`{name}` {form}" for name, _, form in _columns())
"""The same for Spark."""
_TEXTS = [name for name, form, _ in _columns() if form == pa.string()]


def batch_of(rows: Iterable[Row]) -> pa.RecordBatch:
    """Return rows as a batch of Arrow."""
    every = [msgspec.structs.astuple(row) for row in rows]
    columns = zip(*every, strict=True) if every else ((),) * len(SCHEMA)
    return pa.RecordBatch.from_arrays(
        [pa.array(column, form) for column, form in zip(columns, SCHEMA.types, strict=True)], schema=SCHEMA
    )


def rows_in(batch: pa.RecordBatch | pa.Table) -> Iterator[Row]:
    """Yield the rows of a batch or a table of Arrow. Raises: ValueError if they are none of a campaign."""
    columns = [batch.column(name).to_pylist() for name in SCHEMA.names]
    for values in zip(*columns, strict=True):
        yield _row(dict(zip(SCHEMA.names, values, strict=True)))


def _row(values: dict[str, Any]) -> Row:
    try:
        return msgspec.convert({name: value for name, value in values.items() if value is not None}, Row)
    except msgspec.ValidationError as error:
        raise ValueError(f"a row: {error}") from None


class TableWriter:
    """Writes a table into a folder that is there. The rows that were added are there when the `with` block has ended.

    Every method raises NotWritten if the machine refuses.
    """

    def __init__(self, folder: Path, name: str = "part") -> None:
        self._folder, self._name = folder, name
        self._rows: list[Row] = []
        self._files = self._written = 0
        self._writer: pq.ParquetWriter | None = None

    def __enter__(self) -> TableWriter:
        return self

    def add(self, rows: Iterable[Row]) -> None:
        """Add rows."""
        self._rows += rows
        if len(self._rows) >= ROWS:
            self._write()

    def _write(self) -> None:
        batch = batch_of(self._rows)
        with naming(self._path, batch.nbytes):
            if self._writer is None:
                self._writer = pq.ParquetWriter(self._path, SCHEMA, compression=COMPRESSION)
            self._writer.write_batch(batch)
        self._written += len(self._rows)
        self._rows.clear()
        if self._written >= ROWS_OF_A_FILE:
            self._close()

    def _close(self) -> None:
        if (writer := self._writer) is not None:
            self._writer = None
            with naming(self._path):
                writer.close()
            self._files += 1
            self._written = 0

    @property
    def _path(self) -> Path:
        return self._folder / f"{self._name}-{self._files:05}{ENDING}"

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if kind is not None:
            if self._writer is not None:
                self._writer.close()
            return
        if self._rows or (not self._files and self._writer is None):
            self._write()
        self._close()


def read_table(data: bytes) -> Iterator[Row]:
    """Yield the rows of a file of a table.

    Raises: ValueError, which says what is wrong with the file.
    """
    try:
        if pq.read_schema(pa.BufferReader(data)).names != SCHEMA.names:
            raise ValueError("it has other columns than a table of a campaign")
        file = pq.ParquetFile(pa.BufferReader(data), read_dictionary=_TEXTS)
        for batch in file.iter_batches(_BATCH):
            for column in batch.columns:
                if isinstance(column, pa.DictionaryArray) and (longest := _longest(column.dictionary)) > _MOST_TEXT:
                    raise ValueError(f"a text in it has {longest:,} bytes")
            yield from rows_in(batch)
    except (pa.ArrowException, OSError, LookupError, UnicodeDecodeError, MemoryError, OverflowError) as error:
        raise ValueError(f"this is no Parquet file of a campaign ({str(error)[:200]})") from None


def names_in(data: bytes) -> Iterator[str]:
    """Yield the names of the blocks in a file of a table. Raises: as `read_table`."""
    try:
        for batch in pq.ParquetFile(pa.BufferReader(data)).iter_batches(columns=["kind", "component", "block"]):
            for kind, component, number in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                if kind in ("block", "lost"):
                    yield f"{component}-{number}"
    except (pa.ArrowException, OSError, LookupError, ValueError) as error:
        raise ValueError(f"this is no Parquet file of a campaign ({str(error)[:200]})") from None


def _longest(texts: pa.Array) -> int:
    return max((one for one in pc.binary_length(texts).to_pylist() if one is not None), default=0)
