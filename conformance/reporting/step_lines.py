"""Where the lines of a step end, in the narrow column of a table."""

from __future__ import annotations

import re
from textwrap import wrap

WIDTH = 25
"""How long a line is, so that two short operands stand on one: `(channel 0, checkpoint 1)`."""

_PAIR = re.compile(r"(?<=[\w(]) (?=[^\s(]+[,)])")
"""The blank between the name of an operand and its value."""
_OPERANDS = re.compile(r"\(.*\),?")
_NO_BREAK = "\N{NO-BREAK SPACE}"


def lines_of(step: str, width: int = WIDTH) -> tuple[str, ...]:
    """Break a step in words into lines. They end between words: not within the operands if these fit on one line, and
    not between an operand and its value. What has no such place is longer than `width`, as the name of a step may be.
    """
    found = _OPERANDS.search(step)
    if len(step) <= width or found is None:
        return tuple(wrap(step, width, break_long_words=False))
    operands = found[0].replace(" ", _NO_BREAK) if len(found[0]) <= width else _PAIR.sub(_NO_BREAK, found[0])
    bound = step[: found.start()] + operands + step[found.end() :]
    lines = wrap(bound, width, break_on_hyphens=False, break_long_words=False)
    return tuple(line.replace(_NO_BREAK, " ") for line in lines)
