"""A process that runs an implementation for this one, under limits of time and memory.

The driver never loads the implementation. Whatever the implementation does to its process, the driver learns where it
was (see `position`), ends what is left of the process, and can start another one.
"""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import sys
import weakref
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from msgspec import Struct

from conformance.driver import Broken, Components, FailureClass
from conformance.engines.interruption import NEVER, Interruption
from conformance.engines.position import Position, Reader, new_memory
from conformance.engines.relay import Relay
from conformance.engines.watch import TICK, Watch
from conformance.engines.wire import Wire
from conformance.ports import Capability, Limits, UnusableImplementation
from conformance.scenarios import Entry
from conformance.system.processes import Started, fate
from conformance.system.text import neutral
from conformance.system.writing import NotWritten

START_SECONDS = 60.0
"""How long a worker may take to load an implementation, and a program that it runs to start."""
TESTED, BASELINE = "tested", "baseline"
"""The sides of a comparison, in the position of a worker."""
_EXIT_SECONDS = 2.0
_FROM_OUTSIDE = frozenset({signal.SIGKILL, signal.SIGTERM})
"""The signals with which people, and operating systems that need memory, end processes."""
_CHUNK = 1 << 16
_KEPT_LOG = 2048
_LOG_LINES = 8
SERVICE = "conformance.engines.worker_main"
"""The module whose `main` serves the requests of a search."""

Told = Callable[[int], None]
"""Called now and then with the number of the scenario that the worker is running."""


Failed = tuple[str, Broken, tuple[Any, ...]]
"""A violation: the slug of the property, how it is broken, and the step."""


class Described(Struct, frozen=True):
    """What the driver must know of an implementation."""

    name: str
    version: str
    capabilities: frozenset[Capability]
    components: tuple[str, ...]
    starts_programs: bool
    """Whether it runs a program of its own, which may take a while to start."""


class Replayed(Struct, frozen=True):
    """The result of a replay. The entries of the history were sent before."""

    verdict: str
    reason: str
    failed: Failed | None


class Ran(Struct, frozen=True):
    """The result of a run that was not recorded."""

    performed: tuple[tuple[Any, ...], ...]
    failed: Failed | None


class Ended(Exception):
    """The process of an implementation ended, or was ended, in the middle of a request."""

    def __init__(
        self,
        what: str,
        log: str,
        failure_class: FailureClass,
        position: Position,
        costly: bool = False,
        doubtful: bool = False,
    ) -> None:
        super().__init__(what)
        self.what = what
        """What became of it, in words."""
        self.log = log
        """What it wrote last, worded as the end of a sentence."""
        self.failure_class = failure_class
        self.position = position
        self.costly = costly
        """Whether it took long or much memory, so that it should not be repeated often."""
        self.doubtful = doubtful
        """Whether somebody else may have ended it: the operating system that needs memory, or a person."""


class WorkerFailed(Exception):
    """The suite itself went wrong in a worker. The text is the traceback."""


class Worker:
    """One process, which serves one request at a time."""

    def __init__(
        self,
        hello: tuple[Any, ...],
        limits: Limits,
        components: Components,
        relay: Relay,
        service: str = SERVICE,
        told: Told | None = None,
    ) -> None:
        """`hello` is the first request, and `service` the module whose `main` serves requests. `relay` shows what the
        process writes.

        Raises: Ended, UnusableImplementation, WorkerFailed.
        """
        self._components = components
        self._wire = Wire(components)
        memory = new_memory()
        requests, self._requests = os.pipe()
        self._replies, replies = os.pipe()
        theirs = (requests, replies, memory)
        try:
            self._started = Started(
                [sys.executable, "-P", "-c", f"from {service} import main; main()", *map(str, theirs)],
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                pass_fds=theirs,
            )
        finally:
            os.close(requests)
            os.close(replies)
        self._reader = Reader(memory)
        os.close(memory)
        self._watch = Watch(self._started, self._reader, limits)
        assert self._started.process.stdout is not None
        self._log = self._started.process.stdout.fileno()
        self._selector = selectors.DefaultSelector()
        for stream in (self._replies, self._log):
            os.set_blocking(stream, False)
            self._selector.register(stream, selectors.EVENT_READ)
        self._received = bytearray()
        self._said = bytearray()
        self._relay = relay
        self._end = weakref.finalize(
            self, _end, self._started, self._selector, (self._requests, self._replies), os.getpid()
        )
        self._patience = START_SECONDS
        self.hello: Any = self.ask(*hello, told=told)
        """The response to the first request."""
        self._patience = limits.step_seconds + (START_SECONDS if self.hello.starts_programs else 0)

    @property
    def is_usable(self) -> bool:
        """Whether it can serve a request: it runs, and it is not that of a process from which this one was forked."""
        return self._end.alive and not self._started.has_ended()

    def ask(
        self,
        *request: Any,
        told: Told | None = None,
        heard: Callable[[Entry], None] | None = None,
        interruption: Interruption = NEVER,
    ) -> Any:
        """Send a request and return its result. `heard` is called with each entry of a run, if they were asked for.

        Once it is interrupted, the result is that of what the worker has done by then.

        Raises: Ended, after which the worker is no more; UnusableImplementation; WorkerFailed; NotWritten.
        """
        try:
            return self._ask(request, told, heard, interruption)
        except (UnusableImplementation, WorkerFailed, NotWritten):
            raise
        except BaseException:
            self.kill()
            raise

    def _ask(
        self, request: Any, told: Told | None, heard: Callable[[Entry], None] | None, interruption: Interruption
    ) -> Any:
        self._reader.interrupt(interruption.requested)
        with suppress(OSError):  # if it has ended, that is seen below
            self._wire.write(self._requests, request)
        self._watch.begin()
        while True:
            ready = self._selector.select(TICK)
            for key, _ in ready:
                if key.fd == self._log:
                    self._read_log()
                elif (reply := self._read_reply(heard)) is not None:
                    return _result(*reply)
            if not ready and self._started.has_ended():
                raise self._ended()
            if (complaint := self._watch.complaint(self._patience)) is not None:
                raise self._ended(*complaint, costly=True)
            self._reader.interrupt(interruption.requested)
            if told is not None:
                told(max(self._reader.number, 0))

    def kill(self) -> None:
        """End it, with everything that it started."""
        self._end()

    def close(self) -> None:
        """Let it close the implementation and exit, and kill it if it does not."""
        if self._end.alive:
            with suppress(OSError):
                self._wire.write(self._requests, ("close",))
            self._started.wait(_EXIT_SECONDS)
            self.kill()

    def _read_reply(self, heard: Callable[[Entry], None] | None) -> Any:
        chunk = os.read(self._replies, _CHUNK)
        if not chunk:
            raise self._ended()
        self._received += chunk
        try:
            messages = self._wire.split(self._received)
        except Exception as error:
            raise self._ended(f"its process wrote nonsense to a descriptor that is not its own ({error})") from None
        for kind, content in messages:
            if kind != "entry":
                return kind, content
            if heard is not None:
                heard(content)
        return None

    def _read_log(self) -> None:
        """Show what the process wrote, and keep the end of it."""
        chunk = os.read(self._log, _CHUNK)
        if not chunk:
            self._selector.unregister(self._log)
            return
        self._said += chunk
        del self._said[:-_KEPT_LOG]
        with self._watch.pausing():  # the reader of what is shown may take a while
            self._relay.show(chunk)

    def _ended(
        self, what: str | None = None, failure_class: FailureClass = FailureClass.CRASHED, costly: bool = False
    ) -> Ended:
        """End the process, and return what became of it and where."""
        if what is None:
            self._started.wait(_EXIT_SECONDS)
        code = self._started.kill()
        doubtful = what is None and code is not None and -code in _FROM_OUTSIDE
        with suppress(BlockingIOError, KeyError):
            for _ in range(_LOG_LINES):
                if self._log in self._selector.get_map():
                    self._read_log()
        if what is None:
            what = "its process closed what it must not close" if code is None else f"its process {fate(code)}"
        lines = neutral(self._said.decode(errors="replace")).splitlines()[-_LOG_LINES:]
        log = "; its last words:\n" + "\n".join(f"  {line}" for line in lines) if lines else ""
        position = self._reader.position(self._components)
        return Ended(what, log, failure_class, position, costly, doubtful)


def _result(kind: str, content: Any) -> Any:
    if kind == "unusable":
        raise UnusableImplementation(content)
    if kind == "failed":
        raise WorkerFailed(content)
    if kind == "unwritten":
        number, why, path, needed, remedy = content
        raise NotWritten(OSError(number, why), Path(path), needed, remedy=remedy)
    return content


def _end(started: Started, selector: selectors.BaseSelector, descriptors: tuple[int, ...], owner: int) -> None:
    """Runs once: when called, when the worker is garbage collected, or when the interpreter exits."""
    if os.getpid() != owner:
        return  # this is a forked process, and the worker belongs to its parent
    started.kill()
    selector.close()
    for descriptor in descriptors:
        os.close(descriptor)
    if started.process.stdout is not None:
        started.process.stdout.close()
