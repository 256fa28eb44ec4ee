"""Calls a function for many arguments, in this process or in several."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

T = TypeVar("T")
Mapping = Callable[[Callable[..., T], Iterable[tuple[Any, ...]]], Iterator[T]]


@contextmanager
def mapping(processes: int) -> Iterator[Mapping[Any]]:
    """Yields a `map` that keeps the order and may use several processes, which are started fresh and not forked."""
    if processes <= 1:
        yield lambda function, arguments: (function(*one) for one in arguments)
        return
    with ProcessPoolExecutor(processes, mp_context=multiprocessing.get_context("spawn")) as pool:
        yield lambda function, arguments: pool.map(function, *zip(*arguments, strict=True))
