"""Explores a scope level by level, in a folder, with a runner that has many processes.

A level has the states that are first reached with so many steps (and those that happen at once). A runner expands its
states in tasks, and finds out which of the states behind them are new: neither in an earlier level, nor reached by an
earlier step of this one. That is the order of `Explorer`, which one process follows, so both find the same states,
transitions and violations, with the same runs.

A drain is left to the state behind its first step (decision 45) if that state is in the next level; else it is judged
with the next level. So drains are left in one direction only, and `settle` follows them back, once.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

import pyarrow as pa

from conformance.campaigns.code import code_by_names
from conformance.campaigns.lock import held
from conformance.campaigns.names import SUITE
from conformance.engines.expanding import Failed, Reached
from conformance.engines.explore import MOST_STATES, Exploration, findings, keep
from conformance.engines.interruption import NEVER, Interruption
from conformance.engines.recognition import Recognition
from conformance.exploring.folder import Explored, Folder, Level
from conformance.exploring.merging import Progress, Rest, Sums, settle
from conformance.exploring.rows import STATES, pack, state_row, told_by
from conformance.exploring.tasks import expander_of, work
from conformance.system.writing import make_folder


class Runner(Protocol):
    """Explores levels."""

    def begin(self, folder: Folder, explored: Explored, interruption: Interruption) -> AbstractContextManager[object]:
        """Start what it needs, which ends with the context that is returned."""

    def level(self, number: int, sums: Sums, progress: Progress) -> Level | None:
        """Write the tables of a level, from those of the levels before; None if an interruption came first."""

    def rest(self) -> Rest:
        """Judge the drains that no further level will judge: those of the last level, and those that it owes."""


def _quiet(level: int, states: int, transitions: int) -> None:
    """Nobody watches."""


def explore_into(
    path: Path, explored: Explored, runner: Runner, depth: int | None = None, most_states: int = MOST_STATES,
    progress: Progress = _quiet, interruption: Interruption = NEVER,
) -> Exploration:  # fmt: skip
    """Explore into a folder, or go on with what is in it, until no state is left or, after a level, a limit is reached.

    Raises: ExplorationError if it is the folder of something else; CampaignError if another process explores into it;
    ScopeError; CannotRecognise; NotWritten.
    """
    expander = expander_of(explored)
    make_folder(path)
    with held(path, "exploration"):
        folder = Folder(path)
        folder.resume(explored, code_by_names((explored.implementation,), SUITE))
        if not folder.levels:
            _first(folder, explored)
        sums = Sums(folder.levels[-1], bool(expander.exchanges))
        with runner.begin(folder, explored, interruption):
            while folder.levels[-1].reached and not interruption.requested:
                number = len(folder.levels)
                if sums.states >= most_states or (depth is not None and number > depth):
                    break
                level = runner.level(number, sums, progress)
                if level is None:
                    sums = Sums(folder.levels[-1], sums.exchanges)  # what the interrupted level had does not count
                    break
                folder.commit(level)
            rest = runner.rest()
            settled = settle(folder, rest, sums)
            folder.tidy()  # the drains of the last level
        for signature, found in settled.found.items():
            keep(sums.found, signature, found)
        complete = bool(sums.states) and not folder.levels[-1].reached and not settled.undrained
        return Exploration(
            expander.program, expander.scope, sums.states, sums.transitions, len(folder.levels) - 1, complete,
            findings(expander.program, expander.scope, sums.found, sums.orders), Recognition.HASH,
            interruption.requested, settled.undrained,
        )  # fmt: skip


def _first(folder: Folder, explored: Explored) -> None:
    """Write the first level, which has the state in which every run begins."""
    expander, sums = expander_of(explored), Sums()
    before, rows = expander.transitions, []
    for event in expander.begin():
        if isinstance(event, Failed):
            sums.violated(pack(told_by(event.violation)), b"", pack(event.steps))
        else:
            rows.append(state_row(b"", Reached(event.steps, event.counts, event.key)))
    sums.transitions = expander.transitions - before
    states = pa.Table.from_pylist(rows, STATES)
    if expander.exchanges:
        states = pa.Table.from_batches(work(explored, "exchange", states.to_batches()), STATES)
    folder.begin()
    with folder.writing(0, "states") as writer:
        writer.write_table(states)
    folder.commit(sums.level({"states": len(rows)}))
