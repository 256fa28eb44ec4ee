"""Counts verdicts. `check`, pytest, campaigns and reports count with this, so that equal words are equal numbers.

A *property* holds or does not. A *situation* (a property of the kind *sometimes*) must have been seen by a search: it
binds the search and not the implementation, so it is counted apart. A failed scenario has one finding. A finding is
everything that failed with one signature: the property, the failure class and the operation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from conformance.driver import Kind
from conformance.reporting.columns import Column, Word

NOT_PUT_TO_THE_TEST = (Word.UNKNOWN, Word.NOT_EXERCISED, Word.NOT_TESTED)
"""The words of properties that another search could put to the test."""
MOST_NAMED = 8
"""So many of a list of names are named in a sentence."""
OPEN = (*NOT_PUT_TO_THE_TEST, Word.UNTESTABLE)
"""The words of properties that neither held nor failed although they apply."""


def counted(number: int, noun: str) -> str:
    """Return a number of things in words, as `1 property` or `2,000 properties`."""
    if number == 1:
        return f"1 {noun}"
    return f"{number:,} {noun[:-1]}ies" if noun.endswith("y") else f"{number:,} {noun}s"


def first_of(names: Sequence[str]) -> str:
    """Return the first of these names, and how many more there are."""
    more = len(names) - MOST_NAMED
    return ", ".join(names[:MOST_NAMED]) + (f" and {more:,} more" if more > 0 else "")


@dataclass(frozen=True, slots=True)
class Counts:
    """The sum over some columns of one implementation."""

    properties: Mapping[Word, int]
    """How many properties each word is said of. Situations are left out."""
    seen: int
    """How many situations were seen."""
    wanted: int
    """How many situations apply to the implementation."""
    findings: int
    scenarios: int
    failed_scenarios: int
    steps: int
    interrupted: bool = False
    """Whether some of the scenarios that were asked for were not run."""

    def of(self, *words: Word) -> int:
        """Return of how many properties one of these words is said."""
        return sum(self.properties.get(word, 0) for word in words)

    @property
    def verdict(self) -> str:
        """One or a few words about the implementation."""
        if self.of(Word.FAILED):
            return Word.FAILED.shown
        if self.of(Word.NOT_TESTED):
            return "incomplete"
        if self.interrupted:
            return "nothing failed so far"
        if known := self.of(Word.KNOWN):
            return f"conforms but for {counted(known, Word.KNOWN)}"
        return "conforms" if self.of(Word.PASSED) else "nothing was exercised"

    @property
    def properties_in_words(self) -> str:
        """How many properties there are, and how many of them each word is said of."""
        words = ", ".join(_said(one, self.of(one)) for one in Word if self.of(one))
        return f"{counted(self.of(*Word), 'property')}: {words or 'none'}"

    @property
    def runs_in_words(self) -> str:
        """How many scenarios were run, how many failed, and how many situations came up in them."""
        failed = f" ({self.failed_scenarios:,} {Word.FAILED.shown})" if self.failed_scenarios else ""
        corpus = " and the corpus" if self.failed_scenarios > self.scenarios else ""
        seen = f", {self.seen:,} of {self.wanted:,} situations seen" if self.wanted else ""
        return f"{counted(self.scenarios, 'scenario')}{corpus}{failed}{seen}"

    @property
    def in_words(self) -> str:
        """Everything that was counted."""
        return f"{self.properties_in_words}; {self.runs_in_words}; {counted(self.steps, 'step')}"


def _said(word: Word, number: int) -> str:
    return counted(number, word) if word is Word.KNOWN else f"{number:,} {word.shown}"


def count(columns: Iterable[Column]) -> Counts:
    """Add up columns of one implementation."""
    every = list(columns)
    properties: Counter[Word] = Counter()
    seen = wanted = 0
    for column in every:
        for one in column.judged:
            word = column.cells[one.slug].word
            if one.kind != Kind.SOMETIMES.value:
                properties[word] += 1
            elif word is not Word.NOT_APPLICABLE:
                wanted += 1
                seen += word is Word.PASSED
    findings = [one for column in every for one in column.findings]
    return Counts(
        properties, seen, wanted, len(findings), sum(one.scenarios for one in every),
        sum(one.count for one in findings), sum(one.steps for one in every), any(one.interrupted for one in every),
    )  # fmt: skip
