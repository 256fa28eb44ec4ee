"""Checks a component of an implementation that runs in a worker process, which may end at any step.

A scenario in which the process ended is a failure at the operation in flight. The search goes on in a new process. It
first repeats the scenarios whose counts ended with the process; then it runs the scenarios after the one that failed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from conformance.driver import FailureClass, Program
from conformance.engines.apart import Apart, failure_of
from conformance.engines.batch import generator_of
from conformance.engines.check import PATIENCE, Check, Found
from conformance.engines.divergence import Comparison, Differ
from conformance.engines.reduce import reduce
from conformance.engines.tally import Failure, Signature, Tally
from conformance.engines.worker import BASELINE, Ended
from conformance.scenarios import Finding, Scenario

PART = 500
"""How many scenarios a worker runs until it sends what it has counted."""
FEW = 16
"""How many runs the reduction of a scenario may take that ends its process. Each may cost a new process."""
MOST = 10
"""A search ends after so many scenarios that ended their process."""
COSTLY = 2
"""A search ends after so many scenarios that ended their process after a long time, or with much memory."""

Told = Callable[[int], None]


class ApartCheck:
    """One check. `program` is that of the driver: it is never run, and only knows which properties apply."""

    def __init__(self, program: Program, apart: Apart, budget: int, differ: Differ | None) -> None:
        self._program = program
        self._apart = apart
        self._budget = budget
        self._differ = differ
        self._about = program.component.name, program.capabilities
        self._costly: set[Signature] = set()
        self._endings: set[Signature] = set()
        self._ended = self._ended_late = 0
        self._tally = Tally()
        self._classes: list[str] = []

    def at_random(self, seed: str, numbers: range, corpus: bool, told: Told | None) -> Check:
        """Replay the corpus if asked for, and run the random scenarios with these numbers."""
        known: dict[Signature, Failure] = {}
        if corpus:
            try:
                known = self._apart.ask("corpus", *self._about)
            except Ended as ended:
                known = dict([self._failure(ended)])
        self._classes += [signature[1] for signature in known]
        waiting = [numbers[start : start + PART] for start in range(0, len(numbers), PART)][::-1]
        while waiting and not self._is_spent():
            if part := waiting.pop():
                waiting += self._search(seed, part, told)
        for signature, failure in known.items():
            self._tally.fail(signature, failure)
        return self._check(self.reduced(self._tally))

    def with_hypothesis(self, scenarios: int, seed: str, told: Told | None) -> Check:
        """Let Hypothesis choose the steps. If it ends the process, that is the only violation."""
        seen = None if self._differ is None else self._differ.seen
        found: tuple[Found, ...]
        try:
            self._tally, found, comparison = self._apart.ask(
                "hypothesis", *self._about, scenarios, seed, seen, told=told
            )  # fmt: skip
        except Ended as ended:
            self._tally.scenarios = max(ended.position.number, 0) + 1
            self._tally.fail(*self._failure(ended))
            return self._check(self.reduced(self._tally))
        return Check(self._program, self._tally, found, comparison or self._comparison())

    # ---- the search --------------------------------------------------------------------------------------------------
    def _search(self, seed: str, part: range, told: Told | None) -> Iterable[range]:
        """Run a part, and count it. Returns the parts of it that are still to be run, the first one last."""
        differ, tally = self._differ, self._tally
        seen = None if differ is None or differ.seen.reason else differ.seen
        try:
            counted, seen = self._apart.ask("search", *self._about, seed, part, self._classes, seen, told=told)
        except Ended as ended:
            if differ is not None and ended.position.side == BASELINE:
                differ.give_up(f"in a scenario of {differ.name}, {ended.what}")
                return [part]
            signature, failure = self._failure(ended)
            tally.fail(signature, failure)
            tally.scenarios += 1
            tally.steps += len(failure.scenario.steps)
            self._classes.append(signature[1])
            at = min(max(ended.position.number, part.start), part.stop - 1)
            return [range(at + 1, part.stop), range(part.start, at)]
        tally.merge(counted)
        self._classes += [one[1] for one, failure in counted.failures.items() for _ in range(failure.count)]
        if differ is not None and seen is not None:
            differ.replace(seen)
        return []

    def _is_spent(self) -> bool:
        too_many = any(self._classes.count(one) >= most for one, most in PATIENCE.items())
        return too_many or self._ended >= MOST or self._ended_late >= COSTLY

    def _failure(self, ended: Ended) -> tuple[Signature, Failure]:
        signature, failure = failure_of(self._program, ended)
        self._endings.add(signature)
        self._ended += 1
        if ended.costly:
            self._ended_late += 1
            self._costly.add(signature)
        return signature, failure

    # ---- the end -----------------------------------------------------------------------------------------------------
    def reduced(self, tally: Tally) -> tuple[Found, ...]:
        """Returns the failures of a tally in the order of signatures, each with a reduced scenario."""
        found: list[Found] = []
        for signature, failure in sorted(tally.failures.items()):
            if signature in self._endings:
                found.append(self._shortened(signature, failure))
                continue
            try:
                alone = Tally(failures={signature: failure})
                found += self._apart.ask("reduce", *self._about, alone, self._budget)
            except Ended as ended:
                observed = f"{failure.observed} (not reduced: {ended.what})"
                found.append(self._found(signature, failure, failure.scenario, failure.owed, observed))
        return tuple(found)

    def _shortened(self, signature: Signature, failure: Failure) -> Found:
        """Reduce a scenario that ends its process. The driver chooses the steps, and runs them in workers."""
        scenario, owed, observed = failure.scenario, failure.owed, failure.observed
        generator = generator_of(self._program)
        if generator is not self._program.implementation and not self._takes_long(signature):
            drawing = Program(self._program.component, generator)
            drawing.configs = self._program.configs
            try:
                reduced = reduce(drawing, scenario, FEW, judge=lambda one: self._apart.run(self._program, one))
            except ValueError as error:
                observed = f"{observed} ({error})"
            else:
                if reduced.signature == signature:
                    scenario, owed, observed = reduced.scenario, reduced.broken.owed, reduced.broken.observed
        return self._found(signature, failure, scenario, owed, observed)

    def _found(self, signature: Signature, failure: Failure, scenario: Scenario, owed: str, observed: str) -> Found:
        finding = Finding(signature[0], signature[1], self._program.implementation.name)
        evidence = Scenario(scenario.component, scenario.config, scenario.steps, finding)
        return Found(signature, owed, observed, evidence, failure.count)

    def _takes_long(self, signature: Signature) -> bool:
        return signature in self._costly or signature[1] == FailureClass.HUNG.value

    def _check(self, found: tuple[Found, ...]) -> Check:
        return Check(self._program, self._tally, found, self._comparison())

    def _comparison(self) -> Comparison | None:
        differ = self._differ
        if differ is None:
            return None
        if not differ.seen.groups:
            return differ.conclude()
        try:
            comparison: Comparison = self._apart.ask("conclude", *self._about, differ.seen)
        except Ended as ended:
            return Comparison(differ.name, differ.seen.compared, reason=f"when differences were reduced, {ended.what}")
        return comparison
