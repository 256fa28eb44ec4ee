"""Groups the findings of one implementation by the defect that probably caused them.

Within a component, findings that have a sign in common are linked (`related`), and what links connect is one group. A
group of a component that contains others belongs to the group of the component inside in which the same defect shows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from conformance.components import COMPONENTS
from conformance.driver import Component
from conformance.engines.apart import Apart, our_known_bugs
from conformance.engines.check import Check, Found
from conformance.engines.related import Link, Relations, groups, links, links_without_runs
from conformance.engines.resembling import resembling
from conformance.engines.tally import Signature
from conformance.engines.worker import Ended


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

    The minimal scenarios are run some more times, in the process that the implementation is in.
    """
    found: list[Found] = []
    linked: list[Link] = []
    for check in checks:
        start = len(found)
        found += check.found
        linked += [Link(start + link.one, start + link.other, link.why) for link in _links(check)]
    checked = {check.program.component.name: check.program.component for check in checks}
    components = _with_inner([check.program.component for check in checks if check.found], checked)
    linked += _outwards(found, linked, components)
    known = our_known_bugs() if found else {}
    made = [_group(found, members, linked) for members in groups(len(found), linked)]
    made = [Cause(one.found, one.why, resembling(one.found, components, known)) for one in made]
    return tuple(sorted(made, key=lambda cause: _length(cause.shortest)))


def _with_inner(outer: Sequence[Component], checked: Mapping[str, Component]) -> dict[str, Component]:
    """Returns components by name, with those that they are made of: of those that were checked, or else of the suite.

    A component that was not checked may stand between two that were: a gate has channels, which have a subpartition.
    """
    components = {one.name: one for one in outer}
    waiting = list(outer)
    while waiting:
        for name in waiting.pop().contains:
            if name not in components and (name in checked or name in COMPONENTS):
                components[name] = checked[name] if name in checked else COMPONENTS[name]
                waiting.append(components[name])
    return components


def each_alone(checks: Sequence[Check]) -> tuple[Cause, ...]:
    """Returns each finding as a group of its own, the one with the shortest scenario first. Nothing is run."""
    found = [one for check in checks for one in check.found]
    return tuple(Cause((one,), ()) for one in sorted(found, key=_length))


def _outwards(found: Sequence[Found], linked: Sequence[Link], components: Mapping[str, Component]) -> Iterator[Link]:
    """Yields the links of groups to a group in a component inside, from the innermost components outwards.

    That is the group that breaks the same property, or else the only one there is.
    """
    inside = {name: _inside(name, components) for name in components}
    all_links = list(linked)
    for outer in sorted(components, key=lambda name: (len(inside[name]), name)):
        every = groups(len(found), all_links)
        others = [group for group in every if any(found[place].scenario.component in inside[outer] for place in group)]
        for members in every:
            if members in others or found[members[0]].scenario.component != outer:
                continue
            slugs = {found[place].slug for place in members}
            alike = [group for group in others if any(found[place].slug in slugs for place in group)]
            if not alike and len(others) != 1:
                continue
            chosen = [place for place in (alike or others)[0] if found[place].scenario.component in inside[outer]]
            one, other = (min(places, key=lambda place: _length(found[place])) for places in (chosen, members))
            inner = found[one].scenario.component
            link = Link(one, other, f"{outer} is made of {inner}, in which {found[one].slug} fails.")
            all_links.append(link)
            yield link


def _inside(name: str, components: Mapping[str, Component]) -> frozenset[str]:
    """Returns the components that a component is made of, directly and indirectly."""
    inside: frozenset[str] = frozenset()
    for one in components[name].contains:
        inside |= {one} | (_inside(one, components) if one in components else frozenset())
    return inside


def _links(check: Check) -> tuple[Link, ...]:
    """Returns the links between the findings of one check, also if the implementation ends its process meanwhile."""
    implementation = check.program.implementation
    if not isinstance(implementation, Apart):
        return links(Relations(check.program, check.found))
    if len(check.found) < 2:
        return ()
    try:
        told: tuple[Link, ...] = implementation.ask(
            "links", check.program.component.name, check.program.capabilities, check.found
        )
    except Ended:
        return links_without_runs(check.found)
    return told


def _group(found: Sequence[Found], members: Sequence[int], linked: Sequence[Link]) -> Cause:
    """Returns a group. The reason of each finding is a link with the first one, or else with another one, by name."""

    def reason(place: int) -> str:
        mine = [link for link in linked if place in (link.one, link.other)]
        link = min(mine, key=lambda link: first not in (link.one, link.other))
        partner = link.one if place == link.other else link.other
        return link.why if partner == first else f"With {_called(found[partner])}: {link.why}"

    first = min(members, key=lambda place: _length(found[place]))
    others = sorted((one for one in members if one != first), key=lambda place: _name(found[place]))
    return Cause(tuple(found[place] for place in (first, *others)), tuple(map(reason, others)))


def _called(found: Found) -> str:
    return f"{found.slug} of {found.scenario.component}"


def _name(found: Found) -> tuple[str, Signature]:
    return found.scenario.component, found.signature


def _length(found: Found) -> tuple[int, tuple[str, Signature]]:
    return len(found.scenario.steps), _name(found)
