"""Shows a progress bar on a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn


@contextmanager
def progress_bar(console: Console, what: str, total: int | None) -> Iterator[Callable[[int, int], None]]:
    """Show a progress bar while the `with` block runs. Nothing is shown if the console is not a terminal.

    Yield a function that sets the progress: its arguments are the counts before the present part and within it.
    """
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(what, total=total)
        yield lambda before, within: bar.update(task, completed=before + within)
