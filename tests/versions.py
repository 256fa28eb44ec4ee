"""Other versions of the suite beside the working copy: their files, and processes that run with them."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path
from types import TracebackType
from typing import Any, Self

ROOT = Path(__file__).parents[1]
"""The working copy."""


def extract(revision: str, folder: Path) -> None:
    """Write the files of a revision of the working copy's repository into a folder. Raises: CalledProcessError."""
    archive = subprocess.run(["git", "archive", revision], cwd=ROOT, check=True, capture_output=True).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        files.extractall(folder, filter="data")


class Version:
    """A process that runs a script of the working copy with the suite at `root`. Use it in a `with` statement.

    The script reads one request a line and writes one reply a line, both JSON. It may use only what both versions have,
    and nothing that lies beside it.
    """

    def __init__(self, script: Path, root: Path = ROOT) -> None:
        # Without -P, Python would look for modules in the script's folder before it looks in the other version.
        self._process = subprocess.Popen(
            [sys.executable, "-P", str(script)], cwd=root, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(root), "PYTHONHASHSEED": "0"},
        )  # fmt: skip

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._process.communicate()

    def send(self, request: Any) -> None:
        """Send a request. `reply` returns what comes back."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()

    def reply(self) -> Any:
        """Returns the reply to the oldest request that has none yet. Raises: RuntimeError if the process has ended."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"A version of the suite has ended with status {self._process.wait()}.")
        return json.loads(line)

    def ask(self, request: Any) -> Any:
        """Send a request, and return what comes back."""
        self.send(request)
        return self.reply()
