"""In which settings a run performed its steps and judged its properties.

A setting is what may make a difference to a rule although the step is the same: the recovery design, the stage of the
component (before or after the conversion), the kind of the channel, the interleaving, and the shape of the component. A
property that was judged often, and never in one setting, is a blind spot that a count of scenarios does not show.

Nothing here is part of the ledger: the explorer must not take two states for different because of what was counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

LOCAL, REMOTE = "a local channel", "a remote channel"
"""The settings of steps that concern one channel. Other steps have a setting that names all channels, as `local and
remote channels`."""


class Setting(NamedTuple):
    """The setting of a step. An empty field does not differ between the steps of the component."""

    recovery: str = ""
    """The recovery design."""
    stage: str = ""
    """How far the component was, as `before conversion`."""
    channel: str = ""
    """The kind of the channel that the step concerned, or the kinds of all channels."""
    interleaving: str = ""
    shape: str = ""
    """The shape of the component, as `several gates`; empty if all its configurations have one shape."""

    def __str__(self) -> str:
        return ", ".join(filter(None, self))


@dataclass(frozen=True, slots=True)
class Never:
    """Says of a property that it cannot be judged in some settings although its steps are performed there, and why."""

    where: Setting
    """A setting is meant if it agrees with each field that is not empty here."""
    why: str

    def means(self, where: Setting) -> bool:
        """Returns whether this setting is one of them."""
        return all(not mine or mine == one for mine, one in zip(self.where, where, strict=True))


def _recovery(config: Any, ledger: Any) -> str:
    recovery: str = getattr(config, "recovery", "")
    return recovery


def _no_kinds(config: Any) -> Sequence[str]:
    return ()


def _no_shape(config: Any) -> str:
    return ""


@dataclass(frozen=True, slots=True)
class Settings:
    """How a component's settings are distinguished."""

    stage: Callable[[Any], Any] = type
    """`stage(ledger)` is called at every step, before the ledger learns from it. The default distinguishes no
    stages."""
    stages: Mapping[Any, str] = field(default_factory=dict)
    """The names of what `stage` returns."""
    kinds: Callable[[Any], Sequence[str]] = _no_kinds
    """`kinds(config)`: the kind of each channel, `local` or `remote`; empty if the component is one channel. A step
    concerns the channel that its first operand names if that is called `channel`, or else the channel that its result
    names in a field `channel`."""
    recovery: Callable[[Any, Any], str] = _recovery
    """`recovery(config, ledger)`: the recovery design of the port that was made last."""
    shape: Callable[[Any], str] = _no_shape
    """`shape(config)`: the name of the shape of the component that the configuration has."""

    def can_have(self, config: Any, where: Setting) -> bool:
        """Returns whether a run with this configuration can be in a setting, as far as the configuration says.

        One that names no recovery design may have any."""
        kinds = self.kinds(config)
        channels = {"", all_kinds(kinds), *(LOCAL if kind == "local" else REMOTE for kind in kinds)}
        designs = {str(getattr(config, "recovery", "")), *map(str, getattr(config, "recoveries", ()))} - {""}
        return (
            (not designs or not where.recovery or where.recovery in designs)
            and where.channel in channels
            and where.interleaving == getattr(config, "interleaving", "")
            and where.shape == self.shape(config)
        )

    def setting(self, config: Any, recovery: str, stage: Any, channel: str) -> Setting:
        """Returns the setting with its names. Without a recovery, no stage of it has a name."""
        named = "" if recovery == "none" else self.stages.get(stage, "")
        return Setting(str(recovery), named, channel, getattr(config, "interleaving", ""), self.shape(config))


NO_SETTINGS = Settings()
"""The settings of a component that differ in the interleaving only, and in the recovery design if there is one."""


def all_kinds(kinds: Sequence[str]) -> str:
    """Returns the setting of steps that concern no channel in particular, as `local and remote channels`."""
    return f"{' and '.join(sorted(set(kinds)))} channels" if kinds else ""


Rows: TypeAlias = dict[Any, list[int]]
"""Counts by stage. A row has one place for each property and, behind them, one for each kind of step."""


class Evidence:
    """What one run has put to the test: how often each step was performed and each property was judged, by setting."""

    __slots__ = ("blank", "by_channel", "goals", "recovery", "rows", "settings", "unsure", "whole")

    def __init__(self, settings: Settings, blank: list[int], goals: bytearray) -> None:
        self.settings = settings
        self.blank = blank
        """A row without counts."""
        self.goals = goals.copy()
        """For each property, at its index in the program: 1 if it counts as exercised whatever the rows say."""
        self.unsure: dict[tuple[int, str], int] = {}
        """In how many cases the judgement of each property, by its index, was unsure, and why."""
        self.recovery: str | None = None
        """The recovery design of the port that was made last; None: none was made."""
        self.whole: Rows = {}
        """The rows of steps that concern no channel in particular."""
        self.by_channel: dict[int, Rows] = {}
        """By number, the rows of steps that concern this channel."""
        self.rows: list[tuple[str, Rows, dict[int, Rows]]] = []
        """All rows: by recovery design, those above."""

    def enter(self, config: Any, ledger: Any) -> None:
        """Note that a fresh port was made."""
        recovery = self.settings.recovery(config, ledger)
        if recovery == self.recovery:
            return
        self.recovery = recovery
        for known, whole, by_channel in self.rows:
            if known == recovery:
                self.whole, self.by_channel = whole, by_channel
                return
        self.whole = {}
        by_kind: dict[str, Rows] = {}
        self.by_channel = {}
        for number, kind in enumerate(self.settings.kinds(config)):
            if kind not in by_kind:
                by_kind[kind] = {}
            self.by_channel[number] = by_kind[kind]
        self.rows.append((recovery, self.whole, self.by_channel))

    def exercised(self) -> bytes:
        """Returns for each property, at its index in the program: 1 if the run has exercised it, otherwise 0."""
        every = [row for _, rows in self._rows(()) for row in rows.values()]
        return bytes(map(any, zip(self.goals, *every, strict=False)))

    def by_setting(self, config: Any) -> Iterator[tuple[Setting, list[int]]]:
        """Yields the rows of the run, each with its setting."""
        for (recovery, channel), rows in self._rows(self.settings.kinds(config)):
            for stage, row in rows.items():
                yield self.settings.setting(config, recovery, stage, channel), row

    def _rows(self, kinds: Sequence[str]) -> Iterator[tuple[tuple[str, str], Rows]]:
        """Yields all rows, with the recovery design and the name of the channel."""
        for recovery, whole, by_channel in self.rows:
            yield (recovery, all_kinds(kinds)), whole
            for rows, number in {id(rows): (rows, number) for number, rows in by_channel.items()}.values():
                yield (recovery, LOCAL if kinds and kinds[number] == "local" else REMOTE), rows
