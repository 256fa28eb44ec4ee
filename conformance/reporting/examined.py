"""Shows the results of `conformance doctor`, one row at a time."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from conformance.ports import Examined
from conformance.reporting.looks import BAD, FAINT, GOOD
from conformance.reporting.words import plain

WRONG = "WRONG"
"""In capitals, to be noticed without colour, too."""


def examined_row(one: Examined) -> Table:
    """Return what was examined and the result and, if it is wrong, how to fix it."""
    word, style = (WRONG, BAD) if one.wrong else ("note", FAINT) if one.noted else ("ok", GOOD)
    row = Table.grid(padding=(0, 1))
    row.add_column(width=len(WRONG), no_wrap=True)
    row.add_column(ratio=1, overflow="fold")  # a line that a program wrote is one long word: its end is not cut off
    row.add_row(Text(word, style=style), Text.assemble((one.what, "bold"), ". ", plain(one.found)))
    if one.wrong:
        row.add_row("", Text(f"Do this: {plain(one.cure)}"))
    return row


def examined_lines(wrong: int, implementation: str) -> list[Text]:
    """Say how many things are wrong, and which command to run next."""
    check = f"conformance check --implementation {implementation}"
    if not wrong:
        return [
            Text.assemble(("The adapter does nothing wrong.", GOOD), " Now search for bugs:"),
            Text(f"  {check}"),
        ]
    things = "One thing is" if wrong == 1 else f"{wrong} things are"
    return [
        Text.assemble((f"{things} {WRONG}.", BAD), " Fix the first one, and run this command again:"),
        Text(f"  conformance doctor --implementation {implementation}"),
        Text("When nothing is wrong, search for bugs:"),
        Text(f"  {check}"),
    ]
