"""What two versions of the suite say of the same scenarios, counted, and where they differ."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from conformance.scenarios.former_gates import component_as_of_today

Reply = Mapping[str, Any]
"""What one version says of a scenario: history, steps, violation and exercised properties, or why it cannot read it."""


class Difference(NamedTuple):
    """One kind of difference between the versions."""

    what: str
    """`drawing`: a seed text gives another scenario. `reading`: one version cannot read what the other one drew.
    `history`: other outcomes. `verdict`: another violation. `before` and `after`: only this version exercises a
    property."""
    component: str
    slug: str
    """The property, by its present slug; of a verdict, both; empty for the others."""


@dataclass(frozen=True, slots=True)
class Understood:
    """A kind of difference that is expected, with the reason. An empty field stands for any value."""

    why: str
    what: str = ""
    component: str = ""
    slug: str = ""
    kind: str = ""
    """`reference`, `known-bug` or `legal-variant`."""

    def means(self, difference: Difference, kind: str) -> bool:
        """Returns whether this explains the difference, which was seen of this kind of implementation."""
        mine, found = (self.what, self.component, self.slug, self.kind), (*difference, kind)
        return all(not wanted or wanted == one for wanted, one in zip(mine, found, strict=True))


class Names:
    """How the earlier version's slugs are called now: a slug that no property had formerly is kept."""

    def __init__(self, after: Mapping[str, Mapping[str, Iterable[str]]]) -> None:
        self._now: dict[tuple[str, str], str] = {}
        for component, slugs in after.items():
            for slug, formerly in slugs.items():
                for former in formerly:
                    self._now[component, former] = slug
            for slug in slugs:
                self._now[component, slug] = slug

    def now(self, component: str, slug: str) -> str:
        """Returns the present slug."""
        return self._now.get((component_as_of_today(component), slug), slug)


@dataclass(slots=True)
class Comparison:
    """The counts of one kind of implementation and one component, and an example of each kind of difference."""

    scenarios: int = 0
    steps: int = 0
    violations: int = 0
    differences: Counter[Difference] = field(default_factory=Counter)
    examples: dict[Difference, str] = field(default_factory=dict)

    def note(self, difference: Difference, example: str) -> None:
        """Count a difference, and keep the shortest example of its kind."""
        self.differences[difference] += 1
        known = self.examples.get(difference)
        if known is None or len(example) < len(known):
            self.examples[difference] = example

    def see(self, names: Names, component: str, example: str, before: Reply, after: Reply) -> None:
        """Compare what the two versions say of one scenario."""
        if "unreadable" in before and before == after:
            return
        self.scenarios += 1
        for reply in (before, after):
            if "unreadable" in reply:
                self.note(Difference("reading", component, ""), f"{reply['unreadable']}\n{example}")
                return
        self.steps += after["steps"]
        if before["history"] != after["history"]:
            self.note(Difference("history", component, ""), example)
        old, new = before["violation"], after["violation"]
        self.violations += new is not None
        if old is not None:
            old = [names.now(component, old[0]), *old[1:]]
        if old != new:
            both = " -> ".join("none" if one is None else f"{one[0]} ({one[1]}, step {one[2]})" for one in (old, new))
            slugs = " -> ".join("none" if one is None else one[0] for one in (old, new))
            self.note(Difference("verdict", component, slugs), f"{both}\n{example}")
        mine = {names.now(component, slug) for slug in before["exercised"]}
        theirs = set(after["exercised"])
        for slug in sorted(mine - theirs):
            self.note(Difference("before", component, slug), example)
        for slug in sorted(theirs - mine):
            self.note(Difference("after", component, slug), example)

    def add(self, other: Comparison) -> None:
        """Add the counts of another comparison, of the same kind of implementation and component."""
        self.scenarios += other.scenarios
        self.steps += other.steps
        self.violations += other.violations
        for difference, example in other.examples.items():
            self.note(difference, example)
            self.differences[difference] += other.differences[difference] - 1


class Total:
    """The comparisons by kind of implementation and component."""

    def __init__(self) -> None:
        self.by: dict[tuple[str, str], Comparison] = defaultdict(Comparison)

    def add(self, kind: str, component: str, comparison: Comparison) -> None:
        """Add what was seen of one implementation."""
        self.by[kind, component].add(comparison)
