"""A component made ready for one implementation."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any, Protocol, TypeAlias, get_args

from conformance.driver.component import Component
from conformance.driver.exactly import checked, judged
from conformance.driver.judgement import Broken, Judgement, Kind, Several
from conformance.driver.ledger import PortLedger
from conformance.driver.own_rules import ALWAYS_JUDGED, ANSWERS, looks_closely
from conformance.driver.rule import Property
from conformance.driver.step import AnyStep, Operands
from conformance.ports import Capability, Implementation, Resources, Signal
from conformance.ports.implementation import Factory
from conformance.ports.registry import is_own
from conformance.scenarios import Entry, Step
from conformance.scheduling import LockOrder

Judged: TypeAlias = tuple[int, Callable[[Any, Any], Judgement | Several | None]]
"""The place of a property in the program and in the rows of a run's evidence, and its check; or the place of a step,
and what asks several rules together, or lets the ledger learn from it, which returns nothing."""
Concerned: TypeAlias = tuple[tuple[Judged, ...], tuple[Judged, ...], tuple[Judged, ...]]
"""The goals that may be reached by an operation; what judges it, and among that what lets the ledger learn from it; and
the same with the quiet rules at the end, or nothing if there are none."""
NOTHING, OPERAND, ANSWER = 0, 1, 2
"""Where the number of the channel stands that a step concerns: nowhere, in its first operand, or in what it returns."""
_MANY = 2
"""From how many signals on an operation is looked at by the kinds of them, each once: a step in which a whole job goes
on emits hundreds, in ever new orders."""
_FIRST = (0,)
"""The place of the first case of a step."""


class Log(Protocol):
    """Follows the runs of a program in a process that may end in the middle of one."""

    def begin(self, config: Any) -> list[Step]:
        """A run begins. Returns the list to which it will append each step before it performs it."""

    def closing(self) -> None:
        """The drain of the run begins."""

    def entries(self) -> list[Entry]:
        """Returns the list to which the run will append each of its entries."""


class Judges:
    """The goals that one kind of step may reach, and the properties that judge it: some before the ledger learns from
    it, some after.

    What lets the ledger learn is called as they are, and stands among them. So one loop does everything.
    """

    __slots__ = ("_end", "_known", "_learn", "_operands", "_place", "_properties", "_quiet", "without_signals")

    def __init__(
        self, properties: Sequence[tuple[int, Property]], end: Callable[..., None] | None,
        learn: Callable[..., None] | None, operands: int, place: int,
    ) -> None:  # fmt: skip
        """Each property with its place; what the ledger learns from the end and from the outcome of the operation; the
        number of operands and the place of the step."""
        self._properties = [one for one in properties if not one[1].quiet]
        self._quiet = tuple((place, one.check) for place, one in properties if one.quiet)
        self._end, self._learn, self._operands, self._place = end, learn, operands, place
        self._known: dict[tuple[type[Any], ...], Concerned] = {}
        self.without_signals = self._concerned(())
        """Those that concern an operation without signals."""

    def of(self, signals: Sequence[Signal]) -> Concerned:
        """Returns those that concern an operation with these signals. How often it has emitted one does not matter."""
        kinds = tuple(map(type, signals))
        if len(kinds) > _MANY:
            kinds = tuple(dict.fromkeys(kinds))
        found = self._known.get(kinds)
        if found is None:
            found = self._known[kinds] = self._concerned(kinds)
        return found

    def _concerned(self, kinds: tuple[type[Any], ...]) -> Concerned:
        """Those that name signals are next to the learning, each once, in the order of their first signal."""
        always = [one for one in self._properties if not one[1].signals]
        named = list(dict.fromkeys(one for kind in kinds for one in self._properties if kind in one[1].signals))
        goals = [one for one in (*always, *named) if one[1].kind is Kind.SOMETIMES]
        before = [one for one in (*always, *named) if one[1].kind is not Kind.SOMETIMES]
        after = [one for one in (*named, *always) if one[1].kind is not Kind.SOMETIMES]
        checks = (
            *((place, one.check) for place, one in before if not one.after_learning),
            *self._learning(bool(kinds)),
            *self._given([one for one in after if one[1].after_learning]),
        )
        return tuple((place, one.check) for place, one in goals), checks, checks + self._quiet if self._quiet else ()

    def _given(self, rules: Sequence[tuple[int, Property]]) -> Iterator[Judged]:
        """Yields what asks the rules after the learning: those with one condition together."""
        for given, some in groupby(rules, key=lambda one: one[1].given):
            checks = tuple((place, one.check) for place, one in some)
            if given is None:
                yield from checks
            else:
                yield self._place, _asked_together(given, checks)

    def _learning(self, hears: bool) -> Iterator[Judged]:
        """Yields what lets the ledger learn from the operation, and hear its signals if it has some."""
        if self._end is not None:
            yield self._place, _after(self._end, self._operands)
        if self._learn is not None:
            yield self._place, _learning(self._learn, self._operands)
        if hears:
            yield self._place, _hear


def _after(end: Callable[..., None], operands: int) -> Callable[[Any, Any], None]:
    """Returns what lets the ledger note the end of an operation with so many operands."""

    def of_many(ledger: Any, seen: Any) -> None:  # a call with a star takes three times as long
        end(ledger, *seen.operands)

    def of_one(ledger: Any, seen: Any) -> None:
        end(ledger, seen.operands[0])

    def of_none(ledger: Any, seen: Any) -> None:
        end(ledger)

    return of_none if operands == 0 else of_one if operands == 1 else of_many


def _learning(learn: Callable[..., None], operands: int) -> Callable[[Any, Any], None]:
    """Returns what lets the ledger learn from the outcome of an operation with so many operands."""

    def of_many(ledger: Any, seen: Any) -> None:
        learn(ledger, seen, *seen.operands)

    def of_one(ledger: Any, seen: Any) -> None:
        learn(ledger, seen, seen.operands[0])

    def of_none(ledger: Any, seen: Any) -> None:
        learn(ledger, seen)

    return of_none if operands == 0 else of_one if operands == 1 else of_many


def _asked_together(
    given: Callable[[Any], bool], checks: Sequence[tuple[int, Callable[[Any, Any], Judgement]]]
) -> Callable[[Any, Any], Several | None]:
    """Returns what asks rules that have something to judge only under a condition. As if each were asked by itself,
    none is asked after one that is broken, and each may rely on what those before it have judged."""

    def ask(ledger: Any, seen: Any) -> Several | None:
        if not given(ledger):
            return None
        found: list[tuple[int, Judgement]] = []
        for place, check in checks:
            if judgement := check(ledger, seen):
                found.append((place, judgement))
                if isinstance(judgement, Broken):
                    break
        return Several(tuple(found))

    return ask


def _hear(ledger: PortLedger, seen: Any) -> None:
    if seen.unheard:
        ledger.hear(seen.unheard)


class Move:
    """One kind of step, or one case of it, with the properties that apply to the implementation."""

    __slots__ = (
        "_by_phase", "begin", "call", "cases", "concern", "crashes", "during", "end", "fails", "fresh_port",
        "if_open_ended", "if_struck", "interrupts", "judges", "kind", "place", "thread", "when",
    )  # fmt: skip

    def __init__(
        self, kind: AnyStep, threads: tuple[str, ...], properties: list[tuple[int, Property]], place: int,
        by_channel: bool, is_checked: bool,
    ) -> None:  # fmt: skip
        self.kind = kind
        self.cases: tuple[Move, ...] = ()
        """All cases of the step, this one among them; empty if there is only this one."""
        self._by_phase: dict[str, tuple[int, ...]] = {}
        """By phase, the places of the cases that can be enabled in it."""
        self.place = place
        """The place of the step in the rows of a run's evidence."""
        self.concern = _concern(kind) if by_channel else NOTHING
        self.during = kind.during
        self.when: Callable[[Any], Sequence[Operands]] = kind.when
        self.begin = kind.begin
        self.call = checked(kind) if is_checked else kind.call
        self.end = kind.end
        self.fails = kind.fails
        self.fresh_port = kind.fresh_port
        self.crashes = kind.crashes
        self.interrupts = kind.crashes or kind.cancels
        self.thread = kind.by if kind.by in threads else ""
        """The thread on which the operation runs; empty if the operation never pauses."""
        own = looks_closely(kind)
        mine = [(at, one) for at, one in properties if kind.key in one.on or (own and one.slug == ANSWERS)]
        always = [(at, one) for at, one in mine if not (one.struck or one.open_ended)]
        if kind.fresh_port:
            # The outcome of a step that replaces the port is the outcome of the old port. The quiet rules, too, judge
            # it against the ledger as it was before.
            always = [(at, replace(one, quiet=False)) for at, one in always]
        self.judges = Judges(always, kind.end, kind.learn, len(kind.operands), place)
        self.if_struck: Judges | None = None
        """The judges of an operation that a fault has struck; None: those of any other."""
        self.if_open_ended = tuple([(at, one.check) for at, one in mine if one.open_ended])
        """The judges of an operation that was in flight when the task failed or was cancelled."""
        if kind.struck is not None:
            self.if_struck = Judges(
                [one for one in mine if one[1].struck], None, kind.struck, len(kind.operands), place
            )

    def has_cases(self, cases: Sequence[Move]) -> None:
        """Note that the step has these cases, of which this is one."""
        self.cases = tuple(cases)
        phases = dict.fromkeys(phase for one in cases for phase in one.during)
        self._by_phase = {
            phase: tuple(at for at, one in enumerate(cases) if phase in one.during) for phase in phases
        }  # fmt: skip

    def choices(self, ledger: PortLedger) -> Sequence[Operands]:
        """Returns the operands with which the step is enabled now, in any of its cases."""
        if not self.cases:
            return self.when(ledger) if ledger.phase in self.during else ()
        possible = (self.cases[at].when(ledger) for at in self._by_phase.get(ledger.phase, ()))
        return [operands for some in possible for operands in some]

    def case(self, ledger: PortLedger, operands: Operands) -> int:
        """Returns the place of the case with which the step is enabled now, which has several. A drain may perform a
        step in a phase in which it is not enabled: that is the first case."""
        places = self._by_phase.get(ledger.phase, _FIRST)
        if len(places) > 1:
            for at in places[:-1]:
                if operands in self.cases[at].when(ledger):
                    return at
        return places[-1]


class Program:
    """A component made ready for one implementation. A program is made once and used for many runs."""

    __slots__ = (
        "_configs", "_orders", "answers", "blank_marks", "blank_row", "capabilities", "component", "ends", "factory",
        "implementation", "is_checked", "log", "moves", "moves_of", "places", "properties", "threads",
    )  # fmt: skip

    def __init__(self, component: Component, implementation: Implementation, assume: Iterable[Capability] = ()) -> None:
        self.component = component
        self.implementation = implementation
        self.factory = implementation.components()[component.name]
        self.is_checked = not is_own(implementation)
        """Whether results and signals are checked for exact types."""
        self.capabilities = implementation.capabilities | frozenset(assume)
        self._configs = tuple(one for one in component.configs if self.understands(one) and self._shows(one))
        self.threads = component.threads
        self.properties = tuple(one for one in component.properties if one.applies(self.capabilities))
        self.places = {one.slug: index for index, one in enumerate(self.properties)}
        self.answers = next(one for one in self.properties if one.slug == ANSWERS)
        self.blank_marks = bytearray(len(self.properties))
        self.blank_marks[self.places[ANSWERS]] = 1
        self.blank_row = [0] * (len(self.properties) + len(component.steps))
        self.moves_of = self._moves(self.properties)
        """By shape of the component, and by whether the scenario has faults, the first case of each step by name. In a
        scenario without faults, the properties that are about faults need not be asked, nor in another shape those that
        are about one shape."""
        self.moves = self.moves_of[self._any_scenario()]
        """The first case of each step by name, whatever judges it."""
        self.ends = _ends(component)
        """The step that looks how much is held, and the one that releases the port, with which every drain ends."""
        self._orders = LockOrder()
        self.log: Log | None = None
        """None: nobody follows the runs, as in a process that they cannot end."""

    @property
    def configs(self) -> tuple[Any, ...]:
        """The configurations in which the program is searched: those of the component that the implementation
        understands and that are worth a search, unless `within` has said others."""
        return self._configs

    @property
    def repeats(self) -> bool:
        """Whether the same steps must have the same outcomes every time. They need not if threads of the implementation
        work on their own, since no scenario says in which order."""
        turned = self.component.turned
        return turned is None or turned.needs <= self.capabilities

    def within(self, configs: Iterable[Any]) -> Program:
        """Returns a copy of this program that is searched in these configurations. Engines read them when they are
        made, so they never change."""
        twin = self.made_by(self.factory)
        twin._configs = tuple(configs)
        return twin

    def understands(self, config: Any) -> bool:
        """Returns whether the implementation claims all capabilities that this configuration needs."""
        return self.component.needs(config) <= self.capabilities

    def has_shape(self, config: Any) -> bool:
        """Returns whether the program is searched in the shape of the component that this configuration has."""
        of = self.component.settings.shape
        return of(config) in map(of, self.configs)

    def moves_in(self, config: Any) -> dict[str, Move]:
        """Returns the steps of scenarios with this configuration, by name, with the properties that apply there."""
        faults = Capability.FAULTS in self.component.needs(config)
        return self.moves_of[self.component.settings.shape(config), faults]

    def _shows(self, config: Any) -> bool:
        """Returns whether the configuration is worth a search. Without the capability `stepping`, operations run whole
        in either interleaving: a fine scenario can be replayed, but shows nothing more than a whole one."""
        return config.interleaving == "whole" or Capability.STEPPING in self.capabilities

    def pinned(self, shape: str) -> Program:
        """Returns a copy of this program whose component has this shape in every search; an empty text: any shape."""
        of = self.component.settings.shape
        return self.within(one for one in self.configs if not shape or of(one) == shape)

    def shares(self) -> int:
        """Returns how many shapes of the component can be searched, each of which has the scenarios of a component."""
        of = self.component.settings.shape
        return len({of(one) for one in self.configs}) or 1

    def made_by(self, factory: Factory) -> Program:
        """Returns a copy of this program that makes its ports with another factory."""
        twin = object.__new__(Program)
        for name in Program.__slots__:
            setattr(twin, name, getattr(self, name))
        twin.factory = factory
        return twin

    def without(self, slugs: Collection[str]) -> Program:
        """Returns a copy of this program that does not judge the properties with these slugs, so that a run goes on
        after one of them was broken. Those in `ALWAYS_JUDGED` are judged in any case."""
        muted = frozenset(slugs) - ALWAYS_JUDGED
        twin = self.made_by(self.factory)
        twin.moves_of = self._moves(one for one in self.properties if one.slug not in muted)
        twin.moves = twin.moves_of[self._any_scenario()]
        twin.places = {slug: place for slug, place in self.places.items() if slug not in muted}
        return twin

    def _any_scenario(self) -> _Scenarios:
        """Returns one kind of scenarios: every kind has the same steps."""
        return self.component.searched[0].name, True

    def _moves(self, judging: Iterable[Property]) -> _MovesOf:
        """Returns the steps with those of these properties that are judged in scenarios of each shape, with and without
        faults. Each property keeps its place in the rows of a run's evidence."""
        component, count = self.component, len(self.properties)
        own = component.is_own()
        numbered = [(self.places[one.slug], one if own else judged(one)) for one in judging]
        by_channel = any(component.settings.kinds(one) for one in component.configs)

        def of(shape: str, faults: bool) -> dict[str, Move]:
            mine = [
                (place, one)
                for place, one in numbered
                if one.is_about(shape) and (faults or Capability.FAULTS not in one.needs)
            ]
            return _by_name(
                Move(kind, component.threads, mine, count + at, by_channel, self.is_checked)
                for at, kind in enumerate(component.steps)
            )

        return _MovesOf(of)

    def without_judges(self) -> Program:
        """Returns a copy of this program that judges nothing. The explorer replays with it steps that were judged."""
        twin = self.made_by(self.factory)
        twin.moves = _by_name(
            Move(move.kind, self.threads, [], move.place, False, self.is_checked) for move in self.all_cases()
        )
        twin.moves_of = _MovesOf(lambda shape, faults: twin.moves)
        return twin

    def all_cases(self) -> Iterator[Move]:
        """Yields the moves of every kind of step, in each of its cases."""
        for move in self.moves.values():
            yield from move.cases or (move,)

    def exercised(self, marks: bytes) -> list[str]:
        """Returns the slugs of the properties that are marked as exercised in `marks`."""
        return [slug for slug, place in self.places.items() if marks and marks[place]]

    def has_order(self, order: LockOrder) -> bool:
        """Returns whether the locks taken in this run and in all runs before it have one order.

        If they have, the locks of this run alone have one too. If they have not, the caller must check this run by
        itself: the other runs only save time here, and never decide the verdict.
        """
        orders = self._orders
        contradict = orders.changed
        if (new := orders.absorb(order)) and not contradict:
            contradict = orders.cycle(new) != ()
        orders.changed = contradict
        return not contradict


_Scenarios: TypeAlias = tuple[str, bool]
"""A shape of the component, and whether the scenarios have faults."""


class _MovesOf(dict[_Scenarios, dict[str, Move]]):
    """The first case of each step by name, for each kind of scenarios. They are made when a scenario needs them: a
    program of one run needs one of up to ten."""

    def __init__(self, make: Callable[[str, bool], dict[str, Move]]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, scenarios: _Scenarios) -> dict[str, Move]:
        made = self[scenarios] = self._make(*scenarios)
        return made


def _ends(component: Component) -> tuple[Step, Step] | None:
    """Returns the steps with which a drain looks and releases again; None if the component has no such steps."""
    looks = [(kind.name,) for kind in component.steps if kind.answers is Resources and not kind.fresh_port]
    releases = [(kind.name,) for kind in component.steps if kind.crashes]
    return (looks[0], releases[0]) if looks and releases else None


def _by_name(moves: Iterable[Move]) -> dict[str, Move]:
    """Returns the first case of each kind of step. It knows the others."""
    found: dict[str, list[Move]] = {}
    for move in moves:
        found.setdefault(move.kind.name, []).append(move)
    for cases in found.values():
        if len(cases) > 1:
            for one in cases:
                one.has_cases(cases)
    return {name: cases[0] for name, cases in found.items()}


def _concern(kind: AnyStep) -> int:
    if next(iter(kind.operands), "") == "channel":
        return OPERAND
    answers = get_args(kind.answers) or (kind.answers,)
    return ANSWER if any("channel" in getattr(one, "__struct_fields__", ()) for one in answers) else NOTHING
