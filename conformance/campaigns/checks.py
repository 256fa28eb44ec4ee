"""A check as works: parts of a search, replays of the corpus, and reductions of what failed.

What comes of it is what `conformance.engines.check` comes to. One difference is left: an implementation that crashes or
hangs too often is not run any more in the same part, and not in the same check.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import NamedTuple

from msgspec import Struct

from conformance.campaigns.block import FailureRecord, TallyRecord, decode_failure, decode_tally, encode_tally
from conformance.campaigns.reducing import found_unreduced
from conformance.components import COMPONENTS
from conformance.driver import Program
from conformance.engines.check import Check, Found, reduce_failures, search_range
from conformance.engines.corpus import replay_corpus
from conformance.engines.interruption import Interruption, Unfinished, until
from conformance.engines.position import Follow
from conformance.engines.tally import Signature, Tally
from conformance.engines.variants import Differing, Trial
from conformance.engines.works import Over, Work
from conformance.ports import Capability, find_implementation, find_legal_variant
from conformance.ports.registry import LEGAL_VARIANT_SCHEME

PART = 500
"""How many scenarios a part of a search has: a few seconds of work. Results are kept by part, so it does not change."""
VARIANT_PART = 2_000
"""The same for a legal variant, a changed copy of the reference, which each part has to make."""


class Checked(Struct, frozen=True):
    """A component of an implementation."""

    implementation: str
    component: str
    assumed: tuple[Capability, ...] = ()
    shape: str = ""
    """The shape in which the component is searched; empty: any."""

    @property
    def topics(self) -> tuple[str, ...]:
        """As in `Work`."""
        return f"{self.component} of {self.implementation}", self.component

    @contextmanager
    def program(self, follow: Follow) -> Iterator[Program]:
        """Yield the program, whose log `follow` returns."""
        with closing(find_implementation(self.implementation)) as implementation:
            program = Program(COMPONENTS[self.component], implementation, self.assumed).pinned(self.shape)
            program.log = follow(program)
            yield program


class SearchingPart(Struct, frozen=True):
    """The search in the scenarios from a number on."""

    of: Checked
    seed: str
    first: int
    count: int

    @property
    def topics(self) -> tuple[str, ...]:
        """See `Work`."""
        return tuple(f"{topic}, {self.count}" for topic in self.of.topics)

    def do(self, interruption: Interruption, follow: Follow) -> TallyRecord:
        """See `Work`."""
        with self.of.program(follow) as program:
            numbers = range(self.first, self.first + self.count)
            tally = search_range(program, self.seed, until(interruption, numbers))
        if interruption.requested:
            raise Unfinished
        return encode_tally(tally)


class ReplayingCorpus(Struct, frozen=True):
    """The replay of the corpus."""

    of: Checked

    @property
    def topics(self) -> tuple[str, ...]:
        """See `Work`."""
        return tuple(f"corpus, {topic}" for topic in self.of.topics)

    def do(self, interruption: Interruption, follow: Follow) -> TallyRecord:
        """See `Work`."""
        with self.of.program(follow) as program:
            tally = Tally(failures=replay_corpus(program, interruption=interruption))
        if interruption.requested:
            raise Unfinished
        return encode_tally(tally)


class Reducing(Struct, frozen=True):
    """The reduction of a failure."""

    of: Checked
    failure: FailureRecord

    @property
    def topics(self) -> tuple[str, ...]:
        """See `Work`."""
        return tuple(f"reduction, {topic}" for topic in self.of.topics)

    def do(self, interruption: Interruption, follow: Follow) -> Found:
        """See `Work`."""
        signature, failure = decode_failure(self.failure, COMPONENTS)
        with self.of.program(follow) as program:
            return reduce_failures(program, Tally(failures={signature: failure}), interruption=interruption)[0]


def works_of(program: Program, scenarios: int) -> int:
    """Return how many works the check of a program has, apart from reductions."""
    return 1 + _parts(scenarios * program.shares(), PART)


def works_of_variant(scenarios: int) -> int:
    """Return how many works the trial of a legal variant has, if nothing accuses it."""
    return 2 + _parts(scenarios, VARIANT_PART)


def _parts(count: int, part: int) -> int:
    return -(-count // part)


def check_all(programs: Sequence[tuple[str, Program]], seed: str, scenarios: int, over: Over) -> list[Check]:
    """Check programs, each with the name of its implementation, in so many scenarios of each shape.

    A check of which a part was not done, or a reduction, is an interrupted one.
    """
    wanted = [
        (
            Checked(name, one.component.name, tuple(sorted(one.capabilities - one.implementation.capabilities))),
            scenarios * one.shares(),
        )
        for name, one in programs
    ]
    return [
        Check(
            program,
            searched.tally,
            tuple(one or _as_found(program, signature, searched.tally) for signature, one in searched.found.items()),
            None,
            searched.lacks,
        )
        for (_, program), searched in zip(programs, search_all(wanted, seed, PART, over), strict=True)
    ]


def try_variants(
    names: Sequence[str], seed: str, scenarios: int, over: Over, watch: Callable[[int], None] | None = None
) -> list[Trial]:
    """Returns what became of these legal variants, in their order (see `try_variant`).

    After an interruption, the variants are missing of which that is not known. `watch` is called with the number of
    variants that were searched.
    """
    variants = [find_legal_variant(name) for name in names]
    wanted = [
        (Checked(name if ":" in name else f"{LEGAL_VARIANT_SCHEME}{name}", one.component, (), one.shape), scenarios)
        for name, one in zip(names, variants, strict=True)
    ]
    every = search_all(wanted, seed, VARIANT_PART, over, watch)
    whole = [(name, searched) for name, searched in zip(names, every, strict=True) if not searched.lacks]
    differences = over([Differing(name, seed, scenarios) for name, _ in whole])
    return [
        Trial(
            name, searched.tally.scenarios, tuple(filter(None, searched.found.values())), next(iter(difference), None)
        )
        for (name, searched), difference in zip(whole, differences, strict=True)
        if difference is not None
    ]


class Searched(NamedTuple):
    """What became of a search."""

    tally: Tally
    found: dict[Signature, Found | None]
    """The failures in their order; None: the reduction was not done."""
    lacks: bool
    """Whether something was not done."""


def search_all(
    wanted: Sequence[tuple[Checked, int]],
    seed: str,
    part: int,
    over: Over,
    watch: Callable[[int], None] | None = None,
) -> list[Searched]:
    """Search each of these in so many scenarios, replay the corpus, and reduce the failures."""
    works: list[list[Work[TallyRecord]]] = [
        [ReplayingCorpus(of), *(SearchingPart(of, seed, at, min(part, count - at)) for at in range(0, count, part))]
        for of, count in wanted
    ]
    results = over([work for some in works for work in some])
    tallies: list[Tally] = []
    lacking: list[bool] = []
    for some in works:
        records = [next(results) for _ in some]
        tallies.append(_merged(record for record in records if record is not None))
        lacking.append(None in records)
        if watch is not None:
            watch(lacking.count(False))
    failures = [encode_tally(tally).failures for tally in tallies]
    found = over([Reducing(of, one) for (of, _), some in zip(wanted, failures, strict=True) for one in some])
    every = [{(one.property, one.failure_class, one.operation): next(found) for one in some} for some in failures]
    return [
        Searched(tally, mine, lacks or None in mine.values())
        for tally, mine, lacks in zip(tallies, every, lacking, strict=True)
    ]


def _merged(records: Iterator[TallyRecord]) -> Tally:
    tally = Tally()
    for record in records:
        tally.merge(decode_tally(record, COMPONENTS))
    tally.exercised = dict(sorted(tally.exercised.items()))
    tally.unsure = dict(sorted(tally.unsure.items()))
    tally.settings = dict(sorted(tally.settings.items()))
    return tally


def _as_found(program: Program, signature: Signature, tally: Tally) -> Found:
    found = found_unreduced(program.implementation.name, signature, tally.failures[signature])
    return replace(found, reduced=False)
