"""The adapter: a program that says how a job is started, and what is in its output."""

from __future__ import annotations

import json
import os
import select
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

import msgspec

from conformance.ports import UnusableImplementation
from conformance.ports.episodes import Description, Row
from conformance.system.processes import cpu_seconds
from conformance.system.supervisor import end_with_parent

_SECONDS = 120.0
"""How long a command of an adapter may take, on a machine that is busy."""
_LAST = 2_000
_RENAMED = 1_000
"""How often files of the output may vanish while they are read, before the adapter is wrong."""


class _Line(msgspec.Struct, array_like=True, forbid_unknown_fields=True, gc=False):
    """A row as the output has it."""

    key: int | str
    count: int
    id: int
    batch: int = -1


_DECODER = msgspec.json.Decoder(_Line)
_SOME = msgspec.Meta(min_length=1)
_COMMANDS = Annotated[list[Annotated[list[str], _SOME]], _SOME]


class Adapter:
    """The commands of an adapter. Each raises UnusableImplementation if it fails."""

    def __init__(self, command: Sequence[str]) -> None:
        self.command = tuple(command)
        self._server: _Server | None = None

    @cached_property
    def description(self) -> Description:
        """What the adapter says of itself."""
        text = self._ask("describe")
        try:
            found = msgspec.json.decode(text, type=Description)
        except msgspec.MsgspecError as error:
            raise self._wrong("describe", f"it must print a description as a JSON object: {error}") from error
        for name, values in found.knobs.items():
            if not values:
                raise self._wrong("describe", f"the knob {name!r} has no value")
        for field, pattern in (("rows", found.rows), ("progress", found.progress)):
            try:
                any(Path(os.devnull).glob(pattern or "*"))
            except (ValueError, NotImplementedError) as error:
                raise self._wrong("describe", f"{field!r} is no glob in the folder of the job: {error}") from error
        return found

    def prepare(self, folder: Path, plan: Path) -> None:
        """Makes what the engine needs in an empty folder, before the first life."""
        self._ask("prepare", str(folder), str(plan))

    def start(self, folder: Path, plan: Path, parallelism: int) -> list[list[str]]:
        """Returns the commands of the processes of a life."""
        return self._commands("command", str(folder), str(plan), str(parallelism))

    def host(self, folder: Path) -> list[str]:
        """Returns the command of the process in which lives run. In the folder it makes the file `ready`."""
        return self._commands("host", str(folder))[0]

    def _commands(self, *words: str) -> list[list[str]]:
        text = self._ask(*words)
        try:
            found: Any = json.loads(text)
            one = [found] if found and isinstance(found[0], str) else found
            commands: list[list[str]] = msgspec.convert(one, _COMMANDS)
            return commands
        except (ValueError, LookupError, TypeError, msgspec.MsgspecError) as error:
            raise self._wrong(words[0], f"it must print a list of words, or a list of such lists: {text!r}") from error

    def rows(self, folder: Path) -> tuple[Row, ...]:
        """Returns the rows of the output, without lines that are none."""
        return tuple(one for one in self._lines(folder) if type(one) is Row)

    def unreadable(self, folder: Path) -> str:
        """Returns what is wrong with the first line of the output that is no row; empty: all are rows."""
        line = next((one for one in self._lines(folder) if type(one) is bytes), None)
        if line is None:
            return ""
        return f"a line of its output is no row [key, count, id] or [key, count, id, batch]: {line!r}"

    def _lines(self, folder: Path) -> Iterator[Row | bytes]:
        """Yields each line of the output: the row, or the line as it is if it is none."""
        texts = self._texts(folder) if self.description.rows else [self._ask("output", str(folder))]
        for text in texts:
            for line in text.splitlines(keepends=True):
                if line.endswith(b"\n") and line.strip():  # the last line may have been cut by a kill
                    try:
                        one = _DECODER.decode(line)
                    except msgspec.MsgspecError:
                        yield line
                    else:
                        yield Row(one.key, one.count, one.id, one.batch)

    def _texts(self, folder: Path) -> list[bytes]:
        """Returns what is in the files of the output, in the order of their names."""
        for _ in range(_RENAMED):
            with suppress(FileNotFoundError):  # the job has renamed one meanwhile, and its rows are elsewhere now
                return [one.read_bytes() for one in sorted(folder.glob(self.description.rows)) if one.is_file()]
        raise self._wrong("output", f"a file that fits {self.description.rows!r} vanished, {_RENAMED} times")

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
        return self._number("checkpoints", folder) if self.description.checkpoints else None

    def checkpoint(self, folder: Path) -> int:
        """Asks for a checkpoint. Returns what `checkpoints` returns once it has completed, or more."""
        return self._number("checkpoint", folder)

    def _number(self, command: str, folder: Path) -> int:
        text = self._ask(command, str(folder))
        try:
            return int(text)
        except ValueError as error:
            printed = repr(text.decode("utf-8", "replace").strip()) if text.strip() else "nothing"
            raise self._wrong(command, f"it must print a number, and printed {printed}") from error

    def savepoint(self, folder: Path) -> None:
        """Asks the job to stop with a savepoint, from which the next life starts."""
        self._ask("savepoint", str(folder))

    def stop(self, folder: Path) -> None:
        """Asks the job to stop."""
        self._ask("stop", str(folder))

    def seconds(self) -> float:
        """Returns how many CPU seconds the process that answers commands has taken, if there is one."""
        return 0.0 if self._server is None else self._server.seconds()

    def close(self) -> None:
        """End the process that answers commands."""
        if self._server is not None:
            self._server.close()
            self._server = None

    def _ask(self, *words: str) -> bytes:
        if words[0] != "describe" and self.description.serves:
            if self._server is None:
                self._server = _Server((*self.command, "serve"))
            try:
                return self._server.ask(words)
            except (OSError, ValueError) as error:
                self.close()
                raise self._wrong(words[0], str(error)) from error
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
        return UnusableImplementation(f"The adapter {' '.join(self.command)} does not do {what!r}: {why}")


class _Server:
    """A process of the adapter that answers one command after the other, which is much cheaper than a process each."""

    def __init__(self, command: Sequence[str]) -> None:
        """Raises: OSError if the program cannot be started."""
        self._said = tempfile.TemporaryFile()  # noqa: SIM115  it is closed with the process
        self._process = subprocess.Popen(
            tuple(command), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._said,
            preexec_fn=end_with_parent,  # noqa: PLW1509  it calls one function of the C library
        )  # fmt: skip

    def ask(self, words: Sequence[str]) -> bytes:
        """Returns what a command has printed. Raises: OSError, ValueError if there is no answer, or another one."""
        asked, answers = self._process.stdin, self._process.stdout
        assert asked is not None
        assert answers is not None
        asked.write(json.dumps(words).encode() + b"\n")
        asked.flush()
        late, line = time.monotonic() + _SECONDS, b""
        while not line.endswith(b"\n"):
            if not select.select([answers], [], [], max(0.0, late - time.monotonic()))[0]:
                raise OSError(f"it did not answer with a line within {_SECONDS:.0f} s")
            part = os.read(answers.fileno(), 1 << 16)
            if not part:
                break
            line += part
        if not line.endswith(b"\n"):
            self._said.seek(0)
            raise OSError(f"it has ended: {self._said.read()[-_LAST:].decode('utf-8', 'replace').strip()}")
        return msgspec.json.decode(line, type=str).encode()

    def seconds(self) -> float:
        """Returns how many CPU seconds it has taken, if the system tells."""
        return cpu_seconds(self._process.pid)

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        for file in (self._process.stdin, self._process.stdout, self._said):
            if file is not None:
                with suppress(OSError):
                    file.close()
        self._process.wait()
