"""Runs the operations of a writer that meets no other thread. Specification: writer.md."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def at_once(operation: Coroutine[Any, Any, T]) -> T:
    """W9, W11. Run an operation of the writer to its end. It meets no other one, so that its locks are free."""
    try:
        while True:
            operation.send(None)
    except StopIteration as end:
        value: T = end.value
        return value
