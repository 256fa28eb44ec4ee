"""How the strategies of this package make the values that they draw."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import hypothesis.strategies as st
from hypothesis.strategies import SearchStrategy

T = TypeVar("T")


def made(make: Callable[..., T], *parts: SearchStrategy[Any]) -> SearchStrategy[T]:
    """Draws the parts, and what is made of them: as `st.builds(make, *parts)` does. But of what that has built,
    Hypothesis prints the call, with a function of ours that is no use to anybody, and of this the `repr`."""
    return _made(make, parts)


@st.composite
def _made(draw: st.DrawFn, make: Callable[..., T], parts: tuple[SearchStrategy[Any], ...]) -> T:
    return make(*map(draw, parts))
