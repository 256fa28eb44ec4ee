"""The search of `conformance check`: one implementation after the other, until an interruption ends it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import partial
from itertools import islice

from conformance import reporting
from conformance.campaigns.checks import check_all, works_of
from conformance.cli.options import notes
from conformance.cli.working import RunnerOptions
from conformance.components import COMPONENTS
from conformance.driver import Program
from conformance.engines import Check, Differ, KnownFailure, Standing, standing
from conformance.engines.apart import find
from conformance.engines.causes import Cause, each_alone, likely_causes
from conformance.engines.checking import check_any, check_any_with_hypothesis
from conformance.engines.interruption import Interruption, until
from conformance.ports import Capability, Implementation, Limits


@dataclass(frozen=True, slots=True)
class Wanted:
    """An implementation to check, and its components to check."""

    name: str
    """The name in the call."""
    implementation: Implementation
    components: tuple[str, ...]


class Searching:
    """A search for one call of `conformance check`."""

    def __init__(
        self,
        call: reporting.Call,
        assumed: frozenset[Capability],
        entries: Sequence[KnownFailure],
        limits: Limits,
        in_process: bool,
        interruption: Interruption,
        runner: RunnerOptions,
    ) -> None:
        """`runner`: where it searches, if it is in works that a folder keeps."""
        self._runner = runner
        self._call = call
        self._assumed = assumed
        self._entries = entries
        self._limits = limits
        self._in_process = in_process
        self._interruption = interruption

    def results(self, wanted: Sequence[Wanted]) -> Iterator[reporting.Checked]:
        """Yield each implementation with its checks, and close it when the next one is asked for.

        Once it is interrupted, nothing more is begun, and the results say what is missing.
        """
        if self._runner.into is not None:
            yield from self._kept(wanted)
            return
        against = self._call.against
        with ExitStack() as stack:
            baseline = None
            if against is not None:
                baseline = stack.enter_context(closing(find(against, self._limits, None, self._in_process)))
            for one in wanted:
                with closing(one.implementation):
                    yield self._checked(one, baseline)

    def _kept(self, wanted: Sequence[Wanted]) -> Iterator[reporting.Checked]:
        """Yield as `results` does, once all works are done."""
        call = self._call
        programs = [(one.name, program) for one in wanted for program in self._programs(one).values()]
        total = sum(works_of(program, call.scenarios) for _, program in programs)
        with (
            reporting.progress_bar(notes, "parts of the search", total) as advance,
            self._runner.over("checks", self._interruption, lambda done: advance(done, 0)) as over,
        ):
            checks = iter(check_all(programs, call.seed, call.scenarios, over))
        for one in wanted:
            with closing(one.implementation):
                yield self._concluded(one, list(islice(checks, len(one.components))))

    def _programs(self, one: Wanted) -> dict[str, Program]:
        return {name: Program(COMPONENTS[name], one.implementation, self._assumed) for name in one.components}

    def _checked(self, one: Wanted, baseline: Implementation | None) -> reporting.Checked:
        count = self._call.scenarios
        checks: list[Check] = []
        programs = self._programs(one)
        done = 0
        with reporting.progress_bar(
            notes, one.name, count * sum(program.shares() for program in programs.values())
        ) as advance:
            for component in until(self._interruption, one.components):
                checks.append(self._check(programs[component], baseline, partial(advance, done)))
                done += count * programs[component].shares()
        return self._concluded(one, checks)

    def _concluded(self, one: Wanted, checks: Sequence[Check]) -> reporting.Checked:
        begun, rest = one.components[: len(checks)], one.components[len(checks) :]
        now = Standing({}, ())
        if begun:
            now = standing(self._entries, one.name, one.implementation, begun, self._assumed)
        causes = self._causes(checks)
        return reporting.Checked(one.name, one.implementation, tuple(checks), now, causes, rest)

    def _causes(self, checks: Sequence[Check]) -> tuple[Cause, ...]:
        """Group the findings. That runs scenarios; so after an interruption each finding is a group of its own."""
        if self._interruption.requested:
            return each_alone(checks)
        return likely_causes(checks)

    def _check(self, program: Program, baseline: Implementation | None, told: Callable[[int], None]) -> Check:
        call, interruption = self._call, self._interruption
        count = call.scenarios * program.shares()
        differ = None
        if call.against is not None and baseline is not None:
            differ = Differ(call.against, baseline, program, self._assumed)
        if call.engine == "hypothesis":
            return check_any_with_hypothesis(program, count, call.seed, told, differ, interruption)
        return check_any(program, call.seed, range(count), told, differ, interruption=interruption)
