"""Implementations that do harm to the process that runs them. A worker finds them by name."""

from __future__ import annotations

import os
import resource
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from conformance.ports import Element, KnownBug, LegalVariant, find_implementation
from reference_impl.implementation import Reference
from reference_impl.network.subpartition import Subpartition
from tests.implementations import With, with_parts

OFTEN = 7


class Harmless(Subpartition):
    """Does no harm."""

    def flush(self) -> None:
        super().flush()
        self.harm()

    def harm(self) -> None: ...


class ExitsInSilence(Harmless):
    def harm(self) -> None:
        os._exit(0)


class Exits(Harmless):
    def harm(self) -> None:
        sys.exit(0)


class Aborts(Harmless):
    def harm(self) -> None:
        print("\x1b[2Jabout to abort", flush=True)
        os.abort()


class Hangs(Harmless):
    def harm(self) -> None:
        while True:
            time.sleep(0.01)


class SwallowsTheAlarm(Harmless):
    def harm(self) -> None:
        signal.signal(signal.SIGALRM, signal.SIG_IGN)
        while True:
            try:
                time.sleep(0.01)
            except BaseException:
                continue


class Leaks(Harmless):
    kept: list[Any] = []  # noqa: RUF012

    def harm(self) -> None:
        self.kept.append(bytearray(40 << 20))


class ExitsLate(Harmless):
    """Ends its process in scenarios in which a flush comes after many elements."""

    often = OFTEN
    added = 0

    def add(self, element: Element) -> bool:
        self.added += 1
        return super().add(element)

    def harm(self) -> None:
        if self.added >= self.often:
            os._exit(0)


class ExitsRarely(ExitsLate):
    """Ends its process in a flush that comes after just so many elements."""

    often = 29

    def harm(self) -> None:
        if self.added == self.often:
            super().harm()


class LosesAndExits(ExitsRarely):
    """Loses the fifth element, too, if it is polled at once."""

    often = 20

    def poll(self) -> Any:
        found = super().poll()
        return None if self.added == 5 else found


class ExitsInFinish(Subpartition):
    """Ends its process in an operation that has the name of a turn."""

    def finish(self) -> None:
        os._exit(0)


class HangsInFinish(Subpartition):
    def finish(self) -> None:
        while True:
            time.sleep(0.01)


class HangsWhenAsked(With):
    """Does not say what it offers, or what is in a folder."""

    def components(self) -> Any:
        while True:
            time.sleep(0.01)

    def audit(self, folder: Path) -> Any:
        self.components()


class NeedsATemporaryFolder(With):
    """Has no folder for temporary files when it says for the second time what it offers."""

    asked = 0

    def components(self) -> Any:
        self.asked += 1
        if self.asked > 1:
            resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
            tempfile.tempdir = None
            tempfile.gettempdir()
        return super().components()


class HangsWhenClosed(With):
    def close(self) -> None:
        while True:
            time.sleep(0.01)


class LeavesAProgram(Harmless):
    def harm(self) -> None:
        if not os.fork():
            os.setsid()
            time.sleep(600)
        os._exit(0)


class Floods(Harmless):
    """Writes without measure to stderr and stdout."""

    mebibytes = 8

    def harm(self) -> None:
        for stream in (2, 1):
            for _ in range(self.mebibytes):
                os.write(stream, b"flood\n" * ((1 << 20) // 6))


class FloodsALittle(Floods):
    mebibytes = 1


class LeavesADaemon(Harmless):
    """Leaves a process without a parent, in a session of its own, and without an environment; one for each process."""

    left: list[int] = []  # noqa: RUF012

    def harm(self) -> None:
        if os.getpid() in self.left:
            return
        self.left.append(os.getpid())
        if not os.fork():
            os.setsid()
            if not os.fork():
                os.execve("/bin/sleep", ["sleep", "600"], {})
            os._exit(0)


class KillsItsParent(LeavesADaemon):
    """Kills every process that may look after it, after it has left a daemon."""

    def harm(self) -> None:
        super().harm()
        os.kill(os.getppid(), signal.SIGKILL)


def made(part: Any) -> Any:
    def make() -> With:
        return With(part, part.__name__)

    return make


harmless, exits_in_silence, exits, aborts = made(Harmless), made(ExitsInSilence), made(Exits), made(Aborts)
hangs, swallows_the_alarm, leaks, exits_late = made(Hangs), made(SwallowsTheAlarm), made(Leaks), made(ExitsLate)
leaves_a_program, exits_rarely, loses_and_exits = made(LeavesAProgram), made(ExitsRarely), made(LosesAndExits)
hangs_when_asked, hangs_when_closed = HangsWhenAsked, HangsWhenClosed
needs_a_temporary_folder = NeedsATemporaryFolder
floods, floods_a_little, leaves_a_daemon = made(Floods), made(FloodsALittle), made(LeavesADaemon)
kills_its_parent = made(KillsItsParent)
exits_in_finish, hangs_in_finish = made(ExitsInFinish), made(HangsInFinish)


def exits_when_made() -> Any:
    os._exit(0)


def buggy() -> Any:
    """A known bug, in a worker since its name is not that of a built-in one."""
    return find_implementation("known-bug:B-01")


def usual() -> Reference:
    return with_parts("usual")


def _bug(build: Any) -> KnownBug:
    return KnownBug("X-HOSTILE", "own", "subpartition", "sequence-numbers-have-no-gaps", "It does harm.", build)


HANGING_BUG, FLOODING_BUG = _bug(swallows_the_alarm), _bug(floods_a_little)
EXITING_BUG = _bug(exits_in_silence)
HANGING_VARIANT = LegalVariant("X-HOSTILE", "subpartition", "FS1", "It does harm.", swallows_the_alarm, usual)
HANGING_ORIGINAL = LegalVariant("X-HOSTILE", "subpartition", "FS1", "It does harm.", usual, swallows_the_alarm)
