"""The runner that runs waves with Spark, on the cores of this machine, on a cluster, or on a Spark Connect server.

A wave is a job that writes a table, and one that adds it up. There are several tasks for each core, the longest first,
so that hardly a core waits, and executors that join are used at once. Executors write the rows; the committer of Spark
keeps one file for each task, and Spark retries a task whose worker or executor died. The driver sees sums only.
Nothing but DataFrames is used, so that it is the same for a Spark Connect server. pyspark is imported only when a
campaign runs.
"""

from __future__ import annotations

import errno
import logging
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any, NamedTuple
from urllib.parse import urlsplit

from conformance.campaigns.block import DIED, lost_block
from conformance.campaigns.errors import CampaignError, RunnerUnavailable
from conformance.campaigns.names import SUITE, Names
from conformance.campaigns.plan import Block, Plan
from conformance.campaigns.rows import rows_of
from conformance.campaigns.runners import Doing, Running, Say, Tell, check_sendable, cores, hand_out
from conformance.campaigns.spark_packages import pack
from conformance.campaigns.spark_setup import FindJava, HasModule, find_java, has_module, spark_problem
from conformance.campaigns.works import Function, Keep, Result, Work
from conformance.system.folders import scratch
from conformance.system.writing import NotWritten

ATTEMPTS = 4
"""The maximum number of attempts for a task. The master `local[N]` would allow only one attempt."""
JOBS = 3
"""The maximum number of jobs of one block alone. Each of them may take all attempts."""

WORKS_PER_CORE = 2
"""How many works a job has for each core. Each is a task, and results are kept when their job has ended."""

SECONDS_TO_STOP = 30
"""A JVM that has not ended this long after the request to end is killed."""

_DEATHS = ("exited unexpectedly", "ExecutorLostFailure", "Connection reset", "EOFException")
"""Parts of Spark's error message for a task whose worker or executor died."""

_SUBMITTED = "PYSPARK_GATEWAY_PORT"
"""Where spark-submit says how its JVM is reached."""

_FULL = os.strerror(errno.ENOSPC)
"""What a JVM says, too, if there is no room for a file."""

_JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""The driver's JVM only passes messages on. The default compiler and garbage collector would take twice the time."""

_HEAP = "512m"
"""What a driver needs that sees aggregates only, however long the campaign is."""

_MARKS = "mapreduce.fileoutputcommitter.marksuccessfuljobs"
"""What counts says `wave.json`, and not a file of Spark's."""
_MOST_CORES = 1_000_000
RETRIES = 7
"""How often a Spark Connect server is asked again that does not answer: for about two minutes."""
_PORT, _SECONDS_TO_ANSWER = 15002, 10.0
_NO_CONF: Mapping[str, str] = MappingProxyType({})

_QUIET = """\
status = error
rootLogger.level = error
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %d %p %c{1}: %m%n
"""


class Session(NamedTuple):
    """A session of Spark."""

    spark: Any
    stop: Callable[[], None]
    """Ends its jobs."""
    is_alive: Callable[[], bool]
    """Whether it can have other jobs."""
    cores: Callable[[], int]
    """How many cores the executors have that there are just now."""


class Spark:
    """Spark on the cores of this machine, or on what `master` names: a cluster (spark://…, yarn, k8s://…), or a Spark
    Connect server (sc://…)."""

    name = "spark"

    def __init__(
        self,
        master: str | None = None,
        workers: int | None = None,
        attempts: int = ATTEMPTS,
        java: FindJava = find_java,
        has: HasModule = has_module,
        names: Names = SUITE,
        conf: Mapping[str, str] = _NO_CONF,
    ) -> None:
        """`conf`: settings of Spark, which take the place of ours."""
        self.conf = dict(conf)
        self.master = master or f"local[{workers or cores()},{attempts}]"
        self.attempts = attempts
        self.names = names
        self._java = java
        self._has = has

    @property
    def local(self) -> bool:
        """Whether tasks run on this machine and read its files."""
        return self.master == "local" or self.master.startswith("local[")

    @contextmanager
    def opened(self, plan: Plan) -> Iterator[Running]:
        """See `Runner`."""
        with self.session(plan) as session:
            yield Jobs(session, plan, self.names, self.attempts)

    @contextmanager
    def doing(self) -> Iterator[Doing]:
        """See `Runner`."""
        with self.session() as session:
            yield Tasks(session, self.names, self.attempts)

    @contextmanager
    def session(self, plan: Plan | None = None) -> Iterator[Session]:
        """Yield a session whose executors have this project, and what a plan names. Raises: as `opened`."""
        if problem := spark_problem(self._java, self._has, connects=self.connects):
            raise RunnerUnavailable(problem)
        check_sendable(self.names)
        if _SUBMITTED in os.environ:
            begun = self._submitted(plan)
        else:
            begun = self._connected(plan) if self.connects else self._classic(plan)
        with begun as session:
            yield session

    @property
    def connects(self) -> bool:
        """Whether the master is a Spark Connect server, whose client needs no Java."""
        return is_connect(self.master)

    @contextmanager
    def _submitted(self, plan: Plan | None) -> Iterator[Session]:
        """Yield the session of `spark-submit`, which has started this process and knows the master."""
        from pyspark.sql import SparkSession

        with ExitStack() as undo:
            folder = undo.enter_context(scratch("conformance-spark-run-"))
            try:
                conf: dict[str, Any] = {**self._cores(plan), **self.conf}
                session = SparkSession.builder.appName("conformance").config(map=conf).getOrCreate()
                undo.callback(session.stop)
                context = session.sparkContext
                _send(context, pack(folder / "conformance-packages.zip", plan, self.names))
            except Exception as error:
                raise RunnerUnavailable(f"The session of spark-submit could not be used: {gist_of(error)}.") from error
            yield Session(session, context.cancelAllJobs, lambda: True, lambda: int(context.defaultParallelism))

    @contextmanager
    def _connected(self, plan: Plan | None) -> Iterator[Session]:
        """Yield a session of a Spark Connect server."""
        from pyspark.sql.connect.client.retries import DefaultPolicy
        from pyspark.sql.connect.session import SparkSession

        is_there = partial(answers, self.master)
        with ExitStack() as undo:
            folder = undo.enter_context(scratch("conformance-spark-run-"))
            try:
                session = SparkSession.builder.remote(self.master).create()
                undo.callback(_if(is_there, session.stop))
                session.client.set_retry_policies([DefaultPolicy(max_retries=RETRIES)])
                for name, value in self.conf.items():
                    session.conf.set(name, value)
                session.addArtifacts(str(pack(folder / "conformance-packages.zip", plan, self.names)), pyfile=True)
            except Exception as error:
                raise RunnerUnavailable(
                    f"The Spark Connect server {self.master} could not be used: {gist_of(error)}. The runner "
                    "processes needs no Spark."
                ) from error
            yield Session(session, _if(is_there, session.interruptAll), is_there, lambda: _partitions(session))

    @contextmanager
    def _classic(self, plan: Plan | None) -> Iterator[Session]:
        """Yield a session with a JVM of its own. At the end, stop both, and restore the environment variables."""
        from pyspark import SparkConf, SparkContext, java_gateway
        from pyspark.sql import SparkSession

        if SparkContext._active_spark_context is not None:
            raise RunnerUnavailable(
                "This process has a SparkContext already, with other settings. Stop it first, or use the runner "
                "processes."
            )
        handler = signal.getsignal(signal.SIGINT)
        with ExitStack() as undo:
            folder = undo.enter_context(scratch("conformance-spark-run-"))
            undo.enter_context(_environment(self._variables()))
            undo.enter_context(_quiet_interrupts())
            quiet = folder / "log4j2.properties"
            quiet.write_text(_QUIET, encoding="utf-8")
            conf = SparkConf(loadDefaults=False).setMaster(self.master).setAppName("conformance")
            conf.setAll([*self._settings(quiet), *self._cores(plan).items(), *self.conf.items()])
            words = undo.enter_context((folder / "jvm.log").open("w+b"))
            launch: Callable[..., Any] = java_gateway.launch_gateway
            try:
                gateway = launch(conf, {"stdout": words, "stderr": words})
                undo.push(partial(_stop, SparkContext, gateway))
                context = SparkContext(conf=conf, gateway=gateway)
                if not self.local:
                    _send(context, pack(folder / "conformance-packages.zip", plan, self.names))
            except Exception as error:
                raise RunnerUnavailable(
                    f"Spark could not be started on {self.master}: {_why(words, error)}. The runner processes needs no "
                    "Spark."
                ) from error
            if threading.current_thread() is threading.main_thread() and handler is not None:
                # Spark's own SIGINT handler calls the JVM even if another call to the JVM is in progress.
                signal.signal(signal.SIGINT, handler)
            session = SparkSession(context)
            undo.callback(_forget, SparkSession)
            # The default parallelism of Spark is the number of cores of the executors that there are just now.
            yield Session(
                session,
                partial(_end, context, gateway.proc),
                lambda: gateway.proc.poll() is None,
                lambda: int(context.defaultParallelism),
            )

    def _settings(self, quiet: Path) -> list[tuple[str, str]]:
        settings = [
            ("spark.ui.enabled", "false"),
            ("spark.ui.showConsoleProgress", "false"),
            ("spark.task.maxFailures", str(self.attempts)),
            ("spark.sql.shuffle.partitions", "1"),  # what is added up in one task is small
            ("spark.sql.sources.parallelPartitionDiscovery.threshold", "1000000"),  # to list files is no job
            ("spark.driver.memory", _HEAP),
            ("spark.ui.retainedJobs", "50"),  # what has ended is of no interest, and there are hundreds of thousands
            ("spark.ui.retainedStages", "50"),
            ("spark.ui.retainedTasks", "500"),
            ("spark.driver.extraJavaOptions", f"{_JVM} -Dlog4j2.configurationFile={quiet.as_uri()}"),
        ]
        if os.name == "posix":  # Spark releases without this setting ignore it
            settings.append(("spark.python.unix.domain.socket.enabled", "true"))
        if self.local:
            settings += [("spark.driver.host", "127.0.0.1"), ("spark.driver.bindAddress", "127.0.0.1")]
            settings.append(("spark.local.dir", str(quiet.parent)))  # so that nothing of a killed driver is left
        return settings

    def _cores(self, plan: Plan | None) -> dict[str, str]:
        """Let a task have as many cores as a block takes. A Spark Connect server must have been started so."""
        return {} if plan is None or plan.cores_each == 1 else {"spark.task.cpus": str(plan.cores_each)}

    def _variables(self) -> dict[str, str]:
        """Make workers run this Python. On a cluster its path may differ: a PYSPARK_PYTHON that is set is kept."""
        if not self.local:
            return {} if "PYSPARK_PYTHON" in os.environ else {"PYSPARK_PYTHON": sys.executable}
        return {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}


def _send(context: Any, archive: Path) -> None:
    """Send packages to the executors.

    Spark puts them into the path of this process, too, which has them already. There they would outlive their file, and
    the next import of anything would fail.
    """
    before = set(sys.path)
    context.addPyFile(str(archive))
    sys.path[:] = [one for one in sys.path if one in before]


def is_connect(master: str | None) -> bool:
    """Return whether a master is a Spark Connect server."""
    return master is not None and master.startswith("sc://")


class Tasks:
    """Does works as tasks of Spark."""

    def __init__(self, session: Session, names: Names, attempts: int) -> None:
        """`attempts`: how often Spark runs a task whose worker dies."""
        self._session, self._names, self._attempts = session, names, attempts

    def places(self) -> int:
        """See `Doing`."""
        return int(self._waiting(self._session.cores))

    def do(self, function: Function[Work, Result], works: Iterable[Work], keep: Keep[Work, Result], say: Say) -> None:
        """See `Doing`. There are two jobs at a time, so that no core waits for the last task of a job.

        A driver that is killed loses the results of these two.
        """
        each, left = WORKS_PER_CORE * self.places(), iter(works)
        jobs = iter(lambda: list(islice(left, each)), [])

        def run(job: Sequence[Work]) -> list[tuple[Work, Result]]:
            return list(self._results(function, job, say))

        def commit(done: list[tuple[Work, Result]]) -> None:
            for one in done:
                keep(*one)

        hand_out(jobs, run, commit, lambda: 2, self._session.stop)

    def _results(
        self, function: Function[Work, Result], works: Sequence[Work], say: Say
    ) -> Iterator[tuple[Work, Result]]:
        """Yield results in any order. Tasks whose worker died each time are run again in two halves."""
        todo, deaths = [works], 0
        while todo:
            some = todo.pop()
            try:
                done = self._called(partial(self._done, function, some))
            except _Died:
                if len(some) > 1:
                    todo += [some[len(some) // 2 :], some[: len(some) // 2]]
                    continue
                deaths += 1
                what = function.about(some[0])
                if deaths < JOBS:
                    say(f"the worker of {what} died {self._attempts} times; trying again")
                    todo.append(some)
                    continue
                say(f"{what} is given up: its worker died each time")
                done = [(0, function.given_up(some[0], None, self._names))]
            deaths = 0
            yield from ((some[number], one) for number, one in done)

    def _done(self, function: Function[Work, Result], works: Sequence[Work]) -> list[tuple[int, Result]]:
        from conformance.campaigns.spark_tasks import RESULTS, doing

        count = len(works)
        numbers = self._session.spark.range(0, count, 1, count)
        rows = numbers.mapInArrow(doing(function, self._names, works), RESULTS).collect()
        return [(row.number, function.read(works[row.number], bytes(row.result), self._names)) for row in rows]

    def _waiting(self, call: Callable[[], Any], table: Path | None = None) -> Any:
        """Return what a call returns that waits for Spark, in a thread, so that Ctrl-C is noticed at once.

        `table`: what it writes. Raises: _Died if the processes of a task died in each attempt; NotWritten if there is
        no room for the table; CampaignError.
        """
        found: list[tuple[Any, _Died | None]] = []

        def run(one: Callable[[], Any]) -> tuple[Any, _Died | None]:
            try:
                return self._called(one, table), None
            except _Died as died:  # not raised in there, where an error ends the session: other jobs follow
                return None, died

        hand_out(iter([call]), run, found.append, lambda: 1, self._session.stop)
        ((result, died),) = found
        if died is not None:
            raise died
        return result

    def _called(self, call: Callable[[], Any], table: Path | None = None) -> Any:
        """Return what a call returns that waits for Spark. Raises: as `_waiting`."""
        try:
            return call()
        except Exception as error:
            text = _text(error)
            if self._session.is_alive() and any(sign in text for sign in _DEATHS):
                raise _Died(text) from error
            if table is not None and _FULL in text:
                raise NotWritten(OSError(errno.ENOSPC, _FULL), table) from error
            raise _stopped(error) from error


class Jobs(Tasks):
    """Runs waves as jobs of Spark."""

    def __init__(self, session: Session, plan: Plan, names: Names, attempts: int) -> None:
        """`attempts`: how often Spark runs a task whose worker dies."""
        super().__init__(session, names, attempts)
        self._plan = plan

    def places(self) -> int:
        """See `Doing`."""
        return max(1, super().places() // self._plan.cores_each)

    def run(self, tasks: Sequence[Sequence[Block]], table: Path, tell: Tell, say: Say) -> None:
        """See `Running`. Tasks whose worker died each time are run again in two halves, until one block is left."""
        from conformance.campaigns.tables import TableWriter  # pyarrow takes a while to load

        todo = [list(tasks)]
        deaths = 0
        while todo:
            some = todo.pop()
            try:
                self._waiting(partial(self._write, some, table), table)
            except _Died:
                if len(some) > 1:
                    todo += [some[len(some) // 2 :], some[: len(some) // 2]]
                elif len(some[0]) > 1:
                    todo.append([[block] for block in some[0]])
                else:
                    (block,) = some[0]
                    deaths += 1
                    if deaths < JOBS:
                        say(f"the worker of block {block.name} died {self._attempts} times; trying again")
                        todo.append(some)
                        continue
                    say(f"block {block.name} is lost: {DIED}")
                    with TableWriter(table, f"lost-{block.name}") as writer:
                        writer.add(rows_of(lost_block(self._plan, block, DIED)))
            deaths = 0

    def _write(self, tasks: Sequence[Sequence[Block]], table: Path) -> None:
        from conformance.campaigns.spark_tasks import running
        from conformance.campaigns.tables import SQL_SCHEMA

        count = len(tasks)
        run = running(self._plan, self._names, tasks)
        rows = self._session.spark.range(0, count, 1, count).mapInArrow(run, SQL_SCHEMA)
        self._written(rows.write.mode("append"), table)

    def add(self, tables: Sequence[Path], into: Path) -> None:
        """See `Running`. Each task adds the rows of some files, and one task what came of that.

        A job that failed has left the folder, without a file in it: the next one overwrites it.
        """
        from conformance.campaigns.spark_tasks import adding, adding_group
        from conformance.campaigns.tables import SQL_SCHEMA

        where = self._names.components.where

        def write() -> None:
            rows = self._session.spark.read.schema(SQL_SCHEMA).parquet(*(uri_of(path, is_read=True) for path in tables))
            parts = rows.mapInArrow(adding(where), SQL_SCHEMA).groupBy("component")
            self._written(parts.applyInArrow(adding_group(where), SQL_SCHEMA).coalesce(1).write.mode("overwrite"), into)

        for left in reversed(range(JOBS)):
            try:
                self._waiting(write, into)
            except _Died as error:
                if not left:
                    raise _stopped(error) from error
            else:
                return

    def _written(self, writer: Any, table: Path) -> None:
        """Write a table. The committer of Spark keeps one file of each task, whichever attempt was the first."""
        from conformance.campaigns.tables import COMPRESSION

        writer = writer.option("compression", COMPRESSION).option(_MARKS, "false")
        writer.parquet(uri_of(table))


class _Died(Exception):
    """The processes that ran a task died in each attempt."""


def uri_of(path: Path, is_read: bool = False) -> str:
    """Return a path as Spark takes it: nothing in it is escaped, but in what is read, the characters of a glob."""
    found = f"file://{path.resolve().as_posix()}"
    return re.sub(r"[\\*?\[\]{}]", r"\\\g<0>", found) if is_read else found


def _end(context: Any, jvm: subprocess.Popen[bytes]) -> None:
    """End the JVM, and with it the jobs. It cleans up when it is asked to end in this way."""
    # pyspark has a connection from the JVM, and would print a traceback when the JVM closes it.
    server = getattr(context, "_accumulatorServer", None)
    if server is not None:
        server.handle_error = lambda *about: None
    jvm.terminate()


def _partitions(session: Any) -> int:
    """Return the cores of the executors of a Spark Connect server: it divides a range into so many partitions."""
    return int(session.range(_MOST_CORES).selectExpr("spark_partition_id()").distinct().count())


def answers(address: str) -> bool:
    """Return whether somebody listens at the address of a Spark Connect server."""
    parts = urlsplit(address)
    try:
        with socket.create_connection((parts.hostname or "", parts.port or _PORT), _SECONDS_TO_ANSWER):
            return True
    except OSError:
        return False


def _if(holds: Callable[[], bool], call: Callable[[], object]) -> Callable[[], None]:
    """Return a function that calls another one only if something holds, and raises nothing."""

    def called() -> None:
        with suppress(Exception):  # it may have ended in between
            if holds():
                call()

    return called


def _forget(session_class: Any) -> None:
    """Make pyspark forget a session whose context is about to be stopped."""
    session_class._instantiatedSession = None
    session_class._activeSession = None


def _stopped(error: Exception) -> CampaignError:
    return CampaignError(f"Spark stopped working on the campaign: {gist_of(error)}.")


def _text(error: Exception) -> str:
    """Return the message of an error. That of an exception of Java is asked for in the JVM, which may have ended."""
    try:
        return str(error) or type(error).__name__
    except Exception:
        return type(error).__name__


@contextmanager
def _environment(variables: dict[str, str]) -> Iterator[None]:
    """Set environment variables, and restore the environment at the end, since pyspark reads and adds variables."""
    before = dict(os.environ)
    os.environ.update(variables)
    try:
        yield
    finally:
        for name in [name for name in os.environ if name not in before]:
            del os.environ[name]
        os.environ.update(before)


@contextmanager
def _quiet_interrupts() -> Iterator[None]:
    """Suppress the log record with a stack that py4j writes before it raises a KeyboardInterrupt again."""

    def other(record: logging.LogRecord) -> bool:
        return record.exc_info is None or record.exc_info[0] is not KeyboardInterrupt

    logger = logging.getLogger()
    logger.addFilter(other)
    try:
        yield
    finally:
        logger.removeFilter(other)


def _stop(context_class: Any, gateway: Any, kind: type[BaseException] | None, *error: object) -> None:
    """Stop Spark and its JVM, which SparkContext.stop() alone leaves running until this process ends."""
    context = context_class._active_spark_context
    if context is not None:
        if kind is not None:
            context._jsc = None  # the error may have interrupted a call to the JVM: no other call is possible
        context.stop()
    context_class._gateway = None
    context_class._jvm = None
    if kind is None:
        gateway.shutdown()
    else:
        gateway.proc.terminate()  # the JVM cleans up on SIGTERM
    gateway.proc.stdin.close()  # the JVM ends when this pipe is closed
    try:
        gateway.proc.wait(timeout=SECONDS_TO_STOP)
    except subprocess.TimeoutExpired:
        gateway.proc.kill()
        gateway.proc.wait()


def _why(words: IO[bytes], error: Exception) -> str:
    """Return what the JVM wrote last or, if that is nothing, the message of the error."""
    words.seek(0)
    said = words.read().decode(errors="replace").strip().splitlines()
    return _gist("\n".join(said[-20:]) or _text(error))


def gist_of(error: Exception) -> str:
    """Return the message of an error without its Java stack, in at most 400 characters."""
    return _gist(_text(error))


def _gist(text: str) -> str:
    """Return the message of an error without its stacks of Java and Python, in at most 400 characters."""
    lines, within = [], False
    for line in text.splitlines():
        within = line.strip().startswith("Traceback (most recent") or (within and line[:1].isspace())
        if not within and (found := line.strip()) and not found.startswith(("at ", "...")):
            lines.append(found)
    return " ".join(lines)[:400].rstrip(".")
