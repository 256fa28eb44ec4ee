"""What Hypothesis adds to an exception when it explains a failure.

It names lines that only failing examples ran. In a suite that judges an implementation, most of these are lines of the
suite itself, such as the one that raises the violation. They explain nothing; a line of the implementation may.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

_SUITE = Path(__file__).resolve().parents[1]
_OURS = tuple(f"{folder}{os.sep}" for folder in (_SUITE, _SUITE.parent / "strategies"))
_LINE = re.compile(r"\s+(?P<file>\S.*):\d+")
_HEADING = "Explanation:"


def without_our_lines(failure: BaseException) -> None:
    """Remove the lines of the suite from the explanations in the notes of an exception and of those in its group."""
    if isinstance(failure, BaseExceptionGroup):
        for one in failure.exceptions:
            without_our_lines(one)
    notes: list[str] = getattr(failure, "__notes__", [])
    kept = [one for one in notes if not ((line := _LINE.fullmatch(one)) and line["file"].startswith(_OURS))]
    if len(kept) == len(notes):
        return
    if _HEADING in kept:  # it is followed by one line that introduces the list
        at = kept.index(_HEADING)
        if not any(_LINE.fullmatch(one) for one in kept[at + 2 :]):
            del kept[at : at + 2]
    notes[:] = kept
