"""The attempts of subtasks, as the job master knows them, and what is on its way to them and from them."""

from __future__ import annotations

from enum import Enum

from .messages import Downward, Upward


class State(Enum):
    """How far an attempt is."""

    DEPLOYED = "deployed"
    RUNNING = "running"
    FINISHED = "finished"
    FAILED = "failed"


DEPLOYED, RUNNING = State.DEPLOYED, State.RUNNING
"""Module variables, because looking up a member of an enumeration is slow in Python 3.11."""


class Attempt:
    """One attempt, with its part of the network: requests that it has not got, replies and reports on their way."""

    __slots__ = ("events", "number", "replies", "reports", "state", "subtask")

    def __init__(self, subtask: int, number: int) -> None:
        self.subtask = subtask
        self.number = number
        self.state = DEPLOYED
        self.events: list[Downward] = []
        self.replies: list[Downward] = []
        """What each acknowledgement on its way acknowledges."""
        self.reports: list[Upward] = []

    def is_alive(self) -> bool:
        """Returns whether the attempt is neither finished nor failed."""
        return self.state is DEPLOYED or self.state is RUNNING
