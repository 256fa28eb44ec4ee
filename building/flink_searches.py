"""Searches each component of each released Flink for long and with several seeds, and says which failures showed.

A search of 2,000 scenarios, as those of `make flink-reports`, shows what is frequent. What fails once in ten thousand
scenarios, or needs the luck of a seed, shows here; and also which known failures no search finds, so that nothing but
their written scenario shows them. Writes reports/flink-searches.md.

The components take turns, a portion of scenarios of each seed, so that a night that is cut short has looked at all of
them. What a portion has come to is a line of a file, and the same command again, also in another night, runs what is
missing. Portions that follow each other become one line in the end. A line is left out once the code has changed that a
search of its component in Flink depends on.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path

import msgspec

from building.findings import KNOWN_FAILURES, RELEASES
from building.kept_lines import add_line, read_lines, write_lines
from conformance.bridges.flink.releases import CHANGED_PIPELINES, COORDINATORS, JOBS
from conformance.campaigns.code import code_by_names
from conformance.campaigns.names import SUITE
from conformance.campaigns.searched_code import search_digest
from conformance.components import COMPONENTS
from conformance.driver import Kind, Level, Program
from conformance.engines.check import reduce_failures, search_range
from conformance.engines.known_failures import KnownFailure, load_known_failures, standing
from conformance.engines.tally import Signature, Tally
from conformance.ports import Implementation, UnusableImplementation
from conformance.ports import find_implementation as find
from conformance.reporting.markdown import cell, table
from conformance.scenarios import encode_scenario
from conformance.system.writing import write_text

IMPLEMENTATIONS = ("flink-component", "flink-coordinator")
SEEDS = ("night one", "night two", "night three")
SCENARIOS = 20_000
PORTION = 1_000
SEARCHES = "searches.jsonl"

_BRIDGES = "conformance/bridges/"
_OF_WHOLE_JOBS = (
    f"{_BRIDGES}episodes/",
    f"{_BRIDGES}flink/job/",
    *(
        f"{_BRIDGES}flink/{one}/"
        for set in (JOBS, CHANGED_PIPELINES)
        for one in {*set.folders} - {*COORDINATORS.folders}
    ),
)
"""What the search in a component has nothing to do with."""

Place = tuple[str, str, str, int, int]
"""An engine, a component, a seed, and the numbers of the first scenario and of the one behind the last."""


class Failed(msgspec.Struct, frozen=True):
    """A failure in some scenarios of a portion."""

    slug: str
    """Of the property."""
    failure_class: str
    operation: str
    """At which it showed."""
    count: int
    first: int | None
    """The number of the first scenario that failed so."""
    known: str = ""
    """Which known failure it is; empty: it is new."""
    observed: str = ""
    scenario: str = ""
    """The reduced scenario of a new failure."""

    @property
    def signature(self) -> Signature:
        """What tells it from other failures."""
        return self.slug, self.failure_class, self.operation

    def again(self, later: Failed) -> Failed:
        """Returns this failure and the same one in later scenarios. What it looks like is that of the first."""
        first = later.first if self.first is None else self.first
        return msgspec.structs.replace(self, count=self.count + later.count, first=first)


class Portion(msgspec.Struct, frozen=True):
    """What some scenarios of one seed have shown."""

    code: str
    """The digest of the code that the search depends on."""
    implementation: str
    """With its release, as `flink-component@2.3.0`."""
    component: str
    seed: str
    first: int
    end: int
    """The number of the first scenario, and of the one behind the last."""
    scenarios: int
    """So many were run: an engine that has crashed too often is left alone."""
    steps: int
    failed: tuple[Failed, ...] = ()
    unexercised: tuple[str, ...] = ()
    """The slugs of the properties that no scenario put to the test."""

    @property
    def of(self) -> tuple[str, str, str]:
        """Which search it is a portion of: an engine, a component, a seed."""
        return self.implementation, self.component, self.seed

    def has(self, place: Place) -> bool:
        """Returns whether the scenarios of a place are among these."""
        *of, first, end = place
        return self.of == tuple(of) and self.first <= first and end <= self.end

    def joined(self, other: Portion) -> Portion:
        """Returns these scenarios and those of a portion that follows."""
        failed = {one.signature: one for one in self.failed}
        for one in other.failed:
            failed[one.signature] = failed[one.signature].again(one) if one.signature in failed else one
        return Portion(
            self.code, *self.of, self.first, other.end, self.scenarios + other.scenarios, self.steps + other.steps,
            tuple(failed[one] for one in sorted(failed)),
            tuple(slug for slug in self.unexercised if slug in other.unexercised),
        )  # fmt: skip


@dataclass(frozen=True)
class Wanted:
    """The searches of a run: each implementation with its components, and with how many scenarios of which seeds."""

    components: Mapping[str, Sequence[str]]
    seeds: Sequence[str]
    scenarios: int

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Yields each engine with each of its components, by component."""
        for component in dict.fromkeys(one for components in self.components.values() for one in components):
            yield from ((name, component) for name, components in self.components.items() if component in components)

    def places(self) -> Iterator[Place]:
        """Yields the places of all portions, in the order in which they are searched."""
        for first in range(0, self.scenarios, PORTION):
            end = min(first + PORTION, self.scenarios)
            for seed in self.seeds:
                yield from ((name, component, seed, first, end) for name, component in self.pairs())


def offered(components: Collection[str] | None) -> dict[str, tuple[str, ...]]:
    """Returns each engine with the components that it offers, of those that are asked for; all of them by default."""
    found = {}
    for name in (f"{one}@{release}" for one in IMPLEMENTATIONS for release in RELEASES):
        with closing(find(name)) as implementation:
            all_of_them = implementation.components()
            found[name] = tuple(one for one in COMPONENTS if one in all_of_them and one in (components or COMPONENTS))
    return found


def told(one: Portion) -> str:
    """Returns in a few words what a portion has shown."""
    new = sorted({failed.slug for failed in one.failed if not failed.known})
    failed = sum(failed.count for failed in one.failed)
    return f"{one.scenarios:,} scenarios, {failed:,} failed" + (f"; NEW: {', '.join(new)}" if new else "")


# ---- the searches ----------------------------------------------------------------------------------------------------
def digests() -> dict[str, str]:
    """Returns for each component a digest of the code that its searches in Flink depend on."""
    files = code_by_names((), SUITE).files
    bridges = {
        file: content
        for file, content in files.items()
        if file.startswith(_BRIDGES) and not file.startswith(_OF_WHOLE_JOBS)
    }
    return {one: search_digest(one, bridges) for one in COMPONENTS}


@dataclass(frozen=True)
class Engine:
    """A released Flink with what is known of it."""

    name: str
    implementation: Implementation
    known: Mapping[tuple[str, Signature], KnownFailure]
    """By component and signature, its known failures that still fail as they are recorded."""

    def search(self, code: str, component: str, seed: str, first: int, end: int) -> Portion:
        """Searches some scenarios, and reduces one of each failure that nobody knows."""
        program = Program(COMPONENTS[component], self.implementation)
        tally = search_range(program, seed, range(first, end))
        known = self.known
        failed = [
            Failed(*signature, one.count, one.first, cell(known[component, signature].reason))
            for signature, one in tally.failures.items()
            if (component, signature) in known
        ]
        news = {one: failure for one, failure in tally.failures.items() if (component, one) not in known}
        for found in reduce_failures(program, Tally(failures=news)):
            observed, text = f"{found.owed}: {found.observed}", encode_scenario(found.scenario)
            failed.append(Failed(*found.signature, found.count, found.first, "", observed, text))
        rules = [one.slug for one in program.properties if one.kind is Kind.ALWAYS and one.level is Level.MUST]
        return Portion(
            code, self.name, component, seed, first, end, tally.scenarios, tally.steps + tally.closing_steps,
            tuple(sorted(failed, key=lambda one: one.signature)),
            tuple(slug for slug in rules if not tally.exercised.get(slug)),
        )  # fmt: skip


def run(wanted: Wanted, codes: Mapping[str, str], folder: Path) -> Iterator[Portion]:
    """Searches what is missing in the folder, and yields each portion. Raises: UnusableImplementation.

    `codes`: the digest of the code by component.
    """
    done = read(folder, codes)
    missing = [place for place in wanted.places() if not any(one.has(place) for one in done)]
    with ExitStack() as stack:
        engines: dict[str, Engine] = {}
        for name, component, seed, first, end in missing:
            if name not in engines:
                implementation = stack.enter_context(closing(find(name)))
                entries = load_known_failures(KNOWN_FAILURES / f"{name.partition('@')[2]}.toml")
                known = standing(entries, name, implementation, wanted.components[name]).known
                engines[name] = Engine(name, implementation, known)
            found = engines[name].search(codes[component], component, seed, first, end)
            add_line(folder / SEARCHES, found)
            yield found


def read(folder: Path, codes: Mapping[str, str]) -> list[Portion]:
    """Returns what was searched with this code. Portions that follow each other are one."""
    found = [one for one in read_lines(folder / SEARCHES, Portion) if one.code == codes.get(one.component)]
    joined: list[Portion] = []
    for one in sorted(found, key=lambda one: (one.of, one.first)):
        follows = joined and joined[-1].of == one.of and joined[-1].end == one.first
        joined.append(joined.pop().joined(one) if follows else one)
    return joined


# ---- the page --------------------------------------------------------------------------------------------------------
HEAD = """# Long searches of released Flink

Each component of each release, searched with the seeds {seeds}; {scenarios} scenarios of each
seed are wanted, or more. A failure is *known* if it is recorded in `conformance/bridges/flink/known_failures`, with a
scenario and a reason; [findings.md](findings.md) has all of them by cause. `make flink-searches` writes this page.
[2.3.0](flink-2.3.0.md), [2.2.1](flink-2.2.1.md) and [1.20.5](flink-1.20.5.md) have the verdict on each property, in
2,000 scenarios.
"""


def page(wanted: Wanted, portions: Sequence[Portion]) -> str:
    """Returns the page about the portions that were wanted. Others may be there."""
    asked = {(name, component, seed) for name, component in wanted.pairs() for seed in wanted.seeds}
    done = [one for one in portions if one.of in asked]
    searches = [Shown(wanted.seeds, name, component, done) for name, component in wanted.pairs()]
    scenarios, steps = sum(one.scenarios for one in done), sum(one.steps for one in done)
    missing = sum(place[-1] - place[-2] for place in wanted.places() if not any(one.has(place) for one in done))
    news = [one for search in searches for one in search.news()]
    return "\n".join([
        HEAD.format(seeds=", ".join(f"*{one}*" for one in wanted.seeds), scenarios=f"{wanted.scenarios:,}"),
        f"{scenarios:,} scenarios were run, with {steps:,} steps."
        + (f" {missing:,} are missing: the page is about those that were run." if missing else ""),
        "",
        table(
            ["component", "engine", "scenarios", "failed", "known", "new", "never put to the test"],
            [search.row() for search in searches],
        ),
        "",
        "## New failures",
        "",
        *(news or ["None.", ""]),
        "## How often each failure shows",
        "",
        "In how many scenarios of each seed, and in which one it showed first. What has no figure was not found here: "
        "its scenario was written, or another search came there.",
        "",
        table(
            ["component", "engine", "property", "class", *wanted.seeds, "first"],
            [row for search in searches for row in search.failures()],
        ),
        "",
    ])  # fmt: skip


class Shown:
    """What all portions of one component of one engine have shown."""

    def __init__(self, seeds: Iterable[str], name: str, component: str, portions: Iterable[Portion]) -> None:
        self._seeds, self._name, self._component = tuple(seeds), name, component
        self._portions = [one for one in portions if (one.implementation, one.component) == (name, component)]

    def _failed(self) -> Iterator[Failed]:
        return (one for portion in self._portions for one in portion.failed)

    def row(self) -> list[str]:
        """Returns the line of the first table."""
        scenarios = sum(one.scenarios for one in self._portions)
        unexercised = [set(one.unexercised) for one in self._portions]
        never = sorted(set.intersection(*unexercised) - {one.slug for one in self._failed()}) if unexercised else ()
        known, new = (
            {one.signature for one in self._failed() if bool(one.known) is is_known} for is_known in (True, False)
        )
        return [
            self._component, self._name, f"{scenarios:,}", f"{sum(one.count for one in self._failed()):,}",
            str(len(known)), f"**{len(new)}**" if new else "-", ", ".join(f"`{slug}`" for slug in never) or "-",
        ]  # fmt: skip

    def news(self) -> Iterator[str]:
        """Yields the lines about what is not known."""
        for one in {each.signature: each for each in self._failed() if not each.known}.values():
            yield f"### {self._component}: `{one.slug}` on {self._name}"
            yield from ("", f"Class {one.failure_class}, at `{one.operation}`. {one.observed}", "")
            yield from ("```json", one.scenario.rstrip(), "```", "")

    def failures(self) -> Iterator[list[str]]:
        """Yields the lines of the second table: what is known to fail, or has failed."""
        release = self._name.partition("@")[2]
        found = [(one.slug, one.failure_class) for one in self._failed()]
        recorded = [
            (slug, one.failure_class.value)
            for one in load_known_failures(KNOWN_FAILURES / f"{release}.toml")
            if one.concerns(self._name, self._component)
            for slug in [each.slug for each in COMPONENTS[self._component].meant(one.property)]
        ]
        for slug, failure_class in sorted({*found, *recorded}):
            seen = [
                (portion.seed, one)
                for portion in self._portions
                for one in portion.failed
                if (one.slug, one.failure_class) == (slug, failure_class)
            ]
            counts = [sum(one.count for each, one in seen if each == seed) for seed in self._seeds]
            first = min((one.first for _, one in seen if one.first is not None), default=None)
            yield [
                self._component, self._name, f"`{slug}`", failure_class,
                *(f"{count:,}" if count else "-" for count in counts), "-" if first is None else f"{first + 1:,}",
            ]  # fmt: skip


def followed(portions: Iterable[Portion]) -> bool:
    """Prints what each portion has shown. Returns whether all were searched, and nobody has interrupted it."""
    try:
        for one in portions:
            print(f"{one.implementation} {one.component}, {one.seed} from {one.first:,}: {told(one)}", flush=True)
    except KeyboardInterrupt:
        return False
    return True


def main(arguments: list[str] | None = None) -> int:
    """Returns the exit status: 0; 1 if there is a new failure; 2 if a release cannot be run; 130 after Ctrl-C."""
    parser = argparse.ArgumentParser(prog="python -m building.flink_searches", description=__doc__)
    parser.add_argument("--scenarios", type=int, default=SCENARIOS, help=f"of each seed; default: {SCENARIOS:,}")
    parser.add_argument("--seeds", nargs="+", default=SEEDS, metavar="SEED", help=f"default: {', '.join(SEEDS)}")
    parser.add_argument("--components", nargs="+", metavar="COMPONENT", help="only these; default: all")
    parser.add_argument("--keep", type=Path, default=Path("reports/flink-searches"), help="for what was found")
    parser.add_argument("--report", type=Path, metavar="FILE", help="the Markdown document")
    options = parser.parse_args(arguments)
    options.keep.mkdir(parents=True, exist_ok=True)
    codes = digests()
    try:
        wanted = Wanted(offered(options.components), options.seeds, options.scenarios)
        status = 0 if followed(run(wanted, codes, options.keep)) else 130
    except UnusableImplementation as error:
        print(error, file=sys.stderr)
        return 2
    portions = read(options.keep, codes)
    write_lines(options.keep / SEARCHES, portions)
    if options.report:
        write_text(options.report, page(wanted, portions))
    return status or int(any(not failed.known for one in portions for failed in one.failed))


if __name__ == "__main__":
    sys.exit(main())
