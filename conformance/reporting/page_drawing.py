"""Draws a sequence diagram and a chart as SVG: where each line and each text is. The templates write the markup.

Nothing here knows the font that a browser will use, so widths are estimated for a wide one. A text that does not fit is
wrapped, and all of it is in a tooltip.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from conformance.reporting.sequence import Line, Message
from conformance.reporting.sequence import Sequence as Messages

SIZE = 12.0
"""The size of the text in pixels; CSS uses it, too."""
LEADING = 15
"""From one line of text to the next."""
_NARROW, _WIDE = "iljtfrI.,:;'|!()[] -", "mwMW@%"
_LEAST_GAP, _MOST_GAP = 130, 230
_MARGIN = 14
_BESIDE = 70
"""The least distance of the first and the last lifeline from the edge."""
_MOST_LINES = 4
_MOST_NOTE = 12
_LONGEST_TITLE = 1000


def width_of(text: str) -> float:
    """Return about how many pixels a text takes, rather too many than too few."""
    return sum(map(_width, text))


def _width(letter: str) -> float:
    if unicodedata.east_asian_width(letter) in "WF":
        return SIZE * 1.05
    if letter in _NARROW:
        return SIZE * 0.38
    return SIZE * (0.95 if letter in _WIDE else 0.7 if letter.isupper() else 0.62)


def wrapped(text: str, width: float, most: int) -> tuple[str, ...]:
    """Return a text in lines of this width, cut off behind so many lines. A word that is too long is broken."""
    lines, line, room = [], "", width
    for word in _pieces(text[: most * int(width)], width):
        needed = width_of(word)
        if line and needed + width_of(" ") > room:
            lines.append(line)
            line, room = "", width
        line = f"{line} {word}" if line else word
        room = width - width_of(line)
    lines += [line] if line else []
    if len(lines) <= most and len(text) <= most * int(width):
        return tuple(lines) or ("",)
    return (*lines[: most - 1], f"{lines[min(most, len(lines)) - 1][:-1]}…")


def _pieces(text: str, width: float) -> Iterator[str]:
    for word in text.split():
        piece, used = "", 0.0
        for letter in word:
            if piece and used + _width(letter) > width:
                yield piece
                piece, used = "", 0.0
            piece, used = piece + letter, used + _width(letter)
        yield piece


@dataclass(frozen=True, slots=True)
class Text:
    """Lines of text, the first one at this place."""

    x: float
    y: float
    lines: tuple[str, ...]
    name: str = ""
    """What the text is: written in bold before it."""


@dataclass(frozen=True, slots=True)
class Arrow:
    """A message."""

    kind: str
    start: float
    end: float
    y: float
    text: Text
    title: str

    @property
    def tip(self) -> str:
        """The path of the arrowhead."""
        back = self.end - math.copysign(8, self.end - self.start)
        closed = "" if self.kind == Line.SIGNAL.value else "Z"
        return f"M{back:g} {self.y - 4:g}L{self.end:g} {self.y:g}L{back:g} {self.y + 4:g}{closed}"


@dataclass(frozen=True, slots=True)
class Band:
    """A part of the diagram over its whole width: where the property broke, or where the drain begins."""

    top: float
    height: float
    texts: tuple[Text, ...]


@dataclass(frozen=True, slots=True)
class Drawing:
    """A sequence diagram: the heads of the lifelines, and what is below them."""

    width: float
    height: float
    lifelines: tuple[tuple[str, float, float], ...]
    """Name, place, and width of the head."""
    component: str
    arrows: tuple[Arrow, ...]
    drains: tuple[Band, ...]
    here: Band | None
    steps: int


def drawing_of(messages: Messages) -> Drawing:
    """Return the drawing of a sequence diagram."""
    places = _places(messages)
    last = max(places.values())
    heads = {one: max(70.0, width_of(one) + 20) for one in places}
    width = last + max(_BESIDE, heads[messages.participants[-1]] / 2) + _MARGIN
    y, arrows, drains, here = 10.0, [], [], None
    for one in messages.happenings:
        if one.begins_drain:
            lines = wrapped(messages.drain, width - 2 * _MARGIN, 2)
            drains.append(Band(y + 4, 0, (Text(_MARGIN, y + 4 + LEADING, lines),)))
            y += 10 + LEADING * len(lines) + 6
        top = y
        for message in one.messages:
            arrow = _arrow(message, places, y)
            arrows.append(arrow)
            y = arrow.y + 8
        if one.divergent:
            texts = []
            y += 4
            for name, text in messages.note:
                indent = width_of(f"{name}: ") * 1.1
                first = wrapped(text, width - 4 * _MARGIN - indent, _MOST_NOTE)
                texts.append(Text(2 * _MARGIN, y + LEADING, first, name))
                y += LEADING * len(first) + 4
            y += 8
            here = Band(top - 2, y - top, tuple(texts))
            y += 8
        y += 4
    return Drawing(
        math.ceil(width), math.ceil(y + 6), tuple((one, x, heads[one]) for one, x in places.items()),
        messages.component, tuple(arrows), tuple(drains), here, len(messages.happenings),
    )  # fmt: skip


def _places(messages: Messages) -> dict[str, float]:
    """Return the place of each lifeline. Texts between two of them decide how far they are apart."""
    order = {one: at for at, one in enumerate(messages.participants)}
    names = messages.participants
    gaps = [max(float(_LEAST_GAP), (width_of(one) + width_of(other)) / 2 + 30) for one, other in pairwise(names)]
    for happening in messages.happenings:
        for message in happening.messages:
            low, high = sorted((order[message.sender], order[message.receiver]))
            for at in range(low, high):
                gaps[at] = max(gaps[at], min((width_of(message.text[:200]) + 24) / (high - low), _MOST_GAP))
    x = max(_BESIDE, width_of(names[0]) / 2 + 10) + _MARGIN
    places = {names[0]: x}
    for name, gap in zip(names[1:], gaps, strict=True):
        x += gap
        places[name] = round(x, 1)
    return places


def _arrow(message: Message, places: dict[str, float], top: float) -> Arrow:
    start, end = places[message.sender], places[message.receiver]
    lines = wrapped(message.text, abs(end - start) - 16, _MOST_LINES)
    y = top + LEADING * len(lines) + 4
    text = Text((start + end) / 2, top + LEADING - 3, lines)
    return Arrow(message.line.value, start, end, y, text, message.text[:_LONGEST_TITLE])


# ---- discovery over time ---------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Curve:
    """How many findings of one implementation were known after so many scenarios."""

    label: str
    path: str
    dots: tuple[tuple[float, float, str], ...]
    """Place, and what was found there."""
    end: float
    """The height of the label."""


@dataclass(frozen=True, slots=True)
class Chart:
    """The curves of all implementations with findings, over a logarithmic axis of scenarios."""

    width: int
    height: int
    left: int
    right: int
    bottom: int
    ticks: tuple[tuple[float, str], ...]
    levels: tuple[tuple[float, str], ...]
    curves: tuple[Curve, ...]


Discovery = tuple[int, str]
"""The number of the scenario that showed a finding first, and what the finding is."""


def chart_of(found: Sequence[tuple[str, Sequence[Discovery]]], scenarios: int) -> Chart | None:
    """Return the chart of the findings of each implementation; None if no finding has the number of a scenario."""
    curves = [(label, sorted(every)) for label, every in found if every]
    if not curves:
        return None
    most = max(len(every) for _, every in curves)
    left, top, bottom, right = 34, 14, 186, 560
    longest = max(width_of(label) for label, _ in curves)
    last = max(scenarios, 2, *(number + 1 for _, every in curves for number, _ in every))

    def x(number: int) -> float:
        return round(left + (right - left) * math.log(number + 1) / math.log(last + 1), 1)

    def y(count: int) -> float:
        return round(bottom - (bottom - top) * count / most, 1)

    drawn = []
    taken: list[float] = []
    for label, every in sorted(curves, key=lambda one: -len(one[1])):
        path, dots = [f"M{x(0):g} {y(0):g}"], []
        for count, (number, what) in enumerate(every, start=1):
            path.append(f"H{x(number + 1):g}V{y(count):g}")
            dots.append((x(number + 1), y(count), f"scenario {number:,}: {what}"))
        height = y(len(every)) + 4
        while any(abs(height - one) < LEADING for one in taken):
            height += LEADING
        taken.append(height)
        drawn.append(Curve(label, "".join([*path, f"H{right}"]), tuple(dots), height))
    powers = [10**power for power in range(len(str(last))) if 10**power < last * 0.8]
    ticks = tuple((x(one), f"{one:,}") for one in (*powers, last))
    step = max(1, -(-most // 6))
    levels = tuple((y(one), str(one)) for one in range(0, most + 1, step))
    height = max(bottom + 36, math.ceil(max(taken)) + 10)
    return Chart(math.ceil(right + longest + 24), height, left, right, bottom, ticks, levels, tuple(drawn))
