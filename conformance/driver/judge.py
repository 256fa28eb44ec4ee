"""Judges each operation that has ended: the rules check its outcome, and the ledger learns from it."""

from __future__ import annotations

from typing import Any

from conformance.driver.judgement import Broken, Judgement, Several, Unsure
from conformance.driver.ledger import PortLedger
from conformance.driver.program import OPERAND, Move, Program
from conformance.driver.rule import Property
from conformance.driver.setting import Evidence
from conformance.driver.step import Operands, Seen
from conformance.driver.violation import Violation, unexpected
from conformance.ports import ErrorKind, FaultStruck, Signal
from conformance.scenarios import Step
from conformance.scheduling import Kernel, Thread

FATAL = frozenset({ErrorKind.CRASHED, ErrorKind.HUNG})
"""The kinds of errors that no interface allows."""


class Judge:
    """The judge of one run. It keeps the outcome of the current operation, and what the run has put to the test."""

    __slots__ = ("can_be_struck", "evidence", "kernel", "ledger", "program", "seen", "stage")

    def __init__(self, program: Program, ledger: PortLedger, kernel: Kernel | None) -> None:
        self.program = program
        self.ledger = ledger
        self.can_be_struck = ledger.can_be_struck()
        self.kernel = kernel
        self.evidence = Evidence(program.component.settings, program.blank_row, program.blank_marks)
        self.stage = program.component.settings.stage
        self.seen: Seen[Any] = Seen()

    def hold(self, move: Move, step: Step, operands: Operands, signals: list[Signal]) -> None:
        """Check the outcome in `seen` with the rules, and let the ledger learn from it.

        `signals` are the signals that the ledger has not heard yet. Raises: Violation.
        """
        seen, ledger, evidence = self.seen, self.ledger, self.evidence
        seen.operands, seen.unheard = operands, signals
        judges, rows, fails = move.judges, evidence.whole, move.fails
        struck = self.can_be_struck and seen.signals and FaultStruck in map(type, seen.signals) and move.if_struck
        if struck:
            judges, fails = struck, True
        elif move.concern:
            if move.concern == OPERAND:
                rows = evidence.by_channel.get(operands[0], rows)
            elif seen.value is not None:
                rows = evidence.by_channel.get(seen.value.channel, rows)
        if seen.error is not None and not (fails and seen.error.kind not in FATAL):
            raise unexpected(self.program.answers, seen.error, step, move.kind.key)
        stage = self.stage(ledger)
        try:
            row = rows[stage]
        except KeyError:
            row = rows[stage] = evidence.blank.copy()
        at = move.place
        row[at] = row[at] + 1  # quicker than +=, here and below
        goals, checks, if_quiet = judges.of(seen.signals) if seen.signals else judges.without_signals
        if if_quiet and (self.kernel is None or not self.kernel.in_flight):
            checks = if_quiet
        reached = evidence.goals
        for place, check in goals:
            if not reached[place] and check(ledger, seen):
                reached[place] = 1
        for place, check in checks:  # one of them lets the ledger learn
            if judgement := check(ledger, seen):
                if judgement is True:
                    row[place] = row[place] + 1
                else:
                    self._other(place, judgement, step, row)
        if struck:
            self.open_others(None)

    def open_others(self, struck: Thread | None) -> None:
        """If the task fails, let the operations in flight end in any way, except the one that a fault has struck."""
        if self.kernel is not None and self.kernel.in_flight and self.ledger.is_broken():
            self.kernel.leave_open(struck)

    def let_end(self, move: Move, step: Step, operands: Operands, signals: list[Signal]) -> None:
        """Note the end of an operation that was in flight when the task failed or was cancelled: it ends, and only the
        rules judge how that are about such operations.

        Raises: Violation, also if it crashed.
        """
        seen = self.seen
        if seen.error is not None and seen.error.kind in FATAL:
            raise unexpected(self.program.answers, seen.error, step)
        row = self._row()
        row[move.place] += 1
        seen.operands = operands
        for place, check in move.if_open_ended:
            if judgement := check(self.ledger, seen):
                if judgement is True:
                    row[place] += 1
                else:
                    self._other(place, judgement, step, row)
        if move.end is not None:
            move.end(self.ledger, *operands)
        if signals:
            self.ledger.hear(signals)

    def mark(self, slug: str) -> Property | None:
        """Note that the run exercised one of the driver's own rules. Returns it, or None if it does not apply."""
        place = self.program.places.get(slug)
        if place is None:
            return None
        self._row()[place] += 1
        return self.program.properties[place]

    def _row(self) -> list[int]:
        """Returns what the run has put to the test in the stage that it is in."""
        rows, stage = self.evidence.whole, self.stage(self.ledger)
        if stage not in rows:
            rows[stage] = self.evidence.blank.copy()
        return rows[stage]

    def own(self, slug: str) -> Property:
        """Returns one of the driver's own rules. If it does not apply, returns the rule `ANSWERS`."""
        place = self.program.places.get(slug)
        return self.program.answers if place is None else self.program.properties[place]

    def _other(self, place: int, judgement: Judgement | Several, step: Step, row: list[int]) -> None:
        """Deal with a judgement that is neither True nor False. Raises: Violation if the property is broken."""
        if isinstance(judgement, Several):
            for one, its in judgement.by_place:
                if its is True:
                    row[one] += 1
                else:
                    self._other(one, its, step, row)
            return
        if isinstance(judgement, Broken):
            raise Violation(self.program.properties[place], judgement, step)
        assert isinstance(judgement, Unsure)
        unsure, why = self.evidence.unsure, (place, judgement.why)
        unsure[why] = unsure.get(why, 0) + 1
