"""Shows the result of a campaign as tables. It reads only the data of `result.json`."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from conformance.campaigns import Status
from conformance.reporting.columns import columns_of_result
from conformance.reporting.looks import Slug, simple_table
from conformance.reporting.tables import lines_of_columns, tables_of_columns
from conformance.reporting.words import plain

_FEW = 20
"""How many lost blocks are listed."""


def campaign_tables(result: Mapping[str, Any] | Struct, statements: bool = False) -> list[RenderableType]:
    """Return tables of verdicts, findings, differences and lost blocks, and a summary line per implementation.

    `result` is the object, or the dictionary that was read from its JSON.
    """
    document: Mapping[str, Any] = result if isinstance(result, Mapping) else msgspec.to_builtins(result)
    columns = columns_of_result(document)
    shown = tables_of_columns(columns, statements)
    if document.get("differences"):
        shown.append(_differences(document["differences"]))
    if document.get("lost_blocks"):
        shown.append(_lost(document["lost_blocks"]))
    return [*shown, *lines_of_columns(columns)]


def _differences(differences: list[Mapping[str, Any]]) -> Table:
    table = simple_table(
        f"Differences from the first implementation: {len(differences)}",
        "A difference is not a violation. seen: in how many scenarios; steps: of the shortest, up to the difference.",
    )
    table.add_column("implementation", ratio=1)
    table.add_column("component")
    table.add_column("operation", ratio=1)
    table.add_column("field")
    table.add_column("seen", justify="right")
    table.add_column("steps", justify="right")
    for one in differences:
        operation = Text(one["operation"], overflow="fold")
        table.add_row(
            Slug(one["implementation"]), Slug(one["component"]), operation, Text(one["field"]), f"{one['count']:,}",
            str(one["steps"]),
        )  # fmt: skip
    return table


def _lost(blocks: list[Mapping[str, Any]]) -> Table:
    table = simple_table(
        f"Lost: {sum(one['count'] for one in blocks):,} scenarios",
        "They could not be run, so the campaign is inconclusive.",
    )
    table.add_column("component")
    table.add_column("scenarios", justify="right")
    table.add_column("reason", ratio=1)
    for one in blocks[:_FEW]:
        last = one["first"] + one["count"] - 1
        table.add_row(Slug(one["component"]), f"{one['first']}-{last}", Text(plain(one["reason"])))
    if len(blocks) > _FEW:
        table.add_row(f"{len(blocks) - _FEW:,} more", "", "")
    return table


def status_lines(now: Status, folder: Path) -> list[str]:
    """Describe the progress of a campaign in sentences."""
    planned = "an unlimited number of" if now.planned is None else f"{now.planned:,}"
    lines = [f"{now.blocks:,} of {planned} blocks are committed: {now.scenarios:,} scenarios, {now.steps:,} steps."]
    lines += [
        f"{one.implementation} {one.component}: {one.property} ({one.failure_class}, at {one.operation}) failed in "
        f"{one.count:,} scenarios; the shortest so far has {one.steps} steps."
        for one in now.found
    ]
    lines += [f"Lost block: {one}." for one in now.lost[:_FEW]]
    if len(now.lost) > _FEW:
        lines.append(f"{len(now.lost) - _FEW:,} more blocks are lost.")
    if now.finished:
        lines.append(
            f"The campaign has ended. Show the verdicts with: conformance campaign report {shlex.quote(str(folder))}"
        )
    elif now.held_by is not None:
        lines.append(f"The campaign is being run by {now.held_by}.")
    else:
        lines.append(
            f"No process runs the campaign. Continue with: conformance campaign resume {shlex.quote(str(folder))}"
        )
    return lines
