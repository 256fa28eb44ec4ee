"""The result of a campaign as tables: the data of its `result.json`, nothing else."""

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


def campaign_tables(result: Mapping[str, Any] | Struct, statements: bool = False) -> list[RenderableType]:
    """Verdicts, findings, differences, what was lost, and a summary line per implementation.

    Takes the result as an object or as the dictionary that its JSON is.
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
        "No violations, but somebody should know. steps: of the shortest scenario known, up to the difference.",
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
            Slug(one["implementation"]), Slug(one["component"]), operation, one["field"], f"{one['count']:,}",
            str(one["steps"]),
        )  # fmt: skip
    return table


def _lost(blocks: list[Mapping[str, Any]]) -> Table:
    table = simple_table(
        f"Lost: {sum(one['count'] for one in blocks):,} scenarios", "Nothing is known of them; they count as crashed."
    )
    table.add_column("component")
    table.add_column("scenarios", justify="right")
    table.add_column("reason", ratio=1)
    for one in blocks:
        last = one["first"] + one["count"] - 1
        table.add_row(Slug(one["component"]), f"{one['first']}-{last}", Text(plain(one["reason"])))
    return table


def status_lines(now: Status, folder: Path) -> list[str]:
    """How far a campaign is, for people."""
    planned = "as many as there is time for" if now.planned is None else f"{now.planned:,}"
    lines = [f"{now.blocks:,} blocks of {planned} committed: {now.scenarios:,} scenarios, {now.steps:,} steps."]
    lines += [
        f"{one.implementation} {one.component}: {one.property} ({one.failure_class}, at {one.operation}) failed in "
        f"{one.count:,}, the shortest so far with {one.steps} steps."
        for one in now.found
    ]
    lines += [f"Lost: {one}." for one in now.lost]
    if now.finished:
        lines.append(f"It has ended; see: conformance campaign report {shlex.quote(str(folder))}")
    elif now.held_by is not None:
        lines.append(f"It is being run by {now.held_by}.")
    else:
        lines.append(f"Nobody runs it. Go on with: conformance campaign resume {shlex.quote(str(folder))}")
    return lines
