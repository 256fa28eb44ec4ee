"""The words of the interface: the base of its enumerations."""

from __future__ import annotations

from enum import StrEnum


class Word(StrEnum):
    """A text that is one of a few, as `Recovery.PUSHED`. It is written so in Python, and as its text everywhere else,
    so that what is printed with `repr` can be pasted into a test."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}.{self.name}"
