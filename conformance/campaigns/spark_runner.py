"""The runner that runs blocks with Spark, on the cores of this machine or on a cluster.

Each block is a job of one task, and there are always more jobs than cores, so that no core waits for another one, and
executors that join are used at once. Workers return the results and write no files; the driver commits each result as
soon as it is there. Spark retries a task whose worker or executor died. pyspark is imported only when a campaign runs.
"""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import IO, Any, cast

from conformance.campaigns.apart import attempt_elsewhere
from conformance.campaigns.block import DIED, BlockResult, lost_block
from conformance.campaigns.errors import CampaignError, RunnerUnavailable
from conformance.campaigns.names import SUITE, Names
from conformance.campaigns.plan import Block, Plan
from conformance.campaigns.runners import Commit, Say, check_sendable, cores, hand_out
from conformance.campaigns.spark_packages import pack
from conformance.campaigns.spark_setup import FindJava, HasModule, find_java, has_module, spark_problem
from conformance.system.folders import scratch

ATTEMPTS = 4
"""The maximum number of attempts for a task. The master `local[N]` would allow only one attempt."""
JOBS = 3
"""The maximum number of jobs for a block. Each of them may take all attempts."""
JOBS_PER_CORE = 2
"""How many jobs are submitted for each core. Spark asks for more executors if tasks wait for one."""

SECONDS_TO_STOP = 30
"""A JVM that has not ended this long after the request to end is killed."""

_DEATHS = ("exited unexpectedly", "ExecutorLostFailure", "Connection reset", "EOFException")
"""Parts of Spark's error message for a task whose worker or executor died."""

_JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""The driver's JVM only passes messages on. The default compiler and garbage collector would take twice the time."""

_HEAP = "512m"
"""What a driver needs that passes on one result at a time, however long the campaign is."""

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


class Spark:
    """Spark on the cores of this machine, or on the cluster that `master` names (spark://…, yarn, k8s://…)."""

    name = "spark"

    def __init__(
        self,
        master: str | None = None,
        workers: int | None = None,
        attempts: int = ATTEMPTS,
        java: FindJava = find_java,
        has: HasModule = has_module,
        names: Names = SUITE,
    ) -> None:
        self.master = master or f"local[{workers or cores()},{attempts}]"
        self.attempts = attempts
        self.names = names
        self._java = java
        self._has = has

    @property
    def local(self) -> bool:
        """Whether tasks run on this machine and read its files."""
        return self.master == "local" or self.master.startswith("local[")

    def run(self, plan: Plan, blocks: Iterator[Block], commit: Commit, progress: Say) -> None:
        """See `Runner`."""
        if self.master.startswith("sc://"):
            raise RunnerUnavailable(
                f"{self.master} is a Spark Connect server, which has no RDDs. Name the master of the cluster itself "
                "(spark://…, yarn, k8s://…), or leave --master away to use the cores of this machine."
            )
        if problem := spark_problem(self._java, self._has):
            raise RunnerUnavailable(problem)
        check_sendable(self.names)
        with self._context(plan) as (context, jvm):
            jobs = _Jobs(context, jvm, partial(attempt_elsewhere, plan, names=self.names), self.attempts)

            def commit_and_tell(result: BlockResult) -> None:
                while not jobs.notes.empty():
                    progress(jobs.notes.get())
                commit(result)

            def run(block: Block) -> BlockResult:
                return jobs.run(block) or lost_block(plan, block, DIED)

            hand_out(blocks, run, commit_and_tell, jobs.places, jobs.stop)

    @contextmanager
    def session(self) -> Iterator[tuple[Any, Callable[[], None]]]:
        """Yield a SparkSession for other work than a campaign, and what ends its jobs. Raises: RunnerUnavailable."""
        if problem := spark_problem(self._java, self._has):
            raise RunnerUnavailable(problem)
        with self._context(None) as (context, jvm):
            from pyspark.sql import SparkSession

            yield SparkSession(context), jvm.terminate

    @contextmanager
    def _context(self, plan: Plan | None) -> Iterator[tuple[Any, subprocess.Popen[bytes]]]:
        """Yield a SparkContext and its JVM. At the end, stop both and restore the environment variables."""
        from pyspark import SparkConf, SparkContext, java_gateway

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
            conf.setAll(self._settings(quiet))
            words = undo.enter_context((folder / "jvm.log").open("w+b"))
            launch: Callable[..., Any] = java_gateway.launch_gateway
            try:
                gateway = launch(conf, {"stdout": words, "stderr": words})
                undo.push(partial(_stop, SparkContext, gateway))
                context = SparkContext(conf=conf, gateway=gateway)
                if not self.local:
                    context.addPyFile(str(pack(folder / "conformance-packages.zip", plan, self.names)))
            except Exception as error:
                raise RunnerUnavailable(
                    f"Spark could not be started on {self.master}: {_why(words, error)}. The runner processes needs no "
                    "Spark."
                ) from error
            if threading.current_thread() is threading.main_thread() and handler is not None:
                # Spark's own SIGINT handler calls the JVM even if another call to the JVM is in progress.
                signal.signal(signal.SIGINT, handler)
            yield context, gateway.proc

    def _settings(self, quiet: Path) -> list[tuple[str, str]]:
        settings = [
            ("spark.ui.enabled", "false"),
            ("spark.ui.showConsoleProgress", "false"),
            ("spark.task.maxFailures", str(self.attempts)),
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

    def _variables(self) -> dict[str, str]:
        """Make workers run this Python. On a cluster its path may differ: a PYSPARK_PYTHON that is set is kept."""
        if not self.local:
            return {} if "PYSPARK_PYTHON" in os.environ else {"PYSPARK_PYTHON": sys.executable}
        return {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}


class _Jobs:
    """Runs blocks as jobs of Spark. Several threads may do so at the same time."""

    def __init__(
        self, context: Any, jvm: subprocess.Popen[bytes], attempt: Callable[[Block], BlockResult], attempts: int
    ) -> None:
        self._context, self._jvm, self._attempt, self._attempts = context, jvm, attempt, attempts
        self.notes: SimpleQueue[str] = SimpleQueue()
        """What the user should know of."""

    def run(self, block: Block) -> BlockResult | None:
        """Return the result of a block, or None if its workers died in every attempt. Raises: CampaignError."""
        for _ in range(JOBS):
            try:
                (result,) = self._context.parallelize([block], 1).map(self._attempt).collect()
            except Exception as error:
                if self._jvm.poll() is not None or not any(sign in _text(error) for sign in _DEATHS):
                    raise _stopped(error) from error
                self.notes.put(f"the worker of block {block.name} died {self._attempts} times; trying again")
            else:
                return cast(BlockResult, result)
        self.notes.put(f"block {block.name} is lost: {DIED}")
        return None

    def places(self) -> int:
        """Return how many jobs there should be at once. Raises: CampaignError."""
        try:
            # The default parallelism of Spark is the number of cores of the executors that there are just now.
            return JOBS_PER_CORE * int(self._context.defaultParallelism)
        except Exception as error:
            raise _stopped(error) from error

    def stop(self) -> None:
        """End the JVM, and with it the jobs. It cleans up when it is asked to end in this way."""
        # pyspark has a connection from the JVM, and would print a traceback when the JVM closes it.
        server = getattr(self._context, "_accumulatorServer", None)
        if server is not None:
            server.handle_error = lambda *about: None
        self._jvm.terminate()


def _stopped(error: Exception) -> CampaignError:
    return CampaignError(f"Spark stopped working on the campaign: {_gist(_text(error))}.")


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


def _gist(text: str) -> str:
    """Return the message of an error without its Java stack, in at most 400 characters."""
    lines = [line.strip() for line in text.splitlines()]
    return " ".join(line for line in lines if line and not line.startswith(("at ", "...")))[:400].rstrip(".")
