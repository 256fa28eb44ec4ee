"""What the rows of known bugs and legal variants depend on, so that a command can leave out what is known already."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from conformance.campaigns.searched_code import search_digest
from conformance.ports import KnownBug, LegalVariant
from conformance.ports.registry import own_points
from conformance.system.text import neutral_line


def row_digests(entries: Iterable[KnownBug | LegalVariant], group: str, asked: Any, is_kept: bool) -> dict[str, str]:
    """Returns by its id what the row of each entry depends on; empty if it is not the suite's own.

    `group`: that of their entry points; `asked`: what is found out about each of them; `is_kept`: whether anybody
    reads the digests, which take a second. All are empty otherwise.
    """
    own = {one.id for point in own_points(group) for one in point.load()} if is_kept else ()
    return {one.id: search_digest(one.component, [_about(one), asked]) if one.id in own else "" for one in entries}


def check_earlier(earlier: Path | None, names: Iterable[str]) -> None:
    """Raises a click.UsageError if a name is not an id of a catalogue, by which an earlier row could be found."""
    stranger = next((name for name in names if ":" in name), None) if earlier is not None else None
    if stranger is not None:
        raise click.UsageError(f"--earlier has rows by id, and {neutral_line(stranger)} is no id of a catalogue")


def _about(entry: KnownBug | LegalVariant) -> list[str]:
    expected = entry.property if isinstance(entry, KnownBug) else ""
    return [entry.id, entry.shape, entry.change, expected]
