"""`conformance properties` and `conformance implementations`."""

from __future__ import annotations

from collections.abc import Sequence
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
from conformance.driver import Component
from conformance.engines.apart import find
from conformance.ports import (
    UnusableImplementation,
    known_bugs,
    registered_names,
)
from conformance.reporting.status import CONFORMS
from conformance.scenarios import read_text


@click.command(short_help="List the properties, each with its rule.")
@component_option
@click.option(
    "--specification", "folder", metavar="FOLDER", type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Write at the end of each chapter in FOLDER which properties and known bugs belong to which rule.",
)  # fmt: skip
@json_option
def properties(components: tuple[str, ...], folder: Path | None, json_path: Path | None) -> int:
    """List the properties, each with the rule of the specification that it judges."""
    check_components(components)
    chosen = [COMPONENTS[name] for name in components or COMPONENTS]
    if folder is not None:
        _write_judged(folder, chosen)
    reporting.print_properties(out, chosen)
    if json_path is not None:
        reporting.write_json(json_path, reporting.properties_document(chosen))
    return CONFORMS


def _write_judged(folder: Path, components: Sequence[Component]) -> None:
    """Write the generated part of each chapter. Raises: UsageError, before it writes, if a chapter is missing."""
    texts = {}
    for component in components:
        file = folder / reporting.chapter_file(component.name)
        if not file.is_file():
            raise click.UsageError(f"{folder} has no {file.name}, the chapter of {component.name}")
        texts[file] = reporting.with_judged(read_text(file), component, known_bugs())
    for file, text in texts.items():
        reporting.write_text(file, text)


@click.command(short_help="List the implementations that can be tested.")
@json_option
def implementations(json_path: Path | None) -> int:
    """List the registered implementations, with the reason if one cannot be used here."""
    rows = []
    for name in registered_names():
        try:
            implementation = find(name)
            with closing(implementation):
                rows.append(reporting.implementation_row(name, implementation))
        except UnusableImplementation as error:
            rows.append(reporting.unusable_row(name, str(error)))
    reporting.print_implementations(out, rows)
    if json_path is not None:
        reporting.write_json(json_path, reporting.implementations_document(rows))
    return CONFORMS
