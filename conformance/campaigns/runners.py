"""Runs blocks. A runner decides where and in which order they are run; the results are the same for every runner."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing.connection import wait as wait_for
from typing import ParamSpec, Protocol, TypeVar

from conformance.campaigns.block import DIED, BlockResult, attempt_block, lost_block
from conformance.campaigns.errors import CampaignError, RunnerUnavailable
from conformance.campaigns.names import SUITE, Names
from conformance.campaigns.plan import Block, Plan
from conformance.campaigns.quarantine import quarantined
from conformance.engines.apart import is_ours
from conformance.ports import Limits, find_implementation
from conformance.system.processes import resident

_LOOK_SECONDS = 0.5
"""How often a worker looks at its memory."""

P = ParamSpec("P")
T = TypeVar("T")

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
        """Take blocks in their order, run them, and commit each result.

        `blocks` ends when the goal is reached, so a runner takes the next block only when it can start it. It commits
        every block that it took, as lost if the block cannot be run, unless it raises an exception. Raises:
        RunnerUnavailable before the first block; CampaignError if no more blocks can be run; KeyboardInterrupt after it
        has stopped its workers.
        """


class Inline:
    """Runs all blocks in this process: for debugging, and as the baseline for tests of the other runners.

    An implementation that is not the suite's own could end this process, so its blocks run in one other process.
    """

    name = "inline"

    def __init__(self, names: Names = SUITE) -> None:
        self.names = names

    def run(self, plan: Plan, blocks: Iterator[Block], commit: Commit, progress: Say) -> None:
        """See `Runner`."""
        if self.names.find is find_implementation and not all(map(is_ours, plan.implementations)):
            Processes(1, self.names).run(plan, blocks, commit, progress)
            return
        for block in blocks:
            commit(attempt_block(plan, block, self.names))


class Processes:
    """A pool of processes on this machine, one for each core unless `workers` says otherwise."""

    name = "processes"

    def __init__(self, workers: int | None = None, names: Names = SUITE) -> None:
        self.workers = workers or cores()
        self.names = names

    def run(self, plan: Plan, blocks: Iterator[Block], commit: Commit, progress: Say) -> None:
        """See `Runner`. `settled` runs a block again whose worker died."""
        check_sendable(self.names)
        while suspects := self._run(plan, blocks, commit):
            progress(
                f"a worker process died; running {', '.join(one.name for one in suspects)} again, "
                "each block in a process of its own"
            )
            for block in suspects:
                commit(settled(plan, block, self.names, progress))

    def _run(self, plan: Plan, blocks: Iterator[Block], commit: Commit) -> list[Block]:
        """Run blocks in a pool until none are left or a worker dies. Return the blocks that may have killed it."""
        running: dict[Block, Future[BlockResult]] = {}
        untried: list[Block] = []
        broken = False
        with _pool(self.workers) as pool:
            while not broken:
                while len(running) < self.workers and (block := next(blocks, None)) is not None:
                    try:
                        running[block] = pool.submit(attempt_block, plan, block, self.names)
                    except BrokenProcessPool:
                        untried.append(block)
                        broken = True
                        break
                if not running:
                    break
                wait(running.values(), return_when=FIRST_COMPLETED)
                for block, future in list(running.items()):
                    if not future.done():
                        continue
                    if isinstance(future.exception(), BrokenProcessPool):
                        broken = True
                    else:
                        commit(future.result())
                        del running[block]
        return [*running, *untried]


def check_sendable(names: Names) -> None:
    """Raise a RunnerUnavailable error if other processes would find other components under these names, or none."""
    try:
        again: Names = pickle.loads(pickle.dumps(names))
        if list(again.components) != list(names.components):
            raise LookupError(f"{names.components.where} has other components")
    except Exception as error:
        raise RunnerUnavailable(
            f"Other processes cannot look up names as this one does ({type(error).__name__}: {error}). The function "
            "that finds implementations must be at the top level of a module, and the components must be importable "
            "under the name module:object that they give. The runner inline needs neither."
        ) from error


def alone(plan: Plan, block: Block, names: Names) -> BlockResult:
    """Run a block in a process of its own. It is lost if that process dies. Raises: CampaignError as `apart` does."""
    try:
        return apart(attempt_block, plan, block, names)
    except WorkerDied:
        return lost_block(plan, block, DIED)


def settled(plan: Plan, block: Block, names: Names, progress: Say) -> BlockResult:
    """Run a block again, in a process of its own. If this process dies too, find the scenarios that kill it."""
    result = alone(plan, block, names)
    if result.lost != DIED:
        return result
    progress(f"block {block.name} killed its process again; searching for the scenario that does it")
    result = quarantined(plan, block, names, alone)
    if result.lost == DIED:
        progress(f"block {block.name} is lost: {DIED}")
    return result


class WorkerDied(Exception):
    """A process ended before it returned a result."""


def apart(function: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
    """Call a function in a process of its own.

    Raises: WorkerDied; CampaignError if no process can be started at all; whatever the function raises.
    """
    with _pool(1) as pool:
        try:
            pool.submit(os.getpid).result()
        except BrokenProcessPool:
            raise CampaignError(
                "Worker processes die before they run a block. If your script started the campaign, it must do so "
                'under `if __name__ == "__main__":`, since every worker imports the script. Otherwise, check the '
                "memory and the process limits of this machine. The runner inline needs no workers."
            ) from None
        try:
            return pool.submit(function, *arguments, **named).result()
        except BrokenProcessPool:
            raise WorkerDied from None


@contextmanager
def _pool(workers: int) -> Iterator[ProcessPoolExecutor]:
    """Make a pool of spawned processes: forked ones would inherit what the driver has open, such as pipes."""
    others = set(multiprocessing.active_children())
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(workers, mp_context=context, initializer=_follow_the_driver)
    try:
        yield pool
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        for child in set(multiprocessing.active_children()) - others:
            child.terminate()  # a user who pressed Ctrl-C must not wait for the block, which takes seconds
        raise
    finally:
        pool.shutdown()


def _follow_the_driver() -> None:
    """Make this worker ignore Ctrl-C, and end when the driver ends."""
    # A terminal sends SIGINT to every process. Only the driver handles it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    driver = multiprocessing.parent_process()
    if driver is not None:
        # If the driver is killed, a worker waits for work for ever. Its main thread does the waiting, so another thread
        # must notice that the driver has ended.
        threading.Thread(target=_end_with, args=(driver.sentinel,), daemon=True).start()


def _end_with(sentinel: int) -> None:
    """End this process when the driver ends, or when this process occupies too much memory."""
    most = Limits().memory_mib << 20
    while not wait_for([sentinel], _LOOK_SECONDS) and resident(os.getpid()) <= most:
        pass
    os._exit(1)


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
