"""Runs a whole command in a child process, if an implementation that it runs could end or stall this one.

`conformance check` and `replay` have workers, which they can replace. The commands of this module stop where the
process of the implementation stops, and say where that was.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress

import click

from conformance.cli.interrupting import interruptible
from conformance.cli.options import say
from conformance.components import COMPONENTS
from conformance.driver import Program
from conformance.engines.apart import is_ours
from conformance.engines.position import Followed, Reader, Writer, new_memory
from conformance.engines.watch import TICK, Watch
from conformance.engines.worker import START_SECONDS, TESTED
from conformance.ports import Limits
from conformance.reporting.status import INCONCLUSIVE
from conformance.scenarios import encode_scenario
from conformance.system.processes import Started, fate

_PROGRAM = "from conformance.cli.guarding import main; main()"
_ARGUMENTS = "conformance.arguments"


class Guarded(click.Group):
    """A group that remembers its arguments, so that a command can run again in a child."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: object
    ) -> click.Context:
        """Make a context that has the arguments."""
        arguments = list(args)
        context = super().make_context(info_name, args, parent, **extra)
        context.meta[_ARGUMENTS] = arguments
        return context


Place = Callable[[Reader], str]
"""Returns where a command was, as the end of a sentence."""


def in_a_scenario(reader: Reader) -> str:
    """Returns at which step of which scenario a command was that runs scenarios."""
    position = reader.position(COMPONENTS)
    if position.scenario is None:
        return ""
    component = COMPONENTS[position.scenario.component]
    return f", {position.place(component)} of this scenario:\n{encode_scenario(position.scenario)}"


def in_an_examination(reader: Reader) -> str:
    """Returns what a command did that says so (see `saying`)."""
    return f", {reader.said}" if reader.said else ""


def guarded(name: str, limits: Limits, place: Place | None = in_a_scenario) -> int | None:
    """Run the current command in a child, unless the implementation is the suite's own or this is that child.

    Without a `place`, the command does not say what it does, and there is no limit of time.

    Returns: the status of the command; None if this process must run it.
    """
    context = click.get_current_context()
    arguments = context.meta.get(_ARGUMENTS)
    if arguments is None or os.name != "posix" or context.find_object(Writer) is not None or is_ours(name):
        return None
    memory, (report, status) = new_memory(), os.pipe()
    with suppress(OSError):
        sys.stdout.flush()
    child = Started(
        [sys.executable, "-P", "-c", _PROGRAM, str(memory), str(status), *arguments],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        pass_fds=(memory, status),
    )
    os.close(status)
    reader = Reader(memory)
    os.close(memory)
    try:
        ended = _watched(child, reader, limits, has_limit=place is not None)
        code = child.kill()
        told = os.read(report, 16)
    finally:
        child.kill()
        os.close(report)
    if ended is None and told:
        return int(told)
    what = ended or f"its process {fate(code)}"
    say(f"{name} ended the command: {what}{place(reader) if place is not None else ''}")
    return INCONCLUSIVE


def guarded_by_names(names: Iterable[str]) -> int | None:
    """As `guarded`, if one of these names of known bugs or legal variants is `module:object`, which loads a module."""
    stranger = next((name for name in names if ":" in name), None)
    return None if stranger is None else guarded(stranger, Limits(), place=None)


def followed(program: Program) -> Program:
    """Returns the program. If this is the child, the process that guards it is told of every step."""
    writer = click.get_current_context().find_object(Writer)
    if writer is not None:
        program.log = Followed(writer, program, TESTED)
    return program


def saying() -> Callable[[str], None]:
    """Returns a function that tells the process that guards this one what is done now."""
    writer = click.get_current_context().find_object(Writer)
    return _nothing if writer is None else writer.say


def _nothing(what: str) -> None:
    """Nobody guards this process."""


def _watched(child: Started, reader: Reader, limits: Limits, has_limit: bool) -> str | None:
    """Wait until the child ends. Returns why it must be ended, or None if it has ended by itself."""
    watch = Watch(child, reader, limits)
    passed_on = False
    with interruptible(quiet=True) as interruption:
        while not child.wait(TICK):
            if interruption.requested and not passed_on:
                passed_on = True
                with suppress(OSError):
                    os.kill(child.pid, signal.SIGINT)  # the command has something to save
            patience = limits.step_seconds if reader.has_begun else START_SECONDS
            if (complaint := watch.complaint(patience if has_limit else None)) is not None:
                return complaint[0]
    return None


def main() -> None:
    """Run a command in this child. The first arguments are the descriptors of the shared memory and of the status."""
    from conformance.cli import main as run

    memory, status, arguments = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
    for descriptor in (memory, status):
        os.set_inheritable(descriptor, False)
    try:
        run(arguments, Writer(memory))
    except SystemExit as end:
        os.write(status, str(end.code).encode())
        raise
