"""Runs the waves of a campaign. A runner decides where blocks are run; the tables are the same for every runner.

What is the same are the rows, but for the seconds that a block took, and not their order nor the files they are in.
"""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from conformance.campaigns.apart import BlockWorker, Stopped, attempt_block, needs_a_worker
from conformance.campaigns.block import BlockResult
from conformance.campaigns.errors import RunnerUnavailable
from conformance.campaigns.merge import fold
from conformance.campaigns.names import SUITE, Names, object_of
from conformance.campaigns.plan import Block, Plan
from conformance.campaigns.rows import rows_of
from conformance.campaigns.seconds import Seconds, Watch
from conformance.campaigns.waves import MOST_BYTES
from conformance.campaigns.works import Function, Result, Work
from conformance.campaigns.works import Keep as KeepResult
from conformance.campaigns.works_worker import USUAL, WorksWorker
from conformance.driver import find_components
from conformance.scenarios.reading import read_bytes
from conformance.system.writing import make_folder

_LOOK_SECONDS = 0.5
"""How often a runner looks whether it can run more blocks at once than before."""
_MOST_THREADS = 100_000
"""More than there will ever be: a thread is made when there is a block for it."""

Keep = Callable[[BlockResult, Seconds], None]
"""Keeps the result of a block that took so many seconds. It is called by the driver, in any order of blocks."""

Say = Callable[[str], None]
"""Shows the user a message of one sentence."""

Tell = Callable[[BlockResult], None]
"""Called with a block that was run, in the driver's process. Not with those that were run elsewhere."""


RunAll = Callable[[Iterator[Block], Keep], None]
DoAll = Callable[[Function[Any, Any], Iterable[Any], KeepResult[Any, Any]], None]


class Runner(Protocol):
    """Decides where the blocks of a campaign are run."""

    @property
    def name(self) -> str:
        """The name of the runner on the command line."""

    @property
    def names(self) -> Names:
        """Where the names of implementations and components are looked up, also when the results are added up."""

    def opened(self, plan: Plan) -> AbstractContextManager[Running]:
        """Start what runs the blocks of a plan; it ends with the `with` block. Raises: RunnerUnavailable."""

    def doing(self) -> AbstractContextManager[Doing]:
        """Start what does works without a plan; it ends with the `with` block. Raises: RunnerUnavailable."""


class Doing(Protocol):
    """Does works."""

    def places(self) -> int:
        """Return how many works, or blocks, can be done at once just now. Raises: CampaignError."""

    def do(
        self, function: Function[Work, Result], works: Iterable[Work], keep: KeepResult[Work, Result], say: Say
    ) -> None:
        """Do each work, in this order as far as there are places. The next work is asked for when there is one.

        `keep` is called in the driver's process as soon as a result is there. Raises: CampaignError if no more works
        can be done; KeyboardInterrupt after it has stopped its workers; what the function raises that ends a campaign.
        """


class Running(Doing, Protocol):
    """Runs waves, too. A wave is a folder with two tables, in which the caller has made the folder of the first one."""

    def run(self, tasks: Sequence[Sequence[Block]], table: Path, tell: Tell, say: Say) -> None:
        """Run the blocks of each task, and write the rows of all of them as a table into a folder that is there.

        A block that cannot be run is written as a lost one. Raises: CampaignError if no more blocks can be run;
        NotWritten; KeyboardInterrupt after it has stopped its workers.
        """

    def add(self, tables: Sequence[Path], into: Path) -> None:
        """Write the sum of these files of rows as a table into a folder that is not there. Raises: as `run`."""


class DoingHere:
    """Does works on this machine."""

    def __init__(self, places: int, do_all: DoAll) -> None:
        """`do_all` does works, and keeps each result as soon as it is there."""
        self._places, self._do_all = places, do_all

    def places(self) -> int:
        """See `Doing`."""
        return self._places

    def do(
        self, function: Function[Work, Result], works: Iterable[Work], keep: KeepResult[Work, Result], say: Say
    ) -> None:
        """See `Doing`."""
        self._do_all(function, works, keep)


class Here(DoingHere):
    """Writes what is run on this machine. The workers return the results, and this process writes the rows."""

    def __init__(self, names: Names, places: int, run_all: RunAll, do_all: DoAll) -> None:
        """`run_all` runs blocks, and `do_all` does works; both keep each result as soon as it is there."""
        super().__init__(places, do_all)
        self._names, self._run_all = names, run_all

    def run(self, tasks: Sequence[Sequence[Block]], table: Path, tell: Tell, say: Say) -> None:
        """See `Running`."""
        from conformance.campaigns.tables import TableWriter  # pyarrow takes a while to load

        with TableWriter(table) as writer:

            def keep(result: BlockResult, seconds: Seconds) -> None:
                writer.add(rows_of(result, seconds))
                tell(result)

            self._run_all((block for task in tasks for block in task), keep)

    def add(self, tables: Sequence[Path], into: Path) -> None:
        """See `Running`."""
        from conformance.campaigns.tables import TableWriter, read_table

        rows = (row for path in tables for row in read_table(read_bytes(path, MOST_BYTES)))
        total = fold(rows, self._names.components)
        make_folder(into)
        with TableWriter(into) as writer:
            writer.add(total.rows())


class Inline:
    """Runs one block after the other: for debugging, and as the baseline for tests of the other runners.

    They run in this process, but for those with an implementation that is not the suite's own.
    """

    name = "inline"

    def __init__(self, names: Names = SUITE) -> None:
        self.names = names

    @contextmanager
    def opened(self, plan: Plan) -> Iterator[Running]:
        """See `Runner`."""
        worker = BlockWorker(plan, self.names) if needs_a_worker(plan, self.names) else None

        def run(block: Block, watch: Watch) -> BlockResult:
            return attempt_block(plan, block, self.names, watch) if worker is None else worker.run(block, watch)

        def run_all(blocks: Iterator[Block], keep: Keep) -> None:
            for block in blocks:
                keep(*timed(run, block))

        try:
            yield Here(self.names, 1, run_all, doing_here(self.names))
        finally:
            if worker is not None:
                worker.close()

    @contextmanager
    def doing(self) -> Iterator[Doing]:
        """See `Runner`."""
        yield DoingHere(1, doing_here(self.names))


def doing_here(names: Names) -> DoAll:
    """Return a function that does one work after the other in this process."""

    def do_all(function: Function[Any, Any], works: Iterable[Any], keep: KeepResult[Any, Any]) -> None:
        with function.ready(names) as do:
            for work in works:
                keep(work, do(work))

    return do_all


class Processes:
    """Several processes on this machine, one for each core unless `workers` says otherwise; fewer if the blocks of a
    plan take several cores each."""

    name = "processes"

    def __init__(self, workers: int | None = None, names: Names = SUITE) -> None:
        self.workers = workers or cores()
        self.names = names

    @contextmanager
    def opened(self, plan: Plan) -> Iterator[Running]:
        """See `Runner`. A worker that ends in the middle of a block is replaced, and the block is run again."""
        check_sendable(self.names)
        ending = threading.Event()

        def told(number: int) -> None:
            if ending.is_set():
                raise Stopped

        idle: queue.SimpleQueue[BlockWorker] = queue.SimpleQueue()
        places = max(1, self.workers // plan.cores_each)
        workers = [BlockWorker(plan, self.names, told) for _ in range(places)]
        for worker in workers:
            idle.put(worker)

        def run(block: Block) -> tuple[BlockResult, Seconds]:
            worker = idle.get()
            try:
                return timed(worker.run, block)
            finally:
                idle.put(worker)

        def run_all(blocks: Iterator[Block], keep: Keep) -> None:
            hand_out(blocks, run, lambda one: keep(*one), lambda: places, ending.set)

        try:
            yield Here(self.names, places, run_all, partial(self._do_all, places, plan.memory_mib))
        finally:
            for worker in workers:
                worker.close()

    @contextmanager
    def doing(self) -> Iterator[Doing]:
        """See `Runner`. A worker that ends in the middle of a work is replaced, and the work is done again."""
        check_sendable(self.names)
        yield DoingHere(self.workers, partial(self._do_all, self.workers, USUAL.memory_mib))

    def _do_all(
        self,
        places: int,
        memory_mib: int,
        function: Function[Any, Any],
        works: Iterable[Any],
        keep: KeepResult[Any, Any],
    ) -> None:
        ending = threading.Event()

        def told(number: int) -> None:
            if ending.is_set():
                raise Stopped

        idle: queue.LifoQueue[WorksWorker[Any, Any]] = queue.LifoQueue()  # one that was started is used first
        workers = [WorksWorker(function, self.names, told, memory_mib) for _ in range(places)]
        for worker in workers:
            idle.put(worker)

        def do(work: Any) -> tuple[Any, Any]:
            worker = idle.get()
            try:
                return work, worker.do(work)
            finally:
                idle.put(worker)

        try:
            hand_out(iter(works), do, lambda one: keep(*one), lambda: places, ending.set)
        finally:
            for worker in workers:
                worker.close()


def timed(run: Callable[[Block, Watch], BlockResult], block: Block) -> tuple[BlockResult, Seconds]:
    """Return the result of a block, and how many seconds it took."""
    watch = Watch()
    return run(block, watch), watch.read()


def hand_out(
    works: Iterator[Work],
    run: Callable[[Work], Result],
    commit: Callable[[Result], None],
    places: Callable[[], int],
    stop: Callable[[], None],
) -> None:
    """Run works, as blocks, in threads that wait for other processes, and commit each result as soon as it is there.

    `places` returns how many works can be run at once, which may change at any time. `stop` lets every thread end
    soon; it is called before an error is raised.
    """
    running: set[Future[Result]] = set()
    with ThreadPoolExecutor(_MOST_THREADS) as threads:
        try:
            while True:
                while len(running) < places() and (work := next(works, None)) is not None:
                    running.add(threads.submit(run, work))
                if not running:
                    return
                done, running = wait(running, _LOOK_SECONDS, FIRST_COMPLETED)
                for future in done:
                    commit(future.result())
        except BaseException:
            stop()
            raise


def check_sendable(names: Names) -> None:
    """Raise a RunnerUnavailable error if other processes would find other components under these names, or none."""
    try:
        if names.find.__module__ == "__main__" or object_of(names.finder) is not names.find:
            raise LookupError(f"{names.finder} is not what finds implementations here")
        if list(find_components(names.components.where)) != list(names.components):
            raise LookupError(f"{names.components.where} has other components")
    except Exception as error:
        raise RunnerUnavailable(
            f"Other processes cannot look up names as this one does ({type(error).__name__}: {error}). The function "
            "that finds implementations must be at the top level of a module that can be imported, and the components "
            "must be importable under the name module:object that they give. The runner inline needs neither."
        ) from error


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
