"""Prints what there is, properties and implementations: tables on a terminal, and in a pipe a line for each."""

from __future__ import annotations

from collections.abc import Iterable

from conformance.driver import Component, Property
from conformance.reporting.console import CarefulConsole
from conformance.reporting.documents import ImplementationRow
from conformance.reporting.specification import specification_reference
from conformance.reporting.tables import implementation_table, level_of, property_tables
from conformance.reporting.words import plain


def print_properties(console: CarefulConsole, components: Iterable[Component]) -> None:
    """Print the properties. A line has the level, the component, the slug, where the rule stands, and the statement."""
    chosen = list(components)
    if console.is_terminal:
        for table in property_tables(chosen):
            console.print(table)
        return
    for component in chosen:
        for one in component.properties:
            console.print(_property_line(component, one), soft_wrap=True)


def _property_line(component: Component, one: Property) -> str:
    level = level_of(one.level.value, one.kind.value).replace(" ", "-")
    needs = f" Needs {', '.join(sorted(one.needs))}." if one.needs else ""
    origin = " ".join((specification_reference(one), *one.tickets)).strip()
    where = f" ({origin})" if origin else ""
    return plain(f"{level} {component.name} {one.slug}{where}: {one.statement}{needs}")


def print_implementations(console: CarefulConsole, rows: Iterable[ImplementationRow]) -> None:
    """Print the registered implementations. The first word of a line says whether it can be used, the second is it."""
    if console.is_terminal:
        console.print(implementation_table(rows))
        return
    for row in rows:
        offered = f"{', '.join(row.components) or 'no components'}; {', '.join(row.capabilities) or 'no capabilities'}"
        name = f"{row.name} {row.version}".rstrip()
        words = f"usable {name}: {offered}" if row.usable else f"unusable {name}: {row.reason}"
        console.print(plain(words), soft_wrap=True)
