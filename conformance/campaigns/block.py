"""Runs one block. The result depends only on the plan and the block, and not on the process that runs it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import PurePath
from traceback import extract_tb
from types import MappingProxyType
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from conformance.campaigns.limit import limited
from conformance.campaigns.names import Names
from conformance.campaigns.plan import Block, Plan
from conformance.campaigns.seconds import Watch
from conformance.driver import Components, Program, Run, run_scenario
from conformance.engines.aiming import aiming, is_aimed
from conformance.engines.audit import audit, is_audited
from conformance.engines.compare import first_difference, outcomes
from conformance.engines.corpus import corpus, replay_corpus
from conformance.engines.exercise import Exercise, cases_of, exercise_of
from conformance.engines.patience import IN_CORPUS, Patience
from conformance.engines.search import Manner, Search, numbered_seeds
from conformance.engines.tally import Counter, Failure, Signature, Tally
from conformance.ports import Implementation
from conformance.scenarios import Scenario
from conformance.scenarios.codec import ScenarioFile
from conformance.scenarios.former import step_as_of_today
from conformance.scenarios.model import SCHEMA as FORM
from conformance.system.writing import told_by

DIED = "the process that ran the block died each time"
"""The reason of a block whose process died too often for a reason that no scenario explains."""
NOBODY: Mapping[str, Iterable[str]] = MappingProxyType({})


Natural = Annotated[int, Meta(ge=0)]
Positive = Annotated[int, Meta(ge=1)]


class FailureRecord(Struct, frozen=True, rename={"failure_class": "class"}):
    """All failures with one signature in a block, in the form that is written to JSON."""

    property: str
    failure_class: str
    operation: str
    count: Positive
    owed: str
    observed: str
    scenario: ScenarioFile
    first: int | None = None
    """The number of the first scenario that failed so; None if only the corpus did, or in a block of an earlier version
    of the suite."""


class TallyRecord(Struct, frozen=True):
    """The counts and failures of one implementation in a block, in the form that is written to JSON."""

    scenarios: Natural
    steps: Natural
    closing_steps: Natural
    exercised: dict[str, Natural]
    failures: tuple[FailureRecord, ...]
    exercise: Exercise | None = None
    """In which settings; None: a version of the suite that did not count this ran the block."""
    happened: dict[str, Natural] | UnsetType = UNSET
    """How often what happened in episodes, in words, sorted. Unset: nothing that is counted so."""


class DifferenceRecord(Struct, frozen=True):
    """Differences from the baseline in one field of one operation: how many scenarios, and the shortest of them."""

    implementation: str
    operation: str
    field: str
    count: Positive
    scenario: ScenarioFile


class BlockResult(Struct, frozen=True, forbid_unknown_fields=True):
    """The result of one block.

    The keys of `tallies` are the names of the implementations that offer the component.
    """

    plan: str
    """The digest of the plan that the block is part of."""
    block: Block
    tallies: dict[str, TallyRecord]
    differences: tuple[DifferenceRecord, ...] = ()
    lost: str | None = None
    """Why the block could not be run, or None. No scenario of a lost block counts."""


@dataclass(slots=True)
class Counts:
    """What several results of one component have counted. The order in which they are added does not matter."""

    tallies: dict[str, Tally] = field(default_factory=dict)
    """By implementation."""
    differences: dict[tuple[str, str, str], Failure] = field(default_factory=dict)
    """By implementation, operation and field."""

    def add(self, result: BlockResult, components: Components) -> None:
        """Add a result that is not lost."""
        for name, record in result.tallies.items():
            self.add_tally(name, record, components)
        for one in result.differences:
            self.add_difference(one, components)

    def add_tally(self, name: str, record: TallyRecord, components: Components) -> None:
        """Add what an implementation did."""
        self.tallies.setdefault(name, Tally()).merge(decode_tally(record, components))

    def add_failure(self, name: str, record: FailureRecord, components: Components) -> None:
        """Add the failures of an implementation with one signature."""
        self.tallies.setdefault(name, Tally()).fail(*decode_failure(record, components))

    def add_difference(self, one: DifferenceRecord, components: Components) -> None:
        """Add differences of an implementation in one field of one operation."""
        failure = Failure(decode(one.scenario, components), "", "", one.count)
        known = self.differences.setdefault((one.implementation, one.operation, one.field), failure)
        if known is not failure:
            known.absorb(failure)


@contextmanager
def programs(
    plan: Plan, component: str, implementations: tuple[str, ...], names: Names
) -> Iterator[dict[str, Program]]:
    """Yield a program for each named implementation that offers the component; close all implementations at the end."""
    with ExitStack() as closing:
        found = {}
        for name in implementations:
            found[name] = names.find(name)
            closing.callback(found[name].close)
        yield programs_of(plan, component, found, names.components)


def programs_of(
    plan: Plan, component: str, implementations: Mapping[str, Implementation], components: Components
) -> dict[str, Program]:
    """Return a program for each implementation that offers the component."""
    return {
        name: Program(components[component], implementation, plan.assume)
        for name, implementation in implementations.items()
        if component in implementation.components()
    }


def run_block(plan: Plan, block: Block, names: Names, watch: Watch | None = None) -> BlockResult:
    """Run the scenarios of a block and, if it is the first one of its component, the corpus, in this process.

    Raises: UnusableImplementation, and whatever goes wrong in the suite itself.
    """
    parts, numbers = [], range(block.first, block.first + block.count)
    watch = watch or Watch()
    if is_compared(plan, block):
        with programs(plan, block.component, plan.compared, names) as found:
            parts.append(run_part(plan, block, found, numbers, watch))
            if has_corpus(block):
                replayed = range(len(corpus(names.components[block.component])))
                parts += [replay_part(plan, block, found[name], name, replayed, watch) for name in found]
    for name in sought_by(plan, block):  # one after the other: each is a copy of the whole reference
        watch.begin()
        with programs(plan, block.component, (name,), names) as found:
            parts.append(seek_part(plan, block, found[name], name, numbers))
        watch.lap(name)
    return joined(plan, block, parts, names.components)


def run_part(
    plan: Plan,
    block: Block,
    found: Mapping[str, Program],
    numbers: Iterable[int],
    watch: Watch,
    spent: Mapping[str, Iterable[str]] = NOBODY,
    without: Collection[str] = (),
) -> BlockResult:
    """Run the scenarios of a block that have these numbers, on every implementation that offers its component.

    `spent` has the classes of the failures of each implementation so far: one that has crashed or hung too often is not
    run any more. `without`: implementations that are not run.
    """
    if plan.of_episodes:
        from conformance.campaigns.episodes import run_episodes  # only such a campaign loads what judges them

        return run_episodes(plan, block, found, numbers, watch)
    baseline = found[plan.baseline]
    search, counter = Search(baseline), Counter(baseline)
    others = [
        (name, program, Counter(program), Patience(spent.get(name, ())))
        for name, program in found.items()
        if name != plan.baseline and name not in without
    ]
    patience = Patience(spent.get(plan.baseline, ()))
    aim = aiming(block.aims) if block.aims else None
    differences: dict[tuple[str, str, str], Failure] = {}
    watch.begin()
    for number, text in () if patience.is_over else numbered_seeds(plan.seed, block.component, numbers):
        audited = is_audited(text)
        by = aim if aim is not None and is_aimed(text) else plan.manner_of(number)
        scenario, run = _drawn(plan, search, counter, number, text, bool(others), by)
        watch.lap(plan.baseline)
        for name, program, counts, left in others:
            if left.is_over or not program.understands(scenario.config):
                continue
            with limited(plan.scenario_seconds):
                other = run_scenario(program, scenario.config, scenario.steps, record=True)
                performed = _performed(scenario, other.performed)
                if audited and (failure := audit(program, scenario, other)) is not None:
                    counts.fail(*failure, number)
            counts.add(performed, other, number)
            if other.violation is not None:
                left.is_over_after(other.violation.signature[1])
            if scenario.config.interleaving == "whole":  # else turns depend on the locks inside an implementation
                difference = first_difference(*outcomes(program.component, run, other))
                if difference is not None:
                    index, operation, field = difference
                    example = Failure(_performed(scenario, scenario.steps[: index + 1]), "", "")
                    known = differences.setdefault((name, operation, field), example)
                    if known is not example:
                        known.absorb(example)
            watch.lap(name)
        if run.violation is not None and patience.is_over_after(run.violation.signature[1]):
            break
    counters = {plan.baseline: counter, **{name: counts for name, _, counts, _ in others}}
    tallies = {name: encode_tally(one.tally()) for name, one in counters.items()}
    return BlockResult(plan.digest, block, tallies, encode_differences(differences))


def seek_part(plan: Plan, block: Block, program: Program, name: str, numbers: Iterable[int]) -> BlockResult:
    """Draw the scenarios that have these numbers on an implementation that must fail, up to the first that fails."""
    search, counter = Search(program), Counter(program)
    for number, text in numbered_seeds(plan.seed, block.component, numbers):
        _drawn(plan, search, counter, number, text, False, plan.manner_of(number))
        if counter.has_failed:
            break
    return BlockResult(plan.digest, block, {name: encode_tally(counter.tally())})


def _drawn(
    plan: Plan, search: Search, counter: Counter, number: int, text: str, record: bool, by: Manner | None
) -> tuple[Scenario, Run]:
    """Draw and run the scenario of a seed text, and count it. If it is audited, run it twice."""
    audited = is_audited(text)
    with limited(plan.scenario_seconds):
        scenario, run = search.run(text, record=record or audited, by=by)
        if audited and (failure := audit(search.program, scenario, run)) is not None:
            counter.fail(*failure, number)
    counter.add(scenario, run, number)
    return scenario, run


def is_compared(plan: Plan, block: Block) -> bool:
    """Whether the baseline draws the scenarios of a block."""
    return plan.baseline not in block.without


def sought_by(plan: Plan, block: Block) -> list[str]:
    """Return the implementations of `until_found` that are run in a block."""
    return [name for name in plan.sought_in(block.component) if name not in block.without]


def replay_part(
    plan: Plan,
    block: Block,
    program: Program,
    name: str,
    numbers: Iterable[int],
    watch: Watch,
    spent: Iterable[str] = (),
) -> BlockResult:
    """Replay the scenarios of the corpus that have these numbers on one implementation, each within the time of one."""
    tally, patience = Tally(), Patience(spent, IN_CORPUS)
    watch.begin()
    for number in numbers:
        if patience.is_over:
            break
        with limited(plan.scenario_seconds):
            found = replay_corpus(program, (number,))
        for signature, failure in found.items():
            tally.fail(signature, failure)
            patience.is_over_after(signature[1])
    watch.lap(name)
    return BlockResult(plan.digest, block, {name: encode_tally(tally)})


def has_corpus(block: Block) -> bool:
    """Whether the corpus is replayed with this block. Only the first block of each component does that."""
    return block.number == 0


def joined(plan: Plan, block: Block, parts: Iterable[BlockResult], components: Components) -> BlockResult:
    """Return the result of a block from the results of its parts."""
    counts = Counts()
    for part in parts:
        if part.lost is not None:
            return lost_block(plan, block, part.lost)
        counts.add(part, components)
    tallies = {name: encode_tally(counts.tallies[name]) for name in plan.implementations if name in counts.tallies}
    return BlockResult(plan.digest, block, tallies, encode_differences(counts.differences))


def attempted(plan: Plan, block: Block, run: Callable[[], BlockResult]) -> BlockResult:
    """Return what `run` returns. An error makes the block a lost one, and does not end the campaign.

    Raises: NotWritten if the machine refused to write, as it will for every other block.
    """
    try:
        return run()
    except (Exception, SystemExit) as error:  # not Ctrl-C, which ends the campaign
        if (refused := told_by(error)) is not None:
            raise refused from error
        frames = extract_tb(error.__traceback__)
        # Only the name of the file: the reason must be the same on every machine.
        where = f" ({PurePath(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""
        return lost_block(plan, block, f"{type(error).__name__}: {error}{where}")


def lost_block(plan: Plan, block: Block, reason: str) -> BlockResult:
    """Return the result of a block that could not be run."""
    return BlockResult(plan.digest, block, {}, (), reason)


def encode(scenario: Scenario) -> ScenarioFile:
    """Return the content of a scenario file for a scenario."""
    config: dict[str, Any] = msgspec.to_builtins(scenario.config)
    return ScenarioFile(FORM, scenario.component, config, scenario.steps, scenario.finding)


def decode(file: ScenarioFile, components: Components) -> Scenario:
    """Return the scenario that a file contains, with the names that its steps have today.

    Raises: msgspec.ValidationError or KeyError if it is not a scenario of these components.
    """
    config = msgspec.convert(file.config, components.config_type(file.component))
    steps = tuple(step_as_of_today(file.schema, file.component, step) for step in file.steps)
    return Scenario(file.component, config, steps, file.finding)


def encode_differences(found: Mapping[tuple[str, str, str], Failure]) -> tuple[DifferenceRecord, ...]:
    """Convert differences to their JSON form, sorted."""
    return tuple(DifferenceRecord(*key, one.count, encode(one.scenario)) for key, one in sorted(found.items()))


def encode_tally(tally: Tally) -> TallyRecord:
    """Convert a tally to its JSON form. Everything in it is sorted, so that equal tallies give equal bytes."""
    failures = tuple(
        FailureRecord(
            *signature, failure.count, failure.owed, failure.observed, encode(failure.scenario), failure.first
        )
        for signature, failure in sorted(tally.failures.items())
    )
    exercised = dict(sorted(tally.exercised.items()))
    counts = tally.scenarios, tally.steps, tally.closing_steps, exercised
    return TallyRecord(*counts, failures, exercise_of(tally), happened_of(tally))


def happened_of(tally: Tally) -> dict[str, int] | UnsetType:
    """Return what happened in episodes, in the form that is written to JSON."""
    return dict(sorted(tally.happened.items())) or UNSET


def decode_failure(record: FailureRecord, components: Components) -> tuple[Signature, Failure]:
    """Return the failure that `encode_tally` converted to `record`, with its signature."""
    signature = record.property, record.failure_class, record.operation
    scenario = decode(record.scenario, components)
    return signature, Failure(scenario, record.owed, record.observed, record.count, record.first)


def decode_tally(record: TallyRecord, components: Components) -> Tally:
    """Return the tally that `encode_tally` converted to `record`."""
    failures = dict(decode_failure(one, components) for one in record.failures)
    tally = Tally(record.scenarios, record.steps, record.closing_steps, dict(record.exercised), failures)
    if record.exercise is not None:
        tally.settings, tally.unsure = cases_of(record.exercise), dict(record.exercise.unsure)
    tally.happened = dict(record.happened or {})
    return tally


def _performed(scenario: Scenario, steps: Any) -> Scenario:
    return Scenario(scenario.component, scenario.config, tuple(steps))
