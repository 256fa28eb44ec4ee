"""Faults: what fails when a component calls it, because a scenario says so."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import TypeAlias

from msgspec import Struct


class FaultKind(StrEnum):
    """How a call fails."""

    THROWS = "throws"
    """It raises an error and does nothing else. What was handed to it, it has given back (Java: `IOException`)."""


Places: TypeAlias = Mapping[str, tuple[FaultKind, ...]]
"""What a component calls that can fail, each with how it can fail."""
CHANNEL_STATE_WRITER = "channel-state-writer"
"""The place where buffers are handed to the channel state writer (Flink: `ChannelStateWriter.addInputData`)."""
WRITER_THROWS: Places = {CHANNEL_STATE_WRITER: (FaultKind.THROWS,)}


class FaultStruck(Struct, frozen=True, tag="fault-struck"):
    """The fault that was armed at this place has struck: a call there has failed. It is not armed any more."""

    place: str
    kind: FaultKind
