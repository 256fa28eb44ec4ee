"""Runs the waves of a campaign, one after the other, and commits each of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from conformance.campaigns import files, rounds, waves
from conformance.campaigns.block import BlockResult
from conformance.campaigns.errors import CampaignError
from conformance.campaigns.files import WAVE, cure
from conformance.campaigns.merge import Sum
from conformance.campaigns.plan import FEWEST_BLOCKS, Plan
from conformance.campaigns.runners import Running
from conformance.campaigns.waves import BLOCKS, SUM, Totals, Wave
from conformance.driver import Components
from conformance.scenarios import SchemaError


@dataclass(frozen=True, slots=True)
class Advance:
    """The progress of a campaign.

    `blocks` is the largest number of blocks that may be run. It is None for a goal in minutes; a goal in steps may be
    reached with fewer blocks.
    """

    done: int
    """The number of blocks that were run: those of committed waves, and as far as it is known those of this one."""
    committed: int
    """The number of blocks of committed waves."""
    blocks: int | None
    scenarios: int
    """The sum over all implementations, as in `steps`."""
    steps: int
    note: str = ""
    """An event that the user should know of, in one sentence; empty if there is none."""


Progress = Callable[[Advance], None]


def ignore(advance: Advance) -> None:
    """Do nothing: the default of callers that do not watch the progress."""


class _Known(NamedTuple):
    """What has to be known of a committed wave to go on."""

    number: int
    first: int
    until: int
    steps: int
    """Those of the baseline, up to its end."""
    found: int
    """How many of the implementations of `until_found` have failed, up to its end."""


class _Work(NamedTuple):
    """A part of a round that is to be run: as one wave, or as several."""

    number: int
    """That of the wave."""
    first: int
    until: int
    is_hole: bool
    """Whether there are later waves, so that this wave must have all of it."""
    begin: int
    """Where its round begins. Who is run follows from the rounds before it."""


class Course:
    """The waves of a campaign. The caller holds the lock."""

    def __init__(
        self, folder: Path, plan: Plan, components: Components, clock: Callable[[], float], progress: Progress
    ) -> None:
        """Raises: SchemaError, which names the file and the cure, if a wave is damaged."""
        self._folder, self._plan, self._components, self._clock = folder, plan, components, clock
        self._progress = progress
        self._end = None if plan.minutes is None else clock() + 60 * plan.minutes
        newest = [waves.read_wave(folder, plan, number) for number in waves.numbers(folder)]
        self._known = [_known(wave) for wave in newest]
        self._sum: tuple[int, Sum] | None = None
        """The sum that was read last, and the number of its wave."""
        self._follows: tuple[int, rounds.Follows] | None = None
        """What follows for a round from those before it, and where it begins."""
        self._totals = newest[-1].totals if newest else Totals()
        self._blocks = self._scenarios = self._steps = 0
        """What was run of the wave in flight."""

    @property
    def committed(self) -> int:
        """The number of blocks of committed waves."""
        return sum(one.until - one.first for one in self._known)

    def is_whole(self) -> bool:
        """Whether the goal is reached and no wave is missing. A goal in minutes is reached with any wave."""
        work = self._work()
        return work is None or (self._plan.minutes is not None and not work.is_hole and work.first > 0)

    def has_work(self) -> bool:
        """Whether the goal is not reached, or a wave between others is missing. The clock is asked each time.

        The first wave is run, however long it took to start the runner: without it, a campaign says nothing.
        """
        work = self._work()
        if work is None:
            self._left = 0.0
            return False
        left = rounds.WAVE_SECONDS
        if self._end is not None and not work.is_hole and self._known:
            left = min(left, self._end - self._clock())
        self._left = left
        return left > 0

    def run(self, running: Running) -> None:
        """Run the next wave, and commit it, unless all of its blocks are lost although others were run before.

        `has_work` was asked before. Raises: CampaignError, NotWritten; SchemaError if the sum before it is damaged.
        """
        work = self._work()
        assert work is not None
        before = next((one for one in self._known if one.until == work.first), None)
        total = self._sum_of(before)
        ran_before, lost_before = bool(total.ran), len(total.lost)
        places = running.places()
        follows = self._follows_for(work.begin)
        until = work.until
        if not work.is_hole:
            until = rounds.wave_after(self._plan, *work[1:3], total, places, self._left, follows.left)
        blocks = range(work.first, until)
        home = waves.made(self._folder, work.number)
        tasks = rounds.aimed(rounds.tasks_of(rounds.due(self._plan, blocks, follows.left), total, places), follows.aims)
        if self._plan.of_episodes:
            tasks = rounds.with_home(tasks, files.made_evidence(self._folder))
        try:
            running.run(tasks, home / BLOCKS, self._tell, self.say)
            waves.check_made(home, self._plan, blocks)
            running.add([*self._sum_files(before), *waves.tables_of(home, BLOCKS)], home / SUM)
            total = waves.sum_made(home, self._plan, until, self._components)
        except SchemaError:
            raise
        except ValueError as error:
            raise CampaignError(
                f"The tables that were written into {home} are not those of the wave: {error}. Every machine that runs "
                "blocks must see this folder at the same path."
            ) from None
        if ran_before and len(total.lost) - lost_before == len(blocks) >= FEWEST_BLOCKS:
            # What is committed as lost is not run again, and nothing would be left to run when somebody looks at it.
            last = self._plan.block_at(blocks[-1])
            why = next(one.reason for one in total.lost if (one.component, one.number) == (last.component, last.number))
            raise CampaignError(f"Blocks were run before, and not one of the last {len(blocks)} could be: {why}.")
        totals = waves.totals_of(self._plan, total)
        wave = waves.commit(self._folder, home, Wave(self._plan.digest, work.number, work.first, until, totals))
        self._known = sorted([*self._known, _known(wave)])
        self._sum = work.number, total
        self._totals = totals if not work.is_hole else self._totals
        self._blocks = self._scenarios = self._steps = 0
        self._progress(self._advance())

    def _work(self) -> _Work | None:
        """Return the first part of the plan that is missing. Raises: SchemaError if committed waves do not fit."""
        at = begin = number = 0
        end = rounds.round_after(self._plan, 0, 0)
        for one in self._known:
            if one.first > at and one.number > number and end > at:
                return _Work(number, at, min(one.first, end), True, begin)
            if one.first != at or one.until > end:
                path = waves.home_of(self._folder, one.number) / WAVE
                raise SchemaError(f"{path}: this wave does not follow those before it. {cure(path)}")
            at, number = one.until, one.number + 1
            if at == end:
                begin, end = at, rounds.round_after(self._plan, at, one.steps, one.found)
        return _Work(number, at, end, False, begin) if end > at else None

    def _follows_for(self, begin: int) -> rounds.Follows:
        """Return what follows for the round that begins at `begin` from those before it."""
        if not self._plan.sought and not self._plan.aims:
            return rounds.NOTHING_FOLLOWS
        if self._follows is None or self._follows[0] != begin:
            total = self._sum_of(next((one for one in self._known if one.until == begin), None))
            left = rounds.left_after(self._plan, total)
            self._follows = begin, rounds.Follows(left, rounds.aims_after(self._plan, total, self._components))
        return self._follows[1]

    def _sum_of(self, wave: _Known | None) -> Sum:
        if wave is None:
            return Sum()
        if self._sum is None or self._sum[0] != wave.number:
            read = waves.read_wave(self._folder, self._plan, wave.number)
            self._sum = wave.number, waves.sum_of(self._folder, self._plan, read, self._components)
        return self._sum[1]

    def _sum_files(self, wave: _Known | None) -> list[Path]:
        if wave is None:
            return []
        home = waves.home_of(self._folder, wave.number) / SUM
        return [home / one.name for one in waves.read_wave(self._folder, self._plan, wave.number).sum]

    def _tell(self, result: BlockResult) -> None:
        self._blocks += 1
        self._scenarios += sum(tally.scenarios for tally in result.tallies.values())
        self._steps += sum(tally.steps for tally in result.tallies.values())
        self._progress(self._advance())

    def say(self, note: str) -> None:
        """Show the user a message."""
        self._progress(self._advance(note))

    def _advance(self, note: str = "") -> Advance:
        committed = self.committed
        return Advance(
            committed + self._blocks,
            committed,
            self._plan.number_of_blocks,
            self._totals.scenarios + self._scenarios,
            self._totals.steps + self._steps,
            note,
        )


def _known(wave: Wave) -> _Known:
    return _Known(wave.number, wave.first, wave.until, wave.totals.baseline_steps, wave.totals.found)
