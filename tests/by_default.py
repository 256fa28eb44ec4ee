"""Of a test with many values, some are tried by default, and the others by `make nightly`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

_OTHERS = pytest.mark.slow(reason="others are tried by default")


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
