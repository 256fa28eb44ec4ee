"""A console on which nothing that is printed can do anything to the terminal.

Texts of implementations appear in many places: in what was observed, in names, in logs. Only the console knows which
escape sequences are its own.
"""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from conformance.system.text import neutral


class CarefulConsole(Console):
    """Shows control characters instead of writing them to the terminal. Its own colours and cursor moves work."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Yield the segments of what is printed, with harmless texts."""
        for segment in super().render(renderable, options):
            yield (
                segment
                if segment.control or segment.text.isprintable()
                else segment._replace(text=neutral(segment.text))
            )
