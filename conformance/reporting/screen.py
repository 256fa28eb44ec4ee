"""Shows verdicts on a terminal, so that they fit a screen: what failed first, then one line a component."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil
from textwrap import wrap

from rich.text import Text

from conformance.campaigns import EPISODE
from conformance.engines.causes import Cause
from conformance.reporting.claims import unclaimed_in_words
from conformance.reporting.columns import Word, by_component
from conformance.reporting.counts import NOT_PUT_TO_THE_TEST, OPEN, Counts, count, counted
from conformance.reporting.looks import BAD, FAINT, GOOD, shown_in
from conformance.reporting.looks import OPEN as UNSURE
from conformance.reporting.replaying import replay_command, steps_words
from conformance.reporting.verdicts import Tried, Verdicts, failed_scenarios, properties_of
from conformance.reporting.words import plain

LINES = 40
"""How many lines a screen has. Likely causes are shown with their scenarios while there is room, and one always is."""
MOST_CAUSES = 5
"""How many of the other causes are named, with a line each."""
MOST_OPEN = 2
"""In how many lines properties are named that were not exercised."""
_INDENT = "  "
_LABEL = 10


@dataclass(frozen=True, slots=True)
class _Space:
    """How much of a likely cause is shown: at most so many names of properties, and so many lines of each text."""

    names: int
    rest: bool
    """Whether it is said in which components the other properties are."""
    expected: int
    observed: int
    steps: int
    resembles: bool
    """Whether the known bugs are named that fail alike."""


_SPACES = (
    _Space(3, True, 2, 2, 4, True),
    _Space(1, True, 2, 2, 3, True),
    _Space(1, True, 2, 1, 2, True),
    _Space(1, False, 2, 1, 2, False),
    _Space(1, False, 1, 1, 1, False),
)
"""The most first. The first cause takes what leaves room for the table; the folder and the page have all of it."""


def screen(verdicts: Verdicts, width: int, room: int = LINES, everything: bool = False) -> Iterator[Text]:
    """Yield the lines. `room`: how many lines there are for them.

    With `everything`, all causes and all that was not exercised are shown, however long that is.
    """
    table = list(component_table(verdicts.tried, width, verdicts.components))
    rest = [*table, *_open(verdicts.tried, width, everything)]
    if not everything and room - _height(rest, width) < _least(verdicts, width):
        *rows, note = table[:-1]
        short = [note, *_open(verdicts.tried, width, everything, in_short=True)]
        joined = Text(" ").join(short)
        rest = [*rows, *([joined] if len(joined) <= width else short)]
    yield from _failures(verdicts, width, None if everything else room - _height(rest, width))
    yield from rest


def _height(texts: Iterable[Text], width: int) -> int:
    """Return how many lines of a terminal these take, since it breaks those that are too long."""
    return sum(max(1, ceil(len(one) / width)) for one in texts)


def summaries(tried: Iterable[Tried], in_full: bool) -> Iterator[Text]:
    """Yield a sentence for each implementation. The counts of the table are left out unless `in_full` asks for them."""
    for one in tried:
        style = BAD if "FAILED" in one.verdict else GOOD if one.verdict.startswith("conforms") else UNSURE
        if one.must_fail:
            style = GOOD if one.causes else BAD
        counts = one.counts
        words = counts.in_words if in_full else counts.runs_in_words
        yield Text.assemble((one.label, "bold"), ": ", (one.verdict, style), f". {words}.")


# ---- what failed -----------------------------------------------------------------------------------------------------
def _failures(verdicts: Verdicts, width: int, room: int | None) -> Iterator[Text]:
    """Yield causes in full while there is room for them, then a line for each of some others."""
    # The first cause of each implementation, then the second ones: no implementation hides another.
    ranked = sorted(
        ((one, number, cause) for one in verdicts.tried for number, cause in enumerate(one.new_causes, start=1)),
        key=lambda entry: entry[1],
    )
    left = 0 if room is None else room
    for place, (one, number, cause) in enumerate(ranked):
        others = len(ranked) - place - 1
        block = list(_block(verdicts, one, number, cause, width, _SPACES[0]))
        if room is not None:
            needed = min(others, MOST_CAUSES + 1) + 1
            if place and left - _height(block, width) < needed:
                yield from _in_short(ranked[place:], width, sum(bool(one.new_causes) for one in verdicts.tried), left)
                return
            for space in _SPACES[1:]:
                if left - _height(block, width) >= needed:
                    break
                block = list(_block(verdicts, one, number, cause, width, space))
        left -= _height(block, width) + 1
        yield from block
        yield Text()


def _least(verdicts: Verdicts, width: int) -> int:
    """Return how many lines the first cause takes in full, with those that name some of the others; 0 if none is."""
    causes = [(one, cause) for one in verdicts.tried for cause in one.new_causes]
    if not causes:
        return 0
    (one, cause), others = causes[0], len(causes) - 1
    return _height(_block(verdicts, one, 1, cause, width, _SPACES[0]), width) + 1 + min(others, MOST_CAUSES + 1)


def _in_short(causes: Sequence[tuple[Tried, int, Cause]], width: int, failing: int, room: int) -> Iterator[Text]:
    """Yield a line or two for some causes, at least for one, and how many there are beside them if there is room."""
    most = min(MOST_CAUSES, max(1, room - 2))
    for one, number, cause in causes[:most]:
        names, shortest = properties_of(cause), cause.shortest
        steps = counted(len(shortest.scenario.steps), "step")
        more = f", {len(names) - 1:,} more" if len(names) > 1 else ""
        whose = f"{one.label}, " if failing > 1 else ""
        text = f"{whose}cause {number}: {shortest.slug} ({shortest.scenario.component}, {steps}{more})"
        for line in wrap(text, width, subsequent_indent=_INDENT, break_on_hyphens=False):
            yield Text(line)
    if len(causes) > most and room > 2:
        yield Text(f"and {counted(len(causes) - most, 'likely cause')} more")
    yield Text()


def _block(verdicts: Verdicts, one: Tried, number: int, cause: Cause, width: int, space: _Space) -> Iterator[Text]:
    """Yield the lines of one likely cause: what failed, why that is wrong, and the shortest scenario that shows it."""
    names, shortest = properties_of(cause), cause.shortest
    many = len(one.new_causes)
    yield Text.assemble(
        (one.label, "bold"), f", likely cause {number} of {many}: {counted(len(names), 'property')} ",
        (Word.FAILED.shown, BAD), f" in {counted(failed_scenarios(cause), 'scenario')}",
    )  # fmt: skip
    for component, slug in list(names)[: space.names]:
        yield Text.assemble(_INDENT, (slug, BAD), (f" ({component})", FAINT))
    if space.rest and (rest := list(names)[space.names :]):
        where = ", ".join(dict.fromkeys(component for component, _ in rest))
        yield from _labelled("", f"and {len(rest):,} more in {where}", width, 2)
    yield from _labelled("expected", plain(shortest.owed), width, space.expected)
    yield from _labelled("observed", plain(shortest.observed), width, space.observed)
    yield from _labelled("claim", unclaimed_in_words(shortest.unclaimed), width, 2)
    yield from _labelled(
        counted(len(shortest.scenario.steps), "step"), steps_words(shortest, verdicts.components), width,
        space.steps,
    )  # fmt: skip
    if space.resembles and cause.resembles:
        yield from _labelled(
            "like", f"known bug{'s' * (len(cause.resembles) > 1)} {', '.join(cause.resembles)}", width, 1
        )
    if verdicts.reports is not None:
        yield Text(f"{_INDENT}{'again':{_LABEL}}{replay_command(verdicts.reports, one.name, shortest)}")


def _labelled(label: str, text: str, width: int, most: int) -> Iterator[Text]:
    """Yield a text behind a label, on several lines if needed, and cut off behind so many."""
    start = len(_INDENT) + (_LABEL if label else 0)
    lines = wrap(text, max(20, width - start), max_lines=most, placeholder=" ...", break_on_hyphens=False)
    for number, line in enumerate(lines):
        margin = f"{_INDENT}{'' if number else label:{start - len(_INDENT)}}"
        yield Text.assemble((margin, FAINT), line)


# ---- one line a component --------------------------------------------------------------------------------------------
_HEADS: tuple[tuple[str, tuple[Word, ...], str], ...] = (
    ("pass", (Word.PASSED,), GOOD),
    ("FAIL", (Word.FAILED,), BAD),
    ("known", (Word.KNOWN,), UNSURE),
    ("open", OPEN, UNSURE),
    ("n/a", (Word.NOT_APPLICABLE,), FAINT),
)
_GAP = 2


def component_table(tried: Sequence[Tried], width: int, order: Iterable[str] = ()) -> Iterator[Text]:
    """Yield a table with a line for each component, and a group of narrow columns for each implementation.

    If the groups do not fit side by side, there are several tables. Behind each is an empty line. `order`: that of the
    components, as for `by_component`.
    """
    components = list(by_component((column for one in tried for column in one.columns), order))
    first = max((len(one) for one in (*components, "properties")), default=0)
    left = list(tried)
    while left:
        groups = [_Group(left.pop(0))]
        while left and _fit([*groups, _Group(left[0])], width - first):
            groups.append(_Group(left.pop(0)))
        _widen(groups, width - first - _GAP * len(groups))
        yield from _table(components, groups, first)
        yield Text()


class _Group:
    """The columns of one implementation: only those heads of which something is to be said."""

    def __init__(self, one: Tried) -> None:
        self.label = one.label
        self.by_component: dict[str, Counts] = {column.component: count([column]) for column in one.columns}
        self.total = one.counts
        self.heads = [head for head in _HEADS if head[0] == "pass" or self.total.of(*head[1])]
        self.subheads = " ".join(name for name, _, _ in self.heads)
        self.width = max(len(self.subheads), min(len(self.label), 14))

    def title(self) -> list[str]:
        return shown_in(self.label, self.width)

    def cells(self, counts: Counts | None) -> list[tuple[str, str]]:
        if counts is None:
            return [("-".rjust(len(self.heads[0][0])), FAINT)]
        return [
            (f"{n:,}".rjust(len(name)) if (n := counts.of(*words)) else ".".rjust(len(name)), style if n else FAINT)
            for name, words, style in self.heads
        ]


def _fit(groups: Sequence[_Group], room: int) -> bool:
    return sum(one.width + _GAP for one in groups) <= room


def _widen(groups: Sequence[_Group], room: int) -> None:
    """Give names that would be broken the room that is left."""
    spare = room - sum(one.width for one in groups)
    for one in groups:
        more = min(spare, max(0, len(one.label) - one.width))
        one.width += more
        spare -= more


def _table(components: Sequence[str], groups: Sequence[_Group], first: int) -> Iterator[Text]:
    titles = [one.title() for one in groups]
    height = max(map(len, titles))
    for number in range(height):
        line = Text(" " * first)
        for group, title in zip(groups, titles, strict=True):
            at = number - (height - len(title))
            line.append(" " * _GAP + (title[at] if at >= 0 else "").ljust(group.width), "bold")
        line.rstrip()
        yield line
    line = Text("properties".ljust(first), FAINT)
    for group in groups:
        line.append(" " * _GAP + group.subheads.ljust(group.width), FAINT)
    line.rstrip()
    yield line
    for component in components:
        yield _row(component, groups, [one.by_component.get(component) for one in groups], first)
    if len(components) > 1:
        yield _row("all", groups, [one.total for one in groups], first)
    used = {name for group in groups for name, _, _ in group.heads}
    notes = [
        *(["known: known failures"] if "known" in used else ()),
        *([f"open: {_open_words(groups)}"] if "open" in used else ()),
        *(["n/a: not applicable"] if "n/a" in used else ()),
    ]
    if notes:
        yield Text("; ".join(notes) + ".", FAINT)


def _row(name: str, groups: Sequence[_Group], counts: Sequence[Counts | None], first: int) -> Text:
    line = Text(name.ljust(first))
    for group, mine in zip(groups, counts, strict=True):
        cells = group.cells(mine)
        line.append(" " * _GAP)
        line.append(Text(" ").join(Text(*cell) for cell in cells))
        line.append(" " * (group.width - sum(len(cell[0]) + 1 for cell in cells) + 1))
    line.rstrip()
    return line


def _open_words(groups: Sequence[_Group]) -> str:
    """Return the words that the column `open` stands for here."""
    there = [
        word for word in OPEN if any(counts.of(word) for group in groups for counts in group.by_component.values())
    ]
    return " or ".join(word.shown for word in there)


# ---- what was not put to the test ------------------------------------------------------------------------------------
def _open(tried: Sequence[Tried], width: int, everything: bool, in_short: bool = False) -> Iterator[Text]:
    """Yield the properties that were not exercised. What cannot be, and situations, are named if all is asked for.

    `in_short`: only their number.
    """
    names = _named(tried, NOT_PUT_TO_THE_TEST, situations=False)
    if names:
        text = f"Not exercised, so not passed: {len(names):,}"
        if in_short:
            yield Text(f"Not exercised: {len(names):,} (--all names them)")
        else:
            yield from map(Text, _cut(f"{text}: {', '.join(names)}", width, MOST_OPEN, everything))
            if {column.component for one in tried for column in one.columns} != {EPISODE}:  # it searches by itself
                yield Text(f"{_INDENT}conformance explain PROPERTY --implementation NAME says why")
    if everything:
        lists = {
            "Untestable": _named(tried, (Word.UNTESTABLE,), situations=False),
            "Situations that no scenario had": _named(tried, (*OPEN, Word.FAILED, Word.KNOWN), situations=True),
        }
        for title, entries in lists.items():
            for line in (f"{title}: {len(entries):,}", *(f"{_INDENT}{one}" for one in entries)) if entries else ():
                yield Text(line)


def _cut(text: str, width: int, most: int, everything: bool) -> list[str]:
    if everything:
        return wrap(text, width, break_on_hyphens=False)
    return wrap(text, width, max_lines=most, placeholder=" ...", break_on_hyphens=False)


def _named(tried: Sequence[Tried], words: tuple[Word, ...], situations: bool) -> list[str]:
    """Return the properties of which one of these words is said, with the implementations, unless it is all of them."""
    whose: dict[tuple[str, str], list[str]] = {}
    for one in tried:
        for column, judged in one.with_word(*words, situations=situations):
            whose.setdefault((column.component, judged.slug), []).append(one.label)
    found = []
    for (component, slug), labels in whose.items():
        offering = [one.label for one in tried if any(column.component == component for column in one.columns)]
        where = component if labels == offering else f"{component} of {', '.join(labels)}"
        found.append(f"{slug} ({where})")
    return found
