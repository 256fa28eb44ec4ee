"""Processes that are started and ended so that they leave nobody behind.

Every process gets a group of its own and a *mark* in its environment, which all processes that it starts inherit. To
end it means to kill its group and whoever bears its mark, also those that have left the group. Where the operating
system can do that (Linux), this process adopts what its descendants leave, so that nothing of it stays as a zombie.

A mark names the process that made it. If that process was killed, the next one that starts a process ends those that
bear its mark.
"""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

MARK = "CONFORMANCE_STARTED_BY"
"""The environment variable with the marks, from the outermost process to the innermost, with `:` in between."""
_PROC = Path("/proc")
_SET_PARENT_DEATH_SIGNAL, _SET_CHILD_SUBREAPER = 1, 36
_ROUNDS = 200
_ROUND_SECONDS = 0.005
_numbers = itertools.count()


class Started:
    """A process in a group of its own, and everything that it starts."""

    def __init__(
        self,
        command: Sequence[str],
        cwd: str | os.PathLike[str] | None = None,
        env: Mapping[str, str] | None = None,
        **streams: Any,
    ) -> None:
        """`streams` are arguments of Popen. Raises: OSError, ValueError if the command cannot be started."""
        _prepare()
        outer = os.environ.get(MARK)
        self.mark = f"{_me()}.{next(_numbers)}"
        environment = {**(os.environ if env is None else env), MARK: f"{outer}:{self.mark}" if outer else self.mark}
        self.process: subprocess.Popen[bytes] = subprocess.Popen(
            command, cwd=cwd, env=environment, process_group=0, bufsize=0, **streams
        )
        """Do not wait for it elsewhere: as long as nobody has, its number is not given to another process."""
        self._killed = False
        self._status: int | None = None

    @property
    def pid(self) -> int:
        """The number of the process, which is also that of its group."""
        return self.process.pid

    def has_ended(self) -> bool:
        """Returns whether it has ended, without taking its number away from it."""
        if self.process.returncode is not None:
            return True
        if not hasattr(os, "waitid"):
            return self.process.poll() is not None
        try:
            return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
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
        if self._killed:
            return self._status
        ended = self.has_ended()
        family = set(_family(self.pid)) - {self.pid}
        if self.process.returncode is None:  # nobody has waited for it, so the number of its group is still its own
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)
        self._killed = True
        code = self.process.wait()
        self._status = code if ended else None
        _end_marked(self.mark, family)
        _reap_group(self.pid)
        return self._status

    def memory(self) -> int:
        """Returns how many bytes of memory it and its descendants occupy; 0 if that cannot be found out."""
        return sum(resident(pid) for pid in _family(self.pid))


def end_with_parent() -> None:
    """Let this process be killed as soon as its parent ends, where the operating system can do that."""
    _prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)


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
    _prctl(_SET_CHILD_SUBREAPER, 1)
    alive = cache(_is_alive)
    for pid, marks in _marked():
        if not alive(marks[0].rpartition(".")[0]):
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def _me() -> str:
    """Returns the number of this process and when it started, since numbers are used again."""
    return f"{os.getpid()}.{_began(os.getpid())}"


def _is_alive(who: str) -> bool:
    pid, _, began = who.partition(".")
    return pid.isdigit() and _began(int(pid)) == began


def _began(pid: int) -> str:
    fields = _stat(pid)
    return fields[19] if fields else "0"


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


def _end_marked(mark: str, dying: set[int]) -> None:
    """Kill whoever bears the mark, until nobody does, and wait for those that this process has adopted.

    `dying` may have ended before, and then bear no mark any more.
    """
    for _ in range(_ROUNDS):
        living = {pid for pid, marks in _marked() if mark in marks}
        for pid in living:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        dying = {pid for pid in dying | living if not _is_over(pid)}
        if not living and not dying:
            return
        time.sleep(_ROUND_SECONDS)


def _is_over(pid: int) -> bool:
    """Returns whether a process that was killed is gone. Waits for it if it is a child of this process."""
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    except ChildProcessError:
        fields = _stat(pid)
        return not fields or (fields[0] == "Z" and fields[1] != str(os.getpid()))


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
