"""Explores a level with Spark: its states are a table, and which of them are new is a query.

Tasks expand the states; of the states that come out, an anti-join leaves those that no level has, and of several with
one hash the one with the lowest order is kept. The executors read and write the folder of the exploration, which they
share with the driver, which sees aggregates only. The first levels have few states, and are explored in the driver.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, ExitStack
from functools import partial
from importlib import import_module
from typing import Any

import pyarrow as pa

from conformance.campaigns.spark_runner import Session, gist_of, uri_of
from conformance.engines.interruption import Interruption
from conformance.engines.watch import TICK
from conformance.exploring.errors import ExplorationError
from conformance.exploring.folder import TABLES, Explored, Folder, Level
from conformance.exploring.machine import Machine
from conformance.exploring.merging import Progress, Rest, Sums
from conformance.exploring.rows import BROKEN, COUNT, DRAIN, DRAINS, EDGE, LATER, LEFT, OUT, REACHED, STATES, STEP
from conformance.exploring.spark_tasks import LEAST, exchanging, keys_of, shortest, working

FEW = 2_000
"""A level with so many states takes the driver less time than the jobs of Spark would."""
MANY = 200_000
"""How many states the driver looks up by itself. If there are more, Spark has all levels."""
_ROWS = 2_000
"""How many states a task expands at most: in about four seconds."""

_FEWEST = 64
"""How many states a task expands at least, if there are so many."""


class Cluster:
    """Spark, on the cores of this machine, on a cluster, or on a Spark Connect server."""

    name = "spark"

    def __init__(self, connect: Callable[[], AbstractContextManager[Session]], few: int = FEW) -> None:
        """`connect` opens a session. `few`: how many states of a level are explored in the driver."""
        self._connect, self._few = connect, few
        self._driver = Machine(1)

    def begin(self, folder: Folder, explored: Explored, interruption: Interruption) -> ExitStack:
        """Start Spark, which ends with what is returned."""
        self._folder, self._explored, self._interruption = folder, explored, interruption
        with ExitStack() as ending:
            ending.enter_context(self._driver.begin(folder, explored, interruption))
            self._threads = ending.enter_context(ThreadPoolExecutor(1))
            session = ending.enter_context(self._connect())
            self._session, self._stop = session.spark, session.stop
            self._cores = self._waiting(session.cores)
            self._session.conf.set("spark.sql.shuffle.partitions", str(2 * (self._cores or 1)))
            return ending.pop_all()

    def level(self, number: int, sums: Sums, progress: Progress) -> Level | None:
        """Write the tables of a level; None if an interruption came first. Raises: ExplorationError; NotWritten."""
        before = self._folder.levels[-1]
        if before.reached + before.drains <= self._few and sums.states <= MANY:
            return self._driver.level(number, sums, progress)
        self._folder.begin()
        level: Level | None = self._waiting(partial(self._level, number, sums, before))
        if level is not None:
            progress(number - 1, level.states, level.transitions)
        return level

    def rest(self) -> Rest:
        """Judge the drains that no further level will judge: those of the last level, and those that it owes."""
        last, folder = len(self._folder.levels) - 1, self._folder
        if (before := folder.levels[-1]).reached + before.drains <= self._few:
            return self._driver.rest()
        if self._waiting(partial(self._drained, last)) is not None:
            return Rest((row for batch in folder.read(last + 1, "broken") for row in batch.to_pylist()), ())
        names = ("states", "drains")
        read = (batch for name in names for batch in folder.read(last, name))
        pairs = (zip(one["key"].to_pylist(), one["order"].to_pylist(), strict=True) for one in read)
        return Rest((), (pair for some in pairs for pair in some))

    def _drained(self, last: int) -> bool:
        """Write what the drains of the last level have violated, as a level that never counts."""
        self._folder.begin()
        both = self._read("states", last).select(*DRAINS.names).union(self._read("drains", last))
        rows = self._spread(both, self._folder.levels[-1].reached)
        self._write(rows.mapInArrow(working(self._explored, "drain"), _sql(BROKEN)), last + 1, "broken")
        return True

    def _level(self, number: int, sums: Sums, before: Level) -> Level:
        f = _functions(self._session)
        there = self._folder.place(number, "expanded")
        frontier = self._spread(self._read("states", number - 1), before.reached)
        frontier.mapInArrow(working(self._explored, "expand"), _sql(OUT)).write.parquet(uri_of(there))
        out = self._session.read.schema(_sql(OUT)).parquet(uri_of(there, is_read=True))

        first = f.min(f.struct("order", "steps", "counts")).alias("first")
        reached = out.where(f.col("kind") == REACHED).groupBy("key").agg(first).select("key", "first.*")
        known = self._read("states", *range(number))
        known = known.mapInArrow(keys_of, _sql(LEFT)) if sums.exchanges else known
        new = reached.join(known.select("key"), "key", "left_anti").withColumn("others", f.lit(b""))
        if sums.exchanges:
            alike = new.select(*STATES.names).mapInArrow(exchanging(self._explored), _sql(LEAST))
            first = f.min(f.struct("order", "key", "steps", "counts", "others")).alias("first")
            new = alike.groupBy("least").agg(first).select("first.*")
        self._write(new.select(*STATES.names).orderBy("order"), number, "states")

        here = self._read("states", number)
        here = here.mapInArrow(keys_of, _sql(LEFT)) if sums.exchanges else here.selectExpr("key", "key AS target")
        here = here.selectExpr("key AS alias", "target AS state")
        later = out.where(f.col("kind") == LATER).select("key", "order", "steps", "target")
        behind = later["target"] == here["alias"]
        left = later.join(here, behind).select("key", f.col("state").alias("target"))
        self._write(left, number, "left")
        self._write(later.join(here, behind, "left_anti").select(*DRAINS.names), number, "drains")

        names = BROKEN.names
        broken = out.where(f.col("kind") == DRAIN).select(*names)
        if before.drains:
            owed = self._spread(self._read("drains", number - 1), before.drains)
            broken = broken.union(owed.mapInArrow(working(self._explored, "drain"), _sql(BROKEN)))
        self._write(broken, number, "broken")

        # Of each task, these are a few rows: its sums.
        told = out.where(f.col("kind").isin(STEP, EDGE, COUNT)).collect()
        for one in sorted(told, key=lambda one: (bytes(one["order"] or b""), one["number"] or 0)):
            if one["kind"] == COUNT:
                sums.transitions += one["number"]
            elif one["kind"] == EDGE:
                sums.ordered(bytes(one["broken"]))
            else:
                sums.violated(bytes(one["broken"]), bytes(one["order"]), bytes(one["steps"]))
        counts = {name: self._folder.count(number, name) for name in TABLES}
        if counts["broken"]:
            for one in self._read("broken", number).mapInArrow(shortest, _sql(BROKEN)).collect():
                sums.violated(bytes(one["broken"]), bytes(one["order"]), bytes(one["steps"]))
        self._folder.remove(there)
        return sums.level(counts)

    def _spread(self, rows: Any, count: int) -> Any:
        """Returns rows in as many sorted parts as there should be tasks."""
        tasks = max(1, min(count // _FEWEST, 4 * (self._cores or 1)), count // _ROWS)
        parts = rows.repartitionByRange(tasks, "order") if tasks > 1 else rows.coalesce(1)
        return parts.sortWithinPartitions("order")

    def _read(self, table: str, *levels: int) -> Any:
        places = [self._folder.place(level, table) for level in levels]
        there = [uri_of(place, is_read=True) for place in places if place.is_dir()]
        if not there:
            return self._session.createDataFrame([], _sql(TABLES[table]))
        return self._session.read.schema(_sql(TABLES[table])).parquet(*there)

    def _write(self, rows: Any, number: int, table: str) -> None:
        place = self._folder.place(number, table)
        rows.write.option("compression", "zstd").parquet(uri_of(place))

    def _waiting(self, call: Callable[[], Any]) -> Any:
        """Return what a call returns that waits for Spark; None if an interruption comes first. Raises:
        ExplorationError."""
        if self._interruption.requested:
            return None
        future = self._threads.submit(call)
        while not future.done():
            if self._interruption.requested:
                self._stop()
                wait((future,))
                return None
            wait((future,), TICK)
        try:
            return future.result()
        except ExplorationError:
            raise
        except Exception as error:
            raise ExplorationError(f"Spark stopped working on the exploration: {gist_of(error)}.") from error


def _functions(session: Any) -> Any:
    """Returns what makes columns: a session of Spark Connect has functions of its own."""
    home = "pyspark.sql.connect" if type(session).__module__.startswith("pyspark.sql.connect.") else "pyspark.sql"
    return import_module(f"{home}.functions")


def _sql(schema: pa.Schema) -> str:
    """Returns a schema as Spark reads it."""
    types = {pa.binary(): "binary", pa.string(): "string", pa.int64(): "bigint"}
    return ", ".join(f"`{field.name}` {types[field.type]}" for field in schema)
