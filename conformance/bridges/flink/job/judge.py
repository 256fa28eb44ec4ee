"""What is wrong in a run of the job. Looks at nothing but its lines and its configuration."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import pairwise

from conformance.bridges.flink.job.config import JobConfig
from conformance.bridges.flink.job.lines import (
    NO_MORE,
    Assigned,
    Closing,
    Completed,
    Cut,
    End,
    Failed,
    Failure,
    Ledger,
    Line,
    Paused,
    Restored,
    Returned,
)


class Kind(Enum):
    """What can be wrong."""

    LOST = "lost"
    """In a checkpoint: sent before the enumerator's cut, not received before the reader's. At the end: missing."""
    DOUBLED = "doubled"
    """In a checkpoint: received before the reader's cut, not sent before the enumerator's. At the end: there twice."""
    REORDERED = "reordered"
    """Sent and received before the cuts, in another order."""
    STALLED = "stalled"
    """No checkpoint completed, or no split was assigned, for longer than the timeout of a checkpoint, not counting when
    the whole program was stopped or had no core."""
    GIVEN_BACK = "given back"
    """A reader was restored, and other splits were given back than were assigned since that checkpoint."""
    STATE_GONE = "state gone"
    """A reader that had not finished in the last checkpoint started without its state."""
    NO_CUT = "no cut"
    """A checkpoint completed without the enumerator, or without a reader that has not finished."""
    UNFINISHED = "unfinished"
    """The job did not come to its end."""


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong."""

    kind: Kind
    at: int
    """In milliseconds since the start of the program."""
    told: str
    checkpoint: int | None = None
    """None: it was found at the end of the job, or has to do with no checkpoint."""
    subtask: int | None = None


@dataclass
class Verdict:
    """The findings of a run, and what it exercised."""

    findings: list[Finding] = field(default_factory=list)
    checkpoints: int = 0
    """Completed ones."""
    savepoints: int = 0
    unaligned: int = 0
    overlapping: int = 0
    """Completed checkpoints and savepoints that began before the one with the id before ended, however it ended."""
    compared: int = 0
    """Pairs of ledgers of what was sent to a reader and what it received."""
    moving: int = 0
    """Of these, those in which something was sent since the completed checkpoint before."""
    with_finished: int = 0
    """Of these, those whose reader had finished."""
    differ: int = 0
    """Of these, those that differ. A split that is lost for good differs in all later checkpoints too."""
    reports_differ: int = 0
    """Pairs of ledgers of reports that differ. The protocol of these releases does not promise that they agree."""
    failed: Counter[str] = field(default_factory=Counter)
    """Checkpoints and savepoints that failed, by their reasons."""
    failures: int = 0
    """Planned failures that happened."""
    restored: int = 0
    """Readers that were restored from a checkpoint."""
    units: int = 0
    """Units that were made in the whole run, and should have come out once."""
    lost_units: int = 0
    doubled_units: int = 0
    checkpoint_again: list[int] = field(default_factory=list)
    """From each failure to the end of the next checkpoint that was triggered after it and completed."""
    assigned_again: list[int] = field(default_factory=list)
    """From each failure to the next assignment."""

    @property
    def expired(self) -> int:
        """Checkpoints and savepoints that took longer than their timeout."""
        return sum(count for reason, count in self.failed.items() if "expired" in reason)


def judge(lines: Sequence[Line], config: JobConfig) -> Verdict:
    """Judge a run from its lines, which may end anywhere."""
    verdict = Verdict()
    completed = [line for line in lines if isinstance(line, Completed)]
    for before, line in zip([None, *completed], completed, strict=False):
        _judge_cuts(line, before, verdict)
    _count(lines, completed, verdict)
    verdict.findings += _given_back(lines)
    closing = next((line for line in lines if isinstance(line, Closing)), None)
    until = closing.at if closing is not None else max((line.at for line in lines), default=0)
    verdict.findings += _stalls(lines, until, config.timeout_ms, closing)
    _recoveries(lines, completed, until, config.timeout_ms, verdict)
    _at_the_end(lines, verdict)
    verdict.findings.sort(key=lambda finding: finding.at)
    return verdict


def compare(sent: Ledger, received: Ledger) -> Iterator[tuple[Kind, str]]:
    """Yield how what was received differs from what was sent. Both are sequences, and must be the same."""
    if sent == received:
        return
    lost, doubled = Counter(sent) - Counter(received), Counter(received) - Counter(sent)
    if lost:
        yield Kind.LOST, f"sent before the cut and not received before it: {_listed(lost.elements())}"
    if doubled:
        yield Kind.DOUBLED, f"received before the cut and not sent before it: {_listed(doubled.elements())}"
    if not lost and not doubled:
        place = next(index for index, pair in enumerate(zip(sent, received, strict=True)) if pair[0] != pair[1])
        yield (
            Kind.REORDERED,
            f"from entry {place} on, sent {_listed(sent[place:])}, received {_listed(received[place:])}",
        )


def _judge_cuts(line: Completed, before: Completed | None, verdict: Verdict) -> None:
    for subtask, cut in enumerate(line.subtasks):
        if cut.sent is None or cut.received is None:
            side = "the enumerator" if cut.sent is None else "the reader, which had not finished,"
            told = f"it completed, but {side} took no part in it"
            verdict.findings.append(Finding(Kind.NO_CUT, line.at, told, line.id, subtask))
            continue
        verdict.compared += 1
        verdict.moving += before is None or before.subtasks[subtask].sent != cut.sent
        verdict.with_finished += cut.finished
        differences = list(compare(_sent_while_it_ran(cut), cut.received))
        verdict.differ += bool(differences)
        verdict.findings += [Finding(kind, line.at, told, line.id, subtask) for kind, told in differences]
        verdict.reports_differ += cut.reports_received != cut.reports_sent


def _sent_while_it_ran(cut: Cut) -> Ledger:
    """A reader that has finished receives no notice any more. Splits, however, must never come after the end."""
    sent = cut.sent or ()
    if not cut.finished or NO_MORE not in sent:
        return sent
    end, received = sent.index(NO_MORE) + 1, len(cut.received or ())
    return sent[: max(end, received)] + tuple(entry for entry in sent[max(end, received) :] if entry >= NO_MORE)


def _count(lines: Sequence[Line], completed: Sequence[Completed], verdict: Verdict) -> None:
    ends = {line.id: line.at for line in lines if isinstance(line, Completed | Failed)}
    for one in completed:
        verdict.savepoints += one.savepoint
        verdict.checkpoints += not one.savepoint
        verdict.unaligned += one.unaligned
        verdict.overlapping += ends.get(one.id - 1, one.triggered) > one.triggered
    for line in lines:
        if isinstance(line, Failed):
            verdict.failed[(line.reason or "no reason is given").rstrip(".")] += 1
        elif isinstance(line, Failure):
            verdict.failures += 1
        elif isinstance(line, Restored):
            verdict.restored += line.checkpoint >= 0


def _given_back(lines: Sequence[Line]) -> Iterator[Finding]:
    """What Flink gives back of a reader must be what was assigned to it since the checkpoint it is restored from."""
    returned: dict[int, Counter[int]] = {}
    latest: Completed | None = None
    for line in sorted(lines, key=lambda line: line.at):
        if isinstance(line, Completed) and not line.savepoint:
            latest = line
        elif isinstance(line, Returned):
            returned.setdefault(line.subtask, Counter()).update(line.units)
        elif isinstance(line, Restored):
            back = returned.pop(line.subtask, None)
            if line.checkpoint < 0 and latest is not None:
                # A reader that had finished starts afresh, since Flink drops the state of what has finished.
                if not latest.subtasks[line.subtask].finished and latest.subtasks[line.subtask].received:
                    told = f"it started without its state after checkpoint {latest.id}"
                    yield Finding(Kind.STATE_GONE, line.at, told, latest.id, line.subtask)
                continue
            if back is None:  # the enumerator was restored too, and knows nothing of later assignments
                continue
            assigned = Counter(unit for unit in line.forgotten if unit > NO_MORE)
            for told, difference in (
                ("assigned since then and not given back", assigned - back),
                ("given back and not assigned since then", back - assigned),
            ):
                if difference:
                    yield Finding(
                        Kind.GIVEN_BACK,
                        line.at,
                        f"{told}: {_listed(difference.elements())}",
                        line.checkpoint,
                        line.subtask,
                    )


def _stalls(lines: Sequence[Line], until: int, timeout: int, closing: Closing | None) -> Iterator[Finding]:
    assigned = [line for line in lines if isinstance(line, Assigned)]
    if not assigned:
        yield Finding(Kind.STALLED, until, "no split was ever assigned")
        return
    paused = [(line.since, line.at) for line in lines if isinstance(line, Paused)]
    completions = sorted(line.at for line in lines if isinstance(line, Completed) and line.at <= until)
    for begin, end in pairwise([assigned[0].at, *completions, until]):
        if _working(begin, end, paused) > timeout:
            yield Finding(Kind.STALLED, end, f"no checkpoint completed between {begin} ms and {end} ms")
    times = [(line.previous, line.at) for line in assigned[1:] if line.at <= until]
    if closing is not None:
        times.append((closing.last_assigned, closing.at))
    for begin, end in times:
        if _working(begin, end, paused) > timeout:
            yield Finding(Kind.STALLED, end, f"no split was assigned between {begin} ms and {end} ms")


def _working(begin: int, end: int, paused: Sequence[tuple[int, int]]) -> int:
    """How long the program could work between two times."""
    return end - begin - sum(max(0, min(end, to) - max(begin, since)) for since, to in paused)


def _recoveries(
    lines: Sequence[Line], completed: Sequence[Completed], until: int, timeout: int, verdict: Verdict
) -> None:
    """How long it took to recover from each failure. That it never did is a stall, which is found without this."""
    for line in lines:
        if not isinstance(line, Failure):
            continue
        checkpoints = [one.at for one in completed if one.triggered >= line.at]
        assigned = [one.at for one in lines if isinstance(one, Assigned) and one.at >= line.at]
        if checkpoints:
            verdict.checkpoint_again.append(min(checkpoints) - line.at)
        if assigned:
            verdict.assigned_again.append(min(assigned) - line.at)


def _at_the_end(lines: Sequence[Line], verdict: Verdict) -> None:
    end = next((line for line in lines if isinstance(line, End)), None)
    if end is None:
        at = max((line.at for line in lines), default=0)
        told = "the program ended without reporting the end of the job"
        verdict.findings.append(Finding(Kind.UNFINISHED, at, told))
        return
    verdict.units = end.created
    if end.status != "FINISHED":
        told = f"the job was {end.status} when it should have finished"
        verdict.findings.append(Finding(Kind.UNFINISHED, end.at, told))
        return  # nothing can be said about units that are still under way
    out = Counter(unit for units in end.results.values() for unit in units)
    if lost := [unit for unit in range(end.created) if unit not in out]:
        told = f"{len(lost)} of {end.created} units never came out: {_listed(lost)}"
        verdict.findings.append(Finding(Kind.LOST, end.at, told))
    if doubled := sorted(unit for unit, times in out.items() if times > 1):
        told = f"{len(doubled)} of {end.created} units came out more than once: {_listed(doubled)}"
        verdict.findings.append(Finding(Kind.DOUBLED, end.at, told))
    verdict.lost_units, verdict.doubled_units = len(lost), len(doubled)


def _listed(entries: Iterable[int], most: int = 12) -> str:
    shown = [_named(entry) for entry in entries]
    rest = f" and {len(shown) - most} more" if len(shown) > most else ""
    return ", ".join(shown[:most]) + rest


def _named(entry: int) -> str:
    if entry >= 0:
        return str(entry)
    return "no more splits" if entry == NO_MORE else f"notice {NO_MORE - 1 - entry}"
