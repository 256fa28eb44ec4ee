"""Runs one program for another process, and ends everything that the program has started when either of them ends.

It runs in a process of its own, between the two, and adopts whatever is orphaned under it (Linux). What the program
starts therefore stays below this process, wherever it hides: in another group or session, as a daemon, without an
environment. A killed driver, which can do nothing any more, is noticed here.

It is started once for each program, so this module imports little.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import sys
import time

_PROC = "/proc"
_SET_PARENT_DEATH_SIGNAL, _SET_CHILD_SUBREAPER = 1, 36
_ROUND_SECONDS = 0.001
_LOOK_MILLISECONDS = 200
"""How often to look whether the driver is there, on a Linux before 5.3, which does not report it."""
FAILED = b"!"
"""Begins the report of a program that could not be started; the error number follows."""


def adopt_orphans() -> None:
    """Let this process become the parent of what is orphaned under it, where the operating system can do that."""
    _prctl(_SET_CHILD_SUBREAPER, 1)


def end_with_parent() -> None:
    """Let this process be killed as soon as its parent ends, where the operating system can do that."""
    _prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)


def descendants() -> list[int]:
    """Returns the processes below this one that exist now, those that have ended and are not waited for included."""
    below: dict[int, list[int]] = {}
    for name in os.listdir(_PROC) if os.path.isdir(_PROC) else ():
        if name.isdigit():
            try:
                with open(f"{_PROC}/{name}/stat", "rb") as file:
                    parent = int(file.read().rpartition(b")")[2].split()[1])
            except (OSError, IndexError):  # it has just ended
                continue
            below.setdefault(parent, []).append(int(name))
    found = list(below.get(os.getpid(), ()))
    for pid in found:
        found += below.get(pid, ())
    return found


def end_descendants(seconds: float = float("inf")) -> None:
    """Kill everything below this process until nothing is left, and wait for it; for at most so many seconds.

    What belongs to another user stays. An orphan of the meantime must come to this process (`adopt_orphans`).
    """
    deadline = time.monotonic() + seconds
    out_of_reach: set[int] = set()
    while True:
        while _reap():
            pass
        living = [pid for pid in descendants() if pid not in out_of_reach]
        if not living or time.monotonic() >= deadline:
            return
        for pid in living:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            except PermissionError:
                out_of_reach.add(pid)
        time.sleep(_ROUND_SECONDS)


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def _reap() -> tuple[int, int] | None:
    """Returns a child that has ended, and its status, which nobody gets again. None: there is none."""
    try:
        pid, status = os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        return None
    return (pid, status) if pid else None


def main() -> None:
    """Run a program. The arguments: who wants it, two descriptors, and the command.

    The first descriptor is readable, or closed, when the program must end. To the second one is written the number of
    the program, or `!` and an error number if there is no such program, and in the next line its status (as of
    `os.wait`) if it has ended by itself.
    """
    driver, control, report, *command = sys.argv[1:]
    _supervise(int(driver), int(control), int(report), command)


def _supervise(driver: int, control: int, report: int, command: list[str]) -> None:
    for descriptor in (control, report):
        os.set_inheritable(descriptor, False)
    adopt_orphans()
    awake, wake = os.pipe()
    os.set_blocking(wake, False)
    os.set_blocking(awake, False)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    poll = select.poll()
    for descriptor in (control, awake):
        poll.register(descriptor, select.POLLIN)
    kept = {control, report, awake, wake}
    look: int | None = None
    try:
        other = os.pidfd_open(driver)
    except (AttributeError, OSError):
        look = _LOOK_MILLISECONDS
    else:
        poll.register(other, select.POLLIN)
        kept.add(other)
    try:
        child = _start(command, report, kept)
        if child is None:
            return
        while os.getppid() == driver:
            ready = {descriptor for descriptor, _ in poll.poll(look)}
            if awake in ready:
                os.read(awake, 4096)
            while (ended := _reap()) is not None:  # adopted ones, too
                if ended[0] == child:
                    os.write(report, b"%d\n" % ended[1])
                    return
            if ready - {awake}:
                return
    finally:
        end_descendants()


def _start(command: list[str], report: int, kept: set[int]) -> int | None:
    """Start the program, keep nothing that is its own, and report what became of it. Returns its number."""
    trouble, told = os.pipe()
    me = os.getpid()
    child = os.fork()
    if not child:
        _become(command, me, told)
    os.close(told)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the driver decides what Ctrl-C means
    null = os.open(os.devnull, os.O_RDWR)
    for standard in range(3):
        os.dup2(null, standard)
    for name in os.listdir(f"{_PROC}/self/fd"):
        if int(name) > 2 and int(name) not in kept | {trouble}:
            with contextlib.suppress(OSError):  # it was that of the list
                os.close(int(name))
    error = os.read(trouble, 16)
    os.close(trouble)
    os.write(report, (FAILED + error if error else b"%d" % child) + b"\n")
    return None if error else child


def _become(command: list[str], parent: int, told: int) -> None:
    """Turn this process into the program."""
    try:
        os.setpgid(0, 0)
        end_with_parent()
        for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them
            signal.signal(number, signal.SIG_DFL)
        if os.getppid() == parent:
            os.execvp(command[0], command)
    except OSError as error:
        os.write(told, b"%d" % (error.errno or 0))
    finally:
        os._exit(127)
