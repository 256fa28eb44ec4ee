"""Shows the result of an audit of stored channel state."""

from __future__ import annotations

from typing import Any

import msgspec
from rich.table import Table
from rich.text import Text

from conformance.models.words import are, many
from conformance.reporting.documents import DOCUMENT_SCHEMA
from conformance.reporting.looks import simple_table
from conformance.state_files import StateAudit
from conformance.system.text import neutral_line

MOST = 20
"""So many channel states, and so many lines of each kind, are shown. The JSON document has all."""


def audit_table(found: StateAudit) -> Table:
    """Return a table of the channel states that could be read."""
    table = simple_table("Channel state")
    for name in ("file", "checkpoint", "subtask", "channel", "records", "bytes"):
        table.add_column(name, justify="left" if name in ("file", "channel") else "right")
    for state in found.states[:MOST]:
        kind = "output" if state.output else "input"
        numbers = "" if state.records is None else f"{state.records:,}", f"{state.size:,}"
        table.add_row(
            Text(neutral_line(state.file)),
            str(state.checkpoint),
            str(state.subtask),
            f"{kind} {state.channel}",
            *numbers,
        )
    return table


def audit_lines(found: StateAudit) -> list[str]:
    """Return one sentence for each thing that is wrong, and one that says what the result means."""
    more = len(found.states) - MOST
    lines = [f"{many(more, 'more channel state')} could be read."] if more > 0 else []
    lines += _first(
        [
            f"{neutral_line(one.file)}{'' if one.offset is None else f', byte {one.offset}'}: {neutral_line(one.what)}"
            for one in found.damaged
        ],
        "more place",
        "wrong",
    )
    unread = [f"{neutral_line(one.file)}, not read: {neutral_line(one.why)}" for one in found.unread]
    lines += _first(unread, "more place", "not read")
    strays = [f"{neutral_line(name)}: no checkpoint in this folder refers to it" for name in found.unreferenced]
    lines += _first(strays, "more file", "of checkpoints to which none in this folder refers")
    if found.deleted:
        lines.append(f"{_were(found.deleted, 'checkpoint')} deleted while the folder was read.")
    read = f"{many(found.files, 'file')} with {many(len(found.states), 'channel state')}"
    if found.others:
        size = sum(one.size for one in found.others)
        read += f" and {many(len(found.others), 'other state')} of {many(size, 'byte')}"
    if found.checkpoints:
        read = f"{many(found.checkpoints, 'checkpoint')}: {read}"
    if found.damaged:
        lines.append(f"DAMAGED: {are(len(found.damaged), 'place')} wrong in {read}.")
    elif found.unread:
        lines.append(f"INCONCLUSIVE: {_were(len(found.unread), 'place')} not read. Nothing is damaged in {read}.")
    elif found.is_anything:
        lines.append(f"Nothing is damaged in {read}.")
    else:
        lines.append("There is no file with state here, so nothing was checked.")
    return lines


def _first(lines: list[str], noun: str, what: str) -> list[str]:
    """The first of these lines, and one that says how many there are more."""
    more = len(lines) - MOST
    return [*lines[:MOST], f"{are(more, noun)} {what}."] if more > 0 else lines


def _were(number: int, noun: str) -> str:
    return f"{many(number, noun)} {'was' if number == 1 else 'were'}"


def audit_document(found: StateAudit) -> dict[str, Any]:
    """Return the result as a JSON document. Its names do not change."""
    return {"schema": DOCUMENT_SCHEMA, **msgspec.to_builtins(found)}
