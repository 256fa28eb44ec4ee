"""Prints verdicts: on a terminal so that they fit a screen, in a pipe as lines."""

from __future__ import annotations

from textwrap import wrap

from conformance.reporting.console import CarefulConsole
from conformance.reporting.lines import lines
from conformance.reporting.screen import LINES, screen, summaries
from conformance.reporting.tables import tables_of_columns
from conformance.reporting.verdicts import Remark, Verdicts

BELOW = 3
"""How many lines most commands print below the verdicts: the exit status, and where the files are."""


def print_verdicts(console: CarefulConsole, verdicts: Verdicts, everything: bool = False, below: int = BELOW) -> None:
    """Print what failed, then what passed, then a summary of each implementation.

    `everything`: also print the verdict on every property, all causes, and what remarks have to say in full.
    `below`: how many lines the command will print below that.
    """
    if console.is_terminal:
        taken = _lines_of_remarks_and_summaries(verdicts, console.width) + below
        for line in screen(verdicts, console.width, LINES - taken, everything):
            console.print(line, soft_wrap=True)
        if everything:
            columns = [column for one in verdicts.tried for column in one.columns]
            for table in tables_of_columns(columns, order=verdicts.components):
                console.print(table)
    else:
        for words in lines(verdicts, everything):
            console.print(words, soft_wrap=True)
    for remark in verdicts.remarks:
        _print_remark(console, remark, everything)
    for line in summaries(verdicts.tried, in_full=not console.is_terminal):
        console.print(line, soft_wrap=not console.is_terminal)


def _lines_of_remarks_and_summaries(verdicts: Verdicts, width: int) -> int:
    """Return how many lines of a terminal are printed below the table if not everything is asked for."""
    sentences = [line.plain for line in summaries(verdicts.tried, in_full=False)]
    shown = 0
    for remark in verdicts.remarks:
        sentences.append(remark.sentence)
        sentences += [f"  {line}" for line in remark.lines[: remark.few]]
        shown += remark.few > 0 and len(remark.lines) > remark.few  # and how many more there are
    return shown + sum(len(wrap(one, width, break_on_hyphens=False)) for one in sentences)


def _print_remark(console: CarefulConsole, remark: Remark, everything: bool) -> None:
    # In a pipe, no line is broken, so that it can be searched for.
    whole = not console.is_terminal
    console.print(remark.sentence, soft_wrap=whole)
    if everything and remark.table is not None and console.is_terminal:
        console.print(remark.table)
        return
    shown = remark.lines if everything else remark.lines[: remark.few]
    for line in shown:
        console.print(f"  {line}", soft_wrap=whole)
    if remark.few and (left := len(remark.lines) - len(shown)):
        console.print(f"  and {left:,} more")
