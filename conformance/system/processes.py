"""Processes that are started and ended so that they leave nobody behind.

Where the operating system can do that (Linux), a small process stands between this one and the program, and adopts
what the program leaves (see `supervisor`). It ends everything below it when the program ends, when this process asks
for that, or when this process ends, however that happens.

Every program also gets a group of its own and a *mark* in its environment, which all processes that it starts inherit.
Elsewhere, or if somebody has killed the process in between, to end a program means to kill its group and every process
that bears its mark, also those that have left the group.

A mark names the process that made it. If that process was killed, the next one that starts a process ends those that
bear its mark.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import signal
import subprocess
import sys
import time
import weakref
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from conformance.system.supervisor import FAILED, adopt_orphans

MARK = "CONFORMANCE_STARTED_BY"
"""The environment variable with the marks, from the outermost process to the innermost, with `:` in between."""
_PROC = Path("/proc")
_ROUNDS = 200
_ROUND_SECONDS = 0.005
_PATIENCE_SECONDS = 5.0
"""How long a supervisor may take to end a program with all that it started."""
_SUPERVISE = "import sys; sys.path.insert(0, sys.argv.pop(1)); from conformance.system.supervisor import main; main()"
_ROOT = str(Path(__file__).absolute().parents[2])
_numbers = itertools.count()


class Started:
    """A program, and everything that it starts."""

    def __init__(
        self,
        command: Sequence[str],
        cwd: str | os.PathLike[str] | None = None,
        env: Mapping[str, str] | None = None,
        pass_fds: Sequence[int] = (),
        **streams: Any,
    ) -> None:
        """`streams` are arguments of Popen. Raises: OSError, ValueError if the command cannot be started."""
        _prepare()
        self.mark, environment = with_mark(os.environ if env is None else env)
        self._killed = False
        self._status: int | None = None
        self._supervisor = _Supervisor() if sys.platform == "linux" else None
        if self._supervisor is not None:
            command, pass_fds = self._supervisor.around(command), (*pass_fds, *self._supervisor.theirs)
        try:
            self.process: subprocess.Popen[bytes] = subprocess.Popen(
                command, cwd=cwd, env=environment, process_group=0, bufsize=0, pass_fds=pass_fds, **streams
            )
            """The program, or the one that supervises it, which ends with it. Do not wait for it elsewhere: as long as
            nobody has, its number is not given to another process."""
        except BaseException:
            if self._supervisor is not None:
                self._supervisor.close()
            raise
        self.pid = self.process.pid
        """The number of the program, which is also that of its group."""
        if self._supervisor is not None:
            try:
                self.pid = self._supervisor.begun()
            except BaseException:
                self.kill()
                for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
                    if stream is not None:
                        stream.close()
                raise

    def has_ended(self) -> bool:
        """Returns whether it has ended, without taking its number away from it."""
        if self.process.returncode is not None:
            return True
        if not hasattr(os, "waitid"):
            return self.process.poll() is not None
        try:
            return os.waitid(os.P_PID, self.process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        except ChildProcessError:
            return True

    def wait(self, seconds: float) -> bool:
        """Wait until it has ended, for at most so many seconds. Returns whether it has."""
        deadline, pause = time.monotonic() + seconds, 0.0005
        while not self.has_ended():
            if time.monotonic() >= deadline:
                return False
            time.sleep(pause)
            pause = min(2 * pause, 0.05)
        return True

    def kill(self) -> int | None:
        """End it and everything that it started. A second call does nothing.

        Returns: its exit status if it had ended before, negative for a signal; None if it was still running.
        """
        if not self._killed:
            self._killed = True
            self._status = self._kill() if self._supervisor is None else self._let_end(self._supervisor)
        return self._status

    def _let_end(self, supervisor: _Supervisor) -> int | None:
        ended = self.has_ended()
        supervisor.ask_to_end()
        if not self.wait(_PATIENCE_SECONDS):
            self.process.kill()
        code = self.process.wait()
        status = supervisor.status()
        supervisor.close()
        if code != 0:  # somebody has killed it, so that there may be somebody left
            end_marked(self.mark, set())
        return code if status is None and code != 0 and ended else status

    def _kill(self) -> int | None:
        ended = self.has_ended()
        family = set(_family(self.pid)) - {self.pid}
        if self.process.returncode is None:  # nobody has waited for it, so the number of its group is still its own
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)
        code = self.process.wait()
        end_marked(self.mark, family)
        _reap_group(self.pid)
        return code if ended else None

    def memory(self) -> int:
        """Returns how many bytes of memory it and its descendants occupy; 0 if that cannot be found out."""
        supervisor = None if self._supervisor is None else self.process.pid
        return sum(resident(pid) for pid in _family(self.process.pid) if pid != supervisor)


class _Supervisor:
    """The pipes to the process that supervises a program."""

    def __init__(self) -> None:
        control, self._control = os.pipe()
        self._report, report = os.pipe()
        self.theirs = (control, report)
        self._own = weakref.finalize(self, _close, self._control, self._report)
        self._others = weakref.finalize(self, _close, *self.theirs)

    def around(self, command: Sequence[str]) -> tuple[str, ...]:
        """Returns the command that runs a command under supervision."""
        self._command = command
        mine = (sys.executable, "-I", "-S", "-c", _SUPERVISE, _ROOT)
        return (*mine, str(os.getpid()), *map(str, self.theirs), *command)

    def begun(self) -> int:
        """Wait until the program has begun. Returns its number. Raises: OSError if it cannot be started."""
        self._others()
        line = bytearray()
        while not line.endswith(b"\n"):
            if not (part := os.read(self._report, 1)):
                raise OSError(errno.ECHILD, "the process that supervises it ended at once", self._command[0])
            line += part
        if line.startswith(FAILED):
            number = int(line[len(FAILED) :])
            raise OSError(number, os.strerror(number), self._command[0])
        return int(line)

    def ask_to_end(self) -> None:
        """Let the supervisor end the program, and itself."""
        with contextlib.suppress(OSError):  # if it has ended
            os.write(self._control, b"e")

    def status(self) -> int | None:
        """Returns the exit status of the program, negative for a signal; None if it was ended. There is no more."""
        os.set_blocking(self._report, False)  # a process that was forked from this one may hold the other end
        with contextlib.suppress(BlockingIOError):
            if said := os.read(self._report, 32):
                return os.waitstatus_to_exitcode(int(said))
        return None

    def close(self) -> None:
        """Close the pipes."""
        self._own()
        self._others()


def with_mark(env: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """Returns a mark that nothing bears yet, and an environment with it."""
    outer, mark = os.environ.get(MARK), f"{_me()}.{next(_numbers)}"
    return mark, {**env, MARK: f"{outer}:{mark}" if outer else mark}


def _close(*descriptors: int) -> None:
    for descriptor in descriptors:
        os.close(descriptor)


def fate(code: int | None) -> str:
    """How a process ended, in words; `code` None: it has not ended."""
    if code is None:
        return "closed its stdout, but went on running"
    if code < 0:
        with contextlib.suppress(ValueError):
            return f"was ended by {signal.Signals(-code).name}"
    return f"exited with status {code}"


@cache
def _prepare() -> None:
    """Adopt orphans, and end what processes that were killed have left."""
    adopt_orphans()
    alive = cache(_is_alive)
    for pid, marks in _marked():
        if not alive(marks[0].rpartition(".")[0]):
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)


def _me() -> str:
    """Returns the number of this process and when it started, since numbers are used again."""
    return f"{os.getpid()}.{_began(os.getpid())}"


def _is_alive(who: str) -> bool:
    pid, _, began = who.partition(".")
    return pid.isdigit() and _began(int(pid)) == began


def _began(pid: int) -> str:
    fields = _stat(pid)
    return fields[19] if fields else "0"


def cpu_seconds(pid: int) -> float:
    """Returns how many CPU seconds a process has taken, without its children; 0 if there is no such process, or the
    system does not tell."""
    fields = _stat(pid)
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") if fields else 0.0


def _stat(pid: int) -> list[str]:
    """Returns the fields of a process after its name: its state, its parent, ...; empty if there is no such process."""
    try:
        return (_PROC / str(pid) / "stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return []


def _marked() -> Iterator[tuple[int, list[str]]]:
    """Yields the other processes of this user that bear marks, with their marks."""
    start = f"{MARK}=".encode()
    try:
        everybody = os.listdir(_PROC)
    except OSError:
        return
    for name in everybody:
        if name.isdigit() and int(name) != os.getpid():
            try:
                environment = (_PROC / name / "environ").read_bytes()
            except OSError:  # it has ended, or it belongs to another user
                continue
            if start in environment:
                for one in environment.split(b"\0"):
                    if one.startswith(start):
                        yield int(name), one[len(start) :].decode(errors="replace").split(":")


def end_marked(mark: str, dying: set[int]) -> None:
    """Kill every process that bears the mark, until none does, and wait until they are gone, for about a second.

    `dying` were killed before, and bear no mark any more: it is waited for them, too. One that is just becoming another
    program has no environment for a moment, so that none is found only if none is found twice.
    """
    found = True
    for _ in range(_ROUNDS):
        living = {pid for pid, marks in _marked() if mark in marks}
        for pid in living:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        dying = {pid for pid in dying | living if not _is_over(pid)}
        found, before = bool(living or dying), found
        if found:
            time.sleep(_ROUND_SECONDS)
        elif not before:
            return


def _is_over(pid: int) -> bool:
    """Returns whether a process that was killed is gone, with all of its threads. Waits for it if it is a child of this
    process."""
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    except ChildProcessError:
        fields = _stat(pid)
        return not fields or (fields[0] == "Z" and fields[1] != str(os.getpid()) and int(fields[17]) <= 1)


def _reap_group(group: int) -> None:
    """Wait for the members of a killed group that this process has adopted.

    A member that is just dying bears no mark any more, and may not have ended yet: it is waited for as well.
    """
    with contextlib.suppress(ChildProcessError):
        for _ in range(_ROUNDS):
            while os.waitpid(-group, os.WNOHANG)[0]:
                pass
            time.sleep(_ROUND_SECONDS)


def _family(pid: int) -> list[int]:
    found = [pid]
    for one in found:
        with contextlib.suppress(OSError):
            for thread in os.listdir(_PROC / str(one) / "task"):
                found += map(int, (_PROC / str(one) / "task" / thread / "children").read_text().split())
    return found


def resident(pid: int) -> int:
    """Returns how many bytes of memory one process occupies; 0 if that cannot be found out."""
    try:
        return int((_PROC / str(pid) / "statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0
