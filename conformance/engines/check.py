"""Holding one component of one implementation to its properties, and what came of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from conformance.driver import Kind, Level, Program, Property, Verdict
from conformance.engines.audit import audit, is_audited
from conformance.engines.batch import searching
from conformance.engines.corpus import replay_corpus
from conformance.engines.divergence import Comparison, Differ
from conformance.engines.reduce import BUDGET, reduce
from conformance.engines.search import Search, seeds
from conformance.engines.tally import Counter, Signature, Tally
from conformance.scenarios import Finding, Scenario

PATIENCE = {"crashed": 50, "hung": 2}
"""So many scenarios may end in a crash or a hang; then an implementation is not searched any further."""
REDUCTION = {"crashed": 300, "hung": 0}
"""Runs that reducing a crash or a hang may take: each may cost a new process, or the time limit."""

Progress = Callable[[int], None]
"""Told how many scenarios are done."""


@dataclass(frozen=True, slots=True)
class Found:
    """A violation with the shortest scenario known for it."""

    signature: Signature
    owed: str
    """What was owed and why, in the scenario below."""
    observed: str
    scenario: Scenario
    """Carries the finding it is evidence of."""
    count: int
    """How many scenarios failed alike."""

    @property
    def slug(self) -> str:
        """The slug of the property that does not hold."""
        return self.signature[0]

    @property
    def failure_class(self) -> str:
        """In which way."""
        return self.signature[1]


@dataclass(frozen=True, slots=True)
class Check:
    """One component of one implementation, checked."""

    program: Program
    tally: Tally
    found: tuple[Found, ...]
    comparison: Comparison | None = None
    """Where it parts ways with another implementation, if one was named."""

    def verdict(self, judged: Property) -> Verdict:
        """What is reported of a property of the component."""
        return verdict(judged, self.program, self.tally)

    @property
    def idle(self) -> bool:
        """No property was put to the test, apart from the one that every operation is."""
        return len(self.tally.exercised) < 2

    @property
    def clean(self) -> bool:
        """No property failed."""
        return not self.found


def verdict(judged: Property, program: Program, tally: Tally) -> Verdict:
    """What a tally says of a property. One that was not exercised has not passed.

    Unknown: it was not exercised, but runs crashed or hung before they could have done so.
    """
    if judged.slug not in program.places:
        return Verdict.NOT_APPLICABLE
    if any(signature[0] == judged.slug for signature in tally.failures):
        return Verdict.FAILED
    if judged.level is Level.UNTESTABLE or not tally.exercised.get(judged.slug):
        cut_short = any(signature[1] in PATIENCE for signature in tally.failures)
        return Verdict.UNKNOWN if cut_short and judged.level is not Level.UNTESTABLE else Verdict.NOT_EXERCISED
    return Verdict.PASSED


def missed_goals(program: Program, tally: Tally) -> list[Property]:
    """The *sometimes* properties that apply and were never seen."""
    return [one for one in program.properties if one.kind is Kind.SOMETIMES and not tally.exercised.get(one.slug)]


def search_range(
    program: Program,
    seed: int | str,
    numbers: Iterable[int],
    progress: Progress | None = None,
    spent: Iterable[str] = (),
    differ: Differ | None = None,
) -> Tally:
    """Run the random scenarios with these numbers, as long as the implementation does not crash or hang too often.

    `spent` are the classes of failures before, which took patience too. Every run is shown to `differ`.
    """
    search, counter = searching(program), Counter(program)
    left = dict(PATIENCE)
    for failure_class in spent:
        if failure_class in left:
            left[failure_class] -= 1
    for done, text in enumerate(seeds(seed, program.component.name, numbers)):
        audited = is_audited(text)
        # What is far away is audited step by step, so that an answer to a message is not held against one to a call.
        record = audited or differ is not None if isinstance(search, Search) else differ is not None and not audited
        scenario, run = search.run(text, record)
        counter.add(scenario, run)
        if audited and (difference := audit(program, scenario, run)) is not None:
            counter.fail(*difference)
        if differ is not None:
            differ.see(scenario, run)
        if run.violation is not None and (failure_class := run.violation.signature[1]) in left:
            left[failure_class] -= 1
            if not left[failure_class]:
                break
        if progress is not None and not done % 256:
            progress(done)
    return counter.tally()


def check(
    program: Program,
    scenarios: int,
    seed: int | str,
    progress: Progress | None = None,
    budget: int = BUDGET,
    differ: Differ | None = None,
) -> Check:
    """Replay the corpus, search, then reduce one scenario of each signature that was found, and of each divergence."""
    known = replay_corpus(program)
    tally = search_range(program, seed, range(scenarios), progress, [signature[1] for signature in known], differ)
    for signature, failure in known.items():
        tally.fail(signature, failure)
    found = reduce_failures(program, tally, budget)
    return Check(program, tally, found, None if differ is None else differ.conclude())


def reduce_failures(program: Program, tally: Tally, budget: int = BUDGET) -> tuple[Found, ...]:
    """The failures of a tally, each with a scenario made as short as the budget allows; in the order of signatures."""
    found = []
    for signature, failure in sorted(tally.failures.items()):
        try:
            reduced = reduce(program, failure.scenario, min(budget, REDUCTION.get(signature[1], budget)))
            scenario, owed, observed = reduced.scenario, reduced.broken.owed, reduced.broken.observed
        except ValueError as error:
            scenario, owed, observed = failure.scenario, failure.owed, f"{failure.observed} ({error})"
        finding = Finding(signature[0], signature[1], program.implementation.name)
        evidence = Scenario(scenario.component, scenario.config, scenario.steps, finding)
        found.append(Found(signature, owed, observed, evidence, failure.count))
    return tuple(found)
