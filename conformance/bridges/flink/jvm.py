"""A JVM with classes of one release, which must be those of that release, and whole."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from conformance.bridges.flink.releases import find_jars
from conformance.bridges.jsonl.client import Client
from conformance.bridges.jsonl.protocol import Greeting, Refused, Reply
from conformance.ports import UnusableImplementation

UNUSABLE_CLASS = "a class cannot be used: "
"""How a request is refused of which Flink or the adapter needs a class that the JVM cannot load (`Unusable.java`)."""


class Jvm(Client):
    """A JVM of a release."""

    def __init__(self, command: Sequence[str], release: str, **options: Any) -> None:
        """`options`: those of a client."""
        super().__init__(command, **options)
        self._release = release

    def check(self, reply: Reply) -> None:
        """Raises: UnusableImplementation if the jar is that of another line of releases, or a class cannot be loaded,
        which is no outcome of Flink."""
        if isinstance(reply, Greeting):
            self._check_line(reply.version)
        elif isinstance(reply, Refused) and reply.reason.startswith(UNUSABLE_CLASS):
            jars = ", ".join(map(str, find_jars(self._release)))
            raise UnusableImplementation(
                f"Flink {self._release} cannot be tested, since {reply.reason}. A jar is damaged, or it is not that of "
                f"this release: {jars}. Delete it and fetch it again, or build it again."
            )

    def _check_line(self, version: str) -> None:
        """Another patch release and a snapshot of the same line may have changes of the user's. A build that does not
        know its version says `<unknown>`, and so do the reports."""
        found, asked = _line(version), _line(self._release)
        if found and found != asked:
            raise UnusableImplementation(
                f"Flink {self._release} was asked for, but {find_jars(self._release)[0]} is Flink {version}. "
                f"Put a jar of {asked} there, or name the release that it is."
            )


def _line(version: str) -> str:
    """Major and minor version; empty if there is none."""
    found = re.match(r"\d+\.\d+(?!\d)", version)
    return found[0] if found else ""
