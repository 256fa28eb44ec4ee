"""Writes what became of the legal variants: a table for a terminal, a JSON document, and a Markdown page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import msgspec
from rich.table import Table
from rich.text import Text

from conformance.engines.variants import Trial
from conformance.ports import LegalVariant
from conformance.reporting.divergences import what_differs
from conformance.reporting.documents import DOCUMENT_SCHEMA, Document
from conformance.reporting.looks import BAD, Slug, simple_table
from conformance.reporting.markdown import cell, table
from conformance.reporting.specification import rule_text
from conformance.reporting.words import plain
from conformance.system.packaged import chapter_file
from conformance.system.text import html, markdown_block, markdown_code


@dataclass(frozen=True, slots=True)
class VariantRow:
    """A legal variant, and what became of it."""

    id: str
    component: str
    freedom: str
    """Where the specification allows it, as `gate.md#FG1`."""
    reason: str
    """The sentence of the specification that allows it; empty if the specification is not installed."""
    summary: str
    accused: bool
    property: str | None
    """The property that accused it."""
    observed: str | None
    """What that property owed and observed."""
    scenarios: int
    differs: bool
    difference: str | None
    """The first step, in a scenario, at which its history differs from that of its original, and in what."""
    change: str = ""
    found_with: str = ""
    """The digest of the code and of the settings that this depends on; empty if nobody can say."""


def variant_row(variant: LegalVariant, trial: Trial, found_with: str = "") -> VariantRow:
    """Return the row of a variant."""
    found, difference = trial.found[0] if trial.found else None, trial.difference
    return VariantRow(
        variant.id, variant.component, *_allowed_by(variant), variant.summary, trial.accused,
        None if found is None else found.slug, None if found is None else f"{found.owed}; {found.observed}",
        trial.scenarios, difference is not None,
        None if difference is None else f"{difference.group.operation}: {what_differs(difference)}", variant.change,
        found_with,
    )  # fmt: skip


def with_words_of_variant(row: VariantRow, variant: LegalVariant) -> VariantRow:
    """Return an earlier row with what is said of the variant today."""
    freedom, reason = _allowed_by(variant)
    return replace(row, freedom=freedom, reason=reason, summary=variant.summary)


def _allowed_by(variant: LegalVariant) -> tuple[str, str]:
    """Return where the specification allows it, and the sentence."""
    chapter = f"{chapter_file(variant.component)}#{variant.freedom}"
    return chapter, rule_text(variant.component, variant.freedom) or ""


def variants_document(rows: Iterable[VariantRow]) -> Document:
    """Return the rows as data."""
    return {"schema": DOCUMENT_SCHEMA, "variants": [msgspec.to_builtins(row) for row in rows]}


def variants_table(rows: Sequence[VariantRow]) -> Table:
    """Return the rows as a table."""
    shown = simple_table(
        f"Legal variants: {sum(row.accused for row in rows)} of {len(rows)} accused",
        "differs: the step of some scenario at which the history is not that of the original.",
    )
    shown.add_column("variant", no_wrap=True)
    shown.add_column("allowed by", no_wrap=True)
    shown.add_column("accused by", ratio=2)
    shown.add_column("scen.", justify="right", no_wrap=True)
    shown.add_column("differs", ratio=2)
    shown.add_column("what it does in its own way", ratio=3)
    for row in rows:
        accused = Slug("ACCUSED", row.property, BAD) if row.property else Text("nobody")
        shown.add_row(
            Text(row.id), Text(row.freedom), accused, f"{row.scenarios:,}", Text(row.difference or "NOWHERE"),
            Text(row.summary),
        )  # fmt: skip
    return shown


def variants_text(rows: Sequence[VariantRow], remarks: Sequence[str] = ()) -> str:
    """Return the rows as a Markdown page. `remarks` are sentences that a reader must know before all others."""
    accused = [row for row in rows if row.accused]
    scenarios = min((row.scenarios for row in rows), default=0)
    sections = [
        "# Legal variants",
        *(f"**{cell(one)}**" for one in remarks),
        "Each legal variant is a change of the reference that the specification allows. The properties must accuse "
        "none of them: an accusation is a false alarm. The [kill matrix](kill-matrix.md) is the counterpart of this "
        "page: there each change is a bug, and a property must notice it.",
        f"{len(accused)} of {len(rows)} legal variants were accused in at least {scenarios:,} scenarios each, and "
        f"{sum(row.differs for row in rows)} of {len(rows)} differ from the reference in the history of some scenario.",
    ]
    for component in dict.fromkeys(row.component for row in rows):
        mine = [row for row in rows if row.component == component]
        listed = [
            (
                cell(row.id), markdown_code(row.freedom), cell(row.summary),
                f"**{markdown_code(row.property or '')}**" if row.accused else "nobody", f"{row.scenarios:,}",
                cell(row.difference) if row.difference else "**nowhere**",
            )
            for row in mine
        ]  # fmt: skip
        head = ("variant", "allowed by", "what it does in its own way", "accused by", "scenarios", "differs at")
        sections += [f"## {cell(component)}", table(head, listed)]
        sections += [
            f"<details><summary>{html(row.id)}: {html(plain(row.summary))}</summary>\n\n{row.reason}\n\n"
            f"{markdown_block(row.change, 'diff')}\n\n</details>"
            for row in mine
            if row.change
        ]
    return "\n\n".join(sections) + "\n"
