"""Checks a component of an implementation that runs in a worker process, which may end at any step.

A scenario in which the process ended is a failure at the operation in flight. The search goes on in a new process. It
first repeats the scenarios whose counts ended with the process; then it runs the scenarios after the one that failed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from conformance.driver import FailureClass, Program, Run
from conformance.engines.apart import Apart, failure_of
from conformance.engines.batch import generator_of
from conformance.engines.check import Check, Found
from conformance.engines.corpus import corpus as corpus_of
from conformance.engines.divergence import Comparison, Differ
from conformance.engines.interruption import NEVER, Interruption
from conformance.engines.lasting import STARTS, Endings, Queue, of_corpus
from conformance.engines.patience import IN_CORPUS, Patience, classes_of
from conformance.engines.reduce import reduce, why_not_reduced
from conformance.engines.tally import Failure, Signature, Tally
from conformance.engines.worker import BASELINE, Ended
from conformance.scenarios import Finding, Scenario

FEW = 16
"""How many runs the reduction of a scenario may take that ends its process. Each may cost a new process."""

Told = Callable[[int], None]


class ApartCheck:
    """One check. `program` is that of the driver: it is never run, and only knows which properties apply."""

    def __init__(
        self,
        program: Program,
        apart: Apart,
        budget: int,
        differ: Differ | None,
        with_log: bool = True,
        interruption: Interruption = NEVER,
    ) -> None:
        """`with_log`: whether a finding shows what the process wrote last, which is not the same everywhere."""
        self._program = program
        self._apart = apart
        self._budget = budget
        self._differ = differ
        self._with_log = with_log
        self._interruption = interruption
        self._about = program.component.name, program.capabilities
        self._costly: set[Signature] = set()
        self._ending: set[Signature] = set()
        self._endings = Endings()
        self._tally = Tally()
        self._classes: list[str] = []

    def at_random(self, seed: str, numbers: range, corpus: bool, told: Told | None) -> Check:
        """Replay the corpus if asked for, and run the random scenarios with these numbers."""
        known = self._corpus() if corpus else {}
        self._classes += classes_of(known)
        queue, until, spent = Queue(numbers), numbers.stop, list(self._classes)
        for part in queue:
            if self._interruption.requested or part.start >= until:
                break
            if until == numbers.stop:
                spent = list(self._classes)
            number = self._search(seed, queue, part, spent, told)
            if self._endings.are_too_many or Patience(self._classes).is_over:
                until = min(until, part.start if number is None else number)  # those before it are still to be counted
        for signature, failure in known.items():
            self._tally.fail(signature, failure)
        return self._check(self.reduced(self._tally))

    def with_hypothesis(self, scenarios: int, seed: str, told: Told | None) -> Check:
        """Let Hypothesis choose the steps. If it ends the process, that is the only violation."""
        try:
            self._tally, found, comparison = self._hypothesis(scenarios, seed, told)
        except Ended as ended:
            number = max(ended.position.number, 0)
            self._tally.scenarios = number + 1
            signature, failure = self._failure(ended)
            failure.first = number
            self._tally.fail(signature, failure)
            return self._check(self.reduced(self._tally))
        comparison = comparison or self._comparison()
        return Check(self._program, self._tally, found, comparison, self._interruption.requested)

    def _hypothesis(
        self, scenarios: int, seed: str, told: Told | None
    ) -> tuple[Tally, tuple[Found, ...], Comparison | None]:
        """Ask for it again if somebody else may have killed the worker, or if the baseline has ended it, without the
        baseline then. Raises: Ended."""
        differ, left = self._differ, STARTS
        while True:
            seen = None if differ is None or differ.seen.reason else differ.seen
            try:
                found: tuple[Tally, tuple[Found, ...], Comparison | None] = self._ask(
                    "hypothesis", scenarios, seed, seen, told=told
                )
            except Ended as ended:
                left -= 1
                if differ is not None and ended.position.side == BASELINE:
                    differ.give_up(f"in a scenario of {differ.name}, {ended.what}")
                elif not ended.doubtful or not left:
                    raise
            else:
                return found

    def _ask(self, request: str, *arguments: Any, told: Told | None = None) -> Any:
        """Let the worker serve a request about this check. Raises: as `Apart.ask`."""
        return self._apart.ask(request, *self._about, *arguments, told=told, interruption=self._interruption)

    # ---- the search --------------------------------------------------------------------------------------------------
    def _corpus(self) -> dict[Signature, Failure]:
        known, endings = Tally(), of_corpus()
        count = until = len(corpus_of(self._program.component))
        queue, spent = Queue(range(count)), list[str]()
        for part in queue:
            if self._interruption.requested or part.start >= until:
                break
            if until == count:
                spent = classes_of(known.failures)
            number = None
            try:
                failures = self._ask("corpus", part, spent)
            except Ended as ended:
                if (number := queue.split(part, ended)) is not None:
                    endings.add(ended)
                    known.fail(*self._failure(ended))
            else:
                for signature, failure in failures.items():
                    known.fail(signature, failure)
            if endings.are_too_many or Patience(classes_of(known.failures), IN_CORPUS).is_over:
                until = min(until, part.start if number is None else number)  # those before it are still to be counted
        return known.failures

    def _search(self, seed: str, queue: Queue, part: range, spent: list[str], told: Told | None) -> int | None:
        """Run a part, and count it. Returns the number of the scenario that ended the process, if one did.

        `spent`: the classes of earlier failures.
        """
        differ, tally, number = self._differ, self._tally, None
        seen = None if differ is None or differ.seen.reason else differ.seen
        try:
            counted, seen = self._ask("search", seed, part, spent, seen, told=told)
        except Ended as ended:
            if differ is not None and ended.position.side == BASELINE:
                differ.give_up(f"in a scenario of {differ.name}, {ended.what}")
                queue.again(part)
            elif (number := queue.split(part, ended)) is not None:
                self._endings.add(ended)
                signature, failure = self._failure(ended)
                failure.first = number
                tally.fail(signature, failure)
                tally.scenarios += 1
                tally.steps += len(failure.scenario.steps)
                self._classes.append(signature[1])
            return number
        tally.merge(counted)
        self._classes += classes_of(counted.failures)
        if differ is not None and seen is not None:
            differ.replace(seen)
        return None

    def _failure(self, ended: Ended) -> tuple[Signature, Failure]:
        signature, failure = failure_of(self._program.component, ended, self._with_log)
        self._ending.add(signature)
        if ended.costly:
            self._costly.add(signature)
        return signature, failure

    # ---- the end -----------------------------------------------------------------------------------------------------
    def reduced(self, tally: Tally) -> tuple[Found, ...]:
        """Returns the failures of a tally in the order of signatures, each with a reduced scenario."""
        found: list[Found] = []
        for signature, failure in sorted(tally.failures.items()):
            if signature in self._ending:
                found.append(self._shortened(signature, failure))
                continue
            try:
                found += self._reduced(Tally(failures={signature: failure}))
            except Ended as ended:
                if ended.costly:
                    self._costly.add(signature)
                found.append(self._shortened(signature, failure, f" (not reduced: {ended.what})"))
        return tuple(found)

    def _reduced(self, alone: Tally) -> tuple[Found, ...]:
        """Reduce a failure in the worker, again if somebody else may have killed it. Raises: Ended."""
        for left in reversed(range(STARTS)):
            try:
                found: tuple[Found, ...] = self._ask("reduce", alone, self._budget)
            except Ended as ended:
                if not ended.doubtful or not left:
                    raise
            else:
                return found
        raise AssertionError

    def _shortened(self, signature: Signature, failure: Failure, otherwise: str = "") -> Found:
        """Reduce a scenario that ends its process. The driver chooses the steps, and runs them in workers.

        `otherwise`: what to add if the scenario fails in another way now.
        """
        scenario, owed, observed = failure.scenario, failure.owed, failure.observed
        generator, whole = generator_of(self._program), True
        if generator is not self._program.implementation and not self._takes_long(signature):
            drawing = Program(self._program.component, generator).within(self._program.configs)
            try:
                reduced = reduce(drawing, scenario, FEW, judge=self._judge, interruption=self._interruption)
            except ValueError as error:
                observed += why_not_reduced(error)
            else:
                whole = not reduced.interrupted
                if reduced.signature == signature:
                    scenario, owed, observed = reduced.scenario, reduced.broken.owed, reduced.broken.observed
                else:
                    observed += otherwise
        return self._found(signature, failure, scenario, owed, observed, whole)

    def _judge(self, scenario: Scenario) -> Run:
        return self._apart.run(self._program, scenario, self._with_log)

    def _found(
        self, signature: Signature, failure: Failure, scenario: Scenario, owed: str, observed: str, whole: bool
    ) -> Found:
        finding = Finding(signature[0], signature[1], self._program.implementation.name)
        evidence = Scenario(scenario.component, scenario.config, scenario.steps, finding)
        return Found(signature, owed, observed, evidence, failure.count, failure.first, whole)

    def _takes_long(self, signature: Signature) -> bool:
        return signature in self._costly or signature[1] == FailureClass.HUNG.value

    def _check(self, found: tuple[Found, ...]) -> Check:
        return Check(self._program, self._tally, found, self._comparison(), self._interruption.requested)

    def _comparison(self) -> Comparison | None:
        differ = self._differ
        if differ is None:
            return None
        if not differ.seen.groups:
            return differ.conclude()
        try:
            comparison: Comparison = self._ask("conclude", differ.seen)
        except Ended as ended:
            return Comparison(differ.name, differ.seen.compared, reason=f"when differences were reduced, {ended.what}")
        return comparison
