"""A host: a process in which many lives run one after the other, since it is dear to start. Each life is its guest."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from conformance.bridges.episodes.group import Group
from conformance.ports import UnusableImplementation
from conformance.system.copying import copy_folder

_START_SECONDS = 300.0
"""How long a host may take to start, on a machine that is busy."""
_END_SECONDS = 30.0
"""How long it may take to end a life. Then it is killed."""
_TICK = 0.005
_LAST = 2_000


class Host:
    """Starts the process when a life needs it, and again if it is gone."""

    def __init__(self, command: Callable[[Path], list[str]]) -> None:
        """`command`: returns the words of the command, from the folder in which it makes the file `ready`."""
        self._command = command
        self._live: tuple[Group, Path] | None = None
        """The process and its folder."""

    def running(self) -> tuple[Group, Path]:
        """Returns the process and its folder. Raises: UnusableImplementation if it does not start."""
        if self._live is None or self._live[0].statuses() != [None]:
            self.close()
            self._live = self._started()
        return self._live

    def _started(self) -> tuple[Group, Path]:
        folder = Path(tempfile.mkdtemp(prefix="host-"))
        log, group = folder / "log", None
        try:
            group = Group([self._command(folder)], folder, log, os.environ)
            late = time.monotonic() + _START_SECONDS
            while not (folder / "ready").exists():
                if group.statuses() != [None] or time.monotonic() > late:
                    said = log.read_bytes()[-_LAST:].decode("utf-8", "replace").strip()
                    raise UnusableImplementation(f"The host is not ready: {said}")
                time.sleep(_TICK)
        except BaseException as error:
            if group is not None:
                group.kill()
            shutil.rmtree(folder, ignore_errors=True)
            if isinstance(error, OSError):
                raise UnusableImplementation(f"The host cannot be started: {error}") from error
            raise
        return group, folder

    def seconds(self) -> float:
        """Returns how many CPU seconds the process has taken, unless it has ended: then they are its parent's."""
        return 0.0 if self._live is None else self._live[0].seconds()

    def close(self) -> None:
        """Kill the process, and delete its folder."""
        if self._live is not None:
            group, folder = self._live
            self._live = None
            group.kill()
            shutil.rmtree(folder, ignore_errors=True)


class Guest(Group):
    """The processes of a life in a host. They pass on to it what it is to do, and that the life is to end."""

    def __init__(
        self, host: Host, commands: Sequence[Sequence[str]], folder: Path, log: Path, env: Mapping[str, str]
    ) -> None:
        """Raises: OSError if a program cannot be started; UnusableImplementation if the host does not start."""
        self._host, meeting = host.running()
        self._folder = folder
        super().__init__(commands, folder, log, {**env, "EPISODE_HOST": str(meeting)})

    def kill(self) -> None:
        """End the life, and leave in its folder what a kill of all processes would have left there.

        All threads stand still while the folder is copied. They go on only to end the life: then the copy takes the
        place of the folder. If they do not stand still, or the life does not end, or the folder cannot be copied, the
        host is killed.
        """
        if None not in self.statuses():
            return super().kill()
        image = self._folder.with_name("kill")
        try:
            stands = self.stop()
            if stands:
                copy_folder(self._folder, image)
                self.terminate()
                self.go_on()
            if not stands or not self._ends():
                self._host.kill()
        except BaseException:
            self._host.kill()
            super().kill()
            shutil.rmtree(image, ignore_errors=True)
            raise
        super().kill()
        if stands:
            shutil.rmtree(self._folder)
            image.rename(self._folder)

    def stop(self) -> bool:
        """Let all threads of the host stand still, too."""
        return super().stop() and self._host.stop()

    def go_on(self) -> None:
        """Let all threads go on."""
        self._host.go_on()
        super().go_on()

    def _ends(self) -> bool:
        late = time.monotonic() + _END_SECONDS
        while None in self.statuses():
            if time.monotonic() > late:
                return False
            time.sleep(_TICK)
        return True
