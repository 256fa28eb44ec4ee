"""The two versions of the suite, each in a process of its own."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tarfile
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

JUDGE = Path(__file__).with_name("judge.py")


def extract(revision: str, root: Path, folder: Path) -> None:
    """Write the files of a revision of the repository at `root` into a folder. Raises: CalledProcessError."""
    archive = subprocess.run(["git", "archive", revision], cwd=root, check=True, capture_output=True).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        files.extractall(folder, filter="data")


class Version:
    """A process that draws and judges with the suite at `root`. Use it in a `with` statement."""

    def __init__(self, root: Path) -> None:
        # Without -P the judge's folder, which belongs to this version, would be searched before the other version.
        environment = {**os.environ, "PYTHONPATH": str(root), "PYTHONHASHSEED": "0"}
        self._process = subprocess.Popen(
            [sys.executable, "-P", str(JUDGE)], cwd=root, env=environment, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip

    def __enter__(self) -> Version:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._process.communicate()

    def ask(self, request: dict[str, Any]) -> Any:
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

    def catalogue(self) -> Any:
        """Returns what this version has."""
        self.ask({})
        return self.reply()

    def draw(self, implementation: str, component: str, seeds: Sequence[str]) -> Any:
        """Draw and judge one scenario for each seed text."""
        self.ask({"implementation": implementation, "component": component, "seeds": list(seeds)})
        return self.reply()

    def judge(self, implementation: str, scenarios: Sequence[str]) -> Any:
        """Judge scenarios that were drawn elsewhere."""
        self.ask({"implementation": implementation, "scenarios": list(scenarios)})
        return self.reply()
