"""Shows results as tables: verdicts, findings, the kill matrix, the catalogues."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from conformance.components import COMPONENTS
from conformance.driver import Component, Kind, Level
from conformance.engines import Check
from conformance.reporting.columns import Column, Word, by_component, column_of_check
from conformance.reporting.documents import BugRow, ImplementationRow
from conformance.reporting.looks import BAD, FAINT, OPEN, WORD_STYLES, Slug, simple_table
from conformance.reporting.specification import specification_reference
from conformance.reporting.words import plain

_VERDICT = 14
"""How wide the column of an implementation is: as wide as its longest verdict."""


def verdict_tables(checks: Iterable[Check], statements: bool = False) -> list[RenderableType]:
    """Return for each component a table of verdicts, with one column per implementation, and a table of failures.

    With `statements`, a property is shown by its statement instead of its slug.
    """
    return tables_of_columns([column_of_check(check) for check in checks], statements)


def tables_of_columns(
    columns: Sequence[Column], statements: bool = False, order: Iterable[str] = ()
) -> list[RenderableType]:
    """Return the same tables for these columns. `order`: that of the components, as for `by_component`."""
    shown: list[RenderableType] = []
    for component, alike in by_component(columns, order).items():
        # Three implementations can be read side by side in 80 columns.
        shown += [_verdict_table(component, alike[at : at + 3], statements) for at in range(0, len(alike), 3)]
        if any(column.findings for column in alike):
            shown.append(_findings_table(component, alike))
    return shown


def _verdict_table(component: str, columns: Sequence[Column], statements: bool) -> Table:
    table = simple_table(component, "In brackets: in how many scenarios it was put to the test.")
    table.add_column("property", ratio=1)
    for column in columns:
        table.add_column(Slug(column.label, style="bold"), width=_VERDICT)
    every = dict.fromkeys(one for column in columns for one in column.judged)
    judged = [one for one in every if one.kind != Kind.SOMETIMES.value or not _seen_everywhere(one.slug, columns)]
    for kind in Kind:
        for one in judged:
            if one.kind == kind.value:
                level = level_of(one.level, one.kind)
                below = "" if level == Level.MUST.value else level
                name: RenderableType = Slug(one.slug, below)
                if statements and one.statement:
                    name = Slug(one.statement, below)
                table.add_row(name, *(_cell(column, one.slug) for column in columns))
        table.add_section()
    return table


def _seen_everywhere(slug: str, columns: Sequence[Column]) -> bool:
    """Return whether all implementations have seen this goal, if it applies to them. It has no row then."""
    cells = [column.cells[slug].word for column in columns if slug in column.cells]
    return all(word in (Word.PASSED, Word.NOT_APPLICABLE) for word in cells)


def level_of(level: str, kind: str) -> str:
    """Return the level. A goal binds the search and not the implementation, so its level is not shown."""
    return "to be seen" if kind == Kind.SOMETIMES.value else level


def _cell(column: Column, slug: str) -> RenderableType:
    cell = column.cells.get(slug)
    if cell is None:
        return Text("")
    words = f"{cell.word} ({cell.scenarios:,})" if cell.scenarios else cell.word.value
    if cell.word in (Word.FAILED, Word.KNOWN):
        words = f"{cell.word.shown} in {column.failed_scenarios(slug):,}"
    return Slug(words, cell.why, WORD_STYLES[cell.word])


def _findings_table(component: str, columns: Sequence[Column]) -> Table:
    note = "steps: of the shortest scenario known; seen: in how many scenarios."
    if any(one.steps == 0 for column in columns for one in column.findings):
        note += " 0 steps: the drain that ends every run shows it."
    table = simple_table(f"{component}: what failed", note)
    if len(columns) > 1:
        table.add_column("implementation", overflow="fold")
    table.add_column("property, class, at", ratio=2)
    table.add_column("steps", justify="right")
    table.add_column("seen", justify="right")
    table.add_column("expected; observed", ratio=3)
    for column in columns:
        for one in column.findings:
            who = [Text(column.name)] if len(columns) > 1 else []
            name = Slug(one.property, f"{one.failure_class} at {one.operation}")
            table.add_row(*who, name, str(one.steps), f"{one.count:,}", Text(plain(f"{one.owed}; {one.observed}")))
    return table


def kill_matrix(rows: Sequence[BugRow]) -> Table:
    """Return a table of the known bugs, with the effort to find each of them."""
    found = sum(row.killed for row in rows)
    note = "scen.: scenarios until it was found; steps: of the shortest scenario, after + those of the drain."
    if any(row.optimal_at_least is not None for row in rows):
        note += " In brackets the fewest steps in its configuration: proved, or ≥ if exploration ended before."
    if any(row.seeds > 1 for row in rows):
        note += " With several seeds, the numbers are medians."
    table = simple_table(f"Known bugs: {found} of {len(rows)} found", note)
    table.add_column("bug", no_wrap=True)
    table.add_column("ticket", no_wrap=True)
    table.add_column("noticed by", ratio=3)
    table.add_column("scen.", justify="right", no_wrap=True)
    table.add_column("steps", justify="right", no_wrap=True)
    table.add_column("cpu s", justify="right", no_wrap=True)
    table.add_column("what is wrong", ratio=2)
    for row in rows:
        noticed: RenderableType = Slug(row.found_property or row.property)
        if not row.killed:
            noticed = Slug("SURVIVED", f"{row.property} must notice it", BAD)
        table.add_row(
            Text(row.id), Text(row.ticket), noticed, f"{row.scenarios:,}", steps_of(row), f"{row.cpu_seconds:.2f}",
            Text(row.summary),
        )  # fmt: skip
    return table


def steps_of(row: BugRow) -> str:
    """Return how many steps the minimal scenario of a bug has, those of the drain, and how few there could be."""
    steps = "" if row.minimal_steps is None else f"{row.minimal_steps}"
    if row.drain_steps:
        steps += f"+{row.drain_steps}"
    if row.optimal_at_least is not None:
        steps += f" ({row.optimal_steps})" if row.optimal_steps is not None else f" (≥{row.optimal_at_least})"
    return steps


def property_tables(components: Iterable[Component] = COMPONENTS.values()) -> list[Table]:
    """Return the catalogue of properties, with a table per component."""
    return [_properties_of(component) for component in components]


def _properties_of(component: Component) -> Table:
    properties = component.properties
    table = simple_table(f"{component.name}: {len(properties)} properties")
    table.add_column("property", ratio=2)
    table.add_column("level")
    table.add_column("statement", ratio=3)
    for one in properties:
        origin = " ".join((specification_reference(one), *one.tickets)).strip()
        statement = Text(one.statement)
        if one.needs:
            statement.append(f" Needs {', '.join(sorted(one.needs))}.", style=FAINT)
        level = level_of(one.level.value, one.kind.value)
        style = OPEN if one.level is Level.UNTESTABLE else FAINT
        table.add_row(Slug(one.slug, origin), Text(level, style=style), statement)
    return table


def implementation_table(rows: Iterable[ImplementationRow]) -> Table:
    """Return a table of the registered implementations, with the reason if one cannot be used."""
    table = simple_table("Implementations")
    table.add_column("name", overflow="fold")
    table.add_column("components", ratio=1)
    table.add_column("capabilities", ratio=2)
    for row in rows:
        name = Slug(row.name, row.version)
        if row.usable:
            capabilities = ", ".join(row.capabilities) or "none"
            table.add_row(name, Text(", ".join(row.components) or "none"), Text(capabilities))
        else:
            table.add_row(name, Text("cannot be used", style=OPEN), Text(plain(row.reason)))
    return table
