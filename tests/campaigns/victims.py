"""Finds the processes of a campaign or an exploration, and kills one of them at a moment that can be observed."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

TASK, EXECUTOR, DRIVER, JVM = "task", "executor", "driver", "JVM"
_EXECUTOR = "CoarseGrainedExecutorBackend"
_JVM = "deploy.SparkSubmit"
_DAEMON = "pyspark.daemon"
_WORKERS = ("conformance.campaigns.apart_main", "conformance.campaigns.works_main", "multiprocessing.spawn")
"""What is in the command lines of processes that run tasks, beside those of Spark."""
_RUNS = frozenset("RD")


class Process(NamedTuple):
    """A process that was running a moment ago."""

    pid: int
    parent: int
    command: str


class Processes:
    """The processes of this machine at one moment."""

    def __init__(self) -> None:
        self._all = {one.pid: one for one in _processes()}
        self._below: dict[int, list[int]] = {}
        for one in self._all.values():
            self._below.setdefault(one.parent, []).append(one.pid)

    def under(self, roots: Iterable[int]) -> list[Process]:
        """Return these processes and all below them."""
        found = [pid for pid in roots if pid in self._all]
        for pid in found:
            found += self._below.get(pid, ())
        return [self._all[pid] for pid in dict.fromkeys(found)]

    def victims(self, kind: str, driver: int, roots: Iterable[int]) -> list[int]:
        """Return the processes of a kind. `roots`: those of a cluster or a server.

        An executor or a process that runs tasks counts only while it, or what it has started, is at work: a daemon of
        Spark that only forks, and a worker that waits for its next task, are none.
        """
        if kind == DRIVER:
            return [driver]
        every = self.under((driver, *roots))
        if kind == JVM:
            return [one.pid for one in every if _JVM in one.command and "java" in one.command.partition(" ")[0]]
        if kind == EXECUTOR:
            found = [one for one in every if _EXECUTOR in one.command and "java" in one.command.partition(" ")[0]]
        else:
            found = [one for one in every if self._runs_tasks(one)]
        return [one.pid for one in found if any(is_at_work(below.pid) for below in self.under([one.pid]))]

    def executors(self, roots: Iterable[int]) -> list[int]:
        """Return the executors, at work or not."""
        return [one.pid for one in self.under(roots) if _EXECUTOR in one.command]

    def _runs_tasks(self, one: Process) -> bool:
        if _DAEMON in one.command:
            return one.parent in self._all and _DAEMON in self._all[one.parent].command
        return any(word in one.command for word in _WORKERS) and "supervisor" not in one.command


def _processes() -> Iterator[Process]:
    for name in os.listdir("/proc"):
        if name.isdigit():
            with suppress(OSError, IndexError):
                command = Path("/proc", name, "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                yield Process(int(name), int(_stat(Path("/proc", name))[1]), command)


def _stat(place: Path) -> list[str]:
    """Return the state of a process or a thread, its parent, and more."""
    return (place / "stat").read_text(errors="replace").rpartition(")")[2].split()


def is_at_work(pid: int) -> bool:
    """Return whether a thread of a process runs, or would if there were a core for it."""
    with suppress(OSError):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            with suppress(OSError, IndexError):
                if _stat(thread)[0] in _RUNS:
                    return True
    return False


def bearing(mark: str) -> list[int]:
    """Return the processes that bear a mark, `NAME=VALUE`, in their environment, and have not ended."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            with suppress(OSError, IndexError):
                place = Path("/proc", name)
                if mark.encode() in (place / "environ").read_bytes().split(b"\0") and _stat(place)[0] != "Z":
                    found.append(int(name))
    return found


def kill_if(pid: int, holds: Callable[[], bool]) -> bool:
    """Kill a process if something holds while it is stopped, and so cannot change it. Return whether it was killed."""
    try:
        os.kill(pid, signal.SIGSTOP)
        if holds():
            os.kill(pid, signal.SIGKILL)
            return True
        os.kill(pid, signal.SIGCONT)
    except ProcessLookupError:
        pass
    return False
