"""`conformance doctor`: checks an adapter before a search."""

from __future__ import annotations

import shlex

import click

from conformance import reporting
from conformance.cli.guarding import guarded
from conformance.cli.options import in_process_option, memory_option, out
from conformance.engines.doctor import examine
from conformance.ports import Implementation, Limits, find_implementation
from conformance.reporting.status import CONFORMS, VIOLATION


@click.command()
@click.option(
    "--implementation", "name", metavar="NAME", required=True,
    help="A registered name, NAME@VERSION, module:object, jsonl:COMMAND, known-bug:ID or legal-variant:ID.",
)  # fmt: skip
@memory_option
@in_process_option
def doctor(name: str, memory: int, in_process: bool) -> int:
    """Say what an adapter does wrong, in the order in which to fix it: nothing is wrong (0), something is wrong (1).

    This command does not search for bugs. It checks what a search relies on.
    """
    limits = Limits(memory_mib=memory)
    if not in_process and (status := guarded(name, limits, takes_steps=False)) is not None:
        return status

    def make() -> Implementation:
        implementation = find_implementation(name)
        implementation.limit(limits)
        return implementation

    wrong = 0
    for one in examine(make):
        out.print(reporting.examined_row(one))
        wrong += one.wrong
    for line in reporting.examined_lines(wrong, shlex.quote(name)):
        out.print(line, soft_wrap=True)
    return VIOLATION if wrong else CONFORMS
