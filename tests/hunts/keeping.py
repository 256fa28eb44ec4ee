"""Does the works of a measurement in several processes, and keeps each result, so that the same command goes on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from conformance import campaigns
from conformance.campaigns.kept_works import into
from conformance.cli.interrupting import interruptible
from conformance.engines.works import Over, in_processes


@contextmanager
def kept_over(folder: Path | None, works: str, processes: int) -> Iterator[Over]:
    """Yield what does works. `works`: what they are, as `known bugs`; without a folder, nothing is kept.

    After a Ctrl-C no other work is begun, and those that were not done have no result."""
    with interruptible() as interruption:
        if folder is None:
            with in_processes(processes, interruption) as over:
                yield over
            return
        runner, _ = campaigns.choose("processes", None, processes)
        with into(folder, works, runner, lambda done: None, click.echo, interruption) as over:
            yield over
