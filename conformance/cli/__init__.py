"""The command line. What a command prints is for people and may change; the format that `--json` writes is stable.

Exit status: 0 conforms, 1 a violation was found, 2 the call or a file was wrong, 3 inconclusive. If several apply, 2
wins over 1, 1 over 3, and 3 over 0. An error of the suite itself is 70. 74 stands for a file that the machine refused
to write, because the disk is full for example, 130 for Ctrl-C and SIGTERM, and 141 for output that nobody reads any
more.
"""

from __future__ import annotations

import atexit
import io
import shlex
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from typing import NoReturn

import click

from conformance import __version__, campaigns
from conformance.cli.campaigning import campaign
from conformance.cli.catalogues import implementations, properties
from conformance.cli.child import Child
from conformance.cli.documentation import docs
from conformance.cli.episodes import episodes
from conformance.cli.examining import audit, doctor
from conformance.cli.explaining import explain
from conformance.cli.guarding import Guarded
from conformance.cli.internal import told
from conformance.cli.judging import judge
from conformance.cli.known_bugs import bugs
from conformance.cli.legal_variants import variants
from conformance.cli.one_scenario import replay_command, shrink
from conformance.cli.options import conclude, drop_unwritable_output, flush, notes, say
from conformance.cli.promoting import promote
from conformance.cli.searching import check, explore
from conformance.ports import NotChosen, UnusableImplementation
from conformance.reporting.status import CONFORMS, INTERNAL, INTERRUPTED, NOT_WRITTEN, USAGE
from conformance.scenarios import SchemaError
from conformance.system.garbage import spare_what_is_loaded
from conformance.system.supervisor import end_descendants
from conformance.system.termination import as_ctrl_c
from conformance.system.text import indented, is_neutral_line
from conformance.system.writing import told_by

_SECONDS_TO_END = 5.0
"""How long to wait for processes that do not end although they were killed."""


def main(arguments: Sequence[str] | None = None, child: Child | None = None) -> NoReturn:
    """Run a command and exit. An error is printed as one paragraph: an expected one with exit status 2.

    `child`: what it knows if another process guards this one.
    """
    given = sys.argv[1:] if arguments is None else list(arguments)
    is_own = arguments is None
    if is_own:  # the process is that of the command, so that whatever is below it was started by the command
        atexit.register(end_descendants, _SECONDS_TO_END)
    if is_own or child is not None:
        spare_what_is_loaded()
    try:
        with as_ctrl_c() if is_own else nullcontext():
            status = cli.main(args=given, standalone_mode=False, obj=child)
        flush()
    except click.exceptions.Abort:
        say("interrupted; no incomplete file was left behind")
        conclude(INTERRUPTED)
    except click.ClickException as error:
        _show(error)
        conclude(USAGE)
    except campaigns.CampaignInterrupted as error:
        say(str(error))
        conclude(INTERRUPTED)
    except NotChosen as error:
        say(f"{error}{_line_to_paste(given, error.names)}")
        conclude(USAGE)
    except (UnusableImplementation, SchemaError, campaigns.CampaignError) as error:
        say(str(error))
        conclude(USAGE)
    except Exception as error:
        if (refused := told_by(error)) is not None:
            drop_unwritable_output()
            say(str(refused))
            conclude(NOT_WRITTEN)
        if isinstance(error, OSError) and error.filename is not None:
            say(f"{error.filename}: {error.strerror}")
            conclude(USAGE)
        say(told(error, given))
        conclude(INTERNAL)
    conclude(status or CONFORMS)


def _show(error: click.ClickException) -> None:
    """Print a wrong call as click does, with harmless text."""
    shown, message = io.StringIO(), error.format_message()
    error.show(shown)
    notes.print_lines(shown.getvalue().removesuffix("\n").replace(message, indented(message)))


def _line_to_paste(arguments: Sequence[str], names: Sequence[str]) -> str:
    """Return the same command with these implementations, unless something in their names cannot be seen."""
    if not all(map(is_neutral_line, names)):
        return " Look into the file: the name has characters that cannot be seen."
    words = ["conformance", *arguments, *(word for name in names for word in ("--implementation", name))]
    return f" For example:\n{shlex.join(words)}"


@click.group(cls=Guarded, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="conformance")
def cli() -> None:
    """Test the checkpointing and recovery of stream processors."""


for _command in (
    check,
    explore,
    replay_command,
    shrink,
    bugs,
    variants,
    properties,
    implementations,
    doctor,
    explain,
    audit,
    episodes,
    judge,
    campaign,
    docs,
):
    cli.add_command(_command)
campaign.add_command(promote)
