"""Runs blocks in a worker process, which may end at any step without harm to the campaign.

A scenario that ends the process is a finding of the implementation that was being run. The other implementations run it
again, and all go on with the scenarios after it. If somebody else may have killed the process, the scenario is run
again first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from msgspec import Struct

from conformance.campaigns.block import (
    DIED,
    BlockResult,
    TallyRecord,
    attempted,
    encode_tally,
    has_corpus,
    is_compared,
    joined,
    lost_block,
    run_block,
    sought_by,
)
from conformance.campaigns.limit import GRACE_SECONDS
from conformance.campaigns.names import Names
from conformance.campaigns.plan import Block, Plan
from conformance.campaigns.seconds import Watch
from conformance.driver import Component
from conformance.engines.apart import failure_of, is_ours, our_known_bugs
from conformance.engines.corpus import corpus
from conformance.engines.lasting import MOST, PART, Endings, LastingWorker, Queue, of_corpus
from conformance.engines.patience import IN_CORPUS, Patience
from conformance.engines.relay import Relay
from conformance.engines.tally import Tally
from conformance.engines.worker import Ended, Worker
from conformance.ports import Limits, find_implementation
from conformance.ports.registry import KNOWN_BUG_SCHEME
from conformance.system.writing import NotWritten

SERVICE = "conformance.campaigns.apart_main"


class Ready(Struct, frozen=True):
    """What the driver must know of the implementations of a plan."""

    offered: dict[str, tuple[str, ...]]
    """The names of the components that each of them offers."""
    starts_programs: bool
    """Whether one of them runs a program of its own, which may take a while to start."""


class Stopped(BaseException):
    """The campaign ends, so a block is not run to its end."""


def needs_a_worker(plan: Plan, names: Names) -> bool:
    """Whether an implementation of the plan is not the suite's own, so that it could end the process that runs it.

    A caller with a lookup of its own is responsible for what the lookup returns.
    """
    if names.find is not find_implementation:
        return False
    ours = {f"{KNOWN_BUG_SCHEME}{bug}" for bug in our_known_bugs()} if plan.sought else set()
    return not (all(map(is_ours, plan.compared)) and plan.sought.keys() <= ours)


def attempt_block(plan: Plan, block: Block, names: Names, watch: Watch | None = None) -> BlockResult:
    """Run a block: in this process, or in a worker of its own if an implementation is not the suite's own.

    Raises: NotWritten. Another error makes it a lost block.
    """
    if not needs_a_worker(plan, names):
        return attempted(plan, block, lambda: run_block(plan, block, names, watch))
    worker = BlockWorker(plan, names)
    try:
        return worker.run(block, watch)
    finally:
        worker.close()


def attempt_elsewhere(plan: Plan, names: Names, block: Block, watch: Watch) -> BlockResult:
    """As `attempt_block`, on a machine whose disk is not that of the campaign: if it refuses, the block is lost."""
    try:
        return attempt_block(plan, block, names, watch)
    except NotWritten as error:
        return lost_block(plan, block, str(error))


@contextmanager
def attempting_elsewhere(plan: Plan, names: Names) -> Iterator[Callable[[Block, Watch], BlockResult]]:
    """Yield what runs blocks as `attempt_elsewhere`. Episodes share a worker, so that an engine stays warm that takes
    long to start."""
    if not plan.of_episodes:
        yield partial(attempt_elsewhere, plan, names)
        return
    worker = BlockWorker(plan, names)

    def attempt(block: Block, watch: Watch) -> BlockResult:
        try:
            return worker.run(block, watch)
        except NotWritten as error:
            return lost_block(plan, block, str(error))

    try:
        yield attempt
    finally:
        worker.close()


class BlockWorker:
    """A worker that runs blocks of one plan."""

    def __init__(self, plan: Plan, names: Names, told: Callable[[int], None] | None = None) -> None:
        """No process is started before it is needed."""
        self._plan, self._components = plan, names.components
        self._is_careful = needs_a_worker(plan, names)
        hello = ("hello", plan, names.finder, names.components.where)
        limits = Limits(plan.scenario_seconds + GRACE_SECONDS, plan.memory_mib)
        self._relay = relay = Relay(what := ", ".join(plan.compared))
        self._worker = LastingWorker(lambda: Worker(hello, limits, names.components, relay, SERVICE, told), what, told)

    def run(self, block: Block, watch: Watch | None = None) -> BlockResult:
        """Run a block. Raises: NotWritten. Another error makes it a lost block.

        What a stranger's implementation leaves in its process must not reach the next block, which would depend on the
        order of blocks.
        """
        try:
            return attempted(self._plan, block, lambda: self._run(block, watch or Watch()))
        finally:
            if self._is_careful:
                self._worker.close()

    def close(self) -> None:
        """End the process."""
        self._worker.close()
        self._relay.finish()

    def _run(self, block: Block, watch: Watch) -> BlockResult:
        parts = _Parts(self._plan, block, self._worker, self._components[block.component], watch)
        numbers = range(block.first, block.first + block.count)
        part = PART if self._is_careful else len(numbers)
        if is_compared(self._plan, block):
            parts.search(Queue(numbers, part))
            if has_corpus(block):
                for name, components in self._worker.hello.offered.items():
                    if block.component in components:
                        parts.replay(name)
        for name in sought_by(self._plan, block):
            parts.seek(name, Queue(numbers, part))
        return joined(self._plan, block, parts.results, self._components)


class _Parts:
    """The parts of one block."""

    def __init__(self, plan: Plan, block: Block, worker: LastingWorker, component: Component, watch: Watch) -> None:
        self._plan, self._block, self._worker, self._component, self._watch = plan, block, worker, component, watch
        self._spent: dict[str, list[str]] = {name: [] for name in plan.implementations}
        self._endings = {name: Endings() for name in plan.implementations}
        self._unexplained = 0
        self.results: list[BlockResult] = []

    def search(self, queue: Queue) -> None:
        """Run the scenarios of the block."""
        without: dict[int, set[str]] = {}
        for part in queue:
            left_out = {name for name, endings in self._endings.items() if endings.are_too_many}
            if len(part) == 1:
                left_out |= without.get(part.start, set())
            if self._plan.baseline in left_out:
                continue  # the scenarios are drawn on it
            request = ("search", self._block, part, self._spent, tuple(sorted(left_out)))
            result = self._asked(request, queue, part)
            if isinstance(result, Ended):
                name = result.position.side
                if (number := queue.split(part, result, for_others=True)) is not None:
                    without.setdefault(number, set()).add(name)
                    self._endings[name].add(result)
                    self._fail(name, result, number)

    def replay(self, name: str) -> None:
        """Replay the corpus on one implementation."""
        queue, endings = Queue(range(len(corpus(self._component)))), of_corpus()
        spent: list[str] = []
        for part in queue:
            if endings.are_too_many or Patience(spent, IN_CORPUS).is_over:
                return
            result = self._asked(("replay", self._block, name, part, spent), queue, part)
            if isinstance(result, Ended):
                if queue.split(part, result) is not None:
                    endings.add(result)
                    self._fail(name, result, None)
                    spent.append(result.failure_class.value)
            elif result is not None and name in result.tallies:
                spent += _classes(result.tallies[name])

    def seek(self, name: str, queue: Queue) -> None:
        """Run the scenarios of the block on an implementation that must fail, up to the first that fails."""
        until = self._block.first + self._block.count
        for part in queue:
            if part.start >= until:
                return
            result = self._asked(("seek", self._block, name, part), queue, part)
            if isinstance(result, Ended):
                if (number := queue.split(part, result)) is not None:
                    self._fail(name, result, number)
                    until = number  # those before it are run again, to be counted
            elif self._spent[name]:
                return

    def _asked(self, request: tuple[Any, ...], queue: Queue, part: range) -> BlockResult | Ended | None:
        """Let the worker run a part, and keep the result. Return how the worker ended in a run, if it did.

        If it ended and was in no run, the part is run again, or the block is lost.
        """
        self._watch.begin()
        result: BlockResult
        try:
            result, seconds = self._worker.ask(*request)
        except Ended as ended:
            if ended.position.side in self._endings:
                self._watch.lap(ended.position.side)  # the others took a little of it, too
                return ended
            self._unexplained += 1
            if ended.doubtful and self._unexplained < MOST:
                queue.again(part)
            else:
                why = DIED if ended.doubtful else ended.what
                if self._plan.of_episodes:
                    why += f", in episode {part.start} of seed {self._plan.seed!r}"
                elif not ended.doubtful:
                    why += ", and no scenario was being run"
                self.results.append(lost_block(self._plan, self._block, why))
                queue.drop()
            return None
        self._watch.add(seconds)
        self.results.append(result)
        if result.lost is not None:
            queue.drop()
        for name, tally in result.tallies.items():
            self._spent[name] += _classes(tally)
        return result

    def _fail(self, name: str, ended: Ended, number: int | None) -> None:
        """Count the end of a process as a failure of an implementation. `number`: None for a scenario of the corpus."""
        scenarios = 0 if number is None else 1
        signature, failure = failure_of(self._component, ended, with_log=False)
        failure.first = number
        self._spent[name].append(signature[1])
        tally = Tally(scenarios, scenarios * len(failure.scenario.steps), failures={signature: failure})
        self.results.append(BlockResult(self._plan.digest, self._block, {name: encode_tally(tally)}))


def _classes(tally: TallyRecord) -> list[str]:
    """Return the class of each failure that was counted."""
    return [one.failure_class for one in tally.failures for _ in range(one.count)]
