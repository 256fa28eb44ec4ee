"""The time line of a job: its graph, its attempts, its checkpoints, and where each failure struck.

Time goes down, one row for each step. Turns and steps of the drain in which nothing of that kind happens are one row,
and so are steps of one kind that stand behind each other. A line with a `┃` is the job; beside it, each checkpoint that
is pending has a line of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from textwrap import wrap
from typing import Any, Protocol, runtime_checkable

from conformance.driver import Component
from conformance.engines import Replay
from conformance.models.words import many
from conformance.ports import (
    CheckpointBegun,
    CheckpointCompleted,
    CheckpointFailed,
    Committed,
    Edge,
    FailureStruck,
    FaultStruck,
    JobConfig,
    JobOver,
    JobRestarted,
    JobTaskChanged,
    JobVertex,
    Outcome,
    TaskState,
    Triggered,
)
from conformance.reporting.story import Mark, StoryStep, tell
from conformance.scenarios import Entry, Step

LEGEND = (
    "Time goes down. The first line is the job: `┳` it is deployed, `✗` something fails, `╋` tasks are restarted, "
    "`┻` it is over. Each other line is a checkpoint: `┳` it is triggered, `●` it is complete, `✗` it has failed."
)
WIDTH = 80
"""How wide the text is at most."""
_TIMES = "\N{MULTIPLICATION SIGN}"
_NUMBERS = 7
"""How wide the numbers of steps are."""
_FIRST, _LAST = 8, 8
"""How many rows of a long drain are shown at its beginning and at its end."""
_DRAIN, _TURNS = "steps of the drain", "turns"
_LEAST = 30
"""How much of it is left for what happens, however many checkpoints are pending."""


class Sign(StrEnum):
    """What is drawn of a job, or of a checkpoint, in one row."""

    NOTHING = " "
    BEGINS = "┳"
    GOES_ON = "┃"
    RESTARTS = "╋"
    """Tasks are restarted."""
    STRUCK = "✗"
    """Something has failed; of a checkpoint: it has failed."""
    COMPLETE = "●"
    ENDS = "┻"
    """The job is over, or gone."""


@runtime_checkable
class OfAJob(Protocol):
    """The configuration of a scenario of a whole job."""

    @property
    def vertices(self) -> Sequence[JobVertex]:
        """The vertices of its graph."""

    @property
    def edges(self) -> Sequence[Edge]:
        """The edges of its graph."""

    def job(self) -> JobConfig:
        """Returns the job that runs first."""

    def restored(self, job: JobConfig, step: Step) -> JobConfig:
        """Returns a job after a step: after a restore, its vertices may have another parallelism."""


@dataclass(frozen=True, slots=True)
class Row:
    """One step, or several in which nothing happens that the time line shows."""

    numbers: str
    """That of the step, or those of the first and the last."""
    job: Sign
    checkpoints: tuple[Sign, ...]
    """By place."""
    text: str
    here: bool
    """Whether the property broke here."""
    in_drain: bool


@dataclass(frozen=True, slots=True)
class Vertex:
    """A vertex of the graph."""

    name: str
    parallelism: int

    @property
    def text(self) -> str:
        """Name and parallelism."""
        return f"{self.name} {_TIMES}{self.parallelism}"


@dataclass(frozen=True, slots=True)
class TimeLine:
    """What is drawn of a job."""

    vertices: tuple[Vertex, ...]
    edges: tuple[tuple[int, int, str], ...]
    """Producer, consumer and kind."""
    settings: tuple[str, ...]
    """The design in which it recovers, and the settings that are not the usual ones."""
    rows: tuple[Row, ...]
    places: int
    """How many checkpoints were pending at a time, at most."""

    def lines(self, width: int = WIDTH) -> list[str]:
        """Return it as lines of text."""
        room = max(_LEAST, width - _NUMBERS - 2 - 2 * (1 + self.places))
        lines = [*self._graph(width), *wrap(", ".join(self.settings), width, break_on_hyphens=False), ""]
        for row in self.rows:
            signs = (row.job, *row.checkpoints, *(Sign.NOTHING,) * (self.places - len(row.checkpoints)))
            for at, part in enumerate(
                wrap(f"{row.text} <- here" if row.here else row.text, room, break_on_hyphens=False)
            ):
                drawn = (_below(one, is_job=place == 0) for place, one in enumerate(signs)) if at else signs
                numbers = "" if at else row.numbers
                lines.append(f"{numbers:>{_NUMBERS}} {''.join(f'{one} ' for one in drawn)} {part}".rstrip())
        return lines

    def _graph(self, width: int) -> Iterator[str]:
        """Paths, each edge in one of them."""
        left = list(self.edges)
        while left:
            path = [left.pop(0)]
            while (following := next((one for one in left if one[0] == path[-1][1]), None)) is not None:
                left.remove(following)
                path.append(following)
            text = self.vertices[path[0][0]].text
            for _, consumer, kind in path:
                text += f" ─{kind}→ {self.vertices[consumer].text}"
            yield from wrap(text, width, subsequent_indent="  ", break_on_hyphens=False)


def _below(sign: Sign, *, is_job: bool) -> Sign:
    """Return what is drawn below a sign in a row of several lines."""
    over = sign in (Sign.COMPLETE, Sign.ENDS, Sign.NOTHING) or (sign is Sign.STRUCK and not is_job)
    return Sign.NOTHING if over else Sign.GOES_ON


def time_line_of(replay: Replay) -> TimeLine | None:
    """Return the time line of a replay; None if it is not of a job, or had no steps."""
    config = replay.history.scenario.config
    if not isinstance(config, OfAJob) or not replay.history.entries:
        return None
    story = tell(replay)
    watched = _Watched(config, replay.component)
    for entry, step in zip(replay.history.entries, story.steps, strict=True):
        if step.mark is not Mark.SKIPPED:
            watched.see(entry, step)
    watched.finish()
    edges = tuple((one.producer, one.consumer, one.kind.value) for one in config.edges)
    return TimeLine(
        tuple(Vertex(one.name, one.parallelism) for one in config.vertices), edges, tuple(_settings(config.job())),
        tuple(watched.rows), watched.places,
    )  # fmt: skip


def _settings(job: JobConfig) -> Iterator[str]:
    usual = type(job.settings)()
    yield f"recovery {job.settings.recovery.value}"
    for name in usual.__struct_fields__:
        value = getattr(job.settings, name)
        if name != "recovery" and value != getattr(usual, name):
            yield f"{name.replace('_', ' ')} {str(value).lower()}"


class _Watched:
    """What was seen so far."""

    def __init__(self, config: OfAJob, component: Component) -> None:
        self.config = config
        self.turns = () if component.levels is None else component.levels.turns
        self.current = config.job()
        """The job that runs."""
        self.tasks = self.current.tasks()
        self.rows: list[Row] = []
        self.places = 0
        self.pending: list[int | None] = []
        """By place, the checkpoint that is pending."""
        self.job = Sign.BEGINS
        """What the next row shows of the job, if nothing happens to it."""
        self.quiet: list[StoryStep] = []
        """Steps of one kind in which nothing has happened that the time line shows."""
        self.kind = ""
        """Theirs: the name of a step, `_DRAIN` or `_TURNS`."""

    def see(self, entry: Entry, step: StoryStep) -> None:
        """A step was performed."""
        outcome = entry.outcome
        assert outcome is not None
        name = str(entry.step[0])
        if name == "restore":
            self.current = self.config.restored(self.current, entry.step)
            self.tasks = self.current.tasks()
        before = self._lines()
        signs: dict[int, Sign] = {}
        said: list[str] = []
        job = self._hear_all(outcome, signs, said)
        if name == "restore":
            job = Sign.BEGINS
        elif name == "kill":
            job = Sign.ENDS
            said.append("the job and all its processes are gone")
            signs.update({at: Sign.STRUCK for at, one in enumerate(self.pending) if one is not None})
            self.pending = [None] * len(self.pending)
        if job is None and not said and step.mark is not Mark.DIVERGENT:
            kind = _DRAIN if step.in_drain else _TURNS if name in self.turns else name
            if kind != self.kind:
                self._end_quiet(before)
            self.kind = kind
            self.quiet.append(step)
            return
        self._end_quiet(before)
        lines = {**dict(enumerate(before)), **signs}
        places = tuple(lines.get(at, Sign.NOTHING) for at in range(max(lines, default=-1) + 1))
        is_gone = self.job is Sign.NOTHING and job is not Sign.BEGINS
        sign = Sign.NOTHING if is_gone else job or self.job
        self._add(str(step.number), sign, places, "; ".join([step.step, *said]), step)

    def finish(self) -> None:
        """The history is over."""
        self._end_quiet(self._lines())
        drain = [at for at, row in enumerate(self.rows) if row.in_drain]
        if len(drain) > _FIRST + _LAST + 1:
            gap = self.rows[drain[_FIRST] : len(self.rows) - _LAST]
            first, last = gap[0].numbers.split("-")[0], gap[-1].numbers.split("-")[-1]
            text = f"… {int(last) - int(first) + 1} {_DRAIN} are left out …"
            whole = Row(f"{first}-{last}", Sign.GOES_ON, (), text, False, True)
            self.rows[drain[_FIRST] : len(self.rows) - _LAST] = [whole]

    def _lines(self) -> tuple[Sign, ...]:
        return tuple(Sign.NOTHING if one is None else Sign.GOES_ON for one in self.pending)

    def _add(self, numbers: str, job: Sign, places: tuple[Sign, ...], text: str, step: StoryStep) -> None:
        self.rows.append(Row(numbers, job, places, text, step.mark is Mark.DIVERGENT, step.in_drain))
        self.job = Sign.NOTHING if job in (Sign.ENDS, Sign.NOTHING) else Sign.GOES_ON
        self.places = max(self.places, len(places))
        while self.pending and self.pending[-1] is None:
            self.pending.pop()

    def _end_quiet(self, places: tuple[Sign, ...]) -> None:
        if not self.quiet:
            return
        first, last = self.quiet[0], self.quiet[-1]
        numbers, text = str(first.number), first.step
        if first is not last:
            numbers = f"{first.number}-{last.number}"
            if self.kind in (_DRAIN, _TURNS):
                text = f"{len(self.quiet)} {self.kind}"
            else:
                text += "".join(f",{one.step.removeprefix(self.kind)}" for one in self.quiet[1:])
        self._add(numbers, self.job, places, text, first)
        self.quiet = []

    # ---- signals -----------------------------------------------------------------------------------------------------
    def _trigger(self, triggered: Triggered, signs: dict[int, Sign], said: list[str]) -> None:
        if triggered.checkpoint:
            self._begin(triggered.checkpoint, signs, said)
        elif triggered.refused is not None:
            said.append(f"refused: {triggered.refused}")

    def _begin(self, checkpoint: int, signs: dict[int, Sign], said: list[str]) -> None:
        at = self.pending.index(None) if None in self.pending else len(self.pending)
        self.pending[at : at + 1] = [checkpoint]
        signs[at] = Sign.BEGINS
        said.append(f"checkpoint {checkpoint} begins")

    def _hear_all(self, outcome: Outcome, signs: dict[int, Sign], said: list[str]) -> Sign | None:
        """Returns what is shown of the job; None if nothing has happened to it."""
        if isinstance(outcome.value, Triggered):
            self._trigger(outcome.value, signs, said)
        job: Sign | None = None
        for signal in outcome.signals:
            heard = self._hear(signal, signs, said)
            if heard is not None and (job, heard) != (Sign.STRUCK, Sign.RESTARTS):  # what fails is more important
                job = heard
        committed = sum(len(run) for one in outcome.signals if isinstance(one, Committed) for run in one.records)
        if committed:
            said.append(f"{many(committed, 'record')} committed")
        return job

    def _hear(self, signal: Any, signs: dict[int, Sign], said: list[str]) -> Sign | None:
        if isinstance(signal, CheckpointBegun):
            self._begin(signal.checkpoint, signs, said)
        elif isinstance(signal, CheckpointCompleted):
            self._end(signal.checkpoint, Sign.COMPLETE, signs)
            said.append(f"checkpoint {signal.checkpoint} is complete")
        elif isinstance(signal, CheckpointFailed):
            self._end(signal.checkpoint, Sign.STRUCK, signs)
            said.append(f"checkpoint {signal.checkpoint} has failed: {signal.reason}")
        elif isinstance(signal, FailureStruck):
            said.append(f"{self._target(signal)} fails")
            return Sign.STRUCK
        elif isinstance(signal, FaultStruck):
            said.append(f"what is called at {signal.place} fails")
        elif isinstance(signal, JobTaskChanged) and signal.state is TaskState.FAILED:
            named = f"task {self._task(signal.task)}"
            said += [] if f"{named} fails" in said else [f"{named} has failed"]
            return Sign.STRUCK
        elif isinstance(signal, JobRestarted):
            where = f"checkpoint {signal.checkpoint}" if signal.checkpoint else "the beginning"
            said.append(f"{many(sum(map(len, signal.tasks)), 'task')} restarted from {where}")
            return Sign.RESTARTS
        elif isinstance(signal, JobOver):
            said.append(f"the job is over: {signal.status}")
            return Sign.ENDS
        return None

    def _end(self, checkpoint: int, sign: Sign, signs: dict[int, Sign]) -> None:
        if checkpoint in self.pending:
            at = self.pending.index(checkpoint)
            signs[at] = sign
            self.pending[at] = None

    def _target(self, struck: FailureStruck) -> str:
        named = {"task": f"task {self._task(struck.number)}", "worker": f"worker {struck.number}"}
        return named.get(struck.target.value, f"the {'job master' if struck.target.value == 'master' else 'job'}")

    def _task(self, number: int) -> str:
        """The name of a task; a stranger may mean one that is not there."""
        if 0 <= number < len(self.tasks):
            vertex, subtask = self.tasks[number]
            return f"{number} ({self.config.vertices[vertex].name}, subtask {subtask})"
        return str(number)
