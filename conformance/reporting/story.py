"""The explanation of a replay: what happened step by step, where it went wrong, what was owed and what was seen."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

from conformance.alphabets import Alphabet, alphabet_of
from conformance.engines import Replay
from conformance.reporting.looks import BAD, FAINT, GOOD, simple_table
from conformance.reporting.words import outcome_in_words, plain, signals_in_words, step_in_words
from conformance.scenarios import Entry, canonical


class Mark(StrEnum):
    """What is special about a step of a story."""

    NONE = ""
    SKIPPED = "skipped"
    """Its time had not come: it meant nothing when its turn was, and was left out."""
    DRAIN = "drain"
    """Not of the scenario: the fair drain that ends every run did it."""
    DIVERGENT = "here"
    """Here the property broke."""


@dataclass(frozen=True, slots=True)
class StoryStep:
    """One line of a story, all in words."""

    number: int
    actor: str
    step: str
    answer: str
    """Empty if the step was skipped."""
    signals: str
    mark: Mark
    in_drain: bool = False

    @property
    def remark(self) -> str:
        """The mark in words; a divergent step may be one of the drain too."""
        return "drain, here" if self.in_drain and self.mark is Mark.DIVERGENT else self.mark.value

    @property
    def outcome(self) -> str:
        """The answer and the signals in one line."""
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
    """What was owed, and why."""
    observed: str
    """What came instead."""
    outcome: str | None
    """The answer and the signals at the divergent step."""
    reference: str | None
    """Those of the reference at the same step."""
    earlier: StoryStep | None
    """The first step whose outcome differs from the reference's, if that came before the divergent step."""

    @property
    def from_the_reference(self) -> str | None:
        """The earliest difference in one sentence. Not necessarily a defect: some answers are free."""
        if self.earlier is None:
            return None
        return f"The first answer that differs from the reference's is that of step {self.earlier.number}."

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield self.table()
        yield from self._conclusion()

    def table(self) -> Table:
        """The steps, one row each. The column that tells what is special is left out if nothing is."""
        marked = any(one.mark for one in self.steps)
        table = simple_table()
        table.add_column("#", justify="right", no_wrap=True)
        table.add_column("who", no_wrap=True)
        table.add_column("step", overflow="fold", max_width=24)
        table.add_column("answer, then signals", overflow="fold")
        if marked:
            table.add_column("", no_wrap=True)
        for one in self.steps:
            answer = "\n".join((one.answer, *([f"-> {one.signals}"] if one.signals else [])))
            cells = [str(one.number), one.actor, one.step, answer]
            style = BAD if one.mark is Mark.DIVERGENT else FAINT if one.mark else ""
            table.add_row(*map(Text, cells), *([Text(one.remark)] if marked else []), style=style)
        return table

    def _conclusion(self) -> Iterator[Text]:
        where = f" at step {self.divergent.number}, {self.divergent.step}" if self.divergent else ""
        if self.slug is None:
            yield Text(f"{self.verdict}: {self.expected}", style=GOOD if self.verdict == "FIXED" else "")
            return
        yield Text(f"{self.verdict}{where}: {self.slug}", style=BAD)
        yield Text.assemble(("expected  ", "bold"), self.expected)
        yield Text.assemble(("observed  ", "bold"), self.observed)
        if self.outcome is not None:
            yield Text.assemble(("answer    ", "bold"), self.outcome)
        if self.reference is not None:
            yield Text.assemble(("reference ", "bold"), self.reference)
        if self.from_the_reference is not None:
            yield Text(self.from_the_reference)


def tell(replay: Replay, reference: Replay | None = None) -> Story:
    """The story of a replay; with that of another implementation on the same scenario, what this one did instead."""
    scenario = replay.history.scenario
    alphabet = alphabet_of(scenario.component)
    entries = replay.history.entries
    violation = replay.violation
    # A run stops where a property breaks, so the last entry is the divergent one; without a port there is none.
    last = len(entries) - 1
    at = last if violation is not None and entries and entries[last].step == violation.step else None
    steps = tuple(_step(alphabet, index, entry, index == at) for index, entry in enumerate(entries))
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
        reference=_counterpart(alphabet, replay, reference, at),
        earlier=_earlier_difference(replay, reference, steps, at),
    )


def story_table(replay: Replay, reference: Replay | None = None) -> Table:
    """The steps of a replay as a table, without the conclusion."""
    return tell(replay, reference).table()


def _outcome(answer: str, signals: str) -> str:
    return f"{answer}; {f'signals: {signals}' if signals else 'no signal'}"


def _step(alphabet: Alphabet, index: int, entry: Entry, divergent: bool) -> StoryStep:
    kind = alphabet.kind(entry.step[0])
    actor = "" if kind is None else kind.actor
    step = step_in_words(entry.step)
    if entry.outcome is None:
        return StoryStep(index + 1, actor, step, "", "", Mark.SKIPPED)
    mark = Mark.DIVERGENT if divergent else Mark.DRAIN if entry.closing else Mark.NONE
    answer = outcome_in_words(entry.outcome, kind)
    return StoryStep(index + 1, actor, step, answer, signals_in_words(entry.outcome.signals), mark, entry.closing)


def _counterpart(alphabet: Alphabet, replay: Replay, reference: Replay | None, at: int | None) -> str | None:
    """What the reference did at the same place, if it came there by the same steps."""
    if reference is None or at is None or len(reference.history.entries) <= at:
        return None
    entry, mine = reference.history.entries[at], replay.history.entries[at]
    if entry.step != mine.step or entry.outcome is None:
        return None
    words = outcome_in_words(entry.outcome, alphabet.kind(entry.step[0]))
    return _outcome(words, signals_in_words(entry.outcome.signals))


def _earlier_difference(
    replay: Replay, reference: Replay | None, steps: tuple[StoryStep, ...], at: int | None
) -> StoryStep | None:
    if reference is None or at is None:
        return None
    for index, (mine, other) in enumerate(zip(replay.history.entries[:at], reference.history.entries, strict=False)):
        if mine.step != other.step or _compared(mine) != _compared(other):
            return steps[index]
    return None


def _compared(entry: Entry) -> object:
    """What of an outcome is compared: the texts of errors are for people and are not."""
    outcome = entry.outcome
    if outcome is None:
        return None
    error = None if outcome.error is None else (outcome.error.kind, outcome.error.checkpoint_reason)
    try:
        return canonical(outcome.value), outcome.signals, error  # as text: `==` takes True for 1
    except Exception:  # whatever a foreign object does when it is looked at
        return outcome_in_words(outcome), outcome.signals, error
