"""The style of tables: they can be read without colour, and in 80 columns."""

from __future__ import annotations

from textwrap import wrap

from rich import box
from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.segment import Segment
from rich.table import Table

from conformance.reporting.columns import Word

GOOD, BAD, OPEN, FAINT = "green", "bold red", "yellow", "dim"

WORD_STYLES = {
    Word.PASSED: GOOD,
    Word.FAILED: BAD,
    Word.KNOWN: OPEN,
    Word.UNKNOWN: OPEN,
    Word.NOT_EXERCISED: OPEN,
    Word.UNTESTABLE: FAINT,
    Word.NOT_TESTED: OPEN,
    Word.NOT_APPLICABLE: FAINT,
}


def simple_table(title: str | None = None, caption: str | None = None) -> Table:
    """Make a table whose only line is below its head."""
    return Table(
        title=title, caption=caption, box=box.SIMPLE_HEAD, padding=(0, 1), collapse_padding=True, pad_edge=False,
        title_justify="left", caption_justify="left", title_style="bold", caption_style=FAINT, header_style="bold",
    )  # fmt: skip


def shown_in(name: str, width: int) -> list[str]:
    """Return a name in lines of this width, which end behind a hyphen or a blank where that is possible."""
    return wrap(name, max(1, width)) or [""]


class Slug:
    """A slug in a cell, and a faint remark below it. Lines end only behind a hyphen; rich would end them anywhere."""

    def __init__(self, slug: str, below: str = "", style: str = "") -> None:
        self.slug = slug
        self.below = below
        self.style = style

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width = max(1, options.max_width)
        for text, style in ((self.slug, self.style), (self.below, FAINT)):
            for line in wrap(text, width):
                yield Segment(line, console.get_style(style) if style else None)
                yield Segment.line()

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        lines = [self.slug, *([self.below] if self.below else [])]
        parts = [part for line in lines for part in line.replace("-", "- ").split()]
        return Measurement(max(map(len, parts), default=1), max(map(len, lines))).with_maximum(options.max_width)
