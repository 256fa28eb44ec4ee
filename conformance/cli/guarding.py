"""Runs a whole command in a child process, if an implementation that it runs could end or stall this one.

`conformance check` and `replay` have workers, which they can replace. The commands of this module stop where the
process of the implementation stops, and say where that was. What the implementation writes to stdout and stderr comes
to this process, which shows it as it shows that of a worker.
"""

from __future__ import annotations

import os
import selectors
import signal
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

import click

from conformance.cli.child import PROGRAM, Child
from conformance.cli.interrupting import interruptible
from conformance.cli.options import say
from conformance.components import COMPONENTS
from conformance.driver import Program
from conformance.driver.program import Log
from conformance.engines.apart import is_ours
from conformance.engines.position import Follow, Followed, Reader, new_memory, unfollowed
from conformance.engines.relay import Relay
from conformance.engines.watch import TICK, Watch
from conformance.engines.worker import START_SECONDS, TESTED
from conformance.ports import Limits
from conformance.ports.registry import foreign_point
from conformance.reporting.status import INCONCLUSIVE
from conformance.scenarios import encode_scenario
from conformance.system.processes import Started, fate
from conformance.system.streams import descriptor_of

_STDERR = 2
_CHUNK = 1 << 16
_MOST_CHUNKS = 64
"""How much is read of what was written before the child ended: more than a pipe holds."""
_CLEAR_LINE = "\r\x1b[2K"
"""On a terminal, the child may show a bar in the last line."""
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


def guarded(name: str, limits: Limits, place: Place = in_a_scenario) -> int | None:
    """Run the current command in a child, unless the implementation is the suite's own or this is that child.

    Returns: the status of the command; None if this process must run it.
    """
    return None if is_ours(name) else _guarded(name, limits, place)


def guarded_by_names(names: Iterable[str], scheme: str, group: str, limits: Limits) -> int | None:
    """As `guarded`, if one of these known bugs or legal variants is not the suite's own; no name stands for all.

    `scheme` and `group`: those of the names.
    """
    stranger = stranger_among(names, scheme, group)
    return None if stranger is None else _guarded(stranger, limits, in_a_scenario)


def stranger_among(names: Iterable[str], scheme: str, group: str) -> str | None:
    """Return a known bug or legal variant among these that is not the suite's own; None if there is none.

    Without names, the name of what has some. `scheme` and `group`: those of the names.
    """
    given, foreign = tuple(names), foreign_point(group)
    strangers = (one for one in given if not is_ours(f"{scheme}{one.removeprefix(scheme)}"))
    stranger = next((one for one in strangers if foreign or ":" in one.removeprefix(scheme)), None)
    return stranger if given else foreign


def _guarded(name: str, limits: Limits, place: Place) -> int | None:
    context = click.get_current_context()
    arguments = context.meta.get(_ARGUMENTS)
    if arguments is None or os.name != "posix" or is_guarded():
        return None
    memory, (report, status), (log, their_log) = new_memory(), os.pipe(), os.pipe()
    theirs = (memory, status, their_log)
    with suppress(OSError):
        sys.stdout.flush()
    child = Started(
        [sys.executable, "-P", "-c", PROGRAM, *map(str, theirs), *arguments],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        pass_fds=(*theirs, *_named(context)),
    )
    os.close(status)
    os.close(their_log)
    reader = Reader(memory)
    os.close(memory)
    try:
        with _Shown(name, log) as shown:
            ended = _watched(child, reader, limits, shown)
            code = child.kill()
        told = os.read(report, 16)
    finally:
        child.kill()
        os.close(report)
        os.close(log)
    if ended is None and told:
        return int(told)
    what = ended or f"its process {fate(code)}"
    say(f"{name} ended the command: {what}{place(reader)}")
    return INCONCLUSIVE


def _named(context: click.Context) -> set[int]:
    """Returns the open streams to which the command is to write, such as those of `>(jq .)` in a shell."""
    named = {descriptor_of(value) for value in context.params.values() if isinstance(value, Path)}
    return {one for one in named if one is not None and one > _STDERR}


def _child() -> Child | None:
    return click.get_current_context().find_object(Child)


def is_guarded() -> bool:
    """Whether this process is a child that another one guards."""
    return _child() is not None


def following() -> Follow:
    """Returns what makes the log of each program that is run. In a child, it notifies the guard of every step."""
    child = _child()
    if child is None:
        return unfollowed

    def follow(program: Program) -> Log:
        return Followed(child.writer, program, TESTED)

    return follow


def followed(program: Program) -> Program:
    """Returns the program. If this is the child, the process that guards it is notified of every step."""
    program.log = following()(program)
    return program


def saying() -> Callable[[str], None]:
    """Returns a function that notifies the process that guards this one of what is done now."""
    child = _child()
    return _nothing if child is None else child.writer.say


def resting() -> None:
    """Notify the process that guards this one that the suite is at work alone, for as long as it takes."""
    if (child := _child()) is not None:
        child.writer.rest()


def _nothing(what: str) -> None:
    """Nobody guards this process."""


class _Shown:
    """Reads what the implementation writes in the child, and shows its beginning and its end."""

    def __init__(self, name: str, log: int) -> None:
        self._log = log
        self._relay = Relay(name)
        self._selector = selectors.DefaultSelector()
        self._is_open = True
        os.set_blocking(log, False)
        self._selector.register(log, selectors.EVENT_READ)

    def __enter__(self) -> _Shown:
        return self

    def __exit__(self, *error: object) -> None:
        """Show what is left, once the child has ended."""
        with suppress(BlockingIOError):
            for _ in range(_MOST_CHUNKS):
                if self._is_open:
                    self._read()
        self._relay.finish()
        self._selector.close()

    def next(self, child: Started, watch: Watch) -> bool:
        """Show what is written next. Returns whether nothing came within a tick, and the child has ended."""
        if not self._is_open:
            return child.wait(TICK)
        if self._selector.select(TICK):
            with watch.pausing():  # the reader of what is shown may take a while
                self._read()
            return False
        return child.has_ended()

    def _read(self) -> None:
        part = os.read(self._log, _CHUNK)
        if not part:
            self._is_open = False
            self._selector.unregister(self._log)
            return
        if sys.stderr.isatty():
            sys.stderr.write(_CLEAR_LINE)
        self._relay.show(part)
        sys.stderr.flush()


def _watched(child: Started, reader: Reader, limits: Limits, shown: _Shown) -> str | None:
    """Wait until the child ends. Returns why it must be ended, or None if it has ended by itself."""
    watch = Watch(child, reader, limits)
    passed_on = False
    with interruptible(quiet=True) as interruption:
        while not shown.next(child, watch):
            if interruption.requested and not passed_on:
                passed_on = True
                with suppress(OSError):
                    os.kill(child.pid, signal.SIGINT)  # the command has something to save
            patience = limits.step_seconds if reader.has_begun else None if reader.rests else START_SECONDS
            if (complaint := watch.complaint(patience)) is not None:
                return complaint[0]
    return None
