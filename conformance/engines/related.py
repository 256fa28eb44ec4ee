"""Which findings of one component belong together, and why.

Two findings are linked by the first sign that they have. What each sign contributes was measured on known bugs:
reports/likely-causes.md. No sign knows a component.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple, Protocol

from conformance.driver import FailureClass, Program, run_scenario
from conformance.engines.batch import generator_of
from conformance.engines.check import Found
from conformance.engines.noticed import Noticed, noticed
from conformance.engines.origins import NOWHERE, Origin, origin
from conformance.engines.patience import PATIENCE
from conformance.engines.tally import Signature
from conformance.scenarios import Scenario, Step

ALIKE = 1 / 3
"""Two scenarios are alike if they share more than this part of their kinds of steps."""
TOGETHER = Fraction(1, 4)
"""Two properties fail together if at least this part of the known bugs that break the rarer one break the other, and at
least this part of one bug. A known bug that breaks n properties counts as the nth part of one."""
SMALL = 1
"""A group of so many properties is small: what is known of other defects can add it to another group."""


class Link(NamedTuple):
    """Two findings, by their places, that probably have one cause."""

    one: int
    other: int
    why: str
    """One sentence."""


class Names(Protocol):
    """A sign that two findings show without being run."""

    __name__: str

    def __call__(self, one: Found, other: Found) -> str | None:
        """Returns why they belong together, as a sentence; None if they do not show the sign."""


class Runs(Protocol):
    """A sign that is seen when the scenarios of findings, given by their places, are run."""

    __name__: str

    def __call__(self, seen: Relations, at: int, to: int) -> str | None:
        """Returns why they belong together, as a sentence; None if they do not show the sign."""


# ---- signs that need no run ------------------------------------------------------------------------------------------
def same_property(one: Found, other: Found) -> str | None:
    """The same property fails, in another way or at another operation."""
    return "The same property fails in both." if one.slug == other.slug else None


def locks(one: Found, other: Found) -> str | None:
    """Threads or locks wait for each other in both."""
    both = one.failure_class == other.failure_class == FailureClass.DEADLOCKED.value
    return "Both are about threads that wait for each other's locks." if both else None


def same_steps(one: Found, other: Found) -> str | None:
    """The scenarios are the same, or differ in the last step."""
    left, right = sorted((one.scenario.steps, other.scenario.steps), key=len)
    most = left[:-1] if len(left) == len(right) else left
    if not left or (left != right and (len(right) < 2 or most != right[:-1])):
        return None
    return "Both scenarios have the same steps, except at most the last."


def _weight(broken: Iterable[frozenset[str]]) -> Fraction:
    """Returns what known bugs say of which properties belong together, given what each breaks: one that breaks many
    says little of any two of them."""
    return sum((Fraction(1, len(slugs)) for slugs in broken), Fraction(0))


def known_together(known: Noticed, left_out: Collection[str] = ()) -> Names:
    """Returns the sign that known bugs of the reference break both properties; `left_out` are ids of known bugs."""

    def together(one: Found, other: Found) -> str | None:
        """Known bugs of the reference that break one of the properties break the other one, too."""
        bugs = known.get(one.scenario.component, {})
        broken = [slugs for bug, slugs in bugs.items() if bug not in left_out]
        shares = {slug: _weight(slugs for slugs in broken if slug in slugs) for slug in (one.slug, other.slug)}
        rarer, least = min(shares.items(), key=lambda share: share[1])
        both = [slugs for slugs in broken if one.slug in slugs and other.slug in slugs]
        if not both or _weight(both) < TOGETHER * max(Fraction(1), least):
            return None
        common = other.slug if rarer == one.slug else one.slug
        count = sum(rarer in slugs for slugs in broken)
        return f"{len(both)} of {count} known bugs that break {rarer} break {common}, too."

    return together


# ---- signs that are seen in runs -------------------------------------------------------------------------------------
def same_operation(seen: Relations, at: int, to: int) -> str | None:
    """In scenarios that are alike, the same operation makes the first difference from the reference."""
    (_, left), (_, right) = seen.trigger(at), seen.trigger(to)
    if left is None or left != right or not _alike(seen.found[at], seen.found[to]):
        return None
    return f"Both differ from the reference {_since(left)}."


def same_first(seen: Relations, at: int, to: int) -> str | None:
    """The first difference that is to be seen in the whole scenario is the same in both."""
    first = seen.origins[at].first
    if first is None or first != seen.origins[to].first:
        return None
    return f"The first difference from the reference is the same in both: {_told(first)}."


def crossed(seen: Relations, at: int, to: int) -> str | None:
    """The end of one scenario fails behind the beginning of the other one, because of the step there that differs."""
    for one, other in ((at, to), (to, at)):
        if seen.fails_behind(one, other):
            _, operation = seen.trigger(other)
            assert operation is not None
            return (
                f"{seen.found[one].slug} fails in the same way {_since(operation)} in the scenario of "
                f"{seen.found[other].slug}."
            )
    return None


@dataclass(frozen=True, slots=True)
class Signs:
    """The signs that are looked for, in their order."""

    names: tuple[Names, ...]
    runs: tuple[Runs, ...]
    """The last one needs many runs. Each is tried only where the others have not linked already."""
    known: tuple[Names, ...]
    """What is known of other defects. It adds a small group to another, and never joins two large ones."""

    def told(self) -> dict[str, str]:
        """Returns what each sign means, by the name of its function."""
        return {one.__name__: str(one.__doc__) for some in (self.names, self.runs, self.known) for one in some}

    def without(self, name: str) -> Signs:
        """Returns all signs but the one whose function has this name."""
        names, known = (tuple(one for one in some if one.__name__ != name) for some in (self.names, self.known))
        return Signs(names, tuple(one for one in self.runs if one.__name__ != name), known)


def all_signs(left_out: Collection[str] = ()) -> Signs:
    """Returns all signs. `left_out` are known bugs of which nothing is to be known."""
    known = known_together(noticed(), left_out)
    return Signs((same_property, locks, same_steps), (same_operation, same_first, crossed), (known,))


def links_without_runs(found: Sequence[Found], signs: Signs | None = None) -> tuple[Link, ...]:
    """Returns the links that can be known without running the implementation, which may end its process."""
    signs = all_signs() if signs is None else signs
    return _with_known(found, _by_names(found, signs), signs)


def links(seen: Relations, signs: Signs | None = None) -> tuple[Link, ...]:
    """Returns the links between the findings of one component, whose scenarios are run in this process."""
    signs = all_signs() if signs is None else signs
    found = seen.found
    linked = _by_names(found, signs)
    for sign in signs.runs:
        for at, to in _pairs(found):
            if not _connected(len(found), linked, at, to) and (why := sign(seen, at, to)) is not None:
                linked.append(Link(at, to, why))
    return _with_known(found, linked, signs)


def _by_names(found: Sequence[Found], signs: Signs) -> list[Link]:
    return [
        Link(at, to, why)
        for at, to in _pairs(found)
        if (why := next((why for sign in signs.names if (why := sign(found[at], found[to])) is not None), None))
    ]


def _with_known(found: Sequence[Found], linked: Sequence[Link], signs: Signs) -> tuple[Link, ...]:
    """Returns the links, and those of what is known, each of which adds a small group."""
    now = list(linked)
    for sign in signs.known:
        for at, to in _pairs(found):
            made = [one for one in groups(len(found), now) if at in one or to in one]
            smallest = min(len({found[place].slug for place in one}) for one in made)
            if len(made) == 2 and smallest <= SMALL and (why := sign(found[at], found[to])) is not None:
                now.append(Link(at, to, why))
    return tuple(now)


def _pairs(found: Sequence[Found]) -> Iterator[tuple[int, int]]:
    return ((at, to) for to in range(len(found)) for at in range(to))


def groups(count: int, linked: Sequence[Link]) -> list[list[int]]:
    """Returns the places of findings in groups that links connect, each group in ascending order."""
    group = _numbered(count, linked)
    return [[place for place in range(count) if group[place] == first] for first in sorted(set(group))]


def _numbered(count: int, linked: Sequence[Link]) -> list[int]:
    group = list(range(count))
    for link in linked:
        kept, gone = sorted((group[link.one], group[link.other]))
        if kept != gone:
            group = [kept if one == gone else one for one in group]
    return group


def _connected(count: int, linked: Sequence[Link], at: int, to: int) -> bool:
    group = _numbered(count, linked)
    return group[at] == group[to]


class Relations:
    """The findings of one component, and what runs of their scenarios show. Nothing is run before it is asked for."""

    def __init__(self, program: Program, found: Sequence[Found]) -> None:
        self.found = found
        self._program = program
        self._without: dict[str, Program] = {}
        self._behind: dict[tuple[int, int], bool] = {}
        self._at_once = any(not one.scenario.steps for one in found)

    @cached_property
    def origins(self) -> list[Origin]:
        """Where each scenario first differs from the reference."""
        program, generator = self._program, generator_of(self._program)
        if generator is program.implementation:
            return [NOWHERE] * len(self.found)
        bare, reference = program.without_judges(), Program(program.component, generator).without_judges()
        return [NOWHERE if _is_costly(program, one) else origin(bare, reference, one.scenario) for one in self.found]

    def trigger(self, place: int) -> tuple[int, Step | None]:
        """Returns the number of the step that first made a difference, and its operation, which is empty if there are
        differences without any step; None if nothing differs.

        If there is a finding without any step, its differences are in every scenario, and are no trigger of others.
        """
        found = self.origins[place]
        if not found.differences:
            return 0, None
        return (0, ()) if found.always and not self._at_once else (found.steps, found.operation)

    def fails_behind(self, one: int, other: int) -> bool:
        """Returns whether the end of the scenario of `one` fails as `one` does behind the beginning of that of `other`,
        and no longer if that beginning lacks its last step, which first made a difference.

        Of the scenario of `one`, only what is behind its own such step is taken, or less.
        """
        if (one, other) not in self._behind:
            self._behind[one, other] = self._runs_behind(one, other)
        return self._behind[one, other]

    def _runs_behind(self, one: int, other: int) -> bool:
        (mine, is_mine), (theirs, is_theirs) = self.trigger(one), self.trigger(other)
        left, right = self.found[one], self.found[other]
        if is_mine is None or is_theirs is None or not theirs or not left.scenario.steps:
            return False
        if left.failure_class in PATIENCE:
            return False
        program = self._program if left.slug == right.slug else self._unjudged(right.slug)
        beginning, end = right.scenario.steps[:theirs], left.scenario.steps[mine:]
        for config in dict.fromkeys((right.scenario.config, left.scenario.config)):
            for cut in range(len(end) + 1):
                whole = Scenario(left.scenario.component, config, beginning + end[cut:])
                if _fails(program, whole, left.signature):
                    shorter = Scenario(left.scenario.component, config, beginning[:-1] + end[cut:])
                    if not _fails(program, shorter, left.signature):
                        return True
        return False

    def _unjudged(self, slug: str) -> Program:
        if slug not in self._without:
            self._without[slug] = self._program.without([slug])
        return self._without[slug]


def _fails(program: Program, scenario: Scenario, signature: Signature) -> bool:
    try:
        violation = run_scenario(program, scenario.config, scenario.steps).violation
    except Exception:  # the ledger cannot follow an implementation that it knows to be wrong
        return False
    return violation is not None and violation.signature[:2] == signature[:2]


def _is_costly(program: Program, found: Found) -> bool:
    """Returns whether each run takes the time limit, or may cost a process."""
    apart = program.log is not None or program.implementation.is_far
    return found.failure_class == FailureClass.HUNG.value or (apart and found.failure_class in PATIENCE)


def _alike(one: Found, other: Found) -> bool:
    left, right = _kinds(one), _kinds(other)
    return len(left & right) > ALIKE * len(left | right)


def _kinds(found: Found) -> set[str]:
    return {step[0] for step in found.scenario.steps} | {found.signature[2]}


def _since(operation: Step) -> str:
    if not operation:
        return "without any step"
    return f"since {operation[0]}{''.join(f' {name}' for name in operation[1:])}"


def _told(found: tuple[str, str, str]) -> str:
    operation, field, detail = found
    what = f"the {field} of {operation}" if field != "enabled" else f"whether {operation} is possible"
    return f"{what} ({detail})" if detail else what
