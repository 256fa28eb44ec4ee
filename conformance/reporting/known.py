"""Prints which known failures still fail, and which do not."""

from __future__ import annotations

from rich.console import Console

from conformance.engines import Standing


def print_standing(console: Console, name: str, standing: Standing) -> None:
    """Print a line for each entry that still fails, and one for each that no longer fails."""
    for entry in sorted(standing.failing, key=lambda entry: (entry.property, entry.failure_class)):
        said = f"{name}: {entry.property} still fails, as the known failure says: {entry.ticket}, {entry.reason}."
        console.print(said, markup=False, soft_wrap=True)
    for entry in standing.fixed:
        said = f"{name}: {entry.property} no longer fails as {entry.ticket} recorded it: remove it from the list."
        console.print(said, markup=False, soft_wrap=True)
