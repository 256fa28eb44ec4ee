"""What `conformance doctor` says: one thing that was looked at, and how it is."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Examined:
    """One thing that was looked at. With a `cure` something is wrong; `noted` says something that nobody judges."""

    what: str
    """What was looked at, in a few words: "greeting", "deque: answers"."""
    found: str
    """How it is, in sentences: what was wrong, and where."""
    cure: str = ""
    """What would be right. Empty: nothing is wrong."""
    noted: bool = False
    """Worth knowing, and never wrong."""

    @property
    def wrong(self) -> bool:
        """Whether there is something to mend."""
        return bool(self.cure)
