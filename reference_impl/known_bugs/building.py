"""How a known bug becomes an implementation."""

from __future__ import annotations

from typing import Any

from reference_impl.deque import ReferenceDeque
from reference_impl.design import PUSHED
from reference_impl.implementation import Reference
from reference_impl.prioritized_deque import PrioritizedDeque


def with_parts(name: str, **parts: type[Any]) -> Reference:
    """The reference with other classes for some of its parts: `with_parts("B-01", subpartition_class=Mutant)`."""
    unknown = [part for part in parts if not hasattr(Reference, part)]
    if unknown:
        raise TypeError(f"the reference has no part {', '.join(unknown)}")
    mutant: type[Reference] = type("Mutant", (Reference,), dict(parts))
    return mutant(f"known-bug:{name}", PUSHED)


def with_deque(name: str, part: type[PrioritizedDeque[Any]]) -> Reference:
    """The reference with another deque."""
    return with_parts(name, deque_class=type("MutantDeque", (ReferenceDeque,), {"deque_class": part}))
