"""For the user code of a job in an episode: where it may die, and how it reads its input. It imports nothing of the
suite, so copy it if your job runs elsewhere. In another language, do the same with the two environment variables."""

import json
import os
import signal
import threading

_PLACE, _HOW, _NTH = (os.environ.get("EPISODE_ARMED") or "::0").split(":")
_LOCK = threading.Lock()
_calls = [0]


def note(text: str) -> None:
    """Tell the suite something: a line in the file that EPISODE_NOTES names."""
    if path := os.environ.get("EPISODE_NOTES"):
        with open(path, "a", encoding="utf-8") as file:
            file.write(text + "\n")


def here(place: str) -> None:
    """User code has come to a place. At the call that is armed, it throws, or the whole process group is killed."""
    if place != _PLACE:
        return
    with _LOCK:
        _calls[0] += 1
        if _calls[0] != int(_NTH):
            return
    note(f"struck {place}")
    if _HOW == "throws":
        raise RuntimeError(f"thrown at {place}")
    os.killpg(os.getpgrp(), signal.SIGKILL)


def restored() -> None:
    """The job was restored from recovery data, and does not begin at the beginning."""
    note("restored")


class Split:
    """The records of a split, from a position on. It grows until the file `in/NUMBER.end` is there."""

    def __init__(self, folder: str, number: int, position: int = 0) -> None:
        self._end = os.path.join(folder, "in", f"{number}.end")
        self._file = open(os.path.join(folder, "in", f"{number}.jsonl"), encoding="utf-8")  # noqa: SIM115
        for _ in range(position):
            self._file.readline()
        self.position = position
        note(f"begins {number} {position}")

    def read(self, most: int) -> list[dict[str, int]] | None:
        """Return up to so many further records, each {"id": …, "key": …}; None if none will follow."""
        ended = os.path.exists(self._end)  # before the file is read: what is written later is not missed
        found: list[dict[str, int]] = []
        while len(found) < most:
            at = self._file.tell()
            line = self._file.readline()
            if not line.endswith("\n"):
                self._file.seek(at)
                break
            found.append(json.loads(line))
        self.position += len(found)
        return None if ended and not found else found
