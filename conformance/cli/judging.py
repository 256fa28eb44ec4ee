"""`conformance judge`: a job that ran elsewhere, by its record."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

import click

from conformance import reporting
from conformance.cli.options import out
from conformance.reporting.status import CONFORMS, INCONCLUSIVE, VIOLATION
from conformance.system.files import opened


@click.command(short_help="Judge a job that ran elsewhere by its record.")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path))
def judge(file: Path) -> int:
    """Judge a job that ran elsewhere by the record of its source, its checkpoints and its sink.

    FILE has JSON Lines (docs/judge.md); - is the standard input. The lines are judged one by one, by the ledger and the
    rules of `conformance episodes`: nothing is wrong (0), something is (1), a line cannot be read (2; what was wrong
    before it is said), or the job was never restored from recovery data, or has not finished (3).
    """
    from conformance.episodes import judging, lines

    source = "standard input" if str(file) == "-" else str(file)
    try:
        if str(file) != "-":
            with opened(file) as open_file:
                verdict = judging.judge(lines.read_lines(open_file, source), source)
        elif sys.stdin is None:
            raise click.UsageError("There is no standard input.")
        else:
            verdict = judging.judge(lines.read_lines(sys.stdin.buffer, source), source)
    except judging.CutShort as error:
        _print(reporting.violation_lines(error.verdict, source))
        raise
    _print(reporting.recorded_lines(verdict, source))
    if verdict.noted:
        return VIOLATION
    return CONFORMS if verdict.restores and verdict.finished else INCONCLUSIVE


def _print(lines: Iterable[str]) -> None:
    for line in lines:
        out.print(line, markup=False, soft_wrap=not out.is_terminal)
