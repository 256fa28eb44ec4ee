"""Explains a replay: its steps, the step that broke a property, what was expected and what was observed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from textwrap import wrap

from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

from conformance.driver import Component
from conformance.engines import Replay
from conformance.reporting.console import Lines
from conformance.reporting.looks import BAD, FAINT, GOOD, simple_table
from conformance.reporting.record_lines import record_lines
from conformance.reporting.step_lines import lines_of
from conformance.reporting.words import outcome_in_words, plain, signals_in_words, step_in_words
from conformance.scenarios import Entry, History, Step, canonical

SEPARATOR = "; "
"""Between two signals in one line: the words of a signal may contain commas."""
LONGEST_ACTOR = 14
"""How wide an actor is at most, so that `checkpoint-coordinator` leaves room for the result."""
CONTINUED = "continued"
WHAT_CONTINUED_MEANS = (
    "“who” is a thread. Its operation paused before it took a lock, or where it waited, so that other threads could "
    "act. In this step, the operation goes on."
)


class Mark(StrEnum):
    """What is special about a step of a story."""

    NONE = ""
    SKIPPED = "skipped"
    """The step was not possible when its turn came, so it was left out."""
    DRAIN = "drain"
    """The step is not part of the scenario, but of the fair drain that ends every run."""
    DIVERGENT = "here"
    """The property broke at this step."""


@dataclass(frozen=True, slots=True)
class StoryStep:
    """One step of a story, in words."""

    number: int
    actor: str
    step: str
    answer: str
    """Empty if the step was skipped."""
    emitted: tuple[str, ...]
    """The signals that are shown, in the order in which they were emitted."""
    mark: Mark
    in_drain: bool = False
    turn: bool = False
    """Whether the step lets a paused thread go on."""
    paused: bool = False
    """Whether the operation is not over."""

    @property
    def signals(self) -> str:
        """The signals in one line."""
        return SEPARATOR.join(self.emitted)

    @property
    def remark(self) -> str:
        """The mark in words; a divergent step may be one of the drain too."""
        return "drain, here" if self.in_drain and self.mark is Mark.DIVERGENT else self.mark.value

    @property
    def outcome(self) -> str:
        """The result and the signals in one line."""
        return _outcome(self.answer, self.signals)


@dataclass(frozen=True, slots=True)
class Story:
    """A replay in words. `divergent` is None if nothing failed, or if that was before the first step."""

    component: str
    verdict: str
    slug: str | None
    """The property that broke."""
    steps: tuple[StoryStep, ...]
    divergent: StoryStep | None
    expected: str
    """What the implementation had to do, and why."""
    observed: str
    """What the implementation did instead."""
    outcome: str | None
    """The result and the signals at the divergent step."""
    reference: str | None
    """The result and the signals of the reference at the same step."""
    earlier: StoryStep | None
    """The first step whose outcome differs from the reference's, if that came before the divergent step."""
    records: tuple[str, ...] = ()
    """If a property broke: what the records of the scenario say, if it has any that say something."""

    @property
    def from_the_reference(self) -> str | None:
        """The earliest difference in one sentence. It need not be a defect: some results are left open."""
        if self.earlier is None:
            return None
        return f"The first result that differs from the reference's is that of step {self.earlier.number}."

    @property
    def own_steps(self) -> int:
        """The number of steps of the scenario itself, without those of the drain."""
        return sum(not one.in_drain for one in self.steps)

    @property
    def length(self) -> str:
        """How many steps there were up to the failure or the end, those of the drain counted apart."""
        own, closing = self.own_steps, len(self.steps) - self.own_steps
        words = f"{own or 'no'} step{'' if own == 1 else 's'}"
        return f"{words} and {closing} of the fair drain" if closing else words

    @property
    def in_the_drain(self) -> str | None:
        """A sentence that says where the drain begins, if the failure shows in the drain only."""
        if self.divergent is None or not self.divergent.in_drain:
            return None
        if not self.own_steps:
            return (
                f"The scenario has no steps of its own: a new {self.component} fails in the fair drain, to which all "
                "these steps belong."
            )
        return f"The failure shows in the fair drain, which begins at step {self.own_steps + 1}."

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield self.table()
        if self.has_turns:
            yield Text(f"{CONTINUED}: {WHAT_CONTINUED_MEANS}", style=FAINT)
        yield from self._conclusion()

    @property
    def has_turns(self) -> bool:
        """Whether threads paused, or paused threads went on."""
        return any(one.turn or one.paused for one in self.steps)

    def table(self) -> Table:
        """Return a table with one row per step. The column of marks is left out if no step has one."""
        marked = any(one.mark for one in self.steps)
        table = simple_table()
        table.add_column("#", justify="right", no_wrap=True)
        table.add_column("who", no_wrap=True)
        table.add_column("step", no_wrap=True)
        table.add_column("result, then signals", overflow="fold")
        if marked:
            table.add_column("note", no_wrap=True)
        for one in self.steps:
            answer = Lines((one.answer, *(f"-> {signal}" for signal in one.emitted)))
            who = Lines(wrap(one.actor, LONGEST_ACTOR))
            remark = [Text(one.remark)] if marked else []
            style = BAD if one.mark is Mark.DIVERGENT else FAINT if one.mark else ""
            table.add_row(str(one.number), who, Lines(lines_of(one.step)), answer, *remark, style=style)
        return table

    def _conclusion(self) -> Iterator[Text]:
        if self.in_the_drain is not None:
            yield Text(self.in_the_drain, style=FAINT)
        where = f" at step {self.divergent.number}, {self.divergent.step}" if self.divergent else ""
        if self.slug is None:
            yield Text(f"{self.verdict}: {self.expected}", style=GOOD if self.verdict == "FIXED" else "")
            return
        yield Text(f"{self.verdict}{where}: {self.slug}", style=BAD)
        yield Text.assemble(("expected  ", "bold"), self.expected)
        yield Text.assemble(("observed  ", "bold"), self.observed)
        if self.outcome is not None:
            yield Text.assemble(("result    ", "bold"), self.outcome)
        if self.reference is not None:
            yield Text.assemble(("reference ", "bold"), self.reference)
        for number, line in enumerate(self.records):
            yield Text.assemble(("records   " if number == 0 else "          ", "bold"), line)
        if self.from_the_reference is not None:
            yield Text(self.from_the_reference)


def tell(replay: Replay, reference: Replay | None = None) -> Story:
    """Return the story of a replay. `reference` is the replay of another implementation on the same scenario."""
    scenario = replay.history.scenario
    component = replay.component
    entries = replay.history.entries
    operations = operations_of(component, replay.history)
    violation = replay.violation
    at = None if violation is None else _divergent(entries, operations, violation.step)
    steps = tuple(
        _step(component, index, entry, operation, index == at)
        for index, (entry, operation) in enumerate(zip(entries, operations, strict=True))
    )
    divergent = None if at is None else steps[at]
    expected = plain(replay.reason if violation is None else violation.broken.owed)
    return Story(
        component=scenario.component,
        verdict=replay.verdict.value,
        slug=None if violation is None else violation.property.slug,
        steps=steps,
        divergent=divergent,
        expected=expected,
        observed="" if violation is None else plain(violation.broken.observed),
        outcome=None if divergent is None else divergent.outcome,
        reference=_counterpart(component, replay, reference, at),
        earlier=_earlier_difference(replay, reference, steps, at),
        records=() if violation is None else record_lines(component, scenario),
    )


def operations_of(component: Component, history: History) -> tuple[Step | None, ...]:
    """Return the operation of each entry: for a turn, the operation that went on; None for a skipped step."""
    in_flight: dict[str, Step] = {}
    found: list[Step | None] = []
    for entry in history.entries:
        if entry.outcome is None:
            found.append(None)
            continue
        kind = component.step(entry.step[0])
        if kind is None:
            thread = entry.step[1]
        else:
            thread = kind.by
            if kind.crashes:
                in_flight.clear()
            in_flight[thread] = entry.step
        found.append(in_flight.get(thread, entry.step))
    return tuple(found)


def _divergent(entries: Sequence[Entry], operations: Sequence[Step | None], broken: Step) -> int | None:
    """Return the entry at which the property broke: the last one, or None if it broke before the first step.

    If an operation never ended, this is the entry of its last pause.
    """
    last = len(entries) - 1
    if entries and operations[last] == broken:
        return last
    for index in range(last, -1, -1):
        outcome = entries[index].outcome
        if operations[index] == broken and outcome is not None:
            return index if outcome.paused_at is not None else None
    return None


def story_table(replay: Replay, reference: Replay | None = None) -> Table:
    """The steps of a replay as a table, without the conclusion."""
    return tell(replay, reference).table()


def _outcome(answer: str, signals: str) -> str:
    return f"{answer}; {f'signals: {signals}' if signals else 'no signal'}"


def _step(component: Component, index: int, entry: Entry, operation: Step | None, divergent: bool) -> StoryStep:
    kind = component.step(entry.step[0])
    actor = entry.step[1] if kind is None else kind.by
    if entry.outcome is None or operation is None:
        step = "goes on" if kind is None else step_in_words(entry.step, component)
        return StoryStep(index + 1, actor, step, "", (), Mark.SKIPPED, turn=kind is None)
    mark = Mark.DIVERGENT if divergent else Mark.DRAIN if entry.closing else Mark.NONE
    return StoryStep(
        number=index + 1,
        actor=actor,
        step=step_in_words(operation, component) + (f", {CONTINUED}" if kind is None else ""),
        answer=outcome_in_words(entry.outcome, component.step(operation[0])),
        emitted=signals_in_words(component.shown(entry.outcome.signals)),
        mark=mark,
        in_drain=entry.closing,
        turn=kind is None,
        paused=entry.outcome.paused_at is not None,
    )


def _counterpart(component: Component, replay: Replay, reference: Replay | None, at: int | None) -> str | None:
    """Return what the reference returned at the same step, or None if it did not come to this step.

    Implementations pause at different places. So if threads pause, the ends of the same operation are compared,
    whichever entries they are.
    """
    if reference is None or at is None:
        return None
    mine = replay.history.entries[at]
    if not _has_turns(replay.history):
        there = at if len(reference.history.entries) > at else None
    else:
        there = _same_end(component, replay.history, reference.history, at)
    if there is None:
        return None
    entry = reference.history.entries[there]
    if entry.outcome is None or (entry.step != mine.step and not _has_turns(replay.history)):
        return None
    operation = operations_of(component, reference.history)[there]
    assert operation is not None
    words = outcome_in_words(entry.outcome, component.step(operation[0]))
    return _outcome(words, SEPARATOR.join(signals_in_words(component.shown(entry.outcome.signals))))


def _has_turns(history: History) -> bool:
    return any(entry.outcome is not None and entry.outcome.paused_at is not None for entry in history.entries)


def _same_end(component: Component, mine: History, other: History, at: int) -> int | None:
    """Return the entry of `other` that ends the same operation as the entry `at` of `mine`, or None."""
    ends = _ends(component, mine)
    if at not in ends:
        return None
    return next((index for index, end in _ends(component, other).items() if end == ends[at]), None)


def _ends(component: Component, history: History) -> dict[int, tuple[Step, int]]:
    """Return the entries at which operations end, with the operation and how many equal ones ended before."""
    found: dict[int, tuple[Step, int]] = {}
    counts: dict[Step, int] = {}
    for index, operation in enumerate(operations_of(component, history)):
        outcome = history.entries[index].outcome
        if operation is not None and outcome is not None and outcome.paused_at is None:
            found[index] = operation, counts.get(operation, 0)
            counts[operation] = counts.get(operation, 0) + 1
    return found


def _earlier_difference(
    replay: Replay, reference: Replay | None, steps: tuple[StoryStep, ...], at: int | None
) -> StoryStep | None:
    if reference is None or at is None or _has_turns(replay.history):
        return None
    component = replay.component
    for index, (mine, other) in enumerate(zip(replay.history.entries[:at], reference.history.entries, strict=False)):
        if mine.step != other.step or _compared(component, mine) != _compared(component, other):
            return steps[index]
    return None


def _compared(component: Component, entry: Entry) -> object:
    """Return the parts of an outcome that are compared: what is shown, without the texts of errors."""
    outcome = entry.outcome
    if outcome is None:
        return None
    error = None if outcome.error is None else (outcome.error.kind, outcome.error.checkpoint_reason)
    signals = component.shown(outcome.signals)
    try:
        return canonical(outcome.value), signals, error  # as text: `==` takes True for 1
    except Exception:  # an object of the implementation may raise anything
        return outcome_in_words(outcome), signals, error
