"""A child process that answers each line on its stdin with a line on its stdout, within a time limit.

There is no thread: one selector loop writes the request, reads the answer and keeps the end of the log, so that neither
side ever waits for the other to empty a pipe.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import subprocess
import time
import weakref
from collections.abc import Mapping, Sequence

from conformance.ports import MOST_TRANSCRIPT, OversizedTranscript, Transcript
from conformance.system.processes import Started, fate
from conformance.system.text import neutral

LONGEST_LINE = 4 << 20
"""In bytes. Whatever is in such a line, it is decoded within a second, and into less than 200 MiB of memory."""
_CHUNK = 1 << 16
_KEPT_LOG = 8 * 1024
_KEPT_PIPES = 16  # a pipe holds one chunk by default, and 16 chunks (1 MiB) at most
_LOG_LINES = 8
_EXIT_SECONDS = 2.0
_LOOK_SECONDS = 0.2
"""How often the memory of the process is looked at."""


class Died(Exception):
    """The process has ended, or has broken the protocol. The text says what it did: "exited with status 1"."""


class Hung(Exception):
    """There was no answer within the time limit. The text says what the process did; here, what it wrote instead."""


class Record:
    """The bytes that went through the pipes of one process; only how many they are, once there are too many."""

    def __init__(self, most: int = MOST_TRANSCRIPT) -> None:
        self._most = most
        self._sent = bytearray()
        self._received = bytearray()
        self._sizes = [0, 0]

    def add_sent(self, part: bytes) -> None:
        """Note what was sent to the process."""
        self._add(0, self._sent, part)

    def add_received(self, part: bytes) -> None:
        """Note what was read from the process."""
        self._add(1, self._received, part)

    def _add(self, which: int, kept: bytearray, part: bytes) -> None:
        self._sizes[which] += len(part)
        if sum(self._sizes) <= self._most:
            kept += part
        else:
            self._sent.clear()
            self._received.clear()

    @property
    def transcript(self) -> Transcript | OversizedTranscript:
        """What was noted so far."""
        if sum(self._sizes) > self._most:
            return OversizedTranscript(*self._sizes)
        return Transcript(bytes(self._sent), bytes(self._received))


class ChildProcess:
    """A running child process. `kill` ends it, whatever state it is in, and every process that it started."""

    def __init__(
        self,
        command: Sequence[str],
        cwd: str | os.PathLike[str] | None,
        env: Mapping[str, str] | None,
        exit_statuses: Mapping[int, str],
        most_memory: int | None = None,
        record: Record | None = None,
    ) -> None:
        """`exit_statuses` says what an exit status means; `most_memory` limits it and what it starts, in bytes.

        `record` gets what is sent and received.

        Raises: OSError if the command cannot be started.
        """
        self._exit_statuses = exit_statuses
        self._most_memory = most_memory
        self._record = record
        self._next_look = time.monotonic() + _LOOK_SECONDS
        pipe = subprocess.PIPE
        # Its group is its own, so that Ctrl-C reaches the driver only.
        self._started = Started(command, cwd, env, stdin=pipe, stdout=pipe, stderr=pipe)
        self._process = self._started.process
        streams = (self._process.stdin, self._process.stdout, self._process.stderr)
        self._stdin, self._stdout, self._stderr = (stream.fileno() for stream in streams if stream is not None)
        self._selector = selectors.DefaultSelector()
        for stream in (self._stdin, self._stdout, self._stderr):
            os.set_blocking(stream, False)
        for stream in (self._stdout, self._stderr):
            self._selector.register(stream, selectors.EVENT_READ)
        self.deadline = 0.0
        """Until when the last line that was asked for had to be there, on the monotonic clock."""
        self._received = bytearray()
        self._log = bytearray()
        self._owner = os.getpid()
        self._end = weakref.finalize(self, _end, self._started, self._selector, self._owner)

    @property
    def is_ours(self) -> bool:
        """Whether this Python process started it. A forked process must not use the pipes of its parent."""
        return self._owner == os.getpid()

    def ask(self, line: bytes, seconds: float) -> bytes:
        """Send one line, and wait for one.

        Raises: Died, Hung. The caller should kill the process after either.
        """
        if self.deadline:  # a line from before the first request, such as a banner, is taken for the answer to it
            self._read_unasked()
        if self._received:
            raise Died(
                f"wrote a line that answers no request: {shortened(bytes(self._received))}; it must answer every "
                "request with one line, and write its log to stderr"
            )
        if self._record is not None:
            self._record.add_sent(line)
        self.deadline = deadline = time.monotonic() + seconds
        unsent = memoryview(line)[self._write(line) :]
        if unsent:
            self._selector.register(self._stdin, selectors.EVENT_WRITE)
        try:
            while True:
                now = time.monotonic()
                if now >= self._next_look:
                    self._look(now)
                ready = self._selector.select(min(deadline, self._next_look) - now)
                if not ready and self._started.has_ended():  # a process that it left behind keeps its stdout open
                    raise Died(self.last_words())
                for key, _ in ready:
                    if key.fd == self._stdin:
                        unsent = unsent[self._write(unsent) :]
                        if not unsent:
                            self._selector.unregister(self._stdin)
                    elif key.fd == self._stderr:
                        self._read_log()
                    elif (answer := self._read_answer()) is not None:
                        return answer
                if time.monotonic() >= deadline:  # even if there is something to read: its log may have no end
                    raise Hung(self._rest())
        finally:
            if self._selects(self._stdin):
                self._selector.unregister(self._stdin)

    def last_words(self) -> str:
        """How it ended, with the end of its log. Waits up to 2 s for it to exit, and then kills it."""
        self._started.wait(_EXIT_SECONDS)
        code = self._started.kill()
        self.kill()
        meaning = self._exit_statuses.get(code) if code is not None else None
        return f"{fate(code)}{f' ({meaning})' if meaning else ''}{self._rest()}{self.log()}"

    def log(self) -> str:
        """The last lines that it wrote to stderr, worded as the end of a sentence."""
        lines = neutral(self._log.decode(errors="replace").replace("\r\n", "\n")).split("\n")
        lines = [line for line in lines if line.strip()][-_LOG_LINES:]
        return "; its log ends with:\n" + "\n".join(f"  {line}" for line in lines) if lines else ""

    def leave(self) -> int | None:
        """Wait up to 2 s for it to exit on its own, and then kill it. Returns its exit status; None: it was killed."""
        assert self._process.stdin
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        self._started.wait(_EXIT_SECONDS)
        code = self._started.kill()
        self._end()
        return code

    def kill(self) -> None:
        """End it now; a second call does nothing. `log` can still be called."""
        if self.is_ours:
            self._started.kill()  # before the log is read: a running process may write to it without end
        for _ in range(_KEPT_PIPES):
            if not (self._selects(self._stderr) and self._read_log()):
                break
        self._end()

    def _look(self, now: float) -> None:
        """Look at the memory of the process. Raises: Died if it has too much."""
        self._next_look = now + _LOOK_SECONDS
        if self._most_memory is not None and self._started.memory() > self._most_memory:
            self.kill()
            raise Died(f"used more than {self._most_memory >> 20} MiB of memory{self.log()}")

    def _write(self, data: bytes | memoryview) -> int:
        try:
            return os.write(self._stdin, data)
        except BlockingIOError:
            return 0
        except BrokenPipeError:
            return len(data)  # it has closed its stdin; its answer or its exit is seen on stdout

    def _rest(self) -> str:
        """What it wrote of a line without ending it, worded as the end of a sentence."""
        return f"; it wrote {shortened(bytes(self._received))} and no end of the line" if self._received else ""

    def _read_unasked(self) -> None:
        """Read what it has written since its last answer: nothing, unless it answers a request twice."""
        try:
            chunk = os.read(self._stdout, _CHUNK)
        except BlockingIOError:
            return
        if self._record is not None:
            self._record.add_received(chunk)
        self._received += chunk

    def _read_answer(self) -> bytes | None:
        chunk = os.read(self._stdout, _CHUNK)
        if not chunk:
            raise Died(self.last_words())
        if self._record is not None:
            self._record.add_received(chunk)
        end = chunk.find(b"\n")
        if end < 0:
            self._received += chunk
            if len(self._received) > LONGEST_LINE:
                raise Died(f"wrote a line longer than {LONGEST_LINE >> 20} MiB: {shortened(bytes(self._received))}")
            return None
        answer = bytes(self._received) + chunk[:end]
        self._received[:] = chunk[end + 1 :]
        return answer

    def _read_log(self) -> bool:
        """Read once from stderr. Returns whether there may be more to read."""
        try:
            chunk = os.read(self._stderr, _CHUNK)
        except BlockingIOError:
            return False
        if not chunk:
            self._selector.unregister(self._stderr)
        self._log += chunk
        del self._log[:-_KEPT_LOG]
        return len(chunk) == _CHUNK

    def _selects(self, stream: int) -> bool:
        return stream in (self._selector.get_map() or ())  # there is no map once it is closed


def _end(started: Started, selector: selectors.BaseSelector, owner: int) -> None:
    """Runs once: when called, when the child object is garbage collected, or when the interpreter exits."""
    if os.getpid() != owner:
        return  # this is a forked process, and the child belongs to its parent
    started.kill()
    selector.close()
    for stream in (started.process.stdin, started.process.stdout, started.process.stderr):
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.close()


def shortened(line: bytes, most: int = 160) -> str:
    """A line for a message, cut off after `most` bytes."""
    text = line[: most + 1].decode(errors="replace")
    return repr(text) if len(line) <= most else f"{text[:most]!r}… ({len(line)} bytes)"
