"""`conformance doctor`: checks an adapter before a search. `conformance audit`: checks a folder of channel state."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from conformance import reporting
from conformance.cli.guarding import guarded, in_an_examination, saying
from conformance.cli.options import Time, in_process_option, json_option, memory_option, out, step_seconds_option
from conformance.engines.doctor import examine
from conformance.engines.stored import audit_folder
from conformance.ports import Implementation, Limits, find_implementation
from conformance.reporting.status import CONFORMS, INCONCLUSIVE, VIOLATION


@click.command(short_help="Say what an adapter does wrong, in the order to fix it.")
@click.option(
    "--implementation", "name", metavar="NAME", required=True,
    help="A registered name, NAME@VERSION, module:object, jsonl:COMMAND, known-bug:ID or legal-variant:ID.",
)  # fmt: skip
@step_seconds_option
@memory_option
@in_process_option
def doctor(name: str, step_seconds: float, memory: int, in_process: bool) -> int:
    """Say what an adapter does wrong, in the order in which to fix it: nothing is wrong (0), something is wrong (1).

    This command does not search for bugs. It checks what a search relies on.
    """
    limits = Limits(step_seconds, memory)
    if not in_process and (status := guarded(name, limits, in_an_examination)) is not None:
        return status

    def make() -> Implementation:
        implementation = find_implementation(name)
        implementation.limit(limits)
        return implementation

    wrong = 0
    for one in examine(make, say=saying()):
        out.print(reporting.examined_row(one))
        wrong += one.wrong
    for line in reporting.examined_lines(wrong, shlex.quote(name)):
        out.print(line, soft_wrap=True)
    return VIOLATION if wrong else CONFORMS


@click.command(short_help="Look for damage in the channel state of checkpoints.")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "--implementation", "name", metavar="NAME",
    help="The implementation that wrote the folder in a format of its own, instead of the format of the suite.",
)  # fmt: skip
@click.option(
    "--step-seconds", type=Time(), default=600.0, show_default=True,
    help="How long the implementation may take for the whole folder.",
)  # fmt: skip
@memory_option
@in_process_option
@json_option
def audit(
    folder: Path, name: str | None, step_seconds: float, memory: int, in_process: bool, json_path: Path | None
) -> int:
    """Read the channel state files of checkpoints in FOLDER and below: nothing is damaged (0), something is (1),
    something was not read or nothing was there to check (3).

    The format of the suite is described in docs/channel-state-files.md. With --implementation flink-component@2.3.0,
    checkpoints of Flink are read; of all other state in them, the files must be there.
    """
    limits = Limits(step_seconds, memory)
    if name is not None and not in_process and (status := guarded(name, limits, in_an_examination)) is not None:
        return status
    say = saying()
    implementation = None
    if name is not None:
        implementation = find_implementation(name)
        implementation.limit(limits)
    say("when it read the folder")
    found = audit_folder(folder, implementation)
    say("")
    out.print(reporting.audit_table(found))
    for line in reporting.audit_lines(found):
        out.print(line, soft_wrap=True)
    if json_path is not None:
        reporting.write_json(json_path, reporting.audit_document(found))
    if found.damaged:
        return VIOLATION
    return CONFORMS if found.is_anything and not found.unread else INCONCLUSIVE
