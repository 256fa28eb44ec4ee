"""One check of `conformance doctor` and its result."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Examined:
    """One check and its result: wrong if it has a `cure`, for information only if `noted`, and otherwise right."""

    what: str
    """What was checked, in a few words: "greeting", "deque: results"."""
    found: str
    """The result, in sentences: what was wrong, and where."""
    cure: str = ""
    """What the user must change. Empty: nothing is wrong."""
    noted: bool = False
    """The result is worth knowing, but nothing is wrong."""

    @property
    def wrong(self) -> bool:
        """Whether the user must change something."""
        return bool(self.cure)
