"""Makes text that comes from elsewhere harmless, before it is printed or written."""

from __future__ import annotations

_KEPT = "\n\t"


def neutral(text: str) -> str:
    """Returns the text with escape sequences in place of control characters and of everything else that is invisible.

    Line breaks and tabs are kept. A terminal that prints the result does nothing but print it.
    """
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() or one in _KEPT else one.encode("unicode_escape").decode() for one in text)


def neutral_line(text: str) -> str:
    """Returns the text as `neutral` does, but on one line: line breaks and tabs are escape sequences, too."""
    return neutral(text).replace("\n", "\\n").replace("\t", "\\t")
