"""A console for what the suite prints below the summary of pytest."""

from __future__ import annotations

import io
from shutil import get_terminal_size

import pytest

from conformance.reporting.console import CarefulConsole


def console_of(reporter: pytest.TerminalReporter) -> tuple[CarefulConsole, io.StringIO]:
    """Return a console that prints as the terminal of pytest would show it, and the text that it has printed."""
    text = io.StringIO()
    console = CarefulConsole(
        file=text,
        width=get_terminal_size().columns,
        force_terminal=bool(reporter.isatty),
        color_system="standard" if reporter.hasmarkup else None,
    )
    return console, text
