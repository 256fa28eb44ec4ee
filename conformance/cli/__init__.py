"""The command line. Every command reads or makes data; what is printed is for people, what `--json` writes is stable.

Exit status: 0 conforms, 1 a violation was found, 2 the call or a file was wrong, 3 inconclusive; 2 beats 1 beats 3
beats 0.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import NoReturn

import click

from conformance import __version__, campaigns
from conformance.cli.campaigning import campaign
from conformance.cli.catalogues import implementations, properties
from conformance.cli.examining import doctor
from conformance.cli.known_bugs import bugs
from conformance.cli.one_scenario import replay_command, shrink
from conformance.cli.options import say
from conformance.cli.searching import check, explore
from conformance.ports import UnusableImplementation
from conformance.reporting.status import CONFORMS, USAGE
from conformance.scenarios import SchemaError

INTERRUPTED = 130
"""128 + SIGINT, as shells have it."""


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """The entry point: every foreseeable trouble is one paragraph and exit status 2."""
    try:
        status = cli.main(args=None if arguments is None else list(arguments), standalone_mode=False)
    except click.exceptions.Abort:
        say("interrupted; nothing half-written was left behind")
        sys.exit(INTERRUPTED)
    except click.ClickException as error:
        error.show()
        sys.exit(USAGE)
    except campaigns.CampaignInterrupted as error:
        say(str(error))
        sys.exit(INTERRUPTED)
    except (UnusableImplementation, SchemaError, campaigns.CampaignError) as error:
        say(str(error))
        sys.exit(USAGE)
    except OSError as error:
        say(f"{error.filename}: {error.strerror}")
        sys.exit(USAGE)
    sys.exit(status or CONFORMS)


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="conformance")
def cli() -> None:
    """Hold stream processors to what checkpointing and recovery must do."""


for _command in (check, explore, replay_command, shrink, bugs, properties, implementations, doctor, campaign):
    cli.add_command(_command)
