"""Who runs the blocks. A runner decides where and in which order, never what: the results are the same."""

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

P = ParamSpec("P")
T = TypeVar("T")

Commit = Callable[[BlockResult], None]
"""Makes the result of a block count. Called in the driver, in any order of blocks."""

Say = Callable[[str], None]
"""Told, in a sentence, what somebody who watches should know."""


class Runner(Protocol):
    """Runs blocks until there are none left."""

    @property
    def name(self) -> str:
        """What it is called on the command line."""

    @property
    def names(self) -> Names:
        """Where it looks up what it runs; whoever adds up and reduces afterwards asks the same."""

    def run(self, plan: Plan, blocks: Iterator[Block], commit: Commit, progress: Say) -> None:
        """Take blocks in their order, run them, and commit each result.

        `blocks` ends when the goal is reached, so it is asked for the next one only when that can be started. What was
        taken is committed, as lost if it cannot be run, except after an exception. Raises: RunnerUnavailable before the
        first block; CampaignError if nothing can be run any more; KeyboardInterrupt once everything is stopped.
        """


class Inline:
    """Everything in this process: for debugging, and for what others are compared with."""

    name = "inline"

    def __init__(self, names: Names = SUITE) -> None:
        self.names = names

    def run(self, plan: Plan, blocks: Iterator[Block], commit: Commit, progress: Say) -> None:
        """See `Runner`. An implementation that ends its process ends this one."""
        for block in blocks:
            commit(attempt_block(plan, block, self.names))


class Processes:
    """A pool of processes on this machine, one for each core unless `workers` says otherwise."""

    name = "processes"

    def __init__(self, workers: int | None = None, names: Names = SUITE) -> None:
        self.workers = workers or cores()
        self.names = names

    def run(self, plan: Plan, blocks: Iterator[Block], commit: Commit, progress: Say) -> None:
        """See `Runner`. A block whose worker died is run once more, alone; it is lost if that one dies too."""
        check_sendable(self.names)
        while suspects := self._run(plan, blocks, commit):
            progress(f"a worker process died; {', '.join(one.name for one in suspects)}: once more, alone")
            for block in suspects:
                commit(settled(plan, block, self.names, progress))

    def _run(self, plan: Plan, blocks: Iterator[Block], commit: Commit) -> list[Block]:
        """Run blocks in a pool until there are none left, or a worker died: then, the blocks that may be why."""
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
    """Raises: RunnerUnavailable if other processes would not find the same: they would die of that, or run others."""
    try:
        again: Names = pickle.loads(pickle.dumps(names))
        if list(again.components) != list(names.components):
            raise LookupError(f"other components stand at {names.components.where}")
    except Exception as error:
        raise RunnerUnavailable(
            f"Other processes cannot look up names as this one does ({type(error).__name__}: {error}). What finds "
            "implementations must be a function of a module, and components must stand where they say, as "
            "module:object. The runner inline needs neither."
        ) from error


def alone(plan: Plan, block: Block, names: Names) -> BlockResult:
    """Run a block in a process of its own; it is lost if that process dies. Raises: CampaignError as `apart`."""
    try:
        return apart(attempt_block, plan, block, names)
    except WorkerDied:
        return lost_block(plan, block, DIED)


def settled(plan: Plan, block: Block, names: Names, progress: Say) -> BlockResult:
    """Run a block whose worker died once more, alone; if that dies too, without the scenarios that kill it."""
    result = alone(plan, block, names)
    if result.lost != DIED:
        return result
    progress(f"{block.name} kills its process; looking for the scenario")
    result = quarantined(plan, block, names, alone)
    if result.lost == DIED:
        progress(f"{block.name} is lost: {DIED}")
    return result


class WorkerDied(Exception):
    """A process ended before it had an answer."""


def apart(function: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
    """Call a function in a process of its own.

    Raises: WorkerDied; CampaignError if no process can be started at all; whatever the function raises.
    """
    with _pool(1) as pool:
        try:
            pool.submit(os.getpid).result()
        except BrokenProcessPool:
            raise CampaignError(
                "Worker processes die before they have done anything. If a script of yours started the campaign, it "
                'must do so under `if __name__ == "__main__":`, since every worker imports it; otherwise, look at the '
                "memory and the process limits of this machine. The runner inline needs no workers."
            ) from None
        try:
            return pool.submit(function, *arguments, **named).result()
        except BrokenProcessPool:
            raise WorkerDied from None


@contextmanager
def _pool(workers: int) -> Iterator[ProcessPoolExecutor]:
    """Fresh processes: a fork would copy what the driver holds, such as the process of an implementation."""
    others = set(multiprocessing.active_children())
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(workers, mp_context=context, initializer=_follow_the_driver)
    try:
        yield pool
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        for child in set(multiprocessing.active_children()) - others:
            child.terminate()  # a block takes seconds: nobody who pressed Ctrl-C wants to wait for it
        raise
    finally:
        pool.shutdown()


def _follow_the_driver() -> None:
    """What every worker does first."""
    # A terminal sends Ctrl-C to every process; one of them has something to say about it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    driver = multiprocessing.parent_process()
    if driver is not None:
        # A worker waits for work for ever, also when the driver was killed and nobody is left to send any. Its main
        # thread does the waiting, so only another one can notice.
        threading.Thread(target=_end_with, args=(driver.sentinel,), daemon=True).start()


def _end_with(sentinel: int) -> None:
    wait_for([sentinel])
    os._exit(1)


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
