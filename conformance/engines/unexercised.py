"""Why a property was not exercised: what it needs, what a search did at its steps, and what the reference does there.

The reference runs the same scenarios, once with the capabilities that the implementation claims and once with its own.
So a reader learns whether the adapter, a capability or the number of scenarios is the reason.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import Enum

from conformance.driver import Level, Program, Property, Setting, Verdict
from conformance.engines.check import verdict
from conformance.engines.tally import Tally
from conformance.ports import Capability, Implementation
from conformance.ports.implementation import Factory


class Reason(Enum):
    """Why a property was not exercised."""

    EXERCISED = "exercised"
    """It was: there is nothing to explain."""
    UNTESTABLE = "untestable"
    """No search can judge it."""
    NOT_APPLICABLE = "not applicable"
    """It needs a capability that the implementation does not claim."""
    CUT_SHORT = "cut short"
    """The implementation crashed or hung so often that the search ended early."""
    UNSURE = "unsure"
    """There was something to judge, but each time operations overlapped so that more than one outcome was right."""
    NO_STEP = "no step"
    """The steps at which it is judged were never performed, which the reference performs in the same scenarios."""
    NO_CASE = "no case"
    """The steps were performed, but there was never anything to judge, as there is for the reference."""
    CAPABILITY = "capability"
    """The reference exercises it only with capabilities that the implementation does not claim."""
    TOO_FEW = "too few"
    """The reference does not exercise it in so few scenarios either."""


@dataclass(frozen=True, slots=True)
class Share:
    """What one search did with one property."""

    who: str
    scenarios: int
    exercised: int
    """In how many scenarios the property was exercised."""
    steps: Mapping[str, int]
    """How often the steps at which it is judged were performed; in the property's order, those without included."""
    judged: int
    """In how many cases it was judged."""
    unsure: int
    """In how many cases it was unsure."""
    settings: tuple[Setting, ...]
    """Where it was judged."""
    why_unsure: tuple[str, ...] = ()
    """Why it was unsure, the most frequent reason first."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why one property was not exercised."""

    judged: Property
    reason: Reason
    missing: tuple[Capability, ...]
    """The capabilities that it needs and the implementation does not claim."""
    further: tuple[Capability, ...]
    """The capabilities that the reference claims and the implementation does not."""
    mine: Share
    alike: Share | None
    """The reference with the capabilities that the implementation claims. None: no reference was asked."""
    whole: Share | None
    """The reference with all its capabilities."""


class Limited(Implementation):
    """An implementation that claims only some of its capabilities."""

    def __init__(self, whole: Implementation, capabilities: Collection[Capability]) -> None:
        self.name, self.version = whole.name, whole.version
        self._whole = whole
        self._capabilities = whole.capabilities & frozenset(capabilities)

    @property
    def capabilities(self) -> frozenset[Capability]:
        """Those of the implementation that were allowed."""
        return self._capabilities

    def components(self) -> Mapping[str, Factory]:
        """All components."""
        return self._whole.components()


def _most_first(item: tuple[tuple[str, str], int]) -> tuple[int, str]:
    (_, why), count = item
    return -count, why


def share(judged: Property, who: str, tally: Tally) -> Share:
    """Return what a search did with a property."""
    performed: dict[str, int] = {}
    for cases in tally.settings.values():
        for name, count in cases.steps.items():
            performed[name] = performed.get(name, 0) + count
    names = judged.on or tuple(sorted(performed))  # the driver judges its own rules after every step
    return Share(
        who,
        tally.scenarios,
        tally.exercised.get(judged.slug, 0),
        {name: performed.get(name, 0) for name in names},
        tally.judged(judged.slug),
        tally.unsure.get(judged.slug, 0),
        tuple(setting for setting, cases in tally.settings.items() if cases.judged.get(judged.slug)),
        tuple(why for (slug, why), _ in sorted(tally.reasons.items(), key=_most_first) if slug == judged.slug),
    )


def explanation(
    judged: Property, program: Program, tally: Tally, alike: Share | None = None, whole: Share | None = None,
    further: Collection[Capability] = (),
) -> Explanation:  # fmt: skip
    """Return why a property was not exercised in a search, or that it was.

    `alike` and `whole` are what a reference did in the same scenarios: with the capabilities of the implementation, and
    with all of its own; `further` are the capabilities that it claims besides.
    """
    mine = share(judged, program.implementation.name, tally)
    missing = tuple(sorted(judged.needs - program.capabilities))
    reason = _reason(judged, program, tally, mine, alike, whole)
    return Explanation(judged, reason, missing, tuple(sorted(further)), mine, alike, whole)


def _reason(
    judged: Property, program: Program, tally: Tally, mine: Share, alike: Share | None, whole: Share | None
) -> Reason:
    found = verdict(judged, program, tally)
    if found is Verdict.NOT_APPLICABLE:
        return Reason.NOT_APPLICABLE
    if judged.level is Level.UNTESTABLE:
        return Reason.UNTESTABLE
    if mine.exercised or found is Verdict.FAILED:
        return Reason.EXERCISED
    if found is Verdict.UNKNOWN:
        return Reason.CUT_SHORT
    if mine.unsure:
        return Reason.UNSURE
    if alike is not None and alike.exercised:
        return Reason.NO_CASE if any(mine.steps.values()) else Reason.NO_STEP
    if whole is not None and whole.exercised:
        return Reason.CAPABILITY
    return Reason.TOO_FEW
