"""Which way a known bug is tried by default. All of them in both ways take four minutes: `make nightly` does that."""

from __future__ import annotations

from binascii import crc32
from typing import Any

import pytest

MINIMAL, FIRST_HIT = range(2)
"""In the minimal scenario of the corpus, or in the one in which the search found it first."""


def tried(way: int, bug: str, value: Any) -> Any:
    """Return the parameter of a test that tries a known bug in this way. It is slow if the default is the other way."""
    return pytest.param(value, id=bug, marks=[] if crc32(bug.encode()) % 2 == way else pytest.mark.slow)
