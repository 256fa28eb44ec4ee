"""Shows what implementations write to stdout and stderr: the beginning as it comes, and the end when they end.

They may write without end. What they write is read all the same, so that they never wait, and left out.
"""

from __future__ import annotations

import sys

from conformance.system.text import Quoted, neutral_line

FIRST = 64 * 1024
"""How many bytes are shown as they come."""
LAST = 8 * 1024
"""How many bytes are shown at the end."""


class Relay:
    """Shows what the workers of one implementation write, one after the other, or of those of one plan."""

    def __init__(self, name: str) -> None:
        """`name`: whose words they are."""
        self._name = name
        self._quoted = Quoted()
        self._left = FIRST
        self._rest = bytearray()
        self._omitted = 0

    def show(self, part: bytes) -> None:
        """Show a part of what was written, as far as it is still to be shown."""
        if shown := part[: self._left]:
            self._left -= len(shown)
            sys.stderr.write(self._quoted(shown.decode(errors="replace")))
        if len(shown) == len(part):
            return
        if not self._rest:
            sys.stderr.write(
                f"{self._quoted.end()}{neutral_line(self._name)} has written {FIRST >> 10} KiB to stdout and stderr; "
                "of the rest, the end is shown when it ends\n"
            )
        self._rest += part[len(shown) :]
        self._omitted += max(0, len(self._rest) - LAST)
        del self._rest[:-LAST]

    def finish(self) -> None:
        """Show the end, and say how much is left out. Later parts are not shown as they come."""
        if not self._rest:
            sys.stderr.write(self._quoted.end())
            return
        sys.stderr.write(
            f"{neutral_line(self._name)}: {self._omitted:,} bytes of what it has written are left out, "
            f"and the last {len(self._rest):,} are:\n"
        )
        sys.stderr.write(self._quoted(self._rest.decode(errors="replace")) + self._quoted.end())
        self._rest.clear()
        self._omitted = 0
