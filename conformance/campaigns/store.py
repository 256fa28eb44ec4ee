"""Writes the blocks and the findings of a campaign as Parquet tables, for queries that the result does not answer.

    DIR/store/blocks.parquet        a row per block and implementation: what was run
    DIR/store/exercised.parquet     a row per block, implementation and property: in how many scenarios it was tested
    DIR/store/failures.parquet      a row per block, implementation and signature, with the shortest scenario as JSON
    DIR/store/differences.parquet   a row per block, implementation, operation and field that differs from the baseline
    DIR/store/lost.parquet          a row per block that could not be run
    DIR/store/findings.parquet      a row per finding: what a failure of all blocks was reduced to
    DIR/store/seconds.parquet       a row per block, and one per block and implementation: how long it took

The tables contain only the committed blocks and what was kept of their failures, sorted, so all but the last one are
the same for every runner. They can be written at any time. `result.json` remains the result of the campaign.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from conformance.campaigns import files, waves
from conformance.campaigns.block import BlockResult, decode
from conformance.campaigns.kept_outcomes import Kept
from conformance.campaigns.merge import Sum
from conformance.campaigns.names import SEARCHED
from conformance.campaigns.plan import Plan
from conformance.campaigns.seconds import Seconds
from conformance.driver import Components
from conformance.engines.tally import Signature
from conformance.scenarios import encode_scenario
from conformance.system.writing import make_folder, naming

STORE = "store"
_TOKEN = secrets.token_hex(4)
ROWS = 20_000
"""How many rows are kept in memory until they are written."""
_BLOCK = [("component", pa.string()), ("block", pa.int64())]
_MINE = [*_BLOCK, ("implementation", pa.string())]
SCHEMAS: dict[str, pa.Schema] = {
    "blocks": pa.schema(
        [*_MINE, ("first", pa.int64()), ("scenarios", pa.int64()), ("steps", pa.int64()), ("closing_steps", pa.int64())]
    ),
    "exercised": pa.schema([*_MINE, ("property", pa.string()), ("scenarios", pa.int64())]),
    "failures": pa.schema(
        [
            *_MINE,
            ("property", pa.string()),
            ("class", pa.string()),
            ("operation", pa.string()),
            ("count", pa.int64()),
            ("owed", pa.string()),
            ("observed", pa.string()),
            ("steps", pa.int64()),
            ("scenario", pa.string()),
        ]
    ),
    "differences": pa.schema(
        [
            *_MINE,
            ("operation", pa.string()),
            ("field", pa.string()),
            ("count", pa.int64()),
            ("steps", pa.int64()),
            ("scenario", pa.string()),
        ]
    ),
    "lost": pa.schema([*_BLOCK, ("first", pa.int64()), ("scenarios", pa.int64()), ("reason", pa.string())]),
    "findings": pa.schema(
        [
            ("implementation", pa.string()),
            ("component", pa.string()),
            ("property", pa.string()),
            ("class", pa.string()),
            ("operation", pa.string()),
            ("count", pa.int64()),
            ("first", pa.int64()),
            ("cause", pa.int64()),
            ("owed", pa.string()),
            ("observed", pa.string()),
            ("found_steps", pa.int64()),
            ("steps", pa.int64()),
            ("budget", pa.int64()),
            ("id", pa.string()),
            ("scenario", pa.string()),
        ]
    ),
    "seconds": pa.schema([*_MINE, ("seconds", pa.float64())]),
}
"""The schema of each table. The column `scenario` contains a scenario file, which `conformance replay` can run.

A row of `findings` is a failure of the newest sum that was reduced: `count` and `first` are those of all blocks,
`found_steps` is the length of the scenario before its reduction and `steps` behind it, `budget` the one that ended the
reduction if one did, and `cause` the number of its likely cause among those of the implementation, which are there when
the campaign has ended."""

Row = dict[str, Any]
Make = Callable[[BlockResult, Seconds, Components], Iterator[Row]]
"""Makes the rows of one table from a block."""


def write_store(folder: Path, components: Components = SEARCHED) -> Path:
    """Write the tables of a campaign, and return their folder. Each table is complete or absent.

    All committed waves are read, and compared with the plan and with what they add up to.

    Raises: CampaignError if it is not the folder of a campaign; SchemaError if a file in it is damaged; NotWritten. The
    tables of an earlier call are unchanged then.
    """
    folder = Path(folder)
    plan = files.read_plan(folder, components)
    store = files.own(folder, STORE)
    make_folder(store)
    try:
        with ExitStack() as closing:
            tables = {name: _Table(store, name, closing) for name in SCHEMAS}
            for result, seconds in waves.all_blocks(folder, plan, components):
                for name, make in _MAKERS.items():
                    tables[name].add(
                        {"component": result.block.component, "block": result.block.number, **row}
                        for row in make(result, seconds, components)
                    )
            tables["findings"].add(_findings(folder, plan, components))
            for table in tables.values():
                table.write()
        for name in SCHEMAS:
            with naming(_table(store, name)):
                os.replace(_beside(store, name), _table(store, name))
    finally:
        for name in SCHEMAS:
            _beside(store, name).unlink(missing_ok=True)
    return store


class _Table:
    """One table, which is written in groups of rows."""

    def __init__(self, store: Path, name: str, closing: ExitStack) -> None:
        """The table is complete when `closing` closes. Raises: NotWritten, as every method, and as `closing` then."""
        self._schema = SCHEMAS[name]
        self._path = _table(store, name)
        with naming(self._path):
            self._writer = pq.ParquetWriter(_beside(store, name), self._schema)
        closing.callback(self._close)
        self._rows: list[Row] = []

    def add(self, rows: Iterable[Row]) -> None:
        """Add rows."""
        self._rows += rows
        if len(self._rows) >= ROWS:
            self.write()

    def write(self) -> None:
        """Write the rows that were added since the last time."""
        table = pa.Table.from_pylist(self._rows, schema=self._schema)
        with naming(self._path, table.nbytes):
            self._writer.write_table(table)
        self._rows.clear()

    def _close(self) -> None:
        with naming(self._path):
            self._writer.close()


def _table(store: Path, name: str) -> Path:
    return store / f"{name}.parquet"


def _beside(store: Path, name: str) -> Path:
    """Return a name that no other process uses, and that nobody can have made a link before."""
    return store / f".{name}.{_TOKEN}.parquet.part"


def _blocks(result: BlockResult, seconds: Seconds, components: Components) -> Iterator[Row]:
    for name, one in sorted(result.tallies.items()):
        yield {
            "implementation": name,
            "first": result.block.first,
            "scenarios": one.scenarios,
            "steps": one.steps,
            "closing_steps": one.closing_steps,
        }


def _exercised(result: BlockResult, seconds: Seconds, components: Components) -> Iterator[Row]:
    for name, one in sorted(result.tallies.items()):
        for slug, count in sorted(one.exercised.items()):
            yield {"implementation": name, "property": slug, "scenarios": count}


def _failures(result: BlockResult, seconds: Seconds, components: Components) -> Iterator[Row]:
    for name, tally in sorted(result.tallies.items()):
        for one in sorted(tally.failures, key=lambda one: (one.property, one.failure_class, one.operation)):
            yield {
                "implementation": name,
                "property": one.property,
                "class": one.failure_class,
                "operation": one.operation,
                "count": one.count,
                "owed": one.owed,
                "observed": one.observed,
                "steps": len(one.scenario.steps),
                "scenario": encode_scenario(decode(one.scenario, components)),
            }


def _differences(result: BlockResult, seconds: Seconds, components: Components) -> Iterator[Row]:
    for one in sorted(result.differences, key=lambda one: (one.implementation, one.operation, one.field)):
        yield {
            "implementation": one.implementation,
            "operation": one.operation,
            "field": one.field,
            "count": one.count,
            "steps": len(one.scenario.steps),
            "scenario": encode_scenario(decode(one.scenario, components)),
        }


def _lost(result: BlockResult, seconds: Seconds, components: Components) -> Iterator[Row]:
    if result.lost is not None:
        yield {"first": result.block.first, "scenarios": result.block.count, "reason": result.lost}


def _findings(folder: Path, plan: Plan, components: Components) -> Iterator[Row]:
    """Yield a row for each failure that was reduced. Raises: SchemaError if the file of a finding is damaged."""
    total = waves.sum_of(folder, plan, waves.newest(folder, plan), components)
    kept = Kept(folder, plan, components)
    causes = _causes(folder, total, kept)
    for (name, component), tally in total.tallies().items():
        for signature, failure in sorted(tally.failures.items()):
            found = kept.known(name, component, signature, failure, 0)
            if found is None:
                continue
            yield {
                "implementation": name,
                "component": component,
                "property": found.property,
                "class": found.failure_class.value,
                "operation": found.operation,
                "count": failure.count,
                "first": failure.first,
                "cause": causes.get((name, component, signature)),
                "owed": found.owed,
                "observed": found.observed,
                "found_steps": len(failure.scenario.steps),
                "steps": len(found.scenario.steps),
                "budget": found.budget,
                "id": found.id,
                "scenario": encode_scenario(decode(found.scenario, components)),
            }


def _causes(folder: Path, total: Sum, kept: Kept) -> dict[tuple[str, str, Signature], int]:
    """Return the numbers of likely causes by implementation, component and signature; of a campaign that has ended."""
    if not ((folder / files.RESULT).exists() and (folder / files.FINDINGS).is_dir()):
        return {}
    return {
        (one.record.name, finding.component, (finding.property, finding.failure_class.value, finding.operation)): number
        for one in kept.concluded(total)
        for number, cause in enumerate(one.record.causes)
        for finding in cause.findings
    }


def _seconds(result: BlockResult, seconds: Seconds, components: Components) -> Iterator[Row]:
    yield {"implementation": None, "seconds": seconds.whole}
    for name, one in sorted(seconds.each.items()):
        yield {"implementation": name, "seconds": one}


_MAKERS: dict[str, Make] = {
    "blocks": _blocks,
    "exercised": _exercised,
    "failures": _failures,
    "differences": _differences,
    "lost": _lost,
    "seconds": _seconds,
}
