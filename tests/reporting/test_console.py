"""What an implementation says does nothing to the terminal on which it is printed."""

from __future__ import annotations

from io import StringIO

import pytest
from rich.table import Table
from rich.text import Text

from conformance.ports import Examined
from conformance.reporting.console import CarefulConsole, Lines
from conformance.reporting.examined import examined_row

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
    console = CarefulConsole(file=file, force_terminal=True, color_system="standard")
    console.print(Text.assemble(("x", "red"), "[red]y"))
    assert file.getvalue() == "\x1b[31mx\x1b[0m[red]y\n"


FORGED = "mine\nconforms gate everything reference\u2028\u202e\u200b\x85"


def in_a_table() -> Table:
    made = Table(FORGED, title=FORGED, caption=FORGED)
    made.add_row(Text.assemble((FORGED, "bold"), FORGED))
    made.add_row(Lines([FORGED, "below"]))
    return made


@pytest.mark.parametrize("what", [FORGED, Text(FORGED, "red"), in_a_table()], ids=["words", "text", "table"])
def test_a_text_stays_on_its_line_and_all_of_it_is_seen(what):
    file = StringIO()
    console = CarefulConsole(file=file, width=500)
    console.print(what)
    console.print_lines(f"ours\n{FORGED.replace(chr(10), '')}")
    lines = file.getvalue().split("\n")
    assert not any(line.strip().startswith("conforms") for line in lines)
    seen = "mine\\nconforms gate everything reference\\u2028\\u202e\\u200b\\x85"
    assert any(seen in line for line in lines)
    assert all(line.isprintable() for line in lines)


def test_what_a_program_wrote_without_a_blank_is_shown_to_its_end():
    file = StringIO()
    answer = '{"outcome":{"error":{"kind":"IOException","reason":"the"}},"type":"outcome","last":true}'
    CarefulConsole(file=file, width=80).print(examined_row(Examined("results", f"It answered {answer}: why.", "This.")))
    printed = file.getvalue()
    assert answer in "".join(printed.split()).replace("Itanswered", "")
    assert max(map(len, printed.splitlines())) <= 80
