"""Faults: what fails when a component calls it, because a scenario says so."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct


class FaultKind(StrEnum):
    """How a call fails."""

    THROWS = "throws"
    """It raises an error and does nothing else. What was handed to it, it has given back (Java: `IOException`)."""


class FaultStruck(Struct, frozen=True, tag="fault-struck"):
    """The fault that was armed at this place has struck: a call there has failed. It is not armed any more."""

    place: str
    kind: FaultKind
