"""The process in which a whole command runs, if an implementation that it runs could end or stall it (see `guarding`).

Its stdout and stderr are those of the implementation, which may write without end: they lead to the process that guards
it. The command itself prints on copies of the ones that it was started with.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from conformance.engines.position import Writer
from conformance.reporting.console import CarefulConsole
from conformance.system.streams import descriptor_of

PROGRAM = "from conformance.cli.child import main; main()"


@dataclass(frozen=True)
class Child:
    """What a command knows that runs in a child."""

    writer: Writer
    """Sends to the process that guards this one where it is."""
    streams: Mapping[int, int]
    """The descriptors of stdout and stderr of the command, by those that an implementation takes for them."""

    def place(self, path: Path) -> Path:
        """Returns where the command writes if it is asked to write there: /dev/stdout is not that of this process."""
        stream = self.streams.get(descriptor_of(path) or 0)
        return path if stream is None else Path(f"/dev/fd/{stream}")


def _parted(log: int, consoles: Mapping[CarefulConsole, TextIO]) -> dict[int, int]:
    """Lead streams to `log`, and let each console print where its stream led before. Returns the copies."""
    streams = {}
    for console, stream in consoles.items():
        streams[stream.fileno()] = own = os.dup(stream.fileno())  # no program inherits it
        console.file = open(own, "w", encoding=stream.encoding, errors=stream.errors)  # noqa: SIM115
        os.dup2(log, stream.fileno())
    os.close(log)
    return streams


def main() -> None:
    """Run a command. The first arguments are the descriptors of the shared memory, of the status and of the log."""
    from conformance.cli import main as run
    from conformance.cli.options import Concluded, notes, out

    memory, status, log = map(int, sys.argv[1:4])
    for descriptor in (memory, status):
        os.set_inheritable(descriptor, False)
    child = Child(Writer(memory), _parted(log, {out: sys.stdout, notes: sys.stderr}))
    try:
        run(sys.argv[4:], child)
    except Concluded as end:  # if an implementation has ended the process, its status says nothing
        os.write(status, str(end.code).encode())
        raise
