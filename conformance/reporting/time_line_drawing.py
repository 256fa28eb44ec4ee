"""Draws the time line of a job as SVG: where each box, line and text is. The template writes the markup."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from conformance.reporting.page_drawing import LEADING, Text, width_of, wrapped
from conformance.reporting.time_line import Sign, TimeLine

_MARGIN = 14
_BOX, _GAP = 30, 110
"""How high a vertex is; the distance of two vertices between which an edge is, so that its kind can be read."""
_LANE = 18
_NUMBERS, _WORDS = 64, 620
_MOST_LINES = 6


@dataclass(frozen=True, slots=True)
class Box:
    """A vertex."""

    x: float
    y: float
    width: float
    text: str


@dataclass(frozen=True, slots=True)
class Link:
    """An edge, from the right side of its producer to the left side of its consumer."""

    x: float
    y: float
    to_x: float
    to_y: float
    kind: str

    @property
    def middle(self) -> tuple[float, float]:
        """Where its kind is written."""
        return (self.x + self.to_x) / 2, (self.y + self.to_y) / 2 - 5


@dataclass(frozen=True, slots=True)
class Mark:
    """What is drawn in a lane in one row: a line from the top to the bottom of it, and a sign."""

    x: float
    top: float
    bottom: float
    y: float
    """Where the sign is."""
    sign: str
    """The name of the sign, in lower case; it is a class of the style."""
    lane: str
    """Job or checkpoint: it is a class of the style, too."""


@dataclass(frozen=True, slots=True)
class Band:
    """A row."""

    y: float
    height: float
    numbers: str
    text: Text
    here: bool
    in_drain: bool
    struck: bool


@dataclass(frozen=True, slots=True)
class TimeLineDrawing:
    """The graph, and the rows below it."""

    width: int
    height: int
    boxes: tuple[Box, ...]
    links: tuple[Link, ...]
    bands: tuple[Band, ...]
    marks: tuple[Mark, ...]


def time_line_drawing(shown: TimeLine) -> TimeLineDrawing:
    """Return the drawing of a time line."""
    boxes = tuple(_boxes(shown))
    links = tuple(
        Link(boxes[up].x + boxes[up].width, boxes[up].y + _BOX / 2, boxes[down].x, boxes[down].y + _BOX / 2, kind)
        for up, down, kind in shown.edges
    )
    y = max(one.y for one in boxes) + _BOX + 24
    lanes = _MARGIN + _NUMBERS
    words = lanes + _LANE * (1 + shown.places) + 8
    bands: list[Band] = []
    marks: list[Mark] = []
    for row in shown.rows:
        lines = wrapped(row.text, _WORDS, _MOST_LINES)
        height = LEADING * len(lines) + 6
        struck = Sign.STRUCK in (row.job, *row.checkpoints)
        text = Text(words, y + LEADING, lines)
        bands.append(Band(y, height, row.numbers, text, row.here, row.in_drain, struck))
        for lane, sign in enumerate((row.job, *row.checkpoints)):
            marks += _marks(sign, lanes + _LANE * (lane + 0.5), y, height, "checkpoint" if lane else "job")
        y += height
    width = max(words + _WORDS, *(one.x + one.width for one in boxes)) + _MARGIN
    return TimeLineDrawing(math.ceil(width), math.ceil(y + 10), boxes, links, tuple(bands), tuple(marks))


def _marks(sign: Sign, x: float, y: float, height: float, lane: str) -> Iterator[Mark]:
    if sign is Sign.NOTHING:
        return
    middle = y + LEADING - 4
    ends = sign in (Sign.COMPLETE, Sign.ENDS) or (sign is Sign.STRUCK and lane == "checkpoint")
    top, bottom = middle if sign is Sign.BEGINS else y, middle if ends else y + height
    yield Mark(x, top, bottom, middle, sign.name.lower().replace("_", "-"), lane)


def _boxes(shown: TimeLine) -> Iterator[Box]:
    """Each vertex stands right of those that it reads, below those that stand there before."""
    depths = _depths(len(shown.vertices), shown.edges)
    widths = [width_of(one.text) + 24 for one in shown.vertices]
    columns = [max(width for width, depth in zip(widths, depths, strict=True) if depth == at)
               for at in range(max(depths) + 1)]  # fmt: skip
    above = [0] * len(columns)
    for width, depth, vertex in zip(widths, depths, shown.vertices, strict=True):
        x = _MARGIN + sum(columns[:depth]) + _GAP * depth
        yield Box(x, 10 + above[depth] * (_BOX + 22), width, vertex.text)
        above[depth] += 1


def _depths(count: int, edges: Sequence[tuple[int, int, str]]) -> list[int]:
    """Vertices are in an order in which each edge leads to a later one."""
    depths = [0] * count
    for up, down, _ in sorted(edges):
        depths[down] = max(depths[down], depths[up] + 1)
    return depths
