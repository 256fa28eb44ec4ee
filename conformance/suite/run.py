"""One run of the suite: what is asked of whom, and what is said of it in the end.

Loaded once an option of ours is used; `checkpoint_conformance_pytest` has the options.
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
from conformance.engines.check import Check, reduce_failures, search_range
from conformance.engines.corpus import replay_corpus
from conformance.engines.known_failures import KnownFailure, Standing, load_known_failures, standing
from conformance.ports import (
    Capability,
    Implementation,
    UnusableImplementation,
    find_implementation,
    offered_components,
)
from conformance.scenarios import SchemaError

OUTCOME = "conformance"
"""The user property by which the outcome of a test travels to whoever prints the table."""


@dataclass(frozen=True, slots=True)
class Profile:
    """How long is searched: scenarios per component, in how many shards, and how many of Hypothesis."""

    scenarios: int
    shards: int
    hypothesis: int
    random: bool = False
    """Another seed every time, wherever it runs."""


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
    """One run of the suite. In every process of it, each implementation is made once and each shard searched once."""

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
            self.implementations = {name: find_implementation(name) for name in self.names}
        except (UnusableImplementation, SchemaError, OSError) as error:
            raise pytest.UsageError(str(error)) from None
        self.components = {name: self._offered(one) for name, one in self.implementations.items()}
        self._checks: dict[Shard, Check] = {}
        self._programs: dict[tuple[str, str], Program] = {}
        self._standings: dict[tuple[str, str], Standing] = {}
        self.outcomes: dict[tuple[str, str, str], list[str]] = {}
        """By implementation, component and property: what became of its tests."""
        if getattr(option, "dist", "no") == "load":
            option.dist = "loadgroup"  # the tests of a shard rest on one search: keep them in one process

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

    # ---- what there is to ask ----------------------------------------------------------------------------------------
    def cases(self) -> Iterator[Case]:
        """Every registered property of every component, once per shard."""
        for name, components in self.components.items():
            for component in components:
                for number in range(self.profile.shards):
                    for one in COMPONENTS[component].properties:
                        yield Case(Shard(name, component, number), one.slug)

    def machines(self) -> Iterator[tuple[str, str]]:
        """Every component of every implementation, if Hypothesis is asked at all."""
        if self.profile.hypothesis:
            for name, components in self.components.items():
                yield from ((name, component) for component in components)

    def program(self, name: str, component: str) -> Program:
        """A component, made ready for an implementation."""
        program = self._programs.get((name, component))
        if program is None:
            program = Program(COMPONENTS[component], self.implementations[name], self.assumed)
            self._programs[name, component] = program
        return program

    def check(self, shard: Shard) -> Check:
        """The search of a shard; the first one of a component replays the corpus before."""
        check = self._checks.get(shard)
        if check is None:
            program = self.program(shard.implementation, shard.component)
            known = replay_corpus(program) if shard.number == 0 else {}
            count, shards = self.profile.scenarios, self.profile.shards
            numbers = range(shard.number * count // shards, (shard.number + 1) * count // shards)
            tally = search_range(program, self.seed, numbers, spent=[signature[1] for signature in known])
            for signature, failure in known.items():
                tally.fail(signature, failure)
            check = self._checks[shard] = Check(program, tally, reduce_failures(program, tally))
        return check

    def standing(self, name: str, component: str) -> Standing:
        """What the known failures mean for a component of an implementation now."""
        found = self._standings.get((name, component))
        if found is None:
            implementation = self.implementations[name]
            found = standing(self.entries, name, implementation, (component,), self.assumed)
            self._standings[name, component] = found
        return found

    # ---- what came of it ---------------------------------------------------------------------------------------------
    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Every process of a distributed run searches with the same seed."""
        node.workerinput["conformance_seed"] = self.seed

    def pytest_itemcollected(self, item: pytest.Item) -> None:
        """Tests are selected by the earlier names of a property, too: `-k slug`."""
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
        """Remember what became of a property."""
        for name, value in report.user_properties:
            if name == OUTCOME and report.when == "teardown":
                implementation, component, slug, verdict = cast("list[str]", value)
                self.outcomes.setdefault((implementation, component, slug), []).append(verdict)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """The verdict on every property, and whether all were asked."""
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
                verdict = f"incomplete: {missing} properties were not asked, or not in every shard"
            else:
                verdict = "FAILED" if failed else "conforms"
            write(f"{name}: {verdict}. {sum(counts.values())} properties: {told}. Seed {self.seed!r}.")

    def pytest_unconfigure(self) -> None:
        """Implementations hold processes."""
        for implementation in self.implementations.values():
            implementation.close()


def _overall(verdicts: list[str]) -> str:
    """Of several shards: one failure is a failure, one that was exercised passed."""
    order = (Verdict.FAILED, "known", Verdict.PASSED, Verdict.UNKNOWN, Verdict.NOT_EXERCISED, Verdict.NOT_APPLICABLE)
    return next((one for one in order if one in verdicts), "not asked")


def _capabilities(names: list[str]) -> frozenset[Capability]:
    known = {one.value: one for one in Capability}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise pytest.UsageError(f"There is no capability {unknown[0]!r}; there are {', '.join(known)}.")
    return frozenset(known[name] for name in names)


def _seed(config: pytest.Config, profile: Profile) -> str:
    """As given; else the one of the controlling process; else a new one, if the profile wants that."""
    given = config.option.conformance_seed
    if given is not None:
        return str(given)
    worker = getattr(config, "workerinput", None)
    if worker is not None and "conformance_seed" in worker:
        return str(worker["conformance_seed"])
    return secrets.token_hex(8) if profile.random else "0"
