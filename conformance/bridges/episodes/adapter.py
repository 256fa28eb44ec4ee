"""The adapter: a program that says how a job is started, and what is in its output."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec

from conformance.ports import UnusableImplementation
from conformance.ports.episodes import Description, Row

_SECONDS = 120.0
"""How long a command of an adapter may take, on a machine that is busy."""
_LAST = 2_000


class Adapter:
    """The commands of an adapter. Each raises UnusableImplementation if it fails."""

    def __init__(self, command: Sequence[str]) -> None:
        self.command = tuple(command)

    @cached_property
    def description(self) -> Description:
        """What the adapter says of itself."""
        text = self._ask("describe")
        try:
            return msgspec.json.decode(text, type=Description)
        except msgspec.MsgspecError as error:
            raise self._wrong("describe", f"it must print a description as a JSON object: {error}") from error

    def prepare(self, folder: Path, plan: Path) -> None:
        """Makes what the engine needs in an empty folder, before the first life."""
        self._ask("prepare", str(folder), str(plan))

    def start(self, folder: Path, plan: Path, parallelism: int) -> list[list[str]]:
        """Returns the commands of the processes of a life."""
        text = self._ask("command", str(folder), str(plan), str(parallelism))
        try:
            found: Any = json.loads(text)
            one = [found] if found and isinstance(found[0], str) else found
            return msgspec.convert(one, list[list[str]])
        except (ValueError, LookupError, TypeError, msgspec.MsgspecError) as error:
            raise self._wrong("command", f"it must print a list of words, or a list of such lists: {text!r}") from error

    def rows(self, folder: Path) -> tuple[Row, ...]:
        """Returns the output."""
        return tuple(self._rows(folder))

    def _rows(self, folder: Path) -> Iterator[Row]:
        if self.description.rows:
            texts = [one.read_bytes() for one in sorted(folder.glob(self.description.rows)) if one.is_file()]
        else:
            texts = [self._ask("output", str(folder))]
        for text in texts:
            for line in text.splitlines(keepends=True):
                if line.endswith(b"\n") and line.strip():  # the last line may have been cut by a kill
                    try:
                        yield Row(*msgspec.json.decode(line, type=tuple[Any, ...]))
                    except (TypeError, msgspec.MsgspecError) as error:
                        raise self._wrong(
                            "output", f"a row is [key, count, id] or [key, count, id, batch]: {line!r}"
                        ) from error

    def progress(self, folder: Path) -> object:
        """Returns what changes as long as something happens."""
        if self.description.progress:
            sizes = []
            for one in folder.glob(self.description.progress):
                try:
                    sizes.append(one.stat().st_size)
                except OSError:  # it has vanished meanwhile
                    continue
            return sizes
        return self._ask("progress", str(folder))

    def checkpoints(self, folder: Path) -> int | None:
        """Returns how many checkpoints have completed; None: the engine does not tell."""
        if not self.description.checkpoints:
            return None
        text = self._ask("checkpoints", str(folder))
        try:
            return int(text)
        except ValueError as error:
            raise self._wrong("checkpoints", f"it must print a number, and printed {text!r}") from error

    def _ask(self, *words: str) -> bytes:
        try:
            done = subprocess.run(
                (*self.command, *words), stdin=subprocess.DEVNULL, capture_output=True, timeout=_SECONDS, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise self._wrong(words[0], str(error)) from error
        if done.returncode:
            said = done.stderr[-_LAST:].decode("utf-8", "replace").strip()
            raise self._wrong(words[0], f"it exited with status {done.returncode}: {said}")
        return done.stdout

    def _wrong(self, what: str, why: str) -> UnusableImplementation:
        return UnusableImplementation(f"The adapter {' '.join(self.command)} cannot {what}: {why}")
