"""One pytest run of the suite: it decides which tests there are, runs the searches and prints the verdicts.

This module is imported only if an option of the suite is used. `checkpoint_conformance_pytest` defines the options.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest

from conformance.components import COMPONENTS
from conformance.driver import Program, Verdict
from conformance.engines.apart import find
from conformance.engines.check import Check
from conformance.engines.checking import check_any
from conformance.engines.known_failures import KnownFailure, Standing, load_known_failures, standing
from conformance.ports import (
    Capability,
    Implementation,
    Limits,
    UnusableImplementation,
    offered_components,
)
from conformance.scenarios import SchemaError
from conformance.system.text import neutral

OUTCOME = "conformance"
"""The user property with which a test sends its outcome to the process that prints the verdicts."""


@dataclass(frozen=True, slots=True)
class Profile:
    """How long to search: scenarios per component, shards, and scenarios per component of Hypothesis."""

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
class Shard:
    """A part of the search for one component of one implementation."""

    implementation: str
    component: str
    number: int

    def __str__(self) -> str:
        return f"{self.implementation}-{self.component}-{self.number}"


@dataclass(frozen=True, slots=True, order=True)
class Case:
    """One property in one shard: one test."""

    shard: Shard
    slug: str

    def __str__(self) -> str:
        return f"{self.shard.implementation}-{self.shard.component}-{self.slug}-{self.shard.number}"


class ConformancePlugin:
    """One run of the suite. Each process of it makes each implementation once and searches each shard at most once."""

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
        self.seed = _seed(config, self.profile)
        try:
            known = option.known_failures
            self.entries: tuple[KnownFailure, ...] = load_known_failures(Path(known)) if known else ()
            limits, here = _limits(option), option.conformance_in_process
            self.implementations = {name: find(name, limits, in_process=here) for name in self.names}
        except (UnusableImplementation, SchemaError, OSError) as error:
            raise pytest.UsageError(neutral(str(error))) from None
        self.components = {name: self._offered(one) for name, one in self.implementations.items()}
        self._checks: dict[Shard, Check] = {}
        self._programs: dict[tuple[str, str], Program] = {}
        self._standings: dict[tuple[str, str], Standing] = {}
        self.outcomes: dict[tuple[str, str, str], list[str]] = {}
        """The outcomes of the tests. The key is implementation, component and property."""
        if getattr(option, "dist", "no") == "load":
            option.dist = "loadgroup"  # the tests of a shard share one search, so one process runs them

    def _offered(self, implementation: Implementation) -> tuple[str, ...]:
        wanted = self.config.option.component
        unknown = [one for one in wanted if one not in COMPONENTS]
        if unknown:
            raise pytest.UsageError(f"There is no component {unknown[0]!r}; there are {', '.join(COMPONENTS)}.")
        offered = offered_components(implementation)
        found = tuple(one for one in COMPONENTS if one in offered and (not wanted or one in wanted))
        if not found:
            raise pytest.UsageError(
                f"{implementation.name} does not offer {' or '.join(wanted) or 'any component of this suite'}."
            )
        return found

    # ---- the tests ---------------------------------------------------------------------------------------------------
    def cases(self) -> Iterator[Case]:
        """Yield every property of every component, once per shard."""
        for name, components in self.components.items():
            for component in components:
                for number in range(self.profile.shards):
                    for one in COMPONENTS[component].properties:
                        yield Case(Shard(name, component, number), one.slug)

    def machines(self) -> Iterator[tuple[str, str]]:
        """Yield every component of every implementation, if Hypothesis tests are part of the profile."""
        if self.profile.hypothesis:
            for name, components in self.components.items():
                yield from ((name, component) for component in components)

    def program(self, name: str, component: str) -> Program:
        """Return the program that runs a component of an implementation."""
        program = self._programs.get((name, component))
        if program is None:
            program = Program(COMPONENTS[component], self.implementations[name], self.assumed)
            self._programs[name, component] = program
        return program

    def check(self, shard: Shard) -> Check:
        """Search a shard. For the first shard of a component, also replay the corpus before the search."""
        check = self._checks.get(shard)
        if check is None:
            program = self.program(shard.implementation, shard.component)
            count, shards = self.profile.scenarios, self.profile.shards
            numbers = range(shard.number * count // shards, (shard.number + 1) * count // shards)
            check = check_any(program, self.seed, numbers, corpus=shard.number == 0)
            self._checks[shard] = check
        return check

    def standing(self, name: str, component: str) -> Standing:
        """Replay the known failures of a component of an implementation, and return which ones still fail."""
        found = self._standings.get((name, component))
        if found is None:
            implementation = self.implementations[name]
            found = standing(self.entries, name, implementation, (component,), self.assumed)
            self._standings[name, component] = found
        return found

    # ---- the verdicts ------------------------------------------------------------------------------------------------
    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Send the seed to a worker process, so that all processes use the same one."""
        node.workerinput["conformance_seed"] = self.seed

    def pytest_itemcollected(self, item: pytest.Item) -> None:
        """Let `-k` also select tests by earlier slugs of their property."""
        case = (
            item.callspec.params.get("case")
            if isinstance(item, pytest.Function) and hasattr(item, "callspec")
            else None
        )
        if isinstance(case, Case):
            for one in COMPONENTS[case.shard.component].properties:
                if one.slug == case.slug:
                    item.extra_keyword_matches.update(one.formerly)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Record the outcome of the test of a property."""
        for name, value in report.user_properties:
            if name == OUTCOME and report.when == "teardown":
                implementation, component, slug, verdict = cast("list[str]", value)
                self.outcomes.setdefault((implementation, component, slug), []).append(verdict)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Print each failed property, a verdict for each implementation, and whether any property was not tested."""
        if hasattr(self.config, "workerinput"):
            return
        write = terminalreporter.write_line
        terminalreporter.section("conformance")
        for name, components in self.components.items():
            missing = 0
            counts: dict[str, int] = {}
            for component in components:
                for one in COMPONENTS[component].properties:
                    verdicts = self.outcomes.get((name, component, one.slug), [])
                    verdict = _overall(verdicts)
                    counts[verdict] = counts.get(verdict, 0) + 1
                    missing += len(verdicts) < self.profile.shards
                    if verdict in (Verdict.FAILED, "known"):
                        write(f"{name} {component} {one.slug}: {verdict}")
            told = ", ".join(f"{count:,} {verdict}" for verdict, count in sorted(counts.items()))
            failed = counts.get(Verdict.FAILED, 0)
            if missing:
                verdict = f"incomplete: {missing} properties were not tested in every shard"
            else:
                verdict = "FAILED" if failed else "conforms"
            write(f"{name}: {verdict}. {sum(counts.values())} properties: {told}. Seed {self.seed!r}.")

    def pytest_unconfigure(self) -> None:
        """Close the implementations, since they may have started processes."""
        for implementation in self.implementations.values():
            implementation.close()


def _overall(verdicts: list[str]) -> str:
    """Combine the verdicts of several shards: failed if one shard failed, else passed if one shard passed, etc."""
    order = (Verdict.FAILED, "known", Verdict.PASSED, Verdict.UNKNOWN, Verdict.NOT_EXERCISED, Verdict.NOT_APPLICABLE)
    return next((one for one in order if one in verdicts), "not tested")


def _limits(option: Any) -> Limits:
    usual = Limits()
    found = Limits(
        option.conformance_step_seconds or usual.step_seconds, option.conformance_memory or usual.memory_mib
    )  # fmt: skip
    if found.step_seconds <= 0 or found.memory_mib <= 0:
        raise pytest.UsageError("--conformance-step-seconds and --conformance-memory must be more than 0.")
    return found


def _capabilities(names: list[str]) -> frozenset[Capability]:
    known = {one.value: one for one in Capability}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise pytest.UsageError(f"There is no capability {unknown[0]!r}; there are {', '.join(known)}.")
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
