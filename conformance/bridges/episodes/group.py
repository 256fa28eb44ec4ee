"""The processes of one life: one group, which is killed as a whole, with all that they have started."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from conformance.system.processes import cpu_seconds, end_marked, with_mark
from conformance.system.supervisor import end_with_parent

_PROC = Path("/proc")
_SECONDS = 5.0
"""How long to wait until all threads stand still."""


class Group:
    """Running processes. They are killed with the object that made them, and never left behind."""

    def __init__(self, commands: Sequence[Sequence[str]], folder: Path, log: Path, env: Mapping[str, str]) -> None:
        """Raises: OSError if a program cannot be started."""
        self._processes: list[subprocess.Popen[bytes]] = []
        self._mark, env = with_mark(env)
        with log.open("ab") as file:
            try:
                for command in commands:
                    leader = self._processes[0].pid if self._processes else 0
                    self._processes.append(
                        subprocess.Popen(
                            tuple(command), cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=file,
                            stderr=subprocess.STDOUT, process_group=leader,
                            preexec_fn=end_with_parent,  # noqa: PLW1509  it calls one function of the C library
                        )
                    )  # fmt: skip
            except OSError:
                self.kill()
                raise

    def statuses(self) -> list[int | None]:
        """Returns the exit status of each process, or None while it runs."""
        return [one.poll() for one in self._processes]

    def kill(self) -> None:
        """Kill all processes, those too that others have started, in the group or out of it, and wait until they are
        gone: one that is dying may still end a write."""
        if not self._processes:
            return
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._processes[0].pid, signal.SIGKILL)
        others = set(self._members()) - {one.pid for one in self._processes} if _PROC.is_dir() else set()
        for one in self._processes:
            with suppress(ProcessLookupError):
                one.kill()
            one.wait()
        end_marked(self._mark, others)

    def terminate(self) -> None:
        """Ask all processes to end."""
        with suppress(ProcessLookupError):
            os.killpg(self._processes[0].pid, signal.SIGTERM)

    def seconds(self) -> float:
        """Returns how many CPU seconds the processes have taken that have not ended."""
        return sum(cpu_seconds(one.pid) for one in self._processes if one.returncode is None)

    def stop(self) -> bool:
        """Let all threads stand still. Returns whether they do: the signal arrives at each of them later."""
        with suppress(ProcessLookupError):
            os.killpg(self._processes[0].pid, signal.SIGSTOP)
        late = time.monotonic() + _SECONDS
        while not all(state in "TtZX" for state in self._states()):
            if time.monotonic() > late:
                return False
            time.sleep(0.001)
        return True

    def go_on(self) -> None:
        """Let all threads go on."""
        with suppress(ProcessLookupError):
            os.killpg(self._processes[0].pid, signal.SIGCONT)

    def _states(self) -> Iterator[str]:
        """Yields the state of each thread of the group, as a letter of /proc."""
        for process in self._members():
            with suppress(OSError, LookupError, ValueError):
                for thread in (_PROC / str(process) / "task").iterdir():
                    yield (thread / "stat").read_text().rpartition(")")[2].split()[0]

    def _members(self) -> Iterator[int]:
        """Yields the processes of the group."""
        for process in _PROC.iterdir():
            if process.name.isdigit():
                with suppress(OSError):
                    if os.getpgid(int(process.name)) == self._processes[0].pid:
                        yield int(process.name)
