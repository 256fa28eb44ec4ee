"""Where a command does its many works: in processes of its own, or with a runner, which keeps results in a folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import click

from conformance import campaigns
from conformance.campaigns.kept_works import into
from conformance.cli.destinations import TO_FOLDER
from conformance.cli.guarding import following, guarded_by_names, is_guarded, stranger_among
from conformance.cli.options import RUNNERS, Command, conf_option, master_option, notes
from conformance.engines.interruption import Interruption
from conformance.engines.works import Over, in_processes
from conformance.ports import Limits
from conformance.system.text import neutral_line


class RunnerOptions(NamedTuple):
    """What the options say about the runner."""

    into: Path | None
    name: str | None
    master: str | None
    conf: tuple[str, ...]
    processes: int | None
    """How many at once; None: as many as there are cores."""

    def check(self) -> None:
        """Raise a click.UsageError if the options do not go together."""
        if self.into is None and (self.name, self.master, self.conf) != (None, None, ()):
            raise click.UsageError("--runner, --master and --conf go with --into, which a runner fills")
        if (self.master is not None or self.conf) and self.name not in ("auto", "spark"):
            raise click.UsageError("--master and --conf go with --runner spark")

    def remarks(self, lacks: bool) -> list[str]:
        """Return a sentence about how to go on, if something lacks."""
        if self.into is None or not lacks:
            return []
        return [f"What was done is in {neutral_line(str(self.into))}: the same command goes on from there."]

    def guarded(self, names: tuple[str, ...], scheme: str, group: str, limits: Limits) -> int | None:
        """As `guarded_by_names`. Raises: click.UsageError if a runner would have to guard one of them."""
        if self.into is None:
            return guarded_by_names(names, scheme, group, limits)
        if (stranger := stranger_among(names, scheme, group)) is not None:
            raise click.UsageError(f"--into has no guard for {neutral_line(stranger)}, which is not the suite's own")
        return None

    @contextmanager
    def over(self, works: str, interruption: Interruption, told: Callable[[int], None]) -> Iterator[Over]:
        """Yield what does works. `told` is called with the number of those that are done if a folder keeps them."""
        if self.into is None:
            with in_processes(1 if is_guarded() else self.processes or 1, interruption, following()) as over:
                yield over
            return
        runner, note = campaigns.choose(self.name or "processes", self.master, self.processes, conf=self.conf)
        if note is not None:
            notes.print(note)
        with into(self.into, works, runner, told, notes.print, interruption) as over:
            yield over


def runner_options(command: Command) -> Command:
    """Add the options of a runner to a command."""
    for option in (
        conf_option,
        master_option,
        click.option(
            "--runner", "runner_name", type=click.Choice(RUNNERS),
            help="With --into.  [default: processes]",
        ),
        click.option(
            "--into", "into_path", metavar="DIR", type=TO_FOLDER,
            help="Keep each result in this folder. The same command again does what is missing.",
        ),
    ):  # fmt: skip
        command = option(command)
    return command
