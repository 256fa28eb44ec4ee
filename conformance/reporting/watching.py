"""Shows the progress of a campaign that another process runs, as it changes."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from rich.console import Group
from rich.live import Live
from rich.text import Text

from conformance.campaigns import Status
from conformance.campaigns.names import SEARCHED
from conformance.campaigns.status import FoundSoFar
from conformance.driver import Components
from conformance.reporting.campaign import status_lines
from conformance.reporting.console import CarefulConsole


def watch_status(
    console: CarefulConsole, states: Iterable[Status], folder: Path, components: Components = SEARCHED
) -> Status:
    """Show each state until there is no other one, then print the last one, and return it. There is at least one.

    On a terminal the newest takes the place of the one before. Elsewhere, as in the log of a build, there is a line for
    each wave, and one for each failure when it is first there.
    """
    if console.is_terminal:
        last = _on_screen(console, states, folder, components)
        lines = status_lines(last, folder, components)
    else:
        last = _in_lines(console, states, folder)
        lines = status_lines(last, folder, components)[1:]  # this one is there
    for line in lines:
        console.print(line, soft_wrap=True)
    return last


def _on_screen(console: CarefulConsole, states: Iterable[Status], folder: Path, components: Components) -> Status:
    with Live(console=console, auto_refresh=False, transient=True) as shown:
        for state in states:
            first, *more, last = status_lines(state, folder, components)
            shown.update(Group(*map(Text, (first, last, *more))), refresh=True)  # a low terminal cuts off the end
    return state


def _in_lines(console: CarefulConsole, states: Iterable[Status], folder: Path) -> Status:
    known: set[tuple[str, ...]] = set()
    blocks = -1
    for state in states:
        new = [one for one in state.found if _name(one) not in known]
        known.update(map(_name, new))
        if state.blocks != blocks or new:
            first, *_ = status_lines(state, folder)
            console.print(first, soft_wrap=True)
            blocks = state.blocks
        for one in new:
            what = f"{one.property} ({one.failure_class}, at {one.operation})"
            console.print(f"new: {one.implementation} {one.component}: {what}", soft_wrap=True)
    return state


def _name(one: FoundSoFar) -> tuple[str, ...]:
    return one.implementation, one.component, one.property, one.failure_class, one.operation
