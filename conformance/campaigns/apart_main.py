"""The process that runs blocks for a campaign, until it is asked to close (see `apart`)."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Mapping

from conformance.campaigns.apart import Ready, needs_a_worker
from conformance.campaigns.block import BlockResult, attempted, programs, programs_of, replay_part, run_part, seek_part
from conformance.campaigns.names import Names, object_of
from conformance.campaigns.plan import Block, Plan
from conformance.campaigns.seconds import Watch
from conformance.driver import Program, find_components
from conformance.engines.check import Found, reduce_failures
from conformance.engines.position import Followed, Writer
from conformance.engines.tally import Failure, Signature, Tally
from conformance.engines.wire import Wire
from conformance.engines.worker_main import serve
from conformance.ports import Implementation, Limits

Part = tuple[BlockResult, dict[str, float]]
"""The result of a part of a block, and how many seconds each implementation took."""


class _Service:
    """Each method but `close` serves the request of its name."""

    def __init__(self, writer: Writer, replies: int) -> None:
        self.wire = Wire()
        self._writer = writer
        self._implementations: dict[str, Implementation] = {}

    def hello(self, plan: Plan, find: str, components: str) -> Ready:
        known = find_components(components)
        self.wire = Wire(known)
        self._plan = plan
        self._names = Names(object_of(find), known)
        self._is_careful = needs_a_worker(plan, self._names)
        for name in plan.compared:
            self._implementations[name] = found = self._names.find(name)
            found.limit(Limits(plan.scenario_seconds))
        offered = {name: tuple(sorted(one.components())) for name, one in self._implementations.items()}
        return Ready(offered, any(one.batch is not None for one in self._implementations.values()))

    def search(
        self, block: Block, numbers: range, spent: Mapping[str, Iterable[str]], without: Collection[str]
    ) -> Part:
        def run(watch: Watch) -> BlockResult:
            numbered = self._writer.numbers(numbers)
            return run_part(self._plan, block, self._programs(block), numbered, watch, spent, without)

        return self._attempted(block, run)

    def replay(self, block: Block, name: str, numbers: range, spent: Iterable[str]) -> Part:
        def run(watch: Watch) -> BlockResult:
            program = self._programs(block)[name]
            return replay_part(self._plan, block, program, name, self._writer.numbers(numbers), watch, spent)

        return self._attempted(block, run)

    def seek(self, block: Block, name: str, numbers: range) -> Part:
        def run(watch: Watch) -> BlockResult:
            with programs(self._plan, block.component, (name,), self._names) as found:
                program = found[name]
                program.implementation.limit(Limits(self._plan.scenario_seconds))
                self._follow(found)
                result = seek_part(self._plan, block, program, name, self._writer.numbers(numbers))
            watch.lap(name)
            return result

        return self._attempted(block, run)

    def _attempted(self, block: Block, run: Callable[[Watch], BlockResult]) -> Part:
        watch = Watch()
        return attempted(self._plan, block, lambda: run(watch)), dict(watch.read().each)

    def reduce(self, component: str, signature: Signature, failure: Failure) -> Found:
        """Reduce a failure of the only implementation of the plan."""
        (program,) = programs_of(
            self._plan, component, self._implementations, self._names.components
        ).values()  # fmt: skip
        (found,) = reduce_failures(program, Tally(failures={signature: failure}), self._plan.budget)
        return found

    def _programs(self, block: Block) -> dict[str, Program]:
        found = programs_of(self._plan, block.component, self._implementations, self._names.components)
        self._follow(found)
        return found

    def _follow(self, found: Mapping[str, Program]) -> None:
        if self._is_careful:
            for name, program in found.items():
                program.log = Followed(self._writer, program, name)

    def close(self) -> None:
        for one in self._implementations.values():
            one.close()


def main() -> None:
    """Serve the requests of a campaign."""
    serve(sys.argv[1:], _Service)
