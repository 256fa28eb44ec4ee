"""Of a test with many values, some are tried by default, and the others by `make nightly`."""

from __future__ import annotations

from binascii import crc32
from collections.abc import Callable, Iterable
from typing import Any

import pytest

MINIMAL, FIRST_HIT = range(2)
"""How a known bug is tried: in the minimal scenario of the corpus, or in the one in which the search found it first."""
_OTHERS = pytest.mark.slow(reason="others are tried by default")
_OTHERWISE = pytest.mark.slow(reason="the bug is tried in the other way by default")


def one_of(every: int, values: Iterable[Any], name: Callable[[Any], str] | None = None) -> list[Any]:
    """Return the parameters of a test: one of so many values, from the first on, is tried by default; 0: no value is.

    A tuple has the values of several arguments. `name`: what a value is called, otherwise as pytest calls it."""
    return [
        pytest.param(
            *(value if type(value) is tuple else (value,)),
            id=name and name(value),
            marks=[] if every and at % every == 0 else [_OTHERS],
        )
        for at, value in enumerate(values)
    ]


def tried(way: int, bug: str, value: Any) -> Any:
    """Return the parameter of a test that tries a known bug in this way: by default, each bug is tried in one of two.

    The id of a bug decides, so that a new bug does not change how the others are tried."""
    return pytest.param(value, id=bug, marks=[] if crc32(bug.encode()) % 2 == way else _OTHERWISE)
