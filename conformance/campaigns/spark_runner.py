"""The runner that runs blocks with Spark, on the cores of this machine or on a cluster.

Blocks are run in waves. A wave is an RDD with one block per task. Workers return the results and write no files; the
driver commits the results. Spark retries a task whose worker died. pyspark is imported only when a campaign runs.
"""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

from conformance.campaigns.block import BlockResult, attempt_block
from conformance.campaigns.errors import CampaignError, RunnerUnavailable
from conformance.campaigns.names import SUITE, Names
from conformance.campaigns.plan import Block, Plan
from conformance.campaigns.runners import Commit, Say, check_sendable, cores, settled
from conformance.campaigns.spark_setup import FindJava, HasModule, find_java, has_module, spark_problem
from conformance.system.folders import scratch

ATTEMPTS = 4
"""The maximum number of attempts for a task. The master `local[N]` would allow only one attempt."""
BLOCKS_PER_CORE = 4
"""The number of blocks per core in one wave."""
PACKAGES = ("conformance", "strategies", "reference_impl")
DISTRIBUTION = "checkpoint-conformance"

SECONDS_TO_STOP = 30
"""A JVM that has not ended this long after the request to end is killed."""

_DEATHS = ("exited unexpectedly", "ExecutorLostFailure", "Connection reset", "EOFException")
"""Parts of Spark's error message for a task whose worker or executor died."""

_JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""The driver's JVM only passes messages on. The default compiler and garbage collector would take twice the time."""

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
        """See `Runner`. `settled` runs a block again, without Spark, whose worker died at each attempt of Spark."""
        if self.master.startswith("sc://"):
            raise RunnerUnavailable(
                f"{self.master} is a Spark Connect server, which has no RDDs. Name the master of the cluster itself "
                "(spark://…, yarn, k8s://…), or leave --master away to use the cores of this machine."
            )
        if problem := spark_problem(self._java, self._has):
            raise RunnerUnavailable(problem)
        check_sendable(self.names)
        with self._context() as context:
            size = max(1, context.defaultParallelism) * BLOCKS_PER_CORE
            while wave := list(islice(blocks, size)):
                self._run(context, plan, wave, commit, progress)

    def _run(self, context: Any, plan: Plan, wave: Sequence[Block], commit: Commit, progress: Say) -> None:
        """Run a wave. If workers die, run each half of it, until only blocks that kill their worker are left."""
        try:
            attempt = partial(attempt_block, plan, names=self.names)
            results: list[BlockResult] = context.parallelize(wave, len(wave)).map(attempt).collect()
        except Exception as error:
            text = str(error)
            if context._jsc is None or not any(sign in text for sign in _DEATHS):
                raise CampaignError(f"Spark stopped working on the campaign: {_gist(text)}.") from error
            if len(wave) == 1:
                commit(settled(plan, wave[0], self.names, progress))
                return
            progress(f"a worker died {self.attempts} times; searching for the block that kills it among {len(wave)}")
            middle = len(wave) // 2
            self._run(context, plan, wave[:middle], commit, progress)
            self._run(context, plan, wave[middle:], commit, progress)
        else:
            for result in results:
                commit(result)

    @contextmanager
    def _context(self) -> Iterator[Any]:
        """Yield a SparkContext with a JVM of its own. At the end, stop both and restore the environment variables."""
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
            except Exception as error:
                words.seek(0)
                said = words.read().decode(errors="replace").strip().splitlines()
                why = _gist("\n".join(said[-20:]) or str(error))
                raise RunnerUnavailable(
                    f"Spark could not be started on {self.master}: {why}. The runner processes needs no Spark."
                ) from error
            if threading.current_thread() is threading.main_thread() and handler is not None:
                # Spark's own SIGINT handler calls the JVM even if another call to the JVM is in progress.
                signal.signal(signal.SIGINT, handler)
            if not self.local:
                context.addPyFile(str(pack(folder / "conformance-packages.zip")))
            yield context

    def _settings(self, quiet: Path) -> list[tuple[str, str]]:
        settings = [
            ("spark.ui.enabled", "false"),
            ("spark.ui.showConsoleProgress", "false"),
            ("spark.task.maxFailures", str(self.attempts)),
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


def pack(path: Path) -> Path:
    """Write a zip of the three packages for executors on other machines, with the entry points of implementations.

    Their dependencies (msgspec, hypothesis) must be installed on those machines. Return `path`.
    """
    with ZipFile(path, "w", ZIP_DEFLATED) as archive:
        for package in PACKAGES:
            spec = find_spec(package)
            for root in (spec.submodule_search_locations or ()) if spec is not None else ():
                for file in sorted(Path(root).rglob("*")):
                    if file.is_file() and "__pycache__" not in file.parts:
                        archive.write(file, Path(package, file.relative_to(root)).as_posix())
        try:
            known = distribution(DISTRIBUTION)
        except PackageNotFoundError:
            return path
        folder = f"{DISTRIBUTION.replace('-', '_')}-{known.version}.dist-info"
        for name in ("METADATA", "entry_points.txt"):
            if text := known.read_text(name):
                archive.writestr(f"{folder}/{name}", text)
    return path


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


def _gist(text: str) -> str:
    """Return the message of an error without its Java stack, in at most 400 characters."""
    lines = [line.strip() for line in text.splitlines()]
    return " ".join(line for line in lines if line and not line.startswith(("at ", "...")))[:400].rstrip(".")
