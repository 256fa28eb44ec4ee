"""Searches each component of each released Flink for long and with several seeds, and says which failures showed.

A search of 2,000 scenarios, as those of `make flink-reports`, shows what is frequent. What fails once in ten thousand
scenarios, or needs the luck of a seed, shows here; and also which known failures no search finds, so that nothing but
their written scenario shows them. Writes reports/flink-searches.md.

The components take turns, a portion of scenarios of each seed, so that a night that is cut short has looked at all of
them. What a portion has come to is a line of a file, and the same command again, also in another night, runs what is
missing. Portions that follow each other become one line in the end. A line is left out once the code has changed that a
search of its component in Flink depends on. What is known of Flink is no part of that: a failure that is recorded later
is known on the next page.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
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
from conformance.engines.known_failures import load_known_failures, standing
from conformance.engines.tally import Signature, Tally
from conformance.ports import Implementation, UnusableImplementation
from conformance.ports import find_implementation as find
from conformance.reporting.markdown import table
from conformance.scenarios import encode_scenario
from conformance.system.writing import write_text

IMPLEMENTATIONS = ("flink-component", "flink-coordinator")
SEEDS = ("night one", "night two", "night three")
SCENARIOS = 20_000
PORTION = 1_000
SEARCHES = "searches.jsonl"

_BRIDGES = "conformance/bridges/"
_LEFT_OUT = (
    f"{_BRIDGES}flink/known_failures/",
    f"{_BRIDGES}episodes/",
    f"{_BRIDGES}flink/job/",
    *(
        f"{_BRIDGES}flink/{one}/"
        for set in (JOBS, CHANGED_PIPELINES)
        for one in {*set.folders} - {*COORDINATORS.folders}
    ),
)
"""What the search in a component does not depend on: what is known of Flink, and the adapters of whole jobs."""

Known = Collection[tuple[str, Signature]]
"""The components and signatures of the known failures of an engine that still fail as they are recorded."""
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
    observed: str = ""
    scenario: str = ""
    """The reduced scenario; empty: the failure was known."""

    @property
    def signature(self) -> Signature:
        """What tells it from other failures."""
        return self.slug, self.failure_class, self.operation

    def again(self, later: Failed) -> Failed:
        """Returns this failure and the same one in later scenarios. What it looks like is that of the first that has
        a scenario."""
        first = later.first if self.first is None else self.first
        shown = self if self.scenario else later
        return msgspec.structs.replace(shown, count=self.count + later.count, first=first)


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

    def news(self, known: Known) -> Iterator[Failed]:
        """Yields the failures that nobody knows. `known`: what is known of its engine."""
        return (one for one in self.failed if (self.component, one.signature) not in known)

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


def told(one: Portion, known: Known) -> str:
    """Returns in a few words what a portion has shown. `known`: what is known of its engine."""
    new = sorted({failed.slug for failed in one.news(known)})
    failed = sum(failed.count for failed in one.failed)
    return f"{one.scenarios:,} scenarios, {failed:,} failed" + (f"; NEW: {', '.join(new)}" if new else "")


# ---- the searches ----------------------------------------------------------------------------------------------------
def digests() -> dict[str, str]:
    """Returns for each component a digest of the code that its searches in Flink depend on."""
    files = code_by_names((), SUITE).files
    bridges = {
        file: content for file, content in files.items() if file.startswith(_BRIDGES) and not file.startswith(_LEFT_OUT)
    }
    return {one: search_digest(one, bridges) for one in COMPONENTS}


@dataclass(frozen=True)
class Engine:
    """A released Flink with what is known of it."""

    implementation: Implementation
    components: tuple[str, ...]
    """Those that are searched."""
    known: Known

    def search(self, code: str, name: str, component: str, seed: str, first: int, end: int) -> Portion:
        """Searches some scenarios, and reduces one of each failure that nobody knows. `name`: that of the engine."""
        program = Program(COMPONENTS[component], self.implementation)
        tally = search_range(program, seed, range(first, end))
        news = {one: failure for one, failure in tally.failures.items() if (component, one) not in self.known}
        failed = [
            Failed(*one, failure.count, failure.first) for one, failure in tally.failures.items() if one not in news
        ]
        for found in reduce_failures(program, Tally(failures=news)):
            observed, text = f"{found.owed}: {found.observed}", encode_scenario(found.scenario)
            failed.append(Failed(*found.signature, found.count, found.first, observed, text))
        rules = [one.slug for one in program.properties if one.kind is Kind.ALWAYS and one.level is Level.MUST]
        return Portion(
            code, name, component, seed, first, end, tally.scenarios, tally.steps + tally.closing_steps,
            tuple(sorted(failed, key=lambda one: one.signature)),
            tuple(slug for slug in rules if not tally.exercised.get(slug)),
        )  # fmt: skip


@contextmanager
def opened(components: Collection[str] | None) -> Iterator[dict[str, Engine]]:
    """Yields each engine by its name, with the components that it offers of those that are asked for; all of them by
    default. Raises: UnusableImplementation."""
    with ExitStack() as stack:
        engines = {}
        for name, release in ((f"{one}@{release}", release) for one in IMPLEMENTATIONS for release in RELEASES):
            implementation = stack.enter_context(closing(find(name)))
            there = implementation.components()
            chosen = tuple(one for one in COMPONENTS if one in there and one in (components or COMPONENTS))
            entries = load_known_failures(KNOWN_FAILURES / f"{release}.toml")
            engines[name] = Engine(implementation, chosen, standing(entries, name, implementation, chosen).known.keys())
        yield engines


def run(wanted: Wanted, engines: Mapping[str, Engine], codes: Mapping[str, str], folder: Path) -> Iterator[Portion]:
    """Searches what is missing in the folder, and yields each portion. Raises: UnusableImplementation.

    `codes`: the digest of the code by component.
    """
    done = read(folder, codes)
    for place in wanted.places():
        if not any(one.has(place) for one in done):
            name, component, *_ = place
            found = engines[name].search(codes[component], *place)
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


def page(wanted: Wanted, portions: Sequence[Portion], known: Mapping[str, Known]) -> str:
    """Returns the page about the portions that were wanted. Others may be there. `known`: by engine."""
    asked = {(name, component, seed) for name, component in wanted.pairs() for seed in wanted.seeds}
    done = [one for one in portions if one.of in asked]
    searches = [Shown(wanted.seeds, name, component, done, known[name]) for name, component in wanted.pairs()]
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

    def __init__(
        self, seeds: Iterable[str], name: str, component: str, portions: Iterable[Portion], known: Known
    ) -> None:
        self._known = known
        self._seeds, self._name, self._component = tuple(seeds), name, component
        self._portions = [one for one in portions if (one.implementation, one.component) == (name, component)]

    def _failed(self) -> Iterator[Failed]:
        return (one for portion in self._portions for one in portion.failed)

    def _news(self) -> Iterator[Failed]:
        return (one for portion in self._portions for one in portion.news(self._known))

    def row(self) -> list[str]:
        """Returns the line of the first table."""
        scenarios = sum(one.scenarios for one in self._portions)
        unexercised = [set(one.unexercised) for one in self._portions]
        never = sorted(set.intersection(*unexercised) - {one.slug for one in self._failed()}) if unexercised else ()
        new = {one.signature for one in self._news()}
        known = {one.signature for one in self._failed()} - new
        return [
            self._component, self._name, f"{scenarios:,}", f"{sum(one.count for one in self._failed()):,}",
            str(len(known)), f"**{len(new)}**" if new else "-", ", ".join(f"`{slug}`" for slug in never) or "-",
        ]  # fmt: skip

    def news(self) -> Iterator[str]:
        """Yields the lines about what is not known."""
        with_scenario_last = sorted(self._news(), key=lambda one: bool(one.scenario))
        for one in {one.signature: one for one in with_scenario_last}.values():
            yield f"### {self._component}: `{one.slug}` on {self._name}"
            yield from ("", f"Class {one.failure_class}, at `{one.operation}`. {one.observed}".rstrip(), "")
            if one.scenario:
                yield from ("```json", one.scenario.rstrip(), "```", "")
            else:
                yield from ("It was known when it was found, so its scenario was not reduced.", "")

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


def followed(portions: Iterable[Portion], known: Mapping[str, Known]) -> bool:
    """Prints what each portion has shown. Returns whether all were searched, and nobody has interrupted it."""
    try:
        for one in portions:
            shown = told(one, known[one.implementation])
            print(f"{one.implementation} {one.component}, {one.seed} from {one.first:,}: {shown}", flush=True)
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
        with opened(options.components) as engines:
            wanted = Wanted({name: one.components for name, one in engines.items()}, options.seeds, options.scenarios)
            known = {name: one.known for name, one in engines.items()}
            status = 0 if followed(run(wanted, engines, codes, options.keep), known) else 130
    except UnusableImplementation as error:
        print(error, file=sys.stderr)
        return 2
    portions = read(options.keep, codes)
    write_lines(options.keep / SEARCHES, portions)
    if options.report:
        write_text(options.report, page(wanted, portions, known))
    return status or int(any(any(one.news(known.get(one.implementation, ()))) for one in portions))


if __name__ == "__main__":
    sys.exit(main())
