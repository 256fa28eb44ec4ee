"""A console on which nothing that is printed can do anything to the terminal, or look like a line of the suite.

Texts of implementations appear in many places: in what was observed, in names, in logs. Only the console knows which
escape sequences are its own. So no caller has to make a text harmless: every text is one line here, wherever it is
printed, alone or in a cell of a table, and none is read as markup. Colours come with `Text`, several lines with `Lines`
or `print_lines`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.measure import Measurement
from rich.segment import Segment
from rich.text import Text

from conformance.system.text import neutral, neutral_line


class CarefulConsole(Console):
    """Shows control characters instead of writing them to the terminal. Its own colours and cursor moves work."""

    def __init__(self, **options: Any) -> None:
        """`options`: those of `Console`, but for markup, codes of emoji and highlighting, which are never read."""
        super().__init__(**{**options, "markup": False, "emoji": False, "highlight": False})

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Yield the segments of what is printed, with harmless texts."""
        for segment in super().render(_on_one_line(renderable), options):
            yield (
                segment
                if segment.control or (segment.text.isascii() and segment.text.isprintable())
                else segment._replace(text=neutral(segment.text))
            )

    def print_lines(self, text: str) -> None:
        """Print lines that the suite has written, none of which is broken."""
        for line in text.split("\n"):
            self.print(line, soft_wrap=True)


class Lines:
    """Several lines of text in one cell."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._lines = tuple(neutral_line(one) for one in lines)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield from map(Text, self._lines)

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        return Text("\n".join(self._lines)).__rich_measure__(console, options)


def _on_one_line(renderable: RenderableType) -> RenderableType:
    if isinstance(renderable, str):
        return neutral_line(renderable)
    if isinstance(renderable, Text) and (line := neutral_line(renderable.plain)) != renderable.plain:
        found = renderable.copy()
        found.plain = line
        return found
    return renderable
