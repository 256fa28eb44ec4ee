"""Groups the failures of one implementation by the defect that probably caused them.

Two findings belong together if the same property fails in the same way, or if the minimal scenario of one shows the
other, too, once the property that failed first is not judged any more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from conformance.engines.check import Check, Found
from conformance.engines.patience import PATIENCE
from conformance.engines.symptoms import symptoms
from conformance.engines.tally import Signature


@dataclass(frozen=True, slots=True)
class Cause:
    """Findings of one implementation that one defect probably explains."""

    found: tuple[Found, ...]
    """The one with the shortest scenario first, the others in the order of their components and signatures."""
    why: tuple[str, ...]
    """Why each of the others belongs to the cause, in its order: one sentence each."""
    resembles: tuple[str, ...] = ()
    """The ids of known bugs of the reference that show the same failures, at most three, the most similar first."""

    @property
    def shortest(self) -> Found:
        """The finding with the shortest scenario."""
        return self.found[0]


def likely_causes(checks: Sequence[Check]) -> tuple[Cause, ...]:
    """Returns the findings of all checks of one implementation in groups, the group with the shortest scenario first.

    Each minimal scenario is run a few times more, in the process that the implementation is in.
    """
    cases = [_Case(check, found) for check in checks for found in check.found]
    links = list(_links(cases))
    groups = [_group(cases, members, links) for members in _connected(len(cases), links)]
    return tuple(sorted(groups, key=lambda cause: _length(cause.shortest)))


class _Case:
    """A finding with what its scenario shows."""

    def __init__(self, check: Check, found: Found) -> None:
        self.found = found
        self.component = found.scenario.component
        self.shows: tuple[Signature, ...] = (found.signature,)
        if found.failure_class not in PATIENCE:  # a scenario that crashes or hangs is not run many times
            self.shows = (found.signature, *symptoms(check.program, found.scenario))


@dataclass(frozen=True, slots=True)
class _Link:
    """Two findings, by their places, that belong together, and why."""

    one: int
    other: int
    why: str


def _links(cases: Sequence[_Case]) -> Iterator[_Link]:
    for at, case in enumerate(cases):
        for to, other in enumerate(cases):
            if at < to and case.found.signature[:2] == other.found.signature[:2]:
                yield _Link(at, to, f"The same property fails in the same way: {case.found.slug}.")
            if at != to and case.component == other.component and other.found.signature in case.shows:
                slug, _, operation = other.found.signature
                why = f"The shortest scenario of {case.found.slug} breaks {slug} as well, at {operation}."
                yield _Link(at, to, why)


def _connected(count: int, links: Sequence[_Link]) -> list[list[int]]:
    """Returns the places in groups that are connected by links, each group in ascending order."""
    group = list(range(count))
    for link in links:
        kept, gone = sorted((group[link.one], group[link.other]))
        group = [kept if one == gone else one for one in group]
    return [[place for place in range(count) if group[place] == first] for first in sorted(set(group))]


def _group(cases: Sequence[_Case], members: Sequence[int], links: Sequence[_Link]) -> Cause:
    """Returns a group. The reason of each finding is a link with the first one, if there is one."""

    def reason(place: int) -> str:
        mine = [link for link in links if place in (link.one, link.other)]
        return min(mine, key=lambda link: (first not in (link.one, link.other), link.one == place)).why

    first = min(members, key=lambda place: _length(cases[place].found))
    others = sorted((one for one in members if one != first), key=lambda place: _name(cases[place].found))
    return Cause(tuple(cases[place].found for place in (first, *others)), tuple(map(reason, others)))


def _name(found: Found) -> tuple[str, Signature]:
    return found.scenario.component, found.signature


def _length(found: Found) -> tuple[int, tuple[str, Signature]]:
    return len(found.scenario.steps), _name(found)
