"""A job that ran elsewhere, as its record says: the component of episodes, and what only a record has.

Its port answers what a line says. Ledger and rules are those of episodes and of jobs, so that nothing is judged in
another way than in a run of the suite's own.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, overload

from conformance import episodes, ports
from conformance.components.pipeline.rules import RULES as OF_JOBS
from conformance.driver import Broken, FailureClass, Judgement, Rules, Seen, Steps
from conformance.episodes import steps
from conformance.episodes.config import EpisodeConfig
from conformance.episodes.ledger import BEHIND, EpisodeLedger
from conformance.models.words import many
from conformance.ports import Answer, CheckpointCompleted, CheckpointFailed, CheckpointKind, Committed, JobRestarted
from conformance.ports.episodes import Description, EpisodePort, EpisodesImplementation, Life, Output, Row
from conformance.ports.implementation import Factory
from conformance.ports.pipeline import MOST_SPLITS

SOURCE = 0
MADE_UP = ports.record(MOST_SPLITS, 0)
"""The record of the first id that was not supplied. Each further one has the next number."""


class _Numbered(dict[int | str, int]):
    """A number for each name that is looked up, from 0."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[int | str] = []

    def __missing__(self, name: int | str) -> int:
        self[name] = number = len(self.names)
        self.names.append(name)
        return number


class Keys:
    """The keys and the ids of records, as the record of their source says. There is a number for each key."""

    def __init__(self) -> None:
        self.ids: dict[int | str, int] = {}
        """By id, the record."""
        self._ids_of: dict[int, int | str] | None = None
        """By record, its id; None as long as nobody has asked for one, since it takes as much memory again."""
        self._made_up = _Numbered()
        """The ids that were not supplied."""
        self._numbers = _Numbered()
        self._by_split: dict[int, array[int]] = {}

    def number(self, key: int | str) -> int:
        """Returns the number of a key."""
        return self._numbers[key]

    def name(self, number: int) -> int | str:
        """Returns the key with a number."""
        return self._numbers.names[number]

    def add(self, split: int, key: int | str) -> None:
        """Notes the key of the next record of a split."""
        self._by_split.setdefault(split, array("l")).append(self.number(key))

    def identify(self, record: int, named: int | str) -> None:
        """Notes the id of a record."""
        self.ids[named] = record
        if self._ids_of is not None:
            self._ids_of[record] = named

    def identified(self, named: int | str) -> int:
        """Returns the record of an id. One that was not supplied has a record of its own, which no split has."""
        found = self.ids.get(named)
        return MADE_UP + self._made_up[named] if found is None else found

    def of(self, record: int) -> int | str | None:
        """Returns the key of a record; None: there is no such record."""
        split, position = divmod(record, ports.RECORDS_OF_A_SPLIT)
        there = self._by_split.get(split, ())
        return self._numbers.names[there[position]] if position < len(there) else None

    def name_of(self, record: int) -> str:
        """Returns what lines call a record."""
        if record >= MADE_UP:
            made_up = self._made_up.names[record - MADE_UP]
            return f"{json.dumps(made_up, ensure_ascii=False)}, an id that was not supplied"
        if self._ids_of is None:
            self._ids_of = {each: one for one, each in self.ids.items()}
        named = self._ids_of.get(record, divmod(record, ports.RECORDS_OF_A_SPLIT))
        return json.dumps(named, ensure_ascii=False)


class Rows(Sequence[Row]):
    """Rows in little memory. None is ever changed or removed."""

    def __init__(self, keys: Keys, columns: tuple[array[int], ...] | None = None) -> None:
        self._keys = keys
        self._columns = columns or tuple(array("q") for _ in range(4))

    def add(self, row: Row) -> None:
        """Adds a row at the end."""
        keys, counts, records, batches = self._columns
        keys.append(self._keys.number(row.key))
        counts.append(row.count)
        records.append(row.record)
        batches.append(row.batch)

    def __len__(self) -> int:
        return len(self._columns[0])

    def __iter__(self) -> Iterator[Row]:
        name = self._keys.name
        return (Row(name(key), count, record, batch) for key, count, record, batch in zip(*self._columns, strict=True))

    @overload
    def __getitem__(self, at: int) -> Row: ...

    @overload
    def __getitem__(self, at: slice) -> Rows: ...

    def __getitem__(self, at: int | slice) -> Row | Rows:
        if isinstance(at, slice):
            return Rows(self._keys, tuple(column[at] for column in self._columns))
        key, *rest = (column[at] for column in self._columns)
        return Row(self._keys.name(key), *rest)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Rows):
            return len(self) == 0 and other == ()
        return self._columns == other._columns

    __hash__ = None  # type: ignore[assignment]


class RecordedConfig(EpisodeConfig, frozen=True):
    """A job that ran elsewhere. Its records have the keys that the record of its source says."""

    recorded: Any = None
    """The `Keys`."""

    def key_of(self, record: int) -> int | str | None:
        """Returns the key of a record; None: there is no such record."""
        found: int | str | None = self.recorded.of(record)
        return found

    def name_of(self, record: int) -> str:
        """Returns what lines call a record."""
        return str(self.recorded.name_of(record))


_NOTHING = ports.Triggered()


@dataclass(slots=True)
class Answers:
    """What a job that ran elsewhere returns next."""

    triggered: ports.Triggered = _NOTHING
    checkpoint: ports.JobCheckpoint | None = None
    sources: tuple[ports.OperatorState, ...] = ()
    rows: Any = ()


class RecordedJob(EpisodePort):
    """A job that returns what its record says. What it signals is put into its `signals` before."""

    def __init__(self, answers: Answers) -> None:
        self._answers = answers

    def supply(self, split: int, count: int) -> None: ...
    def end(self, source: int) -> None: ...
    def advance(self, milliseconds: int) -> None: ...
    def release(self) -> None: ...

    def settle(self, until: ports.Until) -> bool:
        return True

    def trigger(self, kind: CheckpointKind) -> ports.Triggered:
        return self._answers.triggered

    def stop_with_savepoint(self) -> ports.Triggered:
        return self._answers.triggered

    def snapshot(self, checkpoint: int) -> ports.JobCheckpoint | None:
        return self._answers.checkpoint

    def state(self, vertex: int) -> tuple[ports.OperatorState, ...]:
        return self._answers.sources

    def rows(self, sink: int) -> Any:
        return self._answers.rows

    def image(self) -> str:
        return ""

    def life(self) -> Life:
        return Life(0)

    def resources(self) -> ports.Resources:
        return ports.Resources()


class RecordedJobs(EpisodesImplementation):
    """The implementation that ran elsewhere."""

    name, version = "recorded", ""

    def __init__(self) -> None:
        self.answers = Answers()

    @property
    def capabilities(self) -> frozenset[ports.Capability]:
        """None."""
        return frozenset()

    def components(self) -> Mapping[str, Factory]:
        """The one component."""
        return {"episode": lambda config: RecordedJob(self.answers)}

    def describe(self) -> Description:
        """Nothing but the name."""
        return Description(self.name)

    def end_run(self) -> Any:
        """Nothing runs."""
        raise NotImplementedError


# ---- the steps -------------------------------------------------------------------------------------------------------
STEPS = Steps[EpisodePort, EpisodeLedger]()
step = STEPS.step


@step("user", steps.LIVE, when=lambda ledger: [(one.value,) for one in CheckpointKind], begin=EpisodeLedger.act,
      learn=EpisodeLedger.triggered)  # fmt: skip
def trigger(port: EpisodePort, ledger: EpisodeLedger, kind: str) -> Answer[ports.Triggered]:
    """A checkpoint begins."""
    return port.trigger(CheckpointKind(kind))


@step("user", steps.LIVE, when=lambda ledger: [()], begin=EpisodeLedger.act, learn=EpisodeLedger.stop_triggered)
def stop_with_savepoint(port: EpisodePort, ledger: EpisodeLedger) -> Answer[ports.Triggered]:
    """A savepoint begins with which the job is stopped."""
    return port.stop_with_savepoint()


@step("observer", steps.DEPLOYED, when=lambda ledger: [(one,) for one in ledger.checkpoints.known],
      learn=EpisodeLedger.snapped)  # fmt: skip
def snapshot(port: EpisodePort, ledger: EpisodeLedger, checkpoint: int) -> Answer[ports.JobCheckpoint | None]:
    """It is read what a checkpoint holds."""
    return port.snapshot(checkpoint)


@step("observer", steps.LIVE, when=lambda ledger: [(SOURCE,)])
def state(port: EpisodePort, ledger: EpisodeLedger, vertex: int) -> Answer[tuple[ports.OperatorState, ...]]:
    """It is read from where on a source reads that was restored."""
    return port.state(vertex)


@step("driver", steps.FAILED, when=lambda ledger: [(one,) for one in ledger.checkpoints.saved],
      learn=EpisodeLedger.start_from, fresh_port=True)  # fmt: skip
def start_from(port: EpisodePort, ledger: EpisodeLedger, checkpoint: int) -> Answer[ports.JobCheckpoint | None]:
    """A life begins with a checkpoint. 0: nobody knows with which one, or there is none."""
    return port.snapshot(checkpoint)


HEARS = (*steps.HEARS, trigger, stop_with_savepoint)


# ---- the rules -------------------------------------------------------------------------------------------------------
RULES = Rules[EpisodeLedger]("episode")


@RULES.rule(state, invariant="E-7")
def a_source_reads_on_where_its_checkpoint_says(
    ledger: EpisodeLedger, seen: Seen[tuple[ports.OperatorState, ...], int]
) -> Judgement:
    """A source that was restored from a checkpoint reads on behind the records that are in front of it."""
    one = ledger.checkpoints.contents(ledger.origin)
    if one is None or not (one.checkpoint.states or not ledger.origin):
        return False
    for found in (split for each in seen.value for split in each.splits):
        owed = one.offsets[found.split]
        if found.offset != owed:
            how = FailureClass.LOST if found.offset > owed else FailureClass.DUPLICATED
            if not ledger.origin:
                first = f"nothing was restored, so split {found.split} is read from position {owed}"
                return Broken(how, first, f"it is read from {found.offset}")
            return Broken(how, f"split {found.split} is read on from position {owed}, as checkpoint {ledger.origin}"
                          " says", f"it is read on from {found.offset}")  # fmt: skip
    return True


@RULES.rule(snapshot, invariant="E-10")
def a_checkpoint_is_not_ahead_of_its_source(
    ledger: EpisodeLedger, seen: Seen[ports.JobCheckpoint | None, int]
) -> Judgement:
    """No checkpoint has more records of a split in front of it than were supplied until it completed."""
    states = () if seen.value is None else seen.value.states
    for one in (split for each in states[:1] for state in each for split in state.splits):
        if one.offset > (most := ledger.supplied[one.split]):
            owed = f"split {one.split} has {many(most, 'record')}, and no more are in front of a checkpoint"
            return Broken(FailureClass.LOST, owed, f"it has {one.offset} in front of it")
    return bool(states)


@RULES.rule(*HEARS, invariant="E-11", signals=(Committed,))
def what_a_checkpoint_commits_is_in_front_of_it(ledger: EpisodeLedger, seen: Seen[Any, *tuple[Any, ...]]) -> Judgement:
    """If an engine promises exactly once, a row that a checkpoint commits is of a record in front of that
    checkpoint."""
    judged = False
    for one in seen.signals if ledger.promises.output is Output.EXACTLY_ONCE else ():
        if type(one) is not Committed or not (number := one.transaction.checkpoint):
            continue
        held = ledger.checkpoints.contents(number)
        if held is None or not held.checkpoint.states:
            continue  # nobody says what is in front of it
        judged = True
        for record in (run.last for run in one.records):
            split, position = divmod(record, ports.RECORDS_OF_A_SPLIT)
            if split in ledger.supplied and position >= (most := held.offsets[split]):
                owed = f"checkpoint {number} has {many(most, 'record')} of split {split} in front of it"
                return Broken(FailureClass.DUPLICATED, owed, f"it has committed {ledger.named([record])}, which is read"
                              " again when it is restored")  # fmt: skip
    return judged


Check = Callable[[Any, Seen[Any]], Judgement]


def _of_checkpoints(check: Check) -> Check:
    """Returns a check that is put to the test only by rows whose record says for which checkpoint they were
    written."""

    def judge(ledger: Any, seen: Seen[Any]) -> Judgement:
        found = check(ledger, seen)
        if found is not True:
            return found
        return any(type(one) is Committed and one.transaction.checkpoint > 0 for one in seen.signals)

    return judge


_ADOPTED: Mapping[str, tuple[Sequence[Any], tuple[type[ports.Signal], ...]]] = {
    "only-a-completed-checkpoint-is-committed": (HEARS, (Committed,)),
    "a-savepoint-commits-nothing": (HEARS, (Committed,)),
    "a-failover-restores-the-newest-checkpoint": (HEARS, (JobRestarted,)),
    "no-failover-restores-a-savepoint": (HEARS, (JobRestarted,)),
    "offsets-never-go-back": ((snapshot,), ()),
    "a-checkpoint-ends-once": (HEARS, (CheckpointCompleted, CheckpointFailed)),
    "no-older-checkpoint-completes-later": (HEARS, (CheckpointCompleted,)),
    "ids-of-checkpoints-increase": ((trigger, stop_with_savepoint), ()),
}
"""By rule of whole jobs that is about checkpoints: the steps at which a record puts it to the test, and the signals
that it needs there."""


def _adopt() -> None:
    """Declares these rules, with their own words and numbers. Raises: KeyError if there is no such one any more."""
    of_jobs = {one.slug: one for one in OF_JOBS.all}
    for slug, (on, signals) in _ADOPTED.items():
        one = of_jobs[slug]
        check = _of_checkpoints(one.check) if Committed in signals else one.check
        RULES.stated(slug, one.statement, on, check, invariant=one.invariant, after_learning=True, signals=signals)


_adopt()
_NOT_RECORDED = {steps.life.key}
"""What no record says: how many checkpoints a life owes. What comes again behind a savepoint (`BEHIND`) is judged by
the checkpoint that a record names."""
COMPONENT = replace(
    episodes.COMPONENT,
    steps=(*episodes.COMPONENT.steps, *STEPS.all),
    properties=(*(one for one in episodes.COMPONENT.properties if one.slug != BEHIND
                  and (not _NOT_RECORDED.issuperset(one.on) or not one.on)),
                *RULES.all),
)  # fmt: skip
