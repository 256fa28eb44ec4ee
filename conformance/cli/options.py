"""What the commands share: options, the two consoles, and checks of the input."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import click

from conformance import reporting
from conformance.cli.destinations import TO_FILE
from conformance.components import COMPONENTS
from conformance.ports import (
    Capability,
    Implementation,
    Limits,
    check_chosen,
    offered_components,
)
from conformance.reporting.console import CarefulConsole
from conformance.scenarios import Scenario
from conformance.system.text import indented

Command = TypeVar("Command", bound=Callable[..., Any])

RUNNERS = ["auto", "inline", "processes", "spark"]


class Concluded(SystemExit):
    """The command ends with this status. A `SystemExit` of another class comes from an implementation."""


def conclude(status: int) -> NoReturn:
    """End the command with this status."""
    raise Concluded(status)


NOBODY_READS = 141
"""128 + SIGPIPE, as shells report it: the reader of the output has gone, as `head` does."""


class _Console(CarefulConsole):
    def on_broken_pipe(self) -> None:
        """Exit without a word, and not with status 1, which means that a violation was found."""
        self.quiet = True
        os.dup2(os.open(os.devnull, os.O_WRONLY), self.file.fileno())
        conclude(NOBODY_READS)


out = _Console(highlight=False)
notes = _Console(stderr=True)


def flush() -> None:
    """Write what is still to be printed. Raises: OSError, which Python would otherwise raise when it is too late."""
    with suppress(ValueError):  # it is closed already
        out.file.flush()


def drop_unwritable_output() -> None:
    """If what was printed cannot be written, as on a full disk, print nothing more, and exit without a second error."""
    try:
        flush()
    except OSError:
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), out.file.fileno())


def say(trouble: str) -> None:
    """Print an error message without breaking lines, so that a path in it can be copied.

    Its lines behind the first are indented: text of an implementation in it must not look like a line of its own.
    """
    notes.print_lines(indented(f"conformance: {trouble}"))


implementation_option = click.option(
    "--implementation", "implementations", metavar="NAME", multiple=True, default=("reference",), show_default=True,
    help="A registered name, NAME@VERSION, module:object, jsonl:COMMAND, known-bug:ID or legal-variant:ID. May be "
    "given more than once.",
)  # fmt: skip
chosen_option = click.option(
    "--implementation", "chosen", metavar="NAME", multiple=True,
    help="Run this one, which the campaign names and which is not built in. May be given more than once.",
)  # fmt: skip
component_option = click.option(
    "--component",
    "components",
    metavar="COMPONENT",
    multiple=True,
    help="Use only this component. May be given more than once.",
)
ctrf_option = click.option(
    "--ctrf", "ctrf_path", metavar="FILE", type=TO_FILE,
    help="Write the verdicts in the Common Test Report Format (JSON), for continuous integration.",
)  # fmt: skip
summary_option = click.option(
    "--summary", "summary_path", metavar="FILE", type=TO_FILE,
    help="Write a summary (Markdown), which continuous integration shows beside a build.",
)  # fmt: skip
master_option = click.option(
    "--master", metavar="URL", help="The Spark master, or a Spark Connect server (sc://…).  [default: this machine]"
)
conf_option = click.option("--conf", multiple=True, metavar="KEY=VALUE", help="A setting of Spark. May be repeated.")
json_option = click.option("--json", "json_path", type=TO_FILE, help="Write the result as JSON.")
earlier_option = click.option(
    "--earlier", "earlier_path", metavar="FILE", type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="What --json wrote earlier. Search only for what has changed since: other code that it depends on, other "
    "options. --report and --json then write the rows of everything.",
)  # fmt: skip
assume_option = click.option(
    "--assume", metavar="CAPABILITY", multiple=True,
    help="Also judge properties that need this capability, on implementations that do not claim it.",
)  # fmt: skip
all_option = click.option(
    "--all",
    "everything",
    is_flag=True,
    help="Also print the verdict on every property, and whatever else was left out.",
)
every_option = click.option(
    "--all", "everything", is_flag=True, help="Print all of them, and not only what went wrong and counts."
)
known_option = click.option(
    "--known-failures", "known_path", metavar="FILE", type=click.Path(path_type=Path),
    help="A list of known failures (TOML). Other failures, and entries that no longer fail, are violations.",
)  # fmt: skip
processes_option = click.option(
    "--processes", type=click.IntRange(1), default=1, show_default=True, help="Search in this many processes at once."
)


class Time(click.FloatRange):
    """An amount of time above 0. `nan`, which is below and above nothing, would be no limit at all."""

    def __init__(self) -> None:
        super().__init__(0, min_open=True)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number."""
        number = super().convert(value, param, ctx)
        return self.fail(f"{value} is no amount of time.", param, ctx) if math.isnan(number) else number


step_seconds_option = click.option(
    "--step-seconds", type=Time(), default=Limits().step_seconds, show_default=True,
    help="How long an operation may take.",
)  # fmt: skip
memory_option = click.option(
    "--memory", type=click.IntRange(1), default=Limits().memory_mib, show_default=True, metavar="MIB",
    help="How much memory the process of an implementation may use, with those that it starts.",
)  # fmt: skip
in_process_option = click.option(
    "--in-process", is_flag=True,
    help="Run implementations in this process and without limits, for a debugger. They can end or stall the command.",
)  # fmt: skip
seed_option = click.option(
    "--seed",
    default="0",
    show_default=True,
    metavar="TEXT",
    help="The seed of the search. Another text gives other scenarios.",
)


def offered_of(implementation: Implementation, components: tuple[str, ...]) -> list[str]:
    """Return the components to test. Raises: click.UsageError if the implementation does not offer one of them."""
    offered = [component for component in COMPONENTS if component in offered_components(implementation)]
    missing = [component for component in components if component not in offered]
    if missing or not offered:
        raise click.UsageError(
            f"{implementation.name} does not offer {', '.join(missing) or 'any component'}; "
            f"it offers {', '.join(offered) or 'none that this suite knows'}"
        )
    return [component for component in offered if not components or component in components]


def check_components(components: tuple[str, ...]) -> None:
    """Raise a click.UsageError if a component does not exist."""
    for component in components:
        try:
            COMPONENTS[component]
        except KeyError as error:
            raise click.UsageError(error.args[0]) from None


def check_page(page: Path) -> None:
    """Raise a click.UsageError if a report cannot have this name."""
    try:
        folder = reporting.scenario_folder(page)
    except ValueError as error:
        raise click.UsageError(f"--report: {error}") from None
    if folder.exists() and not folder.is_dir():
        raise click.UsageError(
            f"--report: {folder} is a file, and the scenarios of {page} go into a folder of that name; "
            "give the report another name, or move the file"
        )


def capabilities_of(names: tuple[str, ...]) -> frozenset[Capability]:
    """Return the capabilities of these names. Raises: click.UsageError if one does not exist."""
    known = {capability.value: capability for capability in Capability}
    meant = [name.replace("_", "-") for name in names]
    for name in meant:
        if name not in known:
            raise click.UsageError(f"there is no capability {name!r}; there are {', '.join(known)}")
    return frozenset(known[name] for name in meant)


def implementation_of(scenario: Scenario, name: str | None, path: Path) -> str:
    """Return the implementation that the user names or, if it is built in, that in the file; otherwise the reference.

    Raises: NotChosen if only the file names it and it is not built in.
    """
    if name is not None:
        return name
    finding = scenario.finding
    named = finding.implementation if finding is not None and finding.implementation else "reference"
    check_chosen((named,), (), str(path))
    return named
