"""An implementation that ends its process, as an adapter that calls `sys.exit`: `ENDS` says where, `ENDS_WITH` how."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path

from conformance.ports import Implementation, find_implementation
from conformance.ports.examined import Examined
from conformance.state_files import StateAudit


def _may_end(where: str) -> None:
    if os.environ["ENDS"] == where:
        status = os.environ["ENDS_WITH"]
        sys.exit(int(status) if status.isdigit() else status)


class Ending(Implementation):
    """A deque of the reference."""

    name, version = "ending", "1"
    capabilities = find_implementation("reference").capabilities

    def components(self):
        return {"deque": find_implementation("reference").components()["deque"]}

    def examine(self) -> Iterable[Examined]:
        _may_end("examine")
        return super().examine()

    def audit(self, folder: Path) -> StateAudit | None:
        _may_end("audit")
        return super().audit(folder)

    def close(self) -> None:
        _may_end("close")
