"""One pytest run of the suite: it decides which tests there are, runs the searches and prints the verdicts.

This module is imported only if an option of the suite is used. `checkpoint_conformance_pytest` defines the options.
"""

from __future__ import annotations

import secrets
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

import pytest

from conformance.components import COMPONENTS
from conformance.driver import Program
from conformance.engines.apart import Apart, find
from conformance.engines.causes import likely_causes
from conformance.engines.check import Check
from conformance.engines.checking import check_any, check_any_with_hypothesis
from conformance.engines.known_failures import KnownFailure, Standing, load_known_failures, standing
from conformance.engines.tally import Signature, Tally
from conformance.ports import (
    Capability,
    Implementation,
    Limits,
    UnusableImplementation,
    offered_components,
)
from conformance.relations import RELATIONS, Relation, Subject, attempt
from conformance.relations.apart import RelationWorker
from conformance.reporting.claims import claims_remarks, idle_remarks
from conformance.reporting.columns import column_of_check, untested
from conformance.reporting.ctrf import write_ctrf
from conformance.reporting.page import check_index
from conformance.reporting.reports_folder import print_reports
from conformance.reporting.showing import print_verdicts
from conformance.reporting.verdicts import Remark, Tried, Verdicts, never_used_in
from conformance.scenarios import SchemaError
from conformance.suite.page import Result, print_page_of_run
from conformance.suite.searches import HYPOTHESIS, Part, Searches
from conformance.suite.terminal import console_of
from conformance.system.places import trouble_with_file, trouble_with_folder
from conformance.system.text import indented, neutral_line

TESTED = "conformance"
"""The user property with which the test of a property says to the process that prints the verdicts that it was run."""
BROKEN = "conformance relation"
"""The user property with which the test of a relation says to that process that it does not hold."""


@dataclass(frozen=True, slots=True)
class Profile:
    """How long to search: scenarios per component, shards, and scenarios per component of Hypothesis, which are the
    examples of each relation as well."""

    scenarios: int
    shards: int
    hypothesis: int
    random: bool = False
    """Draw a new seed for every run."""


PROFILES = {
    "quick": Profile(300, 1, 0),
    "default": Profile(2_000, 2, 50),
    "nightly": Profile(50_000, 8, 1_000, random=True),
    "soak": Profile(1_000_000, 64, 5_000, random=True),
}


@dataclass(frozen=True, slots=True, order=True)
class Case:
    """One property of one component of one implementation: one test, however many parts the search has."""

    implementation: str
    component: str
    slug: str

    def __str__(self) -> str:
        return f"{self.implementation}-{self.component}-{self.slug}"


@dataclass(frozen=True, slots=True)
class Trial:
    """One relation of one component of one implementation: one test."""

    implementation: str
    relation: Relation

    def __str__(self) -> str:
        return f"{self.implementation}-{self.relation.component}-{self.relation.slug}"


class ConformancePlugin:
    """One run of the suite. Each process of it makes each implementation once; together they run each search once."""

    def __init__(self, config: pytest.Config) -> None:
        option = config.option
        self.config = config
        self.names: tuple[str, ...] = tuple(
            dict.fromkeys(option.implementation or config.getini("conformance_implementation") or ["reference"])
        )
        self.profile_name: str = option.conformance_profile or "default"
        self.profile = PROFILES[self.profile_name]
        self.assumed = _capabilities(option.assume)
        self.reports = Path(option.conformance_reports or config.rootpath / "conformance-reports")
        self.page_wanted = option.conformance_reports is not None
        self.ctrf = None if option.conformance_ctrf is None else Path(option.conformance_ctrf)
        self.seed = _seed(config, self.profile)
        _try_destinations(option)
        try:
            check_index(self.reports)
            known = option.known_failures
            self.entries: tuple[KnownFailure, ...] = load_known_failures(Path(known)) if known else ()
            self._limits, here = _limits(option), option.conformance_in_process
            self.implementations = {name: find(name, self._limits, in_process=here) for name in self.names}
            self.components = {name: self._offered(one) for name, one in self.implementations.items()}
        except (UnusableImplementation, SchemaError, OSError) as error:
            raise pytest.UsageError(indented(str(error))) from None
        self._programs: dict[tuple[str, str], Program] = {}
        self._checks: dict[tuple[str, str], Check] = {}
        self._standings: dict[tuple[str, str], Standing] = {}
        self._own_folder = None if _shared(config) else TemporaryDirectory(prefix="conformance-")
        self._folder = _shared(config) or (self._own_folder.name if self._own_folder is not None else "")
        self._searches = Searches(Path(self._folder), self._search)
        self._tested: set[tuple[str, str, str]] = set()
        """The implementation, component and property of every test that was run, in any process."""
        self._broken: list[tuple[str, str, str]] = []
        """The implementation, component and relation of every test that found that one does not hold."""
        self._workers: dict[str, RelationWorker] = {}
        """By implementation that runs apart, what tries relations on it."""
        if getattr(option, "dist", "no") == "load":
            option.dist = "loadgroup"  # the tests of a component need the same searches, so one process runs them

    def _offered(self, implementation: Implementation) -> tuple[str, ...]:
        wanted = self.config.option.component
        unknown = [one for one in wanted if one not in COMPONENTS]
        if unknown:
            raise pytest.UsageError(
                neutral_line(f"There is no component {unknown[0]!r}; there are {', '.join(COMPONENTS)}.")
            )
        offered = offered_components(implementation)
        found = tuple(one for one in COMPONENTS if one in offered and (not wanted or one in wanted))
        if not found:
            raise pytest.UsageError(
                neutral_line(
                    f"{implementation.name} does not offer {' or '.join(wanted) or 'any component of this suite'}."
                )
            )
        return found

    # ---- the tests ---------------------------------------------------------------------------------------------------
    def cases(self) -> Iterator[Case]:
        """Yield every property of every component."""
        for name, components in self.components.items():
            for component in components:
                yield from (Case(name, component, one.slug) for one in COMPONENTS[component].properties)

    def trials(self) -> Iterator[Trial]:
        """Yield every relation of every component, if the profile lets Hypothesis choose anything."""
        for name, components in self.components.items() if self.profile.hypothesis else ():
            for component in components:
                yield from (Trial(name, one) for one in RELATIONS.get(component, ()))

    def missing(self, trial: Trial) -> list[str]:
        """Return the capabilities that a relation needs and that are neither claimed nor assumed."""
        return trial.relation.missing(self.implementations[trial.implementation].capabilities | self.assumed)

    def attempt(self, trial: Trial) -> str | None:
        """Try a relation. Return why it does not hold, with the simplest example that was found; None if it holds."""
        relation, name, count = trial.relation, trial.implementation, self.profile.hypothesis
        found = self.implementations[name]
        if not isinstance(found, Apart):
            subject = Subject(found.components()[relation.component], found.capabilities | self.assumed)
            return attempt(relation, subject, count, self.seed)
        if name not in self._workers:
            self._workers[name] = RelationWorker(name, self._limits)
        return self._workers[name].attempt(relation, self.assumed, count, self.seed)

    def parts(self, name: str, component: str) -> list[Part]:
        """Return the parts of the search for a component."""
        names = [*map(str, range(self.profile.shards)), *([HYPOTHESIS] if self.profile.hypothesis else [])]
        return [Part(name, component, one) for one in names]

    def searches(self) -> Iterator[Part]:
        """Yield every part of the search for every component, if that has more than one.

        Several processes can run the parts at once then. A single part is run by the test that needs it first.
        """
        for name, components in self.components.items():
            for component in components:
                parts = self.parts(name, component)
                yield from parts if len(parts) > 1 else ()

    def program(self, name: str, component: str) -> Program:
        """Return the program that runs a component of an implementation."""
        program = self._programs.get((name, component))
        if program is None:
            program = Program(COMPONENTS[component], self.implementations[name], self.assumed)
            self._programs[name, component] = program
        return program

    def search(self, part: Part) -> None:
        """Run a part of a search, unless that was done before in any process."""
        self._searches.ensure(part)

    def check(self, name: str, component: str) -> Check:
        """Return what all parts of the search for a component have found. What is not there yet is run."""
        check = self._checks.get((name, component))
        if check is None:
            check = self._searches.merged(self.program(name, component), self.parts(name, component))
            self._checks[name, component] = check
        return check

    def _search(self, part: Part) -> Check:
        """Run a part of a search in this process. With the first shard, also replay the corpus."""
        program = self.program(part.implementation, part.component)
        if part.name == HYPOTHESIS:
            return check_any_with_hypothesis(program, self.profile.hypothesis, self.seed)
        count, shards, number = self.profile.scenarios, self.profile.shards, int(part.name)
        numbers = range(number * count // shards, (number + 1) * count // shards)
        return check_any(program, self.seed, numbers, corpus=number == 0)

    def standing(self, name: str, component: str) -> Standing:
        """Replay the known failures of a component of an implementation, and return which ones still fail."""
        found = self._standings.get((name, component))
        if found is None:
            implementation = self.implementations[name]
            found = standing(self.entries, name, implementation, (component,), self.assumed)
            self._standings[name, component] = found
        return found

    # ---- what pytest asks --------------------------------------------------------------------------------------------
    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Send the seed and the folder of the searches to a worker process, so that all processes use the same ones."""
        node.workerinput["conformance_seed"] = self.seed
        node.workerinput["conformance_searches"] = self._folder

    def pytest_itemcollected(self, item: pytest.Item) -> None:
        """Let `-k` also select tests by earlier slugs of their property."""
        case = _parameter(item, "case")
        if isinstance(case, Case):
            for one in COMPONENTS[case.component].properties:
                if one.slug == case.slug:
                    item.extra_keyword_matches.update(one.formerly)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Leave out searches of which no property is tested: a search that finds a failure does not report it."""
        cases = [case for item in items if isinstance(case := _parameter(item, "case"), Case)]
        wanted = {(case.implementation, case.component) for case in cases}
        left_out = [
            item for item in items
            if isinstance(part := _parameter(item, "part"), Part)
            and (part.implementation, part.component) not in wanted
        ]  # fmt: skip
        if left_out:
            config.hook.pytest_deselected(items=left_out)
            items[:] = [item for item in items if item not in left_out]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note which properties were tested."""
        for name, value in report.user_properties:
            if name == TESTED and report.when == "teardown":
                implementation, component, slug = cast("list[str]", value)
                self._tested.add((implementation, component, slug))
            if name == BROKEN and report.when == "teardown":
                implementation, component, slug = cast("list[str]", value)
                self._broken.append((implementation, component, slug))

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the verdicts for continuous integration, also if no summary is printed (`--no-summary`)."""
        if self.ctrf is None or hasattr(self.config, "workerinput"):
            return
        try:
            write_ctrf(self.ctrf, self._verdicts())
        except OSError as error:  # the verdicts are printed all the same
            print(f"conformance: {neutral_line(str(error))}", file=sys.stderr)
            session.exitstatus = pytest.ExitCode.USAGE_ERROR

    @cached_property
    def _results(self) -> list[Result]:
        """The results of all implementations. Only to be read when all tests have ended."""
        return [self._result(name, components) for name, components in self.components.items()]

    def _verdicts(self, reports: Path | None = None) -> Verdicts:
        tried = tuple(one.tried for one in self._results)
        idle = [remark for one in self._results for remark in idle_remarks(one.tried.name, one.checks)]
        return Verdicts(tried, (*self._relations_remarks(), *claims_remarks(tried), *idle), reports)

    def _relations_remarks(self) -> Iterator[Remark]:
        """Yield what is said of the relations that do not hold."""
        for name in self.components:
            found = [f"{component}: {slug}" for one, component, slug in sorted(self._broken) if one == name]
            if found:
                yield Remark(f"{name}: relations that do not hold:", tuple(found), few=len(found))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter, exitstatus: int) -> None:
        """Print what failed, grouped by likely cause, and a verdict for each implementation; write the page.

        Nothing is said of tests that were only collected.
        """
        if hasattr(self.config, "workerinput") or self.config.option.collectonly:
            return
        terminalreporter.section("conformance")
        results = self._results
        reports = self.reports if any(one.tried.new_causes for one in results) else None
        verdicts = self._verdicts(reports)
        console, text = console_of(terminalreporter)
        print_verdicts(console, verdicts)
        console.print(f"Seed {self.seed!r}, profile {self.profile_name}.")
        if reports is not None:
            print_reports(console, reports)
        if reports is not None or self.page_wanted:
            about = [("seed", self.seed), ("profile", self.profile_name)]
            print_page_of_run(console, self.reports, results, verdicts, exitstatus, about, self.assumed)
        terminalreporter.write(text.getvalue())

    def _result(self, name: str, components: Iterable[str]) -> Result:
        """Return the result of an implementation, in which properties without a test are `not tested`."""
        known: dict[tuple[str, Signature], KnownFailure] = {}
        checks, columns = [], []
        for component in components:
            tested = {slug for of, where, slug in self._tested if (of, where) == (name, component)}
            program = self.program(name, component)
            check = self._searches.known(program, self.parts(name, component)) if tested else None
            if check is None:
                columns.append(untested(column_of_check(Check(program, Tally(), ()), name)))
                continue
            known |= self.standing(name, component).known
            check = replace(check, found=tuple(one for one in check.found if one.slug in tested))
            checks.append(check)
            columns.append(untested(column_of_check(check, name, Standing(known, ())), tested))
        causes, unused = likely_causes(checks), never_used_in(checks)
        broken = any(one == name for one, _, _ in self._broken)
        tried = Tried(name, tuple(columns), causes, Standing(known, ()), never_used=unused, breaks_relations=broken)
        return Result(tried, tuple(checks), self.implementations[name])

    def pytest_unconfigure(self) -> None:
        """Close the implementations, since they may have started processes, and remove what was shared."""
        for implementation in self.implementations.values():
            implementation.close()
        for worker in self._workers.values():
            worker.close()
        if self._own_folder is not None:
            self._own_folder.cleanup()


def _parameter(item: pytest.Item, name: str) -> object:
    """Return the value of a parameter of a test, or None."""
    return item.callspec.params.get(name) if isinstance(item, pytest.Function) and hasattr(item, "callspec") else None


def _shared(config: pytest.Config) -> str | None:
    """Return the folder that the controlling process has made, or None in that process."""
    worker = getattr(config, "workerinput", None)
    return None if worker is None else worker.get("conformance_searches")


def _try_destinations(option: Any) -> None:
    """Raise a pytest.UsageError, before anything is searched, if a file or folder that is named cannot be written."""
    for name, path, trouble_with in (
        ("--conformance-reports", option.conformance_reports, trouble_with_folder),
        ("--conformance-ctrf", option.conformance_ctrf, trouble_with_file),
    ):
        if path is not None and (trouble := trouble_with(Path(path))) is not None:
            raise pytest.UsageError(neutral_line(f"{name}: {trouble}."))


def _limits(option: Any) -> Limits:
    found = Limits()
    if option.conformance_step_seconds is not None:
        found = found._replace(step_seconds=option.conformance_step_seconds)
    if option.conformance_memory is not None:
        found = found._replace(memory_mib=option.conformance_memory)
    if not (found.step_seconds > 0 and found.memory_mib > 0):  # "nan" is no number of seconds
        raise pytest.UsageError("--conformance-step-seconds and --conformance-memory must be more than 0.")
    return found


def _capabilities(names: list[str]) -> frozenset[Capability]:
    known = {one.value: one for one in Capability}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise pytest.UsageError(neutral_line(f"There is no capability {unknown[0]!r}; there are {', '.join(known)}."))
    return frozenset(known[name] for name in names)


def _seed(config: pytest.Config, profile: Profile) -> str:
    """Return the given seed, or that of the controlling process, or a new one if the profile draws seeds, or "0"."""
    given = config.option.conformance_seed
    if given is not None:
        return str(given)
    worker = getattr(config, "workerinput", None)
    if worker is not None and "conformance_seed" in worker:
        return str(worker["conformance_seed"])
    return secrets.token_hex(8) if profile.random else "0"
