"""An order that says nothing about what is in it, for measurements that may be stopped."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from typing import TypeVar

T = TypeVar("T")


def in_fair_order(things: Iterable[T], name: Callable[[T], str]) -> list[T]:
    """Return things by the hashes of their names. So those that come first are a fair sample, on any machine the same,
    and hardly another one when there are a few things more."""
    return sorted(things, key=lambda one: hashlib.sha256(name(one).encode()).hexdigest())
