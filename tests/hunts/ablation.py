"""Measures what each part of a search is good for, by searches for known bugs without it, and writes the report.

    python -m tests.hunts.ablation reports/ablation.md --into build/ablation

The parts are what the components and the search declare: prefixes, biases, weights, the manners that a search mixes,
habits of threads, windows, and the manners of a portfolio. A scenario depends only on its seed text, so most scenarios
of a search without a part are those of the search with it: only those are run again that are drawn otherwise. So both
searches have the same luck, and a difference comes from the part. The bugs are those that needed more than a few
scenarios with another seed, in an order that says nothing about them, so that a report that was stopped is about a fair
sample.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import lru_cache
from math import exp, log
from pathlib import Path
from random import Random
from statistics import fmean, median
from typing import Any, NamedTuple

import click
from msgspec import Struct

from conformance import components as rooms
from conformance.components import COMPONENTS
from conformance.driver import Component, Program, Run, Shape
from conformance.engines.fair_order import in_fair_order
from conformance.engines.first_hits import read_first_hits
from conformance.engines.interruption import Interruption, Unfinished
from conformance.engines.manners import MANNERS
from conformance.engines.position import Follow
from conformance.engines.search import HABITS, LENGTH, PARTS, USUAL, Course, Mix, Search, Tables, numbered_seeds
from conformance.engines.works import Over
from conformance.ports import KnownBug, find_known_bug, known_bugs
from conformance.reporting.markdown import cell, table
from conformance.system.writing import write_text
from tests.hunts.keeping import kept_over

SEED = "ablation"
LEAST = 10
"""Bugs count that the search found in a later scenario than this, with the seed of the corpus."""
SCENARIOS = 400
"""A bug that is not found in so many scenarios counts as one that was found in the last of them."""
TIMES = 5
"""A search without a part ends after so many times the scenarios that the search with it needed. A difference counts as
one of so many times at most, in both directions."""
SEEDS, MORE_SEEDS = 5, 20
RESAMPLED = 2_000
ENOUGH = 20
"""Of fewer bugs nothing is said."""
CORPUS = Path(__file__).parent.parent / "corpus"
MIXTURE, PORTFOLIO = "mixture", "portfolio"
WHOLE = ""
"""The name of the search with all its parts."""
ALL = "all of them"


# ---- what can be switched off ----------------------------------------------------------------------------------------
class Part(NamedTuple):
    """A part of a search that can be switched off."""

    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.name}"


class Way(NamedTuple):
    """A way of searching: with all parts, or without one."""

    search: Search
    manners: tuple[str, ...] = ()
    """Those that take turns; none: the mixture of the search."""

    def drawn(self, number: int, text: str) -> Drawn:
        """Return what decides the scenario with this number."""
        if self.manners:
            return Drawn(self.manners[number % len(self.manners)], None, 0.0)
        return Drawn("", *self.search.course(text))

    def run(self, number: int, text: str) -> Run:
        """Draw and run the scenario with this number."""
        by = MANNERS[self.manners[number % len(self.manners)]] if self.manners else None
        return self.search.run(text, by=by)[1]


class Drawn(NamedTuple):
    """What decides a scenario: a manner, or the course and what is drawn next."""

    manner: str
    course: Course | None
    following: float


class Alike:
    """Compares what was drawn. Tables are made once for a search and kept, so two of them are compared once."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], bool] = {}

    def __call__(self, one: Drawn, other: Drawn) -> bool:
        """Return whether both decide the same scenario."""
        if one.course is None or other.course is None or one.following != other.following:
            return one == other
        tables, others = one.course.by_phase, other.course.by_phase
        return one.course == other.course._replace(by_phase=tables) and self._same(tables, others)

    def _same(self, one: Tables, other: Tables) -> bool:
        key = id(one), id(other)
        if key not in self._known:
            self._known[key] = one == other
        return self._known[key]


def mixture(program: Program) -> dict[Part | str, Way]:
    """Return the search for a program as it is, and without each of its parts."""
    component = program.component
    usual = [shape for shape in component.searched if shape.name in map(component.settings.shape, program.configs)]
    begun = {one for shape in usual for one in shape.prefixes}
    ways: dict[Part | str, Way] = {WHOLE: Way(Search(program))}

    def off(kind: str, name: str, searched: Sequence[Shape] = usual, mix: Mix = USUAL) -> None:
        ways[Part(kind, name)] = Way(Search(program, LENGTH, None, searched, mix))

    def each(change: Callable[[Shape], Shape]) -> list[Shape]:
        return [change(shape) for shape in usual]

    if any(shape.prefixes for shape in usual):
        off("prefixes", ALL, each(lambda shape: replace(shape, prefixes=((),) * len(shape.prefixes))))
        for name, group in prefix_groups(component).items():
            if begun.isdisjoint(group):
                continue
            off("prefixes", name, each(lambda shape, group=group: replace(  # type: ignore[misc]
                shape, prefixes=tuple([() if one in group else one for one in shape.prefixes]))))  # fmt: skip
    if any(shape.biases for shape in usual):
        off("biases", ALL, each(lambda shape: replace(shape, biases=({},) * len(shape.biases))))
    for shape in usual:
        for at, bias in enumerate(shape.biases):
            kept = (*shape.biases[:at], {}, *shape.biases[at + 1 :])
            name = shown_bias(bias) + (f" ({shape.name})" if len(usual) > 1 else "")
            off("biases", name, [replace(one, biases=kept) if one is shape else one for one in usual])
    if any(shape.weights for shape in usual):
        off("weights", "those of a shape", each(lambda shape: replace(shape, weights={})))
    alike = {kind.key: 1 if kind.weight == 1 else 10 for kind in component.steps}
    off("weights", ALL, each(lambda shape: replace(shape, weights=alike)))
    for name in PARTS:
        if name != "biased" or any(shape.biases for shape in usual):
            off("manners of the mixture", name, mix=USUAL._replace(without=name))
    off("lengths", "scenarios that end earlier", mix=USUAL._replace(long=1.0))
    if component.turned is not None:
        off("threads", "windows in which they work by priorities", mix=USUAL._replace(windowed=0.0))
    if any(config.interleaving == "fine" for config in program.configs):
        usual_habit, others = HABITS[0], HABITS[1:]
        off(
            "threads", f"{ALL}, but {shown_habit(usual_habit)}", mix=USUAL._replace(habits=(usual_habit,) * len(HABITS))
        )
        for at, habit in enumerate(others, 1):
            habits = (*HABITS[:at], usual_habit, *HABITS[at + 1 :])
            off("threads", shown_habit(habit), mix=USUAL._replace(habits=habits))
    return ways


def portfolio(program: Program) -> dict[Part | str, Way]:
    """Return the portfolio of all manners, without each of them, whose turns the others take, and the mixture."""
    search, names = Search(program), tuple(MANNERS)
    ways: dict[Part | str, Way] = {WHOLE: Way(search, names)}
    for off in names:
        rest = [one for one in names if one != off]
        ways[Part("manners of a portfolio", off)] = Way(
            search, tuple(instead if one == off else one for instead in rest for one in names)
        )
    ways[Part("portfolio", "the mixture instead")] = Way(search)
    return ways


OF: Mapping[str, Callable[[Program], dict[Part | str, Way]]] = {MIXTURE: mixture, PORTFOLIO: portfolio}


@lru_cache(maxsize=32)
def prefix_groups(component: Component) -> dict[str, frozenset[Any]]:
    """Return the prefixes of a component by the constants that hold one or several of them and nothing else, each by
    the narrowest; without such a constant, by their place."""
    shapes = component.searched
    every = {one for shape in shapes for one in shape.prefixes}
    held: dict[str, frozenset[Any]] = {}
    for name, value in constants():
        several = value if isinstance(value, tuple) else ()
        group = frozenset([value]) if is_in(value, every) else frozenset(one for one in several if is_in(one, every))
        if group and (is_in(value, every) or len(group) == len({repr(one) for one in several})):
            held.setdefault(name, group)
    whole = [frozenset(shape.prefixes) for shape in shapes]
    narrow = sorted((len(group), name) for name, group in held.items() if group not in whole or len(group) == 1)
    found: dict[str, set[Any]] = {}
    for shape in shapes:
        for at, one in enumerate(shape.prefixes, 1):
            place = f"number {at}" + (f" ({shape.name})" if len(shapes) > 1 else "")
            found.setdefault(next((name for _, name in narrow if one in held[name]), place), set()).add(one)
    return {name: frozenset(group) for name, group in found.items()}


def is_in(value: Any, prefixes: set[Any]) -> bool:
    """Whether this is one of these prefixes."""
    try:
        return value in prefixes
    except TypeError:  # it cannot be hashed
        return False


@lru_cache(maxsize=1)
def constants() -> list[tuple[str, Any]]:
    """Return the constants of the modules of all components."""
    found = []
    for one in pkgutil.walk_packages(rooms.__path__, f"{rooms.__name__}."):
        module = importlib.import_module(one.name)
        found += [(name, value) for name, value in vars(module).items() if name.isupper()]
    return found


def shown_bias(bias: Mapping[str, int]) -> str:
    """Return a bias in words."""
    return ", ".join(f"{key} {weight}" for key, weight in bias.items())


def shown_habit(habit: Any) -> str:
    """Return a habit in words."""
    words = [f"{habit.runs:.0%} to the next pause"]
    words += [f"{habit.fair:.0%} fair"] if habit.fair else []
    words += [f"{habit.preemptions} preemptions"] if habit.preemptions >= 0 else []
    return ", ".join(words)


# ---- a bug, with one seed --------------------------------------------------------------------------------------------
class Took(Struct):
    """What a search needed until the property failed that must notice the bug."""

    scenarios: int = 0
    steps: int = 0
    changed: int = 0
    """How many of the scenarios are others than in the search with all parts."""
    found: bool = False


class Ablated(Struct, frozen=True):
    """What the searches for a bug needed."""

    whole: Took
    without: dict[str, Took]
    """By the part that was switched off."""


class Ablating(Struct, frozen=True):
    """The searches for a known bug with one seed: with all parts, and without each."""

    bug: str
    of: str
    seed: str
    scenarios: int

    @property
    def topics(self) -> tuple[str, ...]:
        """See `Work`. All have the same, so that they are done in their order."""
        return ()

    def do(self, interruption: Interruption, follow: Follow) -> Ablated:
        """See `Work`. Raises: Unfinished."""
        bug = find_known_bug(self.bug)
        with closing(bug.build()) as implementation:
            program = Program(COMPONENTS[bug.component], implementation).pinned(bug.shape)
            program.log = follow(program)
            ways = OF[self.of](program)
            took = {part: Took() for part in ways}
            alike = Alike()
            for number, text in numbered_seeds(self.seed, bug.component, range(self.scenarios)):
                if interruption.requested:
                    raise Unfinished
                most = TIMES * max(took[WHOLE].scenarios, LEAST) if took[WHOLE].found else self.scenarios
                searching = [part for part in ways if not took[part].found and number < most]
                if not searching:
                    break
                usual, known = ways[WHOLE].drawn(number, text), list[tuple[Drawn, int, bool]]()
                for part in searching:
                    drawn = usual if part == WHOLE else ways[part].drawn(number, text)
                    same = next((one for one in known if alike(one[0], drawn)), None)
                    if same is None:
                        run = ways[part].run(number, text)
                        hit = run.violation is not None and run.violation.property.slug == bug.property
                        same = drawn, len(run.performed) + run.closing_steps, hit
                        known.append(same)
                    one = took[part]
                    one.scenarios += 1
                    one.steps += same[1]
                    one.found = same[2]
                    one.changed += not alike(usual, drawn)
        return Ablated(took[WHOLE], {str(part): took[part] for part in ways if part != WHOLE})


class Tried(NamedTuple):
    """A bug that was tried with a seed."""

    component: str
    bug: str
    seed: str
    of: str
    ablated: Ablated


def hard(components: Sequence[str]) -> list[KnownBug]:
    """Return the bugs of these components that need more than a few scenarios, in an order that says nothing about
    them. Their first hits were found with another seed than those of this measurement, so none is chosen by luck."""
    hits = read_first_hits(CORPUS)
    late = {bug for bug, text in hits.items() if int(text.rpartition("/")[2]) >= LEAST}
    chosen = [bug for bug in known_bugs() if bug.component in components and bug.id in late]
    return in_fair_order(chosen, lambda bug: bug.id)


def works(bugs: Sequence[KnownBug], of: Sequence[str], more: Sequence[str], scenarios: int) -> list[Ablating]:
    """Return the works: each bug with one seed, and so on; those of the components in `more` with more seeds."""
    return [
        Ablating(bug.id, one, f"{SEED}.{number}", scenarios)
        for number in range(MORE_SEEDS if more else SEEDS)
        for bug in bugs
        if number < SEEDS or bug.component in more
        for one in of
    ]


def ablate(asked: Sequence[Ablating], over: Over) -> Iterator[Tried]:
    """Do the works. Those are missing that an interruption left out."""
    for work, ablated in zip(asked, over(asked), strict=True):
        if ablated is not None:
            yield Tried(find_known_bug(work.bug).component, work.bug, work.seed, work.of, ablated)


# ---- the page --------------------------------------------------------------------------------------------------------
class Compared(NamedTuple):
    """What the searches without a part needed, as many times what those with it did."""

    bugs: int
    tries: int
    changed: float
    """The share of scenarios that are others."""
    scenarios: float
    low: float
    high: float
    """Between these, the former lies with a probability of 95 %."""
    steps: float
    later: int
    earlier: int
    only_with: int
    only_without: int

    @property
    def verdict(self) -> str:
        """Whether it pays, as far as it can be said."""
        if self.bugs < ENOUGH:
            return ""
        return "pays" if self.low > 1 else "costs" if self.high < 1 else ""


def compare(pairs: Sequence[tuple[str, Took, Took]]) -> Compared:
    """Compare searches with all parts and without one. Each: the bug, and what both needed."""
    by_bug: dict[str, list[float]] = {}
    for bug, whole, without in pairs:
        by_bug.setdefault(bug, []).append(times(without.scenarios, whole.scenarios))
    logs = [fmean(some) for some in by_bug.values()]
    low, high = between(logs)
    differences = [
        (without.scenarios, not without.found) > (whole.scenarios, not whole.found)
        for _, whole, without in pairs
        if (whole.scenarios, whole.found) != (without.scenarios, without.found)
    ]
    return Compared(
        len(by_bug),
        len(pairs),
        sum(one.changed for *_, one in pairs) / sum(one.scenarios for *_, one in pairs),
        exp(fmean(logs)), exp(low), exp(high),
        exp(fmean(times(without.steps, whole.steps) for _, whole, without in pairs)),
        sum(differences), len(differences) - sum(differences),
        sum(whole.found and not without.found for _, whole, without in pairs),
        sum(without.found and not whole.found for _, whole, without in pairs),
    )  # fmt: skip


def times(one: int, other: int) -> float:
    """Return the logarithm of how many times the other number the one is."""
    return max(-log(TIMES), min(log(TIMES), log(max(one, 1) / max(other, 1))))


def between(values: Sequence[float], resampled: int = RESAMPLED) -> tuple[float, float]:
    """Return the bounds between which the mean lies with a probability of 95 %, by drawing from the values again."""
    if len(set(values)) < 2:
        return (values[0], values[0]) if len(values) > 1 else (float("-inf"), float("inf"))
    choices = Random("between").choices
    means = sorted(fmean(choices(values, k=len(values))) for _ in range(resampled))
    return means[resampled // 40], means[-1 - resampled // 40]


def compared(tried: Sequence[Tried]) -> dict[str, Compared]:
    """Compare the searches without each part that occurs in all of these."""
    pairs: dict[str, list[tuple[str, Took, Took]]] = {}
    for one in tried:
        for part, took in one.ablated.without.items():
            pairs.setdefault(part, []).append((one.bug, one.ablated.whole, took))
    return {part: compare(some) for part, some in pairs.items()}


def is_of_one(part: str) -> bool:
    """Whether this is one prefix or one bias, which belongs to one component whatever it is called."""
    kind, _, name = part.partition(": ")
    return kind in ("prefixes", "biases") and name != ALL


HEAD = ("without", "bugs", "tries", "changed", "scenarios", "95 %", "steps", "later", "earlier", "only with",
        "only without", "")  # fmt: skip


def row(part: str, one: Compared) -> list[str]:
    """Return a line of a table."""
    bounds = f"{one.low:.2f} to {one.high:.2f}" if one.bugs > 1 else "-"
    return [
        cell(part), str(one.bugs), str(one.tries), f"{one.changed:.1%}", f"{one.scenarios:.2f}", bounds,
        f"{one.steps:.2f}", str(one.later), str(one.earlier), str(one.only_with), str(one.only_without), one.verdict,
    ]  # fmt: skip


def report(tried: Sequence[Tried], asked: Mapping[str, int], scenarios: int, more: Sequence[str] = ()) -> str:
    """Return the page. `asked`: by component, how many tries there are in all. `more`: those with more seeds."""
    seeds = f"{SEEDS} each" + (f", {MORE_SEEDS} in {', '.join(f'`{one}`' for one in more)}" if more else "")
    bugs = {one.bug for one in tried}
    missing = sum(asked.values()) - len(tried)
    left = f" {missing:,} more were not tried." if missing else ""
    everywhere = compared(tried)
    rooms_of = {part: {one.component for one in tried if part in one.ablated.without} for part in everywhere}
    common = [part for part, its in rooms_of.items() if len(its) > 1 and not is_of_one(part)]
    parts: list[str] = []
    for component in COMPONENTS:
        mine = [one for one in tried if one.component == component]
        if mine:
            count = f"{len(mine):,} of {asked[component]:,} tries."
            needed = [one.ablated.whole.scenarios for one in mine if one.of == MIXTURE]
            middle = f"The search with all parts needs {median(needed):g} scenarios (median)." if needed else ""
            lines = [row(part, one) for part, one in compared(mine).items()]
            parts += [f"## {component}", "", f"{count} {middle}".rstrip(), "", table(list(HEAD), lines), ""]
    return "\n".join([
        "# What each part of a search is good for",
        "",
        f"Known bugs that the search found in a later scenario than the {LEAST}th with the seed of the corpus, looked "
        f"for with other seeds: {seeds}. Each is looked for as usual, and without "
        "each part: a prefix is left out, a bias has the declared weights instead, all weights are alike, a manner is "
        "replaced by the others, a habit of threads by the first one. A scenario that a part does not change is the "
        "same in both searches, so both have the same luck. Written by `python -m tests.hunts.ablation`.",
        "",
        f"{len(tried):,} tries of {len(bugs)} bugs, each a bug and a seed.{left} Those of a component are tried in an "
        "order that says nothing about them.",
        "",
        "*Changed*: the share of scenarios that are others without the part. *Scenarios*, *steps*: how many times as "
        "many are needed without it until the property failed that must notice the bug, the geometric mean; above 1, "
        f"the part helps. *95 %*: its bounds, by drawing the bugs again {RESAMPLED:,} times. *Later*, *earlier*: in "
        "how many tries the bug was found later and earlier without the part; in the others there was no difference. "
        "*Only with*, *only without*: in how many tries it was found with the part alone, or without it alone. A "
        f"search ends after {scenarios:,} scenarios, and without a part after {TIMES} times those that were needed "
        f"with it; a difference counts as one of {TIMES} times at most, in both directions. *Pays*, *costs*: the "
        f"bounds of at least {ENOUGH} bugs lie above 1, or below. One line in twenty says so by luck, so this alone "
        "lets nothing go (decision 91).",
        "",
        "The manner *mutation* of a portfolio begins with stored scenarios. Those of these bugs are among them, so "
        "what is said of it does not hold for other bugs.",
        "",
        "## all components",
        "",
        table(list(HEAD), [row(part, everywhere[part]) for part in common]),
        "",
        *parts,
    ])  # fmt: skip


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--component", "components", multiple=True, help="Only these; all.")
@click.option("--of", type=click.Choice(list(OF)), multiple=True, default=list(OF), help="The search, a portfolio.")
@click.option("--more", multiple=True, help=f"The components with {MORE_SEEDS} seeds.")
@click.option("--scenarios", type=int, default=SCENARIOS, show_default=True)
@click.option("--into", "folder", type=click.Path(path_type=Path), help="Keep each result there, and go on from it.")
@click.option("--processes", type=int, default=1, show_default=True, help="Searches at once.")
def main(
    file: Path, components: tuple[str, ...], of: tuple[str, ...], more: tuple[str, ...], scenarios: int,
    folder: Path | None, processes: int,
) -> None:  # fmt: skip
    """Search, and write the file. Ctrl-C ends the searches, and the file is about those that were made."""
    asked = works(hard(components or tuple(COMPONENTS)), of, more, scenarios)
    with kept_over(folder, "ablation", processes) as over:
        tried = list(ablate(asked, over))
    count = Counter(find_known_bug(work.bug).component for work in asked)
    write_text(file, report(tried, count, scenarios, more))


if __name__ == "__main__":
    main()
