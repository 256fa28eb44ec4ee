"""`conformance doctor`: checks an adapter before a search."""

from __future__ import annotations

import shlex
from functools import partial

import click

from conformance import reporting
from conformance.cli.options import out
from conformance.engines.doctor import examine
from conformance.ports import find_implementation
from conformance.reporting.status import CONFORMS, VIOLATION


@click.command()
@click.option(
    "--implementation", "name", metavar="NAME", required=True,
    help="A registered name, NAME@VERSION, module:object, jsonl:COMMAND, known-bug:ID or legal-variant:ID.",
)  # fmt: skip
def doctor(name: str) -> int:
    """Say what an adapter does wrong, in the order in which to fix it: nothing is wrong (0), something is wrong (1).

    This command does not search for bugs. It checks what a search relies on.
    """
    wrong = 0
    for one in examine(partial(find_implementation, name)):
        out.print(reporting.examined_row(one))
        wrong += one.wrong
    for line in reporting.examined_lines(wrong, shlex.quote(name)):
        out.print(line, soft_wrap=True)
    return VIOLATION if wrong else CONFORMS
