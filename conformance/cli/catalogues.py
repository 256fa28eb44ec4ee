"""`conformance properties` and `conformance implementations`."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import click

from conformance import reporting
from conformance.cli.options import (
    check_components,
    component_option,
    json_option,
    out,
)
from conformance.components import COMPONENTS
from conformance.ports import (
    UnusableImplementation,
    find_implementation,
    registered_names,
)
from conformance.reporting.status import CONFORMS


@click.command()
@component_option
@json_option
def properties(components: tuple[str, ...], json_path: Path | None) -> int:
    """The catalogue of properties."""
    check_components(components)
    chosen = [COMPONENTS[name] for name in components or COMPONENTS]
    for table in reporting.property_tables(chosen):
        out.print(table)
    if json_path is not None:
        reporting.write_json(json_path, reporting.properties_document(chosen))
    return CONFORMS


@click.command()
@json_option
def implementations(json_path: Path | None) -> int:
    """The registered implementations; one that cannot be used here says why."""
    rows = []
    for name in registered_names():
        try:
            implementation = find_implementation(name)
            with closing(implementation):
                rows.append(reporting.implementation_row(name, implementation))
        except UnusableImplementation as error:
            rows.append(reporting.unusable_row(name, str(error)))
    out.print(reporting.implementation_table(rows))
    if json_path is not None:
        reporting.write_json(json_path, reporting.implementations_document(rows))
    return CONFORMS
