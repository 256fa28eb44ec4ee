"""Jobs in which a report is held back for ever: the reference, in which reports of one kind are never sent.

Reports are the messages between the tasks of a job and its job master (`reference_impl/job/messages.py`), and what a
source says to its operator coordinator beside them. The job goes on as if the report had been sent: nobody is notified
of it, and nothing fails. A scenario can lose messages, too (`lose`), but of those the rules know, and expect less.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from conformance.components import COMPONENTS
from conformance.driver import Program, Property
from conformance.engines.search import Search, seeds
from conformance.ports import CheckpointKind, CheckpointReason, JobConfig, TaskState, Triggered
from conformance.scenarios import read_toml
from reference_impl import reference
from reference_impl.job.messages import Call, Message
from reference_impl.job.pipeline import Pipeline
from reference_impl.job.task import JobTask

REFERENCE = reference()
STOP = "stop"
"""The savepoint with which a job is to be stopped, among the kinds of checkpoints."""
CUT, HEARD_OF_ABORT = "cut", "heard of abort"
"""What a source says to its operator coordinator: it has taken its snapshot, or was notified of an abort."""
WHOSE: Mapping[str, Callable[[int, int], bool]] = MappingProxyType(
    {
        "every task": lambda task, tasks: True,
        "the first task": lambda task, tasks: task == 0,
        "the last task": lambda task, tasks: task == tasks - 1,
    }
)
"""Whose reports are held back, given the number of a task and how many there are. The first is of a source, the last of
a sink."""
FILE = Path(__file__).resolve().parents[1] / "corpus/held_reports.toml"
"""The seed text of the first scenario in which each is noticed. Written by this module."""
SCENARIOS = 600
"""So many scenarios are looked at."""
MOST = 60
"""Of those in which the report is sent, so many are tried at most."""
_ANOTHER = "the job master has heard of it before, of the task that has declined the checkpoint first"
_OVERTAKEN = "pipeline.md FJ6: what a newer checkpoint overtakes is declined, or expires"
_NEVER = "no task says it: the job master decides that itself"
_RARE = (
    "every-checkpoint-ends asks for it, as for `decline aligned` and `decline task-closing`, which are noticed; but of"
    " 20 at most in 3,000 scenarios each came when something else had ended the checkpoint, or did so next"
)
_UNSENT = "none was sent in 3,000 scenarios"
ALLOWED: Mapping[str, str] = MappingProxyType(
    {
        "decline timeoutable": _RARE,
        "decline savepoint": _RARE,
        "decline stop": _RARE,
        "decline declined": _OVERTAKEN,
        "decline declined-subsumed": _OVERTAKEN,
        "decline declined-on-cancellation-barrier": _ANOTHER,
        "decline shared-stream": _ANOTHER,
        "decline declined-task-not-ready": _RARE,
        "decline declined-input-end-of-stream": _UNSENT,
        "decline async-exception": _UNSENT,
        "decline expired": _NEVER,
        "decline subsumed": _NEVER,
        "decline finalize-failure": _NEVER,
        "complete savepoint": "pipeline.md I-106: nobody is notified of a savepoint",
        "abort aligned": "pipeline.md FJ11: an abort need not reach an alignment",
        "abort unaligned": "pipeline.md FJ11: the task waits until a newer barrier comes",
        "abort savepoint": "pipeline.md FJ11: an abort need not reach an alignment",
        "heard of abort": "coordinator.md FO4: it need not act on a notification",
    }
)
"""By kind, why nobody need notice that such reports are held back."""

_HEAD = """\
# The seed text of the first scenario in which it is noticed that a report of a job is held back for ever.
# Written by `python -m tests.components.holding`.
"""


class Report(NamedTuple):
    """A report that a task sends, or gets."""

    task: int
    call: str
    about: tuple[str, ...]
    """The kind of the checkpoint and the reason, or the state of the task."""


class Held(NamedTuple):
    """A job in which reports of one kind are held back."""

    call: str
    about: str
    """The kind of the checkpoint, or the reason, or the state of the task; empty: all."""
    whose: str
    late: bool
    """Whether it begins with the second of these reports."""

    @property
    def kind(self) -> str:
        """Which reports these are."""
        return f"{self.call} {self.about}".strip()

    @property
    def name(self) -> str:
        """What a test calls it."""
        return f"{self.kind}, {self.whose}{', from the second on' if self.late else ''}"

    def means(self, report: Report, tasks: int) -> bool:
        """Returns whether it may hold this report back, of a job with so many tasks."""
        same = self.call == report.call and (not self.about or self.about in report.about)
        return same and WHOSE[self.whose](report.task, tasks)


def _kinds() -> Iterable[tuple[str, str]]:
    of_checkpoints = (Call.TRIGGER, Call.ACKNOWLEDGE, Call.DECLINE, Call.COMPLETE, Call.ABORT)
    yield from ((call.name.lower(), kind) for call in of_checkpoints for kind in (*map(str, CheckpointKind), STOP))
    yield from ((Call.DECLINE.name.lower(), str(reason)) for reason in CheckpointReason)
    yield from (
        (Call.STATE.name.lower(), str(one)) for one in (TaskState.RUNNING, TaskState.FAILED, TaskState.FINISHED)
    )
    yield from ((one, "") for one in ("event", "reply", "report", CUT, HEARD_OF_ABORT))


ALL = tuple(Held(*kind, whose, late) for kind in _kinds() for whose in WHOSE for late in (False, True))


# ---- how they are made -----------------------------------------------------------------------------------------------
class HoldingJob(Pipeline):
    """A job that notes its reports, and holds some back."""

    def __init__(self, held: Held | None, config: JobConfig) -> None:
        self.held = held
        self.kinds: dict[int, str] = {}
        """By checkpoint, of which kind it is."""
        self.reports: list[Report] = []
        """All, in their order."""
        self.matching = 0
        """How many there were of those that may be held back."""
        super().__init__(config, REFERENCE.design)

    def trigger_or_refuse(self, kind: CheckpointKind, stops: bool) -> Triggered:
        """The kind is noted."""
        done = super().trigger_or_refuse(kind, stops)
        if done.checkpoint:
            self.kinds[done.checkpoint] = STOP if stops else str(kind)
        return done

    def holds(self, report: Report) -> bool:
        """Returns whether a report is held back."""
        self.reports.append(report)
        if self.held is None or not self.held.means(report, len(self.graph.tasks)):
            return False
        self.matching += 1
        return self.matching > self.held.late

    def sent(self) -> Counter[tuple[str, str, str]]:
        """Returns how many of its reports are of each kind, and whose: those of every task count among others, too."""
        found: Counter[tuple[str, str, str]] = Counter()
        for task, call, about in self.reports:
            whose = [one for one, is_meant in WHOSE.items() if is_meant(task, len(self.graph.tasks))]
            found.update((call, one, those) for one in (*about, "") for those in whose)
        return found

    def holds_message(self, task: int, message: Message) -> bool:
        """Returns whether a message to a task, or of it, is held back."""
        about = (self.kinds.get(message.checkpoint), message.reason, message.state)
        return self.holds(Report(task, message.call.name.lower(), tuple(str(one) for one in about if one is not None)))

    def send(self, task: int, message: Message) -> None:
        """A message to a task."""
        if not self.holds_message(task, message):
            super().send(task, message)

    def report(self, task: int, message: Message) -> None:
        """A message of a task."""
        if not self.holds_message(task, message):
            super().report(task, message)

    def cut(self, task: JobTask, checkpoint: int) -> None:
        """A source has taken its snapshot."""
        if not self.holds(Report(task.number, CUT, ())):
            super().cut(task, checkpoint)

    def heard_of_abort(self, task: JobTask, checkpoint: int) -> None:
        """A source was notified that a checkpoint was aborted."""
        if not self.holds(Report(task.number, HEARD_OF_ABORT, ())):
            super().heard_of_abort(task, checkpoint)


# ---- how they are noticed --------------------------------------------------------------------------------------------
@cache
def _program() -> Program:
    return Program(COMPONENTS["pipeline"], REFERENCE)


def searching(held: Held) -> Search:
    """Returns a search with jobs in which a report is held back."""
    return Search(_program().made_by(lambda config: HoldingJob(held, config)))


def noticed(search: Search, text: str) -> Property | None:
    """Returns the property that notices it in the scenario with this seed text."""
    violation = search.run(text)[1].violation
    return None if violation is None else violation.property


def occasions(scenarios: int = SCENARIOS) -> Mapping[Held, list[str]]:
    """Returns in which scenarios each would hold a report back. In all others, it does what the reference does."""
    found: dict[Held, list[str]] = defaultdict(list)
    jobs: list[HoldingJob] = []

    def make(config: JobConfig) -> HoldingJob:
        jobs.append(HoldingJob(None, config))
        return jobs[-1]

    search = Search(_program().made_by(make))
    for text in seeds(0, "pipeline", range(scenarios)):
        jobs.clear()
        search.run(text)
        sent = [job.sent() for job in jobs]
        for held in ALL:
            if any(one[held.call, held.about, held.whose] > held.late for one in sent):
                found[held].append(text)
    return found


def kept() -> dict[str, str]:
    """What the file says, by name."""
    return read_toml(FILE, dict[str, str], "every entry must be a text")


def main() -> None:
    """Write the file anew, and name the kinds that are not noticed and have no reason."""
    before, found, sent = kept(), {}, occasions()
    for held in ALL:
        search, old = searching(held), before.get(held.name, "")
        texts = [old, *sent.get(held, [])[:MOST]] if old else sent.get(held, [])[:MOST]
        text = next((one for one in texts if noticed(search, one) is not None), "")
        if text:
            found[held.name] = text
    for kind in sorted({one.kind for one in ALL} - {one.kind for one in ALL if one.name in found} - set(ALLOWED)):
        print(f"not noticed: {kind}", flush=True)
    lines = (f"{json.dumps(name)} = {json.dumps(found[name])}" for name in sorted(found))
    FILE.write_text("\n".join((_HEAD, *lines, "")), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
