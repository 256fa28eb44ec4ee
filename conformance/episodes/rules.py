"""The rules of episodes: those of jobs that hold for an engine that takes checkpoints on its own, and those that its
rows and its lives put to the test."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import Any

from conformance import ports
from conformance.components.pipeline.ledger import OVER
from conformance.driver import Broken, FailureClass, Judgement, Rules, Seen, answers_property
from conformance.episodes import steps
from conformance.episodes.config import SINK
from conformance.episodes.ledger import AGAIN, BEHIND, REPLAYS, SAME, TWICE, EpisodeLedger
from conformance.models.words import many
from conformance.ports.episodes import Life, Output, Row

LOST, CORRUPTED, STUCK, DUPLICATED = (
    FailureClass.LOST, FailureClass.CORRUPTED, FailureClass.STUCK, FailureClass.DUPLICATED
)  # fmt: skip
RULES = Rules[EpisodeLedger]("episode", answers_property("episode"))
rule, goal = RULES.rule, RULES.goal
Rows = Seen[Sequence[Row], int]


def _said(slug: str, number: str, statement: str, *signals: type[Any],
          when: Callable[[EpisodeLedger], object] = lambda ledger: True) -> None:  # fmt: skip
    """Declares a rule of what the ledger has learned from signals: it has noted what was wrong. `when`: when it is put
    to the test."""

    def check(ledger: EpisodeLedger, seen: Seen[Any, *tuple[Any, ...]]) -> Judgement:
        return ledger.found.get(slug) or bool(when(ledger))

    RULES.stated(slug, statement, steps.HEARS, check, invariant=number, after_learning=True, signals=signals)


# ---- lives -----------------------------------------------------------------------------------------------------------
_said(AGAIN, "E-1", "A job that was killed, or whose user code has failed, starts again on what is left, whenever"
      " that was: it neither refuses nor fails, and its output can be read.", ports.JobOver,
      when=lambda ledger: ledger.lives or ledger.attempt)  # fmt: skip
_said(OVER, "I-92", "A job finishes when its sources have ended, and does not fail on"
      " its own.", ports.JobOver)  # fmt: skip


@rule(steps.life, invariant="E-2")
def a_life_that_restores_completes_a_checkpoint(ledger: EpisodeLedger, seen: Seen[Life]) -> Judgement:
    """A life that was restored from recovery data, has read further records, and has finished, has completed a
    checkpoint, if the engine tells."""
    one = seen.value
    if not one.restored or one.completed is None or not ledger.finished or not ledger.has_read_further(one):
        return False
    if one.completed <= 0:
        return Broken(STUCK, "a life that was restored and has finished has completed a checkpoint", "it has not")
    return True


@goal(steps.life)
def a_life_begins_from_recovery_data(ledger: EpisodeLedger, seen: Seen[Life]) -> bool:
    """A life was restored from recovery data."""
    return bool(seen.value.restored)


@rule(steps.life, invariant="E-8")
def a_life_begins_behind_what_was_asked_for(ledger: EpisodeLedger, seen: Seen[Life]) -> Judgement:
    """What had come out when a checkpoint was asked for that has completed, or when the job had stopped with a
    savepoint, is not read again by later lives, if the job tells where they begin."""
    least, judged = ledger.least(seen.value), False
    for split, position in sorted(seen.value.begins.items()):
        if position < least.get(split, 0):
            return Broken(LOST, f"a life begins at position {least[split]} of split {split}, or behind it",
                          f"it begins at {position}")  # fmt: skip
        judged |= split in least
    return judged


# ---- what comes out --------------------------------------------------------------------------------------------------
_said("a-job-finishes-when-all-is-committed", "I-88", "A job whose sources have ended finishes only once all records"
      " have come out that were supplied.", ports.JobOver)  # fmt: skip
_said(TWICE, "I-100", "No record comes out twice if the engine promises that, nor in two batches or twice in one, and"
      " none that was not supplied.", ports.Committed)  # fmt: skip
_said(REPLAYS, "E-3", "If records may come out again, only a later life writes again what an earlier one has"
      " written.", ports.Committed,
      when=lambda ledger: ledger.promises.output is Output.AT_LEAST_ONCE and ledger.promises.committed)  # fmt: skip


_said(SAME, "E-6", "A batch that is written again has the same records.", ports.Committed,
      when=lambda ledger: ledger.promises.output is Output.ONCE_PER_BATCH)  # fmt: skip


_said(BEHIND, "E-9", "What had come out when the job was stopped with a savepoint does not come again.",
      ports.Committed,
      when=lambda ledger: ledger.sealed.lanes and ledger.promises.output is Output.AT_LEAST_ONCE)  # fmt: skip


@rule(steps.rows, invariant="I-100")
def each_row_has_the_key_of_its_record(ledger: EpisodeLedger, seen: Rows) -> Judgement:
    """A row has the key of its record."""
    for one in seen.value:
        if (key := ledger.key_of(one.record)) is not None and key != one.key:
            return Broken(CORRUPTED, f"{ledger.named([one.record])} has key {json.dumps(key)}",
                          f"it came out with key {json.dumps(one.key)}")  # fmt: skip
    return bool(seen.value)


@rule(steps.rows, invariant="E-4")
def what_was_committed_stays(ledger: EpisodeLedger, seen: Rows) -> Judgement:
    """What a reader of committed output could see at some time is still there, unchanged."""
    if not ledger.rows:
        return False
    if missing := _missing(ledger.rows, seen.value):
        changed = {one.record for one in missing} & {one.record for one in seen.value}
        what = "changed" if changed else "no longer there"
        return Broken(LOST, "rows that were committed stay as they are",
                      f"{ledger.named(sorted(one.record for one in missing))}: {what}")  # fmt: skip
    return True


def _missing(before: Sequence[Row], now: Sequence[Row]) -> set[Row]:
    """Returns the rows that are not there as often as before. Most outputs only grow at their end."""
    if now[: len(before)] == before:
        return set()
    left = Counter(before)
    for one in now:
        if left[one] > 0:
            left[one] -= 1
    return set(+left)


def _is_at_its_end(ledger: EpisodeLedger) -> bool:
    return ledger.finished and not ledger.not_committed(SINK)


@rule(steps.rows, invariant="E-5")
def the_state_is_the_recount(ledger: EpisodeLedger, seen: Rows) -> Judgement:
    """When the job has finished, the highest count of each key is the number of its records."""
    if not _is_at_its_end(ledger):
        return False
    highest: dict[int | str, int] = {}
    for one in seen.value:
        highest[one.key] = max(highest.get(one.key, 0), one.count)
    owed = ledger.owed()
    for key, count in sorted(owed.items(), key=_by_key):
        found = highest.get(key, 0)
        if found != count:
            how = LOST if found < count else DUPLICATED
            return Broken(how, f"key {json.dumps(key)} has {many(count, 'record')}, so the highest count is {count}",
                          f"it is {found}")  # fmt: skip
    return bool(owed)


@rule(steps.rows, invariant="E-5")
def the_counts_of_a_key_are_a_run(ledger: EpisodeLedger, seen: Rows) -> Judgement:
    """When the job has finished and each record has come out once, the counts of a key are 1, 2, 3 and so on."""
    if not _is_at_its_end(ledger) or ledger.promises.output is Output.AT_LEAST_ONCE:
        return False
    counts: dict[int | str, list[int]] = defaultdict(list)
    again = ledger.promises.output is Output.ONCE_PER_BATCH
    for one in dict.fromkeys(seen.value) if again else seen.value:
        counts[one.key].append(one.count)
    for key, found in sorted(counts.items(), key=_by_key):
        for at, count in enumerate(sorted(found), 1):
            if at != count:
                return Broken(
                    CORRUPTED, f"the counts of key {json.dumps(key)} are 1 to {len(found)}", f"there is no {at}"
                )
    return bool(counts)


def _by_key(item: tuple[int | str, object]) -> tuple[bool, int | str]:
    return isinstance(item[0], str), item[0]
