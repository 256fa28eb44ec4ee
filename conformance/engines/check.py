"""Checks one component of one implementation against its properties."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from conformance.driver import Kind, Level, Program, Property, Verdict
from conformance.engines.audit import audit, is_audited
from conformance.engines.batch import searching
from conformance.engines.claims import unclaimed
from conformance.engines.corpus import replay_corpus
from conformance.engines.divergence import Comparison, Differ
from conformance.engines.interruption import NEVER, Interruption, until
from conformance.engines.patience import PATIENCE, Patience, classes_of
from conformance.engines.reduce import BUDGET, reduce, why_not_reduced
from conformance.engines.search import Search, numbered_seeds
from conformance.engines.tally import Counter, Signature, Tally
from conformance.ports import Capability
from conformance.scenarios import Finding, Scenario

REDUCTION = {"crashed": 300, "hung": 0}
"""How many runs the reduction of a crash or a hang may take. A hang costs the whole time limit."""
FAR_REDUCTION = {"crashed": 40, "hung": 0}
"""The same for an implementation behind a wire, whose program must be started again after each crash."""

Progress = Callable[[int], None]
"""Called with the number of scenarios that are done."""


@dataclass(frozen=True, slots=True)
class Found:
    """A violation with the shortest scenario known for it."""

    signature: Signature
    owed: str
    """What was owed and why, in the scenario below."""
    observed: str
    scenario: Scenario
    """The shortest scenario known, with its finding."""
    count: int
    """How many scenarios failed with this signature."""
    first: int | None = None
    """The number of the first scenario of the search that did; None if none with a number did."""
    reduced: bool = True
    """False if an interruption ended the reduction before it had tried everything."""
    unclaimed: tuple[Capability, ...] = ()
    """The capabilities that the implementation does not claim, and with each of which nothing is wrong in the scenario
    above."""
    complete: bool = True
    """False if more runs could lead to a simpler scenario: the budget ended the reduction."""

    @property
    def slug(self) -> str:
        """The slug of the property that does not hold."""
        return self.signature[0]

    @property
    def failure_class(self) -> str:
        """The class of the failure, as `lost`."""
        return self.signature[1]


@dataclass(frozen=True, slots=True)
class Check:
    """The result of checking one component of one implementation."""

    program: Program
    tally: Tally
    found: tuple[Found, ...]
    comparison: Comparison | None = None
    """The differences from another implementation, if one was named."""
    interrupted: bool = False
    """Whether it was interrupted: it may have run fewer scenarios than it was asked for."""

    def verdict(self, judged: Property) -> Verdict:
        """Returns the verdict on a property of the component."""
        return verdict(judged, self.program, self.tally)

    @property
    def idle(self) -> bool:
        """Whether no property was exercised, apart from `ANSWERS`, which every operation exercises."""
        return len(self.tally.exercised) < 2

    @property
    def clean(self) -> bool:
        """Whether no property failed."""
        return not self.found


def verdict(judged: Property, program: Program, tally: Tally) -> Verdict:
    """Returns the verdict on a property. A property that was not exercised has not passed.

    Its verdict is unknown if runs crashed or hung before they could have exercised it.
    """
    if judged.slug not in program.places:
        return Verdict.NOT_APPLICABLE
    return verdict_if_applicable(judged.slug, judged.level, tally)


def verdict_if_applicable(slug: str, level: Level, tally: Tally) -> Verdict:
    """Returns the verdict on a property that applies to the implementation, which need not be there."""
    if any(signature[0] == slug for signature in tally.failures):
        return Verdict.FAILED
    if level is Level.UNTESTABLE or not tally.exercised.get(slug):
        cut_short = any(signature[1] in PATIENCE for signature in tally.failures)
        return Verdict.UNKNOWN if cut_short and level is not Level.UNTESTABLE else Verdict.NOT_EXERCISED
    return Verdict.PASSED


def missed_goals(program: Program, tally: Tally) -> list[Property]:
    """Returns the goals that apply to the implementation and that no scenario has reached."""
    return [one for one in program.properties if one.kind is Kind.SOMETIMES and not tally.exercised.get(one.slug)]


def search_range(
    program: Program,
    seed: int | str,
    numbers: Iterable[int],
    progress: Progress | None = None,
    spent: Iterable[str] = (),
    differ: Differ | None = None,
) -> Tally:
    """Run the random scenarios with these numbers, until the implementation has crashed or hung too often (`PATIENCE`).

    `spent`: the classes of earlier failures, which count too. `differ` compares every run with its baseline.
    Nothing is run if the implementation understands no configuration of the component.
    """
    if not program.configs:
        return Tally()
    search, counter = searching(program), Counter(program)
    patience = Patience(spent)
    for done, (number, text) in enumerate(numbered_seeds(seed, program.component.name, numbers)):
        audited = is_audited(text)
        # Over a wire, the audit makes both of its runs step by step: an outcome in one message is never compared with
        # an outcome step by step.
        record = audited or differ is not None if isinstance(search, Search) else differ is not None and not audited
        scenario, run = search.run(text, record)
        counter.add(scenario, run, number)
        if audited and (difference := audit(program, scenario, run)) is not None:
            counter.fail(*difference, number)
        if differ is not None:
            differ.see(scenario, run)
        if run.violation is not None and patience.is_over_after(run.violation.signature[1]):
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
    interruption: Interruption = NEVER,
) -> Check:
    """Replay the corpus, search, then reduce one scenario of each signature that was found, and of each divergence."""
    return check_part(program, seed, range(scenarios), progress, budget, differ, interruption=interruption)


def check_part(
    program: Program,
    seed: int | str,
    numbers: range,
    progress: Progress | None = None,
    budget: int = BUDGET,
    differ: Differ | None = None,
    corpus: bool = True,
    interruption: Interruption = NEVER,
) -> Check:
    """As `check`, in the scenarios with these numbers. Replay the corpus only if `corpus` says so."""
    known = replay_corpus(program, interruption=interruption) if corpus else {}
    wanted = until(interruption, numbers)
    tally = search_range(program, seed, wanted, progress, classes_of(known), differ)
    for signature, failure in known.items():
        tally.fail(signature, failure)
    found = reduce_failures(program, tally, budget, interruption)
    comparison = None if differ is None else differ.conclude(interruption)
    return Check(program, tally, found, comparison, interruption.requested)


def reduce_failures(
    program: Program, tally: Tally, budget: int = BUDGET, interruption: Interruption = NEVER
) -> tuple[Found, ...]:
    """Returns the failures of a tally in the order of signatures, each with a reduced scenario.

    If it is interrupted, a scenario is as short as it is by then.
    """
    found = []
    most = FAR_REDUCTION if program.implementation.is_far else REDUCTION
    for signature, failure in sorted(tally.failures.items()):
        try:
            most_runs = min(budget, most.get(signature[1], budget))
            reduced = reduce(program, failure.scenario, most_runs, interruption=interruption)
            scenario, owed, observed = reduced.scenario, reduced.broken.owed, reduced.broken.observed
            whole, complete, again = not reduced.interrupted, reduced.finished, True
        except ValueError as error:
            scenario, owed, observed = failure.scenario, failure.owed, f"{failure.observed}{why_not_reduced(error)}"
            whole, complete, again = True, budget > 0, False
        # Of what does not fail again, nothing may be wrong without any further capability either.
        lacking = unclaimed(program, scenario, signature[1]) if whole and again else ()
        finding = Finding(signature[0], signature[1], program.implementation.name)
        evidence = Scenario(scenario.component, scenario.config, scenario.steps, finding)
        found.append(Found(signature, owed, observed, evidence, failure.count, failure.first, whole, lacking, complete))
    return tuple(found)
