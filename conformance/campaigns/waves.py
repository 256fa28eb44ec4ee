"""Where the waves of a campaign stand, and what makes one count.

    DIR/waves/NUMBER/blocks/*.parquet   the rows of its blocks
    DIR/waves/NUMBER/sum/*.parquet      the sum of all blocks of this wave and of those before it
    DIR/waves/NUMBER/wave.json          which blocks it has, and the name, size and checksum of each of these files

A wave is made in a folder of its own, DIR/waves/NUMBER-TOKEN, and counts as soon as that is renamed, with everything
in it. What does not count is removed when the campaign goes on. Until a runner has noticed that its driver was killed,
it may write: into a folder that nobody will look at again. The blocks of a wave follow those of the wave before it in
the order of the plan, so that the newest sum is that of the first so many blocks of the plan.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct
from msgspec.structs import replace

from conformance.campaigns.block import BlockResult, Natural
from conformance.campaigns.checking import check_block, check_sum
from conformance.campaigns.files import WAVE, WAVES, cure, make_room, read_with_bytes, write_sealed
from conformance.campaigns.merge import Sum, baseline_steps, fold
from conformance.campaigns.plan import SCHEMA, Plan
from conformance.campaigns.rounds import found_in
from conformance.campaigns.rows import Row, timed_blocks_of
from conformance.campaigns.seal import is_sealed
from conformance.campaigns.seconds import Seconds
from conformance.driver import Components
from conformance.scenarios import SchemaError, canonical
from conformance.scenarios.names import as_file_name
from conformance.scenarios.reading import read_bytes
from conformance.system.files import opened
from conformance.system.writing import naming, rename_folder

BLOCKS = "blocks"
SUM = "sum"
ENDING = ".parquet"
MOST_BYTES = 256 << 20
"""No file of a table is larger than this: each has the blocks of one task, or some of those of a wave."""
_NUMBER = re.compile(r"0|[1-9]\d{0,8}")


class TableFile(Struct, frozen=True, forbid_unknown_fields=True):
    """A file of a table."""

    name: str
    bytes: Natural
    sha256: str


class Totals(Struct, frozen=True, forbid_unknown_fields=True):
    """What is in the blocks of a wave and of all waves before it."""

    blocks: Natural = 0
    lost: Natural = 0
    scenarios: Natural = 0
    """Over all implementations, as `steps`."""
    steps: Natural = 0
    baseline_steps: Natural = 0
    """The steps of the baseline, on which a goal in steps depends."""
    found: Natural = 0
    """How many of the implementations of `until_found` have failed."""


class Wave(Struct, frozen=True, forbid_unknown_fields=True):
    """The content of `wave.json`."""

    plan: str
    """The digest of the plan."""
    number: Natural
    first: Natural
    """The position of its first block in the plan."""
    until: Natural
    """The position after its last block."""
    totals: Totals
    blocks: tuple[TableFile, ...] = ()
    sum: tuple[TableFile, ...] = ()
    checksum: str = ""
    """Set when it is written."""
    schema: Annotated[int, Meta(ge=SCHEMA, le=SCHEMA)] = SCHEMA


def home_of(folder: Path, number: int) -> Path:
    """Return the folder of a wave."""
    return folder / WAVES / str(number)


def numbers(folder: Path) -> list[int]:
    """Return the numbers of the committed waves."""
    return [number for number in _all_numbers(folder) if (home_of(folder, number) / WAVE).exists()]


def newest(folder: Path, plan: Plan) -> Wave | None:
    """Return the newest committed wave, or None. Raises: SchemaError, which names the file and the cure."""
    every = numbers(folder)
    return read_wave(folder, plan, every[-1]) if every else None


def read_wave(folder: Path, plan: Plan, number: int) -> Wave:
    """Return a committed wave. Raises: SchemaError, which names the file and the cure, if it is none of the plan."""
    path = home_of(folder, number) / WAVE
    wave, data = read_with_bytes(path, Wave)
    if wave.plan != plan.digest:
        raise SchemaError(f"{path}: this is a wave of another plan than the folder has. {cure(path)}")
    if not is_sealed(data):
        raise SchemaError(f"{path}: the checksum is not that of the file, which is damaged or changed. {cure(path)}")
    try:
        _check(wave, number, plan)
    except ValueError as error:
        raise SchemaError(f"{path}: this cannot be a wave of the campaign: {error}. {cure(path)}") from None
    return wave


def _check(wave: Wave, number: int, plan: Plan) -> None:
    most = plan.number_of_blocks
    if wave.number != number:
        raise ValueError(f"it is the wave {wave.number}")
    if wave.first >= wave.until or (most is not None and wave.until > most):
        raise ValueError(f"the plan has no wave of the blocks from {wave.first} to {wave.until}")
    if wave.totals.blocks != wave.until:
        raise ValueError(f"it has {wave.totals.blocks} blocks, and ends after {wave.until}")
    if not wave.blocks or not wave.sum:
        raise ValueError("it names no files")
    for one in (*wave.blocks, *wave.sum):
        as_file_name(one.name)


def sum_of(folder: Path, plan: Plan, wave: Wave | None, components: Components) -> Sum:
    """Return the sum of the blocks of a wave and of all waves before it. None: before the first wave.

    Raises: SchemaError, which names the file and the cure, if it is damaged or cannot be that of the plan.
    """
    if wave is None:
        return Sum()
    with _told(folder, wave.number, SUM, "this cannot be the sum of the blocks"):
        rows = list(_rows(folder, wave.number, SUM, wave.sum))
        check_sum(rows, plan, wave.until, components)
        total = fold(rows, components)
        if (found := totals_of(plan, total)) != wave.totals:
            raise ValueError(f"it has {canonical(found)}, and {WAVE} has {canonical(wave.totals)}")
    return total


def blocks_in(folder: Path, plan: Plan, wave: Wave, components: Components) -> Iterator[tuple[BlockResult, Seconds]]:
    """Yield the blocks of a wave, each compared with the plan, and how long each took.

    Raises: SchemaError, which names the file and the cure, if one is missing or damaged, or cannot be of the plan.
    """
    left = {plan.block_at(position) for position in range(wave.first, wave.until)}
    with _told(folder, wave.number, BLOCKS, "these cannot be the blocks of the wave"):
        for result, seconds in timed_blocks_of(_rows(folder, wave.number, BLOCKS, wave.blocks), plan.digest):
            check_block(result, plan, components)
            if result.block not in left:
                raise ValueError(f"the block {result.block.name} is there twice, or is of another wave")
            left.remove(result.block)
            yield result, seconds
        if left:
            raise ValueError(f"{len(left)} of its blocks are missing")


def check_made(home: Path, plan: Plan, blocks: range) -> None:
    """Raise a ValueError if the table of a wave that is being made does not have each of these blocks once."""
    from conformance.campaigns.tables import names_in  # pyarrow takes a while to load

    found = Counter(name for path in tables_of(home, BLOCKS) for name in names_in(read_bytes(path, MOST_BYTES)))
    due = Counter(plan.block_at(position).name for position in blocks)
    if missing := due - found:
        raise ValueError(f"{sum(missing.values())} of its {len(blocks)} blocks are missing")
    if more := found - due:
        raise ValueError(f"the block {min(more)} is there twice, or is of another wave")


def sum_made(home: Path, plan: Plan, until: int, components: Components) -> Sum:
    """Return the sum of a wave that is being made. Raises: ValueError if it cannot be that of the blocks."""
    from conformance.campaigns.tables import read_table

    rows = [row for path in tables_of(home, SUM) for row in read_table(read_bytes(path, MOST_BYTES))]
    check_sum(rows, plan, until, components)
    return fold(rows, components)


def all_blocks(folder: Path, plan: Plan, components: Components) -> Iterator[tuple[BlockResult, Seconds]]:
    """Yield the blocks of all committed waves in the order of the plan, each compared with it; and each sum with them.

    Each is yielded with how long it took.

    Raises: SchemaError, which names the file and the cure, if anything is missing, damaged or another.
    """
    total, at = Sum(), 0
    for number in numbers(folder):
        wave = read_wave(folder, plan, number)
        home = home_of(folder, number)
        if wave.first != at:
            raise SchemaError(
                f"{home / WAVE}: its blocks do not follow those of the waves before it, of which one is missing. "
                f"{cure(home / WAVE)}"
            )
        # Runners write the blocks of a wave in any order.
        for result, seconds in sorted(
            blocks_in(folder, plan, wave, components), key=lambda one: plan.position_of(one[0].block)
        ):
            total.add(result, components)
            yield result, seconds
        if _without_seconds(total) != _without_seconds(sum_of(folder, plan, wave, components)):
            raise SchemaError(f"{home / SUM}: this is not what the blocks add up to. {cure(home / WAVE)}")
        at = wave.until


def _without_seconds(total: Sum) -> list[Row]:
    return [replace(row, seconds=None) for row in total.rows()]


def totals_of(plan: Plan, total: Sum) -> Totals:
    """Return what a sum comes to."""
    tallies = total.tallies().values()
    return Totals(
        total.blocks(),
        len(total.lost),
        sum(tally.scenarios for tally in tallies),
        sum(tally.steps for tally in tallies),
        baseline_steps(plan, total),
        sum(len(found_in(plan, total, component)) for component in plan.components if plan.sought),
    )


def made(folder: Path, number: int) -> Path:
    """Make the folders of a wave that is to be run, and return the one of the wave, which no other driver has.

    Raises: CampaignError if one of them is a link; NotWritten.
    """
    home = folder / WAVES / f"{number}-{secrets.token_hex(4)}"
    make_room(folder, home / BLOCKS / WAVE)
    return home


def tables_of(home: Path, name: str) -> list[Path]:
    """Return the files of a table of a wave that is being made."""
    return sorted(home / name / one for one in os.listdir(home / name) if one.endswith(ENDING) and one[0] not in "._")


def commit(folder: Path, home: Path, wave: Wave) -> Wave:
    """Make a wave count whose tables are written into `home`. `wave` names no files yet. Return it with its files.

    What runners have left beside the tables is removed. Raises: NotWritten.
    """
    found = {name: tuple(map(_file, tables_of(home, name))) for name in (BLOCKS, SUM)}
    for name in (BLOCKS, SUM):
        for one in os.listdir(home / name):
            if not one.endswith(ENDING) or one[0] in "._":
                _remove(home / name / one)
    made = replace(wave, blocks=found[BLOCKS], sum=found[SUM])
    write_sealed(folder, home / WAVE, made)
    place = home_of(folder, wave.number)
    with naming(place):
        if not (place / WAVE).exists():
            _remove(place)  # somebody has deleted that file, and the wave is run again
    rename_folder(home, place)
    return made


def _file(path: Path) -> TableFile:
    data = read_bytes(path, MOST_BYTES)
    with naming(path, len(data)), opened(path) as file:
        os.fsync(file.fileno())  # before the wave counts: a runner may have left it in a cache
    return TableFile(path.name, len(data), hashlib.sha256(data).hexdigest())


def tidy(folder: Path) -> None:
    """Remove the waves that were not committed. The caller must hold the lock."""
    for home in uncounted(folder):
        _remove(home)


def uncounted(folder: Path) -> list[Path]:
    """Return the folders of waves that were not committed."""
    every = (folder / WAVES / name for name in _names(folder))
    return [one for one in every if not (_NUMBER.fullmatch(one.name) and (one / WAVE).exists())]


def _remove(path: Path) -> None:
    """Remove a file or a folder. What a runner writes into it at the same time may stay, and counts for nothing."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _rows(folder: Path, number: int, table: str, files: Iterable[TableFile]) -> Iterator[Row]:
    """Yield the rows of a table. Raises: SchemaError, which names the file, if it is damaged."""
    from conformance.campaigns.tables import read_table  # pyarrow takes a while to load

    for one in files:
        path = home_of(folder, number) / table / one.name
        with _told(folder, number, f"{table}/{one.name}", "this cannot be a table of the campaign"):
            try:
                data = read_bytes(path, MOST_BYTES)
            except OSError as error:
                raise ValueError(f"it cannot be read: {error.strerror}") from None
            if (len(data), hashlib.sha256(data).hexdigest()) != (one.bytes, one.sha256):
                raise ValueError(f"the checksum is not that of the file, which is damaged or changed; {WAVE} has it")
            yield from read_table(data)


@contextmanager
def _told(folder: Path, number: int, what: str, wrong: str) -> Iterator[None]:
    """Let every ValueError in the `with` block name a file or folder of a wave, and the cure."""
    try:
        yield
    except SchemaError:
        raise
    except ValueError as error:
        at = home_of(folder, number) / what
        raise SchemaError(f"{at}: {wrong}: {error}. {cure(home_of(folder, number) / WAVE)}") from None


def _all_numbers(folder: Path) -> list[int]:
    return sorted(int(name) for name in _names(folder) if _NUMBER.fullmatch(name))


def _names(folder: Path) -> list[str]:
    try:
        return sorted(os.listdir(folder / WAVES))
    except (FileNotFoundError, NotADirectoryError):
        return []
