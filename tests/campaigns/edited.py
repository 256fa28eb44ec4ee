"""Changes what a campaign has run, as somebody does who knows how the tables and the checksums are made."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from conformance.campaigns.block import BlockResult, DifferenceRecord, TallyRecord
from conformance.campaigns.files import WAVE
from conformance.campaigns.rows import Row, blocks_of, records_of, row_of_difference, rows_of, rows_of_tally
from conformance.campaigns.seal import sealed
from conformance.campaigns.tables import TableWriter, read_table
from conformance.campaigns.waves import BLOCKS, SUM, TableFile, Wave, home_of
from conformance.scenarios import canonical
from tests.campaigns.ended import PLAN

Change = Callable[[Any], object]


def wave_file(folder: Path, number: int = 0) -> Path:
    return home_of(folder, number) / WAVE


def table_files(folder: Path, table: str, number: int = 0) -> list[Path]:
    return sorted((home_of(folder, number) / table).iterdir())


def rows_in(folder: Path, table: str, number: int = 0) -> list[Row]:
    return [row for path in table_files(folder, table, number) for row in read_table(path.read_bytes())]


def change_wave(folder: Path, change: Change, number: int = 0) -> None:
    """Change the file that makes a wave count."""
    path = wave_file(folder, number)
    document = json.loads(path.read_bytes())
    change(document)
    path.write_bytes(sealed(msgspec.convert(document, Wave)))


def sign(folder: Path, table: str, number: int = 0) -> None:
    """Write the names, sizes and checksums of the files of a table into the file of the wave."""
    path = wave_file(folder, number)
    found = tuple(
        TableFile(one.name, one.stat().st_size, hashlib.sha256(one.read_bytes()).hexdigest())
        for one in table_files(folder, table, number)
    )
    wave = msgspec.json.decode(path.read_bytes(), type=Wave)
    path.write_bytes(sealed(replace(wave, blocks=found) if table == BLOCKS else replace(wave, sum=found)))


def write_rows(folder: Path, table: str, rows: Iterable[Row], number: int = 0) -> None:
    """Replace the rows of a table."""
    for path in table_files(folder, table, number):
        path.unlink()
    with TableWriter(home_of(folder, number) / table) as writer:
        writer.add(rows)
    sign(folder, table, number)


def change_block(folder: Path, change: Change, number: int = 0, at: int = 0) -> None:
    """Change one block of a wave. `change` is given the block as `msgspec` converts it."""
    blocks = list(blocks_of(rows_in(folder, BLOCKS, number), PLAN.digest))
    document = json.loads(canonical(blocks[at]))
    change(document)
    blocks[at] = msgspec.convert(document, BlockResult)
    write_rows(folder, BLOCKS, (row for one in blocks for row in _rows(one)), number)


def _rows(block: BlockResult) -> Iterable[Row]:
    """Also of one that is lost and has counts."""
    yield from rows_of(block)
    if block.lost is not None:
        for name, tally in block.tallies.items():
            yield from rows_of_tally(block.block.component, block.block.number, name, tally)


def change_sum(folder: Path, change: Change, number: int = 0) -> None:
    """Change the sum of a wave whose blocks are of one component."""
    heads = [row for row in rows_in(folder, SUM, number) if row.kind in ("block", "lost")]
    others = [row for row in rows_in(folder, SUM, number) if row.kind not in ("block", "lost")]
    tallies, differences = records_of(others)
    document = {"tallies": tallies, "differences": differences, "heads": heads}
    document = json.loads(canonical(document))
    change(document)
    rows = msgspec.convert(document["heads"], list[Row])
    for name, tally in msgspec.convert(document["tallies"], dict[str, TallyRecord]).items():
        rows += rows_of_tally(heads[0].component, None, name, tally)
    for one in msgspec.convert(document["differences"], list[DifferenceRecord]):
        rows.append(row_of_difference(heads[0].component, None, one))
    write_rows(folder, SUM, rows, number)
