"""What a list of known failures came to, in words."""

from __future__ import annotations

from rich.console import Console

from conformance.engines import Standing


def print_standing(console: Console, name: str, standing: Standing) -> None:
    """A line for each entry that still fails, and one for each that stopped."""
    for entry in sorted(standing.failing, key=lambda entry: (entry.property, entry.failure_class)):
        said = f"{name}: {entry.property} fails as is known: {entry.ticket}, {entry.reason}."
        console.print(said, markup=False, soft_wrap=True)
    for entry in standing.fixed:
        said = f"{name}: {entry.property} does not fail any more as {entry.ticket} recorded it: take it off the list."
        console.print(said, markup=False, soft_wrap=True)
