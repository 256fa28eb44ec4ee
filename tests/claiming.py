"""Subpartitions that have a capability and do not claim it, or claim it and do not have it."""

from __future__ import annotations

from typing import Any

from conformance.ports import Capability
from reference_impl.network.subpartition import Subpartition
from tests.implementations import With


class Modest(With):
    """Does not claim what it has."""

    name = "modest"

    def __init__(self, *hidden: Capability) -> None:
        super().__init__(Subpartition, "modest")
        self.hidden = frozenset(hidden)

    @property
    def capabilities(self) -> frozenset[Capability]:
        return super().capabilities - self.hidden


class Refusing(Subpartition):
    def fault(self, place: str, kind: Any, nth: int = 1) -> bool:
        return False


def modest() -> With:
    return Modest(Capability.BLOCKED_PRIORITY_LOCAL)


def refusing() -> With:
    return With(Refusing, "refusing")
