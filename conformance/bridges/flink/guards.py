"""Released Flink with one of its guards removed, which shows that a property notices what the guard prevents.

`guards.toml` lists the guards. The class is changed in memory when it is loaded; the release itself stays as it is.
"""

from __future__ import annotations

import tomllib
from enum import StrEnum
from importlib.resources import files

from msgspec import Struct, convert

from conformance.bridges.flink.implementation import FlinkComponent
from conformance.bridges.flink.releases import GUARDED
from conformance.bridges.flink.shim import command

MAIN_CLASS = "conformance.flink.guards.Main"
_PACKAGE = "org.apache.flink."
_TABLES = ("guards.toml", "guards-barrier-handler.toml", "guards-subtask-checkpoint.toml")


class Change(StrEnum):
    """What happens at the place of a guard."""

    TRUE = "true"
    """The field or the method, which is a boolean, returns true."""
    FALSE = "false"
    """It returns false."""
    LEFT_OUT = "left-out"
    """The method, which returns nothing, is not called."""
    JUMPS = "jumps"
    """The next conditional jump is always taken."""
    STAYS = "stays"
    """The next conditional jump is never taken."""


class Guard(Struct, frozen=True, forbid_unknown_fields=True):
    """One guard in a class of Flink, and the property that must fail without it."""

    id: str
    place: str
    """The class, below `org.apache.flink`, a `#`, and the method."""
    at: str
    """The name of the field that the method reads there, or of the method that it calls."""
    change: Change
    component: str
    property: str
    """The slug of the property that must fail without the guard."""
    prevents: str
    """What happens without the guard, in one sentence."""
    nth: int = 1
    """Which of the places in the method that have this name and can be changed in this way, counted from 1."""
    shape: str = ""
    """The shape of the component in which it is searched for; empty: any."""


def guards() -> tuple[Guard, ...]:
    """The guards that can be removed."""
    folder = files(__package__)
    tables = [tomllib.loads(folder.joinpath(name).read_text(encoding="utf-8")) for name in _TABLES]
    return tuple(guard for table in tables for guard in convert(table["guard"], list[Guard]))


class FlinkWithoutGuard(FlinkComponent):
    """The components of one release, without one guard."""

    sources = GUARDED
    main_class = MAIN_CLASS

    def __init__(self, release: str, guard: Guard) -> None:
        """As for `FlinkComponent`.

        Raises: UnusableImplementation if the components of this release cannot be tested.
        """
        super().__init__(release)
        self._guard = guard

    def command(self) -> tuple[str, ...]:
        name, _, method = self._guard.place.partition("#")
        change = self._guard.change.name
        arguments = (_PACKAGE + name, method, self._guard.at, str(self._guard.nth), change)
        return (*command(self.release, self.sources, self.main_class), *arguments)
