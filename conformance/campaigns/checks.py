"""A check as works: parts of a search, replays of the corpus, and reductions of what failed.

What comes of it is what `conformance.engines.check` comes to. One difference is left: an implementation that crashes or
hangs too often is not run any more in the same part, and not in the same check.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace

from msgspec import Struct

from conformance.campaigns.block import FailureRecord, TallyRecord, decode_failure, decode_tally, encode_tally
from conformance.campaigns.reducing import found_unreduced
from conformance.components import COMPONENTS
from conformance.driver import Program
from conformance.engines.check import Check, Found, reduce_failures, search_range
from conformance.engines.corpus import replay_corpus
from conformance.engines.interruption import Interruption
from conformance.engines.position import Follow
from conformance.engines.tally import Tally
from conformance.engines.works import Over, Work
from conformance.ports import Capability, find_implementation

PART = 500
"""How many scenarios a part of a search has: a few seconds of work. Results are kept by part, so it does not change."""


class Checked(Struct, frozen=True):
    """A component of an implementation."""

    implementation: str
    component: str
    assumed: tuple[Capability, ...]

    @property
    def topics(self) -> tuple[str, ...]:
        """As in `Work`."""
        return f"{self.component} of {self.implementation}", self.component


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
        with closing(find_implementation(self.of.implementation)) as implementation:
            program = Program(COMPONENTS[self.of.component], implementation, self.of.assumed)
            return encode_tally(search_range(program, self.seed, range(self.first, self.first + self.count)))


class ReplayingCorpus(Struct, frozen=True):
    """The replay of the corpus."""

    of: Checked

    @property
    def topics(self) -> tuple[str, ...]:
        """See `Work`."""
        return tuple(f"corpus, {topic}" for topic in self.of.topics)

    def do(self, interruption: Interruption, follow: Follow) -> TallyRecord:
        """See `Work`."""
        with closing(find_implementation(self.of.implementation)) as implementation:
            program = Program(COMPONENTS[self.of.component], implementation, self.of.assumed)
            return encode_tally(Tally(failures=replay_corpus(program)))


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
        with closing(find_implementation(self.of.implementation)) as implementation:
            program = Program(COMPONENTS[self.of.component], implementation, self.of.assumed)
            return reduce_failures(program, Tally(failures={signature: failure}))[0]


def works_of(program: Program, scenarios: int) -> int:
    """Return how many works the check of a program has, apart from reductions."""
    return 1 + -(-scenarios * program.shares() // PART)


def check_all(programs: Sequence[tuple[str, Program]], seed: str, scenarios: int, over: Over) -> list[Check]:
    """Check programs, each with the name of its implementation, in so many scenarios of each shape.

    A check of which a part was not done, or a reduction, is an interrupted one.
    """
    checked = [
        Checked(name, one.component.name, tuple(sorted(one.capabilities - one.implementation.capabilities)))
        for name, one in programs
    ]
    works: list[list[Work[TallyRecord]]] = []
    for of, (_, program) in zip(checked, programs, strict=True):
        count = scenarios * program.shares()
        parts = [SearchingPart(of, seed, at, min(PART, count - at)) for at in range(0, count, PART)]
        works.append([ReplayingCorpus(of), *parts])
    results = over([work for some in works for work in some])
    records = [[next(results) for _ in some] for some in works]
    tallies = [_merged(record for record in some if record is not None) for some in records]
    reductions = [
        [Reducing(of, one) for one in encode_tally(tally).failures] for of, tally in zip(checked, tallies, strict=True)
    ]
    found = over([work for some in reductions for work in some])
    return [
        _check(program, tally, some, [next(found) for _ in some], None in record)
        for (_, program), tally, some, record in zip(programs, tallies, reductions, records, strict=True)
    ]


def _merged(records: Iterator[TallyRecord]) -> Tally:
    tally = Tally()
    for record in records:
        tally.merge(decode_tally(record, COMPONENTS))
    tally.exercised = dict(sorted(tally.exercised.items()))
    tally.unsure = dict(sorted(tally.unsure.items()))
    tally.settings = dict(sorted(tally.settings.items()))
    return tally


def _check(
    program: Program, tally: Tally, works: Sequence[Reducing], found: Sequence[Found | None], lacks: bool
) -> Check:
    every = tuple(one or _as_found(program, work, tally) for work, one in zip(works, found, strict=True))
    return Check(program, tally, every, None, lacks or None in found)


def _as_found(program: Program, work: Reducing, tally: Tally) -> Found:
    signature = work.failure.property, work.failure.failure_class, work.failure.operation
    found = found_unreduced(program.implementation.name, signature, tally.failures[signature])
    return replace(found, reduced=False)
