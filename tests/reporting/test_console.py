"""What an implementation says does nothing to the terminal on which it is printed."""

from __future__ import annotations

from io import StringIO

import pytest
from rich.table import Table

from conformance.reporting.console import CarefulConsole

HOSTILE = "\x1b[2J\x1b]0;title\x07gone\r\x9b31m"


def table() -> Table:
    made = Table("what")
    made.add_row(HOSTILE)
    return made


@pytest.mark.parametrize("what", [HOSTILE, table()], ids=["text", "table"])
@pytest.mark.parametrize("terminal", [False, True])
@pytest.mark.parametrize("markup", [False, True])
def test_no_escape_sequence_gets_through(what, terminal, markup):
    file = StringIO()
    console = CarefulConsole(file=file, force_terminal=terminal, width=100, highlight=False, color_system=None)
    console.print(what, markup=markup, soft_wrap=True)
    printed = file.getvalue()
    assert "\\x1b[2J" in printed
    assert not {"\x07", "\r", "\x9b"} & set(printed)
    assert "\x1b[2J" not in printed
    assert "\x1b]" not in printed


def test_its_own_colours_work():
    file = StringIO()
    CarefulConsole(file=file, force_terminal=True, color_system="standard").print("[red]x[/red]\ty")
    assert file.getvalue() == "\x1b[31mx\x1b[0m       y\n"
