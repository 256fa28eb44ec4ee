"""Shows how far a command is: a bar on a terminal, and plain lines elsewhere, as in the log of a build."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from conformance.reporting.console import CarefulConsole

Advance = Callable[[int, int], None]
"""Sets the progress: the counts before the present part and within it."""
_TENTHS = 10
_FIRST = 1_000
"""Of what has no end, a line is printed when so much is done, and whenever that has doubled."""


@contextmanager
def progress_bar(console: CarefulConsole, what: str, total: int | None) -> Iterator[Advance]:
    """Show the progress while the `with` block runs, and yield the function that sets it. `total`: None has no end.

    On a terminal there is a bar, which goes away at the end. Elsewhere there is a line for each tenth.
    """
    if not console.is_terminal:
        yield _lines(console, what, total)
        return
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    mine = console.file in (sys.stdout, sys.stderr)  # otherwise these two are not those of the suite
    with Progress(*columns, console=console, transient=True, redirect_stdout=mine, redirect_stderr=mine) as bar:
        task = bar.add_task(what, total=total)
        yield lambda before, within: bar.update(task, completed=before + within)


def _lines(console: CarefulConsole, what: str, total: int | None) -> Advance:
    """Return a function that prints a line for each tenth. The last one is left out: then the result is printed."""
    printed = 0

    def advance(before: int, within: int) -> None:
        nonlocal printed
        done = before + within
        mark = _doublings(done) if total is None else _TENTHS * done // max(total, 1)
        if mark > printed and done != total:
            printed = mark
            words = f"{done:,} so far" if total is None else f"{done:,} of {total:,}"
            console.print(f"{what}: {words}", soft_wrap=True)

    return advance


def _doublings(done: int) -> int:
    return (done // _FIRST).bit_length()
