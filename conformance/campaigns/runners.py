"""Runs blocks. A runner decides where and in which order they are run; the results are the same for every runner."""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from importlib import import_module
from operator import attrgetter
from typing import Protocol, TypeVar

from conformance.campaigns.apart import BlockWorker, Stopped, attempt_block, needs_a_worker
from conformance.campaigns.block import BlockResult
from conformance.campaigns.errors import RunnerUnavailable
from conformance.campaigns.names import SUITE, Names
from conformance.campaigns.plan import Block, Plan
from conformance.driver import find_components

_LOOK_SECONDS = 0.5
"""How often a runner looks whether it can run more blocks at once than before."""
_MOST_THREADS = 100_000
"""More than there will ever be: a thread is made when there is a block for it."""

Work = TypeVar("Work")
Result = TypeVar("Result")

Commit = Callable[[BlockResult], None]
"""Commits the result of a block. A runner calls it in the driver's process, in any order of blocks."""

Say = Callable[[str], None]
"""Shows the user a message of one sentence."""


class Runner(Protocol):
    """Runs blocks until there are none left."""

    @property
    def name(self) -> str:
        """The name of the runner on the command line."""

    @property
    def names(self) -> Names:
        """Where the names of implementations and components are looked up, also when the results are added up."""

    def run(self, plan: Plan, blocks: Iterator[Block], commit: Commit, progress: Say) -> None:
        """Take blocks in their order, run them, and commit each result as soon as it is there.

        `blocks` ends when the goal is reached, so a runner takes the next block only when it can start it. It commits
        every block that it took, as lost if the block cannot be run, unless it raises an exception. Raises:
        RunnerUnavailable before the first block; CampaignError if no more blocks can be run; KeyboardInterrupt after it
        has stopped its workers.
        """


class Inline:
    """Runs one block after the other: for debugging, and as the baseline for tests of the other runners.

    They run in this process, but for those with an implementation that is not the suite's own.
    """

    name = "inline"

    def __init__(self, names: Names = SUITE) -> None:
        self.names = names

    def run(self, plan: Plan, blocks: Iterator[Block], commit: Commit, progress: Say) -> None:
        """See `Runner`."""
        worker = BlockWorker(plan, self.names) if needs_a_worker(plan, self.names) else None
        try:
            for block in blocks:
                commit(attempt_block(plan, block, self.names) if worker is None else worker.run(block))
        finally:
            if worker is not None:
                worker.close()


class Processes:
    """Several processes on this machine, one for each core unless `workers` says otherwise."""

    name = "processes"

    def __init__(self, workers: int | None = None, names: Names = SUITE) -> None:
        self.workers = workers or cores()
        self.names = names

    def run(self, plan: Plan, blocks: Iterator[Block], commit: Commit, progress: Say) -> None:
        """See `Runner`. A worker that ends in the middle of a block is replaced, and the block is run again."""
        check_sendable(self.names)
        ending = threading.Event()

        def told(number: int) -> None:
            if ending.is_set():
                raise Stopped

        idle: queue.SimpleQueue[BlockWorker] = queue.SimpleQueue()
        workers = [BlockWorker(plan, self.names, told) for _ in range(self.workers)]
        for worker in workers:
            idle.put(worker)

        def run(block: Block) -> BlockResult:
            worker = idle.get()
            try:
                return worker.run(block)
            finally:
                idle.put(worker)

        try:
            hand_out(blocks, run, commit, lambda: self.workers, ending.set)
        finally:
            for worker in workers:
                worker.close()


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
        module, _, function = names.finder.partition(":")
        if module == "__main__" or attrgetter(function)(import_module(module)) is not names.find:
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
