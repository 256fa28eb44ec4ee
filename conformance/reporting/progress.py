"""A progress bar for whoever waits at a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn


@contextmanager
def progress_bar(console: Console, what: str, total: int | None) -> Iterator[Callable[[int, int], None]]:
    """Show how far something is, for as long as it runs; nothing where nobody looks.

    What it yields is told two counts, whose sum is done of `total`: before the present part, and within it.
    """
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(what, total=total)
        yield lambda before, within: bar.update(task, completed=before + within)
