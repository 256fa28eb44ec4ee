"""Judges the record of a job that ran elsewhere: each line is a step of an episode, whose ledger and rules do the rest.

A violation does not end the judging, since the lines after it are there already. What is wrong later may follow from
what was wrong first.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, NoReturn

from conformance import ports
from conformance.driver import Broken, Judgement, Program, World
from conformance.driver.judge import Judge
from conformance.driver.judgement import Several
from conformance.episodes import lines, recorded, steps
from conformance.episodes.config import SINK
from conformance.episodes.ledger import EpisodeLedger
from conformance.episodes.recorded import SOURCE, Keys, RecordedConfig, RecordedJobs, Rows
from conformance.ports import CheckpointKind, JobCheckpoint, Run, SplitState, Transaction
from conformance.ports.episodes import Output, Promises, Row
from conformance.scenarios import SchemaError, Step

MOST_NOTED = 5
"""How many violations of a file are kept. All are counted."""
_HEARD = steps.advance(1)
_ENDS = "must say how it has ended, with a line killed, failed or finished"
_REASON = ports.CheckpointReason.EXPIRED
"""Why a checkpoint has failed is not recorded, and not judged."""


@dataclass(frozen=True, slots=True)
class Noted:
    """A property that does not hold, and in which line that shows."""

    slug: str
    line: int
    broken: Broken


@dataclass(slots=True)
class Verdict:
    """What a file has come to."""

    job: str = ""
    lines: int = 0
    lives: int = 0
    restores: int = 0
    """How often the job was restored from recovery data."""
    finished: bool = False
    """Whether the last life has read all to the end, so that what is lost shows."""
    kinds: Counter[str] = field(default_factory=Counter)
    """By what they say, how many lines there are."""
    noted: list[Noted] = field(default_factory=list)
    """The first violations."""
    violations: Counter[str] = field(default_factory=Counter)
    exercised: tuple[str, ...] = ()
    not_exercised: tuple[str, ...] = ()


class _Judge(Judge):
    """Notes what is broken, and lets the run go on."""

    __slots__ = ("line", "verdict")

    def __init__(self, program: Program, ledger: EpisodeLedger, verdict: Verdict) -> None:
        super().__init__(program, ledger, None)
        self.verdict = verdict
        self.line = 1
        """The line that is being judged."""

    def _other(self, place: int, judgement: Judgement | Several, step: Step, row: list[int]) -> None:
        if not isinstance(judgement, Broken):
            Judge._other(self, place, judgement, step, row)
            return
        slug = self.program.properties[place].slug
        row[place] += 1
        assert isinstance(self.ledger, EpisodeLedger)
        self.ledger.found.pop(slug, None)
        self.verdict.violations[slug] += 1
        if len(self.verdict.noted) < MOST_NOTED:
            self.verdict.noted.append(Noted(slug, self.line, judgement))


class CutShort(SchemaError):
    """The rest of a file cannot be judged: a line cannot be read, or be where it is, or the last one is missing."""

    def __init__(self, why: str, verdict: Verdict) -> None:
        super().__init__(why)
        self.verdict = verdict
        """What the lines before have come to."""


def judge(recorded_lines: Iterable[tuple[int, lines.Line]], source: str) -> Verdict:
    """Returns what the lines of a file have come to. `source`: its name.

    Raises: SchemaError if a line cannot be where it is, which says what is missing; `CutShort` behind the header.
    """
    job = None
    number = 0
    try:
        for number, line in recorded_lines:
            if job is not None:
                job.read(number, line)
            elif isinstance(line, lines.Header):
                job = _Job(line, source)
            else:
                break
        if job is not None:
            return job.ended(number)
    except SchemaError as error:
        if job is None:
            raise
        raise CutShort(str(error), job.verdict) from None
    raise SchemaError(f"{source}, line {number or 1}: the first line is the header; right would be"
                      f" {lines.EXAMPLES['header']}")  # fmt: skip


class _Job:
    """The job of a file, as far as it is read."""

    def __init__(self, header: lines.Header, source: str) -> None:
        self._source, self._header = source, header
        self._keys = Keys()
        implementation = RecordedJobs()
        self._answers = implementation.answers
        promises = Promises(header.promises.output, continues=header.promises.continues)
        config = RecordedConfig(splits=header.splits, promises=promises, recorded=self._keys)
        self._program = Program(recorded.COMPONENT, implementation)
        self._world = World(self._program, config)
        self.verdict = Verdict(job=header.job)
        assert isinstance(self._world.ledger, EpisodeLedger)
        self._ledger = self._world.ledger
        self._judge = _Judge(self._program, self._ledger, self.verdict)
        self._judge.evidence.enter(config, self._ledger)
        self._world.judge = self._judge
        self._by_batch = promises.output is Output.ONCE_PER_BATCH
        self._is_live = False
        self._life = -1
        """The number of starts and restarts, from 0."""
        self._read_in = 0
        """The life in which the output was read last."""
        self._finished_at = 0
        """The line `finished` that has no effect yet: somebody may read the output first; 0: there is none."""
        self._known = Rows(self._keys)
        """The rows that are committed."""
        self._batch: list[Row] = []
        """The rows of the batch that is being read."""
        self._batches: set[int] = set()
        """The batches that have come out."""
        self._reading = Rows(self._keys)
        self._read_at = array("q")
        """By row of the reading, its line."""

    def read(self, number: int, line: lines.Line) -> None:
        """Does what a line says. Raises: SchemaError."""
        self._judge.line = number
        kind = type(line)
        self.verdict.kinds[kind.__name__.lower()] += 1
        if self._finished_at and kind is not lines.Row and kind is not lines.Output_:
            self._finish()
        if self._batch and kind is not lines.Committed and kind in _ENDS_A_BATCH:
            self._end_batch()
        if len(self._reading) and kind is not lines.Row and kind is not lines.Output_:
            self._wrong("a line output says how many rows were read, and comes behind the last row")
        _READ[kind](self, line)

    def ended(self, number: int) -> Verdict:
        """Returns the verdict, after the last line. Raises: SchemaError if the file ends too early."""
        self._judge.line = number
        if self._finished_at and not len(self._reading):
            self._finish()
        if self._life < 0:
            self._wrong(f"no life has begun; right would be {lines.FIRST_LIFE}")
        if len(self._reading):
            self._wrong("the file ends, and a line output must say how many rows were read")
        if self._is_live:
            self._wrong(f"the file ends, and life {self._ledger.lives} {_ENDS}")
        self._end_batch()
        verdict = self.verdict
        verdict.lines, verdict.lives, verdict.finished = number, self._ledger.lives + 1, self._ledger.finished
        put_to_the_test = set(self._program.exercised(self._judge.evidence.exercised()))
        slugs = [one.slug for one in self._program.properties[1:]]
        verdict.exercised = tuple(one for one in slugs if one in put_to_the_test)
        verdict.not_exercised = tuple(one for one in slugs if one not in put_to_the_test)
        return verdict

    # ---- what the lines say ------------------------------------------------------------------------------------------
    def _again(self, line: lines.Header) -> None:
        self._wrong("the header is the first line, and there is one")

    def _supplied(self, line: lines.Supplied) -> None:
        next_one = self._ledger.supplied.get(line.split)
        if next_one is None:
            self._wrong(f"the header has {self._header.splits} splits, from 0", "split")
        if line.position != next_one:
            self._wrong(f"split {line.split} has {next_one} records so far, so this is {next_one}", "position")
        if line.id is not None and line.id in self._keys.ids:
            self._wrong(f"{line.id!r} is the id of another record", "id")
        self._goes_on()
        if self._ledger.ended and not self._ledger.finished:
            self._wrong("no record comes after the line ended, unless a job that has finished is started again")
        self._keys.add(line.split, line.key)
        if line.id is not None:
            self._keys.identify(ports.record(line.split, line.position), line.id)
        self._perform(steps.supply(line.split, 1))

    def _ended(self, line: lines.Ended) -> None:
        self._perform(steps.end(SOURCE))

    def _triggered(self, line: lines.Triggered) -> None:
        self._live()
        kind = CheckpointKind.SAVEPOINT if line.savepoint or line.stops else CheckpointKind.ALIGNED
        self._answers.triggered = ports.Triggered(line.checkpoint)
        self._perform(recorded.stop_with_savepoint() if line.stops else recorded.trigger(kind.value))

    def _completed(self, line: lines.Completed) -> None:
        self._live()
        if not self.verdict.kinds["triggered"]:
            self._wrong("a checkpoint is triggered before it completes, and the file says that of none; right would be"
                        f" {lines.EXAMPLES['triggered']}", "checkpoint")  # fmt: skip
        one = self._ledger.checkpoints.known.get(line.checkpoint)
        kind = CheckpointKind.ALIGNED if one is None else one.kind
        self._perform(_HEARD, ports.CheckpointCompleted(line.checkpoint, kind))
        if line.positions is not None:
            states = (self._sources(line.positions), (), ())
            self._answers.checkpoint = JobCheckpoint(line.checkpoint, kind, (1, 1, 1), states=states)
            self._perform(recorded.snapshot(line.checkpoint))

    def _aborted(self, line: lines.Aborted) -> None:
        self._live()
        self._perform(_HEARD, ports.CheckpointFailed(line.checkpoint, _REASON))

    def _committed(self, line: lines.Committed) -> None:
        if self._life < 0:
            self._live()
        row = self._row(line)
        if self._by_batch:
            if self._batch and self._batch[0].batch != row.batch:
                self._end_batch()
            self._batch.append(row)
        else:
            self._commit([row], self._life, line.checkpoint or 0)
            self._known.add(row)

    def _row_read(self, line: lines.Row) -> None:
        self._reading.add(self._row(line))
        self._read_at.append(self._judge.line)

    def _output(self, line: lines.Output_) -> None:
        reading, self._reading = self._reading, Rows(self._keys)
        if line.rows != len(reading):
            self._wrong(f"there are {len(reading)} lines row before it, so it is {len(reading)}", "rows")
        at, copies = self._judge.line, Counter[int]()
        for row, place in self._not_known(reading):
            self._judge.line = self._read_at[place]
            if self._by_batch:
                self._batch.append(row)
            else:  # each life since the last reading may have written it: none is accused of the copy of another one
                self._commit([row], max(self._life - copies[row.record], self._read_in))
                copies[row.record] += 1
                self._known.add(row)
        self._batch.sort(key=lambda row: row.batch)
        self._judge.line = at
        for _, some in groupby(self._batch, lambda row: row.batch):
            self._commit_batch(list(some))
        self._batch = []
        self._read_at = array("q")
        self._read_in = self._life
        self._see(self._known)
        self._see(reading)

    def _not_known(self, reading: Rows) -> Iterable[tuple[Row, int]]:
        """Yields the rows, with their places, that were read and are not known as committed."""
        many = len(self._known)
        if reading[:many] == self._known:
            return zip(reading[many:], range(many, len(reading)), strict=True)
        left = Counter(self._known)
        found = []
        for place, row in enumerate(reading):
            if left[row] > 0:
                left[row] -= 1
            else:
                found.append((row, place))
        return found

    def _started(self, line: lines.Started) -> None:
        restored, ledger = line.restored, self._ledger
        if self._is_live:
            self._wrong(f"life {ledger.lives} {_ENDS} before another one begins")
        self._goes_on()
        point = ledger.checkpoints.point
        number = self._number(line, max(point, ledger.stopped))
        if number < point:
            self._wrong(f"checkpoint {point} has completed. What has come out since an older one comes out again, which"
                        " nobody can judge. If the engine has chosen the checkpoint, and not you, right would be"
                        f" {lines.EXAMPLES['restarted']}", "restored")  # fmt: skip
        if restored is not True and number and not self._has_completed(number):
            self._wrong(f"checkpoint {number} has not completed in this file", "restored")
        if self._life >= 0:
            self._start_from(number)
        self._begin(bool(restored), line.positions)

    def _start_from(self, number: int) -> None:
        """Begins another life with a checkpoint; 0: with none."""
        saved = self._ledger.checkpoints.saved.get(number)
        self._answers.checkpoint = None
        if number:
            bare = JobCheckpoint(number, CheckpointKind.ALIGNED, (1, 1, 1))
            self._answers.checkpoint = bare if saved is None else saved.checkpoint
        self._perform(recorded.start_from(number))
        self._is_live = True

    def _restarted(self, line: lines.Restarted) -> None:
        if self._life >= 0 and not self._is_live and not (self._ledger.finished or self._ledger.stopped):
            # You have started it, and it has chosen: as if it had begun right, and had restarted by itself at once.
            self._start_from(self._ledger.checkpoints.point)
        self._live()
        everything = Run(0, len(self._ledger.config.tasks()) - 1)
        number = self._number(line, self._ledger.checkpoints.point)
        self._perform(_HEARD, ports.JobRestarted(number, (everything,)))
        self._begin(bool(line.restored), line.positions)

    def _number(self, line: lines.Started | lines.Restarted, newest: int) -> int:
        """Returns the checkpoint from which a line says that the job was restored: the newest if it names none."""
        if line.restored is not True:
            return int(line.restored)
        if line.positions is not None:
            self._wrong("they are compared with a checkpoint, so the line says which one", "positions")
        return newest

    def _goes_on(self) -> None:
        """Raises: SchemaError if the job has finished, and does not promise to read on."""
        if self._ledger.finished and not self._ledger.promises.continues:
            self._wrong(
                'the job has finished; if it can be started again and reads on, the header promises "continues"'
            )

    def _begin(self, restored: bool, positions: Sequence[int] | None) -> None:
        self._is_live = True
        self._life += 1
        self.verdict.restores += restored
        if positions is not None:
            self._answers.sources = self._sources(positions)
            self._perform(recorded.state(SOURCE))

    def _has_completed(self, number: int) -> bool:
        one = self._ledger.checkpoints.known.get(number)
        return number == self._ledger.checkpoints.restored or (one is not None and one.is_completed)

    def _killed(self, line: lines.Killed) -> None:
        self._live()
        self._is_live = False
        self._perform(steps.kill())

    def _failed(self, line: lines.Failed) -> None:
        self._live()
        self._is_live = False
        self._perform(_HEARD, ports.JobOver(ports.JobStatus.FAILED, line.cause))

    def _finished(self, line: lines.Finished) -> None:
        self._live()
        if self._ledger.stopped:  # an engine may say so of a job that was stopped and has more to read
            self._killed(lines.Killed())
        else:
            self._finished_at = self._judge.line

    def _finish(self) -> None:
        """The job has finished, and nobody reads the output before something else happens."""
        at, self._judge.line, self._finished_at = self._judge.line, self._finished_at, 0
        self._is_live = False
        self._perform(steps.settle(ports.Until.OVER.value), ports.JobOver(ports.JobStatus.FINISHED))
        self._see(self._known)
        self._judge.line = at

    # ---- words and rows ----------------------------------------------------------------------------------------------
    def _row(self, line: lines.Committed | lines.Row) -> Row:
        if self._by_batch is (line.batch is None):
            self._wrong("with output once-per-batch, each row has its batch" if self._by_batch else
                        "rows have no batch, unless the header promises once-per-batch", "batch")  # fmt: skip
        name = line.record
        record = ports.record(*name) if isinstance(name, tuple) else self._keys.identified(name)
        return Row(line.key, line.count, record, -1 if line.batch is None else line.batch)

    def _commit(self, rows: list[Row], life: int, checkpoint: int = 0) -> None:
        name = Transaction(0, rows[0].batch) if self._by_batch else Transaction(life, checkpoint)
        runs = ports.runs_of(sorted(row.record for row in rows))
        self._perform(_HEARD, ports.Committed(SINK, name, runs))

    def _commit_batch(self, rows: list[Row]) -> None:
        self._commit(rows, self._life)
        if rows[0].batch not in self._batches:  # one that is written again takes the place of the earlier one
            self._batches.add(rows[0].batch)
            for row in rows:
                self._known.add(row)

    def _end_batch(self) -> None:
        if self._batch:
            self._commit_batch(self._batch)
            self._batch = []

    def _see(self, rows: Rows) -> None:
        self._answers.rows = rows[:]
        self._perform(steps.rows(SINK))

    def _sources(self, positions: Sequence[int]) -> tuple[ports.OperatorState, ...]:
        if len(positions) != self._header.splits:
            self._wrong(f"there are {self._header.splits} splits, and a position for each", "positions")
        return (ports.OperatorState(tuple(SplitState(split, one) for split, one in enumerate(positions))),)

    # ---- steps -------------------------------------------------------------------------------------------------------
    def _perform(self, step: Step, *signals: ports.Signal) -> None:
        self._world.port.signals.extend(signals)
        self._world.perform(step)
        self._world.performed.clear()

    def _live(self) -> None:
        if not self._is_live:
            self._wrong(f"no life runs; a life begins with {lines.EXAMPLES['started']}")

    def _wrong(self, why: str, where: str = "") -> NoReturn:
        raise SchemaError(f"{self._source}, line {self._judge.line}{f', field {where}' if where else ''}: {why}")


_READ: Mapping[type[Any], Callable[[_Job, Any], None]] = {
    lines.Header: _Job._again, lines.Supplied: _Job._supplied, lines.Ended: _Job._ended,
    lines.Triggered: _Job._triggered, lines.Completed: _Job._completed, lines.Aborted: _Job._aborted,
    lines.Committed: _Job._committed,
    lines.Row: _Job._row_read, lines.Output_: _Job._output, lines.Started: _Job._started,
    lines.Restarted: _Job._restarted, lines.Killed: _Job._killed, lines.Failed: _Job._failed,
    lines.Finished: _Job._finished,
}  # fmt: skip
_ENDS_A_BATCH = frozenset(_READ) - {lines.Supplied, lines.Ended, lines.Triggered, lines.Completed, lines.Aborted}
